//! A fetch as a state machine: each state ends in the next one, and the last in an answer.
//!
//! | State | Entered from | Next |
//! |---|---|---|
//! | `Reads` | the first look, which met a cold index | `AwaitsMetadata`, `AwaitsRecords`, `Answers` |
//! | `AwaitsMetadata` | the first look, `Reads` | `AwaitsRecords`, `Answers` |
//! | `AwaitsRecords` | the first look, `Reads`, `AwaitsMetadata` | `Answers` |
//! | `Answers` | the first look, `Reads`, `AwaitsMetadata`, `AwaitsRecords` | `Answered`; `Gathers` if records are cold |
//! | `Gathers` | `Answers` | `Answered`; `LeavesOut` without room to wait for the disk |
//! | `LeavesOut` | `Gathers`, `LeavesOut` | `Answered`; `LeavesOut` if another directory is cold |
//! | `Answered` | `Answers`, `Gathers`, `LeavesOut`; from every state that waits if the broker stops | none |
//!
//! The first look is on the connection's task. A fetch that it finds in `Answers` is answered there, and parked only if
//! records are cold, in `Gathers`.
//!
//! *Invariants*: what a fetch holds while it waits is charged, and the charge goes with work on another thread, which
//! goes on when the client has gone. What a request says of a replica's log is noted with the first look at a partition,
//! and with those that wait for metadata: what is looked for later was asked for then.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::answer::{self, Failed};
use super::plan::{Plan, Terms};
use super::read::{self, Attempt, Cold, Looks};
use super::room::{NO_ROOM_THROTTLE, room_to_read, room_to_wait, throttle_if_nothing};
use crate::api::context::Context;
use crate::net::budget::Charge;
use crate::net::buffers;
use crate::net::connection::LateReply;
use crate::node::pool::PoolError;
use crate::replicas::partition::Registered;
use crate::replicas::wait::Waiter;

/// How long a fetch waits for this broker's metadata at most, if it is behind the fetcher's: the fetcher has learned of a
/// leader change earlier.
const METADATA_WAIT_MAX: Duration = Duration::from_millis(50);

/// Where a parked fetch stands.
pub(super) enum State {
    /// The disk of a directory is waited for, before anything is known.
    Reads { cold: Cold, room: Charge },
    /// This broker's metadata is behind the fetcher's, and newer metadata is waited for.
    AwaitsMetadata { attempt: Attempt, room: Charge },
    /// More records are waited for.
    AwaitsRecords { attempt: Attempt, room: Charge },
    /// There is enough, or the time is over. A fetch that has waited for an index keeps its room for the records.
    Answers { attempt: Attempt, room: Option<Charge>, throttle: Duration },
    /// Records are not in the page cache: their disks are waited for.
    Gathers { attempt: Attempt, cold: Cold, room: Option<Charge>, throttle: Duration },
    /// There is no room to wait for disks: records in the page cache are the answer.
    LeavesOut { attempt: Attempt, cold: Cold },
    /// The end.
    Answered(LateReply),
}

impl State {
    /// The state that follows the first look. `room` is what the look itself has waited with, if it had to.
    pub(super) fn after_first_look(
        context: &Context,
        terms: &Terms,
        plan: &Plan,
        attempt: Attempt,
        mut room: Option<Charge>,
    ) -> State {
        if attempt.waits_for_metadata(terms)
            && let Some(room) = room.take().or_else(|| room_to_wait(context, plan, &attempt))
        {
            return State::AwaitsMetadata { attempt, room };
        }
        if attempt.may_be_answered(terms) {
            return State::Answers { attempt, room, throttle: Duration::ZERO };
        }
        drop(room);
        match room_to_wait(context, plan, &attempt) {
            Some(room) => State::AwaitsRecords { attempt, room },
            None => State::Answers { attempt, room: None, throttle: NO_ROOM_THROTTLE },
        }
    }
}

/// A fetch that is parked.
pub(super) struct ParkedFetch {
    context: Context,
    terms: Terms,
    plan: Arc<Plan>,
}

impl ParkedFetch {
    pub(super) fn new(context: &Context, terms: Terms, plan: Plan) -> ParkedFetch {
        ParkedFetch { context: context.clone(), terms, plan: Arc::new(plan) }
    }

    /// Goes from state to state until the fetch is answered.
    pub(super) async fn run(self, mut state: State) -> LateReply {
        loop {
            state = match state {
                State::Reads { cold, room } => Box::pin(self.read(cold, room)).await,
                State::AwaitsMetadata { attempt, room } => self.await_metadata(attempt, room).await,
                State::AwaitsRecords { attempt, room } => self.await_records(attempt, room).await,
                State::Answers { attempt, room, throttle } => self.answer(attempt, room, throttle),
                State::Gathers { attempt, cold, room, throttle } => {
                    Box::pin(self.gather(attempt, cold, room, throttle)).await
                }
                State::LeavesOut { attempt, cold } => self.leave_out(attempt, cold),
                State::Answered(reply) => return reply,
            };
        }
    }

    async fn read(&self, cold: Cold, mut room: Charge) -> State {
        let attempt = match self.look_waiting(Looks::First, cold, &mut room).await {
            Ok(attempt) => attempt,
            Err(error) => return closed(&error),
        };
        State::after_first_look(&self.context, &self.terms, &self.plan, attempt, Some(room))
    }

    async fn await_metadata(&self, first: Attempt, mut room: Charge) -> State {
        let deadline = Instant::now() + METADATA_WAIT_MAX.min(self.terms.max_wait);
        let mut attempt = first;
        let mut is_late = false;
        while !is_late && attempt.waits_for_metadata(&self.terms) && !self.is_stopping() {
            let services = Arc::clone(&self.context.services);
            let published = services.node.published().notified();
            let waiter = register(&self.terms, &attempt);
            // There is room for one.
            drop(attempt);
            attempt = match self.look_again(Looks::First, None, &mut room).await {
                Ok(attempt) => attempt,
                Err(error) => return closed(&error),
            };
            if attempt.waits_for_metadata(&self.terms) {
                is_late = tokio::select! {
                    () = published => false,
                    () = waiter.woken() => false,
                    () = tokio::time::sleep_until(deadline) => true,
                };
                drop(attempt);
                attempt = match self.look_again(Looks::First, None, &mut room).await {
                    Ok(attempt) => attempt,
                    Err(error) => return closed(&error),
                };
            }
        }
        match attempt.may_be_answered(&self.terms) {
            true => State::Answers { attempt, room: None, throttle: Duration::ZERO },
            false => State::AwaitsRecords { attempt, room },
        }
    }

    async fn await_records(&self, first: Attempt, mut room: Charge) -> State {
        let deadline = Instant::now() + self.terms.max_wait;
        let mut attempt = first;
        loop {
            let missing = attempt.missing(&self.terms);
            let waiter = register(&self.terms, &attempt);
            // What came between the attempt and the registration woke no fetch.
            attempt = match self.look_again(Looks::Again, Some(attempt), &mut room).await {
                Ok(attempt) => attempt,
                Err(error) => return closed(&error),
            };
            let mut is_over = attempt.is_enough(&self.terms) || self.is_stopping();
            if !is_over {
                // No longer missing. What came since the registration is counted twice by this, and
                // wakes early, which costs a look; not to count it would be to wait for too much.
                let found = attempt.found_of(missing, &self.terms);
                waiter.add(i64::try_from(found).unwrap_or(i64::MAX));
                is_over =
                    self.wait_for_more(&attempt, &waiter, deadline).await || self.is_stopping();
                let before = (!waiter.is_changed()).then_some(attempt);
                attempt = match self.look_again(Looks::Again, before, &mut room).await {
                    Ok(attempt) => attempt,
                    Err(error) => return closed(&error),
                };
            }
            drop(waiter);
            let is_enough = attempt.is_enough(&self.terms);
            if !is_enough && is_over {
                self.count_expired();
            }
            if is_over || is_enough {
                // Copies for the answer come from the same budget.
                drop(room);
                return State::Answers { attempt, room: None, throttle: Duration::ZERO };
            }
        }
    }

    fn answer(&self, attempt: Attempt, room: Option<Charge>, throttle: Duration) -> State {
        match self.write(attempt, throttle) {
            Ok(reply) => State::Answered(reply),
            Err((attempt, cold)) => State::Gathers { attempt, cold, room, throttle },
        }
    }

    /// On the pool of the directory that is cold, and on that of the next one.
    async fn gather(
        &self,
        attempt: Attempt,
        mut cold: Cold,
        room: Option<Charge>,
        throttle: Duration,
    ) -> State {
        let Some(mut room) = room.or_else(|| room_to_read(&self.context, &self.plan)) else {
            return State::LeavesOut { attempt, cold };
        };
        let mut attempt = attempt;
        let mut may_wait_for = Vec::new();
        loop {
            may_wait_for.push(cold.0.id());
            let waited = may_wait_for.clone();
            let budget = Arc::clone(self.context.services.front.fetch_budget());
            let read = self.context.services.replicas.disk_reads().of(&cold.0).run(move || {
                let gathered = answer::gather(&budget, &attempt.parts, &waited);
                (attempt, gathered, room)
            });
            let (same, gathered, held) = match read.await {
                Ok(read) => read,
                Err(error) => return closed(&error),
            };
            match gathered {
                Ok(gathered) => {
                    let mut frame = buffers::take_frame();
                    let (context, plan) = (&self.context, &self.plan);
                    let written = answer::write_gathered(
                        context,
                        &self.terms,
                        plan,
                        same,
                        gathered,
                        throttle,
                        &mut frame,
                    );
                    return State::Answered(match written {
                        Ok(written) => written.late_reply(frame, throttle),
                        Err(reason) => LateReply::close(reason),
                    });
                }
                Err(answer::NotGathered::Cold(next)) => {
                    (attempt, cold, room) = (same, next, held);
                }
                Err(answer::NotGathered::Io(error)) => {
                    return State::Answered(LateReply::close(answer::unreadable(&error)));
                }
            }
        }
    }

    fn leave_out(&self, mut attempt: Attempt, cold: Cold) -> State {
        attempt.leave_out(&cold.0);
        let throttle = throttle_if_nothing(&attempt);
        match self.write(attempt, throttle) {
            Ok(reply) => State::Answered(reply),
            Err((attempt, cold)) => State::LeavesOut { attempt, cold },
        }
    }

    /// Writes the answer if no byte of it has to come from a disk.
    fn write(&self, attempt: Attempt, throttle: Duration) -> Result<LateReply, (Attempt, Cold)> {
        let mut frame = buffers::take_frame();
        match answer::write(&self.context, &self.terms, &self.plan, attempt, throttle, &mut frame) {
            Ok(written) => Ok(written.late_reply(frame, throttle)),
            Err(Failed::Close(reason)) => Ok(LateReply::close(reason)),
            Err(Failed::NeedsDisk(attempt, cold)) => Err((attempt, cold)),
        }
    }

    fn is_stopping(&self) -> bool {
        self.context.services.node.is_stopping()
    }

    fn count_expired(&self) {
        let metrics = self.context.services.node.metrics();
        match self.terms.replica {
            None => metrics.consumer_fetches_expired.add(1),
            Some(_) => metrics.follower_fetches_expired.add(1),
        }
    }

    /// Looks again, at what is new since `before` if there is that, off the worker as soon as a disk has to be waited for.
    async fn look_again(
        &self,
        looks: Looks,
        before: Option<Attempt>,
        room: &mut Charge,
    ) -> Result<Attempt, PoolError> {
        let found = match before {
            Some(before) => read::refresh(&self.context, &self.terms, &self.plan, looks, before),
            None => read::look(&self.context, &self.terms, &self.plan, looks, &[]),
        };
        match found {
            Ok(attempt) => Ok(attempt),
            Err(cold) => Box::pin(self.look_waiting(looks, cold, room)).await,
        }
    }

    /// Looks at all partitions on the pool of the directory that is cold, and on that of the next one that is: a stalled
    /// disk takes threads from its own pool only.
    async fn look_waiting(
        &self,
        looks: Looks,
        mut cold: Cold,
        room: &mut Charge,
    ) -> Result<Attempt, PoolError> {
        let mut may_wait_for = Vec::new();
        loop {
            may_wait_for.push(cold.0.id());
            let (context, plan, waited) =
                (self.context.clone(), Arc::clone(&self.plan), may_wait_for.clone());
            let terms = self.terms;
            let pool = self.context.services.replicas.disk_reads().of(&cold.0);
            let empty = Charge::new(self.context.services.front.fetch_budget());
            let held = std::mem::replace(room, empty);
            let work = move || (read::look(&context, &terms, &plan, looks, &waited), held);
            let (found, held) = pool.run(work).await?;
            *room = held;
            match found {
                Ok(attempt) => return Ok(attempt),
                Err(next) => cold = next,
            }
        }
    }

    /// Waits until there may be more to answer; whether the wait is over, however much there is.
    async fn wait_for_more(&self, attempt: &Attempt, waiter: &Waiter, deadline: Instant) -> bool {
        let services = &self.context.services;
        let polls = &services.replicas.shared().short_polls;
        let now_ms = || services.node.clock().monotonic_ms();
        let partitions = attempt.parts.len();
        let sooner = |short: Option<Duration>| {
            short.map_or(deadline, |wait| deadline.min(Instant::now() + wait))
        };
        let Some(replica) = self.terms.replica else {
            let read = attempt.parts.iter().filter_map(|part| part.partition.as_ref());
            let topics = read.map(|partition| &*partition.topic);
            let short = polls.consumer_wait_max(topics, partitions, now_ms());
            return tokio::time::timeout_at(sooner(short), waiter.woken()).await.is_err();
        };
        loop {
            let begun = polls.begun();
            let deadline = sooner(polls.wait_max(replica.id, partitions, now_ms()));
            tokio::select! {
                () = waiter.woken() => return false,
                () = tokio::time::sleep_until(deadline) => return true,
                () = begun => {
                    if polls.wait_max(replica.id, partitions, now_ms()).is_some() {
                        return true;
                    }
                }
            }
        }
    }
}

/// There is nothing to answer with: the connection is closed.
fn closed(error: &PoolError) -> State {
    State::Answered(LateReply::close(error.to_string()))
}

/// The fetch waits in the lists of its partitions.
fn register(terms: &Terms, attempt: &Attempt) -> Registered {
    let missing = attempt.missing(terms);
    let partitions = attempt.parts.iter().filter_map(|part| part.partition.clone()).collect();
    let waiter = Waiter::new(i64::try_from(missing).unwrap_or(i64::MAX));
    match terms.replica {
        None => Registered::consumer(waiter, partitions),
        Some(_) => Registered::replica(waiter, partitions),
    }
}
