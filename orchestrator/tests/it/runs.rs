//! Whole runs, and what people do in the midst of them.

use crate::support::dropbear::{self, Dropbear};
use crate::support::sshd::{self, Options, Sshd};
use crate::support::{Running, Workplace, can_run, processes, wait_for};
use latlab::store::journal::Entry;
use latlab_core::run_state::{Mark, Step};
use latprobe::stream::PhaseKind;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

#[test]
fn locally() {
    let Some(place) = Workplace::local() else { return };
    let said = place.run(&["run", "short"]);
    said.expect(0, "board: default-board-1: VALID, NOT JUDGED");
    assert_eq!(place.assert_whole(), 1);
    place.assert_clean(&place.work());
}

#[test]
fn over_openssh_as_root_and_through_become() {
    if !can_run(&sshd::NEEDS) {
        return;
    }
    let place = Workplace::new();
    let sshd = Sshd::start(&place);
    for r#become in ["", "become = \"env LATLAB='a b' nice -n 0\"\n"] {
        place.target("board", &format!("{}{}", sshd.target(), r#become));
        place.run(&["run", "short"]).expect(0, "board: default-board-1: ");
    }
    assert_eq!(place.assert_whole(), 2);
    place.assert_clean(&place.work());
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
fn stopped_and_left() {
    if !can_run(&sshd::NEEDS) {
        return;
    }
    let place = Workplace::new();
    place.campaign("long", "60s", "");
    place.target("board", "transport = \"local\"\n");
    let work = place.work();
    let running = place.measuring("long");
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
    let Some(place) = Workplace::local() else { return };
    place.campaign("long", "60s", "[plan]\nrepeat = 2\n");
    let running = place.measuring("long");
    place.run(&["stop"]).expect(5, &format!("error: process {} carries ", running.pid()));
    running.signal("KILL");
    running.wait();
    let said = place.run(&["stop"]);
    said.expect(6, "default-board-1: INVALID");
    said.expect(6, "1 of 2 runs not begun");
    assert!(place.executions()[0].runs().next().unwrap().1.judgement().unwrap().is_some());
    place.assert_clean(&place.work());
}

#[test]
fn a_board_whose_holder_is_gone_for_good() {
    let Some(place) = Workplace::local() else { return };
    place.campaign("long", "60s", "");
    let running = place.measuring("long");
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
fn the_output_of_a_load_comes_home_whole() {
    let Some(place) = Workplace::local() else { return };
    let argv = r#"["sh", "-c", "seq 1 40000; exec sleep 60"]"#;
    place.campaign("talk", "1s", &format!("[loads.talk.command]\nargv = {argv}\n"));
    place.run(&["run", "talk", "--set", "load=talk"]).expect(0, "");
    let (_, run) = place.first_run();
    let log = std::fs::read_to_string(run.path().join("loads/talk.log")).unwrap();
    assert!(log.len() > 200_000 && log.starts_with("1\n2\n") && log.ends_with("\n40000\n"), "{} bytes", log.len());
}

#[test]
fn leaving_does_not_wait_for_a_board_that_hangs() {
    if !can_run(&sshd::NEEDS) {
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
    place.assert_clean(&place.work());
    let masters = processes::mentioning(&place.path().join("run").display().to_string());
    assert!(masters.is_empty(), "{masters:?}");
}

#[test]
fn a_board_that_somebody_else_holds() {
    let Some(place) = Workplace::local() else { return };
    place.campaign("long", "60s", "");
    let running = place.measuring("long");
    // Another host has another queue; the lock on the board is what it sees.
    let mut other_host = place.latlab(&["run", "short", "--results", "elsewhere"]);
    other_host.env("XDG_RUNTIME_DIR", place.path().join("other-run"));
    Running::new(&mut other_host).wait().expect(5, "board: the board is held by tester@");
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
fn those_who_want_the_same_board_take_their_turn() {
    let Some(place) = Workplace::local() else { return };
    place.campaign("long", "4s", "");
    let first = place.measuring("long");
    let elsewhere = |name: &str| ["run", "short", "--wait", "--results", name].map(str::to_owned);
    let wait = |name: &str| {
        let running = place.start(&elsewhere(name).each_ref().map(String::as_str));
        let queue = place.path().join("run/latlab-queue/local");
        let places = move || std::fs::read_dir(&queue).map_or(0, |places| places.count());
        (running, places)
    };
    let (second, places) = wait("second");
    wait_for("the second in the queue", 60, || (places() == 2).then_some(()));
    let (third, places) = wait("third");
    wait_for("the third in the queue", 60, || (places() == 3).then_some(()));
    // Who does not want to wait is told who has the board.
    let named = format!("the board is taken by process {} of this host for execution ", first.pid());
    place.run(&["run", "short", "--results", "refused"]).expect(5, &named);
    first.wait().expect(0, "VALID");
    second.wait().expect(0, "board: waiting for process ");
    third.wait().expect(0, "VALID");
    let begun = |name: &str| {
        let store = latlab::store::Store::open(place.path().join(name)).unwrap();
        let execution = store.executions().unwrap().remove(0).unwrap();
        let entries = execution.journal().unwrap();
        entries.iter().find(|entry| entry.step == Step::Lock && entry.mark == Mark::Done).unwrap().at.clone()
    };
    assert!(begun("second") < begun("third"), "the order of coming");
    let queue = std::fs::read_dir(place.path().join("run/latlab-queue")).unwrap();
    assert_eq!(queue.count(), 0, "nothing of the queue stays behind");
    place.assert_clean(&place.work());
}

#[test]
fn the_host_asks_only_at_the_end() {
    let Some((place, sshd)) = Workplace::over_ssh() else { return };
    place.campaign("quiet", "3s", "mode = \"end\"\n");
    place.run(&["run", "quiet"]).expect(0, "VALID");
    assert_eq!(place.assert_whole(), 1);
    let (_, run) = place.first_run();
    let (folded, contacts) = (run.fold().unwrap(), run.contacts().unwrap());
    // Not even a connection with its keepalives: it was given up, and made anew for the end.
    let logins = sshd.log().matches("Accepted publickey").count();
    assert!(logins >= 2 && contacts.iter().any(|contact| contact.connect_ns > 0), "{contacts:#?}");
    let measuring = folded[0].phases.iter().find(|p| p.kind == PhaseKind::Measuring).unwrap().mono_ns;
    let during = contacts.iter().filter(|c| c.mono_ns > measuring && c.mono_ns < measuring + 3_000_000_000).count();
    // One may fall into the beginning: it asks when the end is due.
    assert!(during <= 1, "{contacts:#?}");
}

#[test]
fn events_for_programs() {
    let Some(place) = Workplace::local() else { return };
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
        place.wait_for_cycles(0);
        keyboard.write_all(b"\x03").unwrap();
        wait_for("the question", 20, || shown().contains("[s/l]").then_some(()));
        keyboard.write_all(answer.as_bytes()).unwrap();
        wait_for("the end", 60, || shown().contains(&format!("code: {code}")).then_some(()));
        drop(keyboard);
        script.wait();
    }
    assert_eq!(place.assert_whole(), 1);
    place.assert_clean(&place.work());
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
    // A server that was fetched, not installed, finds no account of its own.
    let sshd = if passwd.contains("\nsshd:") { "" } else { "sshd:x:74:65534::/run/sshd:/usr/sbin/nologin\n" };
    place.write("passwd", &format!("{passwd}{sshd}labuser:x:4242:4242::{home}:/bin/sh\n"));
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
