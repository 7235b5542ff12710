//! Raspberry Pi: `tryboot.txt` and a command line beside the board's own files, which stay untouched.

use super::BootError;
use super::choice::on_board;
use super::kept::KeptFile;
use crate::board::Board;
use latlab_core::boot::{Asked, EditError, raspberrypi};

/// The board's command line; Raspberry Pi OS up to 11 has it in /boot.
async fn folder(board: &Board) -> Result<String, BootError> {
    let parent = |path: &str| path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    if let Some(file) = &board.target.boot.file {
        return Ok(parent(file));
    }
    for path in ["/boot/firmware/cmdline.txt", "/boot/cmdline.txt"] {
        if on_board(board, path).await?.read().await.is_ok() {
            return Ok(parent(path));
        }
    }
    let complaint = "neither /boot/firmware/cmdline.txt nor /boot/cmdline.txt is there".to_owned();
    Err(BootError::File { verb: "read", file: "cmdline.txt".to_owned(), complaint })
}

async fn text(board: &Board, path: &str) -> Result<String, BootError> {
    Ok(String::from_utf8_lossy(&on_board(board, path).await?.read().await?.original).into_owned())
}

async fn tryboot<'a>(board: &'a Board, folder: &str) -> Result<(KeptFile<'a>, Option<Vec<u8>>), BootError> {
    let file = on_board(board, &format!("{folder}/tryboot.txt")).await?;
    let content = match file.read().await {
        Ok(contents) => Some(contents.current),
        Err(BootError::File { verb: "read", .. }) => None,
        Err(error) => return Err(error),
    };
    Ok((file, content))
}

fn is_ours(content: &[u8]) -> bool {
    content.starts_with(raspberrypi::MARK.as_bytes())
}

pub(super) async fn choose(board: &Board, asked: &Asked) -> Result<(), BootError> {
    let folder = folder(board).await?;
    let config = text(board, &format!("{folder}/config.txt")).await?;
    let original = text(board, &format!("{folder}/cmdline.txt")).await?;
    let (file, content) = tryboot(board, &folder).await?;
    if content.as_deref().is_some_and(|content| !is_ours(content)) {
        let source = EditError::Format("it is not latlab's: somebody tries an update out; move it away first");
        return Err(BootError::Edit { file: file.path().to_owned(), source });
    }
    let line = on_board(board, &format!("{folder}/{}", raspberrypi::COMMAND_LINE)).await?;
    line.write_own(raspberrypi::command_line(&original, asked).as_bytes()).await?;
    file.write_own(raspberrypi::tryboot(&config, asked).as_bytes()).await
}

pub(super) async fn put_back(board: &Board) -> Result<bool, BootError> {
    let folder = folder(board).await?;
    let (file, content) = tryboot(board, &folder).await?;
    if !content.as_deref().is_some_and(is_ours) {
        return Ok(false);
    }
    file.remove().await?;
    on_board(board, &format!("{folder}/{}", raspberrypi::COMMAND_LINE)).await?.remove().await?;
    Ok(true)
}

pub(super) async fn is_changed(board: &Board) -> Result<bool, BootError> {
    let (_, content) = tryboot(board, &folder(board).await?).await?;
    Ok(content.as_deref().is_some_and(is_ours))
}
