//! Requests that wait for a transition of their transactional id that is under way, instead of being answered
//! CONCURRENT_TRANSACTIONS, upon which clients ask again after a pause.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use thalweg_coordinator::{Now, Shard, Token};
use thalweg_wire::ErrorCode;

use super::{Decision, Out, TransactionShard, TransactionTimer};
use crate::request::{TransactionRequest, TransactionResponse};

/// So many requests wait for an id at most: a producer has one in flight, its partitions' leaders one each.
const WAITING_MAX: usize = 64;

type Queue = VecDeque<(Token, TransactionRequest)>;

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
    /// Lets a request wait, or says what it is answered.
    pub(super) fn wait(
        &mut self,
        token: Token,
        request: TransactionRequest,
        out: &mut Out,
    ) -> Result<(), TransactionResponse> {
        let refused = Self::refuse(&request, ErrorCode::CONCURRENT_TRANSACTIONS);
        let wait_ms = self.config.wait_ms;
        let Some(id) = request.changes().filter(|_| wait_ms > 0) else { return Err(refused) };
        if let Some(queue) = self.waiting.queues.get_mut(id) {
            if queue.len() >= WAITING_MAX {
                return Err(refused);
            }
            queue.push_back((token, request));
        } else {
            let id: Arc<str> = id.into();
            out.schedule(TransactionTimer::Waited(Arc::clone(&id)), wait_ms);
            self.waiting.queues.insert(id, VecDeque::from([(token, request)]));
        }
        Ok(())
    }

    /// Requests have waited for long enough.
    pub(super) fn waited(&mut self, id: &Arc<str>, out: &mut Out) {
        self.answer_waiting(id, ErrorCode::CONCURRENT_TRANSACTIONS, out);
    }

    fn answer_waiting(&mut self, id: &Arc<str>, error: ErrorCode, out: &mut Out) {
        for (token, request) in self.waiting.queues.remove(id).into_iter().flatten() {
            out.complete(token, Self::refuse(&request, error));
        }
    }

    pub(super) fn answer_all_waiting(&mut self, error: ErrorCode, out: &mut Out) {
        let ids: Vec<Arc<str>> = self.waiting.queues.keys().cloned().collect();
        for id in ids {
            self.answer_waiting(&id, error, out);
        }
    }

    /// Whoever waited for an id has its turn if nothing is under way any more, up to the first one that begins another
    /// transition.
    pub(super) fn serve(&mut self, id: &Arc<str>, now: Now, out: &mut Out) {
        while let Some((token, request)) =
            self.waiting.queues.get_mut(id).and_then(Queue::pop_front)
        {
            match self.decide(&request, now) {
                Decision::Answer(response) => out.complete(token, response),
                Decision::Write(next, response) => {
                    self.write(id, *next, out);
                    out.complete(token, response);
                    // Its record is not replayed before this is over: the rest has to wait for it.
                    break;
                }
                Decision::WriteAndWait(next) => {
                    self.write(id, *next, out);
                    self.put_back(id, token, request);
                    break;
                }
                Decision::Concurrent => {
                    self.put_back(id, token, request);
                    break;
                }
            }
        }
        if self.waiting.queues.get(id).is_some_and(Queue::is_empty) {
            self.waiting.queues.remove(id);
            out.cancel(TransactionTimer::Waited(Arc::clone(id)));
        }
    }

    fn put_back(&mut self, id: &Arc<str>, token: Token, request: TransactionRequest) {
        if let Some(queue) = self.waiting.queues.get_mut(id) {
            queue.push_front((token, request));
        }
    }
}
