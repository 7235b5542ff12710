//! A run as a series of block maxima.
//!
//! The probe closes a block about once a second ([`latprobe::stream::Block`]). Bursts of bad samples fall into one
//! block or a few neighbours, so that blocks, unlike samples, can be counted as if they were independent.

use latprobe::stream::{Folded, PhaseKind};
use std::collections::BTreeMap;

/// One closed block of the run, all threads together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Number of the block in its segment, by time. Numbers that are missing: nothing was recorded then.
    pub window: u64,
    /// Measuring time from the start of the run to its end, in ns.
    pub at_ns: u64,
    /// Largest latency, in ns.
    pub max_ns: u64,
    /// Wake-ups (≥ 1).
    pub cycles: u64,
}

/// The closed blocks of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Series {
    /// Length of a block, in ns (≥ 1).
    pub block_ns: u64,
    /// By segment: a boot or a restart of the supervisor parts two of them.
    pub segments: Vec<Vec<Entry>>,
}

impl Series {
    /// The measuring phases of `segments`, measured with blocks of `block_ns`.
    pub fn new(segments: &[Folded], block_ns: u64) -> Self {
        let block_ns = block_ns.max(1);
        let mut before_ns = 0;
        let mut all = Vec::new();
        for segment in segments {
            all.push(entries(segment, block_ns, before_ns));
            before_ns += segment.measured_ns();
        }
        Self { block_ns, segments: all }
    }

    /// All blocks in order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.segments.iter().flatten()
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.segments.iter().map(Vec::len).sum()
    }

    /// Whether there is no block.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Wake-ups in all blocks.
    pub fn cycles(&self) -> u64 {
        self.entries().map(|entry| entry.cycles).sum()
    }

    /// Time that the blocks cover, in ns.
    pub fn covered_ns(&self) -> u64 {
        self.block_ns.saturating_mul(self.len() as u64)
    }

    /// Maxima of longer blocks of `size_ns`, in order. One in which less than nine tenths of the time was recorded
    /// (the last of a segment, a gap) is left out: its maximum would be too small.
    pub fn grouped(&self, size_ns: u64) -> Vec<Entry> {
        let per_group = (size_ns / self.block_ns.max(1)).max(1);
        let mut groups = Vec::new();
        for segment in &self.segments {
            for members in segment.chunk_by(|a, b| a.window / per_group == b.window / per_group) {
                let (Some(first), Some(last)) = (members.first(), members.last()) else { continue };
                if members.len() as u64 * 10 < per_group * 9 {
                    continue;
                }
                groups.push(Entry {
                    window: first.window / per_group,
                    at_ns: last.at_ns,
                    max_ns: members.iter().map(|m| m.max_ns).max().unwrap_or(0),
                    cycles: members.iter().map(|m| m.cycles).sum(),
                });
            }
        }
        groups
    }
}

/// Blocks of all threads, by the window that their end is nearest to: threads close theirs at slightly different times.
fn entries(segment: &Folded, block_ns: u64, before_ns: u64) -> Vec<Entry> {
    let Some(start) = segment.phases.iter().find(|p| p.kind == PhaseKind::Measuring).map(|p| p.mono_ns) else {
        return Vec::new();
    };
    let mut windows: BTreeMap<u64, Entry> = BTreeMap::new();
    // A block without wake-ups has no maximum: the stall shows in the next one.
    let blocks = segment.threads.iter().flat_map(|thread| &thread.blocks).filter(|block| block.cycles > 0);
    for block in blocks {
        let since_start = block.end_mono_ns.saturating_sub(start);
        let window = (since_start.saturating_add(block_ns / 2) / block_ns).saturating_sub(1);
        let entry = windows.entry(window).or_insert(Entry { window, at_ns: 0, max_ns: 0, cycles: 0 });
        entry.at_ns = entry.at_ns.max(before_ns + since_start);
        entry.max_ns = entry.max_ns.max(block.max_ns);
        entry.cycles += u64::from(block.cycles);
    }
    windows.into_values().collect()
}

#[cfg(test)]
pub(crate) mod testing {
    use super::{Entry, Series};

    /// A run of one segment with these maxima (in ns) of blocks of one second at 1 ms.
    pub(crate) fn series(maxima: impl IntoIterator<Item = u64>) -> Series {
        let entry = |(window, max_ns)| Entry { window, at_ns: (window + 1) * 1_000_000_000, max_ns, cycles: 1000 };
        Series { block_ns: 1_000_000_000, segments: vec![(0..).zip(maxima).map(entry).collect()] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latprobe::histogram::Histogram;
    use latprobe::stream::{Block, Phase, ThreadResult};

    const S: u64 = 1_000_000_000;

    fn thread(blocks: &[(u64, u32, u64)]) -> ThreadResult {
        let block = |(end_mono_ns, cycles, max_ns): &(u64, u32, u64)| Block {
            end_mono_ns: *end_mono_ns,
            cycles: *cycles,
            max_ns: *max_ns,
            ..Block::default()
        };
        ThreadResult {
            histogram: Histogram::new(1000, 10),
            missed: 0,
            blocks: blocks.iter().map(block).collect(),
            worst: Vec::new(),
            minor_faults: 0,
            major_faults: 0,
            voluntary_switches: 0,
            involuntary_switches: 0,
        }
    }

    fn segment(threads: Vec<ThreadResult>, end: u64) -> Folded {
        let phases = vec![
            Phase { kind: PhaseKind::Measuring, mono_ns: 100 * S },
            Phase { kind: PhaseKind::Ended, mono_ns: 100 * S + end },
        ];
        Folded { phases, threads, ..Folded::default() }
    }

    #[test]
    fn threads_share_windows_and_segments_follow_each_other() {
        let two = segment(
            vec![
                thread(&[(101 * S, 1000, 5), (102 * S + 1, 1000, 6), (103 * S, 0, 0)]),
                thread(&[(101 * S + S / 4, 990, 9), (102 * S - S / 4, 990, 2)]),
            ],
            3 * S,
        );
        let one = segment(vec![thread(&[(101 * S, 1000, 7)])], S);
        let series = Series::new(&[two, Folded::default(), one], S);
        let found: Vec<_> = series.entries().map(|e| (e.window, e.at_ns, e.max_ns, e.cycles)).collect();
        assert_eq!(
            found,
            [(0, S + S / 4, 9, 1990), (1, 2 * S + 1, 6, 1990), (0, 4 * S, 7, 1000)],
            "a block without wake-ups is none"
        );
        assert_eq!((series.len(), series.cycles(), series.covered_ns()), (3, 4980, 3 * S));
    }

    #[test]
    fn longer_blocks_are_whole_or_left_out() {
        let mut series = testing::series((0..25).map(|i| 100 - i));
        series.segments.push(testing::series([7; 10]).segments.remove(0));
        let maxima: Vec<_> = series.grouped(10 * S).iter().map(|g| (g.max_ns, g.cycles)).collect();
        assert_eq!(maxima, [(100, 10_000), (90, 10_000), (7, 10_000)]);
        // A tenth may be missing, not more.
        series.segments[0].remove(3);
        assert_eq!(series.grouped(10 * S).len(), 3);
        series.segments[0].remove(3);
        assert_eq!(series.grouped(10 * S).len(), 2);
        assert!(Series::default().is_empty() && Series::default().grouped(S).is_empty());
    }
}
