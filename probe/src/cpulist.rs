//! The kernel's CPU list text: `0-3,5`, `""`, `0-6:1/2`.

use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, fmt, str::FromStr};

/// Largest CPU number accepted, the kernel's `CONFIG_NR_CPUS` ceiling.
pub const MAX_CPU: u32 = 8191;

/// A sorted set of CPU numbers. In JSON it is its text.
#[derive(Debug, Clone, PartialEq, Eq, Default, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuList(Vec<u32>);

/// Why a text is no CPU list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadCpuList {
    /// The part that could not be read.
    pub part: String,
}

impl fmt::Display for BadCpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no CPU list: expected numbers and ranges up to {MAX_CPU}, like `0-3,5`", self.part)
    }
}

impl std::error::Error for BadCpuList {}

impl CpuList {
    /// Parses the kernel's list format, strides (`0-6:1/2`, used of every used+… group) included.
    /// Empty text is the empty set.
    pub fn parse(text: &str) -> Result<Self, BadCpuList> {
        let text = text.trim();
        let mut cpus = Vec::new();
        if text.is_empty() {
            return Ok(Self(cpus));
        }
        for part in text.split(',') {
            let bad = || BadCpuList { part: part.to_owned() };
            let number = |s: &str| {
                let digits = !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
                digits.then(|| s.parse::<u32>().ok()).flatten().filter(|n| *n <= MAX_CPU).ok_or_else(bad)
            };
            let part_text = part.trim();
            let (range, stride) = match part_text.split_once(':') {
                Some((range, stride)) => (range, Some(stride)),
                None => (part_text, None),
            };
            let (first, last) = match range.split_once('-') {
                Some((first, last)) => (number(first)?, number(last)?),
                None if stride.is_some() => return Err(bad()),
                None => (number(range)?, number(range)?),
            };
            if last < first {
                return Err(bad());
            }
            let (used, group) = match stride {
                Some(stride) => {
                    let (used, group) = stride.split_once('/').ok_or_else(bad)?;
                    (number(used)?, number(group)?)
                }
                None => (1, 1),
            };
            if used == 0 || used > group {
                return Err(bad());
            }
            cpus.extend((first..=last).filter(|cpu| (cpu - first) % group < used));
        }
        Ok(cpus.into_iter().collect())
    }

    /// The CPU numbers in ascending order.
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }

    /// No CPU at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of CPUs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether `cpu` is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.binary_search(&cpu).is_ok()
    }

    /// The CPUs of this set that are not in `other`.
    pub fn without(&self, other: &Self) -> Self {
        self.0.iter().copied().filter(|cpu| !other.contains(*cpu)).collect()
    }
}

impl FromStr for CpuList {
    type Err = BadCpuList;

    fn from_str(text: &str) -> Result<Self, BadCpuList> {
        Self::parse(text)
    }
}

impl TryFrom<String> for CpuList {
    type Error = BadCpuList;

    fn try_from(text: String) -> Result<Self, BadCpuList> {
        Self::parse(&text)
    }
}

impl From<CpuList> for String {
    fn from(list: CpuList) -> Self {
        list.to_string()
    }
}

impl FromIterator<u32> for CpuList {
    fn from_iter<I: IntoIterator<Item = u32>>(iter: I) -> Self {
        Self(iter.into_iter().collect::<BTreeSet<u32>>().into_iter().collect())
    }
}

/// The shortest kernel-style text: `0-3,5`.
impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_slice();
        let mut separator = "";
        while let [first, ..] = rest {
            let run = rest.iter().zip(*first..).take_while(|(cpu, expected)| *cpu == expected).count();
            let last = rest[run - 1];
            match run {
                1 => write!(f, "{separator}{first}")?,
                _ => write!(f, "{separator}{first}-{last}")?,
            }
            rest = &rest[run..];
            separator = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_kernels_write() {
        for (text, expected) in [
            ("", &[][..]),
            ("\n", &[]),
            ("0", &[0]),
            ("0-3\n", &[0, 1, 2, 3]),
            ("1,3-4,1", &[1, 3, 4]),
            ("0-6:1/2", &[0, 2, 4, 6]),
            ("0-7:2/4", &[0, 1, 4, 5]),
        ] {
            assert_eq!(CpuList::parse(text).unwrap().as_slice(), expected, "{text:?}");
        }
    }

    #[test]
    fn refuses_everything_else() {
        for text in ["a", "1-", "-1", "3-1", "0,,1", "1:1/2", "0-3:0/2", "0-3:3/2", "+1", "9999", "0-99999999999"] {
            assert!(CpuList::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn text_is_shortest_and_reads_back() {
        for (cpus, text) in [(&[][..], ""), (&[2, 1, 0, 5], "0-2,5"), (&[7, 9], "7,9")] {
            let list: CpuList = cpus.iter().copied().collect();
            assert_eq!(list.to_string(), text);
            assert_eq!(CpuList::parse(text).unwrap(), list);
            let json = serde_json::to_string(&list).unwrap();
            assert_eq!(json, format!("{text:?}"));
            assert_eq!(serde_json::from_str::<CpuList>(&json).unwrap(), list);
        }
    }

    #[test]
    fn a_stored_text_that_is_no_list_is_refused_by_name() {
        let error = serde_json::from_str::<CpuList>("\"1-x\"").unwrap_err().to_string();
        assert!(error.contains("`1-x` is no CPU list"), "{error}");
    }
}
