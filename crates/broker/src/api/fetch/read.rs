//! Looks at every partition asked for and finds what can be sent, without touching the data.

use std::sync::Arc;

use thalweg_log::{LogDir, LogOffsets, ReadError, Wait};
use thalweg_wire::{ErrorCode, Uuid};

use super::plan::{Asks, Plan, Terms};
use crate::api::context::Context;
use crate::api::fetch_session::{Session, TopicKey, Wanted};
use crate::replicas::partition::{
    Leader, Partition, Piece, ReadFailure, ReadRequest, ReplicaFetch,
};
use crate::replicas::topics::TopicTable;

/// What one look at the partitions found.
#[derive(Default)]
pub(super) struct Attempt {
    pub(super) parts: Vec<Part>,
    /// Bytes of records that can be sent.
    pub(super) bytes: usize,
    /// Bytes that count towards `fetch.min.bytes`: those that there are of each partition, up to its own limit. Kafka
    /// counts a batch that would be cut there. Whole batches alone might never add up to a minimum near the limit.
    counted: usize,
    /// Whether the fetcher is in an older segment of a partition. Kafka does not have such a fetch wait, because more is
    /// there than its segment has.
    lags: bool,
    /// Whether a partition has something to say that does not wait.
    pub(super) urgent: bool,
    /// Whether this broker's metadata is behind the fetcher's: it has an older leader epoch of a partition, or lacks a
    /// topic that a replica fetches.
    is_metadata_behind: bool,
}

impl Attempt {
    /// Whether the answer should leave now.
    pub(super) fn is_enough(&self, terms: &Terms) -> bool {
        self.has_bytes_enough(terms)
            || self.urgent
            || self.is_metadata_behind
            || self.parts.is_empty()
    }

    fn has_bytes_enough(&self, terms: &Terms) -> bool {
        self.counted >= terms.min_bytes || self.lags
    }

    /// Bytes that have to come before the answer leaves.
    pub(super) fn missing(&self, terms: &Terms) -> usize {
        terms.min_bytes.saturating_sub(self.counted)
    }

    /// Of `missing` bytes at an earlier look, those that have come.
    pub(super) fn found_of(&self, missing: usize, terms: &Terms) -> usize {
        (self.counted + missing).saturating_sub(terms.min_bytes)
    }

    /// Whether new metadata is worth a wait: there is nothing to say but that this broker's metadata is behind.
    pub(super) fn waits_for_metadata(&self, terms: &Terms) -> bool {
        let is_enough = self.has_bytes_enough(terms) || self.urgent;
        self.is_metadata_behind && !is_enough && !terms.max_wait.is_zero()
    }

    /// Whether the fetcher does not want more to be waited for.
    pub(super) fn may_be_answered(&self, terms: &Terms) -> bool {
        terms.max_wait.is_zero() || self.is_enough(terms)
    }

    /// Leaves the data of a directory to another fetch.
    pub(super) fn leave_out(&mut self, dir: &LogDir) {
        for part in &mut self.parts {
            let is_there = |partition: &Arc<Partition>| partition.log.dir().id() == dir.id();
            if part.partition.as_ref().is_some_and(is_there)
                && let Some(piece) = part.piece.take()
            {
                self.bytes -= piece.len as usize;
            }
        }
    }
}

/// Looks again at the partitions where something was appended since `attempt`, which found no
/// data: what the others said still holds.
pub(super) fn refresh(
    context: &Context,
    terms: &Terms,
    plan: &Plan,
    looks: Looks,
    attempt: Attempt,
) -> Result<Attempt, Cold> {
    if attempt.bytes > 0 {
        // Data of one partition leaves less room for the next: all of them, in turn.
        return look(context, terms, plan, looks, &[]);
    }
    let table = context.services.replicas.topics();
    let mut look = Look {
        context,
        terms,
        rack: plan.rack.as_deref(),
        table: &table,
        looks,
        disks: Disks::WaitFor(&[]),
        left: terms.max_bytes,
        none_yet: true,
        // Without data nothing counted, and nothing lagged.
        attempt: Attempt { parts: Vec::new(), counted: 0, lags: false, ..attempt },
    };
    let mut parts = attempt.parts;
    let held = match &plan.asks {
        Asks::All { wanted, .. } => Wants::All(wanted),
        Asks::Changed(session) => Wants::Session(session.lock()),
    };
    // A session that the cache has dropped has no partitions to look at. Its client begins another one.
    look.attempt.urgent |= held.is_ended();
    for part in &mut parts {
        if part.is_current() {
            continue;
        }
        let Some(wanted) = held.slot(part.slot) else { continue };
        *part = look.part(part.slot, wanted)?;
    }
    look.attempt.parts = parts;
    Ok(look.attempt)
}

/// Where the slots of an attempt's parts point.
enum Wants<'a> {
    All(&'a [Wanted]),
    Session(parking_lot::MutexGuard<'a, Session>),
}

impl Wants<'_> {
    fn slot(&self, slot: usize) -> Option<&Wanted> {
        match self {
            Wants::All(wanted) => wanted.get(slot),
            Wants::Session(session) => session.slot(slot),
        }
    }

    fn is_ended(&self) -> bool {
        matches!(self, Wants::Session(session) if session.is_ended())
    }
}

/// One partition's share of the answer.
pub(super) struct Part {
    /// Place in the session.
    pub(super) slot: usize,
    pub(super) topic: TopicKey,
    pub(super) index: i32,
    /// Where there was no error.
    pub(super) partition: Option<Arc<Partition>>,
    leader_epoch: i32,
    /// Whether this broker leads.
    leads: bool,
    /// The replica that is to be read from instead.
    pub(super) preferred: Option<i32>,
    /// End of the log, for a replica: it may have all of it.
    log_end: Option<i64>,
    pub(super) error: ErrorCode,
    pub(super) high_watermark: i64,
    pub(super) last_stable_offset: i64,
    pub(super) log_start_offset: i64,
    /// Largest epoch and its end, where the fetcher's log and this one part ways.
    pub(super) diverging: Option<(i32, i64)>,
    /// Producer id and first offset of each.
    pub(super) aborted: Option<Vec<(i64, i64)>>,
    pub(super) piece: Option<Piece>,
    /// Leader id and epoch, when the fetcher asked the wrong node.
    pub(super) leader: Option<(i32, i32)>,
    /// Whether an incremental answer has to mention the partition.
    pub(super) changed: bool,
}

impl Part {
    /// One that has data, and nothing else to say.
    #[cfg(test)]
    pub(super) fn with_piece(partition: Arc<Partition>, piece: Piece) -> Part {
        Part {
            partition: Some(Arc::clone(&partition)),
            leader_epoch: 0,
            leads: true,
            piece: Some(piece),
            ..Part::new(0, TopicKey::Name(Arc::clone(&partition.topic)), partition.index)
        }
    }

    /// One of which nothing is known.
    fn new(slot: usize, topic: TopicKey, index: i32) -> Part {
        Part {
            slot,
            topic,
            index,
            partition: None,
            leader_epoch: -1,
            leads: false,
            preferred: None,
            log_end: None,
            error: ErrorCode::NONE,
            high_watermark: -1,
            last_stable_offset: -1,
            log_start_offset: -1,
            diverging: None,
            aborted: None,
            piece: None,
            leader: None,
            changed: true,
        }
    }

    /// High watermark and log start offset that the fetcher knows with this answer. After an error it does not know them: the
    /// next answer mentions the partition again, as in Kafka; also after one that has a follower cut off its log, which
    /// takes nothing else from it.
    pub(super) fn told(&self) -> Option<(i64, i64)> {
        let is_taken = self.error.is_ok() && self.diverging.is_none();
        is_taken.then_some((self.high_watermark, self.log_start_offset))
    }

    /// Whether nothing happened since, so that another look would find the same.
    fn is_current(&self) -> bool {
        self.partition.as_ref().is_some_and(|partition| {
            let offsets = partition.log.offsets();
            let leader = partition.serving_leader();
            (leader.epoch, leader.is_local) == (self.leader_epoch, self.leads)
                && !partition.is_gone()
                && partition.log.dir().check().is_ok()
                && self.log_end.is_none_or(|end| end == offsets.log_end_offset)
                && offsets.high_watermark == self.high_watermark
                && offsets.last_stable_offset == self.last_stable_offset
                && offsets.log_start_offset == self.log_start_offset
        })
    }
}

/// A partition that cannot be looked at without waiting for its disk.
pub(super) struct Cold(pub(super) Arc<LogDir>);

/// Which look at a partition it is. The first one notes what the request says of a replica's log. A later one does not,
/// because what it finds was asked for with the first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Looks {
    First,
    Again,
}

/// What is done about data that is not in memory.
#[derive(Clone, Copy)]
enum Disks<'a> {
    /// The disks of these directories are waited for, and no other one's.
    WaitFor(&'a [Uuid]),
    /// It is left to another fetch.
    LeaveOut,
}

/// Looks at all partitions of the plan; waits for the disks of the directories in `may_wait_for` only.
pub(super) fn look(
    context: &Context,
    terms: &Terms,
    plan: &Plan,
    looks: Looks,
    may_wait_for: &[Uuid],
) -> Result<Attempt, Cold> {
    look_at_all(context, terms, plan, looks, Disks::WaitFor(may_wait_for))
}

/// The same of what is in memory: the other partitions have nothing for now.
pub(super) fn look_in_memory(context: &Context, terms: &Terms, plan: &Plan) -> Attempt {
    look_at_all(context, terms, plan, Looks::First, Disks::LeaveOut).unwrap_or_default()
}

fn look_at_all(
    context: &Context,
    terms: &Terms,
    plan: &Plan,
    looks: Looks,
    disks: Disks<'_>,
) -> Result<Attempt, Cold> {
    let table = context.services.replicas.topics();
    let mut look = Look {
        context,
        terms,
        rack: plan.rack.as_deref(),
        table: &table,
        looks,
        disks,
        left: terms.max_bytes,
        none_yet: true,
        attempt: Attempt::default(),
    };
    match &plan.asks {
        Asks::All { wanted, .. } => {
            look.attempt.parts.reserve_exact(wanted.len());
            for (slot, wanted) in wanted.iter().enumerate() {
                look.at(slot, wanted)?;
            }
        }
        Asks::Changed(session) if matches!(disks, Disks::WaitFor([_, ..])) => {
            // The session is not held while a disk is waited for: the lock on all sessions takes
            // it, too.
            let wanted: Vec<(usize, Wanted)> =
                session.lock().in_turn().map(|(slot, wanted)| (slot, wanted.clone())).collect();
            look.attempt.parts.reserve_exact(wanted.len());
            for (slot, wanted) in &wanted {
                look.at(*slot, wanted)?;
            }
        }
        Asks::Changed(session) => {
            let session = session.lock();
            look.attempt.parts.reserve_exact(session.len());
            for (slot, wanted) in session.in_turn() {
                look.at(slot, wanted)?;
            }
        }
    }
    Ok(look.attempt)
}

/// Why a partition has no data for the answer.
enum Trouble {
    Code(ErrorCode),
    Cold(Cold),
}

impl From<ErrorCode> for Trouble {
    fn from(code: ErrorCode) -> Trouble {
        Trouble::Code(code)
    }
}

struct Look<'a> {
    context: &'a Context,
    terms: &'a Terms,
    /// The consumer's, if a replica there is to be read from.
    rack: Option<&'a str>,
    table: &'a TopicTable,
    looks: Looks,
    disks: Disks<'a>,
    left: usize,
    /// The first partition with data sends at least one batch, however large.
    none_yet: bool,
    attempt: Attempt,
}

impl Look<'_> {
    fn at(&mut self, slot: usize, wanted: &Wanted) -> Result<(), Cold> {
        let part = self.part(slot, wanted)?;
        self.attempt.parts.push(part);
        Ok(())
    }

    fn part(&mut self, slot: usize, wanted: &Wanted) -> Result<Part, Cold> {
        let mut part = Part::new(slot, wanted.topic.clone(), wanted.partition);
        match self.read(wanted, &mut part) {
            Ok(()) => {
                part.changed = part.piece.is_some()
                    || part.diverging.is_some()
                    || part.preferred.is_some()
                    || part.high_watermark != wanted.told_high_watermark
                    || part.log_start_offset != wanted.told_log_start;
                self.attempt.urgent |= part.diverging.is_some() || part.preferred.is_some();
            }
            Err(Trouble::Cold(cold)) => return Err(cold),
            Err(Trouble::Code(code)) => {
                part.error = code;
                part.preferred = None;
                if matches!(
                    code,
                    ErrorCode::UNKNOWN_TOPIC_OR_PARTITION | ErrorCode::UNKNOWN_TOPIC_ID
                ) {
                    // Empty, where every other error has none: as Kafka answers.
                    part.aborted = Some(Vec::new());
                }
                if self.is_metadata_behind(code) {
                    self.attempt.is_metadata_behind = true;
                } else {
                    self.attempt.urgent = true;
                }
            }
        }
        if let Some(piece) = &part.piece {
            let len = piece.len as usize;
            self.left = self.left.saturating_sub(len);
            self.none_yet = false;
            self.attempt.bytes += len;
        }
        Ok(part)
    }

    fn read(&mut self, wanted: &Wanted, part: &mut Part) -> Result<(), Trouble> {
        let (topic, unknown) = match &wanted.topic {
            TopicKey::Id(id) if *id == Uuid::ZERO => (None, ErrorCode::UNKNOWN_TOPIC_ID),
            TopicKey::Id(id) => (self.table.by_id(*id), ErrorCode::UNKNOWN_TOPIC_ID),
            TopicKey::Name(name) => {
                (self.table.by_name(name), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
            }
        };
        let topic = topic.ok_or(unknown)?;
        let partition = topic.hosted(wanted.partition).inspect_err(|&code| {
            if code == ErrorCode::NOT_LEADER_OR_FOLLOWER {
                part.leader =
                    self.context.services.node.leader_elsewhere(topic.id, wanted.partition);
            }
        })?;
        let partition_max = usize::try_from(wanted.max_bytes).unwrap_or(0);
        let max = partition_max.min(self.left);
        let request = ReadRequest {
            offset: wanted.fetch_offset,
            max_bytes: max,
            min_one: self.none_yet,
            committed_only: self.terms.committed_only,
            current_leader_epoch: wanted.current_leader_epoch,
            last_fetched_epoch: wanted.last_fetched_epoch,
            any_replica: self.terms.any_replica,
        };
        if let Some(rack) = self.rack {
            let listener = &self.context.listener.name;
            part.preferred = partition.preferred_read_replica(rack, listener, wanted.fetch_offset);
        }
        let dir = partition.log.dir();
        let wait = match self.disks {
            Disks::WaitFor(dirs) if dirs.contains(&dir.id()) => Wait::Allowed,
            _ => Wait::Never,
        };
        let found = match self.terms.replica {
            None if part.preferred.is_some() => {
                partition.check_epoch(request.current_leader_epoch).map(|_| None)
            }
            None => partition.read(&request, wait).map(Some),
            Some(replica) => {
                let follower = ReplicaFetch {
                    id: replica.id,
                    broker_epoch: replica.broker_epoch,
                    log_start: wanted.log_start_offset,
                };
                let is_new = self.looks == Looks::First;
                partition.read_for_replica(&request, &follower, is_new, wait).map(Some)
            }
        };
        match found {
            Ok(None) => {
                self.nothing_of(partition, part);
                part.aborted = None;
                Ok(())
            }
            Ok(Some(found)) => {
                // The first batch of an answer may be longer than the partition's limit. All of it counts, as in Kafka.
                let whole = found.piece.as_ref().map_or(0, |piece| piece.len as usize);
                self.attempt.counted += partition_max.min(found.readable as usize).max(whole);
                self.attempt.lags |= found.is_in_older_segment;
                self.note(partition, found.leader, found.offsets, part);
                part.diverging = found.diverging;
                part.aborted = found.aborted;
                part.piece = found.piece;
                Ok(())
            }
            Err(ReadFailure::NotLeader { leader_id, leader_epoch }) => {
                part.leader = Some((leader_id, leader_epoch));
                Err(ErrorCode::NOT_LEADER_OR_FOLLOWER.into())
            }
            Err(ReadFailure::Fenced { leader_id, leader_epoch }) => {
                part.leader = Some((leader_id, leader_epoch));
                Err(ErrorCode::FENCED_LEADER_EPOCH.into())
            }
            Err(ReadFailure::UnknownEpoch) => Err(ErrorCode::UNKNOWN_LEADER_EPOCH.into()),
            Err(ReadFailure::Log(ReadError::WouldBlock)) => match self.disks {
                Disks::WaitFor(_) => Err(Trouble::Cold(Cold(Arc::clone(dir)))),
                Disks::LeaveOut => {
                    self.nothing_of(partition, part);
                    Ok(())
                }
            },
            // There are files for no more partitions: the next fetch begins with those left out.
            Err(ReadFailure::Log(ReadError::Storage(failure)))
                if failure.is_retriable && !self.none_yet =>
            {
                self.nothing_of(partition, part);
                Ok(())
            }
            Err(ReadFailure::Log(error)) => {
                if error.code() == ErrorCode::UNKNOWN_SERVER_ERROR
                    || error.code() == ErrorCode::CORRUPT_MESSAGE
                {
                    tracing::warn!(topic = %partition.topic, partition = partition.index, %error,
                        peer = %self.context.peer.address, "fetch failed");
                }
                Err(error.code().into())
            }
        }
    }

    /// Whether the error says that this broker's metadata may be behind the fetcher's. For an unknown topic this holds for
    /// replicas only, because they get the same metadata.
    fn is_metadata_behind(&self, code: ErrorCode) -> bool {
        match code {
            ErrorCode::UNKNOWN_LEADER_EPOCH => true,
            ErrorCode::UNKNOWN_TOPIC_ID | ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => {
                self.terms.replica.is_some()
            }
            _ => false,
        }
    }

    /// The partition's data is left to another fetch.
    fn nothing_of(&self, partition: &Arc<Partition>, part: &mut Part) {
        let offsets = partition.log.offsets();
        self.note(partition, partition.serving_leader(), offsets, part);
        part.aborted = self.terms.committed_only.then(Vec::new);
    }

    /// Notes the partition's leader and its offsets.
    fn note(
        &self,
        partition: &Arc<Partition>,
        leader: Leader,
        offsets: LogOffsets,
        part: &mut Part,
    ) {
        (part.leader_epoch, part.leads) = (leader.epoch, leader.is_local);
        part.log_end = self.terms.replica.map(|_| offsets.log_end_offset);
        part.high_watermark = offsets.high_watermark;
        part.last_stable_offset = offsets.last_stable_offset;
        part.log_start_offset = offsets.log_start_offset;
        part.partition = Some(Arc::clone(partition));
    }
}

#[cfg(test)]
mod tests {
    use thalweg_metadata::image::Partition as Assignment;
    use thalweg_metadata::testing::led_by_1;

    use super::*;
    use crate::replicas::partition::testing::PartitionOnDisk;

    /// Nothing would end the wait of a fetch that takes a partition for unchanged after that.
    #[test]
    fn part_of_a_partition_that_is_gone_is_looked_at_again() {
        let PartitionOnDisk { partition, .. } = &PartitionOnDisk::new("t", 1);
        let followed = Assignment { leader: 2, ..led_by_1(3, 4, &[1, 2], &[1, 2]) };
        partition.assign(&followed);
        let offsets = partition.log.offsets();
        let part = Part {
            partition: Some(Arc::clone(partition)),
            leader_epoch: 3,
            high_watermark: offsets.high_watermark,
            last_stable_offset: offsets.last_stable_offset,
            log_start_offset: offsets.log_start_offset,
            ..Part::new(0, TopicKey::Name("t".into()), 0)
        };
        assert!(part.is_current());
        partition.resign(None);
        assert!(!part.is_current());
    }
}
