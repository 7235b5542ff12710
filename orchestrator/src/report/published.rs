//! Published reference results beside a run of the campaign that repeats them.

use super::text::{align_right, figure_text, plain_table, table_text, wrapped};
use latlab_core::compare::{Layer, Published, PublishedRun};
use latlab_core::quantity::{count, micros};
use latlab_core::result::{Bound, RunResult};

/// The run and what was published; empty where nothing was.
pub fn render(result: &RunResult, published: &[Published], width: usize) -> String {
    if published.is_empty() {
        return String::new();
    }
    let mut table = plain_table(width);
    table.set_header(["published [us]", "min", "mean", "max", "cycles"]);
    let mean = result.total.mean_ns.map_or_else(dash, |mean| format!("{:.1}", mean / 1000.0));
    table.add_row([
        "this run".to_owned(),
        figure_text(result.total.min),
        mean,
        figure_text(result.total.max),
        count(result.total.cycles),
    ]);
    for reference in published {
        for (number, run) in reference.runs.iter().enumerate() {
            table.add_row([
                name(reference, number),
                figure(run.min_ns),
                figure(run.mean_ns),
                maximum(run),
                run.cycles.map_or_else(dash, count),
            ]);
        }
    }
    align_right(&mut table, 1..5);
    let mut out = format!("\n{}", table_text(&table));
    for reference in published.iter().filter(|reference| reference.is_of(&result.identity.cell)) {
        let note = reference.note.as_ref().map_or_else(String::new, |note| format!("; {note}"));
        out.push_str(&wrapped(&format!("{}: {}{note}.", reference.name, reference.source), 0, width));
        if let Some(text) = shorter(result, reference) {
            out.push_str(&wrapped(&text, 0, width));
        }
    }
    out
}

fn dash() -> String {
    "-".to_owned()
}

fn figure(ns: Option<u64>) -> String {
    ns.map_or_else(dash, micros)
}

fn maximum(run: &PublishedRun) -> String {
    match run.bound {
        Bound::Exact => micros(run.max_ns),
        Bound::AtMost => format!("≤{}", micros(run.max_ns)),
        Bound::Above => format!(">{}", micros(run.max_ns)),
    }
}

fn name(reference: &Published, number: usize) -> String {
    let layer = match reference.layer {
        Layer::User => "",
        Layer::KernelTask => ", kernel task",
        Layer::Interrupt => ", timer interrupt",
        Layer::Gpio => ", GPIO",
    };
    match reference.runs.len() {
        1 => format!("{}{layer}", reference.name),
        _ => format!("{}{layer}, run {}", reference.name, number + 1),
    }
}

/// A maximum grows with the number of cycles: two of different lengths do not tell which board is better.
fn shorter(result: &RunResult, reference: &Published) -> Option<String> {
    let theirs = reference.runs.iter().filter_map(|run| run.cycles).min()?;
    let ours = result.total.cycles;
    (ours < theirs / 10 * 9).then(|| {
        format!(
            "A maximum grows with the number of cycles: that one was seen over {}, this one over {}.",
            count(theirs),
            count(ours)
        )
    })
}

#[cfg(test)]
mod tests {
    use latlab_core::campaign::{self, Overrides};
    use latlab_core::compare::published;
    use std::path::Path;

    #[test]
    fn every_reference_names_a_cell_that_ships() {
        for reference in published() {
            let (Some(campaign), cell) = (&reference.campaign, &reference.cell) else { continue };
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../campaigns/{campaign}.toml"));
            let text = std::fs::read_to_string(&path).unwrap();
            let loaded = campaign::load(campaign, &text, &Overrides::default()).unwrap();
            let cells: Vec<&String> = loaded.campaign.cells.iter().map(|cell| &cell.name).collect();
            assert!(
                cell.is_none() || cell.as_ref().is_some_and(|cell| cells.contains(&cell)),
                "{}: {cells:?}",
                reference.name
            );
        }
    }
}
