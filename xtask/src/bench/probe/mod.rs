//! The probe beside Debian's cyclictest with the same options, in turns on the same CPUs.

pub(super) mod checkpoints;
pub(super) mod cpu;
pub(super) mod helpers;
pub(super) mod instructions;
pub(super) mod latency;
pub(super) mod memory;
mod process;
mod rig;
mod statistics;
pub(super) mod syscalls;

use crate::tools;

/// What the benches run besides the machine's C compiler.
const PROGRAMS: tools::Set = tools::Set::new(
    "bench",
    &[("cyclictest", "rt-tests"), ("valgrind", "valgrind"), ("strace", "strace"), ("chrt", "util-linux")],
);
