//! `latlab plan`: what a campaign would run, in which order, and how long it takes.

use super::diagnostics::print_json;
use super::selection::{Selection, SelectionArgs};
use super::{Common, Format};
use crate::exit::Exit;
use crate::report::statistics::rounded;
use comfy_table::{CellAlignment, Table, presets};
use jiff::Timestamp;
use latlab_core::boot::needs_hand;
use latlab_core::campaign::model::{Boot, Cell, Cpus};
use latlab_core::diagnostic::JsonDiagnostic;
use latlab_core::latency::exceedance::{cycles_to_see, rate_seen_by};
use latlab_core::quantity::{count, duration, latency};
use latlab_core::schedule::TargetSchedule;
use latlab_core::units::format_duration;
use latprobe::spec::Length;
use serde::Serialize;
use std::io::Write;

/// Shows the runs of a campaign in their order, with times. No board is contacted.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    selection: SelectionArgs,
}

/// `--format json`.
#[derive(Debug, Serialize)]
struct Report<'a> {
    campaign: &'a str,
    targets: Vec<TargetReport<'a>>,
    /// Targets run side by side: the longest of them.
    estimated_ns: u64,
    cells: &'a [Cell],
    diagnostics: Vec<JsonDiagnostic>,
}

#[derive(Debug, Serialize)]
struct TargetReport<'a> {
    #[serde(flatten)]
    schedule: &'a TargetSchedule,
    /// When it would end if it began now: UTC, RFC 3339.
    estimated_end: Option<String>,
    /// Why somebody has to go there if a kernel hangs; absent: nobody has to.
    needs_hand: Option<&'static str>,
}

/// Runs the verb.
pub(super) fn run(common: &Common, args: &Args) -> Exit {
    let selection = match args.selection.load(common) {
        Ok(selection) => selection,
        Err(exit) => return exit,
    };
    let now = Timestamp::now();
    match common.format {
        Format::Json => print_json(&report(&selection, now)),
        Format::Text => {
            let _ = write!(std::io::stdout(), "{}", text(&selection, now));
        }
    }
    Exit::Success
}

fn end(now: Timestamp, estimated_ns: u64) -> Option<Timestamp> {
    let seconds = i64::try_from(estimated_ns / 1_000_000_000).ok()?;
    Timestamp::from_second(now.as_second().checked_add(seconds)?).ok()
}

fn report(selection: &Selection, now: Timestamp) -> Report<'_> {
    let mut notes = selection.warnings.clone();
    notes.extend(selection.unsupported.iter().map(|misfit| misfit.diagnostic.clone()));
    Report {
        campaign: &selection.campaign.campaign.name,
        targets: selection.schedule.targets.iter().map(|schedule| target_report(selection, schedule, now)).collect(),
        estimated_ns: selection.schedule.estimated_ns(),
        cells: &selection.campaign.campaign.cells,
        diagnostics: notes.to_json(),
    }
}

fn target_report<'a>(selection: &'a Selection, schedule: &'a TargetSchedule, now: Timestamp) -> TargetReport<'a> {
    let loaded = selection.targets.iter().find(|loaded| loaded.target.name == schedule.target);
    TargetReport {
        schedule,
        estimated_end: end(now, schedule.estimated_ns).map(|end| end.to_string()),
        needs_hand: loaded.filter(|_| schedule.reboots > 0).and_then(|loaded| needs_hand(&loaded.target)),
    }
}

fn text(selection: &Selection, now: Timestamp) -> String {
    let campaign = &selection.campaign.campaign;
    let mut out = format!("campaign {}\n\n", campaign.name);
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["#", "target", "cell", "rep", "boot", "cpus", "interval", "length", "loads", "time"]);
    for target in &selection.schedule.targets {
        for (index, run) in target.runs.iter().enumerate() {
            let cell = &campaign.cells[run.cell];
            let blocked = selection.unsupported.iter().any(|misfit| misfit.cells.contains(&cell.name));
            let settings = &cell.settings;
            table.add_row([
                (index + 1).to_string(),
                target.target.clone(),
                format!("{}{}", cell.name, if blocked { " (*)" } else { "" }),
                format!("{}/{}", run.repetition, campaign.plan.repeat),
                format!("{}{}", if run.reboot { "> " } else { "" }, boot(&settings.boot)),
                cpus(&settings.measure.cpus),
                format_duration(settings.measure.interval_ns),
                length(&settings.length),
                loads(cell),
                format_duration(whole_seconds(run.estimated_ns)),
            ]);
        }
    }
    for column in [0, 9] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    out += &format!("{}\n\n", table.trim_fmt());
    for target in &selection.schedule.targets {
        let runs = target.runs.len();
        let plural = if runs == 1 { "run" } else { "runs" };
        let time = format_duration(whole_seconds(target.estimated_ns));
        let end = end(now, target.estimated_ns)
            .map_or(String::new(), |end| format!(", ends about {}", end.strftime("%Y-%m-%d %H:%M UTC")));
        let reboots = match target.reboots {
            0 => String::new(),
            n => format!(", at most {n} reboots (>, and one at the end)"),
        };
        out += &format!("{}: {runs} {plural}{reboots}, about {time}{end}\n", target.target);
    }
    for loaded in selection.targets.iter().filter(|loaded| reboots(selection, &loaded.target.name)) {
        let name = &loaded.target.name;
        out += &match needs_hand(&loaded.target) {
            Some(why) => format!("{name}: needs a hand if it hangs: {why}\n"),
            None => format!("{name}: comes back by itself if a kernel hangs\n"),
        };
    }
    out += &confidence(&campaign.cells);
    for misfit in &selection.unsupported {
        out += &format!("(*) {}: latlab run refuses {}\n", misfit.diagnostic.message, misfit.cells.join(", "));
    }
    out
}

fn reboots(selection: &Selection, target: &str) -> bool {
    selection.schedule.targets.iter().any(|schedule| schedule.target == target && schedule.reboots > 0)
}

/// What a run of each length can show at all, and whether that is enough for the shares that the gate limits.
fn confidence(cells: &[Cell]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for settings in cells.iter().map(|cell| &cell.settings) {
        let interval_ns = settings.measure.interval_ns;
        let cycles = match settings.length {
            Length::Cycles(cycles) => cycles,
            Length::DurationNs(ns) => ns / interval_ns.max(1),
        };
        let run = format!("{} cycles a thread", count(cycles));
        if let Some(rate) = rate_seen_by(cycles) {
            lines.push(format!(
                "{run}: shows with 95 % confidence what happens once in {} cycles\n",
                count(rounded(1.0 / rate))
            ));
        }
        for (limit_ns, share) in &settings.gate.exceed {
            let Some(needed) = cycles_to_see(*share) else { continue };
            let verdict = if needed <= cycles as f64 { "enough" } else { "TOO SHORT" };
            let time = duration(rounded(needed * interval_ns as f64));
            lines.push(format!(
                "{run}: {verdict} to see a share of {share:e} above {} (needs {time})\n",
                latency(*limit_ns)
            ));
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    lines.retain(|line| seen.insert(line.clone()));
    lines.concat()
}

fn whole_seconds(ns: u64) -> u64 {
    ns.div_ceil(1_000_000_000) * 1_000_000_000
}

fn boot(boot: &Boot) -> String {
    let mut words: Vec<String> = boot.kernel.iter().cloned().collect();
    match &boot.isolcpus {
        Some(list) if list.is_empty() => words.push("no isolcpus".to_owned()),
        Some(list) => words.push(format!("isolcpus={list}")),
        None => {}
    }
    words.extend(boot.append.iter().cloned());
    if words.is_empty() { "as booted".to_owned() } else { words.join(" ") }
}

fn cpus(cpus: &Cpus) -> String {
    match cpus {
        Cpus::All => "all".to_owned(),
        Cpus::Isolated => "isolated".to_owned(),
        Cpus::List(list) => list.to_string(),
        Cpus::Unpinned(count) => format!("{count} threads"),
    }
}

fn length(length: &Length) -> String {
    match length {
        Length::DurationNs(ns) => format_duration(*ns),
        Length::Cycles(cycles) => format!("{cycles} cycles"),
    }
}

fn loads(cell: &Cell) -> String {
    let names: Vec<&str> = cell.settings.loads.iter().map(|load| load.name.as_str()).collect();
    if names.is_empty() { "idle".to_owned() } else { names.join(" + ") }
}
