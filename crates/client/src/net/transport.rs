//! What connections are made of: connecting, TCP or TLS over it, and writing frames that come in
//! pieces.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use thalweg_connection::FrameError;
use thalweg_wire::{Segment, Writer};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
#[cfg(feature = "tls")]
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::error::{AuthenticationError, Error};
#[cfg(feature = "tls")]
use crate::options::tls::TlsOptions;
use crate::options::{Options, Security};

/// How an alert begins: its type, and the first byte of TLS's version.
const TLS_ALERT: usize = 0x1503;
/// Pieces in one write; the kernel takes up to 1024.
const SLICES_MAX: usize = 64;

/// The half of a connection that is read from. A [`CloseSignal`] ends it, and so the connection.
#[derive(Debug)]
pub(crate) struct ReadHalf {
    stream: ReadStream,
    close: CloseSignal,
}

#[derive(Debug)]
enum ReadStream {
    Tcp(OwnedReadHalf),
    #[cfg(feature = "tls")]
    Tls(tokio::io::ReadHalf<TlsStream<TcpStream>>),
}

/// Closes a connection from outside of the task that owns it.
#[derive(Debug)]
pub(crate) enum CloseSignal {
    /// Only its owner closes the connection.
    Never,
    /// A message closes it; a sender that is dropped does not.
    When(oneshot::Receiver<()>),
    /// The connection is closed.
    Given,
}

impl CloseSignal {
    /// Whether the signal was given; else the task is woken when it is.
    fn poll_given(&mut self, cx: &mut Context<'_>) -> bool {
        if let CloseSignal::When(given) = self {
            match Pin::new(given).poll(cx) {
                Poll::Pending => {}
                Poll::Ready(Ok(())) => *self = CloseSignal::Given,
                Poll::Ready(Err(_)) => *self = CloseSignal::Never,
            }
        }
        matches!(self, CloseSignal::Given)
    }
}

impl ReadHalf {
    /// Over TCP.
    pub(crate) fn tcp(half: OwnedReadHalf) -> ReadHalf {
        ReadHalf { stream: ReadStream::Tcp(half), close: CloseSignal::Never }
    }

    /// Reading fails once the signal is given.
    pub(crate) fn close_on(&mut self, close: CloseSignal) {
        self.close = close;
    }

    /// Whether reading failed because of the signal.
    pub(crate) fn is_closed_by_signal(&self) -> bool {
        matches!(self.close, CloseSignal::Given)
    }
}

/// The half of a connection that is written to. With TLS what was written may wait until it is
/// flushed.
#[derive(Debug)]
pub(crate) enum WriteHalf {
    Tcp(OwnedWriteHalf),
    #[cfg(feature = "tls")]
    Tls(tokio::io::WriteHalf<TlsStream<TcpStream>>),
}

impl AsyncRead for ReadHalf {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let ReadHalf { stream, close } = self.get_mut();
        let polled = match stream {
            ReadStream::Tcp(half) => Pin::new(half).poll_read(cx, buf),
            #[cfg(feature = "tls")]
            ReadStream::Tls(half) => match Pin::new(half).poll_read(cx, buf) {
                // Brokers close without TLS's own goodbye. Nothing can be cut off unseen by that:
                // frames say how long they are.
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    Poll::Ready(Ok(()))
                }
                polled => polled,
            },
        };
        if polled.is_pending() && close.poll_given(cx) {
            let why = "closed by this client, which goes back to its bootstrap addresses";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionAborted, why)));
        }
        polled
    }
}

impl AsyncWrite for WriteHalf {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            WriteHalf::Tcp(half) => Pin::new(half).poll_write(cx, buf),
            #[cfg(feature = "tls")]
            WriteHalf::Tls(half) => Pin::new(half).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            WriteHalf::Tcp(half) => Pin::new(half).poll_write_vectored(cx, bufs),
            #[cfg(feature = "tls")]
            WriteHalf::Tls(half) => Pin::new(half).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            WriteHalf::Tcp(half) => half.is_write_vectored(),
            #[cfg(feature = "tls")]
            WriteHalf::Tls(half) => half.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            WriteHalf::Tcp(half) => Pin::new(half).poll_flush(cx),
            #[cfg(feature = "tls")]
            WriteHalf::Tls(half) => Pin::new(half).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            WriteHalf::Tcp(half) => Pin::new(half).poll_shutdown(cx),
            #[cfg(feature = "tls")]
            WriteHalf::Tls(half) => Pin::new(half).poll_shutdown(cx),
        }
    }
}

/// Connects over TCP, without delay of small writes and with keep-alive, as Kafka's client does. A name may stand for several addresses: each
/// of them gets a share of the time, so that one that does not answer leaves some for the others.
pub(crate) async fn connect(addr: &Arc<str>, until: Instant) -> Result<TcpStream, Error> {
    let failed = |source| Error::Connect { addr: addr.clone(), source: Arc::new(source) };
    let found: Vec<_> = tokio::net::lookup_host(&**addr).await.map_err(failed)?.collect();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for (at, address) in found.iter().enumerate() {
        let left = u32::try_from(found.len() - at).unwrap_or(u32::MAX);
        let share = until.saturating_duration_since(Instant::now()) / left;
        match timeout(share, dial(*address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = error,
            Err(_) => last = io::Error::new(io::ErrorKind::TimedOut, "connection timed out"),
        }
    }
    Err(failed(last))
}

async fn dial(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A broker whose machine went away without a word is noticed also where nothing is in flight.
    socket.set_keepalive(true)?;
    socket.set_nodelay(true)?;
    socket.connect(address).await
}

/// Protects a stream as the options say.
pub(crate) async fn secure(
    stream: TcpStream,
    #[cfg_attr(not(feature = "tls"), allow(unused_variables))] addr: &Arc<str>,
    options: &Options,
) -> Result<(ReadHalf, WriteHalf), Error> {
    match &options.security {
        Security::Plaintext => {
            let (read, write) = stream.into_split();
            Ok((ReadHalf::tcp(read), WriteHalf::Tcp(write)))
        }
        #[cfg(feature = "tls")]
        Security::Tls(tls) => {
            let stream = shake_hands(stream, addr, tls).await?;
            let (read, write) = tokio::io::split(stream);
            let read = ReadHalf { stream: ReadStream::Tls(read), close: CloseSignal::Never };
            Ok((read, WriteHalf::Tls(write)))
        }
    }
}

#[cfg(feature = "tls")]
async fn shake_hands(
    stream: TcpStream,
    addr: &Arc<str>,
    tls: &TlsOptions,
) -> Result<TlsStream<TcpStream>, Error> {
    let name = tls
        .server_name(host_of(addr))
        .map_err(|source| Error::Authentication { addr: addr.clone(), source })?;
    let preparing = tls.clone();
    // Files may have to be read.
    let config = tokio::task::spawn_blocking(move || preparing.prepare())
        .await
        .map_err(|_| Error::ShutDown { addr: addr.clone() })??;
    TlsConnector::from(config).connect(name, stream).await.map_err(|source| {
        let addr = addr.clone();
        match source.get_ref().and_then(|inner| inner.downcast_ref()) {
            Some(rustls::Error::InvalidMessage(_)) => not_tls(addr, &source),
            Some(_) => {
                Error::Authentication { addr, source: AuthenticationError::Tls(Arc::new(source)) }
            }
            // TCP failed, not TLS.
            None => Error::Connect { addr, source: Arc::new(source) },
        }
    })
}

/// What comes back from a listener that takes TLS for a request of Kafka's.
#[cfg(feature = "tls")]
fn not_tls(addr: Arc<str>, source: &io::Error) -> Error {
    let text = format!("{source}: the listener speaks no TLS, see security.protocol");
    let source = AuthenticationError::Tls(Arc::new(io::Error::new(source.kind(), text)));
    Error::Authentication { addr, source }
}

/// The host of `host:port`.
#[cfg(feature = "tls")]
fn host_of(addr: &str) -> &str {
    let host = addr.rsplit_once(':').map_or(addr, |(host, _)| host);
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// What an error is that came before anything was agreed on. With TLS 1.3 a broker refuses this
/// client's certificate when the handshake is over for this side: the alert is the answer to
/// whatever is asked first.
pub(crate) fn judge(error: Error) -> Error {
    match error {
        // The alert with which TLS answers what is none, read as a length: by then it is known that
        // this side speaks none.
        Error::Frame { addr, source: FrameError::TooLong { len, .. } }
            if len >> 16 == TLS_ALERT =>
        {
            let text = "the listener speaks TLS, and security.protocol here is without";
            let source = AuthenticationError::Tls(Arc::new(io::Error::other(text)));
            Error::Authentication { addr, source }
        }
        #[cfg(feature = "tls")]
        Error::Io { addr, source }
            if matches!(
                source.get_ref().and_then(|inner| inner.downcast_ref()),
                Some(rustls::Error::AlertReceived(_))
            ) =>
        {
            Error::Authentication { addr, source: AuthenticationError::Tls(source) }
        }
        error => error,
    }
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
    use bytes::Bytes;
    use thalweg_wire::RecordsRef;
    use tokio::io::AsyncReadExt;

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

    #[cfg(feature = "tls")]
    #[test]
    fn hosts_of_addresses() {
        assert_eq!(host_of("broker.example:9093"), "broker.example");
        assert_eq!(host_of("127.0.0.1:9093"), "127.0.0.1");
        assert_eq!(host_of("[::1]:9093"), "::1");
    }

    #[tokio::test]
    async fn connections_are_kept_alive_and_small_writes_are_not_delayed() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr: Arc<str> = listener.local_addr().unwrap().to_string().into();
        let until = Instant::now() + std::time::Duration::from_secs(10);
        let stream = connect(&addr, until).await.unwrap();
        assert!(stream.nodelay().unwrap());
        let socket = TcpSocket::from_std_stream(stream.into_std().unwrap());
        assert!(socket.keepalive().unwrap());
    }

    #[tokio::test]
    async fn close_signal_ends_a_read_that_waits() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let read_half = async || {
            let (read, write) = TcpStream::connect(address).await.unwrap().into_split();
            let (given, close) = oneshot::channel();
            let mut read = ReadHalf::tcp(read);
            read.close_on(CloseSignal::When(close));
            (read, write, given, listener.accept().await.unwrap().0)
        };
        let read_one =
            |mut read: ReadHalf| tokio::spawn(async move { read.read(&mut [0; 1]).await });
        let (read, _write, given, _broker) = read_half().await;
        let waiting = read_one(read);
        tokio::task::yield_now().await;
        given.send(()).unwrap();
        let error = waiting.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
        // A cluster that is dropped closes nothing.
        let (read, _write, given, mut broker) = read_half().await;
        let waiting = read_one(read);
        tokio::task::yield_now().await;
        drop(given);
        broker.write_all(b"a").await.unwrap();
        assert_eq!(waiting.await.unwrap().unwrap(), 1);
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
