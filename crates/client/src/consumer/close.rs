//! How a consumer ends, or begins anew.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::Consumer;
use super::commits::automatic;
use super::config::close::CloseOptions;
use super::poll::InPoll;
use crate::core::group::{Member, OnLeave};
use crate::error::Error;
use crate::options;

/// The membership's task tells of everything that happens; this is for what else there may be.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

impl Consumer {
    /// Ends it: hands everything over, with a commit if
    /// [`ConsumerConfig::auto_commit`](super::ConsumerConfig::auto_commit) is set, waits for commits
    /// that [`Self::commit_async`] began, and tells the group. Without this the group waits for the
    /// session timeout. There is nothing to wait for, and this does not wait, when the member is
    /// out of its group.
    ///
    /// From then on polls and commits say that it is closed, and it reads nothing.
    ///
    /// If the future is dropped the consumer is not closed. Unless it still waited for such a commit
    /// it goes out of its group all the same, once its listener has heard of it, as long as the consumer
    /// is kept: polls say [`Error::NotSubscribed`] then. Close it again. To limit the time, use
    /// [`CloseOptions::within`] instead of dropping the future.
    ///
    /// # Errors
    /// What went wrong with the last commit; [`Error::Timeout`] when it was not all done in time. It
    /// is closed all the same.
    pub async fn close(&mut self, options: impl Into<CloseOptions> + Send) -> Result<(), Error> {
        let options = options.into();
        let left = self.leave(options.on_leave, options.limit).await;
        self.end();
        left
    }

    /// Reads nothing any more: leaves the group, as [`Self::close`] does, or lets go of what was
    /// assigned by hand. Then [`Self::subscribe`] or [`Self::assign`] may begin anew. Takes
    /// [`ConsumerConfig::default_api_timeout`](super::ConsumerConfig::default_api_timeout) at most. If
    /// the future is dropped it mostly goes out of its group all the same, as with [`Self::close`]:
    /// call this again.
    ///
    /// # Errors
    /// As [`Self::close`]; it reads nothing any more all the same.
    pub async fn unsubscribe(&mut self) -> Result<(), Error> {
        let left = self.leave(OnLeave::Default, self.shared.config.default_api_timeout).await;
        if let Some(membership) = self.membership.take() {
            membership.abort();
        }
        self.hearing = None;
        self.shared.with(|state| {
            state.fetcher.remove_all();
            state.subscription = None;
            state.fatal = None;
            state.errors.clear();
            state.absent.clear();
            if let Some(group) = &mut state.group {
                group.forget_membership();
            }
        });
        left
    }

    async fn leave(&mut self, on_leave: OnLeave, limit: Duration) -> Result<(), Error> {
        let limit = options::bounded(limit);
        let deadline = Instant::now() + limit;
        let pending = timeout_at(deadline, self.shared.pending.idle()).await;
        let now = self.shared.now_ms();
        let shared = Arc::clone(&self.shared);
        let _in_poll = InPoll::begin(&shared);
        let leaving = self.shared.with_group(|group, fetcher| {
            fetcher.acknowledge();
            let member = group.member.as_mut()?;
            member.leave(on_leave, now);
            group.wake.notify_one();
            Some(())
        });
        let left = if leaving.flatten().is_some() {
            timeout_at(deadline, self.until_left(now)).await
        } else {
            // No member: there may be something to commit all the same.
            let all = self.assignment();
            timeout_at(deadline, automatic::commit_acknowledged(&self.shared, &all)).await.map(drop)
        };
        if pending.and(left).is_err() {
            let group = self.shared.config.group_id.clone().unwrap_or_default();
            let addr = format!("the coordinator of group {group}").into();
            let what = "committing and leaving the group".to_owned();
            return Err(Error::Timeout { addr, what, after: limit });
        }
        let auto_commit = self.shared.config.auto_commit;
        let failed = self.shared.with_group(|group, _| {
            let lost = group.take_lost().filter(|_| auto_commit);
            group.commit_error.take().or(lost)
        });
        failed.flatten().map_or(Ok(()), Err)
    }

    async fn until_left(&mut self, now: u64) {
        loop {
            self.hear().await;
            let is_done = self.shared.with_group(|group, _| {
                group.polled(now);
                group.member.as_ref().is_none_or(Member::is_done)
            });
            if is_done != Some(false) {
                return;
            }
            drop(tokio::time::timeout(LOOK_AGAIN, self.shared.arrived.notified()).await);
        }
    }

    /// Stops whatever runs.
    pub(super) fn end(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        if let Some(membership) = self.membership.take() {
            membership.abort();
        }
        self.shared.stop();
        self.loan = self.shared.with(|state| {
            state.is_closed = true;
            // A handle that outlives this is not to keep what was fetched in memory.
            state.fetcher.remove_all();
            state.fetcher.loan()
        });
        // Whoever waits in a poll by way of a handle hears of it.
        self.shared.arrived.notify_one();
    }
}
