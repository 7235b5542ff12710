//! What is judged: a board, and what is to be measured on it.

use crate::campaign::model::{Conditions, Cpus, Load, RtRuntime, Settings};
use crate::facts::Facts;
use crate::target::{Kernel, Target};
use latprobe::cpulist::CpuList;
use latprobe::spec::Policy;

/// A board, and what is to be measured on it.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The board's state.
    pub facts: &'a Facts,
    /// A second look at the same board, later, to tell what fired from what only might.
    pub later: Option<&'a Facts>,
    /// Its description.
    pub target: Option<&'a Target>,
    /// A cell of a campaign; absent: the published recipe is the measure.
    pub settings: Option<&'a Settings>,
}

/// What a campaign says of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// There is no campaign.
    NoCampaign,
    /// It does not speak of it.
    Open,
    /// It must hold.
    Required,
    /// It is set for the run.
    Applied,
}

/// Priority that is assumed without a campaign: the default of campaign files.
const PRIORITY: u32 = 80;

impl<'a> Subject<'a> {
    /// A captured board alone.
    pub fn of(facts: &'a Facts) -> Self {
        Self { facts, later: None, target: None, settings: None }
    }

    pub(super) fn known(&self, rule: &str) -> Known {
        let Some(settings) = self.settings else { return Known::NoCampaign };
        if speaks_of(&settings.apply, rule) {
            Known::Applied
        } else if speaks_of(&settings.require, rule) || settings.require.checks.iter().any(|name| name == rule) {
            Known::Required
        } else {
            Known::Open
        }
    }

    /// CPUs that are measured; without a campaign the isolated ones, else all. `None`: the board does not tell.
    pub(super) fn measured(&self) -> Option<CpuList> {
        let facts = self.facts;
        match self.settings.map(|settings| &settings.measure.cpus) {
            Some(Cpus::List(list)) => Some(list.clone()),
            Some(Cpus::All | Cpus::Unpinned(_)) => facts.online.clone(),
            Some(Cpus::Isolated) => facts.isolated.clone(),
            None => facts.isolated.clone().filter(|isolated| !isolated.is_empty()).or_else(|| facts.online.clone()),
        }
    }

    /// Measured CPUs that nothing else should use: isolated ones, and all where the campaign moves interrupts or work away.
    pub(super) fn quiet(&self) -> Option<CpuList> {
        let measured = self.measured()?;
        let moves = |conditions: &Conditions| conditions.irq_affinity.is_some() || conditions.workqueues.is_some();
        if self.settings.is_some_and(|settings| moves(&settings.apply) || moves(&settings.require)) {
            let rest = self.facts.online.as_ref()?.without(&measured);
            // Where no CPU is left, nothing can be kept away.
            return Some(if rest.is_empty() { CpuList::default() } else { measured });
        }
        let isolated = self.facts.isolated.as_ref()?;
        Some(measured.as_slice().iter().copied().filter(|cpu| isolated.contains(*cpu)).collect())
    }

    /// Priority of the sampling threads; `None`: they have none.
    pub(super) fn priority(&self) -> Option<u32> {
        match self.settings {
            None => Some(PRIORITY),
            Some(settings) => {
                matches!(settings.measure.policy, Policy::Fifo | Policy::Rr).then_some(settings.measure.priority)
            }
        }
    }

    /// The kernel variant that the campaign asks for.
    pub(super) fn variant(&self) -> Option<&'a Kernel> {
        self.target?.kernels.get(self.settings?.boot.kernel.as_ref()?)
    }

    /// A co-kernel is asked for, or runs.
    pub(super) fn is_cobalt(&self) -> bool {
        self.variant().is_some_and(|variant| variant.cobalt) || self.facts.xenomai.is_some()
    }

    pub(super) fn loads(&self) -> &'a [Load] {
        self.settings.map_or(&[], |settings| &settings.loads)
    }

    fn wanted<T>(&self, get: impl Fn(&'a Conditions) -> Option<T>) -> Option<T> {
        let settings = self.settings?;
        get(&settings.apply).or_else(|| get(&settings.require))
    }

    /// The governor that should be in force.
    pub(super) fn governor(&self) -> &'a str {
        self.wanted(|conditions| conditions.governor.as_deref()).unwrap_or("performance")
    }

    /// The limit of real-time tasks that should be in force.
    pub(super) fn rt_runtime(&self) -> RtRuntime {
        self.wanted(|conditions| conditions.rt_runtime).unwrap_or(RtRuntime::Unlimited)
    }

    /// The word for transparent huge pages that the campaign asks for.
    pub(super) fn hugepage(&self) -> Option<&'a str> {
        self.wanted(|conditions| conditions.transparent_hugepage.as_deref())
    }
}

/// Whether the conditions hold a key whose state the rule looks at.
fn speaks_of(conditions: &Conditions, rule: &str) -> bool {
    match rule {
        "governor" => conditions.governor.is_some(),
        "rt-throttling" => conditions.rt_runtime.is_some(),
        "console" => conditions.console.is_some(),
        "transparent-hugepage" => conditions.transparent_hugepage.is_some(),
        "fair-server" | "fair-server-scaling" => conditions.fair_server.is_some(),
        "tracers" => conditions.tracing.is_some(),
        "watchdogs" => conditions.watchdog.is_some(),
        "interrupt-affinity" | "interrupts-fired" => conditions.irq_affinity.is_some(),
        "workqueues" => conditions.workqueues.is_some(),
        "time-sync" => conditions.time_sync.is_some(),
        "competing-threads" => conditions.rt_threads.is_some(),
        "preempt-rt" => conditions.preemption.is_some(),
        "clocksource" => conditions.clocksource.is_some(),
        _ => false,
    }
}
