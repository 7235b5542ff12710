//! Runs that go as asked.

use crate::bench::{Bench, MS_NS, SECOND_NS, failed, load, ok, setting, setting_now, spec, turn};
use latprobe::{
    spec::{Length, Policy, Sleep, Thread},
    status::{Follow, Stage},
    stream::{EndReason, EventKind, Folded},
};

/// Cycles and missed periods of thread 0 fill its time exactly.
fn expect_complete(folded: &Folded, expected: u64) {
    let thread = &folded.threads[0];
    let cycles = thread.histogram.total();
    assert_eq!(cycles + thread.histogram.negative + thread.missed, expected, "{:?}", folded.events);
    let end = folded.end.as_ref().expect("ended by itself");
    assert_eq!((end.threads[0].cycles, end.threads[0].missed), (cycles, thread.missed));
    let blocks: u64 = thread.blocks.iter().map(|block| u64::from(block.cycles)).sum();
    assert_eq!(blocks, cycles);
    let missed: u64 = thread.blocks.iter().map(|block| u64::from(block.missed)).sum();
    assert_eq!(missed, thread.missed);
    assert!(folded.damage.is_empty() && folded.torn_bytes == 0);
}

#[test]
fn a_loaded_run_counts_every_period() {
    let Some(_turn) = turn() else { return };
    let mut spec = spec("loaded");
    let mut hackbench = load("hb", &["@latprobe", "load", "hackbench", "-g", "1", "-l", "50"]);
    hackbench.pause_ns = 50 * MS_NS;
    spec.loads = vec![hackbench, load("dd", &["dd", "if=/dev/zero", "of=/dev/null", "bs=1M"])];
    let (change, before) = setting();
    spec.apply = vec![change.clone()];
    let bench = Bench::new(&spec);
    let status = bench.start();
    assert!(!status.stage.is_over(), "{status:?}");
    assert_eq!(setting_now(), change.value);
    let status = bench.over();
    assert_eq!((status.stage, status.message), (Stage::Done, None));
    assert_eq!(setting_now(), before);
    assert_eq!(bench.processes(), [0; 0]);

    let folded = bench.folded(0);
    expect_complete(&folded, 2000);
    assert_eq!(folded.measured_ns(), 2 * SECOND_NS);
    let thread = &folded.threads[0];
    assert_eq!((thread.major_faults, thread.worst.len()), (0, 8));
    assert!(thread.voluntary_switches > 0);
    assert_eq!(thread.max_ns(), Some(thread.worst[0].latency_ns));
    assert_eq!(folded.warm_up[0].histogram.total() + folded.warm_up[0].missed, 200);
    let setup = folded.instrument.as_ref().expect("set up");
    assert_eq!((setup.threads[0].policy, setup.threads[0].priority), (Policy::Fifo, 90));
    assert!(setup.memory_locked);
    let kinds: Vec<EventKind> = folded.events.iter().map(|event| event.kind).collect();
    for kind in [EventKind::SettingApplied, EventKind::SettingRestored, EventKind::LoadStarted] {
        assert!(kinds.contains(&kind), "{kind:?} in {:?}", folded.events);
    }
    let dd = folded.loads[1];
    assert!(dd.active_ns > SECOND_NS && dd.failures == 0, "{dd:?}");
    let hb = folded.loads[0];
    assert!(hb.starts > 0 && hb.pause_ns > 0, "{hb:?}");
    assert!(folded.interrupts.values().sum::<u64>() > 0);
    let end = folded.end.expect("ended by itself");
    assert!(end.restored);
    assert_eq!(end.reason, EndReason::Completed);
}
