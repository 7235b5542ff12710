use crate::board::{Board, BoardError, Deployed, RunOnBoard};
use crate::store::{FactsWhen, RunDir, StoreError};
use latprobe::spec::Mode;
use latprobe::status::Capture;

/// The kernel log as captured by the probe.
const KERNEL_LOG: &str = "@kernel_log";

/// Brings home what is not in the stream: facts after, kernel log, each load's output, a hunt's trace.
/// After a supervisor that is gone, what it changed is put back first.
pub(in crate::runner) async fn collect(
    board: &Board,
    deployed: &Deployed,
    run: &RunOnBoard,
    dir: &RunDir,
    loads: &[String],
    dead: bool,
) -> Result<Result<(), BoardError>, StoreError> {
    if dead && let Err(error) = board.restore(run).await {
        return Ok(Err(error));
    }
    let captures = match board.facts(deployed).await {
        Ok(captures) => captures,
        Err(error) => return Ok(Err(error)),
    };
    dir.write_facts(FactsWhen::After, &captures)?;
    if let Some(after) = kernel_log(&captures) {
        let before = dir.facts_of_last_boot()?;
        dir.write_kernel_log(since(kernel_log(&before).unwrap_or_default(), after).as_bytes())?;
    }
    for load in loads {
        match board.load_log(run, load).await {
            Ok(Some(log)) => dir.write_load_log(load, &log)?,
            Ok(None) => {}
            Err(error) => return Ok(Err(error)),
        }
    }
    if dir.spec()?.is_some_and(|spec| matches!(spec.measure.mode, Mode::Hunt(_))) {
        match board.trace(run).await {
            Ok(Some(trace)) => dir.write_trace(&trace)?,
            Ok(None) => {}
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(()))
}

fn kernel_log(captures: &[Capture]) -> Option<&str> {
    captures.iter().find(|capture| capture.path == KERNEL_LOG)?.text.as_deref()
}

/// What `after` holds behind the last line of `before`; all of it where that line is gone.
fn since<'a>(before: &str, after: &'a str) -> &'a str {
    let Some(last) = before.lines().next_back() else { return after };
    match after.rfind(last) {
        Some(at) => after[at + last.len()..].trim_start_matches('\n'),
        None => after,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_messages_are_kept() {
        for (before, after, new) in [
            ("a\nb\n", "a\nb\nc\n", "c\n"),
            ("a\nb\n", "b\nc\nd", "c\nd"),
            ("a\nb\n", "a\nb\n", ""),
            ("a\nb\n", "x\ny\n", "x\ny\n"),
            ("", "x\n", "x\n"),
        ] {
            assert_eq!(since(before, after), new, "{before:?} {after:?}");
        }
    }
}
