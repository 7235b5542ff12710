//! `latprobe`: the whole board side of latlab.

mod args;
mod error;
mod facts;
mod load;
mod lock;
mod measure;
mod rt;
mod supervise;

use args::Args;
use error::{Doing, Error, Result};
use serde::Serialize;
use std::{
    collections::BinaryHeap,
    ffi::OsString,
    io::{self, Write},
    process::ExitCode,
};

const USAGE: &str = "\
latprobe measures scheduling latency on a board; `latlab` on the host drives it.

  latprobe run DIR [--continue]              start the run that DIR/spec.json describes
  latprobe status DIR                        where it stands
  latprobe follow DIR --segment N --from BYTE [--max BYTES]
                                             one piece of its checkpoint stream
  latprobe stop DIR [--timeout SECONDS]      end it in good order
  latprobe restore DIR                       put back what a cut-off run left changed
  latprobe remove DIR                        remove the directory of a run that is over
  latprobe facts [--workdir DIR]... [--since MONO_NS]
                                             the state of the board, as JSON Lines
  latprobe lock take|show|release WORKDIR [--holder NAME --execution ID [--run ID] [--steal]]
                                             who uses the board
  latprobe selftest                          what the board's clock can do
  latprobe load hackbench [-g GROUPS] [-l LOOPS] [-s BYTES] [-p] [-T]
                                             built-in stress load
  latprobe --version

Exit codes: 0 done, 1 failed or refused, 2 usage, 3 the board is held by someone else.";

fn main() -> ExitCode {
    match dispatch() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Standard error may be gone; the exit code still tells.
            let _ = writeln!(io::stderr(), "latprobe: {error}");
            ExitCode::from(error.code())
        }
    }
}

fn dispatch() -> Result<()> {
    let mut words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if words.is_empty() {
        return Err(Error::Usage(format!("no command\n\n{USAGE}")));
    }
    let command = words.remove(0);
    match command.to_str().unwrap_or_default() {
        "run" => supervise::run(Args::new("run", words)),
        "supervise" => supervise::supervise(Args::new("supervise", words)),
        "exec-load" => supervise::exec_load(words),
        "status" => supervise::status(Args::new("status", words)),
        "follow" => supervise::follow(Args::new("follow", words)),
        "stop" => supervise::stop(Args::new("stop", words)),
        "restore" => supervise::restore(Args::new("restore", words)),
        "remove" => supervise::remove(Args::new("remove", words)),
        "facts" => facts::facts(Args::new("facts", words)),
        "lock" => lock::lock(Args::new("lock", words)),
        "selftest" => selftest(Args::new("selftest", words)),
        "load" => load::load(Args::new("load", words)),
        "--version" | "-V" => print(&version()),
        "--help" | "-h" | "help" => print(USAGE),
        _ => Err(Error::Usage(format!("unknown command `{}`\n\n{USAGE}", command.to_string_lossy()))),
    }
}

fn version() -> String {
    format!(
        "latprobe {} (spec {}, stream {}, {})",
        env!("CARGO_PKG_VERSION"),
        latprobe::spec::SPEC_FORMAT,
        latprobe::stream::STREAM_FORMAT,
        std::env::consts::ARCH
    )
}

fn selftest(args: Args) -> Result<()> {
    args.finish()?;
    let (_, _, result) = measure::selftest().doing(|| "no usable clock")?;
    print_json(&result)
}

/// In ascending order. A heap, because the standard sorts would be a twentieth of the binary for lists of a few.
fn sorted<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    items.into_iter().collect::<BinaryHeap<T>>().into_sorted_vec()
}

/// One JSON line on standard output.
fn print_json(value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(value).map_err(|error| Error::io("cannot encode the answer", error.into()))?;
    print(&text)
}

fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).doing(|| "cannot write to standard output")
}
