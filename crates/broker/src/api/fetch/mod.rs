//! Fetch: long polls and incremental sessions. Planning what to read (`read.rs`) is apart from putting the bytes into an
//! answer (`answer.rs`). A fetch that is not answered at once goes through the states of `parked.rs`.

mod answer;
mod parked;
mod read;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_wire::messages::fetch_request::{FetchRequestView, FetchTopicView};
use thalweg_wire::{ErrorCode, Reader};

use crate::api::context::{Context, Scratch};
use crate::api::fetch_session::{Mode, Session, TopicKey, Wanted};
use crate::net::budget::Charge;
use crate::net::connection::Handled;

use parked::{ParkedFetch, State};
use read::{Attempt, Looks};

/// Limits and isolation of one request.
#[derive(Clone, Copy, Debug)]
struct Terms {
    min_bytes: usize,
    max_bytes: usize,
    max_wait: Duration,
    committed_only: bool,
    by_id: bool,
    /// Whether a replica that does not lead may be read from: by consumers that know of that (KIP-392).
    any_replica: bool,
    /// The replica that fetches, if it is one.
    replica: Option<FetchingReplica>,
}

/// First version of Fetch whose consumers may be sent to a replica that does not lead (KIP-392).
const FIRST_FROM_ANY_REPLICA: i16 = 11;

/// How long a fetcher that there was no room to wait for is told not to ask again, and is not read from. Otherwise it
/// would ask again at once, as often as a client can.
const NO_ROOM_THROTTLE: Duration = Duration::from_millis(100);

/// A replica on another broker that fetches.
#[derive(Clone, Copy, Debug)]
struct FetchingReplica {
    id: i32,
    /// Epoch of its broker; -1 if the request has none.
    broker_epoch: i64,
}

impl FetchingReplica {
    /// Whether a broker of this cluster has the replica. Anybody may call itself a replica.
    fn is_registered(self, context: &Context) -> bool {
        context.services.node.image().cluster.broker(self.id).is_some()
    }

    fn of(request: &FetchRequestView<'_>) -> Option<FetchingReplica> {
        let state = &request.replica_state;
        let (id, broker_epoch) = match state.replica_id {
            -1 => (request.replica_id, -1),
            id => (id, state.replica_epoch),
        };
        (id >= 0).then_some(FetchingReplica { id, broker_epoch })
    }
}

/// What is asked for.
struct Plan {
    asks: Asks,
    /// The consumer's rack, where a replica in it is to be read from instead of the leader's (KIP-392).
    rack: Option<Box<str>>,
}

/// Of which partitions, and how it is answered.
enum Asks {
    /// Every partition asked for is answered; a session is made of them if `keep`.
    All { wanted: Vec<Wanted>, keep: bool },
    /// Only what changed is answered.
    Changed(Arc<Mutex<Session>>),
}

impl Plan {
    /// Partitions that are looked at.
    fn partitions(&self) -> usize {
        match &self.asks {
            Asks::All { wanted, .. } => wanted.len(),
            Asks::Changed(session) => session.lock().len(),
        }
    }
}

/// Partitions that a fetch may be of without more memory being charged than its frame: every connection
/// may have so many.
const PARTITIONS_FREE: usize = 32;

pub(super) async fn handle(
    context: &Context,
    scratch: &mut Scratch,
    body: &[u8],
    charge: &mut Charge,
) -> Handled {
    let mut reader = Reader::new(body);
    let request = match FetchRequestView::parse(&mut reader, context.version) {
        Ok(request) => request,
        Err(error) => return Handled::Close(format!("malformed Fetch request: {error}")),
    };
    let named: usize = request.topics.iter().map(|topic| topic.partitions.len()).sum();
    if named > PARTITIONS_FREE {
        // A session that grows takes up to twice what its partitions need, and unknown topics' names are copied.
        let each = 3 * size_of::<Wanted>() + size_of::<read::Part>();
        let bytes = named.saturating_mul(each).saturating_add(body.len());
        // What it waits for here only fetches hold.
        charge.raise_in_reserve(charge.bytes().saturating_add(bytes)).await;
        let planning = charge.split(bytes);
        let handled = begin(context, scratch, &request);
        drop(planning);
        return handled;
    }
    begin(context, scratch, &request)
}

/// Memory for what a fetch holds while it waits, which is not its frame's: what answers to fetches may
/// have, so that nothing is taken that other requests need, and of that an eighth at most. `None`
/// where there is no room: then it does not wait. A fetch that finds room is counted as parked.
fn room_to_wait(context: &Context, plan: &Plan, attempt: &Attempt) -> Option<Charge> {
    let budget = context.services.front.fetch_budget();
    let mut held = Charge::new(budget);
    let wanted = match &plan.asks {
        Asks::All { wanted, .. } => wanted.len(),
        // The session has them, whoever waits.
        Asks::Changed(_) => 0,
    };
    let parts = attempt.parts.len();
    if wanted.max(parts) > PARTITIONS_FREE {
        let bytes = wanted * size_of::<Wanted>() + parts * size_of::<read::Part>();
        if bytes > budget.limit() / 8 || !held.try_raise_to(bytes) {
            return None;
        }
    }
    context.services.node.metrics().fetches_parked.add(1);
    Some(held)
}

/// The same for a fetch that waits for a disk, which is not over by itself: what it asks for can be had
/// only so. One at a time may have more than there is. `None` where it is answered with what is in memory.
fn room_to_read(context: &Context, plan: &Plan) -> Option<Charge> {
    let mut held = Charge::new(context.services.front.fetch_budget());
    let partitions = plan.partitions();
    let bytes = partitions * (size_of::<Wanted>() + size_of::<read::Part>());
    (partitions <= PARTITIONS_FREE || held.try_raise_past(bytes)).then_some(held)
}

fn begin(context: &Context, scratch: &mut Scratch, request: &FetchRequestView<'_>) -> Handled {
    let services = &context.services;
    let limit = services.node.settings().fetch_max;
    let max_bytes = usize::try_from(request.max_bytes).unwrap_or(0).min(limit);
    let replica = FetchingReplica::of(request);
    let terms = Terms {
        min_bytes: usize::try_from(request.min_bytes).unwrap_or(0).min(max_bytes),
        max_bytes,
        max_wait: Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0)),
        committed_only: request.isolation_level == 1,
        by_id: context.version >= 13,
        any_replica: replica.is_none() && context.version >= FIRST_FROM_ANY_REPLICA,
        replica,
    };
    let plan = match plan(context, request, &terms) {
        Ok(plan) => plan,
        Err(code) => return top_level_error(context, scratch, code),
    };

    let state = match read::look(context, &terms, &plan, Looks::First, &[]) {
        Ok(attempt) => State::after_first_look(context, &terms, &plan, attempt, None),
        Err(cold) => match room_to_read(context, &plan) {
            Some(room) => State::Reads { cold, room },
            None => {
                // The next fetch may have room for what is left out. Waiting would not bring it.
                let attempt = read::look_in_memory(context, &terms, &plan);
                let throttle = attempt.throttle_if_nothing();
                State::Answers { attempt, room: None, throttle }
            }
        },
    };
    let State::Answers { attempt, room: None, throttle } = state else {
        return park(context, terms, plan, state);
    };
    match answer::write(context, &terms, &plan, attempt, throttle, &mut scratch.reply.frame) {
        Ok(written) => {
            scratch.reply.files = written.files;
            scratch.reply.charge = written.charge;
            scratch.reply.mute = throttle;
            Handled::Reply
        }
        Err(answer::Failed::NeedsDisk(attempt, cold)) => {
            park(context, terms, plan, State::Gathers { attempt, cold, room: None, throttle })
        }
        Err(answer::Failed::Close(reason)) => Handled::Close(reason),
    }
}

/// Parks the fetch in a state.
fn park(context: &Context, terms: Terms, plan: Plan, state: State) -> Handled {
    Handled::Parked(Box::pin(ParkedFetch::new(context, terms, plan).run(state)))
}

fn top_level_error(context: &Context, scratch: &mut Scratch, code: ErrorCode) -> Handled {
    let response = thalweg_wire::messages::fetch_response::FetchResponseRef {
        error_code: code,
        ..Default::default()
    };
    context.begin(&mut scratch.reply.frame);
    let encoded = response
        .encode(&mut scratch.reply.frame, context.version)
        .and_then(|()| scratch.reply.frame.end_frame());
    match encoded {
        Ok(()) => Handled::Reply,
        Err(error) => Handled::Close(format!("Fetch cannot be answered: {error}")),
    }
}

fn plan(
    context: &Context,
    request: &FetchRequestView<'_>,
    terms: &Terms,
) -> Result<Plan, ErrorCode> {
    let by_rack = || context.services.node.settings().selects_replicas_by_rack;
    let has_rack = terms.any_replica && !request.rack_id.is_empty();
    let rack = (has_rack && by_rack()).then(|| Box::from(request.rack_id));
    asks(context, request, terms).map(|asks| Plan { asks, rack })
}

fn asks(
    context: &Context,
    request: &FetchRequestView<'_>,
    terms: &Terms,
) -> Result<Asks, ErrorCode> {
    let services = &context.services;
    let now = services.node.clock().monotonic_ms();
    let mode =
        services.front.sessions().mode(request.session_id, request.session_epoch, terms.by_id, now);
    match mode {
        Mode::Error(code) => Err(code),
        Mode::Sessionless => {
            Ok(Asks::All { wanted: collect(context, request, terms), keep: false })
        }
        Mode::Full => Ok(Asks::All { wanted: collect(context, request, terms), keep: true }),
        Mode::Incremental(session) => {
            if !request.topics.is_empty() || !request.forgotten_topics_data.is_empty() {
                {
                    let mut state = session.lock();
                    for wanted in collect(context, request, terms) {
                        state.update(wanted);
                    }
                    for topic in request.forgotten_topics_data {
                        let key = if terms.by_id {
                            TopicKey::Id(topic.topic_id)
                        } else {
                            TopicKey::Name(topic.topic.into())
                        };
                        for partition in topic.partitions {
                            state.forget(key.clone(), partition);
                        }
                    }
                }
                services.front.sessions().resized(&session, now)?;
            }
            Ok(Asks::Changed(session))
        }
    }
}

/// The partitions a request names; the last mention of one counts.
fn collect(context: &Context, request: &FetchRequestView<'_>, terms: &Terms) -> Vec<Wanted> {
    let table = context.services.replicas.topics();
    let mut out = Vec::with_capacity(request.topics.iter().map(|t| t.partitions.len()).sum());
    let key = |topic: &FetchTopicView<'_>| {
        if terms.by_id {
            TopicKey::Id(topic.topic_id)
        } else {
            // The table's own text is shared where the topic exists.
            let known = table.by_name(topic.topic).map(|t| Arc::clone(&t.name));
            TopicKey::Name(known.unwrap_or_else(|| topic.topic.into()))
        }
    };
    for topic in request.topics {
        let key = key(&topic);
        for partition in topic.partitions {
            out.push(Wanted {
                topic: key.clone(),
                partition: partition.partition,
                fetch_offset: partition.fetch_offset,
                max_bytes: partition.partition_max_bytes,
                current_leader_epoch: partition.current_leader_epoch,
                last_fetched_epoch: partition.last_fetched_epoch,
                log_start_offset: partition.log_start_offset,
                told_high_watermark: -1,
                told_log_start: -1,
            });
        }
    }
    out
}
