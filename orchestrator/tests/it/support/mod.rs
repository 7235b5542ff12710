//! A workplace of its own for each test: home, results, campaign, target files.

pub(crate) mod chromium;
pub(crate) mod dropbear;
pub(crate) mod probe;
pub(crate) mod processes;
pub(crate) mod sshd;
pub(crate) mod synthetic;

use latlab::store::{ExecutionDir, PlannedRun, RunDir, Store};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Ends the test as passed where the machine lacks something, and as failed where everything must be there.
pub(crate) fn skip(reason: &str) {
    eprintln!("skipped: {reason}");
    assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "skipped under CI=true: {reason}");
}

/// Whether the test can run: root and these programs.
pub(crate) fn can_run(programs: &[&str]) -> bool {
    let missing: Vec<&&str> = programs.iter().filter(|program| which(program).is_none()).collect();
    if !missing.is_empty() {
        skip(&format!("not installed: {missing:?}"));
        return false;
    }
    if !is_root() {
        skip("needs root");
        return false;
    }
    true
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
}

pub(crate) fn which(program: &str) -> Option<PathBuf> {
    let mut places = vec!["/usr/sbin", "/usr/bin", "/sbin", "/bin"].into_iter().map(PathBuf::from).collect::<Vec<_>>();
    places.extend(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
    places.into_iter().map(|place| place.join(program)).find(|path| path.is_file())
}

/// Waits until `condition` gives something.
pub(crate) fn wait_for<T>(what: &str, seconds: u64, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(Instant::now() < deadline, "{what} did not happen within {seconds} s");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A directory with everything that `latlab` sees of the world.
pub(crate) struct Workplace {
    directory: tempfile::TempDir,
}

/// What a `latlab` said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Checks exit code and a piece of standard error.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32, stderr: &str) {
        assert!(self.code == Some(code) && self.stderr.contains(stderr), "expected {code} and `{stderr}`: {self:#?}");
    }
}

impl Workplace {
    pub(crate) fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("lt-").tempdir().unwrap();
        for name in ["home/.ssh", "run", "targets", "campaigns"] {
            std::fs::create_dir_all(directory.path().join(name)).unwrap();
        }
        let this = Self { directory };
        this.campaign("short", "2s", "");
        this
    }

    /// The usual opening: this machine is target `board`, without a link. `None`: the test cannot run here.
    pub(crate) fn local() -> Option<Self> {
        can_run(&[]).then(|| {
            let place = Self::new();
            place.target("board", "transport = \"local\"\n");
            place
        })
    }

    /// The usual opening with a link: target `board` behind an OpenSSH server of its own.
    pub(crate) fn over_ssh() -> Option<(Self, sshd::Sshd)> {
        can_run(&sshd::NEEDS).then(|| {
            let place = Self::new();
            let sshd = sshd::Sshd::start(&place);
            place.target("board", &sshd.target());
            (place, sshd)
        })
    }

    /// Where the probe works on target `board`.
    pub(crate) fn work(&self) -> PathBuf {
        self.path().join("board-work/latlab")
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A campaign of one cell on CPU 0, with a load.
    pub(crate) fn campaign(&self, name: &str, duration: &str, more: &str) {
        let text = format!(
            "name = \"{name}\"\ntargets = [\"board\"]\nduration = \"{duration}\"\ninterval = \"1ms\"\nload = [\"dd\"]\n\
             [measure]\ncpus = \"0\"\npriority = 80\nwarmup = \"100ms\"\n\
             [loads.dd.dd]\nblock = \"64k\"\nmin_duty = 0.1\n\
             [collect]\nevery = \"1s\"\ncheckpoint = \"200ms\"\n{more}"
        );
        self.write(&format!("campaigns/{name}.toml"), &text);
    }

    /// A target file.
    pub(crate) fn target(&self, name: &str, text: &str) {
        let work = self.path().join("board-work");
        let work_dirs = if text.contains("work_dirs") { String::new() } else { format!("work_dirs = [{work:?}]\n") };
        self.write(&format!("targets/{name}.toml"), &format!("name = \"{name}\"\n{work_dirs}{text}"));
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    /// `latlab` in this workplace and no other.
    pub(crate) fn latlab(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_latlab"));
        command.args(arguments).current_dir(self.path()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.path().join("home")).env("USER", "tester");
        command.env("XDG_RUNTIME_DIR", self.path().join("run"));
        command.env("LATLAB_PROBE_DIR", probe::directory());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs `latlab` to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        Said::of(self.latlab(arguments).output().unwrap())
    }

    /// Starts `latlab` in the background.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        Running::new(&mut self.latlab(arguments))
    }

    /// `latlab run CAMPAIGN` in the background, once its first cycles are mirrored.
    pub(crate) fn measuring(&self, campaign: &str) -> Running {
        let running = self.start(&["run", campaign]);
        self.wait_for_cycles(0);
        running
    }

    /// The first run of the first execution.
    pub(crate) fn first_run(&self) -> (PlannedRun, RunDir) {
        let execution = self.executions().swap_remove(0);
        let (planned, run) = execution.runs().next().unwrap();
        (planned.clone(), run)
    }

    pub(crate) fn executions(&self) -> Vec<ExecutionDir> {
        let Ok(store) = Store::open(self.path().join("results")) else { return Vec::new() };
        store.executions().unwrap().into_iter().flatten().collect()
    }

    /// Until more than `cycles` wake-ups of the measuring phase are mirrored.
    pub(crate) fn wait_for_cycles(&self, cycles: u64) {
        wait_for("a mirrored stream", 60, || {
            let executions = self.executions();
            let (_, run) = executions.last()?.runs().next()?;
            let folded = run.fold().ok()?;
            (folded.first()?.threads.first()?.histogram.total() > cycles).then_some(())
        });
    }

    /// Every run of every execution: whole, verified, equal to the board's own totals. Gives their number.
    #[track_caller]
    pub(crate) fn assert_whole(&self) -> usize {
        let mut count = 0;
        for execution in self.executions() {
            for (planned, run) in execution.runs() {
                assert_eq!(run.verify().unwrap(), Vec::<String>::new(), "{}", planned.name);
                for folded in run.fold().unwrap() {
                    let end = folded.end.as_ref().unwrap_or_else(|| panic!("{} has no end", planned.name));
                    assert!(folded.damage.is_empty() && folded.torn_bytes == 0, "{:?}", folded.damage);
                    assert_eq!(end.threads.len(), folded.threads.len());
                    for (totals, thread) in end.threads.iter().zip(&folded.threads) {
                        assert_eq!(totals.cycles, thread.histogram.total(), "cycles of {}", planned.name);
                        assert_eq!(totals.missed, thread.missed, "missed periods of {}", planned.name);
                        assert!(totals.cycles + totals.missed > 0);
                    }
                    count += 1;
                }
            }
        }
        count
    }

    /// Nothing of a run is left on the board or on the host.
    #[track_caller]
    pub(crate) fn assert_clean(&self, board_work: &Path) {
        let runs = std::fs::read_dir(board_work.join("runs")).map(|entries| entries.count()).unwrap_or(0);
        assert_eq!(runs, 0, "runs left in {}", board_work.display());
        assert!(!board_work.join("lock.json").exists(), "the board is still locked");
        let sockets = std::fs::read_dir(self.path().join("run/latlab")).map(|entries| entries.count()).unwrap_or(0);
        assert_eq!(sockets, 0, "control sockets left");
        for execution in self.executions() {
            let left = processes::mentioning(execution.name());
            assert!(left.is_empty(), "processes left on the board: {left:?}");
        }
    }
}

/// A program in the background, killed with the test.
pub(crate) struct Running(Option<Child>);

impl Running {
    pub(crate) fn new(command: &mut Command) -> Self {
        Self(Some(command.spawn().unwrap()))
    }

    pub(crate) fn keyboard(&mut self) -> ChildStdin {
        self.0.as_mut().unwrap().stdin.take().unwrap()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.pid().to_string()).status().unwrap();
        assert!(status.success());
    }

    pub(crate) fn wait(mut self) -> Said {
        Said::of(self.0.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            processes::descendants(child.id()).into_iter().for_each(processes::kill);
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
