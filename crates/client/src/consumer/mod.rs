//! A consumer: polls that cost nothing when there is something, nothing fetched twice, one limit on
//! memory.

#![warn(missing_debug_implementations)]

mod calls;
mod close;
mod commits;
mod config;
mod fetching;
mod handle;
mod listener;
mod poll;
mod state;
mod streams;
mod tasks;
mod why;

use std::fmt;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::task::JoinHandle;

pub use commits::pending::PendingCommit;
pub use config::ConsumerConfig;
pub use config::close::CloseOptions;
pub use handle::ConsumerHandle;
pub use listener::{ListenerFuture, Rebalance, RebalanceListener};
pub use why::{Unanswered, Why};

use crate::cluster::Cluster;
use crate::core::exclusive::Exclusive;
use crate::core::fetch::{Budget, Fetcher, Loan, ReadMode};
pub use crate::core::group::{GroupMetadata, OnLeave};
use crate::core::group::{Member, SubscribedTopics};
use crate::core::partition::{Position, TopicPartition};
use crate::error::Error;
use fetching::source;
use listener::Hearing;
use state::shared::Shared;
use tasks::{lookups, membership};

/// Reads partitions. Fetching goes on in the background, within
/// [`ConsumerConfig::fetch_budget`]; a poll takes what is there, without waking anybody.
///
/// Every method may be cancelled by dropping its future: no record is lost by it. A consumer that
/// is dropped commits nothing and leaves its group waiting for the session timeout:
/// [`Self::close`] it.
///
/// As a member of a group:
///
/// ```no_run
/// use thalweg::{Cluster, Consumer, ConsumerConfig, Options};
///
/// # async fn example() -> Result<(), thalweg::Error> {
/// let cluster = Cluster::connect("127.0.0.1:9092", Options::default()).await?;
/// let config = ConsumerConfig::default().with_group_id("billing");
/// let mut consumer = Consumer::new(cluster, config)?;
/// consumer.subscribe(["orders"])?;
/// loop {
///     for record in &consumer.poll(500).await? {
///         println!("{} {:?}", record.offset(), record.value());
///     }
///     // The next poll means that these are done with; `auto_commit` commits them.
/// }
/// # }
/// ```
///
/// Of partitions chosen by hand:
///
/// ```no_run
/// use thalweg::{Cluster, Consumer, ConsumerConfig, Options, TopicPartition};
///
/// # async fn example() -> Result<(), thalweg::Error> {
/// let cluster = Cluster::connect("127.0.0.1:9092", Options::default()).await?;
/// let mut consumer = Consumer::new(cluster, ConsumerConfig::default())?;
/// consumer.assign([(TopicPartition::new("orders", 0), None)])?;
/// loop {
///     for record in &consumer.poll(500).await? {
///         println!("{} {:?}", record.offset(), record.value());
///     }
/// }
/// # }
/// ```
pub struct Consumer {
    shared: Arc<Shared>,
    /// What goes on besides fetching and membership.
    tasks: [JoinHandle<()>; 2],
    membership: Option<JoinHandle<()>>,
    /// Called from within polls, where the group has events for it.
    listener: Option<Arc<dyn RebalanceListener>>,
    /// The listener at work, which a poll that was dropped left in the middle.
    hearing: Option<Exclusive<Hearing>>,
    /// What polls take without a look at the rest.
    loan: Loan,
    /// When the last poll looked at the rest, for a member of a group.
    looked_ms: Option<u64>,
}

impl Consumer {
    /// A consumer of nothing yet. Must be called within a tokio runtime, on which its tasks run.
    ///
    /// # Errors
    /// [`Error::Config`] when settings make no sense.
    pub fn new(cluster: Cluster, config: ConsumerConfig) -> Result<Consumer, Error> {
        config.check_group()?;
        let config = config.bounded();
        let settings = config.fetch_settings()?;
        let lookup = Arc::new(Notify::new());
        let room = Arc::new(Notify::new());
        let told = Arc::clone(&room);
        let budget = Budget::new(config.fetch_budget, move || told.notify_one());
        let fetcher = Fetcher::new(settings, budget);
        let loan = fetcher.loan();
        let shared = Shared::new(cluster, config, fetcher, Arc::clone(&lookup), source::begin);
        let shared = Arc::new(shared);
        let tasks = [
            tokio::spawn(lookups::run(Arc::downgrade(&shared), lookup)),
            tokio::spawn(lookups::watch_room(Arc::downgrade(&shared), room)),
        ];
        Ok(Consumer {
            shared,
            tasks,
            membership: None,
            listener: None,
            hearing: None,
            loan,
            looked_ms: None,
        })
    }

    /// Reads exactly these partitions from now on, each from the position given or, without one,
    /// from where [`ConsumerConfig::group_id`] committed, or else from where
    /// [`ConsumerConfig::auto_offset_reset`] says. Those that were read already stay as they are,
    /// with what is buffered.
    ///
    /// What was read of partitions that are gone now is not committed by this.
    ///
    /// # Errors
    /// [`Error::Config`] for a consumer that subscribes, until [`Self::unsubscribe`]: there the group
    /// assigns.
    pub fn assign(
        &mut self,
        partitions: impl IntoIterator<Item = (TopicPartition, Option<Position>)>,
    ) -> Result<(), Error> {
        let wanted: Vec<_> = partitions.into_iter().collect();
        self.shared.with(|state| {
            if state.is_closed {
                return Err(Error::ConsumerClosed);
            }
            if state.group.as_ref().is_some_and(|group| group.member.is_some()) {
                return Err(Error::Config {
                    name: "group.id".into(),
                    reason: "has a subscription, whose partitions the group assigns".to_owned(),
                });
            }
            let gone: Vec<_> = state
                .fetcher
                .partitions()
                .filter(|known| !wanted.iter().any(|(partition, _)| *partition == ***known))
                .cloned()
                .collect();
            for partition in gone {
                state.fetcher.remove(&partition);
            }
            for (partition, from) in wanted {
                match from {
                    None if state.group.is_some() => state.fetcher.add_committed(partition),
                    from => state.fetcher.add(partition, from),
                }
            }
            // What other consumers of this cluster learned is known here, too.
            state.fetcher.update_leaders(&self.shared.cluster.metadata());
            Ok(())
        })?;
        self.shared.lookup.notify_one();
        Ok(())
    }

    /// Says how records will be taken; before there is any partition.
    pub(crate) fn set_reading(&mut self, reading: ReadMode) {
        self.shared.with(|state| state.fetcher.set_reading(reading));
    }

    /// Joins the group of [`ConsumerConfig::group_id`] and reads what it assigns of these topics,
    /// from where the group committed.
    ///
    /// # Errors
    /// [`Error::Config`] without a group, after [`Self::assign`], or while it is still on its way out
    /// of the group because a [`Self::close`] or [`Self::unsubscribe`] was dropped.
    pub fn subscribe<T: Into<Arc<str>>>(
        &mut self,
        topics: impl IntoIterator<Item = T>,
    ) -> Result<(), Error> {
        let topics = topics.into_iter().map(Into::into).collect();
        self.subscribe_to(SubscribedTopics::Topics(topics))
    }

    /// As [`Self::subscribe`], to the topics that match a pattern, also those that come later. In a
    /// classic group the pattern is a regular expression of this client's, in one of KIP-848 of the
    /// broker's (RE2); both match whole names.
    ///
    /// # Errors
    /// As [`Self::subscribe`], and for a pattern that is none.
    pub fn subscribe_pattern(&mut self, pattern: &str) -> Result<(), Error> {
        self.shared.config.check_pattern(pattern)?;
        self.subscribe_to(SubscribedTopics::Pattern(pattern.to_owned()))
    }

    fn subscribe_to(&mut self, subscription: SubscribedTopics) -> Result<(), Error> {
        let now = self.shared.now_ms();
        let settings = {
            let state = self.shared.lock();
            if state.is_closed {
                return Err(Error::ConsumerClosed);
            }
            let group = state.group.as_ref().ok_or_else(|| Error::Config {
                name: "group.id".into(),
                reason: "is needed to subscribe".to_owned(),
            })?;
            if group.member.is_none() && state.fetcher.partitions().next().is_some() {
                return Err(Error::Config {
                    name: "group.id".into(),
                    reason:
                        "is of no use while partitions are assigned by hand; unassign them first"
                            .to_owned(),
                });
            }
            if group.member.as_ref().is_some_and(Member::is_leaving) {
                return Err(Error::Config {
                    name: "group.id".into(),
                    reason: "is still being left; call `unsubscribe` or `close` again first"
                        .to_owned(),
                });
            }
            let options = self.shared.cluster.options();
            self.shared.config.group_settings(&group.id, options.request_timeout)
        };
        let random = random_bytes()?;
        let started = self.shared.with(|state| {
            state.subscription = Some(subscription.clone());
            state.wants_metadata = true;
            let group = state.group.as_mut()?;
            match &mut group.member {
                Some(member) if !member.is_done() => {
                    member.set_subscription(subscription, now);
                    group.wake.notify_one();
                    None
                }
                _ => {
                    state.fatal = None;
                    group.member = Some(Member::new(settings, subscription, random, now));
                    Some(Arc::clone(&group.wake))
                }
            }
        });
        if let Some(wake) = started {
            let shared = Arc::downgrade(&self.shared);
            let task = tokio::spawn(membership::run(shared, wake));
            if let Some(before) = self.membership.replace(task) {
                // Its member is out of the group; what it still waits for concerns nobody.
                before.abort();
            }
        }
        self.shared.lookup.notify_one();
        Ok(())
    }

    /// Sets what is called when partitions come and go. To be set before subscribing. It is dropped with the consumer, also
    /// where a [`ConsumerHandle`] lives longer.
    ///
    /// # Errors
    /// [`Error::Config`] without a group: there is nothing to hear of.
    pub fn set_listener(&mut self, listener: impl RebalanceListener) -> Result<(), Error> {
        let has_group = self.shared.with_group(|group, _| group.has_listener = true);
        has_group.ok_or_else(|| Error::Config {
            name: "group.id".into(),
            reason: "is needed for a listener, which hears of what a group assigns".to_owned(),
        })?;
        self.listener = Some(Arc::new(listener));
        Ok(())
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(f)
    }
}

/// Bytes that nobody can guess: a member's id is what its requests are believed by.
fn random_bytes() -> Result<[u8; 16], Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| Error::Io {
        addr: "the system's random source".into(),
        source: Arc::new(std::io::Error::other(error.to_string())),
    })?;
    Ok(bytes)
}
