//! A run over time: counts, loads, temperature and frequency by column, a column being one checkpoint or several.

use crate::latency::{Distribution, Probability};
use crate::result::Bin;
use latprobe::histogram::{TAIL_BINS, tail_lower_ns, tail_upper_ns};
use latprobe::stream::{Checkpoint, Header, PhaseKind, Record, wire};
use std::collections::BTreeMap;

/// Most columns: more cannot be told apart in a picture, and would make a report of a night large.
pub const MOST_COLUMNS: usize = 240;

/// A run by columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Timeline {
    /// In order; a column never holds parts of two segments.
    pub columns: Vec<Column>,
    /// Names of the loads, by index.
    pub loads: Vec<String>,
}

/// A stretch of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Column {
    /// Segment, by its place among those of the run.
    pub segment: usize,
    /// Measuring time since the start of the run at its beginning, in ns.
    pub from_ns: u64,
    /// The same at its end, in ns.
    pub to_ns: u64,
    /// Occupied bins of all threads, ascending.
    pub bins: Vec<Bin>,
    /// By load: time it ran, time in pauses of its recipe (ns), starts and failures.
    pub loads: BTreeMap<u32, LoadSum>,
    /// By zone: the highest temperature, in thousandths of a degree Celsius.
    pub temperatures_mc: BTreeMap<u32, i64>,
    /// By CPU: the lowest frequency, in kHz.
    pub frequencies_khz: BTreeMap<u32, u64>,
}

/// A load in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoadSum {
    /// Time it ran, in ns.
    pub active_ns: u64,
    /// Time in pauses of its recipe, in ns.
    pub pause_ns: u64,
    /// Starts.
    pub starts: u64,
    /// Ends with an error.
    pub failures: u64,
}

impl Column {
    /// Quantile `p` of its samples: the end of its bin, in ns; `None` without samples, or where the bin has no end.
    pub fn quantile(&self, p: &Probability) -> Option<u64> {
        Distribution::of_bins(&self.bins).quantile(p)?.at_most_ns
    }
}

impl Timeline {
    /// Of the streams of all segments, in order.
    pub fn new<'a>(streams: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut timeline = Self::default();
        let mut before_ns = 0;
        for (number, stream) in streams.into_iter().enumerate() {
            let (columns, loads, measured_ns) = segment(stream, number, before_ns);
            timeline.columns.extend(columns);
            if timeline.loads.is_empty() {
                timeline.loads = loads;
            }
            before_ns += measured_ns;
        }
        let per_column = timeline.columns.len().div_ceil(MOST_COLUMNS).max(1);
        timeline.columns = joined(&timeline.columns, per_column);
        timeline
    }
}

/// One column for each checkpoint of the measuring phase.
fn segment(stream: &[u8], segment: usize, before_ns: u64) -> (Vec<Column>, Vec<String>, u64) {
    let (records, ..) = wire::decode_all(stream);
    let (mut columns, mut header, mut start, mut last) = (Vec::new(), None, None, 0);
    for record in records {
        match record {
            Record::Header(found) => header = Some(found),
            Record::Phase(phase) if phase.kind == PhaseKind::Measuring => {
                start = Some(phase.mono_ns);
                last = phase.mono_ns;
            }
            Record::Checkpoint(checkpoint) if !checkpoint.warm_up => {
                let (Some(header), Some(start)) = (&header, start) else { continue };
                let mut column = column(header, &checkpoint);
                column.segment = segment;
                column.from_ns = before_ns + last - start;
                last = last.max(checkpoint.mono_ns);
                column.to_ns = before_ns + last - start;
                columns.push(column);
            }
            _ => {}
        }
    }
    let measured_ns = start.map_or(0, |start| last - start);
    (columns, header.map(|header| header.loads).unwrap_or_default(), measured_ns)
}

fn column(header: &Header, checkpoint: &Checkpoint) -> Column {
    let mut counts: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    let width = header.bin_width_ns.max(1);
    let range = width.saturating_mul(u64::from(header.bins));
    for thread in &checkpoint.threads {
        let linear = thread.bins.iter().filter(|(bin, _)| *bin < header.bins).map(|(bin, n)| {
            let from = width.saturating_mul(u64::from(*bin));
            ((from, from.saturating_add(width)), n)
        });
        let tail = thread.tail.iter().filter(|(bin, _)| (*bin as usize) < TAIL_BINS).map(|(bin, n)| {
            let bin = *bin as usize;
            ((tail_lower_ns(bin).max(range), tail_upper_ns(bin)), n)
        });
        for (span, n) in linear.chain(tail) {
            let count = counts.entry(span).or_default();
            *count = count.saturating_add(u64::from(*n));
        }
    }
    let loads = checkpoint.loads.iter().map(|delta| {
        let (starts, failures) = (u64::from(delta.starts), u64::from(delta.failures));
        (delta.load, LoadSum { active_ns: delta.active_ns, pause_ns: delta.pause_ns, starts, failures })
    });
    Column {
        bins: counts.into_iter().map(|((from, to), n)| crate::result::bin((from, to, n))).collect(),
        loads: loads.collect(),
        temperatures_mc: checkpoint.system.temperatures_mc.iter().copied().collect(),
        frequencies_khz: checkpoint.system.frequencies_khz.iter().copied().collect(),
        ..Column::default()
    }
}

/// `per` columns of a segment as one.
fn joined(columns: &[Column], per: usize) -> Vec<Column> {
    let segments = columns.chunk_by(|a, b| a.segment == b.segment);
    segments.flat_map(|segment| segment.chunks(per)).filter_map(join).collect()
}

fn join(parts: &[Column]) -> Option<Column> {
    let (first, rest) = parts.split_first()?;
    let mut sum = first.clone();
    let mut counts: BTreeMap<(u64, Option<u64>), u64> = BTreeMap::new();
    for bin in parts.iter().flat_map(|part| &part.bins) {
        let count = counts.entry((bin.from_ns, bin.to_ns)).or_default();
        *count = count.saturating_add(bin.count);
    }
    sum.bins = counts.into_iter().map(|((from_ns, to_ns), count)| Bin { from_ns, to_ns, count }).collect();
    for part in rest {
        sum.to_ns = part.to_ns;
        for (load, more) in &part.loads {
            let load = sum.loads.entry(*load).or_default();
            load.active_ns = load.active_ns.saturating_add(more.active_ns);
            load.pause_ns = load.pause_ns.saturating_add(more.pause_ns);
            load.starts = load.starts.saturating_add(more.starts);
            load.failures = load.failures.saturating_add(more.failures);
        }
        for (zone, value) in &part.temperatures_mc {
            sum.temperatures_mc.entry(*zone).and_modify(|known| *known = (*known).max(*value)).or_insert(*value);
        }
        for (cpu, value) in &part.frequencies_khz {
            sum.frequencies_khz.entry(*cpu).and_modify(|known| *known = (*known).min(*value)).or_insert(*value);
        }
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use latprobe::stream::{LoadDelta, Phase, SystemDelta, ThreadDelta};

    const S: u64 = 1_000_000_000;

    fn stream(checkpoints: u64) -> Vec<u8> {
        let mut records = vec![
            Record::Header(crate::testing::header(&["dd"])),
            Record::Phase(Phase { kind: PhaseKind::Measuring, mono_ns: 5 * S }),
        ];
        for number in 1..=checkpoints {
            let thread = ThreadDelta { bins: vec![(2, 9)], tail: vec![(200, 1)], ..ThreadDelta::default() };
            let system = SystemDelta {
                temperatures_mc: vec![(0, 40_000 + i64::try_from(number).unwrap())],
                frequencies_khz: vec![(1, 1_000_000 - number)],
                ..SystemDelta::default()
            };
            records.push(Record::Checkpoint(Checkpoint {
                mono_ns: (5 + number * 10) * S,
                threads: vec![thread.clone(), thread],
                loads: vec![LoadDelta { load: 0, active_ns: 9 * S, pause_ns: S, starts: 1, failures: 0 }],
                system,
                ..Checkpoint::default()
            }));
        }
        wire::encode_all(&records)
    }

    #[test]
    fn checkpoints_are_columns_and_many_are_joined() {
        let few = Timeline::new([stream(3).as_slice()]);
        assert_eq!((few.columns.len(), few.loads), (3, vec!["dd".to_owned()]));
        assert_eq!((few.columns[1].from_ns, few.columns[1].to_ns), (10 * S, 20 * S));
        assert_eq!(few.columns[0].bins.iter().map(|bin| bin.count).sum::<u64>(), 20);
        let many = Timeline::new([stream(1000).as_slice(), stream(7).as_slice()]);
        assert!(many.columns.len() <= MOST_COLUMNS + 1, "{}", many.columns.len());
        let cycles: u64 = many.columns.iter().flat_map(|column| &column.bins).map(|bin| bin.count).sum();
        assert_eq!(cycles, 1007 * 20);
        let first = &many.columns[0];
        assert_eq!(first.loads[&0], LoadSum { active_ns: 45 * S, pause_ns: 5 * S, starts: 5, failures: 0 });
        assert_eq!((first.temperatures_mc[&0], first.frequencies_khz[&1]), (40_005, 999_995));
        let last = many.columns.last().unwrap();
        assert_eq!((last.segment, last.to_ns), (1, 10_070 * S));
        assert_eq!(Timeline::new([b"rubbish".as_slice()]), Timeline::default());
    }

    #[test]
    fn quantiles_are_of_the_column() {
        let column = Timeline::new([stream(1).as_slice()]).columns.remove(0);
        let quantile = |q: &str| column.quantile(&Probability::parse(q).unwrap());
        assert_eq!(quantile("0.5"), Some(2999));
        assert_eq!(quantile("0.99"), Some(tail_upper_ns(200) - 1));
        assert_eq!(Column::default().quantile(&Probability::parse("0.5").unwrap()), None);
    }
}
