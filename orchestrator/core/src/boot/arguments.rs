use crate::campaign::model::Boot;
use crate::target::Kernel;

/// Changes of a kernel command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arguments {
    /// `None`: as the configuration says; empty: no `isolcpus=`.
    pub isolcpus: Option<String>,
    /// Words that must be there, in order: the variant's, then the cell's.
    pub append: Vec<String>,
}

impl Arguments {
    /// What a cell and its kernel variant ask for.
    pub fn new(boot: &Boot, kernel: &Kernel) -> Self {
        Self {
            isolcpus: boot.isolcpus.as_ref().map(ToString::to_string),
            append: kernel.append.iter().chain(&boot.append).cloned().collect(),
        }
    }

    /// Nothing is to be changed.
    pub fn is_empty(&self) -> bool {
        self.isolcpus.is_none() && self.append.is_empty()
    }

    /// A command line with these changes. The kernel takes the last of two words that contradict each other, so what is
    /// asked for comes last; what stands behind `--` is for init.
    pub fn edit(&self, line: &str) -> String {
        let words = split(line);
        let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
        let (kernel, init) = words.split_at(end);
        let isolated = self.isolcpus.as_ref().map(|list| format!("isolcpus={list}"));
        let own = || isolated.iter().filter(|_| self.isolcpus.as_deref() != Some("")).chain(&self.append);
        let goes =
            |word: &&String| (isolated.is_some() && word.starts_with("isolcpus=")) || own().any(|asked| asked == *word);
        let kept = kernel.iter().filter(|word| !goes(word));
        kept.chain(own()).chain(init).map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

/// Words of a kernel command line; blanks in double quotes do not split.
pub fn split(line: &str) -> Vec<String> {
    let mut quoted = false;
    line.split(|c: char| {
        quoted ^= c == '"';
        c.is_whitespace() && !quoted
    })
    .filter(|word| !word.is_empty())
    .map(str::to_owned)
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arguments(isolcpus: Option<&str>, append: &[&str]) -> Arguments {
        Arguments {
            isolcpus: isolcpus.map(str::to_owned),
            append: append.iter().map(|word| (*word).to_owned()).collect(),
        }
    }

    #[test]
    fn what_is_asked_for_comes_last_and_once() {
        for (isolcpus, append, line, expected) in [
            (None, &[][..], " root=/dev/sda1  ro ", "root=/dev/sda1 ro"),
            (Some("1"), &[], "root=/dev/sda1 isolcpus=2,3 ro", "root=/dev/sda1 ro isolcpus=1"),
            (Some(""), &[], "isolcpus=nohz,domain,1 ro isolcpus=1", "ro"),
            (None, &["threadirqs"], "isolcpus=1 threadirqs ro", "isolcpus=1 ro threadirqs"),
            (None, &["panic=0"], "panic=0 panic=5", "panic=5 panic=0"),
            (Some("1"), &["a=\"b c\""], "x=\"y z\" -- single", "x=\"y z\" isolcpus=1 a=\"b c\" -- single"),
            (Some("1"), &["quiet"], "", "isolcpus=1 quiet"),
            (Some(""), &[], "", ""),
        ] {
            let arguments = arguments(isolcpus, append);
            assert_eq!(arguments.edit(line), expected);
            assert_eq!(arguments.edit(&arguments.edit(line)), expected, "a second time changes nothing");
        }
    }

    proptest! {
        #[test]
        fn everything_asked_for_is_there_and_nothing_else_is_lost(
            line in "([a-z]{1,4}(=[a-z0-9]{0,3})? ){0,8}",
            isolcpus in prop::option::of("[0-3]?"),
            append in prop::collection::vec("[a-z]{1,4}=[0-9]", 0..4),
        ) {
            let arguments = Arguments { isolcpus, append };
            let edited = split(&arguments.edit(&line));
            for word in &arguments.append {
                prop_assert!(edited.contains(word));
            }
            for word in split(&line).iter().filter(|word| !word.starts_with("isolcpus=")) {
                prop_assert!(edited.contains(word));
            }
            let isolated: Vec<String> = edited.into_iter().filter(|word| word.starts_with("isolcpus=")).collect();
            match arguments.isolcpus.as_deref() {
                Some("") => prop_assert!(isolated.is_empty()),
                Some(list) => prop_assert_eq!(isolated, vec![format!("isolcpus={list}")]),
                None => {}
            }
        }
    }
}
