//! A run that went well, for tests to spoil.

use crate::campaign::model::{
    Boot, Collect, CollectMode, Conditions, Cpus, Gate, Instrument as Kind, Load, LoadKind, Measure, Settings,
};
use crate::facts::Facts;
use crate::judgement::Judgement;
use crate::target::{BootMethod, Target, Transport};
use crate::verdict::{Evidence, judge};
use latprobe::spec::{self, CpuDmaLatency, Length, Policy, Sleep, Spec};
use latprobe::status::Capture;
use latprobe::stream::{
    Block, End, EndReason, Event, EventKind, Folded, Header, Instrument, LoadDelta, Phase, PhaseKind, Sample, Selftest,
    ThreadResult, ThreadSetup, ThreadTotals,
};
use std::collections::BTreeMap;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const S: u64 = 1000 * MS;

pub(crate) fn capture(path: &str, text: &str) -> Capture {
    Capture { path: path.to_owned(), text: Some(text.to_owned()), error: None }
}

/// A two-CPU board, CPU 1 isolated, PREEMPT_RT.
pub(crate) fn captures() -> Vec<Capture> {
    [
        ("/proc/version", "Linux version 6.1.0-rt (gcc) #1 SMP PREEMPT_RT Debian\n"),
        ("/proc/sys/kernel/osrelease", "6.1.0-rt\n"),
        ("/proc/cmdline", "console=ttyS0 isolcpus=1 threadirqs quiet\n"),
        ("/proc/sys/kernel/random/boot_id", "b00d\n"),
        ("/sys/kernel/realtime", "1\n"),
        ("/sys/devices/system/cpu/online", "0-1\n"),
        ("/sys/devices/system/cpu/isolated", "1\n"),
        ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
        ("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n"),
        ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "arch_sys_counter\n"),
        ("/proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
        ("/proc/sys/kernel/sched_rt_period_us", "1000000\n"),
        ("/proc/sys/kernel/printk", "4\t4\t1\t7\n"),
        ("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n"),
        ("/proc/vmstat", "nr_free_pages 5\noom_kill 0\n"),
        ("/proc/interrupts", "       CPU0 CPU1\n 27:  10  20  GICv2  27 Level  arch_timer\n 45:  9 0 GICv2 77 Level eth0\nIPI0: 1 2 Rescheduling interrupts\n"),
        ("@kernel_log", "<6>[    1.000000] booted\n"),
        ("@uname", "Linux board 6.1.0-rt #1 SMP PREEMPT_RT Debian armv7l\n"),
    ]
    .into_iter()
    .map(|(path, text)| capture(path, text))
    .collect()
}

/// `captures` with one file replaced or added.
pub(crate) fn captures_with(path: &str, text: &str) -> Vec<Capture> {
    let mut all = captures();
    all.retain(|c| c.path != path);
    all.push(capture(path, text));
    all
}

pub(crate) fn settings() -> Settings {
    Settings {
        boot: Boot { kernel: None, isolcpus: Some([1].into_iter().collect()), append: vec!["threadirqs".into()] },
        measure: Measure {
            instrument: Kind::Latprobe,
            cpus: Cpus::List([1].into_iter().collect()),
            interval_ns: MS,
            distance_ns: 0,
            offset_ns: 0,
            policy: Policy::Fifo,
            priority: 98,
            mlock: true,
            bin_width_ns: 1000,
            bins: 200,
            worst: 4,
            block_ns: S,
            sleep: Sleep::Absolute,
            cpu_dma_latency: CpuDmaLatency::Hold,
            warmup_ns: S,
            accept: Vec::new(),
            hunt: None,
            duty_percent: None,
        },
        length: Length::DurationNs(10 * S),
        loads: vec![Load {
            name: "dd".into(),
            kind: LoadKind::Dd { from: "/dev/zero".into(), to: "/dev/null".into(), block: "32M".into(), count: None },
            cpus: None,
            pause_ns: 0,
            min_duty: 0.9,
        }],
        require: Conditions::default(),
        apply: Conditions::default(),
        collect: Collect { every_ns: 60 * S, mode: CollectMode::Live, checkpoint_ns: 10 * S },
        gate: Gate::default(),
    }
}

pub(crate) fn target() -> Target {
    Target {
        name: "board".into(),
        description: None,
        arch: None,
        cpu_count: Some(2),
        transport: Transport::Local { r#become: None },
        work_dirs: vec!["/tmp".into()],
        emulated: false,
        boot_method: BootMethod::AsBooted,
        boot: crate::target::BootSettings::default(),
        kernels: BTreeMap::new(),
        power_cycle: None,
        power: None,
        power_timeout_ns: crate::units::MINUTE,
    }
}

/// Everything stored of a run, owned.
#[derive(Clone)]
pub(crate) struct Stored {
    pub(crate) spec: Spec,
    pub(crate) settings: Settings,
    pub(crate) target: Target,
    pub(crate) segments: Vec<Folded>,
    pub(crate) before: Facts,
    pub(crate) boots: Vec<Facts>,
    pub(crate) after: Option<Facts>,
}

impl Stored {
    pub(crate) fn evidence(&self) -> Evidence<'_> {
        Evidence {
            spec: &self.spec,
            settings: &self.settings,
            target: &self.target,
            segments: &self.segments,
            before: &self.before,
            boots: &self.boots,
            after: self.after.as_ref(),
        }
    }

    pub(crate) fn judge(&self) -> Judgement {
        judge(&self.evidence())
    }
}

/// 10 s at 1 ms on CPU 1: 9,998 cycles of 10.5 us, one of 50.25 us, one period missed by a wake-up 1.0005 ms late.
pub(crate) fn good() -> Stored {
    let settings = settings();
    let before = Facts::parse(&captures());
    let mut spec = crate::resolve::spec(
        &crate::campaign::model::Cell { name: "c".into(), axes: BTreeMap::new(), settings: settings.clone() },
        &target(),
        &before,
        "run-1",
    )
    .unwrap();
    spec.measure.threads = vec![spec::Thread { cpu: Some(1), interval_ns: MS, offset_ns: 0 }];
    let segment = segment(&spec);
    Stored {
        spec,
        settings,
        target: target(),
        segments: vec![segment],
        before: before.clone(),
        boots: Vec::new(),
        after: Some(before),
    }
}

fn segment(spec: &Spec) -> Folded {
    let mut thread = ThreadResult {
        histogram: latprobe::histogram::Histogram::new(1000, 200),
        missed: 1,
        blocks: vec![Block {
            end_mono_ns: 12 * S,
            cycles: 9_999,
            missed: 1,
            min_ns: 10_500,
            max_ns: 1_000_500,
            sum_ns: 9_997 * 10_500 + 50_250 + 1_000_500,
        }],
        worst: vec![
            Sample { latency_ns: 1_000_500, cycle: 7_000, mono_ns: 9 * S },
            Sample { latency_ns: 50_250, cycle: 100, mono_ns: 2 * S + 100 * MS },
        ],
        minor_faults: 0,
        major_faults: 0,
        voluntary_switches: 9_999,
        involuntary_switches: 0,
    };
    (0..9_997).for_each(|_| thread.histogram.record(10_500));
    thread.histogram.record(50_250);
    thread.histogram.record(1_000_500);
    Folded {
        header: Some(Header {
            format: 1,
            run_id: spec.run_id.clone(),
            segment: 0,
            probe_version: "0.1.0".into(),
            boot_id: "b00d".into(),
            kernel_release: "6.1.0-rt".into(),
            mono_ns: S / 2,
            realtime_ns: 0,
            bin_width_ns: 1000,
            bins: 200,
            worst: 4,
            loads: vec!["dd".into()],
        }),
        instrument: Some(Instrument {
            threads: vec![ThreadSetup {
                tid: 77,
                cpu: Some(1),
                allowed_cpus: "1".into(),
                policy: Policy::Fifo,
                priority: 98,
                interval_ns: MS,
            }],
            selftest: Selftest {
                clock_read_min_ns: 50,
                clock_read_p99_ns: 70,
                clock_step_ns: 40,
                clock_call: "vdso".into(),
                sleep_call: "clock_nanosleep".into(),
                timer_resolution_ns: 1,
            },
            memory_locked: true,
            cpu_dma_latency: "held 0 us".into(),
            supervisor_cpus: "0".into(),
            accepted: Vec::new(),
        }),
        phases: [(PhaseKind::WarmUp, S), (PhaseKind::Measuring, 2 * S), (PhaseKind::Ended, 12 * S)]
            .map(|(kind, mono_ns)| Phase { kind, mono_ns })
            .to_vec(),
        threads: vec![thread],
        loads: vec![LoadDelta { load: 0, active_ns: 10 * S - MS, pause_ns: 0, starts: 1, failures: 0 }],
        interrupts: [((1, "27".to_owned()), 10_000), ((1, "IPI0".to_owned()), 4)].into(),
        last_checkpoint_mono_ns: Some(12 * S),
        checkpoints: 2,
        end: Some(End {
            mono_ns: 13 * S,
            reason: EndReason::Completed,
            detail: String::new(),
            restored: true,
            threads: vec![ThreadTotals { cycles: 9_999, missed: 1, negative: 0 }],
        }),
        ..Folded::default()
    }
}

pub(crate) fn event(kind: EventKind, subject: &str, detail: &str) -> Event {
    Event { mono_ns: 3 * S, kind, subject: subject.into(), detail: detail.into() }
}

/// Begins a small stream: ten bins of 1 us.
pub(crate) fn header(loads: &[&str]) -> Header {
    Header {
        format: 1,
        run_id: "r".into(),
        segment: 0,
        probe_version: "0".into(),
        boot_id: "b".into(),
        kernel_release: "k".into(),
        mono_ns: 0,
        realtime_ns: 0,
        bin_width_ns: 1000,
        bins: 10,
        worst: 0,
        loads: loads.iter().map(|load| (*load).to_owned()).collect(),
    }
}
