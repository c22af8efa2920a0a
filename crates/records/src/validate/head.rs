//! Everything that is checked before records are looked at.

use super::failure::Reason;
use super::{Origin, ValidationConfig};
use crate::batch::{self, BatchView, Compression, HEADER_LEN, LOG_OVERHEAD, TimestampType};
use crate::checksum::crc32c;

/// What the later phases need of a header.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub len: usize,
    pub base_offset: i64,
    pub compression: Compression,
    pub timestamp_type: TimestampType,
    pub transactional: bool,
    pub control: bool,
    pub last_offset_delta: i32,
    pub base_timestamp: i64,
    pub max_timestamp: i64,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub base_sequence: i32,
    pub last_sequence: i32,
    pub record_count: i32,
}

const FIRST_ZSTD_VERSION: i16 = 7;
const BASE_OFFSET_LEN: usize = 8;
const MAGIC_AT: usize = 16;
const LAST_OFFSET_DELTA_END: usize = 27;

/// Length of the batch that begins `bytes`, overhead included, as far as length field and magic are
/// legal in any format; `None` when it is not all there.
pub(super) fn next_len(bytes: &[u8]) -> Result<Option<usize>, Reason> {
    let Some(overhead) = bytes.first_chunk::<LOG_OVERHEAD>() else { return Ok(None) };
    let [.., a, b, c, d] = *overhead;
    let length = i32::from_be_bytes([a, b, c, d]);
    if length < batch::MIN_LEGACY_LEN as i32 {
        return Err(Reason::BadLength(length));
    }
    let Some(magic) = bytes.get(MAGIC_AT) else { return Ok(None) };
    let magic = *magic as i8;
    if !(0..=batch::MAGIC).contains(&magic) {
        return Err(Reason::UndefinedMagic(magic));
    }
    if length > i32::MAX - LOG_OVERHEAD as i32 {
        return Err(Reason::LengthOverflow(length));
    }
    let total = LOG_OVERHEAD + length as usize;
    Ok((bytes.len() >= total).then_some(total))
}

/// Checks framing, size, CRC and header fields of the one batch in `bytes`.
pub(super) fn check(
    bytes: &[u8],
    config: &ValidationConfig,
    origin: Origin,
) -> Result<Head, Reason> {
    let len = next_len(bytes)?.ok_or(Reason::NoBatch)?;
    let magic = bytes[MAGIC_AT] as i8;
    if magic != batch::MAGIC {
        return Err(Reason::LegacyMagic(magic));
    }
    let first = &bytes[..len];
    if let Origin::Client { produce_version } = origin {
        if produce_version < FIRST_ZSTD_VERSION
            && let Some(low) = first.get(batch::ATTRIBUTES_AT + 1)
        {
            match Compression::from_id(low & 0x07) {
                Some(Compression::Zstd) => return Err(Reason::ZstdTooEarly(produce_version)),
                Some(_) => {}
                None => return Err(Reason::UndefinedCodec(low & 0x07)),
            }
        }
        let several = next_len(&bytes[len..])?.is_some();
        if several {
            return Err(Reason::SeveralBatches);
        }
        let mut base_offset = [0; BASE_OFFSET_LEN];
        base_offset.copy_from_slice(&first[..BASE_OFFSET_LEN]);
        let base_offset = i64::from_be_bytes(base_offset);
        if base_offset != 0 {
            return Err(Reason::BaseOffset(base_offset));
        }
    }
    if len < LAST_OFFSET_DELTA_END {
        return Err(Reason::HeaderCut(len));
    }
    if len > usize::try_from(config.max_message_bytes).unwrap_or(0) {
        return Err(Reason::TooLarge { size: len as u64, max: config.max_message_bytes });
    }
    if len < HEADER_LEN {
        return Err(Reason::HeaderCut(len));
    }
    let view = BatchView::parse(first).map_err(|_| Reason::HeaderCut(len))?;
    let computed = crc32c(&first[batch::ATTRIBUTES_AT..]);
    if view.crc() != computed {
        return Err(Reason::Crc { stored: view.crc(), computed });
    }
    let compression =
        view.compression().ok_or(Reason::UndefinedCodec((view.attributes() & 0x07) as u8))?;
    // Coordinators' appends are not framed by a request: what follows is looked at only now.
    if origin == Origin::Coordinator && next_len(&bytes[len..])?.is_some() {
        return Err(Reason::SeveralBatches);
    }
    if let Origin::Client { .. } = origin {
        check_client(&view)?;
    }
    Ok(Head {
        len,
        base_offset: view.base_offset(),
        compression,
        timestamp_type: view.timestamp_type(),
        transactional: view.is_transactional(),
        control: view.is_control(),
        last_offset_delta: view.last_offset_delta(),
        base_timestamp: view.base_timestamp(),
        max_timestamp: view.max_timestamp(),
        producer_id: view.producer_id(),
        producer_epoch: view.producer_epoch(),
        base_sequence: view.base_sequence(),
        last_sequence: view.last_sequence(),
        record_count: view.record_count(),
    })
}

/// What only clients have to comply with.
fn check_client(view: &BatchView<'_>) -> Result<(), Reason> {
    let (last_offset_delta, count) = (view.last_offset_delta(), view.record_count());
    if last_offset_delta < 0 {
        return Err(Reason::OffsetRange(last_offset_delta));
    }
    if count <= 0 {
        return Err(Reason::Count(count));
    }
    if last_offset_delta != count - 1 {
        return Err(Reason::CountMismatch { last_offset_delta, count });
    }
    if view.is_control() {
        return Err(Reason::Control);
    }
    if view.has_producer_id() && view.base_sequence() < 0 {
        return Err(Reason::Sequence {
            producer_id: view.producer_id(),
            sequence: view.base_sequence(),
        });
    }
    Ok(())
}
