//! The outcome of a handler: the coordinator's, in the types of groups.
//!
//! [`Outcome`] is generic over the shard, and everything that writes into it would have to know the shard.
//! The shard lends its outcome in this form instead.

use thalweg_coordinator::{AppendKind, Outcome, Shard, TimerChange, Token};

use super::record::GroupRecord;
use super::request::GroupResponse;
use super::then::Then;
use super::timer::GroupTimer;
use crate::jobs::GroupJob;

/// The fields of [`Outcome`] that groups write.
#[derive(Debug)]
pub(crate) struct GroupOutcome {
    /// To be appended to the log, in this order, and replayed.
    pub(crate) records: Vec<GroupRecord>,
    pub(crate) kind: AppendKind,
    completions: Vec<(Token, GroupResponse)>,
    timers: Vec<TimerChange<GroupTimer>>,
    /// The continuation once the records are committed, or have failed.
    pub(crate) then: Option<Then>,
    pub(crate) jobs: Vec<GroupJob>,
}

impl GroupOutcome {
    /// Runs `run` with the outcome of a shard in this form.
    pub(crate) fn lend<S, R>(out: &mut Outcome<S>, run: impl FnOnce(&mut GroupOutcome) -> R) -> R
    where
        S: Shard<
                Record = GroupRecord,
                Response = GroupResponse,
                TimerKey = GroupTimer,
                Then = Then,
                Job = GroupJob,
            >,
    {
        let Outcome { records, kind, completions, timers, then, jobs, effects } =
            std::mem::take(out);
        let mut own = GroupOutcome { records, kind, completions, timers, then, jobs };
        let result = run(&mut own);
        let GroupOutcome { records, kind, completions, timers, then, jobs } = own;
        *out = Outcome { records, kind, completions, timers, then, jobs, effects };
        result
    }

    /// Appends a record.
    pub(crate) fn record(&mut self, record: GroupRecord) {
        self.records.push(record);
    }

    /// Lets the records stand in any number of batches, because each is right by itself.
    pub(crate) fn split(&mut self) {
        self.kind = AppendKind::Own { atomic: false };
    }

    /// Answers a parked request.
    pub(crate) fn complete(&mut self, token: Token, response: GroupResponse) {
        self.completions.push((token, response));
    }

    /// Has a computation run elsewhere.
    pub(crate) fn start(&mut self, job: GroupJob) {
        self.jobs.push(job);
    }

    /// Sets a timer.
    pub(crate) fn schedule(&mut self, key: GroupTimer, delay_ms: u64) {
        self.timers.push(TimerChange::Schedule(key, delay_ms));
    }

    /// Sets a timer, unless it is set already.
    pub(crate) fn schedule_if_absent(&mut self, key: GroupTimer, delay_ms: u64) {
        self.timers.push(TimerChange::ScheduleIfAbsent(key, delay_ms));
    }

    /// Forgets a timer.
    pub(crate) fn cancel(&mut self, key: GroupTimer) {
        self.timers.push(TimerChange::Cancel(key));
    }
}
