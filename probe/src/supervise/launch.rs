//! `run DIR` and the supervisor behind it.

use super::{check, dir::RunDir, keeper, privileges, session, sweep};
use crate::{
    args::Args,
    error::{Doing, Error, Result},
    rt::{fd, process, process::Ended},
};
use std::{
    fs::File,
    io::{Read, Write},
    os::{
        fd::AsFd,
        unix::process::{CommandExt, ExitStatusExt},
    },
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// A supervisor that needs longer than this to come up goes on, but `run` does not wait for it.
const PATIENCE: Duration = Duration::from_secs(60);
/// What the supervisor says when it is up; anything else is why not.
const UP: &str = "up";

/// `latprobe run DIR [--continue]`: checks the spec, starts the supervisor, and says where the run stands once it is up.
pub(crate) fn run(mut args: Args) -> Result<()> {
    let go_on = args.flag("--continue");
    let dir = RunDir::open(&args.path("DIR")?)?;
    args.finish()?;
    let spec = dir.spec()?;
    check::check(&spec)?;
    check::check_board(&spec, &privileges::online())?;
    let used = !dir.segments()?.is_empty() || dir.state()?.is_some();
    dir.expect_idle()?;
    if used && !go_on {
        return Err(Error::Used { path: dir.path().to_owned() });
    }
    let log_path = dir.join("supervisor.log");
    let open = || File::options().create(true).append(true).open(&log_path);
    let log = open().doing(|| format!("cannot open {}", log_path.display()))?;
    let log_start = log.metadata().map_or(0, |about| about.len());
    let mut command = Command::new("/proc/self/exe");
    command.arg0("latprobe").arg("supervise").arg(dir.path()).current_dir("/").env(sweep::MARK, dir.path());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn();
    let mut child = child.doing(|| "cannot start the supervisor")?;
    match hear(&mut child).doing(|| "cannot hear the supervisor")?.as_deref() {
        Some(UP) => crate::print_json(&dir.status()?),
        Some(reason) if !reason.is_empty() => {
            // It has put everything back, and is about to go.
            let _ = child.wait();
            Err(Error::NotStarted(reason.to_owned()))
        }
        heard => {
            let ended = if heard.is_some() { child.wait().ok().map(how) } else { None };
            let log = std::fs::read(&log_path).unwrap_or_default();
            let new = log.get(usize::try_from(log_start).unwrap_or(0)..).unwrap_or_default();
            Err(Error::NotUp { ended, log: String::from_utf8_lossy(new).trim().to_owned() })
        }
    }
}

fn how(status: std::process::ExitStatus) -> Ended {
    status.code().map_or_else(|| Ended::Signal(status.signal().unwrap_or(0)), Ended::Code)
}

/// The one line that the supervisor says; `None`: nothing in time. Empty: it ended without a word.
fn hear(child: &mut Child) -> std::io::Result<Option<String>> {
    let mut output = child.stdout.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
    let deadline = Instant::now() + PATIENCE;
    let mut heard = Vec::new();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        if fd::poll(&[output.as_fd()], left)?.first() == Some(&true) {
            let mut piece = [0; 4096];
            let length = output.read(&mut piece)?;
            heard.extend_from_slice(&piece[..length]);
            if length == 0 || heard.ends_with(b"\n") {
                return Ok(Some(String::from_utf8_lossy(&heard).trim().to_owned()));
            }
        }
    }
}

/// `latprobe supervise DIR`: owns the run until its end. Started by `run` only.
pub(crate) fn supervise(mut args: Args) -> Result<()> {
    let dir = RunDir::open(&args.path("DIR")?)?;
    args.finish()?;
    // Started through /proc/self/exe, it would be called `exe`.
    process::set_name(c"latprobe");
    fd::ignore_hangup();
    process::new_session().doing(|| "cannot leave the session")?;
    match own(&dir) {
        Ok(()) => Ok(()),
        Err(error) => {
            say(&error.to_string());
            Err(error)
        }
    }
}

/// Takes the run, leaves the keeper behind, and carries the run out.
fn own(dir: &RunDir) -> Result<()> {
    let Some(alive) = dir.take()? else {
        let pid = dir.state()?.map(|state| state.supervisor_pid);
        return Err(Error::Alive { path: dir.path().to_owned(), pid });
    };
    let keeper = keeper::stay_behind(dir).doing(|| "cannot fork the supervisor")?;
    let ended = session::run(dir, keeper, say_up);
    drop(alive);
    ended
}

fn say_up() {
    say(UP);
}

/// To `run`, which may be gone: its link was cut. The run itself goes on.
fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{}", text.replace('\n', " "));
    let _ = fd::close_stdout();
}
