use super::kept::KeptFile;
use super::{BootError, file, grub, installed, kexec, own_command, raspberrypi, uboot_env};
use crate::board::Board;
use latlab_core::boot::Asked;
use latlab_core::target::{BootMethod, Kernel};

/// How the board is restarted so that the choice takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Restart {
    /// `reboot`.
    Reboot,
    /// `reboot '0 tryboot'`.
    Tryboot,
    /// The kernel that is loaded, without the boot loader.
    Kexec,
}

/// The boot choice of one board, by the method of its target file.
#[derive(Debug)]
pub(crate) struct BootChoice<'a> {
    board: &'a Board,
}

impl Board {
    /// What the board boots.
    pub(crate) fn boot_choice(&self) -> BootChoice<'_> {
        BootChoice { board: self }
    }
}

impl BootChoice<'_> {
    /// Makes the next boot what is asked for, and says how to restart. `base` is the command line of the board's own choice.
    pub(crate) async fn choose(&self, asked: &Asked, base: &str) -> Result<Restart, BootError> {
        let board = self.board;
        let installed;
        let asked = match asked.kernel.as_ref().and_then(|name| board.target.kernels.get_key_value(name)) {
            Some((name, Kernel { install: Some(files), .. })) => {
                installed = asked.clone().with_files(installed::install(board, name, files).await?);
                &installed
            }
            _ => asked,
        };
        match board.target.boot_method {
            BootMethod::AsBooted => {}
            BootMethod::Extlinux | BootMethod::Pxe | BootMethod::Uenv | BootMethod::BootScript => {
                file::choose(board, asked).await?;
            }
            BootMethod::UbootEnv => uboot_env::choose(board, asked).await?,
            BootMethod::Grub => grub::choose(board, asked).await?,
            BootMethod::Raspberrypi => {
                raspberrypi::choose(board, asked).await?;
                return Ok(Restart::Tryboot);
            }
            BootMethod::Kexec => {
                kexec::choose(board, asked, base).await?;
                return Ok(Restart::Kexec);
            }
            BootMethod::Command => own_command::choose(board, asked).await?,
        }
        Ok(Restart::Reboot)
    }

    /// Whether a choice of latlab's is left there, as far as the method leaves one.
    pub(crate) async fn is_changed(&self) -> Result<bool, BootError> {
        let board = self.board;
        match board.target.boot_method {
            BootMethod::AsBooted | BootMethod::Kexec | BootMethod::Command => Ok(false),
            BootMethod::Extlinux | BootMethod::Pxe | BootMethod::Uenv | BootMethod::BootScript => {
                Ok(file::open(board).await?.read().await?.changed)
            }
            BootMethod::UbootEnv => uboot_env::is_changed(board).await,
            BootMethod::Grub => grub::is_changed(board).await,
            BootMethod::Raspberrypi => raspberrypi::is_changed(board).await,
        }
    }

    /// Makes the next boot the board's own again; whether something was changed.
    pub(crate) async fn put_back(&self) -> Result<bool, BootError> {
        let board = self.board;
        match board.target.boot_method {
            // Nothing on the board changes with kexec.
            BootMethod::AsBooted | BootMethod::Kexec => Ok(false),
            BootMethod::Extlinux | BootMethod::Pxe | BootMethod::Uenv | BootMethod::BootScript => {
                file::open(board).await?.put_back().await
            }
            BootMethod::UbootEnv => uboot_env::put_back(board).await,
            BootMethod::Grub => grub::put_back(board).await,
            BootMethod::Raspberrypi => raspberrypi::put_back(board).await,
            BootMethod::Command => own_command::put_back(board).await,
        }
    }
}

/// The file `path` on the board.
pub(super) async fn on_board<'a>(board: &'a Board, path: &str) -> Result<KeptFile<'a>, BootError> {
    KeptFile::at(&board.transport, path).await
}
