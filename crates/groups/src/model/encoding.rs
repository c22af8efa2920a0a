//! Keys and values of records: a type or version of two bytes, then the message.

use bytes::Bytes;
use thalweg_wire::{DecodeError, EncodeError, Message, Reader, prefixed};

pub(super) fn key_bytes(record_type: i16, key: &impl Message) -> Result<Bytes, EncodeError> {
    prefixed::encode(record_type, key, 0)
}

pub(super) fn value_bytes(version: i16, value: &impl Message) -> Result<Bytes, EncodeError> {
    prefixed::encode_version(value, version)
}

pub(super) fn read_value<V: Message>(bytes: Option<&[u8]>) -> Result<Option<V>, DecodeError> {
    let Some(bytes) = bytes else { return Ok(None) };
    let mut r = Reader::new(bytes);
    let version = r.i16()?;
    V::decode(&mut r, version).map(Some)
}
