use super::Mirrors;
use crate::store::{FactsWhen, RunDir, StoreError};
use latlab_core::campaign::model::Cell;
use latlab_core::facts::Facts;
use latlab_core::resolve::{self, NotContinued};
use latlab_core::target::Target;
use latprobe::spec::Spec;
use latprobe::status::Capture;

/// What is left to measure on a board that was reset, stored as the spec of a new segment with the board's facts;
/// or why it is not to be added to what was measured before.
pub(in crate::runner) fn remainder(
    dir: &RunDir,
    cell: &Cell,
    target: &Target,
    whole: &Spec,
    mirrors: &Mirrors,
    captures: &[Capture],
) -> Result<Result<Spec, NotContinued>, StoreError> {
    let (before, now) = (Facts::parse(&dir.facts(FactsWhen::Before)?), Facts::parse(captures));
    let segment = mirrors.next_segment();
    let measured: Vec<_> = mirrors.folded().cloned().collect();
    Ok(match resolve::remainder(cell, target, whole, &measured, (&before, &now), segment) {
        Ok(spec) => {
            dir.write_facts(FactsWhen::Boot(segment), captures)?;
            dir.write_segment_spec(&spec)?;
            Ok(spec)
        }
        Err(reason) => Err(reason),
    })
}
