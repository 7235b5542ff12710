//! QEMU's machine protocol over its unix socket: JSON lines.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A connection that has agreed on capabilities.
pub(crate) struct Qmp {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
}

impl Qmp {
    pub(crate) fn connect(socket: &Path) -> Result<Self> {
        let writer = UnixStream::connect(socket).with_context(|| format!("cannot connect to {}", socket.display()))?;
        writer.set_read_timeout(Some(Duration::from_secs(10)))?;
        let mut qmp = Self { reader: BufReader::new(writer.try_clone()?), writer };
        qmp.line()?.context("QEMU did not greet")?;
        qmp.execute("qmp_capabilities", &json!({}))?;
        Ok(qmp)
    }

    /// Runs one command and returns its answer; events before it are dropped.
    pub(crate) fn execute(&mut self, command: &str, arguments: &Value) -> Result<Value> {
        let request = json!({ "execute": command, "arguments": arguments });
        writeln!(self.writer, "{request}").with_context(|| format!("cannot send {command} to QEMU"))?;
        while let Some(answer) = self.line()? {
            if let Some(error) = answer.get("error") {
                bail!("QEMU refuses {command}: {error}");
            }
            if let Some(value) = answer.get("return") {
                return Ok(value.clone());
            }
        }
        bail!("QEMU ended before it answered {command}")
    }

    /// Why the machine stopped, once it does: `guest-reset`, `guest-shutdown`, `host-qmp-quit` …
    pub(crate) fn wait_for_shutdown(mut self) -> Result<Option<String>> {
        self.writer.set_read_timeout(None)?;
        let mut reason = None;
        while let Some(line) = self.line()? {
            if line["event"] == "SHUTDOWN" {
                reason = line["data"]["reason"].as_str().map(str::to_owned);
            }
        }
        Ok(reason)
    }

    /// `None` at the end of the connection.
    fn line(&mut self) -> Result<Option<Value>> {
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(0) => Ok(None),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => Ok(None),
            Err(error) => Err(error).context("cannot read from QEMU"),
            Ok(_) => Ok(Some(serde_json::from_str(&line).with_context(|| format!("QEMU sent {line}"))?)),
        }
    }
}
