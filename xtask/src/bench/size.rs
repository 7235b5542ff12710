//! Size of the probe as it goes to boards.

use super::{Depth, table::Row};
use crate::cross::{self, Kind};
use anyhow::{Context, Result};

const GOAL_BYTES: u64 = 1_000_000;

pub(super) fn run(depth: Depth) -> Result<Vec<Row>> {
    let kinds = if depth == Depth::Quick { &[Kind::X86_64][..] } else { &Kind::ALL[..] };
    kinds.iter().map(|kind| row(*kind)).collect()
}

fn row(kind: Kind) -> Result<Row> {
    let binary = cross::build(kind)?;
    let bytes = std::fs::metadata(&binary).with_context(|| format!("cannot read {}", binary.display()))?.len();
    let asked = kind != Kind::X86_64;
    #[expect(clippy::cast_precision_loss, reason = "a few megabytes")]
    let megabytes = bytes as f64 / 1e6;
    Ok(Row {
        figure: format!("static stripped binary, {}", kind.triple()),
        ours: format!("{megabytes:.2} MB"),
        reference: String::new(),
        ratio: String::new(),
        goal: if asked { "≤ 1 MB".into() } else { String::new() },
        reached: asked.then_some(bytes <= GOAL_BYTES),
    })
}
