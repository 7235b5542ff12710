//! Built-in stress loads, for boards that have none.

mod hackbench;

use crate::{
    args::Args,
    error::{Error, Result},
};

/// `latprobe load NAME …`
pub(crate) fn load(mut args: Args) -> Result<()> {
    match args.word("the load's name")?.to_str() {
        Some("hackbench") => hackbench::run(args),
        other => {
            let name = other.unwrap_or_default();
            Err(Error::Usage(format!("latprobe load: no load `{name}`, there is: hackbench")))
        }
    }
}
