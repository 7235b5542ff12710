//! Target files.

use super::{Arch, BootMethod, Kernel, Target, Transport};
use super::{boot, ssh};
use crate::campaign::model::Preemption;
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::document::reader::{Homes, Parsed, Problem, Reader, Sink};
use crate::document::values::{NAME_RULE, boolean, integer, is_name, list, name, non_empty, one_of, words};
use crate::document::{self, Node, Table, Value};
use std::collections::BTreeMap;

/// A target that can be used.
#[derive(Debug)]
pub struct Loaded {
    /// The target.
    pub target: Target,
    /// What is probably not meant.
    pub warnings: Diagnostics,
    table: Table,
    whole: Span,
}

impl Loaded {
    /// Where a key got its value; the file as a whole where it is not given.
    pub(crate) fn span(&self, path: &[&str]) -> Span {
        let node = self.table.at(path);
        node.map_or_else(|| self.whole.clone(), |node| node.span.clone())
    }
}

/// Where latlab tries to put its files on a board.
const WORK_DIRS: [&str; 3] = ["/var/lib/latlab", "/var/tmp", "/tmp"];

const ARCHES: &[(&str, Arch)] = &[("armv7", Arch::Armv7), ("aarch64", Arch::Aarch64), ("x86_64", Arch::X86_64)];

/// Where keys belong that stand in the wrong table.
const HOMES: Homes = &[
    ("", &["name", "description", "arch", "cpu_count", "transport", "work_dirs", "emulated"]),
    ("ssh", &["destination", "port", "identity", "host_keys", "connect_timeout"]),
    ("boot", &["method", "timeout", "settle", "bootcount", "fallback"]),
    ("power", &["cycle", "on", "off"]),
];

/// Reads a target. All that is wrong is reported at once.
pub fn load(file_name: &str, text: &str) -> Result<Loaded, Diagnostics> {
    let document = document::parse(file_name, text)?;
    let whole = Span::whole(&document.source);
    if document.root.entries().is_empty() && document.errors.is_empty() {
        let empty = Diagnostic::error(whole, "empty file: no target in it");
        return Err([empty.help("a target has at least `name`; see docs/target.md")].into_iter().collect());
    }
    let sink = Sink::default();
    document.errors.into_iter().for_each(|error| sink.push(error));
    let target = read(&document.root, whole.clone(), &sink);
    let failed = sink.has_errors();
    let mut found = sink.into_inner();
    found.sort();
    match target {
        Some(target) if !failed => Ok(Loaded { target, warnings: found, table: document.root, whole }),
        _ => Err(found),
    }
}

/// The preemption model of a kernel variant; `None`: any but PREEMPT_RT.
const PREEMPTIONS: &[(&str, Option<Preemption>)] = &[
    ("preempt-rt", Some(Preemption::PreemptRt)),
    ("preempt", Some(Preemption::Preempt)),
    ("voluntary", Some(Preemption::Voluntary)),
    ("lazy", Some(Preemption::Lazy)),
    ("none", Some(Preemption::None)),
    ("not-preempt-rt", None),
];

/// `None` only together with an error.
fn read(table: &Table, at: Span, sink: &Sink) -> Option<Target> {
    let mut root = Reader::new(table, at, sink).with_homes(HOMES);
    if !root.has("name") {
        root.missing(
            "name",
            "a short name for the board: campaigns name it in `targets`, such as `name = \"cyclone-v\"`",
        );
    }
    let target_name = root.field("name", name);
    let (boot_method, boot) = boot::read(&mut root);
    let (power_cycle, power, power_timeout_ns) = boot::power(&mut root);
    let target = Target {
        name: target_name.clone().unwrap_or_default(),
        description: root.field("description", crate::campaign::description),
        arch: root.field("arch", one_of(ARCHES)),
        cpu_count: root.field("cpu_count", integer(1..=latprobe::cpulist::MAX_CPU + 1)),
        transport: transport(&mut root, target_name.as_deref().unwrap_or_default()),
        work_dirs: work_dirs(&mut root),
        emulated: root.field("emulated", boolean).unwrap_or(false),
        boot_method,
        boot,
        kernels: kernels(&mut root),
        power_cycle,
        power,
        power_timeout_ns,
    };
    if let (Transport::Local { .. }, true) = (&target.transport, target.boot_method != BootMethod::AsBooted)
        && let Some(entry) = root.entry("boot")
    {
        root.sink().push(
            Diagnostic::error(entry.key_span.clone(), "this machine is never rebooted: latlab would end with it")
                .help("remove `[boot]`, or reach the board by ssh from another machine"),
        );
    }
    if let (Transport::Ssh(ssh), Some((name, _))) =
        (&target.transport, target.kernels.iter().find(|(_, kernel)| !kernel.host_keys.is_empty()))
        && ssh.host_keys.is_empty()
        && let Some(entry) = root.entry("kernel")
    {
        root.sink().push(
            Diagnostic::error(entry.key_span.clone(), format!("`kernel.{name}.host_keys` without `ssh.host_keys`"))
                .help("pin what the board boots by itself, too: `host_keys` under `[ssh]`"),
        );
    }
    root.finish();
    target_name.map(|_| target)
}

fn transport(root: &mut Reader<'_>, target_name: &str) -> Transport {
    let local = root.field("transport", one_of(&[("local", true), ("ssh", false)])).unwrap_or(false);
    let become_at = root.entry("become");
    let command = root.field("become", ssh::command_prefix);
    let ssh_at = root.entry("ssh");
    if local {
        if let Some(entry) = ssh_at {
            root.sink().push(
                Diagnostic::error(entry.key_span.clone(), "`[ssh]` on a target that is this machine")
                    .label("never used")
                    .help("remove it, or remove `transport = \"local\"`"),
            );
        }
        return Transport::Local { r#become: command };
    }
    if let Some(entry) = become_at {
        root.sink().push(
            Diagnostic::error(entry.key_span.clone(), "`become` of a target that is reached by ssh stands in `[ssh]`")
                .help("move it there: `[ssh]` `become = \"sudo -n\"`"),
        );
    }
    Transport::Ssh(ssh::read(root, target_name))
}

fn work_dirs(root: &mut Reader<'_>) -> Vec<String> {
    let directory = |node: &Node| -> Parsed<String> {
        let path = non_empty(node)?;
        if !path.starts_with('/') {
            let help = "begin it with `/`";
            return Err(vec![Problem::new("`{}` holds directories of the board", "not an absolute path", help)]);
        }
        if path.split('/').any(|part| part == "..") || path.trim_matches('/').is_empty() {
            return Err(vec![Problem::new("`{}` cannot hold this", "not a directory for latlab's files", "")]);
        }
        Ok(path)
    };
    let Some(entry) = root.entry("work_dirs") else { return WORK_DIRS.map(str::to_owned).to_vec() };
    let dirs = root.field("work_dirs", list(directory)).unwrap_or_default();
    if dirs.is_empty() && entry.node.value == Value::Array(Vec::new()) {
        root.sink().push(
            Diagnostic::error(entry.node.span.clone(), "`work_dirs` is empty")
                .help("name a directory of the board, or leave the key out"),
        );
    }
    dirs
}

/// Keys that choose a variant and tell nothing of what runs.
const CHOICE: [&str; 7] = ["label", "set", "image", "initrd", "device_tree", "host_keys", "install"];

fn kernels(root: &mut Reader<'_>) -> BTreeMap<String, Kernel> {
    let mut kernels = BTreeMap::new();
    for entry in root.named("kernel") {
        let path = format!("kernel.{}", entry.key);
        if !is_name(&entry.key) {
            let message = format!("`{}` is no usable name of a kernel variant", entry.key);
            root.sink().push(Diagnostic::error(entry.key_span.clone(), message).help(NAME_RULE));
        }
        let Some(mut table) = Reader::of_node(&entry.node, &path, root.sink()) else { continue };
        let any_kernel = matches!(&entry.node.value, Value::Table(table) if table.entries().iter().all(|e| CHOICE.contains(&e.key.as_str())));
        let preemption = table.field("preemption", one_of(PREEMPTIONS));
        let kernel = Kernel {
            label: table.field("label", non_empty),
            append: table.field("append", words).unwrap_or_default(),
            release: table.field("release", non_empty),
            build: table.field("build", non_empty),
            set: boot::variables(&mut table),
            image: table.field("image", non_empty),
            initrd: table.field("initrd", non_empty),
            device_tree: table.field("device_tree", non_empty),
            host_keys: table.field("host_keys", list(ssh::host_key)).unwrap_or_default(),
            install: boot::install(&mut table),
            preemption: preemption.flatten(),
            not_preempt_rt: preemption == Some(None),
            cobalt: table.field("cobalt", boolean).unwrap_or(false),
        };
        table.finish();
        if any_kernel {
            root.sink().push(
                Diagnostic::warning(entry.key_span.clone(), format!("nothing tells the variant `{}` from another kernel", entry.key))
                    .label("every kernel is taken for it")
                    .help("say what it must be: `release = \"*-rt*\"`, `preemption = \"preempt-rt\"` or `preemption = \"not-preempt-rt\"`"),
            );
        }
        kernels.insert(entry.key.clone(), kernel);
    }
    kernels
}
