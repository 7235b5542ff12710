//! The table of figures in a document: rows of one bench replace its earlier ones, others stay.

use crate::paths;
use anyhow::{Context, Result};
use std::fmt;

/// One figure and what it is compared with.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// What was measured, with the options that matter.
    pub(super) figure: String,
    /// Ours, with its unit.
    pub(super) ours: String,
    /// What it is compared with.
    pub(super) reference: String,
    /// Ours ÷ the reference, with its spread where there is one; else empty.
    pub(super) ratio: String,
    /// What must be reached; empty where the row only informs.
    pub(super) goal: String,
    /// Whether it was; `None` where the row only informs.
    pub(super) reached: Option<bool>,
}

/// Line before a document's table; what follows up to the first line that is no row is the table.
const MARKER: &str = "<!-- written by `cargo xtask bench` -->";
const HEADING: &str =
    "| bench | figure | ours | reference | ratio | goal | |\n| --- | --- | --- | --- | --- | --- | --- |\n";

impl Row {
    fn verdict(&self) -> &'static str {
        match self.reached {
            Some(true) => "reached",
            Some(false) => "**missed**",
            None => "",
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.figure, self.ours)?;
        if !self.reference.is_empty() {
            write!(f, " against {}", self.reference)?;
        }
        if !self.ratio.is_empty() {
            write!(f, ", ratio {}", self.ratio)?;
        }
        if !self.goal.is_empty() {
            write!(f, " (goal {}: {})", self.goal, self.verdict().trim_matches('*'))?;
        }
        Ok(())
    }
}

/// Puts `rows` of the last bench in `order` into the document; `order` lists the benches up to it.
pub(super) fn write(document: &str, order: &[&str], rows: &[Row]) -> Result<()> {
    let path = paths::root().join(document);
    let text = paths::read(&path)?;
    let changed = replace(&text, order, rows).with_context(|| format!("{document} has no line `{MARKER}`"))?;
    paths::write(&path, changed)
}

fn replace(text: &str, order: &[&str], rows: &[Row]) -> Option<String> {
    let (name, before) = order.split_last()?;
    let (head, rest) = text.split_once(MARKER)?;
    let rest = rest.strip_prefix('\n').unwrap_or(rest);
    let old: Vec<&str> = rest.lines().take_while(|line| line.starts_with('|')).collect();
    let tail: usize = old.iter().map(|line| line.len() + 1).sum();
    let bench = |line: &str| line.trim_start_matches('|').split('|').next().unwrap_or_default().trim().to_owned();
    let kept = |wanted: bool| {
        let others = old.iter().skip(2).filter(|line| bench(line) != *name);
        others.filter(move |line| before.contains(&bench(line).as_str()) == wanted).map(|line| format!("{line}\n"))
    };
    let new = rows.iter().map(|row| {
        let Row { figure, ours, reference, ratio, goal, .. } = row;
        format!("| {name} | {figure} | {ours} | {reference} | {ratio} | {goal} | {} |\n", row.verdict())
    });
    let body: String = kept(true).chain(new).chain(kept(false)).collect();
    Some(format!("{head}{MARKER}\n{HEADING}{body}{}", rest.get(tail..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(figure: &str) -> Row {
        let text = String::new;
        Row { figure: figure.into(), ours: text(), reference: text(), ratio: text(), goal: text(), reached: None }
    }

    #[test]
    fn rows_of_other_benches_and_the_text_around_stay() {
        let empty = format!("above\n\n{MARKER}\n\nbelow\n");
        let second = replace(&empty, &["a", "b"], &[row("b1"), row("b2")]).unwrap();
        let first = replace(&second, &["a"], &[row("a1")]).unwrap();
        let again = replace(&first, &["a", "b"], &[row("b3")]).unwrap();
        let figures: Vec<&str> = again.lines().filter_map(|line| line.split('|').nth(2)).map(str::trim).collect();
        assert_eq!(figures, ["figure", "---", "a1", "b3"]);
        assert!(again.starts_with("above\n\n<!--") && again.ends_with("|\n\nbelow\n"), "{again}");
        assert_eq!(replace("no table", &["a"], &[]), None);
    }
}
