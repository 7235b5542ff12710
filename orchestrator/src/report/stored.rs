//! A stored run → its result. The judgement is made anew from the stored files: a newer rule judges older runs.

use crate::store::{Contact, ExecutionDir, Plan, PlannedRun, RunDir, Store, StoreError, journal::Entry};
use latlab_core::result::{Identity, Judged, RESULT_FORMAT, RunResult};
use latlab_core::run_state::{Mark, State, Step, replay};
use latlab_core::verdict::judge;
use latprobe::stream::Folded;
use serde::Serialize;
use std::collections::BTreeMap;

/// What is stored of a planned run.
#[derive(Debug)]
pub enum Stored {
    /// It was taken by the board: everything that is known of it, and what the streams say.
    Measured(Box<RunResult>, Vec<Folded>),
    /// It has not begun, or was refused; why, where the journal says so.
    NotStarted(Identity, Option<String>),
}

/// A run without figures, in `--format json`.
#[derive(Debug, Serialize)]
pub struct NotMeasured<'a> {
    /// [`RESULT_FORMAT`].
    format: u32,
    /// Which run it is.
    identity: &'a Identity,
    /// Why, where the journal says so.
    not_measured: Option<&'a str>,
}

impl<'a> NotMeasured<'a> {
    /// For `identity`, because of `reason`.
    pub fn new(identity: &'a Identity, reason: Option<&'a str>) -> Self {
        Self { format: RESULT_FORMAT, identity, not_measured: reason }
    }
}

/// The runs that `name` means: `EXECUTION/RUN`, `RUN` of the newest execution that has it, all runs of an `EXECUTION` (or a
/// unique beginning of one), or the path of a run's directory. Without a name: the newest execution.
pub fn find(store: &Store, name: Option<&str>) -> Result<Vec<(ExecutionDir, PlannedRun)>, StoreError> {
    let all = |execution: ExecutionDir| {
        let runs = execution.plan().runs.clone();
        runs.into_iter().map(|run| (execution.clone(), run)).collect()
    };
    let Some(name) = name else {
        let newest = store.executions()?.into_iter().next_back();
        return newest.transpose().map(|newest| newest.map(all).unwrap_or_default());
    };
    match store.run(name) {
        Ok(run) => {
            // RESULTS/<execution>/runs/<run>, reached by whatever path.
            let path = std::fs::canonicalize(run.path()).unwrap_or_else(|_| run.path().to_owned());
            let execution = ExecutionDir::open(path.ancestors().nth(2).unwrap_or(&path))?;
            let run = RunDir::at(&path).name();
            match execution.plan().run(&run).cloned() {
                Some(planned) => Ok(vec![(execution, planned)]),
                None => Err(StoreError::NoSuchRun { name: name.to_owned(), root: execution.path().to_owned() }),
            }
        }
        Err(StoreError::NoSuchRun { name, root }) if !name.contains('/') => match store.execution(&name) {
            Ok(execution) => Ok(all(execution)),
            Err(StoreError::NoSuchExecution { .. }) => Err(StoreError::NoSuchRun { name, root }),
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    }
}

/// Reads a run of `execution`.
pub fn read(execution: &ExecutionDir, planned: &PlannedRun) -> Result<Stored, StoreError> {
    let run = execution.run_dir(&planned.name);
    let journal = execution.journal()?;
    let identity = identity(execution.plan(), planned, &run, &journal);
    let own = journal.iter().filter(|entry| entry.run.as_ref() == Some(&planned.name));
    let state = replay(own.map(|entry| (entry.step, entry.mark)));
    let damaged = |what: &str| StoreError::Damaged {
        path: execution.path().join("plan.json"),
        reason: format!("it does not hold the {what} of run `{}`", planned.name),
    };
    let begun = if state == State::Planned { None } else { run.files()? };
    let Some(files) = begun else {
        return Ok(Stored::NotStarted(identity, why_not(&journal, planned)));
    };
    let cell = execution.plan().cell(planned).ok_or_else(|| damaged("cell"))?;
    let target = execution.plan().target(planned).ok_or_else(|| damaged("target"))?;
    let evidence = files.evidence(&cell.settings, target);
    let judgement = judge(&evidence);
    let mut result = RunResult::new(identity, &evidence, judgement);
    result.in_progress = !matches!(state, State::Removing | State::Over(_));
    result.mark_contacts(&contact_times(&run.contacts()?, &files.segments));
    // Whether that file is sound is for the manifest to say; it is derived, and made anew here.
    if let Ok(Some(before)) = run.judgement() {
        let before = Judged { validity: before.validity, verdict: before.verdict };
        let now = Judged { validity: result.validity, verdict: result.verdict };
        result.judged_before = (before != now).then_some(before);
    }
    // A run that is fetched again has outgrown its manifest.
    if !result.in_progress {
        result.altered = altered(&run)?;
    }
    Ok(Stored::Measured(Box::new(result), files.segments))
}

/// Why a run did not begin: its own failure, else that of its board, if nothing went on there since.
fn why_not(journal: &[Entry], planned: &PlannedRun) -> Option<String> {
    let own = journal.iter().rev().find(|e| e.run.as_ref() == Some(&planned.name) && e.mark == Mark::Failed);
    let of_board = || {
        let last = journal.iter().rev().find(|e| e.target.as_ref() == Some(&planned.target))?;
        let begins = matches!(last.step, Step::Connect | Step::Deploy | Step::Lock);
        (last.run.is_none() && begins && last.mark == Mark::Failed).then_some(last)
    };
    own.or_else(of_board)?.detail.clone()
}

/// A manifest that cannot be read vouches for nothing; the run itself can still be shown.
fn altered(run: &RunDir) -> Result<Vec<String>, StoreError> {
    match run.manifest() {
        Ok(None) => Ok(Vec::new()),
        Ok(Some(_)) => run.verify(),
        Err(StoreError::Damaged { reason, .. }) => Ok(vec![format!("manifest.json: damaged: {reason}")]),
        Err(error) => Err(error),
    }
}

/// By segment; a contact belongs to the boot it found.
fn contact_times(contacts: &[Contact], segments: &[Folded]) -> BTreeMap<u32, Vec<(u64, u64)>> {
    let of_boot = |boot: &str| {
        let own = contacts.iter().filter(|contact| contact.boot_id == boot);
        own.map(|contact| {
            let took_ns = contact.took_ns.saturating_add(contact.connect_ns);
            (contact.mono_ns.saturating_sub(took_ns), contact.mono_ns)
        })
        .collect()
    };
    segments.iter().filter_map(|s| s.header.as_ref()).map(|h| (h.segment, of_boot(&h.boot_id))).collect()
}

fn identity(plan: &Plan, planned: &PlannedRun, run: &RunDir, journal: &[Entry]) -> Identity {
    let submitted = journal
        .iter()
        .find(|e| e.run.as_ref() == Some(&planned.name) && e.step == Step::Submit && e.mark == Mark::Done);
    Identity {
        execution: plan.execution.clone(),
        run: planned.name.clone(),
        campaign: plan.campaign.name.clone(),
        cell: planned.cell.clone(),
        axes: plan.cell(planned).map(|cell| cell.axes.clone()).unwrap_or_default(),
        target: planned.target.clone(),
        repetition: planned.repetition,
        started_at: submitted.map(|entry| entry.at.clone()),
        stored_in: run.path().display().to_string(),
    }
}
