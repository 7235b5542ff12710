//! The probe's short commands: arguments out, checked answers in.

use super::{Board, BoardError, Deployed};
use crate::transport::{Output, Request};
use latprobe::spec::Spec;
use latprobe::status::{Capture, Follow, Status};
use serde::de::DeserializeOwned;
use std::time::Duration;

/// A board under full load may take minutes for anything.
pub(super) const PATIENT: Duration = Duration::from_secs(300);
/// Most that `latprobe facts` may say: some files are 4 MiB each.
const MAX_FACTS: usize = 32 << 20;
/// Most stream bytes in one answer.
pub(super) const CHUNK: u64 = 4 << 20;
/// Room for the JSON line before them.
const MAX_STATUS: usize = 64 << 10;
/// More than the probe keeps of a load's output, which is 1 MiB and a line where it was cut.
const MAX_LOAD_LOG: usize = 2 << 20;

/// A run's directory on the board, and the probe that serves it.
#[derive(Debug, Clone)]
pub struct RunOnBoard {
    /// [`Spec::run_id`].
    pub run_id: String,
    /// Its directory.
    pub dir: String,
    /// Path of the probe.
    pub probe: String,
}

/// A piece of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Where the run stands, and which bytes these are.
    pub follow: Follow,
    /// [`Follow::bytes`] bytes.
    pub bytes: Vec<u8>,
}

impl RunOnBoard {
    /// The run of this id on a board with a probe in place.
    pub fn new(deployed: &Deployed, run_id: &str) -> Self {
        Self {
            run_id: run_id.to_owned(),
            dir: format!("{}/runs/{run_id}", deployed.work_dir),
            probe: deployed.probe.clone(),
        }
    }
}

impl Board {
    /// The board's state as raw text.
    pub async fn facts(&self, deployed: &Deployed) -> Result<Vec<Capture>, BoardError> {
        let argv = [&deployed.probe, "facts", "--workdir", &deployed.work_dir];
        let request = Request::new(argv).timeout(PATIENT).max_output(MAX_FACTS);
        let answer = self.probe("facts", request).await?;
        let mut captures = Vec::new();
        for line in answer.stdout.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
            captures.push(serde_json::from_slice(line).map_err(|_| BoardError::garbage("latprobe facts", line))?);
        }
        match captures.is_empty() {
            true => Err(BoardError::garbage("latprobe facts", b"")),
            false => Ok(captures),
        }
    }

    /// Hands the spec over; the supervisor is up when this returns. A spec that begins with a later segment continues a run.
    pub async fn submit(&self, run: &RunOnBoard, spec: &Spec) -> Result<(), BoardError> {
        let made = self.exec(Request::script("umask 077; mkdir -p \"$1\"", &[&run.dir])).await?;
        if !made.success() {
            return Err(BoardError::Upload { path: run.dir.clone(), complaint: made.complaint() });
        }
        let path = format!("{}/spec.json", run.dir);
        let text =
            serde_json::to_vec_pretty(spec).map_err(|e| BoardError::garbage("spec.json", e.to_string().as_bytes()))?;
        self.upload(&path, &text, "644").await?;
        let mut argv = vec![run.probe.as_str(), "run", &run.dir];
        argv.extend((spec.first_segment > 0).then_some("--continue"));
        self.probe("run", Request::new(argv).timeout(PATIENT)).await?;
        Ok(())
    }

    /// The board's boot id now; empty on kernels without.
    pub async fn boot_id(&self) -> Result<String, BoardError> {
        let answer = self.exec(Request::new(["cat", "/proc/sys/kernel/random/boot_id"]).max_output(1 << 10)).await?;
        let text = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        match answer.success() && text.len() == 36 {
            true => Ok(text),
            false => Err(BoardError::garbage("cat /proc/sys/kernel/random/boot_id", &answer.stdout)),
        }
    }

    /// Where the run stands; [`BoardError::NoSuchRun`] when the board does not know it.
    pub async fn status(&self, run: &RunOnBoard) -> Result<Status, BoardError> {
        self.known(run).await?;
        let request = Request::new([&run.probe, "status", &run.dir]).timeout(PATIENT).max_output(MAX_STATUS);
        let answer = self.probe("status", request).await?;
        parse("status", &answer.stdout)
    }

    /// What the stream holds from byte `from` on.
    pub async fn follow(&self, run: &RunOnBoard, segment: u32, from: u64) -> Result<Chunk, BoardError> {
        let (segment_text, from_text, max) = (segment.to_string(), from.to_string(), CHUNK.to_string());
        let argv = [&run.probe, "follow", &run.dir, "--segment", &segment_text, "--from", &from_text, "--max", &max];
        let room = MAX_STATUS + usize::try_from(CHUNK).unwrap_or(usize::MAX / 2);
        let mut answer = match self.probe("follow", Request::new(argv).timeout(PATIENT).max_output(room)).await {
            Ok(answer) => answer.stdout,
            Err(BoardError::Probe { command, complaint }) => {
                self.known(run).await?;
                return Err(BoardError::Probe { command, complaint });
            }
            Err(error) => return Err(error),
        };
        let garbage = || BoardError::garbage("latprobe follow", &answer);
        let line = answer.iter().position(|b| *b == b'\n').ok_or_else(garbage)?;
        let follow: Follow = parse("follow", &answer[..line])?;
        let bytes = answer.split_off(line + 1);
        let mine = follow.segment == segment && follow.from == from && follow.status.run_id == run.run_id;
        if !mine || follow.bytes != bytes.len() as u64 {
            return Err(BoardError::garbage("latprobe follow", &answer));
        }
        Ok(Chunk { follow, bytes })
    }

    /// Ends the run early; everything is put back when this returns.
    pub async fn stop(&self, run: &RunOnBoard) -> Result<(), BoardError> {
        self.probe("stop", Request::new([&run.probe, "stop", &run.dir]).timeout(PATIENT)).await?;
        Ok(())
    }

    /// Puts back what a supervisor that is gone has left changed.
    pub async fn restore(&self, run: &RunOnBoard) -> Result<(), BoardError> {
        self.probe("restore", Request::new([&run.probe, "restore", &run.dir]).timeout(PATIENT)).await?;
        Ok(())
    }

    /// A load's output, as far as the probe keeps it; `None` where there is none.
    pub async fn load_log(&self, run: &RunOnBoard, load: &str) -> Result<Option<Vec<u8>>, BoardError> {
        self.artefact(run, &format!("loads/{load}.log")).await
    }

    /// What the kernel traced of a hunt; `None` where there is none.
    pub async fn trace(&self, run: &RunOnBoard) -> Result<Option<Vec<u8>>, BoardError> {
        self.artefact(run, "trace.txt").await
    }

    async fn artefact(&self, run: &RunOnBoard, name: &str) -> Result<Option<Vec<u8>>, BoardError> {
        let script = "[ -f \"$1\" ] || exit 3; tail -c \"$2\" \"$1\"";
        let path = format!("{}/{name}", run.dir);
        let request = Request::script(script, &[&path, &MAX_LOAD_LOG.to_string()]);
        let request = request.timeout(PATIENT).max_output(MAX_LOAD_LOG);
        let answer = self.exec(request).await?;
        Ok(answer.success().then_some(answer.stdout))
    }

    /// Removes a run that is over.
    pub async fn remove(&self, run: &RunOnBoard) -> Result<(), BoardError> {
        match self.probe("remove", Request::new([&run.probe, "remove", &run.dir]).timeout(PATIENT)).await {
            Ok(_) => Ok(()),
            Err(BoardError::Probe { command, complaint }) => match self.known(run).await {
                // The answer to an earlier attempt was lost.
                Err(BoardError::NoSuchRun { .. }) => Ok(()),
                _ => Err(BoardError::Probe { command, complaint }),
            },
            Err(error) => Err(error),
        }
    }

    /// Ends and removes whatever there is of a run whose submission failed half-way.
    pub async fn abandon(&self, run: &RunOnBoard) -> Result<(), BoardError> {
        // A supervisor that came up late must not go on in a directory that is gone.
        match self.status(run).await {
            Ok(_) => {
                self.stop(run).await?;
                return self.remove(run).await;
            }
            // Never started: a spec at most.
            Err(BoardError::Probe { .. } | BoardError::NoSuchRun { .. }) => {}
            Err(error) => return Err(error),
        }
        let answer = self.exec(Request::script("rm -rf -- \"$1\"", &[&run.dir]).timeout(PATIENT)).await?;
        match answer.success() {
            true => Ok(()),
            false => Err(BoardError::Upload { path: run.dir.clone(), complaint: answer.complaint() }),
        }
    }

    async fn known(&self, run: &RunOnBoard) -> Result<(), BoardError> {
        let answer =
            self.exec(Request::script("[ -f \"$1/spec.json\" ] || exit 3", &[&run.dir]).timeout(PATIENT)).await?;
        match answer.status {
            0 => Ok(()),
            3 => Err(BoardError::NoSuchRun { run_id: run.run_id.clone() }),
            _ => Err(BoardError::garbage("test -f", &answer.stdout)),
        }
    }

    pub(super) async fn probe(&self, command: &str, request: Request<'_>) -> Result<Output, BoardError> {
        let answer = self.exec(request).await?;
        match answer.success() {
            true => Ok(answer),
            false => Err(BoardError::Probe { command: command.to_owned(), complaint: answer.complaint() }),
        }
    }
}

pub(super) fn parse<T: DeserializeOwned>(command: &str, answer: &[u8]) -> Result<T, BoardError> {
    serde_json::from_slice(answer).map_err(|_| BoardError::garbage(&format!("latprobe {command}"), answer))
}
