//! What `hackbench` does: groups of 20 senders and 20 receivers that pass short messages.
//! Options, defaults and output are those of rt-tests' program.

use crate::{
    args::Args,
    error::{Doing, Error, Result},
    rt::{fd, memory, process, process::Fork},
};
use std::{
    fs::File,
    io::{self, Read, Write},
    sync::Arc,
    thread::{Builder, JoinHandle},
    time::{Duration, Instant},
};

/// Senders, and receivers, of a group.
const PAIRS: usize = 20;
/// Largest group count: 40,000 tasks.
const MAX_GROUPS: u64 = 1000;
const MAX_MESSAGE: u64 = 1 << 20;
const STACK_BYTES: usize = 64 << 10;

#[derive(Clone, Copy)]
struct Shape {
    groups: usize,
    loops: usize,
    bytes: usize,
    pipes: bool,
    threads: bool,
}

/// Something that runs one sender or receiver.
enum Worker {
    Process(i32),
    Thread(JoinHandle<io::Result<()>>),
}

/// Said by each worker once it is ready, and waited for by it before it starts.
struct Start {
    ready: File,
    go: File,
}

pub(super) fn run(mut args: Args) -> Result<()> {
    let mut number = |name: &str, default: u64, most: u64| match args.number(name)?.unwrap_or(default) {
        value if (1..=most).contains(&value) => Ok(value),
        value => Err(Error::Usage(format!("latprobe load hackbench: {name} {value} is not between 1 and {most}"))),
    };
    let size = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let groups = size(number("-g", 10, MAX_GROUPS)?);
    let loops = size(number("-l", 100, u64::from(u32::MAX))?);
    let bytes = size(number("-s", 100, MAX_MESSAGE)?);
    let (pipes, threads) = (args.flag("-p") | args.flag("--pipe"), args.flag("-T") | args.flag("--threads"));
    args.finish()?;
    let shape = Shape { groups, loops, bytes, pipes, threads };
    process::set_name(c"hackbench");
    // Threads keep every descriptor of every group open.
    memory::raise_open_files().doing(|| "cannot raise the limit of open files")?;
    let (tasks, mode) = (groups * 2 * PAIRS, if threads { "threaded" } else { "process" });
    let intro = format!(
        "Running in {mode} mode with {groups} groups using {} file descriptors each (== {tasks} tasks)\n\
         Each sender will pass {loops} messages of {bytes} bytes",
        2 * PAIRS
    );
    crate::print(&intro)?;
    let millis = race(shape)?.as_millis();
    crate::print(&format!("Time: {}.{:03}", millis / 1000, millis % 1000))
}

/// Starts everything at once; how long it took.
fn race(shape: Shape) -> Result<Duration> {
    let (mut ready, tell) = fd::pipe().doing(|| "cannot make a pipe")?;
    let (wait, mut go) = fd::pipe().doing(|| "cannot make a pipe")?;
    let start = Arc::new(Start { ready: tell, go: wait });
    let mut workers = Vec::new();
    let result = (0..shape.groups).try_for_each(|_| group(shape, &start, &mut workers));
    let outcome = result.and_then(|()| {
        drop(start);
        let mut each = vec![0; workers.len()];
        ready.read_exact(&mut each)?;
        let begin = Instant::now();
        go.write_all(&vec![0; workers.len()])?;
        let failed = workers.drain(..).map(Worker::join).filter(io::Result::is_err).count();
        let taken = begin.elapsed();
        if failed > 0 { Err(io::Error::other(format!("{failed} workers failed"))) } else { Ok(taken) }
    });
    for worker in workers {
        worker.kill();
    }
    outcome.map_err(|error| Error::Load(format!("hackbench with {} groups: {error}", shape.groups)))
}

fn group(shape: Shape, start: &Arc<Start>, workers: &mut Vec<Worker>) -> io::Result<()> {
    let mut senders_ends = Vec::with_capacity(PAIRS);
    for _ in 0..PAIRS {
        let (from, to) = if shape.pipes { fd::pipe()? } else { fd::socket_pair()? };
        let expected = PAIRS * shape.loops;
        workers.push(worker(shape, start, from, move |from| receive(from, expected, shape.bytes))?);
        senders_ends.push(to);
    }
    let ends = Arc::new(senders_ends);
    for _ in 0..PAIRS {
        let ends = ends.clone();
        workers.push(worker(shape, start, ends, move |ends: Arc<Vec<File>>| send(&ends, shape))?);
    }
    Ok(())
}

fn worker<E: Send + 'static>(
    shape: Shape,
    start: &Arc<Start>,
    ends: E,
    work: impl FnOnce(E) -> io::Result<()> + Send + 'static,
) -> io::Result<Worker> {
    if shape.threads {
        let start = start.clone();
        let body = move || begin(&start).and_then(|()| work(ends));
        return Ok(Worker::Thread(Builder::new().stack_size(STACK_BYTES).spawn(body)?));
    }
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    match process::fork()? {
        Fork::Parent(pid) => Ok(Worker::Process(pid)),
        Fork::Child => {
            // When the load is killed its workers go with it.
            let alone = process::die_with_parent().is_ok() && process::parent() != own;
            let done = if alone { Ok(()) } else { begin(start).and_then(|()| work(ends)) };
            process::exit_now(i32::from(done.is_err()))
        }
    }
}

fn begin(start: &Start) -> io::Result<()> {
    (&start.ready).write_all(&[0])?;
    (&start.go).read_exact(&mut [0])
}

fn send(ends: &[File], shape: Shape) -> io::Result<()> {
    let message = vec![0u8; shape.bytes];
    for _ in 0..shape.loops {
        for mut end in ends {
            end.write_all(&message)?;
        }
    }
    Ok(())
}

fn receive(mut from: File, messages: usize, bytes: usize) -> io::Result<()> {
    let mut message = vec![0u8; bytes];
    for _ in 0..messages {
        from.read_exact(&mut message)?;
    }
    Ok(())
}

impl Worker {
    fn join(self) -> io::Result<()> {
        let failed = || io::Error::other("a worker failed");
        match self {
            Worker::Process(pid) => match process::wait_for(pid)? {
                process::Ended::Code(0) => Ok(()),
                _ => Err(failed()),
            },
            Worker::Thread(thread) => thread.join().unwrap_or_else(|_| Err(failed())),
        }
    }

    /// After a failed start; threads go with the process.
    fn kill(self) {
        if let Worker::Process(pid) = self {
            let _ = process::kill(pid, libc::SIGKILL);
            let _ = process::wait_for(pid);
        }
    }
}
