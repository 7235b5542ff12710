//! `latlab doctor`: is a board in the state that figures can be compared from?

use super::boards::{find, on_board};
use super::diagnostics::{exit, print, print_json};
use super::selection::{parse_only, parse_set};
use super::show::{print as say, store_failed};
use super::{Common, Format};
use crate::board::{Board, BoardError, Deployed};
use crate::exit::Exit;
use crate::files::{Kind, Library, on_command_line};
use crate::report::{recipe as report, text};
use crate::store::{FactsWhen, RunDir, StoreError};
use latlab_core::campaign::{self, Overrides, model::Cell};
use latlab_core::diagnostic::Diagnostics;
use latlab_core::facts::Facts;
use latlab_core::recipe::{self, Outcome, Recipe, Subject};
use latlab_core::target::Target;
use latprobe::status::Capture;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Checks a board against the recipe: everything that is known to change latency figures, with reason and fix.
///
/// Nothing is changed on the board. Exit code 0: no check fails; 6: one does.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Board, by name or file. With --facts: only its description is used.
    #[arg(value_name = "TARGET", required_unless_present = "facts")]
    target: Option<String>,
    /// Judge for the cells of this campaign instead of the published recipe: what it requires must hold, what it applies
    /// need not.
    #[arg(long, value_name = "CAMPAIGN")]
    campaign: Option<String>,
    /// Only these cells of the campaign, as for `latlab run`.
    #[arg(long, value_name = "KEY=A,B", value_parser = parse_only, requires = "campaign")]
    only: Vec<(String, Vec<String>)>,
    /// Another value for a key of the campaign, as for `latlab run`.
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_set, requires = "campaign")]
    set: Vec<(String, String)>,
    /// Captured facts instead of a live board: a run's directory, its facts-before, or a file that `latprobe facts` wrote.
    #[arg(long, value_name = "DIR")]
    facts: Option<PathBuf>,
}

/// `--format json`, one line per cell.
#[derive(Debug, Serialize)]
struct Report<'a> {
    target: Option<&'a str>,
    campaign: Option<&'a str>,
    cell: Option<&'a str>,
    #[serde(flatten)]
    recipe: &'a Recipe,
}

/// Why there are no facts.
enum NoFacts {
    Store(StoreError),
    Board(BoardError),
    /// Nothing was captured there.
    Empty(PathBuf),
    /// It measures for this execution.
    Measures(String),
}

/// A board at one or two moments.
struct Looks {
    first: Facts,
    second: Option<Facts>,
}

/// Between the two looks at a live board: interrupts that fire now and then show in it.
const BETWEEN: Duration = Duration::from_secs(3);

/// Runs the verb.
pub(super) fn run(common: &Common, args: &Args) -> Exit {
    let campaign = match args.campaign.as_deref().map(|name| load(args, name)).transpose() {
        Ok(campaign) => campaign,
        Err(found) => return refuse(common, &found),
    };
    let name = args.target.as_ref().or_else(|| campaign.as_ref()?.campaign.targets.first());
    let target = match name.map(|name| find(common, name)).transpose() {
        Ok(target) => target,
        Err(exit) => return exit,
    };
    let looks = match (&args.facts, &target) {
        (Some(path), _) => captured(path),
        (None, Some(target)) => live(common, target),
        (None, None) => return Exit::Usage,
    };
    let looks = match looks {
        Ok(looks) => looks,
        Err(error) => return error.report(target.as_ref()),
    };
    let campaign = campaign.map(|loaded| loaded.campaign);
    let cells: Vec<Option<&Cell>> = match &campaign {
        Some(campaign) => campaign.cells.iter().map(Some).collect(),
        None => vec![None],
    };
    let mut exits = Vec::new();
    for cell in cells {
        let subject = Subject {
            facts: &looks.first,
            later: looks.second.as_ref(),
            target: target.as_ref(),
            settings: cell.map(|cell| &cell.settings),
        };
        let recipe = recipe::judge(&subject);
        let name = campaign.as_ref().map(|campaign| campaign.name.as_str());
        let report = Report {
            target: target.as_ref().map(|target| target.name.as_str()),
            campaign: name,
            cell: cell.map(|cell| cell.name.as_str()),
            recipe: &recipe,
        };
        show(common, &report, &looks.first);
        exits.push(if recipe.count(Outcome::Fail) > 0 { Exit::Invalid } else { Exit::Success });
    }
    Exit::combine(exits)
}

fn load(args: &Args, name: &str) -> Result<campaign::Loaded, Diagnostics> {
    let found = Library::of_user().find(Kind::Campaign, name, &on_command_line("--campaign", name))?;
    let targets = args.target.iter().cloned().collect();
    let overrides = Overrides { set: args.set.clone(), only: args.only.clone(), targets };
    campaign::load(&found.name, &found.text, &overrides)
}

fn refuse(common: &Common, found: &Diagnostics) -> Exit {
    print(common, found);
    exit(found)
}

fn captured(path: &Path) -> Result<Looks, NoFacts> {
    let run = RunDir::at(path);
    let in_run = run.facts(FactsWhen::Before).map_err(NoFacts::Store)?;
    if !in_run.is_empty() {
        let after = run.facts(FactsWhen::After).map_err(NoFacts::Store)?;
        let second = (!after.is_empty()).then(|| Facts::parse(&after));
        return Ok(Looks { first: Facts::parse(&in_run), second });
    }
    let file = if path.is_dir() { path.join("captures.jsonl") } else { path.to_owned() };
    let captures: Vec<Capture> = RunDir::read_captures(&file).map_err(NoFacts::Store)?;
    if captures.is_empty() {
        return Err(NoFacts::Empty(file));
    }
    Ok(Looks { first: Facts::parse(&captures), second: None })
}

fn live(common: &Common, target: &Target) -> Result<Looks, NoFacts> {
    let looks = on_board(common, target, async |board, deployed| look(board, deployed).await);
    looks.map_err(NoFacts::Board)?.map_err(NoFacts::Measures)
}

/// The board, twice; or the execution that it measures for: looking would disturb.
async fn look(board: &Board, deployed: &Deployed) -> Result<Result<Looks, String>, BoardError> {
    let seen = board.occupancy(deployed).await?;
    if let Some((lock, _)) = seen.locks.into_iter().next() {
        return Ok(Err(lock.execution));
    }
    let first = Facts::parse(&board.facts(deployed).await?);
    tokio::time::sleep(BETWEEN).await;
    let second = Some(Facts::parse(&board.facts(deployed).await?));
    Ok(Ok(Looks { first, second }))
}

impl NoFacts {
    fn report(self, target: Option<&Target>) -> Exit {
        let name = target.map_or("", |target| target.name.as_str());
        let complain = |text: String| {
            let _ = writeln!(std::io::stderr(), "{text}");
        };
        match self {
            Self::Store(error) => store_failed(&error),
            Self::Board(error) => {
                complain(format!("{name}: {error}"));
                Exit::Board
            }
            Self::Measures(execution) => {
                complain(format!(
                    "{name}: measures for execution {execution}, and looking would disturb; wait, or judge the facts of its run: latlab doctor --facts RUN-DIRECTORY"
                ));
                Exit::Board
            }
            Self::Empty(path) => {
                complain(format!(
                    "error: {}: no captured facts; expected the directory of a run, its facts-before, or a file that `latprobe facts` wrote",
                    path.display()
                ));
                Exit::InputFile
            }
        }
    }
}

fn show(common: &Common, report: &Report, facts: &Facts) {
    if common.format == Format::Json {
        return print_json(report);
    }
    let mut head = Vec::new();
    head.extend(report.target.map(str::to_owned));
    head.extend(facts.model.clone());
    head.extend(facts.release.as_ref().map(|release| format!("kernel {release}")));
    let asked = match (report.campaign, report.cell) {
        (Some(campaign), Some(cell)) => format!("for campaign {campaign}, cell {cell}"),
        _ => "for the published recipe".to_owned(),
    };
    let counts = report::counts(report.recipe);
    let table = report::table(report.recipe, text::WIDTH);
    say(&text::wrapped(&format!("{}: {counts} {asked}", head.join(", ")), 0, text::WIDTH));
    say(&format!("\n{table}\n"));
}
