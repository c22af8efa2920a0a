//! The task that keeps a consumer in its group: sends what the member asks for, looks up what is
//! committed, commits when partitions are given up and, if that is set, every so often.

use std::sync::{Arc, Weak};
use std::time::Duration;

use thalweg_wire::ApiKey;
use thalweg_wire::messages::ApiVersionsRequest;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::cluster::coordinator;
use crate::consumer::commits::{automatic, commit};
use crate::consumer::state::group::{InFlightRequest, Task};
use crate::consumer::state::shared::Shared;
use crate::core::group::{Action, GroupRequest, GroupResponse, RequestFailure, RequestId};
use crate::core::partition::TopicPartition;
use crate::error::Error;
use crate::net::connection::Connection;
use crate::options::backoff::AUTHENTICATION_BACKOFF;

/// What came of something that ran.
enum Outcome {
    Coordinator(Result<i32, Error>),
    Response(RequestId, Result<GroupResponse, RequestFailure>),
    Metadata,
    /// Whether everything is known now.
    Committed(Result<bool, Error>),
    /// The revocation of this number is over.
    Revoked(u64),
    AutoCommitted,
    HeldHeartbeatEnded,
}

/// The connection to the coordinator: one of its own, because a join holds up what is behind it.
type CoordinatorConnection = Arc<tokio::sync::Mutex<Option<(i32, Connection)>>>;

/// Runs until the member is out of its group or the consumer is gone.
pub(in crate::consumer) async fn run(shared: Weak<Shared>, wake: Arc<Notify>) {
    let mut running: JoinSet<Outcome> = JoinSet::new();
    let to_coordinator = CoordinatorConnection::default();
    let Some(interval) = shared.upgrade().map(|shared| shared.config.auto_commit_interval) else {
        return;
    };
    let interval = interval.max(Duration::from_millis(1));
    let mut next_commit = Instant::now() + interval;
    let mut is_revoking = false;
    let mut is_committing = false;
    let mut lookup_failures = 0;
    loop {
        let Some(strong) = shared.upgrade() else { return };
        let deadline = advance(&strong, &to_coordinator, &mut running);
        if !is_revoking && let Some((number, partitions)) = finished_revocation(&strong) {
            is_revoking = true;
            let shared = Arc::clone(&strong);
            running.spawn(async move {
                automatic::commit_acknowledged(&shared, &partitions).await;
                Outcome::Revoked(number)
            });
        }
        if strong.config.auto_commit && !is_committing && Instant::now() >= next_commit {
            next_commit = Instant::now() + interval;
            is_committing = true;
            let shared = Arc::clone(&strong);
            running.spawn(async move {
                automatic::commit_news(&shared).await;
                Outcome::AutoCommitted
            });
        }
        // While a commit is under way, or none is to be made, time alone brings nothing.
        let commit_at = (strong.config.auto_commit && !is_committing).then_some(next_commit);
        let member_at = deadline.map(|at| Instant::from(strong.instant_of(at)));
        let until = commit_at.into_iter().chain(member_at).min();
        let is_done = strong
            .with_group(|group, _| group.member.as_ref().is_none_or(|member| member.is_done()));
        drop(strong);
        if is_done != Some(false) && running.is_empty() {
            return;
        }
        let outcome = tokio::select! {
            outcome = running.join_next(), if !running.is_empty() => outcome.and_then(Result::ok),
            () = wake.notified() => None,
            () = until_then(until) => None,
        };
        let Some(strong) = shared.upgrade() else { return };
        match outcome {
            None => {}
            Some(Outcome::Revoked(number)) => {
                is_revoking = false;
                let now = strong.now_ms();
                strong.with_group(|group, fetcher| group.revoked(fetcher, number, now));
            }
            Some(Outcome::AutoCommitted) => is_committing = false,
            Some(outcome) => take_in(&strong, outcome, &mut running, &mut lookup_failures),
        }
    }
}

async fn until_then(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Partitions that the application is done with, when there are such.
fn finished_revocation(shared: &Arc<Shared>) -> Option<(u64, Vec<TopicPartition>)> {
    shared.with_group(|group, _| {
        let revocation = group.revocation.as_ref().filter(|revocation| revocation.is_done)?;
        Some((revocation.number, revocation.partitions.clone()))
    })?
}

/// Lets the member go on; gives when it wants to next.
fn advance(
    shared: &Arc<Shared>,
    to_coordinator: &CoordinatorConnection,
    running: &mut JoinSet<Outcome>,
) -> Option<u64> {
    let now = shared.now_ms();
    let (tasks, deadline, has_events) = shared.with(|state| {
        // Nothing is taken on any more.
        let group = state.group.as_mut().filter(|_| !state.is_closed)?;
        let fetcher = &mut state.fetcher;
        let tasks = group.advance(fetcher, now);
        let deadline = group.member.as_ref().and_then(|member| member.next_deadline(now));
        Some((tasks, deadline, group.is_waiting_for_listener()))
    })?;
    if !tasks.is_empty() || has_events {
        // The application may have to hear of it, and what is new has to be fetched.
        shared.arrived.notify_one();
        shared.lookup.notify_one();
    }
    if has_events {
        shared.rebalanced.notify_one();
    }
    for task in tasks {
        match task {
            Task::Ask(action) => ask(shared, action, to_coordinator, running),
            Task::LookUpCommitted => {
                look_up_committed(shared, running, Duration::ZERO);
            }
            Task::Fail(error) => shared.fail(Error::Membership(Box::new(error))),
        }
    }
    deadline
}

fn ask(
    shared: &Arc<Shared>,
    action: Action,
    to_coordinator: &CoordinatorConnection,
    running: &mut JoinSet<Outcome>,
) {
    let shared = Arc::clone(shared);
    let to_coordinator = Arc::clone(to_coordinator);
    match action {
        Action::FindCoordinator => {
            running.spawn(async move {
                let _in_flight = InFlight::new(&shared, ApiKey::FIND_COORDINATOR, None);
                let group = shared.with_group(|group, _| Arc::clone(&group.id));
                let found = match group {
                    Some(group) => coordinator::find(&shared.cluster, &group).await,
                    None => Err(Error::UnknownBroker(-1)),
                };
                if let Err(error) = &found
                    && error.is_authentication()
                {
                    shared.fail(error.clone());
                    tokio::time::sleep(AUTHENTICATION_BACKOFF).await;
                }
                Outcome::Coordinator(found)
            });
        }
        Action::Request { id, coordinator, request, timeout_ms } => {
            running.spawn(async move {
                let _in_flight = InFlight::new(&shared, api_of(&request), Some(coordinator));
                let timeout = Duration::from_millis(timeout_ms);
                let sent = send(&shared, &to_coordinator, coordinator, &request, timeout).await;
                if let Err(error) = &sent
                    && error.is_authentication()
                    && !is_leave(&request)
                {
                    shared.fail(error.clone());
                    tokio::time::sleep(AUTHENTICATION_BACKOFF).await;
                }
                Outcome::Response(id, sent.map_err(lost))
            });
        }
        Action::EndHeldHeartbeat => {
            running.spawn(async move {
                let connection = to_coordinator.lock().await.as_ref().map(|(_, c)| c.clone());
                if let Some(connection) = connection.filter(|open| open.over().is_none()) {
                    // The request that costs a coordinator least. What it answers is of no interest: a
                    // connection that fails is noticed elsewhere.
                    let options = shared.cluster.options();
                    let request = ApiVersionsRequest {
                        client_software_name: options.software_name.to_string(),
                        client_software_version: options.software_version.to_string(),
                        ..Default::default()
                    };
                    if let Err(error) = connection.send(&request).await {
                        tracing::debug!(%error, "the held heartbeat could not be ended");
                    }
                }
                Outcome::HeldHeartbeatEnded
            });
        }
        Action::RefreshMetadata { topics, ids } => {
            running.spawn(async move {
                let names: Vec<&str> = topics.iter().map(|topic| &**topic).collect();
                if let Err(error) = shared.cluster.refresh_with_ids(&names, &ids).await {
                    tracing::debug!(%error, "metadata for the group could not be asked for");
                }
                Outcome::Metadata
            });
        }
        // The others are taken over where the member says them.
        _ => {}
    }
}

/// A request to the coordinator in flight: as long as this is kept, `why()` shows it.
struct InFlight<'a> {
    shared: &'a Arc<Shared>,
    api: ApiKey,
}

impl<'a> InFlight<'a> {
    fn new(shared: &'a Arc<Shared>, api: ApiKey, broker: Option<i32>) -> InFlight<'a> {
        let since_ms = shared.now_ms();
        shared
            .with_group(|group, _| group.in_flight.push(InFlightRequest { api, broker, since_ms }));
        InFlight { shared, api }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.shared.with_group(|group, _| {
            // One of a kind is answered before the next one is sent.
            let this = group.in_flight.iter().position(|request| request.api == self.api);
            this.map(|at| group.in_flight.remove(at))
        });
    }
}

fn api_of(request: &GroupRequest) -> ApiKey {
    match request {
        GroupRequest::Join(_) => ApiKey::JOIN_GROUP,
        GroupRequest::Sync(_) => ApiKey::SYNC_GROUP,
        GroupRequest::Heartbeat(_) => ApiKey::HEARTBEAT,
        GroupRequest::Leave(_) => ApiKey::LEAVE_GROUP,
        GroupRequest::ConsumerHeartbeat(_) => ApiKey::CONSUMER_GROUP_HEARTBEAT,
    }
}

async fn send(
    shared: &Shared,
    to_coordinator: &CoordinatorConnection,
    coordinator: i32,
    request: &GroupRequest,
    timeout: Duration,
) -> Result<GroupResponse, Error> {
    let connection = if is_leave(request) {
        // Not behind a join that the coordinator holds back for somebody else.
        shared.cluster.broker(coordinator).await?
    } else {
        let mut kept = to_coordinator.lock().await;
        match &*kept {
            Some((id, connection)) if *id == coordinator && connection.over().is_none() => {
                connection.clone()
            }
            _ => {
                let opened = shared.cluster.open(coordinator).await?;
                *kept = Some((coordinator, opened.clone()));
                opened
            }
        }
    };
    macro_rules! exchange {
        ($request:expr, $kind:ident) => {
            connection.send_within($request, timeout).await.map(GroupResponse::$kind)
        };
    }
    match request {
        GroupRequest::Join(request) => exchange!(request, Join),
        GroupRequest::Sync(request) => exchange!(request, Sync),
        GroupRequest::Heartbeat(request) => exchange!(request, Heartbeat),
        GroupRequest::Leave(request) => exchange!(request, Leave),
        GroupRequest::ConsumerHeartbeat(request) => exchange!(request, ConsumerHeartbeat),
    }
}

/// Whether a request leaves the group: it is not tried again.
fn is_leave(request: &GroupRequest) -> bool {
    match request {
        GroupRequest::Leave(_) => true,
        GroupRequest::ConsumerHeartbeat(heartbeat) => heartbeat.member_epoch < 0,
        _ => false,
    }
}

fn lost(error: Error) -> RequestFailure {
    match error {
        Error::Version { .. } | Error::Encode { .. } => {
            RequestFailure::Unsupported(error.to_string())
        }
        error => {
            tracing::debug!(%error, "the coordinator could not be asked");
            RequestFailure::Connection
        }
    }
}

/// Looks up what is committed for the partitions of which that is not known; says whether there are
/// such.
fn look_up_committed(
    shared: &Arc<Shared>,
    running: &mut JoinSet<Outcome>,
    after: Duration,
) -> bool {
    if shared.lock().fetcher.without_committed().is_empty() {
        return false;
    }
    let shared = Arc::clone(shared);
    running.spawn(async move {
        tokio::time::sleep(after).await;
        Outcome::Committed(commit::settle(&shared).await)
    });
    true
}

/// Takes in what came of something that ran. `lookup_failures` counts the times in a row that not all
/// of what is committed could be looked up.
fn take_in(
    shared: &Arc<Shared>,
    outcome: Outcome,
    running: &mut JoinSet<Outcome>,
    lookup_failures: &mut u32,
) {
    let now = shared.now_ms();
    let member = |act: &mut dyn FnMut(&mut crate::core::group::Member)| {
        shared.with_group(|group, _| {
            if let Some(member) = &mut group.member {
                act(member);
            }
        });
    };
    match outcome {
        Outcome::Coordinator(Ok(id)) => {
            shared.found_coordinator(id);
            member(&mut |member| member.on_coordinator(id, now));
        }
        Outcome::Coordinator(Err(error)) => {
            let code = match &error {
                Error::Group { code, .. } => Some(*code),
                _ => None,
            };
            tracing::debug!(%error, "the group's coordinator was not found");
            member(&mut |member| member.on_coordinator_error(code, now));
        }
        Outcome::Response(id, result) => {
            let mut result = Some(result);
            member(&mut |member| {
                if let Some(result) = result.take() {
                    member.on_response(id, result, now);
                }
            });
        }
        Outcome::Metadata => {
            let metadata = shared.cluster.metadata();
            member(&mut |member| member.update_metadata(&metadata, now));
        }
        // What was assigned meanwhile is looked up now, what was not answered after a pause: a
        // member that is on its way to another generation asks again then.
        Outcome::Committed(result) => {
            let is_known = matches!(result, Ok(true));
            *lookup_failures = if is_known { 0 } else { lookup_failures.saturating_add(1) };
            let pause = match &result {
                Ok(true) => Duration::ZERO,
                Err(error) if error.is_authentication() => AUTHENTICATION_BACKOFF,
                Ok(false) | Err(_) => shared.config.backoff(*lookup_failures),
            };
            let is_needed = look_up_committed(shared, running, pause);
            if !is_needed {
                // What could not be looked up is not assigned any more.
                *lookup_failures = 0;
            }
            let Err(error) = result else { return };
            tracing::debug!(%error, "committed offsets could not be looked up");
            // What is wrong with partitions that are gone concerns nobody any more.
            if is_needed && !error.is_retriable() && !error.is_between_generations() {
                shared.fail(error);
            }
        }
        Outcome::Revoked(_) | Outcome::AutoCommitted | Outcome::HeldHeartbeatEnded => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::metadata::Metadata;
    use crate::{Cluster, Consumer, ConsumerConfig};

    #[tokio::test]
    async fn lookups_that_are_not_needed_any_more_delay_no_later_one() {
        let config = ConsumerConfig::default().with_group_id("g");
        let cluster = Cluster::detached(Metadata::default());
        let consumer = Consumer::new(cluster, config).unwrap();
        let shared = Arc::clone(&consumer.shared);
        let partition = TopicPartition::new("t", 0);
        let mut running = JoinSet::new();
        let mut failures = 2;
        shared.with(|state| state.fetcher.add_committed(partition.clone()));
        take_in(&shared, Outcome::Committed(Ok(false)), &mut running, &mut failures);
        assert_eq!((failures, running.len()), (3, 1), "it is looked up again");
        // It is revoked before the answer comes.
        shared.with(|state| state.fetcher.remove(&partition));
        take_in(&shared, Outcome::Committed(Ok(false)), &mut running, &mut failures);
        assert_eq!((failures, running.len()), (0, 1), "there is nothing to look up");
    }
}
