//! Appends that wait for a flush before they are answered (`flush.messages`).

use parking_lot::Mutex;

use crate::partition::request::Done;

/// Appends that are answered once they are flushed (`flush.messages`), and the job that does both.
///
/// Invariant: an append here has a job that will answer it, and the executor has one such job at a time.
#[derive(Default, Debug)]
pub(crate) struct Unflushed(Mutex<UnflushedAppends>);

#[derive(Default, Debug)]
struct UnflushedAppends {
    done: Vec<Done>,
    now_ms: i64,
    has_job: bool,
}

impl Unflushed {
    /// Takes these. Says whether a job will answer them; otherwise the caller starts one.
    pub(crate) fn add(&self, done: &mut Vec<Done>, now_ms: i64) -> bool {
        let mut appends = self.0.lock();
        appends.done.append(done);
        appends.now_ms = appends.now_ms.max(now_ms);
        std::mem::replace(&mut appends.has_job, true)
    }

    /// What a job answers, and the time of the newest.
    pub(crate) fn take(&self) -> (Vec<Done>, i64) {
        let mut appends = self.0.lock();
        (std::mem::take(&mut appends.done), appends.now_ms)
    }

    /// A job is done. Says whether there are appends for another one, which the caller starts.
    pub(crate) fn end_job(&self) -> bool {
        let mut appends = self.0.lock();
        appends.has_job = !appends.done.is_empty();
        appends.has_job
    }
}
