//! TCP as every connection uses it: connecting, and writing frames that come in pieces.

use std::io::{self, IoSlice};
use std::sync::Arc;

use thalweg_wire::{Segment, Writer};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::error::Error;
use crate::options::Options;

/// Pieces in one write; the kernel takes up to 1024.
const SLICES_MAX: usize = 64;

/// Connects, without delay of small writes.
pub(crate) async fn connect(addr: &Arc<str>, options: &Options) -> Result<TcpStream, Error> {
    let after = options.connect_timeout;
    let failed = |source| Error::Connect { addr: addr.clone(), source: Arc::new(source) };
    let stream = timeout(after, TcpStream::connect(&**addr))
        .await
        .map_err(|_| Error::Timeout { addr: addr.clone(), what: "connecting".into(), after })?
        .map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    Ok(stream)
}

/// Writes a frame with all its segments.
pub(crate) async fn write_frame(
    stream: &mut (impl AsyncWrite + Unpin),
    frame: &Writer,
) -> io::Result<()> {
    if frame.segments().is_empty() {
        return stream.write_all(frame.inline()).await;
    }
    let mut pieces: Vec<&[u8]> = Vec::with_capacity(2 * frame.segments().len() + 1);
    let mut at = 0;
    for (position, segment) in frame.segments() {
        let Segment::Bytes(bytes) = segment else {
            return Err(io::Error::other("a request cannot contain a range of a file"));
        };
        pieces.extend([&frame.inline()[at..*position], &bytes[..]]);
        at = *position;
    }
    pieces.push(&frame.inline()[at..]);
    pieces.retain(|piece| !piece.is_empty());
    let mut first = 0;
    while first < pieces.len() {
        let slices: Vec<IoSlice<'_>> =
            pieces[first..].iter().take(SLICES_MAX).map(|piece| IoSlice::new(piece)).collect();
        let mut written = stream.write_vectored(&slices).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        while let Some(piece) = pieces.get_mut(first)
            && written > 0
        {
            let n = written.min(piece.len());
            *piece = &piece[n..];
            written -= n;
            first += usize::from(piece.is_empty());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use bytes::Bytes;
    use thalweg_wire::RecordsRef;

    use super::*;

    /// Takes a few bytes of each write.
    struct Trickle {
        at_once: usize,
        taken: Vec<u8>,
    }

    impl AsyncWrite for Trickle {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buf: &[u8],
        ) -> Poll<io::Result<usize>> {
            let n = buf.len().min(self.at_once);
            self.taken.extend_from_slice(&buf[..n]);
            Poll::Ready(Ok(n))
        }
        fn poll_write_vectored(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bufs: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            let all: Vec<u8> = bufs.iter().flat_map(|buf| buf.iter().copied()).collect();
            let n = all.len().min(self.at_once);
            self.taken.extend_from_slice(&all[..n]);
            Poll::Ready(Ok(n))
        }
        fn is_write_vectored(&self) -> bool {
            true
        }
        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn every_byte_is_written_in_order_however_little_is_taken_at_once() {
        let mut frame = Writer::new();
        frame.begin_frame();
        for i in 0..100u8 {
            let records = Bytes::from(vec![i; 1024 + usize::from(i)]);
            frame.records(true, &RecordsRef::Shared(records)).unwrap();
        }
        frame.end_frame().unwrap();
        for at_once in [700, 1000, 5000, usize::MAX] {
            let mut out = Trickle { at_once, taken: Vec::new() };
            write_frame(&mut out, &frame).await.unwrap();
            assert!(out.taken == frame.to_vec(), "{at_once} bytes at once");
        }
    }
}
