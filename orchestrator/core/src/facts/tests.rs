use super::*;
use Preemption::{Lazy, None as NoPreemption, Preempt, PreemptRt, Voluntary};

fn facts(files: &[(&str, &str)]) -> Facts {
    let capture =
        |(path, text): &(&str, &str)| Capture { path: (*path).to_owned(), text: Some((*text).to_owned()), error: None };
    Facts::parse(&files.iter().map(capture).collect::<Vec<_>>())
}

fn cpus(text: &str) -> Option<CpuList> {
    CpuList::parse(text).ok()
}

#[test]
fn nothing_captured_is_nothing_known() {
    assert_eq!(Facts::parse(&[]), Facts::default());
    let garbage: Vec<Capture> =
        ["/proc/version", "@uname", "@kernel_log", "/proc/interrupts", "@rt_threads", "/proc/consoles"]
            .iter()
            .map(|path| Capture { path: (*path).to_owned(), text: Some("\u{fffd}(\n:(\n\0".to_owned()), error: None })
            .collect();
    let _ = Facts::parse(&garbage);
}

/// Vendor kernel of 2013 with Xenomai: no realtime file, no isolated file, no configuration.
#[test]
fn linux_3_8() {
    let f = facts(&[
        ("@uname", "Linux beaglebone 3.8.13-xenomai-bone81 #1 Thu Mar 31 armv7l"),
        ("/proc/version", "Linux version 3.8.13-xenomai-bone81 (root@x) (gcc) #1 Thu Mar 31\n"),
        ("/proc/cmdline", "console=ttyO0,115200n8 root=/dev/mmcblk0p1 \"dyndbg=file x +p\" quiet\n"),
        ("/sys/devices/system/cpu/online", "0\n"),
        ("/proc/1/status", "Name:\tinit\nCpus_allowed:\t1\nCpus_allowed_list:\t0\n"),
        ("/proc/meminfo", "MemTotal:         508748 kB\nMemFree:          400000 kB\n"),
        ("/proc/sys/kernel/printk", "7\t4\t1\t7\n"),
        ("@kernel_log", "<6>[    0.000000] Booting Linux\n<4>L2 cache on\n[   12.5] dmesg style\n"),
    ]);
    assert_eq!(f.release.as_deref(), Some("3.8.13-xenomai-bone81"));
    assert_eq!((f.machine.as_deref(), f.arch), (Some("armv7l"), Some(Arch::Armv7)));
    assert_eq!(f.preemption, None, "the version without PREEMPT tells not which of the others it is");
    assert_eq!(f.cmdline.as_ref().unwrap()[2], "\"dyndbg=file x +p\"");
    assert_eq!(f.isolated, cpus(""));
    assert_eq!((f.memory_total_kib, f.memory_available_kib), (Some(508_748), Some(400_000)));
    assert_eq!((f.oom_kills, f.rt_runtime_us, f.clocksource.as_ref()), (None, None, None));
    assert_eq!(f.console_level, Some(7));
    let log = f.kernel_log.unwrap();
    assert_eq!(log[0], LogLine { at_ns: Some(0), level: Some(6), text: "Booting Linux".into() });
    assert_eq!(log[1], LogLine { at_ns: None, level: Some(4), text: "L2 cache on".into() });
    assert_eq!(log[2], LogLine { at_ns: Some(12_500_000_000), level: None, text: "dmesg style".into() });
}

#[test]
fn linux_5_0_rt() {
    let f = facts(&[
        ("/proc/version", "Linux version 5.0.14-rt8 (gcc) #1 SMP PREEMPT RT Fri May 10\n"),
        ("/proc/sys/kernel/osrelease", "5.0.14-rt8\n"),
        ("/proc/cmdline", "isolcpus=1 threadirqs rcu_nocbs=1 nohz_full=1\n"),
        ("/sys/devices/system/cpu/online", "0-1\n"),
        ("/sys/devices/system/cpu/isolated", "1\n"),
        ("/sys/devices/system/cpu/nohz_full", "(null)\n"),
        ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
        ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "800000\n"),
        ("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n"),
        ("/proc/sys/kernel/sched_rt_runtime_us", "-1\n"),
        ("/proc/sys/kernel/sched_rt_period_us", "1000000\n"),
        ("/sys/firmware/devicetree/base/model", "Terasic DE-0(Atlas)\0"),
        ("/sys/class/thermal/thermal_zone0/type", "cpu-thermal\n"),
        ("/sys/class/thermal/thermal_zone0/temp", "48500\n"),
        ("/sys/class/thermal/thermal_zone1/temp", "-3000\n"),
        ("/proc/consoles", "ttyS0                -W- (EC   a)    4:64\nnetcon0 -W- (   p  )\n"),
        (
            "@rt_threads",
            "9 9 fifo 99 0 migration/0\n77 78 rr 10 0-1 my worker (x)\n80 80 deadline 0 1 sched\n81 81 weird 0 1 x\n",
        ),
        (
            "/proc/interrupts",
            "           CPU0       CPU1\n 16:          0     123456     GIC-0  29 Edge      twd\nIPI2:  1 2  Rescheduling interrupts\nErr: 0\n",
        ),
    ]);
    assert_eq!(f.preemption, Some(PreemptRt));
    assert_eq!((f.isolated.clone(), f.nohz_full.clone(), f.rcu_nocbs.clone()), (cpus("1"), cpus(""), cpus("1")));
    assert_eq!(f.cpus[&0].frequency_khz, Some(800_000));
    assert_eq!(f.cpus[&1].governor.as_deref(), Some("powersave"));
    assert_eq!(f.rt_runtime_us, Some(-1));
    assert_eq!(f.model.as_deref(), Some("Terasic DE-0(Atlas)"));
    assert_eq!(f.temperatures_mc, [("cpu-thermal 0".to_owned(), 48_500), ("zone 1".to_owned(), -3_000)].into());
    assert_eq!(f.consoles, Some(vec!["ttyS0".to_owned()]));
    assert_eq!(f.cmdline_has("threadirqs"), Some(true));
    let threads = f.rt_threads.unwrap();
    assert_eq!(threads.len(), 3);
    assert_eq!((threads[1].tid, threads[1].name.as_str()), (78, "my worker (x)"));
    assert_eq!((threads[1].policy, threads[1].priority, threads[1].cpus.clone()), (ThreadPolicy::Rr, 10, cpus("0-1")));
    assert_eq!(f.interrupts["16"], "GIC-0 29 Edge twd");
}

#[test]
fn linux_6_12_on() {
    let fair = |cpu: u32, file: &str| format!("/sys/kernel/debug/sched/fair_server/cpu{cpu}/{file}");
    let f = facts(&[
        ("@uname", "Linux vm 6.18.44 #1 SMP PREEMPT_DYNAMIC @0 x86_64"),
        ("/proc/version", "Linux version 6.18.44 (x@y) (gcc (GCC) 15.3.0) #1 SMP PREEMPT_DYNAMIC @0\n"),
        ("/sys/kernel/debug/sched/preempt", "none voluntary (full) lazy \n"),
        (&fair(0, "runtime"), "50000000\n"),
        (&fair(0, "period"), "1000000000\n"),
        (&fair(10, "runtime"), "0\n"),
        (&fair(10, "period"), "1000000000\n"),
        ("/proc/vmstat", "nr_free_pages 1\noom_kill 3\n"),
        ("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ("/sys/kernel/tracing/current_tracer", "nop\n"),
        ("@which:hackbench", "/usr/bin/hackbench"),
        (
            "@workdir:/var/tmp",
            "path /var/tmp\nmount /\ndevice /dev/vda\nfstype ext4\nfree_bytes 700\nread_only false\nnoexec true\nwritable false\n",
        ),
        ("@uid", "0"),
        ("@mono_ns", "2256329651580"),
    ]);
    assert_eq!((f.arch, f.preemption), (Some(Arch::X86_64), Some(Preempt)));
    let server = f.fair_server.clone().unwrap();
    assert_eq!(server[&0], FairServer { runtime_ns: 50_000_000, period_ns: 1_000_000_000 });
    assert_eq!(server[&10].runtime_ns, 0);
    assert_eq!((f.oom_kills, f.uid, f.mono_ns), (Some(3), Some(0), Some(2_256_329_651_580)));
    assert_eq!((f.transparent_hugepage.as_deref(), f.tracer.as_deref()), (Some("madvise"), Some("nop")));
    assert_eq!(f.tool("hackbench"), Some("/usr/bin/hackbench"));
    let dir = &f.work_dirs[0];
    assert_eq!((dir.path.as_str(), dir.kind.as_deref(), dir.free_bytes), ("/var/tmp", Some("ext4"), Some(700)));
    assert_eq!((dir.writable, dir.noexec), (Some(false), Some(true)));
}

#[test]
fn a_tool_that_is_missing_is_told_from_one_that_nobody_looked_for() {
    let missing = Capture { path: "@which:dd".into(), text: None, error: Some("ENOENT".into()) };
    let hidden = Capture { path: "@which:cat".into(), text: None, error: Some("EACCES".into()) };
    let f = Facts::parse(&[missing, hidden]);
    assert_eq!(f.tools, [("dd".to_owned(), None)].into());
}

#[test]
fn preemption_model_in_the_order_of_trust() {
    let version = "/proc/version";
    let config = "/boot/config-x";
    type Files<'a> = &'a [(&'a str, &'a str)];
    let cases: &[(Option<Preemption>, Files)] = &[
        (Some(PreemptRt), &[("/sys/kernel/realtime", "1\n"), (version, "Linux version 4.19 #1 SMP PREEMPT")]),
        (Some(PreemptRt), &[(version, "Linux version 6.12 #1 SMP PREEMPT_RT Debian")]),
        (Some(PreemptRt), &[(config, "CONFIG_PREEMPT_RT_FULL=y\n")]),
        (Some(PreemptRt), &[("/lib/modules/x/config", "CONFIG_PREEMPT_RT=y\n")]),
        (Some(Preempt), &[(version, "Linux version 4.19.33 #1 SMP PREEMPT Mon")]),
        (
            Some(Voluntary),
            &[(version, "Linux version 6.1.0 #1 SMP PREEMPT_DYNAMIC"), ("/proc/cmdline", "preempt=voluntary")],
        ),
        (
            Some(Voluntary),
            &[
                (version, "Linux version 6.1.0 #1 SMP PREEMPT_DYNAMIC"),
                ("/proc/cmdline", ""),
                (config, "CONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PREEMPT_DYNAMIC=y\n"),
            ],
        ),
        (
            Some(NoPreemption),
            &[("/sys/kernel/debug/sched/preempt", "(none) voluntary full"), (config, "CONFIG_PREEMPT=y\n")],
        ),
        (Some(Lazy), &[("@config.gz", "CONFIG_PREEMPT_LAZY=y\n")]),
        (Some(Preempt), &[("@config.gz", "CONFIG_PREEMPT_LAZY=y\nCONFIG_PREEMPT__LL=y\n")]),
        (
            Some(Lazy),
            &[("@config.installed", "CONFIG_PREEMPT_LAZY=y\n"), ("/boot/config-1", "CONFIG_PREEMPT_NONE=y\n")],
        ),
        // Only built for: what runs is not known.
        (None, &[(version, "Linux version 6.1.0 #1 SMP PREEMPT_DYNAMIC"), ("/proc/cmdline", "quiet")]),
        (None, &[(version, "Linux version 6.1.0 #1 SMP")]),
        (Some(NoPreemption), &[(config, "# CONFIG_PREEMPT is not set\nCONFIG_PREEMPT_NONE=y\n")]),
    ];
    for (expected, files) in cases {
        assert_eq!(facts(files).preemption, *expected, "{files:?}");
    }
}

#[test]
fn isolated_cpus_before_there_was_a_file_for_them() {
    let isolated = |cmdline: &str, allowed: &str| {
        facts(&[
            ("/proc/cmdline", cmdline),
            ("/sys/devices/system/cpu/online", "0-3"),
            ("/proc/1/status", &format!("Cpus_allowed_list:\t{allowed}\n")),
        ])
        .isolated
    };
    assert_eq!(isolated("isolcpus=2-3 quiet", "0-1"), cpus("2-3"));
    assert_eq!(isolated("isolcpus=nohz,domain,2-3", "0-1"), cpus("2-3"));
    assert_eq!(isolated("isolcpus=3,9", "0-2"), cpus("3"), "CPUs that are not there");
    assert_eq!(isolated("quiet", "0-3"), cpus(""));
    assert_eq!(isolated("quiet", "0-1"), cpus(""), "PID 1 may be bound by its own configuration");
    assert_eq!(isolated("isolcpus=2-3", "0-3"), None, "asked for, and not done: unknown");
}

#[test]
fn the_last_word_of_a_kind_counts() {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(isolcpus_of_cmdline(&words("isolcpus=1 isolcpus=managed_irq,2")), cpus("2"));
    assert_eq!(isolcpus_of_cmdline(&words("isolcpus=1-x")), None);
}
