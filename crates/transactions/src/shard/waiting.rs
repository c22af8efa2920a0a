//! Requests that wait for a transition of their transactional id that is under way, instead of being answered
//! CONCURRENT_TRANSACTIONS, upon which clients ask again after a pause.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use thalweg_coordinator::{Now, Shard, Token};
use thalweg_wire::ErrorCode;

use super::{Decision, Out, TransactionShard, TransactionTimer, append_error};
use crate::request::{TransactionRequest, TransactionResponse};

/// So many requests wait for an id at most: a producer has one in flight, its partitions' leaders one each.
const WAITING_MAX: usize = 64;

/// A broker that asks for several transactions at once asks again by itself after 20 ms, as Kafka's does.
const BROKER_WAIT_MAX_MS: u64 = 20;

#[derive(Debug)]
struct Waiter {
    token: Token,
    request: TransactionRequest,
    until_ms: u64,
}

/// Those that wait for one id, never none.
#[derive(Debug, Default)]
struct Queue {
    waiters: VecDeque<Waiter>,
    /// The first one has begun the transition that is under way, and is to be decided again behind it. If it fails, so
    /// does the request: it would only begin it again.
    has_begun: bool,
}

impl Queue {
    /// Whoever has waited the longest.
    fn pop(&mut self) -> Option<Waiter> {
        self.waiters.pop_front()
    }

    /// When the first one has waited for long enough.
    fn ends_ms(&self) -> Option<u64> {
        self.waiters.iter().map(|it| it.until_ms).min()
    }
}

/// Requests that wait, by transactional id.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    queues: HashMap<Arc<str>, Queue>,
}

impl Waiting {
    /// Whether somebody waits for an id.
    pub(super) fn has(&self, id: &str) -> bool {
        self.queues.contains_key(id)
    }
}

impl TransactionShard {
    /// Lets a request wait that has begun a transition, if `has_begun`, and one that waits for others otherwise; or says
    /// what it is answered.
    pub(super) fn wait(
        &mut self,
        token: Token,
        request: TransactionRequest,
        has_begun: bool,
        now: Now,
        out: &mut Out,
    ) -> Result<(), TransactionResponse> {
        let refused = Self::refuse(&request, ErrorCode::CONCURRENT_TRANSACTIONS);
        let wait_ms = match &request {
            TransactionRequest::Add(add) if add.is_of_broker => {
                self.config.wait_ms.min(BROKER_WAIT_MAX_MS)
            }
            _ => self.config.wait_ms,
        };
        let Some(id) = request.changes().filter(|_| wait_ms > 0) else { return Err(refused) };
        let id: Arc<str> = id.into();
        let queue = self.waiting.queues.entry(Arc::clone(&id)).or_default();
        if queue.waiters.len() >= WAITING_MAX {
            return Err(refused);
        }
        let until_ms = now.monotonic_ms.saturating_add(wait_ms);
        if queue.ends_ms().is_none_or(|ends_ms| until_ms < ends_ms) {
            out.schedule(TransactionTimer::Waited(id), wait_ms);
        }
        queue.waiters.push_back(Waiter { token, request, until_ms });
        queue.has_begun |= has_begun;
        Ok(())
    }

    /// Requests have waited for long enough.
    pub(super) fn waited(&mut self, id: &Arc<str>, now: Now, out: &mut Out) {
        let Some(queue) = self.waiting.queues.get_mut(id) else { return };
        let is_over = |waiter: &Waiter| waiter.until_ms <= now.monotonic_ms;
        queue.has_begun &= !queue.waiters.front().is_some_and(is_over);
        let mut over = Vec::new();
        queue.waiters.retain_mut(|waiter| {
            let is_over = is_over(waiter);
            if is_over {
                let error = ErrorCode::CONCURRENT_TRANSACTIONS;
                over.push((waiter.token, Self::refuse(&waiter.request, error)));
            }
            !is_over
        });
        match queue.ends_ms() {
            Some(ends_ms) => {
                let left_ms = ends_ms.saturating_sub(now.monotonic_ms);
                out.schedule(TransactionTimer::Waited(Arc::clone(id)), left_ms);
            }
            None => {
                self.waiting.queues.remove(id);
            }
        }
        for (token, refused) in over {
            out.complete(token, refused);
        }
    }

    fn answer_waiting(&mut self, id: &Arc<str>, error: ErrorCode, out: &mut Out) {
        let queue = self.waiting.queues.remove(id).unwrap_or_default();
        for Waiter { token, request, .. } in queue.waiters {
            out.complete(token, Self::refuse(&request, error));
        }
    }

    pub(super) fn answer_all_waiting(&mut self, error: ErrorCode, out: &mut Out) {
        let ids: Vec<Arc<str>> = self.waiting.queues.keys().cloned().collect();
        for id in ids {
            self.answer_waiting(&id, error, out);
        }
    }

    /// The transition of an id that was under way is over, in whatever way.
    pub(super) fn resume_one(
        &mut self,
        id: &Arc<str>,
        result: Result<(), ErrorCode>,
        now: Now,
        out: &mut Out,
    ) {
        if let Some(queue) = self.waiting.queues.get_mut(id) {
            let has_begun = std::mem::take(&mut queue.has_begun);
            if let (true, Err(error)) = (has_begun, result)
                && let Some(Waiter { token, request, .. }) = queue.pop()
            {
                out.complete(token, Self::refuse(&request, append_error(error)));
            }
        }
        self.serve(id, now, out);
    }

    /// Whoever waited for an id has its turn if nothing is under way any more, up to the first one that begins another
    /// transition.
    pub(super) fn serve(&mut self, id: &Arc<str>, now: Now, out: &mut Out) {
        while let Some(waiter) = self.waiting.queues.get_mut(id).and_then(Queue::pop) {
            let token = waiter.token;
            match self.decide(&waiter.request, now) {
                Decision::Answer(response) => out.complete(token, response),
                Decision::Write(next, response) => {
                    self.write(id, *next, out);
                    out.complete(token, response);
                    // Its record is not replayed before this is over: the rest has to wait for it.
                    break;
                }
                Decision::WriteAndWait(next) => {
                    self.write(id, *next, out);
                    self.put_back(id, waiter, true);
                    break;
                }
                Decision::Concurrent => {
                    self.put_back(id, waiter, false);
                    break;
                }
            }
        }
        if self.waiting.queues.get(id).is_some_and(|queue| queue.waiters.is_empty()) {
            self.waiting.queues.remove(id);
            out.cancel(TransactionTimer::Waited(Arc::clone(id)));
        }
    }

    fn put_back(&mut self, id: &Arc<str>, waiter: Waiter, has_begun: bool) {
        if let Some(queue) = self.waiting.queues.get_mut(id) {
            queue.waiters.push_front(waiter);
            queue.has_begun = has_begun;
        }
    }
}
