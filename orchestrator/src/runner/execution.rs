use super::board_task::{BoardEnd, BoardTask};
use super::{Context, RunEnd, Summary};
use crate::progress::{Event, Progress};
use crate::store::{ExecutionDir, ExecutionWriter, Plan, StoreError, journal};
use latlab_core::run_state::{Mark, Outcome, State, Step, Wish, boot_is_changed, holds_board, replay, resets};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How long tasks get to end by themselves once the boards are to be left alone.
const LEAVE_TIME: Duration = Duration::from_secs(3);

/// Carries out what is planned and not done yet, on all targets at once.
/// `progress` is given back for what follows; a board that somebody else has is waited for as long as `wait` says.
pub async fn execute(
    writer: ExecutionWriter,
    progress: Progress,
    wish: watch::Receiver<Wish>,
    wait: Option<Duration>,
) -> Result<(Summary, Progress), StoreError> {
    super::queue::sweep();
    let entries = writer.directory().journal()?;
    let plan = writer.plan().clone();
    refuse_forgotten(writer.directory(), &entries)?;
    let process = format!("process {}", std::process::id());
    writer.record(None, None, Step::Execution, Mark::Intent, Some(&process))?;
    progress.show(&Event::Started {
        execution: plan.execution.clone(),
        directory: writer.directory().path().display().to_string(),
        runs: plan.runs.iter().filter(|run| !matches!(state_of(&entries, &run.name), State::Over(_))).count(),
        targets: plan.targets.iter().map(|target| target.name.clone()).collect(),
        resumed: !entries.is_empty(),
    });
    let context = Arc::new(Context {
        writer,
        progress,
        wish: wish.clone(),
        probes: Arc::default(),
        wait,
        origin: Instant::now(),
    });
    let mut tasks = JoinSet::new();
    for target in &plan.targets {
        let task = BoardTask::new(Arc::clone(&context), target.clone(), &entries);
        tasks.spawn(task.run());
    }
    let mut summary = Summary::default();
    tokio::select! {
        () = gather(&mut tasks, &mut summary) => {}
        () = left(wish) => {
            // The journal knows where everything stands; what hangs is dropped.
            tasks.shutdown().await;
        }
    }
    complete(&context, &mut summary)?;
    context.writer.record(None, None, Step::Execution, Mark::Done, None)?;
    match Arc::try_unwrap(context) {
        Ok(context) => Ok((summary, context.progress)),
        // Every task has ended and dropped its share.
        Err(_) => Ok((summary, Progress::lines())),
    }
}

/// A journal that has lost a run would let it be measured once more, behind the stream that is stored.
fn refuse_forgotten(directory: &ExecutionDir, entries: &[journal::Entry]) -> Result<(), StoreError> {
    for (planned, run) in directory.runs() {
        if state_of(entries, &planned.name) == State::Planned && !run.segments()?.is_empty() {
            return Err(StoreError::Damaged {
                path: directory.path().join("journal.jsonl"),
                reason: format!(
                    "it does not know of run {0}, which is stored: put the journal back, or move runs/{0} away to measure it again",
                    planned.name
                ),
            });
        }
    }
    Ok(())
}

async fn gather(tasks: &mut JoinSet<BoardEnd>, summary: &mut Summary) {
    while let Some(ended) = tasks.join_next().await {
        match ended {
            Ok(end) => {
                summary.runs.extend(end.runs);
                summary.boards.extend(end.error.map(|(error, exit)| (end.target, error, exit)));
                summary.store.extend(end.store);
            }
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => {}
        }
    }
}

async fn left(mut wish: watch::Receiver<Wish>) {
    if wish.wait_for(|wish| *wish == Wish::Leave).await.is_err() {
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(LEAVE_TIME).await;
}

/// Runs that no task reported: not begun, or left on their boards.
fn complete(context: &Context, summary: &mut Summary) -> Result<(), StoreError> {
    let entries = context.writer.directory().journal()?;
    let mut runs = Vec::new();
    for planned in &context.writer.plan().runs {
        if let Some(at) = summary.runs.iter().position(|end| end.run == planned.name) {
            runs.push(summary.runs.swap_remove(at));
            continue;
        }
        let outcome = match state_of(&entries, &planned.name) {
            State::Planned | State::Preparing | State::Submitting => Outcome::Skipped,
            State::Over(outcome) => outcome,
            State::Removing => Outcome::Judged,
            _ => Outcome::Detached,
        };
        let judgement = context.writer.directory().run_dir(&planned.name).judgement()?;
        let target = planned.target.clone();
        runs.push(RunEnd { run: planned.name.clone(), target, outcome, detail: None, judgement });
    }
    summary.runs = runs;
    Ok(())
}

/// Where a run stands by the journal.
pub(crate) fn state_of(entries: &[journal::Entry], run: &str) -> State {
    replay(of_run(entries, run))
}

/// Resets of its board that a run has survived by the journal.
pub(super) fn resets_of(entries: &[journal::Entry], run: &str) -> u32 {
    resets(of_run(entries, run))
}

fn of_run<'a>(entries: &'a [journal::Entry], run: &'a str) -> impl Iterator<Item = (Step, Mark)> {
    entries.iter().filter(move |entry| entry.run.as_deref() == Some(run)).map(|entry| (entry.step, entry.mark))
}

/// Whether the execution may still hold the lock of `target`, by the journal.
pub(crate) fn holds(entries: &[journal::Entry], target: &str) -> bool {
    let board = entries.iter().filter(|entry| entry.run.is_none() && entry.target.as_deref() == Some(target));
    holds_board(board.map(|entry| (entry.step, entry.mark)))
}

/// Whether the execution may have left its own boot choice on `target`, by the journal.
pub(crate) fn changes_boot(entries: &[journal::Entry], target: &str) -> bool {
    let board = entries.iter().filter(|entry| entry.target.as_deref() == Some(target));
    boot_is_changed(board.map(|entry| (entry.step, entry.mark)))
}

/// Whether there is something left to do, by the journal: runs, a boot choice to be put back, or a lock to be given back.
pub(crate) fn is_unfinished(plan: &Plan, entries: &[journal::Entry]) -> bool {
    plan.runs.iter().any(|run| !matches!(state_of(entries, &run.name), State::Over(_)))
        || plan.targets.iter().any(|target| holds(entries, &target.name) || changes_boot(entries, &target.name))
}
