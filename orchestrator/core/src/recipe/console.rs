//! Where kernel messages and people are.

use super::{CYCLONE_V, Rule, Seen, Subject, Weight, fail, few, pass, unknown, warn};
use crate::resolve::QUIET_LEVEL;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "console",
        reason: "a kernel message on a serial line at 115200 baud holds a CPU for 87 us a character",
        source: CYCLONE_V,
        weight: Weight::Recipe,
        look: console,
    },
    Rule {
        name: "serial-terminal",
        reason: "a program that prints to a serial line makes interrupts and console work; use ssh",
        source: CYCLONE_V,
        weight: Weight::Recipe,
        look: terminal,
    },
];

/// Consoles that a person looks at, or nobody.
fn is_serial(console: &str) -> bool {
    console.starts_with("tty") && console.chars().nth(3).is_some_and(|c| c.is_ascii_alphabetic())
        || console.starts_with("hvc")
}

fn console(subject: &Subject) -> Option<Seen> {
    let facts = subject.facts;
    let Some(level) = facts.console_level else {
        return unknown("the console log level cannot be read", "look at /proc/sys/kernel/printk");
    };
    let serial: Vec<String> = facts.consoles.iter().flatten().filter(|console| is_serial(console)).cloned().collect();
    let on =
        if serial.is_empty() { "no serial console".to_owned() } else { format!("console {}", few(serial.clone())) };
    let fix = "set console = \"quiet\" in [apply], boot with quiet, or dmesg -n 4";
    match (level <= QUIET_LEVEL, serial.is_empty() && facts.consoles.is_some()) {
        (true, _) => pass(format!("quiet: level {level}, {on}")),
        (false, false) => fail(format!("level {level}, {on}"), fix),
        (false, true) => warn(format!("level {level}, {on}"), fix),
    }
}

/// What waits on a serial line for somebody to log in.
const WAITING: &[&str] = &["getty", "agetty", "mgetty", "askfirst", "login", "sh", "ash", "bash", "init", "sulogin"];

fn terminal(subject: &Subject) -> Option<Seen> {
    let Some(processes) = &subject.facts.processes else {
        return unknown("processes cannot be listed", "capture the facts as root");
    };
    let busy = processes.iter().filter(|process| process.on_serial_line && !WAITING.contains(&process.name.as_str()));
    let busy: Vec<String> = busy.map(|process| format!("{} (process {})", process.name, process.pid)).collect();
    match busy.is_empty() {
        true => pass("no program runs on a serial line"),
        false => warn(few(busy), "end it, and work over ssh"),
    }
}
