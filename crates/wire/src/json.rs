//! Messages as JSON, for tools and tests: those that are stored with the feature `record-json`, all
//! with `json`.

use bytes::Bytes;

use crate::error::{Decoded, EncodeError};
use crate::message::Message;
use crate::reader::Reader;
use crate::writer::Writer;

#[cfg(feature = "json")]
pub use crate::r#gen::table::visit_message_in_json;
pub use crate::r#gen::table::visit_record_in_json;
pub use crate::table::MESSAGES;

/// A message that has a form in JSON.
pub trait ToJson: Message {
    /// The message as Kafka's JSON converters show it.
    fn to_json(&self, version: i16) -> serde_json::Value;
}

/// What is done with a message whose type is found by its name.
pub trait VisitJson {
    /// What comes of it.
    type Output;

    /// Does it.
    fn visit<M: ToJson>(self) -> Self::Output;
}

/// A message's bytes, or why it cannot be written.
pub type Written = Result<Vec<u8>, EncodeError>;

/// A message's JSON, its bytes written again, and how many bytes were left.
pub type Inspected = Decoded<(serde_json::Value, Written, usize)>;

/// Reads `bytes` as the named message. `None` when there is no such message.
#[cfg(feature = "json")]
pub fn inspect(name: &str, bytes: &Bytes, version: i16) -> Option<Inspected> {
    visit_message_in_json(name, Inspect(bytes, version))
}

/// Reads `bytes` as the named record, or the key or value of one. `None` when there is no such record.
pub fn inspect_record(name: &str, bytes: &Bytes, version: i16) -> Option<Inspected> {
    visit_record_in_json(name, Inspect(bytes, version))
}

struct Inspect<'a>(&'a Bytes, i16);

impl VisitJson for Inspect<'_> {
    type Output = Inspected;

    fn visit<M: ToJson>(self) -> Inspected {
        let Inspect(bytes, version) = self;
        let mut r = Reader::shared(bytes);
        let m = M::decode(&mut r, version)?;
        Ok((m.to_json(version), written(&m, version), r.remaining()))
    }
}

fn written<M: Message>(m: &M, version: i16) -> Written {
    let mut w = Writer::new();
    m.encode(&mut w, version).map(|()| w.to_vec())
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes as base64 with padding, as Kafka's converters print them.
pub fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0u32, |v, &b| (v << 8) | u32::from(b)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            if i <= chunk.len() {
                out.push(char::from(ALPHABET[(group >> (18 - 6 * i)) as usize & 63]));
            } else {
                out.push('=');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn padding_follows_the_length() {
        let cases =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        for (plain, text) in cases {
            assert_eq!(super::base64(plain.as_bytes()), text);
        }
    }
}
