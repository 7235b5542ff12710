//! What somebody left running.

use super::{CYCLONE_V, Rule, Seen, Subject, Weight, fail, few, pass, unknown};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "tracers",
        reason: "a tracer or trace events that are on cost time at every function or event",
        source: CYCLONE_V,
        weight: Weight::Recipe,
        look: tracers,
    },
    Rule {
        name: "leftovers",
        reason: "a load or a measuring tool from an earlier test takes part in this one",
        source: "timerlat and osnoise threads of a killed rtla took a quarter of the cycles of later tests",
        weight: Weight::Sound,
        look: leftovers,
    },
    Rule {
        name: "graphics",
        reason: "a display server and the GPU use memory bandwidth and make interrupts",
        source: CYCLONE_V,
        weight: Weight::Recipe,
        look: graphics,
    },
];

fn tracers(subject: &Subject) -> Option<Seen> {
    let facts = subject.facts;
    let Some(dir) = facts.tracing_dir else {
        return match facts.built_with("FTRACE") {
            Some(false) => pass("the kernel is built without tracers"),
            _ => unknown(
                "tracefs is not mounted or not readable",
                "mount -t tracefs none /sys/kernel/tracing, and capture the facts as root",
            ),
        };
    };
    let mut on = Vec::new();
    on.extend(facts.tracer.iter().filter(|tracer| *tracer != "nop").map(|tracer| format!("tracer {tracer}")));
    let events = facts.trace_events.as_ref().map_or(0, Vec::len);
    if events > 0 {
        on.push(format!("{events} trace events"));
    }
    match on.is_empty() {
        true => pass("no tracer, no trace events"),
        false => fail(
            few(on),
            format!("set tracing = \"off\" in [apply], or echo nop > {dir}/current_tracer; echo > {dir}/set_event"),
        ),
    }
}

/// Loads and measuring tools, by name (`comm`).
const TOOLS: &[&str] = &[
    "cyclictest",
    "hackbench",
    "stress",
    "stress-ng",
    "rtla",
    "latency",
    "latmus",
    "oslat",
    "hwlatdetect",
    "jitterdebugger",
    "signaltest",
    "pmqtest",
    "cyclicdeadline",
    "dohell",
    "dd",
    "iperf",
    "iperf3",
];

fn leftovers(subject: &Subject) -> Option<Seen> {
    let Some(processes) = &subject.facts.processes else {
        return unknown("processes cannot be listed", "capture the facts as root");
    };
    let is_left = |name: &str, is_kernel: bool| {
        // The kernel's tracers measure with threads of their own, one a CPU.
        let tracer = is_kernel && (name.starts_with("osnoise/") || name.starts_with("timerlat/"));
        tracer || TOOLS.contains(&name) || name.starts_with("stress-ng")
    };
    let left = processes.iter().filter(|process| is_left(&process.name, process.is_kernel));
    let left: Vec<(u32, &str)> = left.map(|process| (process.pid, process.name.as_str())).collect();
    let Some((first, _)) = left.first() else { return pass("no load or measuring tool runs") };
    let fix = format!("end it (kill {first}); the kernel's own threads end with their tracer");
    fail(few(left.iter().map(|(pid, name)| format!("{name} (process {pid})"))), fix)
}

/// Display servers and managers, by name (`comm`).
const DISPLAY: &[&str] = &[
    "Xorg",
    "X",
    "Xwayland",
    "weston",
    "gnome-shell",
    "kwin_wayland",
    "sway",
    "cage",
    "lightdm",
    "sddm",
    "gdm",
    "gdm3",
    "mutter",
];

fn graphics(subject: &Subject) -> Option<Seen> {
    let facts = subject.facts;
    let mut on: Vec<String> =
        facts.displays.iter().flatten().map(|connector| format!("a display on {connector}")).collect();
    let servers = facts.processes.iter().flatten().filter(|process| DISPLAY.contains(&process.name.as_str()));
    on.extend(servers.map(|process| format!("{} (process {})", process.name, process.pid)));
    if !on.is_empty() {
        return fail(few(on), "stop the display server, unplug the display, or build without DRM");
    }
    match facts.processes {
        Some(_) => pass("no display and no display server"),
        None => unknown("processes cannot be listed", "capture the facts as root"),
    }
}
