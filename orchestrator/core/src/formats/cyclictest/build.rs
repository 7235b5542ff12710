//! A run as read → a measurement.

use super::histogram::Rows;
use super::histogram::{Column, Footer};
use super::tally::Tally;
use super::{Run, Status};
use crate::formats::measurement::{Kind, Measurement, Thread};
use crate::formats::number::{Decimal, Unit};

/// `nanoseconds`: the values are, whatever the file shows.
pub(super) fn measurement(mut run: Run, nanoseconds: bool) -> Measurement {
    let tool = tool(&run);
    let command = run.command.clone();
    let command = command.as_ref();
    let nanoseconds = nanoseconds
        || command.is_some_and(|command| command.has('N', "nsecs"))
        || (!run.status.is_empty() && run.status.values().all(Status::padded_as_nanoseconds));
    let unit = if nanoseconds { Unit::Nano } else { Unit::Micro };
    let rule = if run.rows.is_some() || run.footer.any() {
        "cyclictest-histogram"
    } else if run.samples.is_empty() {
        "cyclictest-status"
    } else {
        "cyclictest-verbose"
    };
    let mut measurement = Measurement::new(tool, rule, Kind::Latency, run.line);
    let loops = command.and_then(|command| command.number('l', "loops")).filter(|loops| *loops > 0);
    let wants_histogram = command.is_some_and(|command| {
        !command.has('\0', "histfile")
            && command.number('h', "histogram").or_else(|| command.number('H', "histofall")).is_some_and(|n| n > 0)
    });
    let interval = command.and_then(|command| command.number('i', "interval"));
    let priority = command.and_then(|command| command.number('p', "prio").or_else(|| command.number('p', "priority")));

    let first = run.status.values().next();
    measurement.interval_us = first.and_then(|status| status.interval_us).or(interval);
    measurement.priority = first.and_then(|status| status.priority).or(priority);
    // With a histogram, status lines from the middle of the run say nothing about its end.
    if run.snapshot && rule == "cyclictest-histogram" {
        run.status.clear();
    }
    measurement.threads = threads(&run, unit, &mut measurement);
    let asked = command.and_then(|command| command.number('t', "threads"));
    let found = u64::try_from(measurement.threads.len()).unwrap_or(u64::MAX);
    if let Some(asked) = asked.filter(|asked| *asked > found) {
        measurement.incomplete(format!("{asked} threads are asked for, {found} are there"));
    }
    missing_parts(&run, &mut measurement, loops, wants_histogram);
    measurement
}

fn tool(run: &Run) -> &'static str {
    let all = |test: fn(&Status) -> bool| !run.status.is_empty() && run.status.values().all(test);
    if all(Status::is_jitterdebugger) {
        return "jitterdebugger";
    }
    if let Some(command) = &run.command {
        return command.tool;
    }
    if run.deadline || all(|status| status.priority.is_none() && status.interval_us.is_some()) {
        "cyclicdeadline"
    } else if all(|status| status.priority.is_some() && status.interval_us.is_none()) {
        "signaltest"
    } else {
        "cyclictest"
    }
}

/// Threads of status lines, of columns, of sample lines: whatever there is of each.
fn threads(run: &Run, unit: Unit, measurement: &mut Measurement) -> Vec<Thread> {
    let columns = columns(run, measurement);
    let numbers = (0u64..).take(columns).chain(run.status.keys().copied()).chain(run.samples.threads());
    let mut numbers: Vec<u64> = numbers.collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
        .into_iter()
        .map(|number| {
            let mut thread = Thread::new(number);
            if let Some(tally) = run.samples.get(number) {
                from_samples(&mut thread, tally, unit, measurement);
            }
            if let Ok(column) = usize::try_from(number)
                && column < columns
            {
                from_histogram(&mut thread, run, column, unit, measurement);
            }
            if let Some(status) = run.status.get(&number) {
                from_status(&mut thread, status, unit, measurement);
            }
            thread
        })
        .collect()
}

/// Number of threads that the histogram block has; a last column over all threads (`-H`) is none.
fn columns(run: &Run, measurement: &mut Measurement) -> usize {
    let rows = run.rows.as_ref().filter(|rows| rows.any());
    let width = rows.map(|rows| rows.columns.len());
    let in_rows = rows.zip(width).map(|(rows, width)| width - usize::from(width >= 3 && rows.last_is_sum));
    let (Some(footer), Some(rows), Some(width)) = (run.footer.threads(width), rows, width) else {
        let widest = run.footer.max.as_ref().or(run.footer.total.as_ref()).map(Vec::len);
        return run.footer.threads(width).or(in_rows).or(widest).unwrap_or(0);
    };
    match width.checked_sub(footer) {
        Some(0) => {}
        Some(1) if rows.last_is_sum => {}
        Some(1) => measurement.warn("the last column is not the sum of the others in every row"),
        _ => measurement.incomplete(format!("{width} columns in the rows, but {footer} threads in the footer")),
    }
    footer
}

fn from_histogram(thread: &mut Thread, run: &Run, column: usize, unit: Unit, measurement: &mut Measurement) {
    let footer = &run.footer;
    thread.min_ns = Status::ns(Footer::value(&footer.min, column), unit);
    thread.mean_ns = Footer::value(&footer.avg, column).and_then(|avg| avg.nanoseconds_f64(unit));
    thread.max_ns = Status::ns(Footer::value(&footer.max, column), unit);
    thread.overflow = Footer::value(&footer.overflows, column).and_then(Decimal::count);
    let total = Footer::value(&footer.total, column).and_then(Decimal::count);
    if is_without_sample(run, column, total, thread.overflow) {
        (thread.min_ns, thread.mean_ns, thread.max_ns) = (None, None, None);
    }
    if all_overflowed(run) {
        thread.bin_width_ns = Some(unit.nanoseconds());
    }
    let rows = run.rows.as_ref().and_then(|rows| rows.columns.get(column));
    let binned = match rows {
        Some(rows) => {
            let width = unit.nanoseconds();
            // Where bins are not asked for, the highest is enough for the checks.
            let highest = rows.ends.zip(rows.sum).map(|((_, highest), sum)| (highest, sum));
            let only = highest.filter(|_| rows.bins.is_empty());
            let bins = rows.bins.iter().copied().chain(only);
            thread.bins = bins.filter_map(|(bin, n)| Some((bin.checked_mul(width)?, n))).collect();
            thread.bin_width_ns = Some(width);
            let Some(binned) = rows.sum else {
                thread.bins = Vec::new();
                measurement.incomplete(format!("{}: the counts add up to more than 64 bits hold", thread.name()));
                return;
            };
            thread.binned = binned;
            ends(thread, rows, unit, measurement);
            Some(binned)
        }
        None => None,
    };
    let Some(total) = total else { return };
    if let Some(binned) = binned
        && total != binned
        && binned.checked_add(thread.overflow.unwrap_or(0)) != Some(total)
    {
        measurement.warn(format!("{}: the total states {total} samples, the rows hold {binned}", thread.name()));
    }
    let with_overflow = total.checked_add(thread.overflow.unwrap_or(0));
    // rt-tests count the rows only; some relatives count the overflow as well.
    thread.cycles = match binned {
        Some(binned) if total != binned && binned.checked_add(thread.overflow.unwrap_or(0)) == Some(total) => {
            Some(total)
        }
        // Without the line of the overflows, rows that reach beyond the maximum show that there were none.
        Some(_) if thread.overflow.is_none() && !reaches_maximum(run.rows.as_ref(), thread.max_ns, unit) => None,
        _ => with_overflow,
    };
}

fn reaches_maximum(rows: Option<&Rows>, max_ns: Option<i64>, unit: Unit) -> bool {
    let last = rows.and_then(|rows| rows.last_index).and_then(|last| last.checked_mul(unit.nanoseconds()));
    last.zip(max_ns).is_some_and(|(last, max)| u64::try_from(max).is_ok_and(|max| max <= last))
}

/// From rt-tests 2.7 on rows may be missing without any trace but this: the minimum lies in the lowest occupied bin,
/// and the maximum in the highest if nothing lies beyond; then the mean is that of the rows, which the footer cuts to whole
/// units.
fn ends(thread: &Thread, rows: &Column, unit: Unit, measurement: &mut Measurement) {
    let Some((lowest, highest)) = rows.ends else { return };
    let ns = |bin: u64| bin.checked_mul(unit.nanoseconds()).and_then(|ns| i64::try_from(ns).ok());
    if let (Some(min), Some(lowest)) = (thread.min_ns.filter(|min| *min >= 0), ns(lowest))
        && min != lowest
    {
        measurement
            .incomplete(format!("{}: the minimum of {min} ns is not the lowest row, {lowest} ns", thread.name()));
    }
    if let (Some(max), Some(highest), Some(0)) = (thread.max_ns, ns(highest), thread.overflow)
        && max > highest
    {
        measurement.incomplete(format!(
            "{}: no row holds the maximum of {max} ns, the highest is {highest} ns",
            thread.name()
        ));
    }
    if let (Some(stated), Some(sum), Some(weight), Some(0)) = (thread.mean_ns, rows.sum, rows.weight, thread.overflow)
        && sum > 0
    {
        let of_rows = weight as f64 / sum as f64 * unit.nanoseconds() as f64;
        let unit = unit.nanoseconds() as f64;
        if !(-0.5 * unit..1.5 * unit).contains(&(of_rows - stated)) {
            measurement.warn(format!(
                "{}: the mean of the rows is {of_rows:.0} ns, the stated one {stated} ns",
                thread.name()
            ));
        }
    }
}

/// Are there no rows because all samples lay beyond them? From rt-tests 2.7 on, which prints no total, none is printed then.
fn all_overflowed(run: &Run) -> bool {
    let overflow = |value: &Option<Decimal>| value.and_then(Decimal::count).is_some_and(|n| n > 0);
    let overflows = run.footer.overflows.as_deref().unwrap_or_default();
    run.rows.as_ref().is_some_and(|rows| !rows.any())
        && run.footer.total.is_none()
        && !overflows.is_empty()
        && overflows.iter().all(overflow)
}

/// No sample: then the footer's minimum and maximum are start values.
fn is_without_sample(run: &Run, column: usize, total: Option<u64>, overflow: Option<u64>) -> bool {
    let binned = run.rows.as_ref().map(|rows| rows.columns.get(column).and_then(|rows| rows.sum).unwrap_or(0));
    overflow == Some(0) && matches!((binned, total), (Some(0), None | Some(0)) | (None, Some(0)))
}

fn from_status(thread: &mut Thread, status: &Status, unit: Unit, measurement: &mut Measurement) {
    thread.cpu = status.cpu;
    thread.cycles = Some(status.cycles);
    if status.cycles == 0 {
        return;
    }
    let max = Status::ns(status.max, unit);
    if thread.max_ns.is_some() && max.is_some() && thread.max_ns != max {
        measurement.warn(format!("{}: the status line and the histogram state different maxima", thread.name()));
    }
    thread.min_ns = thread.min_ns.or(Status::ns(status.min, unit));
    thread.mean_ns = thread.mean_ns.or(status.avg.and_then(|avg| avg.nanoseconds_f64(unit)));
    thread.max_ns = thread.max_ns.or(max);
    if status.no_number {
        measurement.incomplete(format!("{}: `nan` or `inf` instead of a number in the status line", thread.name()));
    } else if status.max.is_none() {
        measurement.incomplete(format!("{}: the status line is cut before its end", thread.name()));
    }
    if thread.min_ns.is_some_and(|min| min < 0) {
        measurement.warn(format!("{}: a negative latency; the clock or the timer is at fault", thread.name()));
    }
}

fn from_samples(thread: &mut Thread, tally: &Tally, unit: Unit, measurement: &mut Measurement) {
    let width = unit.nanoseconds();
    thread.bins = tally.bins().into_iter().filter_map(|(bin, n)| Some((bin.checked_mul(width)?, n))).collect();
    thread.bin_width_ns = Some(width);
    thread.binned = tally.samples - tally.negative;
    let scale = i64::try_from(width).unwrap_or(i64::MAX);
    thread.min_ns = tally.min.checked_mul(scale);
    thread.max_ns = tally.max.checked_mul(scale);
    #[expect(clippy::cast_precision_loss, reason = "a mean of whole µs; 53 bits are enough")]
    let mean = tally.sum as f64 / tally.samples as f64 * width as f64;
    thread.mean_ns = Some(mean);
    if tally.negative > 0 {
        measurement.warn(format!("{}: {} negative samples are in no bin", thread.name(), tally.negative));
    }
}

/// Says what the run lacks.
fn missing_parts(run: &Run, measurement: &mut Measurement, loops: Option<u64>, wants_histogram: bool) {
    if let Some((lines, first)) = run.damaged {
        measurement.incomplete(format!("{lines} damaged status lines, the first at line {first}"));
    }
    if run.snapshot && !run.status.is_empty() {
        measurement.incomplete("a snapshot from the middle of the run (SIGUSR1), not its end");
    }
    if run.headless && run.footer.total.is_none() {
        measurement.incomplete("the heading `# Histogram` is missing: rows before these may be cut off");
    }
    if let Some(first) = run.status.keys().next().filter(|first| **first > 0 && run.samples.is_empty()) {
        measurement.incomplete(format!("the head is cut off: the status lines begin with thread {first}"));
    }
    let gaps = run.status.keys().zip(run.status.keys().skip(1)).any(|(a, b)| *b != a + 1);
    if gaps {
        measurement.incomplete("status lines of some threads are missing");
    }
    if let Some(value) = &run.footer.break_value {
        measurement.incomplete(format!("stopped by a latency above the break value ({value}): the tail was not seen"));
    }
    let most = run.status.values().map(|status| status.cycles).max();
    if let (Some(loops), Some(most)) = (loops, most)
        && most < loops
    {
        measurement.incomplete(format!("ended after {most} of the {loops} cycles asked for"));
    }
    let rows = run.rows.as_ref().filter(|rows| rows.any());
    if let Some((count, first)) = rows.and_then(|rows| rows.damaged) {
        measurement.incomplete(format!("{count} damaged histogram rows are left out, the first at line {first}"));
    }
    let footer = &run.footer;
    if rows.is_some() || footer.any() {
        let threads = footer.threads(rows.map(|rows| rows.columns.len())).unwrap_or(1);
        for (part, what) in
            [(&footer.min, "minima"), (&footer.avg, "means"), (&footer.max, "maxima"), (&footer.overflows, "overflows")]
        {
            let values = part.iter().flatten().take_while(|value| value.is_some()).count();
            if values < threads {
                measurement.incomplete(format!("the footer with the {what} is missing or damaged"));
            }
        }
    }
    if rows.is_none() && footer.any() && !all_overflowed(run) {
        measurement.incomplete("the histogram rows are missing");
    }
    if rows.is_some_and(Rows::with_empty_rows) && footer.total.is_none() {
        measurement.incomplete("the total is missing: versions that print rows without samples print it");
    }
    if rows.is_none() && !footer.any() && wants_histogram {
        measurement.incomplete("the command line asks for a histogram, but there is none");
    }
    if let Some(line) = run.elided {
        let total = |column| Footer::value(&footer.total, column).and_then(Decimal::count);
        let agree = (0..).zip(&measurement.threads).all(|(column, thread)| total(column) == Some(thread.binned));
        let warning = format!("line {line}: rows were cut out of the file");
        if agree {
            measurement.warn(warning + "; the total shows that they were empty")
        } else {
            measurement.incomplete(warning)
        }
    }
}
