//! `history`, `baseline` and `gate` over many nights.

use super::compared::{Board, CAMPAIGN, latlab, night_in, night_of, text};
use std::path::Path;

fn night_at(results: &Path, number: u32, level: u32, spoilt: bool) -> String {
    let execution = format!("202601{:02}-000000-isolation-0001", number + 1);
    night_in(results, &execution, 1, |run, board| {
        board.boot = u64::from(number * 6 + run);
        board.level = level;
        board.spoilt = spoilt && run == 0;
    });
    execution
}

/// Exit code and output of `latlab gate`.
fn gate(results: &Path, args: &[&str]) -> (Option<i32>, String) {
    let output = latlab(results, &[&["gate"][..], args].concat());
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn a_night_is_held_against_its_baseline() {
    let results = tempfile::tempdir().expect("a temporary directory");
    let path = results.path();
    let quiet: Vec<String> = (0..4).map(|night| night_at(path, night, 100, false)).collect();
    let (code, said) = gate(path, &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("limits only: no baseline is set"), "{said}");
    // Three runs are too few for a baseline to tell anything: no pass.
    let set =
        |runs: &[&str], reason: &str| latlab(path, &[&["baseline", "set", "--reason", reason][..], runs].concat());
    assert_eq!(set(&[&quiet[0]], " ").status.code(), Some(2), "a reason is needed");
    assert_eq!(set(&["published:imx93-standard"], "x").status.code(), Some(2));
    assert_eq!(set(&[&quiet[0]], "first night").status.code(), Some(0));
    let (code, said) = gate(path, &[&quiet[1]]);
    assert!(
        code == Some(6) && said.contains("CANNOT TELL") && said.contains("the baseline has 3 usable runs"),
        "{said}"
    );
    let all: Vec<&str> = quiet.iter().map(String::as_str).collect();
    assert_eq!(set(&all, "kernel 5.0.14-rt8").status.code(), Some(0));
    let shown = text(&latlab(path, &["baseline", "show", "board"]).stdout);
    assert!(shown.contains("kernel 5.0.14-rt8") && shown.contains("isolcpus=none-board-3"), "{shown}");

    let ordinary = night_at(path, 10, 100, false);
    let (code, said) = gate(path, &[]);
    assert!(code == Some(0) && said.contains(&ordinary) && said.contains("PASS"), "{said}");
    // Worse: three runs of a cell each, so five more are asked for to see it unconfirmed.
    let worse = night_at(path, 11, 130, false);
    let (code, said) = gate(path, &["--confirm", "5"]);
    assert!(code == Some(6) && said.contains("SUSPICIOUS") && said.contains("measure again"), "{said}");
    let again = night_at(path, 12, 130, false);
    let (code, said) = gate(path, &[&worse, &again, "--confirm", "5"]);
    assert!(code == Some(3) && said.contains("worse than the baseline, confirmed"), "{said}");
    // A re-run as usual clears it.
    let (code, said) = gate(path, &[&worse, &ordinary, "--confirm", "5"]);
    assert_eq!(code, Some(0), "{said}");
    // Without its runs a baseline tells nothing.
    quiet.iter().for_each(|execution| std::fs::remove_dir_all(path.join(execution)).expect("removed"));
    assert_eq!(gate(path, &[&ordinary]).0, Some(6));
    assert_eq!(latlab(path, &["baseline", "drop", "board"]).status.code(), Some(0));
    assert_eq!(latlab(path, &["baseline", "drop", "board"]).status.code(), Some(2), "there is none any more");
}

#[test]
fn nothing_that_is_missing_or_broken_passes() {
    let results = tempfile::tempdir().expect("a temporary directory");
    let path = results.path();
    assert_eq!(gate(path, &[]).0, Some(2), "no execution");
    let invalid = night_at(path, 0, 100, true);
    let (code, said) = gate(path, &[]);
    assert!(code == Some(6) && said.contains("INVALID"), "{said}");
    assert_eq!(latlab(path, &["baseline", "set", &invalid, "--reason", "x"]).status.code(), Some(6));
    // A broken limit stands whatever a re-run says.
    let broken = night_at(path, 1, 250, false);
    let good = night_at(path, 2, 100, false);
    assert_eq!(gate(path, &[&broken]).0, Some(3));
    let (code, said) = gate(path, &[&broken, &good]);
    assert!(code == Some(3) && said.contains("a limit is broken"), "{said}");
    // A run that never finished.
    std::fs::remove_file(path.join(&good).join("runs/isolcpus=1-board-2/manifest.json")).expect("removed");
    let (code, said) = gate(path, &[&good]);
    assert!(code == Some(6) && said.contains("1 planned runs were not measured to the end"), "{said}");
    assert_eq!(latlab(path, &["baseline", "set", &good, "--reason", "x"]).status.code(), Some(6));
    // A damaged baseline is the store's fault.
    std::fs::create_dir_all(path.join("baselines")).expect("made");
    std::fs::write(path.join("baselines/x.json"), "{}").expect("written");
    assert_eq!(gate(path, &[&broken]).0, Some(7));
    assert_eq!(gate(path, &["nothing"]).0, Some(2));
}

#[test]
fn history_follows_the_nights_and_names_a_rise() {
    let results = tempfile::tempdir().expect("a temporary directory");
    for night in 0..16u32 {
        // From the tenth night on 30 % worse; one run is invalid.
        let change = |number: u32, board: &mut Board| {
            board.boot = u64::from(night * 6 + number);
            board.level = if night < 9 { 100 } else { 130 };
            board.spoilt = night == 3 && number == 0;
        };
        night_in(results.path(), &format!("202601{:02}-000000-isolation-0001", night + 1), 1, change);
    }
    let output = latlab(results.path(), &["history", "board", "--cell", "isolcpus=1", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    let cell = &json["cells"][0];
    assert_eq!((cell["runs"].as_array().map(Vec::len), &cell["left_out"]), (Some(48), &1.into()), "{json}");
    assert_eq!(cell["rise"]["from"], "20260110-000000-isolation-0001", "{json}");
    let shown = text(&latlab(results.path(), &["history", "board", "--last", "18"]).stdout);
    for words in ["board: max [us]", "isolcpus=1", "isolcpus=none", "▁", "█", "ordinary"] {
        assert!(shown.contains(words), "lacks {words:?}:\n{shown}");
    }
    // The index is derived: it is made again when it is gone or damaged, and says the same.
    let index = results.path().join("index.jsonl");
    for content in [None, Some("{\"format\":1,\"latlab\":\"0.0.0\"}\n"), Some("rubbish")] {
        match content {
            None => std::fs::remove_file(&index).expect("there was one"),
            Some(content) => std::fs::write(&index, content).expect("written"),
        }
        assert_eq!(text(&latlab(results.path(), &["history", "board", "--last", "18"]).stdout), shown);
    }
    for args in
        [&["history", "nobody"][..], &["history", "board", "--cell", "none"], &["history", "board", "--metric", "p42"]]
    {
        assert_eq!(latlab(results.path(), args).status.code(), Some(2), "{args:?}");
    }
}

/// `LATLAB_NIGHTS=365 LATLAB_NIGHTS_IN=DIR` writes a year of them, as `cargo xtask bench nights` measures.
#[test]
fn many_nights_are_read_in_a_moment() {
    let asked = |name| std::env::var(name).ok();
    let nights: u64 = asked("LATLAB_NIGHTS").and_then(|nights| nights.parse().ok()).unwrap_or(8);
    let place = tempfile::tempdir().expect("a temporary directory");
    let results = asked("LATLAB_NIGHTS_IN").map_or_else(|| place.path().to_owned(), std::path::PathBuf::from);
    let minutes = if asked("LATLAB_NIGHTS_IN").is_some() { 15 } else { 1 };
    let campaign = CAMPAIGN.replace("repeat = 3", "repeat = 6");
    for night in 0..nights {
        let execution = format!("2025{:02}{:02}-000000-isolation-0001", night / 31 + 1, night % 31 + 1);
        let change = |run: u32, board: &mut Board| board.boot = night * 12 + u64::from(run);
        night_of(&campaign, &results, &execution, minutes, change, |_| ());
    }
    let shown = text(&latlab(&results, &["history", "board"]).stdout);
    assert!(shown.contains(&(nights * 6).min(90).to_string()), "{shown}");
    let begun = std::time::Instant::now();
    assert_eq!(text(&latlab(&results, &["history", "board"]).stdout), shown);
    // Nothing is judged anew: far from the time that so many runs take.
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
}
