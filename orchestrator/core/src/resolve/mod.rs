//! A cell of the campaign on one board, as it is now: is the board in the state that was asked for, and what exactly shall the probe do.

mod conditions;
mod continuation;
mod loads;
mod settings;

use crate::campaign::model::{Cell, Cpus, Instrument, Measure, Settings};
use crate::facts::{Facts, cpu_list_text};
use crate::recipe;
use crate::target::{Kernel, Target};
use latprobe::cpulist::CpuList;
use latprobe::spec::{self, Length, Mode, SPEC_FORMAT, Sleep, Spec, Thread};

pub use conditions::preemption_name;
pub use conditions::{Condition, boot_conditions, conditions};
pub(crate) use conditions::{QUIET_LEVEL, governors, rt_runtime_asked_us, rt_runtime_us_per_second};
pub(crate) use continuation::changed;
pub use continuation::{NotContinued, remainder};

/// Something that was asked of the board and does not hold: the cell is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: asked for {asked}, found {found}; {remedy}")]
pub struct Mismatch {
    /// What it is about (`isolated CPUs`).
    pub what: String,
    /// What was asked for.
    pub asked: String,
    /// What the board has.
    pub found: String,
    /// What can be done.
    pub remedy: String,
}

/// Everything that was asked for and is known not to hold: board, kernel variant, boot arguments, `[require]`.
/// What the board does not tell is no mismatch here; the verdict names it.
pub fn check_boot(settings: &Settings, target: &Target, facts: &Facts) -> Vec<Mismatch> {
    conditions(settings, target, facts)
        .into_iter()
        .filter(|condition| condition.holds == Some(false))
        .map(|Condition { what, asked, found, remedy, .. }| Mismatch {
            what,
            asked,
            found: found.unwrap_or_else(|| "unknown".to_owned()),
            remedy,
        })
        .collect()
}

/// Why a cell cannot be measured on a board.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A measured or load CPU is not online.
    #[error("{user} wants CPU {cpus}, but only {online} are online on this board; change `cpus`")]
    OfflineCpu {
        /// `measure` or the load.
        user: String,
        /// CPUs that are missing.
        cpus: String,
        /// CPUs that are there.
        online: String,
    },
    /// `cpus = "all"` or a list, and the board does not tell its CPUs.
    #[error(
        "the board does not tell which CPUs are online (/sys/devices/system/cpu/online): give the threads without CPUs, `threads = 1`"
    )]
    OnlineUnknown,
    /// `cpus = "isolated"` without any.
    #[error(
        "`measure.cpus = \"isolated\"`, but no CPU is isolated on this board; boot it with isolcpus=, or name the CPUs"
    )]
    NothingIsolated,
    /// `cpus = "isolated"`, and it cannot be seen which ones are.
    #[error("`measure.cpus = \"isolated\"`, but the board does not tell which CPUs are isolated; name the CPUs")]
    IsolatedUnknown,
    /// A load needs a program that the board lacks.
    #[error("load `{load}` needs `{tool}`, which is not on the board's PATH; install it there or take the load out")]
    MissingTool {
        /// Name of the load.
        load: String,
        /// Program.
        tool: String,
    },
    /// `[apply]` wants a governor that a CPU lacks.
    #[error("`apply.governor = \"{governor}\"`, but CPU {cpu} has only {available}")]
    NoSuchGovernor {
        /// Asked for.
        governor: String,
        /// CPU that lacks it.
        cpu: u32,
        /// Those it has.
        available: String,
    },
    /// Nowhere to move interrupts or work to.
    #[error("`apply.{key} = \"housekeeping\"`, but every CPU of this board is measured; measure fewer, or take it out")]
    NoHousekeeping {
        /// Key of `[apply]`.
        key: String,
    },
    /// Settings can only be changed by root.
    #[error(
        "`[apply]` must write {path}, which only root may, and the login is user {uid}; give the target `become = \"sudo -n\"`, or take it out of [apply]"
    )]
    NotRoot {
        /// First file that would be written.
        path: String,
        /// User id of the login.
        uid: u32,
    },
    /// An instrument that latlab does not drive yet.
    #[error("`measure.instrument = \"{instrument}\"` is not built yet; only `latprobe` is")]
    InstrumentNotBuilt {
        /// As written in campaign files.
        instrument: String,
    },
    /// An in-band instrument on a co-kernel.
    #[error("kernel variant `{kernel}` is a co-kernel: `latprobe` would measure Linux, not the co-kernel")]
    InBandOnCoKernel {
        /// Variant.
        kernel: String,
    },
}

/// Name of an instrument as written in campaign files.
pub fn instrument_name(instrument: Instrument) -> &'static str {
    match instrument {
        Instrument::Latprobe => "latprobe",
        Instrument::LatprobeHunt => "latprobe-hunt",
        Instrument::LatprobeNoise => "latprobe-noise",
        Instrument::Cyclictest => "cyclictest",
        Instrument::XenomaiCyclictest => "xenomai-cyclictest",
        Instrument::XenomaiLatency => "xenomai-latency",
        Instrument::Timerlat => "timerlat",
    }
}

/// Time for setting up and for stopping loads and putting settings back, on a slow board under full load.
const OVERHEAD_NS: u64 = 120_000_000_000;
/// Longest time between syncs of the stream (design: at most 60 s of a run are lost with a board).
const SYNC_NS: u64 = 60_000_000_000;

/// What the probe shall do for `cell` on a board in the state `facts`.
pub fn spec(cell: &Cell, target: &Target, facts: &Facts, run_id: &str) -> Result<Spec, Refusal> {
    let settings = &cell.settings;
    let measure = &settings.measure;
    check_instrument(settings, target)?;
    let threads = threads(measure, facts)?;
    let pinned: CpuList = threads.iter().filter_map(|thread| thread.cpu).collect();
    let measured = if pinned.is_empty() { facts.online.clone().unwrap_or_default() } else { pinned };
    let apply = &settings.apply;
    Ok(Spec {
        format: SPEC_FORMAT,
        run_id: run_id.to_owned(),
        first_segment: 0,
        deadline_ns: deadline_ns(settings, &threads),
        measure: spec::Measure {
            threads,
            policy: measure.policy,
            priority: measure.priority,
            mlock: measure.mlock,
            bin_width_ns: measure.bin_width_ns,
            bins: measure.bins,
            worst: measure.worst,
            block_ns: measure.block_ns,
            sleep: measure.sleep,
            cpu_dma_latency: measure.cpu_dma_latency,
            mode: mode(measure),
        },
        length: settings.length,
        warmup_ns: measure.warmup_ns,
        checkpoint_ns: settings.collect.checkpoint_ns,
        sync_ns: SYNC_NS,
        housekeeping_cpus: Vec::new(),
        loads: settings.loads.iter().map(|load| loads::load(load, facts)).collect::<Result<_, _>>()?,
        apply: settings::apply(apply, facts, &measured)?,
        halt: apply
            .time_sync
            .map_or_else(Vec::new, |_| recipe::TIME_DAEMONS.iter().map(|name| (*name).to_owned()).collect()),
        lower_from: apply.rt_threads.is_some().then_some(measure.priority).filter(|priority| *priority > 1),
        accept: measure.accept.clone(),
    })
}

/// Share of each period that noise is measured where the campaign does not say, in percent: below what the kernel's
/// real-time throttling leaves, which is 95 %.
const DUTY_PERCENT: u32 = 90;

fn mode(measure: &Measure) -> Mode {
    match (measure.instrument, &measure.hunt) {
        (Instrument::LatprobeHunt, Some(hunt)) => Mode::Hunt(hunt.clone()),
        (Instrument::LatprobeNoise, _) => Mode::Noise { duty_percent: measure.duty_percent.unwrap_or(DUTY_PERCENT) },
        _ => Mode::Measure,
    }
}

fn check_instrument(settings: &Settings, target: &Target) -> Result<(), Refusal> {
    let instrument = settings.measure.instrument;
    if !matches!(instrument, Instrument::Latprobe | Instrument::LatprobeHunt | Instrument::LatprobeNoise) {
        return Err(Refusal::InstrumentNotBuilt { instrument: instrument_name(instrument).to_owned() });
    }
    match &settings.boot.kernel {
        Some(kernel) if variant(target, kernel).is_some_and(|variant| variant.cobalt) => {
            Err(Refusal::InBandOnCoKernel { kernel: kernel.clone() })
        }
        _ => Ok(()),
    }
}

fn variant<'a>(target: &'a Target, name: &str) -> Option<&'a Kernel> {
    target.kernels.get(name)
}

fn threads(measure: &Measure, facts: &Facts) -> Result<Vec<Thread>, Refusal> {
    let cpus: Vec<Option<u32>> = match &measure.cpus {
        Cpus::Unpinned(count) => (0..*count).map(|_| None).collect(),
        Cpus::All => pinned(facts.online.as_ref().ok_or(Refusal::OnlineUnknown)?),
        Cpus::Isolated => match facts.isolated.as_ref() {
            None => return Err(Refusal::IsolatedUnknown),
            Some(isolated) if isolated.is_empty() => return Err(Refusal::NothingIsolated),
            Some(isolated) => pinned(&online_only("measure", isolated, facts)?),
        },
        Cpus::List(list) => pinned(&online_only("measure", list, facts)?),
    };
    let thread = |(n, cpu): (u64, Option<u32>)| Thread {
        cpu,
        interval_ns: measure.interval_ns.saturating_add(measure.distance_ns.saturating_mul(n)),
        offset_ns: measure.offset_ns.saturating_mul(n),
    };
    Ok((0..).zip(cpus).map(thread).collect())
}

fn pinned(cpus: &CpuList) -> Vec<Option<u32>> {
    cpus.as_slice().iter().copied().map(Some).collect()
}

/// `cpus`, all of which must be online.
fn online_only(user: &str, cpus: &CpuList, facts: &Facts) -> Result<CpuList, Refusal> {
    let online = facts.online.as_ref().ok_or(Refusal::OnlineUnknown)?;
    let missing = cpus.without(online);
    if missing.is_empty() {
        return Ok(cpus.clone());
    }
    Err(Refusal::OfflineCpu { user: user.to_owned(), cpus: missing.to_string(), online: cpu_list_text(Some(online)) })
}

/// Warm-up and measuring, with a tenth and [`OVERHEAD_NS`] to spare. Where cycles are asked for,
/// missed periods and drift stretch the run: twice the nominal time.
fn deadline_ns(settings: &Settings, threads: &[Thread]) -> u64 {
    let longest_ns = threads.iter().map(|t| t.interval_ns).max().unwrap_or(0);
    let measuring_ns = match settings.length {
        Length::DurationNs(ns) => ns,
        Length::Cycles(cycles) => cycles.saturating_mul(longest_ns).saturating_mul(2),
    };
    let drift_ns = if settings.measure.sleep == Sleep::Relative { measuring_ns } else { 0 };
    let offset_ns = threads.iter().map(|t| t.offset_ns).max().unwrap_or(0);
    let nominal_ns =
        [measuring_ns, drift_ns, settings.measure.warmup_ns, offset_ns].into_iter().fold(0, u64::saturating_add);
    nominal_ns.saturating_add(nominal_ns / 10).saturating_add(OVERHEAD_NS)
}

#[cfg(test)]
mod tests;
