//! `cargo xtask test`: every test, with what it needs fetched first, and one line at the end.

use crate::cross::Kind;
use crate::shell::Interrupt;
use crate::{build, cross, emulated, shell, toolchain, tools};
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Without the slow parts.
    #[arg(long)]
    quick: bool,
    /// Only the tests on emulated boards whose names contain this text.
    #[arg(long, value_name = "TEXT", conflicts_with = "quick")]
    emulated: Option<String>,
}

/// How many ran.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    passed: u32,
    failed: u32,
    skipped: u32,
}

impl std::ops::AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

pub(crate) fn main(options: &Options) -> Result<ExitCode> {
    let mut count = Count::default();
    if let Some(text) = &options.emulated {
        boards(&mut count, text)?;
        return Ok(close(count));
    }
    if let Err(error) = tools::ensure(&tools::LOOPBACK) {
        skip(&mut count, "servers and loads for tests on this machine", &error);
    }
    if let Err(error) = tools::ensure(&tools::BROWSER) {
        skip(&mut count, "the browser that looks at pages", &error);
    }
    cross::build(Kind::X86_64)?;
    count += cargo_test(&["--workspace"])?;
    if !options.quick {
        slow(&mut count)?;
    }
    Ok(close(count))
}

/// ARM code under user-mode emulation, the same bits from another checkout, emulated boards.
fn slow(count: &mut Count) -> Result<()> {
    for kind in [Kind::Armv7, Kind::Aarch64] {
        let what = format!("unit tests of the probe as {} code", kind.triple());
        match toolchain::test_command(kind) {
            Ok(Some(command)) => match tested(command) {
                Ok(arm) => *count += arm,
                Err(error) => failed(count, &what, &error),
            },
            Ok(None) => {}
            Err(error) => skip(count, &what, &error),
        }
    }
    one(count, "the probe has the same bits from any checkout path", cross::same_bits_from_any_path);
    one(count, "runs survive 20 seeded faults", faults);
    boards(count, "")
}

/// In a process of its own, which gives itself namespaces.
fn faults() -> Result<()> {
    let own = std::env::current_exe().context("no own program")?;
    shell::run(Command::new(own).args(["faults", "--count", "20"]))
}

/// Campaigns on emulated boards; those tests whose names contain `text`.
fn boards(count: &mut Count, text: &str) -> Result<()> {
    let interrupt = Interrupt::hold()?;
    let mut cases = emulated::cases();
    cases.retain(|case| case.name().contains(text) && !(text.is_empty() && case.is_slow()));
    let latlab = match emulated::prepare(&cases) {
        Ok(latlab) => latlab,
        Err(error) => {
            skip(count, "emulated boards", &error);
            return Ok(());
        }
    };
    for case in &cases {
        one(count, &case.name(), || emulated::run(case, &latlab, &interrupt));
        interrupt.check()?;
    }
    Ok(())
}

/// Runs and counts one test.
fn one(count: &mut Count, what: &str, test: impl FnOnce() -> Result<()>) {
    let start = Instant::now();
    println!("\ntest {what}");
    match test() {
        Ok(()) => {
            println!("ok: {what} ({:.0} s)", start.elapsed().as_secs_f64());
            count.passed += 1;
        }
        Err(error) => failed(count, what, &error),
    }
}

fn failed(count: &mut Count, what: &str, why: &anyhow::Error) {
    println!("FAILED: {what}: {why:#}");
    count.failed += 1;
}

/// A part that cannot run here. Under `CI=true` everything must run, so there it is a failure.
fn skip(count: &mut Count, what: &str, why: &anyhow::Error) {
    if std::env::var("CI").is_ok_and(|value| value == "true") {
        println!("FAILED: {what}: cannot run, and CI=true: {why:#}");
        count.failed += 1;
    } else {
        println!("SKIPPED: {what}: {why:#}");
        count.skipped += 1;
    }
}

/// The last line.
pub(crate) fn close(count: Count) -> ExitCode {
    println!("{count}");
    if count.failed == 0 && count.passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs `cargo test` with the fetched programs in reach, shows its output and counts.
pub(crate) fn cargo_test(arguments: &[&str]) -> Result<Count> {
    let mut command = build::cargo();
    command.args(["test", "--locked", "--no-fail-fast"]).args(arguments);
    tested(command)
}

/// Runs a `cargo test`, shows its output and counts.
fn tested(mut command: Command) -> Result<Count> {
    command.env("PATH", tools::path()?).stdout(Stdio::piped());
    let mut child = command.spawn().context("cannot start cargo test")?;
    let stdout = child.stdout.take().context("cargo test has no output")?;
    let mut count = Count::default();
    for line in BufReader::new(stdout).lines() {
        let line = line.context("cannot read cargo test's output")?;
        println!("{line}");
        if let Some(summary) = line.strip_prefix("test result: ") {
            count += parse_summary(summary);
        }
    }
    let status = child.wait().context("cargo test is gone")?;
    if !status.success() && count.failed == 0 {
        println!("FAILED: `{}`: {status}", shell::text(&command));
        count.failed += 1;
    }
    Ok(count)
}

/// `ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s`
fn parse_summary(summary: &str) -> Count {
    let number = |word: &str| {
        summary
            .split([';', '.'])
            .find_map(|part| part.trim().strip_suffix(word)?.trim().parse::<u32>().ok())
            .unwrap_or_default()
    };
    Count { passed: number("passed"), failed: number("failed"), skipped: number("ignored") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_cargo_test_prints() {
        let count =
            parse_summary("FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.01s");
        assert_eq!(count, Count { passed: 12, failed: 3, skipped: 1 });
    }

    #[test]
    fn nothing_ran_is_no_success() {
        assert_eq!(format!("{:?}", close(Count::default())), format!("{:?}", ExitCode::FAILURE));
    }
}
