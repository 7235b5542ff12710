//! Figures in a line of bars.

use latlab_core::latency::blocks::Series;
use latlab_core::quantity::{duration, micros};

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Eighths of a block from the smallest to the largest figure; `·` where there is none.
pub fn sparkline(figures: &[Option<f64>]) -> String {
    let known = || figures.iter().copied().flatten();
    let (low, high) = known().fold((f64::MAX, f64::MIN), |(low, high), f| (low.min(f), high.max(f)));
    let bar = |figure: f64| {
        // Without a spread all are low.
        let eighth = if high > low { (figure - low) / (high - low) * 7.0 } else { 0.0 };
        let bars = (0u8..).zip(BARS).take_while(|(at, _)| f64::from(*at) <= eighth);
        bars.last().map_or(BARS[0], |(_, bar)| bar)
    };
    figures.iter().map(|figure| figure.map_or('·', bar)).collect()
}

/// Block maxima over the time of a run, in three lines of at most `width` columns; nothing without two blocks.
pub fn over_time(series: &Series, width: usize) -> String {
    let (blocks, columns) = (series.len(), width.saturating_sub(2).max(1));
    if blocks < 2 {
        return String::new();
    }
    let end_ns = series.entries().map(|entry| entry.at_ns).max().unwrap_or(0);
    let stretch_ns = end_ns.div_ceil(columns as u64).max(series.block_ns).max(1);
    let count = usize::try_from(end_ns.div_ceil(stretch_ns)).unwrap_or(columns).min(columns);
    let mut maxima: Vec<Option<u64>> = vec![None; count];
    for entry in series.entries() {
        // A block belongs to the stretch that it ends in.
        let at = usize::try_from(entry.at_ns.saturating_sub(1) / stretch_ns).unwrap_or(usize::MAX);
        if let Some(max) = maxima.get_mut(at) {
            *max = Some(max.unwrap_or(0).max(entry.max_ns));
        }
    }
    let known = || maxima.iter().copied().flatten();
    let (low, high) = (known().min().unwrap_or(0), known().max().unwrap_or(0));
    let bars = sparkline(&maxima.iter().map(|max| max.map(|ns| ns as f64)).collect::<Vec<_>>());
    let end = duration(end_ns);
    let axis = format!("0{:>1$}", end, count.saturating_sub(1).max(end.chars().count() + 1));
    format!(
        "\nlargest latency of each {}: from {} to {} us\n  {bars}\n  {axis}\n",
        duration(stretch_ns),
        micros(low),
        micros(high)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use latlab_core::latency::blocks::Entry;

    fn series(maxima: &[u64]) -> Series {
        let entry = |(window, max_ns): (u64, &u64)| Entry {
            window,
            at_ns: (window + 1) * 1_000_000_000,
            max_ns: *max_ns,
            cycles: 1000,
        };
        Series { block_ns: 1_000_000_000, segments: vec![(0..).zip(maxima).map(entry).collect()] }
    }

    #[test]
    fn bars_grow_with_the_figures() {
        assert_eq!(sparkline(&[Some(1.0), None, Some(4.5), Some(8.0)]), "▁·▄█");
        assert_eq!(sparkline(&[Some(3.0), Some(3.0)]), "▁▁");
        assert_eq!(sparkline(&[]), "");
    }

    #[test]
    fn a_run_fits_its_columns_and_no_peak_is_lost() {
        let mut maxima = vec![40_000; 43_200];
        maxima[30_000] = 90_000;
        for width in [20, 80] {
            let text = over_time(&series(&maxima), width);
            let lines: Vec<&str> = text.lines().collect();
            assert!(lines.iter().skip(2).all(|line| line.chars().count() <= width), "{text}");
            assert_eq!(lines[2].matches('█').count(), 1, "{text}");
            assert!(lines[1].ends_with("from 40 to 90 us") && lines[3].ends_with("12 h"), "{text}");
        }
        let short = over_time(&series(&[10_000, 20_000, 15_000]), 80);
        assert!(short.contains("each 1 s: from 10 to 20 us\n  ▁█▄\n  0 3 s\n"), "{short}");
        assert_eq!(over_time(&series(&[10_000]), 80), "");
    }
}
