//! A TCP relay between latlab and a board that cuts, slows, stalls and damages.

use super::plan::Random;
use anyhow::{Context, Result};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the link does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Mode {
    Whole = 0,
    /// Connections end and none is made.
    Cut = 1,
    /// 40 kB/s a direction.
    Slow = 2,
    /// Nothing passes, nothing ends.
    Stalled = 3,
    /// Delays, and some damaged bytes: the connection's checksum ends it.
    Lossy = 4,
}

const SLOW_CHUNK: usize = 2_000;
const SLOW_PAUSE: Duration = Duration::from_millis(50);
/// One chunk in so many is damaged.
const LOSS: u64 = 40;
const LONGEST_DELAY_MS: u64 = 60;

struct Shared {
    mode: AtomicU8,
    ended: AtomicBool,
    connections: Mutex<Vec<TcpStream>>,
    random: AtomicU64,
}

/// The relay; ends with its connections when dropped.
pub(super) struct Relay {
    shared: Arc<Shared>,
    pub(super) port: u16,
}

impl Relay {
    /// Listens on a free port of 127.0.0.1, for what listens on `to`.
    pub(super) fn start(to: u16, seed: u64) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot bind on 127.0.0.1")?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            mode: AtomicU8::new(Mode::Whole as u8),
            ended: AtomicBool::new(false),
            connections: Mutex::default(),
            random: AtomicU64::new(seed),
        });
        let of_listener = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if of_listener.ended.load(Ordering::Relaxed) {
                    return;
                }
                connect(&of_listener, client, to);
            }
        });
        Ok(Self { shared, port })
    }

    pub(super) fn set(&self, mode: Mode) {
        self.shared.mode.store(mode as u8, Ordering::Relaxed);
        if mode == Mode::Cut {
            self.shared.end_all();
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        self.shared.end_all();
        // Wakes the listener.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

impl Shared {
    fn is(&self, mode: Mode) -> bool {
        self.mode.load(Ordering::Relaxed) == mode as u8
    }

    fn end_all(&self) {
        let mut connections = self.connections.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        for connection in connections.drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

fn connect(shared: &Arc<Shared>, client: TcpStream, to: u16) {
    if shared.is(Mode::Cut) {
        return;
    }
    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, to)) else { return };
    let clones = (client.try_clone(), server.try_clone(), client.try_clone(), server.try_clone());
    let (Ok(client_to), Ok(server_to), Ok(keep_client), Ok(keep_server)) = clones else { return };
    let mut connections = shared.connections.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    connections.extend([keep_client, keep_server]);
    drop(connections);
    for (from, to) in [(client, server_to), (server, client_to)] {
        let shared = Arc::clone(shared);
        let seed = shared.random.fetch_add(1, Ordering::Relaxed);
        std::thread::spawn(move || pump(&shared, from, to, Random(seed)));
    }
}

fn pump(shared: &Shared, mut from: TcpStream, mut to: TcpStream, mut random: Random) {
    let mut buffer = [0; 16 << 10];
    loop {
        let room = if shared.is(Mode::Slow) { SLOW_CHUNK } else { buffer.len() };
        let Ok(length @ 1..) = from.read(&mut buffer[..room]) else { break };
        if shared.is(Mode::Slow) {
            std::thread::sleep(SLOW_PAUSE);
        }
        while shared.is(Mode::Stalled) && !shared.ended.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
        }
        if shared.is(Mode::Lossy) {
            std::thread::sleep(Duration::from_millis(random.below(LONGEST_DELAY_MS)));
            if random.below(LOSS) == 0 {
                buffer[length / 2] ^= 1;
            }
        }
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
