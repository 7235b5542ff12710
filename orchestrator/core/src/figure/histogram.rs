//! The histogram: how often which latency was seen.

use super::scale::{Groups, count_axis, end_ns, is_wide, latency_axis, median_ns};
use super::{Along, Figure, Layer, Material, Panel, Rule, Shape, us};
use crate::campaign::model::Gate;
use crate::latency::merge_segments;
use crate::quantity::{count, latency};
use crate::result::{Bin, Bound, RunResult, bin};
use latprobe::stream::ThreadResult;

/// Most threads with a line of their own.
pub(super) const MOST_LINES: usize = 12;
/// Lines of single threads where there are more.
const WORST_LINES: usize = 4;

pub(super) fn of_run(material: &Material) -> Figure {
    let result = material.result;
    let bins = &result.histogram;
    let highest = bins.last().map_or(1, end_ns);
    let logarithmic = is_wide(median_ns(bins), highest);
    let groups = Groups::for_axis(bins, logarithmic);
    let lowest = bins.first().map_or(0, |bin| bin.from_ns);
    let most = groups.counts(bins).into_iter().max().unwrap_or(1);
    let mut rules = quantile_rules(result);
    rules.extend(limit_rules(material.gate, Along::X));
    let far = rules.iter().filter(|rule| rule.limit).map(|rule| rule.at).fold(us(highest), f64::max);
    let mut x = latency_axis("latency [us]", logarithmic, lowest, highest);
    // A limit just beyond the samples belongs into the picture; one far away would squeeze them.
    if far < us(highest) * 3.0 || logarithmic {
        x.to = x.to.max(far * 1.05);
    }
    let layers = layers(material, &groups);
    let panel = Panel { y: count_axis("cycles per bin", most as f64), height: 1, layers, rules };
    Figure {
        id: "histogram".to_owned(),
        title: "Latency histogram".to_owned(),
        summary: summary(result),
        x,
        panels: vec![panel],
        notes: notes(result, &groups),
    }
}

fn layers(material: &Material, groups: &Groups) -> Vec<Layer> {
    let threads = merge_segments(material.segments).unwrap_or_default();
    let steps = |bins: &[Bin]| {
        let counts: Vec<f64> = groups.counts(bins).into_iter().map(|n| n as f64).collect();
        Shape::Steps(groups.steps(&counts))
    };
    let mut layers = vec![Layer::new(0, "all threads", steps(&material.result.histogram))];
    if threads.len() < 2 {
        return layers;
    }
    let of = |thread: &ThreadResult| thread.histogram.occupied().map(bin).collect::<Vec<Bin>>();
    let all: Vec<(usize, Vec<Bin>)> = threads.iter().map(of).enumerate().collect();
    let mut shown: Vec<&(usize, Vec<Bin>)> = all.iter().collect();
    if threads.len() > MOST_LINES {
        layers.insert(0, Layer::new(6, "from the fewest to the most of any thread", spread(&all, groups)));
        shown.sort_by_key(|(index, bins)| (std::cmp::Reverse(bins.last().map(|bin| bin.from_ns)), *index));
        shown.truncate(WORST_LINES);
    }
    for (number, (index, bins)) in shown.into_iter().enumerate() {
        let dash = u8::try_from(number % 3 + 1).unwrap_or(1);
        layers.push(Layer::new(number + 1, &thread_name(material.result, *index), steps(bins)).dashed(dash));
    }
    layers
}

/// By group: the fewest and the most counts of any thread; from below one where a thread has none.
fn spread(threads: &[(usize, Vec<Bin>)], groups: &Groups) -> Shape {
    let mut least = vec![u64::MAX; groups.spans.len()];
    let mut most = vec![0; groups.spans.len()];
    for (_, bins) in threads {
        for (at, n) in groups.counts(bins).into_iter().enumerate() {
            least[at] = least[at].min(n);
            most[at] = most[at].max(n);
        }
    }
    let mut band: Vec<(f64, Option<(f64, f64)>)> = Vec::new();
    let mut end = None;
    for (((from, to), least), most) in groups.spans.iter().zip(least).zip(most) {
        if end.is_some_and(|end| end != *from) {
            band.extend(end.map(|end| (us(end), None)));
        }
        let value = Some((least as f64, most as f64));
        // Two corners a group: a band has no steps.
        band.push((us(*from), value));
        band.push((us(*to), value));
        end = Some(*to);
    }
    Shape::Band(band)
}

/// `CPU 1`, or `thread 1` for one that is not pinned or shares its CPU.
pub(super) fn thread_name(result: &RunResult, index: usize) -> String {
    let cpu = result.threads.get(index).and_then(|thread| thread.cpu);
    let alone = |cpu: &u32| result.threads.iter().filter(|thread| thread.cpu == Some(*cpu)).count() == 1;
    match cpu.filter(alone) {
        Some(cpu) => format!("CPU {cpu}"),
        None => format!("thread {index}"),
    }
}

/// Quantiles that are known, and the maximum.
fn quantile_rules(result: &RunResult) -> Vec<Rule> {
    let named = [("0.99", "p99"), ("0.999", "p99.9"), ("0.9999", "p99.99")];
    let quantile = |(q, name): (&str, &str)| {
        let figure = result.quantile(q).filter(|figure| figure.bound != Bound::Above)?;
        Some(Rule::mark(Along::X, us(figure.ns), name))
    };
    let mut rules: Vec<Rule> = named.into_iter().filter_map(quantile).collect();
    if let Some(max) = result.total.max {
        let name = if max.bound == Bound::Above { "max >" } else { "max" };
        rules.push(Rule::mark(Along::X, us(max.ns), name));
    }
    // Ascending: those in one bin share a line.
    rules.dedup_by(|next, kept| {
        let same = next.at == kept.at;
        if same {
            kept.label = format!("{}, {}", kept.label, next.label);
        }
        same
    });
    rules
}

/// Limits of the gate that are latencies.
pub(super) fn limit_rules(gate: &Gate, along: Along) -> Vec<Rule> {
    let mut rules: Vec<Rule> =
        gate.max_ns.iter().map(|ns| Rule::limit(along, us(*ns), format!("limit {}", latency(*ns)))).collect();
    if along == Along::X {
        let quantile = |(q, ns): (&String, &u64)| Rule::limit(along, us(*ns), format!("limit of {q}"));
        rules.extend(gate.quantile_ns.iter().map(quantile));
        rules.extend(
            gate.exceed.iter().map(|(ns, share)| Rule::limit(along, us(*ns), format!("at most {share:e} above"))),
        );
    }
    rules
}

fn summary(result: &RunResult) -> String {
    let total = &result.total;
    let figure = |ns: Option<u64>| ns.map_or("unknown".to_owned(), latency);
    let quantile = |share: &str, q: &str| match result.quantile(q) {
        Some(figure) if figure.bound == Bound::Above => format!("less than {share} within {}", latency(figure.ns)),
        found => format!("{share} within {}", figure(found.map(|found| found.ns))),
    };
    format!(
        "{} cycles of {} between {} and {}: {}, {}.",
        count(total.cycles),
        match result.threads.len() {
            1 => "one thread".to_owned(),
            n => format!("{n} threads"),
        },
        figure(total.min.map(|min| min.ns)),
        figure(total.max.map(|max| max.ns)),
        quantile("half", "0.5"),
        quantile("99.99 %", "0.9999"),
    )
}

fn notes(result: &RunResult, groups: &Groups) -> Vec<String> {
    let mut notes = Vec::new();
    let range_ns = result.setup.bin_width_ns.saturating_mul(u64::from(result.setup.bins));
    let linear = result.histogram.iter().filter(|bin| bin.from_ns < range_ns).count();
    let drawn = groups.spans.iter().filter(|(from, _)| *from < range_ns).count();
    if drawn < linear {
        notes.push(format!(
            "{linear} occupied bins of {} are drawn as {drawn} groups.",
            latency(result.setup.bin_width_ns)
        ));
    }
    if result.total.overflow > 0 {
        notes.push(format!(
            "{} cycles lie beyond the histogram's {}; they are counted by magnitude, in bins that are 6 % wide.",
            count(result.total.overflow),
            latency(range_ns)
        ));
    }
    if result.threads.len() > MOST_LINES {
        notes.push(format!(
            "Of {} threads the {WORST_LINES} with the largest latencies have lines of their own; the figure by CPU shows all.",
            result.threads.len()
        ));
    }
    if result.total.missed > 0 {
        notes.push(format!("{} missed periods are in no bin: a stall counts once here.", count(result.total.missed)));
    }
    notes
}
