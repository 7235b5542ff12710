//! The steps of a board's task that boot.

use super::{Boots, Readiness};
use crate::progress::Event;
use crate::runner::board_task::{BoardTask, Stopped};
use crate::runner::steps::judge;
use crate::runner::{Log, RunEnd};
use crate::store::PlannedRun;
use latlab_core::run_state::{Outcome, Step};

impl BoardTask {
    /// Boots what the run's cell asks for. `None`: it can be measured; else how the run ended, and why the board cannot go on.
    pub(in crate::runner) async fn not_ready(
        &self,
        boots: &mut Boots<'_>,
        run: &PlannedRun,
    ) -> Result<Option<(RunEnd, Option<Stopped>)>, Stopped> {
        let Some(cell) = self.context.writer.plan().cell(run) else { return Ok(None) };
        let (outcome, detail, unusable) = match boots.ensure(run, cell).await? {
            Readiness::Ready => return Ok(None),
            Readiness::Refused(detail) => (Outcome::Refused, detail, false),
            Readiness::NotBooted(detail) => (Outcome::NotBooted, detail, false),
            Readiness::Unusable(detail) => {
                let name = &self.target.name;
                let remedy = format!("`latlab restore {name}` puts its boot choice back once it answers");
                (Outcome::NotBooted, format!("{detail}; {remedy}"), true)
            }
        };
        let dir = self.context.writer.directory().run_dir(&run.name);
        let judgement = judge::refused(&dir, "boot", std::slice::from_ref(&detail))?;
        let (target, name) = (run.target.clone(), run.name.clone());
        self.context.show(Event::Over {
            target: target.clone(),
            run: name.clone(),
            outcome,
            validity: Some(judgement.validity),
            verdict: Some(judgement.verdict),
            detail: Some(detail.clone()),
        });
        let stopped = unusable.then(|| Stopped::Boot(detail.clone()));
        let end = RunEnd { run: name, target, outcome, detail: Some(detail), judgement: Some(judgement) };
        Ok(Some((end, stopped)))
    }

    pub(in crate::runner) async fn put_back(&self, boots: &mut Boots<'_>) -> Result<(), Stopped> {
        let log = Log { context: &self.context, target: &self.target.name, run: None };
        log.intent(Step::PutBack)?;
        match boots.put_back().await {
            Ok(difference) => {
                log.done(Step::PutBack, difference.as_deref())?;
                match difference {
                    Some(difference) => {
                        let text =
                            format!("its boot choice is put back, but not everything is as before: {difference}");
                        self.context.show(Event::Board { target: self.target.name.clone(), text });
                    }
                    None => {
                        let text = "boots its own choice again, as before".to_owned();
                        self.context.show(Event::Board { target: self.target.name.clone(), text });
                    }
                }
                Ok(())
            }
            Err(error) => {
                log.failed(Step::PutBack, &error.to_string())?;
                let name = &self.target.name;
                Err(Stopped::Boot(format!("{error}; `latlab restore {name}` puts it back once the board answers")))
            }
        }
    }
}
