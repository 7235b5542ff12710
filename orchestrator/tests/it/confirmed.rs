//! A cell that is worse than its baseline is measured again before that fails a night.

use super::compared::{latlab, night_of};
use crate::support::Workplace;

/// As [`Workplace::campaign`] names things, on a board whose latencies are a hundredth of any machine's.
const FAST: &str = r#"
name = "short"
targets = ["board"]
duration = "MINUTESmin"
interval = "1ms"
load = ["dd-32M"]
[measure]
cpus = "1"
priority = 98
[loads.dd-32M.dd]
block = "32M"
"#;

#[test]
fn a_suspicious_cell_is_measured_again_until_it_is_certain() {
    let Some(place) = Workplace::local() else { return };
    let results = place.path().join("results");
    let nights: Vec<String> = (1..=5).map(|night| format!("2020010{night}-000000-short-0001")).collect();
    for (boot, night) in (1..).zip(&nights) {
        night_of(FAST, &results, night, 1, |_, board| (board.boot, board.level) = (boot, 1), |_| ());
    }
    let nights: Vec<&str> = nights.iter().map(String::as_str).collect();
    let set = latlab(&results, &[&["baseline", "set", "--reason", "a fast board"][..], &nights].concat());
    assert!(set.status.success(), "{set:?}");
    let runs = || {
        let newest = place.executions().into_iter().next_back().expect("one");
        newest.plan().runs.iter().map(|run| run.name.clone()).collect::<Vec<_>>()
    };

    place.campaign("short", "1s", "[gate]\nconfirm = 2\n");
    let said = place.run(&["run", "short"]);
    said.expect(3, "default on board is worse than its baseline: measured again to confirm");
    assert!(said.stdout.contains("worse than the baseline, confirmed: "), "{}", said.stdout);
    assert_eq!(runs(), ["default-board-1", "default-board-2", "default-board-3"]);

    // The night as a CI server reads it.
    let file = place.path().join("night.xml");
    let said = place.run(&["gate", "--junit", file.to_str().expect("UTF-8")]);
    said.expect(3, "");
    let xml = std::fs::read_to_string(file).expect("written");
    for words in [
        "tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\"",
        "<testcase classname=\"short.board\" name=\"default\"",
        "<failure message=\"FAIL: worse than the baseline, confirmed: ",
        "default-board-3: ",
        "latency from_ns to_ns samples\n",
    ] {
        assert!(xml.contains(words), "lacks {words:?}:\n{xml}");
    }

    // A broken limit stands: nothing is measured again to save it.
    place.campaign("short", "1s", "[gate]\nconfirm = 2\nmax = \"1ns\"\n");
    let said = place.run(&["run", "short"]);
    assert_eq!((said.code, runs().len()), (Some(3), 1), "{said:?}");
    assert!(!said.stderr.contains("measured again"), "{said:?}");
}
