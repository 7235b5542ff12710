use crate::board::{Board, BoardError, Deployed, RunOnBoard};
use crate::store::{FactsWhen, RunDir, StoreError};

/// The kernel log as captured by the probe.
const KERNEL_LOG: &str = "@kernel_log";

/// Brings home what is not in the stream: facts after, kernel log, the end of each load's output.
/// After a supervisor that is gone, what it changed is put back first.
pub(in crate::runner) async fn collect(
    board: &Board,
    deployed: &Deployed,
    run: &RunOnBoard,
    dir: &RunDir,
    loads: &[String],
    dead: bool,
    since_mono_ns: u64,
) -> Result<Result<(), BoardError>, StoreError> {
    if dead && let Err(error) = board.restore(run).await {
        return Ok(Err(error));
    }
    let captures = match board.facts(deployed, since_mono_ns).await {
        Ok(captures) => captures,
        Err(error) => return Ok(Err(error)),
    };
    dir.write_facts(FactsWhen::After, &captures)?;
    if let Some(log) = captures.iter().find(|c| c.path == KERNEL_LOG).and_then(|c| c.text.as_deref()) {
        dir.write_kernel_log(log.as_bytes())?;
    }
    for load in loads {
        match board.load_log(run, load).await {
            Ok(Some(log)) => dir.write_load_log(load, &log)?,
            Ok(None) => {}
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(()))
}
