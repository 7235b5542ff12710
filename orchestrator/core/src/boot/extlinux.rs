//! extlinux.conf and PXE files: an entry of latlab's own, a copy of the one asked for with other arguments, as the default.
//!
//! The entries that are there stay as they are, so that they can be chosen on the console. Keywords as U-Boot's
//! `boot/pxe_utils.c` reads them: case does not matter, an entry ends where a keyword of the whole file begins.

use super::{Asked, EditError};

/// The entry that latlab adds.
pub const LABEL: &str = "latlab";

/// Keywords that belong to the file and not to an entry.
const GLOBAL: [&str; 8] = ["default", "timeout", "totaltimeout", "prompt", "ontimeout", "include", "ui", "fallback"];

/// One line: its keyword in lower case, and its value.
fn keyword(line: &str) -> (String, &str) {
    let line = line.trim();
    let (word, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (word.to_ascii_lowercase(), value.trim())
}

/// `menu title`, `menu background` and their like; `menu label` belongs to an entry.
fn is_global(word: &str, value: &str) -> bool {
    GLOBAL.contains(&word)
        || (word == "menu" && !matches!(keyword(value).0.as_str(), "label" | "default" | "hide" | "disable"))
}

/// The lines of an entry, without its label.
fn entry<'a>(text: &'a str, label: &str) -> Option<Vec<&'a str>> {
    let mut lines = text.lines().skip_while(|line| !(keyword(line).0 == "label" && keyword(line).1 == label));
    lines.next()?;
    let inside = |line: &&str| {
        let (word, value) = keyword(line);
        word != "label" && !is_global(&word, value)
    };
    Some(lines.take_while(inside).filter(|line| !line.trim().is_empty()).collect())
}

fn labels(text: &str) -> Vec<String> {
    text.lines().filter(|line| keyword(line).0 == "label").map(|line| keyword(line).1.to_owned()).collect()
}

/// What the file boots by itself: its default, else its first entry.
fn default_label(text: &str) -> Option<String> {
    let chosen = text.lines().rev().map(keyword).find(|(word, _)| matches!(word.as_str(), "default" | "ontimeout"));
    let chosen = chosen.map(|(_, label)| label.to_owned());
    let marked = || {
        let mut label = None;
        for line in text.lines() {
            match keyword(line) {
                (word, value) if word == "label" => label = Some(value.to_owned()),
                (word, value) if word == "menu" && value.eq_ignore_ascii_case("default") => return label,
                _ => {}
            }
        }
        None
    };
    chosen.or_else(marked).or_else(|| labels(text).into_iter().next())
}

/// The configuration that boots what is asked for.
pub fn edit(original: &str, asked: &Asked) -> Result<String, EditError> {
    let label = match (&asked.label, &asked.kernel, &asked.files.image) {
        (Some(label), _, _) => label.clone(),
        // A kernel of latlab's own needs no entry: what the board boots by itself is its model.
        (None, None, _) | (None, _, Some(_)) => default_label(original).ok_or(EditError::Empty)?,
        (None, Some(kernel), None) => {
            return Err(EditError::Missing { kernel: kernel.clone(), key: "label", method: "extlinux" });
        }
    };
    let model = entry(original, &label).ok_or_else(|| EditError::NoEntry { label, known: labels(original) })?;
    let mut text: String = original
        .lines()
        .filter(|line| !matches!(keyword(line).0.as_str(), "default" | "ontimeout"))
        .map(|line| format!("{line}\n"))
        .collect();
    text.insert_str(0, &format!("DEFAULT {LABEL}\n"));
    text += &format!("\nLABEL {LABEL}\n    MENU LABEL latlab: {}\n", asked.variant());
    let files = &asked.files;
    let mut has_arguments = false;
    for line in model {
        let (word, value) = keyword(line);
        let changed = match word.as_str() {
            "append" => {
                has_arguments = true;
                Some(format!("APPEND {}", asked.arguments.edit(value)))
            }
            "menu" => continue,
            "kernel" | "linux" | "fit" => files.image.as_ref().map(|path| format!("LINUX {path}")),
            "initrd" => files.initrd.as_ref().map(|path| format!("INITRD {path}")),
            "fdt" | "devicetree" | "fdtdir" | "devicetreedir" => {
                files.device_tree.as_ref().map(|path| format!("FDT {path}"))
            }
            _ => None,
        };
        text += &format!("    {}\n", changed.as_deref().unwrap_or(line.trim()));
    }
    if !has_arguments {
        text += &format!("    APPEND {}\n", asked.arguments.edit(""));
    }
    Ok(text)
}

/// The command line that the file boots by itself.
pub fn command_line(text: &str) -> Option<String> {
    let lines = entry(text, &default_label(text)?)?;
    Some(lines.iter().find(|line| keyword(line).0 == "append").map_or("", |line| keyword(line).1).to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::{Arguments, Files};
    use super::*;

    const TEXT: &str = "# by hand\nDEFAULT rt\nTIMEOUT 1\n\nLABEL standard\n  KERNEL /standard/vmlinuz\n  APPEND quiet isolcpus=1\nLABEL rt\n\tMENU LABEL the RT one\n\tlinux /rt/vmlinuz\n\tinitrd /rt/initrd\n\tfdtdir /dtbs\n\tappend console=ttyS0 isolcpus=1\n\nMENU TITLE below the entries\n";

    fn asked(label: Option<&str>, isolcpus: &str) -> Asked {
        Asked {
            kernel: label.map(|_| "v".to_owned()),
            label: label.map(str::to_owned),
            arguments: Arguments { isolcpus: Some(isolcpus.to_owned()), append: vec!["threadirqs".to_owned()] },
            ..Asked::default()
        }
    }

    #[test]
    fn an_entry_of_our_own_becomes_the_default_and_the_others_stay() {
        let edited = edit(TEXT, &asked(Some("standard"), "")).unwrap();
        assert_eq!(command_line(&edited).unwrap(), "quiet threadirqs");
        assert_eq!(labels(&edited), ["standard", "rt", "latlab"]);
        assert_eq!(entry(&edited, "rt"), entry(TEXT, "rt"));
        assert_eq!(entry(&edited, "standard"), entry(TEXT, "standard"));
        assert!(!edited.contains("DEFAULT rt") && edited.contains("TIMEOUT 1") && edited.contains("# by hand"));
    }

    #[test]
    fn without_a_kernel_the_default_entry_is_the_model() {
        let edited = edit(TEXT, &asked(None, "2")).unwrap();
        assert_eq!(command_line(&edited).unwrap(), "console=ttyS0 isolcpus=2 threadirqs");
        let own = entry(&edited, LABEL).unwrap().join("\n");
        assert!(own.contains("linux /rt/vmlinuz") && own.contains("fdtdir /dtbs"), "{own}");
        // Neither a default nor arguments: the first entry, and a line of its own.
        let bare = "LABEL a\nKERNEL /a\nLABEL b\nKERNEL /b\n";
        let edited = edit(bare, &asked(None, "1")).unwrap();
        assert_eq!(command_line(&edited).unwrap(), "isolcpus=1 threadirqs");
        assert!(entry(&edited, LABEL).unwrap().iter().any(|line| line.trim() == "KERNEL /a"));
        let marked = "LABEL a\nKERNEL /a\nLABEL b\nMENU DEFAULT\nKERNEL /b\n";
        assert_eq!(default_label(marked).unwrap(), "b");
    }

    #[test]
    fn a_kernel_of_latlabs_own_takes_the_place_of_the_files() {
        let mut asked = asked(None, "1");
        asked.kernel = Some("nightly".to_owned());
        asked.files = Files {
            image: Some("/latlab/abc/image".into()),
            initrd: None,
            device_tree: Some("/latlab/abc/x.dtb".into()),
        };
        let own = edit(TEXT, &asked).unwrap();
        let own = entry(&own, LABEL).unwrap().into_iter().map(str::trim).collect::<Vec<_>>();
        assert_eq!(
            own,
            [
                "MENU LABEL latlab: nightly",
                "LINUX /latlab/abc/image",
                "initrd /rt/initrd",
                "FDT /latlab/abc/x.dtb",
                "APPEND console=ttyS0 isolcpus=1 threadirqs"
            ]
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        let known = vec!["standard".to_owned(), "rt".to_owned()];
        assert_eq!(edit(TEXT, &asked(Some("x"), "")), Err(EditError::NoEntry { label: "x".into(), known }));
        assert_eq!(edit("", &asked(None, "")), Err(EditError::Empty));
        let nameless = Asked { kernel: Some("v".into()), ..Asked::default() };
        let missing = EditError::Missing { kernel: "v".into(), key: "label", method: "extlinux" };
        assert_eq!(edit(TEXT, &nameless), Err(missing));
        let dangling = "DEFAULT gone\nLABEL a\nKERNEL /a\n";
        assert!(matches!(edit(dangling, &asked(None, "")), Err(EditError::NoEntry { .. })));
    }
}
