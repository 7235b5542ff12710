//! Ctrl-C and its relatives as wishes.
//!
//! | | on a terminal | elsewhere |
//! | --- | --- | --- |
//! | first SIGINT | asks: stop, or leave measuring | stop |
//! | first SIGTERM | stop | stop |
//! | SIGHUP | leave measuring | leave measuring |
//! | any second one | leave measuring, at once | leave measuring, at once |

use latlab_core::run_state::Wish;
use std::io::{BufRead, IsTerminal, Write};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// Watches the signals of this process.
#[derive(Debug)]
pub struct Wishes {
    sender: watch::Sender<Wish>,
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Wishes {
    /// With `first` as the wish to begin with; from here on signals no longer end the process. Needs a tokio runtime.
    pub fn new(first: Wish) -> std::io::Result<(Self, watch::Receiver<Wish>)> {
        let (sender, receiver) = watch::channel(first);
        let wishes = Self {
            sender,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        };
        Ok((wishes, receiver))
    }

    /// Turns signals into wishes until the process ends. `ask` puts the question where bars are out of its way.
    pub async fn watch(mut self, ask: impl Fn(&dyn Fn())) {
        let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        let mut asked = None;
        loop {
            let heard = tokio::select! {
                _ = self.interrupt.recv() => Heard::Interrupt,
                _ = self.terminate.recv() => Heard::Terminate,
                _ = self.hangup.recv() => Heard::Hangup,
                wish = answered(&mut asked) => Heard::Answer(wish),
            };
            let second = asked.is_some() || *self.sender.borrow() != Wish::Finish;
            let wish = match heard {
                Heard::Answer(wish) => wish,
                Heard::Hangup => Wish::Leave,
                Heard::Interrupt | Heard::Terminate if second => Wish::Leave,
                Heard::Interrupt if terminal => {
                    asked = Some(question(&ask));
                    continue;
                }
                Heard::Interrupt | Heard::Terminate => Wish::Stop,
            };
            asked = None;
            self.sender.send_replace(wish);
        }
    }
}

enum Heard {
    Interrupt,
    Terminate,
    Hangup,
    Answer(Wish),
}

type Answer = tokio::task::JoinHandle<Wish>;

async fn answered(asked: &mut Option<Answer>) -> Wish {
    match asked {
        Some(answer) => answer.await.unwrap_or(Wish::Leave),
        None => std::future::pending().await,
    }
}

fn question(ask: &impl Fn(&dyn Fn())) -> Answer {
    ask(&|| {
        let text = "\nStop what is measuring and clean up (s), or leave it measuring (l)? Anything else goes on; Ctrl-C again leaves at once. [s/l] ";
        let mut stderr = std::io::stderr();
        let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
    });
    tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        match std::io::stdin().lock().read_line(&mut line).map(|_| line.trim()) {
            Ok("s" | "S") => Wish::Stop,
            Ok("l" | "L") | Err(_) => Wish::Leave,
            Ok(_) => Wish::Finish,
        }
    })
}
