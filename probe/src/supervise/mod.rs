//! One run on the board: from `run DIR` to its ending, and what can be asked of it meanwhile.

mod check;
mod deltas;
mod dir;
mod follow;
mod guard;
mod journal;
mod keeper;
mod launch;
mod loads;
mod others;
mod prepare;
mod privileges;
mod session;
mod settings;
mod stop;
mod sweep;
mod trace;
mod watch;

#[cfg(test)]
pub(crate) use deltas::Deltas;
pub(crate) use dir::boot_id;
pub(crate) use follow::follow;
pub(crate) use launch::{run, supervise};
pub(crate) use loads::exec_load;
pub(crate) use stop::{remove, restore, status, stop};
