//! snappy in the two forms Kafka reads: blocks in the framing of the xerial library (what the Java
//! clients write), or one raw block (what librdkafka and others write).

use super::CodecError;
use super::window::Window;

const CODEC: &str = "snappy";

/// What begins an xerial stream; version and oldest compatible version follow, an i32 each.
pub(super) const MAGIC: [u8; 8] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0];
/// Magic and the two versions.
pub(super) const HEADER_LEN: usize = 16;
/// The version that is written, and the oldest that is read in a header between blocks.
pub(super) const VERSION: i32 = 1;
/// Bytes before compression in a block that the Java producer writes.
pub(super) const BLOCK: usize = 32 * 1024;
/// Blocks longer than this are refused.
const MAX_BLOCK: usize = 512 * 1024 * 1024;

fn truncated() -> CodecError {
    CodecError::Truncated { codec: CODEC }
}

fn corrupt(what: &'static str) -> CodecError {
    CodecError::Corrupt { codec: CODEC, what }
}

pub(super) enum State {
    Raw,
    Xerial { at: usize },
    Done,
}

impl State {
    pub fn begin(input: &[u8]) -> Result<State, CodecError> {
        if input.is_empty() {
            return Err(truncated());
        }
        if input.len() >= HEADER_LEN && input.starts_with(&MAGIC) {
            Ok(State::Xerial { at: HEADER_LEN })
        } else {
            // A raw block is decoded whole by its first use; Kafka does it while it opens the
            // stream, which answers with the same code.
            Ok(State::Raw)
        }
    }

    pub fn fill(
        &mut self,
        decoder: &mut snap::raw::Decoder,
        input: &[u8],
        window: &mut Window,
    ) -> Result<usize, CodecError> {
        match self {
            State::Done => Ok(0),
            State::Raw => {
                *self = State::Done;
                decode(decoder, input, window)
            }
            State::Xerial { at } => loop {
                let rest = input.get(*at..).unwrap_or_default();
                let Some(len) = rest.first_chunk::<4>() else {
                    // Up to three stray bytes at the end go unnoticed, as in the xerial reader.
                    *self = State::Done;
                    return Ok(0);
                };
                if *len == MAGIC[..4] {
                    // Streams may be concatenated.
                    let Some(header) = rest.get(..HEADER_LEN) else { return Err(truncated()) };
                    let version = header[8..].first_chunk::<4>().map(|v| i32::from_be_bytes(*v));
                    // One with another magic is skipped, odd as it is.
                    if header.starts_with(&MAGIC) && version < Some(VERSION) {
                        return Err(corrupt("version is too old"));
                    }
                    *at += HEADER_LEN;
                    continue;
                }
                let len = usize::try_from(i32::from_be_bytes(*len))
                    .ok()
                    .filter(|&len| len <= MAX_BLOCK)
                    .ok_or_else(|| corrupt("length of a block is out of range"))?;
                let block = rest[4..].get(..len).ok_or_else(truncated)?;
                *at += 4 + len;
                let n = decode(decoder, block, window)?;
                if n > 0 {
                    return Ok(n);
                }
            },
        }
    }
}

fn decode(
    decoder: &mut snap::raw::Decoder,
    block: &[u8],
    window: &mut Window,
) -> Result<usize, CodecError> {
    let claimed = snap::raw::decompress_len(block)
        .map_err(|_| corrupt("decompressed length is unreadable"))?;
    // Nothing expands further than a copy of 64 bytes for every 3 of input: refuse a false claim
    // before memory is taken for it.
    if claimed > block.len() * 22 {
        return Err(corrupt("decompressed length is beyond what the block can hold"));
    }
    let room = window.room(claimed);
    let n = decoder
        .decompress(block, &mut room[..claimed])
        .map_err(|_| corrupt("a block is invalid"))?;
    window.advance(n);
    Ok(n)
}
