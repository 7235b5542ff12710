//! GRUB: an entry in `custom.cfg` beside grub.cfg, chosen for one boot by `grub-reboot`.

use super::BootError;
use super::choice::on_board;
use super::kept::exec;
use crate::board::Board;
use crate::transport::Request;
use latlab_core::boot::{Asked, grub};

/// Debian's name and Fedora's; where there is neither, what they do.
const CHOOSE: &str = r#"
PATH=$PATH:/usr/sbin:/sbin
if tool=$(command -v grub-reboot || command -v grub2-reboot); then
  "$tool" --boot-directory="${1%/*}" "$2" && sync
elif tool=$(command -v grub-editenv || command -v grub2-editenv); then
  "$tool" "$1/grubenv" set "next_entry=$2" && sync
else
  echo "neither grub-reboot nor grub-editenv is installed" >&2
  exit 1
fi
"#;
const UNSET: &str = r#"
PATH=$PATH:/usr/sbin:/sbin
tool=$(command -v grub-editenv || command -v grub2-editenv) || { echo "grub-editenv is not installed" >&2; exit 1; }
[ -f "$1/grubenv" ] || exit 0
"$tool" "$1/grubenv" unset next_entry && sync
"#;

fn configuration(board: &Board) -> &str {
    board.target.boot.file.as_deref().unwrap_or("/boot/grub/grub.cfg")
}

/// `/boot/grub` of `/boot/grub/grub.cfg`.
fn folder(configuration: &str) -> &str {
    configuration.rsplit_once('/').map_or("", |(folder, _)| folder)
}

async fn tool(board: &Board, what: &str, script: &str, parameters: &[&str]) -> Result<(), BootError> {
    let answer = exec(&board.transport, Request::script(script, parameters)).await?;
    match answer.success() {
        true => Ok(()),
        false => Err(BootError::Program { what: format!("{what} on the board"), complaint: answer.complaint() }),
    }
}

pub(super) async fn choose(board: &Board, asked: &Asked) -> Result<(), BootError> {
    let path = configuration(board);
    let folder = folder(path);
    let configuration = on_board(board, path).await?.read().await?;
    let custom = on_board(board, &format!("{folder}/custom.cfg")).await?;
    let kept = match custom.read().await {
        Ok(contents) => contents,
        Err(BootError::File { verb: "read", .. }) => {
            // So that there is an original to go back to: an empty file is as none.
            custom.write_own(b"").await?;
            custom.read().await?
        }
        Err(error) => return Err(error),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let edited = grub::edit(&text(&configuration.original), &text(&kept.original), asked)
        .map_err(|source| BootError::Edit { file: path.to_owned(), source })?;
    custom.write(edited.as_bytes()).await?;
    tool(board, "grub-reboot", CHOOSE, &[folder, grub::ENTRY]).await
}

pub(super) async fn put_back(board: &Board) -> Result<bool, BootError> {
    let folder = folder(configuration(board));
    let custom = on_board(board, &format!("{folder}/custom.cfg")).await?;
    let changed = custom.put_back().await?;
    if changed {
        tool(board, "grub-editenv", UNSET, &[folder]).await?;
        if custom.read().await?.current.is_empty() {
            custom.remove().await?;
        }
    }
    Ok(changed)
}

pub(super) async fn is_changed(board: &Board) -> Result<bool, BootError> {
    let custom = on_board(board, &format!("{}/custom.cfg", folder(configuration(board)))).await?;
    match custom.read().await {
        Ok(contents) => Ok(contents.changed),
        Err(BootError::File { verb: "read", .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
