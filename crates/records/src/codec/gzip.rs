//! gzip (RFC 1952) as the JDK's stream reader takes it: several members one after the other,
//! trailing bytes that are no member are left alone.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::CodecError;
use super::window::Window;

const CODEC: &str = "gzip";
/// Bytes the JDK inflates at once; what precedes an error within them is lost to its reader. Damaged
/// data often inflates to garbage for a while, so this decides which error shows.
const JDK_PIECE: u64 = 16 * 1024;
/// Bytes inflated at once.
const PIECE: usize = 64 * 1024;

const TRAILER_LEN: usize = 8;
const DEFLATE: u8 = 8;
const FLAG_HEADER_CRC: u8 = 0x02;
const FLAG_EXTRA: u8 = 0x04;
const FLAG_NAME: u8 = 0x08;
const FLAG_COMMENT: u8 = 0x10;
/// Another member is looked for only behind more bytes than this: a trailer, the shortest header
/// and another trailer.
const LEAST_FOR_ANOTHER: usize = 26;

/// What a gzip producer writes in front: no name, no time, unknown system.
pub(super) const HEADER: [u8; 10] = [0x1f, 0x8b, DEFLATE, 0, 0, 0, 0, 0, 0, 0xff];

fn truncated() -> CodecError {
    CodecError::Truncated { codec: CODEC }
}

fn corrupt(what: &'static str) -> CodecError {
    CodecError::Corrupt { codec: CODEC, what }
}

/// The reused inflate context.
#[derive(Default)]
pub(super) struct Inflater {
    context: Option<Decompress>,
}

pub(super) struct State {
    at: usize,
    phase: Phase,
    crc: Crc,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Body,
    Trailer,
    Done,
    Broken,
}

impl Inflater {
    pub fn begin(&mut self, input: &[u8]) -> Result<State, CodecError> {
        let at = header_len(input)?;
        match &mut self.context {
            Some(context) => context.reset(false),
            None => self.context = Some(Decompress::new(false)),
        }
        Ok(State { at, phase: Phase::Body, crc: Crc::new() })
    }

    pub fn fill(
        &mut self,
        state: &mut State,
        input: &[u8],
        window: &mut Window,
    ) -> Result<usize, CodecError> {
        let Some(context) = self.context.as_mut() else { return Ok(0) };
        loop {
            match state.phase {
                Phase::Done => return Ok(0),
                Phase::Broken => return Err(corrupt("deflate data is invalid")),
                Phase::Trailer => {
                    let rest = input.get(state.at..).unwrap_or_default();
                    let Some((crc, size)) = trailer(rest) else { return Err(truncated()) };
                    if crc != state.crc.sum() || size != context.total_out() as u32 {
                        return Err(corrupt("checksum or size of a member is wrong"));
                    }
                    state.phase = Phase::Done;
                    if rest.len() > LEAST_FOR_ANOTHER
                        && let Ok(len) = header_len(&rest[TRAILER_LEN..])
                    {
                        state.at += TRAILER_LEN + len;
                        state.crc.reset();
                        context.reset(false);
                        state.phase = Phase::Body;
                    }
                }
                Phase::Body => {
                    let rest = input.get(state.at..).unwrap_or_default();
                    let room = window.room(PIECE);
                    let (in_before, out_before) = (context.total_in(), context.total_out());
                    let status = context.decompress(rest, room, FlushDecompress::None);
                    let read = (context.total_in() - in_before) as usize;
                    let written = ((context.total_out() - out_before) as usize).min(room.len());
                    let mut usable = written;
                    state.crc.update(&room[..written]);
                    state.at += read;
                    match status {
                        Ok(Status::StreamEnd) => state.phase = Phase::Trailer,
                        Ok(Status::Ok | Status::BufError) if read == 0 && written == 0 => {
                            return Err(truncated());
                        }
                        Ok(_) => {}
                        Err(_) => {
                            let whole = context.total_out() / JDK_PIECE * JDK_PIECE;
                            usable = whole.saturating_sub(out_before).min(written as u64) as usize;
                            state.phase = Phase::Broken;
                        }
                    }
                    window.advance(usable);
                    if usable > 0 {
                        return Ok(usable);
                    }
                }
            }
        }
    }
}

/// CRC-32 and size of the member, which end it.
fn trailer(bytes: &[u8]) -> Option<(u32, u32)> {
    let (crc, rest) = bytes.split_first_chunk::<4>()?;
    let size = rest.first_chunk::<4>()?;
    Some((u32::from_le_bytes(*crc), u32::from_le_bytes(*size)))
}

/// Length of the member header that begins `bytes`.
fn header_len(bytes: &[u8]) -> Result<usize, CodecError> {
    let fixed = bytes.first_chunk::<10>().ok_or_else(truncated)?;
    if fixed[..2] != HEADER[..2] {
        return Err(corrupt("not in gzip format"));
    }
    if fixed[2] != DEFLATE {
        return Err(corrupt("compression method is not deflate"));
    }
    let flags = fixed[3];
    let mut at = fixed.len();
    if flags & FLAG_EXTRA != 0 {
        let len = bytes[at..].first_chunk::<2>().ok_or_else(truncated)?;
        at += 2 + usize::from(u16::from_le_bytes(*len));
    }
    for flag in [FLAG_NAME, FLAG_COMMENT] {
        if flags & flag != 0 {
            let text = bytes.get(at..).ok_or_else(truncated)?;
            at += 1 + text.iter().position(|&b| b == 0).ok_or_else(truncated)?;
        }
    }
    if flags & FLAG_HEADER_CRC != 0 {
        let covered = bytes.get(..at).ok_or_else(truncated)?;
        let stored = bytes[at..].first_chunk::<2>().ok_or_else(truncated)?;
        let mut crc = Crc::new();
        crc.update(covered);
        if crc.sum() as u16 != u16::from_le_bytes(*stored) {
            return Err(corrupt("checksum of the header is wrong"));
        }
        at += 2;
    }
    if at > bytes.len() {
        return Err(truncated());
    }
    Ok(at)
}
