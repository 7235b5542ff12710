//! What happened beside the measuring: a row of marks for each kind.

use super::{Axis, Layer, Material, Panel, Point, Shape, Symbol, TimeUnit};
use crate::plain::plain;
use crate::quantity::{count, duration};
use latprobe::stream::{EventKind, Folded, PhaseKind};

/// Most starts of loads that are marked one by one; loads that begin anew every second are told by their duty.
const MOST_STARTS: u64 = 60;

/// Marks of one kind.
struct Row {
    name: String,
    symbol: Symbol,
    /// Measuring time in ns, and words.
    marks: Vec<(u64, String)>,
}

/// The panel, if anything happened, and what it leaves out.
pub(super) fn events(material: &Material, unit: TimeUnit) -> (Option<Panel>, Vec<String>) {
    let mut rows: Vec<Row> = contacts(material).into_iter().collect();
    let notes = starts(material, &mut rows);
    told(material, &mut rows);
    if rows.is_empty() {
        return (None, notes);
    }
    let layer = |(at, row): (usize, &Row)| {
        let point = |(x, label): &(u64, String)| Point { x: unit.value(*x), y: at as f64, label: label.clone() };
        let points = row.marks.iter().map(point).collect();
        Layer::new(at + 1, &row.name, Shape::Points { symbol: row.symbol, points })
    };
    let layers = rows.iter().enumerate().map(layer).collect();
    let y = Axis::names("", rows.iter().map(|row| row.name.clone()).collect());
    (Some(Panel { y, height: 1, layers, rules: Vec::new() }), notes)
}

fn contacts(material: &Material) -> Option<Row> {
    let contact = |(segment, from, to): &(usize, u64, u64)| {
        let at = since_start(material.segments, *segment, *to)?;
        Some((at, format!("{} long, until {}", duration(to.saturating_sub(*from)), duration(at))))
    };
    let marks: Vec<_> = material.contacts.iter().filter_map(contact).collect();
    (!marks.is_empty()).then(|| Row { name: "host contact".to_owned(), symbol: Symbol::Tick, marks })
}

/// Starts of loads, where they are few enough to be marked; says which are not.
fn starts(material: &Material, rows: &mut Vec<Row>) -> Vec<String> {
    let mut notes = Vec::new();
    for (index, name) in (0..).zip(&material.timeline.loads) {
        let name = plain(name);
        let loads =
            material.timeline.columns.iter().filter_map(|column| Some((column.to_ns, column.loads.get(&index)?)));
        let (mut marks, mut all) = (Vec::new(), 0);
        for (to_ns, load) in loads.filter(|(_, load)| load.starts > 0) {
            all += load.starts;
            let plural = if load.starts == 1 { "start" } else { "starts" };
            marks.push((to_ns, format!("{} {plural} up to {}", load.starts, duration(to_ns))));
        }
        match all {
            0 | 1 => {}
            2..=MOST_STARTS => rows.push(Row { name: format!("{name}: start"), symbol: Symbol::Diamond, marks }),
            _ => notes.push(format!("{name} began anew {} times: its starts are not marked.", count(all))),
        }
    }
    notes
}

/// What the probe told.
fn told(material: &Material, rows: &mut Vec<Row>) {
    for (number, segment) in material.segments.iter().enumerate() {
        for event in &segment.events {
            let at = since_start(material.segments, number, event.mono_ns);
            let (Some(kind), Some(at)) = (kind_of(event.kind), at) else { continue };
            let text = format!("{} {} after {}", plain(&event.subject), plain(&event.detail), duration(at));
            match rows.iter_mut().find(|row| row.name == kind) {
                Some(row) => row.marks.push((at, text)),
                None => rows.push(Row { name: kind.to_owned(), symbol: Symbol::Square, marks: vec![(at, text)] }),
            }
        }
    }
}

/// Measuring time of a time on the board's clock in the segment of this number; absent outside of the measuring phase.
fn since_start(segments: &[Folded], number: usize, mono_ns: u64) -> Option<u64> {
    let segment = segments.get(number)?;
    let before: u64 = segments[..number].iter().map(Folded::measured_ns).sum();
    let start = segment.phases.iter().find(|phase| phase.kind == PhaseKind::Measuring)?.mono_ns;
    let since = mono_ns.checked_sub(start)?;
    (since <= segment.measured_ns()).then(|| before + since)
}

/// Kinds of events that are marked, by their words.
fn kind_of(kind: EventKind) -> Option<&'static str> {
    match kind {
        EventKind::LoadFailed | EventKind::LoadMissing => Some("load failed"),
        EventKind::HandoverLost => Some("samples lost"),
        EventKind::MeasurerGone => Some("measurer gone"),
        EventKind::RestoreFailed => Some("not put back"),
        EventKind::Note => Some("note"),
        EventKind::SettingApplied | EventKind::SettingRestored | EventKind::LoadStarted => None,
    }
}
