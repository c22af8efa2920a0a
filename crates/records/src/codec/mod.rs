//! The five codecs of record batches, reading and writing.
//!
//! Reading goes through one bounded, reused [`Decompressor`]; writing through one reused
//! [`Compressor`]. Both are kept per worker: once they have seen each codec, neither allocates
//! (nor do the C parts inside). What a reader accepts is what Kafka's Java readers accept, byte
//! for byte where it could be found out, because it decides which batches a broker stores.
//!
//! Nothing here knows about records or batches.

mod compress;
mod decompress;
mod gzip;
mod lz4;
mod lz4_block;
mod lz4hc;
mod snappy;
mod window;
#[cfg(feature = "zstd")]
mod zstd;

pub use compress::{CompressionSpec, Compressor, InvalidLevel};
pub use decompress::{DecompressedStream, Decompressor};

/// Why a compressed stream cannot be read or written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CodecError {
    /// The input ends before the stream does.
    #[error("{codec} stream ends too early")]
    Truncated {
        /// Name of the codec.
        codec: &'static str,
    },
    /// The input is not what the codec's format allows.
    #[error("{codec} stream is corrupt: {what}")]
    Corrupt {
        /// Name of the codec.
        codec: &'static str,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The bytes of an LZ4 block's or frame's checksum are missing. Apart from the other truncations because
    /// Kafka's reader stumbles over it in another way, which shows in the error code.
    #[error("lz4 stream ends where a checksum should be")]
    MissingChecksum,
    /// The build leaves this codec out.
    #[error("{codec} is not part of this build")]
    Unsupported {
        /// Name of the codec.
        codec: &'static str,
    },
    /// The decompressed data is larger than allowed.
    #[error("decompressed size is above the limit of {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
}
