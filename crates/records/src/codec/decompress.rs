//! Streaming decompression of one batch's payload through a reused window.

use super::window::Window;
use super::{CodecError, gzip, lz4, snappy};
use crate::batch::Compression;

/// Decompression contexts and the window they fill. Keep one per worker and use it for batch after
/// batch: after warm-up nothing is allocated.
///
/// Holds at most the window (see [`Self::memory`]); a frame that needs more (LZ4 blocks of 4 MiB,
/// one raw snappy block, zstd with a large window, a huge record read whole) makes it grow, and
/// later batches let it shrink.
#[derive(Default)]
pub struct Decompressor {
    window: Window,
    stream: Stream,
    gzip: gzip::Inflater,
    snappy: snap::raw::Decoder,
    #[cfg(feature = "zstd")]
    zstd: super::zstd::Reader,
    produced: u64,
    limit: u64,
}

#[derive(Default)]
enum Stream {
    #[default]
    Idle,
    Plain {
        at: usize,
    },
    Gzip(gzip::State),
    Snappy(snappy::State),
    Lz4(lz4::State),
    #[cfg(feature = "zstd")]
    Zstd(super::zstd::State),
}

/// Bytes of an uncompressed stream that go through the window at once.
const PLAIN_PIECE: usize = 64 * 1024;

impl Decompressor {
    /// Fresh contexts; each codec's own is made when it is first used.
    pub fn new() -> Decompressor {
        Decompressor::default()
    }

    /// Reads `input`, one batch's payload, as a stream that may yield at most `limit` bytes.
    pub fn stream<'a>(
        &'a mut self,
        codec: Compression,
        input: &'a [u8],
        limit: u64,
    ) -> Result<DecompressedStream<'a>, CodecError> {
        self.begin(codec, input, limit)?;
        Ok(DecompressedStream { decompressor: self, input })
    }

    /// Decompresses all of `input` onto the end of `out`, of which the new part may be `limit`
    /// bytes long. `out` grows with what was decompressed, never with what a header claims.
    pub fn decompress_into(
        &mut self,
        codec: Compression,
        input: &[u8],
        limit: u64,
        out: &mut Vec<u8>,
    ) -> Result<usize, CodecError> {
        let before = out.len();
        self.begin(codec, input, limit)?;
        while self.fill(input)? != 0 {
            out.extend_from_slice(self.available());
            let n = self.available().len();
            self.consume(n);
        }
        Ok(out.len() - before)
    }

    /// Starts on `input`; the same slice must go to each [`Self::fill`] (another one gives
    /// nonsense or an error, nothing worse).
    pub(crate) fn begin(
        &mut self,
        codec: Compression,
        input: &[u8],
        limit: u64,
    ) -> Result<(), CodecError> {
        self.window.clear();
        self.produced = 0;
        self.limit = limit;
        self.stream = Stream::Idle;
        self.stream = match codec {
            Compression::None => Stream::Plain { at: 0 },
            Compression::Gzip => Stream::Gzip(self.gzip.begin(input)?),
            Compression::Snappy => Stream::Snappy(snappy::State::begin(input)?),
            Compression::Lz4 => Stream::Lz4(lz4::State::begin(input)?),
            #[cfg(feature = "zstd")]
            Compression::Zstd => Stream::Zstd(self.zstd.begin(input)?),
            #[cfg(not(feature = "zstd"))]
            Compression::Zstd => return Err(CodecError::Unsupported { codec: "zstd" }),
        };
        Ok(())
    }

    /// Decompresses a piece behind what is available; 0 means the end of the stream. After an
    /// error the bytes delivered before it are still available.
    pub(crate) fn fill(&mut self, input: &[u8]) -> Result<usize, CodecError> {
        let n = match &mut self.stream {
            Stream::Idle => 0,
            Stream::Plain { at } => {
                let rest = input.get(*at..).unwrap_or_default();
                let n = rest.len().min(PLAIN_PIECE);
                self.window.room(n)[..n].copy_from_slice(&rest[..n]);
                self.window.advance(n);
                *at += n;
                n
            }
            Stream::Gzip(state) => self.gzip.fill(state, input, &mut self.window)?,
            Stream::Snappy(state) => state.fill(&mut self.snappy, input, &mut self.window)?,
            Stream::Lz4(state) => state.fill(input, &mut self.window)?,
            #[cfg(feature = "zstd")]
            Stream::Zstd(state) => self.zstd.fill(state, input, &mut self.window)?,
        };
        self.produced += n as u64;
        if self.produced > self.limit {
            return Err(CodecError::TooLarge { limit: self.limit });
        }
        Ok(n)
    }

    /// Decompressed bytes not consumed yet.
    #[inline]
    pub(crate) fn available(&self) -> &[u8] {
        self.window.available()
    }

    /// Drops the first `n` of the available bytes.
    #[inline]
    pub(crate) fn consume(&mut self, n: usize) {
        self.window.consume(n);
    }

    /// Bytes decompressed since the stream began.
    pub(crate) fn produced(&self) -> u64 {
        self.produced
    }
}

/// One payload being decompressed.
pub struct DecompressedStream<'a> {
    decompressor: &'a mut Decompressor,
    input: &'a [u8],
}

impl DecompressedStream<'_> {
    /// Decompresses a piece behind what is available and returns its length; 0 at the end of the
    /// stream. After an error the bytes before it are still available.
    pub fn fill(&mut self) -> Result<usize, CodecError> {
        self.decompressor.fill(self.input)
    }

    /// Decompressed bytes not consumed yet.
    pub fn available(&self) -> &[u8] {
        self.decompressor.available()
    }

    /// Drops the first `n` of the available bytes.
    pub fn consume(&mut self, n: usize) {
        self.decompressor.consume(n);
    }
}
