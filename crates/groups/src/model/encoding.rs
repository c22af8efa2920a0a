//! Keys and values of records: a type or version of two bytes, then the message.

use bytes::Bytes;
use thalweg_wire::{DecodeError, EncodeError, Message, Reader, Writer};

pub(super) fn key_bytes(record_type: i16, key: &impl Message) -> Result<Bytes, EncodeError> {
    let mut w = Writer::new();
    w.i16(record_type);
    key.encode(&mut w, 0)?;
    Ok(w.to_vec().into())
}

pub(super) fn value_bytes(version: i16, value: &impl Message) -> Result<Bytes, EncodeError> {
    let mut w = Writer::new();
    w.i16(version);
    value.encode(&mut w, version)?;
    Ok(w.to_vec().into())
}

pub(super) fn read_value<V: Message>(bytes: Option<&[u8]>) -> Result<Option<V>, DecodeError> {
    let Some(bytes) = bytes else { return Ok(None) };
    let mut r = Reader::new(bytes);
    let version = r.i16()?;
    V::check_version(version)?;
    V::decode(&mut r, version).map(Some)
}
