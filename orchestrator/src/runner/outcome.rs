use crate::exit::Exit;
use crate::store::StoreError;
use latlab_core::judgement::{Judgement, Validity, Verdict};
use latlab_core::run_state::Outcome;

/// How one planned run ended in this process.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnd {
    /// Name of the run.
    pub run: String,
    /// Its target.
    pub target: String,
    /// How.
    pub outcome: Outcome,
    /// In plain words, where there is more to say.
    pub detail: Option<String>,
    /// Of a run that was judged.
    pub judgement: Option<Judgement>,
}

/// How an execution ended in this process.
#[derive(Debug, Default)]
pub struct Summary {
    /// Every planned run, in plan order of its target.
    pub runs: Vec<RunEnd>,
    /// Targets that could not be used, with the reason and the exit code for it.
    pub boards: Vec<(String, String, Exit)>,
    /// What the results store refused.
    pub store: Vec<StoreError>,
}

impl RunEnd {
    fn exit(&self) -> Exit {
        let judgement = self.judgement.as_ref();
        match self.outcome {
            Outcome::Lost => Exit::Board,
            Outcome::Detached => Exit::Detached,
            Outcome::Refused | Outcome::NotBooted | Outcome::Skipped | Outcome::Failed => Exit::Invalid,
            Outcome::Judged => match judgement.map(|j| (j.verdict, j.validity)) {
                Some((Verdict::Fail, _)) => Exit::GateFailed,
                Some((_, Validity::Invalid)) | None => Exit::Invalid,
                Some(_) => Exit::Success,
            },
        }
    }
}

impl Summary {
    /// The exit code for all of it.
    pub fn exit(&self) -> Exit {
        let store = self.store.iter().map(|_| Exit::Store);
        let boards = self.boards.iter().map(|(_, _, exit)| *exit);
        Exit::combine(self.runs.iter().map(RunEnd::exit).chain(store).chain(boards))
    }

    /// Every planned run was measured and judged.
    pub fn is_whole(&self) -> bool {
        let judged = self.runs.iter().all(|run| run.outcome == Outcome::Judged);
        judged && self.boards.is_empty() && self.store.is_empty()
    }

    /// A run is on its board still.
    pub fn left_measuring(&self) -> bool {
        self.runs.iter().any(|run| run.outcome == Outcome::Detached)
    }
}
