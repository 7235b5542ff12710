use super::*;
use crate::cli::selection::SelectionArgs;
use latlab_core::campaign::{self, Overrides};
use latlab_core::diagnostic::{Diagnostics, Style};
use latlab_core::target;
use std::fs;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn shipped(kind: Kind) -> Vec<(String, String)> {
    let folder = Path::new(REPOSITORY).join(kind.folder());
    let mut files: Vec<(String, String)> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap()))
        .collect();
    files.sort();
    assert!(files.len() >= 5, "{folder:?}");
    files
}

fn show(found: Diagnostics) -> String {
    found.render(Style::Plain)
}

fn selection(campaign: &str, targets: &[&str]) -> SelectionArgs {
    SelectionArgs {
        campaign: campaign.to_owned(),
        targets: targets.iter().map(|target| (*target).to_owned()).collect(),
        only: Vec::new(),
        set: Vec::new(),
    }
}

#[test]
fn every_shipped_target_is_good() {
    for (name, text) in shipped(Kind::Target) {
        let loaded = target::load(&name, &text).map_err(show).unwrap();
        assert_eq!(loaded.target.name, name, "file and board have the same name");
        assert!(loaded.warnings.is_empty(), "{}", show(loaded.warnings));
    }
}

#[test]
fn every_shipped_campaign_is_good_and_fits_its_targets() {
    let library = Library::of([]);
    for (name, text) in shipped(Kind::Campaign) {
        let loaded = campaign::load(&name, &text, &Overrides::default()).map_err(show).unwrap();
        assert_eq!(loaded.campaign.name, name, "file and campaign have the same name");
        assert!(loaded.warnings.is_empty(), "{}", show(loaded.warnings));
        let targets: &[&str] = if loaded.campaign.targets.is_empty() { &["local"] } else { &[] };
        selection(&name, targets).read(&library).map_err(show).unwrap();
    }
}

#[test]
fn every_shipped_file_is_built_in_but_the_emulated_boards() {
    for kind in [Kind::Campaign, Kind::Target] {
        let on_disk = shipped(kind);
        let expected: Vec<&str> =
            on_disk.iter().map(|(name, _)| name.as_str()).filter(|name| !name.starts_with("emulated-")).collect();
        let built_in: Vec<&str> = kind.built_in().iter().map(|(name, _)| *name).collect();
        assert_eq!(built_in, expected);
    }
}

#[test]
fn every_example_of_the_documentation_is_good() {
    let mut seen = (0, 0);
    for entry in fs::read_dir(Path::new(REPOSITORY).join("docs")).unwrap() {
        let path = entry.unwrap().path();
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for (index, block) in text.split("\n```").enumerate() {
            let name = format!("{} block {index}", path.display());
            if let Some(campaign) = block.strip_prefix("toml campaign\n") {
                campaign::load(&name, campaign, &Overrides::default()).map_err(show).unwrap();
                seen.0 += 1;
            } else if let Some(target) = block.strip_prefix("toml target\n") {
                target::load(&name, target).map_err(show).unwrap();
                seen.1 += 1;
            }
        }
    }
    assert!(seen.0 >= 4 && seen.1 >= 3, "{seen:?}");
}

/// The keys that an error lists as allowed are those that the page describes.
#[test]
fn every_key_is_documented() {
    let campaign = [
        "",
        "measure.",
        "measure.histogram.",
        "boot.",
        "require.",
        "apply.",
        "gate.",
        "collect.",
        "plan.",
        "loads.x.hackbench.",
        "loads.x.dd.",
        "loads.x.cat.",
        "loads.x.command.",
    ];
    let page = |name: &str| fs::read_to_string(Path::new(REPOSITORY).join("docs").join(name)).unwrap();
    let documented = |page: &str, section: &str, found: Diagnostics| {
        let help = found.iter().find(|d| d.message == "unknown key `zzz`").unwrap().help.clone().unwrap();
        let keys: Vec<&str> =
            help.split('`').skip(1).step_by(2).filter(|key| *key != section.trim_end_matches('.')).collect();
        assert!(!keys.is_empty(), "{section}");
        for key in keys {
            let known = [
                format!("`{key}`"),
                format!("`[{key}]`"),
                format!("`[[{key}]]`"),
                format!("`[{key}."),
                format!(".{key}`"),
                format!("`{key}."),
            ];
            assert!(known.iter().any(|form| page.contains(form)), "{section}{key} is not described");
        }
    };
    for section in campaign {
        let text = format!("{section}zzz = 1\nname = \"a\"\nduration = \"1s\"");
        documented(&page("campaign.md"), section, campaign::load("c", &text, &Overrides::default()).unwrap_err());
    }
    for section in ["", "ssh.", "boot.", "kernel.x.", "power."] {
        let text = format!("{section}zzz = 1\nname = \"a\"");
        documented(&page("target.md"), section, target::load("t", &text).unwrap_err());
    }
}

#[test]
fn names_are_found_nearest_first() {
    let near = tempfile::tempdir().unwrap();
    let far = tempfile::tempdir().unwrap();
    for (dir, text) in [(&far, "far"), (&near, "near")] {
        fs::create_dir(dir.path().join("targets")).unwrap();
        fs::write(dir.path().join("targets/board.toml"), text).unwrap();
    }
    fs::write(far.path().join("targets/other.toml"), "other").unwrap();
    fs::write(far.path().join("targets/local.toml"), "mine").unwrap();
    let library = Library::of([near.path().to_owned(), far.path().to_owned()]);
    let asked = on_command_line("--target", "x");
    let find = |name: &str| library.find(Kind::Target, name, &asked).map(|found| found.text).map_err(show);
    assert_eq!(find("board").unwrap(), "near");
    assert_eq!(find("other").unwrap(), "other");
    assert_eq!(find("local").unwrap(), "mine", "the user's own comes before a built-in one");
    assert!(find("cyclone-v").unwrap().contains("Cyclone V"));
    let path = far.path().join("targets/board.toml");
    assert_eq!(find(path.to_str().unwrap()).unwrap(), "far");
}

#[test]
fn files_that_are_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let library = Library::of([dir.path().to_owned()]);
    let shown = |name: &str| {
        let asked = on_command_line("--target", name);
        show(library.find(Kind::Target, name, &asked).unwrap_err()).replace(dir.path().to_str().unwrap(), "DIR")
    };
    assert_eq!(
        shown("cyclon-v"),
        "\
error: no target `cyclon-v`
 --> --target:1:1
  |
1 | cyclon-v
  | ^^^^^^^^ did you mean `cyclone-v`?
  |
  = help: looked for DIR/targets/cyclon-v.toml, and among those built in; known: beaglebone-black, cyclone-v, generic-aarch64, generic-armv7, generic-x86_64, imx93-evk, local, ok-mx93, pandaboard-omap4460, zynq-zc702"
    );
    let missing = dir.path().join("a.toml");
    assert!(shown(missing.to_str().unwrap()).starts_with("error: cannot read DIR/a.toml: no such file\n"));
    assert!(shown(&format!("{}/", dir.path().display())).starts_with("error: DIR/ is a directory\n"));
    fs::write(&missing, vec![b'#'; 10 << 20]).unwrap();
    assert!(
        shown(missing.to_str().unwrap()).starts_with("error: file of more than 1048576 bytes"),
        "{}",
        shown(missing.to_str().unwrap())
    );
}

#[test]
fn a_target_that_is_named_by_two_names_is_found_out() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("targets")).unwrap();
    fs::write(dir.path().join("targets/alias.toml"), "name = \"local\"\n").unwrap();
    let library = Library::of([dir.path().to_owned()]);
    let found = show(selection("first-look", &["local", "alias"]).read(&library).unwrap_err());
    assert!(found.starts_with("error: target `local` is named twice\n"), "{found}");
}

#[test]
fn a_campaign_without_a_board_says_how_to_name_one() {
    let found = selection("nightly", &[]).read(&Library::of([])).unwrap_err();
    assert!(found.only_usage());
    assert!(show(found).starts_with("error: campaign `nightly` names no target\n"));
}

#[test]
fn kinds_are_told_by_folder_or_content() {
    let dir = tempfile::tempdir().unwrap();
    let file = |path: &str, text: &str| {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let library = Library::of([]);
    let kind = |name: &str| library.find_either(name, &on_command_line("FILE", name)).map_err(show).unwrap().0;
    assert_eq!(kind(&file("a.toml", "name = \"a\"\n[ssh]\n")), Kind::Target);
    assert_eq!(kind(&file("broken.toml", "name = \"a\"\n[ssh\ncpu_count: 2\n[power]")), Kind::Target);
    assert_eq!(kind(&file("b.toml", "name = \"a\"\nduration = \"1s\"\n")), Kind::Campaign);
    assert_eq!(kind(&file("targets/c.toml", "name = \"a\"\nduration = \"1s\"\n")), Kind::Target);
    assert_eq!(kind(&file("campaigns/d.toml", "name = \"a\"\n[ssh]\n")), Kind::Campaign);
    assert_eq!((kind("local"), kind("demo")), (Kind::Target, Kind::Campaign));
}
