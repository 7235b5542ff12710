//! A campaign against a target, before any board is contacted.

use super::Loaded;
use super::combinations::in_band_on_cobalt;
use super::model::{Cell, Cpus, Instrument};
use super::settings::instrument_name;
use crate::boot;
use crate::diagnostic::{Diagnostic, Span, nearest};
use crate::target;
use crate::target::boot_method_name;
use latprobe::cpulist::CpuList;

/// One thing of a campaign that a target cannot do.
#[derive(Debug, Clone, PartialEq)]
pub struct Misfit {
    /// Whose fault.
    pub kind: MisfitKind,
    /// Cells that it stops, by name, in the order of the campaign; empty: it stops none, and is only to be known.
    pub cells: Vec<String>,
    /// Where and why.
    pub diagnostic: Diagnostic,
}

/// Whose fault a [`Misfit`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MisfitKind {
    /// A file's: the two can never go together.
    Wrong,
    /// latlab's: not supported yet.
    Unsupported,
}

/// Everything of the campaign that the target cannot do; empty: it can be run.
pub fn fit(campaign: &Loaded, target: &target::Loaded) -> Vec<Misfit> {
    let mut misfits: Vec<Misfit> = Vec::new();
    for (index, cell) in campaign.campaign.cells.iter().enumerate() {
        let check = Check { campaign, target, index, cell };
        for (kind, diagnostic) in check.all() {
            match misfits.iter_mut().find(|misfit| misfit.diagnostic == diagnostic) {
                Some(misfit) => misfit.cells.push(cell.name.clone()),
                None => misfits.push(Misfit { kind, cells: vec![cell.name.clone()], diagnostic }),
            }
        }
    }
    let boots = campaign.campaign.cells.iter().any(|cell| cell.settings.boot != super::model::Boot::default());
    misfits.extend(boot::needs_hand(&target.target).filter(|_| boots).map(|why| needs_hand(target, why)));
    misfits
}

/// Said before anything is changed.
fn needs_hand(target: &target::Loaded, why: &str) -> Misfit {
    let message = format!("{} needs a hand if a kernel hangs", target.target.name);
    let diagnostic = Diagnostic::warning(target.span(&["boot", "method"]), message)
        .label(format!("method `{}`", boot_method_name(target.target.boot_method)))
        .help(why);
    Misfit { kind: MisfitKind::Wrong, cells: Vec::new(), diagnostic }
}

struct Check<'a> {
    campaign: &'a Loaded,
    target: &'a target::Loaded,
    index: usize,
    cell: &'a Cell,
}

impl Check<'_> {
    fn all(&self) -> Vec<(MisfitKind, Diagnostic)> {
        let unsupported = self.instrument();
        // A cell that cannot be measured yet misses no kernel variant.
        let kernel = if unsupported.is_some() { None } else { self.kernel() };
        let wrong = [kernel, self.choice(), self.cobalt(), self.measured(), self.isolated(), self.load_cpus()];
        let wrong = wrong.into_iter().flatten().map(|diagnostic| (MisfitKind::Wrong, diagnostic));
        wrong.chain(unsupported.map(|diagnostic| (MisfitKind::Unsupported, diagnostic))).collect()
    }

    fn at(&self, path: &[&str]) -> Span {
        self.campaign.span(self.index, path)
    }

    fn name(&self) -> &str {
        &self.target.target.name
    }

    /// The target's kernel variants, where it lists any and the cell asks for one.
    fn kernel(&self) -> Option<Diagnostic> {
        let asked = self.cell.settings.boot.kernel.as_ref()?;
        let kernels = &self.target.target.kernels;
        if kernels.contains_key(asked) {
            return None;
        }
        let diagnostic =
            Diagnostic::error(self.at(&["boot", "kernel"]), format!("{} has no kernel variant `{asked}`", self.name()));
        if kernels.is_empty() {
            return Some(
                diagnostic.also(self.target.span(&["name"]), "this target describes no kernel variant").help(format!(
                    "describe it in the target file: `[kernel.{asked}]` with what `uname -r` must match"
                )),
            );
        }
        let listed = kernels.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let diagnostic = match nearest(asked, kernels.keys().map(String::as_str)) {
            Some(near) => diagnostic.label(format!("did you mean `{near}`?")),
            None => diagnostic,
        };
        Some(diagnostic.help(format!("{} has: {listed}", self.name())))
    }

    /// What the boot method needs to know of the variant.
    fn choice(&self) -> Option<Diagnostic> {
        let boot = &self.cell.settings.boot;
        let target = &self.target.target;
        let at = if boot.kernel.is_some() { vec!["boot", "kernel"] } else { vec!["boot"] };
        if boot.kernel.as_ref().is_some_and(|kernel| !target.kernels.contains_key(kernel)) {
            return None;
        }
        let lacks = boot::lacks(boot, target)?;
        Some(
            Diagnostic::warning(self.at(&at), format!("{} cannot boot this: {}", self.name(), lacks.what))
                .label("refused unless it runs already")
                .also(self.target.span(&["boot", "method"]), "so says the target")
                .help(lacks.help),
        )
    }

    /// In-band instruments on a co-kernel, and Cobalt's instruments on anything else.
    fn cobalt(&self) -> Option<Diagnostic> {
        let asked = self.cell.settings.boot.kernel.as_ref()?;
        let kernel = self.target.target.kernels.get(asked)?;
        let instrument = self.cell.settings.measure.instrument;
        let for_cobalt = matches!(instrument, Instrument::XenomaiCyclictest | Instrument::XenomaiLatency);
        let instrument_at = self.campaign.span_if_given(self.index, &["measure", "instrument"]);
        match (kernel.cobalt, for_cobalt) {
            (true, false) => Some(in_band_on_cobalt(self.at(&["boot", "kernel"]), instrument_at, instrument, asked)),
            (false, true) => Some(
                Diagnostic::error(
                    self.at(&["measure", "instrument"]),
                    format!("{} needs a Cobalt kernel", instrument_name(instrument)),
                )
                .label(format!("`{asked}` of {} is none", self.name()))
                .help(format!("set `cobalt = true` under `[kernel.{asked}]` of the target if it is one")),
            ),
            _ => None,
        }
    }

    fn measured(&self) -> Option<Diagnostic> {
        let list = self.cell.settings.measure.cpus.list()?;
        self.beyond(list, &["measure", "cpus"])
    }

    /// CPUs of a list that the target does not have.
    fn beyond(&self, list: &CpuList, path: &[&str]) -> Option<Diagnostic> {
        let count = self.target.target.cpu_count?;
        let beyond: CpuList = list.as_slice().iter().copied().filter(|cpu| *cpu >= count).collect();
        if beyond.is_empty() {
            return None;
        }
        let known = if count == 1 { "only CPU 0".to_owned() } else { format!("CPUs 0 to {}", count - 1) };
        Some(
            Diagnostic::error(self.at(path), format!("{} has no CPU {beyond}", self.name()))
                .label(format!("it has {known}"))
                .also(self.target.span(&["cpu_count"]), "so says the target"),
        )
    }

    fn isolated(&self) -> Option<Diagnostic> {
        let list = self.cell.settings.boot.isolcpus.as_ref()?;
        let count = self.target.target.cpu_count?;
        let path = ["boot", "isolcpus"];
        if list.is_empty() {
            return None;
        }
        if count == 1 {
            return Some(
                Diagnostic::error(self.at(&path), format!("{} has one CPU: none can be isolated", self.name()))
                    .also(self.target.span(&["cpu_count"]), "so says the target")
                    .help("`isolcpus = \"none\"`, or leave it out"),
            );
        }
        if let Some(beyond) = self.beyond(list, &path) {
            return Some(beyond);
        }
        (list.len() >= usize::try_from(count).unwrap_or(usize::MAX)).then(|| {
            Diagnostic::error(self.at(&path), format!("this isolates every CPU of {}", self.name()))
                .label(format!("all {count} of them"))
                .help("at least one CPU must be left for the system, the loads and ssh")
        })
    }

    fn load_cpus(&self) -> Option<Diagnostic> {
        self.cell.settings.loads.iter().find_map(|load| {
            let kind = match &load.kind {
                super::model::LoadKind::Hackbench { .. } => "hackbench",
                super::model::LoadKind::Dd { .. } => "dd",
                super::model::LoadKind::Cat { .. } => "cat",
                super::model::LoadKind::Command { .. } => "command",
            };
            self.beyond(load.cpus.as_ref()?, &["loads", &load.name, kind, "cpus"])
        })
    }

    fn instrument(&self) -> Option<Diagnostic> {
        let instrument = self.cell.settings.measure.instrument;
        if matches!(instrument, Instrument::Latprobe | Instrument::LatprobeHunt | Instrument::LatprobeNoise) {
            return None;
        }
        let message = format!("instrument {} is not supported yet", instrument_name(instrument));
        Some(
            Diagnostic::error(self.at(&["measure", "instrument"]), message)
                .help("supported: latprobe, latprobe-hunt, latprobe-noise"),
        )
    }
}

/// Number of measuring threads, as far as the files tell.
pub(crate) fn thread_count(cell: &Cell, cpu_count: Option<u32>) -> u32 {
    match &cell.settings.measure.cpus {
        Cpus::All => cpu_count.unwrap_or(1),
        Cpus::Isolated => {
            let isolated = cell.settings.boot.isolcpus.as_ref().map_or(0, CpuList::len);
            u32::try_from(isolated).unwrap_or(1).max(1)
        }
        Cpus::List(list) => u32::try_from(list.len()).unwrap_or(1).max(1),
        Cpus::Unpinned(count) => *count,
    }
}
