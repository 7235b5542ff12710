//! Whole runs, and what must not disturb them.

use crate::support::dropbear::{self, Dropbear};
use crate::support::sshd::Sshd;
use crate::support::{Workplace, can_run, processes, wait_for};

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
    place.campaign("long", "6s", "");
    let mut sshd = Sshd::start(&place);
    place.target("board", &sshd.target());
    let running = place.start(&["run", "long"]);
    place.wait_for_stream(500);
    sshd.kill_sessions();
    place.wait_for_stream(3000);
    // The server is away for a while, too.
    sshd.stop();
    std::thread::sleep(std::time::Duration::from_millis(1500));
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
    place.wait_for_stream(500);
    running.signal("KILL");
    assert_eq!(running.wait().code, None);
    // A new campaign does not take the board away from the run.
    place.run(&["run", "short"]).expect(5, "board has run default-board-1 of execution ");
    let said = place.run(&["resume"]);
    said.expect(0, "going on with ");
    assert_eq!(place.assert_whole(), 1);
    place.assert_clean(&place.path().join("board-work/latlab"));
    place.run(&["resume"]).expect(0, "nothing to resume");
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
    place.wait_for_stream(500);
    running.signal("HUP");
    running.wait().expect(8, "left measuring: default-board-1; `latlab resume ");
    assert!(!processes::mentioning(place.executions()[0].name()).is_empty(), "the run was not left");
    let running = place.start(&["resume"]);
    wait_for("the journal", 20, || place.executions()[0].is_running().then_some(()));
    running.signal("INT");
    running.wait().expect(6, "default-board-1: INVALID");
    assert_eq!(place.assert_whole(), 1);
    place.assert_clean(&work);
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
    place.wait_for_stream(500);
    place.run(&["run", "short", "--results", "elsewhere"]).expect(5, "board: the board is held by tester@");
    running.signal("TERM");
    running.wait().expect(6, "INVALID");
    place.run(&["run", "short", "--results", "elsewhere"]).expect(0, "");
}
