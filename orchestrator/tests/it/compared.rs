//! `compare` and `diff` on a results directory.

use latlab::store::{FactsWhen, PLAN_FORMAT, Plan, PlannedRun, Store};
use latlab_core::campaign::model::Cell;
use latlab_core::campaign::{self, Overrides};
use latlab_core::facts::Facts;
use latlab_core::run_state::{Mark, Step};
use latlab_core::{resolve, target};
use latprobe::spec::{Policy, Spec};
use latprobe::status::Capture;
use latprobe::stream::{
    Block, Checkpoint, End, EndReason, Header, Instrument, LoadDelta, Phase, PhaseKind, Record, Sample, Selftest,
    SystemDelta, ThreadDelta, ThreadSetup, ThreadTotals, wire,
};
use std::path::Path;
use std::process::{Command, Output};

const S: u64 = 1_000_000_000;

pub(crate) const CAMPAIGN: &str = r#"
name = "isolation"
targets = ["board"]
duration = "MINUTESmin"
interval = "1ms"
load = ["dd-32M"]
[measure]
cpus = "1"
priority = 98
[loads.dd-32M.dd]
block = "32M"
[matrix]
boot.isolcpus = ["1", "none"]
[plan]
repeat = 3
order = "interleaved"
[gate.exceed]
"70us" = 1e-5
"#;

pub(crate) fn latlab(results: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_latlab"));
    command.args(args).env("LATLAB_RESULTS", results).output().expect("latlab starts")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

/// What varies between the runs.
#[derive(Clone, Copy)]
pub(crate) struct Board {
    pub(crate) isolated: bool,
    pub(crate) boot: u64,
    hz: u32,
    /// Length of the run.
    minutes: u64,
    /// In percent of the usual latency.
    pub(crate) level: u32,
    /// A run that lost half its cycles.
    pub(crate) spoilt: bool,
}

/// What is stored of a run, for a test to spoil.
pub(crate) struct Parts {
    pub(crate) records: Vec<Record>,
    pub(crate) before: Vec<Capture>,
    pub(crate) after: Vec<Capture>,
}

fn captures(board: Board) -> Vec<Capture> {
    let (cmdline, isolated) = if board.isolated { ("isolcpus=1 threadirqs\n", "1\n") } else { ("threadirqs\n", "\n") };
    let files = [
        ("/proc/version", "Linux version 5.0.14-rt8 (gcc) #1 SMP PREEMPT RT\n".to_owned()),
        ("/proc/sys/kernel/osrelease", "5.0.14-rt8\n".to_owned()),
        ("/proc/cmdline", cmdline.to_owned()),
        ("/proc/sys/kernel/random/boot_id", format!("b00d-{}\n", board.boot)),
        ("/sys/devices/system/cpu/online", "0-1\n".to_owned()),
        ("/sys/devices/system/cpu/isolated", isolated.to_owned()),
        ("/proc/vmstat", "oom_kill 0\n".to_owned()),
        ("/proc/swaps", format!("boot {}\n", board.boot)),
        ("@config.gz", format!("CONFIG_HZ={}\nCONFIG_EXT4_FS=y\n", board.hz)),
        ("@kernel_log", "<6>[    1.000000] booted\n".to_owned()),
    ];
    files.map(|(path, text)| Capture { path: path.into(), text: Some(text), error: None }).to_vec()
}

/// Block maxima of twenty minutes: a little apart from boot to boot, higher without isolation.
fn maxima(board: Board) -> Vec<u64> {
    let mut state = board.boot.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut unit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1u64 << 31) as f64
    };
    let base = if board.isolated { 30_000.0 } else { 45_000.0 } + 1_000.0 * unit();
    let level = f64::from(board.level) / 100.0;
    let one = |unit: f64| {
        format!("{:.0}", (level * base - 1_500.0 * (-unit.max(1e-9).ln()).ln()).max(100.0)).parse().expect("a number")
    };
    (0..board.minutes * 60).map(|_| one(unit())).collect()
}

fn records(spec: &Spec, board: Board) -> Vec<Record> {
    let maxima = maxima(board);
    let per_block = if board.spoilt { 500 } else { 1000 };
    let header = Header {
        format: 1,
        run_id: spec.run_id.clone(),
        segment: 0,
        probe_version: "0.1.0".into(),
        boot_id: format!("b00d-{}", board.boot),
        kernel_release: "5.0.14-rt8".into(),
        mono_ns: S,
        realtime_ns: 0,
        bin_width_ns: spec.measure.bin_width_ns,
        bins: spec.measure.bins,
        worst: spec.measure.worst,
        loads: vec!["dd-32M".into()],
    };
    let thread = ThreadSetup {
        tid: 7,
        cpu: Some(1),
        allowed_cpus: "1".into(),
        policy: Policy::Fifo,
        priority: 98,
        interval_ns: 1_000_000,
    };
    let instrument = Instrument {
        threads: vec![thread],
        selftest: Selftest {
            clock_read_min_ns: 300,
            clock_read_p99_ns: 400,
            clock_step_ns: 10,
            clock_call: "syscall".into(),
            sleep_call: "clock_nanosleep".into(),
            timer_resolution_ns: 1,
        },
        memory_locked: true,
        cpu_dma_latency: "held 0 us".into(),
        supervisor_cpus: "0".into(),
        accepted: Vec::new(),
    };
    let phase = |kind, mono_ns| Record::Phase(Phase { kind, mono_ns });
    let mut records = vec![
        Record::Header(header),
        Record::Instrument(instrument),
        phase(PhaseKind::WarmUp, S),
        phase(PhaseKind::Measuring, 2 * S),
    ];
    for (number, ten) in (0u64..).zip(maxima.chunks(10)) {
        records.push(checkpoint(spec, number, ten, per_block));
    }
    let end = (2 + board.minutes * 60) * S;
    records.push(phase(PhaseKind::Ended, end));
    let cycles = maxima.len() as u64 * u64::from(per_block);
    records.push(Record::End(End {
        mono_ns: end,
        reason: EndReason::Completed,
        detail: String::new(),
        restored: true,
        threads: vec![ThreadTotals { cycles, missed: 0, negative: 0 }],
    }));
    records
}

/// Ten seconds: in each block all samples but its maximum are of 20.25 us, or as low as the maxima.
fn checkpoint(spec: &Spec, number: u64, maxima: &[u64], per_block: u32) -> Record {
    let low = maxima.iter().copied().min().unwrap_or(0).min(20_250);
    let bin = |ns: u64| u32::try_from(ns / spec.measure.bin_width_ns).expect("small");
    let mut bins = std::collections::BTreeMap::from([(bin(low), (per_block - 1) * 10)]);
    maxima.iter().for_each(|max| *bins.entry(bin(*max)).or_default() += 1);
    let second = |at: u64| (2 + number * 10 + at + 1) * S;
    let block = |(at, max_ns): (u64, &u64)| Block {
        end_mono_ns: second(at),
        cycles: per_block,
        missed: 0,
        min_ns: low,
        max_ns: *max_ns,
        sum_ns: u64::from(per_block - 1) * low + max_ns,
    };
    let sample = |(at, max_ns): (u64, &u64)| Sample {
        latency_ns: *max_ns,
        cycle: (number * 10 + at) * 1000,
        mono_ns: second(at) - S / 2,
    };
    let thread = ThreadDelta {
        thread: 0,
        bins: bins.into_iter().collect(),
        blocks: (0..).zip(maxima).map(block).collect(),
        worst: (0..).zip(maxima).map(sample).collect(),
        ..ThreadDelta::default()
    };
    Record::Checkpoint(Checkpoint {
        warm_up: false,
        mono_ns: second(9),
        threads: vec![thread],
        loads: vec![LoadDelta { load: 0, active_ns: 10 * S, pause_ns: 0, starts: u32::from(number == 0), failures: 0 }],
        system: SystemDelta { interrupts: vec![(1, "LOC".into(), 10_000)], ..SystemDelta::default() },
    })
}

/// A night of the isolation campaign, three boots a side unless `change` spoils them.
fn night(change: impl Fn(u32, &mut Board)) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    night_in(directory.path(), "20260101-000000-isolation-0001", 20, change);
    directory
}

/// The same in a results directory that there is.
pub(crate) fn night_in(results: &Path, execution: &str, minutes: u64, change: impl Fn(u32, &mut Board)) {
    night_of(CAMPAIGN, results, execution, minutes, change, |_| ());
}

/// A night of any campaign of a board with two CPUs, whose `MINUTES` are so many.
pub(crate) fn night_of(
    campaign: &str,
    results: &Path,
    execution: &str,
    minutes: u64,
    change: impl Fn(u32, &mut Board),
    spoil: impl Fn(&mut Parts),
) {
    let text = campaign.replace("MINUTES", &minutes.to_string());
    let campaign = campaign::load("night.toml", &text, &Overrides::default()).expect("a good campaign").campaign;
    let board = target::load("board.toml", "name = \"board\"\ncpu_count = 2\n").expect("a good target").target;
    let runs = (1..=campaign.plan.repeat).flat_map(|repetition| {
        campaign.cells.iter().map(move |cell| PlannedRun {
            name: format!("{}-board-{repetition}", cell.name),
            run_id: format!("night.{}.{repetition}", cell.name.replace(['=', ','], "-")),
            cell: cell.name.clone(),
            target: "board".into(),
            repetition,
        })
    });
    let plan = Plan {
        format: PLAN_FORMAT,
        execution: execution.into(),
        created: "2026-01-01T00:00:00Z".into(),
        latlab_version: "0.1.0".into(),
        holder: "root@host".into(),
        campaign: campaign.clone(),
        targets: vec![board.clone()],
        runs: runs.collect(),
    };
    let writer = Store::create(results).and_then(|s| s.create_execution(&plan)).expect("a writable store");
    for (number, planned) in (0u32..).zip(&plan.runs) {
        let cell: &Cell = plan.cell(planned).expect("planned");
        let isolated = cell.settings.boot.isolcpus.as_ref().is_some_and(|list| list.contains(1));
        let mut state = Board { isolated, boot: u64::from(number), hz: 250, minutes, level: 100, spoilt: false };
        change(number, &mut state);
        let facts = captures(state);
        let spec = resolve::spec(cell, &board, &Facts::parse(&facts), &planned.run_id).expect("a board that fits");
        let mut parts = Parts { records: records(&spec, state), before: facts.clone(), after: facts };
        spoil(&mut parts);
        let run = writer.directory().run_dir(&planned.name);
        run.write_spec(&spec).expect("written");
        run.write_facts(FactsWhen::Before, &parts.before).expect("written");
        run.write_facts(FactsWhen::After, &parts.after).expect("written");
        run.mirror(0).and_then(|mut mirror| mirror.append(&wire::encode_all(&parts.records))).expect("written");
        for step in [Step::Submit, Step::Collect, Step::Judge] {
            writer.record(Some("board"), Some(&planned.name), step, Mark::Done, None).expect("written");
        }
        run.close(&plan, planned).expect("written");
    }
}

#[test]
fn isolation_is_compared_by_the_setting_alone() {
    let results = night(|_, _| ());
    let output = latlab(results.path(), &["compare", "20260101", "--by", "isolcpus"]);
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(shown.starts_with("The sides differ in isolcpus alone, as far as is known;"), "{shown}");
    for line in [
        "A: isolcpus=1 (isolcpus=1): 3 runs in 3 boots, 1 h, 3,600,000 cycles, ",
        "B: isolcpus=none (isolcpus=none): 3 runs in 3 boots",
        "different as asked",
        "max (us) by boot: A ",
        "Maxima are observed ones at 1,200,000 cycles on both sides, no bounds.",
    ] {
        assert!(shown.contains(line), "lacks {line:?}:\n{shown}");
    }
    let line = |metric: &str| {
        shown.lines().find(|line| line.starts_with(metric)).unwrap_or_else(|| panic!("{metric}: {shown}"))
    };
    assert!(line("max (us)").ends_with("worse"), "{shown}");
    assert!(line("0.5 (us)").contains("no difference seen"), "{shown}");
    let output = latlab(results.path(), &["compare", "20260101", "--by", "boot.isolcpus", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(
        (&json["format"], &json["a"]["boots"], &json["metrics"][0]["outcome"]),
        (&1.into(), &3.into(), &"worse".into())
    );
}

#[test]
fn a_second_difference_is_said_in_the_first_line() {
    let results = night(|_, board| board.hz = if board.isolated { 1000 } else { 250 });
    let output = latlab(results.path(), &["compare", "20260101", "--by", "isolcpus"]);
    let shown = text(&output.stdout);
    assert!(shown.starts_with("The sides differ in more than isolcpus: HZ;"), "{shown}");
    assert!(shown.contains("also different"), "{shown}");
}

#[test]
fn two_runs_are_observed_with_an_interval_within_them() {
    let results = night(|_, _| ());
    let args = ["compare", "isolcpus=1-board-1", "isolcpus=none-board-1"];
    let shown = text(&latlab(results.path(), &args).stdout);
    assert!(shown.contains("observed, one run each"), "{shown}");
    assert!(shown.contains("0.999 within these two runs: B − A is "), "{shown}");
    assert!(shown.starts_with("The sides differ in isolcpus alone"), "the axis is known: {shown}");
}

#[test]
fn runs_of_one_boot_are_not_three() {
    let results = night(|_, board| board.boot = u64::from(board.isolated));
    let shown = text(&latlab(results.path(), &["compare", "20260101", "--by", "isolcpus"]).stdout);
    assert!(shown.contains("observed, 3 runs in one boot each"), "{shown}");
}

#[test]
fn invalid_runs_are_refused_unless_forced() {
    let results = night(|number, board| board.spoilt = number == 2);
    let args = ["compare", "20260101", "--by", "isolcpus"];
    let refused = latlab(results.path(), &args);
    assert_eq!(refused.status.code(), Some(6), "{}", text(&refused.stdout));
    assert!(text(&refused.stderr).contains("INVALID: 20260101-000000-isolation-0001/"), "{}", text(&refused.stderr));
    let forced = latlab(results.path(), &[&args[..], &["--force"]].concat());
    let shown = text(&forced.stdout);
    assert!(forced.status.success() && shown.starts_with("INVALID runs are compared (--force)."), "{shown}");
}

#[test]
fn diff_shows_what_a_comparison_leaves_out() {
    let results = night(|_, board| board.hz = if board.isolated { 1000 } else { 250 });
    let names = ["20260101/isolcpus=1", "20260101/isolcpus=none"];
    let output = latlab(results.path(), &["diff", names[0], names[1]]);
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for word in ["command line", "kernel config", "HZ", "1000", "/proc/swaps", "boot 0"] {
        assert!(shown.contains(word), "lacks {word}:\n{shown}");
    }
    assert!(!shown.contains("EXT4_FS"), "what is equal is not listed:\n{shown}");
    let json = latlab(results.path(), &["diff", names[0], names[1], "--format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("one JSON object");
    assert!(json["differences"]["differing"].as_array().is_some_and(|d| d.len() >= 4), "{json}");
}

#[test]
fn wrong_use_is_said() {
    let results = night(|_, _| ());
    for (args, said) in [
        (&["compare", "20260101"][..], "two are needed"),
        (&["compare", "20260101", "--by", "colour"], "no setting `colour`"),
        (&["compare", "20260101", "--by", "priority"], "all runs have the same priority (98)"),
        (&["compare", "nothing", "20260101"], "no run `nothing`"),
        (&["diff", "20260101/isolcpus=2", "20260101"], "no run `"),
    ] {
        let output = latlab(results.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains(said), "{args:?}: {}", text(&output.stderr));
    }
}

#[test]
fn show_states_what_the_run_allows() {
    let results = night(|_, _| ());
    let shown = text(&latlab(results.path(), &["show", "isolcpus=1-board-1"]).stdout);
    for words in ["Maximum expected in 1 h: ", "No drift seen", "Shown with 95 % confidence", "≤ 8.99"] {
        assert!(shown.contains(words), "lacks {words:?}:\n{shown}");
    }
}

#[test]
fn published_results_and_foreign_files_are_sides() {
    let results = night(|_, _| ());
    let sides = ["published:cyclone-v-cobalt-isolated", "published:cyclone-v-cobalt-shared"];
    let shown = text(&latlab(results.path(), &["compare", sides[0], sides[1]]).stdout);
    for words in ["The sides differ in isolated.", "max (us)", "50", "83", "+33", "max: observed, one run each."] {
        assert!(shown.contains(words), "lacks {words:?}:\n{shown}");
    }
    let shown =
        text(&latlab(results.path(), &["compare", "published:imx93-standard", "published:imx93-preempt-rt"]).stdout);
    assert!(shown.contains("max: cannot tell (run at least "), "{shown}");
    assert!(shown.contains("max (us) by boot: A 126, 113, 65; B 67, 71, 89."), "{shown}");
    let file = results.path().join("other.lat");
    let line = "T: 0 ( 1234) P:98 I:1000 C:1200000 Min:      5 Act:    7 Avg:    8 Max:      42\n";
    std::fs::write(&file, line).expect("written");
    let file = file.display().to_string();
    let shown = text(&latlab(results.path(), &["compare", &file, "isolcpus=1-board-1"]).stdout);
    assert!(shown.contains("boots unknown") && shown.contains("unknown") && shown.contains("release (A)"), "{shown}");
    for (args, code, said) in [
        (&["compare", "published:nothing", sides[0]][..], 2, "no published result `nothing`"),
        (&["compare", sides[0], sides[1], "--by", "isolcpus"], 2, "--by parts stored runs"),
        (&["compare", "isolcpus=1-board-1", "--with", "published"], 2, "nothing is published for board"),
        (&["diff", &file, "nothing"], 2, "no run `nothing`"),
    ] {
        let output = latlab(results.path(), args);
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        assert!(text(&output.stderr).contains(said), "{args:?}: {}", text(&output.stderr));
    }
}
