//! The hash that Kafka's producers choose a key's partition by: MurmurHash2 with a seed of their
//! own. Every client that is to find a key in the same partition has to agree on it.

const SEED: u32 = 0x9747_b28c;
const M: u32 = 0x5bd1_e995;
const R: u32 = 24;

/// The hash of `data`, as Kafka's `Utils.murmur2` has it.
pub fn murmur2(data: &[u8]) -> i32 {
    let mut hash = SEED ^ data.len() as u32;
    let (words, rest) = data.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(M);
        k ^= k >> R;
        hash = hash.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    if !rest.is_empty() {
        for (at, byte) in rest.iter().enumerate() {
            hash ^= u32::from(*byte) << (8 * at);
        }
        hash = hash.wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    (hash ^ (hash >> 15)) as i32
}

/// The partition of a key among `count` partitions; 0 when there are none.
pub fn partition_of(key: &[u8], count: u32) -> u32 {
    // As Kafka does it: the sign is masked away, which is not the absolute value.
    let positive = murmur2(key) as u32 & 0x7fff_ffff;
    positive.checked_rem(count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_kafka() {
        let cases: [(&str, i32); 6] = [
            ("21", -973_932_308),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            ("abc", 479_470_107),
        ];
        for (key, hash) in cases {
            assert_eq!(murmur2(key.as_bytes()), hash, "{key}");
        }
    }

    #[test]
    fn negative_hashes_are_masked() {
        assert_eq!(partition_of(b"21", 10), ((-973_932_308i32) & 0x7fff_ffff) as u32 % 10);
        assert_eq!(partition_of(b"abc", 7), 479_470_107 % 7);
        assert_eq!(partition_of(b"abc", 0), 0);
    }
}
