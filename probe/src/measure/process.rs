//! The measuring process: forked once by the supervisor, before it locks memory or has threads.
//! From the first sample on it neither forks, maps, unmaps nor writes.

use super::{
    Region, selftest,
    thread::{self, Granted},
};
use crate::rt::{memory, process};
use latprobe::{
    spec::{Measure, Sleep, Spec, Weakness},
    stream::{Selftest, ThreadSetup},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{Read, Write},
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread::Builder,
};

/// Stack of a sampling thread: the loop needs less than a kilobyte, memory is locked, boards are small.
const STACK_BYTES: usize = 32 << 10;

/// A thread's index, and what it was granted.
type Answer = (usize, Granted);

/// What the measuring process tells the supervisor before the first sample.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) threads: Vec<ThreadSetup>,
    pub(crate) selftest: Option<Selftest>,
    pub(crate) memory_locked: bool,
    /// What is wrong: a weakness that the campaign may accept, or none where nothing can be measured.
    pub(crate) findings: Vec<(Option<Weakness>, String)>,
}

/// Runs as the measuring process. A byte of `go` lets it set itself up and answer to `report`; one more for each thread
/// lets that thread sample. It ends with its last thread.
pub(crate) fn serve(spec: &Spec, region: Region, report: File, go: File) -> ! {
    process::set_name(c"latprobe-meas");
    // The supervisor may be gone before this is set; its guard looks for us then.
    let _ = process::die_with_parent();
    if let Err(text) = measure(&spec.measure, region, report, go) {
        log(&text);
        process::exit_now(1);
    }
    loop {
        // The last sampling thread ends the process.
        std::thread::park();
    }
}

/// To the supervisor's log, if the disk takes it.
fn log(text: &str) {
    let _ = writeln!(std::io::stderr(), "measuring process: {text}");
}

fn measure(measure: &Measure, region: Region, mut report: File, mut go: File) -> Result<(), String> {
    // The settings of the run come first: real-time runtime, for one, decides which policies are granted.
    if !matches!(go.read(&mut [0]), Ok(1)) {
        return Err("the supervisor is gone".to_owned());
    }
    let (read, sleep, mut figures) = selftest().map_err(|error| format!("no usable clock: {error}"))?;
    if measure.sleep == Sleep::Timerfd {
        "timerfd".clone_into(&mut figures.sleep_call);
    }
    let mut findings = Vec::new();
    if figures.clock_step_ns > measure.bin_width_ns {
        let text = format!(
            "the clock steps by {} ns, a bin is {} ns wide: use wider bins",
            figures.clock_step_ns, measure.bin_width_ns
        );
        findings.push((Some(Weakness::CoarseClock), text));
    }
    memory::use_one_arena();
    let locked = if measure.mlock { memory::lock_all() } else { Ok(()) };
    region.touch();
    if let Err(error) = &locked {
        let text = format!("memory cannot be locked: {error} (needs root, CAP_IPC_LOCK or a larger RLIMIT_MEMLOCK)");
        findings.push((Some(Weakness::MemoryNotLocked), text));
    }
    let count = measure.threads.len();
    let measure: Arc<Measure> = Arc::new(measure.clone());
    let go = Arc::new(go);
    let running = Arc::new(AtomicUsize::new(count));
    let answers: Arc<(Mutex<Vec<Answer>>, Condvar)> = Arc::default();
    for index in 0..count {
        let (measure, go, running, answers) = (measure.clone(), go.clone(), running.clone(), answers.clone());
        let body = move || {
            let granted = thread::prepare(index, &measure);
            answers.0.lock().unwrap_or_else(PoisonError::into_inner).push((index, granted));
            answers.1.notify_one();
            drop(answers);
            // End of file: the supervisor is gone.
            if !matches!((&*go).read(&mut [0]), Ok(1)) {
                process::exit_now(1);
            }
            if let Err(error) = thread::sample(index, &measure, region, (read, sleep)) {
                log(&format!("thread {index}: {error}"));
                process::exit_now(1);
            }
            // A thread that ends would unmap its stack beside those that still sample.
            if running.fetch_sub(1, Ordering::AcqRel) == 1 {
                process::exit_now(0);
            }
            loop {
                std::thread::park();
            }
        };
        let builder = Builder::new().name(format!("latprobe-{index}")).stack_size(STACK_BYTES);
        builder.spawn(body).map_err(|error| format!("cannot start sampling thread {index}: {error}"))?;
    }
    let mut heard = answers.0.lock().unwrap_or_else(PoisonError::into_inner);
    while heard.len() < count {
        heard = answers.1.wait(heard).unwrap_or_else(PoisonError::into_inner);
    }
    let heard: BTreeMap<usize, Granted> = heard.drain(..).collect();
    let mut threads = Vec::new();
    for granted in heard.into_values() {
        threads.push(granted.setup);
        findings.extend(granted.findings);
    }
    let memory_locked = measure.mlock && locked.is_ok();
    let told = Report { threads, selftest: Some(figures), memory_locked, findings };
    let line = serde_json::to_vec(&told).map_err(|error| error.to_string())?;
    report.write_all(&line).map_err(|error| format!("cannot report: {error}"))
}
