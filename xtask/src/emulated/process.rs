//! latlab as a child whose output is read as it comes.

use crate::shell::Interrupt;
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A run of 5 s on an emulated board takes 20 to 60 s; this is when something hangs.
const RUN_LIMIT: Duration = Duration::from_secs(300);

/// A latlab whose progress lines are read as they come.
pub(super) struct Run<'a> {
    interrupt: &'a Interrupt,
    child: Child,
    lines: std::sync::mpsc::Receiver<String>,
    deadline: Instant,
}

impl<'a> Run<'a> {
    pub(super) fn start(command: &mut Command, interrupt: &'a Interrupt) -> Result<Self> {
        Self::start_for(RUN_LIMIT, command, interrupt)
    }

    /// [`Self::start`] with another time-out.
    pub(super) fn start_for(limit: Duration, command: &mut Command, interrupt: &'a Interrupt) -> Result<Self> {
        let (reader, writer) = std::io::pipe().context("cannot make a pipe")?;
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let child = command.spawn().context("cannot start latlab")?;
        // The pipe ends when latlab does, not when this struct goes.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(reader).lines().map_while(Result::ok) {
                println!("  {line}");
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { interrupt, child, lines, deadline: Instant::now() + limit })
    }

    /// Waits for a line with this text.
    pub(super) fn wait_for(&mut self, text: &str) -> Result<()> {
        loop {
            let patience = self.deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(patience).with_context(|| format!("latlab never said `{text}`"))?;
            if line.contains(text) {
                return Ok(());
            }
        }
    }

    /// Waits for the end and returns the exit code.
    pub(super) fn end(&mut self) -> Result<i32> {
        while Instant::now() < self.deadline {
            self.interrupt.check()?;
            if let Some(status) = self.child.try_wait()? {
                return status.code().context("latlab was killed by a signal");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        bail!("latlab does not end in time")
    }

    /// SIGKILL: no chance to clean up.
    pub(super) fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
