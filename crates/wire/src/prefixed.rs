//! Messages behind a number of two bytes: what consumers tell each other (`ConsumerProtocol`), and the keys and values
//! of coordinators' records. The number is the message's version, or, before a key, the type of the record.

use bytes::Bytes;

use crate::error::{Decoded, EncodeError};
use crate::message::Message;
use crate::reader::Reader;
use crate::writer::Writer;

/// A message as bytes, in `version`, behind `prefix`.
pub fn encode<M: Message>(prefix: i16, message: &M, version: i16) -> Result<Bytes, EncodeError> {
    let mut w = Writer::new();
    w.i16(prefix);
    message.encode(&mut w, version)?;
    Ok(w.to_vec().into())
}

/// A message as bytes, behind its version.
pub fn encode_version<M: Message>(message: &M, version: i16) -> Result<Bytes, EncodeError> {
    encode(version, message, version)
}

/// A message behind its version, where later versions only add fields at the end: one that is not known is read as the
/// last that is.
pub fn decode_any_version<M: Message>(r: &mut Reader<'_>) -> Decoded<M> {
    let version = r.i16()?.min(M::MAX_VERSION);
    M::decode(r, version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::DecodeError;
    use crate::messages::ConsumerProtocolAssignment;

    fn read(bytes: &[u8]) -> Decoded<ConsumerProtocolAssignment> {
        decode_any_version(&mut Reader::new(bytes))
    }

    #[test]
    fn later_versions_are_read_as_the_last_known() {
        let message = ConsumerProtocolAssignment {
            user_data: Some(Bytes::from_static(b"x")),
            ..Default::default()
        };
        let newest = encode(9, &message, ConsumerProtocolAssignment::MAX_VERSION).unwrap();
        let later = [&newest[..], b"fields of a later version"].concat();
        assert_eq!(read(&later), Ok(message.clone()));
        assert_eq!(read(&encode_version(&message, 0).unwrap()), Ok(message));
        let negative = read(b"\xff\xff\0\0\0\0\xff\xff\xff\xff");
        assert!(matches!(negative, Err(DecodeError::UnsupportedVersion { version: -1, .. })));
    }
}
