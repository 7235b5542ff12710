//! The lock on the board: one execution at a time measures on it.
//!
//! It lies in the work directory. Another host may have chosen another one
//! (its target file, a full disk), so every candidate is looked at first.

use super::probe::{PATIENT, parse};
use super::{Board, BoardError, Deployed, RunOnBoard};
use crate::transport::Request;
use latprobe::status::{Lock, Status};

/// Exit code of `latprobe lock` when somebody else holds the board.
const HELD: i32 = 3;

/// Uptime, then the lock of every directory that has one.
const SHOW: &str = r#"
p=$1
shift
cat /proc/uptime
for d; do
  [ -f "$d/lock.json" ] || continue
  "$p" lock show "$d" || exit 1
done
"#;

/// Every run directory, each followed by its status where it was ever started.
const RUNS: &str = r#"
p=$1
shift
for d; do
  for r in "$d"/runs/*; do
    [ -d "$r" ] || continue
    echo "$r"
    "$p" status "$r" 2>/dev/null || echo null
  done
done
"#;

/// Who has a board, and what is there of their runs.
#[derive(Debug, Clone)]
pub struct Occupancy {
    /// Locks, with the time they are held in s.
    pub locks: Vec<(Lock, u64)>,
    /// Run directories; without a status: never started.
    pub runs: Vec<(RunOnBoard, Option<Status>)>,
}

impl Board {
    /// Who has the board, and what is there of their runs.
    pub async fn occupancy(&self, deployed: &Deployed) -> Result<Occupancy, BoardError> {
        let (uptime_s, locks) = self.locks(deployed).await?;
        let answer = self.probe("status", Request::script(RUNS, &parameters(deployed)).timeout(PATIENT)).await?;
        let text = String::from_utf8_lossy(&answer.stdout).into_owned();
        let mut lines = text.lines();
        let mut runs = Vec::new();
        while let (Some(dir), Some(status)) = (lines.next(), lines.next()) {
            let run_id = dir.rsplit('/').next().unwrap_or_default().to_owned();
            let run = RunOnBoard { run_id, dir: dir.to_owned(), probe: deployed.probe.clone() };
            runs.push((run, parse("status", status.as_bytes())?));
        }
        let held_s = |lock: Lock| {
            let held_s = held_s(&lock, uptime_s);
            (lock, held_s)
        };
        Ok(Occupancy { locks: locks.into_iter().map(held_s).collect(), runs })
    }

    /// Takes the board for an execution, or confirms that it has it.
    pub async fn lock(&self, deployed: &Deployed, holder: &str, execution: &str) -> Result<(), BoardError> {
        let (uptime_s, locks) = self.locks(deployed).await?;
        if let Some(other) = locks.into_iter().find(|lock| lock.execution != execution) {
            return Err(busy(other, uptime_s));
        }
        let argv = ["lock", "take", &deployed.work_dir, "--holder", holder, "--execution", execution];
        let answer = self.exec(Request::new([deployed.probe.as_str()].iter().chain(&argv).copied())).await?;
        match answer.status {
            0 => Ok(()),
            HELD => Err(busy(parse("lock", &answer.stdout)?, uptime_s)),
            _ => Err(BoardError::Probe { command: "lock".to_owned(), complaint: answer.complaint() }),
        }
    }

    /// Gives the board back.
    pub async fn unlock(&self, deployed: &Deployed, holder: &str, execution: &str) -> Result<(), BoardError> {
        let argv = ["lock", "release", &deployed.work_dir, "--holder", holder, "--execution", execution];
        self.probe("lock", Request::new([deployed.probe.as_str()].iter().chain(&argv).copied())).await?;
        Ok(())
    }

    /// The board's uptime in s, and who holds it.
    async fn locks(&self, deployed: &Deployed) -> Result<(f64, Vec<Lock>), BoardError> {
        let answer = self.probe("lock", Request::script(SHOW, &parameters(deployed))).await?;
        let text = String::from_utf8_lossy(&answer.stdout).into_owned();
        let mut lines = text.lines();
        let uptime = lines.next().and_then(|line| line.split_whitespace().next()?.parse().ok());
        let uptime = uptime.ok_or_else(|| BoardError::garbage("cat /proc/uptime", &answer.stdout))?;
        let mut locks = Vec::new();
        for line in lines.filter(|line| !line.trim().is_empty()) {
            locks.extend(parse::<Option<Lock>>("lock", line.as_bytes())?);
        }
        Ok((uptime, locks))
    }
}

fn parameters(deployed: &Deployed) -> Vec<&str> {
    [&deployed.probe].into_iter().chain(&deployed.candidates).map(String::as_str).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole seconds for people, bounded below by 0"
)]
fn held_s(lock: &Lock, uptime_s: f64) -> u64 {
    (uptime_s - lock.since_mono_ns as f64 / 1e9).max(0.0) as u64
}

fn busy(lock: Lock, uptime_s: f64) -> BoardError {
    let held_s = held_s(&lock, uptime_s);
    BoardError::Busy { lock: Box::new(lock), held_s }
}
