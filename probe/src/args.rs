//! Command line words, by hand: options first named here are the only ones there are.

use crate::error::{Error, Result};
use std::{ffi::OsString, path::PathBuf};

/// Words of one command that were not used yet.
pub(crate) struct Args {
    command: &'static str,
    words: Vec<OsString>,
}

impl Args {
    pub(crate) fn new(command: &'static str, words: Vec<OsString>) -> Self {
        Self { command, words }
    }

    fn wrong(&self, what: impl std::fmt::Display) -> Error {
        Error::Usage(format!("latprobe {}: {what}", self.command))
    }

    /// Whether `--name` is there.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let before = self.words.len();
        self.words.retain(|word| word != name);
        self.words.len() < before
    }

    /// The text behind `--name`, in `--name=text`, or, for a single letter, in `-ntext`.
    pub(crate) fn option(&mut self, name: &str) -> Result<Option<String>> {
        let attached = |rest: &str| {
            if name.starts_with("--") { None } else { Some(rest.to_owned()).filter(|rest| !rest.is_empty()) }
        };
        let inline = |word: &OsString| {
            let rest = word.to_str()?.strip_prefix(name)?;
            rest.strip_prefix('=').map(str::to_owned).or_else(|| attached(rest))
        };
        if let Some(at) = self.words.iter().position(|word| inline(word).is_some()) {
            return Ok(inline(&self.words.remove(at)));
        }
        let Some(at) = self.words.iter().position(|word| word == name) else { return Ok(None) };
        if at + 1 >= self.words.len() {
            return Err(self.wrong(format_args!("{name} needs a value")));
        }
        let value = self.words.remove(at + 1).into_string();
        self.words.remove(at);
        value.map(Some).map_err(|_| self.wrong(format_args!("the value of {name} is not UTF-8")))
    }

    /// As [`Self::option`], a number.
    pub(crate) fn number(&mut self, name: &str) -> Result<Option<u64>> {
        let Some(text) = self.option(name)? else { return Ok(None) };
        text.parse().map(Some).map_err(|_| self.wrong(format_args!("{name} {text}: expected a whole number")))
    }

    /// As [`Self::option`], and it must be there.
    pub(crate) fn required(&mut self, name: &str) -> Result<String> {
        self.option(name)?.ok_or_else(|| self.wrong(format_args!("{name} is missing")))
    }

    /// The next word that is no option.
    pub(crate) fn word(&mut self, what: &str) -> Result<OsString> {
        let at = self.words.iter().position(|word| !word.as_encoded_bytes().starts_with(b"-"));
        at.map(|at| self.words.remove(at)).ok_or_else(|| self.wrong(format_args!("{what} is missing")))
    }

    pub(crate) fn path(&mut self, what: &str) -> Result<PathBuf> {
        self.word(what).map(PathBuf::from)
    }

    /// Everything was used.
    pub(crate) fn finish(self) -> Result<()> {
        match self.words.first() {
            None => Ok(()),
            Some(word) => Err(self.wrong(format_args!("unexpected `{}`", word.to_string_lossy()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(words: &[&str]) -> Args {
        Args::new("x", words.iter().map(OsString::from).collect())
    }

    #[test]
    fn options_in_any_place() {
        let mut a = args(&["--from", "7", "DIR", "--segment=2", "--all"]);
        assert_eq!(a.number("--segment").unwrap(), Some(2));
        assert_eq!(a.number("--from").unwrap(), Some(7));
        assert!(a.flag("--all"));
        assert_eq!(a.word("DIR").unwrap(), "DIR");
        a.finish().unwrap();
    }

    #[test]
    fn a_letters_value_may_be_attached() {
        let mut a = args(&["-g40", "-l", "30000", "-s=100", "-pT"]);
        let number = |a: &mut Args, name| a.number(name).unwrap();
        assert_eq!(
            (number(&mut a, "-g"), number(&mut a, "-l"), number(&mut a, "-s")),
            (Some(40), Some(30000), Some(100))
        );
        assert_eq!(a.finish().unwrap_err().to_string(), "latprobe x: unexpected `-pT`");
        // A long option's name may begin another one's.
        assert_eq!(args(&["--from7"]).number("--from").unwrap(), None);
    }

    #[test]
    fn mistakes_are_named() {
        for (words, expected) in [
            (&["--from"][..], "latprobe x: --from needs a value"),
            (&["--from", "a"], "latprobe x: --from a: expected a whole number"),
            (&["--from", "-1"], "latprobe x: --from -1: expected a whole number"),
        ] {
            assert_eq!(args(words).number("--from").unwrap_err().to_string(), expected);
        }
        assert_eq!(args(&["--what"]).finish().unwrap_err().to_string(), "latprobe x: unexpected `--what`");
        assert_eq!(args(&[]).word("DIR").unwrap_err().to_string(), "latprobe x: DIR is missing");
    }
}
