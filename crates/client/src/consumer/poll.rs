//! Polling, and the listener, which is called from within polls.

use std::sync::Arc;
use std::time::Duration;

use super::Consumer;
use super::listener::{Hearing, ListenerFuture, Rebalance};
use super::state::group::Event;
use super::state::shared::{Shared, State};
use crate::core::exclusive::Exclusive;
use crate::core::fetch::Records;
use crate::error::Error;

/// A member's application is known to be polling with such a precision.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A poll that waits: the group must not take that for an application that is stuck.
pub(super) struct InPoll<'a>(&'a Arc<Shared>);

impl<'a> InPoll<'a> {
    pub fn begin(shared: &'a Arc<Shared>) -> InPoll<'a> {
        shared.with_group(|group, _| group.in_poll = true);
        InPoll(shared)
    }
}

impl Drop for InPoll<'_> {
    fn drop(&mut self) {
        self.0.with_group(|group, _| group.in_poll = false);
    }
}

impl Consumer {
    /// Waits for records and takes up to `max` of them; never returns none, but for `max` = 0.
    ///
    /// # Errors
    /// [`Error::Partition`] when a partition cannot be read; the others go on with the next poll.
    /// [`Error::Topic`] for a topic that cannot be read at all, [`Error::Authentication`] while a
    /// broker does not trust this client. [`Error::Membership`] when the member is out of its group
    /// for good, from every poll until it subscribes anew. [`Error::NotSubscribed`] when there is
    /// nothing to read, also when a [`Self::close`] or [`Self::unsubscribe`] whose future was
    /// dropped had begun to leave the group; [`Error::Wakeup`] after
    /// [`ConsumerHandle::wake_up`](super::ConsumerHandle::wake_up). What may pass by itself is tried
    /// again instead: [`Self::why`] shows it.
    pub async fn poll(&mut self, max: usize) -> Result<Records, Error> {
        let records = self.try_poll(max)?;
        if !records.is_empty() || max == 0 {
            return Ok(records);
        }
        let shared = Arc::clone(&self.shared);
        let _in_poll = InPoll::begin(&shared);
        loop {
            tokio::select! {
                () = self.hear() => {}
                () = shared.woken.notified() => {}
            }
            let records = self.try_poll(max)?;
            if !records.is_empty() {
                return Ok(records);
            }
            if !self.has_to_hear() {
                shared.arrived.notified().await;
            }
        }
    }

    /// As [`Self::poll`], but returns without records when none came in time.
    ///
    /// # Errors
    /// As for [`Self::poll`].
    pub async fn poll_timeout(&mut self, max: usize, limit: Duration) -> Result<Records, Error> {
        let records = self.try_poll(max)?;
        if !records.is_empty() || max == 0 {
            return Ok(records);
        }
        if limit.is_zero() && !self.has_to_hear() {
            return Ok(records);
        }
        match tokio::time::timeout(limit, self.poll(max)).await {
            Ok(polled) => polled,
            Err(_) => Ok(Records::default()),
        }
    }

    /// Takes up to `max` of the records that are there. A listener is not called by this: after a
    /// rebalance one of the others has to be, or nothing more comes.
    ///
    /// # Errors
    /// As for [`Self::poll`].
    pub fn try_poll(&mut self, max: usize) -> Result<Records, Error> {
        // A member's polls have to be heard of, though not each.
        let is_heard = self.looked_ms.is_none_or(|at| {
            let most = self.shared.config.max_poll_interval / 2;
            let since = Duration::from_millis(self.shared.now_ms() - at);
            since < LOOK_EVERY.min(most)
        });
        if is_heard
            && self.hearing.is_none()
            && let Some(records) = self.loan.take(max)
        {
            return Ok(records);
        }
        let (loan, looked_ms) = (&mut self.loan, &mut self.looked_ms);
        let is_hearing = self.hearing.is_some();
        self.shared.with(|state| {
            if std::mem::take(&mut state.is_woken) {
                return Err(Error::Wakeup);
            }
            if state.is_closed {
                return Err(Error::ConsumerClosed);
            }
            let is_waiting = |state: &State| {
                state.group.as_ref().is_some_and(|group| group.is_waiting_for_listener())
            };
            // What was lost with the membership is heard of first.
            if is_hearing || (state.fatal.is_some() && is_waiting(state)) {
                return Ok(Records::default());
            }
            if let Some(error) = state.next_error() {
                return Err(error);
            }
            if !state.has_something() {
                return Err(Error::NotSubscribed);
            }
            if let Some(group) = &mut state.group {
                // What earlier polls gave is done with.
                state.fetcher.acknowledge();
                if self.shared.config.auto_commit {
                    group.forget_lost(None);
                }
                let now = self.shared.now_ms();
                *looked_ms = Some(now);
                group.polled(now);
                if group.is_waiting_for_listener() {
                    return Ok(Records::default());
                }
                // A close that was dropped goes on; nothing comes after it.
                if group.is_on_its_way_out() {
                    return Err(Error::NotSubscribed);
                }
            }
            let mut records = Records::default();
            state
                .fetcher
                .take(max, &mut records)
                .map_err(|error| Error::Partition(Box::new(error)))?;
            state.fetcher.lend(loan, max);
            if let Some(group) = &mut state.group
                && !records.is_empty()
            {
                // At once, not when the poll returns: what is given up from here on waits until
                // the application is done with these.
                group.in_poll = false;
            }
            Ok(records)
        })
    }

    /// Whether nothing is handed out before the listener has heard of something.
    fn has_to_hear(&self) -> bool {
        self.hearing.is_some()
            || self.shared.with_group(|group, _| group.is_waiting_for_listener()) == Some(true)
    }

    /// Lets the listener hear of all that it has to.
    pub(super) async fn hear(&mut self) {
        loop {
            if self.hearing.is_none() {
                let next = self.shared.with_group(|group, _| group.events.front().cloned());
                let Some(event) = next.flatten() else { return };
                let Some(listener) = self.listener.clone() else { return };
                let (partitions, deadline) = match &event {
                    Event::Assigned(partitions) | Event::Lost(partitions) => (partitions, None),
                    Event::Revoked { partitions, deadline_ms } => {
                        (partitions, Some(self.shared.instant_of(*deadline_ms)))
                    }
                };
                let rebalance = Rebalance {
                    shared: Arc::clone(&self.shared),
                    partitions: partitions.clone(),
                    deadline,
                };
                let kind = event.clone();
                let future: ListenerFuture<'static> = Box::pin(async move {
                    match kind {
                        Event::Assigned(_) => listener.assigned(&rebalance).await,
                        Event::Revoked { .. } => listener.revoked(&rebalance).await,
                        Event::Lost(_) => listener.lost(&rebalance).await,
                    }
                });
                self.hearing = Some(Exclusive::new(Hearing { event, future }));
            }
            let Some(hearing) = &mut self.hearing else { return };
            hearing.get_mut().future.as_mut().await;
            let Some(hearing) = self.hearing.take() else { return };
            let event = hearing.into_inner().event;
            self.shared.with_group(|group, fetcher| group.heard(fetcher, &event));
        }
    }

    /// Keeps the member in its group, and lets the listener hear of what it has to, for as long as
    /// this is polled: records are taken elsewhere, by a handle.
    pub(crate) async fn attend(&mut self) {
        let shared = Arc::clone(&self.shared);
        let _in_poll = InPoll::begin(&shared);
        loop {
            let now = shared.now_ms();
            shared.with_group(|group, _| group.polled(now));
            self.hear().await;
            shared.rebalanced.notified().await;
        }
    }
}
