//! Campaign files as users write them, right and wrong.

mod bad;
mod cyclictest;
mod fits;
mod layers;
mod robust;

use super::{Loaded, Overrides, load};
use crate::diagnostic::testing::lines;

/// A file with these lines after the two that every campaign needs.
fn file(lines: &str) -> String {
    format!("name = \"t\"\nduration = \"10s\"\n{lines}\n")
}

fn good(text: &str) -> Loaded {
    load("c.toml", text, &Overrides::default()).unwrap_or_else(|found| panic!("{:#?}", lines(&found)))
}

fn good_with(text: &str, set: &[(&str, &str)], only: &[(&str, &str)]) -> Loaded {
    load("c.toml", text, &overrides(set, only)).unwrap_or_else(|found| panic!("{:#?}", lines(&found)))
}

fn overrides(set: &[(&str, &str)], only: &[(&str, &str)]) -> Overrides {
    let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let choice = |(key, values): &(&str, &str)| ((*key).to_owned(), values.split(',').map(str::to_owned).collect());
    Overrides { set: set.iter().map(pair).collect(), only: only.iter().map(choice).collect(), targets: Vec::new() }
}

/// The errors of a file, one line each.
fn bad(text: &str) -> Vec<String> {
    bad_with(text, &Overrides::default())
}

fn bad_with(text: &str, overrides: &Overrides) -> Vec<String> {
    lines(&load("c.toml", text, overrides).expect_err("the file is wrong"))
}

fn names(loaded: &Loaded) -> Vec<&str> {
    loaded.campaign.cells.iter().map(|cell| cell.name.as_str()).collect()
}
