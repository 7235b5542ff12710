//! What a board boots, and getting it there: one file per method behind [`choice`], the reboot itself, power.

mod choice;
mod error;
mod file;
mod grub;
mod installed;
mod kept;
mod kexec;
mod own_command;
mod power;
mod raspberrypi;
mod restart;
mod uboot_env;

#[cfg(test)]
mod tests;

pub(crate) use choice::Restart;
pub(crate) use error::BootError;
pub(crate) use installed::InstalledKernel;
pub(crate) use restart::WhyNot;
