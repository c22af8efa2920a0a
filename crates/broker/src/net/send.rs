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

/// Bytes after which a frame's sender lets others run. A peer that takes everything at once never has it wait, and a frame
/// may have as many bytes as `fetch.max.bytes` says.
const TURN: usize = 2 << 20;

/// What a frame is sent on.
struct Sender<'a> {
    stream: &'a TcpStream,
    idle: &'a mut Idle,
    /// Bytes since others could last run.
    turn: usize,
}

/// Sends all of the frame. A peer that takes nothing for longer than `idle` allows has timed out.
pub(crate) async fn send(
    stream: &TcpStream,
    idle: &mut Idle,
    frame: &Writer,
    files: &[FileRange],
) -> io::Result<()> {
    let mut sender = Sender { stream, idle, turn: 0 };
    let inline = frame.inline();
    if frame.segments().is_empty() {
        return sender.bytes(&[inline], false).await;
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
                sender.bytes(&pending, true).await?;
                pending.clear();
                let range = files.get(*id as usize).ok_or(io::ErrorKind::InvalidInput)?;
                sender.file(range, *len as usize).await?;
            }
        }
        if pending.len() + 1 >= SLICES_MAX {
            sender.bytes(&pending, true).await?;
            pending.clear();
        }
    }
    if at < inline.len() {
        pending.push(&inline[at..]);
    }
    sender.bytes(&pending, false).await
}

impl Sender<'_> {
    async fn bytes(&mut self, slices: &[&[u8]], more: bool) -> io::Result<()> {
        let total: usize = slices.iter().map(|s| s.len()).sum();
        let flags = if more { SendFlags::MORE | SendFlags::NOSIGNAL } else { SendFlags::NOSIGNAL };
        let stream = self.stream;
        let send_some = |sent: usize| {
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
        };
        self.all(total, |sent| stream.try_io(Interest::WRITABLE, || send_some(sent))).await
    }

    async fn file(&mut self, range: &FileRange, len: usize) -> io::Result<()> {
        let stream = self.stream;
        let send_some = |sent: usize| {
            let mut at = range.offset + sent as u64;
            let count = (len - sent).min(SENDFILE_MAX);
            match rustix::fs::sendfile(stream.as_fd(), range.file.as_fd(), Some(&mut at), count)? {
                // The file ends before the range does: the frame cannot be finished.
                0 => Err(io::ErrorKind::UnexpectedEof.into()),
                // Fewer than asked for may mean that the socket is full, or that the file has been cut,
                // and only another call tells. Without that call a socket with room would be waited for,
                // and the system says that a socket has room only once after it was full.
                n => Ok(n),
            }
        };
        self.all(len, |sent| stream.try_io(Interest::WRITABLE, || send_some(sent))).await
    }

    /// Sends `total` bytes by calls of `send_some`, which is given how many are sent. Where the socket is full it is waited
    /// for, and where it never is others run after each [`TURN`].
    async fn all(
        &mut self,
        total: usize,
        mut send_some: impl FnMut(usize) -> io::Result<usize>,
    ) -> io::Result<()> {
        let mut sent = 0;
        while sent < total {
            if self.turn >= TURN {
                self.turn = 0;
                tokio::task::yield_now().await;
            }
            match send_some(sent) {
                Ok(n) => {
                    sent += n;
                    self.turn += n;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    let stream = self.stream;
                    self.idle.ready(|cx| stream.poll_write_ready(cx)).await?;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
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
        let mut sender = Sender { stream: &ours, idle: &mut idle, turn: 0 };
        let sending = sender.file(&range, LEN);
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
        let mut sender = Sender { stream: &ours, idle: &mut idle, turn: 0 };
        let sending = sender.file(&range, LEN);
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
        let mut sender = Sender { stream: &ours, idle: &mut idle, turn: 0 };
        let sending = sender.file(&range, LEN);
        let error = tokio::time::timeout(DEADLINE, sending).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    /// A peer that takes everything at once does not keep a frame's sender on its worker.
    #[tokio::test]
    async fn sender_to_a_fast_reader_lets_others_run() {
        const CALL: usize = 64 << 10;
        const TURNS: usize = 20;
        let (ours, _theirs) = connection().await;
        let others = std::rc::Rc::new(std::cell::Cell::new(0));
        let counted = std::rc::Rc::clone(&others);
        let other = async move {
            loop {
                counted.set(counted.get() + 1);
                tokio::task::yield_now().await;
            }
        };
        let mut idle = Idle::default();
        let mut sender = Sender { stream: &ours, idle: &mut idle, turn: 0 };
        let sending = async {
            // Two pieces of one frame: the turn goes on from the first to the second.
            for _ in 0..2 {
                sender.all(TURN * TURNS / 2, |_| Ok(CALL)).await.unwrap();
            }
        };
        tokio::select! {
            biased;
            () = sending => {}
            () = other => {}
        }
        assert_eq!(others.get(), TURNS - 1);
    }
}
