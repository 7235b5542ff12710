//! All that a case takes place in: a home, results, a board behind a relay, another board that nothing happens to.

use super::board::Board;
use super::relay::Relay;
use crate::{demo, paths};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use signal_hook::consts::SIGTERM;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The campaign: short, but with enough checkpoints for every trigger.
const CAMPAIGN: &str = r#"name = "faults"
targets = ["a", "b"]
duration = "4s"
interval = "1ms"
load = ["sleeper"]
[measure]
cpus = "0"
priority = 80
warmup = "200ms"
[loads.sleeper.command]
argv = ["sleep", "1000"]
min_duty = 0.1
[collect]
every = "1s"
checkpoint = "200ms"
"#;
/// Of the board's storage and of the host's: room for all that is written, and quick to fill.
const BOARD_DISK: &str = "size=24m";
const HOST_DISK: &str = "size=24m";
/// When a latlab hangs: its longest patience with a board in these cases is well below.
const LIMIT: Duration = Duration::from_secs(600);

pub(super) struct World {
    pub(super) directory: tempfile::TempDir,
    pub(super) board: Board,
    pub(super) relay: Relay,
    latlab: PathBuf,
    probes: PathBuf,
}

impl World {
    pub(super) fn new(latlab: &Path, probes: &Path, seed: u64) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("lf-").tempdir().context("cannot make a folder")?;
        let at = directory.path();
        for name in ["home", "run", "run2", "targets", "campaigns", "work-a", "work-b", "results"] {
            paths::make(&at.join(name))?;
        }
        for (name, size) in [("work-a", BOARD_DISK), ("results", HOST_DISK)] {
            mount(&at.join(name), size)?;
        }
        let board = Board::start(&at.join("board"))?;
        let relay = Relay::start(board.port, seed)?;
        paths::write(&at.join("campaigns/faults.toml"), CAMPAIGN)?;
        let work = |name: &str| format!("work_dirs = [\"{}\"]\n", at.join(name).display());
        let a = format!("name = \"a\"\n{}{}", work("work-a"), board.target(relay.port)?);
        paths::write(&at.join("targets/a.toml"), a)?;
        paths::write(&at.join("targets/b.toml"), format!("name = \"b\"\n{}transport = \"local\"\n", work("work-b")))?;
        Ok(Self { directory, board, relay, latlab: latlab.to_owned(), probes: probes.to_owned() })
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Where the probe works on board `a`.
    pub(super) fn work(&self) -> PathBuf {
        self.at("work-a/latlab")
    }

    pub(super) fn latlab(&self, arguments: &[&str]) -> Result<Command> {
        let mut command = demo::latlab_command(&self.latlab)?;
        let path = command.get_envs().find_map(|(key, value)| (key == "PATH").then(|| value.map(ToOwned::to_owned)));
        command.env_clear().env("PATH", path.flatten().unwrap_or_default());
        command.env("HOME", self.at("home")).env("USER", "tester").env("XDG_RUNTIME_DIR", self.at("run"));
        command.env("LATLAB_PROBE_DIR", &self.probes).args(arguments).current_dir(self.directory.path());
        command.stdin(Stdio::null());
        Ok(command)
    }

    pub(super) fn start(&self, arguments: &[&str]) -> Result<Running> {
        let name = format!("said-{}", std::fs::read_dir(self.directory.path())?.count());
        let said = self.at(&name);
        let file = std::fs::File::create(&said).context("cannot write what latlab says")?;
        let mut command = self.latlab(arguments)?;
        let child = command.stdout(file.try_clone()?).stderr(file).spawn().context("cannot start latlab")?;
        Ok(Running { child, said, deadline: Instant::now() + LIMIT })
    }

    /// The execution's directory, once there is one.
    pub(super) fn execution(&self) -> Option<PathBuf> {
        let entries = std::fs::read_dir(self.at("results")).ok()?.flatten().map(|entry| entry.path());
        entries.filter(|path| path.join("plan.json").is_file()).min()
    }

    /// Entries of the journal about board `a`: (step, mark).
    pub(super) fn journal(&self) -> Vec<(String, String)> {
        let text = self.execution().map(|path| std::fs::read_to_string(path.join("journal.jsonl")));
        let Some(Ok(text)) = text else { return Vec::new() };
        let of_a = |line: &str| {
            let entry: Value = serde_json::from_str(line).ok()?;
            let word = |key: &str| Some(entry[key].as_str()?.to_owned());
            (entry["target"] == "a").then(|| Some((word("step")?, word("mark")?)))?
        };
        text.lines().filter_map(of_a).collect()
    }

    /// The stream files of board `a`, ascending.
    pub(super) fn streams(&self) -> Vec<PathBuf> {
        let runs = std::fs::read_dir(self.work().join("runs")).into_iter().flatten().flatten();
        let files = runs.flat_map(|run| std::fs::read_dir(run.path()).into_iter().flatten().flatten());
        let is_stream = |path: &PathBuf| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("stream-"));
        let mut streams: Vec<PathBuf> = files.map(|file| file.path()).filter(is_stream).collect();
        streams.sort();
        streams
    }

    /// Records in all streams of board `a` so far.
    pub(super) fn records(&self) -> u64 {
        let count = |path: &PathBuf| {
            let bytes = std::fs::read(path).unwrap_or_default();
            latprobe::stream::wire::decode_all(&bytes).0.len() as u64
        };
        self.streams().iter().map(count).sum()
    }

    /// A process of the probe on board `a` by its name.
    pub(super) fn on_board(&self, name: &str) -> Option<u32> {
        let mark = format!("LATPROBE_RUN={}", self.work().display());
        processes::with_environment(&mark)
            .into_iter()
            .find(|pid| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name))
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.board.power_off();
        for pid in processes::with_environment(&self.directory.path().display().to_string()) {
            processes::kill(pid);
        }
        for name in ["work-a", "results"] {
            let _ = Command::new("umount").arg("-l").arg(self.at(name)).status();
        }
    }
}

fn mount(at: &Path, size: &str) -> Result<()> {
    let status = Command::new("mount").args(["-t", "tmpfs", "-o", size, "tmpfs"]).arg(at).status()?;
    if !status.success() {
        bail!("cannot mount a tmpfs on {}", at.display());
    }
    Ok(())
}

/// A latlab that runs.
pub(super) struct Running {
    child: Child,
    said: PathBuf,
    deadline: Instant,
}

impl Running {
    pub(super) fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its exit code once it has ended; an error once it hangs.
    pub(super) fn ended(&mut self) -> Result<Option<i32>> {
        if let Some(status) = self.child.try_wait()? {
            // A SIGTERM that comes before latlab listens for it ends it as it ends any program.
            let code = status.code().or_else(|| (status.signal() == Some(SIGTERM)).then_some(128 + SIGTERM));
            return code.map(Some).context("latlab was ended by a signal that nobody sent");
        }
        if Instant::now() >= self.deadline {
            self.kill()?;
            bail!("latlab did not end within {} s", LIMIT.as_secs());
        }
        Ok(None)
    }

    pub(super) fn end(&mut self) -> Result<i32> {
        loop {
            if let Some(code) = self.ended()? {
                return Ok(code);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(super) fn said(&self) -> String {
        let mut text = String::new();
        let read = std::fs::File::open(&self.said).and_then(|mut file| file.read_to_string(&mut text));
        read.map(|_| text).unwrap_or_default()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until `condition` holds; `false`: not within `limit`.
pub(super) fn until(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    while !condition() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

pub(super) fn is_reachable(port: u16) -> bool {
    std::net::TcpStream::connect((std::net::Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// Processes by what /proc says; only those that a case started are ever ended.
pub(super) mod processes {
    use std::process::Command;

    fn ids() -> impl Iterator<Item = u32> {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok())
    }

    fn state_and_parent(pid: u32) -> Option<(String, u32)> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
    }

    /// Children of `pid`, theirs, and so on.
    pub(crate) fn descendants(pid: u32) -> Vec<u32> {
        let all: Vec<(u32, u32)> = ids().filter_map(|id| Some((id, state_and_parent(id)?.1))).collect();
        let mut found = vec![pid];
        let mut at = 0;
        while at < found.len() {
            let of_this = found[at];
            found.extend(all.iter().filter(|(_, parent)| *parent == of_this).map(|(id, _)| *id));
            at += 1;
        }
        found.split_off(1)
    }

    /// Living processes in whose environment a variable begins like this, or whose command line holds it.
    pub(crate) fn with_environment(text: &str) -> Vec<u32> {
        let read = |pid: u32, what: &str| std::fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
        let holds = |pid: &u32| {
            let found = |raw: Vec<u8>| String::from_utf8_lossy(&raw).contains(text);
            let alive = state_and_parent(*pid).is_some_and(|(state, _)| state != "Z" && state != "X");
            alive && *pid != std::process::id() && (found(read(*pid, "environ")) || found(read(*pid, "cmdline")))
        };
        ids().filter(holds).collect()
    }

    pub(crate) fn kill(pid: u32) {
        signal(pid, "KILL");
    }

    pub(crate) fn signal(pid: u32, name: &str) {
        // It may have ended by itself.
        let _ = Command::new("sh").args(["-c", "kill -$0 $1 2>/dev/null", name]).arg(pid.to_string()).status();
    }
}
