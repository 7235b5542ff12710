use super::*;
use crate::campaign::model::{
    Below, Conditions, Console, Housekeeping, Load, LoadKind, Off, Preemption, RtRuntime, Stopped,
};
use crate::target::Arch;
use crate::testing::{S, capture, captures, captures_with, settings, target};
use latprobe::cpulist::CpuList;
use latprobe::spec::Setting;
use std::collections::BTreeMap;

fn facts() -> Facts {
    Facts::parse(&captures())
}

fn cell(settings: Settings) -> Cell {
    Cell { name: "c".into(), axes: BTreeMap::new(), settings }
}

fn spec_of(settings: Settings, facts: &Facts) -> Result<Spec, Refusal> {
    spec(&cell(settings), &target(), facts, "run-1")
}

fn threads_of(change: impl Fn(&mut Measure), facts: &Facts) -> Result<Vec<(Option<u32>, u64, u64)>, String> {
    let mut settings = settings();
    change(&mut settings.measure);
    let spec = spec_of(settings, facts).map_err(|e| e.to_string())?;
    Ok(spec.measure.threads.iter().map(|t| (t.cpu, t.interval_ns, t.offset_ns)).collect())
}

#[test]
fn threads_by_cpus() {
    let f = facts();
    let all = threads_of(|m| (m.cpus, m.distance_ns, m.offset_ns) = (Cpus::All, 500, 7), &f);
    assert_eq!(all, Ok(vec![(Some(0), 1_000_000, 0), (Some(1), 1_000_500, 7)]));
    assert_eq!(threads_of(|m| m.cpus = Cpus::Isolated, &f), Ok(vec![(Some(1), 1_000_000, 0)]));
    assert_eq!(threads_of(|m| m.cpus = Cpus::Unpinned(2), &f).unwrap().len(), 2);
    let offline = threads_of(|m| m.cpus = Cpus::List("1-3".parse().unwrap()), &f).unwrap_err();
    assert_eq!(offline, "measure wants CPU 2-3, but only 0-1 are online on this board; change `cpus`");
    let shared = Facts::parse(&captures_with("/sys/devices/system/cpu/isolated", "\n"));
    assert!(threads_of(|m| m.cpus = Cpus::Isolated, &shared).unwrap_err().contains("no CPU is isolated"));
    assert!(threads_of(|m| m.cpus = Cpus::All, &Facts::default()).unwrap_err().contains("does not tell"));
    // Unpinned threads need no knowledge of the board.
    assert!(threads_of(|m| m.cpus = Cpus::Unpinned(1), &Facts::default()).is_ok());
}

#[test]
fn loads_use_what_the_board_has() {
    let hackbench = LoadKind::Hackbench { groups: 40, loops: 30_000, size: 100, pipes: true, threads: false };
    let argv = |kind: &LoadKind, facts: &Facts| {
        let mut settings = settings();
        let load = Load { name: "l".into(), kind: kind.clone(), cpus: None, pause_ns: S, min_duty: 0.9 };
        settings.loads = vec![load];
        spec_of(settings, facts).map(|spec| spec.loads[0].argv.join(" ")).map_err(|e| e.to_string())
    };
    let mut f = facts();
    assert_eq!(argv(&hackbench, &f).unwrap(), "@latprobe load hackbench -g 40 -l 30000 -s 100 -p");
    f.tools.insert("hackbench".into(), Some("/usr/bin/hackbench".into()));
    assert_eq!(argv(&hackbench, &f).unwrap(), "/usr/bin/hackbench -g 40 -l 30000 -s 100 -p");
    let dd = LoadKind::Dd { from: "/dev/zero".into(), to: "/dev/null".into(), block: "32M".into(), count: Some(3) };
    assert_eq!(argv(&dd, &f).unwrap(), "dd if=/dev/zero of=/dev/null bs=32M count=3");
    f.tools.insert("dd".into(), None);
    assert!(argv(&dd, &f).unwrap_err().contains("load `l` needs `dd`, which is not on the board's PATH"));
    assert_eq!(argv(&LoadKind::Cat { file: "/dev/zero".into() }, &f).unwrap(), "cat /dev/zero");
}

#[test]
fn a_load_on_a_cpu_that_is_not_there_is_refused() {
    let mut settings = settings();
    settings.loads[0].cpus = Some("0,5".parse().unwrap());
    let error = spec_of(settings, &facts()).unwrap_err().to_string();
    assert_eq!(error, "load `dd` wants CPU 5, but only 0-1 are online on this board; change `cpus`");
}

/// CPU 1.
fn one() -> CpuList {
    CpuList::parse("1").unwrap()
}

#[test]
fn what_disturbs_is_moved_lowered_and_halted() {
    let mut captures = captures();
    for (path, text) in [
        ("/proc/irq/27/smp_affinity_list", "0-1"),
        ("/proc/irq/45/smp_affinity_list", "1"),
        ("/proc/irq/46/smp_affinity_list", "0-1"),
        ("/sys/devices/virtual/workqueue/cpumask", "3"),
        ("/sys/kernel/debug/tracing/current_tracer", "function"),
        ("/sys/kernel/debug/tracing/set_event", "sched:sched_switch\n"),
        ("/proc/sys/kernel/watchdog", "1"),
        ("/sys/kernel/debug/sched/fair_server/cpu0/runtime", "50000000"),
        ("/sys/kernel/debug/sched/fair_server/cpu0/period", "1000000000"),
        ("/sys/kernel/debug/sched/fair_server/cpu1/runtime", "0"),
        ("/sys/kernel/debug/sched/fair_server/cpu1/period", "1000000000"),
    ] {
        captures.push(capture(path, text));
    }
    let mut settings = settings();
    settings.apply = Conditions {
        fair_server: Some(Off::Off),
        tracing: Some(Off::Off),
        watchdog: Some(Off::Off),
        irq_affinity: Some(Housekeeping::Housekeeping),
        workqueues: Some(Housekeeping::Housekeeping),
        time_sync: Some(Stopped::Stopped),
        rt_threads: Some(Below::Below),
        ..Conditions::default()
    };
    settings.measure.cpus = Cpus::List(CpuList::parse("1").unwrap());
    let spec = spec_of(settings.clone(), &Facts::parse(&captures)).unwrap();
    let set: Vec<(&str, &str, bool)> =
        spec.apply.iter().map(|s| (s.path.as_str(), s.value.as_str(), s.optional)).collect();
    // The timer goes where it must, and nobody uses interrupt 46.
    let expected = [
        ("/proc/sys/kernel/watchdog", "0", false),
        ("/sys/kernel/debug/sched/fair_server/cpu0/runtime", "0", false),
        ("/sys/kernel/debug/tracing/current_tracer", "nop", false),
        ("/sys/kernel/debug/tracing/set_event", "", false),
        ("/proc/irq/45/smp_affinity_list", "0", true),
        ("/sys/devices/virtual/workqueue/cpumask", "00000001", false),
    ];
    assert_eq!(set, expected);
    assert_eq!(spec.lower_from, Some(settings.measure.priority));
    assert!(spec.halt.iter().any(|name| name == "chronyd"));
    settings.measure.cpus = Cpus::All;
    let error = spec_of(settings, &Facts::parse(&captures)).unwrap_err().to_string();
    assert!(
        error.starts_with("`apply.irq_affinity = \"housekeeping\"`, but every CPU of this board is measured"),
        "{error}"
    );
}

#[test]
fn a_recipe_check_that_is_required_must_pass() {
    let mut settings = settings();
    settings.require.checks = vec!["rt-throttling".into(), "kernel-debug".into(), "smt".into()];
    settings.require.tracing = Some(Off::Off);
    let found: Vec<_> = conditions(&settings, &target(), &facts())
        .into_iter()
        .filter(|condition| condition.what.starts_with("recipe check"))
        .map(|condition| (condition.what, condition.holds))
        .collect();
    let expected = [("tracers", None), ("rt-throttling", Some(false)), ("kernel-debug", None), ("smt", Some(true))];
    assert_eq!(found, expected.map(|(name, holds)| (format!("recipe check {name}"), holds)));
    settings.apply.rt_runtime = Some(RtRuntime::Unlimited);
    let broken = check_boot(&settings, &target(), &facts());
    assert!(broken.is_empty(), "what is applied need not hold before: {broken:?}");
}

#[test]
fn what_already_holds_is_not_written() {
    let mut asked = Conditions {
        governor: Some("performance".into()),
        rt_runtime: Some(RtRuntime::Us(950_000)),
        console: Some(Console::Quiet),
        transparent_hugepage: Some("never".into()),
        ..Conditions::default()
    };
    assert_eq!(settings::apply(&asked, &facts(), &one()).unwrap(), []);
    asked.rt_runtime = Some(RtRuntime::Unlimited);
    let mut loud = captures_with("/proc/sys/kernel/printk", "7 4 1 7");
    loud.retain(|c| !c.path.contains("cpu1/cpufreq") && !c.path.contains("hugepage"));
    loud.push(capture("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "ondemand"));
    let set = |path: &str, value: &str| Setting { path: path.into(), value: value.into(), optional: false };
    assert_eq!(
        settings::apply(&asked, &Facts::parse(&loud), &one()).unwrap(),
        [
            set("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance"),
            set("/proc/sys/kernel/sched_rt_runtime_us", "-1"),
            set("/proc/sys/kernel/printk", "4"),
            set("/sys/kernel/mm/transparent_hugepage/enabled", "never"),
        ]
    );
    // 90 % of a period that is not one second.
    asked = Conditions { rt_runtime: Some(RtRuntime::Us(900_000)), ..Conditions::default() };
    let short = Facts::parse(&captures_with("/proc/sys/kernel/sched_rt_period_us", "100000"));
    assert_eq!(settings::apply(&asked, &short, &one()).unwrap()[0].value, "90000");
}

#[test]
fn settings_that_cannot_be_made_are_refused_before_the_run() {
    let governor = |name: &str| Conditions { governor: Some(name.into()), ..Conditions::default() };
    let available = "/sys/devices/system/cpu/cpu1/cpufreq/scaling_available_governors";
    let f = Facts::parse(&captures_with(available, "ondemand performance\n"));
    let error = settings::apply(&governor("powersave"), &f, &one()).unwrap_err().to_string();
    assert_eq!(error, "`apply.governor = \"powersave\"`, but CPU 1 has only ondemand, performance");
    let user = Facts::parse(&captures_with("@uid", "1000"));
    let error = settings::apply(&governor("ondemand"), &user, &one()).unwrap_err().to_string();
    assert!(
        error.contains("cpu0/cpufreq/scaling_governor, which only root may, and the login is user 1000"),
        "{error}"
    );
    assert!(settings::apply(&governor("performance"), &user, &one()).is_ok(), "nothing to write");
}

#[test]
fn deadline_leaves_room() {
    let spec = spec_of(settings(), &facts()).unwrap();
    // 10 s and 1 s of warm-up, a tenth, and two minutes.
    assert_eq!(spec.deadline_ns, 12_100_000_000 + 120 * S);
    let mut counted = settings();
    counted.length = Length::Cycles(10_000);
    assert_eq!(spec_of(counted, &facts()).unwrap().deadline_ns, 23_100_000_000 + 120 * S);
    let mut absurd = settings();
    absurd.length = Length::Cycles(u64::MAX);
    assert_eq!(spec_of(absurd, &facts()).unwrap().deadline_ns, u64::MAX);
}

#[test]
fn instruments_that_cannot_measure_here_are_refused() {
    let mut other = settings();
    other.measure.instrument = Instrument::XenomaiCyclictest;
    assert!(
        spec_of(other, &facts()).unwrap_err().to_string().contains("`measure.instrument = \"xenomai-cyclictest\"`")
    );
    let mut cobalt = settings();
    cobalt.boot.kernel = Some("cobalt".into());
    let mut board = target();
    board.kernels.insert("cobalt".into(), Kernel { cobalt: true, ..Kernel::default() });
    assert!(matches!(spec(&cell(cobalt), &board, &facts(), "r"), Err(Refusal::InBandOnCoKernel { .. })));
}

/// Each thing that a board can be wrong in: what the refusal says.
#[test]
fn a_board_in_another_state_is_refused() {
    type Change = fn(&mut Settings, &mut Target);
    let cases: &[(&str, Change)] = &[
        ("isolated CPUs: asked for none, found 1; boot without isolcpus=", |s, _| {
            s.boot.isolcpus = Some(CpuList::default());
        }),
        ("isolated CPUs: asked for 0-1, found 1; boot with isolcpus=0-1", |s, _| {
            s.boot.isolcpus = Some("0-1".parse().unwrap())
        }),
        (
            "kernel command line: asked for nohz_full=1, found console=ttyS0 isolcpus=1 threadirqs quiet; boot with `nohz_full=1`",
            |s, _| {
                s.boot.append = vec!["nohz_full=1".into()];
            },
        ),
        ("kernel variant: asked for rt, found no variants; add [kernel.rt] to target `board`", |s, _| {
            s.boot.kernel = Some("rt".into());
        }),
        ("kernel release: asked for 5.0.14-rt8*, found 6.1.0-rt; boot kernel variant `rt`", |s, t| {
            s.boot.kernel = Some("rt".into());
            t.kernels.insert("rt".into(), Kernel { release: Some("5.0.14-rt8*".into()), ..Kernel::default() });
        }),
        ("preemption model: asked for not preempt-rt, found preempt-rt; boot kernel variant `std`", |s, t| {
            s.boot.kernel = Some("std".into());
            t.kernels.insert("std".into(), Kernel { not_preempt_rt: true, ..Kernel::default() });
        }),
        ("preemption model: asked for preempt, found preempt-rt; boot kernel variant `std`", |s, t| {
            s.boot.kernel = Some("std".into());
            t.kernels.insert("std".into(), Kernel { preemption: Some(Preemption::Preempt), ..Kernel::default() });
        }),
        (
            "online CPUs: asked for 4, found 2; bring the missing CPUs online, or correct `cpu_count` of target `board`",
            |_, t| {
                t.cpu_count = Some(4);
            },
        ),
        (
            "architecture: asked for x86_64, found armv7l; correct `arch` of target `board`, or its destination",
            |_, t| {
                t.arch = Some(Arch::X86_64);
            },
        ),
        (
            "governor: asked for powersave, found performance; set it on the board, or let latlab set it for the run with `governor` in [apply]",
            |s, _| {
                s.require.governor = Some("powersave".into());
            },
        ),
        (
            "real-time runtime: asked for unlimited, found 950000 us per second; set it on the board, or let latlab set it for the run with `rt_runtime` in [apply]",
            |s, _| {
                s.require.rt_runtime = Some(RtRuntime::Unlimited);
            },
        ),
        (
            "clock source: asked for tsc, found arch_sys_counter; write tsc to current_clocksource, or boot with clocksource=tsc",
            |s, _| {
                s.require.clocksource = Some("tsc".into());
            },
        ),
    ];
    for (expected, change) in cases {
        let (mut settings, mut target) = (settings(), target());
        change(&mut settings, &mut target);
        let found: Vec<String> = check_boot(&settings, &target, &facts()).iter().map(ToString::to_string).collect();
        assert_eq!(found, [*expected]);
    }
}

#[test]
fn a_board_in_the_asked_state_is_taken() {
    let mut settings = settings();
    settings.boot.kernel = Some("rt".into());
    settings.require = Conditions {
        governor: Some("performance".into()),
        rt_runtime: Some(RtRuntime::Us(950_000)),
        console: Some(Console::Quiet),
        transparent_hugepage: Some("never".into()),
        preemption: Some(Preemption::PreemptRt),
        clocksource: Some("arch_sys_counter".into()),
        checks: vec!["threadirqs".into(), "governor".into()],
        ..Conditions::default()
    };
    let mut target = target();
    target.arch = Some(Arch::Armv7);
    let variant = Kernel {
        release: Some("6.?.*-rt".into()),
        append: vec!["threadirqs".into()],
        preemption: Some(Preemption::PreemptRt),
        ..Kernel::default()
    };
    target.kernels.insert("rt".into(), variant);
    assert_eq!(check_boot(&settings, &target, &facts()), []);
    assert!(conditions(&settings, &target, &facts()).iter().all(|c| c.holds == Some(true)));
    // A silent board is not refused: the verdict names what could not be seen.
    assert_eq!(check_boot(&settings, &target, &Facts::default()), []);
    assert!(conditions(&settings, &target, &Facts::default()).iter().any(|c| c.holds.is_none()));
}

#[test]
fn what_apply_sets_is_not_asked_of_the_state_before() {
    let mut settings = settings();
    settings.require.rt_runtime = Some(RtRuntime::Unlimited);
    settings.apply.rt_runtime = Some(RtRuntime::Unlimited);
    assert_eq!(check_boot(&settings, &target(), &facts()), []);
}

#[test]
fn patterns() {
    for (pattern, text, expected) in [
        ("5.0.14-rt8*", "5.0.14-rt8-socfpga", true),
        ("5.0.14-rt8*", "5.0.14-rt8", true),
        ("5.0.14-rt8", "5.0.14-rt80", false),
        ("*-rt*-*", "6.1.0-rt5-arm", true),
        ("*a*b", "xaxbxb", true),
        ("*a*b", "xaxbx", false),
        ("?.1", "6.1", true),
        ("?.1", ".1", false),
        ("", "", true),
        ("*", "", true),
    ] {
        assert_eq!(conditions::matches_pattern(pattern, text), expected, "{pattern} {text}");
    }
}
