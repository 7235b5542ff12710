//! CPUs: which there are, which are set apart, how fast they run.

use super::Facts;
use super::captures::Captures;
use super::kernel::isolcpus_of_cmdline;
use latprobe::cpulist::CpuList;
use std::collections::{BTreeMap, BTreeSet};

/// Frequency scaling of one CPU.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CpuFacts {
    /// `scaling_governor`.
    pub governor: Option<String>,
    /// `scaling_available_governors`; empty: not told.
    pub governors: Vec<String>,
    /// `scaling_cur_freq`, in kHz.
    pub frequency_khz: Option<u64>,
    /// `scaling_min_freq`, in kHz.
    pub frequency_min_khz: Option<u64>,
    /// `scaling_max_freq`, in kHz.
    pub frequency_max_khz: Option<u64>,
}

/// `none` for the empty set, the kernel's list text otherwise, `unknown` where it is not known.
pub fn cpu_list_text(cpus: Option<&CpuList>) -> String {
    match cpus {
        None => "unknown".to_owned(),
        Some(cpus) if cpus.is_empty() => "none".to_owned(),
        Some(cpus) => cpus.to_string(),
    }
}

pub(super) fn read(captures: &Captures, facts: &mut Facts) {
    let list = |path: &str| CpuList::parse(captures.text(path)?).ok();
    facts.online = list("/sys/devices/system/cpu/online");
    let cmdline = facts.cmdline.as_deref();
    facts.isolated = list("/sys/devices/system/cpu/isolated")
        .or_else(|| isolated_before_4_2(cmdline?, captures, facts.online.as_ref()?));
    facts.nohz_full = nohz_full(captures, cmdline);
    facts.rcu_nocbs = cmdline.and_then(|cmdline| cmdline_list(cmdline, "rcu_nocbs="));
    facts.cpus = scaling(captures, facts.online.as_ref());
    const IDLE_DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";
    facts.idle_driver = match captures.is_missing(IDLE_DRIVER) {
        true => Some("none".to_owned()),
        false => captures.word(IDLE_DRIVER).map(str::to_owned),
    };
    facts.cpu_parts = captures.text("/proc/cpuinfo").map(cpu_parts).unwrap_or_default();
    facts.idle_states = idle_states(captures, facts.online.as_ref());
    facts.siblings = siblings(captures, facts.online.as_ref());
}

/// `CPU part\t: 0xc09`, one line per ARM CPU.
fn cpu_parts(text: &str) -> BTreeSet<String> {
    let part = |line: &str| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "CPU part").then(|| value.trim().to_owned())
    };
    text.lines().filter_map(part).collect()
}

/// An idle state of a CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleState {
    /// Its name (`WFI`, `C6`).
    pub name: String,
    /// Time to leave it, in us, as its driver says.
    pub exit_latency_us: Option<u64>,
    /// Turned off by hand.
    pub is_disabled: Option<bool>,
    /// How often it was entered since boot.
    pub usage: Option<u64>,
}

/// More states than any driver has (`CPUIDLE_STATE_MAX` is 10).
const MOST_STATES: u32 = 16;

fn idle_states(captures: &Captures, online: Option<&CpuList>) -> BTreeMap<u32, Vec<IdleState>> {
    let of_cpu = |cpu: &u32| {
        let state = |number: u32| {
            let file = |name: &str| format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{number}/{name}");
            Some(IdleState {
                name: captures.word(&file("name"))?.to_owned(),
                exit_latency_us: captures.number(&file("latency")),
                is_disabled: captures.number::<u32>(&file("disable")).map(|disabled| disabled > 0),
                usage: captures.number(&file("usage")),
            })
        };
        let states: Vec<IdleState> = (0..MOST_STATES).map_while(state).collect();
        (!states.is_empty()).then_some((*cpu, states))
    };
    online.map(CpuList::as_slice).unwrap_or_default().iter().filter_map(of_cpu).collect()
}

fn siblings(captures: &Captures, online: Option<&CpuList>) -> BTreeMap<u32, CpuList> {
    let of_cpu = |cpu: &u32| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let siblings = CpuList::parse(captures.text(&path)?).ok()?;
        (siblings.len() > 1).then_some((*cpu, siblings))
    };
    online.map(CpuList::as_slice).unwrap_or_default().iter().filter_map(of_cpu).collect()
}

/// The file came with 4.2. Before: the command line, confirmed by the affinity that PID 1 inherited.
fn isolated_before_4_2(cmdline: &[String], captures: &Captures, online: &CpuList) -> Option<CpuList> {
    let asked: CpuList =
        isolcpus_of_cmdline(cmdline)?.as_slice().iter().copied().filter(|c| online.contains(*c)).collect();
    let status = captures.text("/proc/1/status")?;
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let allowed = CpuList::parse(allowed).ok()?;
    let left_out = online.without(&allowed);
    (asked == left_out || asked.is_empty()).then_some(asked)
}

/// `(null)` stands in the file of kernels that could, but do not.
fn nohz_full(captures: &Captures, cmdline: Option<&[String]>) -> Option<CpuList> {
    match captures.text("/sys/devices/system/cpu/nohz_full").map(str::trim) {
        Some("(null)") => Some(CpuList::default()),
        Some(text) => CpuList::parse(text).ok(),
        None => cmdline.and_then(|cmdline| cmdline_list(cmdline, "nohz_full=")),
    }
}

fn cmdline_list(cmdline: &[String], key: &str) -> Option<CpuList> {
    match cmdline.iter().rev().find_map(|word| word.strip_prefix(key)) {
        Some(list) => CpuList::parse(list).ok(),
        None => Some(CpuList::default()),
    }
}

fn scaling(captures: &Captures, online: Option<&CpuList>) -> BTreeMap<u32, CpuFacts> {
    let read = |cpu: &u32| {
        let file = |name: &str| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{name}");
        let facts = CpuFacts {
            governor: captures.word(&file("scaling_governor")).map(str::to_owned),
            governors: captures
                .word(&file("scaling_available_governors"))
                .map(|all| all.split_whitespace().map(str::to_owned).collect())
                .unwrap_or_default(),
            frequency_khz: captures.number(&file("scaling_cur_freq")),
            frequency_min_khz: captures.number(&file("scaling_min_freq")),
            frequency_max_khz: captures.number(&file("scaling_max_freq")),
        };
        (facts != CpuFacts::default()).then_some((*cpu, facts))
    };
    online.map(CpuList::as_slice).unwrap_or_default().iter().filter_map(read).collect()
}
