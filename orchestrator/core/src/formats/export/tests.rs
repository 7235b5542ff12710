use super::*;
use crate::result::Identity;
use crate::testing::{Stored, good};

fn exported(stored: &Stored, export: impl Fn(&Source) -> Result<Export, DifferentBins>) -> Export {
    let result = RunResult::new(Identity::default(), &stored.evidence(), stored.judge());
    export(&Source { result: &result, segments: &stored.segments }).unwrap()
}

#[test]
fn cyclictest_text_is_dense_and_adds_up() {
    let Export { text, lost } = exported(&good(), cyclictest);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..2], ["# /dev/cpu_dma_latency set to 0us", "# Histogram"]);
    assert_eq!(lines[2], "000000 000000");
    assert_eq!((lines[12], lines[52]), ("000010 009997", "000050 000001"));
    assert_eq!(lines[201], "000199 000000");
    assert_eq!(
        lines[202..],
        [
            "# Total: 000009998",
            "# Min Latencies: 00010",
            "# Avg Latencies: 00010",
            "# Max Latencies: 01000",
            "# Histogram Overflows: 00001",
            "# Histogram Overflow at cycle number:",
            "# Thread 0: 07000",
            "",
        ]
    );
    assert_eq!(lost.len(), 3, "{lost:?}");
    assert!(lost[0].starts_with("1 missed periods") && lost[1].contains("magnitude of 1"));
}

#[test]
fn cyclictest_rows_are_one_microsecond_whatever_the_bins() {
    let mut stored = good();
    for (width, row) in [(250, 2), (500, 5), (1500, 16), (3000, 32)] {
        let histogram = &mut stored.segments[0].threads[0].histogram;
        *histogram = latprobe::histogram::Histogram::new(width, 100);
        histogram.bins[10] = 7;
        stored.spec.measure.bin_width_ns = width;
        let Export { text, lost } = exported(&stored, cyclictest);
        assert!(text.contains(&format!("\n{row:06} 000007\n")), "{width}: {text}");
        assert!(text.contains("# Total: 000000007\n"));
        assert!(lost.iter().any(|l| l.contains(&format!("{width} ns"))), "{lost:?}");
    }
}

#[test]
fn two_threads_are_two_columns_and_unknown_overflows_are_others() {
    let mut stored = good();
    let thread = stored.segments[0].threads[0].clone();
    stored.segments[0].threads.push(thread);
    stored.segments[0].threads[1].histogram.tail[300] += 2;
    let Export { text, .. } = exported(&stored, cyclictest);
    assert!(text.contains("\n000010 009997\t009997\n"), "{text}");
    assert!(text.contains("# Total: 000009998 000009998\n"));
    assert!(text.contains("# Histogram Overflows: 00001 00003\n"));
    assert!(text.contains("# Thread 1: 07000 # 00002 others\n"));
}

#[test]
fn csv_has_every_occupied_bin() {
    let Export { text, .. } = exported(&good(), csv);
    let expected = "thread,cpu,from_ns,to_ns,count\n0,1,10000,11000,9997\n0,1,50000,51000,1\n0,1,983040,1015808,1\n";
    assert_eq!(text, expected);
}

#[test]
fn json_holds_the_run_and_reads_back() {
    let Export { text, lost } = exported(&good(), json);
    assert!(lost.is_empty());
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["format"], 1);
    assert_eq!(value["result"]["total"]["max"]["ns"], 1_000_500);
    assert_eq!(value["threads"][0]["blocks"][0]["max_ns"], 1_000_500);
    let result: RunResult = serde_json::from_value(value["result"].clone()).unwrap();
    assert_eq!(result.threads[0].figures.cycles, 9_999);
}
