//! The reboot itself: until the board answers with a new boot id and stays up, or is given up.

use super::{BootError, Restart};
use crate::board::{Board, BoardError};
use crate::transport::Request;
use latlab_core::boot::split;
use latlab_core::facts::Facts;
use latlab_core::target::{Target, Transport};
use std::time::{Duration, Instant};

/// A login may be slow on a small board; a board that is down swallows this much time at each try.
const TRY: Duration = Duration::from_secs(8);
const PAUSE: Duration = Duration::from_secs(1);
/// So many boots in a row that end by themselves are no accident.
const LOOPS: usize = 3;

/// The board gets time to answer first. What hangs in shutting down (a network file system) is cut short after a while.
const REBOOT: &str = r#"
sync
start() { if command -v setsid >/dev/null; then setsid "$@"; else nohup "$@"; fi; }
start sh -c '
PATH=$PATH:/usr/sbin:/sbin
sleep 1
case $0 in
  kexec)
    if [ -d /run/systemd/system ]; then systemctl kexec; sleep 45; fi
    sync; echo u >/proc/sysrq-trigger; sleep 1; kexec -e ;;
  tryboot) reboot "0 tryboot" ;;
  *) reboot ;;
esac
sleep 45
sync
reboot -f
sleep 10
echo b >/proc/sysrq-trigger
' "$1" </dev/null >/dev/null 2>&1 &
"#;

/// Why a board did not come up with a new boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WhyNot {
    /// No answer in time.
    Silent {
        /// How long it was waited for.
        after: Duration,
        /// What stood in the way last.
        last: String,
    },
    /// It answers, but was never restarted.
    SameBoot {
        /// How long it was waited for.
        after: Duration,
    },
    /// It comes up and resets, again and again.
    Loop {
        /// Boots seen.
        boots: usize,
    },
    /// It answers with a host key that is not that of the variant.
    OtherHostKey {
        /// What ssh said.
        complaint: String,
    },
}

impl std::fmt::Display for WhyNot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Silent { after, last } => write!(f, "no answer within {} s ({last})", after.as_secs()),
            Self::SameBoot { after } => {
                write!(f, "it never restarted: the same boot still answers after {} s", after.as_secs())
            }
            Self::Loop { boots } => {
                write!(f, "it resets in a loop: {boots} boots one after the other (a watchdog that nobody feeds?)")
            }
            Self::OtherHostKey { complaint } => write!(f, "another host key than that of the variant: {complaint}"),
        }
    }
}

impl Board {
    /// Release and command line of what runs, without the probe.
    pub(crate) async fn running(&self) -> Result<Facts, BoardError> {
        let answer = self.exec(Request::script("uname -r; cat /proc/cmdline", &[])).await?;
        let text = String::from_utf8_lossy(&answer.stdout).into_owned();
        match (answer.success(), text.split_once('\n')) {
            (true, Some((release, line))) => {
                let release = Some(release.trim().to_owned());
                Ok(Facts { release, cmdline: Some(split(line)), ..Facts::default() })
            }
            _ => Err(BoardError::garbage("uname -r; cat /proc/cmdline", &answer.stdout)),
        }
    }

    /// From the next connection on accepts only the host keys of this kernel variant, where it has its own; without a
    /// variant those of all of them.
    pub(crate) fn pin(&self, kernel: Option<&str>) {
        let own = kernel.and_then(|name| self.target.kernels.get(name)).map_or(&[][..], |kernel| &kernel.host_keys);
        match own {
            [] => self.transport.pin(&all_host_keys(&self.target)),
            own => self.transport.pin(own),
        }
    }

    /// Restarts the board.
    pub(crate) async fn restart(&self, how: Restart) -> Result<(), BootError> {
        let word = match how {
            Restart::Reboot => "reboot",
            Restart::Tryboot => "tryboot",
            Restart::Kexec => "kexec",
        };
        let answer = self.exec(Request::script(REBOOT, &[word])).await?;
        match answer.success() {
            true => Ok(()),
            false => Err(BootError::Program { what: "reboot on the board".to_owned(), complaint: answer.complaint() }),
        }
    }

    /// Until it answers with another boot than `old` and stays up, for at most the target's time. Its id.
    pub(crate) async fn wait_for_boot(&self, old: &str) -> Result<String, WhyNot> {
        let limit = Duration::from_nanos(self.target.boot.timeout_ns);
        let settle = Duration::from_nanos(self.target.boot.settle_ns);
        let begin = Instant::now();
        let mut seen: Vec<String> = Vec::new();
        let mut last = None;
        // Each boot that was seen gets the whole time again: a loop is told from a slow board by its boots.
        let mut until = begin + limit;
        while Instant::now() < until {
            match self.look().await {
                Ok(boot_id) if boot_id == old => last = Some(Last::SameBoot),
                Ok(boot_id) => {
                    if !seen.contains(&boot_id) {
                        seen.push(boot_id.clone());
                        until = Instant::now() + limit;
                    }
                    if seen.len() >= LOOPS {
                        return Err(WhyNot::Loop { boots: seen.len() });
                    }
                    tokio::time::sleep(settle).await;
                    if self.look().await.is_ok_and(|now| now == boot_id) {
                        return Ok(boot_id);
                    }
                    continue;
                }
                Err(BoardError::Link(error)) if error.is_other_host_key() => {
                    last = Some(Last::OtherHostKey(error.to_string()));
                }
                Err(error) => last = Some(Last::Silent(error.to_string())),
            }
            tokio::time::sleep(PAUSE).await;
        }
        let after = begin.elapsed();
        Err(match last {
            Some(Last::SameBoot) => WhyNot::SameBoot { after },
            Some(Last::OtherHostKey(complaint)) => WhyNot::OtherHostKey { complaint },
            Some(Last::Silent(last)) => WhyNot::Silent { after, last },
            None => WhyNot::Silent { after, last: "not asked once".to_owned() },
        })
    }

    /// One look: over the connection that is there, else over a new one.
    async fn look(&self) -> Result<String, BoardError> {
        match self.boot_id().await {
            Ok(boot_id) => Ok(boot_id),
            Err(_) => {
                self.transport.connect(self.connect_timeout().min(TRY)).await?;
                self.boot_id().await
            }
        }
    }
}

/// Pins of the board and of every variant; empty: the user's known hosts count.
pub(in crate::board) fn all_host_keys(target: &Target) -> Vec<String> {
    let Transport::Ssh(ssh) = &target.transport else { return Vec::new() };
    let variants = target.kernels.values().flat_map(|kernel| &kernel.host_keys);
    ssh.host_keys.iter().chain(variants).cloned().collect()
}

enum Last {
    SameBoot,
    OtherHostKey(String),
    Silent(String),
}
