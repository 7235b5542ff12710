//! CPUs: which there are, which are set apart, how fast they run.

use super::Facts;
use super::captures::Captures;
use super::kernel::isolcpus_of_cmdline;
use latprobe::cpulist::CpuList;
use std::collections::BTreeMap;

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
