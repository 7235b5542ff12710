//! Runs in order: cells × repetitions, one list per target, with estimated times.

use crate::boot::order;
use crate::campaign::model::{Campaign, Cell, Order};
use crate::campaign::thread_count;
use crate::target::{BootMethod, Target};
use crate::units::SECOND;
use latprobe::spec::Length;
use serde::{Deserialize, Serialize};

/// What a run takes beside warm-up and measuring: deploy, facts before and after, collecting. An estimate.
pub const OVERHEAD_NS: u64 = 15 * SECOND;

/// What a reboot takes, the board's own settling included. An estimate.
pub const REBOOT_NS: u64 = 60 * SECOND;

/// What will be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// One list per target; targets are measured at the same time.
    pub targets: Vec<TargetSchedule>,
}

/// Runs of one target, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetSchedule {
    /// Target's name.
    pub target: String,
    /// In the order of execution.
    pub runs: Vec<ScheduledRun>,
    /// Reboots at most: those before runs, and one into what the board boots by itself. 0 for a target that is never rebooted.
    pub reboots: u32,
    /// Sum of the estimates of runs and reboots, in ns.
    pub estimated_ns: u64,
}

/// One cell measured once on one target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduledRun {
    /// Index into the campaign's cells.
    pub cell: usize,
    /// The cell's name.
    pub cell_name: String,
    /// Which repetition, from 1.
    pub repetition: u32,
    /// The board is rebooted before it, unless it runs what is asked for already.
    pub reboot: bool,
    /// Warm-up, measuring and [`OVERHEAD_NS`], in ns.
    pub estimated_ns: u64,
}

impl Schedule {
    /// A campaign on targets, in their order.
    pub fn new<'a>(campaign: &Campaign, targets: impl IntoIterator<Item = &'a Target>) -> Self {
        Self { targets: targets.into_iter().map(|target| schedule_target(campaign, target)).collect() }
    }

    /// The longest target's estimate, in ns: targets run side by side.
    pub fn estimated_ns(&self) -> u64 {
        self.targets.iter().map(|target| target.estimated_ns).max().unwrap_or(0)
    }
}

fn schedule_target(campaign: &Campaign, target: &Target) -> TargetSchedule {
    let cells = &campaign.cells;
    let reboots = target.boot_method != BootMethod::AsBooted
        && cells.iter().any(|cell| cell.settings.boot != crate::campaign::model::Boot::default());
    let grouped = if reboots { order::grouped(cells) } else { (0..cells.len()).collect() };
    let order: Vec<(usize, u32)> = order_of(cells.len(), campaign.plan.repeat, campaign.plan.order)
        .into_iter()
        .map(|(position, repetition)| (grouped[position], repetition))
        .collect();
    let due = order::reboots(order.iter().map(|(index, _)| &cells[*index].settings.boot));
    let runs: Vec<ScheduledRun> = order
        .into_iter()
        .zip(due)
        .map(|((index, repetition), due)| {
            let cell = &cells[index];
            let estimated_ns = estimate_ns(cell, target.cpu_count);
            ScheduledRun { cell: index, cell_name: cell.name.clone(), repetition, reboot: reboots && due, estimated_ns }
        })
        .collect();
    let due = runs.iter().filter(|run| run.reboot).count();
    let reboots = u32::try_from(due).unwrap_or(u32::MAX).saturating_add(u32::from(reboots));
    let rebooting_ns = REBOOT_NS.saturating_mul(u64::from(reboots));
    let estimated_ns = runs.iter().fold(rebooting_ns, |sum: u64, run| sum.saturating_add(run.estimated_ns));
    TargetSchedule { target: target.name.clone(), runs, reboots, estimated_ns }
}

/// (cell, repetition from 1) in the order of execution.
fn order_of(cells: usize, repeat: u32, order: Order) -> Vec<(usize, u32)> {
    match order {
        Order::Grouped => (0..cells).flat_map(|cell| (1..=repeat).map(move |n| (cell, n))).collect(),
        // A B C, C B A, A B C …: every second pass backwards, so that a steady drift hits all cells alike.
        Order::Interleaved => (1..=repeat)
            .flat_map(|n| (0..cells).map(move |i| (if n % 2 == 1 { i } else { cells - 1 - i }, n)))
            .collect(),
    }
}

/// Estimated time of one run, in ns.
pub fn estimate_ns(cell: &Cell, cpu_count: Option<u32>) -> u64 {
    measuring_ns(cell, cpu_count).saturating_add(cell.settings.measure.warmup_ns).saturating_add(OVERHEAD_NS)
}

/// Length of the measuring phase, in ns: with cycles, that of the thread with the longest interval.
pub fn measuring_ns(cell: &Cell, cpu_count: Option<u32>) -> u64 {
    let measure = &cell.settings.measure;
    match cell.settings.length {
        Length::DurationNs(ns) => ns,
        Length::Cycles(cycles) => {
            let last = u64::from(thread_count(cell, cpu_count).saturating_sub(1));
            let longest = measure.distance_ns.saturating_mul(last).saturating_add(measure.interval_ns);
            cycles.saturating_mul(longest)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::{self, Overrides};
    use crate::units::{HOUR, MS};

    fn cells(campaign: &str) -> Campaign {
        campaign::load("c.toml", campaign, &Overrides::default()).unwrap().campaign
    }

    #[test]
    fn interleaving_favours_no_side() {
        let text = |runs: Vec<(usize, u32)>| {
            runs.iter().map(|(cell, n)| format!("{}{n} ", ['A', 'B', 'C'][*cell])).collect::<String>()
        };
        assert_eq!(text(order_of(2, 4, Order::Interleaved)), "A1 B1 B2 A2 A3 B3 B4 A4 ");
        assert_eq!(text(order_of(3, 2, Order::Interleaved)), "A1 B1 C1 C2 B2 A2 ");
        assert_eq!(text(order_of(2, 2, Order::Grouped)), "A1 A2 B1 B2 ");
    }

    #[test]
    fn cycles_take_as_long_as_the_slowest_thread() {
        let campaign = cells(
            "name = 'a'\ncycles = 10000\ninterval = '10ms'\n[measure]\nthreads = 8\ndistance = '500us'\nwarmup = '0s'\n",
        );
        // Thread 8 sleeps 10 ms + 7 × 0.5 ms, 10,000 times.
        assert_eq!(measuring_ns(&campaign.cells[0], None), 10_000 * (10 * MS + 3_500_000));
    }

    #[test]
    fn times_of_a_target_add_up() {
        let campaign =
            cells("name = 'a'\nduration = '12h'\n[matrix]\nboot.isolcpus = ['1', 'none']\n[plan]\nrepeat = 3\n");
        let target = crate::target::load("t.toml", "name = 't'\ncpu_count = 2\n").unwrap().target;
        let schedule = Schedule::new(&campaign, [&target]);
        assert_eq!(schedule.targets[0].runs.len(), 6);
        assert_eq!(schedule.estimated_ns(), 6 * (12 * HOUR + SECOND + OVERHEAD_NS));
        assert_eq!(schedule.targets[0].runs[3].cell_name, "isolcpus=none");
    }

    #[test]
    fn reboots_are_few_and_cost_time() {
        let campaign = cells(
            "name = 'a'\nduration = '1m'\n[matrix]\nmeasure.priority = [80, 90]\nboot.isolcpus = ['1', 'none']\n[plan]\nrepeat = 2\norder = 'interleaved'\n",
        );
        let text = |method: &str| {
            let target = format!("name = 't'\ncpu_count = 2\n[boot]\nmethod = '{method}'\n");
            let target = crate::target::load("t.toml", &target).unwrap().target;
            let schedule = Schedule::new(&campaign, [&target]);
            let target = &schedule.targets[0];
            let mark = |run: &ScheduledRun| format!("{}{}", if run.reboot { "!" } else { "" }, run.cell);
            (target.runs.iter().map(mark).collect::<Vec<_>>().join(" "), target.reboots, schedule.estimated_ns())
        };
        let run_ns = 61 * SECOND + OVERHEAD_NS;
        // Two boots a pass, the second pass backwards: its first boot is there already.
        assert_eq!(text("extlinux"), ("!0 2 !1 3 3 1 !2 0".to_owned(), 4, 8 * run_ns + 4 * REBOOT_NS));
        assert_eq!(text("as-booted"), ("0 1 2 3 3 2 1 0".to_owned(), 0, 8 * run_ns));
    }
}
