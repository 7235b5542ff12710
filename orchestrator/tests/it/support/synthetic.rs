//! Stored runs of any length and width, made through the code that stores real ones.

use latlab::store::{Contact, FactsWhen, PLAN_FORMAT, Plan, PlannedRun, Store};
use latlab_core::campaign::{self, Overrides};
use latlab_core::facts::Facts;
use latlab_core::run_state::{Mark, Step};
use latlab_core::{resolve, target};
use latprobe::spec::{Policy, Spec};
use latprobe::status::Capture;
use latprobe::stream::{
    Block, Checkpoint, End, EndReason, Event, EventKind, Header, Instrument, LoadDelta, Phase, PhaseKind, Record,
    Sample, Selftest, SystemDelta, ThreadDelta, ThreadSetup, ThreadTotals, wire,
};
use std::collections::BTreeMap;
use std::path::Path;

const S: u64 = 1_000_000_000;

/// What is made.
#[derive(Debug, Clone)]
pub(crate) struct Synthetic {
    /// Execution.
    pub(crate) execution: String,
    /// Length.
    pub(crate) minutes: u64,
    /// Threads, one a CPU.
    pub(crate) cpus: u32,
    /// Text that a board might say: in its model, kernel version and events.
    pub(crate) said: String,
    /// In percent of the usual latency.
    pub(crate) level: u64,
}

impl Default for Synthetic {
    fn default() -> Self {
        let execution = "20260101-000000-synthetic-0001".to_owned();
        Self { execution, minutes: 20, cpus: 2, said: "ordinary".to_owned(), level: 100 }
    }
}

/// A generator of numbers from 0 to 1.
struct Numbers(u64);

impl Numbers {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as f64 + 0.5) / (1u64 << 31) as f64
    }

    /// A whole number around `centre`, sometimes far above it.
    fn skewed(&mut self, centre: f64, spread: f64) -> u64 {
        let value = centre - spread * (-self.unit().ln()).ln();
        format!("{:.0}", value.max(1.0)).parse().unwrap()
    }
}

impl Synthetic {
    /// Stores it below `results`: one cell, one run.
    pub(crate) fn store(&self, results: &Path) {
        let cpus = format!("0-{}", self.cpus - 1);
        let text = format!(
            "name = \"synthetic\"\ntargets = [\"board\"]\nduration = \"{}min\"\ninterval = \"1ms\"\nload = [\"dd\"]\n\
             [measure]\ncpus = \"{cpus}\"\npriority = 80\nworst = 16\n[loads.dd.dd]\nblock = \"32M\"\n\
             [gate]\nmax = \"150us\"\n[gate.exceed]\n\"100us\" = 1e-4\n",
            self.minutes
        );
        let campaign = campaign::load("synthetic.toml", &text, &Overrides::default()).unwrap().campaign;
        let board = format!("name = \"board\"\ncpu_count = {}\n", self.cpus);
        let board = target::load("board.toml", &board).unwrap().target;
        let cell = campaign.cells[0].clone();
        let planned = PlannedRun {
            name: format!("{}-board-1", cell.name),
            run_id: "synthetic.1".into(),
            cell: cell.name.clone(),
            target: "board".into(),
            repetition: 1,
        };
        let plan = Plan {
            format: PLAN_FORMAT,
            execution: self.execution.clone(),
            created: "2026-01-01T00:00:00Z".into(),
            latlab_version: "0.1.0".into(),
            holder: "root@host".into(),
            campaign,
            targets: vec![board.clone()],
            runs: vec![planned.clone()],
        };
        let writer = Store::create(results).and_then(|s| s.create_execution(&plan)).unwrap();
        let facts = self.captures();
        let spec = resolve::spec(&cell, &board, &Facts::parse(&facts), &planned.run_id).unwrap();
        let run = writer.directory().run_dir(&planned.name);
        run.write_spec(&spec).unwrap();
        run.write_facts(FactsWhen::Before, &facts).unwrap();
        run.write_facts(FactsWhen::After, &facts).unwrap();
        run.mirror(0).and_then(|mut mirror| mirror.append(&self.stream(&spec))).unwrap();
        // A contact a minute, as `collect.every` has it.
        for minute in 1..=self.minutes.min(60) {
            let mono_ns = (2 + minute * 60) * S;
            run.add_contact(&Contact { mono_ns, boot_id: "b00d".into(), took_ns: S / 2, connect_ns: 0, bytes: 1 })
                .unwrap();
        }
        for step in [Step::Submit, Step::Collect, Step::Judge] {
            writer.record(Some("board"), Some(&planned.name), step, Mark::Done, None).unwrap();
        }
        run.close(&plan, &planned).unwrap();
    }

    fn captures(&self) -> Vec<Capture> {
        let online = format!("0-{}\n", self.cpus - 1);
        [
            ("/proc/version", format!("Linux version 6.1.0-rt {} #1 SMP PREEMPT_RT\n", self.said)),
            ("/sys/firmware/devicetree/base/model", format!("{}\0", self.said)),
            ("/proc/sys/kernel/osrelease", "6.1.0-rt\n".to_owned()),
            ("/proc/cmdline", format!("threadirqs note={}\n", self.said)),
            ("/proc/sys/kernel/random/boot_id", "b00d\n".to_owned()),
            ("/sys/kernel/realtime", "1\n".to_owned()),
            ("/sys/devices/system/cpu/online", online),
            ("/sys/devices/system/cpu/isolated", "\n".to_owned()),
            ("/proc/vmstat", "oom_kill 0\n".to_owned()),
            ("@kernel_log", "<6>[    1.000000] booted\n".to_owned()),
        ]
        .map(|(path, text)| Capture { path: path.into(), text: Some(text), error: None })
        .to_vec()
    }

    fn stream(&self, spec: &Spec) -> Vec<u8> {
        let threads = spec.measure.threads.len();
        let header = Header {
            format: 1,
            run_id: spec.run_id.clone(),
            segment: 0,
            probe_version: "0.1.0".into(),
            boot_id: "b00d".into(),
            kernel_release: "6.1.0-rt".into(),
            mono_ns: S,
            realtime_ns: 0,
            bin_width_ns: spec.measure.bin_width_ns,
            bins: spec.measure.bins,
            worst: spec.measure.worst,
            loads: vec!["dd".into()],
        };
        let setup = |cpu: u32| ThreadSetup {
            tid: 100 + i32::try_from(cpu).unwrap(),
            cpu: Some(cpu),
            allowed_cpus: cpu.to_string(),
            policy: Policy::Fifo,
            priority: 80,
            interval_ns: 1_000_000,
        };
        let instrument = Instrument {
            threads: (0..self.cpus).map(setup).collect(),
            selftest: Selftest {
                clock_read_min_ns: 300,
                clock_read_p99_ns: 400,
                clock_step_ns: 10,
                clock_call: "vdso".into(),
                sleep_call: "clock_nanosleep".into(),
                timer_resolution_ns: 1,
            },
            memory_locked: true,
            cpu_dma_latency: "held 0 us".into(),
            supervisor_cpus: "0".into(),
            accepted: Vec::new(),
        };
        let phase = |kind, mono_ns| Record::Phase(Phase { kind, mono_ns });
        let mut records = vec![
            Record::Header(header),
            Record::Instrument(instrument),
            phase(PhaseKind::WarmUp, S),
            phase(PhaseKind::Measuring, 2 * S),
        ];
        let mut numbers = Numbers(7 + self.level);
        for number in 0..self.minutes * 6 {
            records.push(self.checkpoint(spec, number, threads, &mut numbers));
            if number == self.minutes * 2 {
                records.push(Record::Event(Event {
                    mono_ns: (2 + number * 10) * S,
                    kind: EventKind::LoadFailed,
                    subject: "dd".into(),
                    detail: format!("exit 1: {}", self.said),
                }));
            }
        }
        let end = (2 + self.minutes * 60) * S;
        records.push(phase(PhaseKind::Ended, end));
        let totals = ThreadTotals { cycles: self.minutes * 60_000, missed: 0, negative: 0 };
        records.push(Record::End(End {
            mono_ns: end,
            reason: EndReason::Completed,
            detail: String::new(),
            restored: true,
            threads: vec![totals; threads],
        }));
        wire::encode_all(&records)
    }

    /// Ten seconds of every thread.
    fn checkpoint(&self, spec: &Spec, number: u64, threads: usize, numbers: &mut Numbers) -> Record {
        let second = |at: u64| (2 + number * 10 + at + 1) * S;
        let mut deltas = Vec::new();
        for thread in 0..threads {
            let level = self.level as f64 / 100.0 * (1.0 + thread as f64 / 100.0);
            let mut bins: BTreeMap<u32, u32> = BTreeMap::new();
            let mut delta = ThreadDelta { thread: u32::try_from(thread).unwrap(), ..ThreadDelta::default() };
            for at in 0..10 {
                // A thousand cycles: 25 places around the usual latency, and the largest.
                let max_ns = numbers.skewed(40_000.0 * level, 3_000.0);
                let mut sum_ns = max_ns;
                let mut count = |ns: u64, n: u32| {
                    *bins.entry(u32::try_from(ns / spec.measure.bin_width_ns).unwrap()).or_default() += n
                };
                count(max_ns, 1);
                for place in 0..25u64 {
                    let n = if place == 0 { 39 } else { 40 };
                    let ns = numbers.skewed(12_000.0 * level, 1_500.0).min(max_ns);
                    sum_ns += ns * u64::from(n);
                    count(ns, n);
                }
                let end_mono_ns = second(at);
                delta.blocks.push(Block { end_mono_ns, cycles: 1000, missed: 0, min_ns: 8_000, max_ns, sum_ns });
                delta.worst.push(Sample {
                    latency_ns: max_ns,
                    cycle: (number * 10 + at) * 1000,
                    mono_ns: end_mono_ns - S / 2,
                });
            }
            delta.bins = bins.into_iter().collect();
            deltas.push(delta);
        }
        let warm = i64::try_from(number % 60).unwrap();
        Record::Checkpoint(Checkpoint {
            warm_up: false,
            mono_ns: second(9),
            threads: deltas,
            loads: vec![LoadDelta {
                load: 0,
                active_ns: 10 * S,
                pause_ns: 0,
                starts: u32::from(number.is_multiple_of(40)),
                failures: 0,
            }],
            system: SystemDelta {
                temperatures_mc: vec![(0, 45_000 + warm * 100), (1, 47_000 + warm * 90)],
                frequencies_khz: (0..self.cpus).map(|cpu| (cpu, 800_000 - number % 7 * 1000)).collect(),
                ..SystemDelta::default()
            },
        })
    }
}
