//! Records folded into the result of a segment.

use super::{
    Block, Checkpoint, Damage, End, Event, Header, Instrument, LoadDelta, Phase, PhaseKind, Record, Sample, wire,
};
use crate::histogram::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;

/// Most that a spec may ask for: a header beyond it would only make the reader reserve memory.
const MAX_BINS: u32 = 1_000_000;
const MAX_WORST: u32 = 1024;

/// Adds up records as they come.
#[derive(Debug, Default)]
pub struct Fold {
    result: Folded,
}

/// What one segment says.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Folded {
    /// First record; absent: the stream says nothing usable.
    pub header: Option<Header>,
    /// Set-up read back; absent: the run was refused or died before its first sample.
    pub instrument: Option<Instrument>,
    /// Phases begun, in order.
    pub phases: Vec<Phase>,
    /// Measuring phase, by thread.
    pub threads: Vec<ThreadResult>,
    /// Warm-up, by thread.
    pub warm_up: Vec<ThreadResult>,
    /// Loads over the measuring phase, by index of [`Header::loads`].
    pub loads: Vec<LoadDelta>,
    /// Interrupts on measured CPUs over the measuring phase: (CPU, label) → count.
    #[serde(skip)]
    pub interrupts: BTreeMap<(u32, String), u64>,
    /// Temperatures by checkpoint: (`CLOCK_MONOTONIC` ns, zone, thousandths of a degree).
    pub temperatures_mc: Vec<(u64, u32, i64)>,
    /// Frequencies by checkpoint: (`CLOCK_MONOTONIC` ns, CPU, kHz).
    pub frequencies_khz: Vec<(u64, u32, u64)>,
    /// Out-of-memory kills, warm-up included.
    pub oom_kills: u64,
    /// Events in order.
    pub events: Vec<Event>,
    /// Time of the last checkpoint of the measuring phase, in ns.
    pub last_checkpoint_mono_ns: Option<u64>,
    /// Number of checkpoints, warm-up included.
    pub checkpoints: u64,
    /// Last record, if the segment ended by itself.
    pub end: Option<End>,
    /// What could not be used.
    pub damage: Vec<Damage>,
    /// Bytes of a torn last record.
    pub torn_bytes: u64,
}

/// One thread over one phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThreadResult {
    /// Counts.
    pub histogram: Histogram,
    /// Missed periods.
    pub missed: u64,
    /// Closed blocks in order.
    pub blocks: Vec<Block>,
    /// Worst samples, worst first.
    pub worst: Vec<Sample>,
    /// Page faults served without I/O.
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Voluntary context switches.
    pub voluntary_switches: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
}

impl ThreadResult {
    fn new(header: &Header) -> Self {
        Self {
            histogram: Histogram::new(header.bin_width_ns, header.bins as usize),
            missed: 0,
            blocks: Vec::new(),
            worst: Vec::new(),
            minor_faults: 0,
            major_faults: 0,
            voluntary_switches: 0,
            involuntary_switches: 0,
        }
    }

    /// Exact smallest latency of the closed blocks, in ns; absent without samples.
    pub fn min_ns(&self) -> Option<u64> {
        self.blocks.iter().filter(|b| b.cycles > 0).map(|b| b.min_ns).min()
    }

    /// Exact largest latency, in ns; absent without samples.
    pub fn max_ns(&self) -> Option<u64> {
        let blocks = self.blocks.iter().filter(|b| b.cycles > 0).map(|b| b.max_ns);
        blocks.chain(self.worst.iter().map(|s| s.latency_ns)).max()
    }

    /// Mean latency over the closed blocks, in ns; absent without samples.
    pub fn mean_ns(&self) -> Option<f64> {
        let cycles: u64 = self.blocks.iter().map(|b| u64::from(b.cycles)).sum();
        let sum: u128 = self.blocks.iter().map(|b| u128::from(b.sum_ns)).sum();
        (cycles > 0).then(|| sum as f64 / cycles as f64)
    }
}

impl Fold {
    /// Nothing folded yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What stands after the records so far.
    pub fn so_far(&self) -> &Folded {
        &self.result
    }

    /// Adds one record. Checkpoints before a header are damage: their bins have no meaning.
    pub fn push(&mut self, record: Record) {
        let result = &mut self.result;
        match record {
            Record::Header(header) if header.bins > MAX_BINS || header.worst > MAX_WORST => {
                let reason = format!("header with {} bins and {} worst samples", header.bins, header.worst);
                result.damage.push(Damage { offset: 0, bytes: 0, reason });
            }
            Record::Header(header) => {
                let load = |index| LoadDelta { load: index, ..Default::default() };
                result.loads = (0..u32::try_from(header.loads.len()).unwrap_or(u32::MAX)).map(load).collect();
                result.header = Some(header);
            }
            Record::Instrument(instrument) => result.instrument = Some(instrument),
            Record::Phase(phase) => result.phases.push(phase),
            Record::Checkpoint(checkpoint) => self.checkpoint(checkpoint),
            Record::Event(event) => result.events.push(event),
            Record::End(end) => result.end = Some(end),
        }
    }

    /// Drops what grows with time, for a view of a measurement that runs for hours: the closed blocks of a thread become
    /// one, temperatures and frequencies go. Counts, minimum and maximum stay exact.
    pub fn forget_series(&mut self) {
        for thread in self.result.threads.iter_mut().chain(&mut self.result.warm_up) {
            let merged = thread.blocks.drain(..).filter(|block| block.cycles > 0).reduce(|all, block| Block {
                end_mono_ns: block.end_mono_ns,
                cycles: all.cycles.saturating_add(block.cycles),
                missed: all.missed.saturating_add(block.missed),
                sum_ns: all.sum_ns.saturating_add(block.sum_ns),
                min_ns: all.min_ns.min(block.min_ns),
                max_ns: all.max_ns.max(block.max_ns),
            });
            thread.blocks.extend(merged);
        }
        self.result.temperatures_mc.clear();
        self.result.frequencies_khz.clear();
    }

    /// The result, with what the decoder could not use.
    pub fn finish(mut self, damage: Vec<Damage>, torn_bytes: u64) -> Folded {
        self.result.damage.extend(damage);
        self.result.torn_bytes = torn_bytes;
        self.result
    }

    fn checkpoint(&mut self, checkpoint: Checkpoint) {
        let result = &mut self.result;
        let Some(header) = &result.header else {
            let reason = "checkpoint without a header before it".to_owned();
            result.damage.push(Damage { offset: 0, bytes: 0, reason });
            return;
        };
        result.checkpoints += 1;
        let at = checkpoint.mono_ns;
        let threads = if checkpoint.warm_up { &mut result.warm_up } else { &mut result.threads };
        for delta in checkpoint.threads {
            let index = delta.thread as usize;
            // The spec allows 1024 threads; a larger index is damage that a checksum did not see.
            if index >= 1024 {
                continue;
            }
            while threads.len() <= index {
                threads.push(ThreadResult::new(header));
            }
            let thread = &mut threads[index];
            let add_counts = |counts: &mut [u64], new: &[(u32, u32)]| {
                for (bin, count) in new {
                    if let Some(sum) = counts.get_mut(*bin as usize) {
                        *sum += u64::from(*count);
                    }
                }
            };
            add_counts(&mut thread.histogram.bins, &delta.bins);
            add_counts(&mut thread.histogram.tail, &delta.tail);
            add(&mut thread.histogram.negative, u64::from(delta.negative));
            add(&mut thread.missed, delta.missed);
            thread.blocks.extend(delta.blocks);
            thread.worst.extend(delta.worst);
            thread.worst.sort_unstable_by(|a, b| b.cmp(a));
            thread.worst.dedup();
            thread.worst.truncate(header.worst as usize);
            add(&mut thread.minor_faults, delta.minor_faults);
            add(&mut thread.major_faults, delta.major_faults);
            add(&mut thread.voluntary_switches, delta.voluntary_switches);
            add(&mut thread.involuntary_switches, delta.involuntary_switches);
        }
        add(&mut result.oom_kills, checkpoint.system.oom_kills);
        if checkpoint.warm_up {
            return;
        }
        result.last_checkpoint_mono_ns = Some(at);
        for delta in checkpoint.loads {
            if let Some(load) = result.loads.get_mut(delta.load as usize) {
                add(&mut load.active_ns, delta.active_ns);
                add(&mut load.pause_ns, delta.pause_ns);
                load.starts = load.starts.saturating_add(delta.starts);
                load.failures = load.failures.saturating_add(delta.failures);
            }
        }
        for (cpu, label, count) in checkpoint.system.interrupts {
            add(result.interrupts.entry((cpu, label)).or_default(), count);
        }
        result
            .temperatures_mc
            .extend(checkpoint.system.temperatures_mc.into_iter().map(|(zone, value)| (at, zone, value)));
        result
            .frequencies_khz
            .extend(checkpoint.system.frequencies_khz.into_iter().map(|(cpu, value)| (at, cpu, value)));
    }
}

impl Folded {
    /// Time covered by the measuring phase so far, in ns: from its start to its end, or to the last checkpoint.
    pub fn measured_ns(&self) -> u64 {
        let start = self.phases.iter().find(|p| p.kind == PhaseKind::Measuring).map(|p| p.mono_ns);
        let ended = self.phases.iter().find(|p| p.kind == PhaseKind::Ended).map(|p| p.mono_ns);
        match (start, ended.or(self.last_checkpoint_mono_ns)) {
            (Some(start), Some(end)) => end.saturating_sub(start),
            _ => 0,
        }
    }
}

/// A sum that a broken board made too large stays at the end of the range: it must not stop the reader.
fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

/// Folds the bytes of one segment.
pub fn fold_bytes(bytes: &[u8]) -> Folded {
    let (records, damage, torn) = wire::decode_all(bytes);
    let mut fold = Fold::new();
    records.into_iter().for_each(|record| fold.push(record));
    fold.finish(damage, torn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_asks_for_too_much_is_damage() {
        let header = Header {
            format: 1,
            run_id: "r".into(),
            segment: 0,
            probe_version: String::new(),
            boot_id: String::new(),
            kernel_release: String::new(),
            mono_ns: 0,
            realtime_ns: 0,
            bin_width_ns: 1,
            bins: u32::MAX,
            worst: 0,
            loads: Vec::new(),
        };
        let folded = fold_bytes(&wire::encode_all(&[Record::Header(header)]));
        assert_eq!(folded.header, None);
        assert_eq!(folded.damage.len(), 1);
    }
}
