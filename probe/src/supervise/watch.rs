//! The rest of the board while it measures: interrupts on the measured CPUs, heat, frequency, out-of-memory kills.

use latprobe::{cpulist::CpuList, stream::SystemDelta};
use std::{collections::BTreeMap, fs};

pub(super) struct Watch {
    cpus: CpuList,
    interrupts: BTreeMap<(u32, String), u64>,
    oom_kills: Option<u64>,
}

impl Watch {
    /// Starts counting from now.
    pub(super) fn new(cpus: CpuList) -> Self {
        let mut watch = Self { cpus, interrupts: BTreeMap::new(), oom_kills: None };
        watch.take();
        watch
    }

    /// What happened since the last time.
    pub(super) fn take(&mut self) -> SystemDelta {
        SystemDelta {
            interrupts: self.take_interrupts(),
            temperatures_mc: temperatures(),
            frequencies_khz: self.frequencies(),
            oom_kills: self.take_oom_kills(),
        }
    }

    fn take_interrupts(&mut self) -> Vec<(u32, String, u64)> {
        let now = interrupts(&fs::read_to_string("/proc/interrupts").unwrap_or_default(), &self.cpus);
        let mut new = Vec::new();
        for ((cpu, label), count) in &now {
            // A line that went away and came back starts from 0 again.
            let before = self.interrupts.get(&(*cpu, label.clone())).copied().unwrap_or(0);
            let since = count.checked_sub(before).unwrap_or(*count);
            if since > 0 {
                new.push((*cpu, label.clone(), since));
            }
        }
        self.interrupts = now;
        new
    }

    fn take_oom_kills(&mut self) -> u64 {
        let text = fs::read_to_string("/proc/vmstat").unwrap_or_default();
        let now = text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse::<u64>().ok());
        let since = now.zip(self.oom_kills).map_or(0, |(now, before)| now.saturating_sub(before));
        self.oom_kills = now;
        since
    }

    fn frequencies(&self) -> Vec<(u32, u64)> {
        let read = |cpu: &u32| {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
            Some((*cpu, fs::read_to_string(path).ok()?.trim().parse().ok()?))
        };
        self.cpus.as_slice().iter().filter_map(read).collect()
    }
}

/// Counts of `/proc/interrupts` on `cpus`, by CPU and label.
fn interrupts(text: &str, cpus: &CpuList) -> BTreeMap<(u32, String), u64> {
    let mut lines = text.lines();
    // The heading names the CPUs that are online: column 1 need not be CPU 1.
    let heading = lines.next().unwrap_or_default().split_whitespace();
    let columns: Vec<Option<u32>> = heading.map(|word| word.strip_prefix("CPU")?.parse().ok()).collect();
    let mut counts = BTreeMap::new();
    for line in lines {
        let Some((label, rest)) = line.split_once(':') else { continue };
        for (cpu, word) in columns.iter().zip(rest.split_whitespace()) {
            // Shorter lines (ERR, MIS) hold one figure for the whole board.
            let (Some(cpu), Ok(count)) = (cpu, word.parse()) else { break };
            if cpus.contains(*cpu) && rest.split_whitespace().count() >= columns.len() {
                counts.insert((*cpu, label.trim().to_owned()), count);
            }
        }
    }
    counts
}

fn temperatures() -> Vec<(u32, i64)> {
    let Ok(zones) = fs::read_dir("/sys/class/thermal") else { return Vec::new() };
    let read = |entry: fs::DirEntry| {
        let zone = entry.file_name().to_str()?.strip_prefix("thermal_zone")?.parse().ok()?;
        Some((zone, fs::read_to_string(entry.path().join("temp")).ok()?.trim().parse().ok()?))
    };
    crate::sorted(zones.flatten().filter_map(read))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_their_heading() {
        let text = "           CPU0       CPU2       \n 27:       10        300     GICv2  27 Level     arch_timer\nIPI0:         1          2       Rescheduling interrupts\nErr:          0\n";
        let counts = interrupts(text, &CpuList::parse("2").unwrap());
        let expected = [((2, "27".to_owned()), 300), ((2, "IPI0".to_owned()), 2)];
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), expected);
    }
}
