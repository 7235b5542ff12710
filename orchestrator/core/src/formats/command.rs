//! A tool's command line, as a captured log or a result file repeats it. It tells units and widths that the
//! output itself does not.

use super::number::words;

/// Tools whose command lines are looked for, with the short options of each that take a value.
const TOOLS: [(&str, &str); 16] = [
    ("cyclictest", "aAbcdDFhHilopt"),
    ("signaltest", "abdDilpt"),
    ("pmqtest", "abdDiflptT"),
    ("ptsematest", "abdDilptT"),
    ("svsematest", "abdDilptT"),
    ("sigwaittest", "abdDilptT"),
    ("cyclicdeadline", "acdDist"),
    ("oslat", "bcCDfmtTwWzB"),
    ("hwlatdetect", ""),
    ("latency", "BcghHlpPtTDm"),
    ("klatency", "BcghHlpPtTD"),
    ("latmus", "ABcgHIOpPTv"),
    ("rtla", "abcCdDeEpPtTH"),
    ("timerlat", "abcCdDeEpPtTH"),
    ("hackbench", "fglsT"),
    ("jitterdebugger", "abcDfilnopst"),
];

/// A command line: the tool and its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) tool: &'static str,
    with_value: &'static str,
    words: Vec<String>,
}

impl Command {
    /// Finds the command line of a known tool in a line of text.
    pub(super) fn find(line: &[u8]) -> Option<Self> {
        const LONGEST: usize = 4096;
        let line = &line[..line.len().min(LONGEST)];
        let mut rest = words(line);
        let (tool, with_value) = rest.by_ref().find_map(|word| {
            let name = word.rsplit(|byte| *byte == b'/').next()?;
            let name = name.strip_suffix(b":").unwrap_or(name);
            TOOLS.iter().find(|(tool, _)| tool.as_bytes() == name).copied()
        })?;
        let words = rest.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        Some(Self { tool, with_value, words })
    }

    /// Has it any option? A tool's name in prose has none.
    pub(super) fn has_options(&self) -> bool {
        self.words.iter().any(|word| word.len() > 1 && word.starts_with('-'))
    }

    /// The value of an option: `-i 200`, `-i200`, `-qi200`, `--interval=200`, `--interval 200`.
    pub(super) fn value(&self, short: char, long: &str) -> Option<&str> {
        self.lookup(short, long).filter(|value| !value.is_empty())
    }

    /// The value of an option, if it is a whole number.
    pub(super) fn number(&self, short: char, long: &str) -> Option<u64> {
        self.value(short, long)?.parse().ok()
    }

    /// Is an option given at all?
    pub(super) fn has(&self, short: char, long: &str) -> bool {
        self.lookup(short, long).is_some()
    }

    fn lookup(&self, short: char, long: &str) -> Option<&str> {
        let mut words = self.words.iter().map(String::as_str).peekable();
        while let Some(word) = words.next() {
            if let Some(name) = word.strip_prefix("--") {
                match name.split_once('=') {
                    Some((name, value)) if name == long => return Some(value),
                    None if name == long && !long.is_empty() => return Some(words.peek().copied().unwrap_or("")),
                    _ => {}
                }
            } else if let Some(letters) = word.strip_prefix('-') {
                for (at, letter) in letters.char_indices() {
                    let rest = &letters[at + letter.len_utf8()..];
                    let takes_value = self.with_value.contains(letter);
                    if letter == short {
                        let next = words.peek().copied().filter(|_| takes_value).unwrap_or("");
                        return Some(if takes_value && !rest.is_empty() { rest } else { next });
                    }
                    if takes_value {
                        break;
                    }
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_in_every_spelling() {
        let line =
            b"am57xx:~# iperf -i5 & taskset -c 3 /usr/bin/cyclictest -n -m -Sp97 -qi200 --loops=500 --histogram 60 -N";
        let command = Command::find(line).unwrap();
        assert_eq!(command.tool, "cyclictest");
        assert_eq!(command.number('p', "prio"), Some(97));
        assert_eq!(command.number('i', "interval"), Some(200));
        assert_eq!(command.number('l', "loops"), Some(500));
        assert_eq!(command.number('h', "histogram"), Some(60));
        assert!(command.has('N', "nsecs"));
        assert!(!command.has('D', "duration"));
    }

    #[test]
    fn prose_is_no_command_line() {
        assert!(!Command::find(b"Without patch, cyclictest output:").unwrap().has_options());
        assert_eq!(Command::find(b"nothing here"), None);
    }
}
