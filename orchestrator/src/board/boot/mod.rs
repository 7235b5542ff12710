//! What a board boots, and getting it there: one file per method behind [`choice`], the reboot itself, power.

mod choice;
mod error;
mod file;
mod grub;
mod kept;
mod kexec;
mod own_command;
mod power;
mod raspberrypi;
mod restart;
mod uboot_env;

pub(crate) use choice::Restart;
pub(crate) use error::BootError;
pub(crate) use restart::WhyNot;
