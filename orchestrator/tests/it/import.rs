//! `latlab import` as scripts call it.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("core/tests/fixtures").join(name)
}

fn import(arguments: &[&str], files: &[PathBuf]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_latlab"));
    command.arg("import").args(arguments).args(files).output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_dry_run_keeps_its_contract() {
    let files = [fixture("cyclictest/v2.4-h-overflow.txt"), fixture("cyclictest/overlaid.txt"), fixture("nowhere.txt")];
    let output = import(&["--dry-run", "--format", "json"], &files);
    assert_eq!(output.status.code(), Some(4));
    let report = json(&output);
    let files = report["files"].as_array().unwrap();
    let status: Vec<_> = files.iter().map(|file| file["status"].as_str().unwrap()).collect();
    assert_eq!(status, ["ok", "refused", "refused"]);
    let measurement = &files[0]["measurements"][0];
    assert_eq!(measurement["tool"], "cyclictest");
    assert_eq!(measurement["kind"], "latency");
    assert_eq!(measurement["complete"], true);
    assert!(measurement["warnings"].as_array().unwrap().is_empty());
    let thread = &measurement["threads"][1];
    let expected = serde_json::json!({
        "thread": 1, "cycles": 200, "binned": 152, "overflow": 48,
        "min_ns": 14000, "mean_ns": 26000, "max_ns": 434_000, "bin_width_ns": 1000,
    });
    assert_eq!(thread, &expected, "absent values must be absent");
    assert_eq!(files[1]["line"], 1);
    assert!(files[1]["reason"].as_str().unwrap().contains("no status line"));
    assert!(files[1]["measurements"].as_array().unwrap().is_empty());
    assert!(files[2]["reason"].as_str().unwrap().starts_with("cannot be read"));
    assert!(files[0].get("stored").is_none() && files[0].get("reason").is_none());
}

#[test]
fn files_are_kept_with_their_hash_and_the_rule_that_read_them() {
    let results = tempfile::tempdir().unwrap();
    let place = results.path().to_str().unwrap();
    let file = fixture("cyclictest/v2.7-sparse.hist");
    let hash = Sha256::digest(std::fs::read(&file).unwrap());
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    for _ in 0..2 {
        let output = import(&["--results", place, "--format", "json"], std::slice::from_ref(&file));
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let stored = PathBuf::from(json(&output)["files"][0]["stored"].as_str().unwrap());
        assert_eq!(stored, results.path().join("imports").join(&hash));
        assert_eq!(std::fs::read(stored.join("raw")).unwrap(), std::fs::read(&file).unwrap());
        let kept: Value = serde_json::from_slice(&std::fs::read(stored.join("import.json")).unwrap()).unwrap();
        assert_eq!(kept["sha256"], hash.as_str());
        assert_eq!(kept["rules_version"], latlab_core::formats::RULES_VERSION);
        assert_eq!(kept["measurements"][0]["rule"], "cyclictest-histogram");
        assert_eq!(kept["measurements"][0]["bins_ns"][1], serde_json::json!([[4000, 20], [150_000, 1]]));
        let names: Vec<_> = std::fs::read_dir(stored).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "no temporary file is left: {names:?}");
    }
}

#[test]
fn a_refused_file_is_not_kept() {
    let results = tempfile::tempdir().unwrap();
    let output = import(&["--results", results.path().to_str().unwrap()], &[fixture("cyclictest/v2.4-help.txt")]);
    assert_eq!(output.status.code(), Some(4));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("v2.4-help.txt:3: refused: help text instead of data"), "{text}");
    assert!(!results.path().join("imports").exists());
}

#[test]
fn many_files_stay_in_order_and_a_format_can_be_forced() {
    let files: Vec<PathBuf> = ["rtla/hist-5.17.txt", "hackbench/one.txt", "cyclictest/v2.7-sparse.hist"]
        .repeat(20)
        .into_iter()
        .map(fixture)
        .collect();
    let report = json(&import(&["--dry-run", "--format", "json"], &files));
    for (read, asked) in report["files"].as_array().unwrap().iter().zip(&files) {
        assert_eq!(Path::new(read["file"].as_str().unwrap()), asked);
        assert_eq!(read["status"], "ok");
    }
    let ns = json(&import(&["--dry-run", "--format", "json", "--as", "cyclictest-ns"], &files[2..3]));
    assert_eq!(ns["files"][0]["measurements"][0]["threads"][1]["max_ns"], 150);
    assert_eq!(import(&["--dry-run", "--as", "nonsense"], &files[..1]).status.code(), Some(2));
}

#[test]
fn an_unwritable_store_is_said_before_anything_is_read() {
    let file = fixture("cyclictest/v2.7-sparse.hist");
    let output = import(&["--results", file.to_str().unwrap()], std::slice::from_ref(&file));
    assert_eq!(output.status.code(), Some(7));
}
