use super::*;
use crate::campaign::model::Gate;
use crate::testing::{MS, S, Stored, captures_with, event, good};
use latprobe::cpulist::CpuList;
use latprobe::spec::{Hunt, Length, Mode, Weakness};
use latprobe::stream::{Damage, EndReason};

fn finding<'a>(judgement: &'a Judgement, rule: &str) -> &'a Finding {
    judgement.findings.iter().find(|f| f.rule == rule).unwrap()
}

#[test]
fn a_run_that_went_well_is_valid_by_every_rule() {
    let judgement = good().judge();
    let troubled: Vec<_> = judgement.findings.iter().filter(|f| f.outcome != Outcome::Ok).collect();
    // It has governors, but nobody saw a frequency.
    assert_eq!(troubled.iter().map(|f| f.rule.as_str()).collect::<Vec<_>>(), ["frequency"], "{troubled:?}");
    assert_eq!((judgement.validity, judgement.verdict), (Validity::Valid, Verdict::NotJudged));
}

#[test]
fn no_data_is_invalid_and_never_a_pass() {
    for spoil in [
        |s: &mut Stored| s.segments.clear(),
        |s: &mut Stored| s.segments[0].threads.clear(),
        |s: &mut Stored| {
            s.segments[0].threads[0].histogram = latprobe::histogram::Histogram::new(1000, 200);
        },
    ] {
        let mut stored = good();
        stored.settings.gate = Gate { max_ns: Some(u64::MAX), missed: Some(u64::MAX), ..Gate::default() };
        spoil(&mut stored);
        let judgement = stored.judge();
        assert_eq!((judgement.validity, judgement.verdict), (Validity::Invalid, Verdict::NotJudged));
        assert!(judgement.limits.iter().all(|limit| !limit.holds), "{:?}", judgement.limits);
    }
}

/// Each way to spoil a run: the rule that must notice, how badly, and words of its reason.
#[test]
fn every_rule_notices() {
    use Outcome::{Degrades, Invalidates, Unknown};
    type Spoil = fn(&mut Stored);
    let cases: &[(&str, Outcome, &str, Spoil)] = &[
        ("complete", Invalidates, "stopped on request; 10 s of 10 s", |s| {
            s.segments[0].end.as_mut().unwrap().reason = EndReason::Stopped;
        }),
        ("complete", Invalidates, "no ending", |s| s.segments[0].end = None),
        ("complete", Invalidates, "only 10 s of 20 s", |s| s.spec.length = Length::DurationNs(20 * S)),
        ("complete", Degrades, "2 segments", |s| s.segments.push(s.segments[0].clone())),
        ("cycles", Degrades, "make 9,995 periods, elapsed time / interval is 10,000: 5 too few", |s| {
            s.segments[0].threads[0].histogram.bins[10] -= 5;
        }),
        ("cycles", Invalidates, "100 too few", |s| s.segments[0].threads[0].histogram.bins[10] -= 100),
        ("cycles", Invalidates, "100 too many", |s| s.segments[0].threads[0].missed += 100),
        ("cycles", Invalidates, "9,999 wake-ups of 10,000", |s| s.spec.length = Length::Cycles(10_000)),
        ("cycles", Invalidates, "different bins", |s| {
            s.segments.push(s.segments[0].clone());
            s.segments[1].threads[0].histogram.bin_width_ns = 500;
        }),
        ("stream", Degrades, "1 damaged places, 70 bytes skipped; first at byte 900", |s| {
            s.segments[0].damage.push(Damage { offset: 900, bytes: 70, reason: "damaged record".into() });
        }),
        ("ledger", Invalidates, "the probe counted 10,005", |s| {
            s.segments[0].end.as_mut().unwrap().threads[0].cycles = 10_005;
        }),
        ("hand-over", Degrades, "ring full", |s| {
            s.segments[0].events.push(event(EventKind::HandoverLost, "blocks", "ring full"));
        }),
        ("negative", Degrades, "2 wake-ups", |s| s.segments[0].threads[0].histogram.negative = 2),
        ("conditions", Invalidates, "isolated CPUs: asked for none, found 1", |s| {
            s.settings.boot.isolcpus = Some(CpuList::default());
        }),
        ("conditions", Degrades, "does not tell: clock source", |s| {
            s.settings.require.clocksource = Some("tsc".into());
            s.before.clocksource = None;
        }),
        ("boot", Invalidates, "between the check", |s| s.before.boot_id = Some("other".into())),
        ("boot", Degrades, "2 boots are added up", |s| {
            let mut second = s.segments[0].clone();
            second.header.as_mut().unwrap().boot_id = "cafe".into();
            s.segments.push(second);
        }),
        ("boot", Invalidates, "from 6.1.0-rt to 6.2", |s| {
            let mut second = s.segments[0].clone();
            second.header.as_mut().unwrap().kernel_release = "6.2".into();
            s.segments.push(second);
        }),
        ("boot", Degrades, "rebooted after", |s| s.after.as_mut().unwrap().boot_id = Some("cafe".into())),
        ("boot", Unknown, "could not be asked", |s| s.after = None),
        ("policy", Invalidates, "ran as SCHED_OTHER, asked for SCHED_FIFO 98", |s| {
            let thread = &mut s.segments[0].instrument.as_mut().unwrap().threads[0];
            (thread.policy, thread.priority) = (latprobe::spec::Policy::Other, 0);
        }),
        ("policy", Degrades, "accepted", |s| {
            s.segments[0].instrument.as_mut().unwrap().threads[0].priority = 1;
            s.spec.accept = vec![Weakness::PolicyNotGranted];
        }),
        ("policy", Invalidates, "never read back", |s| s.segments[0].instrument = None),
        ("policy", Invalidates, "the stream is damaged", |s| {
            s.segments[0].instrument = None;
            s.segments[0].damage.push(Damage { offset: 300, bytes: 70, reason: "damaged record".into() });
        }),
        ("placement", Invalidates, "may run on CPU 0-1", |s| {
            s.segments[0].instrument.as_mut().unwrap().threads[0].allowed_cpus = "0-1".into();
        }),
        ("memory-locked", Invalidates, "RLIMIT_MEMLOCK", |s| {
            s.segments[0].instrument.as_mut().unwrap().memory_locked = false;
        }),
        ("page-faults", Invalidates, "1 major", |s| s.segments[0].threads[0].major_faults = 1),
        ("page-faults", Degrades, "3 minor", |s| s.segments[0].threads[0].minor_faults = 3),
        ("clock", Invalidates, "coarser than a bin of 1000 ns", |s| {
            s.segments[0].instrument.as_mut().unwrap().selftest.clock_step_ns = 1001;
        }),
        ("clocksource", Invalidates, "from arch_sys_counter to jiffies", |s| {
            s.after.as_mut().unwrap().clocksource = Some("jiffies".into());
        }),
        ("load-duty", Invalidates, "`dd` ran 50.0 % of the time, at least 90.0 %", |s| {
            s.segments[0].loads[0].active_ns = 5 * S;
        }),
        ("load-duty", Invalidates, "0.0 %", |s| s.segments[0].loads.clear()),
        ("load-failures", Invalidates, "could not be started: ENOENT", |s| {
            s.segments[0].events.push(event(EventKind::LoadMissing, "dd", "ENOENT"));
        }),
        ("load-failures", Degrades, "failed 1 times, first: EAGAIN", |s| {
            s.segments[0].loads[0].failures = 1;
            s.segments[0].events.push(event(EventKind::LoadStarted, "dd", "dd if=/dev/zero"));
            s.segments[0].events.push(event(EventKind::LoadMissing, "dd", "EAGAIN"));
        }),
        ("supervisor", Degrades, "could run on measured CPU 1", |s| {
            s.segments[0].instrument.as_mut().unwrap().supervisor_cpus = "0-1".into();
        }),
        ("idle-states", Degrades, "could not be held off: refused: EACCES", |s| {
            s.segments[0].instrument.as_mut().unwrap().cpu_dma_latency = "refused: EACCES".into();
        }),
        ("load-failures", Degrades, "2 times, first: exit status 1", |s| {
            s.segments[0].loads[0].failures = 2;
            s.segments[0].events.push(event(EventKind::LoadFailed, "dd", "exit status 1"));
        }),
        ("out-of-memory", Invalidates, "1 processes", |s| s.segments[0].oom_kills = 1),
        ("out-of-memory", Invalidates, "4 processes", |s| s.after.as_mut().unwrap().oom_kills = Some(4)),
        ("interrupts", Degrades, "on isolated CPU 1: 3 × 45 (GICv2 77 Level eth0)", |s| {
            s.segments[0].interrupts.insert((1, "45".into()), 3);
        }),
        ("interrupts", Unknown, "not counted", |s| s.segments[0].interrupts.clear()),
        ("frequency", Degrades, "CPU 1 ran between 300 MHz and 800 MHz", |s| {
            s.settings.apply.governor = Some("performance".into());
            s.segments[0].frequencies_khz = vec![(1, 1, 800_000), (2, 1, 300_000), (2, 0, 800_000)];
        }),
        ("restored", Degrades, "EPERM", |s| {
            s.segments[0].events.push(event(EventKind::RestoreFailed, "/proc/sys/kernel/printk", "EPERM"));
        }),
        ("state-after", Degrades, "governor was performance, is 0: performance, 1: powersave", |s| {
            let governor = "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor";
            s.after = Some(Facts::parse(&captures_with(governor, "powersave")));
        }),
    ];
    for (rule, outcome, words, spoil) in cases {
        let mut stored = good();
        spoil(&mut stored);
        let judgement = stored.judge();
        let found = finding(&judgement, rule);
        assert_eq!(found.outcome, *outcome, "{rule}: {found:?}");
        assert!(found.detail.contains(words), "{rule}: {} lacks {words}", found.detail);
        let expected = match outcome {
            Invalidates => Validity::Invalid,
            Degrades => Validity::Degraded,
            _ => Validity::Valid,
        };
        assert!(judgement.validity >= expected, "{rule}: {judgement:?}");
    }
}

#[test]
fn an_interrupt_on_a_shared_cpu_is_no_fault() {
    let mut stored = good();
    stored.before = Facts::parse(&captures_with("/sys/devices/system/cpu/isolated", ""));
    stored.settings.boot.isolcpus = Some(CpuList::default());
    stored.after = Some(stored.before.clone());
    stored.segments[0].interrupts.insert((1, "45".into()), 3);
    let judgement = stored.judge();
    assert_eq!(finding(&judgement, "interrupts").outcome, Outcome::Ok);
    assert!(finding(&judgement, "interrupts").detail.contains("3 × 45"));
    assert_eq!(judgement.validity, Validity::Valid, "{judgement:?}");
}

#[test]
fn a_segment_without_an_ending_is_not_known_to_the_period() {
    let mut stored = good();
    stored.spec.length = Length::DurationNs(20 * S);
    stored.segments.insert(0, stored.segments[0].clone());
    stored.segments[0].end = None;
    stored.segments[0].phases.pop();
    stored.segments[0].threads[0].histogram.bins[10] += 40;
    let judgement = stored.judge();
    assert_eq!(finding(&judgement, "cycles").outcome, Outcome::Ok, "{judgement:?}");
    assert_eq!(judgement.validity, Validity::Degraded);
    stored.segments[0].threads[0].histogram.bins[10] += 40;
    assert_eq!(finding(&stored.judge(), "cycles").outcome, Outcome::Invalidates);
}

#[test]
fn pauses_of_the_recipe_do_not_count_against_its_duty() {
    let mut stored = good();
    stored.segments[0].loads[0].active_ns = 6 * S;
    stored.segments[0].loads[0].pause_ns = 4 * S;
    let judgement = stored.judge();
    assert_eq!(finding(&judgement, "load-duty").detail, "dd 100.0 %");
}

#[test]
fn the_kernel_log_since_the_start_is_read() {
    let log = |lines: &str| {
        let mut stored = good();
        let text = format!("<6>[    1.000000] booted\n{lines}");
        stored.after = Some(Facts::parse(&captures_with("@kernel_log", &text)));
        let judgement = stored.judge();
        let found = finding(&judgement, "kernel-log").clone();
        (found.outcome, found.detail)
    };
    assert_eq!(log("<6>[    2.000000] eth0: link up\n").0, Outcome::Ok);
    assert_eq!(log("<7>[    2.000000] usb DEBUG: 5 packets\n").0, Outcome::Ok);
    for (line, outcome) in [
        ("Internal error: Oops: 5 [#1] SMP ARM", Outcome::Invalidates),
        ("BUG: unable to handle page fault for address", Outcome::Invalidates),
        ("watchdog: BUG: soft lockup - CPU#0 stuck for 22s!", Outcome::Degrades),
        ("rcu: INFO: rcu_preempt self-detected stall on CPU", Outcome::Degrades),
        ("INFO: task mmcqd:72 blocked for more than 120 seconds.", Outcome::Degrades),
        ("sched: RT throttling activated", Outcome::Degrades),
        ("INFO: rcu_sched_state detected stall on CPU 0 (t=6000 jiffies)", Outcome::Degrades),
        ("hwmon hwmon1: Undervoltage detected!", Outcome::Degrades),
        ("CPU0: Core temperature above threshold, cpu clock throttled (total events = 1)", Outcome::Degrades),
        (
            "clocksource: timekeeping watchdog on CPU0: Marking clocksource 'tsc' as unstable because the skew is too large:",
            Outcome::Invalidates,
        ),
    ] {
        let (found, detail) = log(&format!("<3>[    2.000000] {line}\n"));
        assert_eq!(found, outcome, "{line}");
        assert!(detail.contains(line), "{detail}");
    }
    let (outcome, detail) = log(
        "<4>[    2.000000] sched: RT throttling activated\n<3>[    2.100000] kernel BUG at mm/x.c\n<3>[    2.200000] BUG: again\n",
    );
    assert_eq!(outcome, Outcome::Invalidates);
    assert!(detail.starts_with("the kernel found itself broken (2 lines"), "{detail}");
    // What stood there before the run is not of the run.
    let mut stored = good();
    let old = Facts::parse(&captures_with("@kernel_log", "<4>[    0.000500] BUG: old\n<6>[    0.001000] x\n"));
    (stored.before, stored.after) = (old.clone(), Some(old));
    assert_eq!(finding(&stored.judge(), "kernel-log").outcome, Outcome::Ok);
    // A ring that was overwritten in between hides what it lost.
    let mut stored = good();
    stored.after = Some(Facts::parse(&captures_with("@kernel_log", "<6>[    5.000000] x\n")));
    assert_eq!(finding(&stored.judge(), "kernel-log").outcome, Outcome::Unknown);
}

#[test]
fn an_out_of_memory_kill_stands_in_the_log_of_kernels_that_do_not_count_it() {
    for line in ["Out of memory: Kill process 7 (hackbench)", "Memory cgroup out of memory: Killed process 7 (dd)"] {
        let mut stored = good();
        let text = format!("<6>[    1.000000] booted\n<3>[    2.000000] {line}\n");
        let mut after = Facts::parse(&captures_with("@kernel_log", &text));
        (stored.before.oom_kills, after.oom_kills) = (None, None);
        stored.after = Some(after);
        assert_eq!(finding(&stored.judge(), "out-of-memory").outcome, Outcome::Invalidates, "{line}");
    }
}

#[test]
fn limits_are_inclusive_and_a_bound_that_cannot_decide_is_broken() {
    let limits = |gate: Gate| {
        let mut stored = good();
        stored.settings.gate = gate;
        let judgement = stored.judge();
        (judgement.limits[0].holds, judgement.limits[0].measured.clone(), judgement.verdict)
    };
    let max = |ns| limits(Gate { max_ns: Some(ns), ..Gate::default() });
    assert_eq!(max(1_000_500), (true, "1000.5 us".into(), Verdict::Pass));
    assert_eq!(max(1_000_499), (false, "1000.5 us".into(), Verdict::Fail));
    assert_eq!(limits(Gate { missed: Some(0), ..Gate::default() }).2, Verdict::Fail);
    assert_eq!(limits(Gate { missed: Some(1), ..Gate::default() }).2, Verdict::Pass);
    let quantile = |q: &str, ns| limits(Gate { quantile_ns: [(q.to_owned(), ns)].into(), ..Gate::default() });
    // 10.5 us lie in the bin 10..11 us.
    assert_eq!(quantile("0.99", 11 * MS / 1000).2, Verdict::Pass);
    assert_eq!(quantile("0.99", 10_998), (false, "11 us".into(), Verdict::Fail));
    // 0.9999 of 9,999 is the last one, in overflow: a bound, which the tail and the maximum still narrow.
    assert_eq!(quantile("0.9999", 999_999), (false, "> 200 us (≤ 1000.5 us)".into(), Verdict::Fail));
    assert_eq!(quantile("0.9999", 1_000_500).2, Verdict::Pass);
    let exceed = |ns, share| limits(Gate { exceed: vec![(ns, share)], ..Gate::default() });
    assert!(exceed(100_000, 1.01e-4).0);
    assert!(!exceed(100_000, 1e-5).0);
    // The limit lies in the bin of one sample: it may be above.
    assert!(!exceed(50_100, 1.01e-4).0);
}

#[test]
fn an_invalid_run_has_no_verdict_but_its_figures_are_shown() {
    let mut stored = good();
    stored.settings.gate = Gate { max_ns: Some(2 * MS), ..Gate::default() };
    assert_eq!(stored.judge().verdict, Verdict::Pass);
    stored.segments[0].threads[0].major_faults = 1;
    let judgement = stored.judge();
    assert_eq!((judgement.validity, judgement.verdict), (Validity::Invalid, Verdict::NotJudged));
    assert_eq!(judgement.limits[0].measured, "1000.5 us");
}

#[test]
fn every_rule_is_documented() {
    let documented = include_str!("../../../../docs/validity.md");
    for (rule, _) in RULES {
        assert!(documented.contains(&format!("\n| `{rule}` |")), "{rule} is not in docs/validity.md");
    }
}

#[test]
fn judging_twice_gives_the_same() {
    assert_eq!(good().judge(), good().judge());
}

mod any_stream {
    use super::*;
    use crate::formats::export::{self, Source};
    use crate::result::{Identity, RunResult};
    use latprobe::stream::{Block, Checkpoint, LoadDelta, Phase, PhaseKind, Record, Sample, SystemDelta, ThreadDelta};
    use proptest::prelude::*;

    fn extreme() -> impl Strategy<Value = u64> {
        prop_oneof![Just(0), Just(u64::MAX), Just(1 << 63), any::<u64>(), 0u64..20_000_000_000]
    }

    prop_compose! {
        fn checkpoint()(warm_up: bool, mono_ns in extreme(), thread in 0u32..3, missed in extreme(), negative: u32, faults in extreme(),
            bins in prop::collection::vec((0u32..300, any::<u32>()), 0..5), tail in prop::collection::vec((0u32..700, any::<u32>()), 0..5),
            block in (extreme(), any::<(u32, u32)>(), extreme(), extreme()), sample in (extreme(), extreme()),
            load in (0u32..3, extreme(), extreme(), any::<u32>())) -> Record {
            let (end_mono_ns, (cycles, lost), min_ns, max_ns) = block;
            let thread = ThreadDelta {
                thread, bins, tail, negative, missed,
                blocks: vec![Block { end_mono_ns, cycles, missed: lost, min_ns, max_ns, sum_ns: max_ns }],
                worst: vec![Sample { latency_ns: sample.0, cycle: sample.1, mono_ns: sample.1 }],
                minor_faults: faults, major_faults: faults, voluntary_switches: faults, involuntary_switches: faults,
            };
            let loads = vec![LoadDelta { load: load.0, active_ns: load.1, pause_ns: load.2, starts: load.3, failures: load.3 }];
            let system = SystemDelta { interrupts: vec![(1, "45".into(), faults)], oom_kills: faults, ..SystemDelta::default() };
            Checkpoint { warm_up, mono_ns, threads: vec![thread], loads, system }.into()
        }
    }

    fn phase() -> impl Strategy<Value = Record> {
        let kinds = [PhaseKind::WarmUp, PhaseKind::Measuring, PhaseKind::Ended];
        (0usize..3, extreme()).prop_map(move |(kind, mono_ns)| Record::Phase(Phase { kind: kinds[kind], mono_ns }))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        /// A board that writes nonsense with sound checksums gets a judgement, not a crash, and never a pass.
        #[test]
        fn is_judged(records in prop::collection::vec(prop_oneof![checkpoint(), phase()], 0..8), again: bool) {
            let mut stored = good();
            stored.settings.gate = Gate { max_ns: Some(1000), ..Gate::default() };
            let end = stored.segments[0].end.clone();
            let mut fold = latprobe::stream::Fold::new();
            fold.push(Record::Header(stored.segments[0].header.clone().unwrap()));
            records.into_iter().for_each(|record| fold.push(record));
            let segment = Folded { end, ..fold.finish(Vec::new(), 0) };
            stored.segments = vec![segment; if again { 2 } else { 1 }];
            let evidence = stored.evidence();
            let judgement = stored.judge();
            prop_assert_ne!(judgement.verdict, Verdict::Pass);
            let result = RunResult::new(Identity::default(), &evidence, judgement);
            let source = Source { result: &result, segments: &stored.segments };
            for export in [export::cyclictest, export::csv, export::json] {
                prop_assert!(export(&source).is_ok());
            }
        }
    }
}

#[test]
fn a_hunt_may_end_early_and_noise_counts_clock_reads() {
    let mut hunt = good();
    hunt.spec.length = Length::DurationNs(3600 * S);
    assert_eq!(finding(&hunt.judge(), "complete").outcome, Outcome::Invalidates);
    let hunted = |at_least_ns| {
        Mode::Hunt(Hunt { at_least_ns, tracer: "nop".into(), events: vec!["irq:irq_handler_entry".into()] })
    };
    for (at_least_ns, words) in [(1, " met"), (1000 * S, "not met")] {
        hunt.spec.measure.mode = hunted(at_least_ns);
        let judgement = hunt.judge();
        let complete = finding(&judgement, "complete");
        assert_eq!(complete.outcome, Outcome::Ok);
        assert!(complete.detail.ends_with(words), "{}", complete.detail);
        assert_eq!(finding(&judgement, "cycles").outcome, Outcome::Ok);
    }
    // Killed before its end it says nothing.
    hunt.segments[0].end = None;
    assert_eq!(finding(&hunt.judge(), "complete").outcome, Outcome::Invalidates);

    let mut noise = good();
    for bin in &mut noise.segments[0].threads[0].histogram.bins {
        *bin *= 1000;
    }
    assert_eq!(finding(&noise.judge(), "cycles").outcome, Outcome::Invalidates);
    noise.spec.measure.mode = Mode::Noise { duty_percent: 90 };
    assert_eq!(finding(&noise.judge(), "cycles").outcome, Outcome::Ok);
    noise.segments[0].threads.clear();
    assert_eq!(finding(&noise.judge(), "cycles").outcome, Outcome::Invalidates);
}
