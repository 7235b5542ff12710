//! `cargo xtask lab`: emulated boards that keep running between commands.

pub(crate) mod board;
mod cpio;
mod disk;
mod extlinux;
mod image;
mod keeper;
mod modules;
mod qemu;
mod qmp;
pub(crate) mod state;

use crate::{paths, shell, sshd, tools};
use anyhow::{Context, Result, bail};
use board::Variant;
use qmp::Qmp;
use serde_json::json;
use state::State;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// An emulated board under load may be slow, but a boot takes 3 to 15 s.
const BOOT_LIMIT: Duration = Duration::from_secs(180);

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Action {
    /// Make the board if it is not there, switch it on, wait for its SSH server, print its target file.
    Up {
        name: String,
        /// Kernel that the boot configuration of a new board names.
        #[arg(long, value_enum)]
        kernel: Option<Variant>,
        /// Boot arguments of a new board in place of those in its description.
        #[arg(long)]
        append: Option<String>,
    },
    /// Switch the board off and delete it, its disks included.
    Down { name: String },
    /// All boards and their state.
    List,
    /// Log in, or run a command.
    Ssh {
        name: String,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
    /// The serial console (Ctrl-C leaves).
    Console {
        name: String,
        /// Only print what it said so far.
        #[arg(long)]
        log: bool,
    },
    /// Press the reset button.
    Reset { name: String },
    /// Cut or give power, or both; disks stay.
    Power { state: Power, name: String },
    /// Pull the network cable.
    Cut { name: String },
    /// Plug the network cable in again.
    Plug { name: String },
    /// Stop the board's clock and CPUs.
    Pause { name: String },
    /// Let a paused board go on.
    Resume { name: String },
    /// (internal) The process that keeps a board powered.
    #[command(hide = true)]
    Keep {
        name: String,
        #[arg(long)]
        home: PathBuf,
        /// The board's folder, by which the process is recognised.
        folder: PathBuf,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Power {
    On,
    Off,
    /// Off and on, without waiting for the board to come up.
    Cycle,
}

pub(crate) fn main(action: &Action) -> Result<ExitCode> {
    let open = |name: &str| State::of(&state::home()?, name);
    match action {
        Action::Up { name, kernel, append } => {
            let state = open(name)?;
            let target = up(&state, *kernel, append.as_deref())?;
            println!("lab: {name} is up, ssh on 127.0.0.1:{}, target file {}", state.port()?, target.display());
        }
        Action::Down { name } => down(&open(name)?)?,
        Action::List => list()?,
        Action::Ssh { name, command } => return ssh(&open(name)?, command),
        Action::Console { name, log } => console(&open(name)?, *log)?,
        Action::Reset { name } => reset(&open(name)?)?,
        Action::Power { state: Power::On, name } => power_on(&open(name)?)?,
        Action::Power { state: Power::Off, name } => power_off(&open(name)?)?,
        Action::Power { state: Power::Cycle, name } => {
            let state = open(name)?;
            state.port()?;
            power_off(&state)?;
            keeper::start(&state)?;
        }
        Action::Cut { name } => link(&open(name)?, false)?,
        Action::Plug { name } => link(&open(name)?, true)?,
        Action::Pause { name } => execute(&open(name)?, "stop")?,
        Action::Resume { name } => execute(&open(name)?, "cont")?,
        Action::Keep { name, home, folder: _ } => keeper::keep(&State::of(home, name)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Names of all boards.
pub(crate) fn names() -> Result<Vec<String>> {
    board::names()
}

/// A board that its user takes down again.
pub(crate) struct Board(State);

impl Board {
    /// The board of this name below a folder of the caller's, so that it is not the one that `lab up` made.
    pub(crate) fn of(home: &std::path::Path, name: &str) -> Result<Self> {
        Ok(Self(State::of(home, name)?))
    }

    /// What it executes.
    pub(crate) fn kind(&self) -> crate::cross::Kind {
        self.0.board.machine.kind()
    }

    /// Makes it anew and waits for its SSH server. It goes down with the guard.
    pub(crate) fn up(self, kernel: Option<Variant>, append: Option<&str>) -> Result<Powered> {
        paths::make(&self.0.home)?;
        let path = self.0.home.join(format!("{}.lock", self.0.board.name));
        let lock = std::fs::File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        if lock.try_lock().is_err() {
            println!("lab: waiting for another process to give {} back", self.0.board.name);
            lock.lock().with_context(|| format!("cannot lock {}", path.display()))?;
        }
        down(&self.0)?; // what a killed process has left
        let powered = Powered(self.0, lock);
        up(&powered.0, kernel, append)?;
        Ok(powered)
    }
}

/// A board under power, with the lock that keeps it ours; dropping it takes it down.
pub(crate) struct Powered(State, #[expect(dead_code, reason = "held, not read")] std::fs::File);

impl Powered {
    pub(crate) fn port(&self) -> Result<u16> {
        self.0.port()
    }

    pub(crate) fn target_file(&self) -> Result<PathBuf> {
        self.0.target_file()
    }

    pub(crate) fn name(&self) -> &str {
        &self.0.board.name
    }

    /// A command that cuts and gives the board's power, as a power switch in a lab would.
    pub(crate) fn power_cycle(&self) -> Result<Vec<String>> {
        let own = std::env::current_exe().context("cannot find xtask itself")?;
        let home = format!("{}={}", state::HOME, self.0.home.display());
        let command = ["env", &home, &own.display().to_string(), "lab", "power", "cycle", self.name()];
        Ok(command.map(str::to_owned).into())
    }

    pub(crate) fn has_battery(&self) -> bool {
        self.0.board.battery
    }

    /// What a script prints on the board.
    pub(crate) fn shell(&self, script: &str) -> Result<String> {
        shell::output(ssh_command(&self.0)?.args(["-o", "ConnectTimeout=60"]).arg(script))
    }

    /// Network cable in (`true`) or out.
    pub(crate) fn link(&self, up: bool) -> Result<()> {
        link(&self.0, up)
    }

    /// Presses the reset button.
    pub(crate) fn reset(&self) -> Result<()> {
        reset(&self.0)
    }

    /// The last lines on the serial console.
    pub(crate) fn console_tail(&self) -> String {
        let log = std::fs::read(self.0.path("console.log")).unwrap_or_default();
        String::from_utf8_lossy(&log[log.len().saturating_sub(2000)..]).into_owned()
    }

    /// Takes it down, with the error if that does not work.
    pub(crate) fn down(self) -> Result<()> {
        down(&self.0)
    }
}

impl Drop for Powered {
    fn drop(&mut self) {
        if let Err(error) = down(&self.0) {
            eprintln!("lab: {}: {error:#}", self.0.board.name);
        }
    }
}

/// Makes, switches on and waits. Returns the target file.
pub(crate) fn up(state: &State, kernel: Option<Variant>, append: Option<&str>) -> Result<PathBuf> {
    tools::ensure(&tools::LOOPBACK)?;
    qemu::ensure(&state.board)?;
    if !state.is_made() {
        state.make(kernel, append)?;
    } else if kernel.is_some() || append.is_some() {
        bail!("{0} is there already: `cargo xtask lab down {0}` first", state.board.name);
    }
    if !state.is_on() {
        keeper::start(state)?;
    }
    if let Err(error) = wait(state) {
        // Somebody else may have taken the port between our look and QEMU's bind: one more try with another.
        if state.is_on() {
            return Err(error);
        }
        println!("lab: {error:#}; trying another port");
        state.choose_port()?;
        keeper::start(state)?;
        wait(state)?;
    }
    state.target_file()
}

/// Waits until the board's SSH server answers.
pub(crate) fn wait(state: &State) -> Result<()> {
    let deadline = Instant::now() + BOOT_LIMIT;
    let port = state.port()?;
    while !sshd::banner(port) {
        if !state.is_on() {
            let log = std::fs::read_to_string(state.path("keeper.log")).unwrap_or_default();
            let last = log.lines().next_back().unwrap_or_default();
            bail!("board {} went off (`{last}`): see {}", state.board.name, state.path("console.log").display());
        }
        if Instant::now() > deadline {
            bail!("board {} does not answer: see {}", state.board.name, state.path("console.log").display());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Switches off and deletes.
pub(crate) fn down(state: &State) -> Result<()> {
    power_off(state)?;
    paths::remove(&state.directory)
}

pub(crate) fn power_on(state: &State) -> Result<()> {
    state.port()?;
    if !state.is_on() {
        keeper::start(state)?;
    }
    wait(state)
}

/// Power is gone at once, as by a switched socket.
pub(crate) fn power_off(state: &State) -> Result<()> {
    if let Ok(mut qmp) = Qmp::connect(&state.path("qmp.sock")) {
        // QEMU may end before it has answered.
        let _ = qmp.execute("quit", &json!({}));
    }
    let deadline = Instant::now() + Duration::from_secs(10);
    while state.is_on() {
        if Instant::now() > deadline {
            for pid in ["keeper.pid", "qemu.pid"].iter().filter_map(|file| state.process(file)) {
                shell::run(Command::new("sh").args(["-c", "kill \"$0\""]).arg(pid.to_string()))?;
            }
            std::thread::sleep(Duration::from_secs(1));
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

pub(crate) fn reset(state: &State) -> Result<()> {
    execute(state, "system_reset")
}

/// Network cable in (`true`) or out.
pub(crate) fn link(state: &State, up: bool) -> Result<()> {
    qmp(state)?.execute("set_link", &json!({ "name": "net0", "up": up }))?;
    Ok(())
}

fn execute(state: &State, command: &str) -> Result<()> {
    qmp(state)?.execute(command, &json!({}))?;
    Ok(())
}

fn qmp(state: &State) -> Result<Qmp> {
    state.port()?;
    if !state.is_on() {
        bail!("board {0} is off: `cargo xtask lab power on {0}`", state.board.name);
    }
    Qmp::connect(&state.path("qmp.sock"))
}

fn list() -> Result<()> {
    for name in board::names()? {
        let state = State::of(&state::home()?, &name)?;
        let now = match (state.is_made(), state.process("qemu.pid")) {
            (false, _) => "-".to_owned(),
            (true, None) => "off".to_owned(),
            (true, Some(pid)) => format!("on, ssh 127.0.0.1:{}, pid {pid}", state.port()?),
        };
        println!("{name:24} {now:34} {}", state.board.purpose);
    }
    Ok(())
}

/// A command that runs another on the board, with the board's key and pin.
pub(crate) fn ssh_command(state: &State) -> Result<Command> {
    let known = state.path("known_hosts");
    let public = paths::read(&state.path("host_key.pub"))?;
    paths::write(&known, format!("* {public}"))?;
    let mut command = Command::new(tools::program("ssh")?);
    command.args([
        "-F",
        "none",
        "-o",
        "BatchMode=yes",
        "-o",
        "StrictHostKeyChecking=yes",
        "-o",
        "LogLevel=ERROR",
        "-o",
    ]);
    command.arg(format!("UserKnownHostsFile={}", known.display())).arg("-i").arg(state.path("identity"));
    command.args(["-p", &state.port()?.to_string(), "root@127.0.0.1"]);
    Ok(command)
}

fn ssh(state: &State, command: &[String]) -> Result<ExitCode> {
    let status = ssh_command(state)?.args(command).status().context("cannot start ssh")?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Copies between the terminal and the serial line, line by line.
fn console(state: &State, log_only: bool) -> Result<()> {
    state.port()?;
    print!("{}", String::from_utf8_lossy(&std::fs::read(state.path("console.log")).unwrap_or_default()));
    if log_only {
        return Ok(());
    }
    let socket = state.path("console.sock");
    let mut from_board = std::os::unix::net::UnixStream::connect(&socket)
        .with_context(|| format!("cannot connect to {}", socket.display()))?;
    let mut to_board = from_board.try_clone()?;
    std::thread::spawn(move || std::io::copy(&mut std::io::stdin(), &mut to_board));
    let mut buffer = [0; 4096];
    loop {
        let count = from_board.read(&mut buffer).context("the console is gone")?;
        if count == 0 {
            return Ok(());
        }
        std::io::stdout().write_all(&buffer[..count])?;
        std::io::stdout().flush()?;
    }
}
