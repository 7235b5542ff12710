//! Import of the fixtures: some printed by rt-tests 2.4, the others made after the sources of the versions they are
//! named for.

use latlab_core::formats::{Format, ImportError, Measurement, Options, Reason, Refusal, import};
use proptest::prelude::*;
use std::fmt::Write;
use std::fs;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Every fixture: name relative to the folder, content.
static FIXTURES: LazyLock<Vec<(String, Vec<u8>)>> = LazyLock::new(all);

fn all() -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    // `boards` are no results of other tools.
    let is_of_tool = |entry: &fs::DirEntry| entry.path().is_dir() && entry.file_name() != "boards";
    for folder in fs::read_dir(fixtures()).unwrap().map(Result::unwrap).filter(is_of_tool) {
        for file in fs::read_dir(folder.path()).unwrap().map(Result::unwrap) {
            let name = format!("{}/{}", folder.file_name().to_string_lossy(), file.file_name().to_string_lossy());
            files.push((name, fs::read(file.path()).unwrap()));
        }
    }
    files.sort();
    files
}

fn read(name: &str, bytes: &[u8]) -> Result<Vec<Measurement>, Refusal> {
    match import(bytes, Options { name, ..Options::default() }) {
        Ok(measurements) => Ok(measurements),
        Err(ImportError::Refused(refusal)) => Err(refusal),
        Err(ImportError::Io(error)) => panic!("{name}: {error}"),
    }
}

/// A result in words, all of its numbers.
fn describe(result: &Result<Vec<Measurement>, Refusal>) -> String {
    let mut text = String::new();
    match result {
        Err(refusal) => {
            let line = refusal.line.map_or_else(String::new, |line| format!(" at line {line}"));
            writeln!(text, "  refused{line}: {refusal}").unwrap();
        }
        Ok(measurements) => {
            for m in measurements {
                let complete = if m.complete { "complete" } else { "incomplete" };
                let version = m.tool_version.as_deref().unwrap_or("-");
                let (interval, priority) = (m.interval_us, m.priority);
                writeln!(
                    text,
                    "  {} {version} {:?} {complete} line {} rule {} interval {interval:?} priority {priority:?}",
                    m.tool, m.kind, m.line, m.rule
                )
                .unwrap();
                for t in &m.threads {
                    writeln!(
                        text,
                        "    {} cpu {:?} layer {:?} cycles {:?} binned {} overflow {:?} min {:?} mean {:?} max {:?} width {:?} overruns {:?} bins {:?}",
                        t.thread, t.cpu, t.layer, t.cycles, t.binned, t.overflow, t.min_ns, t.mean_ns, t.max_ns,
                        t.bin_width_ns, t.overruns, t.bins
                    )
                    .unwrap();
                }
                for warning in &m.warnings {
                    writeln!(text, "    ! {warning}").unwrap();
                }
            }
        }
    }
    text.replace("Some(", "(")
}

/// The fixtures against `golden.txt`. After a wanted change: `LATLAB_BLESS=1 cargo test -p latlab-core`, then read the
/// difference.
#[test]
fn golden_values() {
    let mut found = String::new();
    for (name, bytes) in FIXTURES.iter() {
        writeln!(found, "{name}\n{}", describe(&read(name, bytes))).unwrap();
    }
    let golden = fixtures().join("golden.txt");
    if std::env::var_os("LATLAB_BLESS").is_some() {
        fs::write(&golden, &found).unwrap();
    }
    let expected = fs::read_to_string(&golden).unwrap();
    for (found, expected) in found.split("\n\n").zip(expected.split("\n\n")) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len(), "fixtures and golden values");
}

#[test]
fn results_do_not_depend_on_how_the_bytes_arrive() {
    for (name, bytes) in FIXTURES.iter().filter(|(name, _)| !name.starts_with("refused/")) {
        let whole = describe(&read(name, bytes));
        for capacity in [16, 61, 1000] {
            let reader = BufReader::with_capacity(capacity, bytes.as_slice());
            let result = import(reader, Options { name, ..Options::default() }).map_err(|error| match error {
                ImportError::Refused(refusal) => refusal,
                ImportError::Io(error) => panic!("{name}: {error}"),
            });
            assert_eq!(describe(&result), whole, "{name} in pieces of {capacity}");
        }
    }
}

/// Without bins everything else is the same.
#[test]
fn bins_can_be_left_out() {
    for (name, bytes) in FIXTURES.iter() {
        let options = Options { name, without_bins: true, ..Options::default() };
        let (Ok(without), Ok(mut with)) = (import(bytes.as_slice(), options), read(name, bytes)) else { continue };
        with.iter_mut().flat_map(|m| &mut m.threads).for_each(|thread| thread.bins.clear());
        assert_eq!(without, with, "{name}");
    }
}

/// A file cut anywhere: either refused, or marked, or with the whole file's numbers.
#[test]
fn a_cut_file_never_passes_for_a_whole_one() {
    for name in [
        "cyclictest/v2.4-h-overflow.txt",
        "cyclictest/v2.7-sparse.hist",
        "cyclictest/v2.4.json",
        "jitterdebugger/v3.json",
        "rtla/hist-5.17.txt",
        "xenomai/v3-histogram.txt",
        "rteval/summary.xml",
        "rt-tests/oslat-v2.4.txt",
        "rt-tests/hwlatdetect-clean.txt",
    ] {
        let bytes = fs::read(fixtures().join(name)).unwrap();
        let whole = read(name, &bytes).unwrap();
        for end in 0..bytes.len() {
            let Ok(cut) = read(name, &bytes[..end]) else { continue };
            for measurement in cut.iter().filter(|measurement| measurement.complete) {
                for (thread, expected) in measurement.threads.iter().zip(&whole[0].threads) {
                    let numbers =
                        |t: &latlab_core::formats::Thread| (t.cycles, t.binned, t.overflow, t.min_ns, t.max_ns);
                    assert_eq!(numbers(thread), numbers(expected), "{name} cut at byte {end}");
                }
                assert_eq!(measurement.threads.len(), whole[0].threads.len(), "{name} cut at byte {end}");
            }
        }
    }
}

#[test]
fn counts_beyond_64_bits_are_said_and_left_out() {
    let text = b"# Histogram\n000001 18446744073709551615\n000002 000001\n# Min Latencies: 00001\n";
    let found = read("x.hist", text).unwrap();
    let thread = &found[0].threads[0];
    assert_eq!((thread.binned, thread.bins.as_slice(), found[0].complete), (0, &[][..], false));
    assert!(found[0].warnings[0].contains("more than 64 bits"), "{:?}", found[0].warnings);
}

fn forced(format: Format) -> Options<'static> {
    Options { only: Some(format), ..Options::default() }
}

#[test]
fn a_format_can_be_forced() {
    let hist = fs::read(fixtures().join("cyclictest/v2.7-sparse.hist")).unwrap();
    let ns = import(hist.as_slice(), forced(Format::CyclictestNs)).unwrap();
    assert_eq!((ns[0].threads[1].max_ns, ns[0].threads[1].bin_width_ns), (Some(150), Some(1)));
    let us = import(hist.as_slice(), forced(Format::Cyclictest)).unwrap();
    assert_eq!((us[0].threads[1].max_ns, us[0].threads[1].bin_width_ns), (Some(150_000), Some(1000)));
    for (format, file) in [
        (Format::Xenomai, "cyclictest/v2.7-sparse.hist"),
        (Format::RtDataset, "cyclictest/v2.4.json"),
        (Format::RtevalXml, "cyclictest/v2.7-sparse.hist"),
        (Format::Hackbench, "rtla/hist-5.17.txt"),
    ] {
        let bytes = fs::read(fixtures().join(file)).unwrap();
        assert!(import(bytes.as_slice(), forced(format)).is_err(), "{file} as {format}");
    }
    for format in Format::ALL {
        assert_eq!(Format::ALL.iter().filter(|other| other.name() == format.name()).count(), 1);
    }
}

/// Endless input of a kind that must be kept is refused in bounded memory; without the bound the test would not end.
#[test]
fn endless_input_is_refused() {
    let endless: [&[u8]; 2] = [
        b"Running in process mode with 1 groups\nTime: 1.000\n",
        b"T: 0 (1) P:1 I:1 C: 5 Min: 1 Act: 1 Avg: 1 Max:       1\nT: 0 (2) P:1 I:1 C: 5 Min: 1 Act: 1 Avg: 1 Max:       1\n",
    ];
    for text in endless {
        let result = import(BufReader::new(Repeat { text, at: 0 }), Options::default());
        let refused = matches!(&result, Err(ImportError::Refused(Refusal { reason: Reason::TooLarge, .. })));
        assert!(refused, "{}", String::from_utf8_lossy(text));
    }
}

struct Repeat {
    text: &'static [u8],
    at: usize,
}

impl Read for Repeat {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        for byte in buffer.iter_mut() {
            *byte = self.text[self.at];
            self.at = (self.at + 1) % self.text.len();
        }
        Ok(buffer.len())
    }
}

/// Bytes that mean something to one of the formats.
const TELLING: &[u8] = b"0123456789-|:#\n\r\t {}\"<>\x1b";

/// Changes that a damaged disk, an editor or a lossy serial line makes.
fn damage(mut bytes: Vec<u8>, changes: &[(u8, usize, u8)]) -> Vec<u8> {
    for (kind, at, byte) in changes {
        if bytes.is_empty() {
            break;
        }
        let at = at % bytes.len();
        match kind % 5 {
            0 => bytes[at] = *byte,
            1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, TELLING[usize::from(*byte) % TELLING.len()]),
            3 => bytes.truncate(at),
            _ => {
                let end = (at + usize::from(*byte)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn random_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let _ = read("x", &bytes);
    }

    #[test]
    fn damaged_fixtures_do_not_panic_and_keep_their_sums(
        index in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<u8>(), any::<usize>(), any::<u8>()), 1..8),
    ) {
        let (name, bytes) = index.get(&FIXTURES);
        for measurement in read(name, &damage(bytes.clone(), &changes)).into_iter().flatten() {
            prop_assert!(!measurement.threads.is_empty());
            for thread in &measurement.threads {
                prop_assert!(thread.bins.is_sorted_by(|a, b| a.0 < b.0) || !measurement.warnings.is_empty());
                if !thread.bins.is_empty() {
                    let sum: u128 = thread.bins.iter().map(|(_, n)| u128::from(*n)).sum();
                    prop_assert_eq!(sum, u128::from(thread.binned));
                }
            }
        }
    }
}
