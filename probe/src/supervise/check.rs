//! Whether a spec can be executed as it stands.

use crate::error::{Error, Result};
use latprobe::{
    cpulist::{CpuList, MAX_CPU},
    spec::{Length, Load, Measure, Mode, Policy, SPEC_FORMAT, Setting, Sleep, Spec},
};
use std::collections::BTreeSet;

const SECOND_NS: u64 = 1_000_000_000;
/// Longest time in a spec: a century keeps every sum of two far from the end of 64 bits.
const MAX_NS: u64 = 100 * 366 * 24 * 3600 * SECOND_NS;
const MAX_INTERVAL_NS: u64 = 3600 * SECOND_NS;

fn wrong(field: impl Into<String>, problem: impl Into<String>) -> Error {
    Error::Spec { field: field.into(), problem: problem.into() }
}

fn within(field: &str, value: u64, least: u64, most: u64, meaning: &str) -> Result<()> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(wrong(field, format!("{value} is not between {least} and {most} ({meaning})")))
}

/// Checks every field that the types leave open.
pub(super) fn check(spec: &Spec) -> Result<()> {
    if spec.format != SPEC_FORMAT {
        let problem =
            format!("{} is not understood, this probe reads {SPEC_FORMAT}: deploy the one that fits", spec.format);
        return Err(wrong("format", problem));
    }
    name("run_id", &spec.run_id)?;
    check_measure(&spec.measure)?;
    check_mode(spec)?;
    match spec.length {
        Length::DurationNs(ns) => within("length.duration_ns", ns, 1, MAX_NS, "ns")?,
        Length::Cycles(cycles) => within("length.cycles", cycles, 1, 1 << 62, "wake-ups")?,
    }
    within("warmup_ns", spec.warmup_ns, 0, MAX_NS, "ns")?;
    within("deadline_ns", spec.deadline_ns, 1, MAX_NS, "ns")?;
    within("checkpoint_ns", spec.checkpoint_ns, SECOND_NS / 10, 3600 * SECOND_NS, "ns, 100 ms to 1 h")?;
    within("sync_ns", spec.sync_ns, 0, 60 * SECOND_NS, "ns, up to 60 s")?;
    spec.housekeeping_cpus.iter().try_for_each(|cpu| cpu_number("housekeeping_cpus", *cpu))?;
    let mut names = BTreeSet::new();
    for (i, load) in spec.loads.iter().enumerate() {
        check_load(i, load)?;
        if !names.insert(&load.name) {
            return Err(wrong(format!("loads[{i}].name"), format!("`{}` is there twice", load.name)));
        }
    }
    if let Some(from) = spec.lower_from {
        within("lower_from", from.into(), 2, 99, "a priority with one below it")?;
    }
    if spec.halt.iter().any(|name| name.is_empty() || name.contains('/')) {
        return Err(wrong("halt", "holds no name of a process"));
    }
    spec.apply.iter().enumerate().try_for_each(|(i, setting)| check_setting(i, setting))
}

fn check_measure(measure: &Measure) -> Result<()> {
    within("measure.threads", measure.threads.len() as u64, 1, 1024, "threads")?;
    for (i, thread) in measure.threads.iter().enumerate() {
        let field = |name: &str| format!("measure.threads[{i}].{name}");
        thread.cpu.map_or(Ok(()), |cpu| cpu_number(&field("cpu"), cpu))?;
        within(&field("interval_ns"), thread.interval_ns, 10_000, MAX_INTERVAL_NS, "ns, 10 us to 1 h")?;
        within(&field("offset_ns"), thread.offset_ns, 0, MAX_INTERVAL_NS, "ns, up to 1 h")?;
    }
    match measure.policy {
        Policy::Fifo | Policy::Rr => within("measure.priority", measure.priority.into(), 1, 99, "for fifo and rr")?,
        Policy::Other | Policy::Deadline => {
            within("measure.priority", measure.priority.into(), 0, 0, "for this policy")?
        }
    }
    within("measure.bin_width_ns", measure.bin_width_ns, 1, 3600 * SECOND_NS, "ns")?;
    within("measure.bins", measure.bins.into(), 1, 1_000_000, "bins")?;
    within("measure.worst", measure.worst.into(), 0, 1024, "samples")?;
    within("measure.block_ns", measure.block_ns, SECOND_NS / 10, 3600 * SECOND_NS, "ns, 100 ms to 1 h")?;
    if measure.sleep == Sleep::Relative && measure.policy == Policy::Deadline {
        return Err(wrong("measure.sleep", "a deadline thread keeps its period by absolute sleeps"));
    }
    Ok(())
}

fn check_mode(spec: &Spec) -> Result<()> {
    let measure = &spec.measure;
    match &measure.mode {
        Mode::Measure => Ok(()),
        Mode::Hunt(hunt) => {
            within("measure.mode.hunt.at_least_ns", hunt.at_least_ns, 1, 3600 * SECOND_NS, "ns, up to 1 h")?;
            within("measure.worst", measure.worst.into(), 1, 1024, "what is hunted is a worst sample")?;
            let plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
            let words = |text: &str| text.split(':').all(|word| !word.is_empty() && word.chars().all(plain));
            let event = |text: &&String| !words(text) || text.split(':').count() != 2;
            if let Some(wrong_one) = hunt.events.iter().find(event) {
                return Err(wrong("measure.mode.hunt.events", format!("`{wrong_one}` is no event: group:name")));
            }
            match words(&hunt.tracer) && !hunt.tracer.contains(':') {
                true => Ok(()),
                false => Err(wrong("measure.mode.hunt.tracer", format!("`{}` is no tracer's name", hunt.tracer))),
            }
        }
        Mode::Noise { duty_percent } => {
            within(
                "measure.mode.noise.duty_percent",
                u64::from(*duty_percent),
                1,
                95,
                "percent; more could hang a board",
            )?;
            // A loop takes some 20 ns: 32 bits of them must last from one checkpoint to the next.
            within("checkpoint_ns", spec.checkpoint_ns, SECOND_NS / 10, 30 * SECOND_NS, "ns, up to 30 s for noise")?;
            for (i, thread) in measure.threads.iter().enumerate() {
                let field = format!("measure.threads[{i}].interval_ns");
                within(&field, thread.interval_ns, 1, SECOND_NS, "ns, up to 1 s for noise")?;
            }
            if !matches!(spec.length, Length::DurationNs(_)) {
                return Err(wrong("length", "noise is measured for a time, not for cycles"));
            }
            match measure.sleep == Sleep::Absolute && measure.policy != Policy::Deadline {
                true => Ok(()),
                false => Err(wrong("measure.sleep", "noise takes absolute sleeps and no deadline policy")),
            }
        }
    }
}

fn check_load(i: usize, load: &Load) -> Result<()> {
    let field = |name: &str| format!("loads[{i}].{name}");
    name(&field("name"), &load.name)?;
    if load.argv.first().is_none_or(String::is_empty) {
        return Err(wrong(field("argv"), "the program is missing"));
    }
    if load.argv.iter().any(|word| word.contains('\0')) {
        return Err(wrong(field("argv"), "a word holds a zero byte"));
    }
    if let Some(cpus) = &load.cpus {
        if cpus.is_empty() {
            return Err(wrong(field("cpus"), "is empty: leave it out for no affinity"));
        }
        cpus.iter().try_for_each(|cpu| cpu_number(&field("cpus"), *cpu))?;
    }
    within(&field("pause_ns"), load.pause_ns, 0, MAX_NS, "ns")
}

fn check_setting(i: usize, setting: &Setting) -> Result<()> {
    let path = &setting.path;
    let inside = path.starts_with("/proc/") || path.starts_with("/sys/");
    if !inside || path.contains('\0') || path.split('/').any(|part| part == "..") {
        return Err(wrong(format!("apply[{i}].path"), format!("`{path}` is no plain path below /proc or /sys")));
    }
    Ok(())
}

fn name(field: &str, text: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if text.is_empty() || text.len() > 200 || !text.chars().all(plain) || text.starts_with('.') {
        let problem =
            format!("`{text}` is no name: letters, digits, `.`, `_` and `-`, not starting with `.`, up to 200");
        return Err(wrong(field, problem));
    }
    Ok(())
}

fn cpu_number(field: &str, cpu: u32) -> Result<()> {
    within(field, cpu.into(), 0, MAX_CPU.into(), "a CPU number")
}

/// What is impossible on this board as it is now.
pub(super) fn check_board(spec: &Spec, online: &CpuList) -> Result<()> {
    for (i, thread) in spec.measure.threads.iter().enumerate() {
        if let Some(cpu) = thread.cpu.filter(|cpu| !online.contains(*cpu)) {
            let problem = format!("CPU {cpu} is not online (online: {online})");
            return Err(wrong(format!("measure.threads[{i}].cpu"), problem));
        }
    }
    if let Mode::Noise { .. } = spec.measure.mode {
        let busy: CpuList = spec.measure.threads.iter().filter_map(|thread| thread.cpu).collect();
        if spec.measure.threads.iter().any(|thread| thread.cpu.is_none()) || online.without(&busy).is_empty() {
            let problem = format!("noise takes every CPU (online: {online}): one must be left for the system");
            return Err(wrong("measure.threads", problem));
        }
    }
    for (i, load) in spec.loads.iter().enumerate() {
        if let Some(cpu) = load.cpus.iter().flatten().find(|cpu| !online.contains(**cpu)) {
            let problem = format!("CPU {cpu} is not online (online: {online})");
            return Err(wrong(format!("loads[{i}].cpus"), problem));
        }
        let program = &load.argv[0];
        if program != super::loads::BUILT_IN && crate::facts::find_program(program).is_none() {
            let problem = format!("the board has no program `{program}` (PATH: {})", crate::facts::search_path());
            return Err(wrong(format!("loads[{i}].argv"), problem));
        }
    }
    Ok(())
}
