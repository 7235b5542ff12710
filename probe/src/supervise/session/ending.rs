//! Everything stopped, put back and written, in this order.

use super::{RETRY_NS, SECOND_NS, Session};
use crate::{
    measure::Ending,
    rt::{clock::now_ns, fd, process},
    supervise::{settings, trace},
};
use latprobe::{
    spec::Mode,
    status::Stage,
    stream::{End, EndReason, EventKind, PhaseKind, Record},
};
use std::{io::Write, os::fd::AsFd, time::Duration};

/// Longest wait for the last wake-up of a sampling thread, in ns.
const LONGEST_NS: u64 = 10 * SECOND_NS;

impl Session<'_> {
    pub(super) fn end(mut self, reason: EndReason, detail: String) {
        let mut words: Vec<String> = Some(detail).into_iter().filter(|detail| !detail.is_empty()).collect();
        self.stage(Stage::Ending);
        self.store();
        self.stop_measuring();
        self.close_measuring(reason);
        self.store();
        self.keep_trace();
        self.stop_loads();
        self.dma_latency = None;
        let not_restored = self.restore();
        let restored = not_restored.is_empty();
        words.extend(not_restored);
        let threads = self.bench.as_ref().map(|(_, deltas)| deltas.totals()).unwrap_or_default();
        let detail = words.join("; ");
        self.journal.append(&Record::End(End { mono_ns: now_ns(), reason, detail, restored, threads }));
        self.store_patiently();
        words.extend(self.journal.trouble().map(|trouble| format!("the stream is incomplete: {trouble}")));
        self.state.stage = match reason {
            _ if !restored || !self.journal.is_written() => Stage::Failed,
            EndReason::Completed => Stage::Done,
            EndReason::Stopped => Stage::Stopped,
            EndReason::Deadline | EndReason::Failed => Stage::Failed,
        };
        self.state.message = (!words.is_empty()).then(|| words.join("; "));
        self.state_stored = false;
        self.store_patiently();
        if self.dir.is_removed() {
            let said = self.state.message.as_deref().unwrap_or("everything was put back");
            // The log is gone with the directory, unless somebody has it open.
            let _ = writeln!(
                std::io::stderr(),
                "{} was removed, so the run ended unsaved: {said}",
                self.dir.path().display()
            );
        }
        if let Some(guard) = self.guard.take() {
            guard.dismiss();
        }
    }

    /// The last counts, and when the measuring ended.
    fn close_measuring(&mut self, reason: EndReason) {
        let (Some(schedule), Some((region, _))) = (self.schedule, &self.bench) else { return };
        // The first due time that no thread sampled: cycles and missed periods fill the time up to there exactly.
        let last_ns = region.slots().filter_map(|slot| slot.finished()).map(|(_, _, at_ns)| at_ns).max();
        let all_reached = region.slots().all(|slot| matches!(slot.finished(), Some((Ending::Reached, ..))));
        let in_time = reason == EndReason::Completed && all_reached && schedule.until_ns != u64::MAX;
        let ended_ns = if in_time { schedule.until_ns } else { last_ns.unwrap_or_else(now_ns) };
        self.checkpoint();
        self.phase(PhaseKind::Ended, ended_ns);
    }

    /// Asks the threads to end, waits as long as their longest sleep but no longer than a person would, then kills.
    fn stop_measuring(&mut self) {
        let Some(measurer) = self.measurer.take() else { return };
        let longest_ns = self.spec.measure.threads.iter().map(|thread| thread.interval_ns).max().unwrap_or(0);
        let asked = self.schedule.is_some();
        if let (true, Some((region, _))) = (asked, &self.bench) {
            region.ask_stop();
        }
        let give_up_ns = now_ns() + if asked { (2 * longest_ns).min(LONGEST_NS) + 2 * SECOND_NS } else { 0 };
        while now_ns() < give_up_ns {
            let left = Duration::from_nanos(give_up_ns.saturating_sub(now_ns()));
            // A failing poll costs time, not samples.
            let _ = fd::poll(&[self.signals.as_fd()], left);
            self.signals.take();
            while let Some((pid, how)) = process::reap() {
                if pid == measurer.pid {
                    return;
                }
                let told = self.loads.as_mut().and_then(|loads| loads.ended(pid, how, now_ns()));
                self.tell(told);
            }
        }
        let _ = process::kill(measurer.pid, libc::SIGKILL);
        let _ = process::wait_for(measurer.pid);
        match (asked, longest_ns > LONGEST_NS / 2) {
            (true, true) => {
                self.note("measure", "threads were ended in their long sleep; every count is kept".to_owned())
            }
            (true, false) => {
                self.event(EventKind::MeasurerGone, "measure", "did not end when asked and was killed".to_owned());
            }
            (false, _) => {}
        }
    }

    /// What the kernel traced of a hunt, hit or not: before tracing is put back.
    fn keep_trace(&mut self) {
        if let (Mode::Hunt(_), Some(_)) = (&self.spec.measure.mode, self.schedule) {
            let kept = trace::keep(self.dir)
                .map_or_else(|error| error.to_string(), |()| format!("its end is kept in {}", trace::FILE));
            self.note("trace", kept);
        }
    }

    fn stop_loads(&mut self) {
        let Some(mut loads) = self.loads.take() else { return };
        let spared: Vec<i32> = self.guard.iter().map(|guard| guard.pid).chain([self.keeper]).collect();
        let stuck = loads.stop(self.dir.path(), &spared);
        if !stuck.is_empty() {
            self.note("loads", format!("processes {stuck:?} did not end when killed"));
        }
    }

    /// What could not be put back, in words.
    fn restore(&mut self) -> Vec<String> {
        let answer = match settings::restore(self.dir, self.undo.as_ref()) {
            Ok(answer) => answer,
            Err(error) => {
                self.event(EventKind::RestoreFailed, "undo.json", error.to_string());
                return vec![format!("settings not put back: {error}")];
            }
        };
        for (path, value) in answer.restored {
            self.event(EventKind::SettingRestored, &path, format!("is `{value}` again"));
        }
        let mut words = Vec::new();
        for (path, reason) in answer.failed {
            words.push(format!("{path} not put back: {reason}"));
            self.event(EventKind::RestoreFailed, &path, reason);
        }
        words
    }

    /// Writes until it is written, the deadline comes, or someone asks once more to stop. In a removed directory
    /// waiting does not help.
    fn store_patiently(&mut self) {
        loop {
            self.store();
            self.journal.sync();
            let written = self.journal.is_written() && self.state_stored;
            if written || self.dir.is_removed() || self.stop_asked() || now_ns() >= self.deadline_ns {
                return;
            }
            // A failing poll costs a moment.
            let _ = fd::poll(&[self.signals.as_fd()], Duration::from_nanos(RETRY_NS));
        }
    }
}
