//! Heartbeats of members of groups, and how long their answers are kept back
//! (`thalweg.group.heartbeat.push`; why: `thalweg_groups::HeldHeartbeat`).
//!
//! An answer is kept back only if the client is known to stand it, by the name of its software, and sends
//! nothing else on the connection that could not wait: one that fetches or produces on it never has a
//! heartbeat held. It leaves at once when there is something to say, and when another request comes on the
//! connection; at the latest when the next heartbeat is due, and well before the session ends.
//!
//! The SyncGroup of a member that owns nothing yet, and waits for what others have not given up, is kept back in the
//! same way. Every client waits for that, as at a barrier; it is done for the same ones.
//!
//! What a member of the classic protocol calls its heartbeat interval is not told to the coordinator. It is
//! measured by the times at which heartbeats come.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use thalweg_groups::{Due, GroupRequest, GroupResponse, HeldHeartbeat, HoldLimits};
use thalweg_wire::messages::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, HeartbeatRequest,
    HeartbeatResponse, SyncGroupRequest, SyncGroupResponse,
};
use thalweg_wire::{ApiKey, ErrorCode, Message, Request};

use super::groups::{has_consumer_protocol, submit_heartbeat};
use super::request::Context;
use super::{Handled, encode};
use crate::broker::Broker;
use crate::net::budget::Charge;
use crate::net::frame::NextRequest;

/// Part of the session timeout for which a heartbeat may be held whose client sends the next one by then, or
/// with the answer: what lies between two is no longer than it is with an interval of that part.
const SESSION_PART: u32 = 2;

/// The same for one whose client may count its interval from the answer: what is held comes on top of it.
const SESSION_PART_FROM_ANSWER: u32 = 3;

/// Longest time for which a heartbeat is held. A client gives a request up after its own timeout, 30 s in the
/// Java client, and nobody is told that.
const HOLD_MAX: Duration = Duration::from_secs(10);
/// For how long a member that waits for several partitions waits for the others when it could have one: their
/// owners were told at the same time. A partition stands still for that long if they take longer.
const SOON: Duration = Duration::from_millis(25);

/// Shortest interval after which a member is asked for its next heartbeat, in milliseconds.
const EXPEDITED_MS_MIN: i32 = 100;

/// So many heartbeats in a row may be answered at once or soon, as those of a rebalance are, and have the next
/// one expedited. One whose member has something to hear at every heartbeat, or whose client sends something else
/// all the time, would be asked all the time.
const UNHELD_MAX: u32 = 4;

/// What was held for less counts as answered at once.
const HELD_MIN: Duration = Duration::from_millis(EXPEDITED_MS_MIN as u64);

/// How a client goes about heartbeats, of those that stand it that one is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Client {
    /// The next heartbeat is sent when it is due, whether or not the last one has been answered.
    Pipelined,
    /// One heartbeat is in flight at a time.
    OneInFlight,
    /// The same, and every answer says how long after the heartbeat the next one is sent.
    AdoptsInterval,
    /// One is in flight at a time. The interval counts from the heartbeat that was sent, and anew from an answer
    /// that says another one. A client whose next heartbeat is due while the last one is in flight waits for the
    /// answer in a loop that takes a whole core (the Java client, 4.3).
    WaitsAtInterval,
    /// One is in flight at a time, whose request times out, as if the coordinator were gone, after the interval
    /// that the last answer said, or one second if that is longer.
    TimesOutAfterInterval,
}

impl Client {
    fn of(software: &str, key: ApiKey) -> Option<Client> {
        match (software, key) {
            ("apache-kafka-java" | "thalweg-bench", ApiKey::HEARTBEAT) => Some(Client::Pipelined),
            ("apache-kafka-java" | "thalweg-bench", ApiKey::CONSUMER_GROUP_HEARTBEAT) => {
                Some(Client::WaitsAtInterval)
            }
            ("thalweg", ApiKey::CONSUMER_GROUP_HEARTBEAT) => Some(Client::AdoptsInterval),
            ("librdkafka" | "confluent-kafka-python", ApiKey::CONSUMER_GROUP_HEARTBEAT) => {
                Some(Client::TimesOutAfterInterval)
            }
            ("librdkafka" | "confluent-kafka-python" | "thalweg", ApiKey::HEARTBEAT)
            | (
                "apache-kafka-java"
                | "thalweg-bench"
                | "librdkafka"
                | "confluent-kafka-python"
                | "thalweg",
                ApiKey::SYNC_GROUP,
            ) => Some(Client::OneInFlight),
            _ => None,
        }
    }
}

/// What a connection knows that matters to heartbeats.
#[derive(Debug, Default)]
pub(crate) struct Heartbeats {
    software: Option<Box<str>>,
    /// Records go over it: what comes behind a heartbeat would wait, and so would the heartbeat.
    carries_records: bool,
    interval: Interval,
    last: Option<Arc<LastHeartbeat>>,
    /// How many in a row were answered at once, or soon.
    unheld: u32,
}

/// What became of the last heartbeat.
#[derive(Debug, Default)]
struct LastHeartbeat {
    /// For how long it was held, in milliseconds.
    held_ms: AtomicU64,
    /// The interval that the answer said, in milliseconds; 0 if there was none.
    interval_ms: AtomicI32,
}

impl Heartbeats {
    /// The client has said what it is.
    pub(crate) fn set_software(&mut self, software: &str) {
        let known = [ApiKey::HEARTBEAT, ApiKey::CONSUMER_GROUP_HEARTBEAT];
        let is_known = known.iter().any(|key| Client::of(software, *key).is_some());
        self.software = is_known.then(|| software.into());
    }

    /// A request has come.
    #[inline]
    pub(crate) fn observe(&mut self, key: ApiKey) {
        match key {
            ApiKey::FETCH | ApiKey::PRODUCE => self.carries_records = true,
            // What lies between the heartbeats before and after is no interval.
            ApiKey::JOIN_GROUP => self.interval.last = None,
            _ => {}
        }
    }

    /// How a request that has just come may be held; `None` if it may not.
    fn arrived<R: Holdable>(&mut self, broker: &Broker, request: &R) -> Option<Hold> {
        let client = Client::of(self.software.as_deref()?, R::API_KEY)?;
        if self.carries_records || !broker.groups.holds_heartbeats(request.group()) {
            return None;
        }
        if R::API_KEY == ApiKey::SYNC_GROUP {
            // It says nothing about when heartbeats come.
            return Some(Hold { client, measured: None, last: Arc::default(), unheld: 0 });
        }
        let now = Instant::now();
        let last = self.last.get_or_insert_default();
        let held = Duration::from_millis(last.held_ms.swap(0, Ordering::Relaxed));
        let measured = self.interval.arrived(now, held);
        self.unheld = if held < HELD_MIN { self.unheld.saturating_add(1) } else { 0 };
        Some(Hold { client, measured, last: Arc::clone(last), unheld: self.unheld })
    }
}

/// The interval at which a connection's heartbeats come.
#[derive(Debug, Default)]
struct Interval {
    last: Option<Instant>,
    measured: Option<Duration>,
}

impl Interval {
    /// A heartbeat comes, and the last one was held for `held`.
    ///
    /// A client counts its interval from the last heartbeat that it sent, or from the answer to that. What
    /// lies between two that it sends is in the first case the interval, whatever was held, and in the
    /// other longer by what was held, which is about an interval itself.
    fn arrived(&mut self, now: Instant, held: Duration) -> Option<Duration> {
        if let Some(last) = self.last.replace(now) {
            let between = now.saturating_duration_since(last);
            let is_from_answer = self.measured.is_some_and(|known| between > known * 5 / 4);
            self.measured =
                Some(if is_from_answer { between.saturating_sub(held) } else { between });
        }
        self.measured
    }
}

/// How a heartbeat may be held.
struct Hold {
    client: Client,
    measured: Option<Duration>,
    last: Arc<LastHeartbeat>,
    /// How many in a row were answered at once, or soon, before.
    unheld: u32,
}

impl Hold {
    /// For how long an answer may be kept back.
    fn longest(&self, limits: HoldLimits) -> Duration {
        let ms = |ms: i32| Duration::from_millis(u64::try_from(ms).unwrap_or(0));
        let interval = match (limits.interval_ms, self.measured, self.client) {
            // The interval may have been raised since the client was told.
            (Some(now), _, Client::TimesOutAfterInterval) => {
                ms(now.min(self.last.interval_ms.load(Ordering::Relaxed))) * 9 / 10
            }
            (Some(now), _, Client::WaitsAtInterval) => {
                ms(now.min(self.last.interval_ms.load(Ordering::Relaxed)))
            }
            (Some(now), _, _) => ms(now),
            (None, None, _) => Duration::ZERO,
            // It is answered when the next one comes, which may be late.
            (None, Some(measured), Client::Pipelined) => measured * 5 / 4,
            // If what was measured is too long, it is corrected step by step.
            (None, Some(measured), _) => measured * 9 / 10,
        };
        let part = match self.client {
            Client::Pipelined | Client::AdoptsInterval | Client::WaitsAtInterval => SESSION_PART,
            Client::OneInFlight | Client::TimesOutAfterInterval => SESSION_PART_FROM_ANSWER,
        };
        interval.min(ms(limits.session_timeout_ms) / part).min(HOLD_MAX)
    }
}

/// What is different between the requests that may be held: the heartbeats of the two protocols, and SyncGroup.
pub(super) trait Holdable: Request<Response: Message + Send> + Send + 'static {
    fn group(&self) -> &str;
    /// The same request, without what the coordinator has taken note of when it has handled it once.
    fn again(&self) -> Self;
    fn into_request(self) -> GroupRequest;
    fn response(response: GroupResponse) -> Option<Self::Response>;
    fn error(code: ErrorCode) -> Self::Response;
    fn is_ok(response: &Self::Response) -> bool;
    /// The interval after which the next one is sent, where the coordinator says it, in milliseconds.
    fn interval_ms(response: &Self::Response) -> Option<i32>;
    /// Asks for the next heartbeat soon, where the protocol has the coordinator say when.
    fn expedite_next(response: &mut Self::Response);
    fn is_served(context: &Context) -> bool;
}

/// What all say in the same way.
macro_rules! holdable {
    ($response:ident, $variant:ident) => {
        fn group(&self) -> &str {
            &self.group_id
        }

        fn into_request(self) -> GroupRequest {
            GroupRequest::$variant(self)
        }

        fn response(response: GroupResponse) -> Option<$response> {
            match response {
                GroupResponse::$variant(response) => Some(response),
                _ => None,
            }
        }

        fn error(error_code: ErrorCode) -> $response {
            $response { error_code, ..Default::default() }
        }

        fn is_ok(response: &$response) -> bool {
            response.error_code.is_ok()
        }
    };
}

impl Holdable for HeartbeatRequest {
    holdable!(HeartbeatResponse, Heartbeat);

    fn again(&self) -> HeartbeatRequest {
        HeartbeatRequest {
            group_id: self.group_id.clone(),
            generation_id: self.generation_id,
            member_id: self.member_id.clone(),
            group_instance_id: self.group_instance_id.clone(),
            ..Default::default()
        }
    }

    fn is_served(_: &Context) -> bool {
        true
    }

    fn interval_ms(_: &HeartbeatResponse) -> Option<i32> {
        None
    }

    fn expedite_next(_: &mut HeartbeatResponse) {}
}

impl Holdable for SyncGroupRequest {
    holdable!(SyncGroupResponse, SyncGroup);

    fn again(&self) -> SyncGroupRequest {
        SyncGroupRequest {
            group_id: self.group_id.clone(),
            generation_id: self.generation_id,
            member_id: self.member_id.clone(),
            group_instance_id: self.group_instance_id.clone(),
            protocol_type: self.protocol_type.clone(),
            protocol_name: self.protocol_name.clone(),
            ..Default::default()
        }
    }

    fn is_served(_: &Context) -> bool {
        true
    }

    fn interval_ms(_: &SyncGroupResponse) -> Option<i32> {
        None
    }

    fn expedite_next(_: &mut SyncGroupResponse) {}
}

impl Holdable for ConsumerGroupHeartbeatRequest {
    holdable!(ConsumerGroupHeartbeatResponse, ConsumerGroupHeartbeat);

    fn again(&self) -> ConsumerGroupHeartbeatRequest {
        ConsumerGroupHeartbeatRequest {
            group_id: self.group_id.clone(),
            member_id: self.member_id.clone(),
            member_epoch: self.member_epoch,
            instance_id: self.instance_id.clone(),
            rebalance_timeout_ms: -1,
            ..Default::default()
        }
    }

    fn is_served(context: &Context) -> bool {
        has_consumer_protocol(context)
    }

    fn interval_ms(response: &ConsumerGroupHeartbeatResponse) -> Option<i32> {
        Some(response.heartbeat_interval_ms)
    }

    fn expedite_next(response: &mut ConsumerGroupHeartbeatResponse) {
        response.heartbeat_interval_ms = expedited_ms(response.heartbeat_interval_ms);
    }
}

/// When the next heartbeat is asked for in place of the one that has been answered early, in milliseconds: a
/// small part of the interval, so that members that commit are held most of the time.
fn expedited_ms(interval_ms: i32) -> i32 {
    interval_ms.min(EXPEDITED_MS_MIN.max(interval_ms / 20))
}

/// Handles a request that may be held. What the coordinator keeps of it has an account of its own.
pub(super) fn handle<R: Holdable>(
    context: &Context,
    heartbeats: &mut Heartbeats,
    request: R,
    held: Charge,
) -> Handled {
    let hold = heartbeats.arrived(&context.broker, &request);
    let context = context.clone();
    let Some(hold) = hold else {
        return Handled::Parked(Box::pin(async move {
            let answer = ask(&context, request, Some(held), None).await;
            encode(&context, &answer)
        }));
    };
    let next = Arc::new(NextRequest::default());
    let arrives = Arc::clone(&next);
    let answer = async move {
        let answer = hold_back(&context, request, held, &hold, &arrives).await;
        hold.last.interval_ms.store(R::interval_ms(&answer).unwrap_or(0), Ordering::Relaxed);
        encode(&context, &answer)
    };
    Handled::Held(Box::pin(answer), next)
}

/// Hands a request to its coordinator.
async fn ask<R: Holdable>(
    context: &Context,
    request: R,
    held: Option<Charge>,
    hold: Option<&Arc<HeldHeartbeat>>,
) -> R::Response {
    if !R::is_served(context) {
        return R::error(ErrorCode::UNSUPPORTED_VERSION);
    }
    let group = request.group().to_owned();
    let submitted = submit_heartbeat(context, &group, request.into_request(), hold);
    drop(held);
    match submitted.wait().await {
        Some(response) => R::response(response.for_version(context.version))
            .unwrap_or_else(|| R::error(ErrorCode::UNKNOWN_SERVER_ERROR)),
        None => R::error(ErrorCode::NOT_COORDINATOR),
    }
}

/// Tells the coordinator when a heartbeat is answered, or its connection is gone.
struct Waiting(Arc<HeldHeartbeat>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Counts a held heartbeat for as long as it is.
struct Counted<'c>(&'c Broker);

impl<'c> Counted<'c> {
    fn new(broker: &'c Broker) -> Counted<'c> {
        broker.metrics.heartbeats_held.up();
        Counted(broker)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.metrics.heartbeats_held.down();
    }
}

/// Asks for the next heartbeat soon in an answer that is not kept back any longer: until it comes there is none
/// to hold, and what the member waits for may happen any moment. A client that has been asked so before, and was
/// held, sends it at once: an interval that is the one it knows begins with what it has sent, not anew.
fn expedite<R: Holdable>(hold: &Hold, held: Duration, response: &mut R::Response) {
    let may_expedite =
        hold.client == Client::AdoptsInterval && (hold.unheld <= UNHELD_MAX || held >= HELD_MIN);
    if may_expedite && R::is_ok(response) {
        R::expedite_next(response);
    }
}

/// The answer to a heartbeat, when there is something to say or the time is over.
async fn hold_back<R: Holdable>(
    context: &Context,
    request: R,
    charge: Charge,
    hold: &Hold,
    next: &NextRequest,
) -> R::Response {
    // From here on: the shard may hold a heartbeat whose answer waits for the log.
    let waiting = Waiting(Arc::new(match hold.client {
        Client::AdoptsInterval | Client::WaitsAtInterval => HeldHeartbeat::with_acknowledgements(),
        _ => HeldHeartbeat::default(),
    }));
    let heartbeat = &waiting.0;
    let begun = Instant::now();
    // All that is kept while it is held: names that the coordinator knows, or it would not be. Until that is
    // known they count as the request's.
    let again = request.again();
    let mut response = ask(context, request, None, Some(heartbeat)).await;
    drop(charge);
    // It may have been held before it failed, with an append that it waited for.
    let Some(limits) = heartbeat.limits().filter(|_| R::is_ok(&response)) else {
        // Not held, however long the log took.
        expedite::<R>(hold, Duration::ZERO, &mut response);
        return response;
    };
    let longest = hold.longest(limits);
    let _counted = Counted::new(&context.broker);
    let over = tokio::time::sleep_until((begun + longest).into());
    tokio::pin!(over);
    loop {
        let released = async {
            if std::future::poll_fn(|cx| heartbeat.poll_due(cx)).await == Due::Soon {
                let released = std::future::poll_fn(|cx| heartbeat.poll_released(cx));
                let _ = tokio::time::timeout(SOON, released).await;
            }
        };
        tokio::select! {
            biased;
            // First: what there is to say goes out with the answer that another request ends, too.
            () = released => {}
            () = async { tokio::select! { () = next.arrived() => {}, () = &mut over => {} } } => {
                if heartbeat.is_due() {
                    // As one that may wait: a SyncGroup is told to join again for what is free.
                    heartbeat.reset();
                    response = ask(context, again, None, Some(heartbeat)).await;
                } else if heartbeat.has_new_epoch() {
                    response = ask(context, again, None, None).await;
                }
                expedite::<R>(hold, begun.elapsed(), &mut response);
                break;
            }
        }
        heartbeat.reset();
        response = ask(context, again.again(), None, Some(heartbeat)).await;
        if heartbeat.limits().is_none() || !R::is_ok(&response) {
            context.broker.metrics.heartbeats_pushed.add(1);
            expedite::<R>(hold, begun.elapsed(), &mut response);
            break;
        }
    }
    let held_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    hold.last.held_ms.store(held_ms, Ordering::Relaxed);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn hold(client: Client, measured: Option<Duration>) -> Hold {
        let last = LastHeartbeat { interval_ms: 5000.into(), ..Default::default() };
        Hold { client, measured, last: Arc::new(last), unheld: 0 }
    }

    /// What is measured of a client that sends every 3 s, counted from its last heartbeat or from the
    /// answer to it, if each is held for as long as it may be.
    fn measure(from_answer: bool, mut measured: Option<Duration>) -> Vec<Duration> {
        let mut now = Instant::now();
        let mut interval = Interval { last: measured.map(|_| now - 3 * SECOND), measured };
        let mut held = Duration::ZERO;
        let mut all = Vec::new();
        for _ in 0..40 {
            measured = interval.arrived(now, held);
            all.extend(measured);
            let hold = hold(Client::OneInFlight, measured);
            let limits = HoldLimits { interval_ms: None, session_timeout_ms: 45_000 };
            held = hold.longest(limits);
            now += if from_answer { held + 3 * SECOND } else { held.max(3 * SECOND) };
        }
        all
    }

    #[test]
    fn the_interval_of_a_client_is_found_whatever_it_counts_from() {
        for from_answer in [false, true] {
            for begins in [None, Some(SECOND / 4), Some(20 * SECOND)] {
                let measured = measure(from_answer, begins);
                let last = *measured.last().unwrap();
                assert!(
                    last.abs_diff(3 * SECOND) < SECOND,
                    "from answer {from_answer}, beginning with {begins:?}: {measured:?}"
                );
            }
        }
    }

    #[test]
    fn a_heartbeat_is_held_well_within_every_timeout() {
        let longest = |client, told, measured, session_timeout_ms| {
            let hold = hold(client, measured);
            hold.longest(HoldLimits { interval_ms: told, session_timeout_ms })
        };
        let minute = Some(60 * SECOND);
        assert_eq!(longest(Client::OneInFlight, Some(5000), None, 45_000), 5 * SECOND);
        assert_eq!(longest(Client::OneInFlight, Some(5000), None, 9_000), 3 * SECOND);
        assert_eq!(
            longest(Client::TimesOutAfterInterval, Some(5000), None, 45_000),
            9 * SECOND / 2
        );
        // Raised since the client was told.
        assert_eq!(
            longest(Client::TimesOutAfterInterval, Some(10_000), None, 45_000),
            9 * SECOND / 2
        );
        assert_eq!(longest(Client::Pipelined, None, minute, 45_000), HOLD_MAX);
        assert_eq!(longest(Client::Pipelined, None, Some(4 * SECOND), 45_000), 5 * SECOND);
        assert_eq!(longest(Client::Pipelined, None, minute, 6_000), 3 * SECOND);
        assert_eq!(longest(Client::AdoptsInterval, Some(3000), None, 6_000), 3 * SECOND);
        assert_eq!(longest(Client::WaitsAtInterval, Some(3000), None, 6_000), 3 * SECOND);
        // No longer than the client was told.
        assert_eq!(longest(Client::WaitsAtInterval, Some(9000), None, 45_000), 5 * SECOND);
        assert_eq!(longest(Client::OneInFlight, None, minute, 6_000), 2 * SECOND);
        assert_eq!(longest(Client::TimesOutAfterInterval, Some(5000), None, 6_000), 2 * SECOND);
        assert_eq!(longest(Client::OneInFlight, None, None, 45_000), Duration::ZERO);
        assert_eq!(longest(Client::OneInFlight, Some(-1), None, -1), Duration::ZERO);
    }

    #[test]
    fn the_next_heartbeat_is_asked_for_in_a_part_of_the_interval() {
        assert_eq!([5000, 20_000, 1000, 60, 0].map(expedited_ms), [250, 1000, 100, 60, 0]);
    }

    #[test]
    fn only_known_clients_are_held() {
        assert_eq!(Client::of("kafkajs", ApiKey::HEARTBEAT), None);
        assert_eq!(Client::of("apache-kafka-java", ApiKey::FETCH), None);
        assert_eq!(Client::of("apache-kafka-java", ApiKey::HEARTBEAT), Some(Client::Pipelined));
    }
}
