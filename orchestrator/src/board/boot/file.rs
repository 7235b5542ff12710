//! Methods that change one file: extlinux, pxe, uenv, boot-script.

use super::BootError;
use super::kept::KeptFile;
use crate::board::Board;
use latlab_core::boot::{Asked, EditError, boot_script, extlinux, uenv};
use latlab_core::target::BootMethod;

/// Where the file is when the target file does not say.
fn usual_place(method: BootMethod) -> &'static str {
    match method {
        BootMethod::Uenv => "/boot/uEnv.txt",
        BootMethod::BootScript => "/boot/boot.scr",
        _ => "/boot/extlinux/extlinux.conf",
    }
}

/// The boot configuration of the board: on it, or on this host's TFTP root.
pub(super) async fn open(board: &Board) -> Result<KeptFile<'_>, BootError> {
    let target = &board.target;
    let path = target.boot.file.as_deref().unwrap_or_else(|| usual_place(target.boot_method));
    let place = if target.boot_method == BootMethod::Pxe { &board.host } else { &board.transport };
    KeptFile::at(place, path).await
}

pub(super) async fn choose(board: &Board, asked: &Asked) -> Result<(), BootError> {
    let file = open(board).await?;
    let contents = file.read().await?;
    let edited = edit(board, asked, &contents.original)
        .map_err(|source| BootError::Edit { file: file.path().to_owned(), source })?;
    match edited == contents.current {
        true => Ok(()),
        false => file.write(&edited).await,
    }
}

fn edit(board: &Board, asked: &Asked, original: &[u8]) -> Result<Vec<u8>, EditError> {
    let target = &board.target;
    let text = || std::str::from_utf8(original).map_err(|_| EditError::Format("it is no text"));
    let variable = |usual| target.boot.arguments.as_deref().unwrap_or(usual);
    match target.boot_method {
        BootMethod::Uenv => Ok(uenv::edit(text()?, asked, variable(uenv::ARGUMENTS))?.into_bytes()),
        BootMethod::BootScript => boot_script::edit(original, asked, variable(boot_script::ARGUMENTS)),
        _ => Ok(extlinux::edit(text()?, asked)?.into_bytes()),
    }
}
