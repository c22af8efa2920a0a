//! What every generated message has in common.

use std::fmt;

use crate::api::ApiKey;
use crate::error::{DecodeError, Decoded, EncodeError, Encoded};
use crate::reader::Reader;
use crate::writer::Writer;

/// A message or record with its versions.
pub trait Message: Sized + Default + Clone + fmt::Debug + PartialEq {
    /// Kafka's name.
    const NAME: &'static str;
    /// First version Kafka 4.4 knows.
    const MIN_VERSION: i16;
    /// Last version Kafka 4.4 knows.
    const MAX_VERSION: i16;
    /// First version in the compact form with tagged fields; `i16::MAX` when there is none.
    const FLEXIBLE_FROM: i16;

    /// Reads the message; what follows it is left in the reader.
    fn decode(r: &mut Reader<'_>, version: i16) -> Decoded<Self>;

    /// Appends the message. After an error the writer holds part of it.
    fn encode(&self, w: &mut Writer, version: i16) -> Encoded;

    /// Throttle time in milliseconds: the broker reads nothing of the connection for that long (KIP-219). 0 for messages
    /// without the field.
    fn throttle_time_ms(&self) -> i32 {
        0
    }

    /// Refuses versions that do not exist.
    #[inline]
    fn check_version(version: i16) -> Decoded<()> {
        if (Self::MIN_VERSION..=Self::MAX_VERSION).contains(&version) {
            Ok(())
        } else {
            Err(DecodeError::UnsupportedVersion { message: Self::NAME, version })
        }
    }

    /// Refuses to write versions that do not exist.
    #[inline]
    fn check_written_version(version: i16) -> Encoded {
        if (Self::MIN_VERSION..=Self::MAX_VERSION).contains(&version) {
            Ok(())
        } else {
            Err(EncodeError::UnsupportedVersion { message: Self::NAME, version })
        }
    }
}

/// A request and what answers it.
pub trait Request: Message {
    /// Number of the API.
    const API_KEY: ApiKey;
    /// The answer.
    type Response: Message;
}
