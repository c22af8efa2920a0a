//! Puts what was found into a frame: small pieces are copied from the page cache, larger ones go
//! from the file to the socket. Worker threads do not wait for a disk.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use thalweg_wire::messages::fetch_response::{
    AbortedTransactionRef, EpochEndOffsetRef, FetchResponseRef, FetchableTopicResponseRef,
    LeaderIdAndEpochRef, NodeEndpointRef, PartitionDataRef,
};
use thalweg_wire::{ErrorCode, RecordsRef, Uuid, Writer};

use super::plan::{Asks, Plan, Terms};
use super::read::{Attempt, Cold, Part};
use super::room::PARTITIONS_FREE;
use crate::api::context::Context;
use crate::api::fetch_session::{NO_SESSION, Session, TopicKey, Wanted};
use crate::api::leader_hints::{LeaderHints, NamedLeaders};
use crate::net::budget::{Budget, Charge};
use crate::net::connection::{LateReply, Reply};
use crate::net::send::FileRange;
use crate::replicas::partition::Piece;

/// Pieces smaller than this are copied; a system call of their own would cost more.
const SENDFILE_FROM: u32 = 64 << 10;
/// First version of Fetch whose answers name leaders (KIP-951).
const FIRST_WITH_LEADERS: i16 = 16;

/// Memory that an answer takes for each partition that it mentions, beside its records: what it is made of, and its part
/// of the frame, which may have grown to twice what is in it.
const PARTITION_BYTES: usize = size_of::<PartitionDataRef<'_>>()
    + size_of::<RecordsSource>()
    + size_of::<FileRange>()
    + size_of::<Vec<AbortedTransactionRef<'_>>>()
    + 128;

/// An answer that is ready to be sent.
pub(super) struct Written {
    pub(super) files: Vec<FileRange>,
    /// Memory of the frame, until it is sent.
    pub(super) charge: Option<Charge>,
}

/// Why no frame was written.
pub(super) enum Failed {
    /// Something is not in the page cache; the attempt goes on off the worker.
    NeedsDisk(Attempt, Cold),
    /// The connection has to be closed.
    Close(String),
}

/// Where the bytes of each partition's records are.
enum RecordsSource {
    Empty,
    /// In the copy buffer.
    Copied(Range<usize>),
    /// In a file.
    File(u32, u32),
}

/// Writes the answer if no byte of it has to come from a disk.
pub(super) fn write(
    context: &Context,
    terms: &Terms,
    plan: &Plan,
    attempt: Attempt,
    throttle: Duration,
    frame: &mut Writer,
) -> Result<Written, Failed> {
    let budget = context.services.front.fetch_budget();
    let gathered = match gather(budget, &attempt.parts, &[]) {
        Ok(gathered) => gathered,
        Err(NotGathered::Cold(cold)) => return Err(Failed::NeedsDisk(attempt, cold)),
        Err(NotGathered::Io(error)) => return Err(Failed::Close(unreadable(&error))),
    };
    write_gathered(context, terms, plan, attempt, gathered, throttle, frame).map_err(Failed::Close)
}

impl Written {
    /// The answer of a fetch that was parked.
    pub(super) fn late_reply(self, frame: Writer, throttle: Duration) -> LateReply {
        let Written { files, charge } = self;
        LateReply { reply: Reply { frame, files, mute: throttle, charge }, close: None }
    }
}

pub(super) fn unreadable(error: &io::Error) -> String {
    format!("fetch could not read: {error}")
}

/// Why the bytes are not there.
pub(super) enum NotGathered {
    Cold(Cold),
    Io(io::Error),
}

pub(super) struct Gathered {
    copied: Bytes,
    sources: Vec<RecordsSource>,
    files: Vec<FileRange>,
}

/// Memory that holds copies for an answer until it is sent, charged to the budget for as long.
struct Copies {
    bytes: Vec<u8>,
    _charge: Charge,
}

impl AsRef<[u8]> for Copies {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Copies the small pieces and sees to it that the large ones are in the page cache. When other
/// answers hold all the memory there is for copies, the small ones are sent from their files as well.
/// Waits for the disks of the directories in `may_wait_for` only.
pub(super) fn gather(
    budget: &Arc<Budget>,
    parts: &[Part],
    may_wait_for: &[Uuid],
) -> Result<Gathered, NotGathered> {
    let small: usize = parts
        .iter()
        .filter_map(|part| part.piece.as_ref())
        .filter(|piece| piece.len < SENDFILE_FROM)
        .map(|piece| piece.len as usize)
        .sum();
    let mut charge = Charge::new(budget);
    let sendfile_from = if charge.try_raise_to(small) { SENDFILE_FROM } else { 0 };
    let mut copied = Vec::new();
    if sendfile_from > 0 {
        copied.reserve_exact(small);
    }
    let mut sources = Vec::with_capacity(parts.len());
    let mut files = Vec::new();
    for part in parts {
        let Some(piece) = &part.piece else {
            sources.push(RecordsSource::Empty);
            continue;
        };
        let dir = part.partition.as_ref().map(|partition| partition.log.dir());
        let may_wait = dir.is_none_or(|dir| may_wait_for.contains(&dir.id()));
        let missed = |error: io::Error| match dir {
            Some(dir) if !may_wait && error.kind() == io::ErrorKind::WouldBlock => {
                NotGathered::Cold(Cold(Arc::clone(dir)))
            }
            // The file was cut meanwhile: nothing is wrong with the disk.
            _ if error.kind() == io::ErrorKind::UnexpectedEof => NotGathered::Io(error),
            // Of a directory that the log has left meanwhile: where it is now is not to blame.
            Some(dir) if !piece.file.path().starts_with(dir.path()) => NotGathered::Io(error),
            Some(dir) => {
                // This answer cannot be given; the next one says KAFKA_STORAGE_ERROR.
                dir.read_failed(&error);
                NotGathered::Io(error)
            }
            None => NotGathered::Io(error),
        };
        if piece.len < sendfile_from {
            let start = copied.len();
            piece.copy_into(&mut copied, may_wait).map_err(missed)?;
            sources.push(RecordsSource::Copied(start..copied.len()));
        } else {
            piece.warm(may_wait).map_err(missed)?;
            sources.push(RecordsSource::File(files.len() as u32, piece.len));
            files.push(range(piece));
        }
    }
    let copied = if copied.is_empty() {
        Bytes::new()
    } else {
        Bytes::from_owner(Copies { bytes: copied, _charge: charge })
    };
    Ok(Gathered { copied, sources, files })
}

fn range(piece: &Piece) -> FileRange {
    FileRange { file: Arc::clone(&piece.file), offset: piece.position }
}

/// The session takes note of what is sent; the answer has the bytes that were gathered.
pub(super) fn write_gathered(
    context: &Context,
    terms: &Terms,
    plan: &Plan,
    attempt: Attempt,
    gathered: Gathered,
    throttle: Duration,
    frame: &mut Writer,
) -> Result<Written, String> {
    let mut charge = room_to_answer(context, terms, plan, &attempt)?;
    let session_id = answer_session(context, terms, plan, &attempt);
    let aborted = aborted_transactions(&attempt);
    let only_changed = matches!(plan.asks, Asks::Changed(_));
    let answered = build_partitions(context, terms, &attempt, &gathered, &aborted, only_changed);
    let (bytes, throttled) = (answered.bytes, answered.throttled);
    encode(context, terms, answered, session_id, throttle, frame)?;
    count(context, terms, bytes, throttled);
    if let Some(charge) = &mut charge {
        charge.lower_to(frame.capacity());
    }
    Ok(Written { files: gathered.files, charge })
}

/// The session of the answer, which has noted what is sent.
fn answer_session(context: &Context, terms: &Terms, plan: &Plan, attempt: &Attempt) -> i32 {
    match &plan.asks {
        Asks::Changed(session) => {
            let mut session = session.lock();
            note_told(&mut session, attempt);
            // As Kafka says that it has closed a session.
            if session.is_ended() { NO_SESSION } else { session.id }
        }
        Asks::All { wanted, keep } => make_session(context, terms, wanted, attempt, *keep),
    }
}

/// The aborted transactions of each partition that has a list of them.
fn aborted_transactions(attempt: &Attempt) -> Vec<Vec<AbortedTransactionRef<'_>>> {
    let lists = attempt.parts.iter().filter_map(|part| part.aborted.as_ref());
    lists
        .map(|list| {
            list.iter()
                .map(|&(producer_id, first_offset)| AbortedTransactionRef {
                    producer_id,
                    first_offset,
                    ..Default::default()
                })
                .collect()
        })
        .collect()
}

/// The partitions of an answer.
struct AnsweredPartitions<'a> {
    parts: Vec<PartitionDataRef<'a>>,
    /// Topic of each run of neighbouring partitions, and where its run ends.
    runs: Vec<(&'a TopicKey, usize)>,
    /// Leaders that are named.
    leaders: NamedLeaders,
    /// Bytes of records, and how many of them count against the leader's throttle.
    bytes: u64,
    throttled: u64,
}

fn build_partitions<'a>(
    context: &Context,
    terms: &Terms,
    attempt: &'a Attempt,
    gathered: &'a Gathered,
    aborted: &'a [Vec<AbortedTransactionRef<'a>>],
    only_changed: bool,
) -> AnsweredPartitions<'a> {
    let mut aborted = aborted.iter();
    let mut leaders = NamedLeaders::default();
    let mut parts: Vec<PartitionDataRef<'_>> = Vec::with_capacity(attempt.parts.len());
    let mut runs: Vec<(&TopicKey, usize)> = Vec::new();
    let (mut bytes, mut throttled) = (0u64, 0u64);
    for (part, source) in attempt.parts.iter().zip(&gathered.sources) {
        let aborted = part.aborted.as_ref().and_then(|_| aborted.next());
        if only_changed && !part.changed {
            continue;
        }
        let records = match source {
            RecordsSource::Empty => RecordsRef::Inline(&[]),
            RecordsSource::Copied(range) => {
                RecordsRef::Shared(gathered.copied.slice(range.clone()))
            }
            RecordsSource::File(id, len) => RecordsRef::External { id: *id, len: *len },
        };
        bytes += records.len() as u64;
        let is_throttled = terms.replica.is_some()
            && part.partition.as_ref().is_some_and(|partition| partition.is_leader_throttled());
        if is_throttled {
            throttled += records.len() as u64;
        }
        let leader = part.leader.filter(|_| context.version >= FIRST_WITH_LEADERS);
        let (leader_id, leader_epoch) = leaders.name(leader);
        let diverging = part.diverging.unwrap_or((-1, -1));
        parts.push(PartitionDataRef {
            partition_index: part.index,
            error_code: part.error,
            high_watermark: part.high_watermark,
            last_stable_offset: part.last_stable_offset,
            log_start_offset: part.log_start_offset,
            diverging_epoch: EpochEndOffsetRef {
                epoch: diverging.0,
                end_offset: diverging.1,
                ..Default::default()
            },
            current_leader: LeaderIdAndEpochRef { leader_id, leader_epoch, ..Default::default() },
            aborted_transactions: aborted.map(|list| &list[..]),
            preferred_read_replica: part.preferred.unwrap_or(-1),
            records,
            ..PartitionDataRef::default()
        });
        match runs.last_mut() {
            Some((topic, end)) if **topic == part.topic => *end = parts.len(),
            _ => runs.push((&part.topic, parts.len())),
        }
    }
    AnsweredPartitions { parts, runs, leaders, bytes, throttled }
}

fn encode(
    context: &Context,
    terms: &Terms,
    answered: AnsweredPartitions<'_>,
    session_id: i32,
    throttle: Duration,
    frame: &mut Writer,
) -> Result<(), String> {
    let AnsweredPartitions { parts, runs, leaders, .. } = answered;
    let mut start = 0;
    let topics: Vec<FetchableTopicResponseRef<'_>> = runs
        .iter()
        .map(|(topic, end)| {
            let partitions = &parts[start..*end];
            start = *end;
            match topic {
                TopicKey::Name(name) => {
                    FetchableTopicResponseRef { topic: name, topic_id: Uuid::ZERO, partitions }
                }
                TopicKey::Id(id) => {
                    FetchableTopicResponseRef { topic: "", topic_id: *id, partitions }
                }
            }
        })
        .collect();
    if !leaders.is_empty() && terms.replica.is_none() {
        context.services.node.metrics().leader_hints.add(1);
    }
    let hints = LeaderHints::new(context, leaders);
    let endpoints: Vec<NodeEndpointRef<'_>> = hints
        .addresses(context)
        .map(|node| NodeEndpointRef {
            node_id: node.id,
            host: node.host,
            port: i32::from(node.port),
            rack: node.rack,
        })
        .collect();
    let response = FetchResponseRef {
        throttle_time_ms: i32::try_from(throttle.as_millis()).unwrap_or(i32::MAX),
        error_code: ErrorCode::NONE,
        session_id,
        responses: &topics,
        node_endpoints: &endpoints,
    };
    context.begin(frame);
    response
        .encode(frame, context.version)
        .and_then(|()| frame.end_frame())
        .map_err(|error| format!("Fetch cannot be answered: {error}"))
}

/// Counts the bytes of records of an answer, and how many of them count against the leader's throttle.
fn count(context: &Context, terms: &Terms, bytes: u64, throttled: u64) {
    let metrics = context.services.node.metrics();
    match terms.replica {
        None => metrics.bytes_out.add(bytes),
        Some(_) => {
            metrics.replication_bytes_out.add(bytes);
            let now = context.services.node.clock().monotonic_ms();
            context.services.replicas.shared().throttles.leader.record(throttled, now);
        }
    }
}

/// Memory for an answer that mentions many partitions, which its client may be slow to take. Without room the connection
/// is closed, except for a follower's: replication must not depend on what consumers do.
fn room_to_answer(
    context: &Context,
    terms: &Terms,
    plan: &Plan,
    attempt: &Attempt,
) -> Result<Option<Charge>, String> {
    let partitions = match &plan.asks {
        Asks::All { .. } => attempt.parts.len(),
        Asks::Changed(_) => attempt.parts.iter().filter(|part| part.changed).count(),
    };
    if partitions <= PARTITIONS_FREE {
        return Ok(None);
    }
    let bytes = partitions * PARTITION_BYTES;
    let mut charge = Charge::new(context.services.front.answer_budget());
    if terms.replica.is_some_and(|replica| replica.is_registered(context)) {
        charge.raise_past(bytes);
    } else if !charge.try_raise_past(bytes) {
        return Err(format!("no memory for a Fetch answer of {partitions} partitions"));
    }
    Ok(Some(charge))
}

/// Stores the offsets that are sent, and where the next turn begins.
fn note_told(session: &mut Session, attempt: &Attempt) {
    let mut last = None;
    for part in &attempt.parts {
        if let Some(wanted) = session.slot_mut(part.slot) {
            wanted.note_told(part.told());
        }
        if part.piece.is_some() {
            last = Some(part.slot);
        }
    }
    if let Some(slot) = last {
        session.next = slot + 1;
    }
}

fn make_session(
    context: &Context,
    terms: &Terms,
    wanted: &[Wanted],
    attempt: &Attempt,
    keep: bool,
) -> i32 {
    if !keep || context.version < 7 {
        return NO_SESSION;
    }
    let told = wanted.iter().zip(&attempt.parts).map(|(wanted, part)| {
        let mut wanted = wanted.clone();
        wanted.note_told(part.told());
        wanted
    });
    let now = context.services.node.clock().monotonic_ms();
    let id = context.services.node.random().i32();
    let is_replica = terms.replica.is_some_and(|replica| replica.is_registered(context));
    context.services.front.sessions().create(id, told, terms.by_id, is_replica, now)
}

#[cfg(test)]
mod tests {
    use thalweg_log::{AppendWaiter, Wait};
    use thalweg_records::builder::{BatchBuilder, BatchOptions};
    use thalweg_records::codec::Compressor;

    use super::*;
    use crate::replicas::partition::testing::PartitionOnDisk;
    use crate::replicas::partition::{
        AppendResultSlot, OwnAppend, Partition, ReadRequest, SubmittedOwn,
    };

    /// A part of an answer that has a piece of a few bytes, and those bytes.
    fn part(partition: &Arc<Partition>) -> (Part, Vec<u8>) {
        let mut builder = BatchBuilder::new(BatchOptions::default());
        builder.append(1, None, Some(b"value"), &[]);
        let mut batch = builder.finish(&mut Compressor::new()).unwrap();
        let waiter: Arc<dyn AppendWaiter> = Arc::<AppendResultSlot>::default();
        let appended = partition.submit_own(&mut batch, OwnAppend::Records, 0, 0, &waiter, 0);
        assert!(matches!(appended, SubmittedOwn::Done(Ok(0))));
        let request = ReadRequest {
            offset: 0,
            max_bytes: 1 << 20,
            min_one: true,
            committed_only: false,
            current_leader_epoch: -1,
            last_fetched_epoch: -1,
            any_replica: false,
        };
        let found = partition.read(&request, Wait::Allowed).unwrap();
        let part = Part::with_piece(Arc::clone(partition), found.piece.unwrap());
        (part, batch)
    }

    #[test]
    fn copies_are_charged_until_they_are_gone_and_go_from_the_file_without_room() {
        let on_disk = PartitionOnDisk::led_alone("t");
        let (part, batch) = part(&on_disk.partition);
        let budget = Budget::new(100);
        let parts = [part];
        let gathered = gather(&budget, &parts, &[]).ok().unwrap();
        assert!(matches!(&gathered.sources[..], [RecordsSource::Copied(_)]));
        assert_eq!(gathered.copied, batch);
        assert_eq!(budget.used(), batch.len());
        let copy = gathered.copied.slice(..10);
        drop(gathered);
        assert_eq!(budget.used(), batch.len(), "a slice of it is on its way still");

        let without_room = gather(&budget, &parts, &[]).ok().unwrap();
        assert!(
            matches!(&without_room.sources[..], [RecordsSource::File(0, len)] if *len as usize == batch.len())
        );
        assert!(without_room.copied.is_empty());
        assert_eq!(without_room.files[0].offset, 0);
        drop(copy);
        assert_eq!(budget.used(), 0);
    }
}
