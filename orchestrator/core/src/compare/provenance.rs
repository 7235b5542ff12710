//! Where a run's figures come from: everything that may make them differ, by name.

use crate::facts::{Facts, config_matters, cpu_list_text, is_config};
use crate::quantity::duration;
use crate::resolve::preemption_name;
use crate::result::RunResult;
use crate::units::format_duration;
use latprobe::spec::{Length, Spec};
use latprobe::status::Capture;
use latprobe::stream::Instrument;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Kinds of differences, the likeliest to matter first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// What measured, and how.
    Measurement,
    /// Which CPUs are there, are set apart, and how fast they run.
    Cpus,
    /// The kernel itself.
    Kernel,
    /// Words of the kernel command line.
    CommandLine,
    /// The stress loads.
    Loads,
    /// Kernel options known to matter for latency.
    KernelConfig,
    /// Clocks and timers.
    Clock,
    /// Scheduler limits, memory and tracing.
    System,
    /// The board.
    Board,
    /// Length and warm-up.
    Length,
    /// Other kernel options.
    OtherConfig,
    /// Anything else that was captured.
    Other,
}

impl Group {
    /// Name for people.
    pub fn name(self) -> &'static str {
        match self {
            Group::Measurement => "measurement",
            Group::Cpus => "CPUs",
            Group::Kernel => "kernel",
            Group::CommandLine => "command line",
            Group::Loads => "loads",
            Group::KernelConfig => "kernel config",
            Group::Clock => "clock",
            Group::System => "system",
            Group::Board => "board",
            Group::Length => "length",
            Group::OtherConfig => "other config",
            Group::Other => "other",
        }
    }

    /// Whether a difference is told in a comparison, not only in `latlab diff`.
    pub fn matters(self) -> bool {
        !matches!(self, Group::OtherConfig | Group::Other)
    }
}

/// Name of one circumstance.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// What kind it is.
    pub group: Group,
    /// Its name in the group.
    pub name: String,
}

/// What is known of one circumstance.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Known {
    /// Its value.
    Value(String),
    /// It is not there (no such word, option or file).
    Absent,
    /// The run does not tell.
    Unknown,
}

/// Everything that is known of where a run's figures come from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Provenance {
    values: BTreeMap<Key, Option<String>>,
    /// Groups whose members are all known: what is not listed is absent.
    complete: BTreeSet<Group>,
}

impl Provenance {
    /// Nothing known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a circumstance; `None` is unknown.
    pub fn with(mut self, group: Group, name: &str, value: Option<String>) -> Self {
        self.set(group, name, value);
        self
    }

    fn set(&mut self, group: Group, name: &str, value: Option<String>) {
        self.values.insert(Key { group, name: name.to_owned() }, value);
    }

    /// What is known of `key`.
    pub fn get(&self, key: &Key) -> Known {
        match self.values.get(key) {
            Some(Some(value)) => Known::Value(value.clone()),
            None if self.complete.contains(&key.group) => Known::Absent,
            Some(None) | None => Known::Unknown,
        }
    }

    /// Names of everything in it.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.values.keys()
    }

    /// Of a measured run: its result, what the board was told, what was read back, and the board before.
    pub fn of_run(
        result: &RunResult,
        spec: &Spec,
        instrument: Option<&Instrument>,
        facts: &Facts,
        captures: &[Capture],
    ) -> Self {
        // Each of these is set below, known or not: a name that is missing is not there.
        let set = [Group::Measurement, Group::Cpus, Group::Kernel, Group::Loads, Group::Clock];
        let set = set.into_iter().chain([Group::System, Group::Board, Group::Length]);
        let mut all = Self { complete: set.collect(), ..Self::default() };
        all.measurement(result, spec, instrument);
        all.cpus(result, spec, facts);
        all.kernel(result, facts, captures);
        all.loads(spec);
        all.system(spec, instrument, facts);
        all.board(result, facts);
        all.rest(captures);
        all
    }

    fn measurement(&mut self, result: &RunResult, spec: &Spec, instrument: Option<&Instrument>) {
        let (setup, measure) = (&result.setup, &spec.measure);
        let g = Group::Measurement;
        self.set(g, "instrument", Some(setup.instrument.clone()));
        self.set(g, "instrument version", setup.instrument_version.clone());
        self.set(g, "policy", Some(kebab(&measure.policy)));
        self.set(g, "priority", Some(measure.priority.to_string()));
        self.set(g, "sleep", Some(kebab(&measure.sleep)));
        let threads = measure.threads.iter();
        let cpus = threads.clone().map(|t| t.cpu.map_or("any".to_owned(), |cpu| cpu.to_string()));
        self.set(g, "measured CPUs", Some(listed(cpus)));
        self.set(g, "interval", Some(listed(threads.map(|t| format_duration(t.interval_ns)))));
        self.set(g, "bins", Some(format!("{} of {}", measure.bins, format_duration(measure.bin_width_ns))));
        self.set(g, "memory locked", instrument.map(|i| i.memory_locked.to_string()));
        self.set(g, "cpu_dma_latency", instrument.map(|i| i.cpu_dma_latency.clone()));
        let length = match spec.length {
            Length::DurationNs(ns) => format_duration(ns),
            Length::Cycles(cycles) => format!("{cycles} cycles"),
        };
        self.set(Group::Length, "length", Some(length));
        self.set(Group::Length, "warm-up", Some(duration(spec.warmup_ns)));
    }

    fn cpus(&mut self, result: &RunResult, spec: &Spec, facts: &Facts) {
        let g = Group::Cpus;
        let list = |cpus: &Option<_>| cpus.as_ref().map(|cpus| cpu_list_text(Some(cpus)));
        self.set(g, "online", list(&facts.online));
        self.set(g, "isolated", list(&facts.isolated));
        self.set(g, "nohz_full", list(&facts.nohz_full));
        self.set(g, "rcu_nocbs", list(&facts.rcu_nocbs));
        // Facts are from before the settings of the run.
        let applied = spec.apply.iter().filter(|s| s.path.ends_with("/scaling_governor")).map(|s| s.value.clone());
        let applied: BTreeSet<String> = applied.collect();
        let governor = if applied.is_empty() { result.board.governor.clone() } else { Some(listed(applied)) };
        self.set(g, "governor", governor);
        let range = |cpu: &crate::facts::CpuFacts| {
            let khz = |khz: Option<u64>| khz.map_or("?".to_owned(), |khz| khz.to_string());
            format!("{} to {} kHz", khz(cpu.frequency_min_khz), khz(cpu.frequency_max_khz))
        };
        let ranges: BTreeSet<String> = facts.cpus.values().map(range).collect();
        let ranges = if ranges.is_empty() { "none".to_owned() } else { listed(ranges) };
        self.set(g, "frequency", facts.online.as_ref().map(|_| ranges));
    }

    fn kernel(&mut self, result: &RunResult, facts: &Facts, captures: &[Capture]) {
        let g = Group::Kernel;
        self.set(g, "release", result.board.kernel_release.clone());
        self.set(g, "version", facts.version.clone());
        self.set(g, "preemption", facts.preemption.map(|model| preemption_name(model).to_owned()));
        if let Some(words) = &facts.cmdline {
            self.complete.insert(Group::CommandLine);
            let mut by_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            for word in words {
                by_name.entry(word.split('=').next().unwrap_or(word)).or_default().push(word);
            }
            by_name.into_iter().for_each(|(name, words)| self.set(Group::CommandLine, name, Some(words.join(" "))));
        }
        let Some(config) = captures.iter().find(|c| is_config(&c.path)).and_then(|c| c.text.as_deref()) else {
            return;
        };
        self.complete.extend([Group::KernelConfig, Group::OtherConfig]);
        for line in config.lines() {
            if let Some((name, value)) = line.strip_prefix("CONFIG_").and_then(|rest| rest.split_once('=')) {
                let group = if config_matters(name) { Group::KernelConfig } else { Group::OtherConfig };
                self.set(group, name, Some(value.to_owned()));
            }
        }
    }

    fn loads(&mut self, spec: &Spec) {
        for load in &spec.loads {
            let mut text = load.argv.join(" ");
            if let Some(cpus) = &load.cpus {
                text += &format!(" on CPUs {}", listed(cpus.iter().map(ToString::to_string)));
            }
            if load.pause_ns > 0 {
                text += &format!(", pause {}", format_duration(load.pause_ns));
            }
            self.set(Group::Loads, &load.name, Some(text));
        }
    }

    fn system(&mut self, spec: &Spec, instrument: Option<&Instrument>, facts: &Facts) {
        let g = Group::Clock;
        self.set(g, "clocksource", facts.clocksource.clone());
        self.set(g, "clock call", instrument.map(|i| i.selftest.clock_call.clone()));
        self.set(g, "sleep call", instrument.map(|i| i.selftest.sleep_call.clone()));
        self.set(g, "timer resolution", instrument.map(|i| format_duration(i.selftest.timer_resolution_ns)));
        let g = Group::System;
        // As it is during the run: what the spec sets counts.
        let applied = |path: &str| spec.apply.iter().rev().find(|s| s.path == path).map(|s| s.value.clone());
        let runtime = applied("/proc/sys/kernel/sched_rt_runtime_us");
        self.set(g, "sched_rt_runtime_us", runtime.or_else(|| facts.rt_runtime_us.map(|us| us.to_string())));
        self.set(g, "sched_rt_period_us", facts.rt_period_us.map(|us| us.to_string()));
        let huge = applied("/sys/kernel/mm/transparent_hugepage/enabled");
        self.set(g, "transparent_hugepage", huge.or_else(|| facts.transparent_hugepage.clone()));
        self.set(g, "tracer", facts.tracer.clone());
        let console = applied("/proc/sys/kernel/printk").or_else(|| facts.console_level.map(|level| level.to_string()));
        self.set(g, "console level", console);
        for setting in spec.apply.iter().filter(|s| !s.path.ends_with("/scaling_governor")) {
            self.set(Group::System, &format!("applied {}", setting.path), Some(setting.value.clone()));
        }
    }

    fn board(&mut self, result: &RunResult, facts: &Facts) {
        let g = Group::Board;
        self.set(g, "target", Some(result.identity.target.clone()));
        self.set(g, "model", facts.model.clone());
        self.set(g, "machine", facts.machine.clone());
        self.set(g, "memory", facts.memory_total_kib.map(|kib| format!("{kib} KiB")));
        self.set(g, "emulated", Some(result.emulated.to_string()));
    }

    /// Captured files that say how the board is set up rather than what it is doing.
    fn rest(&mut self, captures: &[Capture]) {
        if captures.is_empty() {
            return;
        }
        self.complete.insert(Group::Other);
        for capture in captures.iter().filter(|c| says_how(&c.path)) {
            if let Some(text) = &capture.text {
                let text = text.trim_end_matches(|c: char| c == '\0' || c.is_whitespace());
                self.set(Group::Other, &capture.path, Some(text.replace('\n', " ")));
            } else if capture.error.as_deref() != Some("ENOENT") {
                self.set(Group::Other, &capture.path, None);
            }
        }
    }
}

/// Name of a plain enumeration as in files.
fn kebab(value: &impl Serialize) -> String {
    let json = serde_json::to_value(value).ok();
    json.and_then(|json| json.as_str().map(str::to_owned)).unwrap_or_default()
}

fn listed(parts: impl IntoIterator<Item = String>) -> String {
    let mut parts: Vec<String> = parts.into_iter().collect();
    parts.dedup();
    parts.join(", ")
}

fn says_how(path: &str) -> bool {
    const STARTS: [&str; 22] = [
        "/proc/sys/kernel/timer_migration",
        "/proc/sys/kernel/watchdog",
        "/proc/sys/kernel/nmi_watchdog",
        "/proc/sys/kernel/soft_watchdog",
        "/proc/sys/kernel/numa_balancing",
        "/proc/sys/kernel/ftrace_enabled",
        "/proc/sys/vm/stat_interval",
        "/proc/sys/vm/swappiness",
        "/proc/sys/vm/compaction_proactiveness",
        "/proc/swaps",
        "/proc/xenomai/version",
        "/proc/ipipe/version",
        "/sys/devices/virtual/workqueue/",
        "/sys/bus/workqueue/",
        "/sys/kernel/mm/",
        "/sys/module/",
        "/sys/kernel/debug/sched",
        "/sys/kernel/tracing/",
        "/sys/fs/cgroup/",
        "/proc/irq/",
        "/etc/os-release",
        "/sys/firmware/devicetree/",
    ];
    let cpu = path.starts_with("/sys/devices/system/cpu/");
    let of_cpu =
        ["scaling_driver", "current_driver", "current_governor", "disable", "pm_qos_resume_latency_us", "control"];
    STARTS.iter().any(|start| path.starts_with(start)) || (cpu && of_cpu.iter().any(|end| path.ends_with(end)))
}
