//! Answers to appends that were queued, after a flush where `flush.messages` asks for one.
//!
//! Invariants:
//! - A waiter is called without the log's locks and without its turn.
//! - An append that was taken off the queue is answered once, also if a flush or another waiter panics.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use crate::partition::error::{AppendError, StorageError};
use crate::partition::log::Log;
use crate::partition::pending::KEPT_APPENDS;
use crate::partition::request::{AppendInfo, AppendWaiter, Done, Submitted};

impl Log {
    /// Tells the waiters, after a flush where `flush.messages` asks for one.
    pub(crate) fn hand_out(&self, done: &mut Vec<Done>) {
        if done.is_empty() {
            return;
        }
        if self.is_flush_due(self.log_end_offset()) {
            let now_ms = self.flushed.last_flush_ms();
            if !self.tell_when_flushed(done, now_ms) {
                let flushed = self.flush(now_ms);
                self.tell(done, flushed);
            }
        } else {
            self.tell(done, Ok(()));
        }
        done.shrink_to(KEPT_APPENDS);
    }

    pub(crate) fn flush_then_tell(
        &self,
        info: AppendInfo,
        now_ms: i64,
        waiter: &Arc<dyn AppendWaiter>,
        token: u64,
    ) -> Submitted {
        let mut done = vec![Done { waiter: waiter.clone(), token, result: Ok(info) }];
        if self.tell_when_flushed(&mut done, now_ms) {
            return Submitted::Queued;
        }
        Submitted::Done(self.flush(now_ms).map(|()| info).map_err(AppendError::from))
    }

    /// Has the executor flush the log and tell these; false where there is none. A flush covers all that
    /// was appended before it began, so whatever comes while one waits goes with it.
    fn tell_when_flushed(&self, done: &mut Vec<Done>, now_ms: i64) -> bool {
        if self.home().dir.executor.is_none() {
            return false;
        }
        let has_job = self.unflushed.add(done, now_ms);
        if !has_job {
            self.ask_for_flush();
        }
        true
    }

    fn ask_for_flush(&self) {
        self.run_on_executor(Log::flush_and_tell);
    }

    /// The job of [`Self::tell_when_flushed`]. What came meanwhile gets another one, behind the jobs of
    /// other logs.
    fn flush_and_tell(&self) {
        let (mut done, now_ms) = self.unflushed.take();
        let flush = AssertUnwindSafe(|| self.flush(now_ms));
        let flushed = std::panic::catch_unwind(flush).unwrap_or_else(|_| {
            self.home().dir.metrics.panics.add(1);
            tracing::error!(topic = %self.topic, partition = self.partition, "a flush panicked");
            Err(StorageError::retriable(self.home().dir.path(), "a flush panicked".into()))
        });
        self.tell(&mut done, flushed);
        let is_more = self.unflushed.end_job();
        if is_more {
            self.ask_for_flush();
        }
    }

    /// A waiter that panics keeps nobody else from hearing their result.
    fn tell(&self, done: &mut Vec<Done>, flushed: Result<(), StorageError>) {
        for done in done.drain(..) {
            let result = match (&flushed, done.result) {
                (Err(error), Ok(_)) => Err(AppendError::Storage(error.clone())),
                (_, result) => result,
            };
            let told = AssertUnwindSafe(|| done.waiter.done(done.token, result));
            if std::panic::catch_unwind(told).is_err() {
                self.home().dir.metrics.panics.add(1);
                tracing::error!(topic = %self.topic, partition = self.partition,
                    "an append's waiter panicked; the other waiters get their results");
            }
        }
    }
}
