//! `latlab check` and `latlab plan`: right and wrong files, as a shell sees them.

use crate::support::Workplace;

const GOOD: &str = "name = \"good\"\ntargets = [\"board\"]\nduration = \"10s\"\n[measure]\ncpus = \"1\"\n";

fn workplace() -> Workplace {
    let place = Workplace::new();
    place.target("board", "cpu_count = 2\n");
    place.target("small", "cpu_count = 1\n");
    place.write("campaigns/good.toml", GOOD);
    place
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn good_files() {
    let place = workplace();
    let said = place.run(&["check", "campaigns/good.toml", "targets/board.toml", "demo"]);
    said.expect(0, "");
    let expected = "campaigns/good.toml: campaign good, 1 cell: ok\ntargets/board.toml: target board: ok\n\
                    <built-in>/campaigns/demo.toml: campaign demo, 1 cell: ok\n";
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), (expected, ""));
    let said = place.run(&["check", "campaigns/good.toml", "--format", "json"]);
    let expected = serde_json::json!({ "ok": true, "files": [{ "file": "campaigns/good.toml", "kind": "campaign",
        "name": "good", "cells": 1, "ok": true, "diagnostics": [] }] });
    assert_eq!(json(&said.stdout), expected);
}

#[test]
fn every_file_is_looked_at_and_every_mistake_is_shown() {
    let place = workplace();
    place.write("bad.toml", "name = \"bad\"\nduration = 10\n[measure]\nmlock = True\npriorty = 98\n");
    place.write("empty.toml", "");
    std::fs::write(place.path().join("garbage.toml"), vec![0xfe; 10 << 20]).unwrap();
    let said = place.run(&[
        "check",
        "bad.toml",
        "empty.toml",
        "garbage.toml",
        "missing.toml",
        "campaigns",
        "targets/board.toml",
    ]);
    said.expect(4, "error: `duration` has no unit\n --> bad.toml:2:12\n");
    for piece in [
        "error: `True` is no TOML value\n --> bad.toml:4:9\n",
        "error: unknown key `priorty`\n --> bad.toml:5:1\n",
        "error: empty file: no campaign in it\n--> empty.toml\n",
        "error: file of more than 1048576 bytes (1 MiB)\n--> garbage.toml\n",
        "error: cannot read missing.toml: no such file\n --> command line:1:1\n",
        "error: no campaign `campaigns`\n",
    ] {
        assert!(said.stderr.contains(piece), "{piece}: {said:#?}");
    }
    assert!(said.stderr.is_ascii() && !said.stderr.contains('\u{1b}'), "{said:#?}");
    assert!(said.stdout.starts_with("bad.toml: campaign: 3 errors\n"), "{said:#?}");
    assert!(said.stdout.ends_with("targets/board.toml: target board: ok\n"), "{said:#?}");
}

#[test]
fn a_campaign_is_checked_against_the_targets_it_names() {
    let place = workplace();
    place.write("campaigns/unfit.toml", &GOOD.replace("\"board\"", "\"small\", \"ghost\""));
    let said = place.run(&["check", "unfit"]);
    said.expect(4, "error: small has no CPU 1\n");
    said.expect(4, "error: no target `ghost`\n");
    said.expect(4, "1 | cpu_count = 1\n".replace("1 |", "3 |").as_str());
}

#[test]
fn plan_shows_order_and_time() {
    let place = workplace();
    place.write(
        "campaigns/two.toml",
        &format!("{GOOD}[matrix]\ninterval = [\"1ms\", \"100us\"]\n[plan]\nrepeat = 2\norder = \"interleaved\"\n"),
    );
    let said = place.run(&["plan", "two", "--target", "board"]);
    said.expect(0, "");
    let cells: Vec<&str> = said
        .stdout
        .lines()
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with("interval=")))
        .collect();
    assert_eq!(cells, ["interval=1ms", "interval=100us", "interval=100us", "interval=1ms"], "{said:#?}");
    assert!(said.stdout.contains("board: 4 runs, about 1m 44s, ends about "), "{said:#?}");
    let said = place.run(&["plan", "two", "--only", "interval=1ms", "--set", "duration=60s", "--format", "json"]);
    let plan = json(&said.stdout);
    assert_eq!(plan["targets"][0]["runs"].as_array().unwrap().len(), 2);
    assert_eq!(plan["estimated_ns"], 2 * 76_000_000_000u64);
    assert_eq!(plan["cells"][0]["settings"]["length"]["duration_ns"], 60_000_000_000u64);
}

#[test]
fn whose_fault_it_is_decides_the_exit_code() {
    let place = workplace();
    place.write("campaigns/bad.toml", "name = \"bad\"\nduration = 10\n");
    for (arguments, code, message) in [
        (&["plan"][..], 2, "CAMPAIGN"),
        (&["check"], 2, "FILE"),
        (&["plan", "good", "--set", "duration"], 2, "write KEY=VALUE, such as duration=60s"),
        (&["plan", "good", "--set", "duratoin=60s"], 2, "error: unknown key `duratoin`\n --> --set:1:1\n"),
        (&["plan", "good", "--only", "cell=x"], 2, "error: no cell has cell = \"x\"\n --> --only:1:6\n"),
        (&["plan", "good", "--target", "board", "--target", "board"], 2, "error: target `board` is named twice\n"),
        (&["plan", "nightly"], 2, "error: campaign `nightly` names no target\n"),
        (&["plan", "god"], 4, "did you mean `good`?"),
        (&["plan", "good", "--target", "bord"], 4, "did you mean `board`?"),
        (&["plan", "bad"], 4, "error: `duration` has no unit\n --> campaigns/bad.toml:2:12\n"),
        (&["plan", "bad", "--set", "x=1"], 4, "error: unknown key `x`\n"),
    ] {
        place.run(arguments).expect(code, message);
    }
}

#[test]
fn what_is_not_supported_yet_is_refused_before_a_board_is_contacted() {
    let place = workplace();
    let said = place.run(&["run", "zynq-xeno-test"]);
    said.expect(4, "error: instrument xenomai-latency is not supported yet\n");
    said.expect(4, "no cell of this selection can be run yet\n");
    assert!(!place.path().join("results").exists());
    place.run(&["check", "cyclone-v-12h"]).expect(0, "warning: instrument xenomai-cyclictest is not supported yet\n");
    let json = json(&place.run(&["run", "zynq-xeno-test", "--format", "json"]).stdout);
    assert_eq!(json["diagnostics"].as_array().unwrap().len(), 1);
}

/// The board of the published recipe, which is nowhere: the native cell is tried, the Cobalt cells are not even planned.
#[test]
fn cells_that_are_not_supported_yet_are_left_out_of_a_run() {
    let place = workplace();
    let ssh = "[ssh]\ndestination = \"root@127.0.0.1\"\nport = 1\n";
    place.target("cyclone-v", &format!("cpu_count = 2\n{ssh}[kernel.preempt-rt]\npreemption = \"preempt-rt\"\n"));
    let said = place.run(&["run", "cyclone-v-12h"]);
    said.expect(5, "not measured: cell cobalt-isolated: instrument xenomai-cyclictest is not supported yet\n");
    said.expect(5, "not measured: cell cobalt-shared: instrument xenomai-cyclictest is not supported yet\n");
    let plan = place.run(&["list", "--format", "json"]).stdout;
    assert!(plan.contains("native-isolated-cyclone-v-1") && !plan.contains("cobalt"), "{plan}");
}

#[test]
fn a_cyclictest_command_becomes_a_campaign() {
    let place = workplace();
    let command = "cyclictest -l43200000 -a 1 -m -n -p98 -i1000 -h200 -q";
    let said = place.run(&[
        "campaign",
        "from-cyclictest",
        command,
        "--name",
        "recipe",
        "--target",
        "board",
        "-o",
        "campaigns/recipe.toml",
    ]);
    said.expect(0, "");
    place.run(&["check", "recipe"]).expect(0, "");
    place.run(&["plan", "recipe"]).expect(0, "");
    let again = place.run(&["campaign", "from-cyclictest", command, "-o", "campaigns/recipe.toml"]);
    again.expect(2, "error: cannot write campaigns/recipe.toml: File exists");
    let said = place.run(&["campaign", "from-cyclictest", "cyclictest -p80 -l10 -b 100 -x"]);
    said.expect(2, "error: `-b` cannot be expressed: a run that ends at the first late wake-up");
    said.expect(2, "error: `-x` cannot be expressed: POSIX timers with signals are not measured");
    assert_eq!(said.stdout, "");
    place.run(&["campaign", "from-cyclictest", command, "--name", "a/b"]).expect(2, "error: ");
}
