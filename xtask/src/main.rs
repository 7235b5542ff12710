//! Developer commands: `cargo xtask demo`, `test`, `ci`, `cross`, `lab`, `bench`, `faults`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool; its rooms print what they do")]

mod bench;
mod build;
mod ci;
mod cross;
mod demo;
mod emulated;
mod faults;
mod fetch;
mod lab;
mod paths;
mod shell;
mod sshd;
mod test;
mod tidy;
mod toolchain;
mod tools;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Developer commands of latlab.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Build everything, run campaigns/demo.toml on a target made for it, print the result, clean up.
    Demo(demo::Options),
    /// All tests; fetches what they need; the last line says how many ran.
    Test(test::Options),
    /// Format, lints, documentation, house rules and the quick tests: for every commit.
    Ci,
    /// Static probes for boards, into target/probes/TRIPLE/latprobe.
    Cross(cross::Options),
    /// Emulated boards.
    #[command(subcommand)]
    Lab(lab::Action),
    /// Short campaigns while things break, and what must be true after each.
    Faults(faults::Options),
    /// Figures that documents state, measured again and written there.
    Bench(bench::Options),
    /// The house rules alone: layers, file lengths, lists of files that documents keep.
    Tidy,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Demo(options) => demo::main(&options),
        Command::Test(options) => test::main(&options),
        Command::Ci => ci::main(),
        Command::Tidy => tidy::main(),
        Command::Lab(action) => lab::main(&action),
        Command::Faults(options) => faults::main(&options),
        Command::Bench(options) => bench::main(&options),
        Command::Cross(options) => cross::main(&options),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
