//! Produce: from the frame's bytes to the partitions' logs on the connection's own task.
//!
//! The request is read in place. A batch is validated where it lies, gets its offset and epoch
//! there, and is written from there; what a request allocates does not depend on its batches.

use std::cell::RefCell;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use thalweg_log::{TransactionCheck, VerificationGuard};
use thalweg_records::validate::{
    Failure, Origin, Paused, Progress, Reason, Validated, Validation, ValidationConfig,
};
use thalweg_wire::messages::produce_request::ProduceRequestView;
use thalweg_wire::messages::produce_response::{
    BatchIndexAndErrorMessageRef, LeaderIdAndEpochRef, NodeEndpointRef,
    PartitionProduceResponseRef, ProduceResponseRef, TopicProduceResponseRef,
};
use thalweg_wire::{DecodeError, ErrorCode, Reader, Uuid};

mod transactional;

use crate::api::context::{Context, Scratch};
use crate::api::leader_hints::{LeaderHints, NamedLeaders};
use crate::net::budget::Charge;
use crate::net::connection::{Handled, LateReply, Reply};
use crate::node::workspace;
use crate::replicas::partition::{
    AppendFailure, AppendLater, AppendNow, AppendResultSlot, Appended, Appending, DelayedProduce,
    Partition, Uncommitted, Wakes,
};
use crate::replicas::topics::Topic;

/// `acks` of a producer that waits for all in-sync replicas.
const ALL: i16 = -1;
/// First version of Produce whose answers name leaders (KIP-951).
const FIRST_WITH_LEADERS: i16 = 10;

/// How long a Produce waits at an in-sync follower for its election: the producer may learn of the election first.
const LEADERSHIP_WAIT_MAX: Duration = Duration::from_millis(10);

/// Client id under which Kafka's tools may write to internal topics.
const ADMIN_CLIENT: &str = "__admin_client";

/// What a request asks for and what becomes of it; reused by the requests of a worker.
#[derive(Default)]
struct ProduceScratch {
    topics: Vec<TopicPart>,
    parts: Vec<ProducePart>,
    wakes: Wakes,
    /// Appends that acks=all has to wait for.
    uncommitted: Vec<Uncommitted>,
    /// Guards of batches that the coordinator of their transaction has verified: by the place of the part, in order.
    guards: Vec<(usize, VerificationGuard)>,
    /// The request's transaction needs no verification.
    is_verification_waived: bool,
}

/// Sets that a worker keeps, and the most partitions that one of them has room for.
const KEEP: usize = 8;
const KEEP_PARTS: usize = 8 << 10;

thread_local! {
    static KEPT: RefCell<Vec<ProduceScratch>> = const { RefCell::new(Vec::new()) };
}

impl ProduceScratch {
    fn take() -> ProduceScratch {
        KEPT.with_borrow_mut(Vec::pop).unwrap_or_default()
    }

    fn give(mut self) {
        self.topics.clear();
        self.parts.clear();
        self.uncommitted.clear();
        self.guards.clear();
        self.is_verification_waived = false;
        self.wakes.wake();
        if self.parts.capacity() <= KEEP_PARTS && self.topics.capacity() <= KEEP_PARTS {
            KEPT.with_borrow_mut(|kept| {
                if kept.len() < KEEP {
                    kept.push(self);
                }
            });
        }
    }
}

struct TopicPart {
    name: Range<usize>,
    id: Uuid,
    topic: Option<Arc<Topic>>,
    parts: Range<usize>,
}

struct ProducePart {
    index: i32,
    records: Option<Range<usize>>,
    result: PartResult,
}

#[derive(Default)]
struct PartResult {
    error: ErrorCode,
    base_offset: i64,
    log_append_time_ms: i64,
    log_start_offset: i64,
    /// Of an append: the offset behind it, and the epoch it is in.
    end_offset: i64,
    leader_epoch: i32,
    leader: Option<(i32, i32)>,
    /// Rare, so that a result stays small.
    details: Option<Box<Details>>,
}

struct Details {
    message: Option<String>,
    records: Vec<(i32, String)>,
}

impl Details {
    /// Memory that they take.
    fn bytes(&self) -> usize {
        let records: usize = self.records.iter().map(|(_, text)| text.capacity()).sum();
        let message = self.message.as_ref().map_or(0, String::capacity);
        self.records.capacity() * size_of::<(i32, String)>() + records + message
    }
}

impl PartResult {
    fn error(error: ErrorCode) -> PartResult {
        PartResult {
            error,
            base_offset: -1,
            log_append_time_ms: -1,
            log_start_offset: -1,
            ..PartResult::default()
        }
    }

    fn with_message(error: ErrorCode, message: String) -> PartResult {
        let details = Details { message: Some(message), records: Vec::new() };
        PartResult { details: Some(Box::new(details)), ..PartResult::error(error) }
    }

    /// What is refused because this broker has no such partition.
    fn not_hosted(context: &Context, topic: &Topic, index: i32, code: ErrorCode) -> PartResult {
        let leader = (code == ErrorCode::NOT_LEADER_OR_FOLLOWER)
            .then(|| context.services.node.leader_elsewhere(topic.id, index))
            .flatten();
        PartResult { leader, ..PartResult::error(code) }
    }

    /// What an append, or the look before it, failed with.
    fn failed(failure: AppendFailure) -> PartResult {
        match failure {
            AppendFailure::NotLeader { leader_id, leader_epoch } => PartResult {
                leader: Some((leader_id, leader_epoch)),
                ..PartResult::error(ErrorCode::NOT_LEADER_OR_FOLLOWER)
            },
            failure @ (AppendFailure::TimedOut | AppendFailure::NotEnoughReplicas) => {
                PartResult::error(failure.code())
            }
            AppendFailure::Log(error) => {
                tracing::debug!(%error, "append refused");
                PartResult::with_message(error.code(), error.to_string())
            }
        }
    }
}

/// Where `part` lies in `whole`; an empty range for what does not come from there (a name that the
/// version does not have, or one that was not UTF-8).
fn range_in(whole: &[u8], part: &[u8]) -> Range<usize> {
    let start = (part.as_ptr() as usize).wrapping_sub(whole.as_ptr() as usize);
    match start.checked_add(part.len()) {
        Some(end) if end <= whole.len() => start..end,
        _ => 0..0,
    }
}

pub(super) async fn handle(
    context: &Context,
    scratch: &mut Scratch,
    body: &mut [u8],
    _charge: &mut Charge,
) -> Handled {
    let mut work = ProduceScratch::take();
    let handled = match plan(context, &mut work, body) {
        Ok(asked) => {
            append_request(context, &scratch.append_result, &mut work, body, &asked).await;
            if !work.uncommitted.is_empty() {
                context.services.node.metrics().produces_parked.add(1);
                let parked = work.parked(body, asked.timeout);
                return Handled::Parked(Box::pin(wait_committed(context.clone(), parked)));
            }
            answer(context, &work, &mut scratch.reply.frame, body, asked.acks)
        }
        Err(error) => Handled::Close(format!("malformed Produce request: {error}")),
    };
    work.give();
    handled
}

/// Appends what the request asks for. Appends that wait for other replicas are in [`ProduceScratch::uncommitted`] then.
async fn append_request(
    context: &Context,
    slot: &Arc<AppendResultSlot>,
    work: &mut ProduceScratch,
    body: &mut [u8],
    asked: &Asked,
) {
    let Asked { acks, timeout, ref transactional_id } = *asked;
    if !matches!(acks, ALL..=1) {
        for part in &mut work.parts {
            if part.result.error.is_ok() {
                part.result = PartResult::error(ErrorCode::INVALID_REQUIRED_ACKS);
            }
        }
    } else {
        if transactional::has_records(work, body) {
            let id = transactional_id.clone();
            Box::pin(transactional::verify(context, work, body, id, timeout)).await;
        }
        let now = context.services.node.clock().wall_ms();
        let terms = AppendTerms { slot, acks, now, timeout };
        append_all(context, work, body, &terms).await;
        work.wakes.wake();
    }
}

/// The answer of a request that does not wait for other replicas.
fn answer(
    context: &Context,
    work: &ProduceScratch,
    frame: &mut thalweg_wire::Writer,
    body: &[u8],
    acks: i16,
) -> Handled {
    if acks == 0 {
        if let Some(failed) = work.parts.iter().find(|p| p.result.error.is_err()) {
            // The producer reads no answer: closing is how it learns of the failure, as in Kafka.
            return Handled::Close(format!(
                "produce with acks=0 failed for a partition {}: {}",
                failed.index, failed.result.error
            ));
        }
        return Handled::NoReply;
    }
    match respond(context, work, frame, body) {
        Ok(()) => Handled::Reply,
        Err(reason) => Handled::Close(reason),
    }
}

/// What the appends of a request go by.
struct AppendTerms<'a> {
    slot: &'a Arc<AppendResultSlot>,
    acks: i16,
    now: i64,
    timeout: Duration,
}

impl ProduceScratch {
    /// Places of the parts from one on that nothing was found against: topic and part.
    fn parts_from(&self, topic_at: usize, from: usize) -> Vec<(usize, usize)> {
        let topics = self.topics.iter().enumerate().skip(topic_at);
        let places = topics.flat_map(|(at, topic)| topic.parts.clone().map(move |part| (at, part)));
        places.filter(|(_, part)| *part >= from && self.parts[*part].result.error.is_ok()).collect()
    }

    /// What is shown of the transaction of a part.
    fn transaction_check(&self, at: usize) -> TransactionCheck {
        if self.is_verification_waived {
            return TransactionCheck::Waived;
        }
        let found = self.guards.binary_search_by_key(&at, |(part, _)| *part);
        TransactionCheck::Guarded(found.ok().map(|found| self.guards[found].1))
    }

    /// Appends what the request has for a partition, and notes what became of it.
    async fn append_part(
        &mut self,
        context: &Context,
        topic: &Topic,
        partition: &Arc<Partition>,
        at: usize,
        body: &mut [u8],
        terms: &AppendTerms<'_>,
    ) {
        let transaction = self.transaction_check(at);
        let ProduceScratch { parts, wakes, uncommitted, .. } = self;
        let AppendTerms { slot, acks, now, timeout } = *terms;
        let part = &mut parts[at];
        if acks == ALL && partition.check_in_sync() == Err(ErrorCode::NOT_ENOUGH_REPLICAS) {
            part.result = PartResult::error(ErrorCode::NOT_ENOUGH_REPLICAS);
            return;
        }
        let records = match &part.records {
            Some(range) => &mut body[range.clone()],
            None => &mut [],
        };
        let mut appending = Appending { slot, wakes, timeout, transaction };
        part.result = match append(context, topic, partition, records, now, &mut appending) {
            Ok(result) => result,
            Err(rest) => rest.await,
        };
        // Where this broker has the only replica, what is written is committed. Asked after the append, which may have
        // had to wait.
        if acks == ALL && part.result.error.is_ok() && !partition.is_alone() {
            uncommitted.push(Uncommitted {
                partition: Arc::clone(partition),
                part: at,
                leader_epoch: part.result.leader_epoch,
                required: part.result.end_offset,
            });
        }
    }
}

/// Whether a request may wait with its records: they take memory that others need to be read at all.
fn has_room_to_wait(context: &Context) -> bool {
    let budget = context.services.front.sockets().request_budget();
    budget.used() < budget.limit() / 2
}

/// Appends all parts of a request in their order, where nothing was found against them. At the first part that comes too
/// early, all that are left wait for their leaders: they may be for the same partition.
async fn append_all(
    context: &Context,
    work: &mut ProduceScratch,
    body: &mut [u8],
    terms: &AppendTerms<'_>,
) {
    let mut has_waited = false;
    for topic_at in 0..work.topics.len() {
        let Some(topic) = work.topics[topic_at].topic.clone() else { continue };
        for at in work.topics[topic_at].parts.clone() {
            if work.parts[at].result.error.is_err() {
                continue;
            }
            let index = work.parts[at].index;
            let hosted = topic.hosted(index);
            if !has_waited
                && hosted.is_ok_and(|partition| partition.may_be_elected())
                && has_room_to_wait(context)
            {
                has_waited = true;
                let left = work.parts_from(topic_at, at);
                Box::pin(wait_for_leadership(context, work, &left)).await;
            }
            match hosted {
                Ok(partition) => {
                    work.append_part(context, &topic, partition, at, body, terms).await;
                }
                Err(code) => {
                    work.parts[at].result = PartResult::not_hosted(context, &topic, index, code);
                }
            }
        }
    }
}

/// Waits until this broker leads the partitions that the request came too early for, but not for long.
async fn wait_for_leadership(
    context: &Context,
    work: &mut ProduceScratch,
    early: &[(usize, usize)],
) {
    // Readers of what the request has appended already need not wait.
    work.wakes.wake();
    let services = &context.services;
    services.node.metrics().produces_early.add(1);
    let deadline = tokio::time::Instant::now() + LEADERSHIP_WAIT_MAX;
    let is_early = |&(topic_at, at): &(usize, usize)| {
        let topic: Option<&Arc<Topic>> = work.topics[topic_at].topic.as_ref();
        topic
            .and_then(|topic| topic.hosted(work.parts[at].index).ok())
            .is_some_and(|partition| partition.may_be_elected())
    };
    loop {
        let published = services.node.published().notified();
        if !early.iter().any(is_early) || services.node.is_stopping() {
            break;
        }
        if tokio::time::timeout_at(deadline, published).await.is_err() {
            break;
        }
    }
}

/// What a request says beside its records.
struct Asked {
    acks: i16,
    timeout: Duration,
    /// Where it lies in the frame.
    transactional_id: Option<Range<usize>>,
}

/// Notes what the request asks for, and what can be refused before anything is looked at. One walk over the request:
/// nothing is done before all of it was read.
fn plan(context: &Context, work: &mut ProduceScratch, body: &[u8]) -> Result<Asked, DecodeError> {
    work.topics.clear();
    work.parts.clear();
    let ProduceScratch { topics, parts, .. } = work;
    let table = context.services.replicas.topics();
    let mut reader = Reader::new(body);
    let request = ProduceRequestView::parse_each(&mut reader, context.version, |named, asked| {
        let name = range_in(body, named.name.as_bytes());
        let is_next =
            topics.last().is_none_or(|last| last.name != name || last.id != named.topic_id);
        if is_next {
            let topic = if named.topic_id.is_zero() {
                table.by_name(named.name)
            } else {
                table.by_id(named.topic_id)
            };
            topics.push(TopicPart {
                name,
                id: named.topic_id,
                topic: topic.cloned(),
                parts: parts.len()..parts.len(),
            });
        }
        let Some(current) = topics.last_mut() else { return };
        let result = match &current.topic {
            None if context.version > 12 => PartResult::error(ErrorCode::UNKNOWN_TOPIC_ID),
            None => PartResult::error(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
            Some(topic) if topic.internal && *context.client_id != *ADMIN_CLIENT => {
                PartResult::error(ErrorCode::INVALID_TOPIC_EXCEPTION)
            }
            Some(_) => PartResult::default(),
        };
        parts.push(ProducePart {
            index: asked.index,
            records: asked.records.map(|records| range_in(body, records)),
            result,
        });
        current.parts.end = parts.len();
    })?;
    let timeout_ms = u64::try_from(request.timeout_ms).unwrap_or(0);
    Ok(Asked {
        acks: request.acks,
        timeout: Duration::from_millis(timeout_ms),
        transactional_id: request.transactional_id.map(|id| range_in(body, id.as_bytes())),
    })
}

/// The rest of a partition's append. In a box: the future of each connection has room for all that it may wait
/// for, and nearly all of them wait for something else.
type Rest<'a> = Pin<Box<dyn Future<Output = PartResult> + Send + 'a>>;

/// Appends a partition's records at once; or gives the rest of it, of a long batch, of one that is queued behind
/// another one, and of a log directory that takes nothing at the moment.
fn append<'a>(
    context: &'a Context,
    topic: &Topic,
    partition: &'a Arc<Partition>,
    records: &'a mut [u8],
    now: i64,
    appending: &'a mut Appending<'_>,
) -> Result<PartResult, Rest<'a>> {
    let settings = topic.settings();
    let mut scratch = workspace::validation();
    let origin = Origin::Client { produce_version: context.version };
    let mut validation = Validation::new(records, &mut scratch, &settings.validation, origin, now);
    let mut validated = match validation.step() {
        Ok(Progress::Done(validated)) => validated,
        Ok(Progress::More) => {
            let paused = validation.pause();
            return Err(Box::pin(async move {
                let config = &settings.validation;
                let validated =
                    go_on_validating(paused, scratch, records, config, appending.wakes).await;
                let mut validated = match validated {
                    Ok(validated) => validated,
                    Err(failure) => return refused(context, failure),
                };
                match partition.append(&mut validated, records, now, appending) {
                    AppendNow::Done(result) => result_of(context, &validated, result),
                    AppendNow::Later(later) => {
                        append_later(context, partition, validated, later, records, appending).await
                    }
                }
            }));
        }
        Err(failure) => return Ok(refused(context, failure)),
    };
    drop(scratch);
    match partition.append(&mut validated, records, now, appending) {
        AppendNow::Done(result) => Ok(result_of(context, &validated, result)),
        AppendNow::Later(later) => {
            let rest = append_later(context, partition, validated, later, records, appending);
            Err(Box::pin(rest))
        }
    }
}

/// Lets others run before each further step.
async fn go_on_validating(
    paused: Paused,
    mut scratch: workspace::Lease,
    records: &mut [u8],
    config: &ValidationConfig,
    wakes: &mut Wakes,
) -> Result<Validated, Failure> {
    let mut validation = paused.resume(records, &mut scratch, config);
    loop {
        // Readers of what is there need not wait for a long one.
        wakes.wake();
        tokio::task::yield_now().await;
        if let Progress::Done(validated) = validation.step()? {
            return Ok(validated);
        }
    }
}

async fn append_later(
    context: &Context,
    partition: &Arc<Partition>,
    mut validated: Validated,
    later: AppendLater,
    records: &mut [u8],
    appending: &mut Appending<'_>,
) -> PartResult {
    let result = partition.append_later(later, &mut validated, records, appending).await;
    result_of(context, &validated, result)
}

/// What is answered for a batch that the log was asked to take.
fn result_of(
    context: &Context,
    validated: &Validated,
    result: Result<Appended, AppendFailure>,
) -> PartResult {
    match result {
        Ok(appended) => {
            context.services.node.metrics().appended(validated.len as u64, validated.record_count);
            PartResult {
                base_offset: appended.first_offset,
                log_append_time_ms: if appended.duplicate {
                    appended.log_append_time_ms
                } else {
                    validated.log_append_time.unwrap_or(-1)
                },
                log_start_offset: appended.log_start_offset,
                end_offset: appended.end_offset,
                leader_epoch: appended.leader_epoch,
                ..PartResult::default()
            }
        }
        Err(failure) => PartResult::failed(failure),
    }
}

/// A batch that did not pass validation: Kafka names the records concerned.
fn refused(context: &Context, failure: Failure) -> PartResult {
    context.services.node.metrics().invalid_batches.add(1);
    let code = failure.reason.error_code();
    // Kafka gives a message only where single records are at fault.
    let message = failure.response_message();
    let records: Vec<(i32, String)> = match failure.reason {
        Reason::Records(_) => failure
            .record_errors
            .iter()
            .map(|record| (record.batch_index, record.kind.to_string()))
            .collect(),
        _ => Vec::new(),
    };
    PartResult { details: Some(Box::new(Details { message, records })), ..PartResult::error(code) }
}

/// A request that waits, without its frame.
struct ParkedProduce {
    work: ProduceScratch,
    /// The topics' names, one behind the other.
    names: Vec<u8>,
    /// How long it waits for other replicas at most.
    timeout: Duration,
}

/// Partitions that a request may have to wait for without more memory being charged than its frame, which it
/// gives back: every connection may have so many.
const PARTITIONS_FREE: usize = 32;
/// The same of topics' names and of what is said of records.
const TEXT_FREE: usize = 8 << 10;

impl ProduceScratch {
    /// Memory for what a request holds while it waits, of what answers to fetches may have, so that nothing is
    /// taken that other requests need, and of that an eighth at most. `None` where there is no room.
    fn room_to_wait(&self, context: &Context, names: usize, appends: usize) -> Option<Charge> {
        let budget = context.services.front.fetch_budget();
        let mut held = Charge::new(budget);
        let details: usize = self
            .parts
            .iter()
            .filter_map(|part| part.result.details.as_deref())
            .map(Details::bytes)
            .sum();
        if self.parts.len() <= PARTITIONS_FREE && names + details <= TEXT_FREE {
            return Some(held);
        }
        let bytes = self.parts.capacity() * size_of::<ProducePart>()
            + self.topics.capacity() * size_of::<TopicPart>()
            + names
            + details
            + appends * (size_of::<Uncommitted>() + DelayedProduce::BYTES_OF_APPEND);
        (bytes <= budget.limit() / 8 && held.try_raise_to(bytes)).then_some(held)
    }

    /// What is needed for the answer; the frame is given back.
    fn parked(mut self, body: &[u8], timeout: Duration) -> ParkedProduce {
        let mut names = Vec::new();
        for topic in &mut self.topics {
            let begin = names.len();
            names.extend_from_slice(&body[topic.name.clone()]);
            topic.name = begin..names.len();
        }
        ParkedProduce { work: self, names, timeout }
    }
}

/// Waits until all in-sync replicas have what was appended, and answers.
async fn wait_committed(context: Context, mut parked: ParkedProduce) -> LateReply {
    let appends = std::mem::take(&mut parked.work.uncommitted);
    let waiting = Uncommitted::register(&appends);
    // A stop that began before this wakes no waiter here. Nor does a request of many partitions wait that finds no room
    // for what it holds meanwhile.
    let room = parked.work.room_to_wait(&context, parked.names.capacity(), appends.len());
    let timeout = match room.is_none() || context.services.node.is_stopping() {
        true => Duration::ZERO,
        false => parked.timeout,
    };
    let results = waiting.results(timeout).await;
    drop((waiting, room));
    for (append, code) in appends.iter().zip(results) {
        // Its offset stays in the answer, as in Kafka's.
        if code.is_err() {
            let result = &mut parked.work.parts[append.part].result;
            result.error = code;
            if code == ErrorCode::NOT_LEADER_OR_FOLLOWER {
                let leader = append.partition.leader();
                result.leader = Some((leader.id, leader.epoch));
            }
        }
    }
    let mut reply = Reply::default();
    let close = respond(&context, &parked.work, &mut reply.frame, &parked.names).err();
    parked.work.give();
    LateReply { reply, close }
}

/// Writes the answer; `names` has the topics' names, where they lie. Its error is why the connection cannot go on.
fn respond(
    context: &Context,
    work: &ProduceScratch,
    frame: &mut thalweg_wire::Writer,
    names: &[u8],
) -> Result<(), String> {
    let details: Vec<Vec<BatchIndexAndErrorMessageRef<'_>>> = work
        .parts
        .iter()
        .filter_map(|part| part.result.details.as_ref())
        .map(|details| {
            details
                .records
                .iter()
                .map(|(index, message)| BatchIndexAndErrorMessageRef {
                    batch_index: *index,
                    batch_index_error_message: Some(message),
                })
                .collect()
        })
        .collect();
    let mut details = details.iter();
    let mut leaders = NamedLeaders::default();
    let parts: Vec<PartitionProduceResponseRef<'_>> = work
        .parts
        .iter()
        .map(|part| {
            let result = &part.result;
            let leader = result.leader.filter(|_| context.version >= FIRST_WITH_LEADERS);
            let (leader_id, leader_epoch) = leaders.name(leader);
            let extra = result.details.as_ref();
            PartitionProduceResponseRef {
                index: part.index,
                error_code: result.error,
                base_offset: result.base_offset,
                log_append_time_ms: result.log_append_time_ms,
                log_start_offset: result.log_start_offset,
                record_errors: extra.and_then(|_| details.next()).map_or(&[], |d| &d[..]),
                error_message: extra.and_then(|d| d.message.as_deref()),
                current_leader: LeaderIdAndEpochRef {
                    leader_id,
                    leader_epoch,
                    ..LeaderIdAndEpochRef::default()
                },
            }
        })
        .collect();
    let topics: Vec<TopicProduceResponseRef<'_>> = work
        .topics
        .iter()
        .map(|topic| TopicProduceResponseRef {
            name: std::str::from_utf8(&names[topic.name.clone()]).unwrap_or_default(),
            topic_id: topic.id,
            partition_responses: &parts[topic.parts.clone()],
        })
        .collect();
    if !leaders.is_empty() {
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
    let response =
        ProduceResponseRef { responses: &topics, node_endpoints: &endpoints, throttle_time_ms: 0 };
    context.begin(frame);
    let encoded = response.encode(frame, context.version).and_then(|()| frame.end_frame());
    encoded.map_err(|error| format!("Produce cannot be answered: {error}"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn ranges_point_back_into_the_frame() {
        let whole = [1u8, 2, 3, 4, 5];
        assert_eq!(super::range_in(&whole, &whole[2..4]), 2..4);
        assert_eq!(super::range_in(&whole, &whole[..]), 0..5);
        assert_eq!(super::range_in(&whole, b"elsewhere"), 0..0);
    }
}
