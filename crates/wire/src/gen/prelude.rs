//! What every generated module needs.

pub(crate) use bytes::Bytes;

pub(crate) use crate::api::ApiKey;
pub(crate) use crate::error::{DecodeError, Decoded, EncodeError, Encoded, non_null_unless};
pub(crate) use crate::error_code::ErrorCode;
pub(crate) use crate::message::{Message, Request};
pub(crate) use crate::raw_tags::RawTags;
pub(crate) use crate::reader::Reader;
pub(crate) use crate::uuid::Uuid;
pub(crate) use crate::view::{ArrayView, ViewElement};
pub(crate) use crate::writer::{RecordsRef, Writer};
