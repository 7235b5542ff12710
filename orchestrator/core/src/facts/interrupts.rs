//! Interrupts: who they are, where they may go, and where they went.

use super::Facts;
use super::captures::Captures;
use latprobe::cpulist::CpuList;
use std::collections::BTreeMap;

/// Labels of `/proc/interrupts` that are the local timer or come from another CPU, on x86.
const LOCAL_LABELS: &[&str] = &["LOC", "RES", "CAL", "TLB", "IWI", "ERR", "MIS"];

/// The local timer, or a call of another CPU: fires on every CPU whatever the affinity. ARM numbers its per-CPU timer like
/// any interrupt: the name tells (`arch_timer`, `twd`, `gp_timer`).
pub fn is_local(label: &str, name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    LOCAL_LABELS.contains(&label.to_ascii_uppercase().as_str())
        || label.starts_with("IPI")
        || ["timer", "twd", "_tick"].iter().any(|timer| name.contains(timer))
}

impl Facts {
    /// Numbered interrupts that may go to one of `cpus`, the local timer apart.
    pub(crate) fn irqs_on<'a>(&'a self, cpus: &'a CpuList) -> impl Iterator<Item = u32> + 'a {
        let name = |number: u32| self.interrupts.get(&number.to_string());
        // One that nobody uses is not listed, and does not fire.
        let is_used = move |number: u32| name(number).is_some_and(|name| !is_local(&number.to_string(), name));
        let may = move |list: &CpuList| cpus.as_slice().iter().any(|cpu| list.contains(*cpu));
        self.irq_affinity.iter().filter(move |(number, list)| is_used(**number) && may(list)).map(|(number, _)| *number)
    }
}

pub(super) fn read(captures: &Captures, facts: &mut Facts) {
    if let Some(text) = captures.text("/proc/interrupts") {
        (facts.interrupts, facts.interrupt_counts) = table(text);
    }
    let number = |(rest, list): (&str, &str)| {
        let number = rest.strip_suffix("/smp_affinity_list")?.parse().ok()?;
        Some((number, CpuList::parse(list).ok()?))
    };
    facts.irq_affinity = captures.under("/proc/irq/").filter_map(number).collect();
}

type Names = BTreeMap<String, String>;
type Counts = BTreeMap<String, BTreeMap<u32, u64>>;

/// `  27:  1  2  GICv2  27 Level  arch_timer`: label, one count per CPU of the heading, the rest is the name.
fn table(text: &str) -> (Names, Counts) {
    let mut lines = text.lines();
    let heading = lines.next().unwrap_or_default();
    let cpus: Vec<u32> = heading.split_whitespace().filter_map(|word| word.strip_prefix("CPU")?.parse().ok()).collect();
    let (mut names, mut counts) = (Names::new(), Counts::new());
    for line in lines {
        let Some((label, rest)) = line.split_once(':') else { continue };
        let words: Vec<&str> = rest.split_whitespace().collect();
        let label = label.trim().to_owned();
        let of_cpus = cpus.iter().zip(&words).filter_map(|(cpu, word)| Some((*cpu, word.parse().ok()?)));
        counts.insert(label.clone(), of_cpus.collect());
        names.insert(label, words.get(cpus.len()..).unwrap_or_default().join(" "));
    }
    (names, counts)
}
