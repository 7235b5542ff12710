use crate::board::{BoardError, Fault};
use latlab_core::boot::EditError;

/// The boot choice of a board cannot be changed or put back. Nothing was rebooted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BootError {
    /// The board does not do what it is told.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The configuration does not hold what the target file says.
    #[error("{file}: {source}")]
    Edit {
        /// Which.
        file: String,
        /// Why.
        source: EditError,
    },
    /// A boot configuration cannot be read or written.
    #[error(
        "cannot {verb} the boot configuration {file}: {complaint}; correct `boot.file` of the target file, or mend it there"
    )]
    File {
        /// `read` or `write`.
        verb: &'static str,
        /// Which.
        file: String,
        /// What the system said.
        complaint: String,
    },
    /// Somebody else changed what latlab had changed.
    #[error(
        "somebody changed {file} after latlab did, and {file}.latlab-original is what it was before: compare the two, keep the one that is right as {file}, and remove {file}.latlab-original and {file}.latlab-sum"
    )]
    Changed {
        /// Which.
        file: String,
    },
    /// U-Boot's environment is the built-in one: writing it would wipe the real one.
    #[error(
        "fw_printenv says `{complaint}`: writing now would replace the board's environment by the built-in one; correct /etc/fw_env.config on the board, or save the environment once on U-Boot's console"
    )]
    BadEnvironment {
        /// What it said.
        complaint: String,
    },
    /// A file of `[kernel.NAME.install]` cannot be read on this host.
    #[error("{path} of `kernel.{kernel}.install` cannot be read: {source}")]
    InstallFile {
        /// Variant.
        kernel: String,
        /// On this host.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A kernel's modules would go where others are.
    #[error(
        "the modules of `kernel.{kernel}.install` are for {release}, and {directory} is on the board already: build the kernel with another CONFIG_LOCALVERSION, so that its modules stand beside the others"
    )]
    ModulesThere {
        /// Variant.
        kernel: String,
        /// `uname -r` of the modules.
        release: String,
        /// On the board.
        directory: String,
    },
    /// A program on the board or on this host failed.
    #[error("{what} failed: {complaint}")]
    Program {
        /// Which, and where.
        what: String,
        /// What it said.
        complaint: String,
    },
}

impl BootError {
    /// The link failed, for now.
    pub(crate) fn is_link(&self) -> bool {
        matches!(self, Self::Board(error) if error.fault() == Fault::Link)
    }
}
