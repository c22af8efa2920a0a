//! The one kind of control record that a log must understand: the end of a transaction.

use thalweg_records::BatchView;
use thalweg_wire::varint;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EndTxnMarker {
    pub(crate) commit: bool,
    pub(crate) coordinator_epoch: i32,
}

const ABORT: i16 = 0;
const COMMIT: i16 = 1;

/// What a control batch's record is, as far as compaction asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ControlKind {
    Abort,
    Commit,
    /// Of the metadata log's, or of a later Kafka.
    Other,
}

/// The kind of a control batch; `None` for one that compaction has emptied.
pub(crate) fn control_kind(batch: &BatchView<'_>) -> Result<Option<ControlKind>, &'static str> {
    const CUT: &str = "control record is cut";
    if batch.record_count() <= 0 {
        return Ok(None);
    }
    let (_, mut record) = first_record(batch).ok_or(CUT)?;
    let key = record.sized().ok_or(CUT)?.ok_or("control record has no key")?;
    let [version_high, version_low, kind_high, kind_low, ..] = *key else { return Err(CUT) };
    if i16::from_be_bytes([version_high, version_low]) < 0 {
        return Err("control record has a negative version");
    }
    Ok(Some(match i16::from_be_bytes([kind_high, kind_low]) {
        ABORT => ControlKind::Abort,
        COMMIT => ControlKind::Commit,
        _ => ControlKind::Other,
    }))
}

/// The marker in a control batch with a producer id, with its record's timestamp; `None` for a
/// batch that compaction has emptied.
pub(crate) fn parse_end_txn(
    batch: &BatchView<'_>,
) -> Result<Option<(EndTxnMarker, i64)>, &'static str> {
    const CUT: &str = "transaction marker is cut";
    if batch.record_count() <= 0 {
        return Ok(None);
    }
    let (timestamp_delta, mut record) = first_record(batch).ok_or(CUT)?;
    let key = record.sized().ok_or(CUT)?.ok_or("transaction marker has no key")?;
    let value = record.sized().ok_or(CUT)?.ok_or("transaction marker has no value")?;
    let [_, _, kind_high, kind_low, ..] = *key else { return Err(CUT) };
    let commit = match i16::from_be_bytes([kind_high, kind_low]) {
        ABORT => false,
        COMMIT => true,
        _ => return Err("control batch of a producer is not a transaction marker"),
    };
    let [version_high, version_low, a, b, c, d, ..] = *value else { return Err(CUT) };
    if i16::from_be_bytes([version_high, version_low]) < 0 {
        return Err("transaction marker has a negative version");
    }
    let marker = EndTxnMarker { commit, coordinator_epoch: i32::from_be_bytes([a, b, c, d]) };
    Ok(Some((marker, batch.base_timestamp().wrapping_add(timestamp_delta))))
}

/// The timestamp delta of a batch's first record, and what comes behind its offset delta: key and value.
fn first_record<'a>(batch: &BatchView<'a>) -> Option<(i64, Cursor<'a>)> {
    let mut rest = Cursor(batch.payload());
    let length = usize::try_from(rest.varint()?).ok()?;
    let mut record = Cursor(rest.take(length)?);
    record.take(1)?;
    let timestamp_delta = record.varlong()?;
    record.varint()?;
    Some((timestamp_delta, record))
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(n)?;
        self.0 = tail;
        Some(head)
    }
    fn varint(&mut self) -> Option<i32> {
        let (value, n) = varint::read_i32(self.0)?;
        self.take(n)?;
        Some(value)
    }
    fn varlong(&mut self) -> Option<i64> {
        let (value, n) = varint::read_i64(self.0)?;
        self.take(n)?;
        Some(value)
    }
    /// Bytes with their length before them; a negative length is null.
    fn sized(&mut self) -> Option<Option<&'a [u8]>> {
        match usize::try_from(self.varint()?) {
            Ok(n) => self.take(n).map(Some),
            Err(_) => Some(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::BatchSpec;

    #[test]
    fn markers_are_read_and_garbage_is_refused() {
        let bytes = BatchSpec::marker(5, 9, 2, 77, true).build();
        let batch = BatchView::parse(&bytes).unwrap();
        let (marker, _) = parse_end_txn(&batch).unwrap().unwrap();
        assert_eq!(marker, EndTxnMarker { commit: true, coordinator_epoch: 77 });
        assert_eq!(control_kind(&batch), Ok(Some(ControlKind::Commit)));
        for at in 61..bytes.len() {
            for value in [0u8, 0x7f, 0x80, 0xff] {
                let mut broken = bytes.clone();
                broken[at] = value;
                let batch = BatchView::parse(&broken).unwrap();
                let _ = (parse_end_txn(&batch), control_kind(&batch));
            }
        }
        let data = BatchSpec::new(0, 1).producer(1, 0, 0).build();
        assert!(parse_end_txn(&BatchView::parse(&data).unwrap()).is_err());
    }
}
