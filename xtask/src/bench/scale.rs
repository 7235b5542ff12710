//! What 64 boards cost the host, and what a night costs its disk.
//!
//! The boards are targets of their own behind one real SSH server, each with a real probe; only their sampling is slow,
//! so that 64 of them fit on this machine. The stream's rate does not depend on it but by the number of bins.

use super::{Depth, table::Row};
use crate::cross::{self, Kind};
use crate::faults::Board;
use crate::{build, demo, paths, shell, tools};
use anyhow::{Context, Result, ensure};
use latprobe::stream::Record;
use latprobe::stream::wire::Decoder;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const BOARDS: usize = 64;
/// A checkpoint and a contact of every board.
const EVERY_S: u64 = 10;
const NIGHT_S: u64 = 12 * 3600;
/// Ticks a second of the times in `/proc/PID/stat`: `USER_HZ`, which is 100 on every machine that runs this.
const TICKS: f64 = 100.0;

pub(super) fn run(depth: Depth) -> Result<Vec<Row>> {
    tools::ensure(&tools::LOOPBACK)?;
    cross::build(Kind::X86_64)?;
    shell::run(build::cargo().args(["build", "--locked", "--release", "--package", "latlab"]))?;
    let latlab = build::target_directory().join("release/latlab");
    let (boards, seconds) = if depth == Depth::Quick { (8, 20) } else { (BOARDS, 60) };
    let host = host(&latlab, boards, seconds)?;
    let bytes = stream(&latlab, if depth == Depth::Quick { 30 } else { 120 })?;
    let of = format!("{boards} boards over SSH, a checkpoint and a contact of each every {EVERY_S} s");
    Ok(vec![
        Row {
            figure: format!("CPU of latlab, {of}"),
            ours: format!("{:.1} % of a core", host.cpu * 100.0),
            reference: String::new(),
            ratio: String::new(),
            goal: "≤ 10 %".into(),
            reached: (boards == BOARDS).then_some(host.cpu <= 0.1),
        },
        Row {
            figure: format!("CPU of its ssh clients, {of}"),
            ours: format!("{:.1} % of a core", host.ssh_cpu * 100.0),
            reference: String::new(),
            ratio: String::new(),
            goal: String::new(),
            reached: None,
        },
        Row {
            figure: format!("peak memory of latlab, {of}"),
            ours: format!("{:.0} MB resident", host.peak_mb),
            reference: String::new(),
            ratio: String::new(),
            goal: "≤ 150 MB".into(),
            reached: (boards == BOARDS).then_some(host.peak_mb <= 150.0),
        },
        Row {
            figure: "stream of 12 h of one CPU at 1 kHz, a checkpoint every 10 s".into(),
            ours: format!("{:.2} MB", bytes / 1e6),
            reference: String::new(),
            ratio: String::new(),
            goal: "≤ 5 MB".into(),
            reached: Some(bytes <= 5e6),
        },
    ])
}

struct Host {
    /// Share of a core while every board measures.
    cpu: f64,
    ssh_cpu: f64,
    peak_mb: f64,
}

/// A place to run latlab in, and the end of what it started there.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Result<Self> {
        let place = Self(tempfile::Builder::new().prefix("ls-").tempdir().context("cannot make a folder")?);
        for name in ["home", "run", "targets", "campaigns", "work"] {
            paths::make(&place.at(name))?;
        }
        Ok(place)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn campaign(&self, targets: &[String], seconds: u64, interval: &str) -> Result<()> {
        let text = format!(
            "name = \"scale\"\ntargets = {targets:?}\nduration = \"{seconds}s\"\ninterval = \"{interval}\"\n\
             [measure]\ncpus = \"0\"\npriority = 20\n[collect]\nevery = \"{EVERY_S}s\"\ncheckpoint = \"{EVERY_S}s\"\n"
        );
        paths::write(&self.at("campaigns/scale.toml"), text)
    }

    fn latlab(&self, latlab: &Path) -> Result<Command> {
        let mut command = demo::latlab_command(latlab)?;
        let probes = build::target_directory().join("probes");
        command.current_dir(self.0.path()).env("HOME", self.at("home")).env("XDG_RUNTIME_DIR", self.at("run"));
        command.env("LATLAB_PROBE_DIR", probes).args(["run", "scale"]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Ok(command)
    }

    /// Streams at home.
    fn streams(&self) -> Vec<PathBuf> {
        let below = |path: PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        let runs = below(self.at("results")).flat_map(|execution| below(execution.join("runs")));
        runs.map(|run| run.join("stream-0")).filter(|stream| stream.is_file()).collect()
    }
}

fn host(latlab: &Path, boards: usize, seconds: u64) -> Result<Host> {
    let place = Place::new()?;
    let server = Board::start(&place.at("board"))?;
    let names: Vec<String> = (1..=boards).map(|number| format!("board-{number}")).collect();
    for name in &names {
        let work = place.at("work").join(name);
        let text = format!("name = \"{name}\"\nwork_dirs = [{work:?}]\n{}", server.target(server.port)?);
        paths::make(&work)?;
        paths::write(&place.at(&format!("targets/{name}.toml")), text.replace("5s", "60s"))?;
    }
    // Longer than everything here: it is ended by the end of its board.
    place.campaign(&names, 1800, "20ms")?;
    let said = std::fs::File::create(place.at("said"))?;
    let mut child = place.latlab(latlab)?.stderr(said).spawn().context("cannot start latlab")?;
    let measured = measure(&place, &mut child, boards, seconds);
    let _ = child.kill();
    child.wait()?;
    measured.with_context(|| {
        let said = std::fs::read_to_string(place.at("said")).unwrap_or_default();
        said.lines().rev().take(3).collect::<Vec<_>>().join(" / ")
    })
}

/// For so many seconds from the moment when every board's stream comes.
fn measure(place: &Place, child: &mut Child, boards: usize, seconds: u64) -> Result<Host> {
    let pid = child.id();
    let patience = Instant::now() + Duration::from_secs(600);
    while place.streams().len() < boards {
        let ended = child.try_wait()?.is_some() || Instant::now() > patience;
        ensure!(!ended, "only {} of {boards} boards measure", place.streams().len());
        std::thread::sleep(Duration::from_millis(200));
    }
    let (begun, latlab, ssh) = (Instant::now(), ticks(pid)?, ssh_ticks(place));
    std::thread::sleep(Duration::from_secs(seconds));
    let elapsed = begun.elapsed().as_secs_f64();
    let share = |before: u64, after: u64| {
        #[expect(clippy::cast_precision_loss, reason = "a few thousand ticks")]
        let ticks = after.saturating_sub(before) as f64;
        ticks / TICKS / elapsed
    };
    let host = Host { cpu: share(latlab, ticks(pid)?), ssh_cpu: share(ssh, ssh_ticks(place)), peak_mb: peak_mb(pid)? };
    Ok(host)
}

/// CPU time of a process, in ticks.
fn ticks(pid: u32) -> Result<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).context("latlab ended too early")?;
    let fields: Vec<&str> = stat.rsplit_once(')').context("no process")?.1.split_whitespace().collect();
    let field = |index: usize| fields.get(index).and_then(|text| text.parse::<u64>().ok()).context("no CPU time");
    Ok(field(11)? + field(12)?)
}

fn ssh_ticks(place: &Place) -> u64 {
    let sockets = place.at("run").display().to_string();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok());
    let is_ssh = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).starts_with("ssh\0") && String::from_utf8_lossy(&line).contains(&sockets)
    };
    pids.filter(is_ssh).filter_map(|pid| ticks(pid).ok()).sum()
}

fn peak_mb(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).context("latlab ended too early")?;
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse::<f64>().ok());
    Ok(peak.context("no peak memory")? * 1024.0 / 1e6)
}

/// Bytes of 12 hours, from the checkpoints of some minutes: each counts, the first with its many new bins, too.
fn stream(latlab: &Path, seconds: u64) -> Result<f64> {
    let place = Place::new()?;
    let work = place.at("work");
    let target = format!("name = \"here\"\nwork_dirs = [{work:?}]\ntransport = \"local\"\n");
    paths::write(&place.at("targets/here.toml"), target)?;
    place.campaign(&["here".to_owned()], seconds, "1ms")?;
    let status = place.latlab(latlab)?.stderr(Stdio::null()).status().context("cannot start latlab")?;
    let stream = place.streams().pop().with_context(|| format!("no stream; latlab ended with {status}"))?;
    let mut decoder = Decoder::new();
    decoder.push(&std::fs::read(stream)?);
    let (mut at, mut bytes, mut checkpoints) = (0, 0, 0);
    while let Some(record) = decoder.next_record() {
        if matches!(record, Record::Checkpoint(checkpoint) if !checkpoint.warm_up) {
            bytes += decoder.offset() - at;
            checkpoints += 1;
        }
        at = decoder.offset();
    }
    ensure!(checkpoints > 1, "only {checkpoints} checkpoints");
    #[expect(clippy::cast_precision_loss, reason = "kilobytes")]
    let mean = bytes as f64 / f64::from(checkpoints);
    #[expect(clippy::cast_precision_loss, reason = "4320 checkpoints")]
    let night = (NIGHT_S / EVERY_S) as f64;
    Ok(mean * night)
}
