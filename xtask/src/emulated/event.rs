//! What happens to a board before and while it measures.

use super::boots::Scenario;
use super::judge;
use super::process::Run;
use crate::demo;
use crate::lab::Powered;
use crate::lab::board::Variant;
use crate::shell::Interrupt;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Longer than the SSH client's patience in these tests, and than several checkpoints.
const DISTURBANCE: Duration = Duration::from_secs(8);

/// What happens to the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    Nothing,
    /// The first two work directories cannot be used: noexec and read-only.
    HostileDisks,
    /// The work directory's disk is full for a while.
    FullDisk,
    /// The network cable is out for longer than the SSH client's patience, and the board's clock is set meanwhile.
    Cut,
    /// latlab gets SIGKILL; `latlab resume` goes on.
    HostKilled,
    /// latlab gets SIGKILL; `latlab stop` ends the run.
    Stopped,
    /// The supervisor gets SIGKILL; its guard puts settings back.
    Orphaned,
    /// The board's reset button.
    Reset,
    /// latlab reboots the board.
    Boots(Scenario),
    /// The board is in a bad state, which is mended for the run; latlab gets SIGKILL in between.
    Doctor,
    /// The published recipe, shortened.
    Recipe,
    /// A load takes all memory, and the kernel kills it.
    OutOfMemory,
}

impl Event {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Nothing => "a run is VALID",
            Self::HostileDisks => "a run passes by a noexec and a read-only disk",
            Self::FullDisk => "a run survives a full disk",
            Self::Cut => "a run survives a pulled network cable and a stepped clock",
            Self::HostKilled => "a run survives SIGKILL of latlab",
            Self::Stopped => "latlab stop ends the run of a killed latlab",
            Self::Orphaned => "settings are put back after SIGKILL of the supervisor",
            Self::Boots(scenario) => scenario.name(),
            Self::Doctor => "a bad state is found, mended for the run, and put back after SIGKILL of latlab",
            Self::Recipe => "the published 12-hour recipe, in 10 s",
            Self::Reset => "a run goes on after a reset of the board",
            Self::OutOfMemory => "a load that takes all memory is named",
        }
    }
}

/// A board under power and the latlab that measures it.
pub(super) struct Bench<'a> {
    pub(super) kernel: Variant,
    pub(super) latlab: &'a Path,
    pub(super) board: &'a Powered,
    pub(super) results: &'a Path,
    pub(super) interrupt: &'a Interrupt,
}

impl Bench<'_> {
    /// Whether the machine under the emulator stalled; an error where the board or latlab did not do what it must.
    pub(super) fn carry_out(&self, event: Event) -> Result<bool> {
        self.clock_is_as_described()?;
        match event {
            Event::Boots(scenario) => return self.boots(scenario),
            Event::Doctor => return self.doctor(),
            Event::Recipe => return self.recipe(),
            _ => {}
        }
        if event == Event::HostileDisks {
            self.board.shell("mount -t tmpfs -o noexec tmpfs /var/lib && mount -t tmpfs -o ro tmpfs /var/tmp")?;
        }
        let mut run = self.begin(event)?;
        if !matches!(event, Event::Nothing | Event::HostileDisks | Event::OutOfMemory) {
            run.wait_for(" s of ")?; // the first progress line: it measures
        }
        let code = self.disturb(event, &mut run)?;
        let result = judge::stored(self.latlab, self.results)?;
        match event {
            Event::Reset => {
                judge::gone_on(code, &result)?;
                return judge::nothing_left(self.board).map(|()| false);
            }
            Event::OutOfMemory => {
                judge::out_of_memory(code, &result)?;
                return judge::nothing_left(self.board).map(|()| false);
            }
            Event::Stopped | Event::Orphaned => {
                judge::interrupted(code, &result)?;
                return judge::nothing_left(self.board).map(|()| false);
            }
            _ => {}
        }
        if judge::host_stalled(&result) {
            return Ok(true);
        }
        judge::whole(code, &result)?;
        judge::nothing_left(self.board).map(|()| false)
    }

    /// A board without a battery begins in 1970, the others know what time it is.
    fn clock_is_as_described(&self) -> Result<()> {
        let year = self.board.shell("date +%Y")?;
        ensure!((year.trim() == "1970") != self.board.has_battery(), "the board is in the year {}", year.trim());
        Ok(())
    }

    fn begin(&self, event: Event) -> Result<Run<'_>> {
        let kernel = if self.kernel == Variant::Rt { "preempt-rt" } else { "standard" };
        let duration = match event {
            Event::Nothing | Event::HostileDisks => "5s",
            Event::FullDisk | Event::Cut | Event::HostKilled | Event::Reset | Event::OutOfMemory => "20s",
            // These have campaigns of their own.
            Event::Boots(_) | Event::Doctor | Event::Recipe => "20s",
            // These are ended; they must not end by themselves before.
            Event::Stopped | Event::Orphaned => "300s",
        };
        // The clock of this machine steps by 10 us, and latprobe refuses finer bins than that.
        let width = if self.board.name() == "emulated-cortex-a9" { "20us" } else { "1us" };
        let mut command = self.command()?;
        command.args(["run", "xtask/emulated.toml", "--target"]).arg(self.board.target_file()?);
        command.args(["--set", &format!("boot.kernel={kernel}"), "--set", &format!("duration={duration}")]);
        command.args(["--set", &format!("measure.histogram.width={width}")]);
        if event == Event::Orphaned {
            command.args(["--set", "apply.rt_runtime=unlimited"]);
        }
        if event == Event::OutOfMemory {
            // Less than all memory of this board, which the kernel would refuse at once, but more than is free.
            command.args(["--set", "loads.eater.dd.block=230M", "--set", "load=eater"]);
        }
        command.arg("--results").arg(self.results);
        Run::start(&mut command, self.interrupt)
    }

    /// Carries the event out, and returns the exit code of the latlab that brought the run home.
    fn disturb(&self, event: Event, run: &mut Run<'_>) -> Result<i32> {
        match event {
            Event::Nothing | Event::OutOfMemory | Event::Boots(_) | Event::Doctor | Event::Recipe => {}
            Event::HostileDisks => {
                run.wait_for("; not /var/lib/latlab: programs cannot be run there, is it mounted noexec?")?;
            }
            Event::FullDisk => {
                // Until nothing more fits; dd complains about that.
                self.board.shell("dd if=/dev/zero of=/var/lib/filler bs=1M 2>/dev/null; dd if=/dev/zero of=/var/lib/filler2 bs=512 2>/dev/null; sync; true")?;
                let free = self.board.shell("df -k /var/lib | tail -n 1")?;
                ensure!(free.split_whitespace().nth(3) == Some("0"), "the disk is not full: {free}");
                std::thread::sleep(DISTURBANCE);
                self.board.shell("rm /var/lib/filler /var/lib/filler2")?;
            }
            Event::Cut => {
                self.board.shell("date -s 2031-05-05 >/dev/null")?;
                self.board.link(false)?;
                std::thread::sleep(DISTURBANCE);
                self.board.link(true)?;
            }
            Event::HostKilled | Event::Stopped => {
                run.kill()?;
                let mut next = self.command()?;
                next.arg(if event == Event::Stopped { "stop" } else { "resume" }).arg("--results").arg(self.results);
                return Run::start(&mut next, self.interrupt)?.end();
            }
            Event::Orphaned => return self.orphan(run),
            Event::Reset => {
                run.wait_for(" cycles, max")?;
                self.board.reset()?;
            }
        }
        run.end()
    }

    /// Kills the supervisor; its guard must put the setting back by itself, before latlab does anything.
    fn orphan(&self, run: &mut Run<'_>) -> Result<i32> {
        const SETTING: &str = "cat /proc/sys/kernel/sched_rt_runtime_us";
        run.wait_for(" cycles, max")?;
        let applied = self.board.shell(SETTING)?;
        ensure!(applied.trim() == "-1", "the setting was not applied: it is {applied}");
        let killed = self.board.shell(
            "for process in /proc/[0-9]*; do\n\
             \x20   [ \"$(cat $process/comm 2>/dev/null)\" = latprobe ] && kill -9 ${process#/proc/} && echo killed\n\
             done; true",
        )?;
        ensure!(!killed.is_empty(), "there is no supervisor");
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.board.shell(SETTING)?.trim() != "950000" {
            ensure!(Instant::now() < deadline, "the guard does not put the setting back");
            std::thread::sleep(Duration::from_millis(200));
        }
        run.end()
    }

    pub(super) fn command(&self) -> Result<Command> {
        demo::latlab_command(self.latlab).context("cannot run latlab")
    }
}
