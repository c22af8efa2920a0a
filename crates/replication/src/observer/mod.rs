//! A broker that follows the metadata log of the controllers' quorum without a vote (KIP-595's observer): whom it
//! asks for what, and what it does with the answers.
//!
//! [`Observer::next`] says whom to ask what. The answer, or that there is none, goes to
//! [`Observer::fetched`], [`Observer::snapshot_fetched`] or [`Observer::failed`]; what comes back ([`Step`]) is
//! carried out before the next question. One question is in flight at a time.
//!
//! *Invariants*: the epoch never goes back, nor does the high watermark; what is committed is never cut off; nothing
//! that is above the high watermark is to be applied, because a leader sends to observers what is not committed yet.

mod quorum;

pub use quorum::{Endpoint, Leader, Quorum, Retry};

use bytes::Bytes;
use quorum::{Heard, Told};
use thalweg_wire::messages::fetch_request::{FetchPartition, FetchTopic, ReplicaState};
use thalweg_wire::messages::{
    FetchRequest, FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse,
    fetch_snapshot_request,
};
use thalweg_wire::{ErrorCode, Uuid};

use crate::follower::{EpochEnd, Epochs, truncate_to};

/// Name of the metadata log's topic.
const TOPIC: &str = "__cluster_metadata";
/// Its id.
const TOPIC_ID: Uuid = Uuid::ONE;
/// How long a leader may keep a fetch that it has nothing for. As the Java broker's.
const MAX_WAIT_MS: i32 = 500;

/// A snapshot of the metadata: everything before an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SnapshotId {
    /// Offset behind the last record that it stands for.
    pub end_offset: i64,
    /// Epoch of that record.
    pub epoch: i32,
}

/// What an observer goes by.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The cluster's id.
    pub cluster_id: String,
    /// This broker's id; -1 for a reader that is to be in no list of observers.
    pub replica_id: i32,
    /// Id of the directory of its metadata log.
    pub directory_id: Uuid,
    /// `controller.quorum.fetch.max.bytes`
    pub fetch_max_bytes: i32,
    /// `controller.quorum.fetch.snapshot.max.bytes`
    pub fetch_snapshot_max_bytes: i32,
}

/// What to ask.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// What follows in the log; the answer goes to [`Observer::fetched`].
    Fetch(FetchRequest),
    /// A piece of a snapshot; the answer goes to [`Observer::snapshot_fetched`].
    FetchSnapshot(FetchSnapshotRequest),
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Ask this one.
    Ask(Endpoint, Question),
    /// Wait until then.
    Wait(u64),
}

/// What is to be done with an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Step {
    /// Nothing.
    Nothing,
    /// These batches are appended as they are, up to the first of a newer epoch than this one. Then the high
    /// watermark rises to the log's end or the leader's high watermark, whichever is lower.
    Append {
        /// Batches; may be empty.
        records: Bytes,
        /// The epoch of the leader that sent them.
        leader_epoch: i32,
        /// The leader's high watermark; `None` if it does not say.
        high_watermark: Option<i64>,
    },
    /// The log is cut off from this offset on.
    Truncate(i64),
    /// These bytes of a snapshot are written behind those that are there: `position` is where they belong, 0 for a
    /// new file. If they are the last, the snapshot is loaded, and the log begins anew behind it, committed up to
    /// there. If that fails, [`Observer::snapshot_failed`] is told.
    Snapshot {
        /// Which.
        id: SnapshotId,
        /// Where the bytes belong.
        position: i64,
        /// The bytes. They may end in the middle of a batch.
        bytes: Bytes,
        /// Whether they are the last.
        is_complete: bool,
    },
}

/// Why an answer is of no use. The same is asked again after a pause, perhaps somebody else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObserverError {
    /// The controller refuses.
    #[error("the controller at {from} answers {code}")]
    Refused {
        /// Who that is.
        from: Endpoint,
        /// What it says.
        code: ErrorCode,
    },
    /// The answer is about something else than what was asked for.
    #[error("the answer of the controller at {from} makes no sense: {reason}")]
    Malformed {
        /// Who that is.
        from: Endpoint,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Two answers name two leaders for one epoch.
    #[error("controllers {known} and {told} are both said to lead epoch {epoch}")]
    TwoLeaders {
        /// The epoch.
        epoch: i32,
        /// Who was named before.
        known: i32,
        /// Who is named now.
        told: i32,
    },
    /// The leader's log does not have what was committed.
    #[error(
        "the quorum's leader has nothing behind offset {to}, but the metadata was committed up to \
         {high_watermark}: the controllers have lost records"
    )]
    CommittedLost {
        /// Where the leader's log parts.
        to: i64,
        /// What was committed.
        high_watermark: i64,
    },
}

impl ObserverError {
    /// Whether no other answer can come: whoever goes on would go on with wrong metadata, or not at all. Another
    /// cluster's id is not meant: an old address may be another cluster's by now, and a newer one this one's.
    pub fn is_fatal(&self) -> bool {
        matches!(
            self,
            ObserverError::CommittedLost { .. }
                | ObserverError::Refused { code: ErrorCode::CLUSTER_AUTHORIZATION_FAILED, .. }
        )
    }
}

/// What an observer has to know of its own log.
pub trait ObserverLog: Epochs {
    /// Up to where the log is known to be committed; `None` before a leader has said so.
    fn high_watermark(&self) -> Option<i64>;
}

/// A snapshot that is being fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Download {
    id: SnapshotId,
    received: i64,
}

/// The observer.
#[derive(Clone, Debug)]
pub struct Observer {
    settings: Settings,
    quorum: Quorum,
    download: Option<Download>,
    /// Who was asked last.
    asked: Option<Endpoint>,
}

impl Observer {
    /// Begins with what is in the log.
    pub fn new(settings: Settings, quorum: Quorum) -> Observer {
        Observer { settings, quorum, download: None, asked: None }
    }

    /// Who leads the quorum.
    pub fn quorum(&self) -> &Quorum {
        &self.quorum
    }

    /// The same, for what the log says of the voters.
    pub fn quorum_mut(&mut self) -> &mut Quorum {
        &mut self.quorum
    }

    /// Whom to ask what now.
    pub fn next(&mut self, now_ms: u64, log: &impl ObserverLog) -> Next {
        let endpoint = match self.quorum.target(now_ms) {
            Ok(endpoint) => endpoint,
            Err(until) => return Next::Wait(until),
        };
        self.asked = Some(endpoint.clone());
        let is_leader = self.quorum.leader().and_then(|leader| leader.endpoint.as_ref());
        // Whoever does not lead is asked for the log: that is how leaders are found.
        let question = match &self.download {
            Some(download) if is_leader == Some(&endpoint) => {
                Question::FetchSnapshot(self.snapshot_request(download))
            }
            _ => Question::Fetch(self.fetch_request(log)),
        };
        Next::Ask(endpoint, question)
    }

    fn fetch_request(&self, log: &impl ObserverLog) -> FetchRequest {
        let partition = FetchPartition {
            partition: 0,
            // Neither may be -1, even of an empty log.
            current_leader_epoch: self.quorum.epoch(),
            fetch_offset: log.log_end(),
            last_fetched_epoch: log.latest_epoch().unwrap_or(0).max(0),
            partition_max_bytes: self.settings.fetch_max_bytes,
            replica_directory_id: self.settings.directory_id,
            high_watermark: log.high_watermark().unwrap_or(-1),
            ..FetchPartition::default()
        };
        FetchRequest {
            cluster_id: Some(self.settings.cluster_id.clone()),
            replica_state: ReplicaState {
                replica_id: self.settings.replica_id,
                ..ReplicaState::default()
            },
            max_wait_ms: MAX_WAIT_MS,
            max_bytes: self.settings.fetch_max_bytes,
            topics: vec![FetchTopic {
                topic: TOPIC.into(),
                topic_id: TOPIC_ID,
                partitions: vec![partition],
                ..FetchTopic::default()
            }],
            ..FetchRequest::default()
        }
    }

    fn snapshot_request(&self, download: &Download) -> FetchSnapshotRequest {
        use fetch_snapshot_request as wire;
        let partition = wire::PartitionSnapshot {
            partition: 0,
            current_leader_epoch: self.quorum.epoch(),
            snapshot_id: wire::SnapshotId {
                end_offset: download.id.end_offset,
                epoch: download.id.epoch,
                ..wire::SnapshotId::default()
            },
            position: download.received,
            replica_directory_id: self.settings.directory_id,
            ..wire::PartitionSnapshot::default()
        };
        FetchSnapshotRequest {
            cluster_id: Some(self.settings.cluster_id.clone()),
            replica_id: self.settings.replica_id,
            max_bytes: self.settings.fetch_snapshot_max_bytes,
            topics: vec![wire::TopicSnapshot {
                name: TOPIC.into(),
                partitions: vec![partition],
                ..wire::TopicSnapshot::default()
            }],
            ..FetchSnapshotRequest::default()
        }
    }

    /// Nobody answered: no connection, no answer in time, or one that cannot be read.
    pub fn failed(&mut self, now_ms: u64) {
        if let Some(asked) = self.asked.take() {
            self.quorum.failed(&asked, now_ms);
        }
    }

    /// A snapshot that was complete cannot be loaded: it is fetched again.
    pub fn snapshot_failed(&mut self, now_ms: u64) {
        self.download = None;
        if let Some(leader) = self.quorum.leader().and_then(|leader| leader.endpoint.clone()) {
            self.quorum.failed(&leader, now_ms);
        }
    }

    /// The answer to [`Question::Fetch`].
    ///
    /// # Errors
    /// [`ObserverError`]: the answer is of no use, and nothing is to be done.
    pub fn fetched(
        &mut self,
        response: FetchResponse,
        now_ms: u64,
        log: &impl ObserverLog,
    ) -> Result<Step, ObserverError> {
        let Some(from) = self.asked.take() else { return Ok(Step::Nothing) };
        if response.error_code.is_err() {
            return Err(self.refused(&from, response.error_code, now_ms));
        }
        let nodes = response.node_endpoints;
        let mut topics = response.responses.into_iter();
        let topic = topics.next().filter(|topic| {
            topic.topic_id == TOPIC_ID || topic.topic_id.is_zero() && topic.topic == TOPIC
        });
        let partition = topic.and_then(|topic| topic.partitions.into_iter().next());
        let Some(partition) = partition.filter(|partition| partition.partition_index == 0) else {
            return Err(self.malformed(&from, "it is about another partition", now_ms));
        };
        let leader = &partition.current_leader;
        let told = Told {
            error: partition.error_code,
            leader: leader.leader_id,
            epoch: leader.leader_epoch,
            endpoint: nodes.iter().find(|node| node.node_id == leader.leader_id).and_then(|node| {
                let port = u16::try_from(node.port).ok()?;
                Some(Endpoint { host: node.host.clone(), port })
            }),
        };
        if !self.is_of_leader(&from, &told, now_ms)? {
            return Ok(Step::Nothing);
        }

        let snapshot = SnapshotId {
            end_offset: partition.snapshot_id.end_offset,
            epoch: partition.snapshot_id.epoch,
        };
        let diverging = &partition.diverging_epoch;
        let committed = log.high_watermark().unwrap_or(0);
        // Whoever is asked for the log gives one up that was being fetched from another leader.
        self.download = None;
        let step = if diverging.epoch >= 0 {
            let leaders = EpochEnd { epoch: diverging.epoch, end_offset: diverging.end_offset };
            let to = truncate_to(leaders, log);
            let lowest = to.min(leaders.end_offset);
            if lowest < committed {
                return Err(self.committed_lost(&from, lowest, committed, now_ms));
            }
            Step::Truncate(to)
        } else if snapshot.epoch >= 0 && snapshot.end_offset >= 0 {
            if snapshot.end_offset < committed {
                return Err(self.committed_lost(&from, snapshot.end_offset, committed, now_ms));
            }
            self.download = Some(Download { id: snapshot, received: 0 });
            Step::Nothing
        } else if snapshot.epoch >= 0 || snapshot.end_offset >= 0 {
            return Err(self.malformed(&from, "half of a snapshot's id", now_ms));
        } else {
            Step::Append {
                records: partition.records.unwrap_or_default(),
                leader_epoch: self.quorum.epoch(),
                high_watermark: (partition.high_watermark >= 0).then_some(partition.high_watermark),
            }
        };
        self.quorum.succeeded();
        Ok(step)
    }

    /// The answer to [`Question::FetchSnapshot`].
    ///
    /// # Errors
    /// [`ObserverError`]: the answer is of no use, and nothing is to be done. Whatever is wrong, the next question is
    /// for the log, because controllers of 4.3.0 answer several of their own errors with UNKNOWN_SERVER_ERROR.
    pub fn snapshot_fetched(
        &mut self,
        response: FetchSnapshotResponse,
        now_ms: u64,
    ) -> Result<Step, ObserverError> {
        let Some(from) = self.asked.take() else { return Ok(Step::Nothing) };
        let Some(mut download) = self.download.take() else { return Ok(Step::Nothing) };
        if response.error_code.is_err() {
            return Err(self.refused(&from, response.error_code, now_ms));
        }
        let nodes = response.node_endpoints;
        let topic = response.topics.into_iter().next().filter(|topic| topic.name == TOPIC);
        let partition = topic.and_then(|topic| topic.partitions.into_iter().next());
        let Some(partition) = partition.filter(|partition| partition.index == 0) else {
            return Err(self.malformed(&from, "it is about another partition", now_ms));
        };
        let leader = &partition.current_leader;
        let told = Told {
            error: partition.error_code,
            leader: leader.leader_id,
            epoch: leader.leader_epoch,
            endpoint: nodes
                .into_iter()
                .find(|node| node.node_id == leader.leader_id)
                .map(|node| Endpoint { host: node.host, port: node.port }),
        };
        if !self.is_of_leader(&from, &told, now_ms)? {
            return Ok(Step::Nothing);
        }
        let id = SnapshotId {
            end_offset: partition.snapshot_id.end_offset,
            epoch: partition.snapshot_id.epoch,
        };
        if id != download.id || partition.position != download.received {
            return Err(self.malformed(&from, "it is another piece of a snapshot", now_ms));
        }
        let bytes = partition.unaligned_records;
        let position = download.received;
        download.received = position.saturating_add(i64::try_from(bytes.len()).unwrap_or(i64::MAX));
        let is_complete = download.received >= partition.size;
        if bytes.is_empty() && !is_complete || download.received > partition.size {
            return Err(self.malformed(&from, "a snapshot's length is wrong", now_ms));
        }
        self.quorum.succeeded();
        self.download = (!is_complete).then_some(download);
        Ok(Step::Snapshot { id, position, bytes, is_complete })
    }

    /// Whether the rest of an answer counts.
    fn is_of_leader(
        &mut self,
        from: &Endpoint,
        told: &Told,
        now_ms: u64,
    ) -> Result<bool, ObserverError> {
        let known = (self.quorum.epoch(), self.quorum.leader().map_or(-1, |leader| leader.id));
        match self.quorum.heard(from, told, now_ms) {
            Heard::Leader if told.error.is_ok() => Ok(true),
            Heard::Leader => Err(self.refused(from, told.error, now_ms)),
            Heard::Elsewhere | Heard::Stale => Ok(false),
            Heard::TwoLeaders => {
                let (epoch, known) = known;
                Err(ObserverError::TwoLeaders { epoch, known, told: told.leader })
            }
        }
    }

    fn committed_lost(
        &mut self,
        from: &Endpoint,
        to: i64,
        high_watermark: i64,
        now_ms: u64,
    ) -> ObserverError {
        self.quorum.failed(from, now_ms);
        ObserverError::CommittedLost { to, high_watermark }
    }

    fn refused(&mut self, from: &Endpoint, code: ErrorCode, now_ms: u64) -> ObserverError {
        self.quorum.failed(from, now_ms);
        ObserverError::Refused { from: from.clone(), code }
    }

    fn malformed(&mut self, from: &Endpoint, reason: &'static str, now_ms: u64) -> ObserverError {
        self.quorum.failed(from, now_ms);
        ObserverError::Malformed { from: from.clone(), reason }
    }
}
