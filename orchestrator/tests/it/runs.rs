//! Whole runs, and what must not disturb them.

use crate::support::dropbear::{self, Dropbear};
use crate::support::sshd::{Options, Sshd, free_port};
use crate::support::{Running, Workplace, can_run, processes, wait_for};
use latlab::store::journal::Entry;
use latlab_core::run_state::{Mark, Step};
use latprobe::stream::PhaseKind;
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::process::Stdio;

const NEEDS: [&str; 3] = ["sshd", "ssh", "ssh-keygen"];

#[test]
fn locally() {
    if !can_run(&[]) {
        return;
    }
    let place = Workplace::new();
    place.target("board", "transport = \"local\"\n");
    let said = place.run(&["run", "short"]);
    said.expect(0, "board: default-board-1: VALID, NOT JUDGED");
    assert_eq!(place.assert_whole(), 1);
    place.assert_clean(&place.path().join("board-work/latlab"));
}

#[test]
fn over_openssh_as_root_and_through_become() {
    if !can_run(&NEEDS) {
        return;
    }
    let place = Workplace::new();
    let sshd = Sshd::start(&place);
    for r#become in ["", "become = \"env LATLAB='a b' nice -n 0\"\n"] {
        place.target("board", &format!("{}{}", sshd.target(), r#become));
        place.run(&["run", "short"]).expect(0, "board: default-board-1: ");
    }
    assert_eq!(place.assert_whole(), 2);
    place.assert_clean(&place.path().join("board-work/latlab"));
}

#[test]
fn over_dropbear_into_a_root_of_busybox_alone() {
    if !can_run(&dropbear::NEEDS) {
        return;
    }
    let place = Workplace::new();
    let board = Dropbear::start(&place);
    place.target("board", &format!("work_dirs = [\"/var/tmp\"]\n{}", board.target()));
    let said = place.run(&["run", "short"]);
    said.expect(0, ", uploaded to /var/tmp/latlab");
    said.expect(0, "board: default-board-1: ");
    assert_eq!(place.assert_whole(), 1);
    place.assert_clean(&board.root().join("var/tmp/latlab"));
}

#[test]
fn a_connection_that_is_killed_in_mid_run() {
    if !can_run(&NEEDS) {
        return;
    }
    let place = Workplace::new();
    place.campaign("long", "12s", "");
    let mut sshd = Sshd::start(&place);
    place.target("board", &sshd.target());
    let running = place.start(&["run", "long"]);
    place.wait_for_cycles(0);
    sshd.kill_sessions();
    place.wait_for_cycles(2000);
    // The server is away for a while, too.
    sshd.stop();
    std::thread::sleep(std::time::Duration::from_secs(3));
    sshd.again();
    let said = running.wait();
    said.expect(0, "no answer for ");
    said.expect(0, "answers again after ");
    assert_eq!(place.assert_whole(), 1);
    place.assert_clean(&place.path().join("board-work/latlab"));
}

#[test]
fn a_host_that_is_killed_in_mid_run() {
    if !can_run(&NEEDS) {
        return;
    }
    let place = Workplace::new();
    place.campaign("long", "5s", "");
    let sshd = Sshd::start(&place);
    place.target("board", &sshd.target());
    let running = place.start(&["run", "long"]);
    place.wait_for_cycles(0);
    running.signal("KILL");
    assert_eq!(running.wait().code, None);
    // A new campaign does not take the board away from the run.
    place.run(&["run", "short"]).expect(5, "board has run default-board-1 of execution ");
    let said = place.run(&["resume"]);
    said.expect(0, "going on with ");
    assert_eq!(place.assert_whole(), 1);
    place.assert_clean(&place.path().join("board-work/latlab"));
    place.run(&["resume"]).expect(0, "nothing to do: every execution is finished");
}

/// Killed as soon as the journal holds an entry, and gone on with by the next `latlab`.
#[test]
fn a_host_that_is_killed_at_any_step() {
    if !can_run(&[]) {
        return;
    }
    use Mark::{Done, Intent};
    for (step, mark) in [
        (Step::Deploy, Intent),
        (Step::Lock, Done),
        (Step::Prepare, Intent),
        (Step::Prepare, Done),
        (Step::Submit, Intent),
        (Step::Submit, Done),
        (Step::Collect, Intent),
        (Step::Collect, Done),
        (Step::Judge, Intent),
        (Step::Judge, Done),
        (Step::Remove, Done),
    ] {
        let place = Workplace::new();
        place.campaign("brief", "1s", "");
        place.target("board", "transport = \"local\"\n");
        let running = place.start(&["run", "brief"]);
        wait_for("the step", 60, || {
            let entries = place.executions().first()?.journal().ok()?;
            entries.iter().any(|entry| entry.step == step && entry.mark == mark).then_some(())
        });
        running.signal("KILL");
        running.wait();
        let said = place.run(&["resume"]);
        assert_eq!(said.code, Some(0), "after {step:?} {mark:?}: {said:#?}");
        assert_eq!(place.assert_whole(), 1, "after {step:?} {mark:?}");
        place.assert_clean(&place.path().join("board-work/latlab"));
    }
}

#[test]
fn a_host_that_is_killed_after_the_judgement() {
    if !can_run(&[]) {
        return;
    }
    let place = Workplace::new();
    place.target("board", "transport = \"local\"\n");
    place.run(&["run", "short"]).expect(0, "board: default-board-1: VALID");
    let work = place.path().join("board-work/latlab");
    let path = place.executions()[0].path().join("journal.jsonl");
    let whole = std::fs::read_to_string(&path).unwrap();
    let execution = place.executions()[0].name().to_owned();
    for last in [(Step::Judge, Mark::Done), (Step::Remove, Mark::Done), (Step::Unlock, Mark::Intent)] {
        // As it stood after that step, with the board still taken.
        let until = |line: &&str| {
            let entry: Entry = serde_json::from_str(line).unwrap();
            (entry.step, entry.mark) != last
        };
        let kept = whole.lines().take_while(until).count() + 1;
        let cut: String = whole.lines().take(kept).map(|line| format!("{line}\n")).collect();
        std::fs::write(&path, cut).unwrap();
        let take = ["lock", "take", work.to_str().unwrap(), "--holder", "me@here", "--execution", &execution];
        let probe = crate::support::probe::directory().join("latprobe");
        assert!(std::process::Command::new(probe).args(take).stdout(Stdio::null()).status().unwrap().success());
        place.run(&["resume"]).expect(0, "board: giving the board back");
        place.assert_clean(&work);
        place.run(&["resume"]).expect(0, "nothing to do: every execution is finished");
    }
    assert_eq!(place.assert_whole(), 1);
    // Without its journal the run is not measured a second time into the same files.
    std::fs::remove_file(&path).unwrap();
    place.run(&["resume"]).expect(7, "it does not know of run default-board-1, which is stored");
    assert_eq!(place.assert_whole(), 1);
}

#[test]
fn stopped_and_left() {
    if !can_run(&NEEDS) {
        return;
    }
    let place = Workplace::new();
    place.campaign("long", "60s", "");
    place.target("board", "transport = \"local\"\n");
    let work = place.path().join("board-work/latlab");
    let running = place.start(&["run", "long"]);
    place.wait_for_cycles(0);
    running.signal("HUP");
    running.wait().expect(8, "left measuring: default-board-1; `latlab resume ");
    assert!(!processes::mentioning(place.executions()[0].name()).is_empty(), "the run was not left");
    // What is there by now can be had without disturbing it.
    let bytes = || place.executions()[0].runs().next().unwrap().1.segment_bytes(0).unwrap().len();
    let before = bytes();
    let on_board = work.join("runs").join(&place.executions()[0].plan().runs[0].run_id).join("stream-0");
    wait_for("more on the board", 30, || (std::fs::metadata(&on_board).ok()?.len() > before as u64).then_some(()));
    place.run(&["collect"]).expect(8, "left measuring: default-board-1");
    assert!(bytes() > before);
    let running = place.start(&["resume"]);
    let begun = |entry: &Entry| entry.step == Step::Execution && entry.mark == Mark::Intent;
    wait_for("the journal", 20, || {
        let entries = place.executions()[0].journal().unwrap();
        (entries.into_iter().filter(begun).count() == 3).then_some(())
    });
    running.signal("INT");
    running.wait().expect(6, "default-board-1: INVALID");
    assert_eq!(place.assert_whole(), 1);
    place.assert_clean(&work);
}

#[test]
fn stopped_from_elsewhere() {
    if !can_run(&[]) {
        return;
    }
    let place = Workplace::new();
    place.campaign("long", "60s", "[plan]\nrepeat = 2\n");
    place.target("board", "transport = \"local\"\n");
    let running = place.start(&["run", "long"]);
    place.wait_for_cycles(0);
    place.run(&["stop"]).expect(5, &format!("error: process {} carries ", running.pid()));
    running.signal("KILL");
    running.wait();
    let said = place.run(&["stop"]);
    said.expect(6, "default-board-1: INVALID");
    said.expect(6, "1 of 2 runs not begun");
    assert!(place.executions()[0].runs().next().unwrap().1.judgement().unwrap().is_some());
    place.assert_clean(&place.path().join("board-work/latlab"));
}

#[test]
fn a_board_whose_holder_is_gone_for_good() {
    if !can_run(&[]) {
        return;
    }
    let place = Workplace::new();
    place.campaign("long", "60s", "");
    place.target("board", "transport = \"local\"\n");
    let running = place.start(&["run", "long"]);
    place.wait_for_cycles(0);
    running.signal("KILL");
    running.wait();
    let execution = place.executions()[0].name().to_owned();
    std::fs::rename(place.path().join("results"), place.path().join("gone")).unwrap();
    place.run(&["run", "short"]).expect(5, "the board is held by tester@");
    place.run(&["release", "board", "--from", &execution]).expect(0, "board: free; its run was thrown away");
    assert!(processes::mentioning(&execution).is_empty());
    assert!(place.run(&["status", "board"]).stdout.contains("board: free\n"));
    place.run(&["run", "short"]).expect(0, "VALID");
}

#[test]
fn results_that_are_removed_in_mid_run() {
    if !can_run(&[]) {
        return;
    }
    let place = Workplace::new();
    place.campaign("long", "60s", "");
    place.target("board", "transport = \"local\"\n");
    let running = place.start(&["run", "long"]);
    place.wait_for_cycles(0);
    let execution = place.executions()[0].name().to_owned();
    // What is written in between makes it fail.
    wait_for("the removal", 10, || std::fs::remove_dir_all(place.path().join("results")).ok());
    running.signal("TERM");
    let said = running.wait();
    let release = format!("`latlab release board --from {execution}`");
    assert!(said.stderr.contains("somebody removed the results of ") && said.stderr.contains(&release), "{said:#?}");
    assert!(!said.stderr.contains("latlab resume"), "{said:#?}");
    place.run(&["release", "board", "--from", &execution]).expect(0, "board: ");
    assert!(processes::mentioning(&execution).is_empty());
}

#[test]
fn the_output_of_a_load_comes_home_whole() {
    if !can_run(&[]) {
        return;
    }
    let place = Workplace::new();
    let argv = r#"["sh", "-c", "seq 1 40000; exec sleep 60"]"#;
    place.campaign("talk", "1s", &format!("[loads.talk.command]\nargv = {argv}\n"));
    place.target("board", "transport = \"local\"\n");
    place.run(&["run", "talk", "--set", "load=talk"]).expect(0, "");
    let execution = &place.executions()[0];
    let (_, run) = execution.runs().next().unwrap();
    let log = std::fs::read_to_string(run.path().join("loads/talk.log")).unwrap();
    assert!(log.len() > 200_000 && log.starts_with("1\n2\n") && log.ends_with("\n40000\n"), "{} bytes", log.len());
}

#[test]
fn leaving_does_not_wait_for_a_board_that_hangs() {
    if !can_run(&NEEDS) {
        return;
    }
    let place = Workplace::new();
    let sshd = Sshd::with(&place, "sshd", &Options { config: "ForceCommand sleep 600\n", ..Options::default() });
    place.target("board", &sshd.target());
    let begun = std::time::Instant::now();
    let running = place.start(&["run", "short"]);
    let sockets = place.path().join("run/latlab/").display().to_string();
    wait_for("the connection", 30, || (!processes::mentioning(&sockets).is_empty()).then_some(()));
    for _ in 0..2 {
        running.signal("TERM");
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
    running.wait().expect(6, "1 of 1 runs not begun");
    assert!(begun.elapsed().as_secs() < 40);
    place.assert_clean(&place.path().join("board-work/latlab"));
    let masters = processes::mentioning(&place.path().join("run").display().to_string());
    assert!(masters.is_empty(), "{masters:?}");
}

#[test]
fn a_board_that_somebody_else_holds() {
    if !can_run(&[]) {
        return;
    }
    let place = Workplace::new();
    place.campaign("long", "60s", "");
    place.target("board", "transport = \"local\"\n");
    let running = place.start(&["run", "long"]);
    place.wait_for_cycles(0);
    place.run(&["run", "short", "--results", "elsewhere"]).expect(5, "board: the board is held by tester@");
    let execution = place.executions()[0].name().to_owned();
    for verb in ["list", "show"] {
        let said = place.run(&[verb, "--results", "elsewhere"]);
        let stdout = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(stdout.contains("the board is held by tester@"), "{said:#?}");
        assert!(stdout.contains(&format!("for execution {execution}")), "{said:#?}");
    }
    let said = place.run(&["status", "board"]);
    assert!(said.stdout.contains(&format!(" for execution {execution} since ")), "{said:#?}");
    assert!(said.stdout.contains(&format!("  run {execution}.0: measuring, begun ")), "{said:#?}");
    place.run(&["release", "board", "--from", "other"]).expect(0, "board: not held for execution other");
    running.signal("TERM");
    running.wait().expect(6, "INVALID");
    place.run(&["run", "short", "--results", "elsewhere"]).expect(0, "");
}

#[test]
fn a_supervisor_that_is_killed() {
    if !can_run(&[]) {
        return;
    }
    let place = Workplace::new();
    place.campaign("long", "60s", "");
    place.target("board", "transport = \"local\"\n");
    let running = place.start(&["run", "long"]);
    place.wait_for_cycles(1000);
    let run_id = &place.executions()[0].plan().runs[0].run_id.clone();
    let supervisor = |(pid, line): &(u32, String)| line.contains(" supervise ").then_some(*pid);
    let pid = processes::mentioning(run_id).iter().find_map(supervisor).unwrap();
    processes::kill(pid);
    let said = running.wait();
    said.expect(6, "default-board-1: INVALID, NOT JUDGED");
    // What was checkpointed before is kept.
    let execution = &place.executions()[0];
    let (_, run) = execution.runs().next().unwrap();
    assert!(run.fold().unwrap()[0].threads[0].histogram.total() > 0);
    assert_eq!(run.verify().unwrap(), Vec::<String>::new());
    place.assert_clean(&place.path().join("board-work/latlab"));
}

#[test]
fn a_board_that_is_away_does_not_touch_the_other() {
    if !can_run(&NEEDS) {
        return;
    }
    let place = Workplace::new();
    place.target("away", &format!("[ssh]\ndestination = \"root@127.0.0.1\"\nport = {}\n", free_port()));
    place.target("board", "transport = \"local\"\n");
    let said = place.run(&["run", "short", "--target", "away", "--target", "board"]);
    said.expect(5, "away: root@127.0.0.1 port ");
    said.expect(5, "board: default-board-1: VALID, NOT JUDGED");
    // What could not be begun is begun when the board is there.
    place.run(&["resume"]).expect(5, "away: root@127.0.0.1 port ");
}

#[test]
fn the_host_asks_only_at_the_end() {
    if !can_run(&NEEDS) {
        return;
    }
    let place = Workplace::new();
    place.campaign("quiet", "3s", "mode = \"end\"\n");
    let sshd = Sshd::start(&place);
    place.target("board", &sshd.target());
    place.run(&["run", "quiet"]).expect(0, "VALID");
    assert_eq!(place.assert_whole(), 1);
    let (_, run) = place.executions()[0].runs().next().map(|(planned, run)| (planned.clone(), run)).unwrap();
    let (folded, contacts) = (run.fold().unwrap(), run.contacts().unwrap());
    let measuring = folded[0].phases.iter().find(|p| p.kind == PhaseKind::Measuring).unwrap().mono_ns;
    let during = contacts.iter().filter(|c| c.mono_ns > measuring && c.mono_ns < measuring + 3_000_000_000).count();
    // One may fall into the beginning: it asks when the end is due.
    assert!(during <= 1, "{contacts:#?}");
}

#[test]
fn a_full_disk_on_the_host() {
    if !can_run(&["unshare"]) {
        return;
    }
    let place = Workplace::new();
    place.campaign("long", "4s", "");
    place.target("board", "transport = \"local\"\n");
    std::fs::create_dir(place.path().join("results")).unwrap();
    // It fills up in mid-run, and is free again when the run is gone on with.
    let script = "mount -t tmpfs -o size=20m tmpfs results\n\"$0\" run long & latlab=$!\n\
                  until cat results/*/runs/*/stream-0 2>/dev/null | grep -q .; do kill -0 $latlab || exit 1; sleep 0.1; done\n\
                  cat /dev/zero >results/filler\nwait $latlab\necho run: $?\n\
                  rm results/filler\n\"$0\" resume\necho resume: $?\n\"$0\" list\ncp -r results kept";
    let latlab = place.latlab(&[]);
    let mut unshare = std::process::Command::new("unshare");
    unshare.args(["--mount", "sh", "-c", script]).arg(latlab.get_program()).current_dir(place.path()).env_clear();
    unshare.envs(latlab.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let output = unshare.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stdout.contains("run: 7\n"), "{stdout}{stderr}");
    assert!(stderr.contains("results store: no space left for results/"), "{stdout}{stderr}");
    assert!(stdout.contains("resume: 0\n"), "{stdout}{stderr}");
    std::fs::remove_dir(place.path().join("results")).unwrap();
    std::fs::rename(place.path().join("kept"), place.path().join("results")).unwrap();
    assert_eq!(place.assert_whole(), 1);
    place.assert_clean(&place.path().join("board-work/latlab"));
}

#[test]
fn events_for_programs() {
    if !can_run(&[]) {
        return;
    }
    let place = Workplace::new();
    place.target("board", "transport = \"local\"\n");
    let said = place.run(&["run", "short", "--format", "json"]);
    said.expect(0, "");
    let events: Vec<serde_json::Value> = said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names.first(), Some(&"started"));
    assert_eq!(names.last(), Some(&"result"));
    for expected in ["board", "stage", "measured", "over", "board-over"] {
        assert!(names.contains(&expected), "{expected} in {names:?}");
    }
    assert_eq!(events.last().unwrap()["result"]["validity"], "VALID");
}

/// Ctrl-C on a real terminal: the question, its answer, and the bars around it.
#[test]
fn the_question_on_a_terminal() {
    if !can_run(&["script"]) {
        return;
    }
    let place = Workplace::new();
    place.campaign("long", "60s", "");
    place.target("board", "transport = \"local\"\n");
    for (answer, code) in [("l\n", 8), ("s\n", 6)] {
        let verb = if code == 8 { "run long" } else { "resume" };
        let typescript = place.path().join(format!("typescript-{code}"));
        let latlab = place.latlab(&[]);
        // A terminal that nobody looks at has no size; Ctrl-C reaches the shell, too.
        let line = format!(
            "trap : INT; stty rows 30 cols 160; {} {verb}; echo code: $?",
            latlab.get_program().to_string_lossy()
        );
        let mut script = std::process::Command::new("script");
        script.args(["-q", "-e", "-f", "-c", &line]).arg(&typescript).current_dir(place.path());
        script.env_clear().envs(latlab.get_envs().filter_map(|(key, value)| Some((key, value?)))).env("TERM", "xterm");
        let mut script = Running::new(script.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()));
        let shown = || String::from_utf8_lossy(&std::fs::read(&typescript).unwrap_or_default()).into_owned();
        let mut keyboard = script.keyboard();
        wait_for("a bar", 60, || shown().contains("cycles").then_some(()));
        keyboard.write_all(b"\x03").unwrap();
        wait_for("the question", 20, || shown().contains("[s/l]").then_some(()));
        keyboard.write_all(answer.as_bytes()).unwrap();
        wait_for("the end", 60, || shown().contains(&format!("code: {code}")).then_some(()));
        drop(keyboard);
        script.wait();
    }
    assert_eq!(place.assert_whole(), 1);
    place.assert_clean(&place.path().join("board-work/latlab"));
}

/// A login of its own that becomes root by `sudo -n`, on a board made of this machine and other account files.
#[test]
fn a_login_that_is_not_root() {
    if !can_run(&["sshd", "ssh", "ssh-keygen", "unshare", "sudo"]) {
        return;
    }
    let place = Workplace::new();
    let at = place.path();
    std::fs::create_dir(at.join("lab-home")).unwrap();
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap();
    let home = at.join("lab-home").display().to_string();
    place.write("passwd", &format!("{passwd}labuser:x:4242:4242::{home}:/bin/sh\n"));
    let shadow = std::fs::read_to_string("/etc/shadow").unwrap();
    place.write("shadow", &format!("{shadow}labuser:*:19000:0:99999:7:::\n"));
    place.write("sudoers", "root ALL=(ALL:ALL) ALL\nlabuser ALL=(root) NOPASSWD: ALL\n");
    place.write("sudoers-none", "root ALL=(ALL:ALL) ALL\n");
    for (file, mode) in [("shadow", 0o600), ("sudoers", 0o440), ("sudoers-none", 0o440)] {
        std::fs::set_permissions(at.join(file), std::fs::Permissions::from_mode(mode)).unwrap();
    }
    std::fs::set_permissions(at, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::create_dir(at.join("board-work")).unwrap();
    let with = |sudoers: &str| {
        let at = at.display();
        let mounts = format!(
            "mount --bind {at}/passwd /etc/passwd\nmount --bind {at}/shadow /etc/shadow\nmount --bind {at}/{sudoers} /etc/sudoers\n"
        );
        Sshd::with(&place, &format!("sshd-{sudoers}"), &Options { mounts: &mounts, ..Options::default() })
    };
    let target = |sshd: &Sshd, more: &str| {
        place.target("board", &(sshd.target().replace("root@", "labuser@") + more));
    };
    let sshd = with("sudoers");
    target(&sshd, "become = \"sudo -n\"\n");
    place.run(&["run", "short"]).expect(0, "board: default-board-1: VALID");
    place.assert_clean(&at.join("board-work/latlab"));
    // Without it the login may not write there, and says so.
    target(&sshd, "");
    place.run(&["run", "short"]).expect(5, "board-work: ");
    drop(sshd);
    let sshd = with("sudoers-none");
    target(&sshd, "become = \"sudo -n\"\n");
    place.run(&["run", "short"]).expect(5, "commands do not run: sudo: a password is required; check");
}

/// As a reset leaves it that comes before the file system has written what is in the probe.
#[test]
fn a_probe_that_is_cut_short_on_the_board() {
    if !can_run(&NEEDS) {
        return;
    }
    let place = Workplace::new();
    place.campaign("long", "12s", "");
    let sshd = Sshd::start(&place);
    place.target("board", &sshd.target());
    let running = place.start(&["run", "long"]);
    place.wait_for_cycles(0);
    let work = place.path().join("board-work/latlab");
    let is_probe = |path: &std::path::PathBuf| path.to_string_lossy().contains("/latprobe-");
    let probe = std::fs::read_dir(&work).unwrap().map(|entry| entry.unwrap().path()).find(is_probe).unwrap();
    let (whole, empty) = (std::fs::metadata(&probe).unwrap(), work.join("empty"));
    std::fs::write(&empty, "").unwrap();
    std::fs::set_permissions(&empty, whole.permissions()).unwrap();
    std::fs::rename(&empty, &probe).unwrap();
    let said = running.wait();
    said.expect(0, "answers again after ");
    assert_eq!(std::fs::metadata(&probe).unwrap().len(), whole.len());
    assert_eq!(place.assert_whole(), 1);
    place.assert_clean(&work);
}

#[test]
fn a_work_directory_that_is_lost_with_the_board() {
    if !can_run(&[]) {
        return;
    }
    let place = Workplace::new();
    place.campaign("long", "60s", "[plan]\nrepeat = 2\n");
    place.target("board", "transport = \"local\"\n");
    let running = place.start(&["run", "long"]);
    place.wait_for_cycles(1000);
    // As a reset of a board whose work directory is a tmpfs: no process is left, and no file.
    let run_id = place.executions()[0].plan().runs[0].run_id.clone();
    let work = place.path().join("board-work/latlab");
    while let Some((pid, _)) = processes::mentioning(&run_id).into_iter().find(|(pid, _)| *pid != running.pid()) {
        processes::kill(pid);
    }
    std::fs::remove_dir_all(&work).unwrap();
    let said = running.wait();
    said.expect(5, "default-board-1: board lost; INVALID, NOT JUDGED: the board no longer has run ");
    let execution = &place.executions()[0];
    let (_, run) = execution.runs().next().unwrap();
    assert!(run.fold().unwrap()[0].threads[0].histogram.total() > 0);
    assert_eq!(run.verify().unwrap(), Vec::<String>::new());
    // The board is there again, empty: what was not begun is measured.
    let resumed = place.start(&["resume"]);
    wait_for("the second run", 60, || execution.runs().nth(1)?.1.segment_bytes(0).ok().filter(|b| b.len() > 500));
    resumed.signal("TERM");
    resumed.wait().expect(6, "default-board-2: INVALID");
    place.assert_clean(&work);
}

#[test]
fn a_stream_that_was_damaged_on_the_board() {
    if !can_run(&[]) {
        return;
    }
    let place = Workplace::new();
    // The host does not look before the end, so that the damage is all that it can get.
    place.campaign("quiet", "5s", "mode = \"end\"\n");
    place.target("board", "transport = \"local\"\n");
    let running = place.start(&["run", "quiet"]);
    let stream = wait_for("an execution", 30, || {
        let run_id = &place.executions().first()?.plan().runs[0].run_id.clone();
        Some(place.path().join("board-work/latlab/runs").join(run_id).join("stream-0"))
    });
    let length = |path: &std::path::Path| std::fs::metadata(path).map_or(0, |meta| meta.len());
    wait_for("checkpoints on the board", 60, || (length(&stream) > 4000).then_some(()));
    let file = std::fs::File::options().read(true).write(true).open(&stream).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, 3000).unwrap();
    file.write_all_at(&[byte[0] ^ 1], 3000).unwrap();
    let said = running.wait();
    // A checkpoint is 4 % of so short a run, too much for figures that can be used.
    said.expect(6, "default-board-1: INVALID");
    assert!(said.stdout.contains("2 damaged places") && said.stdout.contains(" too few"), "{said:#?}");
    let (_, run) = place.executions()[0].runs().next().map(|(planned, run)| (planned.clone(), run)).unwrap();
    let folded = &run.fold().unwrap()[0];
    assert!(!folded.damage.is_empty() && folded.end.is_some());
    place.assert_clean(&place.path().join("board-work/latlab"));
}
