//! The nights of targets as a folder of pages that any web server or artefact store can show.

use super::figures::{self, Found};
use super::html::{self, Page, State, validity, verdict};
use super::index::{self, Entry, Metric};
use super::text::figure_text;
use crate::store::{Store, StoreError};
use askama::Template;
use latlab_core::figure::{Figure, Followed, TrendPoint, trend};
use latlab_core::judgement::{Validity, Verdict};
use latlab_core::quantity::micros;
use latlab_core::trend::{Rule, Standing, rise, stands};

/// Newest runs of a cell that are shown: a year of nights.
pub const NIGHTS: usize = 365;
/// What is followed.
const FOLLOWED: [Metric; 2] = [Metric::Max, Metric::Quantile("0.9999")];

/// Why there are no pages.
#[derive(Debug, thiserror::Error)]
pub enum NightlyError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A target without a finished run.
    #[error("no finished run on target `{target}`; targets: {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") })]
    Nothing {
        /// As asked.
        target: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// A page could not be made.
    #[error("the page cannot be made: {0}")]
    Page(#[from] askama::Error),
}

/// A file of the folder.
#[derive(Debug)]
pub struct PageFile {
    /// Path in the folder.
    pub path: String,
    /// Content.
    pub content: String,
}

#[derive(Debug, Template)]
#[template(path = "nightly.html")]
struct NightlyPage {
    page: Page,
    title: String,
    state: State,
    in_words: String,
    warnings: Vec<String>,
    nights: Vec<Night>,
}

/// The last night of a cell.
#[derive(Debug)]
struct Night {
    id: String,
    cell: String,
    target: String,
    date: String,
    report: Option<String>,
    states: [State; 2],
    max: String,
    p9999: String,
    standing: String,
    level: String,
    count: usize,
    bad: bool,
}

/// The index of `targets`, and a report of the newest run of each cell; what could not be read is said on the index.
pub fn pages(store: &Store, targets: &[String]) -> Result<Vec<PageFile>, NightlyError> {
    let mut files = Vec::new();
    let (mut nights, mut list, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    for target in targets {
        let (entries, unreadable) = index::newest(store, target, NIGHTS)?;
        warnings.extend(unreadable.into_iter().map(|what| format!("left out: {what}")));
        if entries.is_empty() {
            let known = index::targets(store).into_iter().collect();
            return Err(NightlyError::Nothing { target: target.clone(), known });
        }
        for cell in cells(&entries) {
            let id = format!("cell-{}", nights.len() + 1);
            let (mut night, figure) = night(&id, &cell);
            if let Some(last) = cell.last() {
                let file = report(store, last)?;
                night.report = file.as_ref().map(|file| file.path.clone());
                files.extend(file);
            }
            nights.push(night);
            list.push(figure);
        }
    }
    let bad = nights.iter().filter(|night| night.bad).count();
    let page = NightlyPage {
        title: format!("Nights of {}", targets.join(", ")),
        state: if bad == 0 { State::good("ALL AS USUAL") } else { State::poor(format!("{bad} TO LOOK AT")) },
        in_words: format!(
            "{} cells on {} targets: {bad} whose last night is INVALID, FAIL or suspicious, or whose level rose.",
            nights.len(),
            targets.len()
        ),
        warnings,
        nights,
        page: Page::new(format!("Nights of {}", targets.join(", ")), list),
    };
    files.insert(0, PageFile { path: "index.html".to_owned(), content: page.render()? });
    Ok(files)
}

/// By campaign and cell, in the order of their first run.
fn cells(entries: &[Entry]) -> Vec<Vec<&Entry>> {
    let mut groups: Vec<Vec<&Entry>> = Vec::new();
    for entry in entries {
        let same = |group: &&mut Vec<&Entry>| group[0].campaign == entry.campaign && group[0].cell == entry.cell;
        match groups.iter_mut().find(same) {
            Some(group) => group.push(entry),
            None => groups.push(vec![entry]),
        }
    }
    groups
}

/// `2026-03-01`, or the execution where the run has no time.
fn date(entry: &Entry) -> String {
    entry.started_at.as_deref().and_then(|at| at.get(..10)).unwrap_or(&entry.execution).to_owned()
}

fn night(id: &str, cell: &[&Entry]) -> (Night, Figure) {
    let figure_of = |entry: &Entry, metric| entry.figure(metric).filter(|_| entry.validity != Validity::Invalid);
    let points: Vec<TrendPoint> = cell
        .iter()
        .map(|entry| TrendPoint {
            name: date(entry),
            figures: FOLLOWED.map(|metric| figure_of(entry, metric)).to_vec(),
            label: format!("{}/{}", entry.execution, entry.run),
        })
        .collect();
    let mut followed = Vec::new();
    let mut standings = Vec::new();
    let mut levels = Vec::new();
    for metric in FOLLOWED {
        let counted: Vec<(usize, f64)> =
            cell.iter().enumerate().filter_map(|(at, entry)| Some((at, figure_of(entry, metric)?))).collect();
        let figures: Vec<f64> = counted.iter().map(|(_, figure)| *figure).collect();
        let last_counts = counted.last().is_some_and(|(at, _)| at + 1 == cell.len());
        let standing = figures
            .split_last()
            .filter(|_| last_counts)
            .map(|(last, before)| stands(Rule::default(), before, *last).standing);
        // The change counts in the runs that have the figure; the page counts in all.
        let rise = rise(&figures).and_then(|mut change| {
            change.first = counted.get(change.first)?.0;
            Some(change)
        });
        if let Some(change) = &rise {
            let us = |ns: f64| micros(super::statistics::rounded(ns));
            let at = points.get(change.first).map_or("", |point| &point.name);
            levels.push(format!(
                "{} rose from {} to {} us at {at}",
                metric.name(),
                us(change.before),
                us(change.after)
            ));
        }
        standings.push((metric.name(), standing));
        let suspicious = standing == Some(Standing::Suspicious);
        followed.push(Followed { name: metric.name().to_owned(), rise, suspicious });
    }
    let suspicious: Vec<&str> =
        standings.iter().filter(|(_, s)| *s == Some(Standing::Suspicious)).map(|(name, _)| *name).collect();
    let standing = match suspicious.as_slice() {
        [] if standings.iter().any(|(_, s)| *s == Some(Standing::Ordinary)) => "ordinary".to_owned(),
        [] => "too few to tell".to_owned(),
        names => format!("SUSPICIOUS: {}", names.join(", ")),
    };
    let last = cell.last();
    let failed = last.is_some_and(|l| l.validity == Validity::Invalid || l.verdict == Verdict::Fail);
    let (campaign, name, target) =
        last.map_or(("", "", ""), |l| (l.campaign.as_str(), l.cell.as_str(), l.target.as_str()));
    let title = format!("{campaign} / {name} on {target}");
    let mut figure = trend(&title, &points, &followed);
    figure.id = id.to_owned();
    let in_us = |figure| format!("{} us", figure_text(figure));
    let night = Night {
        id: id.to_owned(),
        cell: format!("{campaign} / {name}"),
        target: target.to_owned(),
        date: last.map(|l| date(l)).unwrap_or_default(),
        report: None,
        states: [
            last.map_or_else(|| State::none("-"), |l| validity(l.validity)),
            last.map_or_else(|| State::none("-"), |l| verdict(l.verdict)),
        ],
        max: in_us(last.and_then(|l| l.max)),
        p9999: in_us(last.and_then(|l| l.quantiles.get("0.9999").copied())),
        bad: failed || !suspicious.is_empty() || !levels.is_empty(),
        standing,
        level: if levels.is_empty() { "steady".to_owned() } else { levels.join("; ") },
        count: cell.len(),
    };
    (night, figure)
}

/// The report of a run; none where its files are gone since the index was made.
fn report(store: &Store, entry: &Entry) -> Result<Option<PageFile>, NightlyError> {
    let execution = store.execution(&entry.execution)?;
    let Some(planned) = execution.plan().run(&entry.run).cloned() else { return Ok(None) };
    match figures::of_run(&execution, &planned)? {
        Found::NotMeasured(..) => Ok(None),
        Found::Measured(pictured) => {
            let safe = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
            let name: String = format!("{}-{}", entry.execution, entry.run).chars().map(safe).collect();
            Ok(Some(PageFile { path: format!("runs/{name}.html"), content: html::run(*pictured)? }))
        }
    }
}
