//! Several runs, or two sides of a comparison, in one figure.

use super::exceedance::shares_above;
use super::over_time::block_maxima;
use super::scale::{Groups, end_ns, is_wide, latency_axis, median_ns};
use super::{Axis, Figure, Layer, Panel, Shape, TimeUnit};
use crate::compare::{Counts, Side};
use crate::latency::blocks::Series;
use crate::quantity::{count, latency};
use crate::result::{Bin, RunResult};
use latprobe::histogram::{tail_index, tail_lower_ns};

/// Something with counts and a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Overlaid {
    /// Its name in the legend.
    pub name: String,
    /// Its look: those of one hue belong together.
    pub hue: usize,
    /// Its occupied bins, ascending.
    pub bins: Vec<Bin>,
    /// Its block maxima; several runs follow each other as segments.
    pub series: Vec<Series>,
}

impl Overlaid {
    /// A run.
    pub fn run(number: usize, name: &str, result: &RunResult, series: Series) -> Self {
        Self { name: name.to_owned(), hue: number, bins: result.histogram.clone(), series: vec![series] }
    }

    /// The runs of a side together.
    pub fn side(number: usize, side: &Side) -> Self {
        let mut all: Vec<Bin> = side.runs.iter().filter_map(|run| run.counts.as_ref()).flat_map(bins_of).collect();
        all.sort_unstable_by_key(|bin| (bin.from_ns, bin.to_ns));
        all.dedup_by(|next, kept| {
            let same = (next.from_ns, next.to_ns) == (kept.from_ns, kept.to_ns);
            if same {
                kept.count = kept.count.saturating_add(next.count);
            }
            same
        });
        let series = side.runs.iter().map(|run| run.series.clone()).filter(|series| !series.is_empty());
        let letter = if number == 0 { "A" } else { "B" };
        Self { name: format!("{letter}: {}", side.name), hue: number, bins: all, series: series.collect() }
    }

    fn total(&self) -> u64 {
        self.bins.iter().fold(0u64, |sum, bin| sum.saturating_add(bin.count))
    }
}

/// Bins of counts that are kept by the ends of their bins.
fn bins_of(counts: &Counts) -> Vec<Bin> {
    let bin = |(end, n): (&u64, &u64)| {
        let to = end.saturating_add(1);
        let from_ns = match *end < counts.range_ns {
            true => to.saturating_sub(counts.bin_width_ns),
            false => tail_lower_ns(tail_index(*end)).max(counts.range_ns),
        };
        Bin { from_ns, to_ns: (*end < u64::MAX).then_some(to), count: *n }
    };
    counts.samples.iter().map(bin).collect()
}

fn with_bins(overlaid: &[Overlaid]) -> Vec<&Overlaid> {
    overlaid.iter().filter(|one| !one.bins.is_empty()).collect()
}

/// `A: 3,600,000 cycles, up to 51 us; B: …`
fn extents(overlaid: &[&Overlaid]) -> String {
    let one = |one: &&Overlaid| {
        let highest = one.bins.last().map_or(0, |bin| end_ns(bin).saturating_sub(1));
        format!("{}: {} cycles, up to {}", crate::plain::plain(&one.name), count(one.total()), latency(highest))
    };
    overlaid.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Histograms over each other, as shares of the cycles of each; none where nothing has counts.
pub fn histograms_of(overlaid: &[Overlaid]) -> Option<Figure> {
    let shown = with_bins(overlaid);
    let all = || shown.iter().flat_map(|one| &one.bins);
    let highest = all().map(end_ns).max()?;
    let lowest = all().map(|bin| bin.from_ns).min().unwrap_or(0);
    let typical = shown.iter().map(|one| median_ns(&one.bins)).min().unwrap_or(1);
    let wide = is_wide(typical, highest);
    let widest = shown.iter().filter_map(|one| one.bins.iter().map(|bin| end_ns(bin) - bin.from_ns).min()).max();
    let least = if wide { 0 } else { (highest - lowest) / 500 }.max(widest.unwrap_or(1));
    let groups = Groups::new(all(), |from| least.max(if wide { from / 24 } else { 0 }));
    let mut smallest: f64 = 1.0;
    let mut layers = Vec::new();
    for one in &shown {
        let total = one.total().max(1) as f64;
        smallest = smallest.min(1.0 / total);
        let shares: Vec<f64> = groups.counts(&one.bins).into_iter().map(|n| n as f64 / total).collect();
        layers.push(look(one, Shape::Steps(groups.steps(&shares))));
    }
    Some(Figure {
        id: "histogram".to_owned(),
        title: "Latency histograms".to_owned(),
        summary: format!("Share of the cycles by latency. {}.", extents(&shown)),
        x: latency_axis("latency [us]", wide, lowest, highest),
        panels: vec![Panel {
            y: Axis::log("share of cycles", smallest * 0.7, 1.5),
            height: 1,
            layers,
            rules: Vec::new(),
        }],
        notes: Vec::new(),
    })
}

/// Shares of cycles above each latency; none where nothing has counts.
pub fn exceedance_of(overlaid: &[Overlaid]) -> Option<Figure> {
    let shown = with_bins(overlaid);
    let all = || shown.iter().flat_map(|one| &one.bins);
    let highest = all().map(end_ns).max()?;
    let lowest = all().map(|bin| if bin.from_ns == 0 { end_ns(bin) / 2 } else { bin.from_ns }).min().unwrap_or(1);
    let smallest = shown.iter().map(|one| 0.5 / one.total().max(1) as f64).fold(1.0, f64::min);
    let layers = shown.iter().map(|one| look(one, Shape::Steps(shares_above(&one.bins)))).collect();
    Some(Figure {
        id: "exceedance".to_owned(),
        title: "How often a latency is exceeded".to_owned(),
        summary: format!("Share of the cycles above each latency. {}.", extents(&shown)),
        x: latency_axis("latency [us]", true, lowest.max(1), highest),
        panels: vec![Panel {
            y: Axis::log("share of cycles above", smallest, 1.0),
            height: 1,
            layers,
            rules: Vec::new(),
        }],
        notes: Vec::new(),
    })
}

/// Block maxima over the time of each run; none without blocks.
pub fn maxima_of(overlaid: &[Overlaid]) -> Option<Figure> {
    let runs = || overlaid.iter().flat_map(|one| one.series.iter().filter(|s| !s.is_empty()).map(move |s| (one, s)));
    let length = runs().flat_map(|(_, s)| s.entries().map(|entry| entry.at_ns)).max()?;
    let highest = runs().flat_map(|(_, s)| s.entries().map(|entry| entry.max_ns)).max().unwrap_or(1);
    let lowest = runs().flat_map(|(_, s)| s.entries().map(|entry| entry.max_ns)).min().unwrap_or(1);
    let unit = TimeUnit::of(length);
    let layer = |(one, series): (&Overlaid, &Series)| look(one, block_maxima(series, unit).0);
    Some(Figure {
        id: "over-time".to_owned(),
        title: "Block maxima over time".to_owned(),
        summary: format!("Largest latency of each block in {} runs, each from its own start.", runs().count()),
        x: unit.axis(length),
        panels: vec![Panel {
            y: latency_axis("latency [us]", is_wide(lowest, highest), lowest / 2, highest),
            height: 1,
            layers: runs().map(layer).collect(),
            rules: Vec::new(),
        }],
        notes: Vec::new(),
    })
}

fn look(one: &Overlaid, shape: Shape) -> Layer {
    let dash = u8::try_from(one.hue % 4).unwrap_or(0);
    Layer::new(one.hue, &one.name, shape).dashed(dash)
}
