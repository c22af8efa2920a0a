//! What a fetch asks for: its terms, and the partitions that it is of.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::fetch_request::{FetchRequestView, FetchTopicView};

use crate::api::context::Context;
use crate::api::fetch_session::{Mode, Session, TopicKey, Wanted};

/// Limits and isolation of one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub(super) min_bytes: usize,
    pub(super) max_bytes: usize,
    pub(super) max_wait: Duration,
    pub(super) committed_only: bool,
    pub(super) by_id: bool,
    /// Whether a replica that does not lead may be read from: by consumers that know of that (KIP-392).
    pub(super) any_replica: bool,
    /// The replica that fetches, if it is one.
    pub(super) replica: Option<FetchingReplica>,
}

/// First version of Fetch whose consumers may be sent to a replica that does not lead (KIP-392).
const FIRST_FROM_ANY_REPLICA: i16 = 11;

/// A replica on another broker that fetches.
#[derive(Clone, Copy, Debug)]
pub(super) struct FetchingReplica {
    pub(super) id: i32,
    /// Epoch of its broker; -1 if the request has none.
    pub(super) broker_epoch: i64,
}

impl FetchingReplica {
    /// Whether a broker of this cluster has the replica. Anybody may call itself a replica.
    pub(super) fn is_registered(self, context: &Context) -> bool {
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
pub(super) struct Plan {
    pub(super) asks: Asks,
    /// The consumer's rack, where a replica in it is to be read from instead of the leader's (KIP-392).
    pub(super) rack: Option<Box<str>>,
}

/// Of which partitions, and how it is answered.
pub(super) enum Asks {
    /// Every partition asked for is answered; a session is made of them if `keep`.
    All { wanted: Vec<Wanted>, keep: bool },
    /// Only what changed is answered.
    Changed(Arc<Mutex<Session>>),
}

impl Terms {
    pub(super) fn of(context: &Context, request: &FetchRequestView<'_>) -> Terms {
        let limit = context.services.node.settings().fetch_max;
        let max_bytes = usize::try_from(request.max_bytes).unwrap_or(0).min(limit);
        let replica = FetchingReplica::of(request);
        Terms {
            min_bytes: usize::try_from(request.min_bytes).unwrap_or(0).min(max_bytes),
            max_bytes,
            max_wait: Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0)),
            committed_only: request.isolation_level == 1,
            by_id: context.version >= 13,
            any_replica: replica.is_none() && context.version >= FIRST_FROM_ANY_REPLICA,
            replica,
        }
    }
}

impl Plan {
    /// # Errors
    /// The code of an answer that names no partition.
    pub(super) fn of(
        context: &Context,
        request: &FetchRequestView<'_>,
        terms: &Terms,
    ) -> Result<Plan, ErrorCode> {
        let by_rack = || context.services.node.settings().selects_replicas_by_rack;
        let has_rack = terms.any_replica && !request.rack_id.is_empty();
        let rack = (has_rack && by_rack()).then(|| Box::from(request.rack_id));
        asks(context, request, terms).map(|asks| Plan { asks, rack })
    }

    /// Partitions that are looked at.
    pub(super) fn partitions(&self) -> usize {
        match &self.asks {
            Asks::All { wanted, .. } => wanted.len(),
            Asks::Changed(session) => session.lock().len(),
        }
    }
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
