//! Short commands on a run's directory.

use super::{
    dir::RunDir,
    settings::{self, Restored},
    sweep,
};
use crate::{
    args::Args,
    error::{Doing, Error, Result},
    rt::process,
};
use latprobe::status::{Stage, Status};
use std::{
    fs,
    time::{Duration, Instant},
};

/// After the time that the caller gives: for a last word, in s.
const LAST_SECONDS: u64 = 5;

/// `latprobe status DIR`
pub(crate) fn status(mut args: Args) -> Result<()> {
    let dir = RunDir::open(&args.path("DIR")?)?;
    args.finish()?;
    crate::print_json(&dir.status()?)
}

/// `latprobe stop DIR [--timeout SECONDS]`: ends the run in good order, or what is left of it; says where it stands then.
pub(crate) fn stop(mut args: Args) -> Result<()> {
    let seconds = args.number("--timeout")?.unwrap_or(60);
    let dir = RunDir::open(&args.path("DIR")?)?;
    args.finish()?;
    let status = stop_within(&dir, seconds)?;
    crate::print_json(&status)
}

fn stop_within(dir: &RunDir, seconds: u64) -> Result<Status> {
    if !ends_within(dir, seconds)? && !ends_within(dir, LAST_SECONDS)? {
        // Only a guard that does not come to its end may be left: its work is done below.
        if let Some(pid) = supervisor(dir)? {
            return Err(Error::StillRunning { pid, seconds });
        }
    }
    clean(dir)?;
    dir.status()
}

/// Asks the supervisor once to end, and waits. The second time it ends without what a full disk does not take.
fn ends_within(dir: &RunDir, seconds: u64) -> Result<bool> {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let mut asked = false;
    while dir.is_alive()? {
        if !asked {
            if let Some(pid) = supervisor(dir)? {
                // It may end by itself at this moment.
                let _ = process::kill(pid, libc::SIGTERM);
                asked = true;
            }
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(true)
}

/// The supervisor's process id, which is its own as long as it carries the run's mark.
fn supervisor(dir: &RunDir) -> Result<Option<i32>> {
    let pid = dir.state()?.map(|state| state.supervisor_pid);
    Ok(pid.filter(|pid| sweep::marked(dir.path(), &[]).contains(pid)))
}

/// After a supervisor that could not clean up itself: no process, no changed setting stays.
fn clean(dir: &RunDir) -> Result<Restored> {
    let stuck = sweep::kill_marked(dir.path(), &[], Vec::new());
    let answer = settings::restore(dir, None)?;
    let mut left: Vec<String> = answer.failed.iter().map(|(path, reason)| format!("{path} {reason}")).collect();
    left.extend(stuck.iter().map(|pid| format!("process {pid} does not end")));
    if left.is_empty() { Ok(answer) } else { Err(Error::NotRestored(left)) }
}

/// `latprobe restore DIR`: puts back what a run that was cut off left behind.
pub(crate) fn restore(mut args: Args) -> Result<()> {
    let dir = RunDir::open(&args.path("DIR")?)?;
    args.finish()?;
    dir.expect_idle()?;
    let answer = clean(&dir)?;
    if let Some(mut state) = dir.state()?.filter(|state| !state.stage.is_over()) {
        let message = dir.status()?.message;
        (state.stage, state.message) = (Stage::Dead, message);
        dir.write_state(&state)?;
    }
    crate::print_json(&answer)
}

/// `latprobe remove DIR`: the directory of a run that is over, and nothing else.
pub(crate) fn remove(mut args: Args) -> Result<()> {
    let dir = RunDir::open(&args.path("DIR")?)?;
    args.finish()?;
    dir.expect_idle()?;
    if dir.join("undo.json").exists() {
        return Err(Error::NotRestored(vec!["undo.json is still there: `latprobe restore DIR` first".into()]));
    }
    // Its own files by name: whatever else lies here is not the probe's to remove.
    let path = dir.path();
    let known = |name: &str| {
        let name = name.strip_suffix(".new").unwrap_or(name);
        matches!(name, "spec.json" | "state.json" | super::trace::FILE | "alive" | "supervisor.log" | "loads")
            || name.starts_with("stream-")
    };
    let entries = fs::read_dir(path).doing(|| path.display().to_string())?;
    let names: Vec<String> = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    if let Some(stranger) = names.iter().find(|name| !known(name)) {
        let problem = format!("holds `{stranger}`, which is no file of a run: nothing was removed");
        return Err(Error::Damaged { path: path.to_owned(), problem });
    }
    fs::remove_dir_all(path).doing(|| format!("cannot remove {}", path.display()))
}
