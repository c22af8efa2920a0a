//! Decompresses LZ4 blocks, which is most of what a broker does for a compressed batch.
//!
//! Away from the ends of input and output a sequence is read with hardly a branch: lengths are
//! computed, literals and matches are copied in chunks that may write past their end, where the
//! next sequence overwrites it. On data like log lines that is twice as fast as a decoder that
//! branches on each length, because those branches cannot be predicted. Close to the ends, and for
//! what is rare, a careful reader does the same byte by byte.
//!
//! Refuses what the reference decoder refuses, which Kafka's broker runs: a match that points before the block,
//! and a block that does not end with enough literals. Where the reference takes a match at
//! distance 0 for zeros, this one refuses it: the format does not allow it, other decoders refuse
//! it, and what is stored is read by all of them.

/// Bytes copied at once.
const CHUNK: usize = 32;
/// Input that the fast reader wants ahead: token, length, literals, distance, length; and that no
/// rule for the end of the input concerns.
const INPUT_AHEAD: usize = 64;
/// Output that the fast reader wants ahead: a chunk of literals, two of a match, and that no rule
/// for the end of the output concerns.
const OUTPUT_AHEAD: usize = 128;
/// A match this long is left to `memmove`.
const LONG_MATCH: usize = 160;

const MIN_MATCH: usize = 4;
/// Length in a token that says that more follows.
const MORE: usize = 15;

// How close to the ends the reference lets sequences come.

/// Literals that end closer to the end of the input than this have to end it.
const INPUT_TAIL: usize = 8;
/// Literals that end closer to the end of the output than this have to end the input.
const OUTPUT_TAIL: usize = 12;
/// Bytes at the end of the output that no match may write.
const LAST_LITERALS: usize = 5;
/// Bytes of input behind the last byte of a long match length.
const LENGTH_TAIL: usize = 4;
/// A token with short literals and this much input and output ahead is not held to the above.
const SHORT_INPUT_AHEAD: usize = 17;
const SHORT_OUTPUT_AHEAD: usize = 32;
/// Shortest distance of a match that such a token may have.
const SHORT_DISTANCE: usize = 8;

/// Decompresses the block `input` to the beginning of `out`, which has room for `block_max` bytes,
/// the most that the frame allows, or for all that such an input can stand for; what lies behind
/// the result may be overwritten as well. Gives the length, or nothing if the block is broken.
pub(super) fn decompress(input: &[u8], out: &mut [u8], block_max: usize) -> Option<usize> {
    let mut block = Block { input, out, at: 0, end: 0, end_max: block_max };
    loop {
        block.usual_sequences();
        if block.sequence()? {
            return Some(block.end);
        }
    }
}

struct Block<'a> {
    input: &'a [u8],
    /// Where the next token is.
    at: usize,
    out: &'a mut [u8],
    /// Bytes decompressed.
    end: usize,
    end_max: usize,
}

impl Block<'_> {
    /// Sequences for as long as they are usual and the ends are far. Stops in front of one that is
    /// not; all that is wrong is found by [`Self::sequence`].
    #[inline]
    fn usual_sequences(&mut self) {
        let Block { input, ref mut out, mut at, mut end, end_max } = *self;
        let limit = out.len().min(end_max);
        while end + OUTPUT_AHEAD <= limit
            && let Some(ahead) = input.get(at..).and_then(|rest| rest.first_chunk::<INPUT_AHEAD>())
        {
            let token = usize::from(ahead[0]);
            let (literals, more) = length(token >> 4, ahead[1]);
            if literals > CHUNK {
                break;
            }
            let Some(ahead) = ahead.get(1 + more..) else { break };
            if let (Some(from), Some(to)) =
                (ahead.first_chunk::<CHUNK>(), out[end..].first_chunk_mut::<CHUNK>())
            {
                *to = *from;
            }
            let behind = end + literals;
            let Some(&[low, high, next]) = ahead[literals..].first_chunk::<3>() else { break };
            let distance = usize::from(u16::from_le_bytes([low, high]));
            let (rest, more_match) = length(token & MORE, next);
            let len = rest + MIN_MATCH;
            let from = behind.wrapping_sub(distance);
            if distance < CHUNK
                || from >= behind
                || rest >= MORE + 255
                || behind + len + 2 * CHUNK > limit
            {
                break;
            }
            copy_chunk(out, from, behind);
            copy_chunk(out, from + CHUNK, behind + CHUNK);
            if len > 2 * CHUNK {
                copy_rest(out, from, behind, len);
            }
            at += 1 + more + literals + 2 + more_match;
            end = behind + len;
        }
        (self.at, self.end) = (at, end);
    }

    /// The sequence at hand; whether it was the last one.
    fn sequence(&mut self) -> Option<bool> {
        let token = usize::from(self.byte()?);
        let short = token >> 4 < MORE
            && self.at + SHORT_INPUT_AHEAD <= self.input.len()
            && self.end + SHORT_OUTPUT_AHEAD <= self.end_max;
        let literals = self.length(token >> 4)?;
        let from = self.input.get(self.at..)?.get(..literals)?;
        self.out.get_mut(self.end..)?.get_mut(..literals)?.copy_from_slice(from);
        self.at += literals;
        self.end += literals;
        if !short
            && (self.end + OUTPUT_TAIL > self.end_max || self.at + INPUT_TAIL > self.input.len())
        {
            return (self.at == self.input.len() && self.end <= self.end_max).then_some(true);
        }

        let distance = usize::from(u16::from_le_bytes([self.byte()?, self.byte()?]));
        let len = self.length(token & MORE)? + MIN_MATCH;
        if token & MORE == MORE && self.at + LENGTH_TAIL > self.input.len() {
            return None;
        }
        let from = self.end.checked_sub(distance).filter(|from| *from < self.end)?;
        let to = self.end;
        self.end += len;
        let free = short && token & MORE < MORE && distance >= SHORT_DISTANCE;
        if !free && self.end + LAST_LITERALS > self.end_max {
            return None;
        }
        copy_match(self.out.get_mut(..self.end)?, from, to);
        Some(false)
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.input.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn length(&mut self, nibble: usize) -> Option<usize> {
        let mut len = nibble;
        if nibble == MORE {
            loop {
                let byte = self.byte()?;
                len += usize::from(byte);
                if byte < 255 {
                    break;
                }
            }
        }
        Some(len)
    }
}

/// A length of a token with the byte that follows where there is one, and whether there is.
#[inline(always)]
fn length(nibble: usize, next: u8) -> (usize, usize) {
    let more = usize::from(nibble == MORE);
    (nibble + (usize::from(next) & more.wrapping_neg()), more)
}

/// Copies a chunk; there must be room for it.
#[inline(always)]
fn copy_chunk(out: &mut [u8], from: usize, to: usize) {
    if let Some(&chunk) = out[from..].first_chunk::<CHUNK>()
        && let Some(place) = out[to..].first_chunk_mut::<CHUNK>()
    {
        *place = chunk;
    }
}

/// What a match has behind its first two chunks.
#[inline]
fn copy_rest(out: &mut [u8], from: usize, to: usize, len: usize) {
    let mut done = 2 * CHUNK;
    if len > LONG_MATCH && to - from >= len {
        out.copy_within(from + done..from + len, to + done);
        return;
    }
    while done < len {
        copy_chunk(out, from + done, to + done);
        done += CHUNK;
    }
}

/// Fills `out` from `to` on with what begins at `from`, again and again if it is shorter.
fn copy_match(out: &mut [u8], from: usize, to: usize) {
    let len = out.len() - to;
    let mut done = 0;
    while done < len {
        // What was copied repeats what was there, so each turn has twice as much to copy.
        let n = (to + done - from).min(len - done);
        out.copy_within(from..from + n, to + done);
        done += n;
    }
}

#[cfg(test)]
mod tests {
    use thalweg_random::Random;

    use super::*;

    fn back(input: &[u8], room: usize) -> Option<Vec<u8>> {
        let mut out = vec![0xaa; room];
        let n = decompress(input, &mut out, room)?;
        out.truncate(n);
        Some(out)
    }

    #[test]
    fn what_others_compress_comes_back() {
        let mut random = Random::new(7);
        for round in 0..300 {
            let spread = [1, 2, 5, 40, 256][round % 5];
            let mut data = Vec::new();
            let size = random.below(70_000).min(65_536) as usize;
            while data.len() < size {
                if data.len() > 10 && random.below(3) > 0 {
                    let from = random.below(data.len() as u64) as usize;
                    let len = random.below([8, 40, 100, 1000][round % 4]) as usize;
                    (from..from + len).for_each(|at| data.push(data[at]));
                } else {
                    (0..random.below(40)).for_each(|_| data.push(random.below(spread) as u8));
                }
            }
            data.truncate(size);
            let packed = lz4_flex::block::compress(&data);
            for room in [data.len(), data.len() + 1, data.len() + 200, 65_536] {
                if room >= data.len() {
                    assert!(back(&packed, room).is_some_and(|b| b == data), "{round}, room {room}");
                }
            }
            if !data.is_empty() {
                assert!(back(&packed, data.len() - 1).is_none(), "{round}, no room");
            }
            let cut = random.below(packed.len() as u64) as usize;
            assert!(back(&packed[..cut], 65_536).is_none_or(|b| b.len() < data.len()), "{round}");
        }
    }

    #[test]
    fn damage_is_refused_or_gives_other_bytes_and_nothing_worse() {
        let text: Vec<u8> = (0..3000u32)
            .flat_map(|i| format!("user-{} took {};", i * 7919 % 997, i % 31).into_bytes())
            .collect();
        let packed = lz4_flex::block::compress(&text);
        let mut random = Random::new(11);
        for _ in 0..20_000 {
            let mut damaged = packed.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(damaged.len() as u64) as usize;
                damaged[at] = random.below(256) as u8;
            }
            let ours = back(&damaged, 65_536);
            // Another decoder gives the same bytes wherever both accept.
            let theirs = lz4_flex::block::decompress(&damaged, 65_536).ok();
            if let (Some(ours), Some(theirs)) = (&ours, &theirs) {
                assert!(ours == theirs);
            }
            assert!(ours.is_none() || theirs.is_some(), "accepted here alone");
        }
    }

    #[test]
    fn a_match_at_distance_zero_is_refused() {
        let block = [0x14, b'a', 0, 0, 0x60, 1, 2, 3, 4, 5, 6];
        assert_eq!(back(&block, 100), None);
        let block = [0x14, b'a', 1, 0, 0x60, 1, 2, 3, 4, 5, 6];
        assert_eq!(back(&block, 100).as_deref(), Some(&b"aaaaaaaaa\x01\x02\x03\x04\x05\x06"[..]));
    }
}
