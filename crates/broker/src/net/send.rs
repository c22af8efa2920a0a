//! Writes a frame: bytes in place, shared bytes, and ranges of files that go from the page cache to
//! the socket without being copied here.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::{SendAncillaryBuffer, SendFlags};
use thalweg_log::OpenFile;
use thalweg_wire::{Segment, Writer};
use tokio::io::Interest;
use tokio::net::TcpStream;

use super::idle::ready;

/// A range of a file that a frame refers to; `Segment::External::id` is its place in the list.
#[derive(Clone, Debug)]
pub(crate) struct FileRange {
    pub(crate) file: Arc<OpenFile>,
    pub(crate) offset: u64,
}

/// Most slices one system call takes.
const SLICES_MAX: usize = 128;
/// Most bytes one `sendfile` takes, so that one connection does not keep its worker for long.
const SENDFILE_MAX: usize = 1 << 20;

/// Sends all of the frame. A peer that takes nothing for longer than `idle` has timed out.
pub(crate) async fn send(
    stream: &TcpStream,
    idle: Option<Duration>,
    frame: &Writer,
    files: &[FileRange],
) -> io::Result<()> {
    let inline = frame.inline();
    if frame.segments().is_empty() {
        return send_bytes(stream, idle, &[inline], false).await;
    }
    let mut pending: Vec<&[u8]> = Vec::with_capacity(SLICES_MAX.min(frame.segments().len() * 2));
    let mut at = 0;
    for (position, segment) in frame.segments() {
        if *position > at {
            pending.push(&inline[at..*position]);
            at = *position;
        }
        match segment {
            Segment::Bytes(bytes) => pending.push(bytes),
            Segment::External { id, len } => {
                send_bytes(stream, idle, &pending, true).await?;
                pending.clear();
                let range = files.get(*id as usize).ok_or(io::ErrorKind::InvalidInput)?;
                send_file(stream, idle, range, *len as usize).await?;
            }
        }
        if pending.len() + 1 >= SLICES_MAX {
            send_bytes(stream, idle, &pending, true).await?;
            pending.clear();
        }
    }
    if at < inline.len() {
        pending.push(&inline[at..]);
    }
    send_bytes(stream, idle, &pending, false).await
}

async fn send_bytes(
    stream: &TcpStream,
    idle: Option<Duration>,
    slices: &[&[u8]],
    more: bool,
) -> io::Result<()> {
    let total: usize = slices.iter().map(|s| s.len()).sum();
    let mut sent = 0;
    let flags = if more { SendFlags::MORE | SendFlags::NOSIGNAL } else { SendFlags::NOSIGNAL };
    while sent < total {
        let result = stream.try_io(Interest::WRITABLE, || {
            let mut skip = sent;
            let mut io_slices = [io::IoSlice::new(&[]); SLICES_MAX];
            let mut used = 0;
            for slice in slices {
                if skip >= slice.len() {
                    skip -= slice.len();
                    continue;
                }
                io_slices[used] = io::IoSlice::new(&slice[skip..]);
                skip = 0;
                used += 1;
                if used == SLICES_MAX {
                    break;
                }
            }
            Ok(rustix::net::sendmsg(
                stream.as_fd(),
                &io_slices[..used],
                &mut SendAncillaryBuffer::default(),
                flags,
            )?)
        });
        match result {
            Ok(n) => sent += n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                ready(idle, stream.writable()).await?
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

async fn send_file(
    stream: &TcpStream,
    idle: Option<Duration>,
    range: &FileRange,
    len: usize,
) -> io::Result<()> {
    let mut offset = range.offset;
    let end = range.offset + len as u64;
    while offset < end {
        let count = ((end - offset) as usize).min(SENDFILE_MAX);
        let result = stream.try_io(Interest::WRITABLE, || {
            let mut at = offset;
            Ok(rustix::fs::sendfile(stream.as_fd(), range.file.as_fd(), Some(&mut at), count)?)
        });
        match result {
            // The file ends before the range does: the frame cannot be finished.
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => offset += n as u64,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                ready(idle, stream.writable()).await?
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
