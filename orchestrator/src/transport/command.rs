//! One command: what goes in, what comes out, and the bounds on both.

use super::LinkError;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Standard error beyond this is dropped: it is for people.
const STDERR_CAP: usize = 64 << 10;

/// A command to run.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// Program and arguments; quoted for the remote shell where there is one.
    pub argv: Vec<String>,
    /// Standard input; empty: at its end from the start.
    pub stdin: &'a [u8],
    /// Time for all of it.
    pub timeout: Duration,
    /// Most bytes of standard output that are taken; more is an error.
    pub max_output: usize,
}

impl<'a> Request<'a> {
    /// A short command with a short answer.
    pub fn new<S: Into<String>>(argv: impl IntoIterator<Item = S>) -> Self {
        let argv = argv.into_iter().map(Into::into).collect();
        Self { argv, stdin: &[], timeout: Duration::from_secs(60), max_output: 1 << 20 }
    }

    /// A script for `sh`, with positional parameters.
    pub fn script(script: &str, parameters: &[&str]) -> Self {
        let head = ["sh", "-c", script, "sh"];
        Self::new(head.iter().chain(parameters).copied())
    }

    /// With this on standard input.
    pub fn stdin(self, stdin: &'a [u8]) -> Self {
        Self { stdin, ..self }
    }

    /// With this much time.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// With room for this much output, in bytes.
    pub fn max_output(self, max_output: usize) -> Self {
        Self { max_output, ..self }
    }
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Exit code.
    pub status: i32,
    /// Standard output, whole.
    pub stdout: Vec<u8>,
    /// Standard error, its first 64 KiB.
    pub stderr: Vec<u8>,
}

impl Output {
    /// It ended with 0.
    pub fn success(&self) -> bool {
        self.status == 0
    }

    /// What it complained about: the last lines of standard error, else its exit code.
    pub fn complaint(&self) -> String {
        let text = printable(&self.stderr);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        match lines.len() {
            0 => format!("exit code {}", self.status),
            n => lines[n.saturating_sub(3)..].join(" / "),
        }
    }
}

/// Text of unknown origin made fit for a terminal and a log: no control characters, at most 300 characters a piece.
pub(crate) fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let clean: String = text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect();
    match clean.char_indices().nth(300) {
        Some((cut, _)) => format!("{}…", &clean[..cut]),
        None => clean,
    }
}

/// Feeds standard input and takes standard output and error, all at once, until both outputs end.
pub(super) async fn pump<I, O, E>(
    stdin: Option<I>,
    input: &[u8],
    stdout: O,
    stderr: E,
    max_output: usize,
) -> Result<(Vec<u8>, Vec<u8>), LinkError>
where
    I: AsyncWrite + Unpin,
    O: AsyncRead + Unpin,
    E: AsyncRead + Unpin,
{
    let feed = async {
        if let Some(mut stdin) = stdin {
            // A command that ends without reading (disk full …) closes the pipe: its exit code and standard error say more than EPIPE.
            if stdin.write_all(input).await.is_ok() {
                let _ = stdin.shutdown().await;
            }
        }
        Ok(())
    };
    let out = async {
        let mut taken = Vec::new();
        let limit = max_output as u64 + 1;
        stdout.take(limit).read_to_end(&mut taken).await.map_err(LinkError::pipe)?;
        if taken.len() > max_output {
            return Err(LinkError::TooMuchOutput { max_bytes: max_output });
        }
        Ok(taken)
    };
    let err = async {
        let mut taken = Vec::new();
        let mut stderr = stderr;
        (&mut stderr).take(STDERR_CAP as u64).read_to_end(&mut taken).await.map_err(LinkError::pipe)?;
        // The rest is read and dropped, or the command would block on a full pipe; the time-out bounds it.
        let mut rest = [0; 4096];
        while stderr.read(&mut rest).await.map_err(LinkError::pipe)? > 0 {}
        Ok(taken)
    };
    let ((), out, err) = tokio::try_join!(feed, out, err)?;
    Ok((out, err))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn output_is_bounded() {
        let pumped = pump(None::<tokio::io::Sink>, b"", tokio::io::repeat(b'x'), tokio::io::empty(), 1000).await;
        assert!(matches!(pumped, Err(LinkError::TooMuchOutput { max_bytes: 1000 })), "{pumped:?}");
    }

    #[test]
    fn complaints_are_short_and_clean() {
        let output = |stderr: &[u8]| Output { status: 3, stdout: vec![], stderr: stderr.to_vec() };
        assert_eq!(output(b"\n").complaint(), "exit code 3");
        assert_eq!(output(b"a\n\x1b[31mb\n").complaint(), "a /  [31mb".replace("  ", " "));
        assert!(output(&[b'z'; 100_000]).complaint().len() < 400);
    }
}
