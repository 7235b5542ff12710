//! The page of a comparison.

use super::{Command, Grid, Page};
use crate::report::comparison::{METRIC_HEAD, extent, metric_rows, sentences, untold};
use askama::Template;
use latlab_core::compare::{Comparison, Differing, Side};
use latlab_core::figure::{Overlaid, exceedance_of, histograms_of, maxima_of};

#[derive(Debug, Template)]
#[template(path = "comparison.html")]
struct ComparisonPage {
    page: Page,
    a: String,
    b: String,
    headline: String,
    sides: Grid,
    metrics: Grid,
    reading: String,
    differences: Vec<Grid>,
    commands: Vec<Command>,
}

/// The page of `b` compared with `a`.
pub fn comparison(a: &Side, b: &Side, comparison: &Comparison) -> Result<String, askama::Error> {
    let overlaid = [Overlaid::side(0, a), Overlaid::side(1, b)];
    let figures = [histograms_of(&overlaid), maxima_of(&overlaid), exceedance_of(&overlaid)];
    let mut sides = Grid::prose("Sides", ["side"]);
    sides.row([extent("A", &comparison.a)]);
    sides.row([extent("B", &comparison.b)]);
    let mut head = METRIC_HEAD.map(str::to_owned);
    head[0] = "metric".to_owned();
    head[6] = "B against A".to_owned();
    let mut metrics = Grid::new("Metrics: means of the boots", head);
    for row in metric_rows(&comparison.metrics) {
        metrics.marked(row[6] == "worse", row);
    }
    let page = ComparisonPage {
        a: a.name.clone(),
        b: b.name.clone(),
        headline: comparison.headline.clone(),
        sides,
        metrics,
        reading: sentences(comparison).join(" "),
        differences: differences(comparison),
        commands: vec![
            Command::new(&["latlab", "compare", &a.name, &b.name], "this comparison as text"),
            Command::new(
                &["latlab", "diff", &a.name, &b.name],
                "everything that differs, the rest of what was captured included",
            ),
        ],
        page: Page::new(format!("{} against {}", a.name, b.name), figures.into_iter().flatten().collect()),
    };
    page.render()
}

fn differences(comparison: &Comparison) -> Vec<Grid> {
    let grid = |caption: &str, differing: Vec<&Differing>| {
        let mut grid = Grid::prose(caption, ["group", "what", "A", "B"]);
        for found in differing {
            grid.row([found.key.group.name(), &found.key.name, &found.a.join(", "), &found.b.join(", ")]);
        }
        grid
    };
    let all = &comparison.differences;
    let asked = all.differing.iter().filter(|d| d.asked && d.key.group.matters()).collect();
    let rest = all.differing.iter().filter(|d| !d.asked && !d.key.group.matters()).collect();
    let mut unknown = Grid::prose("Unknown", ["what, and on which side"]);
    untold(all.unknown_that_matters()).into_iter().for_each(|text| unknown.row([text]));
    let grids = [
        grid("Different besides what was asked", all.besides().collect()),
        grid("Different as asked", asked),
        unknown,
        grid("Different, not known to matter", rest),
    ];
    grids.into_iter().filter(|grid| !grid.rows.is_empty()).collect()
}
