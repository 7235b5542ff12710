//! U-Boot commands as text: the source of boot.scr.

use super::{Asked, EditError};

/// `setenv NAME VALUE` of a line: what stands before the value, the value, and what closes it.
fn setenv<'a>(line: &'a str, name: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let trimmed = line.trim_start();
    let rest = ["setenv", "env set"].iter().find_map(|word| trimmed.strip_prefix(word))?;
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let value = rest.strip_prefix(name)?;
    if !value.starts_with([' ', '\t']) {
        return None;
    }
    let value = value.trim();
    // `setenv bootargs a b; bootz …` on one line: the value ends where the next command begins.
    let outside_quotes =
        |at: usize| value[..at].matches('"').count() % 2 == 0 && value[..at].matches('\'').count() % 2 == 0;
    let end = value.match_indices([';', '&']).map(|(at, _)| at).find(|at| outside_quotes(*at)).unwrap_or(value.len());
    let (value, tail) = value.split_at(end);
    let value = value.trim_end();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\'') && value.len() > 1 && value.ends_with(*c));
    let inner = if quote.is_some() { &value[1..value.len() - 1] } else { value };
    let before = inner.as_ptr() as usize - line.as_ptr() as usize;
    Some((&line[..before], inner, if quote.is_some() { &line[before + inner.len()..] } else { tail }))
}

/// The script with the variant's variables and the arguments. `variable` holds the arguments: the last line that sets it counts.
pub(super) fn edit(original: &str, asked: &Asked, variable: &str) -> Result<String, EditError> {
    if asked.kernel.is_some() && asked.set.is_empty() {
        return Err(EditError::Missing { kernel: asked.variant().to_owned(), key: "set", method: "boot-script" });
    }
    let mut lines: Vec<String> = original.lines().map(str::to_owned).collect();
    for (name, value) in &asked.set {
        let mut found = false;
        for line in &mut lines {
            if let Some((before, _, after)) = setenv(line, name) {
                found = true;
                *line = format!("{before}{value}{after}");
            }
        }
        if !found {
            lines.insert(0, format!("setenv {name} '{value}'"));
        }
    }
    if !asked.arguments.is_empty() {
        let last = lines.iter_mut().rev().find(|line| setenv(line, variable).is_some());
        let line = last.ok_or_else(|| EditError::NoArguments { variable: variable.to_owned() })?;
        if let Some((before, value, after)) = setenv(line, variable) {
            *line = format!("{before}{}{after}", asked.arguments.edit(value));
        }
    }
    Ok(lines.iter().map(|line| format!("{line}\n")).collect())
}

#[cfg(test)]
mod tests {
    use super::super::Arguments;
    use super::*;

    fn asked(set: &[(&str, &str)], isolcpus: Option<&str>) -> Asked {
        Asked {
            kernel: (!set.is_empty()).then(|| "rt".to_owned()),
            set: set.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            arguments: Arguments { isolcpus: isolcpus.map(str::to_owned), append: vec![] },
            ..Asked::default()
        }
    }

    #[test]
    fn values_are_found_however_they_are_written() {
        for (line, edited) in [
            ("setenv bootargs a b", "setenv bootargs a b isolcpus=1"),
            ("  setenv  bootargs \"a ${b}\"", "  setenv  bootargs \"a ${b} isolcpus=1\""),
            ("setenv bootargs 'a b'; bootz x", "setenv bootargs 'a b isolcpus=1'; bootz x"),
            ("setenv bootargs a b && bootz x", "setenv bootargs a b isolcpus=1&& bootz x"),
            ("env set bootargs ${bootargs} isolcpus=3", "env set bootargs ${bootargs} isolcpus=1"),
        ] {
            let found = edit(line, &asked(&[], Some("1")), "bootargs");
            assert_eq!(found.unwrap().trim_end(), edited, "{line}");
        }
        assert_eq!(
            edit("setenv bootargs2 a\n", &asked(&[], Some("1")), "bootargs"),
            Err(EditError::NoArguments { variable: "bootargs".into() })
        );
    }

    #[test]
    fn the_script_of_a_vendor_image() {
        let script = "echo -- FPGA --\nfatload mmc 0:1 ${fpgadata} soc_system.rbf;\nsetenv bootimage zImage;\nsetenv mmcboot 'setenv bootargs console=ttyS0,115200 root=${mmcroot} rw; bootz ${loadaddr} - ${fdtaddr}'\nrun mmcload;\nrun mmcboot;\n";
        let error = edit(script, &asked(&[], Some("1")), "bootargs").unwrap_err();
        assert!(matches!(error, EditError::NoArguments { .. }), "{error}");
        let asked = asked(&[("bootimage", "zImage-rt"), ("fdtimage", "rt.dtb")], None);
        let edited = edit(script, &asked, "bootargs").unwrap();
        assert_eq!(
            edited,
            format!("setenv fdtimage 'rt.dtb'\n{}", script.replace("bootimage zImage;", "bootimage zImage-rt;"))
        );
    }
}
