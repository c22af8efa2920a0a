//! Kafka's small text files: offset checkpoints, the leader-epoch checkpoint, `partition.metadata`
//! and the clean-shutdown marker.
//!
//! Parsing never trusts a count: memory grows with the lines that are there.

use std::fmt::Write as _;

use thalweg_wire::Uuid;

/// One line of an offset checkpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PartitionOffset {
    pub(crate) topic: String,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
}

/// Lines after the version and the count; an empty file has none.
///
/// Every line ends with a line feed: one that does not is the beginning of a number that a power cut
/// has torn, and would be taken for another number.
fn body<'a>(bytes: &'a [u8], what: &str) -> Result<Vec<&'a str>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| format!("{what} is not UTF-8"))?;
    if !text.is_empty() && !text.ends_with('\n') {
        return Err(format!("{what} ends in the middle of a line"));
    }
    let mut lines = text.lines();
    let Some(version) = lines.next() else { return Ok(Vec::new()) };
    if version.parse::<i32>() != Ok(0) {
        return Err(format!("{what} has version {version:?}, expected 0"));
    }
    let Some(count) = lines.next() else { return Ok(Vec::new()) };
    let count: usize =
        count.parse().map_err(|_| format!("{what} has {count:?} where its count should be"))?;
    let lines: Vec<&str> = lines.collect();
    if lines.len() != count {
        return Err(format!("{what} has {} entries, its count says {count}", lines.len()));
    }
    Ok(lines)
}

pub(crate) fn parse_offsets(bytes: &[u8]) -> Result<Vec<PartitionOffset>, String> {
    body(bytes, "offset checkpoint")?
        .into_iter()
        .map(|line| {
            let malformed = || format!("malformed line {line:?} in offset checkpoint");
            let mut parts = line.split_ascii_whitespace();
            let (Some(topic), Some(partition), Some(offset), None) =
                (parts.next(), parts.next(), parts.next(), parts.next())
            else {
                return Err(malformed());
            };
            Ok(PartitionOffset {
                topic: topic.to_owned(),
                partition: partition.parse().map_err(|_| malformed())?,
                offset: offset.parse().map_err(|_| malformed())?,
            })
        })
        .collect()
}

pub(crate) fn format_offsets<'a>(
    entries: impl ExactSizeIterator<Item = (&'a str, i32, i64)>,
) -> Vec<u8> {
    let mut text = String::with_capacity(16 + entries.len() * 32);
    let _ = write!(text, "0\n{}\n", entries.len());
    for (topic, partition, offset) in entries {
        let _ = writeln!(text, "{topic} {partition} {offset}");
    }
    text.into_bytes()
}

pub(crate) fn parse_epochs(bytes: &[u8]) -> Result<Vec<(i32, i64)>, String> {
    body(bytes, "leader epoch checkpoint")?
        .into_iter()
        .map(|line| {
            let malformed = || format!("malformed line {line:?} in leader epoch checkpoint");
            let (epoch, offset) =
                line.split_once(|c: char| c.is_ascii_whitespace()).ok_or_else(malformed)?;
            let epoch: i32 = epoch.parse().map_err(|_| malformed())?;
            let offset: i64 = offset.trim().parse().map_err(|_| malformed())?;
            if epoch < 0 || offset < 0 {
                return Err(malformed());
            }
            Ok((epoch, offset))
        })
        .collect()
}

pub(crate) fn format_epochs(entries: &[(i32, i64)]) -> Vec<u8> {
    let mut text = String::with_capacity(16 + entries.len() * 16);
    let _ = write!(text, "0\n{}\n", entries.len());
    for (epoch, offset) in entries {
        let _ = writeln!(text, "{epoch} {offset}");
    }
    text.into_bytes()
}

/// The marker of a copy that replaces another: which directory that one is in.
pub(crate) fn format_replaces(dir: Uuid) -> Vec<u8> {
    format!("version: 0\ndirectory_id: {dir}\n").into_bytes()
}

/// `None` for what is no such marker, or a part of one.
pub(crate) fn parse_replaces(bytes: &[u8]) -> Option<Uuid> {
    let text = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
    Uuid::parse(text.strip_prefix("version: 0\ndirectory_id: ")?)
}

pub(crate) fn parse_partition_metadata(bytes: &[u8]) -> Result<Uuid, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "partition.metadata is not UTF-8")?;
    let mut lines = text.lines();
    let mut value = |name: &str| -> Result<String, String> {
        let line = lines.next().ok_or_else(|| format!("partition.metadata has no {name}"))?;
        match line.split_once(':') {
            Some((key, value)) if key.trim() == name => Ok(value.trim().to_owned()),
            _ => Err(format!("partition.metadata has {line:?} where {name} should be")),
        }
    };
    let version = value("version")?;
    if version.parse::<i32>().is_ok_and(|version| version >= 0) {
        let id = value("topic_id")?;
        match Uuid::parse(&id) {
            Some(id) if !id.is_zero() => Ok(id),
            _ => Err(format!("partition.metadata has topic id {id:?}")),
        }
    } else {
        Err(format!("partition.metadata has version {version:?}"))
    }
}

/// Content of `partition.metadata` of a topic's partitions.
pub fn format_partition_metadata(id: Uuid) -> Vec<u8> {
    format!("version: 0\ntopic_id: {id}").into_bytes()
}

/// Whether it is a beginning of what [`format_partition_metadata`] gives, or that and zeros.
pub(crate) fn is_torn_partition_metadata(bytes: &[u8]) -> bool {
    let written = bytes.len() - bytes.iter().rev().take_while(|&&byte| byte == 0).count();
    let whole = format_partition_metadata(Uuid::ONE);
    let fixed = whole.len() - Uuid::ONE.to_string().len();
    written < whole.len()
        && bytes.len() <= whole.len()
        && bytes[..written.min(fixed)] == whole[..written.min(fixed)]
}

/// The broker epoch in a clean-shutdown marker; `None` when it cannot be read. That the marker is
/// there at all is what makes the shutdown clean.
pub(crate) fn parse_clean_shutdown(bytes: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(bytes).ok()?;
    let after = &text[text.find("\"brokerEpoch\"")? + "\"brokerEpoch\"".len()..];
    let value = after.trim_start().strip_prefix(':')?.trim_start();
    let end = value.find(|c: char| c != '-' && !c.is_ascii_digit()).unwrap_or(value.len());
    value[..end].parse().ok()
}

pub(crate) fn format_clean_shutdown(broker_epoch: i64) -> Vec<u8> {
    format!("{{\"version\":0,\"brokerEpoch\":{broker_epoch}}}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_survive_a_round_trip() {
        let entries = [("a", 0, 7), ("b.c-d", 12, i64::MAX)];
        let text = format_offsets(entries.iter().copied());
        assert_eq!(text, b"0\n2\na 0 7\nb.c-d 12 9223372036854775807\n");
        let parsed = parse_offsets(&text).unwrap();
        assert_eq!(parsed.len(), 2);
        assert_eq!(parsed[1].topic, "b.c-d");
        assert_eq!(parsed[1].offset, i64::MAX);
    }

    #[test]
    fn what_is_wrong_is_refused() {
        assert_eq!(parse_offsets(b""), Ok(vec![]));
        for bad in [
            &b"1\n0\n"[..],
            b"0\n2\na 0 1\n",
            b"0\n0\na 0 1\n",
            b"0\n99999999999999999999\n",
            b"0\n1\na 0\n",
            b"0\n1\na 0 1 2\n",
            b"0\n1\na x 1\n",
            b"0\n1\na 0 1",
            b"0\n1",
            b"\xff",
        ] {
            assert!(parse_offsets(bad).is_err(), "{bad:?}");
        }
        for bad in
            [&b"0\n1\n1\n"[..], b"0\n1\n-1 0\n", b"0\n1\n1 -3\n", b"0\n1\n1 2 3\n", b"0\n1\n1 12"]
        {
            assert!(parse_epochs(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn metadata_and_marker() {
        let id = Uuid::from_u128(0x1234_5678_9abc_def0_1234_5678_9abc_def0);
        assert_eq!(parse_partition_metadata(&format_partition_metadata(id)), Ok(id));
        assert!(parse_partition_metadata(b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA").is_err());
        assert!(parse_partition_metadata(b"version: 0").is_err());
        assert!(parse_partition_metadata(b"").is_err());
        let whole = format_partition_metadata(id);
        assert!(!is_torn_partition_metadata(&whole));
        for len in 0..whole.len() {
            let mut torn = whole[..len].to_vec();
            assert!(is_torn_partition_metadata(&torn), "{len}");
            assert!(parse_partition_metadata(&torn).is_err(), "{len}");
            torn.resize(whole.len(), 0);
            assert!(is_torn_partition_metadata(&torn), "{len} and zeros");
        }
        assert!(!is_torn_partition_metadata(b"version: 7\ntopic_id: AAAA"));
        let replaces = format_replaces(id);
        assert_eq!(parse_replaces(&replaces), Some(id));
        for len in 0..replaces.len() {
            let mut torn = replaces[..len].to_vec();
            assert_eq!(parse_replaces(&torn), None, "{len}");
            torn.resize(replaces.len(), 0);
            assert_eq!(parse_replaces(&torn), None, "{len} and zeros");
        }
        assert_eq!(parse_clean_shutdown(&format_clean_shutdown(42)), Some(42));
        assert_eq!(parse_clean_shutdown(b"{\"version\": 0, \"brokerEpoch\" : -1 }"), Some(-1));
        assert_eq!(parse_clean_shutdown(b""), None);
        assert_eq!(parse_clean_shutdown(b"{\"brokerEpoch\":}"), None);
    }
}
