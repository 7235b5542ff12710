//! Every foreign format, in and out.
//!
//! [`import`] reads a file of any known tool into [`Measurement`]s. What a file is, its content tells: every line is
//! offered to every format, so a log may hold several runs of several tools. Nothing is repaired: what is missing is
//! absent, what disagrees is a warning, and a file without data is refused with the reason.
//!
//! Memory is bounded whatever the input: lines, tokens, bins and threads have limits, and only occupied bins are kept.

mod collect;
mod command;
mod cyclictest;
pub mod export;
mod hackbench;
mod hwlatdetect;
mod json;
mod lava;
mod line;
mod measurement;
mod number;
mod oslat;
mod pairs;
mod plot;
mod rteval_text;
mod rteval_xml;
mod rtla_hist;
mod rtla_top;
mod xenomai;

pub use measurement::{Kind, Layer, Measurement, Thread};

use collect::{Collector, Family};
use std::fmt;
use std::io::{self, BufRead};

/// Version of the parser rules; it changes when a rule reads a number differently than before.
pub const RULES_VERSION: u32 = 1;

/// A format that can be read; the name is what `--as` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// cyclictest text of every version, and tools with the same lines.
    Cyclictest,
    /// The same with all values in nanoseconds, for `-N` output that does not show it.
    CyclictestNs,
    /// `--json` of the rt-tests.
    RtTestsJson,
    /// pmqtest, ptsematest, svsematest, sigwaittest text.
    RtTestsPairs,
    /// Xenomai, RTAI and latmus text.
    Xenomai,
    /// Plot files of Xenomai `latency -g` and latmus.
    Plot,
    /// `rtla timerlat hist`.
    RtlaHist,
    /// `rtla timerlat top`.
    RtlaTop,
    /// JSON of Linaro's `parse_rtla.py`.
    LinaroRtla,
    /// jitterdebugger JSON.
    Jitterdebugger,
    /// rteval `summary.xml`.
    RtevalXml,
    /// rteval's text report.
    RtevalText,
    /// OSADL RT Dataset 1.0.
    RtDataset,
    /// LAVA and Linaro result lines.
    Lava,
    /// oslat text.
    Oslat,
    /// hwlatdetect text.
    Hwlatdetect,
    /// hackbench text.
    Hackbench,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 17] = [
        Self::Cyclictest,
        Self::CyclictestNs,
        Self::RtTestsJson,
        Self::RtTestsPairs,
        Self::Xenomai,
        Self::Plot,
        Self::RtlaHist,
        Self::RtlaTop,
        Self::LinaroRtla,
        Self::Jitterdebugger,
        Self::RtevalXml,
        Self::RtevalText,
        Self::RtDataset,
        Self::Lava,
        Self::Oslat,
        Self::Hwlatdetect,
        Self::Hackbench,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cyclictest => "cyclictest",
            Self::CyclictestNs => "cyclictest-ns",
            Self::RtTestsJson => "rt-tests-json",
            Self::RtTestsPairs => "rt-tests-pairs",
            Self::Xenomai => "xenomai",
            Self::Plot => "plot",
            Self::RtlaHist => "rtla-hist",
            Self::RtlaTop => "rtla-top",
            Self::LinaroRtla => "linaro-rtla",
            Self::Jitterdebugger => "jitterdebugger",
            Self::RtevalXml => "rteval-xml",
            Self::RtevalText => "rteval-text",
            Self::RtDataset => "rt-dataset",
            Self::Lava => "lava",
            Self::Oslat => "oslat",
            Self::Hwlatdetect => "hwlatdetect",
            Self::Hackbench => "hackbench",
        }
    }

    /// Does `--as` with this format mean a document of `format`? Tools with text and JSON go by one name.
    fn names(self, format: Self) -> bool {
        let also = match format {
            Self::RtTestsJson => &[Self::Cyclictest, Self::CyclictestNs, Self::RtTestsPairs, Self::Oslat][..],
            Self::LinaroRtla => &[Self::RtlaHist],
            _ => &[],
        };
        self == format || also.contains(&self)
    }

    /// A reader of the format, if it is one of lines that no other reader takes.
    fn family(self) -> Option<Box<dyn Family>> {
        Some(match self {
            Self::Cyclictest | Self::Jitterdebugger => Box::new(cyclictest::Cyclictest::default()),
            Self::CyclictestNs => Box::new(cyclictest::Cyclictest::default()),
            Self::RtTestsPairs => Box::new(pairs::Pairs::default()),
            Self::Xenomai => Box::new(xenomai::Xenomai::default()),
            Self::Plot => Box::new(plot::Plot::default()),
            Self::RtlaHist => Box::new(rtla_hist::RtlaHist::default()),
            Self::RtlaTop => Box::new(rtla_top::RtlaTop::default()),
            Self::RtevalText => Box::new(rteval_text::RtevalText::default()),
            Self::Lava => Box::new(lava::Lava::default()),
            Self::Oslat => Box::new(oslat::Oslat::default()),
            Self::Hwlatdetect => Box::new(hwlatdetect::Hwlatdetect::default()),
            Self::Hackbench => Box::new(hackbench::Hackbench::default()),
            Self::RtTestsJson | Self::LinaroRtla | Self::RtDataset | Self::RtevalXml => return None,
        })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a file is no result, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refusal {
    /// The reason.
    pub reason: Reason,
    /// Line it refers to.
    pub line: Option<u64>,
}

/// Why a file is no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Nothing but blanks.
    #[error("the file is empty")]
    Empty,
    /// Not text.
    #[error("binary data, not the output of a measuring tool")]
    Binary,
    /// Text in two-byte characters.
    #[error("UTF-16 text: convert it to UTF-8 first (iconv -f UTF-16 -t UTF-8)")]
    Utf16,
    /// The tool printed its help instead of measuring.
    #[error("help text instead of data{}", .0.as_ref().map_or(String::new(), |option| format!(": {option} (this version of the tool does not know an option of the command line)")))]
    Help(Option<String>),
    /// Recognised, but nothing was measured.
    #[error("no data: {0}")]
    NoData(String),
    /// Not recognised.
    #[error("not the output of a known measuring tool (formats: {})", names())]
    Unknown,
    /// Not what `--as` says.
    #[error("no {0} data in it")]
    NotThat(Format),
    /// JSON, but of no known tool.
    #[error("JSON, but not of a known measuring tool")]
    UnknownJson,
    /// Not JSON although it begins like it.
    #[error("not valid JSON from line {0} on, and nothing of a known tool before it")]
    BrokenJson(u64),
    /// XML, but not rteval's.
    #[error("XML, but not an rteval summary")]
    UnknownXml,
    /// More than any tool writes.
    #[error("more bins or threads than any tool writes: not a measurement")]
    TooLarge,
}

fn names() -> String {
    Format::ALL.map(Format::name).join(", ")
}

/// Why a file could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is no result.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// How a file is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// The file's name: a hint only where two tools print the same lines.
    pub name: &'a str,
    /// The format, instead of recognising it.
    pub only: Option<Format>,
    /// Leave [`Thread::bins`] empty: a report without them needs little memory, however large the file.
    pub without_bins: bool,
}

/// Reads a file of any known format.
pub fn import(mut reader: impl BufRead, options: Options<'_>) -> Result<Vec<Measurement>, ImportError> {
    let only = options.only;
    let head = reader.fill_buf()?;
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return Err(Refusal { reason: Reason::Utf16, line: None }.into());
    }
    let bom = if head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let xml = is_xml(&head[bom..]);
    reader.consume(bom);
    if (xml && only.is_none()) || only == Some(Format::RtevalXml) {
        let read = rteval_xml::read(reader, options.without_bins);
        return read.map_err(|failure| match failure {
            rteval_xml::Failure::Io(error) => ImportError::Io(error),
            rteval_xml::Failure::Refused(reason) => Refusal { reason, line: None }.into(),
        });
    }
    let mut collector = Collector::new(options);
    line::feed(reader, &mut collector)?;
    Ok(collector.finish()?)
}

fn is_xml(head: &[u8]) -> bool {
    let head = head.trim_ascii_start();
    [&b"<?xml"[..], b"<rteval", b"<!DOCTYPE", b"<!--", b"<html"].iter().any(|start| head.starts_with(start))
}
