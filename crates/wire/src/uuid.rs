//! 128-bit identifiers in Kafka's text form (base64url, 22 characters, no padding).

use std::fmt;

/// A topic, directory, incarnation or member id: 16 bytes, big-endian on the wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Uuid(pub [u8; 16]);

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl Uuid {
    /// All bits zero; stands for "none" in requests, and for MIGRATING as a directory id.
    pub const ZERO: Uuid = Uuid([0; 16]);
    /// The metadata topic's id; as a directory id it means UNASSIGNED.
    pub const ONE: Uuid = Uuid::from_u128(1);
    /// As a directory id: LOST.
    pub const TWO: Uuid = Uuid::from_u128(2);

    /// From a number, most significant byte first.
    pub const fn from_u128(v: u128) -> Uuid {
        Uuid(v.to_be_bytes())
    }

    /// As a number, most significant byte first.
    pub const fn as_u128(self) -> u128 {
        u128::from_be_bytes(self.0)
    }

    /// Makes an id of 16 random bytes version 4, variant 2. `None` for the values Kafka never
    /// hands out: those whose text begins with `-` (tools would take them for an option) and the
    /// reserved ones.
    pub fn from_random(mut bytes: [u8; 16]) -> Option<Uuid> {
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        let id = Uuid(bytes);
        // The text begins with '-' when the first six bits are 62.
        (bytes[0] >> 2 != 62 && !id.is_reserved()).then_some(id)
    }

    /// The first hundred values carry special meanings and are never given to a topic or directory.
    pub const fn is_reserved(self) -> bool {
        self.as_u128() < 100
    }

    /// Whether all bits are zero.
    pub const fn is_zero(self) -> bool {
        self.as_u128() == 0
    }

    /// Parses the base64url form; `None` for anything that is not exactly such a text.
    pub fn parse(text: &str) -> Option<Uuid> {
        let text = text.as_bytes();
        if text.len() != 22 {
            return None;
        }
        let mut value: u128 = 0;
        for (i, &c) in text.iter().enumerate() {
            let digit = match c {
                b'A'..=b'Z' => c - b'A',
                b'a'..=b'z' => c - b'a' + 26,
                b'0'..=b'9' => c - b'0' + 52,
                b'-' => 62,
                b'_' => 63,
                _ => return None,
            };
            if i == 21 {
                // 22 digits hold 132 bits; the last 4 are padding.
                value = (value << 2) | u128::from(digit >> 4);
            } else {
                value = (value << 6) | u128::from(digit);
            }
        }
        Some(Uuid::from_u128(value))
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let v = self.as_u128();
        let mut text = [0u8; 22];
        for (i, slot) in text.iter_mut().enumerate() {
            let digit = if i == 21 { (v << 4) & 63 } else { (v >> (122 - 6 * i)) & 63 };
            *slot = ALPHABET[digit as usize];
        }
        f.pad(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_is_kafkas() {
        // The metadata topic's id as Kafka prints it.
        assert_eq!(Uuid::ONE.to_string(), "AAAAAAAAAAAAAAAAAAAAAQ");
        assert_eq!(Uuid::parse("AAAAAAAAAAAAAAAAAAAAAQ"), Some(Uuid::ONE));
    }

    #[test]
    fn text_round_trips() {
        for seed in 0..200u128 {
            let id = Uuid::from_u128(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834));
            assert_eq!(Uuid::parse(&id.to_string()), Some(id));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "AAAA", "AAAAAAAAAAAAAAAAAAAAA=", "AAAAAAAAAAAAAAAAAAAAAAA"] {
            assert_eq!(Uuid::parse(text), None, "{text}");
        }
    }

    #[test]
    fn random_ids_never_start_with_a_dash() {
        assert_eq!(Uuid::from_random([0xf8; 16]), None);
        assert!(Uuid::from_random([0x11; 16]).is_some());
    }
}
