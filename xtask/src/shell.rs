//! Running commands: what ran stands in every error.

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The command as one would type it, without `-o OPTION` pairs: apt takes a page of them.
pub(crate) fn text(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy()];
    let mut arguments = command.get_args();
    while let Some(word) = arguments.next() {
        if word == "-o" {
            arguments.next();
        } else {
            words.push(word.to_string_lossy());
        }
    }
    words.join(" ")
}

/// Runs with the terminal's input and output; a failure is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start `{}`", text(command)))?;
    if !status.success() {
        bail!("`{}` failed: {status}", text(command));
    }
    Ok(())
}

/// Runs and returns standard output; a failure is an error with the last lines of standard error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let result = try_output(command)?;
    if !result.status.success() {
        let errors = String::from_utf8_lossy(&result.stderr);
        let lines: Vec<&str> = errors.lines().collect();
        let tail = lines[lines.len().saturating_sub(8)..].join("\n  ");
        bail!("`{}` failed: {}\n  {tail}", text(command), result.status);
    }
    Ok(String::from_utf8_lossy(&result.stdout).into_owned())
}

/// Runs and returns all of it, whatever the exit code.
pub(crate) fn try_output(command: &mut Command) -> Result<Output> {
    command.stdin(Stdio::null()).output().with_context(|| format!("cannot start `{}`", text(command)))
}

/// Whether this is root (asked from `id`, which needs no unsafe call).
pub(crate) fn is_root() -> Result<bool> {
    Ok(output(Command::new("id").arg("-u"))?.trim() == "0")
}

/// Holds SIGINT and SIGTERM back once, so that what was started is taken down; the second one ends xtask at once.
/// The child in the foreground gets a terminal's SIGINT too, and ends by itself.
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    pub(crate) fn hold() -> Result<Self> {
        let flag = Arc::default();
        for signal in [SIGINT, SIGTERM] {
            let held = signal_hook::flag::register_conditional_default(signal, Arc::clone(&flag));
            held.and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
                .context("cannot handle signals")?;
        }
        Ok(Self(flag))
    }

    /// An error once a signal came.
    pub(crate) fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        Ok(())
    }
}
