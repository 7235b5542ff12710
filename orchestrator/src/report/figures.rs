//! Stored runs → figures.

use super::statistics;
use super::stored::{self, Stored};
use crate::store::{Contact, ExecutionDir, PlannedRun, StoreError};
use latlab_core::campaign::model::Settings;
use latlab_core::figure::{self, Figure, Material};
use latlab_core::latency::assessment::Assessment;
use latlab_core::latency::blocks::Series;
use latlab_core::latency::timeline::Timeline;
use latlab_core::result::{Identity, RunResult};
use latprobe::stream::Folded;

/// A run with its figures.
#[derive(Debug)]
pub struct Pictured {
    /// The run.
    pub result: Box<RunResult>,
    /// The settings of its cell.
    pub settings: Settings,
    /// Its statistics.
    pub assessment: Assessment,
    /// Its block maxima.
    pub series: Series,
    /// Its figures; none without samples.
    pub figures: Vec<Figure>,
}

/// A run that was measured, or why it was not.
#[derive(Debug)]
pub enum Found {
    /// It was.
    Measured(Box<Pictured>),
    /// It was not.
    NotMeasured(Box<Identity>, Option<String>),
}

/// Reads a run of `execution` and makes its figures.
pub fn of_run(execution: &ExecutionDir, planned: &PlannedRun) -> Result<Found, StoreError> {
    let (result, segments) = match stored::read(execution, planned)? {
        Stored::Measured(result, segments) => (result, segments),
        Stored::NotStarted(identity, reason) => return Ok(Found::NotMeasured(Box::new(identity), reason)),
    };
    let Some(cell) = execution.plan().cell(planned) else {
        return Ok(Found::NotMeasured(Box::new(result.identity), Some("its plan does not hold its cell".to_owned())));
    };
    let run = execution.run_dir(&planned.name);
    let streams = run.segments()?.into_iter().map(|segment| run.segment_bytes(segment));
    let streams = streams.collect::<Result<Vec<Vec<u8>>, _>>()?;
    let timeline = Timeline::new(streams.iter().map(Vec::as_slice));
    let settings = cell.settings.clone();
    let series = Series::new(&segments, settings.measure.block_ns);
    let assessment = statistics::assess(&result, &segments, &settings);
    let contacts = contacts(&run.contacts()?, &segments);
    let material = Material {
        result: &result,
        segments: &segments,
        timeline: &timeline,
        series: &series,
        assessment: &assessment,
        gate: &settings.gate,
        contacts: &contacts,
    };
    let figures = figure::of_run(&material);
    Ok(Found::Measured(Box::new(Pictured { figures, result, settings, assessment, series })))
}

/// Contacts by the segment of the boot that they found.
fn contacts(contacts: &[Contact], segments: &[Folded]) -> Vec<(usize, u64, u64)> {
    let boots = segments.iter().map(|segment| segment.header.as_ref().map(|header| header.boot_id.as_str()));
    let of_segment = |(number, boot): (usize, Option<&str>)| {
        let own = contacts.iter().filter(move |contact| Some(contact.boot_id.as_str()) == boot);
        let times = own.map(move |c| (number, c.mono_ns.saturating_sub(c.took_ns), c.mono_ns));
        times.collect::<Vec<_>>()
    };
    boots.enumerate().flat_map(of_segment).collect()
}
