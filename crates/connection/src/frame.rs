//! Received bytes, cut into frames: a length of four bytes, then as many bytes.
//!
//! Invariant: memory follows the bytes received. A length field alone makes the buffer grow by at
//! most 64 KiB; after that it at most doubles each time it is full.

use bytes::{Buf, Bytes, BytesMut};

/// Bytes of the length in front of a frame.
pub const LENGTH_LEN: usize = 4;
/// Room for one read when nothing is known of what comes.
const READ_LEN: usize = 16 << 10;
/// Growth for a frame that does not fit yet.
const GROWTH_MIN: usize = 64 << 10;

/// Why what was received is not a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The length is negative.
    #[error("frame length {0} is negative")]
    Negative(i32),
    /// The frame is larger than allowed.
    #[error("frame of {len} bytes is above the limit of {limit}")]
    TooLong {
        /// Its length.
        len: usize,
        /// The limit.
        limit: usize,
    },
}

/// Length of the frame that begins `bytes`, once its length field is there; more than `limit` is an
/// error.
pub fn announced(bytes: &[u8], limit: usize) -> Result<Option<usize>, FrameError> {
    let Some(&length) = bytes.first_chunk::<LENGTH_LEN>() else { return Ok(None) };
    let length = i32::from_be_bytes(length);
    let len = usize::try_from(length).map_err(|_| FrameError::Negative(length))?;
    if len > limit { Err(FrameError::TooLong { len, limit }) } else { Ok(Some(len)) }
}

/// Bytes received and not yet taken.
#[derive(Debug)]
pub struct FrameBuffer {
    buf: BytesMut,
    limit: usize,
}

impl FrameBuffer {
    /// An empty buffer for frames of at most `limit` bytes.
    pub fn new(limit: usize) -> FrameBuffer {
        FrameBuffer { buf: BytesMut::new(), limit }
    }

    /// Where to read into: has room for at least one byte, and for as much more of the frame under
    /// way as the bytes received so far justify.
    pub fn space(&mut self) -> &mut BytesMut {
        // A length that is not to be believed is reported when the frame is asked for.
        let missing = match announced(&self.buf, self.limit) {
            Ok(Some(len)) => (LENGTH_LEN + len).saturating_sub(self.buf.len()),
            Ok(None) | Err(_) => 0,
        };
        let growth = self.buf.len().max(GROWTH_MIN);
        let room = missing.min(growth).max(READ_LEN);
        if self.buf.capacity() - self.buf.len() < room.min(missing.max(1)) {
            self.buf.reserve(room);
        }
        &mut self.buf
    }

    /// The frame at the front without its length, when all of it is there. It stays until
    /// [`Self::consume`] or [`Self::take`].
    pub fn peek(&self) -> Result<Option<&[u8]>, FrameError> {
        Ok(self.complete()?.map(|len| &self.buf[LENGTH_LEN..LENGTH_LEN + len]))
    }

    /// All bytes that are there.
    pub fn bytes(&self) -> &[u8] {
        &self.buf
    }

    /// Drops the frame that [`Self::peek`] showed; nothing when there is none.
    pub fn consume(&mut self) {
        if let Ok(Some(len)) = self.complete() {
            self.buf.advance(LENGTH_LEN + len);
        }
    }

    /// Takes the frame at the front out, when all of it is there.
    pub fn take(&mut self) -> Result<Option<Bytes>, FrameError> {
        let Some(len) = self.complete()? else { return Ok(None) };
        self.buf.advance(LENGTH_LEN);
        Ok(Some(self.buf.split_to(len).freeze()))
    }

    /// Length of the frame at the front, when all of it is there.
    fn complete(&self) -> Result<Option<usize>, FrameError> {
        let len = announced(&self.buf, self.limit)?;
        Ok(len.filter(|len| self.buf.len() - LENGTH_LEN >= *len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(body: &[u8]) -> Vec<u8> {
        [&(body.len() as i32).to_be_bytes()[..], body].concat()
    }

    #[test]
    fn frames_come_out_however_the_bytes_arrive() {
        let bodies: [&[u8]; 4] = [b"one", b"", b"a longer third", b"4"];
        let stream: Vec<u8> = bodies.iter().flat_map(|body| frame(body)).collect();
        for piece in 1..stream.len() {
            let mut buffer = FrameBuffer::new(1 << 20);
            let mut seen = Vec::new();
            for bytes in stream.chunks(piece) {
                buffer.space().extend_from_slice(bytes);
                while let Some(body) = buffer.take().unwrap() {
                    seen.push(body);
                }
            }
            assert_eq!(seen, bodies, "in pieces of {piece}");
        }
    }

    #[test]
    fn peek_keeps_and_consume_drops() {
        let mut buffer = FrameBuffer::new(1 << 20);
        buffer.space().extend_from_slice(&[frame(b"one"), frame(b"two")].concat());
        assert_eq!(buffer.peek().unwrap(), Some(&b"one"[..]));
        assert_eq!(buffer.peek().unwrap(), Some(&b"one"[..]));
        buffer.consume();
        assert_eq!(buffer.peek().unwrap(), Some(&b"two"[..]));
        buffer.consume();
        assert_eq!(buffer.peek().unwrap(), None);
        buffer.consume();
    }

    #[test]
    fn lengths_out_of_range_are_refused() {
        let mut buffer = FrameBuffer::new(100);
        buffer.space().extend_from_slice(&(-1i32).to_be_bytes());
        assert_eq!(buffer.take(), Err(FrameError::Negative(-1)));
        let mut buffer = FrameBuffer::new(100);
        buffer.space().extend_from_slice(&101i32.to_be_bytes());
        assert_eq!(buffer.take(), Err(FrameError::TooLong { len: 101, limit: 100 }));
    }

    #[test]
    fn memory_follows_the_bytes_received() {
        let mut buffer = FrameBuffer::new(i32::MAX as usize);
        buffer.space().extend_from_slice(&i32::MAX.to_be_bytes());
        assert!(buffer.space().capacity() <= 2 * GROWTH_MIN);
        let mut received = LENGTH_LEN;
        while received < 8 << 20 {
            let space = buffer.space();
            assert!(space.capacity() <= 4 * received.max(GROWTH_MIN), "at {received}");
            let n = space.capacity() - space.len();
            assert!(n > 0);
            space.resize(space.len() + n, 0);
            received += n;
        }
    }
}
