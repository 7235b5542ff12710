//! `latlab campaign`: makes campaign files.

use super::Common;
use super::show::print;
use crate::exit::Exit;
use latlab_core::campaign::{Overrides, from_cyclictest, load};
use std::io::Write;
use std::path::PathBuf;

/// Makes campaign files.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    FromCyclictest(FromCyclictest),
}

/// Writes the campaign that measures as a cyclictest command line does.
///
/// Options of cyclictest 0.x to 2.x. What cannot be expressed is an error with the reason; exit code 2.
#[derive(Debug, clap::Args)]
struct FromCyclictest {
    /// The whole command, in quotes: 'cyclictest -l43200000 -a 1 -m -n -p98 -i1000 -h200 -q'.
    #[arg(value_name = "COMMAND")]
    command: String,
    /// Name of the campaign.
    #[arg(long, default_value = "from-cyclictest")]
    name: String,
    /// Board that the campaign names; may be repeated.
    #[arg(long = "target", value_name = "TARGET")]
    targets: Vec<String>,
    /// File to write, which must not be there; default: stdout.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the verb.
pub(super) fn run(common: &Common, args: &Args) -> Exit {
    let Verb::FromCyclictest(args) = &args.verb;
    let complain = |text: &str| {
        let _ = writeln!(std::io::stderr(), "error: {text}");
    };
    let text = match from_cyclictest(&args.command, &args.name, &args.targets) {
        Ok(text) => text,
        Err(errors) => {
            errors.iter().for_each(|error| complain(&error.to_string()));
            return Exit::Usage;
        }
    };
    // A name that is fit for no file is found here.
    if let Err(found) = load("--name", &text, &Overrides::default()) {
        super::diagnostics::print(common, &found);
        return Exit::Usage;
    }
    let Some(path) = &args.output else {
        print(&text);
        return Exit::Success;
    };
    let written = std::fs::File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    match written {
        Ok(()) => Exit::Success,
        Err(error) => {
            complain(&format!("cannot write {}: {error}", path.display()));
            Exit::Usage
        }
    }
}
