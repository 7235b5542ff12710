//! What a run must survive, or leave clean behind it.

use crate::bench::{
    Bench, MS_NS, SECOND_NS, expect_none, kill, load, long, ok, setting, setting_now, skipped, spec, turn,
};
use latprobe::{
    spec::{Length, Spec},
    status::Stage,
    stream::{EndReason, EventKind, fold::fold_bytes},
};
use std::{path::Path, process::Command};

/// A long run with loads that leave their group, and a changed setting.
fn busy(id: &str) -> (Spec, String) {
    let mut spec = long(spec(id));
    spec.loads = vec![
        load("hb", &["@latprobe", "load", "hackbench", "-g", "1", "-l", "100000000"]),
        load("stray", &["sh", "-c", "setsid sleep 3600 & exec dd if=/dev/zero of=/dev/null bs=1M"]),
    ];
    let (change, before) = setting();
    spec.apply = vec![change];
    (spec, before)
}

/// As a reset would: the supervisor is stopped first so that it cannot replace the guard, nor the guard act for it.
fn all_at_once(bench: &Bench, supervisor: i32) {
    kill(supervisor, "-STOP");
    kill(bench.process("latprobe-guard"), "-KILL");
    kill(supervisor, "-KILL");
}

/// What a load starts with an environment, a session and a parent of its own.
#[test]
fn nothing_outlives_a_killed_supervisor() {
    let Some(_turn) = turn() else { return };
    let mut spec = long(spec("unmarked"));
    let seconds = format!("36{}", std::process::id());
    let stray = format!("env -i sh -c 'setsid sleep {seconds} &'; exec sleep 3600");
    spec.loads = vec![load("stray", &["sh", "-c", &stray])];
    let bench = Bench::new(&spec);
    let pid = bench.start().supervisor_pid.expect("alive");
    let strays = || {
        let of_all = std::fs::read_dir("/proc").expect("proc").flatten();
        let line = of_all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        line.filter(|line| *line == format!("sleep\0{seconds}\0").as_bytes()).count()
    };
    bench.until("a stray", |status| status.stage == Stage::Measuring && strays() == 1);
    kill(pid, "-KILL");
    assert_eq!(bench.over().stage, Stage::Dead);
    bench.until("the end of the stray", |_| strays() == 0);
    bench.expect_gone();
    ok(bench.command(&["remove"]));
}

#[test]
fn the_guard_cleans_up_after_a_killed_supervisor() {
    let Some(_turn) = turn() else { return };
    let (spec, before) = busy("guarded");
    let bench = Bench::new(&spec);
    let pid = bench.start().supervisor_pid.expect("alive");
    bench.until("measuring", |status| status.stage == Stage::Measuring && status.segments[0].bytes > 2000);
    bench.until("under load", |_| bench.processes().len() > 40);
    // A guard that is killed is replaced.
    let guard = bench.process("latprobe-guard");
    kill(guard, "-KILL");
    bench.until("guarded again", |_| bench.find("latprobe-guard").is_some_and(|pid| pid != guard));
    kill(pid, "-KILL");
    let status = bench.over();
    let expected = "the supervisor was killed; everything was put back";
    assert_eq!((status.stage, status.message.as_deref()), (Stage::Dead, Some(expected)));
    assert_eq!(setting_now(), before);
    bench.expect_gone();
    // What was checkpointed stands.
    let folded = bench.folded(0);
    assert!(folded.end.is_none() && folded.damage.is_empty());
    let thread = &folded.threads[0];
    assert!(thread.histogram.total() > 0);
    // Closed blocks and counts are of one piece up to the last block.
    let blocks: u64 = thread.blocks.iter().map(|block| u64::from(block.cycles)).sum();
    assert!(blocks > 0 && blocks <= thread.histogram.total());
    ok(bench.command(&["restore"]));
    ok(bench.command(&["remove"]));
}

#[test]
fn restore_cleans_up_when_nobody_else_could() {
    let Some(_turn) = turn() else { return };
    let (spec, before) = busy("reset");
    let bench = Bench::new(&spec);
    let pid = bench.start().supervisor_pid.expect("alive");
    bench.until("measuring", |status| status.stage == Stage::Measuring);
    all_at_once(&bench, pid);
    let status = bench.until("dead", |status| status.stage == Stage::Dead);
    assert_eq!(status.message.as_deref(), Some("the supervisor was killed"));
    assert_ne!(setting_now(), before);
    let (_, words) = crate::bench::failed(bench.command(&["remove"]));
    assert_eq!(words, "latprobe: settings not put back: undo.json is still there: `latprobe restore DIR` first");
    let answer = String::from_utf8(ok(bench.command(&["restore"]))).expect("UTF-8");
    assert_eq!(
        answer.trim_end(),
        format!(r#"{{"restored":[["/proc/sys/vm/stat_interval","{before}"]],"failed":[],"note":null}}"#)
    );
    assert_eq!(setting_now(), before);
    bench.expect_gone();
    let again = String::from_utf8(ok(bench.command(&["restore"]))).expect("UTF-8");
    assert_eq!(again.trim_end(), r#"{"restored":[],"failed":[],"note":"no settings to put back"}"#);
}

#[test]
fn continuing_puts_back_what_the_dead_segment_left() {
    let Some(_turn) = turn() else { return };
    let (mut spec, before) = busy("continued");
    let bench = Bench::new(&spec);
    let pid = bench.start().supervisor_pid.expect("alive");
    bench.until("measuring", |status| status.stage == Stage::Measuring);
    all_at_once(&bench, pid);
    bench.until("dead", |status| status.stage == Stage::Dead);
    (spec.length, spec.loads) = (Length::DurationNs(300 * MS_NS), vec![]);
    bench.write(&spec);
    ok(bench.command(&["run", "--continue"]));
    assert_eq!(bench.over().stage, Stage::Done);
    assert_eq!(setting_now(), before);
    bench.expect_gone();
    let events = bench.folded(1).events;
    let restored = events.iter().filter(|event| event.kind == EventKind::SettingRestored).count();
    assert_eq!(restored, 2, "{events:?}");
}

#[test]
fn an_undo_file_of_another_boot_is_not_written() {
    let Some(_turn) = turn() else { return };
    let bench = Bench::new(&spec("other-boot"));
    let undo = r#"{"boot_id":"another","entries":[{"kind":"File","path":"/proc/sys/vm/stat_interval","old":"9","new":"7","optional":false,"id":0,"start":0}]}"#;
    std::fs::write(bench.dir.join("undo.json"), undo).expect("writable");
    let before = setting_now();
    let answer = String::from_utf8(ok(bench.command(&["restore"]))).expect("UTF-8");
    assert!(answer.contains("the board was reset since"), "{answer}");
    assert_eq!(setting_now(), before);
    assert!(!bench.dir.join("undo.json").exists());
}

#[test]
fn a_killed_measuring_process_loses_nothing() {
    let Some(_turn) = turn() else { return };
    let (spec, before) = busy("measurer");
    let bench = Bench::new(&spec);
    bench.start();
    bench.until("measuring", |status| status.stage == Stage::Measuring && status.segments[0].bytes > 2000);
    kill(bench.process("latprobe-meas"), "-KILL");
    let status = bench.over();
    let expected = "the measuring process ended before its time: signal 9";
    assert_eq!((status.stage, status.message.as_deref()), (Stage::Failed, Some(expected)));
    assert_eq!(setting_now(), before);
    bench.expect_gone();
    let folded = bench.folded(0);
    let end = folded.end.as_ref().expect("ended by itself");
    assert_eq!((end.reason, end.restored), (EndReason::Failed, true));
    assert!(folded.events.iter().any(|event| event.kind == EventKind::MeasurerGone));
    let thread = &folded.threads[0];
    assert_eq!(end.threads[0].cycles, thread.histogram.total());
    assert!(thread.histogram.total() > 0);
}

#[test]
fn a_run_outlives_a_start_that_is_cut_off() {
    let Some(_turn) = turn() else { return };
    let mut spec = spec("cut-off");
    spec.length = Length::DurationNs(300 * MS_NS);
    let bench = Bench::new(&spec);
    // Nobody is left to hear that it is up.
    let mut start = Command::new(env!("CARGO_BIN_EXE_latprobe")).arg("run").arg(&bench.dir).spawn().expect("starts");
    while !bench.dir.join("state.json").exists() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    start.kill().expect("is there or has just ended");
    start.wait().expect("ends");
    assert_eq!(bench.over().stage, Stage::Done);
}

#[test]
fn a_killed_load_is_started_again() {
    let Some(_turn) = turn() else { return };
    let mut spec = spec("load-killed");
    spec.loads = vec![load("sleep", &["sleep", "3600"])];
    let bench = Bench::new(&spec);
    bench.start();
    bench.until("measuring", |status| status.stage == Stage::Measuring);
    kill(bench.process("sleep"), "-KILL");
    assert_eq!(bench.over().stage, Stage::Done);
    let folded = bench.folded(0);
    assert!(folded.events.iter().any(|e| e.kind == EventKind::LoadFailed && e.detail.starts_with("signal 9 after")));
    assert_eq!((folded.loads[0].failures, folded.loads[0].starts), (1, 1));
}

fn mount(words: &[&str]) -> bool {
    Command::new(words[0]).args(&words[1..]).status().is_ok_and(|status| status.success())
}

/// A small file system of its own, gone with the value.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn new(size: &str) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().to_str().expect("UTF-8").to_owned();
        let mounted = mount(&["mount", "-t", "tmpfs", "-o", &format!("size={size}"), "latprobe-test", &path]);
        mounted.then_some(Self(dir))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        mount(&["umount", "-l", self.path().to_str().expect("UTF-8")]);
    }
}

/// A run on a small disk that is full from soon after its start.
fn on_a_full_disk(deadline_ns: u64) -> Option<(SmallDisk, Bench, std::path::PathBuf)> {
    let Some(disk) = SmallDisk::new("256k") else {
        skipped("a tmpfs cannot be mounted here");
        return None;
    };
    let dir = disk.path().join("run");
    std::fs::create_dir(&dir).expect("room");
    let mut spec = spec("full");
    (spec.length, spec.deadline_ns) = (Length::DurationNs(3 * SECOND_NS), deadline_ns);
    // More in every second than fits the rest of a page.
    (spec.measure.threads, spec.checkpoint_ns) = (vec![spec.measure.threads[0].clone(); 20], 100 * MS_NS);
    let bench = Bench::at(&dir, &spec);
    bench.start();
    bench.until("measuring", |status| status.stage == Stage::Measuring);
    let filler = disk.path().join("filler");
    // Fills what is left, to the last byte.
    let fill = Command::new("dd").args(["if=/dev/zero", "bs=512"]).arg(format!("of={}", filler.display())).output();
    assert!(!fill.expect("dd runs").status.success());
    Some((disk, bench, filler))
}

#[test]
fn a_full_disk_delays_the_stream_and_loses_nothing() {
    let Some(_turn) = turn() else { return };
    let Some((_disk, bench, filler)) = on_a_full_disk(60 * SECOND_NS) else { return };
    // Past the end of the measuring: the run waits for room with what it has to say.
    bench.until("ending", |status| status.stage == Stage::Ending);
    let status = bench.until("past its end", |status| status.mono_ns - status.start_mono_ns > 5 * SECOND_NS);
    assert_eq!(status.stage, Stage::Ending);
    std::fs::remove_file(&filler).expect("there");
    let status = bench.over();
    assert_eq!((status.stage, status.message), (Stage::Done, None));
    let folded = bench.folded(0);
    assert!(folded.damage.is_empty() && folded.torn_bytes == 0);
    let thread = &folded.threads[0];
    assert_eq!(thread.histogram.total() + thread.histogram.negative + thread.missed, 3000);
    let notes: Vec<&str> = folded.events.iter().filter(|e| e.subject == "stream").map(|e| e.detail.as_str()).collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("No space left on device") && notes[1].contains("nothing is lost"), "{notes:?}");
}

#[test]
fn a_disk_that_stays_full_ends_the_run_at_its_deadline() {
    let Some(_turn) = turn() else { return };
    let Some((_disk, bench, _filler)) = on_a_full_disk(5 * SECOND_NS) else { return };
    let status = bench.over();
    let expected = "the stream is incomplete: No space left on device (os error 28)";
    assert_eq!((status.stage, status.message.as_deref()), (Stage::Failed, Some(expected)));
    bench.expect_gone();
    let folded = bench.folded(0);
    assert!(folded.end.is_none() && folded.damage.is_empty());
}

#[test]
fn a_torn_tail_costs_one_record() {
    let Some(_turn) = turn() else { return };
    let mut spec = spec("torn");
    spec.length = Length::DurationNs(500 * MS_NS);
    let bench = Bench::new(&spec);
    bench.start();
    bench.over();
    let bytes = bench.stream(0);
    let whole = fold_bytes(&bytes);
    let torn = fold_bytes(&bytes[..bytes.len() - 1]);
    assert!(torn.end.is_none() && torn.torn_bytes > 0 && torn.damage.is_empty());
    assert_eq!(torn.threads, whole.threads);
}

#[test]
fn a_run_whose_directory_was_removed_ends_and_puts_back() {
    let Some(_turn) = turn() else { return };
    let (mut spec, before) = busy("removed");
    // Nothing but a signal makes it look.
    spec.checkpoint_ns = 3000 * SECOND_NS;
    let bench = Bench::new(&spec);
    let pid = bench.start().supervisor_pid.expect("alive");
    bench.until("measuring", |status| status.stage == Stage::Measuring);
    let mark = bench.mark();
    std::fs::remove_dir_all(&bench.dir).expect("there");
    assert_ne!(setting_now(), before);
    kill(pid, "-TERM");
    expect_none(&mark);
    assert_eq!(setting_now(), before);
}

#[test]
fn a_run_notices_that_its_directory_was_removed() {
    let Some(_turn) = turn() else { return };
    let (spec, before) = busy("removed-unasked");
    let bench = Bench::new(&spec);
    bench.start();
    bench.until("measuring", |status| status.stage == Stage::Measuring);
    let mark = bench.mark();
    std::fs::remove_dir_all(&bench.dir).expect("there");
    expect_none(&mark);
    assert_eq!(setting_now(), before);
}

#[test]
fn a_load_that_sheds_its_environment_leaves_nothing_behind() {
    let Some(_turn) = turn() else { return };
    let mut spec = long(spec("shed"));
    // Lengths that no other process sleeps.
    let [away, near] = [4, 5].map(|digit| format!("{digit}{:07}", std::process::id()));
    let script = format!("setsid sh -c 'sleep {away} & sleep {away}' & sleep {near}");
    spec.loads = vec![load("shed", &["env", "-i", "sh", "-c", &script])];
    let sleepers = || {
        let entries = std::fs::read_dir("/proc").expect("mounted").flatten();
        let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        lines.filter(|line| [&away, &near].iter().any(|time| *line == format!("sleep\0{time}\0").into_bytes())).count()
    };
    let bench = Bench::new(&spec);
    bench.start();
    bench.until("asleep", |_| sleepers() == 3);
    assert_eq!(bench.folded(0).loads[0].failures, 0);
    ok(bench.command(&["stop"]));
    assert_eq!(sleepers(), 0);
    assert_eq!(bench.over().stage, Stage::Stopped);
}
