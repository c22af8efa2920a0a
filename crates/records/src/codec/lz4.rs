//! The LZ4 frame format, as far as Kafka reads and writes it: independent blocks only, the header
//! checksum checked, block checksums checked, the content checksum skipped, one frame.

use twox_hash::XxHash32;

use super::window::Window;
use super::{CodecError, lz4_block};

const CODEC: &str = "lz4";

pub(super) const MAGIC: u32 = 0x184d_2204;
const VERSION: u8 = 1;
const VERSION_SHIFT: u8 = 6;
const RESERVED: u8 = 0x03;
const CONTENT_CHECKSUM: u8 = 0x04;
const CONTENT_SIZE: u8 = 0x08;
const BLOCK_CHECKSUM: u8 = 0x10;
const INDEPENDENT: u8 = 0x20;
/// Set in a block's length when its bytes are not compressed.
pub(super) const STORED: u32 = 0x8000_0000;
/// Flags of the frames that producers write: version 1, independent blocks, no checksums.
pub(super) const WRITTEN_FLAGS: u8 = (VERSION << VERSION_SHIFT) | INDEPENDENT;
/// Block size code 4.
pub(super) const WRITTEN_BLOCK_DESCRIPTOR: u8 = 4 << 4;
/// Bytes before compression in a block of code 4.
pub(super) const BLOCK: usize = 64 * 1024;

fn truncated() -> CodecError {
    CodecError::Truncated { codec: CODEC }
}

fn corrupt(what: &'static str) -> CodecError {
    CodecError::Corrupt { codec: CODEC, what }
}

/// The second byte of a hash of the descriptor guards it.
pub(super) fn descriptor_checksum(descriptor: &[u8]) -> u8 {
    (XxHash32::oneshot(0, descriptor) >> 8) as u8
}

pub(super) struct State {
    at: usize,
    block_max: usize,
    block_checksum: bool,
    content_checksum: bool,
    done: bool,
}

impl State {
    pub fn begin(input: &[u8]) -> Result<State, CodecError> {
        let (magic, rest) = input.split_first_chunk::<4>().ok_or_else(truncated)?;
        let &[flags, descriptor] = rest.first_chunk::<2>().ok_or_else(truncated)?;
        if u32::from_le_bytes(*magic) != MAGIC {
            return Err(corrupt("not an lz4 frame"));
        }
        if flags & RESERVED != 0 {
            return Err(corrupt("reserved flags are set"));
        }
        if flags & INDEPENDENT == 0 {
            return Err(corrupt("blocks depend on each other, which Kafka does not support"));
        }
        if flags >> VERSION_SHIFT != VERSION {
            return Err(corrupt("version is not supported"));
        }
        if descriptor & 0x8f != 0 {
            return Err(corrupt("reserved bits of the block descriptor are set"));
        }
        let code = u32::from(descriptor >> 4);
        if code < 4 {
            return Err(corrupt("block size is not defined"));
        }
        let covered = if flags & CONTENT_SIZE != 0 { 10 } else { 2 };
        let checksum = *rest.get(covered).ok_or_else(truncated)?;
        if checksum != descriptor_checksum(&rest[..covered]) {
            return Err(corrupt("checksum of the frame descriptor is wrong"));
        }
        Ok(State {
            at: 4 + covered + 1,
            block_max: 1 << (2 * code + 8),
            block_checksum: flags & BLOCK_CHECKSUM != 0,
            content_checksum: flags & CONTENT_CHECKSUM != 0,
            done: false,
        })
    }

    pub fn fill(&mut self, input: &[u8], window: &mut Window) -> Result<usize, CodecError> {
        while !self.done {
            let rest = input.get(self.at..).unwrap_or_default();
            let (len, rest) = rest.split_first_chunk::<4>().ok_or_else(truncated)?;
            let len = u32::from_le_bytes(*len);
            let stored = len & STORED != 0;
            let len = (len & !STORED) as usize;
            if len == 0 {
                // What follows the end mark (another frame, say) is not read.
                if self.content_checksum && rest.len() < 4 {
                    return Err(CodecError::MissingChecksum);
                }
                self.done = true;
                break;
            }
            if len > self.block_max {
                return Err(corrupt("a block is longer than the frame allows"));
            }
            let block = rest.get(..len).ok_or_else(truncated)?;
            let n = if stored {
                window.room(len)[..len].copy_from_slice(block);
                len
            } else {
                // No byte of a block stands for more than 255 others.
                let most = self.block_max.min(len.saturating_mul(255) + 64);
                let room = window.room(most);
                lz4_block::decompress(block, room, self.block_max)
                    .ok_or_else(|| corrupt("a block is invalid"))?
            };
            self.at += 4 + len;
            if self.block_checksum {
                let sum = rest[len..].first_chunk::<4>().ok_or(CodecError::MissingChecksum)?;
                if u32::from_le_bytes(*sum) != XxHash32::oneshot(0, block) {
                    return Err(corrupt("checksum of a block is wrong"));
                }
                self.at += 4;
            }
            window.advance(n);
            if n > 0 {
                return Ok(n);
            }
        }
        Ok(0)
    }
}
