//! What the clock can do on this board: which call is cheapest, what it costs, how fine it is.

use crate::rt::clock::{ReadCall, SleepCall, resolution_ns};
use latprobe::stream::Selftest;
use std::io;

const READS: usize = 2000;
/// A clock that steps by ticks is watched for this long, in ns, to see two steps.
const STEP_WATCH_NS: u64 = 50_000_000;

/// The calls to use, and their properties.
pub(crate) fn selftest() -> io::Result<(ReadCall, SleepCall, Selftest)> {
    let reference = ReadCall::Libc.now()?;
    let mut best: Option<(u64, ReadCall, Vec<u64>)> = None;
    for call in ReadCall::CANDIDATES {
        let Some(costs) = costs(*call, reference).map(crate::sorted) else { continue };
        let median = costs[costs.len() / 2];
        if best.as_ref().is_none_or(|(cheapest, ..)| median < *cheapest) {
            best = Some((median, *call, costs));
        }
    }
    let (_, read, costs) = best.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOSYS))?;
    let sleep = SleepCall::probe(read)?;
    let result = Selftest {
        clock_read_min_ns: costs[0],
        clock_read_p99_ns: costs[costs.len() * 99 / 100],
        clock_step_ns: step_ns(read)?,
        clock_call: read.name().to_owned(),
        sleep_call: sleep.name().to_owned(),
        timer_resolution_ns: resolution_ns()?,
    };
    Ok((read, sleep, result))
}

/// Time between reads in a row, in ns; `None` if the call is missing or talks nonsense.
///
/// A clock coarser than its own reading gives 0 for most: eight reads are timed at once to see below its step.
fn costs(call: ReadCall, reference_ns: u64) -> Option<Vec<u64>> {
    const AT_ONCE: u64 = 8;
    let mut before = call.now().ok()?;
    if before < reference_ns || before - reference_ns > 10_000_000_000 {
        return None;
    }
    let mut costs = Vec::with_capacity(READS / 8);
    for _ in 0..READS / 8 {
        for _ in 1..AT_ONCE {
            call.now().ok()?;
        }
        let now = call.now().ok()?;
        costs.push(now.checked_sub(before)? / AT_ONCE);
        before = now;
    }
    Some(costs)
}

/// Smallest difference between two reads that differ, in ns.
fn step_ns(call: ReadCall) -> io::Result<u64> {
    let start = call.now()?;
    let (mut before, mut step, mut reads) = (start, u64::MAX, 0);
    while reads < READS || (step == u64::MAX && before - start < STEP_WATCH_NS && reads < 10_000_000) {
        let now = call.now()?;
        if now > before {
            step = step.min(now - before);
        }
        before = now.max(before);
        reads += 1;
    }
    Ok(step)
}

#[cfg(test)]
mod tests {
    #[test]
    fn figures_make_sense() {
        let (_, _, result) = super::selftest().unwrap();
        assert!(result.clock_read_min_ns <= result.clock_read_p99_ns, "{result:?}");
        assert!(result.clock_step_ns > 0 && result.clock_step_ns < 1_000_000_000, "{result:?}");
        assert!(result.timer_resolution_ns > 0);
    }
}
