//! The bytes of a consumer's subscription and assignment (`ConsumerProtocol`).
//!
//! The fields of the first version begin every later version. [`subscribed_topics`] reads them whatever
//! version the bytes claim, and does not look at the rest.

use std::collections::BTreeSet;

use thalweg_wire::messages::{ConsumerProtocolAssignment, ConsumerProtocolSubscription};
use thalweg_wire::{DecodeError, Reader, prefixed};

/// `protocol_type` of consumer groups.
pub const CONSUMER_PROTOCOL_TYPE: &str = "consumer";

/// The subscribed topics.
///
/// The topics of a group with bytes that do not parse are not known.
pub fn subscribed_topics(metadata: &[u8]) -> Result<BTreeSet<String>, DecodeError> {
    let mut r = Reader::new(metadata);
    r.i16()?; // The version; any will do.
    let topics = r.vec(false, |r| r.string(false))?;
    // User data belongs to the first version too; its length must be right.
    r.nullable_slice(false)?;
    Ok(topics.into_iter().collect())
}

/// The version in front of a consumer's subscription.
pub(crate) fn protocol_version(metadata: &[u8]) -> Option<i16> {
    Reader::new(metadata).i16().ok()
}

/// What a consumer's subscription bytes say; `None` if they are none.
pub(crate) fn subscription_of(metadata: &[u8]) -> Option<ConsumerProtocolSubscription> {
    prefixed::decode_any_version(&mut Reader::new(metadata)).ok()
}

/// What a consumer's assignment bytes say; `None` if they are none.
pub(crate) fn read_assignment(bytes: &[u8]) -> Option<ConsumerProtocolAssignment> {
    prefixed::decode_any_version(&mut Reader::new(bytes)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(version: i16, topics: &[&str], user_data: Option<&[u8]>) -> Vec<u8> {
        let mut out = version.to_be_bytes().to_vec();
        out.extend((topics.len() as i32).to_be_bytes());
        for topic in topics {
            out.extend((topic.len() as i16).to_be_bytes());
            out.extend(topic.as_bytes());
        }
        match user_data {
            None => out.extend((-1i32).to_be_bytes()),
            Some(data) => {
                out.extend((data.len() as i32).to_be_bytes());
                out.extend(data);
            }
        }
        out
    }

    #[test]
    fn reads_the_topics_of_any_version() {
        for version in [0, 1, 3, 77, i16::MAX, -1, i16::MIN] {
            let mut encoded = bytes(version, &["b", "a", "b"], Some(b"xyz"));
            encoded.extend(b"fields of a later version");
            let topics = subscribed_topics(&encoded).unwrap();
            assert_eq!(topics.into_iter().collect::<Vec<_>>(), ["a", "b"]);
        }
    }

    #[test]
    fn bytes_that_are_none_are_refused() {
        let good = bytes(1, &["topic-1", "topic-2"], Some(b"user data"));
        for cut in 0..good.len() {
            assert!(subscribed_topics(&good[..cut]).is_err(), "cut at {cut}");
        }
        let mut huge = 1i16.to_be_bytes().to_vec();
        huge.extend(i32::MAX.to_be_bytes());
        huge.extend([0; 16]);
        assert!(subscribed_topics(&huge).is_err());
        let mut null_topics = 1i16.to_be_bytes().to_vec();
        null_topics.extend((-1i32).to_be_bytes());
        null_topics.extend((-1i32).to_be_bytes());
        assert!(subscribed_topics(&null_topics).is_err());
    }
}
