use latlab_core::campaign::model::{Campaign, Cell};
use latlab_core::target::Target;
use serde::{Deserialize, Serialize};

/// Version of `plan.json`.
pub const PLAN_FORMAT: u32 = 1;

/// An execution as planned: everything `latlab resume` needs, whatever happened to the files it came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// [`PLAN_FORMAT`].
    pub format: u32,
    /// Name of the execution and of its directory.
    pub execution: String,
    /// When it was made: UTC, RFC 3339.
    pub created: String,
    /// Version of latlab that made it.
    pub latlab_version: String,
    /// `user@host`, who holds the boards' locks.
    pub holder: String,
    /// All cells, layers and overrides resolved.
    pub campaign: Campaign,
    /// The targets in campaign order.
    pub targets: Vec<Target>,
    /// Every run, in the order of each target.
    pub runs: Vec<PlannedRun>,
}

/// One cell to be measured once on one target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedRun {
    /// Name in the execution and of its directory: `<cell>-<target>-<n>`.
    pub name: String,
    /// [`latprobe::spec::Spec::run_id`] on the board, unique over all executions.
    pub run_id: String,
    /// Cell, by name.
    pub cell: String,
    /// Target, by name.
    pub target: String,
    /// Repetition, from 1.
    pub repetition: u32,
}

impl Plan {
    /// The cell of a run.
    pub fn cell(&self, run: &PlannedRun) -> Option<&Cell> {
        self.campaign.cells.iter().find(|cell| cell.name == run.cell)
    }

    /// The target of a run.
    pub fn target(&self, run: &PlannedRun) -> Option<&Target> {
        self.targets.iter().find(|target| target.name == run.target)
    }

    /// The run of this name.
    pub fn run(&self, name: &str) -> Option<&PlannedRun> {
        self.runs.iter().find(|run| run.name == name)
    }

    /// Plans a further run of a cell on a target, last of the target's; nothing where none is planned yet.
    pub(super) fn repeat_once_more(&mut self, cell: &str, target: &str) {
        let of_cell = |run: &&PlannedRun| run.cell == cell && run.target == target;
        let Some(last) = self.runs.iter().filter(of_cell).max_by_key(|run| run.repetition) else { return };
        let repetition = last.repetition + 1;
        // The beginning of the name is the cell's and the target's, as files may be called.
        let stem = last.name.trim_end_matches('x');
        let stem = stem.strip_suffix(&last.repetition.to_string()).unwrap_or(stem).to_owned();
        let mut name = format!("{stem}{repetition}");
        while self.run(&name).is_some() {
            name.push('x');
        }
        let run_id = format!("{}.{}", self.execution, self.runs.len());
        self.runs.push(PlannedRun { name, run_id, cell: cell.to_owned(), target: target.to_owned(), repetition });
    }

    /// The runs of a target, in order.
    pub fn runs_of<'a>(&'a self, target: &'a str) -> impl Iterator<Item = &'a PlannedRun> {
        self.runs.iter().filter(move |run| run.target == target)
    }
}
