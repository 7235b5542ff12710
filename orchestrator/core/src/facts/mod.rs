//! What a board says about itself: captured text → values.
//!
//! The probe captures raw text (`latprobe facts`); everything is read here, so
//! that an old capture gains from a newer reader. A field is `None` when the
//! board did not say: unknown is never taken for a value.

mod captures;
mod config;
mod cpus;
mod interrupts;
mod isolation;
mod kernel;
mod kernel_log;
mod processes;
mod sched;
mod system;

use crate::campaign::model::Preemption;
use crate::target::Arch;
use captures::Captures;
use latprobe::cpulist::CpuList;
use latprobe::status::Capture;
use std::collections::{BTreeMap, BTreeSet};

pub use config::INSTALLED as INSTALLED_CONFIG;
pub(crate) use config::{is_config, matters as config_matters};
pub use cpus::{CpuFacts, IdleState, cpu_list_text};
pub use interrupts::is_local as is_local_interrupt;
pub use isolation::Partition;
pub use kernel::isolcpus_of_cmdline;
pub use kernel_log::LogLine;
pub use processes::Process;
pub use sched::{FairServer, RtThread, ThreadPolicy};
pub use system::{Mount, WorkDir};

/// State of a board at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    /// `uname -r`.
    pub release: Option<String>,
    /// `/proc/version`, one line.
    pub version: Option<String>,
    /// `uname -m`.
    pub machine: Option<String>,
    /// Instruction set, where it is one that latlab measures.
    pub arch: Option<Arch>,
    /// Preemption model that runs now.
    pub preemption: Option<Preemption>,
    /// Words of the kernel command line; quoted blanks do not split.
    pub cmdline: Option<Vec<String>>,
    /// `boot_id`, new at each boot.
    pub boot_id: Option<String>,
    /// Online CPUs.
    pub online: Option<CpuList>,
    /// CPUs without load balancing (`isolcpus=`).
    pub isolated: Option<CpuList>,
    /// CPUs that may stop their tick.
    pub nohz_full: Option<CpuList>,
    /// CPUs whose RCU callbacks run elsewhere (`rcu_nocbs=`).
    pub rcu_nocbs: Option<CpuList>,
    /// Frequency scaling, by CPU; CPUs without scaling are not listed.
    pub cpus: BTreeMap<u32, CpuFacts>,
    /// Options of the kernel's configuration with a known hand in latency, by name without `CONFIG_`: `y`, `m` or a value;
    /// one that is not set is absent. `None`: no configuration is at hand.
    pub config: Option<BTreeMap<String, String>>,
    /// ARM part numbers of the CPUs (`0xc09`: Cortex-A9).
    pub cpu_parts: BTreeSet<String>,
    /// Driver of the idle states; `none` where there is none.
    pub idle_driver: Option<String>,
    /// Idle states by CPU, shallowest first.
    pub idle_states: BTreeMap<u32, Vec<IdleState>>,
    /// CPUs that share a core with another: CPU → all threads of its core, itself included.
    pub siblings: BTreeMap<u32, CpuList>,
    /// Current clock source.
    pub clocksource: Option<String>,
    /// `clock_getres(CLOCK_MONOTONIC)`, in ns: 1 with high-resolution timers, else a tick.
    pub timer_resolution_ns: Option<u64>,
    /// `sched_rt_runtime_us`; -1: no throttling.
    pub rt_runtime_us: Option<i64>,
    /// `sched_rt_period_us`.
    pub rt_period_us: Option<i64>,
    /// Fair deadline server, by CPU (Linux 6.12 on, needs debugfs); `None`: cannot be seen.
    pub fair_server: Option<BTreeMap<u32, FairServer>>,
    /// Transparent huge pages: the chosen word.
    pub transparent_hugepage: Option<String>,
    /// Console log level, first number of `/proc/sys/kernel/printk`.
    pub console_level: Option<u32>,
    /// Enabled consoles (`ttyS0`).
    pub consoles: Option<Vec<String>>,
    /// Current tracer; `nop` when none.
    pub tracer: Option<String>,
    /// Events that the tracer records, by `set_event`; empty: none.
    pub trace_events: Option<Vec<String>>,
    /// Directory of the tracer's files, where it is mounted.
    pub tracing_dir: Option<&'static str>,
    /// `debugfs` is mounted, so that what lies there can be seen.
    pub debugfs: Option<bool>,
    /// Lockup detectors are on (`/proc/sys/kernel/watchdog`).
    pub watchdog: Option<bool>,
    /// Timers may move to busy CPUs (`timer_migration`).
    pub timer_migration: Option<bool>,
    /// Processes, kernel threads included.
    pub processes: Option<Vec<Process>>,
    /// Loaded modules.
    pub modules: Option<Vec<String>>,
    /// Graphics connectors with a display on (`card0-HDMI-A-1`).
    pub displays: Option<Vec<String>>,
    /// Cooling devices that hold something back: type → state.
    pub cooling: BTreeMap<String, u64>,
    /// Swap areas in use.
    pub swaps: Option<Vec<String>>,
    /// What is mounted where.
    pub mounts: Vec<Mount>,
    /// Cpusets that are partitions of their own, or exclusive.
    pub partitions: Vec<Partition>,
    /// CPUs that unbound workqueues may use.
    pub workqueue_cpus: Option<CpuList>,
    /// Version of Xenomai's core; absent: not a co-kernel, or not told.
    pub xenomai: Option<String>,
    /// What Cobalt's clock says of its calibration (`gravity: irq=… kernel=… user=…`).
    pub gravity: Option<String>,
    /// Threads with a real-time or deadline policy.
    pub rt_threads: Option<Vec<RtThread>>,
    /// Names of interrupts by the label of `/proc/interrupts`: chip, hardware number and devices as written there.
    pub interrupts: BTreeMap<String, String>,
    /// How often each fired since boot: label → CPU → count.
    pub interrupt_counts: BTreeMap<String, BTreeMap<u32, u64>>,
    /// CPUs that each numbered interrupt may go to, by number.
    pub irq_affinity: BTreeMap<u32, CpuList>,
    /// Total memory, in KiB.
    pub memory_total_kib: Option<u64>,
    /// Memory available without swapping, in KiB; before Linux 3.14 the free memory.
    pub memory_available_kib: Option<u64>,
    /// `oom_kill` of `/proc/vmstat` (Linux 4.13 on).
    pub oom_kills: Option<u64>,
    /// User the probe ran as.
    pub uid: Option<u32>,
    /// Programs looked for on the `PATH`: name → path, `None` where the board has none.
    pub tools: BTreeMap<String, Option<String>>,
    /// Directories that runs may be kept in.
    pub work_dirs: Vec<WorkDir>,
    /// Board model (device tree, else DMI).
    pub model: Option<String>,
    /// Kernel log, oldest line first.
    pub kernel_log: Option<Vec<LogLine>>,
    /// `CLOCK_MONOTONIC` of the capture, in ns.
    pub mono_ns: Option<u64>,
    /// Temperatures by zone name, in thousandths of a degree Celsius.
    pub temperatures_mc: BTreeMap<String, i64>,
}

impl Facts {
    /// Reads a capture. Never fails: what cannot be read is unknown.
    pub fn parse(captures: &[Capture]) -> Facts {
        let captures = Captures::new(captures);
        let mut facts = Facts::default();
        config::read(&captures, &mut facts);
        kernel::read(&captures, &mut facts);
        cpus::read(&captures, &mut facts);
        interrupts::read(&captures, &mut facts);
        isolation::read(&captures, &mut facts);
        sched::read(&captures, &mut facts);
        processes::read(&captures, &mut facts);
        system::read(&captures, &mut facts);
        facts
    }

    /// Where the board has the tool, if it was looked for and found.
    pub fn tool(&self, name: &str) -> Option<&str> {
        self.tools.get(name)?.as_deref()
    }

    /// Value of the last `key=value` word of the command line; `None` where there is none or the line is unknown.
    pub fn cmdline_value(&self, key: &str) -> Option<&str> {
        self.cmdline.as_ref()?.iter().rev().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    /// Whether the kernel is built with the option (`y`, `m` or a value); `None` where its configuration is not at hand.
    pub fn built_with(&self, option: &str) -> Option<bool> {
        Some(self.config.as_ref()?.contains_key(option))
    }

    /// Whether the command line holds `word`; `None` where it is unknown.
    pub fn cmdline_has(&self, word: &str) -> Option<bool> {
        Some(self.cmdline.as_ref()?.iter().any(|w| w == word))
    }
}

#[cfg(test)]
mod tests;
