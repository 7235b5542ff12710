//! What breaks in the midst of a run, and what must come of it.

use crate::support::sshd::{self, free_port};
use crate::support::{Workplace, can_run, processes, wait_for};
use latlab::store::journal::Entry;
use latlab_core::run_state::{Mark, Step};
use std::os::unix::fs::FileExt;
use std::process::Stdio;

#[test]
fn a_connection_that_is_killed_in_mid_run() {
    let Some((place, mut sshd)) = Workplace::over_ssh() else { return };
    place.campaign("long", "12s", "");
    let running = place.measuring("long");
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
    place.assert_clean(&place.work());
}

#[test]
fn a_host_that_is_killed_in_mid_run() {
    let Some((place, _sshd)) = Workplace::over_ssh() else { return };
    place.campaign("long", "5s", "");
    let running = place.measuring("long");
    running.signal("KILL");
    assert_eq!(running.wait().code, None);
    // A new campaign does not take the board away from the run.
    place.run(&["run", "short"]).expect(5, "board has run default-board-1 of execution ");
    let said = place.run(&["resume"]);
    said.expect(0, "going on with ");
    assert_eq!(place.assert_whole(), 1);
    place.assert_clean(&place.work());
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
        place.assert_clean(&place.work());
    }
}

#[test]
fn a_host_that_is_killed_after_the_judgement() {
    let Some(place) = Workplace::local() else { return };
    place.run(&["run", "short"]).expect(0, "board: default-board-1: VALID");
    let work = place.work();
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
fn results_that_are_removed_in_mid_run() {
    let Some(place) = Workplace::local() else { return };
    place.campaign("long", "60s", "");
    let running = place.measuring("long");
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
fn a_supervisor_that_is_killed() {
    let Some(place) = Workplace::local() else { return };
    place.campaign("long", "60s", "");
    let running = place.start(&["run", "long"]);
    place.wait_for_cycles(1000);
    let run_id = &place.executions()[0].plan().runs[0].run_id.clone();
    // Its keeper has the same command line.
    let name = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let supervisor = |(pid, _): &(u32, String)| (name(*pid) == "latprobe\n").then_some(*pid);
    let pid = processes::mentioning(run_id).iter().find_map(supervisor).unwrap();
    processes::kill(pid);
    let said = running.wait();
    said.expect(6, "default-board-1: INVALID, NOT JUDGED");
    // What was checkpointed before is kept.
    let (_, run) = place.first_run();
    assert!(run.fold().unwrap()[0].threads[0].histogram.total() > 0);
    assert_eq!(run.verify().unwrap(), Vec::<String>::new());
    place.assert_clean(&place.work());
}

#[test]
fn a_board_that_is_away_does_not_touch_the_other() {
    if !can_run(&sshd::NEEDS) {
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
    place.assert_clean(&place.work());
}

/// As a reset leaves it that comes before the file system has written what is in the probe.
#[test]
fn a_probe_that_is_cut_short_on_the_board() {
    let Some((place, _sshd)) = Workplace::over_ssh() else { return };
    place.campaign("long", "12s", "");
    let running = place.measuring("long");
    let work = place.work();
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
    let Some(place) = Workplace::local() else { return };
    place.campaign("long", "60s", "[plan]\nrepeat = 2\n");
    let running = place.start(&["run", "long"]);
    place.wait_for_cycles(1000);
    // As a reset of a board whose work directory is a tmpfs: no process is left, and no file.
    let run_id = place.executions()[0].plan().runs[0].run_id.clone();
    let work = place.work();
    while let Some((pid, _)) = processes::mentioning(&run_id).into_iter().find(|(pid, _)| *pid != running.pid()) {
        processes::kill(pid);
    }
    std::fs::remove_dir_all(&work).unwrap();
    let said = running.wait();
    said.expect(5, "default-board-1: board lost; INVALID, NOT JUDGED: the board no longer has run ");
    let (_, run) = place.first_run();
    assert!(run.fold().unwrap()[0].threads[0].histogram.total() > 0);
    assert_eq!(run.verify().unwrap(), Vec::<String>::new());
    // The board is there again, empty: what was not begun is measured.
    let resumed = place.start(&["resume"]);
    let execution = &place.executions()[0];
    wait_for("the second run", 60, || execution.runs().nth(1)?.1.segment_bytes(0).ok().filter(|b| b.len() > 500));
    resumed.signal("TERM");
    resumed.wait().expect(6, "default-board-2: INVALID");
    place.assert_clean(&work);
}

#[test]
fn a_stream_that_was_damaged_on_the_board() {
    let Some(place) = Workplace::local() else { return };
    // The host does not look before the end, so that the damage is all that it can get.
    place.campaign("quiet", "5s", "mode = \"end\"\n");
    let running = place.start(&["run", "quiet"]);
    let stream = wait_for("an execution", 30, || {
        let run_id = &place.executions().first()?.plan().runs[0].run_id.clone();
        Some(place.work().join("runs").join(run_id).join("stream-0"))
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
    let (_, run) = place.first_run();
    let folded = &run.fold().unwrap()[0];
    assert!(!folded.damage.is_empty() && folded.end.is_some());
    place.assert_clean(&place.work());
}
