use crate::store::{Plan, PlannedRun, RunDir, StoreError};
use latlab_core::campaign::model::Cell;
use latlab_core::judgement::{Finding, JUDGEMENT_FORMAT, Judgement, Outcome, Validity, Verdict};
use latlab_core::target::Target;
use latlab_core::verdict;

/// Judges what is stored of a run, and stores the judgement.
pub(in crate::runner) fn judge(
    dir: &RunDir,
    plan: &Plan,
    run: &PlannedRun,
    cell: &Cell,
    target: &Target,
) -> Result<Judgement, StoreError> {
    let files = dir.files()?.ok_or_else(|| StoreError::Damaged {
        path: dir.path().join("spec.json"),
        reason: format!("missing, but the journal of {} says that {} was submitted", plan.execution, run.name),
    })?;
    let judgement = verdict::judge(&files.evidence(&cell.settings, target));
    dir.write_judgement(&judgement)?;
    Ok(judgement)
}

/// Stores the judgement of a run that was refused before its first sample.
pub(in crate::runner) fn refused(dir: &RunDir, rule: &str, details: &[String]) -> Result<Judgement, StoreError> {
    let finding =
        |detail: &String| Finding { rule: rule.to_owned(), outcome: Outcome::Invalidates, detail: detail.clone() };
    let judgement = Judgement {
        format: JUDGEMENT_FORMAT,
        validity: Validity::Invalid,
        verdict: Verdict::NotJudged,
        findings: details.iter().map(finding).collect(),
        limits: Vec::new(),
    };
    dir.write_judgement(&judgement)?;
    Ok(judgement)
}
