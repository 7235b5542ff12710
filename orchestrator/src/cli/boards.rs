//! `latlab status` and `latlab release`: who has a board, asked of the board itself.

use super::diagnostics::{exit, print, print_json};
use super::{Common, Format, logging};
use crate::board::{Board, BoardError, Deployed, Occupancy, duration_text};
use crate::exit::Exit;
use crate::files::{Kind, Library, on_command_line};
use crate::transport::sweep_stale_sockets;
use indicatif::MultiProgress;
use latlab_core::target::{self, Target};
use latprobe::status::{Lock, Stage, Status};
use serde::Serialize;
use std::io::Write;
use std::sync::Arc;

/// Asks boards who holds them, and what runs there.
#[derive(Debug, clap::Args)]
pub(super) struct StatusArgs {
    /// Boards, by name or file.
    #[arg(value_name = "TARGET", required = true)]
    targets: Vec<String>,
}

/// Frees a board whose holder is gone for good: what still measures there is stopped and thrown away.
///
/// An execution whose results are at hand is better ended by `latlab stop`, which keeps what was measured.
#[derive(Debug, clap::Args)]
pub(super) struct ReleaseArgs {
    /// Board, by name or file.
    #[arg(value_name = "TARGET")]
    target: String,
    /// The execution to take it from, as `latlab status` names it: nobody else's is taken by mistake.
    #[arg(long, value_name = "EXECUTION")]
    from: String,
}

/// `status --format json`, one line per target.
#[derive(Debug, Serialize)]
struct Report<'a> {
    target: &'a str,
    /// It could not be asked.
    error: Option<String>,
    locks: Vec<LockReport<'a>>,
    runs: Vec<RunReport<'a>>,
}

#[derive(Debug, Serialize)]
struct LockReport<'a> {
    holder: &'a str,
    execution: &'a str,
    held_s: u64,
}

#[derive(Debug, Serialize)]
struct RunReport<'a> {
    run_id: &'a str,
    /// Absent: it was never started.
    status: Option<&'a Status>,
}

/// Runs `latlab status`.
pub(super) fn status(common: &Common, args: &StatusArgs) -> Exit {
    let mut exits = Vec::new();
    for name in &args.targets {
        let target = match find(common, name) {
            Ok(target) => target,
            Err(exit) => return exit,
        };
        let seen = on_board(common, &target, async |board, deployed| board.occupancy(deployed).await);
        exits.push(seen.as_ref().map_or_else(Exit::of_board, |_| Exit::Success));
        match common.format {
            Format::Json => print_json(&report(&target.name, &seen)),
            Format::Text => {
                let _ = write!(std::io::stdout(), "{}", text(&target.name, &seen));
            }
        }
    }
    Exit::combine(exits)
}

/// Runs `latlab release`.
pub(super) fn release(common: &Common, args: &ReleaseArgs) -> Exit {
    let target = match find(common, &args.target) {
        Ok(target) => target,
        Err(exit) => return exit,
    };
    let released = on_board(common, &target, async |board, deployed| free(board, deployed, &args.from).await);
    let text = match &released {
        Ok(None) => format!("{}: not held for execution {}", target.name, args.from),
        Ok(Some(0)) => format!("{}: free; no run was there", target.name),
        Ok(Some(1)) => format!("{}: free; its run was thrown away", target.name),
        Ok(Some(runs)) => format!("{}: free; {runs} runs were thrown away", target.name),
        Err(error) => format!("{}: {error}", target.name),
    };
    let _ = writeln!(std::io::stderr(), "{text}");
    released.as_ref().map_or_else(Exit::of_board, |_| Exit::Success)
}

/// How many runs were thrown away; `None`: the board is not held for `execution`.
async fn free(board: &Board, deployed: &Deployed, execution: &str) -> Result<Option<usize>, BoardError> {
    let seen = board.occupancy(deployed).await?;
    let Some((lock, _)) = seen.locks.into_iter().find(|(lock, _)| lock.execution == execution) else { return Ok(None) };
    let mine = format!("{execution}.");
    let mut runs = 0;
    for (run, _) in seen.runs.iter().filter(|(run, _)| run.run_id.starts_with(&mine)) {
        board.abandon(run).await?;
        runs += 1;
    }
    let Lock { holder, execution, .. } = lock;
    board.unlock(deployed, &holder, &execution).await?;
    Ok(Some(runs))
}

pub(super) fn find(common: &Common, name: &str) -> Result<Target, Exit> {
    let found = Library::of_user().find(Kind::Target, name, &on_command_line("TARGET", name));
    match found.and_then(|found| target::load(&found.name, &found.text)) {
        Ok(loaded) => Ok(loaded.target),
        Err(found) => {
            print(common, &found);
            Err(exit(&found))
        }
    }
}

pub(super) fn on_board<T>(
    common: &Common,
    target: &Target,
    work: impl AsyncFnOnce(&Board, &Deployed) -> Result<T, BoardError>,
) -> Result<T, BoardError> {
    if let Err(error) = logging::init(common, &MultiProgress::new()) {
        let _ = writeln!(std::io::stderr(), "warning: --log-file {error}");
    }
    sweep_stale_sockets();
    let board = Board::new(target, Arc::default())?;
    super::run::runtime().block_on(async {
        let result = async {
            board.connect().await?;
            let deployed = board.deploy().await?;
            work(&board, &deployed).await
        };
        let result = result.await;
        board.close().await;
        result
    })
}

fn report<'a>(target: &'a str, seen: &'a Result<Occupancy, BoardError>) -> Report<'a> {
    let error = seen.as_ref().err().map(ToString::to_string);
    let (locks, runs) = match seen {
        Ok(seen) => (&seen.locks[..], &seen.runs[..]),
        Err(_) => (&[][..], &[][..]),
    };
    let lock = |(lock, held_s): &'a (Lock, u64)| LockReport {
        holder: &lock.holder,
        execution: &lock.execution,
        held_s: *held_s,
    };
    Report {
        target,
        error,
        locks: locks.iter().map(lock).collect(),
        runs: runs.iter().map(|(run, status)| RunReport { run_id: &run.run_id, status: status.as_ref() }).collect(),
    }
}

fn text(target: &str, seen: &Result<Occupancy, BoardError>) -> String {
    let seen = match seen {
        Ok(seen) => seen,
        Err(error) => return format!("{target}: {error}\n"),
    };
    let mut lines = Vec::new();
    for (lock, held_s) in &seen.locks {
        let Lock { holder, execution, .. } = lock;
        lines.push(format!("{target}: held by {holder} for execution {execution} since {}", duration_text(*held_s)));
    }
    if seen.locks.is_empty() {
        lines.push(format!("{target}: free"));
    }
    for (run, status) in &seen.runs {
        let what = match status {
            None => "never started".to_owned(),
            Some(status) => {
                let age = duration_text(status.mono_ns.saturating_sub(status.start_mono_ns) / 1_000_000_000);
                let message = status.message.as_ref().map_or_else(String::new, |message| format!(" ({message})"));
                format!("{}, begun {age} ago{message}", stage_name(status.stage))
            }
        };
        lines.push(format!("  run {}: {what}", run.run_id));
    }
    lines.join("\n") + "\n"
}

fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Preparing => "preparing",
        Stage::WarmUp => "in its warm-up",
        Stage::Measuring => "measuring",
        Stage::Ending => "ending",
        Stage::Done => "done, waiting to be brought home",
        Stage::Stopped => "stopped, waiting to be brought home",
        Stage::Failed => "failed",
        Stage::Dead => "cut off",
    }
}
