//! Figures that no file holds.

use super::{find_program, reader::Item};
use crate::rt::{clock, process, sched, system};
use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Kernel log kept, in bytes: its newest part.
const MAX_LOG: usize = 1 << 20;
/// Kernel configuration kept, in bytes.
const MAX_CONFIG: u64 = 1 << 20;

pub(super) fn items(workdirs: &[String], since_ns: u64) -> Vec<Item> {
    let release = system::uname().map(|names| names[2].clone()).unwrap_or_default();
    let wall = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let mut items = vec![
        Item::figure("uname", || system::uname().map(|names| names.join(" "))),
        Item::figure("mono_ns", || Ok(clock::now_ns().to_string())),
        Item::figure("realtime_ns", move || Ok(wall().as_nanos().to_string())),
        Item::figure("uid", || Ok(process::uid().to_string())),
        Item::figure("affinity", || sched::affinity().map(|cpus| cpus.to_string())),
        Item::figure("arch", || Ok(std::env::consts::ARCH.to_owned())),
        Item::figure("probe", || Ok(crate::version())),
        Item::figure("adjtimex", discipline),
        Item::figure("resolution_ns", || clock::resolution_ns().map(|ns| ns.to_string())),
        Item::figure("rt_threads", real_time_threads),
        Item::figure("processes", processes),
        Item::figure("config.gz", packed_config),
        Item::figure("kernel_log", move || system::kernel_log(MAX_LOG).map(|log| log_since(&log, since_ns))),
    ];
    for program in ["hackbench", "cyclictest", "dd", "cat", "rtla", "stress-ng", "systemctl", "busybox"] {
        let missing = || io::Error::from_raw_os_error(libc::ENOENT);
        let find = move || find_program(program).map(|path| path.display().to_string()).ok_or_else(missing);
        items.push(Item::figure(&format!("which:{program}"), find));
    }
    for dir in workdirs {
        let path = PathBuf::from(dir);
        items.push(Item::figure(&format!("workdir:{dir}"), move || workdir(&path)));
    }
    for path in [format!("/boot/config-{release}"), format!("/lib/modules/{release}/config")] {
        if Path::new(&path).exists() {
            items.push(Item::file(path, MAX_CONFIG));
        }
    }
    items
}

fn discipline() -> io::Result<String> {
    let (state, status, offset, freq, maxerror, esterror) = system::clock_discipline()?;
    Ok(format!(
        "state {state}\nstatus {status}\noffset {offset}\nfreq {freq}\nmaxerror {maxerror}\nesterror {esterror}\n"
    ))
}

/// Kind, space and writability of a directory that runs could be kept in.
fn workdir(dir: &Path) -> io::Result<String> {
    let about = system::file_system(dir)?;
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let real = fs::canonicalize(dir)?;
    let mount = mounts.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        let at = Path::new(*fields.get(1)?);
        real.starts_with(at).then_some((
            at.as_os_str().len(),
            *fields.first()?,
            *fields.get(2)?,
            at.display().to_string(),
        ))
    });
    // Of two mounts on one place the later one counts.
    let (_, device, kind, at) = mount.max_by_key(|(length, ..)| *length).unwrap_or((0, "", "", String::new()));
    let probe = real.join(format!(".latprobe-{}", std::process::id()));
    let writable = fs::write(&probe, b"x").and_then(|()| fs::remove_file(&probe));
    let mut text = String::new();
    let _ = writeln!(text, "path {}", real.display());
    let _ = writeln!(text, "mount {at}\ndevice {device}\nfstype {kind}\nmagic {:#x}", about.kind);
    let _ = writeln!(
        text,
        "total_bytes {}\nfree_bytes {}\nfree_inodes {}",
        about.total_bytes, about.free_bytes, about.free_inodes
    );
    let _ = writeln!(text, "read_only {}\nnoexec {}\nwritable {}", about.read_only, about.no_exec, writable.is_ok());
    if let Err(error) = writable {
        let _ = writeln!(text, "why {error}");
    }
    Ok(text)
}

/// One line per thread with a real-time policy: pid tid policy priority cpus comm.
fn real_time_threads() -> io::Result<String> {
    let mut text = String::new();
    for process in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        // Processes come and go while they are listed.
        let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { continue };
        for task in tasks.flatten() {
            let dir = task.path();
            let Ok(stat) = fs::read_to_string(dir.join("stat")) else { continue };
            let Some((priority, policy)) = policy_of(&stat) else { continue };
            if !matches!(policy, 1 | 2 | 6) {
                continue;
            }
            let status = fs::read_to_string(dir.join("status")).unwrap_or_default();
            let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("").trim();
            let cpus = field("Cpus_allowed_list:");
            let tid = task.file_name().to_string_lossy().into_owned();
            let policy = ["other", "fifo", "rr", "batch", "iso", "idle", "deadline"][policy];
            let _ = writeln!(text, "{pid} {tid} {policy} {priority} {cpus} {}", field("Name:"));
        }
    }
    Ok(text)
}

/// One line per process: pid, parent, device number of its terminal, name.
fn processes() -> io::Result<String> {
    let mut text = String::new();
    for process in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let Ok(stat) = fs::read_to_string(process.path().join("stat")) else { continue };
        let Some((name, parent, tty)) = name_of(&stat) else { continue };
        let _ = writeln!(text, "{pid} {parent} {tty} {name}");
    }
    Ok(text)
}

/// Name, parent and terminal of `/proc/PID/stat`.
fn name_of(stat: &str) -> Option<(&str, &str, &str)> {
    let (head, tail) = stat.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let mut fields = tail.split_whitespace();
    Some((name, fields.nth(1)?, fields.nth(2)?))
}

/// Fields 40 and 41 of `/proc/PID/stat`: real-time priority and policy. The name may hold anything, `)` and blanks too.
fn policy_of(stat: &str) -> Option<(u32, usize)> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(37);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// `/proc/config.gz`, unpacked by whatever the board has for that.
fn packed_config() -> io::Result<String> {
    let path = "/proc/config.gz";
    fs::metadata(path)?;
    for command in [&["zcat", path][..], &["busybox", "zcat", path], &["gzip", "-dc", path]] {
        let mut run = Command::new(command[0]);
        let output = run.args(&command[1..]).stdin(Stdio::null()).stderr(Stdio::null()).output();
        if let Some(output) = output.ok().filter(|output| output.status.success() && !output.stdout.is_empty()) {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
    }
    Err(io::Error::other("no zcat, busybox or gzip on the board"))
}

/// Lines of the kernel log with a time from `since_ns` on, and those that follow one.
fn log_since(log: &[u8], since_ns: u64) -> String {
    let text = String::from_utf8_lossy(log);
    if since_ns == 0 {
        return text.into_owned();
    }
    let mut keep = false;
    let mut kept = String::new();
    for line in text.lines() {
        // `<6>[   12.345678] …`; without CONFIG_PRINTK_TIME everything is kept.
        let time =
            line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).and_then(|(time, _)| micros(time.trim()));
        keep = time.map_or(keep, |time| time.saturating_mul(1000) >= since_ns);
        if keep {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

fn micros(time: &str) -> Option<u64> {
    let (seconds, fraction) = time.split_once('.')?;
    if fraction.len() != 6 {
        return None;
    }
    Some(seconds.parse::<u64>().ok()?.checked_mul(1_000_000)? + fraction.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_is_found_behind_any_name() {
        let tail = "S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 1 98 1 0 0";
        assert_eq!(policy_of(&format!("12 (a) S 1 (b) {tail}")), Some((98, 1)));
        assert_eq!(policy_of("12 (a"), None);
        assert_eq!(name_of("12 (a) (b) S 7 12 12 1088 -1 0"), Some(("a) (b", "7", "1088")));
        assert_eq!(name_of("12 (a"), None);
    }

    #[test]
    fn log_is_cut_by_time() {
        let log = b"<6>[    1.000000] a\n<6>[   12.500000] b\n continued\n<6>[   13.000001] c\n";
        assert_eq!(log_since(log, 12_500_000_000), "<6>[   12.500000] b\n continued\n<6>[   13.000001] c\n");
        assert_eq!(log_since(log, 99_000_000_000), "");
        assert_eq!(log_since(b"no times\n", 0), "no times\n");
    }
}
