//! What must be true of a stored run, and of the board after it.

use crate::lab::Powered;
use crate::{demo, shell};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;

/// The stored run, as programs get it.
pub(super) fn stored(latlab: &Path, results: &Path) -> Result<Value> {
    let mut show = demo::latlab_command(latlab)?;
    show.args(["show", "--format", "json", "--results"]).arg(results);
    let text = shell::output(&mut show)?;
    serde_json::from_str(&text).with_context(|| format!("latlab show printed {text}"))
}

/// Whether nothing but the board's own complaint about a late timer interrupt is wrong with the run.
pub(super) fn host_stalled(result: &Value) -> bool {
    let late_timer = |finding: &&Value| {
        finding["rule"] == "kernel-log"
            && finding["detail"].as_str().is_some_and(|detail| detail.contains("hrtimer: interrupt took"))
    };
    let findings = result["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut broken = findings.iter().filter(|f| f["outcome"] == "degrades" || f["outcome"] == "invalidates").peekable();
    result["validity"] == "DEGRADED" && broken.peek().is_some() && broken.all(|finding| late_timer(&finding))
}

/// Nothing lost, nothing counted twice, nothing to complain about.
pub(super) fn whole(code: i32, result: &Value) -> Result<()> {
    let number = |pointer: &str| {
        result.pointer(pointer).and_then(Value::as_u64).with_context(|| format!("no {pointer} in the result"))
    };
    let (cycles, missed, expected) =
        (number("/total/cycles")?, number("/total/missed")?, number("/total/expected_cycles")?);
    println!("{cycles} cycles and {missed} missed periods of {expected}, {}, exit code {code}", result["validity"]);
    ensure!(result["validity"] == "VALID", "{} because of {}", result["validity"], broken_rules(result));
    ensure!(cycles + missed == expected, "{cycles} cycles and {missed} missed periods are not {expected}");
    ensure!(cycles > 0, "no cycle");
    ensure!(result["emulated"] == true, "the figures are not marked as emulated");
    ensure!(code == 0, "exit code {code}");
    Ok(())
}

/// A reset in the midst: all that was asked for was measured in two segments, and the judgement says so.
pub(super) fn gone_on(code: i32, result: &Value) -> Result<()> {
    let number = |pointer: &str| {
        result.pointer(pointer).and_then(Value::as_u64).with_context(|| format!("no {pointer} in the result"))
    };
    let (periods, expected) = (number("/total/cycles")? + number("/total/missed")?, number("/total/expected_cycles")?);
    println!("{periods} periods of {expected}, {}, exit code {code}", result["validity"]);
    ensure!(result["validity"] == "DEGRADED", "{} because of {}", result["validity"], broken_rules(result));
    ensure!(finding(result, "boot").contains("2 boots are added up"), "{}", broken_rules(result));
    ensure!(periods.abs_diff(expected) <= expected / 100, "{periods} periods of {expected}");
    ensure!(code == 0, "exit code {code}");
    Ok(())
}

/// The kernel had to kill a load.
pub(super) fn out_of_memory(code: i32, result: &Value) -> Result<()> {
    println!("{}, exit code {code}: {}", result["validity"], finding(result, "out-of-memory"));
    ensure!(result["validity"] == "INVALID" && code == 6, "{}, exit code {code}", result["validity"]);
    ensure!(broken_rules(result).contains("out-of-memory"), "{}", broken_rules(result));
    Ok(())
}

/// What a rule found.
fn finding<'a>(result: &'a Value, rule: &str) -> &'a str {
    let findings = result["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let found = findings.iter().find(|finding| finding["rule"] == rule);
    found.and_then(|finding| finding["detail"].as_str()).unwrap_or_default()
}

/// Something ended the measurement: what came home before it counts, and nobody calls it whole.
pub(super) fn interrupted(code: i32, result: &Value) -> Result<()> {
    let cycles = result.pointer("/total/cycles").and_then(Value::as_u64).unwrap_or_default();
    println!("{cycles} cycles, {}, exit code {code}", result["validity"]);
    ensure!(cycles > 0, "the checkpoints are gone");
    ensure!(result["validity"] == "INVALID", "a run that was ended is {}", result["validity"]);
    ensure!(code == 6 || code == 5, "exit code {code}");
    Ok(())
}

/// Rules that do not hold, for the message.
pub(super) fn broken_rules(result: &Value) -> String {
    let findings = result["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let broken = findings.iter().filter(|finding| finding["outcome"] != "ok");
    broken.map(|finding| format!("{} ({})", finding["rule"], finding["detail"])).collect::<Vec<_>>().join(", ")
}

/// No run, lock, load or process of the probe on the board.
pub(super) fn nothing_left(board: &Powered) -> Result<()> {
    let left = board.shell(
        "for dir in /var/lib/latlab /var/tmp/latlab /tmp/latlab; do ls -d $dir/lock.json $dir/runs/* 2>/dev/null; done\n\
         for process in /proc/[0-9]*; do tr '\\0' ' ' < $process/cmdline 2>/dev/null | grep -E '^[^ ]*(latprobe|hackbench|dd) '; done\n\
         true",
    )?;
    ensure!(left.trim().is_empty(), "left on the board: {}", left.trim());
    Ok(())
}
