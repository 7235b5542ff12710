//! This machine as a board.

use super::{LinkError, Output, Request, command};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use tokio::process::Command;

/// Commands on this machine, through `become` where the target asks for it.
#[derive(Debug)]
pub struct Local {
    r#become: Vec<String>,
}

impl Local {
    pub(super) fn new(r#become: Option<Vec<String>>) -> Self {
        Self { r#become: r#become.unwrap_or_default() }
    }

    pub(super) async fn exec(&self, request: Request<'_>) -> Result<Output, LinkError> {
        let shown = shown(&request.argv);
        let argv: Vec<&String> = self.r#become.iter().chain(&request.argv).collect();
        let Some((program, arguments)) = argv.split_first() else {
            return Ok(Output { status: 0, stdout: Vec::new(), stderr: Vec::new() });
        };
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C in the terminal is latlab's to handle.
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        let mut child = match child {
            Ok(child) => child,
            // What a shell at the other end of a link would answer.
            Err(source) if self.r#become.is_empty() => return Ok(not_run(program, &source)),
            Err(source) => return Err(LinkError::Program { program: (*program).clone(), source, remedy: "" }),
        };
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (stdin, Some(stdout), Some(stderr)) = pipes else {
            return Err(LinkError::Lost { reason: "a pipe to the command is missing".to_owned() });
        };
        let run = async {
            let (stdout, stderr) = command::pump(stdin, request.stdin, stdout, stderr, request.max_output).await?;
            let status = child.wait().await.map_err(LinkError::pipe)?;
            match status.code() {
                Some(status) => Ok(Output { status, stdout, stderr }),
                None => {
                    tracing::debug!(signal = status.signal(), "local command killed");
                    Err(LinkError::Killed { command: shown.clone() })
                }
            }
        };
        let timeout = request.timeout;
        tokio::time::timeout(timeout, run)
            .await
            .unwrap_or_else(|_| Err(LinkError::Timeout { command: shown.clone(), after: timeout }))
    }
}

/// 127 for a program that is not there, 126 for one that cannot be run.
fn not_run(program: &str, source: &std::io::Error) -> Output {
    let status = if source.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 };
    Output { status, stdout: Vec::new(), stderr: format!("{program}: {source}\n").into_bytes() }
}

/// Enough of a command to recognise it.
pub(super) fn shown(argv: &[String]) -> String {
    let script = argv.len() > 2 && argv[0] == "sh" && argv[1] == "-c";
    let words: Vec<&str> = argv.iter().skip(if script { 4 } else { 0 }).take(3).map(String::as_str).collect();
    match script {
        true => format!("sh … {}", words.join(" ")),
        false => words.join(" "),
    }
}
