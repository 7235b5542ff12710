//! U-Boot's environment through `fw_printenv` and `fw_setenv` on the board.

use super::BootError;
use super::kept::exec;
use crate::board::Board;
use crate::transport::Request;
use latlab_core::boot::uboot_env::{self, Assignment};
use latlab_core::boot::{Asked, EditError};
use std::collections::BTreeMap;

/// `sbin` is often not on the path of a login that is not root's.
const PRINT: &str = r#"PATH=$PATH:/usr/sbin:/sbin; fw_printenv"#;
const SET: &str = r#"PATH=$PATH:/usr/sbin:/sbin; fw_setenv "$@" && sync"#;

/// What the tools say when they show the built-in environment and not the board's.
const BAD: [&str; 3] = ["Bad CRC", "default environment", "Cannot read environment"];

async fn read(board: &Board) -> Result<BTreeMap<String, String>, BootError> {
    let answer = exec(&board.transport, Request::script(PRINT, &[])).await?;
    let said = format!("{}\n{}", String::from_utf8_lossy(&answer.stderr), answer.complaint());
    if BAD.iter().any(|bad| said.contains(bad)) {
        return Err(BootError::BadEnvironment { complaint: answer.complaint() });
    }
    if !answer.success() {
        return Err(BootError::Program { what: "fw_printenv on the board".to_owned(), complaint: answer.complaint() });
    }
    Ok(uboot_env::parse(&String::from_utf8_lossy(&answer.stdout)))
}

async fn write(board: &Board, writes: &[Assignment]) -> Result<(), BootError> {
    for (name, value) in writes {
        let mut parameters = vec![name.as_str()];
        parameters.extend(value.as_deref());
        let answer = exec(&board.transport, Request::script(SET, &parameters)).await?;
        if !answer.success() {
            return Err(BootError::Program {
                what: format!("fw_setenv {name} on the board"),
                complaint: answer.complaint(),
            });
        }
    }
    if writes.is_empty() {
        return Ok(());
    }
    let found = read(board).await?;
    match writes.iter().find(|(name, value)| found.get(name) != value.as_ref()) {
        None => Ok(()),
        Some((name, _)) => Err(BootError::Program {
            what: format!("fw_setenv {name} on the board"),
            complaint: "it reads back otherwise than it was written".to_owned(),
        }),
    }
}

pub(super) async fn choose(board: &Board, asked: &Asked) -> Result<(), BootError> {
    let settings = &board.target.boot;
    let variable = settings.arguments.as_deref().unwrap_or(uboot_env::ARGUMENTS);
    let environment = read(board).await?;
    let edit = |source: EditError| BootError::Edit { file: "U-Boot's environment".to_owned(), source };
    let writes = uboot_env::edit(&environment, asked, variable, settings.bootcount).map_err(edit)?;
    write(board, &writes).await
}

pub(super) async fn put_back(board: &Board) -> Result<bool, BootError> {
    let environment = read(board).await?;
    write(board, &uboot_env::put_back(&environment)).await?;
    Ok(uboot_env::is_changed(&environment))
}

pub(super) async fn is_changed(board: &Board) -> Result<bool, BootError> {
    Ok(uboot_env::is_changed(&read(board).await?))
}
