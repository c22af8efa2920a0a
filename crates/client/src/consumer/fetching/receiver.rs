//! Receives answers into buffers of the budget, so that what is handed to an application is the
//! memory that the kernel wrote to.

use std::sync::Arc;

use bytes::Bytes;
use thalweg_connection::frame::{self, LENGTH_LEN};
use thalweg_wire::ApiKey;
use tokio::io::AsyncReadExt;

use crate::core::fetch::budget::{Budget, Reservation};
use crate::error::Error;
use crate::net::raw::RawReceiver;

/// Room for the first read of an answer.
const FIRST: usize = 64 << 10;
/// Answers below this are copied out: a buffer of their own would be mostly air.
const HAND_OVER_MIN: usize = 32 << 10;

/// The receiving half of a connection that fetches.
pub(super) struct Receiver {
    inner: RawReceiver,
    buffer: Vec<u8>,
    budget: Arc<Budget>,
    limit: usize,
}

impl Receiver {
    pub fn new(mut inner: RawReceiver, budget: Arc<Budget>, limit: usize) -> Receiver {
        // Nothing was asked that could have been answered already, but what is there is kept.
        let buffer = inner.leftover().to_vec();
        Receiver { inner, buffer, budget, limit }
    }

    /// The next frame without its length, counted instead of what was reserved for it. Safe to
    /// cancel: what was received stays.
    pub async fn next(&mut self, reservation: &mut Reservation) -> Result<Bytes, Error> {
        loop {
            let announced = frame::announced(&self.buffer, self.limit)
                .map_err(|source| Error::Frame { addr: Arc::clone(self.inner.addr()), source })?;
            if let Some(len) = announced
                && self.buffer.len() >= LENGTH_LEN + len
            {
                return Ok(self.take(LENGTH_LEN + len, reservation));
            }
            self.make_room(announced.map_or(LENGTH_LEN, |len| LENGTH_LEN + len));
            let read = self.inner.stream().read_buf(&mut self.buffer).await;
            let addr = || Arc::clone(self.inner.addr());
            match read {
                Ok(0) => return Err(Error::Closed { addr: addr(), api: Some(ApiKey::FETCH) }),
                Ok(_) => {}
                Err(source) => return Err(Error::Io { addr: addr(), source: Arc::new(source) }),
            }
        }
    }

    /// Waits until the connection ends, while nothing is asked on it; whatever comes ends it. Safe to cancel.
    pub async fn end(&mut self) -> Error {
        let addr = Arc::clone(self.inner.addr());
        match self.inner.stream().read(&mut [0; 1]).await {
            Ok(_) => Error::Closed { addr, api: None },
            Err(source) => Error::Io { addr, source: Arc::new(source) },
        }
    }

    /// Takes the first `total` bytes, a whole frame.
    fn take(&mut self, total: usize, reservation: &mut Reservation) -> Bytes {
        // A buffer much larger than what is in it would count for much more than was asked for.
        if total < HAND_OVER_MIN || total + total / 4 < self.buffer.capacity() {
            let frame = self.buffer[LENGTH_LEN..total].to_vec();
            self.buffer.drain(..total);
            return self.budget.share_reserved(frame, reservation);
        }
        let mut next = self.budget.buffer(self.buffer.capacity());
        next.extend_from_slice(&self.buffer[total..]);
        let mut frame = std::mem::replace(&mut self.buffer, next);
        frame.truncate(total);
        self.budget.share_reserved(frame, reservation).slice(LENGTH_LEN..)
    }

    /// Makes room for more of a frame of `wanted` bytes: memory follows what has arrived, unless
    /// there is a buffer at rest that is large enough.
    fn make_room(&mut self, wanted: usize) {
        if self.buffer.len() < self.buffer.capacity() {
            return;
        }
        let mut larger = self.budget.buffer(wanted.max(FIRST));
        if larger.capacity() > self.buffer.capacity() {
            larger.extend_from_slice(&self.buffer);
            let old = std::mem::replace(&mut self.buffer, larger);
            return self.budget.give_back(old);
        }
        let have = self.buffer.len();
        let target = wanted.min(2 * have).max(FIRST).max(have + 1);
        self.buffer.reserve_exact(target - have);
    }
}
