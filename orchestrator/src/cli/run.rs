//! `latlab run` and `latlab resume`: carry an execution out, and show what came of it.

use super::selection::{LeftOut, Selection, SelectionArgs};
use super::{Common, Format, logging};
use crate::exit::Exit;
use crate::progress::Progress;
use crate::report::{
    night::{self, Asked, Night},
    stored::{self, Stored},
    text,
};
use crate::runner::{self, RunEnd, Summary, Wishes, is_unfinished, state_of};
use crate::store::{ExecutionDir, ExecutionWriter, PLAN_FORMAT, Plan, PlannedRun, Store, StoreError};
use crate::transport::sweep_stale_sockets;
use indicatif::MultiProgress;
use latlab_core::result::RunResult;
use latlab_core::run_state::{Outcome, State, Wish};
use latlab_core::target::Target;
use latlab_core::units::parse_duration;
use serde::Serialize;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

/// Measures a campaign on its boards, all boards at once.
///
/// Ctrl-C asks whether to stop what is measuring or to leave it (exit code 8); a second one leaves at once.
/// Without a terminal, SIGINT and SIGTERM stop the runs and clean up; SIGHUP leaves them measuring.
/// What was left is brought home by `latlab resume`.
#[derive(Debug, clap::Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    /// Wait for boards that somebody else has, at most so long (`2h`; without a time: without end), in the order of coming.
    ///
    /// Without this a board that is taken is refused, by the name of its holder.
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "365d", value_parser = wait)]
    wait: Option<Duration>,
    #[command(flatten)]
    results: ResultsArgs,
}

/// Goes on with an execution that was left, interrupted or killed: fetches what was measured meanwhile, measures what is missing.
///
/// Runs that were refused or failed are tried again.
#[derive(Debug, clap::Args)]
pub(super) struct ResumeArgs {
    #[command(flatten)]
    which: ExecutionArgs,
}

/// Stops what an execution left measuring, brings home and judges what there is, and begins nothing more.
#[derive(Debug, clap::Args)]
pub(super) struct StopArgs {
    #[command(flatten)]
    which: ExecutionArgs,
}

/// Brings home what an execution's boards have by now, and leaves them measuring (exit code 8 while they do).
#[derive(Debug, clap::Args)]
pub(super) struct CollectArgs {
    #[command(flatten)]
    which: ExecutionArgs,
}

/// Which execution.
#[derive(Debug, clap::Args)]
pub(super) struct ExecutionArgs {
    /// Execution, or an unambiguous beginning of its name; default: the newest unfinished one.
    execution: Option<String>,
    #[command(flatten)]
    results: ResultsArgs,
}

/// Where results are.
#[derive(Debug, clap::Args)]
pub(super) struct ResultsArgs {
    /// Results directory; default: LATLAB_RESULTS, else ./results.
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
}

impl ResultsArgs {
    /// The directory.
    pub(super) fn path(&self) -> PathBuf {
        Store::locate(self.results.as_deref())
    }
}

/// Runs `latlab run`.
pub(super) fn run(common: &Common, args: &RunArgs) -> Exit {
    let selected = args.selection.load(common);
    let selected = selected.and_then(|mut selection| selection.leave_unsupported(common).map(|left| (selection, left)));
    let (selection, left_out) = match selected {
        Ok(selected) => selected,
        Err(exit) => return exit,
    };
    let started = || -> Result<ExecutionWriter, Refused> {
        let store = Store::create(args.results.path())?;
        let targets: Vec<String> = selection.targets.iter().map(|loaded| loaded.target.name.clone()).collect();
        refuse_unfinished(&store, &targets, args.wait.is_some())?;
        Ok(store.create_execution(&plan(&selection))?)
    };
    match started() {
        Ok(writer) => {
            let exit = carry_out(common, writer, Wish::Finish, args.wait);
            say_left_out(common, &left_out);
            // The campaign was not measured as a whole.
            Exit::combine([exit].into_iter().chain((!left_out.is_empty()).then_some(Exit::Invalid)))
        }
        Err(refused) => refused.report(),
    }
}

fn say_left_out(common: &Common, left_out: &[LeftOut]) {
    for left in left_out {
        match common.format {
            Format::Json => print_line(&LeftOutLine { event: "left-out", left }),
            Format::Text => {
                let cells = left.cells.join(", ");
                complain(&format!("not measured: cell {cells}: {}", left.reason));
            }
        }
    }
}

/// Runs `latlab resume`.
pub(super) fn resume(common: &Common, args: &ResumeArgs) -> Exit {
    go_on(common, &args.which, Wish::Finish)
}

/// Runs `latlab stop`.
pub(super) fn stop(common: &Common, args: &StopArgs) -> Exit {
    go_on(common, &args.which, Wish::Stop)
}

/// Runs `latlab collect`.
pub(super) fn collect(common: &Common, args: &CollectArgs) -> Exit {
    go_on(common, &args.which, Wish::Fetch)
}

fn go_on(common: &Common, which: &ExecutionArgs, wish: Wish) -> Exit {
    let opened = || -> Result<Option<ExecutionWriter>, Refused> {
        let store = Store::open(which.results.path())?;
        let execution = match &which.execution {
            Some(name) => Some(store.execution(name)?),
            None => newest_unfinished(&store)?,
        };
        let Some(execution) = execution else { return Ok(None) };
        if let Some(process) = execution.running() {
            let name = execution.name();
            let text =
                format!("error: {process} carries {name} out; a SIGTERM stops it, a SIGHUP makes it leave its boards");
            return Err(Refused::Unfinished(text));
        }
        Ok(Some(ExecutionWriter::reopen(execution)?))
    };
    match opened() {
        Ok(Some(writer)) => carry_out(common, writer, wish, None),
        Ok(None) => {
            complain("nothing to do: every execution is finished");
            Exit::Success
        }
        Err(refused) => refused.report(),
    }
}

enum Refused {
    Store(StoreError),
    Unfinished(String),
    Signals(std::io::Error),
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Refused {
    fn report(self) -> Exit {
        match self {
            Self::Store(error @ (StoreError::NoSuchExecution { .. } | StoreError::Ambiguous { .. })) => {
                complain(&format!("error: {error}"));
                Exit::Usage
            }
            Self::Store(error) => {
                complain(&format!("error: {error}"));
                Exit::Store
            }
            Self::Signals(error) => {
                complain(&format!("error: signals cannot be watched: {error}"));
                Exit::Bug
            }
            Self::Unfinished(text) => {
                complain(&text);
                Exit::Board
            }
        }
    }
}

/// Last lines of the event stream: one result per run (docs/json.md).
#[derive(Debug, Serialize)]
struct ResultLine<'a> {
    event: &'static str,
    result: &'a RunResult,
}

/// The line after them, where the campaign has `[gate.baseline]`: as `latlab gate --format json`.
#[derive(Debug, Serialize)]
struct NightLine<'a> {
    event: &'static str,
    gate: &'a Night,
}

/// Cells that were never planned.
#[derive(Debug, Serialize)]
struct LeftOutLine<'a> {
    event: &'static str,
    #[serde(flatten)]
    left: &'a LeftOut,
}

fn print_line(value: &impl Serialize) {
    if let Ok(line) = serde_json::to_string(value) {
        let _ = writeln!(std::io::stdout(), "{line}");
    }
}

fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// `90s`, `2h`.
fn wait(text: &str) -> Result<Duration, String> {
    let ns = parse_duration(text).and_then(|ns| u64::try_from(ns).ok());
    ns.map(Duration::from_nanos).ok_or_else(|| "a time such as 90s, 30min or 2h is expected".to_owned())
}

/// A board that still measures for an earlier execution is not ours to take: its run would be lost. One that another
/// process is at can be waited for.
fn refuse_unfinished(store: &Store, targets: &[String], waits: bool) -> Result<(), Refused> {
    for execution in store.executions()?.into_iter().flatten() {
        let entries = execution.journal()?;
        for (run, _) in execution.runs().filter(|(run, _)| targets.contains(&run.target)) {
            let on_board = matches!(
                state_of(&entries, &run.name),
                State::Searching | State::Measuring | State::Reviving | State::Collecting
            );
            if !on_board {
                continue;
            }
            let since = entries.iter().rev().find(|entry| entry.run.as_deref() == Some(&run.name));
            let since = since.map_or_else(String::new, |entry| format!(" since {}", entry.at));
            let (name, target, run) = (execution.name(), &run.target, &run.name);
            let remedy = match execution.running() {
                Some(_) if waits => continue,
                Some(process) => format!("{process} is at it; `--wait` waits for its turn"),
                None => format!("`latlab resume {name}` brings it home, `latlab stop {name}` ends it"),
            };
            let text =
                format!("error: {target} has run {run} of execution {name}{since}, which is not finished; {remedy}");
            return Err(Refused::Unfinished(text));
        }
    }
    Ok(())
}

fn newest_unfinished(store: &Store) -> Result<Option<ExecutionDir>, StoreError> {
    for execution in store.executions()?.into_iter().rev().flatten() {
        if is_unfinished(execution.plan(), &execution.journal()?) {
            return Ok(Some(execution));
        }
    }
    Ok(None)
}

fn plan(selection: &Selection) -> Plan {
    let now = jiff::Timestamp::now();
    let campaign = &selection.campaign.campaign;
    // Two executions may begin in the same second, in other results directories or on other hosts.
    let unique = RandomState::new().hash_one(now.as_nanosecond()) & 0xffff;
    let execution = format!("{}-{}-{unique:04x}", now.strftime("%Y%m%d-%H%M%S"), fit_for_file(&campaign.name));
    let mut runs = Vec::new();
    let mut names = BTreeSet::new();
    for target in &selection.schedule.targets {
        for scheduled in &target.runs {
            let n = scheduled.repetition;
            let mut name = format!("{}-{}-{n}", fit_for_file(&scheduled.cell_name), fit_for_file(&target.target));
            // Two names may become one when odd characters are replaced.
            while !names.insert(name.clone()) {
                name.push('x');
            }
            runs.push(PlannedRun {
                run_id: format!("{execution}.{}", runs.len()),
                name,
                cell: scheduled.cell_name.clone(),
                target: target.target.clone(),
                repetition: n,
            });
        }
    }
    Plan {
        format: PLAN_FORMAT,
        execution,
        created: crate::store::now(),
        latlab_version: env!("CARGO_PKG_VERSION").to_owned(),
        holder: holder(),
        campaign: campaign.clone(),
        targets: selection.targets.iter().map(|loaded| loaded.target.clone()).collect(),
        runs,
    }
}

/// `[A-Za-z0-9._=,-]`, not hidden.
fn fit_for_file(name: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || "._=,-".contains(c) { c } else { '_' };
    let text: String = name.chars().map(fit).collect();
    text.trim_start_matches('.').to_owned()
}

/// `user@host`, for locks.
pub(super) fn holder() -> String {
    let user = ["USER", "LOGNAME"].into_iter().find_map(|key| std::env::var(key).ok().filter(|user| !user.is_empty()));
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let host = host.map(|host| host.trim().to_owned()).filter(|host| !host.is_empty());
    format!("{}@{}", user.as_deref().unwrap_or("root"), host.as_deref().unwrap_or("localhost"))
}

fn carry_out(common: &Common, writer: ExecutionWriter, first: Wish, wait: Option<Duration>) -> Exit {
    let bars = MultiProgress::new();
    if let Err(error) = logging::init(common, &bars) {
        complain(&format!("error: --log-file {error}"));
        return Exit::Usage;
    }
    let progress = match common.format {
        Format::Json => Progress::json(),
        Format::Text if std::io::stderr().is_terminal() => Progress::bars(&bars),
        Format::Text => Progress::lines(),
    };
    sweep_stale_sockets();
    let runtime = runtime();
    let directory = writer.directory().clone();
    let result = runtime.block_on(async {
        let (wishes, wish) = Wishes::new(first).map_err(Refused::Signals)?;
        let ask_bars = bars.clone();
        tokio::spawn(wishes.watch(move |ask| ask_bars.suspend(ask)));
        let (mut summary, mut progress) = runner::execute(writer, progress, wish.clone(), wait).await?;
        // A cell that is worse than its baseline is measured again before that fails the night.
        while *wish.borrow() == Wish::Finish && summary.is_whole() {
            let again = to_confirm(&directory)?;
            if again.is_empty() {
                break;
            }
            for (cell, target) in &again {
                complain(&format!("{cell} on {target} is worse than its baseline: measured again to confirm"));
            }
            let writer = ExecutionWriter::extend(ExecutionDir::open(directory.path())?, &again)?;
            (summary, progress) = runner::execute(writer, progress, wish.clone(), wait).await?;
        }
        Ok::<_, Refused>((summary, progress))
    });
    // A question that nobody answers must not keep the process.
    runtime.shutdown_background();
    match result {
        Ok((summary, progress)) => {
            progress.finish();
            // With the runs that were added.
            let directory = ExecutionDir::open(directory.path()).unwrap_or(directory);
            show(common, &directory, &summary);
            let night = if summary.left_measuring() { Exit::Success } else { show_night(common, &directory) };
            Exit::combine([summary.exit(), night])
        }
        Err(refused) => refused.report(),
    }
}

fn judged_night(directory: &ExecutionDir) -> Result<Option<Night>, StoreError> {
    let relative = directory.plan().campaign.cells.iter().any(|cell| cell.settings.gate.baseline.is_some());
    if !relative || directory.is_gone() {
        return Ok(None);
    }
    let store = Store::open(directory.path().parent().unwrap_or(directory.path()))?;
    let directory = ExecutionDir::open(directory.path())?;
    Ok(Some(night::judge(&store, &[directory], &Asked::default())?.0))
}

/// The cells that are worse than their baseline, but not for certain: cell and target.
fn to_confirm(directory: &ExecutionDir) -> Result<Vec<(String, String)>, StoreError> {
    let Some(night) = judged_night(directory)? else { return Ok(Vec::new()) };
    let suspicious = night.cells.into_iter().filter(|cell| cell.confirms && cell.outcome == night::Outcome::Suspicious);
    Ok(suspicious.map(|cell| (cell.cell, cell.target)).collect())
}

/// The gate against baselines, where the campaign has one. Runs that are not over are said elsewhere.
fn show_night(common: &Common, directory: &ExecutionDir) -> Exit {
    match judged_night(directory) {
        Ok(None) => Exit::Success,
        Ok(Some(night)) => {
            match common.format {
                Format::Json => print_line(&NightLine { event: "gate", gate: &night }),
                Format::Text => {
                    let _ = writeln!(std::io::stdout(), "\n{}", night.text());
                }
            }
            night.exit()
        }
        Err(error) => {
            complain(&format!("error: {error}"));
            Exit::Store
        }
    }
}

/// Two threads: everything here waits.
#[expect(clippy::expect_used, reason = "without threads or an epoll descriptor nothing can be done or said")]
pub(super) fn runtime() -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("the system gives two threads and an epoll descriptor")
}

fn show(common: &Common, directory: &ExecutionDir, summary: &Summary) {
    let measured = |end: &&RunEnd| matches!(end.outcome, Outcome::Judged | Outcome::Lost);
    for end in summary.runs.iter().filter(measured) {
        if let Err(error) = show_run(common, directory, &end.run) {
            complain(&format!("error: {error}"));
        }
    }
    let not_measured = |end: &&RunEnd| matches!(end.outcome, Outcome::Refused | Outcome::NotBooted | Outcome::Failed);
    for end in summary.runs.iter().filter(not_measured) {
        let what = if end.outcome == Outcome::NotBooted { "not booted" } else { "not measured" };
        complain(&format!("{}: {what}: {}", end.run, end.detail.as_deref().unwrap_or("no reason is known")));
    }
    for error in &summary.store {
        complain(&format!("error: {error}"));
    }
    if directory.is_gone() {
        complain(&results_gone(directory));
        return;
    }
    let left: Vec<&str> =
        summary.runs.iter().filter(|end| end.outcome == Outcome::Detached).map(|end| end.run.as_str()).collect();
    let not_begun = summary.runs.iter().filter(|end| end.outcome == Outcome::Skipped).count();
    if not_begun > 0 {
        complain(&format!(
            "{not_begun} of {} runs not begun; `latlab resume {}` measures them",
            summary.runs.len(),
            directory.name()
        ));
    }
    let lost: Vec<&str> =
        summary.runs.iter().filter(|end| end.outcome == Outcome::Lost).map(|end| end.run.as_str()).collect();
    if !lost.is_empty() {
        let name = directory.name();
        complain(&format!(
            "board lost: {}; once it answers again, `latlab resume {name}` brings home what it still has",
            lost.join(", ")
        ));
    }
    if !left.is_empty() {
        let name = directory.name();
        complain(&format!("left measuring: {}; `latlab resume {name}` brings it home", left.join(", ")));
    }
}

/// Without its results nothing can be brought home or resumed.
fn results_gone(directory: &ExecutionDir) -> String {
    let name = directory.name();
    let free = |target: &Target| format!("`latlab release {} --from {name}`", target.name);
    let free: Vec<String> = directory.plan().targets.iter().map(free).collect();
    format!(
        "somebody removed the results of {name}, {}: it cannot be resumed; what it left on a board is ended by {}",
        directory.path().display(),
        free.join(", ")
    )
}

fn show_run(common: &Common, directory: &ExecutionDir, run: &str) -> Result<(), StoreError> {
    let Some(planned) = directory.plan().run(run) else { return Ok(()) };
    let Stored::Measured(result, _) = stored::read(directory, planned)? else { return Ok(()) };
    match common.format {
        Format::Json => print_line(&ResultLine { event: "result", result: &result }),
        Format::Text => {
            let _ = writeln!(std::io::stdout(), "\n{}", text::for_stdout(&result));
        }
    }
    Ok(())
}
