//! What the campaign's own loads do to the board.

use super::{Rule, Seen, Subject, Weight, few, pass, warn};
use crate::campaign::model::LoadKind;
use crate::facts::Mount;
use crate::target::Transport;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "flash-wear",
        reason: "writing without end wears out eMMC, SD cards and other flash within weeks",
        source: "Xenomai's dohell writes to a file system when it is given one",
        weight: Weight::Recipe,
        look: flash,
    },
    Rule {
        name: "network-load",
        reason: "a network load shares the interface that the host talks through: contacts become slow, and disturb",
        source: "Linux, Documentation/networking/scaling.rst",
        weight: Weight::Recipe,
        look: network,
    },
];

/// Where flash stands by its name.
fn is_flash(device: &str) -> bool {
    ["/dev/mmcblk", "/dev/mtd", "/dev/ubi", "/dev/sd", "/dev/nvme", "ubi"].iter().any(|start| device.starts_with(start))
}

/// The device that a path lies on.
fn device_of<'a>(path: &str, mounts: &'a [Mount]) -> Option<&'a str> {
    let holds = |mount: &&Mount| {
        path.strip_prefix(&mount.at)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || mount.at.ends_with('/'))
    };
    mounts.iter().filter(holds).max_by_key(|mount| mount.at.len()).map(|mount| mount.device.as_str())
}

fn flash(subject: &Subject) -> Option<Seen> {
    let writers: Vec<(&str, &str)> = subject
        .loads()
        .iter()
        .filter_map(|load| match &load.kind {
            LoadKind::Dd { to, .. } => Some((load.name.as_str(), to.as_str())),
            _ => None,
        })
        .collect();
    if writers.is_empty() {
        return None;
    }
    let worn = |to: &str| {
        let device = if to.starts_with("/dev/") { Some(to) } else { device_of(to, &subject.facts.mounts) };
        device.is_some_and(is_flash)
    };
    let wearing: Vec<String> =
        writers.iter().filter(|(_, to)| worn(to)).map(|(name, to)| format!("load {name} writes {to}")).collect();
    match wearing.is_empty() {
        true => pass("no load writes to flash"),
        false => warn(few(wearing), "write to a tmpfs, or to /dev/null"),
    }
}

/// Programs that make network traffic.
const NETWORK: &[&str] =
    &["iperf", "iperf3", "netperf", "ping", "nc", "ncat", "netcat", "wget", "curl", "scp", "sockperf", "tcpreplay"];

fn network(subject: &Subject) -> Option<Seen> {
    if !matches!(subject.target?.transport, Transport::Ssh(_)) {
        return None;
    }
    let talks = |argv: &[String]| argv.iter().any(|word| NETWORK.contains(&word.rsplit('/').next().unwrap_or(word)));
    let loads: Vec<String> = subject
        .loads()
        .iter()
        .filter_map(|load| match &load.kind {
            LoadKind::Command { argv } if talks(argv) => Some(format!("load {} runs {}", load.name, argv[0])),
            _ => None,
        })
        .collect();
    if loads.is_empty() {
        return None;
    }
    warn(few(loads), "use another interface than ssh does, or set collect.mode = \"end\"")
}
