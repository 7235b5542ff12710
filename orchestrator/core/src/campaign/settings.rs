//! One cell's table → [`Settings`]: every key of a campaign that a cell, an axis or `--set` may change.

use super::loads;
use super::model::{Boot, Collect, CollectMode, Cpus, Instrument, Measure, Settings};
use super::{combinations, conditions, gate};
use crate::diagnostic::{Diagnostic, Span};
use crate::document::reader::{Homes, Parsed, Problem, Reader, Sink};
use crate::document::values::{boolean, cpu_list, duration, integer, list, name, one_of, share, text, words};
use crate::document::{Entry, Node, Table, Value};
use crate::units::{DAY, HOUR, MINUTE, MS, SECOND, US, YEAR};
use latprobe::cpulist::CpuList;
use latprobe::spec::{CpuDmaLatency, Hunt, Length, Policy, Sleep, Weakness};

/// Most sampling threads of a cell.
pub(super) const MOST_THREADS: u32 = 1024;
const INTERVALS: std::ops::RangeInclusive<u64> = 10 * US..=HOUR;
/// A year at the shortest interval; the interval itself may stand in another layer.
const MOST_CYCLES: u64 = YEAR / (10 * US);
pub(super) const LATENCIES: std::ops::RangeInclusive<u64> = 1..=HOUR;

/// Top keys that belong to the campaign and not to a cell.
pub(super) const CAMPAIGN_KEYS: &[&str] = &["name", "description", "targets", "plan", "matrix", "cell"];

/// Where keys belong that stand in the wrong table.
pub(super) const HOMES: Homes = &[
    ("", &["name", "description", "targets", "duration", "cycles", "interval", "load"]),
    (
        "measure",
        &[
            "instrument",
            "cpus",
            "threads",
            "distance",
            "offset",
            "policy",
            "priority",
            "mlock",
            "histogram",
            "worst",
            "block",
            "sleep",
            "cpu_dma_latency",
            "warmup",
            "accept",
            "hunt",
            "duty",
        ],
    ),
    ("measure.hunt", &["at_least", "tracer", "events"]),
    ("measure.histogram", &["width", "bins"]),
    ("boot", &["kernel", "isolcpus", "append"]),
    (
        "apply",
        &[
            "governor",
            "rt_runtime",
            "console",
            "transparent_hugepage",
            "fair_server",
            "tracing",
            "watchdog",
            "irq_affinity",
            "workqueues",
            "time_sync",
            "rt_threads",
        ],
    ),
    ("require", &["preemption", "clocksource", "checks"]),
    ("gate", &["max", "missed", "quantile", "exceed", "validity", "confirm", "baseline"]),
    ("gate.baseline", &["metrics", "confidence", "margin"]),
    ("collect", &["every", "mode", "checkpoint"]),
    ("plan", &["repeat", "order", "after_reset"]),
];

/// How much a table says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// A layer: what is missing may stand in another one.
    Layer,
    /// All layers together.
    Whole,
}

/// Keys of the lower layer that an entry of the upper one puts out of force: alternatives of each other.
pub(super) fn drops(path: &[String], entry: &Entry) -> &'static [&'static str] {
    let table = path.first().map_or("", String::as_str);
    match (path.len(), table, entry.key.as_str()) {
        (0, _, "duration") => &["cycles"],
        (0, _, "cycles") => &["duration"],
        (1, "measure", "cpus") => &["threads"],
        (1, "measure", "threads") => &["cpus"],
        (1, "measure", "policy") => match &entry.node.value {
            Value::String(policy) if policy == "other" || policy == "deadline" => &["priority"],
            _ => &[],
        },
        _ => &[],
    }
}

/// Reads a table of settings. Errors go to `sink`; where there are any, the settings are not to be used.
/// `at` is where its keys are missed; `also` are keys of the table that are read elsewhere.
pub(super) fn read(table: &Table, at: Span, extent: Extent, also: &[&'static str], sink: &Sink) -> Settings {
    let mut root = Reader::new(table, at, sink).with_homes(HOMES);
    root.know(also);
    let boot = boot(&mut root);
    let measure = measure(&mut root, extent);
    let length = length(&mut root, extent);
    let loads = loads::read(&mut root, extent);
    let require = conditions::read(&mut root, "require");
    let apply = conditions::read(&mut root, "apply");
    let collect = collect(&mut root);
    let gate = gate::read(&mut root);
    // Unknown keys were found in the layer that holds them.
    if extent == Extent::Layer {
        root.finish();
    }
    let settings = Settings { boot, measure, length, loads, require, apply, collect, gate };
    if extent == Extent::Whole {
        combinations::check(table, &settings, sink);
    }
    settings
}

/// The length; a placeholder where it is missing or wrong.
fn length(root: &mut Reader<'_>, extent: Extent) -> Length {
    let cycles = root.entry("cycles");
    let duration_ns = root.field("duration", duration(1..=YEAR, "s"));
    let cycle_count = root.field("cycles", integer(1..=MOST_CYCLES));
    if let (Some(cycles), true) = (cycles, root.has("duration")) {
        root.sink().push(
            Diagnostic::error(cycles.key_span.clone(), "`cycles` and `duration` exclude each other")
                .label("a run ends after one of them")
                .help("remove one; a cell, an axis or --set may replace one by the other"),
        );
    }
    if extent == Extent::Whole && cycles.is_none() && !root.has("duration") {
        root.missing("duration", "how long each run measures: `duration = \"10m\"`, or `cycles = 600000`");
    }
    match (duration_ns, cycle_count) {
        (Some(ns), _) => Length::DurationNs(ns),
        (None, Some(cycles)) => Length::Cycles(cycles),
        (None, None) => Length::DurationNs(YEAR),
    }
}

fn boot(root: &mut Reader<'_>) -> Boot {
    let Some(mut table) = root.table("boot") else { return Boot::default() };
    let boot = Boot {
        kernel: table.field("kernel", name),
        isolcpus: table.field("isolcpus", isolcpus),
        append: table.field("append", words).unwrap_or_default(),
    };
    table.finish();
    boot
}

fn isolcpus(node: &Node) -> Parsed<CpuList> {
    if node.value == Value::String("none".to_owned()) {
        return Ok(CpuList::default());
    }
    cpu_list(node).map_err(|problems| {
        let flagged = |text: &str| text.split(',').any(|word| matches!(word, "domain" | "nohz" | "managed_irq"));
        problems
            .into_iter()
            .map(|mut problem| {
                problem.help = match &node.value {
                    Value::String(text) if flagged(text) => {
                        "flags are not understood here: give the whole word in `boot.append`, such as \"isolcpus=managed_irq,domain,1\"".to_owned()
                    }
                    Value::String(_) => format!("{}, or \"none\"", problem.help),
                    _ => problem.help,
                };
                problem
            })
            .collect()
    })
}

fn measure(root: &mut Reader<'_>, extent: Extent) -> Measure {
    let interval_ns = root.field("interval", duration(INTERVALS, "us")).unwrap_or(MS);
    let mut measure = Measure {
        instrument: Instrument::Latprobe,
        cpus: Cpus::All,
        interval_ns,
        distance_ns: 0,
        offset_ns: 0,
        policy: Policy::Fifo,
        priority: 80,
        mlock: true,
        bin_width_ns: US,
        bins: 1000,
        worst: 64,
        block_ns: SECOND,
        sleep: Sleep::Absolute,
        cpu_dma_latency: CpuDmaLatency::Hold,
        warmup_ns: SECOND,
        accept: Vec::new(),
        hunt: None,
        duty_percent: None,
    };
    let Some(mut table) = root.table("measure") else { return measure };
    let set = &mut measure;
    assign(&mut set.instrument, table.field("instrument", one_of(INSTRUMENTS)));
    cpus(&mut table, set);
    assign(&mut set.distance_ns, table.field("distance", duration(0..=HOUR, "us")));
    assign(&mut set.offset_ns, table.field("offset", duration(0..=HOUR, "us")));
    policy(&mut table, set, extent);
    assign(&mut set.mlock, table.field("mlock", boolean));
    if let Some(mut histogram) = table.table("histogram") {
        assign(&mut set.bin_width_ns, histogram.field("width", duration(1..=SECOND, "us")));
        assign(&mut set.bins, histogram.field("bins", integer(1..=1_000_000)));
        histogram.finish();
    }
    assign(&mut set.worst, table.field("worst", integer(0..=1024)));
    assign(&mut set.block_ns, table.field("block", duration(100 * MS..=HOUR, "s")));
    assign(&mut set.sleep, table.field("sleep", one_of(SLEEPS)));
    assign(&mut set.cpu_dma_latency, table.field("cpu_dma_latency", one_of(CPU_DMA_LATENCIES)));
    assign(&mut set.warmup_ns, table.field("warmup", duration(0..=DAY, "s")));
    assign(&mut set.accept, table.field("accept", list(one_of(WEAKNESSES))));
    set.hunt = hunt(&mut table, extent);
    set.duty_percent = table.field("duty", duty);
    table.finish();
    measure
}

/// Events that show who had the CPU, on every kernel with tracing.
const EVENTS: [&str; 4] = ["sched:sched_switch", "sched:sched_wakeup", "irq:irq_handler_entry", "irq:irq_handler_exit"];

fn hunt(table: &mut Reader<'_>, extent: Extent) -> Option<Hunt> {
    let mut hunt = table.table("hunt")?;
    if extent == Extent::Whole && !hunt.has("at_least") {
        hunt.missing("at_least", "the latency that ends the hunt: `at_least = \"100us\"`");
    }
    let read = Hunt {
        at_least_ns: hunt.field("at_least", duration(1..=HOUR, "us")).unwrap_or(HOUR),
        tracer: hunt.field("tracer", name).unwrap_or_else(|| "nop".to_owned()),
        events: hunt.field("events", list(event)).unwrap_or_else(|| EVENTS.map(str::to_owned).into()),
    };
    hunt.finish();
    Some(read)
}

/// `group:name`, as the kernel lists it in `available_events`.
fn event(node: &Node) -> Parsed<String> {
    let text = text(node)?;
    let plain = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    match text.split_once(':') {
        Some((group, name)) if plain(group) && plain(name) => Ok(text),
        _ => Err(vec![Problem::new(
            "`{}` lists events of the kernel",
            "no event",
            "write group:name, such as \"sched:sched_switch\" (`available_events` on the board lists them)",
        )]),
    }
}

/// A share that leaves the rest of the board something, in percent.
fn duty(node: &Node) -> Parsed<u32> {
    let percent = (share(node)? * 100.0).round();
    (1..=95).find(|whole| f64::from(*whole) == percent).ok_or_else(|| {
        vec![Problem::new(
            "`{}` is the share of each period that the loop is busy",
            "not between 0.01 and 0.95",
            "write a number up to 0.95: a busy loop without pauses can hang a board",
        )]
    })
}

fn assign<T>(to: &mut T, read: Option<T>) {
    if let Some(value) = read {
        *to = value;
    }
}

const INSTRUMENTS: &[(&str, Instrument)] = &[
    ("latprobe", Instrument::Latprobe),
    ("latprobe-hunt", Instrument::LatprobeHunt),
    ("latprobe-noise", Instrument::LatprobeNoise),
    ("cyclictest", Instrument::Cyclictest),
    ("xenomai-cyclictest", Instrument::XenomaiCyclictest),
    ("xenomai-latency", Instrument::XenomaiLatency),
    ("timerlat", Instrument::Timerlat),
];
const SLEEPS: &[(&str, Sleep)] =
    &[("absolute", Sleep::Absolute), ("relative", Sleep::Relative), ("timerfd", Sleep::Timerfd)];
const CPU_DMA_LATENCIES: &[(&str, CpuDmaLatency)] =
    &[("hold", CpuDmaLatency::Hold), ("none", CpuDmaLatency::None), ("per-cpu", CpuDmaLatency::PerCpu)];
const WEAKNESSES: &[(&str, Weakness)] = &[
    ("policy-not-granted", Weakness::PolicyNotGranted),
    ("memory-not-locked", Weakness::MemoryNotLocked),
    ("coarse-clock", Weakness::CoarseClock),
];
const POLICIES: &[(&str, Policy)] =
    &[("fifo", Policy::Fifo), ("rr", Policy::Rr), ("other", Policy::Other), ("deadline", Policy::Deadline)];
fn cpus(table: &mut Reader<'_>, set: &mut Measure) {
    let threads = table.entry("threads");
    assign(&mut set.cpus, table.field("cpus", measured_cpus));
    if let Some(count) = table.field("threads", integer(1..=MOST_THREADS)) {
        set.cpus = Cpus::Unpinned(count);
    }
    if let (Some(threads), true) = (threads, table.has("cpus")) {
        table.sink().push(
            Diagnostic::error(threads.key_span.clone(), "`measure.threads` and `measure.cpus` exclude each other")
                .label("threads that are not pinned")
                .help("`cpus` gives one thread to each CPU named; `threads` starts so many threads without pinning"),
        );
    }
}

fn measured_cpus(node: &Node) -> Parsed<Cpus> {
    match &node.value {
        Value::String(text) if text == "all" => Ok(Cpus::All),
        Value::String(text) if text == "isolated" => Ok(Cpus::Isolated),
        _ => match cpu_list(node) {
            Ok(list) => Ok(Cpus::List(list)),
            Err(problems) => {
                let words = ["all", "isolated"];
                let near = crate::diagnostic::nearest(node.span.text().trim_matches(['"', '\'']), words);
                let widen = |mut problem: Problem| {
                    if let Some(word) = near {
                        problem.label = format!("did you mean \"{word}\"?");
                    }
                    if matches!(node.value, Value::String(_)) {
                        problem.help = format!("{}; or \"all\" or \"isolated\"", problem.help);
                    }
                    problem
                };
                Err(problems.into_iter().map(widen).collect())
            }
        },
    }
}

fn policy(table: &mut Reader<'_>, set: &mut Measure, extent: Extent) {
    let at = table.entry("priority");
    let policy_at = table.entry("policy");
    assign(&mut set.policy, table.field("policy", one_of(POLICIES)));
    let real_time = matches!(set.policy, Policy::Fifo | Policy::Rr);
    if real_time || (policy_at.is_none() && extent == Extent::Layer) {
        assign(&mut set.priority, table.field("priority", integer(1..=99)));
    } else {
        set.priority = 0;
        if let (Some(at), Some(policy_at)) = (at, policy_at) {
            table.sink().push(
                Diagnostic::error(at.node.span.clone(), "`measure.priority` needs the policy fifo or rr")
                    .label("has no meaning here")
                    .also(policy_at.node.span.clone(), "this policy has no real-time priority")
                    .help("remove `priority`, or set `policy = \"fifo\"`"),
            );
        }
    }
}

fn collect(root: &mut Reader<'_>) -> Collect {
    let mut collect = Collect { every_ns: MINUTE, mode: CollectMode::Live, checkpoint_ns: 10 * SECOND };
    let Some(mut table) = root.table("collect") else { return collect };
    assign(&mut collect.every_ns, table.field("every", duration(SECOND..=HOUR, "s")));
    assign(&mut collect.mode, table.field("mode", one_of(&[("live", CollectMode::Live), ("end", CollectMode::End)])));
    assign(&mut collect.checkpoint_ns, table.field("checkpoint", duration(100 * MS..=MINUTE, "s")));
    table.finish();
    collect
}

/// An instrument's name in files.
pub(super) fn instrument_name(instrument: Instrument) -> &'static str {
    INSTRUMENTS.iter().find(|(_, value)| *value == instrument).map_or("latprobe", |(name, _)| name)
}

/// Free text, which may have several lines.
pub(crate) fn description(node: &Node) -> Parsed<String> {
    match &node.value {
        Value::String(description) => Ok(description.clone()),
        _ => text(node),
    }
}
