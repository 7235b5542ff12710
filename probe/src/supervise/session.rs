//! The supervisor's life: prepare, keep everything up while it is measured, put everything back.

mod ending;

use super::{
    deltas::Deltas,
    dir::{RunDir, State, boot_id},
    guard::Guard,
    journal::{Change, Journal},
    loads::{Loads, Told},
    prepare::{self, Measurer},
    privileges,
    settings::{self, Undo},
    sweep, trace,
    watch::Watch,
};
use crate::{
    error::{Doing, Error, Result},
    measure::{Ending, Region, Schedule},
    rt::{clock::now_ns, fd, fd::Signals, process, process::Ended, sched, system},
};
use latprobe::{
    cpulist::CpuList,
    spec::{CpuDmaLatency, Length, Mode, Spec},
    status::Stage,
    stream::{Checkpoint, EndReason, Event, EventKind, Header, Instrument, Phase, PhaseKind, Record, STREAM_FORMAT},
};
use std::{fs::File, os::fd::AsFd, time::Duration};

const SECOND_NS: u64 = 1_000_000_000;
/// Between the word to sample and the first due time: all threads must be waiting by then.
const HEAD_START_NS: u64 = 100_000_000;
/// Between attempts to write what could not be written.
const RETRY_NS: u64 = SECOND_NS;
/// Guards of one run: one that is killed again and again has an enemy.
const MAX_GUARDS: u32 = 10;
/// Between looks at the output of a load that prints too much.
const CHATTY_NS: u64 = 100_000_000;

/// Owns the run in `dir` until it is over and everything is put back. `up` is called once it measures, or is about to.
/// The caller has taken `dir`; `keeper` is its parent.
pub(super) fn run(dir: &RunDir, keeper: i32, up: fn()) -> Result<()> {
    let signals = Signals::block(&[libc::SIGTERM, libc::SIGINT, libc::SIGCHLD]).doing(|| "cannot block signals")?;
    let spec = dir.spec()?;
    let mut session = Session::begin(dir, keeper, spec, signals)?;
    let result = session.prepare(up);
    let (reason, detail) = match &result {
        Ok(()) => session.watch(),
        Err(error) => (EndReason::Failed, error.to_string()),
    };
    session.end(reason, detail);
    result
}

struct Session<'a> {
    dir: &'a RunDir,
    keeper: i32,
    spec: Spec,
    signals: Signals,
    state: State,
    state_stored: bool,
    journal: Journal,
    deadline_ns: u64,
    schedule: Option<Schedule>,
    measuring: bool,
    next_checkpoint_ns: u64,
    measurer: Option<Measurer>,
    bench: Option<(Region, Deltas)>,
    /// The old values of the settings, once they are stored.
    undo: Option<Undo>,
    guard: Option<Guard>,
    guards: u32,
    loads: Option<Loads>,
    watch: Option<Watch>,
    dma_latency: Option<File>,
    lost_blocks: u64,
}

impl<'a> Session<'a> {
    fn begin(dir: &'a RunDir, keeper: i32, spec: Spec, signals: Signals) -> Result<Self> {
        let now = now_ns();
        let state = State {
            run_id: spec.run_id.clone(),
            stage: Stage::Preparing,
            message: None,
            run_boot_id: boot_id(),
            start_mono_ns: now,
            supervisor_pid: i32::try_from(std::process::id()).unwrap_or(0),
        };
        let segment = dir.segments()?.last().map_or(0, |last| last.segment + 1).max(spec.first_segment);
        let path = dir.stream(segment);
        let mut journal = Journal::create(&path, now).doing(|| format!("cannot create {}", path.display()))?;
        dir.sync_spec()?;
        dir.write_state(&state)?;
        let [_, _, kernel_release, ..] = system::uname().doing(|| "uname")?;
        let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        journal.append(&Record::Header(Header {
            format: STREAM_FORMAT,
            run_id: spec.run_id.clone(),
            segment,
            probe_version: env!("CARGO_PKG_VERSION").to_owned(),
            boot_id: state.run_boot_id.clone(),
            kernel_release,
            mono_ns: now,
            realtime_ns: u64::try_from(wall.as_nanos()).unwrap_or(0),
            bin_width_ns: spec.measure.bin_width_ns,
            bins: spec.measure.bins,
            worst: spec.measure.worst,
            loads: spec.loads.iter().map(|load| load.name.clone()).collect(),
        }));
        Ok(Self {
            dir,
            keeper,
            deadline_ns: now.saturating_add(spec.deadline_ns),
            spec,
            signals,
            state,
            state_stored: true,
            journal,
            schedule: None,
            measuring: false,
            next_checkpoint_ns: now,
            measurer: None,
            bench: None,
            undo: None,
            guard: None,
            guards: 0,
            loads: None,
            watch: None,
            dma_latency: None,
            lost_blocks: 0,
        })
    }

    fn prepare(&mut self, up: fn()) -> Result<()> {
        self.clean_up_before()?;
        let (undo, mut dma) = prepare::inspect(&self.spec)?;
        let allowed = sched::affinity().doing(|| "cannot read the CPU affinity")?;
        for problem in privileges::leave_session_groups() {
            self.note("supervisor", problem);
        }
        // A load's child that leaves everything behind, its environment too, is still known as an orphan.
        if let Err(error) = process::adopt_orphans() {
            self.note("supervisor", format!("children of loads are known by their environment only: {error}"));
        }
        // Before the forks, so that both children are spared too.
        if let Err(error) = privileges::spare() {
            self.note("supervisor", format!("not spared by the out-of-memory killer: {error}"));
        }
        let region = Region::new(&self.spec).doing(|| "cannot share memory for the counters")?;
        self.measurer = Some(Measurer::fork(&self.spec, region)?);
        undo.store(self.dir)?;
        self.guard = Some(Guard::start(self.dir, &undo, self.keeper).doing(|| "cannot fork the guard")?);
        // After the forks: the children need no copy of these.
        self.bench = Some((region, Deltas::new(region)));
        let entries = self.undo.insert(undo).entries.clone();
        for entry in entries {
            match entry.apply() {
                Ok(now) => {
                    let detail = format!("was `{}`, is `{now}`", entry.old);
                    self.event(EventKind::SettingApplied, &entry.path, detail);
                }
                Err(error) if entry.path.ends_with("/pm_qos_resume_latency_us") => {
                    dma = Some(format!("refused: {error}"))
                }
                Err(error) if entry.optional => self.note("settings", format!("left as it was: {error}")),
                Err(error) => return Err(error),
            }
        }
        for problem in privileges::take(&self.spec, &allowed) {
            self.note("supervisor", problem);
        }
        let report = self.measurer()?.set_up()?;
        let accepted = prepare::judge(&self.spec, &report)?;
        if self.spec.measure.cpu_dma_latency == CpuDmaLatency::Hold {
            let (held, text) = prepare::hold_dma_latency();
            (self.dma_latency, dma) = (held, Some(text));
        }
        let selftest = report.selftest.ok_or_else(|| Error::Refused(vec!["no self-test of the clock".into()]))?;
        self.journal.append(&Record::Instrument(Instrument {
            threads: report.threads,
            selftest,
            memory_locked: report.memory_locked,
            cpu_dma_latency: dma.unwrap_or_else(|| "none".to_owned()),
            supervisor_cpus: sched::affinity().unwrap_or_default().to_string(),
            accepted,
        }));
        self.store();
        up();
        self.start(region, &allowed)
    }

    /// What an earlier supervisor of this directory left behind: its changed settings must not pass for old values.
    fn clean_up_before(&mut self) -> Result<()> {
        let mut left: Vec<String> = sweep::kill_marked(self.dir.path(), &[self.keeper], Vec::new())
            .iter()
            .map(|pid| format!("process {pid}"))
            .collect();
        let answer = settings::restore(self.dir, None)?;
        for (path, value) in answer.restored {
            self.event(EventKind::SettingRestored, &path, format!("left by an earlier segment, is `{value}` again"));
        }
        left.extend(answer.failed.into_iter().map(|(path, reason)| format!("{path} {reason}")));
        if left.is_empty() { Ok(()) } else { Err(Error::NotRestored(left)) }
    }

    fn measurer(&mut self) -> Result<&mut Measurer> {
        self.measurer.as_mut().ok_or_else(|| Error::Refused(vec!["the measuring process is gone".into()]))
    }

    /// Loads first, then the threads.
    fn start(&mut self, region: Region, allowed: &CpuList) -> Result<()> {
        let now = now_ns();
        let mut loads = Loads::new(&self.spec, self.dir, allowed, now)?;
        let told = loads.start_due(self.dir.path(), now);
        self.loads = Some(loads);
        self.tell(told);
        let measured: CpuList = self.spec.measure.threads.iter().filter_map(|thread| thread.cpu).collect();
        self.watch = Some(Watch::new(measured));
        let start_ns = now_ns() + HEAD_START_NS;
        let from_ns = start_ns + self.spec.warmup_ns;
        let (until_ns, cycles) = match self.spec.length {
            Length::DurationNs(ns) => (from_ns + ns, u64::MAX),
            Length::Cycles(cycles) => (u64::MAX, cycles),
        };
        if let Mode::Hunt(_) = self.spec.measure.mode {
            trace::clear().doing(|| "cannot empty the kernel's trace")?;
        }
        let schedule = Schedule { start_ns, from_ns, until_ns, cycles };
        region.set_schedule(schedule);
        self.schedule = Some(schedule);
        let threads = self.spec.measure.threads.len();
        self.measurer()?.go(threads)?;
        if self.spec.warmup_ns > 0 {
            self.phase(PhaseKind::WarmUp, start_ns);
            self.stage(Stage::WarmUp);
        } else {
            self.begin_measuring(from_ns);
        }
        self.store();
        Ok(())
    }

    fn begin_measuring_if_due(&mut self, now: u64) {
        let Some(Schedule { from_ns, .. }) = self.schedule else { return };
        if !self.measuring && now >= from_ns {
            self.checkpoint();
            self.begin_measuring(from_ns);
            self.next_checkpoint_ns = from_ns + self.spec.checkpoint_ns;
        }
    }

    fn begin_measuring(&mut self, from_ns: u64) {
        self.measuring = true;
        self.phase(PhaseKind::Measuring, from_ns);
        self.stage(Stage::Measuring);
    }

    /// Until the measuring is over: why it is.
    fn watch(&mut self) -> (EndReason, String) {
        let every_ns = self.spec.checkpoint_ns;
        self.next_checkpoint_ns = now_ns() + every_ns;
        loop {
            let now = now_ns();
            if now >= self.deadline_ns {
                return (EndReason::Deadline, "the deadline came first".to_owned());
            }
            self.begin_measuring_if_due(now);
            if now >= self.next_checkpoint_ns {
                if self.dir.is_removed() {
                    return (EndReason::Failed, "somebody removed the directory of the run".to_owned());
                }
                self.checkpoint();
                self.next_checkpoint_ns += (now - self.next_checkpoint_ns) / every_ns * every_ns + every_ns;
            }
            let told = self.loads.as_mut().map(|loads| loads.start_due(self.dir.path(), now)).unwrap_or_default();
            self.tell(told);
            self.store();
            self.journal.sync_if_due(now_ns(), self.spec.sync_ns);
            let mut wake_ns = self.next_checkpoint_ns.min(self.deadline_ns);
            if !self.measuring {
                wake_ns = wake_ns.min(self.schedule.map_or(0, |schedule| schedule.from_ns));
            }
            if let Some(ending) = self.wait(wake_ns) {
                return ending;
            }
        }
    }

    /// Waits for a signal, output of a load, or the time; why measuring is over, if it is.
    fn wait(&mut self, mut wake_ns: u64) -> Option<(EndReason, String)> {
        let now = now_ns();
        let loads = self.loads.as_ref()?;
        wake_ns = wake_ns.min(loads.next_start_ns().unwrap_or(u64::MAX));
        if !self.journal.is_written() || !self.state_stored {
            wake_ns = wake_ns.min(now + RETRY_NS);
        }
        if loads.has_chatty() {
            wake_ns = wake_ns.min(now + CHATTY_NS);
        }
        let mut fds = vec![self.signals.as_fd()];
        fds.extend(loads.outputs());
        if let Err(error) = fd::poll(&fds, Duration::from_nanos(wake_ns.saturating_sub(now))) {
            return Some((EndReason::Failed, format!("poll: {error}")));
        }
        // Before the loads that have ended are looked at: their time up to here belongs to the phase it was in.
        self.begin_measuring_if_due(now_ns());
        if let Some(loads) = &mut self.loads {
            loads.drain_outputs();
        }
        let stopped = self.stop_asked().then(|| (EndReason::Stopped, "stopped on request".to_owned()));
        self.reap().or(stopped)
    }

    /// Whether a signal to end came since the last look.
    fn stop_asked(&self) -> bool {
        self.signals.take().into_iter().any(|signal| i32::try_from(signal).is_ok_and(|signal| signal != libc::SIGCHLD))
    }

    /// Notes every child that has ended; why measuring is over, if the measuring process is among them.
    fn reap(&mut self) -> Option<(EndReason, String)> {
        let mut ending = None;
        while let Some((pid, how)) = process::reap() {
            if self.measurer.as_ref().is_some_and(|measurer| measurer.pid == pid) {
                self.measurer = None;
                ending = Some(self.measurer_ended(how));
            } else if self.guard.as_ref().is_some_and(|guard| guard.pid == pid) {
                self.replace_guard(how);
            } else if let Some(loads) = &mut self.loads {
                let told = loads.ended(pid, how, now_ns());
                self.tell(told);
            }
        }
        ending
    }

    /// A guard that was killed is replaced, but not without end.
    fn replace_guard(&mut self, how: Ended) {
        self.guards += 1;
        let undo = self.undo.as_ref().filter(|_| self.guards < MAX_GUARDS);
        let guard = undo.and_then(|undo| Guard::start(self.dir, undo, self.keeper).ok());
        let now = if guard.is_some() { "another took its place" } else { "there is none now" };
        self.guard = guard;
        self.note("supervisor", format!("the guard ended: {how}; {now}"));
    }

    fn measurer_ended(&mut self, how: Ended) -> (EndReason, String) {
        let Some((region, _)) = &self.bench else { return (EndReason::Failed, how.to_string()) };
        let endings: Vec<_> = region.slots().map(|slot| slot.finished().map(|(ending, ..)| ending)).collect();
        if endings.iter().all(|ending| *ending == Some(Ending::Reached)) {
            return (EndReason::Completed, String::new());
        }
        if let Some(thread) = endings.iter().position(|ending| *ending == Some(Ending::Hit)) {
            // The others stopped because of it.
            self.note("hunt", format!("thread {thread} met what was hunted; the trace ends there"));
            return (EndReason::Completed, String::new());
        }
        let sleepless = endings.iter().position(|ending| *ending == Some(Ending::Sleepless));
        let detail = match sleepless {
            Some(thread) => {
                format!("thread {thread} stopped itself: it did not sleep any more and would have hung its CPU")
            }
            None => format!("the measuring process ended before its time: {how}"),
        };
        self.event(EventKind::MeasurerGone, "measure", detail.clone());
        (EndReason::Failed, detail)
    }

    /// Writes what is new. Late samples of the warm-up come in a record of their own.
    fn checkpoint(&mut self) {
        // The counts stay where they are until the disk takes them.
        if self.journal.is_full() {
            return;
        }
        let Some((_, deltas)) = &mut self.bench else { return };
        let now = now_ns();
        let warm_up = deltas.warm_up();
        let mut record = Checkpoint { warm_up: !self.measuring, mono_ns: now, ..Default::default() };
        if self.measuring {
            record.threads = deltas.measuring();
            if !warm_up.is_empty() {
                let late = Checkpoint { warm_up: true, mono_ns: now, threads: warm_up, ..Default::default() };
                self.journal.append(&late.into());
            }
        } else {
            record.threads = warm_up;
        }
        let lost = deltas.lost_blocks();
        // However late this comes: a load's time counts in the phase it was in.
        let phase_ends_ns = self.schedule.map_or(now, |s| if self.measuring { s.until_ns } else { s.from_ns });
        record.loads = self.loads.as_mut().map(|loads| loads.take_deltas(now.min(phase_ends_ns))).unwrap_or_default();
        record.system = self.watch.as_mut().map(Watch::take).unwrap_or_default();
        self.journal.append(&record.into());
        if lost > self.lost_blocks {
            let detail = format!("{} closed blocks were lost: the supervisor was late", lost - self.lost_blocks);
            self.event(EventKind::HandoverLost, "measure", detail);
            self.lost_blocks = lost;
        }
    }

    /// Writes the stream and the state as far as the disk takes them.
    fn store(&mut self) {
        match self.journal.flush() {
            Change::None => {}
            Change::Failed(reason) => self.note("stream", format!("cannot be written: {reason}; kept in memory")),
            Change::Recovered => self.note("stream", "written again, nothing is lost".to_owned()),
        }
        if !self.state_stored {
            self.state_stored = self.dir.write_state(&self.state).is_ok();
        }
    }

    fn stage(&mut self, stage: Stage) {
        self.state.stage = stage;
        self.state_stored = false;
    }

    fn phase(&mut self, kind: PhaseKind, mono_ns: u64) {
        self.journal.append(&Record::Phase(Phase { kind, mono_ns }));
    }

    fn tell(&mut self, told: impl IntoIterator<Item = Told>) {
        for Told { kind, load, detail } in told {
            self.event(kind, &load, detail);
        }
    }

    fn note(&mut self, subject: &str, detail: String) {
        self.event(EventKind::Note, subject, detail);
    }

    fn event(&mut self, kind: EventKind, subject: &str, detail: String) {
        let subject = subject.to_owned();
        self.journal.append(&Record::Event(Event { mono_ns: now_ns(), kind, subject, detail }));
    }
}
