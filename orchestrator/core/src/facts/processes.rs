//! Who is running.

use super::Facts;
use super::captures::Captures;

/// A process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its name (`comm`, at most 15 bytes).
    pub name: String,
    /// It belongs to the kernel.
    pub is_kernel: bool,
    /// It runs on a serial line.
    pub on_serial_line: bool,
}

/// `kthreadd`, parent of all kernel threads.
const KTHREADD: u32 = 2;

pub(super) fn read(captures: &Captures, facts: &mut Facts) {
    facts.processes = captures.text("@processes").map(|text| text.lines().filter_map(process).collect());
}

/// `pid ppid tty name`; `tty` is the device number of the controlling terminal, 0 without.
fn process(line: &str) -> Option<Process> {
    let mut fields = line.splitn(4, ' ');
    let pid = fields.next()?.parse().ok()?;
    let parent: u32 = fields.next()?.parse().ok()?;
    let tty: u32 = fields.next()?.parse().ok()?;
    let name = fields.next()?.to_owned();
    Some(Process { pid, name, is_kernel: pid == KTHREADD || parent == KTHREADD, on_serial_line: is_serial(tty) })
}

/// By the kernel's list of devices (Documentation/admin-guide/devices.txt): ttyS is 4:64 and up, 204 and 207 are the
/// low-density serial ports (ttyAMA, ttymxc, ttyPS, ttySTM), 229 is hvc.
fn is_serial(tty: u32) -> bool {
    let (major, minor) = ((tty >> 8) & 0xfff, (tty & 0xff) | ((tty >> 12) & 0xfff00));
    matches!((major, minor), (4, 64..=255) | (204 | 207 | 229, _))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_any_name() {
        let all = |text: &str| text.lines().filter_map(process).collect::<Vec<_>>();
        let found = all("1 0 0 init\n2 0 0 kthreadd\n9 2 0 migration/0\n77 1 1088 sh\n78 1 34816 my prog (x)\nx\n");
        let seen: Vec<_> = found.iter().map(|p| (p.pid, p.name.as_str(), p.is_kernel, p.on_serial_line)).collect();
        assert_eq!(
            seen,
            [
                (1, "init", false, false),
                (2, "kthreadd", true, false),
                (9, "migration/0", true, false),
                (77, "sh", false, true),
                (78, "my prog (x)", false, false),
            ]
        );
    }
}
