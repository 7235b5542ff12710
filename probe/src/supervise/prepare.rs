//! From a spec to threads that wait for the word to sample.

use super::{check, privileges, settings::Undo, trace};
use crate::{
    error::{Doing, Error, Result},
    measure::{self, Region, Report},
    rt::{fd, process, process::Fork},
};
use latprobe::{
    cpulist::CpuList,
    spec::{CpuDmaLatency, Mode, Setting, Spec, Weakness},
};
use std::{
    fs::File,
    io::{Read, Write},
    os::fd::AsFd,
    time::{Duration, Instant},
};

/// How long the measuring process may take to set itself up.
const PATIENCE: Duration = Duration::from_secs(30);

/// The supervisor's ends of the measuring process.
pub(super) struct Measurer {
    pub(super) pid: i32,
    report: File,
    go: File,
}

impl Measurer {
    /// Forks it. Before the supervisor has threads, locked memory or loads.
    pub(super) fn fork(spec: &Spec, region: Region) -> Result<Self> {
        let pipes = fd::pipe().and_then(|report| Ok((report, fd::pipe()?)));
        let ((report, tell), (wait, go)) = pipes.doing(|| "cannot make a pipe")?;
        match process::fork().doing(|| "cannot fork the measuring process")? {
            Fork::Parent(pid) => Ok(Self { pid, report, go }),
            Fork::Child => {
                drop((report, go));
                measure::serve(spec, region, tell, wait)
            }
        }
    }

    /// Lets it set itself up, and returns what it says.
    pub(super) fn set_up(&mut self) -> Result<Report> {
        self.go.write_all(b"p").doing(|| "the measuring process is gone")?;
        let deadline = Instant::now() + PATIENCE;
        let mut text = Vec::new();
        loop {
            if let Ok(report) = serde_json::from_slice(&text) {
                return Ok(report);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::Refused(vec![format!("the measuring process was not ready after {PATIENCE:?}")]));
            }
            if fd::poll(&[self.report.as_fd()], left).doing(|| "cannot hear the measuring process")? == [true] {
                let mut piece = [0; 4096];
                match self.report.read(&mut piece).doing(|| "cannot hear the measuring process")? {
                    0 => return Err(Error::Refused(vec!["the measuring process ended; see supervisor.log".into()])),
                    length => text.extend_from_slice(&piece[..length]),
                }
            }
        }
    }

    /// Lets its threads sample; the schedule is in the region.
    pub(super) fn go(&mut self, threads: usize) -> Result<()> {
        self.go.write_all(&vec![b'g'; threads]).doing(|| "the measuring process is gone")
    }
}

/// The settings of the run, with those that hold idle states off the measured CPUs, and what to say of the latter.
pub(super) fn settings(spec: &Spec) -> (Vec<Setting>, Option<String>) {
    let mut settings = spec.apply.clone();
    if let Mode::Hunt(hunt) = &spec.measure.mode {
        settings.extend(trace::settings(hunt));
    }
    if spec.measure.cpu_dma_latency != CpuDmaLatency::PerCpu {
        return (settings, None);
    }
    let cpus: CpuList = spec.measure.threads.iter().filter_map(|thread| thread.cpu).collect();
    let path = |cpu: &u32| format!("/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us");
    let paths: Vec<String> = cpus.as_slice().iter().map(path).collect();
    if paths.is_empty() || paths.iter().any(|path| std::fs::read(path).is_err()) {
        return (settings, Some("missing".to_owned()));
    }
    // `n/a` is the kernel's word for no latency at all; 0 would mean no limit.
    settings.extend(paths.into_iter().map(|path| Setting { path, value: "n/a".to_owned(), optional: false }));
    (settings, Some("per-cpu".to_owned()))
}

/// Holds `/dev/cpu_dma_latency` at 0 us for as long as the file is open; what to say of it.
pub(super) fn hold_dma_latency() -> (Option<File>, String) {
    let hold = || {
        let mut file = File::options().write(true).open("/dev/cpu_dma_latency")?;
        file.write_all(&0i32.to_ne_bytes())?;
        Ok(file)
    };
    match hold() {
        Ok(file) => (Some(file), "held 0 us".to_owned()),
        Err(error) if std::io::Error::kind(&error) == std::io::ErrorKind::NotFound => (None, "missing".to_owned()),
        Err(error) => (None, format!("refused: {error}")),
    }
}

/// The findings that the campaign accepts; any other refuses the run.
pub(super) fn judge(spec: &Spec, report: &Report) -> Result<Vec<Weakness>> {
    let accepted = |weakness: &Option<Weakness>| weakness.filter(|weakness| spec.accept.contains(weakness));
    let refused = report.findings.iter().filter(|(weakness, _)| accepted(weakness).is_none());
    let reasons: Vec<String> = refused.map(|(_, text)| text.clone()).collect();
    if !reasons.is_empty() {
        return Err(Error::Refused(reasons));
    }
    let mut weaknesses: Vec<Weakness> = crate::sorted(report.findings.iter().filter_map(|(weakness, _)| *weakness));
    weaknesses.dedup();
    Ok(weaknesses)
}

/// Everything that is checked before anything is changed; the old values of the settings.
pub(super) fn inspect(spec: &Spec) -> Result<(Undo, Option<String>)> {
    check::check(spec)?;
    check::check_board(spec, &privileges::online())?;
    check_memory(spec)?;
    if let Mode::Hunt(hunt) = &spec.measure.mode {
        trace::check(hunt)?;
    }
    let (settings, dma) = settings(spec);
    Ok((Undo::plan(&settings, spec)?, dma))
}

/// Refuses counters that would leave the board without memory: they are locked, and the supervisor keeps a copy.
fn check_memory(spec: &Spec) -> Result<()> {
    let needed = Region::bytes(spec).saturating_mul(2);
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib =
        |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
    // `MemAvailable` is there since Linux 3.14.
    let Some(available) = kib("MemAvailable:").or_else(|| kib("MemFree:")).map(|kib: u64| kib.saturating_mul(1024))
    else {
        return Ok(());
    };
    if needed <= available / 2 {
        return Ok(());
    }
    let field = "measure.bins".to_owned();
    let threads = spec.measure.threads.len();
    let problem = format!(
        "{} bins for {threads} threads need {} MB, more than half of the {} MB that are available",
        spec.measure.bins,
        needed >> 20,
        available >> 20
    );
    Err(Error::Spec { field, problem })
}
