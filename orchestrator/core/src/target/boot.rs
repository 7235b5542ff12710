//! `[boot]`, `[power]` and what a kernel variant says of booting it.

use super::{BootMethod, BootSettings, Install, Place, PowerSwitch};
use crate::diagnostic::Diagnostic;
use crate::document::Node;
use crate::document::reader::{Parsed, Problem, Reader};
use crate::document::values::{argv, boolean, duration, is_name, non_empty, one_of};
use crate::units::{HOUR, MINUTE, SECOND};
use std::collections::BTreeMap;

/// A slow board with a journalling root file system, after a power cut.
pub(super) const TIMEOUT_NS: u64 = 3 * MINUTE;
/// Long enough to see that a board does not reset at once.
pub(super) const SETTLE_NS: u64 = 5 * SECOND;

/// A command of a lab's power switch may wait for its queue.
pub(super) fn power_timeout() -> u64 {
    MINUTE
}

const BOOT_METHODS: &[(&str, BootMethod)] = &[
    ("as-booted", BootMethod::AsBooted),
    ("extlinux", BootMethod::Extlinux),
    ("boot-script", BootMethod::BootScript),
    ("pxe", BootMethod::Pxe),
    ("uenv", BootMethod::Uenv),
    ("uboot-env", BootMethod::UbootEnv),
    ("grub", BootMethod::Grub),
    ("raspberrypi", BootMethod::Raspberrypi),
    ("kexec", BootMethod::Kexec),
    ("command", BootMethod::Command),
];

/// A boot method's name in files.
pub(crate) fn boot_method_name(method: BootMethod) -> &'static str {
    BOOT_METHODS.iter().find(|(_, value)| *value == method).map_or("as-booted", |(name, _)| name)
}

/// Methods whose boot configuration is a file in a place of the target's choice.
const WITH_FILE: [BootMethod; 6] = [
    BootMethod::Extlinux,
    BootMethod::BootScript,
    BootMethod::Pxe,
    BootMethod::Uenv,
    BootMethod::Grub,
    BootMethod::Raspberrypi,
];

pub(super) fn read(root: &mut Reader<'_>) -> (BootMethod, BootSettings) {
    let mut boot = BootSettings::default();
    let Some(mut table) = root.table("boot") else { return (BootMethod::AsBooted, boot) };
    let method = table.field("method", one_of(BOOT_METHODS)).unwrap_or(BootMethod::AsBooted);
    let file = if method == BootMethod::Pxe { "file" } else { "" };
    let command = if method == BootMethod::Command { "command" } else { "" };
    for (key, what) in [
        (file, "the file that the board gets by TFTP, on this host: \"/srv/tftp/pxelinux.cfg/01-aa-bb-cc-dd-ee-ff\""),
        (
            command,
            "program and arguments that make the next boot what is asked for; `{kernel}`, `{label}` and `{arguments}` are filled in",
        ),
    ] {
        if !key.is_empty() && !table.has(key) {
            table.missing(key, what);
        }
    }
    unused(&mut table, method);
    boot.file = table.field("file", absolute);
    boot.arguments = table.field("arguments", variable);
    boot.timeout_ns = table.field("timeout", duration(5 * SECOND..=HOUR, "s")).unwrap_or(boot.timeout_ns);
    boot.settle_ns = table.field("settle", duration(0..=HOUR, "s")).unwrap_or(boot.settle_ns);
    boot.bootcount = table.field("bootcount", boolean).unwrap_or(false);
    boot.fallback = table.field("fallback", argv);
    boot.command = table.field("command", argv);
    boot.put_back = table.field("put_back", argv);
    boot.runs_on = table.field("runs_on", one_of(PLACES)).unwrap_or(Place::Host);
    boot.one_shot = table.field("one_shot", boolean).unwrap_or(false);
    table.finish();
    (method, boot)
}

const PLACES: &[(&str, Place)] = &[("host", Place::Host), ("board", Place::Board)];

/// Keys that the method never reads would be taken for granted.
fn unused(table: &mut Reader<'_>, method: BootMethod) {
    let variables = matches!(method, BootMethod::BootScript | BootMethod::Uenv | BootMethod::UbootEnv);
    let reboots = method != BootMethod::AsBooted;
    let command = method == BootMethod::Command;
    for (key, used) in [
        ("file", WITH_FILE.contains(&method)),
        ("arguments", variables),
        ("timeout", reboots),
        ("settle", reboots),
        ("bootcount", reboots),
        ("fallback", reboots),
        ("command", command),
        ("put_back", command),
        ("runs_on", command),
        ("one_shot", command),
    ] {
        if let (Some(entry), false) = (table.entry(key), used) {
            let name = boot_method_name(method);
            let message = format!("boot method `{name}` does not use `boot.{key}`");
            table.sink().push(Diagnostic::error(entry.key_span.clone(), message).help("remove it, or change `method`"));
        }
    }
}

fn absolute(node: &Node) -> Parsed<String> {
    let path = non_empty(node)?;
    match path.starts_with('/') && !path.ends_with('/') {
        true => Ok(path),
        false => Err(vec![Problem::new("`{}` is the path of a file", "not an absolute path", "begin it with `/`")]),
    }
}

/// A name that a boot loader, and a shell, take as it is.
fn variable(node: &Node) -> Parsed<String> {
    let name = non_empty(node)?;
    match is_name(&name) {
        true => Ok(name),
        false => {
            let help = "letters, digits, `_`, `.` and `-`";
            Err(vec![Problem::new("`{}` is no name of a variable", "", help)])
        }
    }
}

/// `[kernel.NAME.set]`.
pub(super) fn variables(kernel: &mut Reader<'_>) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    let table = kernel.name("set");
    for entry in kernel.named("set") {
        let name = format!("{table}.{}", entry.key);
        if !is_name(&entry.key) {
            let message = format!("`{}` is no name of a variable", entry.key);
            kernel.sink().push(Diagnostic::error(entry.key_span.clone(), message));
        }
        if let Some(value) = kernel.parse(&entry.node, &name, non_empty) {
            variables.insert(entry.key.clone(), value);
        }
    }
    variables
}

/// `[kernel.NAME.install]`.
pub(super) fn install(kernel: &mut Reader<'_>) -> Option<Install> {
    let mut table = kernel.table("install")?;
    if !table.has("image") {
        table.missing("image", "the kernel image on this host");
    }
    let install = Install {
        image: table.field("image", non_empty).unwrap_or_default(),
        initrd: table.field("initrd", non_empty),
        device_tree: table.field("device_tree", non_empty),
        modules: table.field("modules", non_empty),
        config: table.field("config", non_empty),
    };
    table.finish();
    Some(install)
}

/// `[power]`: cycle, on and off, time-out in ns.
pub(super) fn power(root: &mut Reader<'_>) -> (Option<Vec<String>>, Option<PowerSwitch>, u64) {
    let Some(mut table) = root.table("power") else { return (None, None, power_timeout()) };
    let cycle = table.field("cycle", argv);
    for (key, other) in [("on", "off"), ("off", "on")] {
        if table.has(key) && !table.has(other) {
            table.missing(other, "`on` and `off` belong together; `cycle` alone is enough");
        }
    }
    let on = table.field("on", argv);
    let off = table.field("off", argv);
    let timeout_ns = table.field("timeout", duration(SECOND..=HOUR, "s")).unwrap_or(power_timeout());
    table.finish();
    (cycle, on.zip(off).map(|(on, off)| PowerSwitch { on, off }), timeout_ns)
}
