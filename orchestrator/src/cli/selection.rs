//! A campaign, its targets and what is chosen of it: the arguments of `plan` and `run`.

use super::Common;
use super::diagnostics::{exit, print, print_warnings};
use crate::exit::Exit;
use crate::files::{Kind, Library, on_command_line};
use latlab_core::campaign::{self, Misfit, MisfitKind, Overrides, fit};
use latlab_core::diagnostic::{Diagnostic, Diagnostics, Severity, Span};
use latlab_core::schedule::Schedule;
use latlab_core::target;

/// What to measure, and where.
#[derive(Debug, Clone, clap::Args)]
pub struct SelectionArgs {
    /// Campaign: a file, or a name found under ./campaigns, in the user's configuration or among those built in.
    #[arg(value_name = "CAMPAIGN")]
    pub campaign: String,
    /// Board to measure instead of those that the campaign names; may be repeated.
    #[arg(long = "target", value_name = "TARGET")]
    pub targets: Vec<String>,
    /// Only cells with one of these values: `cell=native-isolated`, `boot.kernel=standard,preempt-rt`.
    #[arg(long, value_name = "KEY=A,B", value_parser = parse_only)]
    pub only: Vec<(String, Vec<String>)>,
    /// Another value for a key of the campaign, in every cell: `duration=60s`, `measure.priority=80`.
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_set)]
    pub set: Vec<(String, String)>,
}

/// A campaign that fits its targets.
#[derive(Debug)]
pub struct Selection {
    /// The campaign.
    pub campaign: campaign::Loaded,
    /// Its targets, in order; at least one.
    pub targets: Vec<target::Loaded>,
    /// The runs, in order.
    pub schedule: Schedule,
    /// What latlab does not support yet.
    pub unsupported: Vec<Misfit>,
    /// Warnings of all files.
    pub warnings: Diagnostics,
}

impl SelectionArgs {
    /// Reads campaign and targets and fits them; where something is wrong, prints it and gives the exit code.
    /// Cells that need what is not supported yet are still in it: see [`Selection::leave_unsupported`].
    pub fn load(&self, common: &Common) -> Result<Selection, Exit> {
        let selection = self.read(&Library::of_user()).map_err(|found| {
            print(common, &found);
            exit(&found)
        })?;
        print_warnings(common, &selection.warnings);
        Ok(selection)
    }

    /// [`Self::load`] without printing.
    pub fn read(&self, library: &Library) -> Result<Selection, Diagnostics> {
        let asked = on_command_line("command line", &self.campaign);
        let found = library.find(Kind::Campaign, &self.campaign, &asked)?;
        let overrides = Overrides { set: self.set.clone(), only: self.only.clone(), targets: self.targets.clone() };
        let campaign = campaign::load(&found.name, &found.text, &overrides)?;
        if campaign.campaign.targets.is_empty() {
            let diagnostic = Diagnostic::error(asked, format!("campaign `{}` names no target", campaign.campaign.name));
            let help = "name boards by --target, or by `targets` in the campaign";
            return Err([diagnostic.help(help)].into_iter().collect());
        }
        let fitted = Fitted::new(library, &campaign);
        let mut warnings = campaign.warnings.clone();
        warnings.extend(fitted.found);
        if warnings.has_errors() {
            warnings.sort();
            return Err(warnings);
        }
        let schedule = Schedule::new(&campaign.campaign, fitted.targets.iter().map(|loaded| &loaded.target));
        Ok(Selection { campaign, targets: fitted.targets, schedule, unsupported: fitted.unsupported, warnings })
    }
}

impl Selection {
    /// Leaves out the cells which need what is not supported yet, and says so. A selection of nothing else is refused.
    pub fn leave_unsupported(&mut self, common: &Common) -> Result<Vec<LeftOut>, Exit> {
        let left: Vec<LeftOut> = self
            .unsupported
            .iter()
            .map(|misfit| LeftOut { cells: misfit.cells.clone(), reason: misfit.diagnostic.message.clone() })
            .collect();
        let names: Vec<&str> = left.iter().flat_map(|left| left.cells.iter().map(String::as_str)).collect();
        if self.campaign.campaign.cells.iter().all(|cell| names.contains(&cell.name.as_str())) {
            if let Some(found) = self.unsupported_errors() {
                print(common, &found);
            }
            return Err(Exit::InputFile);
        }
        self.campaign.drop_cells(&names);
        self.schedule = Schedule::new(&self.campaign.campaign, self.targets.iter().map(|loaded| &loaded.target));
        Ok(left)
    }

    fn unsupported_errors(&self) -> Option<Diagnostics> {
        if self.unsupported.is_empty() {
            return None;
        }
        let refuse = |misfit: &Misfit| {
            let cells = misfit.cells.join(", ");
            let diagnostic = misfit.diagnostic.clone().label(format!("cell {cells}"));
            diagnostic.help("no cell of this selection can be run yet")
        };
        Some(self.unsupported.iter().map(refuse).collect())
    }
}

/// Cells that are not measured, and why.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LeftOut {
    /// Their names.
    pub cells: Vec<String>,
    /// What latlab does not support yet.
    pub reason: String,
}

/// A campaign's targets and how it fits them.
#[derive(Debug, Default)]
pub(super) struct Fitted {
    pub(super) targets: Vec<target::Loaded>,
    pub(super) unsupported: Vec<Misfit>,
    /// Errors and warnings of target files and of the fit.
    pub(super) found: Diagnostics,
}

impl Fitted {
    pub(super) fn new(library: &Library, campaign: &campaign::Loaded) -> Self {
        let mut fitted = Self::default();
        let mut named: Vec<(String, Span)> = Vec::new();
        for (name, span) in campaign.campaign.targets.iter().zip(&campaign.target_spans) {
            let loaded =
                library.find(Kind::Target, name, span).and_then(|found| target::load(&found.name, &found.text));
            match loaded {
                Err(found) => fitted.found.extend(found),
                Ok(target) => {
                    let own = &target.target.name;
                    if let Some((_, first)) = named.iter().find(|(known, _)| known == own) {
                        let again = Diagnostic::error(span.clone(), format!("target `{own}` is named twice"));
                        fitted.found.push(again.also(first.clone(), "by another name, or file, here"));
                    }
                    named.push((own.clone(), span.clone()));
                    fitted.add(campaign, target);
                }
            }
        }
        fitted
    }

    fn add(&mut self, campaign: &campaign::Loaded, target: target::Loaded) {
        self.found.extend(target.warnings.iter().cloned());
        for misfit in fit(campaign, &target) {
            match misfit.kind {
                MisfitKind::Unsupported if misfit.diagnostic.severity == Severity::Error => {
                    self.unsupported.push(misfit)
                }
                _ => self.found.push(misfit.diagnostic),
            }
        }
        self.targets.push(target);
    }
}

pub(super) fn parse_set(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE, such as duration=60s".to_owned()),
    }
}

pub(super) fn parse_only(text: &str) -> Result<(String, Vec<String>), String> {
    // A cell's name holds `=` itself (`cell=isolcpus=1,load=idle`): the first one ends the key.
    let (key, values) =
        parse_set(text).map_err(|_| "write KEY=VALUE[,VALUE], such as cell=native-isolated".to_owned())?;
    Ok((key, values.split(',').map(|value| value.trim().to_owned()).collect()))
}
