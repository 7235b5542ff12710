//! uEnv.txt: `name=value` lines that U-Boot imports (`env import -t`).

use super::{Asked, EditError};

/// Variable that holds the kernel's arguments where the target file names none: as BeagleBone images have it.
pub const ARGUMENTS: &str = "cmdline";

fn assignment(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    if line.starts_with('#') { None } else { line.split_once('=') }
}

/// The file with the variant's variables and the arguments. `variable` holds the arguments.
pub fn edit(original: &str, asked: &Asked, variable: &str) -> Result<String, EditError> {
    if asked.kernel.is_some() && asked.set.is_empty() && asked.label.is_none() {
        return Err(EditError::Missing { kernel: asked.variant().to_owned(), key: "set", method: "uenv" });
    }
    let assigned = |name: &str| original.lines().filter_map(assignment).rfind(|(n, _)| *n == name).map(|(_, v)| v);
    let mut changes: Vec<(&str, String)> = asked.set.iter().map(|(n, v)| (n.as_str(), v.clone())).collect();
    // BeagleBone images boot `uname_r`, so a label is enough for them.
    if let (Some(label), true) = (&asked.label, asked.set.is_empty()) {
        changes.push(("uname_r", label.clone()));
    }
    if !asked.arguments.is_empty() {
        let line = asked.set.get(variable).map(String::as_str).or_else(|| assigned(variable));
        let line = line.ok_or_else(|| EditError::NoArguments { variable: variable.to_owned() })?;
        changes.retain(|(name, _)| *name != variable);
        changes.push((variable, asked.arguments.edit(line)));
    }
    let mut text = String::new();
    for line in original.lines() {
        match assignment(line).and_then(|(name, _)| changes.iter().find(|(n, _)| *n == name)) {
            Some((name, value)) => text += &format!("{name}={value}\n"),
            None => text += &format!("{line}\n"),
        }
    }
    for (name, value) in changes.iter().filter(|(name, _)| assigned(name).is_none()) {
        text += &format!("{name}={value}\n");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::super::Arguments;
    use super::*;

    const BONE: &str = "#Docs: http://elinux.org/Beagleboard:U-boot_partitioning_layout_2.0\nuname_r=5.10.168-ti-r72\n#uuid=\n#cmdline=debug\ncmdline=coherent_pool=1M net.ifnames=0 quiet\nenable_uboot_overlays=1\n";

    fn asked(label: Option<&str>, set: &[(&str, &str)], isolcpus: Option<&str>) -> Asked {
        Asked {
            kernel: label.map(|_| "rt".to_owned()),
            label: label.map(str::to_owned),
            set: set.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            arguments: Arguments { isolcpus: isolcpus.map(str::to_owned), append: vec![] },
            ..Asked::default()
        }
    }

    #[test]
    fn only_the_asked_lines_change() {
        let edited = edit(BONE, &asked(Some("5.10.168-ti-rt-r72"), &[], Some("1")), ARGUMENTS).unwrap();
        let expected = BONE
            .replace("uname_r=5.10.168-ti-r72", "uname_r=5.10.168-ti-rt-r72")
            .replace("net.ifnames=0 quiet", "net.ifnames=0 quiet isolcpus=1");
        assert_eq!(edited, expected);
        assert_eq!(edit(BONE, &asked(None, &[], None), ARGUMENTS).unwrap(), BONE);
    }

    #[test]
    fn variables_that_are_not_there_are_added() {
        let asked = asked(Some("x"), &[("dtb", "am335x-rt.dtb"), ("optargs", "ro")], Some("1"));
        let edited = edit("uname_r=1", &asked, "optargs").unwrap();
        assert_eq!(edited, "uname_r=1\ndtb=am335x-rt.dtb\noptargs=ro isolcpus=1\n");
    }

    #[test]
    fn arguments_without_a_place_are_refused() {
        let error = edit("uname_r=1\n", &asked(None, &[], Some("1")), ARGUMENTS).unwrap_err();
        assert_eq!(error, EditError::NoArguments { variable: "cmdline".into() });
        let nameless = Asked { kernel: Some("rt".into()), ..Asked::default() };
        assert!(matches!(edit(BONE, &nameless, ARGUMENTS), Err(EditError::Missing { key: "set", .. })));
    }
}
