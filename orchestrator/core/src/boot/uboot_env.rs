//! U-Boot's environment as `fw_printenv` shows it, and what `fw_setenv` shall write.
//!
//! Originals are kept in the environment itself: they survive whatever happens to the board's file systems.

use super::{Asked, EditError};
use std::collections::{BTreeMap, BTreeSet};

/// Variable that holds the kernel's arguments where the target file names none: as NXP's images have it.
pub const ARGUMENTS: &str = "mmcargs";
/// Names of the variables that latlab has changed.
pub const CHANGED: &str = "latlab_changed";
/// Prefix of the variables that keep originals.
const ORIGINAL: &str = "latlab_original_";

/// A variable and its new value; `None`: it is removed.
pub type Assignment = (String, Option<String>);

/// Lines of `fw_printenv`.
pub fn parse(text: &str) -> BTreeMap<String, String> {
    text.lines().filter_map(|line| line.split_once('=')).map(|(n, v)| (n.to_owned(), v.to_owned())).collect()
}

/// Whether latlab has changed it.
pub fn is_changed(environment: &BTreeMap<String, String>) -> bool {
    environment.contains_key(CHANGED)
}

fn changed(environment: &BTreeMap<String, String>) -> BTreeSet<String> {
    environment.get(CHANGED).map(|names| names.split_whitespace().map(str::to_owned).collect()).unwrap_or_default()
}

fn original<'a>(environment: &'a BTreeMap<String, String>, name: &str) -> Option<&'a String> {
    match changed(environment).contains(name) {
        true => environment.get(&format!("{ORIGINAL}{name}")),
        false => environment.get(name),
    }
}

/// What to write, in this order, so that a cut in the middle can still be put back. `variable` holds the arguments;
/// with `bootcount` the boot loader goes back to the originals by itself when a boot does not come up.
pub fn edit(
    environment: &BTreeMap<String, String>,
    asked: &Asked,
    variable: &str,
    bootcount: bool,
) -> Result<Vec<Assignment>, EditError> {
    if asked.kernel.is_some() && asked.set.is_empty() {
        return Err(EditError::Missing { kernel: asked.variant().to_owned(), key: "set", method: "uboot-env" });
    }
    let mut values: BTreeMap<String, String> = asked.set.clone();
    if !asked.arguments.is_empty() {
        let line = asked.set.get(variable).or_else(|| original(environment, variable));
        let line = line.ok_or_else(|| EditError::NoArguments { variable: variable.to_owned() })?;
        values.insert(variable.to_owned(), asked.arguments.edit(line));
    }
    let mut before = changed(environment);
    if bootcount {
        let names = before.iter().chain(values.keys()).collect::<BTreeSet<_>>();
        let back: String = names.iter().map(|name| format!("setenv {name} ${{{ORIGINAL}{name}}}; ")).collect();
        values.insert("altbootcmd".to_owned(), format!("{back}run bootcmd"));
        for (name, value) in [("bootlimit", "1"), ("bootcount", "0"), ("upgrade_available", "1")] {
            values.insert(name.to_owned(), value.to_owned());
        }
    }
    let mut writes = Vec::new();
    for name in values.keys().filter(|name| !before.contains(*name)) {
        if let Some(value) = environment.get(name) {
            writes.push((format!("{ORIGINAL}{name}"), Some(value.clone())));
        }
    }
    // What an earlier cell changed and this one does not goes back.
    for name in before.iter().filter(|name| !values.contains_key(*name)) {
        writes.push((name.clone(), environment.get(&format!("{ORIGINAL}{name}")).cloned()));
    }
    before.extend(values.keys().cloned());
    let names = before.into_iter().collect::<Vec<_>>().join(" ");
    writes.push((CHANGED.to_owned(), Some(names)));
    writes.extend(values.into_iter().map(|(name, value)| (name, Some(value))));
    // A variable that says the same already costs an erase cycle for nothing.
    writes.retain(|(name, value)| environment.get(name) != value.as_ref());
    Ok(writes)
}

/// What to write so that it is as before; empty where latlab has changed nothing.
pub fn put_back(environment: &BTreeMap<String, String>) -> Vec<Assignment> {
    let names = changed(environment);
    let mut writes: Vec<Assignment> =
        names.iter().map(|name| (name.clone(), environment.get(&format!("{ORIGINAL}{name}")).cloned())).collect();
    writes.retain(|(name, value)| environment.get(name) != value.as_ref());
    writes.extend(environment.keys().filter(|name| name.starts_with(ORIGINAL)).map(|name| (name.clone(), None)));
    if is_changed(environment) {
        writes.push((CHANGED.to_owned(), None));
    }
    writes
}

#[cfg(test)]
mod tests {
    use super::super::Arguments;
    use super::*;
    use proptest::prelude::*;

    const IMX: &str = "bootcmd=run mmcargs; run loadimage; booti\nimage=Image\nmmcargs=setenv bootargs ${jh_clk} console=${console} root=${mmcroot}\nmmcroot=/dev/mmcblk1p2 rootwait rw\n";

    fn asked(set: &[(&str, &str)], isolcpus: Option<&str>) -> Asked {
        Asked {
            kernel: (!set.is_empty()).then(|| "rt".to_owned()),
            set: set.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            arguments: Arguments { isolcpus: isolcpus.map(str::to_owned), append: vec![] },
            ..Asked::default()
        }
    }

    fn write(environment: &mut BTreeMap<String, String>, writes: &[Assignment]) {
        for (name, value) in writes {
            match value {
                Some(value) => environment.insert(name.clone(), value.clone()),
                None => environment.remove(name),
            };
        }
    }

    #[test]
    fn originals_are_written_before_anything_changes() {
        let environment = parse(IMX);
        let writes = edit(&environment, &asked(&[("image", "Image-rt")], Some("1")), ARGUMENTS, false).unwrap();
        let names: Vec<&str> = writes.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["latlab_original_image", "latlab_original_mmcargs", CHANGED, "image", "mmcargs"]);
        assert_eq!(
            writes[4].1.as_deref(),
            Some("setenv bootargs ${jh_clk} console=${console} root=${mmcroot} isolcpus=1")
        );
    }

    #[test]
    fn a_later_cell_begins_from_the_originals() {
        let mut environment = parse(IMX);
        write(
            &mut environment,
            &edit(&parse(IMX), &asked(&[("image", "Image-rt")], Some("1")), ARGUMENTS, false).unwrap(),
        );
        let writes = edit(&environment, &asked(&[], Some("2")), ARGUMENTS, false).unwrap();
        write(&mut environment, &writes);
        assert_eq!(environment["image"], "Image");
        assert_eq!(environment["mmcargs"], parse(IMX)["mmcargs"].clone() + " isolcpus=2");
        write(&mut environment.clone(), &put_back(&environment));
        let back = put_back(&environment);
        write(&mut environment, &back);
        assert_eq!(environment, parse(IMX));
        assert!(put_back(&environment).is_empty());
    }

    #[test]
    fn the_boot_loader_itself_can_go_back() {
        let writes = edit(&parse(IMX), &asked(&[], Some("1")), ARGUMENTS, true).unwrap();
        let alternative = writes.iter().find(|(name, _)| name == "altbootcmd").unwrap();
        assert_eq!(alternative.1.as_deref(), Some("setenv mmcargs ${latlab_original_mmcargs}; run bootcmd"));
    }

    proptest! {
        /// Whatever was written of a change, and wherever it was cut: the original comes back.
        #[test]
        fn a_cut_anywhere_can_be_put_back(
            before in prop::collection::btree_map("[a-e]", "[x-z ]{1,4}", 1..5),
            changes in prop::collection::vec(prop::collection::btree_map("[a-g]", "[x-z]{1,4}", 1..4), 1..4),
            cut in 0_usize..12,
            bootcount in any::<bool>(),
        ) {
            let mut environment = before.clone();
            let count = changes.len();
            for (n, set) in changes.into_iter().enumerate() {
                let asked = Asked { kernel: Some("k".into()), set, ..Asked::default() };
                let writes = edit(&environment, &asked, "a", bootcount).unwrap();
                let cut = if n + 1 == count { cut.min(writes.len()) } else { writes.len() };
                write(&mut environment, &writes[..cut]);
            }
            let back = put_back(&environment);
            write(&mut environment, &back);
            prop_assert_eq!(environment, before);
        }
    }
}
