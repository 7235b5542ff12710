//! Counts of samples whose place is known up to an interval each.

use super::{Probability, Value};
use crate::result::Bin;
use latprobe::histogram::Histogram;
use std::collections::BinaryHeap;

/// So many samples between two bounds, inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    lowest_ns: u64,
    /// `None`: no bound.
    highest_ns: Option<u64>,
    count: u64,
}

/// Latencies as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distribution {
    spans: Vec<Span>,
    total: u64,
    /// First latency beyond the linear bins, in ns.
    range_ns: u64,
}

/// Samples above a limit: the true number lies between the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Surely above.
    pub at_least: u64,
    /// Not surely below.
    pub at_most: u64,
    /// Of so many.
    pub total: u64,
}

impl Distribution {
    /// One value per wake-up, as cyclictest counts.
    pub(super) fn of_wake_ups(histogram: &Histogram) -> Self {
        Self::new(histogram.occupied().map(span).collect(), histogram.range_ns())
    }

    /// Of occupied bins, ascending.
    pub(super) fn of_bins(bins: &[Bin]) -> Self {
        let spans = bins.iter().map(|bin| span((bin.from_ns, bin.to_ns.unwrap_or(u64::MAX), bin.count)));
        Self::new(spans.collect(), u64::MAX)
    }

    /// One value per period: the wake-ups, and each missed period as a late arrival.
    pub(super) fn of_periods(histogram: &Histogram, interval_ns: u64, missed: u64) -> Self {
        let mut spans: Vec<Span> = histogram.occupied().map(span).collect();
        spans.extend(missed_spans(histogram, interval_ns.max(1), missed));
        Self::new(spans, histogram.range_ns())
    }

    fn new(mut spans: Vec<Span>, range_ns: u64) -> Self {
        spans.sort_unstable_by_key(|s| (s.highest_ns.unwrap_or(u64::MAX), s.lowest_ns));
        // Threads share their bins: a thousand of them need not be a thousand times as many spans.
        spans.dedup_by(|next, kept| {
            let same = (next.lowest_ns, next.highest_ns) == (kept.lowest_ns, kept.highest_ns);
            if same {
                kept.count = kept.count.saturating_add(next.count);
            }
            same
        });
        let total = spans.iter().fold(0, |sum: u64, s| sum.saturating_add(s.count));
        Self { spans, total, range_ns }
    }

    /// All together; `None` of nothing. The largest range counts as that of the histogram.
    pub fn joined(parts: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut parts = parts.into_iter();
        let Self { mut spans, mut range_ns, .. } = parts.next()?;
        for part in parts {
            range_ns = range_ns.max(part.range_ns);
            spans.extend(part.spans);
        }
        Some(Self::new(spans, range_ns))
    }

    /// Narrows the outermost spans by what is known of the extremes.
    pub(super) fn clamped(mut self, min: Option<Value>, max: Option<Value>) -> Self {
        for span in &mut self.spans {
            if let Some(min) = min {
                span.lowest_ns = span.lowest_ns.max(min.at_least_ns);
            }
            if let Some(largest) = max.and_then(|max| max.at_most_ns) {
                let highest = span.highest_ns.map_or(largest, |h| h.min(largest));
                // Contradictory input (a maximum below an occupied bin) leaves the bin as it is.
                if highest >= span.lowest_ns {
                    span.highest_ns = Some(highest);
                }
            }
        }
        self
    }

    /// Number of samples.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The quantile `p`; absent without samples. At least the share `p` of the samples is at most [`Value::at_most_ns`].
    /// Like HdrHistogram, the end of the bin is the figure to show, never more than the maximum.
    pub fn quantile(&self, p: &Probability) -> Option<Value> {
        if self.total == 0 {
            return None;
        }
        let rank = p.rank(self.total);
        // The rank-th smallest of the upper ends bounds the rank-th smallest sample from above, that of the lower ends from below.
        let at_most_ns = nth(self.spans.iter().map(|s| (s.highest_ns.unwrap_or(u64::MAX), s.count)), rank)?;
        let mut lowest: Vec<(u64, u64)> = self.spans.iter().map(|s| (s.lowest_ns, s.count)).collect();
        lowest.sort_unstable();
        let at_least_ns = nth(lowest, rank)?;
        Some(Value { at_least_ns, at_most_ns: (at_most_ns < u64::MAX).then_some(at_most_ns) })
    }

    /// Whether `value` lies beyond the linear bins, where a quantile is shown as a bound (`> 200 us`).
    pub fn in_overflow(&self, value: Value) -> bool {
        !value.is_exact() && value.at_least_ns >= self.range_ns
    }

    /// Samples above `limit_ns` (a sample equal to it is not above).
    pub fn above(&self, limit_ns: u64) -> Share {
        let sum = |above: &dyn Fn(&Span) -> bool| {
            self.spans.iter().filter(|s| above(s)).fold(0, |sum: u64, s| sum.saturating_add(s.count))
        };
        Share {
            at_least: sum(&|s| s.lowest_ns > limit_ns),
            at_most: sum(&|s| s.highest_ns.is_none_or(|highest| highest > limit_ns)),
            total: self.total,
        }
    }
}

fn span((lower, upper, count): (u64, u64, u64)) -> Span {
    Span { lowest_ns: lower, highest_ns: (upper < u64::MAX).then(|| upper - 1), count }
}

/// Value of the `rank`-th sample, from 1, of ascending (value, count).
fn nth(ascending: impl IntoIterator<Item = (u64, u64)>, rank: u64) -> Option<u64> {
    let mut seen = 0u64;
    ascending.into_iter().find_map(|(value, count)| {
        seen = seen.saturating_add(count);
        (seen >= rank).then_some(value)
    })
}

/// Missed periods told apart one by one; any more (a stall of a minute at 100 us is 600,000) share one wide span.
const MOST_STEPS: usize = 100_000;

/// Where the missed periods lie. A wake-up with latency L missed the periods that were due 1, 2 … intervals after its own:
/// they were late by L − interval, L − 2 · interval … The bins leave some doubt how many that are; the probe's own count
/// decides, and the largest are taken first, so that no doubt makes a figure better.
fn missed_spans(histogram: &Histogram, interval_ns: u64, missed: u64) -> Vec<Span> {
    let shifted = |s: Span| {
        let highest_ns = s.highest_ns.map_or(Some(None), |h| h.checked_sub(interval_ns).map(Some))?;
        // Without an upper bound the span would reach for ever: its lower bound says how far.
        let lowest_ns = if highest_ns.is_none() {
            s.lowest_ns.checked_sub(interval_ns)?
        } else {
            s.lowest_ns.saturating_sub(interval_ns)
        };
        Some(Span { lowest_ns, highest_ns, count: s.count })
    };
    let keyed = |s: Span| (s.highest_ns.unwrap_or(u64::MAX), s.lowest_ns, s.count);
    let mut heap: BinaryHeap<_> = histogram.occupied().map(span).filter_map(shifted).map(keyed).collect();
    let mut spans = Vec::new();
    let mut left = missed;
    while left > 0 && spans.len() < MOST_STEPS {
        let Some((highest, lowest_ns, count)) = heap.pop() else { break };
        let span = Span { lowest_ns, highest_ns: (highest < u64::MAX).then_some(highest), count };
        spans.push(Span { count: count.min(left), ..span });
        left -= count.min(left);
        heap.extend(shifted(span).map(keyed));
    }
    if left > 0 {
        // Told apart no further; or more than the wake-ups explain (a stall that still goes on, lost records): late by an unknown time.
        let highest_ns = heap.peek().map(|(highest, ..)| *highest).filter(|highest| *highest < u64::MAX);
        spans.push(Span { lowest_ns: 0, highest_ns, count: left });
    }
    spans
}
