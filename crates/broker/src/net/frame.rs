//! Reads length-prefixed frames: a buffer grows with the bytes that arrive, never with the length
//! that is claimed, and is charged to the budget before it grows.

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::BufMut;
use parking_lot::Mutex;
use rustix::net::RecvFlags;
use tokio::io::{AsyncReadExt, Interest};
use tokio::net::TcpStream;

use super::budget::{Budget, Charge};
use super::buffers;
use super::idle::Idle;

/// First piece of a frame's buffer; doubled from there.
const FIRST: usize = 64 << 10;
/// Bytes after the current frame that one read may take along.
const LOOK_AHEAD: usize = 4 << 10;
/// Room for the first read of a frame whose length is not known yet.
const PROBE: usize = 4 << 10;
/// A frame's length and the number of its API.
const HEAD: usize = 6;

/// Bytes of frames after which a connection whose next frame is already there lets others run. A
/// peer that always has more to send would keep its worker, and its neighbours would wait.
const TURN: usize = 64 << 10;
/// What a frame costs besides its bytes, in bytes.
const FRAME_COST: usize = 2 << 10;

/// Whether the peer has sent more while a request of its is parked.
#[derive(Debug, Default)]
pub(crate) struct NextRequest(Mutex<Next>);

#[derive(Debug, Default)]
struct Next {
    has_arrived: bool,
    waker: Option<Waker>,
}

impl NextRequest {
    fn arrives(&self) {
        let waker = {
            let mut next = self.0.lock();
            next.has_arrived = true;
            next.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether it has; if not, `cx` is woken when it does.
    pub(crate) fn poll_arrived(&self, cx: &Context<'_>) -> Poll<()> {
        let mut next = self.0.lock();
        if next.has_arrived {
            return Poll::Ready(());
        }
        if !next.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            next.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

/// Why no frame came.
#[derive(Debug)]
pub(crate) enum FrameError {
    /// The peer closed the connection between two frames.
    Closed,
    /// The length is negative or above `socket.request.max.bytes`.
    BadLength(i32),
    /// The socket failed, or the peer closed it inside a frame.
    Io(io::Error),
}

impl From<io::Error> for FrameError {
    fn from(e: io::Error) -> Self {
        FrameError::Io(e)
    }
}

/// The bytes a connection has received and not yet handled.
#[derive(Debug)]
pub(crate) struct FrameReader {
    buffer: Vec<u8>,
    /// Where the next frame's length field begins.
    start: usize,
    /// Of the budget, or of its reserve.
    charge: Charge,
    budget: Arc<Budget>,
    /// Whether requests of an API may use the reserve.
    uses_reserve: fn(i16) -> bool,
    frame_max: usize,
    /// Bytes of frames since others could last run.
    turn: usize,
}

impl FrameReader {
    pub(crate) fn new(
        budget: &Arc<Budget>,
        frame_max: usize,
        uses_reserve: fn(i16) -> bool,
    ) -> FrameReader {
        FrameReader {
            buffer: Vec::new(),
            start: 0,
            charge: Charge::new(budget),
            budget: Arc::clone(budget),
            uses_reserve,
            frame_max,
            turn: 0,
        }
    }

    /// Whether the next frame's request may use the reserve; `None` while nothing of it is here.
    fn may_use_reserve(&self, stream: &TcpStream) -> Option<bool> {
        let mut head = [0; HEAD];
        let have = &self.buffer[self.start..];
        let known = match have.first_chunk::<HEAD>() {
            Some(known) => {
                head = *known;
                HEAD
            }
            None if have.is_empty() => {
                let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
                let peek = || Ok(rustix::net::recv(stream, &mut head[..], flags)?.0);
                match stream.try_io(Interest::READABLE, peek) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                    peeked => peeked.unwrap_or(0),
                }
            }
            None => 0,
        };
        let key = i16::from_be_bytes([head[4], head[5]]);
        Some(known == HEAD && (self.uses_reserve)(key))
    }

    /// Raises the charge for the next frame.
    async fn raise_charge(&mut self, bytes: usize, stream: &TcpStream) {
        if !self.charge.try_raise_to(bytes) {
            // In a box, like the wait for room: few connections ever do.
            Box::pin(self.wait_to_raise_charge(bytes, stream)).await;
        }
    }

    async fn wait_to_raise_charge(&mut self, bytes: usize, stream: &TcpStream) {
        loop {
            match self.may_use_reserve(stream) {
                Some(true) => return self.charge.raise_in_reserve(bytes).await,
                Some(false) => {
                    if self.charge.is_in_reserve_of(&self.budget) {
                        self.charge.leave_reserve_to(&self.budget).await;
                    }
                    return self.charge.raise_to(bytes).await;
                }
                None => tokio::select! {
                    () = self.charge.raise_to(bytes) => return,
                    ready = stream.readable() => {
                        if ready.is_err() {
                            // The read that follows says why.
                            return self.charge.raise_to(bytes).await;
                        }
                    }
                },
            }
        }
    }

    /// The whole frame, when all of it is here: its body's place in the buffer.
    fn complete(&self) -> Result<Option<Range<usize>>, FrameError> {
        let have = &self.buffer[self.start..];
        let Some(head) = have.first_chunk::<4>() else { return Ok(None) };
        let claimed = i32::from_be_bytes(*head);
        let len = usize::try_from(claimed).map_err(|_| FrameError::BadLength(claimed))?;
        if len > self.frame_max {
            return Err(FrameError::BadLength(claimed));
        }
        let body = self.start + 4..self.start + 4 + len;
        Ok((body.end <= self.buffer.len()).then_some(body))
    }

    /// Bytes the buffer should hold next, counted from its beginning: the frame and what may be read ahead, or a probe
    /// while its length is not known.
    fn wanted(&self) -> usize {
        let have = &self.buffer[self.start..];
        match have.first_chunk::<4>() {
            Some(head) => {
                let len = usize::try_from(i32::from_be_bytes(*head)).unwrap_or(0);
                self.start + 4 + len + LOOK_AHEAD
            }
            None => self.start + PROBE,
        }
    }

    /// Waits for a whole frame; `Ok` is its place in [`Self::parts_mut`]. Cancel-safe: what was
    /// received stays. A peer that sends nothing for longer than `idle` allows has timed out.
    pub(crate) async fn next(
        &mut self,
        stream: &mut TcpStream,
        idle: &mut Idle,
    ) -> Result<Range<usize>, FrameError> {
        if self.turn >= TURN {
            self.turn = 0;
            tokio::task::yield_now().await;
        }
        loop {
            if let Some(body) = self.complete()? {
                // It came with one before it, which was in the reserve.
                if self.charge.is_in_reserve_of(&self.budget)
                    && self.may_use_reserve(stream) != Some(true)
                {
                    Box::pin(self.charge.leave_reserve_to(&self.budget)).await;
                }
                return Ok(body);
            }
            if self.buffer.len() == self.start {
                // Nothing here: an idle connection holds no memory.
                self.release();
                let turn = &mut self.turn;
                idle.ready(|cx| poll_readable(stream, turn, cx)).await?;
                if self.buffer.capacity() == 0 {
                    self.buffer = buffers::take();
                }
            }
            self.make_room(stream).await;
            let before = self.buffer.len();
            let target = self.wanted().min(self.buffer.capacity());
            match read_some(stream, &mut self.buffer, target - before).await? {
                Some(0) => {
                    return Err(if before == self.start {
                        FrameError::Closed
                    } else {
                        FrameError::Io(io::ErrorKind::UnexpectedEof.into())
                    });
                }
                Some(_) => {}
                None => {
                    // After a probe the buffer goes back before waiting.
                    if before > self.start {
                        let turn = &mut self.turn;
                        idle.ready(|cx| poll_readable(stream, turn, cx)).await?;
                    }
                }
            }
        }
    }

    /// While a request is parked: takes what arrives, up to one small read ahead, so that the
    /// peer's closing is noticed. Returns when the connection is closed or nothing more may be
    /// taken. Cancel-safe. `next`, if there is one, is told of what has come or comes.
    pub(crate) async fn watch_closed(
        &mut self,
        stream: &mut TcpStream,
        next: Option<&NextRequest>,
    ) -> io::Result<()> {
        if let Some(next) = next
            && self.buffer.len() > self.start
        {
            next.arrives();
        }
        loop {
            poll_fn(|cx| stream.poll_read_ready(cx)).await?;
            if self.buffer.capacity() == 0 {
                // Taken only now, and given back below: a parked request holds no memory.
                self.buffer = buffers::take();
                self.buffer.reserve_exact(LOOK_AHEAD);
            }
            let room = (self.buffer.capacity() - self.buffer.len()).min(LOOK_AHEAD);
            if room == 0 {
                // The peer sends on; it is alive. Nothing more is read before the answer is out.
                return std::future::pending().await;
            }
            match read_some(stream, &mut self.buffer, room).await? {
                Some(0) => return Ok(()),
                Some(_) => {
                    if let Some(next) = next {
                        next.arrives();
                    }
                }
                None => {
                    if self.buffer.is_empty() {
                        self.release();
                    }
                }
            }
        }
    }

    /// The frame's bytes, which handlers may change in place, and what they are charged to.
    pub(crate) fn parts_mut(&mut self, frame: Range<usize>) -> (&mut [u8], &mut Charge) {
        (&mut self.buffer[frame], &mut self.charge)
    }

    /// The frame was handled: drops it and keeps what follows.
    pub(crate) fn consume(&mut self, frame: &Range<usize>) {
        self.turn += frame.len() + FRAME_COST;
        self.start = frame.end.min(self.buffer.len());
        let left = self.buffer.len() - self.start;
        if left == 0 {
            self.release();
        } else if self.start > 0 {
            self.buffer.copy_within(self.start.., 0);
            self.buffer.truncate(left);
            self.start = 0;
        }
    }

    /// Gives buffer and charge back.
    fn release(&mut self) {
        self.start = 0;
        if self.buffer.capacity() > 0 {
            buffers::give(std::mem::take(&mut self.buffer));
            self.charge.release();
        }
        if self.charge.is_in_reserve_of(&self.budget) {
            self.charge = Charge::new(&self.budget);
        }
    }

    /// Grows the buffer towards what is wanted: to at most twice what has arrived.
    async fn make_room(&mut self, stream: &TcpStream) {
        if self.buffer.capacity() == 0 {
            self.raise_charge(FIRST, stream).await;
            self.buffer.reserve_exact(FIRST);
        } else {
            // Capacity that a pooled buffer brought along is charged like any other.
            self.raise_charge(self.buffer.capacity(), stream).await;
        }
        let wanted = self.wanted();
        if self.buffer.len() < self.buffer.capacity() {
            return;
        }
        let grown = wanted.min(self.buffer.capacity().saturating_mul(2)).max(FIRST);
        self.raise_charge(grown, stream).await;
        self.buffer.reserve_exact(grown - self.buffer.len());
    }
}

/// Whether there is something to read. Where there is not, others run meanwhile: it is a new turn then.
fn poll_readable(
    stream: &TcpStream,
    turn: &mut usize,
    cx: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    let ready = stream.poll_read_ready(cx);
    if ready.is_pending() {
        *turn = 0;
    }
    ready
}

/// Reads at most `room` bytes into the buffer's spare capacity, without waiting: `None` if nothing is there. A read
/// that takes less than there is room for notes, too, that nothing more is there, which `try_read_buf` leaves to a
/// second call of the system.
async fn read_some(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
    room: usize,
) -> io::Result<Option<usize>> {
    let mut limited = buffer.limit(room);
    let mut read = pin!(stream.read_buf(&mut limited));
    poll_fn(|cx| match read.as_mut().poll(cx) {
        Poll::Ready(result) => Poll::Ready(result.map(Some)),
        Poll::Pending => Poll::Ready(Ok(None)),
    })
    .await
}

impl Drop for FrameReader {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn who_waits_for_the_next_request_is_woken_once_and_finds_it() {
        let (first, second) = (Arc::new(Wakes::default()), Arc::new(Wakes::default()));
        let next = NextRequest::default();
        for wakes in [&first, &second] {
            let waker = Waker::from(Arc::clone(wakes));
            assert!(next.poll_arrived(&Context::from_waker(&waker)).is_pending());
        }
        next.arrives();
        next.arrives();
        // Who asked last is whom it concerns.
        assert_eq!([&first, &second].map(|wakes| wakes.0.load(Ordering::SeqCst)), [0, 1]);
        assert!(next.poll_arrived(&Context::from_waker(Waker::noop())).is_ready());
    }
}
