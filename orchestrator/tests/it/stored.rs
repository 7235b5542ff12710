//! `show`, `list` and `export` on a results directory.

use latlab::store::{Contact, FactsWhen, PLAN_FORMAT, Plan, PlannedRun, Store};
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

const CAMPAIGN: &str = r#"
name = "night"
targets = ["board"]
duration = "10s"
interval = "1ms"
load = ["dd-32M"]
[measure]
cpus = "1"
priority = 98
[loads.dd-32M.dd]
block = "32M"
[gate]
max = "120us"
[gate.quantile]
"0.999" = "60us"
"#;

fn latlab(results: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_latlab"));
    command.args(args).env("LATLAB_RESULTS", results).output().expect("latlab starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

fn captures() -> Vec<Capture> {
    let files = [
        ("/proc/version", "Linux version 5.0.14-rt8 (gcc) #1 SMP PREEMPT RT\n"),
        ("/proc/sys/kernel/osrelease", "5.0.14-rt8\n"),
        ("/proc/cmdline", "isolcpus=1 threadirqs\n"),
        ("/proc/sys/kernel/random/boot_id", "b00d\n"),
        ("/sys/devices/system/cpu/online", "0-1\n"),
        ("/sys/devices/system/cpu/isolated", "1\n"),
        ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "timer1\n"),
        ("/proc/vmstat", "oom_kill 0\n"),
        ("@kernel_log", "<6>[    1.000000] booted\n"),
    ];
    files.map(|(path, text)| Capture { path: path.into(), text: Some(text.into()), error: None }).to_vec()
}

/// Ten seconds at 1 ms: 9,998 wake-ups of 20.25 us, one of 117.5 us, one of 83 us.
fn stream(spec: &Spec) -> Vec<u8> {
    let header = Header {
        format: 1,
        run_id: spec.run_id.clone(),
        segment: 0,
        probe_version: "0.1.0".into(),
        boot_id: "b00d".into(),
        kernel_release: "5.0.14-rt8".into(),
        mono_ns: S,
        realtime_ns: 0,
        bin_width_ns: spec.measure.bin_width_ns,
        bins: spec.measure.bins,
        worst: spec.measure.worst,
        loads: vec!["dd-32M".into()],
    };
    let instrument = Instrument {
        threads: vec![ThreadSetup {
            tid: 7,
            cpu: Some(1),
            allowed_cpus: "1".into(),
            policy: Policy::Fifo,
            priority: 98,
            interval_ns: 1_000_000,
        }],
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
    let bin = |ns: u64| u32::try_from(ns / spec.measure.bin_width_ns).expect("small");
    let thread = ThreadDelta {
        thread: 0,
        bins: vec![(bin(20_250), 9_998), (bin(83_000), 1), (bin(117_500), 1)],
        blocks: vec![Block {
            end_mono_ns: 12 * S,
            cycles: 10_000,
            missed: 0,
            min_ns: 20_250,
            max_ns: 117_500,
            sum_ns: 9_998 * 20_250 + 83_000 + 117_500,
        }],
        worst: vec![Sample { latency_ns: 117_500, cycle: 6_000, mono_ns: 8 * S }],
        ..ThreadDelta::default()
    };
    let checkpoint = Checkpoint {
        warm_up: false,
        mono_ns: 12 * S,
        threads: vec![thread],
        loads: vec![LoadDelta { load: 0, active_ns: 10 * S, pause_ns: 0, starts: 1, failures: 0 }],
        system: SystemDelta { interrupts: vec![(1, "LOC".into(), 10_000)], ..SystemDelta::default() },
    };
    let end = End {
        mono_ns: 12 * S,
        reason: EndReason::Completed,
        detail: String::new(),
        restored: true,
        threads: vec![ThreadTotals { cycles: 10_000, missed: 0, negative: 0 }],
    };
    let phase = |kind, mono_ns| Record::Phase(Phase { kind, mono_ns });
    wire::encode_all(&[
        Record::Header(header),
        Record::Instrument(instrument),
        phase(PhaseKind::WarmUp, S),
        phase(PhaseKind::Measuring, 2 * S),
        checkpoint.into(),
        phase(PhaseKind::Ended, 12 * S),
        Record::End(end),
    ])
}

fn results() -> tempfile::TempDir {
    execution(true, "name = \"board\"\ncpu_count = 2\n")
}

/// An execution with one measured run and one that was refused.
fn execution(is_over: bool, target: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let campaign = campaign::load("night.toml", CAMPAIGN, &Overrides::default()).expect("a good campaign").campaign;
    let board = target::load("board.toml", target).expect("a good target").target;
    let run = |n: u32| PlannedRun {
        name: format!("default-board-{n}"),
        run_id: format!("night.{n}"),
        cell: campaign.cells[0].name.clone(),
        target: "board".into(),
        repetition: n,
    };
    let plan = Plan {
        format: PLAN_FORMAT,
        execution: "20260101-000000-night-0001".into(),
        created: "2026-01-01T00:00:00Z".into(),
        latlab_version: "0.1.0".into(),
        holder: "root@host".into(),
        campaign: campaign.clone(),
        targets: vec![board.clone()],
        runs: vec![run(1), run(2)],
    };
    let writer = Store::create(directory.path()).and_then(|s| s.create_execution(&plan)).expect("a writable store");
    let facts = Facts::parse(&captures());
    let spec = resolve::spec(&campaign.cells[0], &board, &facts, "night.1").expect("a board that fits");
    let first = writer.directory().run_dir("default-board-1");
    first.write_spec(&spec).expect("written");
    first.write_facts(FactsWhen::Before, &captures()).expect("written");
    first.write_facts(FactsWhen::After, &captures()).expect("written");
    // While the worst sample waited, and at another time.
    for mono_ns in [8 * S + 1_000_000, 9 * S] {
        let contact = Contact { mono_ns, boot_id: "b00d".into(), took_ns: 2_000_000, bytes: 0, connect_ns: 0 };
        first.add_contact(&contact).expect("written");
    }
    first.mirror(0).and_then(|mut mirror| mirror.append(&stream(&spec))).expect("written");
    if is_over {
        for step in [Step::Submit, Step::Collect, Step::Judge] {
            writer.record(Some("board"), Some("default-board-1"), step, Mark::Done, None).expect("written");
        }
        first.close(&plan, &plan.runs[0]).expect("written");
    } else {
        writer.record(Some("board"), Some("default-board-1"), Step::Submit, Mark::Done, None).expect("written");
    }
    // The board refuses it: there is a spec, but no run.
    writer.directory().run_dir("default-board-2").write_spec(&spec).expect("written");
    let refused = Some("isolated CPUs: asked for 1, found none; boot with isolcpus=1");
    writer.record(Some("board"), Some("default-board-2"), Step::Prepare, Mark::Failed, refused).expect("written");
    directory
}

#[test]
fn show_repeats_the_run_from_its_files() {
    let results = results();
    let output = latlab(results.path(), &["show", "default-board-1"]);
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for line in [
        "target            board",
        "kernel release    5.0.14-rt8",
        "preemption model  preempt-rt",
        "isolated CPUs     1",
        "cycles            10,000 of 10,000 expected",
        "missed periods    0",
        "load duty         dd-32M 100.0 %",
        "validity          VALID",
        "verdict           PASS",
        "latency [us]  cycles  missed   min  mean  p99  p99.9  p99.99    max",
        "all threads   10,000       0  20.3  20.3   21     21      84  117.5",
        "Observed maximum 117.5 us over 10,000 cycles in 10 s.",
        "117.5 us  CPU 1, after 6 s (cycle 6,000), while the host talked to it",
    ] {
        assert!(shown.contains(line), "lacks {line:?}:\n{shown}");
    }
    let widest = shown.lines().filter(|l| !l.starts_with("stored in")).map(|l| l.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?} columns:\n{shown}");
    assert!(!shown.contains('\u{1b}'), "no colour in a pipe");
}

#[test]
fn show_json_is_the_documented_object() {
    let results = results();
    let output = latlab(results.path(), &["show", "default-board-1", "--format", "json"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(value["format"], 1);
    assert_eq!(value["identity"]["execution"], "20260101-000000-night-0001");
    assert_eq!(value["validity"], "VALID");
    assert_eq!(value["verdict"], "PASS");
    assert_eq!(value["total"]["max"], serde_json::json!({ "ns": 117_500, "bound": "exact" }));
    assert_eq!(value["total"]["quantiles"][3], serde_json::json!({ "q": "0.9999", "ns": 83_999, "bound": "at-most" }));
    assert_eq!(value["board"]["preemption"], "preempt-rt");
    assert_eq!(value["loads"][0]["duty"], 1.0);
}

#[test]
fn show_without_a_name_is_the_newest_execution_and_says_why_a_run_is_missing() {
    let results = results();
    let shown = text(&latlab(results.path(), &["show"]).stdout);
    assert!(shown.contains("validity          VALID"), "{shown}");
    assert!(shown.contains("default-board-2: not measured: isolated CPUs: asked for 1, found none"), "{shown}");
}

#[test]
fn a_damaged_stream_degrades_what_is_shown() {
    let results = results();
    let path = results.path().join("20260101-000000-night-0001/runs/default-board-1/stream-0");
    let mut bytes = std::fs::read(&path).expect("stored");
    // In the interrupts of the checkpoint.
    let at = bytes.windows(3).position(|w| w == b"LOC").expect("the label is there");
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).expect("written");
    let shown = text(&latlab(results.path(), &["show", "default-board-1"]).stdout);
    assert!(shown.contains("validity          INVALID"), "{shown}");
    assert!(shown.contains("verdict           NOT JUDGED"), "{shown}");
    assert!(shown.contains("stream: 2 damaged places"), "{shown}");
    let altered = "Stored files are not as they were when the run was closed: stream-0: changed";
    assert!(shown.contains(altered), "{shown}");
    // A manifest that is no better does not hide the run.
    std::fs::write(path.with_file_name("manifest.json"), "{").expect("written");
    let shown = text(&latlab(results.path(), &["show", "default-board-1"]).stdout);
    assert!(shown.contains("closed: manifest.json:\ndamaged: "), "{shown}");
}

#[test]
fn emulated_figures_say_so() {
    let results = execution(true, "name = \"board\"\nemulated = true\n");
    let shown = text(&latlab(results.path(), &["show", "default-board-1"]).stdout);
    assert!(
        shown.contains("Figures measured under emulation: they say nothing about the board's hardware."),
        "{shown}"
    );
    let output = latlab(results.path(), &["show", "default-board-1", "--format", "json"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(value["emulated"], true);
    assert!(!text(&latlab(self::results().path(), &["show"]).stdout).contains("emulation"));
}

/// The probe's captures of this machine are understood.
#[test]
fn this_machines_facts_are_read() {
    let probe = crate::support::probe::directory().join("latprobe");
    let output = Command::new(probe).args(["facts", "--workdir", "/tmp"]).output().expect("latprobe starts");
    let lines = text(&output.stdout);
    let captures: Vec<Capture> = lines.lines().map(|line| serde_json::from_str(line).expect("a capture")).collect();
    let facts = Facts::parse(&captures);
    let file = |path: &str| std::fs::read_to_string(path).expect("readable").trim().to_owned();
    assert_eq!(facts.release, Some(file("/proc/sys/kernel/osrelease")));
    assert_eq!(facts.boot_id, Some(file("/proc/sys/kernel/random/boot_id")));
    assert_eq!(facts.online.as_ref().map(ToString::to_string), Some(file("/sys/devices/system/cpu/online")));
    assert_eq!(facts.machine.as_deref(), Some(std::env::consts::ARCH));
    assert!(facts.arch.is_some() && facts.cmdline.is_some() && facts.isolated.is_some(), "{captures:?}");
    assert!(facts.mono_ns > Some(0) && facts.uid.is_some() && facts.memory_total_kib > Some(0));
    assert!(facts.tool("dd").is_some_and(|path| path.ends_with("/dd")), "{:?}", facts.tools);
    assert!(facts.work_dirs[0].writable == Some(true) && facts.work_dirs[0].kind.is_some());
    assert!(!facts.interrupts.is_empty() && facts.rt_threads.is_some());
}

#[test]
fn a_run_that_is_not_over_is_not_judged_yet() {
    let results = execution(false, "name = \"board\"\n");
    let shown = text(&latlab(results.path(), &["show", "default-board-1"]).stdout);
    assert!(shown.contains("Not over: these are the figures so far."), "{shown}");
    assert!(shown.contains("validity          not judged yet\nverdict           not judged yet"), "{shown}");
    let listed = text(&latlab(results.path(), &["list"]).stdout);
    assert!(listed.contains("not over"), "{listed}");
}

#[test]
fn another_judgement_than_the_stored_one_is_said() {
    let results = results();
    let run = results.path().join("20260101-000000-night-0001/runs/default-board-1/verdict.json");
    let old = r#"{"format":1,"validity":"INVALID","verdict":"NOT JUDGED","findings":[],"limits":[]}"#;
    std::fs::write(run, old).expect("written");
    let shown = text(&latlab(results.path(), &["show", "default-board-1"]).stdout);
    assert!(shown.contains("Was judged INVALID, NOT JUDGED when it was stored"), "{shown}");
    assert!(shown.contains("validity          VALID"), "{shown}");
}

#[test]
fn list_names_every_run() {
    let results = results();
    let shown = text(&latlab(results.path(), &["list"]).stdout);
    for words in ["20260101-000000-night-0001", "default-board-1", "117.5", "VALID", "PASS", "not measured"] {
        assert!(shown.contains(words), "lacks {words}:\n{shown}");
    }
    let output = latlab(results.path(), &["list", "--format", "json"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(value["executions"][0]["runs"][0]["max"]["ns"], 117_500);
    assert_eq!(value["executions"][0]["runs"][1]["validity"], serde_json::Value::Null);
}

/// Every field that is written stands in docs/json.md.
#[test]
fn fields_are_documented() {
    fn names(value: &serde_json::Value, out: &mut std::collections::BTreeSet<String>) {
        match value {
            serde_json::Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                out.insert(name.clone());
                names(value, out);
            }),
            serde_json::Value::Array(items) => items.iter().for_each(|item| names(item, out)),
            _ => {}
        }
    }
    let documented = include_str!("../../../docs/json.md");
    let results = results();
    let mut found = std::collections::BTreeSet::new();
    for args in [
        &["show", "--format", "json"][..],
        &["list", "--format", "json"],
        &["export", "default-board-1", "--as", "json"],
    ] {
        for line in text(&latlab(results.path(), args).stdout).lines() {
            names(&serde_json::from_str(line).expect("JSON Lines"), &mut found);
        }
    }
    assert!(found.len() > 60, "{found:?}");
    let missing: Vec<_> = found.iter().filter(|name| !documented.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "not in docs/json.md: {missing:?}");
}

/// What people do with cyclictest's output.
#[test]
fn exported_cyclictest_text_is_read_by_the_usual_one_liners() {
    let results = results();
    let output = latlab(results.path(), &["export", "default-board-1", "--as", "cyclictest"]);
    assert!(output.status.success());
    assert_eq!(text(&output.stderr).lines().count(), 1, "{}", text(&output.stderr));
    let file = results.path().join("hist.txt");
    std::fs::write(&file, &output.stdout).expect("written");
    let shell = |script: &str| {
        let output = Command::new("sh").args(["-c", script, "sh"]).arg(&file).output().expect("sh starts");
        text(&output.stdout).trim().to_owned()
    };
    // OSADL's mklatencyplot: maximum, then data rows without comments for gnuplot.
    assert_eq!(shell(r#"grep "Max Latencies" "$1" | tr " " "\n" | sort -n | tail -1 | sed s/^0*//"#), "117");
    assert_eq!(shell(r#"grep -v -e "^#" -e "^$" "$1" | tr " " "\t" | cut -f1,2 | awk '$2 > 0' | wc -l"#), "3");
    assert_eq!(shell(r#"awk '!/^#/ && NF { n += $2 } END { print n }' "$1""#), "10000");
    assert_eq!(shell(r#"awk '/^# Total:/ { print $3 + 0 }' "$1""#), "10000");
    assert_eq!(shell(r#"awk '/^# Min Latencies/ { print $4 + 0 }' "$1""#), "20");
    assert_eq!(shell(r#"awk '/^# Avg Latencies/ { print $4 + 0 }' "$1""#), "20");
    assert_eq!(shell(r#"awk '/^# Histogram Overflows/ { print $4 + 0 }' "$1""#), "0");
}

#[test]
fn names_that_are_not_there_are_usage_errors_and_a_missing_store_is_the_stores() {
    let results = results();
    let output = latlab(results.path(), &["show", "nope"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no run `nope`"), "{}", text(&output.stderr));
    assert_eq!(latlab(results.path(), &["export", "default-board-2", "--as", "csv"]).status.code(), Some(6));
    assert_eq!(latlab(&results.path().join("missing"), &["list"]).status.code(), Some(7));
}

/// What latlab exports, latlab imports with the same counts.
#[test]
fn exported_runs_are_read_back() {
    let results = results();
    for (format, counts) in [("cyclictest", true), ("cyclictest-sparse", true), ("rt-dataset", true), ("lava", false)] {
        let exported = latlab(results.path(), &["export", "default-board-1", "--as", format]);
        assert!(exported.status.success(), "{format}");
        let file = results.path().join(format);
        std::fs::write(&file, &exported.stdout).expect("written");
        let arguments = ["import", "--dry-run", "--format", "json", file.to_str().expect("UTF-8")];
        let read: serde_json::Value =
            serde_json::from_slice(&latlab(results.path(), &arguments).stdout).expect("one JSON object");
        let thread = &read["files"][0]["measurements"][0]["threads"][0];
        assert_eq!(thread["max_ns"].as_u64().map(|ns| ns / 1000), Some(117), "{format}: {read}");
        assert_eq!(thread["binned"], if counts { 10_000 } else { 0 }, "{format}: {read}");
    }
    for (format, start) in [
        ("csv-run", "execution,run,"),
        ("junit", "<?xml"),
        ("influx", "latlab_run,"),
        ("prometheus", "# HELP latlab_run_valid"),
    ] {
        let exported = latlab(results.path(), &["export", "default-board-1", "--as", format]);
        assert!(exported.status.success() && text(&exported.stdout).starts_with(start), "{format}");
    }
}
