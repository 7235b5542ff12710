//! Look-up in a capture.

use latprobe::status::Capture;
use std::collections::BTreeMap;
use std::ops::Bound;

/// The captured files by path.
pub(super) struct Captures<'a>(BTreeMap<&'a str, &'a Capture>);

impl<'a> Captures<'a> {
    pub(super) fn new(captures: &'a [Capture]) -> Self {
        Self(captures.iter().map(|c| (c.path.as_str(), c)).collect())
    }

    /// Content without trailing blanks and NULs.
    pub(super) fn text(&self, path: &str) -> Option<&'a str> {
        self.0.get(path)?.text.as_deref().map(trim_end)
    }

    /// A single number or word: content without blanks around it, `None` when nothing is left.
    pub(super) fn word(&self, path: &str) -> Option<&'a str> {
        self.text(path).map(str::trim).filter(|t| !t.is_empty())
    }

    /// The first of `paths` that has content.
    pub(super) fn first_word(&self, paths: &[&str]) -> Option<&'a str> {
        paths.iter().find_map(|path| self.word(path))
    }

    pub(super) fn number<T: std::str::FromStr>(&self, path: &str) -> Option<T> {
        self.word(path)?.parse().ok()
    }

    /// Captures whose path starts with `prefix`: (rest of the path, text); no text where the board has no such thing.
    /// What could not be looked at is left out.
    pub(super) fn figures<'s>(&'s self, prefix: &'s str) -> impl Iterator<Item = (&'a str, Option<&'a str>)> + 's {
        self.all(prefix).filter_map(|(rest, capture)| match (&capture.text, capture.error.as_deref()) {
            (Some(text), _) => Some((rest, Some(trim_end(text)))),
            (None, Some("ENOENT")) => Some((rest, None)),
            (None, _) => None,
        })
    }

    /// The board has no such file, as opposed to one that could not be read.
    pub(super) fn is_missing(&self, path: &str) -> bool {
        self.0.get(path).is_some_and(|capture| capture.error.as_deref() == Some("ENOENT"))
    }

    /// Anything whose path starts with `prefix` was captured.
    pub(super) fn has(&self, prefix: &str) -> bool {
        self.all(prefix).next().is_some()
    }

    /// Content of the first file whose path starts with `prefix` and ends with `suffix`.
    pub(super) fn ending(&self, prefix: &str, suffix: &str) -> Option<&'a str> {
        self.under(prefix).find(|(rest, _)| rest.ends_with(suffix)).map(|(_, text)| text)
    }

    /// Captures whose path starts with `prefix` and holds text: (rest of the path, text).
    pub(super) fn under<'s>(&'s self, prefix: &'s str) -> impl Iterator<Item = (&'a str, &'a str)> + 's {
        self.all(prefix).filter_map(|(rest, capture)| Some((rest, trim_end(capture.text.as_deref()?))))
    }

    fn all<'s>(&'s self, prefix: &'s str) -> impl Iterator<Item = (&'a str, &'a Capture)> + 's {
        self.0
            .range::<str, _>((Bound::Included(prefix), Bound::Unbounded))
            .map_while(move |(path, capture)| Some((path.strip_prefix(prefix)?, *capture)))
    }
}

/// Device-tree strings end with a NUL.
fn trim_end(text: &str) -> &str {
    text.trim_end_matches(|c: char| c == '\0' || c.is_whitespace())
}
