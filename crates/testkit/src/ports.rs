//! Ports for processes that must be told theirs before they start.
//!
//! A port that the system chose for somebody is given away again as soon as that one closes it, be it
//! to an outgoing connection. These lie below the range from which the system chooses (from 32768 on
//! Linux), and each is held by a lock on a file for as long as this process lives. `tests/python/ports.py`
//! follows the same rule, and xtask and tests of other crates include this file.

use std::fs::{self, File, TryLockError};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Mutex, PoisonError};

const RANGE: std::ops::Range<u16> = 20_000..32_000;

static HELD: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// A port of 127.0.0.1 that nobody listens on, and that nobody else is given.
///
/// # Panics
/// If there is none, or no place for the locks.
pub fn free() -> u16 {
    let locks = std::env::temp_dir().join("thalweg-ports");
    fs::create_dir_all(&locks).expect("a directory for locks of ports");
    let count = u32::from(RANGE.end - RANGE.start);
    let first = RANGE.start + u16::try_from(std::process::id() % count).unwrap_or_default();
    for port in (first..RANGE.end).chain(RANGE.start..first) {
        let file = File::create(locks.join(port.to_string())).expect("a lock of a port");
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => continue,
            Err(TryLockError::Error(error)) => panic!("the lock of port {port}: {error}"),
        }
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            HELD.lock().unwrap_or_else(PoisonError::into_inner).push(file);
            return port;
        }
    }
    panic!("no port of {RANGE:?} is free");
}
