//! What keeps work off CPUs beside `isolcpus=`: cpuset partitions and the mask of workqueues.

use super::Facts;
use super::captures::Captures;
use latprobe::cpulist::CpuList;

/// A cpuset with CPUs of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Name of its control group.
    pub name: String,
    /// `root` or `isolated` (cgroup v2), `exclusive` (v1).
    pub kind: String,
    /// Its CPUs.
    pub cpus: Option<CpuList>,
}

pub(super) fn read(captures: &Captures, facts: &mut Facts) {
    facts.partitions = partitions(captures);
    facts.workqueue_cpus = captures.word("/sys/devices/virtual/workqueue/cpumask").and_then(mask);
    facts.xenomai = captures.word("/proc/xenomai/version").map(str::to_owned);
    let clock = captures.text("/proc/xenomai/clock/coreclk");
    let gravity = clock.and_then(|text| text.lines().map(str::trim).find(|line| line.starts_with("gravity")));
    // Xenomai 2 has one figure, in ns.
    let before_3 = || Some(format!("scheduling latency {} ns", captures.word("/proc/xenomai/latency")?));
    facts.gravity = gravity.map(str::to_owned).or_else(before_3);
}

fn partitions(captures: &Captures) -> Vec<Partition> {
    const V2: &str = "/sys/fs/cgroup/";
    const V1: &str = "/sys/fs/cgroup/cpuset/";
    let list = |path: String| CpuList::parse(captures.text(&path)?).ok();
    let v2 = captures.under(V2).filter_map(|(rest, kind)| {
        let name = rest.strip_suffix("/cpuset.cpus.partition")?;
        let kind = kind.trim();
        // `member` is no partition; `root invalid (…)` is one that does not work.
        matches!(kind, "root" | "isolated").then(|| Partition {
            name: name.to_owned(),
            kind: kind.to_owned(),
            cpus: list(format!("{V2}{name}/cpuset.cpus.effective")),
        })
    });
    let v1 = captures.under(V1).filter_map(|(rest, exclusive)| {
        let name = rest.strip_suffix("/cpuset.cpu_exclusive")?;
        (exclusive.trim() == "1").then(|| Partition {
            name: name.to_owned(),
            kind: "exclusive".to_owned(),
            cpus: list(format!("{V1}{name}/cpuset.cpus")),
        })
    });
    v2.chain(v1).collect()
}

/// `3` or `ff,ffffffff`: hexadecimal, 32 bits a word, the highest first.
fn mask(text: &str) -> Option<CpuList> {
    let mut cpus = Vec::new();
    for (word, base) in text.split(',').rev().zip((0u32..).step_by(32)) {
        let bits = u32::from_str_radix(word.trim(), 16).ok()?;
        cpus.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| base + bit));
    }
    Some(cpus.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_as_the_kernel_writes_them() {
        for (text, list) in [("3", "0-1"), ("f0", "4-7"), ("1,00000002", "1,32"), ("0", "")] {
            assert_eq!(mask(text), CpuList::parse(list).ok(), "{text}");
        }
        assert_eq!(mask("x"), None);
    }
}
