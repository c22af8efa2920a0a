//! Kafka's wire protocol: primitives, error codes, and every message and record of Kafka 4.4.
//!
//! Pure: no I/O, no clock, no randomness. Messages are generated from the fact files in `schemas/`
//! in up to three forms: owned structs ([`messages`]), views that read in place (`...View`), and
//! refs that are written from borrowed parts (`...Ref`). Only generated code knows in which version
//! a field appears.
//!
//! ```
//! use thalweg_wire::messages::MetadataRequest;
//! use thalweg_wire::{Message, Reader, Writer};
//!
//! let mut w = Writer::new();
//! MetadataRequest::default().encode(&mut w, 12).unwrap();
//! let bytes = w.to_vec();
//! let back = MetadataRequest::decode(&mut Reader::new(&bytes), 12).unwrap();
//! assert_eq!(back, MetadataRequest::default());
//! ```

pub mod api;
pub mod error;
pub mod error_code;
#[allow(clippy::all)]
mod r#gen;
pub mod grouped;
#[cfg(any(feature = "json", feature = "record-json"))]
pub mod json;
pub mod message;
pub mod prefixed;
pub mod raw_tags;
pub mod reader;
pub mod secret;
pub mod table;
pub mod text;
pub mod uuid;
pub mod varint;
pub mod view;
pub mod writer;

/// Every message and record, and a module each for their parts.
pub mod messages {
    pub use crate::r#gen::*;
}

/// Tag of a field of DescribeGroups' request, which is empty, and of the groups in its answer, which has
/// [`messages::GroupRebalances`] in version 0: why the group rebalanced. Kafka's clients and brokers pass over
/// it.
pub const GROUP_REBALANCES_TAG: u32 = 0x7468_776c;

pub use api::ApiKey;
pub use error::{DecodeError, EncodeError};
pub use error_code::ErrorCode;
pub use message::{Message, Request};
pub use raw_tags::RawTags;
pub use reader::Reader;
pub use uuid::Uuid;
pub use view::ArrayView;
pub use writer::{RecordsRef, Segment, Writer};
