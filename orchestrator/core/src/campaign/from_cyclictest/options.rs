//! The options of cyclictest 0.x to 2.x, and how getopt finds them.

/// An option: letter or blank, long name or empty, value, meaning.
pub(super) type Known = (char, &'static str, Takes, Means);

/// Takes a value?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    Value,
    /// Attached, or the next word where it looks like one.
    Maybe,
}

/// What an option means here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Means {
    Affinity,
    Aligned,
    Clock,
    DmaLatency,
    Distance,
    Duration,
    Histogram,
    Interval,
    LeaveIdle,
    Loops,
    Lock,
    Nanosleep,
    Nanoseconds,
    Policy,
    Priority,
    Relative,
    Smp,
    Spread,
    Threads,
    /// Changes what is printed, not what is measured.
    Output,
    /// Has no counterpart, and why.
    Never(&'static str),
}

const TRACING: &str = "tracing changes what is measured; measure first, hunt with the kernel's tracers afterwards";
const STOPS: &str = "a run that ends at the first late wake-up never sees its tail; set a limit in [gate] instead";

/// (letter or blank, long name or empty, value, meaning): cyclictest 0.x to 2.x.
pub(super) const OPTIONS: &[Known] = &[
    ('a', "affinity", Takes::Maybe, Means::Affinity),
    ('A', "aligned", Takes::Maybe, Means::Aligned),
    ('b', "breaktrace", Takes::Value, Means::Never(STOPS)),
    ('B', "preemptirqs", Takes::Nothing, Means::Never(TRACING)),
    ('c', "clock", Takes::Value, Means::Clock),
    ('C', "context", Takes::Nothing, Means::Never(TRACING)),
    ('d', "distance", Takes::Value, Means::Distance),
    ('D', "duration", Takes::Value, Means::Duration),
    (
        ' ',
        "deepest-idle-state",
        Takes::Value,
        Means::Never("idle states by number are not held; cpu_dma_latency holds all"),
    ),
    (' ', "default-system", Takes::Nothing, Means::LeaveIdle),
    (' ', "dbg_cyclictest", Takes::Nothing, Means::Output),
    ('e', "latency", Takes::Value, Means::DmaLatency),
    ('E', "event", Takes::Nothing, Means::Never(TRACING)),
    ('f', "ftrace", Takes::Nothing, Means::Never(TRACING)),
    ('F', "fifo", Takes::Value, Means::Output),
    ('g', "of_max", Takes::Value, Means::Output),
    ('h', "histogram", Takes::Value, Means::Histogram),
    ('H', "histofall", Takes::Value, Means::Histogram),
    (' ', "histfile", Takes::Value, Means::Output),
    ('i', "interval", Takes::Value, Means::Interval),
    ('I', "irqsoff", Takes::Nothing, Means::Never(TRACING)),
    (' ', "json", Takes::Value, Means::Output),
    (' ', "laptop", Takes::Nothing, Means::LeaveIdle),
    ('l', "loops", Takes::Value, Means::Loops),
    ('m', "mlockall", Takes::Nothing, Means::Lock),
    (' ', "mainaffinity", Takes::Maybe, Means::Output),
    ('M', "refresh_on_max", Takes::Nothing, Means::Output),
    ('n', "nanosleep", Takes::Nothing, Means::Nanosleep),
    ('N', "nsecs", Takes::Nothing, Means::Nanoseconds),
    (' ', "notrace", Takes::Nothing, Means::Output),
    ('o', "oscope", Takes::Value, Means::Output),
    ('O', "traceopt", Takes::Value, Means::Never(TRACING)),
    ('p', "priority", Takes::Value, Means::Priority),
    (' ', "prio", Takes::Value, Means::Priority),
    ('P', "preemptoff", Takes::Nothing, Means::Never(TRACING)),
    ('y', "policy", Takes::Value, Means::Policy),
    ('q', "quiet", Takes::Nothing, Means::Output),
    ('Q', "priospread", Takes::Nothing, Means::Spread),
    ('r', "relative", Takes::Nothing, Means::Relative),
    ('R', "resolution", Takes::Nothing, Means::Output),
    (' ', "secaligned", Takes::Maybe, Means::Never("threads are not aligned to full seconds")),
    (
        's',
        "system",
        Takes::Nothing,
        Means::Never("sys_nanosleep and setitimer are not measured; leave -s out for clock_nanosleep"),
    ),
    ('S', "smp", Takes::Nothing, Means::Smp),
    (' ', "smi", Takes::Nothing, Means::Never("SMIs are not counted")),
    (' ', "spike", Takes::Value, Means::Output),
    (' ', "spike-nodes", Takes::Value, Means::Output),
    ('t', "threads", Takes::Maybe, Means::Threads),
    ('T', "tracer", Takes::Value, Means::Never(TRACING)),
    (' ', "tracemark", Takes::Nothing, Means::Never(TRACING)),
    ('u', "unbuffered", Takes::Nothing, Means::Output),
    ('U', "numa", Takes::Nothing, Means::Smp),
    ('v', "verbose", Takes::Nothing, Means::Output),
    ('w', "wakeup", Takes::Nothing, Means::Never(TRACING)),
    ('W', "wakeuprt", Takes::Nothing, Means::Never(TRACING)),
    (
        'x',
        "posix_timers",
        Takes::Nothing,
        Means::Never("POSIX timers with signals are not measured; leave it out for clock_nanosleep"),
    ),
];

/// The option of a long name, or of an unambiguous beginning of one, as getopt_long takes it.
pub(super) fn by_name(name: &str) -> Option<&'static Known> {
    let exact = OPTIONS.iter().find(|(_, long, ..)| *long == name);
    let mut begun = OPTIONS.iter().filter(|(_, long, ..)| long.starts_with(name));
    exact.or_else(|| begun.next().filter(|first| begun.all(|other| other.3 == first.3)))
}

/// Whether the next word is the option's value.
pub(super) fn takes_next(takes: Takes, means: Means, next: Option<&str>) -> bool {
    let Some(next) = next else { return false };
    match takes {
        Takes::Nothing => false,
        Takes::Value => true,
        Takes::Maybe => {
            let is_number = next.starts_with(|c: char| c.is_ascii_digit());
            is_number || (means == Means::Affinity && (next.starts_with(['!', '+']) || next == "all"))
        }
    }
}
