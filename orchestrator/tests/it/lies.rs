//! Thirty lies and more: each is a way in which a night looks well and is not. None of them passes.

use super::compared::{Parts, latlab, night_of, text};
use latprobe::spec::Policy;
use latprobe::stream::{Checkpoint, End, EndReason, Instrument, Record, ThreadSetup};
use std::path::Path;

const CAMPAIGN: &str = r#"
name = "night"
targets = ["board"]
duration = "MINUTESmin"
interval = "1ms"
load = ["dd-32M"]
[boot]
isolcpus = "1"
[measure]
cpus = "1"
priority = 98
[loads.dd-32M.dd]
block = "32M"
[require]
preemption = "preempt-rt"
clocksource = "arch_sys_counter"
[gate]
max = "60us"
missed = 0
[gate.quantile]
"0.9999" = "55us"
[gate.exceed]
"58us" = 1e-5
"#;

fn set(captures: &mut [latprobe::status::Capture], path: &str, content: &str) {
    let capture = captures.iter_mut().find(|capture| capture.path == path).expect("captured");
    capture.text = Some(content.to_owned());
}

const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// What the board of [`CAMPAIGN`] tells besides.
fn complete(parts: &mut Parts) {
    for captures in [&mut parts.before, &mut parts.after] {
        captures.push(latprobe::status::Capture {
            path: CLOCKSOURCE.into(),
            text: Some("arch_sys_counter\n".into()),
            error: None,
        });
    }
}

fn checkpoints(parts: &mut Parts) -> impl Iterator<Item = &mut Checkpoint> {
    parts.records.iter_mut().filter_map(|record| match record {
        Record::Checkpoint(checkpoint) => Some(checkpoint),
        _ => None,
    })
}

fn instrument(parts: &mut Parts) -> &mut Instrument {
    let found = parts.records.iter_mut().find_map(|record| match record {
        Record::Instrument(instrument) => Some(instrument),
        _ => None,
    });
    found.expect("there is one")
}

fn thread(parts: &mut Parts) -> &mut ThreadSetup {
    &mut instrument(parts).threads[0]
}

fn end(parts: &mut Parts) -> &mut End {
    let found = parts.records.iter_mut().find_map(|record| match record {
        Record::End(end) => Some(end),
        _ => None,
    });
    found.expect("there is one")
}

fn header(parts: &mut Parts) -> &mut latprobe::stream::Header {
    let found = parts.records.iter_mut().find_map(|record| match record {
        Record::Header(header) => Some(header),
        _ => None,
    });
    found.expect("there is one")
}

/// Half of the samples of each checkpoint are not there.
fn halve(parts: &mut Parts) {
    checkpoints(parts).flat_map(|checkpoint| &mut checkpoint.threads[0].bins).for_each(|(_, samples)| *samples /= 2);
}

/// So many of the most frequent samples take `ns` instead; the last block holds one of them.
fn slow(parts: &mut Parts, samples: u32, ns: u64) {
    let last = checkpoints(parts).last().expect("there is one");
    let delta = &mut last.threads[0];
    delta.bins.iter_mut().max_by_key(|(_, samples)| *samples).expect("samples").1 -= samples;
    delta.bins.push((u32::try_from(ns / 1000).expect("small"), samples));
    delta.bins.sort_unstable();
    delta.bins.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0 };
        same
    });
    delta.blocks.last_mut().expect("a block").max_ns = ns;
    delta.worst.last_mut().expect("a sample").latency_ns = ns;
}

type Lie = (&'static str, fn(&mut Parts));

const LIES: &[Lie] = &[
    ("nothing was measured", |p| p.records.truncate(2)),
    ("the stream is empty", |p| p.records.clear()),
    ("the measurement has no samples", |p| checkpoints(p).for_each(|c| c.threads[0].bins.clear())),
    ("the end is missing", |p| drop(p.records.pop())),
    ("half of the samples were lost on the way", halve),
    ("half of the periods were never measured", |p| {
        halve(p);
        end(p).threads[0].cycles /= 2;
    }),
    ("ten seconds are counted twice", |p| {
        let copy = p.records.iter().rfind(|record| matches!(record, Record::Checkpoint(_))).expect("one").clone();
        let at = p.records.len() - 2;
        p.records.insert(at, copy);
    }),
    ("it was stopped", |p| end(p).reason = EndReason::Stopped),
    ("it ran into its deadline", |p| end(p).reason = EndReason::Deadline),
    ("the probe refused", |p| end(p).reason = EndReason::Failed),
    ("memory was not locked", |p| instrument(p).memory_locked = false),
    ("it ran as an ordinary process", |p| (thread(p).policy, thread(p).priority) = (Policy::Other, 0)),
    ("it ran with another priority", |p| thread(p).priority = 1),
    ("it could run on any CPU", |p| thread(p).allowed_cpus = "0-1".into()),
    ("it measured every tenth period", |p| {
        thread(p).interval_ns = 10_000_000;
        checkpoints(p).flat_map(|c| &mut c.threads[0].bins).for_each(|(_, samples)| *samples = (*samples).div_ceil(10));
        end(p).threads[0].cycles /= 10;
    }),
    ("the clock is coarser than a bin", |p| instrument(p).selftest.clock_step_ns = 10_000),
    ("the load was dead", |p| checkpoints(p).for_each(|c| c.loads[0].active_ns = 0)),
    ("the load ran half of the time", |p| checkpoints(p).for_each(|c| c.loads[0].active_ns /= 2)),
    ("no load was started", |p| checkpoints(p).for_each(|c| c.loads.clear())),
    ("the measuring thread waited for its pages", |p| checkpoints(p).for_each(|c| c.threads[0].major_faults = 1)),
    ("periods were missed", |p| {
        checkpoints(p).next().expect("one").threads[0].missed = 5;
        end(p).threads[0].missed = 5;
    }),
    ("another kernel ran", |p| set(&mut p.before, "/proc/version", "Linux version 5.0.14 (gcc) #1 SMP PREEMPT\n")),
    ("another kernel was booted between the check and the run", |p| {
        (header(p).boot_id, header(p).kernel_release) = ("cafe".into(), "4.9.0".into());
    }),
    ("the CPU was not isolated", |p| set(&mut p.before, "/sys/devices/system/cpu/isolated", "\n")),
    ("the board was booted between the check and the run", |p| header(p).boot_id = "cafe".into()),
    ("another clock source was used", |p| set(&mut p.before, CLOCKSOURCE, "jiffies\n")),
    ("the clock source was lost on the way", |p| set(&mut p.after, CLOCKSOURCE, "jiffies\n")),
    ("the kernel stumbled", |p| {
        let log = "<6>[    1.000000] booted\n<4>[   30.000000] Internal error: Oops: 17 [#1] PREEMPT SMP ARM\n";
        set(&mut p.after, "@kernel_log", log);
    }),
    ("processes were killed for want of memory", |p| checkpoints(p).for_each(|c| c.system.oom_kills = 1)),
    ("one nanosecond above the limit", |p| slow(p, 1, 60_001)),
    ("the maximum keeps its limit, the quantile does not", |p| slow(p, 100, 57_000)),
    ("the maximum keeps its limit, the number above a latency does not", |p| slow(p, 5, 59_500)),
];

/// Judges the newest of a night that was spoilt.
fn gate(results: &Path, campaign: &str, spoil: impl Fn(&mut Parts)) -> (Option<i32>, String) {
    let execution = "20260101-000000-night-0001";
    night_of(campaign, results, execution, 1, |_, board| board.isolated = true, spoil);
    let output = latlab(results, &["gate", execution]);
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn none_of_them_passes() {
    let judged = |campaign: &str, spoil: fn(&mut Parts)| {
        let results = tempfile::tempdir().expect("a temporary directory");
        gate(results.path(), campaign, |parts| {
            complete(parts);
            spoil(parts);
        })
    };
    // The truth passes, at the very limit as well: limits are inclusive.
    for (what, spoil) in
        [("a good night", (|_| ()) as fn(&mut Parts)), ("a maximum at the limit", |p| slow(p, 1, 60_000))]
    {
        let campaign = CAMPAIGN.replace("\"58us\" = 1e-5", "\"58us\" = 1e-3");
        let (code, said) = judged(&campaign, spoil);
        assert!(code == Some(0) && said.contains("PASS"), "{what}: {said}");
    }
    assert!(LIES.len() >= 30);
    for (lie, spoil) in LIES {
        let (code, said) = judged(CAMPAIGN, *spoil);
        assert!(matches!(code, Some(3 | 6 | 7)) && !said.contains("PASS"), "{lie}: {code:?}\n{said}");
    }
    // What only degrades a run does not pass where only VALID will do.
    let negative = |p: &mut Parts| {
        checkpoints(p).next().expect("one").threads[0].negative = 2;
        end(p).threads[0].negative = 2;
    };
    let (code, said) = judged(CAMPAIGN, negative);
    assert!(code == Some(0) && said.contains("DEGRADED"), "{said}");
    let (code, said) = judged(&CAMPAIGN.replace("missed = 0", "missed = 0\nvalidity = \"valid\""), negative);
    assert!(code == Some(6) && !said.contains("PASS"), "{said}");
}

#[test]
fn a_baseline_that_is_not_there_passes_nothing() {
    let campaign = format!("{CAMPAIGN}[gate.baseline]\nmetrics = [\"max\"]\n");
    let results = tempfile::tempdir().expect("a temporary directory");
    let path = results.path();
    let (code, said) = gate(path, &campaign, complete);
    assert!(code == Some(6) && said.contains("none is set"), "{said}");
    // Of too few nights, and of nights that are gone.
    let nights: Vec<String> = (2..=6).map(|night| format!("2026010{night}-000000-night-0001")).collect();
    for (boot, night) in (2..).zip(&nights) {
        night_of(&campaign, path, night, 1, |_, board| (board.boot, board.isolated) = (boot, true), complete);
    }
    let set = |nights: &[String]| {
        let nights: Vec<&str> = nights.iter().map(String::as_str).collect();
        latlab(path, &[&["baseline", "set", "--reason", "x"][..], &nights].concat()).status.code()
    };
    let judged = || {
        let output = latlab(path, &["gate", "20260101"]);
        (output.status.code(), text(&output.stdout))
    };
    assert_eq!(set(&nights[..4]), Some(0));
    assert!(matches!(judged(), (Some(6), said) if said.contains("4 usable runs")));
    assert_eq!(set(&nights), Some(0));
    assert!(matches!(judged(), (Some(0), said) if said.contains("PASS")));
    std::fs::remove_dir_all(path.join(&nights[0])).expect("removed");
    assert!(matches!(judged(), (Some(6), said) if said.contains("4 usable runs")));
}

#[test]
fn files_that_lie_are_refused() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let file = place.path().join("night.toml");
    let good = CAMPAIGN.replace("MINUTES", "1").replace("targets = [\"board\"]\n", "");
    for (old, new) in [
        ("", ""),
        ("max = \"60us\"", "max = nan"),
        ("max = \"60us\"", "max = inf"),
        ("max = \"60us\"", "max = 60"),
        ("max = \"60us\"", "max = \"60\""),
        ("\"0.9999\" = \"55us\"", "\"99.99\" = \"55us\""),
        ("\"58us\" = 1e-5", "\"58us\" = nan"),
        ("missed = 0", "missed = 0\nbaseline = { metrics = [] }"),
        ("missed = 0", "missed = 0\nbaseline = { metrics = [\"p42\"] }"),
        ("missed = 0", "missed = 0\nbaseline = { confidence = nan }"),
        ("missed = 0", "missed = 0\nvalidity = \"any\""),
    ] {
        std::fs::write(&file, good.replace(old, new)).expect("written");
        let output = latlab(place.path(), &["check", file.to_str().expect("UTF-8")]);
        let expected = if new.is_empty() { 0 } else { 4 };
        assert_eq!(output.status.code(), Some(expected), "{new}: {}", text(&output.stderr));
    }
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("core/tests/fixtures");
    for name in
        ["cyclictest/v2.4-help.txt", "cyclictest/no-sample.txt", "cyclictest/no-sample.hist", "refused/empty.txt"]
    {
        let file = fixtures.join(name);
        let output = latlab(place.path(), &["import", "--dry-run", file.to_str().expect("UTF-8")]);
        assert_eq!(output.status.code(), Some(4), "{name}: {}", text(&output.stdout));
    }
}
