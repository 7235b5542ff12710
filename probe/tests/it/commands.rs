//! Short commands and refusals.

use crate::bench::{Bench, failed, load, ok, probe, setting_now, spec, turn};
use latprobe::{
    spec::{Length, Policy, Setting, Spec, Thread, Weakness},
    status::{Capture, Lock, Stage},
};
use std::{
    fs::Permissions,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

#[test]
fn specs_that_cannot_be_run_name_the_field() {
    type Break = fn(&mut Spec);
    let cases: &[(Break, &str)] = &[
        (|s| s.format = 2, "format: 2 is not understood, this probe reads 1: deploy the one that fits"),
        (
            |s| s.run_id = "a b".into(),
            "run_id: `a b` is no name: letters, digits, `.`, `_` and `-`, not starting with `.`, up to 200",
        ),
        (|s| s.measure.threads.clear(), "measure.threads: 0 is not between 1 and 1024 (threads)"),
        (
            |s| s.measure.threads[0].interval_ns = 5,
            "measure.threads[0].interval_ns: 5 is not between 10000 and 3600000000000 (ns, 10 us to 1 h)",
        ),
        (|s| s.measure.priority = 0, "measure.priority: 0 is not between 1 and 99 (for fifo and rr)"),
        (|s| s.measure.policy = Policy::Other, "measure.priority: 90 is not between 0 and 0 (for this policy)"),
        (|s| s.measure.bins = 0, "measure.bins: 0 is not between 1 and 1000000 (bins)"),
        (
            |s| s.measure.block_ns = 1,
            "measure.block_ns: 1 is not between 100000000 and 3600000000000 (ns, 100 ms to 1 h)",
        ),
        (|s| s.sync_ns = 61_000_000_000, "sync_ns: 61000000000 is not between 0 and 60000000000 (ns, up to 60 s)"),
        (|s| s.loads = vec![load("x", &[])], "loads[0].argv: the program is missing"),
        (|s| s.loads = vec![load("x", &["true"]), load("x", &["true"])], "loads[1].name: `x` is there twice"),
        (
            |s| s.apply = vec![Setting { path: "/proc/../etc/passwd".into(), value: "x".into(), optional: false }],
            "apply[0].path: `/proc/../etc/passwd` is no plain path below /proc or /sys",
        ),
    ];
    for (break_it, expected) in cases {
        let mut spec = spec("bad");
        break_it(&mut spec);
        let bench = Bench::new(&spec);
        assert_eq!(failed(bench.command(&["run"])), (1, format!("latprobe: spec.json: {expected}")));
    }
    let bench = Bench::new(&spec("bad"));
    std::fs::write(bench.dir.join("spec.json"), "{\"format\": 1, \"nonsense\": 2}").expect("writable");
    let (_, words) = failed(bench.command(&["run"]));
    assert!(words.starts_with("latprobe: spec.json: syntax: unknown field `nonsense`"), "{words}");
}

#[test]
fn what_the_board_lacks_is_refused_before_anything_is_changed() {
    let mut offline = spec("offline");
    offline.measure.threads[0] = Thread { cpu: Some(4000), interval_ns: 1_000_000, offset_ns: 0 };
    let (_, words) = failed(Bench::new(&offline).command(&["run"]));
    assert!(
        words.starts_with("latprobe: spec.json: measure.threads[0].cpu: CPU 4000 is not online (online: 0"),
        "{words}"
    );
    let mut missing = spec("missing");
    missing.loads = vec![load("hb", &["no-such-hackbench", "-g", "1"])];
    let (_, words) = failed(Bench::new(&missing).command(&["run"]));
    assert!(
        words.starts_with("latprobe: spec.json: loads[0].argv: the board has no program `no-such-hackbench` (PATH: "),
        "{words}"
    );
}

#[test]
fn a_setting_that_cannot_be_made_fails_the_run_and_the_others_are_put_back() {
    let Some(_turn) = turn() else { return };
    let before = setting_now();
    let mut spec = spec("unsettable");
    let (change, _) = crate::bench::setting();
    spec.apply =
        vec![change, Setting { path: "/proc/sys/vm/swappiness".into(), value: "99999".into(), optional: false }];
    let bench = Bench::new(&spec);
    let (code, words) = failed(bench.command(&["run"]));
    assert_eq!(code, 1);
    let expected = "setting /proc/sys/vm/swappiness cannot be set to `99999`: Invalid argument (os error 22)";
    assert_eq!(words, format!("latprobe: {expected}"));
    assert_eq!(setting_now(), before);
    let status = bench.status();
    assert_eq!((status.stage, status.message.as_deref()), (Stage::Failed, Some(expected)));
    bench.expect_gone();
}

#[test]
fn a_weakness_is_refused_unless_accepted() {
    let Some(_turn) = turn() else { return };
    let mut coarse = spec("coarse");
    (coarse.measure.bin_width_ns, coarse.measure.bins) = (1, 1000);
    let (_, words) = failed(Bench::new(&coarse).command(&["run"]));
    assert!(words.starts_with("latprobe: refused: the clock steps by "), "{words}");
    assert!(words.ends_with(" ns, a bin is 1 ns wide: use wider bins"), "{words}");
    coarse.accept = vec![Weakness::CoarseClock];
    let bench = Bench::new(&coarse);
    bench.start();
    assert_eq!(bench.over().stage, Stage::Done);
    assert_eq!(bench.folded(0).instrument.expect("set up").accepted, [Weakness::CoarseClock]);
}

#[test]
fn directories_that_are_no_run_are_left_alone() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().to_str().expect("UTF-8");
    let real = dir.path().canonicalize().expect("there");
    for command in ["run", "status", "stop", "restore", "remove", "follow"] {
        let (code, words) = failed(probe(&[command, path]));
        let expected = format!("latprobe: {}: not the directory of a run: it has no spec.json", real.display());
        assert_eq!((code, words), (1, expected), "{command}");
    }
    std::fs::write(dir.path().join("spec.json"), "{}").expect("writable");
    std::fs::write(dir.path().join("thesis.tex"), "mine").expect("writable");
    let (_, words) = failed(probe(&["remove", path]));
    assert!(words.ends_with("holds `thesis.tex`, which is no file of a run: nothing was removed"), "{words}");
    assert!(dir.path().join("thesis.tex").exists());
}

#[test]
fn facts_are_json_lines_that_say_what_is_missing() {
    let output = ok(probe(&["facts", "--workdir", "/tmp", "--workdir", "/no/such/place"]));
    let text = String::from_utf8(output).expect("UTF-8");
    let captures: Vec<Capture> = text.lines().map(|line| serde_json::from_str(line).expect("a capture")).collect();
    let get = |path: &str| captures.iter().find(|c| c.path == path).expect(path);
    assert!(get("@uname").text.as_ref().is_some_and(|text| text.starts_with("Linux ")));
    assert!(get("/proc/version").text.as_ref().is_some_and(|text| text.starts_with("Linux version ")));
    assert!(get("@workdir:/tmp").text.as_ref().is_some_and(|text| text.contains("\nwritable true\n")));
    assert_eq!(get("@workdir:/no/such/place").error.as_deref(), Some("ENOENT"));
    assert_eq!(get("/proc/xenomai/version").error.as_deref(), Some("ENOENT"));
    for path in ["@mono_ns", "@rt_threads", "/proc/interrupts", "/proc/cmdline", "/sys/devices/system/cpu/online"] {
        assert!(get(path).text.is_some(), "{path}");
    }
}

#[test]
fn the_board_is_held_by_one_execution() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().to_str().expect("UTF-8");
    let lock = |words: &[&str]| probe(&[&["lock", words[0], path], &words[1..]].concat());
    let (mine, other) = (["--holder", "a@x", "--execution", "e1"], ["--holder", "b@y", "--execution", "e2"]);
    let parse = |output: Vec<u8>| serde_json::from_slice::<Option<Lock>>(&output).expect("a lock");

    assert_eq!(parse(ok(lock(&["show"]))), None);
    let taken = parse(ok(lock(&[&["take"], &mine[..]].concat()))).expect("taken");
    assert_eq!((taken.holder.as_str(), taken.execution.as_str(), &taken.run_id), ("a@x", "e1", &None));
    let refused = lock(&[&["take"], &other[..]].concat());
    assert_eq!(refused.status.code(), Some(3));
    assert_eq!(String::from_utf8_lossy(&refused.stderr).trim_end(), "latprobe: held by a@x (execution e1)");
    assert_eq!(parse(refused.stdout).as_ref(), Some(&taken));
    // The holder may name its run; the other may not release.
    ok(lock(&[&["take"], &mine[..], &["--run", "r1"]].concat()));
    let refused = lock(&[&["release"], &other[..]].concat());
    assert_eq!(String::from_utf8_lossy(&refused.stderr).trim_end(), "latprobe: held by a@x (execution e1, run r1)");
    // A lock of an earlier boot is stale.
    let stale = Lock { boot_id: "another".into(), ..taken };
    std::fs::write(dir.path().join("lock.json"), serde_json::to_vec(&stale).expect("plain")).expect("writable");
    assert_eq!(parse(ok(lock(&["show"]))), None);
    ok(lock(&[&["take"], &other[..]].concat()));
    // Taken over on purpose.
    let stolen = parse(ok(lock(&[&["take"], &mine[..], &["--steal"]].concat()))).expect("taken");
    assert_eq!(stolen.holder, "a@x");
    assert_eq!(parse(ok(lock(&[&["release"], &mine[..]].concat()))), None);
    ok(lock(&[&["release"], &mine[..]].concat()));
}

#[test]
fn built_in_hackbench_prints_what_hackbench_prints() {
    for extra in [&[][..], &["-p"], &["-T"], &["-T", "-p"]] {
        let words = [&["load", "hackbench", "-g", "1", "-l", "10", "-s", "64"], extra].concat();
        let output = String::from_utf8(ok(probe(&words))).expect("UTF-8");
        let mode = if extra.contains(&"-T") { "threaded" } else { "process" };
        let lines: Vec<&str> = output.lines().collect();
        let first = format!("Running in {mode} mode with 1 groups using 40 file descriptors each (== 40 tasks)");
        assert_eq!(lines[..2], [first.as_str(), "Each sender will pass 10 messages of 64 bytes"]);
        let time = lines[2].strip_prefix("Time: ").expect("the time");
        assert!(time.parse::<f64>().is_ok() && time.split_once('.').is_some_and(|(_, ms)| ms.len() == 3), "{time}");
    }
}

#[test]
fn the_command_line_is_explained() {
    let (code, words) = failed(probe(&["measure"]));
    assert_eq!(code, 2);
    assert!(words.starts_with("latprobe: unknown command `measure`\n\nlatprobe measures"), "{words}");
    assert_eq!(failed(probe(&["status"])), (2, "latprobe: latprobe status: DIR is missing".to_owned()));
    let version = String::from_utf8(ok(probe(&["--version"]))).expect("UTF-8");
    let expected = format!("latprobe {} (spec 1, stream 1, {})\n", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
    assert_eq!(version, expected);
}

/// A copy of the probe and a run that a plain user may use.
fn as_nobody(spec: &Spec) -> (tempfile::TempDir, Bench, Output) {
    let root = tempfile::tempdir().expect("a temporary directory");
    let open = |path: &Path| std::fs::set_permissions(path, Permissions::from_mode(0o777)).expect("mine");
    let (program, dir) = (root.path().join("latprobe"), root.path().join("run"));
    std::fs::copy(env!("CARGO_BIN_EXE_latprobe"), &program).expect("room");
    std::fs::create_dir(&dir).expect("new");
    [root.path(), &dir].into_iter().for_each(open);
    let bench = Bench::at(&dir, spec);
    let command = format!("exec {} run {}", program.display(), dir.display());
    let output = Command::new("su").args(["-s", "/bin/sh", "nobody", "-c", &command]).output().expect("su runs");
    (root, bench, output)
}

#[test]
fn a_plain_user_is_told_what_is_missing_and_may_accept_it() {
    let Some(_turn) = turn() else { return };
    let mut spec = spec("plain");
    spec.length = Length::DurationNs(300_000_000);
    let (_root, _bench, output) = as_nobody(&spec);
    let (code, words) = failed(output);
    let expected = "latprobe: refused: thread 0: fifo priority 90 was refused: Operation not permitted (os error 1) \
                    (needs root, CAP_SYS_NICE or RLIMIT_RTPRIO; with RT_GROUP_SCHED also a cgroup that has real-time runtime)";
    // Where the limit of locked memory is low, that comes first.
    assert!(code == 1 && words.ends_with(expected.trim_start_matches("latprobe: refused: ")), "{words}");
    spec.accept = vec![Weakness::PolicyNotGranted, Weakness::MemoryNotLocked];
    let (_root, bench, output) = as_nobody(&spec);
    ok(output);
    assert_eq!(bench.over().stage, Stage::Done);
    let folded = bench.folded(0);
    let setup = folded.instrument.as_ref().expect("set up");
    assert_eq!(setup.threads[0].policy, Policy::Other);
    assert!(setup.accepted.contains(&Weakness::PolicyNotGranted));
    assert_eq!(folded.threads[0].histogram.total() + folded.threads[0].missed, 300);
}
