//! Writes a frame: bytes in place, shared bytes, and ranges of files that go from the page cache to
//! the socket without being copied here.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::net::{SendAncillaryBuffer, SendFlags};
use thalweg_log::OpenFile;
use thalweg_wire::{Segment, Writer};
use tokio::io::Interest;
use tokio::net::TcpStream;

use super::idle::Idle;

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

/// Sends all of the frame. A peer that takes nothing for longer than `idle` allows has timed out.
pub(crate) async fn send(
    stream: &TcpStream,
    idle: &mut Idle,
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
    idle: &mut Idle,
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
                idle.ready(|cx| stream.poll_write_ready(cx)).await?
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

async fn send_file(
    stream: &TcpStream,
    idle: &mut Idle,
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
            // Fewer than asked for may mean that the socket is full, or that the file has been cut,
            // and only another call tells. Without that call a socket with room would be waited for,
            // and the system says that a socket has room only once after it was full.
            Ok(n) => offset += n as u64,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                idle.ready(|cx| stream.poll_write_ready(cx)).await?
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use thalweg_log::{Disk, Mode};
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;

    const LEN: usize = 3 << 20;
    const DEADLINE: Duration = Duration::from_secs(30);

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let name = format!("thalweg-send-{name}-{}", std::process::id());
            Scratch(std::env::temp_dir().join(name))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    /// A connection with small buffers, so that a file takes many calls.
    async fn connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (accepted, connected) = tokio::join!(listener.accept(), TcpStream::connect(address));
        let (ours, theirs) = (accepted.unwrap().0, connected.unwrap());
        rustix::net::sockopt::set_socket_send_buffer_size(&ours, 64 << 10).unwrap();
        rustix::net::sockopt::set_socket_recv_buffer_size(&theirs, 64 << 10).unwrap();
        (ours, theirs)
    }

    fn file(path: &std::path::Path, len: usize) -> (FileRange, Vec<u8>) {
        let bytes: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
        std::fs::write(path, &bytes).unwrap();
        let file = Arc::new(Disk::default().open(path, Mode::Read).unwrap());
        (FileRange { file, offset: 1 }, bytes)
    }

    #[tokio::test]
    async fn a_reader_that_takes_little_at_a_time_gets_all() {
        let scratch = Scratch::new("slow");
        let (range, bytes) = file(&scratch.0, LEN + 1);
        let (ours, mut theirs) = connection().await;
        let mut idle = Idle::default();
        let reading = tokio::spawn(async move {
            let (mut got, mut chunk) = (Vec::new(), vec![0; 50_000]);
            while got.len() < LEN {
                let n = theirs.read(&mut chunk).await.unwrap();
                assert_ne!(n, 0, "the connection ended early");
                got.extend_from_slice(&chunk[..n]);
                tokio::task::yield_now().await;
            }
            got
        });
        let sending = send_file(&ours, &mut idle, &range, LEN);
        tokio::time::timeout(DEADLINE, sending).await.unwrap().unwrap();
        let got = tokio::time::timeout(DEADLINE, reading).await.unwrap().unwrap();
        assert!(got == bytes[1..], "other bytes arrived");
    }

    #[tokio::test]
    async fn a_file_that_was_cut_ends_the_frame_though_nobody_waits_for_room() {
        let scratch = Scratch::new("cut");
        let (range, _) = file(&scratch.0, 10_000);
        let (ours, mut theirs) = connection().await;
        // The socket has been full and has said that it has room: it will not say so again.
        loop {
            match ours.try_write(&[0; 4096]) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
        let mut taken = vec![0; 1 << 20];
        let room = async {
            tokio::select! {
                ready = ours.writable() => ready.unwrap(),
                () = async { while theirs.read(&mut taken).await.unwrap() > 0 {} } => {}
            }
        };
        tokio::time::timeout(DEADLINE, room).await.unwrap();
        let mut idle = Idle::default();
        let sending = send_file(&ours, &mut idle, &range, LEN);
        let error = tokio::time::timeout(DEADLINE, sending).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[tokio::test]
    async fn a_reader_that_takes_nothing_is_idle() {
        let scratch = Scratch::new("idle");
        let (range, _) = file(&scratch.0, LEN + 1);
        let (ours, _theirs) = connection().await;
        let mut idle = Idle::default();
        idle.set_limit(Some(Duration::from_millis(50)));
        let sending = send_file(&ours, &mut idle, &range, LEN);
        let error = tokio::time::timeout(DEADLINE, sending).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
