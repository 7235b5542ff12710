//! The wanted reboots of one board through an execution: into what a cell asks for, out of what hangs, and back at the end.

mod back;
mod recover;
mod task;

use super::{Context, Log};
use crate::board::boot::{BootError, Restart, WhyNot};
use crate::board::{Board, BoardError, Fault};
use crate::progress::{Event, Stage};
use crate::store::{BootRecord, Booted, Chosen, PlannedRun, StoreError};
use latlab_core::boot::{Asked, Fallback, fallback, lacks, runs_for_certain};
use latlab_core::campaign::model::{Boot, Cell};
use latlab_core::facts::Facts;
use latlab_core::run_state::Step;
use latlab_core::target::{BootMethod, Target};
use std::time::{Duration, Instant};

/// How long a board that was just there may be silent.
const PATIENCE: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_secs(2);

/// What became of a wanted boot.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    /// It runs, as far as is known before everything is verified.
    Ready,
    /// It cannot be booted, and nothing was rebooted; or something else came up.
    Refused(String),
    /// It did not come up; the board is usable again.
    NotBooted(String),
    /// It did not come up, and neither did anything else.
    Unusable(String),
}

impl Readiness {
    /// Why not, if not.
    pub(super) fn ready(self) -> Result<(), String> {
        match self {
            Self::Ready => Ok(()),
            Self::Refused(reason) | Self::NotBooted(reason) | Self::Unusable(reason) => Err(reason),
        }
    }
}

/// A board's boot through an execution.
#[derive(Debug)]
pub(super) struct Boots<'a> {
    context: &'a Context,
    board: &'a Board,
    record: Option<BootRecord>,
    /// The board's choice may not be its own.
    changed: bool,
}

impl<'a> Boots<'a> {
    /// `changed`: an earlier process of this execution changed the board's choice, by the journal.
    pub(super) fn new(context: &'a Context, board: &'a Board, changed: bool) -> Result<Self, StoreError> {
        let record = context.writer.directory().boot_record(&board.target().name)?;
        Ok(Self { context, board, record, changed })
    }

    fn target(&self) -> &'a Target {
        self.board.target()
    }

    fn show(&self, text: String) {
        self.context.show(Event::Board { target: self.target().name.clone(), text });
    }

    /// Reaches a board that a process before this one may have left in the midst of a reboot.
    pub(super) async fn connect(&self) -> Result<(), BoardError> {
        match self.board.connect().await {
            Err(error) if self.changed && error.fault() == Fault::Link => {
                self.show(format!("no answer, it may be in a reboot of an earlier latlab: {error}"));
                match self.board.wait_for_boot("").await {
                    Ok(_) => self.board.connect().await,
                    Err(why) => match self.cycle(&why).await {
                        Ok(_) => self.board.connect().await,
                        Err(_) => Err(error),
                    },
                }
            }
            other => other,
        }
    }

    /// Sees to it that the board runs what the cell asks for.
    pub(super) async fn ensure(&mut self, run: &PlannedRun, cell: &Cell) -> Result<Readiness, StoreError> {
        if self.target().boot_method == BootMethod::AsBooted {
            return Ok(Readiness::Ready);
        }
        let boot = &cell.settings.boot;
        let due = match self.is_due(boot).await {
            Ok(due) => due,
            // What the board itself says about it comes up when the run is prepared.
            Err(error) if error.is_link() => return Ok(Readiness::Ready),
            Err(error) => return Ok(Readiness::Refused(error.to_string())),
        };
        let (own, old) = match due {
            Due::No => return Ok(Readiness::Ready),
            Due::Never(reason) => return Ok(Readiness::Refused(reason)),
            Due::Reboot { own, old } => (own, old),
        };
        if self.record.is_none() {
            self.store(BootRecord::new(own))?;
        }
        let (target, name) = (self.target().name.clone(), run.name.clone());
        self.context.show(Event::Stage { target, run: name, stage: Stage::Booting });
        let log = Log { context: self.context, target: &run.target, run: Some(&run.name) };
        log.intent(Step::Boot)?;
        self.changed = true;
        let readiness = self.boot(boot, &old).await?;
        match &readiness {
            Readiness::Ready => log.done(Step::Boot, None)?,
            Readiness::Refused(reason) | Readiness::NotBooted(reason) | Readiness::Unusable(reason) => {
                log.failed(Step::Boot, reason)?;
            }
        }
        Ok(readiness)
    }

    /// Whether a reboot is needed. Only what is certain saves one.
    async fn is_due(&self, boot: &Boot) -> Result<Due, BootError> {
        let now = self.record.as_ref().and_then(|record| record.now.as_ref());
        let old = patiently!(self.board, boot_id(self.board))?;
        if let Some(now) = now.filter(|now| now.boot == *boot) {
            let same = now.boot_id == old;
            // After a reset in between, a choice that lasts has come up again; what it is gets verified.
            if same || fallback(self.target()) != Fallback::OneShot {
                return Ok(Due::No);
            }
        }
        let facts = patiently!(self.board, facts(self.board))?;
        if let Some(reason) = isolates_all(boot, &facts) {
            return Ok(Due::Never(reason));
        }
        if self.record.is_some() {
            return Ok(Due::Reboot { own: None, old });
        }
        if patiently!(self.board, self.board.boot_choice().is_changed())? {
            // An execution that was never ended left its choice: what runs is not the board's own.
            self.show("an earlier execution left its boot choice there; it is put back at the end".to_owned());
            return Ok(Due::Reboot { own: None, old });
        }
        let nothing = *boot == Boot::default();
        match nothing || runs_for_certain(boot, self.target(), &facts) {
            true => Ok(Due::No),
            false => Ok(Due::Reboot { own: Some(Booted::of(&facts)), old }),
        }
    }

    async fn boot(&mut self, boot: &Boot, old: &str) -> Result<Readiness, StoreError> {
        let board = self.board;
        if let Some(lack) = lacks(boot, self.target()) {
            return Ok(Readiness::Refused(format!("{}; {}; nothing was rebooted", lack.what, lack.help)));
        }
        let asked = Asked::new(boot, self.target());
        let own = self.record.as_ref().and_then(|record| record.own.clone());
        let base = own.and_then(|own| own.cmdline).unwrap_or_default().join(" ");
        let choice = board.boot_choice();
        let chosen = match *boot == Boot::default() {
            true => patiently!(board, choice.put_back()).map(|_| Restart::Reboot),
            false => patiently!(board, choice.choose(&asked, &base)),
        };
        let how = match chosen {
            Ok(how) => how,
            Err(error) => return Ok(Readiness::Refused(error.to_string())),
        };
        self.show(format!("rebooting into {}", words(boot)));
        let begin = Instant::now();
        match self.restart(how, boot.kernel.as_deref(), old).await {
            Ok(Ok(boot_id)) => {
                self.show(format!("up again after {} s", begin.elapsed().as_secs()));
                self.now(Some(Chosen { boot: boot.clone(), boot_id }))?;
                Ok(Readiness::Ready)
            }
            Ok(Err(why)) => {
                self.now(None)?;
                self.recover(why).await
            }
            Err(error) => Ok(Readiness::Refused(error.to_string())),
        }
    }

    /// Restarts and waits for the new boot; its id.
    async fn restart(
        &self,
        how: Restart,
        kernel: Option<&str>,
        old: &str,
    ) -> Result<Result<String, WhyNot>, BootError> {
        match self.board.restart(how).await {
            // The connection may break before the answer is here.
            Err(error) if !error.is_link() => return Err(error),
            _ => {}
        }
        self.board.pin(kernel);
        Ok(self.board.wait_for_boot(old).await)
    }

    fn store(&mut self, record: BootRecord) -> Result<(), StoreError> {
        self.context.writer.write_boot_record(&self.target().name, &record)?;
        self.record = Some(record);
        Ok(())
    }

    fn now(&mut self, now: Option<Chosen>) -> Result<(), StoreError> {
        let mut record = self.record.take().unwrap_or_else(|| BootRecord::new(None));
        record.now = now;
        self.store(record)
    }
}

/// Whether a reboot is needed.
enum Due {
    No,
    /// `own`: what runs now, where it is the board's own choice; `old`: its boot id.
    Reboot {
        own: Option<Booted>,
        old: String,
    },
    /// It would leave no CPU for anything else.
    Never(String),
}

fn isolates_all(boot: &Boot, facts: &Facts) -> Option<String> {
    let asked = boot.isolcpus.as_ref()?;
    let online = facts.online.as_ref()?;
    let nothing_left = !asked.is_empty() && online.without(asked).is_empty();
    nothing_left.then(|| {
        format!("isolcpus={asked} would isolate every CPU of the board (online: {online}); nothing was rebooted")
    })
}

/// What is asked for, in words.
fn words(boot: &Boot) -> String {
    let isolcpus = boot.isolcpus.as_ref().map(|list| match list.is_empty() {
        true => "no isolcpus".to_owned(),
        false => format!("isolcpus={list}"),
    });
    let words: Vec<String> = boot.kernel.iter().cloned().chain(isolcpus).chain(boot.append.iter().cloned()).collect();
    if words.is_empty() { "what the board boots by itself".to_owned() } else { words.join(", ") }
}

/// Does it again over a new connection while only the link is at fault. (A closure would have to promise `Send` for its future.)
macro_rules! patiently {
    ($board:expr, $work:expr) => {{
        let until = std::time::Instant::now() + $crate::runner::boots::PATIENCE;
        loop {
            match $work.await {
                Err(error) if $crate::runner::boots::again($board, &error, until).await => {}
                other => break other,
            }
        }
    }};
}
use patiently;

/// Whether it is worth another try, after a pause and over a new connection.
async fn again(board: &Board, error: &BootError, until: Instant) -> bool {
    if !error.is_link() || Instant::now() > until {
        return false;
    }
    tracing::info!(target = board.target().name, %error, "no answer");
    tokio::time::sleep(PAUSE).await;
    let _ = board.reconnect().await;
    true
}

async fn boot_id(board: &Board) -> Result<String, BootError> {
    Ok(board.boot_id().await?)
}

/// What runs now.
async fn facts(board: &Board) -> Result<Facts, BootError> {
    let deployed = board.deploy().await?;
    Ok(Facts::parse(&board.facts(&deployed).await?))
}
