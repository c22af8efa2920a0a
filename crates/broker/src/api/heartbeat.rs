//! Heartbeats of members of groups, and how long their answers are kept back
//! (`thalweg.group.heartbeat.push`; why: `thalweg_groups::HeldHeartbeat`).
//!
//! An answer is kept back only if the client is known to stand it, by the name of its software, and sends
//! nothing else on the connection that could not wait: one that fetches or produces on it never has a
//! heartbeat held. It leaves at once when there is something to say, and when another request comes on the
//! connection; at the latest when the next heartbeat is due, and well before the session ends.
//!
//! What a member of the classic protocol calls its heartbeat interval is not told to the coordinator. It is
//! measured by the times at which heartbeats come.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use thalweg_groups::{GroupRequest, GroupResponse, HeldHeartbeat, HoldLimits};
use thalweg_wire::messages::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, HeartbeatRequest,
    HeartbeatResponse,
};
use thalweg_wire::{ApiKey, ErrorCode, Message, Request};

use super::groups::{has_consumer_protocol, submit_heartbeat};
use super::request::Context;
use super::{Handled, encode};
use crate::broker::Broker;
use crate::net::budget::Charge;
use crate::net::frame::NextRequest;

/// Part of the session timeout for which a heartbeat may be held.
const SESSION_PART: u32 = 3;

/// Longest time for which a heartbeat is held. A client gives a request up after its own timeout, 30 s in the
/// Java client, and nobody is told that.
const HOLD_MAX: Duration = Duration::from_secs(10);

/// How a client goes about heartbeats, of those that stand it that one is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Client {
    /// The next heartbeat is sent when it is due, whether or not the last one has been answered.
    ByTheClock,
    /// One heartbeat is in flight at a time.
    OneInFlight,
}

impl Client {
    fn of(software: &str, key: ApiKey) -> Option<Client> {
        match (software, key) {
            ("apache-kafka-java" | "thalweg-bench", ApiKey::HEARTBEAT) => Some(Client::ByTheClock),
            (
                "apache-kafka-java"
                | "librdkafka"
                | "confluent-kafka-python"
                | "thalweg"
                | "thalweg-bench",
                ApiKey::HEARTBEAT | ApiKey::CONSUMER_GROUP_HEARTBEAT,
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
    /// For how long the last one was held, in milliseconds.
    last_held_ms: Option<Arc<AtomicU64>>,
}

impl Heartbeats {
    /// The client has said what it is.
    pub(crate) fn client_is(&mut self, software: &str) {
        let known = [ApiKey::HEARTBEAT, ApiKey::CONSUMER_GROUP_HEARTBEAT];
        let is_known = known.iter().any(|key| Client::of(software, *key).is_some());
        self.software = is_known.then(|| software.into());
    }

    /// A request has come.
    #[inline]
    pub(crate) fn saw(&mut self, key: ApiKey) {
        match key {
            ApiKey::FETCH | ApiKey::PRODUCE => self.carries_records = true,
            // What lies between the heartbeats before and after is no interval.
            ApiKey::JOIN_GROUP => self.interval.last = None,
            _ => {}
        }
    }

    /// How a heartbeat that has just come may be held; `None` if it may not.
    fn came<R: Heartbeat>(&mut self, broker: &Broker, request: &R) -> Option<Hold> {
        let client = Client::of(self.software.as_deref()?, R::API_KEY)?;
        if self.carries_records || !broker.groups.holds_heartbeats(request.group()) {
            return None;
        }
        let now = Instant::now();
        let last_held_ms = self.last_held_ms.get_or_insert_default();
        let held = Duration::from_millis(last_held_ms.swap(0, Ordering::Relaxed));
        let measured = self.interval.came(now, held);
        Some(Hold { client, measured, last_held_ms: Arc::clone(last_held_ms) })
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
    fn came(&mut self, now: Instant, held: Duration) -> Option<Duration> {
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
    last_held_ms: Arc<AtomicU64>,
}

impl Hold {
    /// For how long an answer may be kept back.
    fn longest(&self, limits: HoldLimits) -> Duration {
        let ms = |ms: i32| Duration::from_millis(u64::try_from(ms).unwrap_or(0));
        let interval = match (limits.interval_ms, self.measured, self.client) {
            (Some(told), _, _) => ms(told),
            (None, None, _) => Duration::ZERO,
            // It is answered when the next one comes, which may be late.
            (None, Some(measured), Client::ByTheClock) => measured * 5 / 4,
            // If what was measured is too long, it is corrected step by step.
            (None, Some(measured), Client::OneInFlight) => measured * 9 / 10,
        };
        interval.min(ms(limits.session_timeout_ms) / SESSION_PART).min(HOLD_MAX)
    }
}

/// What is different between the heartbeats of the two protocols.
pub(super) trait Heartbeat:
    Request<Response: Message + Send> + Clone + Send + 'static
{
    fn group(&self) -> &str;
    fn into_request(self) -> GroupRequest;
    fn response(response: GroupResponse) -> Option<Self::Response>;
    fn error(code: ErrorCode) -> Self::Response;
    fn is_served(_: &Context) -> bool {
        true
    }
}

impl Heartbeat for HeartbeatRequest {
    fn group(&self) -> &str {
        &self.group_id
    }

    fn into_request(self) -> GroupRequest {
        GroupRequest::Heartbeat(self)
    }

    fn response(response: GroupResponse) -> Option<HeartbeatResponse> {
        match response {
            GroupResponse::Heartbeat(response) => Some(response),
            _ => None,
        }
    }

    fn error(error_code: ErrorCode) -> HeartbeatResponse {
        HeartbeatResponse { error_code, ..Default::default() }
    }
}

impl Heartbeat for ConsumerGroupHeartbeatRequest {
    fn group(&self) -> &str {
        &self.group_id
    }

    fn into_request(self) -> GroupRequest {
        GroupRequest::ConsumerGroupHeartbeat(self)
    }

    fn response(response: GroupResponse) -> Option<ConsumerGroupHeartbeatResponse> {
        match response {
            GroupResponse::ConsumerGroupHeartbeat(response) => Some(response),
            _ => None,
        }
    }

    fn error(error_code: ErrorCode) -> ConsumerGroupHeartbeatResponse {
        ConsumerGroupHeartbeatResponse { error_code, ..Default::default() }
    }

    fn is_served(context: &Context) -> bool {
        has_consumer_protocol(context)
    }
}

/// Handles a heartbeat. What the coordinator keeps of it has an account of its own.
pub(super) fn handle<R: Heartbeat>(
    context: &Context,
    heartbeats: &mut Heartbeats,
    request: R,
    held: Charge,
) -> Handled {
    let hold = heartbeats.came(&context.broker, &request);
    let context = context.clone();
    let Some(hold) = hold else {
        return Handled::Parked(Box::pin(async move {
            let answer = ask(&context, request, held, None).await;
            encode(&context, &answer)
        }));
    };
    let next = Arc::new(NextRequest::default());
    let comes = Arc::clone(&next);
    let answer = async move {
        let answer = hold_back(&context, request, held, &hold, &comes).await;
        encode(&context, &answer)
    };
    Handled::Held(Box::pin(answer), next)
}

/// Hands a heartbeat to its coordinator.
async fn ask<R: Heartbeat>(
    context: &Context,
    request: R,
    held: Charge,
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

/// Ends what it says of a heartbeat when that is answered, or its connection is gone.
struct Waiting<'w> {
    broker: &'w Broker,
    heartbeat: Arc<HeldHeartbeat>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.heartbeat.end();
        self.broker.metrics.heartbeats_held.down();
    }
}

/// The answer to a heartbeat, when there is something to say or the time is over.
async fn hold_back<R: Heartbeat>(
    context: &Context,
    request: R,
    charge: Charge,
    hold: &Hold,
    next: &NextRequest,
) -> R::Response {
    let heartbeat = Arc::new(HeldHeartbeat::default());
    let begun = Instant::now();
    let mut response = ask(context, request.clone(), charge, Some(&heartbeat)).await;
    let Some(limits) = heartbeat.limits() else { return response };
    let longest = hold.longest(limits);
    context.broker.metrics.heartbeats_held.up();
    let waiting = Waiting { broker: &context.broker, heartbeat };
    let over = tokio::time::sleep_until((begun + longest).into());
    tokio::pin!(over);
    loop {
        let released = std::future::poll_fn(|cx| waiting.heartbeat.poll_released(cx));
        tokio::select! {
            biased;
            () = next.has_come() => break,
            () = released => {}
            () = &mut over => break,
        }
        waiting.heartbeat.reset();
        let charge = Charge::new(&context.broker.request_budget);
        response = ask(context, request.clone(), charge, Some(&waiting.heartbeat)).await;
        if waiting.heartbeat.limits().is_none() {
            context.broker.metrics.heartbeats_pushed.add(1);
            break;
        }
    }
    let held_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    hold.last_held_ms.store(held_ms, Ordering::Relaxed);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// What is measured of a client that sends every 3 s, counted from its last heartbeat or from the
    /// answer to it, if each is held for as long as it may be.
    fn measure(from_answer: bool, mut measured: Option<Duration>) -> Vec<Duration> {
        let mut now = Instant::now();
        let mut interval = Interval { last: measured.map(|_| now - 3 * SECOND), measured };
        let mut held = Duration::ZERO;
        let mut all = Vec::new();
        for _ in 0..40 {
            measured = interval.came(now, held);
            all.extend(measured);
            let hold = Hold { client: Client::OneInFlight, measured, last_held_ms: Arc::default() };
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
            let hold = Hold { client, measured, last_held_ms: Arc::default() };
            hold.longest(HoldLimits { interval_ms: told, session_timeout_ms })
        };
        let minute = Some(60 * SECOND);
        assert_eq!(longest(Client::OneInFlight, Some(5000), None, 45_000), 5 * SECOND);
        assert_eq!(longest(Client::OneInFlight, Some(5000), None, 9_000), 3 * SECOND);
        assert_eq!(longest(Client::ByTheClock, None, minute, 45_000), HOLD_MAX);
        assert_eq!(longest(Client::ByTheClock, None, Some(4 * SECOND), 45_000), 5 * SECOND);
        assert_eq!(longest(Client::ByTheClock, None, minute, 6_000), 2 * SECOND);
        assert_eq!(longest(Client::OneInFlight, None, None, 45_000), Duration::ZERO);
        assert_eq!(longest(Client::OneInFlight, Some(-1), None, -1), Duration::ZERO);
    }

    #[test]
    fn only_known_clients_are_held() {
        assert_eq!(Client::of("kafkajs", ApiKey::HEARTBEAT), None);
        assert_eq!(Client::of("apache-kafka-java", ApiKey::FETCH), None);
        assert_eq!(Client::of("apache-kafka-java", ApiKey::HEARTBEAT), Some(Client::ByTheClock));
    }
}
