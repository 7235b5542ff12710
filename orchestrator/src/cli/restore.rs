//! `latlab restore`: a board that a killed latlab left with its own boot choice.

use super::Common;
use super::boards::{find, on_board};
use super::run::ResultsArgs;
use crate::board::boot::{BootError, Restart, WhyNot};
use crate::board::{Board, BoardError, Deployed};
use crate::exit::Exit;
use crate::store::{ExecutionDir, ExecutionWriter, Store, StoreError};
use latlab_core::run_state::{Mark, Step};
use std::io::Write;

/// Puts back what a board boots by itself where a latlab that was killed left its own choice, and reboots into it.
///
/// An execution that shall go on is better resumed: `latlab resume` puts the choice back at its end.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Board, by name or file.
    #[arg(value_name = "TARGET")]
    target: String,
    /// The execution that holds the board, as `latlab status` names it, where its results are not at hand.
    #[arg(long, value_name = "EXECUTION")]
    from: Option<String>,
    /// Reboot even where nothing had to be put back: methods that hold for one boot leave nothing behind.
    #[arg(long)]
    reboot: bool,
    #[command(flatten)]
    results: ResultsArgs,
}

/// Why a board was not restored.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Board(#[from] BoardError),
    #[error(transparent)]
    Boot(#[from] BootError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{process} carries {execution} out on it; a SIGTERM makes it stop and put everything back")]
    InUse { process: String, execution: String },
    #[error("it measures {run}; `latlab resume` or `latlab stop` of its execution puts everything back")]
    Measures { run: String },
    #[error(
        "it is held by {holder} for execution {execution}, whose results are not in {results}: is a latlab at it on another host? If not, `latlab restore {target} --from {execution}`"
    )]
    Held { holder: String, execution: String, results: String, target: String },
    #[error("its boot choice is put back, but it does not come up: {0}")]
    NotUp(WhyNot),
}

/// What was done.
enum Done {
    Nothing,
    Rebooted { release: String, cmdline: String },
}

/// Runs the verb.
pub(super) fn run(common: &Common, args: &Args) -> Exit {
    let target = match find(common, &args.target) {
        Ok(target) => target,
        Err(exit) => return exit,
    };
    let name = &target.name;
    let done = on_board(common, &target, async |board, deployed| Ok(restore(board, deployed, args).await));
    let (text, exit) = match done.map_err(Failure::from).and_then(|done| done) {
        Ok(Done::Nothing) => (format!("{name}: boots its own choice; nothing had to be put back"), Exit::Success),
        Ok(Done::Rebooted { release, cmdline }) => {
            (format!("{name}: boots its own choice again; it runs {release} with `{cmdline}`"), Exit::Success)
        }
        Err(Failure::Store(error)) => (format!("{name}: {error}"), Exit::Store),
        Err(failure) => (format!("{name}: {failure}"), Exit::Board),
    };
    let _ = writeln!(std::io::stderr(), "{text}");
    exit
}

async fn restore(board: &Board, deployed: &Deployed, args: &Args) -> Result<Done, Failure> {
    let mine = holders(board, deployed, args).await?;
    let old = board.boot_id().await?;
    let changed = board.boot_choice().put_back().await?;
    if !changed && !args.reboot {
        return Ok(Done::Nothing);
    }
    match board.restart(Restart::Reboot).await {
        Err(error) if !error.is_link() => return Err(error.into()),
        _ => {}
    }
    board.wait_for_boot(&old).await.map_err(Failure::NotUp)?;
    let name = &board.target().name;
    for execution in mine {
        let detail = Some("by latlab restore");
        ExecutionWriter::reopen(execution)?.record(Some(name), None, Step::PutBack, Mark::Done, detail)?;
    }
    let now = board.running().await?;
    Ok(Done::Rebooted {
        release: now.release.unwrap_or_default(),
        cmdline: now.cmdline.map(|words| words.join(" ")).unwrap_or_default(),
    })
}

/// Executions that hold the board and are at hand; an error while somebody is at it.
async fn holders(board: &Board, deployed: &Deployed, args: &Args) -> Result<Vec<ExecutionDir>, Failure> {
    let seen = board.occupancy(deployed).await?;
    let measures = seen.runs.iter().find(|(_, status)| status.as_ref().is_some_and(|s| !s.stage.is_over()));
    if let Some((run, _)) = measures {
        return Err(Failure::Measures { run: run.run_id.clone() });
    }
    let path = args.results.path();
    let mut mine = Vec::new();
    for (lock, _) in seen.locks {
        let known = Store::open(&path).and_then(|store| store.execution(&lock.execution)).ok();
        match known {
            Some(execution) => match execution.running() {
                Some(process) => return Err(Failure::InUse { process, execution: lock.execution }),
                None => mine.push(execution),
            },
            None if args.from.as_deref() == Some(&lock.execution) => {}
            None => {
                return Err(Failure::Held {
                    holder: lock.holder,
                    execution: lock.execution,
                    results: path.display().to_string(),
                    target: args.target.clone(),
                });
            }
        }
    }
    Ok(mine)
}
