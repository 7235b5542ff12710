//! The real binary against this machine's kernel. Most of it needs root and permission for SCHED_FIFO:
//! without, a test says so and passes, unless `CI=true`.

mod bench;
mod commands;
mod faults;
mod others;
mod runs;
