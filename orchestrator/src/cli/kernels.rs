//! `latlab kernels`: what latlab has put on a board beside its own kernels.

use super::boards::{find, on_board};
use super::diagnostics::print_json;
use super::{Common, Format};
use crate::board::Board;
use crate::board::boot::{BootError, InstalledKernel};
use crate::exit::Exit;
use std::io::Write;

/// Lists the kernels that `[kernel.NAME.install]` of a target file put on the board, and removes them.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Board, by name or file.
    #[arg(value_name = "TARGET")]
    target: String,
    /// Removes this one, by its hash or an unambiguous beginning of it, or `all` of them.
    #[arg(long, value_name = "HASH")]
    remove: Option<String>,
}

/// Runs the verb.
pub(super) fn run(common: &Common, args: &Args) -> Exit {
    let target = match find(common, &args.target) {
        Ok(target) => target,
        Err(exit) => return exit,
    };
    let done = on_board(common, &target, async |board, _| Ok(carry_out(board, args.remove.as_deref()).await));
    let complain = |text: &str| {
        let _ = writeln!(std::io::stderr(), "{}: {text}", target.name);
    };
    match done {
        Ok(Ok(Some(kernels))) => {
            show(common, &kernels);
            Exit::Success
        }
        Ok(Ok(None)) => {
            complain("no kernel of latlab's has such a hash, or several have");
            Exit::Usage
        }
        Ok(Err(error)) => {
            complain(&error.to_string());
            Exit::Board
        }
        Err(error) => {
            complain(&error.to_string());
            Exit::of_board(&error)
        }
    }
}

/// What is left there; `None`: there is nothing of that hash.
async fn carry_out(board: &Board, remove: Option<&str>) -> Result<Option<Vec<InstalledKernel>>, BootError> {
    let kernels = board.installed_kernels().await?;
    let Some(hash) = remove else { return Ok(Some(kernels)) };
    let (gone, left): (Vec<_>, Vec<_>) =
        kernels.into_iter().partition(|kernel| hash == "all" || (!hash.is_empty() && kernel.hash.starts_with(hash)));
    if hash != "all" && gone.len() != 1 {
        return Ok(None);
    }
    for kernel in &gone {
        board.remove_kernel(kernel).await?;
    }
    Ok(Some(left))
}

fn show(common: &Common, kernels: &[InstalledKernel]) {
    if common.format == Format::Json {
        print_json(&kernels);
        return;
    }
    let mut text = String::new();
    for kernel in kernels {
        let modules = kernel.modules.as_ref().map_or(String::new(), |release| format!(", modules of {release}"));
        text += &format!(
            "{}  {}  {:.1} MB  {}{modules}  ({})\n",
            kernel.hash,
            kernel.installed,
            kernel.bytes as f64 / 1e6,
            kernel.kernel,
            kernel.files.join(", ")
        );
    }
    if kernels.is_empty() {
        text = "no kernel of latlab's is there\n".to_owned();
    }
    let _ = std::io::stdout().write_all(text.as_bytes());
}
