//! Runs that go as asked.

use crate::bench::{Bench, MS_NS, SECOND_NS, failed, kill, load, long, ok, setting, setting_now, skipped, spec, turn};
use latprobe::{
    spec::{CpuDmaLatency, Hunt, Length, Mode, Policy, Sleep, Thread},
    status::{Follow, Stage},
    stream::{EndReason, EventKind, Folded},
};

/// Cycles and missed periods of thread 0 fill its time exactly.
fn expect_complete(folded: &Folded, expected: u64) {
    let thread = &folded.threads[0];
    let cycles = thread.histogram.total();
    assert_eq!(cycles + thread.histogram.negative + thread.missed, expected, "{:?}", folded.events);
    let end = folded.end.as_ref().expect("ended by itself");
    assert_eq!((end.threads[0].cycles, end.threads[0].missed), (cycles, thread.missed));
    let blocks: u64 = thread.blocks.iter().map(|block| u64::from(block.cycles)).sum();
    assert_eq!(blocks, cycles);
    let missed: u64 = thread.blocks.iter().map(|block| u64::from(block.missed)).sum();
    assert_eq!(missed, thread.missed);
    assert!(folded.damage.is_empty() && folded.torn_bytes == 0);
}

#[test]
fn a_loaded_run_counts_every_period() {
    let Some(_turn) = turn() else { return };
    let mut spec = spec("loaded");
    let mut hackbench = load("hb", &["@latprobe", "load", "hackbench", "-g", "1", "-l", "50"]);
    hackbench.pause_ns = 50 * MS_NS;
    spec.loads = vec![hackbench, load("dd", &["dd", "if=/dev/zero", "of=/dev/null", "bs=1M"])];
    let (change, before) = setting();
    spec.apply = vec![change.clone()];
    let bench = Bench::new(&spec);
    let status = bench.start();
    assert!(!status.stage.is_over(), "{status:?}");
    assert_eq!(setting_now(), change.value);
    let status = bench.over();
    assert_eq!((status.stage, status.message), (Stage::Done, None));
    assert_eq!(setting_now(), before);
    bench.expect_gone();

    let folded = bench.folded(0);
    expect_complete(&folded, 2000);
    assert_eq!(folded.measured_ns(), 2 * SECOND_NS);
    let thread = &folded.threads[0];
    assert_eq!((thread.major_faults, thread.worst.len()), (0, 8));
    assert!(thread.voluntary_switches > 0);
    assert_eq!(thread.max_ns(), Some(thread.worst[0].latency_ns));
    assert_eq!(folded.warm_up[0].histogram.total() + folded.warm_up[0].missed, 200);
    let setup = folded.instrument.as_ref().expect("set up");
    assert_eq!((setup.threads[0].policy, setup.threads[0].priority), (Policy::Fifo, 90));
    assert!(setup.memory_locked);
    let kinds: Vec<EventKind> = folded.events.iter().map(|event| event.kind).collect();
    for kind in [EventKind::SettingApplied, EventKind::SettingRestored, EventKind::LoadStarted] {
        assert!(kinds.contains(&kind), "{kind:?} in {:?}", folded.events);
    }
    let dd = folded.loads[1];
    assert!(dd.active_ns > SECOND_NS && dd.failures == 0, "{dd:?}");
    let hb = folded.loads[0];
    assert!(hb.active_ns > 0 && hb.failures == 0, "{hb:?}");
    assert!(folded.interrupts.values().sum::<u64>() > 0);
    let end = folded.end.expect("ended by itself");
    assert!(end.restored);
    assert_eq!(end.reason, EndReason::Completed);
}

#[test]
fn cycles_end_the_run_and_threads_keep_their_own_period() {
    let Some(_turn) = turn() else { return };
    let mut spec = spec("cycles");
    spec.length = Length::Cycles(500);
    spec.warmup_ns = 0;
    let cpu = spec.measure.threads[0].cpu;
    spec.measure.threads = vec![
        Thread { cpu, interval_ns: MS_NS, offset_ns: 0 },
        Thread { cpu: None, interval_ns: 2 * MS_NS, offset_ns: 500_000 },
    ];
    let bench = Bench::new(&spec);
    bench.start();
    assert_eq!(bench.over().stage, Stage::Done);
    let folded = bench.folded(0);
    for thread in &folded.threads {
        assert_eq!(thread.histogram.total() + thread.histogram.negative, 500);
    }
    assert!(folded.warm_up.is_empty());
    assert_eq!(folded.instrument.expect("set up").threads[1].interval_ns, 2 * MS_NS);
}

#[test]
fn every_way_to_sleep_and_every_policy_that_needs_no_more_than_root() {
    let Some(_turn) = turn() else { return };
    let ways = [
        (Sleep::Relative, Policy::Fifo, "clock_nanosleep"),
        (Sleep::Timerfd, Policy::Rr, "timerfd"),
        (Sleep::Absolute, Policy::Other, "clock_nanosleep"),
    ];
    for (sleep, policy, call) in ways {
        let mut spec = spec("ways");
        spec.length = Length::DurationNs(500 * MS_NS);
        (spec.measure.sleep, spec.measure.policy) = (sleep, policy);
        spec.measure.priority = if policy == Policy::Other { 0 } else { 50 };
        let bench = Bench::new(&spec);
        bench.start();
        let status = bench.over();
        assert_eq!(status.stage, Stage::Done, "{sleep:?} {status:?}");
        let folded = bench.folded(0);
        let setup = folded.instrument.as_ref().expect("set up");
        assert!(setup.selftest.sleep_call.starts_with(call), "{setup:?}");
        assert_eq!(setup.threads[0].policy, policy);
        match sleep {
            // Each period begins at the wake-up before: fewer of them, none missed.
            Sleep::Relative => {
                let cycles = folded.threads[0].histogram.total();
                assert!(cycles > 0 && cycles < 500 && folded.threads[0].missed == 0, "{cycles}");
            }
            _ => expect_complete(&folded, 500),
        }
    }
}

#[test]
fn the_deadline_comes_first() {
    let Some(_turn) = turn() else { return };
    let mut spec = spec("deadline");
    (spec.length, spec.deadline_ns) = (Length::DurationNs(3600 * SECOND_NS), SECOND_NS);
    let bench = Bench::new(&spec);
    bench.start();
    let status = bench.over();
    assert_eq!((status.stage, status.message.as_deref()), (Stage::Failed, Some("the deadline came first")));
    let folded = bench.folded(0);
    expect_complete(&folded, folded.measured_ns() / MS_NS);
    assert_eq!(folded.end.expect("ended by itself").reason, EndReason::Deadline);
}

#[test]
fn a_stop_in_the_middle_keeps_everything_so_far() {
    let Some(_turn) = turn() else { return };
    let mut spec = long(spec("stopped"));
    spec.loads = vec![load("dd", &["dd", "if=/dev/zero", "of=/dev/null", "bs=1M"])];
    let bench = Bench::new(&spec);
    bench.start();
    bench.until("measuring", |status| status.stage == Stage::Measuring);
    let status: latprobe::status::Status = serde_json::from_slice(&ok(bench.command(&["stop"]))).expect("a status");
    assert_eq!((status.stage, status.message.as_deref()), (Stage::Stopped, Some("stopped on request")));
    bench.expect_gone();
    let folded = bench.folded(0);
    expect_complete(&folded, folded.measured_ns() / MS_NS);
    assert_eq!(folded.end.expect("ended by itself").reason, EndReason::Stopped);
    // Stopping what is over changes nothing.
    let again: latprobe::status::Status = serde_json::from_slice(&ok(bench.command(&["stop"]))).expect("a status");
    assert_eq!(again.stage, Stage::Stopped);
}

#[test]
fn a_second_start_is_refused_and_continue_begins_a_new_segment() {
    let Some(_turn) = turn() else { return };
    let mut spec = long(spec("again"));
    let bench = Bench::new(&spec);
    let status = bench.start();
    let dir = bench.dir.canonicalize().expect("there");
    let pid = status.supervisor_pid.expect("alive");
    let alive = format!("latprobe: {}: this run is alive (supervisor {pid})", dir.display());
    for command in ["run", "remove", "restore"] {
        assert_eq!(failed(bench.command(&[command])), (1, alive.clone()), "{command}");
    }
    bench.until("measuring", |status| status.stage == Stage::Measuring);
    ok(bench.command(&["stop"]));
    let (code, words) = failed(bench.command(&["run"]));
    let expected = "holds an earlier run; `run DIR --continue` starts its next segment";
    assert_eq!((code, words), (1, format!("latprobe: {}: {expected}", dir.display())));
    spec.length = Length::DurationNs(300 * MS_NS);
    bench.write(&spec);
    ok(bench.command(&["run", "--continue"]));
    let status = bench.over();
    assert_eq!(status.segments.iter().map(|segment| segment.segment).collect::<Vec<_>>(), [0, 1]);
    for segment in [0, 1] {
        let folded = bench.folded(segment);
        assert_eq!(folded.header.as_ref().expect("whole").segment, segment);
        expect_complete(&folded, folded.measured_ns() / MS_NS);
    }
    ok(bench.command(&["remove"]));
    assert!(!bench.dir.exists());
}

#[test]
fn pieces_of_a_stream_make_the_whole() {
    let Some(_turn) = turn() else { return };
    let bench = Bench::new(&spec("pieces"));
    bench.start();
    let (mut whole, mut over) = (Vec::new(), false);
    // While it is written, in pieces of odd size; once more after it is over.
    loop {
        let from = whole.len().to_string();
        let answer = ok(bench.command(&["follow", "--segment", "0", "--from", &from, "--max", "317"]));
        let line = answer.iter().position(|byte| *byte == b'\n').expect("a line");
        let follow: Follow = serde_json::from_slice(&answer[..line]).expect("the first line");
        let bytes = &answer[line + 1..];
        assert_eq!((follow.from, follow.bytes), (whole.len() as u64, bytes.len() as u64));
        whole.extend_from_slice(bytes);
        if over && bytes.is_empty() {
            break;
        }
        over = follow.status.stage.is_over();
    }
    assert_eq!(whole, bench.stream(0));
    for from in [0, 1, whole.len() / 2, whole.len() - 1, whole.len()] {
        let answer = ok(bench.command(&["follow", "--segment=0", "--from", &from.to_string()]));
        let line = answer.iter().position(|byte| *byte == b'\n').expect("a line");
        assert_eq!(answer[line + 1..], whole[from..]);
    }
    let beyond = whole.len() + 1;
    let (code, words) = failed(bench.command(&["follow", "--segment", "0", "--from", &beyond.to_string()]));
    assert_eq!(code, 1);
    assert!(words.ends_with(&format!("byte {beyond} is beyond its end at {}", whole.len())), "{words}");
    let (_, words) = failed(bench.command(&["follow", "--segment", "7"]));
    assert!(words.ends_with("stream-7: No such file or directory (os error 2)"), "{words}");
}

#[test]
fn loads_that_fail_do_not_spin_and_are_told() {
    let Some(_turn) = turn() else { return };
    let mut spec = long(spec("failing"));
    spec.loads = vec![load("bad", &["sh", "-c", "echo no luck; exit 3"]), load("chatty", &["yes"])];
    let bench = Bench::new(&spec);
    bench.start();
    let log = |name: &str| std::fs::read(bench.dir.join(format!("loads/{name}.log"))).unwrap_or_default();
    bench.until("printed", |_| log("bad").len() > 5 * "no luck\n".len() && log("chatty").len() >= 1 << 20);
    ok(bench.command(&["stop"]));
    assert!(log("bad").starts_with(b"no luck\nno luck\n"));
    assert_eq!(
        log("chatty")[1 << 20..],
        *b"\n[latprobe keeps 1 MiB of a load's output: what it printed from here on was dropped]\n"
    );
    let folded = bench.folded(0);
    let told = folded.events.iter().find(|event| event.kind == EventKind::LoadFailed).expect("told");
    assert_eq!(told.subject, "bad");
    assert!(told.detail.starts_with("exit code 3 after "), "{told:?}");
    // 100 ms at least between two starts.
    let bad = folded.loads[0];
    assert!(u64::from(bad.starts) <= folded.measured_ns() / (100 * MS_NS) + 2, "{bad:?}");
}

#[test]
fn a_load_inherits_nothing_of_the_supervisor() {
    let Some(_turn) = turn() else { return };
    let mut spec = long(spec("inherits"));
    let script = "cat /proc/self/status /proc/self/oom_score_adj; echo policy $(cut -d' ' -f41 /proc/self/stat)";
    let mut look = load("look", &["sh", "-c", script]);
    look.pause_ns = 3600 * SECOND_NS;
    spec.loads = vec![look.clone()];
    look.name = "bound".to_owned();
    look.cpus = Some(vec![0]);
    spec.loads.push(look);
    let bench = Bench::new(&spec);
    bench.start();
    let log = |name: &str| std::fs::read_to_string(bench.dir.join(format!("loads/{name}.log"))).unwrap_or_default();
    bench.until("looked", |_| ["look", "bound"].iter().all(|name| log(name).contains("\npolicy ")));
    ok(bench.command(&["stop"]));
    let mine = std::fs::read_to_string("/proc/self/status").expect("readable");
    let field = |text: &str, name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
    };
    for (name, cpus) in [("look", field(&mine, "Cpus_allowed_list:").expect("there")), ("bound", "0".to_owned())] {
        let text = log(name);
        assert_eq!(field(&text, "Cpus_allowed_list:"), Some(cpus), "{name}");
        assert_eq!(field(&text, "SigBlk:").as_deref(), Some("0000000000000000"));
        // The C library may ignore its own two, 32 and 33.
        let ignored = u64::from_str_radix(&field(&text, "SigIgn:").expect("there"), 16).expect("a mask");
        assert_eq!(ignored & 0x7FFF_FFFF, 0);
        assert_eq!(field(&text, "VmLck:").as_deref(), Some("0 kB"));
        assert!(text.ends_with("\n1000\npolicy 0\n"), "{text}");
    }
}

#[test]
fn idle_states_are_held_off_the_measured_cpu_only() {
    let Some(_turn) = turn() else { return };
    let mut spec = spec("per-cpu");
    spec.measure.cpu_dma_latency = CpuDmaLatency::PerCpu;
    let cpu = spec.measure.threads[0].cpu.expect("pinned");
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us");
    let now = || std::fs::read_to_string(&path).ok();
    let before = now();
    let bench = Bench::new(&spec);
    bench.start();
    assert_eq!(now().as_deref(), before.as_ref().map(|_| "n/a\n"));
    assert_eq!(bench.over().stage, Stage::Done);
    assert_eq!(now(), before);
    let text = bench.folded(0).instrument.expect("set up").cpu_dma_latency;
    assert_eq!(text, if before.is_some() { "per-cpu" } else { "missing" });
}

/// However late the supervisor comes to run: a load's time counts in the phase that it was in.
#[test]
fn a_supervisor_that_is_late() {
    let Some(_turn) = turn() else { return };
    let mut spec = spec("late");
    (spec.warmup_ns, spec.length) = (500 * MS_NS, Length::DurationNs(5 * SECOND_NS));
    spec.loads = vec![load("sleeper", &["sleep", "3600"])];
    let bench = Bench::new(&spec);
    let pid = bench.start().supervisor_pid.expect("alive");
    kill(pid, "-STOP");
    // Well into the measuring.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    kill(pid, "-CONT");
    assert_eq!(bench.over().stage, Stage::Done);
    let folded = bench.folded(0);
    // The last wake-up may come before the last period has ended.
    let active_ns = folded.loads[0].active_ns;
    assert!((5 * SECOND_NS - 10 * MS_NS..=5 * SECOND_NS).contains(&active_ns), "{active_ns}");
}

/// A run of the whole program in a mount namespace of its own, with tracefs where the machine has none mounted.
fn traced(bench: &Bench) -> bool {
    let script = "mountpoint -q /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing || exit 9; exec \"$0\" run \"$1\"";
    let command = ["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_latprobe")];
    let output = std::process::Command::new("unshare").args(command).arg(&bench.dir).output().expect("util-linux");
    if output.status.code() == Some(9) {
        skipped("this kernel has no tracefs");
        return false;
    }
    ok(output);
    true
}

#[test]
fn a_hunt_ends_with_its_latency_and_keeps_the_trace() {
    let Some(_turn) = turn() else { return };
    let mut spec = long(spec("hunt"));
    // Any wake-up is late enough.
    let events = vec!["sched:sched_switch".to_owned()];
    spec.measure.mode = Mode::Hunt(Hunt { at_least_ns: 1, tracer: "nop".to_owned(), events });
    let bench = Bench::new(&spec);
    if !traced(&bench) {
        return;
    }
    assert_eq!(bench.over().stage, Stage::Done);
    let folded = bench.folded(0);
    let end = folded.end.expect("it ended");
    assert_eq!((end.reason, end.restored, end.threads[0].cycles), (EndReason::Completed, true, 1));
    let trace = std::fs::read_to_string(bench.dir.join("trace.txt")).expect("kept");
    let last = trace.lines().rfind(|line| line.contains("latprobe: thread 0 woke")).expect("the mark");
    let latency = folded.threads[0].worst[0].latency_ns;
    assert!(last.contains(&format!("woke {latency} ns late")), "{last}");
    ok(bench.command(&["remove"]));
}

#[test]
fn noise_leaves_a_pause_and_the_last_cpu() {
    let Some(_turn) = turn() else { return };
    let mut spec = spec("noise");
    spec.measure.mode = Mode::Noise { duty_percent: 50 };
    let bench = Bench::new(&spec);
    bench.start();
    assert_eq!(bench.over().stage, Stage::Done);
    let folded = bench.folded(0);
    let thread = &folded.threads[0];
    // Half of two seconds at well under a microsecond a read, unless the machine gives it no CPU at all.
    assert!(thread.histogram.total() > 10_000, "{}", thread.histogram.total());
    // It slept in most of its 2000 periods.
    assert!(thread.voluntary_switches > 100, "{}", thread.voluntary_switches);

    let cpus = u32::try_from(std::thread::available_parallelism().map_or(1, usize::from)).expect("few");
    spec.measure.threads = (0..cpus).map(|cpu| Thread { cpu: Some(cpu), interval_ns: MS_NS, offset_ns: 0 }).collect();
    let (code, words) = failed(Bench::new(&spec).command(&["run"]));
    assert_eq!(code, 1, "{words}");
    assert!(words.contains("noise takes every CPU"), "{words}");
}
