//! Heartbeats of members of groups, and how long their answers are kept back
//! (`thalweg.group.heartbeat.push`; why: `thalweg_groups::HeldHeartbeat`).
//!
//! An answer is kept back only if the client is known to stand it, by name and release of its software (but for the
//! first heartbeat of a member), and sends nothing else on the connection that could not wait: one that
//! fetches or produces on it never has a heartbeat held. It leaves at once when there is something to say, and when
//! another request comes on the connection; at the latest when the next heartbeat is due, and well before the session
//! ends.
//!
//! The first heartbeat of a member of the consumer protocol is kept back while its answer would not be the whole of
//! what the member is to get. How long depends on what its client does with the empty assignment that it would get:
//! librdkafka's sends nothing before the next heartbeat is due, so it is kept back until then; Java's acknowledges it
//! at once, and waits for the first answer in a loop that takes a core, so [`FIRST_MAX`] is all, and a part of the
//! assignment goes out [`SOON`] after it is free. A client that is not known may be like either. The first request
//! does not tell them apart: both fill the same fields.
//!
//! The SyncGroup of a member that owns nothing yet, and waits for what others have not given up, is kept back in the
//! same way. Every client waits for that, as at a barrier; it is done for the same ones.
//!
//! What a member of the classic protocol calls its heartbeat interval is not told to the coordinator. It is
//! measured by the times at which heartbeats come.

mod clients;
mod holdable;

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use thalweg_groups::{Due, GroupResponse, HeldHeartbeat, HoldLimits};
use thalweg_wire::{ApiKey, ErrorCode};
use tokio::time::Sleep;

use super::codec::{encode, reply};
use super::context::{Context, Scratch};
use super::groups::{partition_of, submit_again, submit_to};
use crate::coordination::groups::Groups;
use crate::coordination::runtime::Submitted;
use crate::net::budget::Charge;
use crate::net::connection::Handled;
use crate::net::connection::LateReply;
use crate::net::frame::NextRequest;
use crate::node::metrics::Metrics;
use clients::{Client, Software};
pub(super) use holdable::Holdable;

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
///
/// For so long, too, a heartbeat of Java's client is held whose member has not taken what it was told. Before 4.4 a member
/// that does not know yet the name of a topic acknowledges a part, none of it at first, and has to acknowledge once more.
/// It takes nothing until the heartbeat in flight is answered.
const SOON: Duration = Duration::from_millis(25);

/// For how long the first heartbeat is held of a client that waits for its answer in a loop, or may. So is that of a
/// static member: one whose connection closes in the hold cannot join again under its instance id.
const FIRST_MAX: Duration = Duration::from_millis(100);

/// How long before the next heartbeat is due that of any other client is answered. A partition that becomes free then
/// waits for that. A client that knows the interval from before may give its request up when the next one is due.
const FIRST_MARGIN: Duration = Duration::from_millis(200);

/// Shortest interval after which a member is asked for its next heartbeat, in milliseconds.
const EXPEDITED_MS_MIN: i32 = 100;

/// So many heartbeats in a row may be answered at once or soon, as those of a rebalance are, and have the next
/// one expedited. One whose member has something to hear at every heartbeat, or whose client sends something else
/// all the time, would be asked all the time.
const UNHELD_MAX: u32 = 4;

/// For so many halves of an interval the heartbeats of a member that waits for partitions of others are answered with
/// the shortest one, where a longer hold makes its client wait for the answer in a loop. An owner whose heartbeat was
/// not held is told within one interval, and commits before it gives up. After that the partitions will not be free soon.
const WAITED_HALVES: i32 = 3;

/// What was held for less counts as answered at once.
const HELD_MIN: Duration = Duration::from_millis(EXPEDITED_MS_MIN as u64);

/// What a connection knows that matters to heartbeats.
#[derive(Debug, Default)]
pub(crate) struct Heartbeats {
    software: Option<Software>,
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
    /// How many in a row were answered while their member waited for partitions, and have the next one expedited.
    waited: AtomicU32,
    /// How many partitions the member was last told that it is to own.
    told: AtomicUsize,
    /// How many it last said that it owns.
    owned: AtomicUsize,
}

impl LastHeartbeat {
    /// A heartbeat has come. Says whether its member has not taken all that it was told.
    fn lacks<R: Holdable>(&self, request: &R) -> bool {
        if request.joins() {
            self.told.store(0, Ordering::Relaxed);
        }
        if let Some(owned) = request.owned() {
            self.owned.store(owned, Ordering::Relaxed);
        }
        self.owned.load(Ordering::Relaxed) < self.told.load(Ordering::Relaxed)
    }
}

impl Heartbeats {
    /// The client has said what it is.
    pub(crate) fn set_software(&mut self, name: &str, version: &str) {
        self.software = Software::known(name, version);
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
    fn arrived<R: Holdable>(&mut self, groups: &Groups, request: &R) -> Option<Hold> {
        let joins = request.joins();
        let known = self.software.as_ref().and_then(|software| Client::of(software, R::API_KEY));
        let client = known.or(joins.then_some(Client::Unknown))?;
        if self.carries_records || !groups.holds_heartbeats(request.group()) {
            return None;
        }
        if R::API_KEY == ApiKey::SYNC_GROUP {
            // It says nothing about when heartbeats come.
            return Some(Hold::of(client));
        }
        let now = Instant::now();
        let last = self.last.get_or_insert_default();
        let held = Duration::from_millis(last.held_ms.swap(0, Ordering::Relaxed));
        let measured = self.interval.arrived(now, held);
        let lacks = last.lacks(request);
        self.unheld = if held < HELD_MIN { self.unheld.saturating_add(1) } else { 0 };
        Some(Hold {
            joins,
            is_static: request.is_static(),
            lacks,
            measured,
            last: Arc::clone(last),
            unheld: self.unheld,
            ..Hold::of(client)
        })
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
    /// It is the first one of its member.
    joins: bool,
    /// Its member has an instance id.
    is_static: bool,
    /// Its member has not taken all partitions that it was told.
    lacks: bool,
    measured: Option<Duration>,
    last: Arc<LastHeartbeat>,
    /// How many in a row were answered at once, or soon, before.
    unheld: u32,
}

impl Hold {
    /// Of a client that nothing more is known of.
    fn of(client: Client) -> Hold {
        Hold {
            client,
            joins: false,
            is_static: false,
            lacks: false,
            measured: None,
            last: Arc::default(),
            unheld: 0,
        }
    }

    /// The heartbeat has been answered.
    fn answered<R: Holdable>(&self, response: &R::Response) {
        self.last.interval_ms.store(R::interval_ms(response).unwrap_or(0), Ordering::Relaxed);
        if let Some(told) = R::told(response) {
            self.last.told.store(told, Ordering::Relaxed);
        }
    }

    /// For how long an answer may be kept back.
    fn longest(&self, limits: HoldLimits) -> Duration {
        let ms = |ms: i32| Duration::from_millis(u64::try_from(ms).unwrap_or(0));
        let interval = match (limits.interval_ms, self.measured, self.client) {
            // The client may know no interval yet, or one from before.
            (Some(now), ..) if self.joins => {
                let told = self.last.interval_ms.load(Ordering::Relaxed);
                let interval = ms(if told > 0 { now.min(told) } else { now });
                match self.client {
                    Client::AdoptsInterval | Client::TimesOutAfterInterval if !self.is_static => {
                        interval.saturating_sub(FIRST_MARGIN.min(interval / 10))
                    }
                    _ => FIRST_MAX.min(interval),
                }
            }
            (Some(now), _, Client::WaitsAtInterval) if self.lacks => SOON.min(ms(now)),
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
            Client::OneInFlight | Client::TimesOutAfterInterval | Client::Unknown => {
                SESSION_PART_FROM_ANSWER
            }
        };
        let longest = limits.longest_ms.map_or(HOLD_MAX, |ms| Duration::from_millis(ms.into()));
        interval.min(ms(limits.session_timeout_ms) / part).min(longest).min(HOLD_MAX)
    }
}

/// When the next heartbeat is asked for in place of the one that has been answered early, in milliseconds: a
/// small part of the interval, so that members that commit are held most of the time.
fn expedited_ms(interval_ms: i32) -> i32 {
    interval_ms.min(EXPEDITED_MS_MIN.max(interval_ms / 20))
}

/// The same for a member that waits for partitions.
fn shortest_ms(interval_ms: i32) -> i32 {
    interval_ms.min(EXPEDITED_MS_MIN)
}

/// How many heartbeats in a row of a member that waits for partitions are answered with the shortest interval.
fn waited_max(interval_ms: i32) -> u32 {
    let shortest = shortest_ms(interval_ms).max(1);
    u32::try_from(interval_ms / shortest * WAITED_HALVES / 2).unwrap_or(0)
}

/// Handles a request that may be held. The answer to most is there at once, and takes no memory of its own. What
/// the coordinator keeps of the request has an account of its own.
pub(super) fn handle<R: Holdable>(
    context: &Context,
    scratch: &mut Scratch,
    request: R,
    charge: Charge,
) -> Handled {
    if !R::is_served(context) {
        let refused = R::error(ErrorCode::UNSUPPORTED_VERSION);
        return reply(context, scratch, &refused);
    }
    let Some(hold) = scratch.heartbeats.arrived(context.services.coordination.groups(), &request)
    else {
        return match submit(context, request, None) {
            Submitted::Now(response) => {
                reply(context, scratch, &response_of::<R>(context, Some(response)))
            }
            later @ Submitted::Later(_) => {
                let context = context.clone();
                Handled::Parked(Box::pin(async move {
                    let response = response_of::<R>(&context, later.wait().await);
                    encode(&context, &response)
                }))
            }
        };
    };
    // From here on: the shard may hold a heartbeat whose answer waits for the log.
    let heartbeat = match hold.client {
        Client::AdoptsInterval | Client::WaitsAtInterval => HeldHeartbeat::with_acknowledgements(),
        _ => HeldHeartbeat::default(),
    };
    let heartbeat = Arc::new(match hold.joins {
        true => heartbeat.of_newcomer(!hold.client.goes_on_with_a_part()),
        false => heartbeat,
    });
    let mut held = HeldRequest::<R> {
        response: R::error(ErrorCode::NONE),
        again: request.again(),
        context: context.clone(),
        end: HeldEnd { heartbeat, held_since: None },
        next: Arc::default(),
        begun: Instant::now(),
        hold,
    };
    let next = Arc::clone(&held.next);
    match submit(context, request, Some(&held.end.heartbeat)) {
        Submitted::Now(response) => {
            held.response = response_of::<R>(context, Some(response));
            if held.limits().is_none() {
                held.answer_at_once();
                return reply(context, scratch, &held.response);
            }
            Handled::Held(Box::pin(async move { held.answer().await }), next)
        }
        later @ Submitted::Later(_) => {
            let answer = async move {
                held.response = response_of::<R>(&held.context, later.wait().await);
                // All that is kept from here on are names that the coordinator knows, or the heartbeat would not
                // be held. Until then they count as the request's.
                drop(charge);
                held.answer().await
            };
            Handled::Held(Box::pin(answer), next)
        }
    }
}

/// Hands a request to its coordinator.
fn submit<R: Holdable>(
    context: &Context,
    request: R,
    hold: Option<&Arc<HeldHeartbeat>>,
) -> Submitted<GroupResponse> {
    let partition = partition_of(context, request.group());
    submit_to(context, partition, request.into_request(), hold)
}

/// The answer in the version asked in; `None` is that of a coordinator that went away.
fn response_of<R: Holdable>(context: &Context, response: Option<GroupResponse>) -> R::Response {
    match response {
        Some(response) => R::response(response.for_version(context.version))
            .unwrap_or_else(|| R::error(ErrorCode::UNKNOWN_SERVER_ERROR)),
        None => R::error(ErrorCode::NOT_COORDINATOR),
    }
}

/// Tells the coordinator when a heartbeat is answered, or its connection is gone.
struct HeldEnd {
    heartbeat: Arc<HeldHeartbeat>,
    /// When it has been held since.
    held_since: Option<Instant>,
}

impl Drop for HeldEnd {
    fn drop(&mut self) {
        match self.held_since {
            None => self.heartbeat.end(),
            Some(since) => {
                let held_ms = u32::try_from(since.elapsed().as_millis()).unwrap_or(u32::MAX);
                self.heartbeat.abandon(held_ms);
            }
        }
    }
}

/// Counts a held heartbeat for as long as it is.
struct Counted<'c>(&'c Metrics);

impl<'c> Counted<'c> {
    fn new(metrics: &'c Metrics) -> Counted<'c> {
        metrics.heartbeats_held.up();
        Counted(metrics)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.heartbeats_held.down();
    }
}

/// Asks for the next heartbeat soon in an answer that is not kept back any longer: until it comes there is none
/// to hold, and what the member waits for may happen any moment. A client that has been asked so before, and was
/// held, sends it at once: an interval that is the one it knows begins with what it has sent, not anew.
///
/// One that waits at its interval is asked only while its member waits for partitions: its heartbeats are held for no
/// longer than the short interval then. The OffsetFetch that it sends for a part of them ends a hold.
fn expedite<R: Holdable>(hold: &Hold, awaits: bool, held: Duration, response: &mut R::Response) {
    let interval_ms = R::interval_ms(response).unwrap_or(0);
    let is_waiting =
        awaits && hold.last.waited.fetch_add(1, Ordering::Relaxed) < waited_max(interval_ms);
    let to_ms: Option<fn(i32) -> i32> = match hold.client {
        Client::AdoptsInterval => {
            (hold.unheld <= UNHELD_MAX || held >= HELD_MIN).then_some(expedited_ms)
        }
        Client::WaitsAtInterval => is_waiting.then_some(shortest_ms),
        _ => None,
    };
    if !awaits {
        hold.last.waited.store(0, Ordering::Relaxed);
    }
    if let Some(to_ms) = to_ms.filter(|_| R::is_ok(response)) {
        R::expedite_next(response, to_ms);
    }
}

/// A request whose answer may be kept back. There is one for each member whose heartbeat is held.
struct HeldRequest<R: Holdable> {
    context: Context,
    /// What the coordinator has answered last.
    response: R::Response,
    again: R::Again,
    hold: Hold,
    end: HeldEnd,
    next: Arc<NextRequest>,
    begun: Instant,
}

impl<R: Holdable> HeldRequest<R> {
    /// For how long it may be held; `None` if it is to be answered now. It may have been held before it failed,
    /// with an append that it waited for.
    fn limits(&self) -> Option<HoldLimits> {
        self.end.heartbeat.limits().filter(|_| R::is_ok(&self.response))
    }

    /// It is not held, however long the log took.
    fn answer_at_once(&mut self) {
        expedite::<R>(&self.hold, false, Duration::ZERO, &mut self.response);
        self.hold.answered::<R>(&self.response);
    }

    /// The answer, when there is something to say or the time is over.
    async fn answer(&mut self) -> LateReply {
        match self.limits() {
            None => self.answer_at_once(),
            Some(limits) => {
                self.end.held_since = Some(self.begun);
                self.hold_back(limits).await;
                self.end.held_since = None;
                self.hold.answered::<R>(&self.response);
            }
        }
        encode(&self.context, &self.response)
    }

    async fn hold_back(&mut self, limits: HoldLimits) {
        let heartbeat = Arc::clone(&self.end.heartbeat);
        let services = Arc::clone(&self.context.services);
        let _counted = Counted::new(services.node.metrics());
        let longest = self.hold.longest(limits);
        let mut over = pin!(tokio::time::sleep_until((self.begun + longest).into()));
        loop {
            // In a box: few are ever due soon.
            let mut soon: Option<Pin<Box<Sleep>>> = None;
            let is_released = poll_fn(|cx| {
                // First: what there is to say goes out with the answer that another request ends, too.
                match heartbeat.poll_due(cx) {
                    Poll::Ready(Due::Now) => return Poll::Ready(true),
                    Poll::Ready(Due::Soon) => {
                        let soon = soon.get_or_insert_with(|| Box::pin(tokio::time::sleep(SOON)));
                        let is_soon = soon.as_mut().poll(cx).is_ready();
                        if is_soon || heartbeat.poll_released(cx).is_ready() {
                            return Poll::Ready(true);
                        }
                    }
                    Poll::Pending => {}
                }
                if self.next.poll_arrived(cx).is_ready() || over.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(false);
                }
                Poll::Pending
            });
            let is_released = is_released.await;
            if heartbeat.is_superseded() {
                break;
            }
            if is_released {
                heartbeat.reset();
                self.ask_again(true).await;
                if let Some(limits) = self.limits() {
                    // Of a first heartbeat it is known only now what ended holds have taught of its member.
                    let until = self.begun + self.hold.longest(limits);
                    over.as_mut().reset(until.into());
                    continue;
                }
                services.node.metrics().heartbeats_pushed.add(1);
            } else if self.hold.joins {
                // It is answered with what is free by now.
                self.ask_again(false).await;
            } else if heartbeat.is_due() {
                // As one that may wait: a SyncGroup is told to join again for what is free.
                heartbeat.reset();
                self.ask_again(true).await;
            } else if heartbeat.has_new_epoch() {
                self.ask_again(false).await;
            }
            break;
        }
        let held = self.begun.elapsed();
        let awaits = !self.hold.joins && self.end.heartbeat.awaits();
        expedite::<R>(&self.hold, awaits, held, &mut self.response);
        let held_ms = u64::try_from(held.as_millis()).unwrap_or(u64::MAX);
        self.hold.last.held_ms.store(held_ms, Ordering::Relaxed);
    }

    /// Has it handled once more. In a box, as it is not what most of the time is waited for.
    fn ask_again(&mut self, may_hold: bool) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            let heartbeat = &self.end.heartbeat;
            let Some((group, member)) = heartbeat.names() else {
                // It was held, so they are known.
                self.response = R::error(ErrorCode::UNKNOWN_SERVER_ERROR);
                return;
            };
            let partition = partition_of(&self.context, group);
            let request = R::repeat(&self.again, group, member, &self.response).into_request();
            let hold = may_hold.then_some(heartbeat);
            let submitted = submit_again(&self.context, partition, request, hold);
            let response = response_of::<R>(&self.context, submitted.wait().await);
            self.response = if self.hold.joins {
                let last = std::mem::replace(&mut self.response, R::error(ErrorCode::NONE));
                R::follow(response, last)
            } else {
                response
            };
        })
    }
}

#[cfg(test)]
mod tests {
    use thalweg_wire::messages::{
        ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse,
        consumer_group_heartbeat_request, consumer_group_heartbeat_response,
    };

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn hold(client: Client, measured: Option<Duration>) -> Hold {
        let last = LastHeartbeat { interval_ms: 5000.into(), ..Default::default() };
        Hold { measured, last: Arc::new(last), ..Hold::of(client) }
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
            let limits = HoldLimits::of_classic(45_000);
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
            hold.longest(HoldLimits { interval_ms: told, session_timeout_ms, longest_ms: None })
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
    fn a_first_heartbeat_is_held_as_its_client_stands_it() {
        let longest = |client, is_static| {
            let hold = Hold { joins: true, is_static, last: Arc::default(), ..hold(client, None) };
            let limits = HoldLimits {
                interval_ms: Some(5000),
                session_timeout_ms: 45_000,
                longest_ms: None,
            };
            hold.longest(limits)
        };
        for (client, dynamic) in [
            (Client::WaitsAtInterval, FIRST_MAX),
            (Client::Unknown, FIRST_MAX),
            (Client::AdoptsInterval, 5 * SECOND - FIRST_MARGIN),
            (Client::TimesOutAfterInterval, 5 * SECOND - FIRST_MARGIN),
        ] {
            assert_eq!(longest(client, false), dynamic, "{client:?}");
            assert_eq!(longest(client, true), FIRST_MAX, "{client:?}");
        }
    }

    /// Its member joins again, and is told all: what was written when it failed is not certain.
    #[test]
    fn first_heartbeat_that_fails_when_it_is_repeated_is_answered_so() {
        let good = ConsumerGroupHeartbeatResponse { member_epoch: 3, ..Default::default() };
        for code in [ErrorCode::NOT_COORDINATOR, ErrorCode::COORDINATOR_NOT_AVAILABLE] {
            let failed = ConsumerGroupHeartbeatRequest::error(code);
            let answer = ConsumerGroupHeartbeatRequest::follow(failed, good.clone());
            assert_eq!(answer.error_code, code);
            assert!(!ConsumerGroupHeartbeatRequest::is_ok(&answer), "so it is not held");
        }
    }

    fn acknowledges(owned: Option<usize>) -> ConsumerGroupHeartbeatRequest {
        let topic = |owned| consumer_group_heartbeat_request::TopicPartitions {
            partitions: (0..owned).collect(),
            ..Default::default()
        };
        let topic = owned.map(|owned| topic(i32::try_from(owned).unwrap()));
        ConsumerGroupHeartbeatRequest {
            member_epoch: 3,
            topic_partitions: topic.map(|topic| vec![topic]),
            ..Default::default()
        }
    }

    #[test]
    fn java_member_that_lacks_what_it_was_told_is_not_held_for_long() {
        let hold = hold(Client::WaitsAtInterval, None);
        let topic = consumer_group_heartbeat_response::TopicPartitions {
            partitions: vec![4, 5],
            ..Default::default()
        };
        let assignment = consumer_group_heartbeat_response::Assignment {
            topic_partitions: vec![topic],
            ..Default::default()
        };
        let told = |assignment| ConsumerGroupHeartbeatResponse {
            heartbeat_interval_ms: 5000,
            assignment,
            ..Default::default()
        };
        hold.answered::<ConsumerGroupHeartbeatRequest>(&told(Some(assignment)));
        let longest = |owned| {
            let request = acknowledges(owned);
            let lacks = hold.last.lacks(&request);
            let hold = Hold { last: Arc::clone(&hold.last), lacks, ..Hold::of(hold.client) };
            let limits = HoldLimits {
                interval_ms: Some(5000),
                session_timeout_ms: 45_000,
                longest_ms: None,
            };
            let longest = hold.longest(limits);
            hold.answered::<ConsumerGroupHeartbeatRequest>(&told(None));
            longest
        };
        // It says nothing new until it has taken them.
        assert_eq!([Some(0), None, Some(1)].map(longest), [SOON; 3]);
        assert_eq!([Some(2), None].map(longest), [5 * SECOND; 2]);
        // It has given them up.
        hold.answered::<ConsumerGroupHeartbeatRequest>(&told(Some(Default::default())));
        assert_eq!(longest(Some(0)), 5 * SECOND);
    }

    #[test]
    fn java_member_that_waits_for_partitions_is_asked_soon() {
        let hold = hold(Client::WaitsAtInterval, None);
        let told = |awaits| {
            let mut response = ConsumerGroupHeartbeatResponse {
                heartbeat_interval_ms: 5000,
                ..Default::default()
            };
            let held = Duration::from_millis(3);
            expedite::<ConsumerGroupHeartbeatRequest>(&hold, awaits, held, &mut response);
            response.heartbeat_interval_ms
        };
        assert_eq!(told(false), 5000);
        for _ in 0..75 {
            assert_eq!(told(true), EXPEDITED_MS_MIN);
        }
        assert_eq!(told(true), 5000, "the partitions are not about to be given up");
        assert_eq!([told(false), told(true)], [5000, EXPEDITED_MS_MIN]);
    }

    #[test]
    fn the_next_heartbeat_is_asked_for_in_a_part_of_the_interval() {
        assert_eq!([5000, 20_000, 1000, 60, 0].map(expedited_ms), [250, 1000, 100, 60, 0]);
    }
}
