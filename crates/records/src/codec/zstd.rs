//! zstd (RFC 8878) through the reference library, with one reused context.
//!
//! A frame whose blocks fit the window goes there in one call; others are streamed, which costs a
//! copy out of the library's own window. Either way the reused context takes no new memory, unless
//! a frame asks for a larger window than any before.

use zstd_safe::{DCtx, InBuffer, OutBuffer, ResetDirective};

use super::CodecError;
use super::window::{KEEP, Window};

const CODEC: &str = "zstd";
/// Bytes decompressed at once when streaming; the library's largest block.
const PIECE: usize = 128 * 1024;
const BLOCK_MAX: usize = 128 * 1024;
const MAGIC: u32 = 0xfd2f_b528;
/// The Java reader takes its input in pieces of this size, which matters only for how it ends.
const INPUT_PIECE: usize = BLOCK_MAX + 3;
/// Bytes the Java reader asks for at once; what precedes an error within them is lost to it.
const JAVA_PIECE: u64 = 16 * 1024;
/// The largest window that the library accepts when streaming, by default: 128 MiB.
const WINDOW_MAX: u64 = 1 << 27;
/// A context that grew beyond this (a frame with a window of more than 8 MiB) is given back after
/// the batch.
const CONTEXT_MAX: usize = 12 << 20;

fn truncated() -> CodecError {
    CodecError::Truncated { codec: CODEC }
}

fn corrupt(what: &'static str) -> CodecError {
    CodecError::Corrupt { codec: CODEC, what }
}

#[derive(Default)]
pub(super) struct Reader {
    context: Option<DCtx<'static>>,
}

pub(super) struct State {
    at: usize,
    /// End of the piece of input that the Java reader would have at hand.
    piece_end: usize,
    need_input: bool,
    frame_finished: bool,
    /// Set while the whole input may still be decompressed by one call.
    whole: Option<usize>,
    /// Bytes decompressed of the frame at hand.
    frame_produced: u64,
    broken: bool,
    done: bool,
}

impl Reader {
    pub fn begin(&mut self, input: &[u8]) -> Result<State, CodecError> {
        if self.context.as_ref().is_some_and(|context| context.sizeof() > CONTEXT_MAX) {
            self.context = None;
        }
        match &mut self.context {
            Some(context) => {
                context.reset(ResetDirective::SessionOnly).map_err(|_| corrupt("context"))?;
            }
            None => {
                let context = DCtx::try_create().ok_or_else(|| corrupt("context"))?;
                self.context = Some(context);
            }
        }
        Ok(State {
            at: 0,
            piece_end: 0,
            need_input: true,
            frame_finished: true,
            whole: single_frame_bound(input).filter(|&bound| bound <= KEEP),
            frame_produced: 0,
            broken: false,
            done: false,
        })
    }

    pub fn fill(
        &mut self,
        state: &mut State,
        input: &[u8],
        window: &mut Window,
    ) -> Result<usize, CodecError> {
        let Some(context) = self.context.as_mut() else { return Ok(0) };
        if let Some(bound) = state.whole.take() {
            let room = window.room(bound);
            if let Ok(n) = context.decompress(room, input) {
                window.advance(n);
                state.done = true;
                return Ok(n);
            }
            // Something is wrong with it: streaming finds out after how many good bytes.
            context.reset(ResetDirective::SessionOnly).map_err(|_| corrupt("context"))?;
        }
        while !state.done {
            if state.broken {
                return Err(corrupt("a frame is invalid"));
            }
            if state.need_input && state.at >= state.piece_end {
                if state.at >= input.len() {
                    if !state.frame_finished {
                        return Err(truncated());
                    }
                    state.done = true;
                    break;
                }
                state.piece_end = input.len().min(state.at + INPUT_PIECE);
                state.frame_finished = false;
            }
            let piece = input.get(state.at..state.piece_end).unwrap_or_default();
            let room = window.room(PIECE);
            let mut source = InBuffer::around(piece);
            let mut target = OutBuffer::around(room);
            let hint = context.decompress_stream(&mut target, &mut source);
            let (read, written) = (source.pos(), target.pos());
            let full = written == target.capacity();
            let mut usable = written;
            state.at += read;
            state.frame_produced += written as u64;
            match hint {
                Err(_) => {
                    let before = state.frame_produced - written as u64;
                    let whole = state.frame_produced / JAVA_PIECE * JAVA_PIECE;
                    usable = whole.saturating_sub(before) as usize;
                    state.broken = true;
                }
                Ok(0) => {
                    state.frame_finished = true;
                    state.frame_produced = 0;
                    state.need_input = state.at == state.piece_end;
                }
                Ok(_) => state.need_input = !full,
            }
            window.advance(usable);
            if usable > 0 {
                return Ok(usable);
            }
        }
        Ok(0)
    }
}

/// Upper bound of the decompressed size when `input` is exactly one frame; `None` for anything
/// else. Walks block headers only.
fn single_frame_bound(input: &[u8]) -> Option<usize> {
    let magic = input.first_chunk::<4>()?;
    if u32::from_le_bytes(*magic) != MAGIC {
        return None;
    }
    let descriptor = *input.get(4)?;
    let single_segment = descriptor & 0x20 != 0;
    let window_len = usize::from(!single_segment);
    let dictionary_len = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content_len = match descriptor >> 6 {
        0 => usize::from(single_segment),
        1 => 2,
        2 => 4,
        _ => 8,
    };
    if !single_segment {
        let window = *input.get(5)?;
        let base = 1u64 << (10 + (window >> 3));
        if base + base / 8 * u64::from(window & 7) > WINDOW_MAX {
            return None;
        }
    }
    let mut at = 5 + window_len + dictionary_len + content_len;
    let mut bound = 0usize;
    loop {
        let header = input.get(at..)?.first_chunk::<3>()?;
        let header = u32::from_le_bytes([header[0], header[1], header[2], 0]);
        let (last, kind, size) = (header & 1 != 0, (header >> 1) & 3, (header >> 3) as usize);
        at += 3;
        match kind {
            0 => {
                at = at.checked_add(size)?;
                bound = bound.checked_add(size)?;
            }
            1 => {
                at += 1;
                bound = bound.checked_add(size)?;
            }
            2 => {
                at = at.checked_add(size)?;
                bound = bound.checked_add(BLOCK_MAX)?;
            }
            _ => return None,
        }
        if last {
            break;
        }
    }
    if descriptor & 4 != 0 {
        at += 4;
    }
    (at == input.len()).then_some(bound)
}
