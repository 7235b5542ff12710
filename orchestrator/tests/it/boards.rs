//! The probe onto boards that make it hard.

use crate::support::sshd::{Options, Sshd};
use crate::support::{Workplace, can_run};
use std::fs;

const NEEDS: [&str; 4] = ["sshd", "ssh", "ssh-keygen", "unshare"];

#[test]
fn the_probe_is_sent_once() {
    if !can_run(&NEEDS) {
        return;
    }
    let place = Workplace::new();
    let sshd = Sshd::start(&place);
    place.target("board", &sshd.target());
    let work = place.work();
    place.run(&["run", "short"]).expect(0, &format!(", uploaded to {}", work.display()));
    place.run(&["run", "short"]).expect(0, &format!(", already in {}", work.display()));
    // A probe that was damaged on the board is replaced.
    let probe =
        fs::read_dir(&work).unwrap().flatten().find(|e| e.file_name().to_string_lossy().starts_with("latprobe-"));
    fs::write(probe.unwrap().path(), "damaged").unwrap();
    place.run(&["run", "short"]).expect(0, &format!(", uploaded to {}", work.display()));
    assert_eq!(place.assert_whole(), 3);
    place.assert_clean(&work);
}

#[test]
fn work_directories_that_cannot_be_used_are_passed_over_by_name() {
    if !can_run(&NEEDS) {
        return;
    }
    let place = Workplace::new();
    let at = place.path().join("m").display().to_string();
    let mounts = format!(
        "mkdir -p {at}/ro {at}/full {at}/noexec {at}/good\n\
         mount -t tmpfs -o ro tmpfs {at}/ro\nmount -t tmpfs -o size=64k tmpfs {at}/full\n\
         mount -t tmpfs -o noexec tmpfs {at}/noexec\n"
    );
    let sshd = Sshd::with(&place, "sshd", &Options { mounts: &mounts, ..Options::default() });
    let target = |dirs: &[&str]| {
        let dirs: Vec<String> = dirs.iter().map(|dir| format!("{at}/{dir}")).collect();
        place.target("board", &format!("work_dirs = {dirs:?}\n{}", sshd.target()));
    };
    target(&["ro", "full", "noexec", "good"]);
    let said = place.run(&["run", "short"]);
    said.expect(0, &format!("uploaded to {at}/good/latlab"));
    said.expect(0, &format!("; not {at}/ro: Read-only file system"));
    said.expect(0, &format!("; not {at}/full: only "));
    said.expect(0, &format!("; not {at}/noexec: programs cannot be run there, is it mounted noexec?"));
    target(&["noexec"]);
    place.run(&["run", "short"]).expect(5, "no work directory on the board: ");
}

#[test]
fn a_probe_for_another_machine() {
    if !can_run(&NEEDS) {
        return;
    }
    let place = Workplace::new();
    place.target("board", "transport = \"local\"\n");
    let other = place.path().join("probes");
    fs::create_dir(&other).unwrap();
    let mut elf = fs::read(crate::support::probe::directory().join("latprobe")).unwrap();
    let with_machine = |elf: &[u8]| {
        fs::write(other.join("latprobe"), elf).unwrap();
        let output = place.latlab(&["run", "short"]).env("LATLAB_PROBE_DIR", &other).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), stderr)
    };
    // Found out on the host, by the header.
    elf[18] = 8;
    let (code, said) = with_machine(&elf);
    assert_eq!(code, Some(4), "the fault is this host's: {said}");
    assert!(said.contains("is a program for ELF machine 8, the board is"), "{said}");
    // Found out on the board: the right header over something that cannot run.
    elf[18] = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
    elf[54] = 1;
    let (code, said) = with_machine(&elf);
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("the probe does not run on the board: "), "{said}");
    // The target file and the board disagree.
    place.target("board", "arch = \"armv7\"\ntransport = \"local\"\n");
    place.run(&["run", "short"]).expect(5, ", the target file says arch = \"armv7\"");
}

#[test]
fn results_that_cannot_be_written() {
    if !can_run(&NEEDS) {
        return;
    }
    let place = Workplace::new();
    place.target("board", "transport = \"local\"\n");
    place.write("file", "");
    place.run(&["run", "short", "--results", "file"]).expect(7, "results store: file is not a directory");
    place.run(&["run", "short", "--results", "/proc/results"]).expect(7, "results store: cannot write /proc/results: ");
}
