use crate::store::{FactsWhen, Plan, PlannedRun, RunDir, StoreError};
use latlab_core::campaign::model::Cell;
use latlab_core::facts::Facts;
use latlab_core::judgement::{Finding, JUDGEMENT_FORMAT, Judgement, Outcome, Validity, Verdict};
use latlab_core::target::Target;
use latlab_core::verdict::{self, Evidence};

/// Judges what is stored of a run, and stores the judgement.
pub(in crate::runner) fn judge(
    dir: &RunDir,
    plan: &Plan,
    run: &PlannedRun,
    cell: &Cell,
    target: &Target,
) -> Result<Judgement, StoreError> {
    let spec = dir.spec()?.ok_or_else(|| StoreError::Damaged {
        path: dir.path().join("spec.json"),
        reason: format!("missing, but the journal of {} says that {} was submitted", plan.execution, run.name),
    })?;
    let segments = dir.fold()?;
    let before = Facts::parse(&dir.facts(FactsWhen::Before)?);
    let after = dir.facts(FactsWhen::After)?;
    let after = (!after.is_empty()).then(|| Facts::parse(&after));
    let evidence = Evidence {
        spec: &spec,
        settings: &cell.settings,
        target,
        segments: &segments,
        before: &before,
        after: after.as_ref(),
    };
    let judgement = verdict::judge(&evidence);
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
