//! A `cyclictest` command line → a campaign. Options of cyclictest 0.x to 2.x, in every spelling that getopt takes.
//!
//! What cannot be expressed is an error with the reason: a campaign that measures something else under the same name would
//! be worse than none.

mod options;
mod words;

use crate::units::{DAY, HOUR, MINUTE, MS, SECOND, US, format_duration};
use latprobe::cpulist::CpuList;
use options::{Means, OPTIONS, Takes, by_name, takes_next};
use std::fmt::Write as _;
use words::shell_words;

/// One option, or the line, that cannot become a campaign.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CannotConvert {
    /// No program of that name.
    #[error("no cyclictest in it; give the whole command, as in 'cyclictest -m -p98 -i1000 -l100000'")]
    NoCyclictest,
    /// A quotation mark without its partner.
    #[error("a quotation mark is never closed")]
    OpenQuote,
    /// A word before it changes what is measured.
    #[error("`{word}` before cyclictest changes what is measured; {remedy}")]
    Wrapper {
        /// The program.
        word: String,
        /// What to write instead.
        remedy: &'static str,
    },
    /// An option that no cyclictest has.
    #[error("cyclictest has no option `{0}`")]
    Unknown(String),
    /// An option without its value.
    #[error("`{0}` needs a value")]
    NoValue(String),
    /// A value that is none.
    #[error("`{option}`: `{value}` is not {expected}")]
    Value {
        /// As written.
        option: String,
        /// As written.
        value: String,
        /// What is allowed.
        expected: &'static str,
    },
    /// An option without a counterpart.
    #[error("`{option}` cannot be expressed: {reason}")]
    NotExpressible {
        /// As written.
        option: String,
        /// Why.
        reason: &'static str,
    },
}

/// Programs before cyclictest that change what it measures.
const WRAPPERS: &[(&str, &str)] = &[
    ("taskset", "give the CPUs by -a"),
    ("chrt", "give priority and policy by -p and --policy"),
    ("numactl", "give the CPUs by -a"),
    ("nice", "leave it out: a real-time thread has no nice value"),
    ("perf", "leave it out"),
    ("strace", "leave it out"),
];

/// The campaign's text. All that cannot be expressed is reported at once.
pub fn from_cyclictest(command: &str, name: &str, targets: &[String]) -> Result<String, Vec<CannotConvert>> {
    let words = shell_words(command).map_err(|error| vec![error])?;
    let is_tool = |word: &String| word.rsplit('/').next() == Some("cyclictest");
    let Some(at) = words.iter().position(is_tool) else { return Err(vec![CannotConvert::NoCyclictest]) };
    let mut found = Found::default();
    for word in &words[..at] {
        let program = word.rsplit('/').next().unwrap_or(word);
        if let Some((_, remedy)) = WRAPPERS.iter().find(|(name, _)| *name == program) {
            found.errors.push(CannotConvert::Wrapper { word: word.clone(), remedy });
        }
    }
    found.read(&words[at + 1..]);
    let settings = found.settings();
    if found.errors.is_empty() { Ok(found.text(command, name, targets, &settings)) } else { Err(found.errors) }
}

/// How many threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    Given(u32),
    PerCpu,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Affinity {
    EachItsOwn,
    List(CpuList),
}

/// What the options say, in cyclictest's units.
#[derive(Debug, Default)]
struct Found {
    threads: Option<Count>,
    affinity: Option<Affinity>,
    is_smp: bool,
    offset_us: Option<u64>,
    distance_us: Option<u64>,
    duration_ns: Option<u64>,
    interval_us: Option<u64>,
    loops: Option<u64>,
    histogram: Option<u64>,
    priority: Option<u64>,
    policy: Option<String>,
    locks: bool,
    nanosleep: bool,
    nanoseconds: bool,
    relative: bool,
    leaves_idle: bool,
    spread: bool,
    errors: Vec<CannotConvert>,
    notes: Vec<&'static str>,
}

impl Found {
    fn read(&mut self, words: &[String]) {
        let mut rest = words.iter().map(String::as_str).peekable();
        while let Some(word) = rest.next() {
            if word == "--" {
                break;
            }
            if let Some(long) = word.strip_prefix("--") {
                let (name, mut value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (long, None),
                };
                let Some((_, _, takes, means)) = by_name(name) else {
                    self.errors.push(CannotConvert::Unknown(format!("--{name}")));
                    continue;
                };
                if value.is_none() && takes_next(*takes, *means, rest.peek().copied()) {
                    value = rest.next();
                }
                self.take(&format!("--{name}"), *takes, *means, value);
            } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                for (index, letter) in letters.char_indices() {
                    let Some((_, _, takes, means)) =
                        OPTIONS.iter().find(|(known, ..)| *known == letter && letter != ' ')
                    else {
                        self.errors.push(CannotConvert::Unknown(format!("-{letter}")));
                        break;
                    };
                    let attached = Some(&letters[index + letter.len_utf8()..]).filter(|rest| !rest.is_empty());
                    let mut value = attached.filter(|_| *takes != Takes::Nothing);
                    let is_last = value.is_some() || *takes != Takes::Nothing;
                    if value.is_none() && takes_next(*takes, *means, rest.peek().copied()) {
                        value = rest.next();
                    }
                    self.take(&format!("-{letter}"), *takes, *means, value);
                    if is_last {
                        break;
                    }
                }
            } else {
                self.errors.push(CannotConvert::Unknown(word.to_owned()));
            }
        }
    }

    fn take(&mut self, option: &str, takes: Takes, means: Means, value: Option<&str>) {
        if takes == Takes::Value && value.is_none() {
            return self.errors.push(CannotConvert::NoValue(option.to_owned()));
        }
        let text = value.unwrap_or_default();
        match means {
            Means::Affinity => self.affinity(option, value),
            Means::Aligned => self.offset_us = Some(value.map_or(Some(0), |_| self.number(option, text)).unwrap_or(0)),
            Means::Clock if self.number(option, text) == Some(1) => {
                self.never(
                    option,
                    "CLOCK_REALTIME can be set by a daemon in mid-run; latencies are measured on CLOCK_MONOTONIC",
                );
            }
            Means::Clock | Means::Output => {}
            Means::DmaLatency if self.number(option, text).is_some_and(|us| us > 0) => {
                self.never(option, "/dev/cpu_dma_latency is held at 0 us, or left alone");
            }
            Means::DmaLatency => {}
            Means::Distance => self.distance_us = self.number(option, text),
            Means::Duration => self.duration_ns = self.time(option, text),
            Means::Histogram => self.histogram = self.number(option, text),
            Means::Interval => self.interval_us = self.number(option, text),
            Means::LeaveIdle => self.leaves_idle = true,
            Means::Loops => self.loops = self.number(option, text),
            Means::Lock => self.locks = true,
            Means::Nanosleep => self.nanosleep = true,
            Means::Nanoseconds => self.nanoseconds = true,
            Means::Policy => self.policy = Some(text.to_ascii_lowercase()),
            Means::Priority => self.priority = self.number(option, text),
            Means::Relative => self.relative = true,
            Means::Smp => self.is_smp = true,
            Means::Spread => self.spread = true,
            Means::Threads => {
                self.threads = match value {
                    None => Some(Count::PerCpu),
                    Some(text) => self.number(option, text).and_then(|n| u32::try_from(n).ok()).map(Count::Given),
                }
            }
            Means::Never(reason) => self.never(option, reason),
        }
    }

    fn never(&mut self, option: &str, reason: &'static str) {
        self.errors.push(CannotConvert::NotExpressible { option: option.to_owned(), reason });
    }

    fn number(&mut self, option: &str, text: &str) -> Option<u64> {
        let number = text.parse().ok();
        if number.is_none() {
            self.wrong(option, text, "a whole number");
        }
        number
    }

    fn wrong(&mut self, option: &str, value: &str, expected: &'static str) {
        self.errors.push(CannotConvert::Value { option: option.to_owned(), value: value.to_owned(), expected });
    }

    /// Seconds, or a number with `m`, `h` or `d`.
    fn time(&mut self, option: &str, text: &str) -> Option<u64> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match &text[digits.len()..] {
            "" | "s" => Some(SECOND),
            "m" => Some(MINUTE),
            "h" => Some(HOUR),
            "d" => Some(DAY),
            _ => None,
        };
        let time = unit.zip(digits.parse::<u64>().ok()).and_then(|(unit, n)| n.checked_mul(unit));
        if time.is_none() {
            self.wrong(option, text, "a number of seconds, or one with m, h or d");
        }
        time
    }

    fn affinity(&mut self, option: &str, value: Option<&str>) {
        match value {
            None | Some("all") => self.affinity = Some(Affinity::EachItsOwn),
            Some(text) if text.starts_with(['!', '+']) => {
                self.never(option, "CPUs are named one by one, not by what they are not or where cyclictest may run");
            }
            Some(text) => match CpuList::parse(text).ok().filter(|cpus| !cpus.is_empty()) {
                Some(cpus) => self.affinity = Some(Affinity::List(cpus)),
                None => self.wrong(option, text, "a list of CPUs, as in 0-3,5"),
            },
        }
    }

    /// Lines of `[measure]` that say which threads there are; how many, where that is known.
    fn placement(&mut self) -> (String, Option<u32>) {
        if self.is_smp {
            return ("cpus = \"all\"".to_owned(), None);
        }
        let count = self.threads.unwrap_or(Count::Given(1));
        match (self.affinity.clone(), count) {
            (None, Count::Given(n)) => (format!("threads = {n}"), Some(n)),
            (None, Count::PerCpu) => {
                self.never(
                    "-t",
                    "as many threads as the board has CPUs, not pinned: say how many (-t 4), or pin them (-t -a)",
                );
                (String::new(), None)
            }
            (Some(Affinity::EachItsOwn), Count::PerCpu) => ("cpus = \"all\"".to_owned(), None),
            (Some(Affinity::EachItsOwn), Count::Given(n)) => {
                self.notes.push("thread n is on CPU n: the board must have that many");
                let cpus: CpuList = (0..n).collect();
                (format!("cpus = \"{cpus}\""), Some(n))
            }
            (Some(Affinity::List(cpus)), Count::PerCpu) => {
                (format!("cpus = \"{cpus}\""), u32::try_from(cpus.len()).ok())
            }
            (Some(Affinity::List(cpus)), Count::Given(n)) => {
                let first: CpuList = cpus.as_slice().iter().copied().take(usize::try_from(n).unwrap_or(0)).collect();
                if u32::try_from(first.len()) != Ok(n) {
                    self.never("-t", "several threads on one CPU: each CPU has one sampling thread");
                }
                (format!("cpus = \"{first}\""), Some(n))
            }
        }
    }

    /// Everything but the head, as lines.
    fn settings(&mut self) -> Vec<String> {
        let interval_us = self.interval_us.unwrap_or(1000);
        if interval_us < 10 {
            self.never("-i", "an interval is at least 10 us");
        }
        let mut top = vec![
            self.length(interval_us),
            format!("interval = \"{}\"", format_duration(interval_us.saturating_mul(US))),
        ];
        let (placement, threads) = self.placement();
        let mut measure = vec!["\n[measure]".to_owned(), placement];
        let several = threads != Some(1);
        // With a histogram cyclictest gives all threads one interval.
        let distance_us = self.distance_us.unwrap_or(500);
        if several && self.histogram.is_none() && distance_us > 0 {
            measure.push(format!("distance = \"{}\"", format_duration(distance_us.saturating_mul(US))));
        }
        if let Some(offset_us) = self.offset_us.filter(|us| several && *us > 0) {
            measure.push(format!("offset = \"{}\"", format_duration(offset_us.saturating_mul(US))));
        }
        measure.extend(self.scheduling(several));
        match self.locks {
            true => measure.push("mlock = true".to_owned()),
            false => measure.extend(["mlock = false".to_owned(), "accept = [\"memory-not-locked\"]".to_owned()]),
        }
        if let Some(bins) = self.histogram {
            if !(1..=1_000_000).contains(&bins) {
                self.never("-h", "a histogram has 1 to 1,000,000 bins");
            }
            let width = if self.nanoseconds { "1ns" } else { "1us" };
            measure.push(format!("histogram = {{ width = \"{width}\", bins = {bins} }}"));
        }
        if self.relative {
            measure.push("sleep = \"relative\"".to_owned());
        }
        if self.leaves_idle {
            measure.push("cpu_dma_latency = \"none\"".to_owned());
        }
        if !self.nanosleep && !self.is_smp {
            self.notes.push("without -n, cyclictest up to 1.x wakes by POSIX timers and signals; this is as with -n");
        }
        top.append(&mut measure);
        top
    }

    fn length(&mut self, interval_us: u64) -> String {
        let loops = self.loops.filter(|loops| *loops > 0);
        match (self.duration_ns, loops) {
            // Both end it: the first does.
            (Some(ns), Some(loops)) if loops.saturating_mul(interval_us).saturating_mul(US) < ns => {
                format!("cycles = {loops}")
            }
            (Some(ns), _) => format!("duration = \"{}\"", format_duration(ns.max(MS))),
            (None, Some(loops)) => format!("cycles = {loops}"),
            (None, None) => {
                self.never("cyclictest", "it runs until it is stopped; say how long by -D or -l");
                String::new()
            }
        }
    }

    fn scheduling(&mut self, several: bool) -> Vec<String> {
        let priority = self.priority.filter(|priority| *priority > 0);
        if self.spread && several {
            self.never("--priospread", "all threads have one priority");
        }
        if priority.is_some_and(|priority| priority > 99) {
            self.never("-p", "priorities are 1 to 99");
        }
        let policy = self.policy.clone().unwrap_or_default();
        match (policy.as_str(), priority) {
            ("" | "other" | "normal", None) => {
                self.notes.push("without -p, cyclictest measures ordinary scheduling (SCHED_OTHER)");
                vec!["policy = \"other\"".to_owned()]
            }
            ("batch" | "idle", None) => {
                self.never("--policy", "SCHED_BATCH and SCHED_IDLE are not measured");
                Vec::new()
            }
            // cyclictest takes 2 for one thread, and one more for each further.
            ("fifo" | "rr", None) => {
                self.never("--policy", "say the priority, too: -p 80");
                Vec::new()
            }
            ("rr", Some(priority)) => vec!["policy = \"rr\"".to_owned(), format!("priority = {priority}")],
            (_, Some(priority)) => {
                if several && self.histogram.is_none() && !self.is_smp {
                    self.notes.push(
                        "cyclictest before 0.9 gives each further thread one priority less; here all have the same",
                    );
                }
                vec![format!("priority = {priority}")]
            }
            (other, None) => {
                self.wrong("--policy", other, "fifo, rr or other");
                Vec::new()
            }
        }
    }

    fn text(&self, command: &str, name: &str, targets: &[String], settings: &[String]) -> String {
        let mut text = String::new();
        let one_line = command.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ =
            writeln!(text, "# As measured by: {}", one_line.chars().filter(|c| !c.is_control()).collect::<String>());
        for note in &self.notes {
            let _ = writeln!(text, "# Note: {note}.");
        }
        let _ = writeln!(text, "name = {}", toml::Value::from(name));
        if !targets.is_empty() {
            let _ = writeln!(text, "targets = {}", toml::Value::from(targets.to_vec()));
        }
        settings.iter().for_each(|line| {
            let _ = writeln!(text, "{line}");
        });
        text
    }
}
