//! extlinux.conf, as far as boards use it: DEFAULT, LABEL, KERNEL (or LINUX), INITRD, APPEND.

use anyhow::{Context, Result};

/// What the default label boots; paths as written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Entry {
    pub(crate) kernel: String,
    pub(crate) initrd: String,
    pub(crate) append: String,
}

/// Finds the entry that a boot loader would take: the default label, else the first.
pub(crate) fn default_entry(text: &str) -> Result<Entry> {
    let mut default = None;
    let mut entries: Vec<(String, Entry)> = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        let (word, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let value = value.trim().to_owned();
        match (word.to_ascii_lowercase().as_str(), entries.last_mut()) {
            ("default", _) => default = Some(value),
            ("label", _) => entries.push((value, Entry::default())),
            ("kernel" | "linux", Some((_, entry))) => entry.kernel = value,
            ("initrd", Some((_, entry))) => entry.initrd = value,
            ("append", Some((_, entry))) => entry.append = value,
            _ => {}
        }
    }
    let chosen = match default {
        Some(label) => entries
            .into_iter()
            .find(|(name, _)| *name == label)
            .with_context(|| format!("extlinux.conf has no label {label}, which DEFAULT names"))?,
        None => entries.into_iter().next().context("extlinux.conf has no label")?,
    };
    Ok(chosen.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "DEFAULT rt\nTIMEOUT 1\n\nLABEL standard\n  KERNEL /standard/vmlinuz\n  APPEND quiet\nLABEL rt\n\tlinux /rt/vmlinuz\n\tinitrd /rt/initrd\n\tappend isolcpus=1  threadirqs\n";

    #[test]
    fn the_default_label_is_taken() {
        let entry = default_entry(TEXT).unwrap();
        assert_eq!(entry.kernel, "/rt/vmlinuz");
        assert_eq!(entry.initrd, "/rt/initrd");
        assert_eq!(entry.append, "isolcpus=1  threadirqs");
    }

    #[test]
    fn without_default_the_first_is_taken_and_a_wrong_one_is_named() {
        assert_eq!(default_entry(&TEXT.replace("DEFAULT rt\n", "")).unwrap().append, "quiet");
        let error = default_entry(&TEXT.replace("DEFAULT rt", "DEFAULT x")).unwrap_err();
        assert_eq!(error.to_string(), "extlinux.conf has no label x, which DEFAULT names");
        assert!(default_entry("").is_err());
    }
}
