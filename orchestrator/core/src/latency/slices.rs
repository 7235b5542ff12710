//! A run cut into slices of time with the counts of each: what a block bootstrap draws from.

use latprobe::histogram::{Histogram, tail_upper_ns};
use latprobe::stream::{Checkpoint, Record, wire};
use std::collections::BTreeMap;

/// Length of a slice, in ns: longer than the bursts and the cycles of the loads, so that slices are about independent.
pub const SLICE_NS: u64 = 60_000_000_000;

/// Counts of one slice: end of the bin (the largest latency it counts, in ns) → samples.
pub type Slice = BTreeMap<u64, u64>;

/// Slices of the measuring phase in `stream`, the bytes of one segment, all threads together, each of [`SLICE_NS`] or
/// a little more; a last one of less than half of that joins the one before.
pub fn slices(stream: &[u8]) -> Vec<Slice> {
    let (records, ..) = wire::decode_all(stream);
    let mut ends: Vec<u64> = Vec::new();
    let mut slices: Vec<Slice> = Vec::new();
    let (mut open, mut began, mut last) = (Slice::new(), None, 0);
    for record in records {
        match record {
            Record::Header(header) => ends = bin_ends(header.bin_width_ns, header.bins as usize),
            Record::Checkpoint(checkpoint) if checkpoint.warm_up => began = Some(checkpoint.mono_ns),
            Record::Checkpoint(checkpoint) => {
                last = checkpoint.mono_ns;
                add(&mut open, &checkpoint, &ends);
                if last.saturating_sub(*began.get_or_insert(last)) >= SLICE_NS {
                    slices.push(std::mem::take(&mut open));
                    began = Some(last);
                }
            }
            _ => {}
        }
    }
    let short = last.saturating_sub(began.unwrap_or(last)) * 2 < SLICE_NS;
    match slices.last_mut().filter(|_| short) {
        Some(before) => open.into_iter().for_each(|(end, count)| *before.entry(end).or_default() += count),
        None if open.is_empty() => {}
        None => slices.push(open),
    }
    slices
}

/// Ends of the linear bins, then of the tail bins.
fn bin_ends(width_ns: u64, bins: usize) -> Vec<u64> {
    let linear = (1..=bins as u64).map(|bin| bin.saturating_mul(width_ns).saturating_sub(1));
    let tail = (0..Histogram::new(width_ns, 0).tail.len()).map(|bin| tail_upper_ns(bin) - 1);
    linear.chain(tail).collect()
}

fn add(slice: &mut Slice, checkpoint: &Checkpoint, ends: &[u64]) {
    let tail_from = ends.len().saturating_sub(latprobe::histogram::TAIL_BINS);
    for thread in &checkpoint.threads {
        let linear =
            thread.bins.iter().filter(|(bin, _)| (*bin as usize) < tail_from).map(|(bin, n)| (*bin as usize, n));
        let tail = thread.tail.iter().map(|(bin, n)| (tail_from + *bin as usize, n));
        for (bin, count) in linear.chain(tail) {
            if let Some(end) = ends.get(bin) {
                *slice.entry(*end).or_default() += u64::from(*count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latprobe::stream::ThreadDelta;

    fn checkpoint(at_s: u64, warm_up: bool, bins: &[(u32, u32)], tail: &[(u32, u32)]) -> Record {
        let thread = ThreadDelta { bins: bins.to_vec(), tail: tail.to_vec(), ..ThreadDelta::default() };
        let mono_ns = at_s * 1_000_000_000;
        Record::Checkpoint(Checkpoint { warm_up, mono_ns, threads: vec![thread], ..Checkpoint::default() })
    }

    fn header() -> Record {
        Record::Header(crate::testing::header(&[]))
    }

    #[test]
    fn a_run_is_cut_by_time_and_nothing_is_lost() {
        let mut records = vec![header(), checkpoint(0, true, &[(1, 999)], &[])];
        records.extend((1..=20).map(|i| checkpoint(i * 10, false, &[(2, 10)], &[])));
        records.push(checkpoint(205, false, &[(9, 1)], &[(96, 1)]));
        let found = slices(&wire::encode_all(&records));
        let sums: Vec<u64> = found.iter().map(|slice| slice.values().sum()).collect();
        assert_eq!(sums, [60, 60, 82], "25 s at the end join the last minute; the warm-up does not count");
        assert_eq!(found[0], Slice::from([(2999, 60)]));
        assert_eq!(found[2].keys().copied().collect::<Vec<_>>(), [2999, 9999, tail_upper_ns(96) - 1]);
        assert!(slices(b"rubbish").is_empty() && slices(&[]).is_empty());
    }
}
