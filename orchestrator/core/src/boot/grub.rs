//! GRUB: an entry of latlab's own in `custom.cfg`, which grub.cfg reads, and `grub-reboot` for one boot of it.

use super::{Asked, EditError};

/// Id of the entry that latlab adds.
pub const ENTRY: &str = "latlab";

/// An entry of grub.cfg.
#[derive(Debug)]
struct Entry<'a> {
    title: String,
    id: Option<String>,
    body: Vec<&'a str>,
}

/// Words of a line; quotes keep words together.
fn words(line: &str) -> Vec<String> {
    shlex::split(line).unwrap_or_default()
}

fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if !line.trim_start().starts_with("menuentry ") || !line.trim_end().ends_with('{') {
            continue;
        }
        let words = words(line);
        let id = words.iter().position(|word| word == "--id" || word == "$menuentry_id_option");
        let mut depth = 1;
        let body = lines.by_ref().take_while(|line| {
            let line = line.trim();
            depth += i32::from(line.ends_with('{')) - i32::from(line == "}");
            depth > 0
        });
        found.push(Entry {
            title: words.get(1).cloned().unwrap_or_default(),
            id: id.and_then(|at| words.get(at + 1).cloned()),
            body: body.collect(),
        });
    }
    found
}

/// `custom.cfg` with the entry that boots what is asked for, a copy of one of `grub_cfg` behind what `custom` holds already.
pub fn edit(grub_cfg: &str, custom: &str, asked: &Asked) -> Result<String, EditError> {
    if !grub_cfg.contains("next_entry") {
        return Err(EditError::Format("it does not read `next_entry`, which `grub-reboot` sets"));
    }
    if !grub_cfg.contains("custom.cfg") {
        return Err(EditError::Format("it does not read custom.cfg (see /etc/grub.d/41_custom)"));
    }
    let entries = entries(grub_cfg);
    let model = match (&asked.label, &asked.kernel, &asked.files.image) {
        (Some(label), _, _) => {
            entries.iter().find(|e| e.title == *label || e.id.as_deref() == Some(label)).ok_or_else(|| {
                EditError::NoEntry { label: label.clone(), known: entries.iter().map(|e| e.title.clone()).collect() }
            })?
        }
        (None, Some(kernel), None) => {
            return Err(EditError::Missing { kernel: kernel.clone(), key: "label", method: "grub" });
        }
        _ => entries.first().ok_or(EditError::Empty)?,
    };
    let mut text = custom.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text += &format!("menuentry 'latlab: {}' --id {ENTRY} {{\n", asked.variant().replace('\'', ""));
    for line in &model.body {
        text += &match line.trim_start().split_once(char::is_whitespace) {
            Some((word @ ("linux" | "linux16" | "linuxefi"), rest)) => {
                let (path, arguments) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
                let path = asked.files.image.as_deref().unwrap_or(path);
                format!("\t{word} {path} {}\n", asked.arguments.edit(arguments))
            }
            Some((word @ ("initrd" | "initrd16" | "initrdefi"), rest)) => {
                format!("\t{word} {}\n", asked.files.initrd.as_deref().unwrap_or(rest.trim()))
            }
            _ => format!("{line}\n"),
        };
    }
    Ok(text + "}\n")
}

#[cfg(test)]
mod tests {
    use super::super::Arguments;
    use super::*;

    /// The parts of a grub.cfg of Debian 12 that matter here.
    const CFG: &str = include_str!("testdata/grub.cfg");

    fn asked(label: Option<&str>) -> Asked {
        Asked {
            kernel: label.map(|_| "rt".to_owned()),
            label: label.map(str::to_owned),
            arguments: Arguments { isolcpus: Some("1".into()), append: vec!["threadirqs".into()] },
            ..Asked::default()
        }
    }

    #[test]
    fn an_entry_is_found_by_title_or_id_in_a_submenu_too() {
        for label in ["Debian GNU/Linux, with Linux 6.1.0-39-rt-amd64", "gnulinux-6.1.0-39-rt-amd64-advanced-1c2d"] {
            let text = edit(CFG, "", &asked(Some(label))).unwrap();
            assert!(text.starts_with("menuentry 'latlab: rt' --id latlab {\n"), "{text}");
            assert!(
                text.contains(
                    "\tlinux /boot/vmlinuz-6.1.0-39-rt-amd64 root=UUID=1c2d ro quiet isolcpus=1 threadirqs\n"
                ),
                "{text}"
            );
            assert!(text.contains("\tinitrd /boot/initrd.img-6.1.0-39-rt-amd64\n") && text.ends_with("}\n"), "{text}");
            assert_eq!(text.matches('{').count(), text.matches('}').count(), "{text}");
        }
    }

    #[test]
    fn without_a_kernel_the_first_entry_is_the_model_and_own_entries_stay() {
        let text = edit(CFG, "menuentry 'mine' {\n}", &asked(None)).unwrap();
        assert!(text.starts_with("menuentry 'mine' {\n}\nmenuentry 'latlab: '"), "{text}");
        assert!(text.contains("vmlinuz-6.1.0-39-amd64 root=UUID=1c2d ro quiet isolcpus=1"), "{text}");
    }

    #[test]
    fn what_cannot_work_is_refused() {
        assert!(matches!(edit(CFG, "", &asked(Some("x"))), Err(EditError::NoEntry { .. })));
        assert!(matches!(edit("menuentry 'a' {\n}\n", "", &asked(None)), Err(EditError::Format(_))));
        let text = CFG.replace("custom.cfg", "other.cfg");
        assert!(matches!(edit(&text, "", &asked(None)), Err(EditError::Format(_))));
    }
}
