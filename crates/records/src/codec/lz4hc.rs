//! A thorough LZ4 block compressor: hash chains over one block of at most 64 KiB, as many
//! candidates tried as the level says, one step of look-ahead.
//!
//! Kafka maps every `compression.lz4.level` but 9 to such a compressor; lz4_flex has only the fast
//! one. The output is plain LZ4, so nothing but the ratio depends on the details.

const HASH_BITS: u32 = 15;
/// No position yet.
const NONE: u32 = u32::MAX;
const MIN_MATCH: usize = 4;
/// The format wants the last bytes of a block as literals.
const LAST_LITERALS: usize = 5;
/// No match may begin in the last bytes of a block.
const LAST_MATCH_START: usize = 12;
const MAX_DISTANCE: usize = 65_535;

pub(super) struct HighCompressor {
    /// Latest position of each hash.
    heads: Box<[u32]>,
    /// Position before with the same hash, by position.
    chain: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Match {
    at: usize,
    from: usize,
    len: usize,
}

impl HighCompressor {
    pub fn new() -> HighCompressor {
        HighCompressor { heads: vec![NONE; 1 << HASH_BITS].into_boxed_slice(), chain: Vec::new() }
    }

    /// Appends the block that stands for `input` to `out`.
    pub fn compress(&mut self, input: &[u8], level: i32, out: &mut Vec<u8>) {
        // Two candidates per doubling up to the level where the reference gives up counting.
        let candidates = 1usize << level.clamp(1, 16);
        self.heads.fill(NONE);
        self.chain.clear();
        self.chain.resize(input.len(), NONE);
        let mut literals_from = 0;
        let mut at = 0;
        let last_start = input.len().saturating_sub(LAST_MATCH_START);
        while at < last_start {
            let Some(mut found) = self.longest(input, at, candidates) else {
                at += 1;
                continue;
            };
            // A longer match one byte on is worth a literal.
            while found.at + 1 < last_start
                && let Some(next) = self.longest(input, found.at + 1, candidates)
                && next.len > found.len
            {
                found = next;
            }
            sequence(&input[literals_from..found.at], Some(found), out);
            at = found.at + found.len;
            literals_from = at;
            for skipped in found.at + 1..at.min(last_start) {
                self.insert(input, skipped);
            }
        }
        sequence(&input[literals_from..], None, out);
    }

    fn insert(&mut self, input: &[u8], at: usize) {
        let Some(word) = input[at..].first_chunk::<4>() else { return };
        let slot = &mut self.heads[hash(u32::from_le_bytes(*word))];
        // A position is looked at twice when a look-ahead is dropped.
        if *slot != at as u32 {
            self.chain[at] = *slot;
            *slot = at as u32;
        }
    }

    fn longest(&mut self, input: &[u8], at: usize, candidates: usize) -> Option<Match> {
        self.insert(input, at);
        let most = input.len() - LAST_LITERALS - at;
        let mut best: Option<Match> = None;
        let mut from = self.chain[at];
        for _ in 0..candidates {
            let candidate = from as usize;
            if from == NONE || at - candidate > MAX_DISTANCE {
                break;
            }
            let len = common(&input[candidate..], &input[at..at + most]);
            if len >= MIN_MATCH && best.is_none_or(|b| len > b.len) {
                best = Some(Match { at, from: candidate, len });
                if len == most {
                    break;
                }
            }
            from = self.chain[candidate];
        }
        best
    }
}

fn hash(word: u32) -> usize {
    (word.wrapping_mul(2_654_435_761) >> (32 - HASH_BITS)) as usize
}

/// Bytes that two slices begin with in common.
fn common(a: &[u8], b: &[u8]) -> usize {
    let mut n = 0;
    let pairs = a.chunks_exact(8).zip(b.chunks_exact(8));
    for (x, y) in pairs {
        let (mut left, mut right) = ([0; 8], [0; 8]);
        left.copy_from_slice(x);
        right.copy_from_slice(y);
        let differs = u64::from_le_bytes(left) ^ u64::from_le_bytes(right);
        if differs != 0 {
            return n + (differs.trailing_zeros() / 8) as usize;
        }
        n += 8;
    }
    n + a[n..].iter().zip(&b[n..]).take_while(|(x, y)| x == y).count()
}

/// Literals, and the match that follows them unless they end the block.
fn sequence(literals: &[u8], found: Option<Match>, out: &mut Vec<u8>) {
    let match_len = found.map_or(0, |m| m.len - MIN_MATCH);
    out.push(((literals.len().min(15) << 4) | match_len.min(15)) as u8);
    long_length(literals.len(), out);
    out.extend_from_slice(literals);
    if let Some(m) = found {
        out.extend_from_slice(&((m.at - m.from) as u16).to_le_bytes());
        long_length(match_len, out);
    }
}

fn long_length(len: usize, out: &mut Vec<u8>) {
    if let Some(mut rest) = len.checked_sub(15) {
        while rest >= 255 {
            out.push(255);
            rest -= 255;
        }
        out.push(rest as u8);
    }
}

#[cfg(test)]
mod tests {
    use thalweg_random::Random;

    use super::*;

    fn check(input: &[u8]) -> usize {
        let mut high = HighCompressor::new();
        let mut sizes = Vec::new();
        for level in [1, 3, 8, 12, 17] {
            let mut out = Vec::new();
            high.compress(input, level, &mut out);
            let back = lz4_flex::block::decompress(&out, input.len()).expect("valid block");
            assert_eq!(back, input, "level {level}");
            sizes.push(out.len());
        }
        assert!(sizes[4] <= sizes[0] + 8, "{sizes:?}");
        sizes[4]
    }

    #[test]
    fn blocks_come_back_and_levels_help() {
        check(b"");
        check(b"a");
        check(b"abcdabcdabcd");
        check(&[7; 13]);
        check(&vec![0; 65_536]);
        let text: Vec<u8> =
            (0..65_536u32).map(|i| b"thalweg of a river, "[(i * i % 20) as usize]).collect();
        check(&text);
        check(&Random::new(1).bytes(65_536));
        let words: Vec<u8> = (0..8000u32)
            .flat_map(|i| format!("user-{} clicked item {};", i * 7919 % 997, i % 31).into_bytes())
            .take(65_536)
            .collect();
        let high = check(&words);
        assert!(high < lz4_flex::block::compress(&words).len(), "better than the fast one");
    }
}
