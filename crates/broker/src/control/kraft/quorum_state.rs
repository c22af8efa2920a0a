//! `quorum-state`: the epoch this voter has seen, in Kafka's own JSON.
//!
//! Version 0 belongs to quorums with static voters, version 1 to dynamic ones (KIP-853).

use std::io;
use std::path::Path;

use serde_json::{Value, json};
use thalweg_log::Disk;
use thalweg_wire::Uuid;

const NAME: &str = "quorum-state";

/// What the file says, as far as a sole voter needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QuorumState {
    pub(crate) leader_id: i32,
    pub(crate) leader_epoch: i32,
}

/// Reads the file; `None` if there is none yet.
pub(crate) fn read(disk: &Disk, dir: &Path) -> io::Result<Option<QuorumState>> {
    let Some(text) = disk.read_small(&dir.join(NAME))? else { return Ok(None) };
    let damaged =
        |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{NAME}: {what}"));
    let value: Value = serde_json::from_slice(&text).map_err(|e| damaged(&e.to_string()))?;
    let number = |field: &str| {
        value[field]
            .as_i64()
            .and_then(|n| i32::try_from(n).ok())
            .ok_or_else(|| damaged(&format!("no {field}")))
    };
    Ok(Some(QuorumState { leader_id: number("leaderId")?, leader_epoch: number("leaderEpoch")? }))
}

/// Writes and flushes the file, so that an epoch is never used twice.
pub(crate) fn write(
    disk: &Disk,
    dir: &Path,
    state: QuorumState,
    kraft_version: i16,
) -> io::Result<()> {
    replace_synced(disk, dir, NAME, &content(state, kraft_version))?;
    disk.sync_dir(dir)
}

/// Writes the file into a directory that nobody uses before it was synced and renamed.
pub(crate) fn write_new(
    disk: &Disk,
    dir: &Path,
    state: QuorumState,
    kraft_version: i16,
) -> io::Result<()> {
    disk.create_synced(&dir.join(NAME), &content(state, kraft_version))
}

fn content(state: QuorumState, kraft_version: i16) -> Vec<u8> {
    let value = if kraft_version >= 1 {
        json!({
            "leaderId": state.leader_id,
            "leaderEpoch": state.leader_epoch,
            "votedId": -1,
            "votedDirectoryId": Uuid::ZERO.to_string(),
            "data_version": 1,
        })
    } else {
        json!({
            "clusterId": "",
            "leaderId": state.leader_id,
            "leaderEpoch": state.leader_epoch,
            "votedId": -1,
            "appliedOffset": 0,
            "currentVoters": [{ "voterId": state.leader_id }],
            "data_version": 0,
        })
    };
    value.to_string().into_bytes()
}

/// Replaces a file as a whole: it is there in its old form or its new one, whatever happens. Which
/// of the two is decided when the directory is synced.
pub(crate) fn replace_synced(disk: &Disk, dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let temporary = dir.join(format!("{name}.tmp"));
    let replaced = disk
        .create_synced(&temporary, bytes)
        .and_then(|()| disk.rename(&temporary, &dir.join(name)));
    if replaced.is_err() {
        // The next one may have another name, and the disk may be full.
        let _ = disk.remove_file(&temporary);
    }
    replaced
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn both_versions_come_back() {
        let dir = std::env::temp_dir().join(format!("thalweg-quorum-{}", std::process::id()));
        let disk = Disk::default();
        fs::create_dir_all(&dir).unwrap();
        assert_eq!(read(&disk, &dir).unwrap(), None);
        for version in [0, 1] {
            let state = QuorumState { leader_id: 3, leader_epoch: 7 + i32::from(version) };
            write(&disk, &dir, state, version).unwrap();
            assert_eq!(read(&disk, &dir).unwrap(), Some(state));
        }
        fs::write(dir.join(NAME), "{}").unwrap();
        assert!(read(&disk, &dir).is_err());
        fs::remove_dir_all(&dir).unwrap();
    }
}
