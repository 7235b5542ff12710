//! kexec: the kernel is loaded now and started without the boot loader; a reset brings the board's own choice back.

use super::BootError;
use super::kept::exec;
use crate::board::Board;
use crate::transport::Request;
use latlab_core::boot::Asked;
use std::time::Duration;

/// Image, command line, then initial RAM disk and device tree where there are any.
const LOAD: &str = r#"
PATH=$PATH:/usr/sbin:/sbin
image=$1 line=$2 initrd=$3 tree=$4
command -v kexec >/dev/null || { echo "kexec is not installed (package kexec-tools)" >&2; exit 1; }
set --
[ -z "$initrd" ] || set -- "$@" "--initrd=$initrd"
[ -z "$tree" ] || set -- "$@" "--dtb=$tree"
exec kexec -l "$image" "--command-line=$line" "$@"
"#;

pub(super) async fn choose(board: &Board, asked: &Asked, base: &str) -> Result<(), BootError> {
    let files = &asked.files;
    let image = files.image.as_deref().or(asked.label.as_deref()).unwrap_or_default();
    let line = asked.arguments.edit(base);
    let other = |file: &Option<String>| file.clone().unwrap_or_default();
    let parameters = [image, &line, &other(&files.initrd), &other(&files.device_tree)];
    let request = Request::script(LOAD, &parameters).timeout(Duration::from_secs(120));
    let answer = exec(&board.transport, request).await?;
    match answer.success() {
        true => Ok(()),
        false => Err(BootError::Program { what: "kexec -l on the board".to_owned(), complaint: answer.complaint() }),
    }
}
