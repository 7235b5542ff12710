use super::*;
use crate::campaign::model::{Below, Conditions, Cpus, Housekeeping, LoadKind, Off, RtRuntime, Settings};
use crate::facts::Facts;
use crate::target::{Kernel, Ssh, Target, Transport};
use crate::testing::{capture, captures, settings, target};
use latprobe::cpulist::CpuList;
use latprobe::spec::{CpuDmaLatency, Policy};
use latprobe::status::Capture;

struct Case {
    captures: Vec<Capture>,
    settings: Settings,
    target: Target,
}

impl Case {
    fn new() -> Self {
        Self { captures: captures(), settings: settings(), target: target() }
    }

    fn file(&mut self, path: &str, text: &str) {
        self.captures.retain(|capture| capture.path != path);
        self.captures.push(capture(path, text));
    }

    /// What a rule says in the campaign.
    fn check(&self, name: &str) -> Option<(Outcome, String)> {
        let facts = Facts::parse(&self.captures);
        let subject =
            Subject { facts: &facts, later: None, target: Some(&self.target), settings: Some(&self.settings) };
        rule(name).unwrap().check(&subject).map(|check| (check.outcome, check.found))
    }
}

fn command(case: &mut Case, argv: &[&str]) {
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    case.settings.loads[0].kind = LoadKind::Command { argv };
}

fn dd_to(case: &mut Case, file: &str) {
    case.settings.loads[0].kind =
        LoadKind::Dd { from: "/dev/zero".into(), to: file.into(), block: "1M".into(), count: None };
}

fn hackbench(case: &mut Case, groups: u32, free_kib: &str) {
    case.settings.loads[0].kind = LoadKind::Hackbench { groups, loops: 1, size: 100, pipes: false, threads: false };
    case.file("/proc/meminfo", &format!("MemTotal: 500000 kB\nMemAvailable: {free_kib} kB\n"));
}

const CONFIG: &str = "/boot/config-6.1.0-rt";
const SERVER: &str = "/sys/kernel/debug/sched/fair_server/cpu1/";
type Expected = Option<(Outcome, &'static str)>;
type Change = fn(&mut Case);

#[test]
fn rules_that_look_at_the_campaign() {
    use Outcome::{Fail, Pass, Unknown, Warn};
    let cases: &[(&str, Change, Expected)] = &[
        (
            "interval-tick",
            |c| c.file(CONFIG, "CONFIG_HZ=250\n"),
            Some((Warn, "an interval of 1 ms keeps its phase to the tick of 4 ms")),
        ),
        (
            "interval-tick",
            |c| {
                c.file(CONFIG, "CONFIG_HZ=250\n");
                c.settings.measure.interval_ns = 997_000;
            },
            Some((Pass, "an interval of 997 us drifts through the tick of 4 ms")),
        ),
        (
            "interval-tick",
            |c| {
                c.file(CONFIG, "CONFIG_HZ=1000\n");
                c.settings.measure.interval_ns = 10_000_000;
            },
            Some((Warn, "an interval of 10 ms keeps its phase to the tick of 1 ms")),
        ),
        ("interval-tick", |_| {}, Some((Unknown, "the length of the tick is not known"))),
        ("high-priority", |_| {}, Some((Warn, "measured at 98"))),
        ("high-priority", |c| c.settings.measure.priority = 80, Some((Pass, "measured at 80"))),
        ("high-priority", |c| c.settings.measure.policy = Policy::Other, None),
        ("isolcpus", |_| {}, Some((Pass, "isolated CPUs: 1, as asked"))),
        (
            "isolcpus",
            |c| c.settings.boot.isolcpus = Some(CpuList::default()),
            Some((Warn, "isolated CPUs: 1, none are asked for")),
        ),
        (
            "isolcpus",
            |c| c.settings.boot.isolcpus = CpuList::parse("0-1").ok(),
            Some((Warn, "isolated CPUs: 1, asked for 0-1")),
        ),
        ("isolcpus", |c| c.settings.boot.isolcpus = None, None),
        (
            "memory",
            |c| hackbench(c, 40, "400000"),
            Some((Pass, "the loads need about 250 MiB of the 390 MiB that are free")),
        ),
        (
            "memory",
            |c| hackbench(c, 40, "300000"),
            Some((Warn, "the loads need about 250 MiB of the 292 MiB that are free")),
        ),
        (
            "memory",
            |c| hackbench(c, 40, "200000"),
            Some((Fail, "the loads need about 250 MiB of the 195 MiB that are free")),
        ),
        ("memory", |c| command(c, &["stress-ng"]), None),
        ("flash-wear", |_| {}, Some((Pass, "no load writes to flash"))),
        ("flash-wear", |c| dd_to(c, "/dev/mmcblk0"), Some((Warn, "load dd writes /dev/mmcblk0"))),
        (
            "flash-wear",
            |c| {
                dd_to(c, "/data/file");
                c.file(
                    "/proc/mounts",
                    "/dev/root / ext4 rw 0 0\n/dev/mmcblk0p3 /data ext4 rw 0 0\ntmpfs /data2 tmpfs rw 0 0\n",
                );
            },
            Some((Warn, "load dd writes /data/file")),
        ),
        (
            "flash-wear",
            |c| {
                dd_to(c, "/data2/file");
                c.file("/proc/mounts", "/dev/mmcblk0p3 /data ext4 rw 0 0\ntmpfs /data2 tmpfs rw 0 0\n");
            },
            Some((Pass, "no load writes to flash")),
        ),
        (
            "network-load",
            |c| {
                command(c, &["/usr/bin/iperf3", "-c", "10.0.0.1"]);
                c.target.transport = Transport::Ssh(Ssh {
                    destination: "board".into(),
                    port: None,
                    identity: None,
                    host_keys: Vec::new(),
                    r#become: None,
                    connect_timeout_ns: 1,
                });
            },
            Some((Warn, "load dd runs /usr/bin/iperf3")),
        ),
        ("network-load", |c| command(c, &["iperf3"]), None),
        (
            "preempt-rt",
            |c| {
                c.settings.boot.kernel = Some("standard".into());
                c.target.kernels.insert("standard".into(), Kernel { not_preempt_rt: true, ..Kernel::default() });
            },
            Some((Warn, "preempt-rt runs, the campaign asks for a kernel without it")),
        ),
        (
            "preempt-rt",
            |c| {
                c.settings.boot.kernel = Some("cobalt".into());
                c.target.kernels.insert("cobalt".into(), Kernel { cobalt: true, ..Kernel::default() });
            },
            None,
        ),
        (
            "competing-threads",
            |c| c.file("@rt_threads", "9 9 fifo 99 1 migration/1\n50 50 fifo 97 1 low\n60 60 fifo 99 0 elsewhere\n"),
            Some((Pass, "none at or above 98 but the kernel's own migration, watchdog and posixcputmr threads")),
        ),
        (
            "competing-threads",
            |c| c.file("@rt_threads", "70 71 rr 98 0-1 my prog\n"),
            Some((Fail, "my prog (SCHED_RR 98, thread 71)")),
        ),
        (
            "competing-threads",
            |c| {
                c.file("@rt_threads", "70 71 rr 98 0-1 my prog\n");
                c.settings.apply.rt_threads = Some(Below::Below);
            },
            Some((Pass, "my prog (SCHED_RR 98, thread 71); the campaign sets it for the run")),
        ),
        // One that the campaign leaves open warns, one that it requires fails, one that it applies passes.
        ("rt-throttling", |_| {}, Some((Warn, "throttled after 950000 us of each second"))),
        (
            "rt-throttling",
            |c| c.settings.require.rt_runtime = Some(RtRuntime::Unlimited),
            Some((Fail, "throttled after 950000 us of each second")),
        ),
        (
            "rt-throttling",
            |c| c.settings.require.checks = vec!["rt-throttling".into()],
            Some((Fail, "throttled after 950000 us of each second")),
        ),
        (
            "rt-throttling",
            |c| c.settings.apply.rt_runtime = Some(RtRuntime::Unlimited),
            Some((Pass, "throttled after 950000 us of each second; the campaign sets it for the run")),
        ),
        (
            "rt-throttling",
            |c| c.settings.require.rt_runtime = Some(RtRuntime::Us(950_000)),
            Some((Pass, "throttled after 950000 us of each second")),
        ),
        // What cannot be seen cannot be set.
        (
            "fair-server",
            |c| c.settings.apply.fair_server = Some(Off::Off),
            Some((Unknown, "cannot be seen without debugfs")),
        ),
        (
            "fair-server",
            |c| {
                c.file(&format!("{SERVER}runtime"), "50000000\n");
                c.file(&format!("{SERVER}period"), "1000000000\n");
                c.settings.apply.fair_server = Some(Off::Off);
            },
            Some((Pass, "keeps 50 ms of each 1 s; the campaign sets it for the run")),
        ),
        (
            "interrupt-affinity",
            |c| c.file("/proc/irq/45/smp_affinity_list", "0-1"),
            Some((Warn, "may go to CPU 1: 45 (eth0)")),
        ),
        ("interrupt-affinity", |c| c.settings.measure.cpus = Cpus::List([0].into_iter().collect()), None),
        (
            "interrupt-affinity",
            |c| {
                c.file("/proc/irq/45/smp_affinity_list", "0-1");
                c.settings.measure.cpus = Cpus::List([0].into_iter().collect());
                c.settings.apply.irq_affinity = Some(Housekeeping::Housekeeping);
            },
            Some((Pass, "may go to CPU 0: 45 (eth0); the campaign sets it for the run")),
        ),
        (
            "cpuidle",
            |c| {
                c.file("/sys/devices/system/cpu/cpuidle/current_driver", "psci_idle");
                c.file("/sys/devices/system/cpu/cpu1/cpuidle/state0/name", "deep");
                c.file("/sys/devices/system/cpu/cpu1/cpuidle/state0/latency", "700");
                c.settings.measure.cpu_dma_latency = CpuDmaLatency::None;
            },
            Some((Warn, "driver psci_idle, states deep (700 us)")),
        ),
    ];
    for (number, (name, change, expected)) in cases.iter().enumerate() {
        let mut case = Case::new();
        change(&mut case);
        let expected = expected.map(|(outcome, found)| (outcome, found.to_owned()));
        assert_eq!(case.check(name), expected, "case {number}");
    }
}

/// Interrupts that fired count, unless the campaign moves them: then the validity rule `interrupts` counts in the run.
#[test]
fn interrupts_are_told_by_their_counts() {
    let counts = |cpu1: u32| {
        format!(
            "       CPU0 CPU1\n 27:  10  {}  GICv2  27 Level  arch_timer\n 45:  9 {cpu1} GICv2 77 Level eth0\nIPI0: 1 {} Rescheduling\n",
            cpu1 * 9,
            cpu1 * 7
        )
    };
    let at = |text: &str, boot: &str, mono_ns: &str| {
        let mut case = Case::new();
        case.file("/proc/interrupts", text);
        case.file("/proc/sys/kernel/random/boot_id", boot);
        case.file("@mono_ns", mono_ns);
        Facts::parse(&case.captures)
    };
    let (first, quiet, busy, other_boot) = (
        at(&counts(5), "b1", "1000000000"),
        at(&counts(5), "b1", "4200000000"),
        at(&counts(1005), "b1", "61000000000"),
        at(&counts(7), "b2", "1000000"),
    );
    let mut settings = settings();
    let found = |settings: &Settings, later: Option<&Facts>| {
        let subject = Subject { facts: &first, later, target: None, settings: Some(settings) };
        let check = rule("interrupts-fired").unwrap().check(&subject).unwrap();
        (check.outcome, check.found)
    };
    assert_eq!(found(&settings, None), (Outcome::Warn, "on CPU 1 since boot: 5 × 45 (eth0)".to_owned()));
    assert_eq!(found(&settings, Some(&other_boot)), (Outcome::Warn, "on CPU 1 since boot: 5 × 45 (eth0)".to_owned()));
    let none = "none on CPU 1 in 3 s but the local timer and other CPUs' calls".to_owned();
    assert_eq!(found(&settings, Some(&quiet)), (Outcome::Pass, none));
    let fired = "on CPU 1 in 1 min: 1,000 × 45 (eth0)".to_owned();
    assert_eq!(found(&settings, Some(&busy)), (Outcome::Fail, fired));
    settings.apply.irq_affinity = Some(Housekeeping::Housekeeping);
    assert_eq!(found(&settings, Some(&busy)).0, Outcome::Pass);
}

#[test]
fn rules_have_names_of_their_own_and_say_why() {
    let mut names = names();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    for rule in rules() {
        assert!(rule.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{}", rule.name);
        assert!(rule.reason.len() > 20 && !rule.source.is_empty(), "{}", rule.name);
    }
    // Every key of [apply] has a rule that shows what it does.
    let all = Conditions {
        governor: Some("performance".into()),
        rt_runtime: Some(RtRuntime::Unlimited),
        fair_server: Some(Off::Off),
        ..Conditions::default()
    };
    let mut settings = settings();
    settings.apply = all;
    let facts = Facts::parse(&captures());
    let subject = Subject { settings: Some(&settings), ..Subject::of(&facts) };
    assert_eq!(subject.known("governor"), Known::Applied);
    assert_eq!(subject.known("fair-server-scaling"), Known::Applied);
    assert_eq!(subject.known("time-sync"), Known::Open);
    assert_eq!(Subject::of(&facts).known("governor"), Known::NoCampaign);
}

#[test]
fn the_documentation_lists_every_rule() {
    let text = include_str!("../../../../docs/recipe.md");
    for rule in rules() {
        let mark = if rule.weight == Weight::Sound { " (!)" } else { "" };
        let line = format!("| `{}`{mark} | {} | {} |", rule.name, rule.reason, rule.source);
        assert!(text.contains(&line), "docs/recipe.md lacks: {line}");
    }
    assert_eq!(text.lines().filter(|line| line.starts_with("| `")).count(), rules().count());
}
