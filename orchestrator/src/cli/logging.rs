//! `-v` and `--log-file`: tracing, out of the way of progress bars.

use super::Common;
use indicatif::MultiProgress;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Mutex;
use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

/// Sets logging up for this process; `bars` are hidden while a line is written.
pub(super) fn init(common: &Common, bars: &MultiProgress) -> io::Result<()> {
    let level = match common.verbose {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    let terminal = fmt::layer().with_target(false).with_writer(BesideBars(bars.clone())).with_filter(level);
    let file = match &common.log_file {
        Some(path) => {
            let file = File::create(path).map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
            let everything = Targets::new().with_default(Level::INFO).with_target("latlab", Level::DEBUG);
            Some(fmt::layer().json().with_writer(Mutex::new(file)).with_filter(everything))
        }
        None => None,
    };
    // Only fails when a subscriber is set already, as in tests that run the command in-process.
    let _ = tracing_subscriber::registry().with(terminal).with(file).try_init();
    Ok(())
}

#[derive(Debug, Clone)]
struct BesideBars(MultiProgress);

impl<'a> MakeWriter<'a> for BesideBars {
    type Writer = Self;

    fn make_writer(&'a self) -> Self::Writer {
        self.clone()
    }
}

impl Write for BesideBars {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.suspend(|| io::stderr().write_all(line))?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
