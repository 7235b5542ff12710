//! The command line: one file per verb.

mod baseline;
mod boards;
mod campaign;
mod check;
mod compare;
mod diagnostics;
mod diff;
mod doctor;
mod export;
mod gate;
mod history;
mod import;
mod kernels;
mod list;
mod logging;
mod plan;
mod plot;
mod report;
mod restore;
mod run;
pub mod selection;
mod show;

use crate::exit::Exit;
use clap::{Parser, Subcommand, ValueEnum};
use std::process::ExitCode;

/// Real-time latency campaigns on boards over SSH.
#[derive(Debug, Parser)]
#[command(name = "latlab", version, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    verb: Verb,
}

/// Options of every verb.
#[derive(Debug, clap::Args)]
pub struct Common {
    /// Output for people or for programs (see docs/json.md).
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// More of what happens, on stderr (twice: everything).
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Full log as JSON lines into this file.
    #[arg(long, global = true, value_name = "FILE")]
    pub log_file: Option<std::path::PathBuf>,
}

/// `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Check(check::Args),
    Campaign(campaign::Args),
    Import(import::Args),
    Plan(plan::Args),
    Doctor(doctor::Args),
    Run(run::RunArgs),
    #[command(visible_alias = "attach")]
    Resume(run::ResumeArgs),
    Stop(run::StopArgs),
    Collect(run::CollectArgs),
    Status(boards::StatusArgs),
    Release(boards::ReleaseArgs),
    Restore(restore::Args),
    Kernels(kernels::Args),
    List(list::Args),
    Show(show::Args),
    Compare(compare::Args),
    Diff(diff::Args),
    History(history::Args),
    Baseline(baseline::Args),
    Gate(gate::Args),
    Export(export::Args),
    Report(report::Args),
    Plot(plot::Args),
}

/// Entry of the command.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let asked = !error.use_stderr();
            let _ = error.print();
            return if asked { Exit::Success } else { Exit::Usage }.into();
        }
    };
    run(&cli).into()
}

fn run(cli: &Cli) -> Exit {
    match &cli.verb {
        Verb::Check(args) => check::run(&cli.common, args),
        Verb::Campaign(args) => campaign::run(&cli.common, args),
        Verb::Import(args) => import::run(&cli.common, args),
        Verb::Plan(args) => plan::run(&cli.common, args),
        Verb::Doctor(args) => doctor::run(&cli.common, args),
        Verb::Run(args) => run::run(&cli.common, args),
        Verb::Resume(args) => run::resume(&cli.common, args),
        Verb::Stop(args) => run::stop(&cli.common, args),
        Verb::Collect(args) => run::collect(&cli.common, args),
        Verb::Status(args) => boards::status(&cli.common, args),
        Verb::Release(args) => boards::release(&cli.common, args),
        Verb::Restore(args) => restore::run(&cli.common, args),
        Verb::Kernels(args) => kernels::run(&cli.common, args),
        Verb::List(args) => list::run(&cli.common, args),
        Verb::Show(args) => show::run(&cli.common, args),
        Verb::Compare(args) => compare::run(&cli.common, args),
        Verb::Diff(args) => diff::run(&cli.common, args),
        Verb::History(args) => history::run(&cli.common, args),
        Verb::Baseline(args) => baseline::run(&cli.common, args),
        Verb::Gate(args) => gate::run(&cli.common, args),
        Verb::Export(args) => export::run(&cli.common, args),
        Verb::Report(args) => report::run(&cli.common, args),
        Verb::Plot(args) => plot::run(&cli.common, args),
    }
}
