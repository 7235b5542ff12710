use super::judge;
use crate::store::{FactsWhen, RunDir, StoreError};
use latlab_core::campaign::model::Cell;
use latlab_core::facts::Facts;
use latlab_core::judgement::Judgement;
use latlab_core::recipe::{self, Subject};
use latlab_core::resolve::{self, Mismatch};
use latlab_core::target::{BootMethod, Target};
use latprobe::spec::Spec;
use latprobe::status::Capture;

/// Stores the facts; is the board what the cell asks for? The spec, or the judgement of a refused run.
pub(in crate::runner) fn prepare(
    dir: &RunDir,
    cell: &Cell,
    target: &Target,
    captures: &[Capture],
    run_id: &str,
) -> Result<Result<Spec, Judgement>, StoreError> {
    dir.write_facts(FactsWhen::Before, captures)?;
    let facts = Facts::parse(captures);
    let subject = Subject { facts: &facts, later: None, target: Some(target), settings: Some(&cell.settings) };
    dir.write_recipe(&recipe::judge(&subject))?;
    let mismatches = resolve::check_boot(&cell.settings, target, &facts);
    if !mismatches.is_empty() {
        let asked = resolve::boot_conditions(&cell.settings.boot, target, &facts);
        let booted = |mismatch: &Mismatch| {
            target.boot_method != BootMethod::AsBooted && asked.iter().any(|condition| condition.what == mismatch.what)
        };
        let detail = |mismatch: &Mismatch| if booted(mismatch) { beside(mismatch) } else { mismatch.to_string() };
        let details: Vec<String> = mismatches.iter().map(detail).collect();
        return Ok(Err(judge::refused(dir, "boot", &details)?));
    }
    match resolve::spec(cell, target, &facts, run_id) {
        Ok(spec) => {
            dir.write_spec(&spec)?;
            Ok(Ok(spec))
        }
        Err(refusal) => Ok(Err(judge::refused(dir, "setup", &[refusal.to_string()])?)),
    }
}

/// What latlab booted itself, side by side with what came up.
fn beside(mismatch: &Mismatch) -> String {
    let Mismatch { what, asked, found, .. } = mismatch;
    format!("booted, but not the asked thing: {what}: asked for {asked}, found {found}")
}
