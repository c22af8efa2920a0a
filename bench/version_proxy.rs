//! Stands between clients and the brokers of a cluster: tells clients of lower versions than a broker has, and tells who
//! asks for metadata.
//!
//!     version_proxy [--cap KEY=VERSION]... [--stale-metadata] LISTEN=BROKER...
//!
//! `--cap` lowers the highest version of an API in the brokers' answers to ApiVersions. With `--stale-metadata` the
//! first answer to each question for metadata is the answer to all questions that are the same. Everything else goes
//! through as it comes; each direction of a connection has a thread that waits for it and nothing else. Standard output
//! has `ready`, then `metadata CLIENT-ID` for every Metadata request and `uses KEY VERSION` where a client first sends
//! a version of an API. The process ends with its standard input.
//!
//! Built by `rustc`, with nothing but the standard library.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::thread;

const METADATA: i16 = 3;
const API_VERSIONS: i16 = 18;
/// The error of an answer that has the form of version 0, whatever was asked in (KIP-511).
const UNSUPPORTED_VERSION: i16 = 35;
/// First version of Metadata whose requests have tagged fields in their header.
const METADATA_FLEXIBLE: i16 = 9;
/// First version of ApiVersions whose answers are flexible. Their header never is.
const API_VERSIONS_FLEXIBLE: i16 = 3;
const SIZE: usize = 4;
const READ: usize = 256 << 10;
/// Frames that are held until they are complete.
const WHOLE_MAX: usize = 16 << 20;

/// What all connections share.
struct Shared {
    caps: HashMap<i16, i16>,
    /// Answers to Metadata behind their correlation ids, by version and request; `None` where nothing is kept.
    remembered: Option<Mutex<HashMap<(i16, Vec<u8>), Vec<u8>>>>,
    used: Mutex<HashSet<(i16, i16)>>,
}

/// An answer that is not to go through as it comes.
struct Awaited {
    correlation: i32,
    what: What,
}

enum What {
    ApiVersions { version: i16 },
    Metadata { question: (i16, Vec<u8>) },
}

type Pending = Arc<Mutex<VecDeque<Awaited>>>;

/// One direction of a connection.
trait Direction {
    /// Bytes of a frame by which it is known what to do with it.
    const HEAD: usize;
    /// Whether the frame that begins so is to be complete before anything of it goes on.
    fn is_whole(&mut self, head: &[u8]) -> bool;
    /// Looks at a complete frame, and may change it.
    fn whole(&mut self, frame: &mut Vec<u8>) -> io::Result<()>;
}

struct Requests {
    shared: Arc<Shared>,
    pending: Pending,
    /// The versions that this connection has used.
    used: HashSet<(i16, i16)>,
}

impl Direction for Requests {
    const HEAD: usize = SIZE + 8;

    fn is_whole(&mut self, head: &[u8]) -> bool {
        let (key, version) = (i16_at(head, SIZE), i16_at(head, SIZE + 2));
        if self.used.insert((key, version)) && lock(&self.shared.used).insert((key, version)) {
            say(&format!("uses {key} {version}"));
        }
        key == METADATA || key == API_VERSIONS
    }

    fn whole(&mut self, frame: &mut Vec<u8>) -> io::Result<()> {
        let (key, version) = (i16_at(frame, SIZE), i16_at(frame, SIZE + 2));
        let correlation = i32_at(frame, SIZE + 4);
        let what = if key == API_VERSIONS {
            What::ApiVersions { version }
        } else {
            let mut rest = Bytes { bytes: frame, at: Self::HEAD };
            let length = rest.i16().ok_or_else(broken)?;
            let client = rest.take(length.max(0) as usize).ok_or_else(broken)?;
            say(&format!("metadata {}", String::from_utf8_lossy(client)));
            if version >= METADATA_FLEXIBLE {
                rest.skip_tags().ok_or_else(broken)?;
            }
            if self.shared.remembered.is_none() {
                return Ok(());
            }
            What::Metadata { question: (version, rest.bytes[rest.at..].to_vec()) }
        };
        // Before the request is sent, or its answer would not be waited for.
        lock(&self.pending).push_back(Awaited { correlation, what });
        Ok(())
    }
}

struct Responses {
    shared: Arc<Shared>,
    pending: Pending,
}

impl Direction for Responses {
    const HEAD: usize = SIZE + 4;

    fn is_whole(&mut self, head: &[u8]) -> bool {
        // Answers come in the order of the requests.
        lock(&self.pending).front().is_some_and(|next| next.correlation == i32_at(head, SIZE))
    }

    fn whole(&mut self, frame: &mut Vec<u8>) -> io::Result<()> {
        let awaited = lock(&self.pending).pop_front().ok_or_else(broken)?;
        match awaited.what {
            What::ApiVersions { version } => {
                lower(frame, version, &self.shared.caps).ok_or_else(broken)
            }
            What::Metadata { question } => {
                if let Some(remembered) = &self.shared.remembered {
                    let mut remembered = lock(remembered);
                    let answer = remembered.entry(question);
                    let answer = answer.or_insert_with(|| frame[Self::HEAD..].to_vec());
                    frame.truncate(Self::HEAD);
                    frame.extend_from_slice(answer);
                    let size = i32::try_from(frame.len() - SIZE).map_err(|_| broken())?;
                    frame[..SIZE].copy_from_slice(&size.to_be_bytes());
                }
                Ok(())
            }
        }
    }
}

/// Lowers the versions in an answer to ApiVersions; `None` where it cannot be read.
fn lower(frame: &mut [u8], version: i16, caps: &HashMap<i16, i16>) -> Option<()> {
    let mut rest = Bytes { bytes: frame, at: Responses::HEAD };
    let is_flexible = rest.i16()? != UNSUPPORTED_VERSION && version >= API_VERSIONS_FLEXIBLE;
    let count =
        if is_flexible { rest.uvarint()?.checked_sub(1)? } else { rest.i32()?.try_into().ok()? };
    let mut changes = Vec::new();
    for _ in 0..count {
        let (key, least) = (rest.i16()?, rest.i16()?);
        let (at, most) = (rest.at, rest.i16()?);
        if is_flexible {
            rest.skip_tags()?;
        }
        if let Some(&cap) = caps.get(&key).filter(|&&cap| cap < most) {
            if cap < least {
                eprintln!("version_proxy: API {key} has no version below {least}");
                return None;
            }
            changes.push((at, cap));
        }
    }
    for (at, cap) in changes {
        frame[at..at + 2].copy_from_slice(&cap.to_be_bytes());
    }
    Some(())
}

/// Passes on what comes until one side ends.
fn pass<D: Direction>(from: &TcpStream, to: &TcpStream, mut direction: D) -> io::Result<()> {
    let (mut from, mut to) = (from, to);
    let (mut buffer, mut filled) = (vec![0; READ], 0);
    // Bytes still to come of a frame that goes through.
    let mut passing = 0;
    let mut out = Vec::with_capacity(READ);
    loop {
        let read = from.read(&mut buffer[filled..])?;
        if read == 0 {
            return Ok(());
        }
        filled += read;
        let mut at = 0;
        loop {
            let rest = &buffer[at..filled];
            if passing > 0 {
                let now = rest.len().min(passing);
                out.extend_from_slice(&rest[..now]);
                at += now;
                passing -= now;
            }
            let rest = &buffer[at..filled];
            if rest.len() < D::HEAD {
                break;
            }
            let size = usize::try_from(i32_at(rest, 0)).map_err(|_| broken())? + SIZE;
            if size < D::HEAD {
                return Err(broken());
            }
            if !direction.is_whole(rest) {
                passing = size;
                continue;
            }
            if size > WHOLE_MAX {
                return Err(broken());
            }
            let Some(frame) = rest.get(..size) else {
                if buffer.len() < size {
                    buffer.resize(size, 0);
                }
                break;
            };
            let mut frame = frame.to_vec();
            direction.whole(&mut frame)?;
            out.extend_from_slice(&frame);
            at += size;
        }
        buffer.copy_within(at..filled, 0);
        filled -= at;
        to.write_all(&out)?;
        out.clear();
    }
}

fn connection(client: TcpStream, broker: &str, shared: &Arc<Shared>) -> io::Result<()> {
    // A broker that is away is one that ends the connection.
    let broker = TcpStream::connect(broker)?;
    client.set_nodelay(true)?;
    broker.set_nodelay(true)?;
    let (client, broker) = (Arc::new(client), Arc::new(broker));
    let pending = Pending::default();
    let requests = Requests {
        shared: Arc::clone(shared),
        pending: Arc::clone(&pending),
        used: HashSet::new(),
    };
    let responses = Responses { shared: Arc::clone(shared), pending };
    let (there, back) = ((Arc::clone(&client), Arc::clone(&broker)), (broker, client));
    thread::spawn(move || both_end(&there, pass(&there.0, &there.1, requests)));
    thread::spawn(move || both_end(&back, pass(&back.0, &back.1, responses)));
    Ok(())
}

/// What ends one direction ends the other.
fn both_end((from, to): &(Arc<TcpStream>, Arc<TcpStream>), result: io::Result<()>) {
    if let Err(error) = result.as_ref()
        && error.kind() == io::ErrorKind::InvalidData
    {
        eprintln!("version_proxy: {error}");
    }
    // They may have ended already.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

fn broken() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a frame that cannot be read")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics with it")
}

fn say(line: &str) {
    let mut out = io::stdout().lock();
    // Whoever reads it may be gone; standard input ends then.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn i16_at(bytes: &[u8], at: usize) -> i16 {
    i16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn i32_at(bytes: &[u8], at: usize) -> i32 {
    i32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Walks a frame; `None` where it ends.
struct Bytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    fn i16(&mut self) -> Option<i16> {
        self.take(2).map(|bytes| i16_at(bytes, 0))
    }

    fn i32(&mut self) -> Option<i32> {
        self.take(4).map(|bytes| i32_at(bytes, 0))
    }

    fn uvarint(&mut self) -> Option<usize> {
        let mut value = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.take(1)?[0];
            value |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn skip_tags(&mut self) -> Option<()> {
        for _ in 0..self.uvarint()? {
            self.uvarint()?;
            let size = self.uvarint()?;
            self.take(size)?;
        }
        Some(())
    }
}

fn run() -> Result<(), String> {
    let (mut caps, mut is_stale, mut places) = (HashMap::new(), false, Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--cap" => {
                let cap = args.next().ok_or("--cap has no value")?;
                let read = |text: &str| {
                    text.parse::<i16>().map_err(|_| format!("--cap {cap}: KEY=VERSION"))
                };
                let (key, most) = cap.split_once('=').ok_or(format!("--cap {cap}: KEY=VERSION"))?;
                caps.insert(read(key)?, read(most)?);
            }
            "--stale-metadata" => is_stale = true,
            _ => {
                let (listen, broker) =
                    arg.split_once('=').ok_or(format!("{arg}: LISTEN=BROKER"))?;
                let listener = TcpListener::bind(listen).map_err(|e| format!("{listen}: {e}"))?;
                places.push((listener, broker.to_owned()));
            }
        }
    }
    if places.is_empty() {
        return Err(
            "version_proxy [--cap KEY=VERSION]... [--stale-metadata] LISTEN=BROKER...".into()
        );
    }
    let remembered = is_stale.then(Mutex::default);
    let shared = Arc::new(Shared { caps, remembered, used: Mutex::default() });
    for (listener, broker) in places {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // It hears of it by the end of its connection.
                let _ = connection(client, &broker, &shared);
            }
        });
    }
    say("ready");
    io::copy(&mut io::stdin(), &mut io::sink()).map_err(|e| format!("standard input: {e}"))?;
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("version_proxy: {what}");
            ExitCode::from(2)
        }
    }
}
