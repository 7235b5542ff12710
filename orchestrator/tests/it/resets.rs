//! A board that is reset in the midst of a run, by what the campaign wants then.
//!
//! The board is a set of namespaces around a real SSH server: a reset kills every process in it and changes its boot id.

use crate::support::sshd::{self, Sshd};
use crate::support::{Workplace, can_run, wait_for};
use latlab_core::judgement::{Judgement, Validity};
use latprobe::spec::Length;

/// A board that can be reset, and a campaign for it.
fn board(duration: &str, after_reset: &str) -> Option<(Workplace, Sshd)> {
    if !can_run(&[&sshd::NEEDS[..], &["unshare"]].concat()) {
        return None;
    }
    let (place, sshd) = Workplace::over_ssh()?;
    place.write("cmdline", "quiet\n");
    let cmdline = place.path().join("cmdline");
    let sshd = sshd.into_board(&format!("mount --bind {} /proc/cmdline", cmdline.display()));
    place.campaign("long", duration, &format!("[plan]\nafter_reset = \"{after_reset}\"\n"));
    Some((place, sshd))
}

fn judged(place: &Workplace) -> Judgement {
    place.first_run().1.judgement().unwrap().expect("the run was judged")
}

fn detail(judgement: &Judgement, rule: &str) -> String {
    judgement.findings.iter().find(|finding| finding.rule == rule).expect("the rule is there").detail.clone()
}

/// All that was asked for was measured, in so many segments, and the last one's ledger agrees.
fn assert_gone_on(place: &Workplace, segments: usize) {
    let judgement = judged(place);
    assert_eq!(judgement.validity, Validity::Degraded, "{judgement:#?}");
    assert!(detail(&judgement, "boot").contains(&format!("{segments} boots are added up")), "{judgement:#?}");
    let (_, run) = place.first_run();
    let folded = run.fold().unwrap();
    assert_eq!(folded.len(), segments);
    let Some(Length::DurationNs(asked_ns)) = run.spec().unwrap().map(|spec| spec.length) else { panic!("a duration") };
    let measured_ns: u64 = folded.iter().map(|segment| segment.measured_ns()).sum();
    assert!(measured_ns.abs_diff(asked_ns) < asked_ns / 1000, "{measured_ns} of {asked_ns}");
    let (last, thread) = (folded.last().unwrap(), &folded.last().unwrap().threads[0]);
    assert_eq!(last.end.as_ref().unwrap().threads[0].cycles, thread.histogram.total());
    assert_eq!(run.verify().unwrap(), Vec::<String>::new());
    place.assert_clean(&place.work());
}

#[test]
fn the_remaining_time_is_measured_in_a_new_segment() {
    let Some((place, mut board)) = board("5s", "continue") else { return };
    let running = place.measuring("long");
    board.power_off();
    board.boot();
    let said = running.wait();
    said.expect(0, "going on after a reset of the board");
    assert_gone_on(&place, 2);
}

#[test]
fn a_work_directory_that_a_reset_wipes_costs_only_what_was_not_fetched() {
    let Some((place, mut board)) = board("5s", "continue") else { return };
    let running = place.measuring("long");
    board.power_off();
    std::fs::remove_dir_all(place.work()).unwrap();
    board.boot();
    running.wait().expect(0, "board: default-board-1: DEGRADED");
    assert_gone_on(&place, 2);
}

#[test]
fn a_board_that_is_still_down_when_the_host_comes_back() {
    let Some((place, mut board)) = board("5s", "continue") else { return };
    let running = place.measuring("long");
    running.signal("KILL");
    running.wait();
    board.power_off();
    let said = place.path().join("said");
    let stderr = std::fs::File::create(&said).unwrap();
    let resumed = crate::support::Running::new(place.latlab(&["resume"]).stderr(stderr));
    wait_for("patience", 60, || std::fs::read_to_string(&said).unwrap().contains("may be booting").then_some(()));
    board.boot();
    assert_eq!(resumed.wait().code, Some(0), "{}", std::fs::read_to_string(&said).unwrap());
    assert_gone_on(&place, 2);
}

#[test]
fn a_board_that_comes_back_as_another_is_not_added() {
    let Some((place, mut board)) = board("30s", "continue") else { return };
    let running = place.measuring("long");
    board.power_off();
    place.write("cmdline", "quiet nohz=off\n");
    board.boot();
    let reason = "is not gone on with: the kernel command line was quiet before the reset, is quiet nohz=off now";
    running.wait().expect(6, "default-board-1: INVALID");
    let entries = place.executions()[0].journal().unwrap();
    let details: Vec<String> = entries.into_iter().filter_map(|entry| entry.detail).collect();
    assert!(details.iter().any(|detail| detail.contains(reason)), "{details:#?}");
    let (_, run) = place.first_run();
    assert!(run.fold().unwrap()[0].threads[0].histogram.total() > 0, "what was measured is kept");
    place.assert_clean(&place.work());
}

#[test]
fn a_run_can_begin_again_or_end() {
    let Some((place, mut board)) = board("3s", "restart") else { return };
    let running = place.measuring("long");
    board.power_off();
    board.boot();
    running.wait().expect(0, "board: default-board-1: VALID");
    assert_eq!(place.assert_whole(), 1);
    let (_, run) = place.first_run();
    let before = std::fs::metadata(run.path().join("before-reset-1/stream-0")).unwrap();
    assert!(before.len() > 0, "what was measured before is kept aside");
    place.assert_clean(&place.work());
    drop(board);
    let Some((place, mut board)) = self::board("30s", "end") else { return };
    let running = place.measuring("long");
    board.power_off();
    board.boot();
    running.wait().expect(6, "default-board-1: INVALID, NOT JUDGED");
    assert!(place.first_run().1.fold().unwrap()[0].threads[0].histogram.total() > 0);
    place.assert_clean(&place.work());
}
