//! The board's power switch: commands on this host.

use super::BootError;
use super::kept::exec;
use crate::board::Board;
use crate::transport::Request;
use std::time::Duration;

/// Between off and on: capacitors keep a board alive for a while.
const OFF_TIME: Duration = Duration::from_secs(3);

impl Board {
    /// Whether the target file names a power switch.
    pub(crate) fn has_power(&self) -> bool {
        self.target.power_cycle.is_some() || self.target.power.is_some()
    }

    /// Switches the board off and on.
    pub(crate) async fn power_cycle(&self) -> Result<(), BootError> {
        match (&self.target.power_cycle, &self.target.power) {
            (Some(cycle), _) => self.host_command("power.cycle", cycle).await,
            (None, Some(switch)) => {
                self.host_command("power.off", &switch.off).await?;
                tokio::time::sleep(OFF_TIME).await;
                self.host_command("power.on", &switch.on).await
            }
            (None, None) => {
                let complaint = "the target file names no `power.cycle`".to_owned();
                Err(BootError::Program { what: "a power cycle".to_owned(), complaint })
            }
        }
    }

    /// `boot.fallback`: makes the next boot the board's own choice.
    pub(crate) async fn fallback(&self, argv: &[String]) -> Result<(), BootError> {
        self.host_command("boot.fallback", argv).await
    }

    /// One command of the target file on this host.
    async fn host_command(&self, name: &str, argv: &[String]) -> Result<(), BootError> {
        let time = Duration::from_nanos(self.target.power_timeout_ns);
        let complaint = match exec(&self.host, Request::new(argv).timeout(time)).await {
            Ok(answer) if answer.success() => return Ok(()),
            Ok(answer) => answer.complaint(),
            Err(error) => error.to_string(),
        };
        Err(BootError::Program { what: format!("`{name}` on this host"), complaint })
    }
}
