use super::super::model::Cpus;
use super::super::{CannotConvert, Overrides, from_cyclictest, load};
use latprobe::cpulist::CpuList;
use latprobe::spec::{CpuDmaLatency, Length, Policy, Sleep};

fn convert(command: &str) -> String {
    from_cyclictest(command, "converted", &[]).unwrap_or_else(|errors| panic!("{command}: {errors:?}"))
}

/// The campaign, and what it means.
fn settings(command: &str) -> super::super::model::Settings {
    let text = convert(command);
    let loaded = load("converted.toml", &text, &Overrides::default());
    let loaded = loaded.unwrap_or_else(|errors| panic!("{text}\n{errors:#?}"));
    loaded.campaign.cells[0].settings.clone()
}

#[test]
fn the_published_command_line() {
    let expected = "# As measured by: cyclictest -l43200000 -a 1 -m -n -p98 -i1000 -h200 -q\nname = \"converted\"\n\
        cycles = 43200000\ninterval = \"1ms\"\n\n[measure]\ncpus = \"1\"\npriority = 98\nmlock = true\n\
        histogram = { width = \"1us\", bins = 200 }\n";
    assert_eq!(convert("cyclictest -l43200000 -a 1 -m -n -p98 -i1000 -h200 -q"), expected);
    let s = settings("cyclictest -l43200000 -a 1 -m -n -p98 -i1000 -h200 -q");
    assert_eq!((s.length, s.measure.cpus), (Length::Cycles(43_200_000), Cpus::List(CpuList::parse("1").unwrap())));
}

#[test]
fn spellings_mean_the_same() {
    let same = [
        "cyclictest -m -n -p 80 -i 200 -h 60 -l 500 -a 1-2 -t 2",
        "cyclictest -mnp80 -i200 -h60 -l500 -a1-2 -t2",
        "cyclictest --mlockall --nanosleep --priority=80 --interval=200 --histogram=60 --loops=500 --affinity=1-2 --threads=2",
        "cyclictest --mlockall --nano --prio 80 --interval 200 --histogram 60 --loops 500 --affinity 1-2 --threads 2",
        "sudo LC_ALL=C /usr/local/bin/cyclictest -qmn -p80 -i200 -h60 -l500 -a 1,2 -t > out.txt 2>&1",
        "ssh root@board cyclictest -m -n -p80 -y fifo -i200 -H60 -l500 -a '1-2' -t2 --json=x.json | tee log",
        "cyclictest -m -n -p80 -i200 -h60 \\\n  -l500 -a 1-2 -t2 -v -o 5 -M -u --laptop",
    ];
    let first = settings(same[0]);
    assert_eq!(first.measure.cpus, Cpus::List(CpuList::parse("1-2").unwrap()));
    for (number, command) in same.iter().enumerate() {
        let mut s = settings(command);
        if number == 6 {
            assert_eq!(s.measure.cpu_dma_latency, CpuDmaLatency::None);
            s.measure.cpu_dma_latency = CpuDmaLatency::Hold;
        }
        assert_eq!(s, first, "{command}");
    }
}

#[test]
fn threads_distances_and_defaults() {
    let s = settings("cyclictest -t8 -p 80 -n -i 10000 -l 10000");
    assert_eq!((s.measure.cpus.clone(), s.measure.distance_ns), (Cpus::Unpinned(8), 500_000));
    assert!(!s.measure.mlock);
    let s = settings("cyclictest -S -m -p 95 -D 12h");
    assert_eq!((s.measure.cpus.clone(), s.measure.distance_ns), (Cpus::All, 500_000));
    assert_eq!((s.length, s.measure.interval_ns), (Length::DurationNs(43_200_000_000_000), 1_000_000));
    let s = settings("cyclictest -Smp95 -D90 -h100 -N");
    assert_eq!((s.measure.distance_ns, s.measure.bin_width_ns, s.measure.bins), (0, 1, 100));
    let s = settings("cyclictest -t -a -d0 -r -l 1000 --policy=rr -p 5 -A 250");
    assert_eq!((s.measure.cpus.clone(), s.measure.distance_ns, s.measure.offset_ns), (Cpus::All, 0, 250_000));
    assert_eq!((s.measure.policy, s.measure.priority, s.measure.sleep), (Policy::Rr, 5, Sleep::Relative));
    let s = settings("cyclictest -a -D 1m");
    assert_eq!((s.measure.cpus.clone(), s.measure.policy), (Cpus::List(CpuList::parse("0").unwrap()), Policy::Other));
    assert_eq!(s.length, Length::DurationNs(60_000_000_000));
    // Whichever ends it first.
    assert_eq!(settings("cyclictest -p1 -l 1000 -D 1h").length, Length::Cycles(1000));
    assert_eq!(settings("cyclictest -p1 -l 1000000 -D 10").length, Length::DurationNs(10_000_000_000));
    assert_eq!(settings("cyclictest -a 0 -p 99 -m -n -l 100000 -q").measure.priority, 99);
    let text = from_cyclictest("cyclictest -p1 -D1", "a \"b\"", &["x".to_owned()]).unwrap();
    assert!(text.contains("name = 'a \"b\"'\ntargets = [\"x\"]\n"), "{text}");
}

#[test]
fn what_cannot_be_expressed_says_why() {
    let reason = |command: &str| {
        let errors = from_cyclictest(command, "x", &[]).unwrap_err();
        errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    for (command, expected) in [
        ("cyclictest -p80 -l10 -b 100", "`-b` cannot be expressed: a run that ends at the first late wake-up"),
        ("cyclictest -p80 -l10 -x", "`-x` cannot be expressed: POSIX timers"),
        ("cyclictest -p80 -l10 --posix", "`--posix` cannot be expressed: POSIX timers"),
        ("cyclictest -p80 -l10 -s", "sys_nanosleep"),
        ("cyclictest -p80 -l10 -c 1", "CLOCK_REALTIME"),
        ("cyclictest -p80 -l10 -e 20", "/dev/cpu_dma_latency"),
        ("cyclictest -p80 -l10 -f", "tracing"),
        ("cyclictest -p80 -l10 --secaligned", "full seconds"),
        ("cyclictest -p80 -l10 --smi", "SMIs"),
        ("cyclictest -p80 -l10 -t", "say how many (-t 4)"),
        ("cyclictest -p80 -l10 -a 1 -t 2", "several threads on one CPU"),
        ("cyclictest -p80 -l10 -a !1", "CPUs are named one by one"),
        ("cyclictest -p80 -l10 -a 3-1", "`-a`: `3-1` is not a list of CPUs"),
        ("cyclictest -p80 -t4 --priospread -l10", "all threads have one priority"),
        ("cyclictest -p80", "say how long by -D or -l"),
        ("cyclictest -p80 -l0", "say how long by -D or -l"),
        ("cyclictest -p80 -l10 -i 5", "at least 10 us"),
        ("cyclictest -p100 -l10", "1 to 99"),
        ("cyclictest -pabc -l10", "`-p`: `abc` is not a whole number"),
        ("cyclictest --policy=batch -l10", "SCHED_BATCH"),
        ("cyclictest --policy=fifo -l10", "say the priority, too"),
        ("cyclictest --policy=cfs -l10", "is not fifo, rr or other"),
        ("cyclictest -l", "`-l` needs a value"),
        ("cyclictest -p80 -l10 -Z", "cyclictest has no option `-Z`"),
        ("cyclictest -p80 -l10 --zero", "cyclictest has no option `--zero`"),
        ("cyclictest -p80 -l10 -D 5w", "a number of seconds"),
        (
            "taskset -c 1 cyclictest -p80 -l10",
            "`taskset` before cyclictest changes what is measured; give the CPUs by -a",
        ),
        ("cyclicdeadline -i 1000", "no cyclictest in it"),
        ("cyclictest 'oops", "never closed"),
    ] {
        assert!(reason(command).contains(expected), "{command}: {}", reason(command));
    }
    // All at once.
    assert_eq!(from_cyclictest("cyclictest -b 5 -x -Z", "x", &[]).unwrap_err().len(), 4);
    assert_eq!(from_cyclictest("ls", "x", &[]), Err(vec![CannotConvert::NoCyclictest]));
}
