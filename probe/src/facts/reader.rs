//! Reads items in a process of its own: one that does not answer (a driver that hangs, a dead NFS server) costs
//! itself, not the rest.

use super::reason;
use crate::rt::{fd, process, process::Fork};
use latprobe::status::Capture;
use std::{
    fs::File,
    io::{self, Read, Write},
    os::{
        fd::AsFd,
        unix::fs::{FileTypeExt, OpenOptionsExt},
    },
    time::{Duration, Instant},
};

/// Longest wait for one item: a board under full load is slow, not stuck.
const PATIENCE: Duration = Duration::from_secs(20);
/// Longest time for all of them.
const BUDGET: Duration = Duration::from_secs(180);

/// Something to capture.
pub(super) struct Item {
    path: String,
    read: Box<dyn Fn() -> Capture>,
}

impl Item {
    /// A figure that has no file.
    pub(super) fn figure(name: &str, value: impl Fn() -> io::Result<String> + 'static) -> Self {
        let path = format!("@{name}");
        Self { path: path.clone(), read: Box::new(move || capture(&path, value())) }
    }

    pub(super) fn file(path: String, limit: u64) -> Self {
        Self { path: path.clone(), read: Box::new(move || read(&path, limit)) }
    }
}

fn capture(path: &str, value: io::Result<String>) -> Capture {
    let (text, error) = match value {
        Ok(text) => (Some(text), None),
        Err(error) => (None, Some(reason(&error))),
    };
    Capture { path: path.to_owned(), text, error }
}

/// One file, without ever waiting for it.
fn read(path: &str, limit: u64) -> Capture {
    let content = || {
        let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
        let kind = file.metadata()?.file_type();
        if kind.is_dir() || kind.is_fifo() || kind.is_char_device() || kind.is_block_device() || kind.is_socket() {
            return Err(io::Error::other("not a plain file"));
        }
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let (text, error) = match content() {
        Ok(text) => (Some(text), None),
        Err(error) => (None, Some(reason(&error))),
    };
    Capture { path: path.to_owned(), text, error }
}

/// Hands every item to `sink`, in order.
pub(super) fn read_all(items: &[Item], sink: &mut dyn FnMut(Capture)) -> io::Result<()> {
    let deadline = Instant::now() + BUDGET;
    let mut rest = items;
    while let [first, ..] = rest {
        let (done, trouble) = read_some(rest, deadline, sink)?;
        rest = &rest[done..];
        let Some(trouble) = trouble else { continue };
        let failed = rest.first().unwrap_or(first);
        sink(Capture { path: failed.path.clone(), text: None, error: Some(trouble.to_owned()) });
        rest = rest.get(1..).unwrap_or_default();
    }
    Ok(())
}

/// How many items were read, and what is wrong with the next one.
fn read_some(
    items: &[Item],
    deadline: Instant,
    sink: &mut dyn FnMut(Capture),
) -> io::Result<(usize, Option<&'static str>)> {
    if Instant::now() >= deadline {
        return Ok((0, Some("left out: the time is over")));
    }
    let (mut answers, mut tell) = fd::pipe()?;
    let child = match process::fork()? {
        Fork::Parent(pid) => pid,
        Fork::Child => {
            drop(answers);
            let tell_one = |item: &Item| -> io::Result<()> {
                let mut line = serde_json::to_vec(&(item.read)())?;
                line.push(b'\n');
                tell.write_all(&line)
            };
            let _ = items.iter().try_for_each(tell_one);
            process::exit_now(0)
        }
    };
    drop(tell);
    let (mut text, mut done, mut trouble) = (Vec::new(), 0, None);
    while done < items.len() {
        if fd::poll(&[answers.as_fd()], PATIENCE)? != [true] {
            trouble = Some("no answer in 20 s");
            break;
        }
        let mut piece = [0; 65536];
        match answers.read(&mut piece)? {
            0 => {
                trouble = Some("the reader died of it");
                break;
            }
            length => text.extend_from_slice(&piece[..length]),
        }
        while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
            sink(serde_json::from_slice(&text[..end])?);
            text.drain(..=end);
            done += 1;
        }
    }
    // One that hangs in the kernel cannot be waited for.
    let _ = process::kill(child, libc::SIGKILL);
    while process::reap().is_some() {}
    Ok((done, trouble))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_says_so() {
        let capture = read("/proc/no-such-file", 10);
        assert_eq!((capture.text, capture.error.as_deref()), (None, Some("ENOENT")));
        assert_eq!(read("/dev/null", 10).error.as_deref(), Some("not a plain file"));
        assert_eq!(read("/proc/version", 5).text.as_deref(), Some("Linux"));
    }

    #[test]
    fn an_item_that_kills_its_reader_costs_itself() {
        let items = [
            Item::figure("first", || Ok("1".into())),
            Item::figure("deadly", || process::exit_now(7)),
            Item::figure("last", || Err(io::Error::from_raw_os_error(libc::EIO))),
        ];
        let mut seen = Vec::new();
        read_all(&items, &mut |capture| seen.push((capture.path, capture.text.or(capture.error)))).unwrap();
        let expected = [("@first", "1"), ("@deadly", "the reader died of it"), ("@last", "EIO")];
        assert_eq!(seen, expected.map(|(path, text)| (path.to_owned(), Some(text.to_owned()))));
    }
}
