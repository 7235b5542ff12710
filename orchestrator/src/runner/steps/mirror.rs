//! The board's stream, brought home piece by piece.

use crate::board::{Board, BoardError, Chunk, RunOnBoard};
use crate::progress::{self, LoadState};
use crate::store::{Contact, PlannedRun, RunDir, StoreError, StreamMirror};
use latlab_core::run_state::Event;
use latprobe::spec::{Length, Spec};
use latprobe::status::{Stage, Status};
use latprobe::stream::{Folded, LoadDelta};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Instant;

/// The local copies of all segments of a run, and what the board said last.
#[derive(Debug)]
pub(in crate::runner) struct Mirrors {
    segments: BTreeMap<u32, StreamMirror>,
    status: Option<Status>,
}

impl Mirrors {
    /// What is at home already.
    pub(in crate::runner) fn open(dir: &RunDir) -> Result<Self, StoreError> {
        let mut segments = BTreeMap::new();
        for segment in dir.segments()? {
            segments.insert(segment, dir.mirror(segment)?);
        }
        Ok(Self { segments, status: None })
    }

    /// The boot that was measured on last, where it is known.
    pub(in crate::runner) fn boot_id(&self) -> Option<&str> {
        let said = self.status.as_ref().map(|status| status.run_boot_id.as_str());
        let header = || Some(self.segments.values().next_back()?.so_far().header.as_ref()?.boot_id.as_str());
        said.or_else(header).filter(|id| !id.is_empty())
    }

    /// What each segment says so far.
    pub(in crate::runner) fn folded(&self) -> impl Iterator<Item = &Folded> {
        self.segments.values().map(StreamMirror::so_far)
    }

    /// The first number that neither this copy nor the board has used.
    pub(in crate::runner) fn next_segment(&self) -> u32 {
        let there = self.status.iter().flat_map(|status| &status.segments).map(|size| size.segment);
        self.segments.keys().copied().chain(there).max().map_or(0, |last| last + 1)
    }

    /// The supervisor went without an ending.
    pub(in crate::runner) fn is_dead(&self) -> bool {
        self.status.as_ref().is_some_and(|status| status.stage == Stage::Dead)
    }

    /// Fetches the next piece and stores it. `connect_ns`: what a new connection for it has just taken.
    pub(in crate::runner) async fn fetch(
        &mut self,
        board: &Board,
        run: &RunOnBoard,
        dir: &RunDir,
        spec: Option<&Spec>,
        connect_ns: u64,
    ) -> Result<Result<Event, BoardError>, StoreError> {
        let segment = self.behind().unwrap_or_else(|| self.segments.keys().next_back().copied().unwrap_or(0));
        let mirror = match self.segments.entry(segment) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(dir.mirror(segment)?),
        };
        let asked = Instant::now();
        let (status, bytes) = match piece(board, run, segment, mirror.bytes()).await {
            Ok(piece) => piece,
            Err(error) => return Ok(Err(error)),
        };
        mirror.append(&bytes)?;
        dir.add_contact(&Contact {
            mono_ns: status.mono_ns,
            boot_id: status.boot_id.clone(),
            took_ns: u64::try_from(asked.elapsed().as_nanos()).unwrap_or(u64::MAX),
            bytes: bytes.len() as u64,
            connect_ns,
        })?;
        let event = self.answered(&status, spec);
        self.status = Some(status);
        Ok(Ok(event))
    }

    fn answered(&self, status: &Status, spec: Option<&Spec>) -> Event {
        let more = self.lacks(status).is_some();
        let reset = !status.boot_id.is_empty() && status.boot_id != status.run_boot_id;
        if status.stage == Stage::Dead && reset && !more {
            return Event::Reset;
        }
        let age_ns = status.mono_ns.saturating_sub(status.start_mono_ns);
        let (deadline_ns, nominal_ns) = spec.map_or((0, 0), |spec| (spec.deadline_ns, nominal_ns(spec)));
        Event::Answered {
            complete: status.stage.is_over() && !more,
            more,
            remaining_ns: deadline_ns.saturating_sub(age_ns),
            due_ns: nominal_ns.saturating_sub(age_ns),
        }
    }

    /// First segment that the board has more of.
    fn behind(&self) -> Option<u32> {
        self.lacks(self.status.as_ref()?)
    }

    fn lacks(&self, status: &Status) -> Option<u32> {
        let more = |segment: u32, bytes: u64| bytes > self.segments.get(&segment).map_or(0, StreamMirror::bytes);
        status.segments.iter().find(|size| more(size.segment, size.bytes)).map(|size| size.segment)
    }

    /// Where the run stands, for people.
    pub(in crate::runner) fn measured(&self, run: &PlannedRun, spec: Option<&Spec>) -> progress::Event {
        let all = || self.folded();
        let threads = || all().flat_map(|folded| &folded.threads);
        progress::Event::Measured {
            target: run.target.clone(),
            run: run.name.clone(),
            board_stage: self.status.as_ref().map_or("unknown", |status| stage_name(status.stage)).to_owned(),
            cycles: threads().map(|thread| thread.histogram.total()).sum(),
            cycles_expected: spec.map(expected_cycles),
            missed: threads().map(|thread| thread.missed).sum(),
            max_ns: threads().filter_map(|thread| thread.max_ns()).max(),
            measured_ns: all().map(Folded::measured_ns).sum(),
            length_ns: spec.map(measuring_ns),
            loads: self.segments.values().next_back().map(|mirror| loads(mirror.so_far())).unwrap_or_default(),
        }
    }
}

/// What follows byte `from`. A segment that is not there yet, or that lost its unsynced end in a reset and is shorter
/// than the copy here, has nothing that follows.
async fn piece(board: &Board, run: &RunOnBoard, segment: u32, from: u64) -> Result<(Status, Vec<u8>), BoardError> {
    let refused = match board.follow(run, segment, from).await {
        Ok(Chunk { follow, bytes }) => return Ok((follow.status, bytes)),
        Err(error @ BoardError::Probe { .. }) => error,
        Err(error) => return Err(error),
    };
    let status = board.status(run).await?;
    match status.segments.iter().find(|size| size.segment == segment) {
        Some(size) if size.bytes > from => Err(refused),
        _ => Ok((status, Vec::new())),
    }
}

fn loads(folded: &Folded) -> Vec<LoadState> {
    let Some(header) = &folded.header else { return Vec::new() };
    let measured_ns = folded.measured_ns();
    let state = |(name, delta): (&String, &LoadDelta)| {
        let should_run = measured_ns.saturating_sub(delta.pause_ns);
        LoadState {
            name: name.clone(),
            duty: (should_run > 0).then(|| (delta.active_ns as f64 / should_run as f64).min(1.0)),
            failures: delta.failures,
        }
    };
    header.loads.iter().zip(&folded.loads).map(state).collect()
}

/// Time from the supervisor's start to the end of the measuring if nothing goes wrong, in ns.
fn nominal_ns(spec: &Spec) -> u64 {
    spec.warmup_ns.saturating_add(measuring_ns(spec))
}

fn measuring_ns(spec: &Spec) -> u64 {
    let longest = spec.measure.threads.iter().map(|thread| thread.interval_ns).max().unwrap_or(0);
    match spec.length {
        Length::DurationNs(ns) => ns,
        Length::Cycles(cycles) => cycles.saturating_mul(longest),
    }
}

fn expected_cycles(spec: &Spec) -> u64 {
    let of_thread = |interval_ns: u64| match spec.length {
        Length::DurationNs(ns) => ns / interval_ns.max(1),
        Length::Cycles(cycles) => cycles,
    };
    spec.measure.threads.iter().map(|thread| of_thread(thread.interval_ns)).sum()
}

fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Preparing => "preparing",
        Stage::WarmUp => "warm-up",
        Stage::Measuring => "measuring",
        Stage::Ending => "ending",
        Stage::Done => "done",
        Stage::Stopped => "stopped",
        Stage::Failed => "failed",
        Stage::Dead => "supervisor gone",
    }
}
