//! A consumer that makes no progress says why.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use thalweg_wire::{ApiKey, ErrorCode};

use crate::core::code_name::code_name;
use crate::core::fetch::{PartitionStatus, PositionReset};
use crate::core::group::{GroupError, GroupStatus};
use crate::core::partition::TopicPartition;

/// A request that is not answered for so long is worth a word.
const UNANSWERED: Duration = Duration::from_secs(1);

/// Partitions that are listed one by one; of more only the first are.
const LISTED_MAX: usize = 20;

/// What a consumer is doing, or waiting for: see [`Consumer::why`](super::Consumer::why).
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Why {
    /// Its membership, for one that subscribes.
    pub group: Option<GroupStatus>,
    /// What went wrong last with the membership, until something goes right.
    pub group_error: Option<GroupError>,
    /// The oldest request about the membership that is not answered. That a JoinGroup takes a while
    /// is usual: the coordinator holds it back until all members have joined. A heartbeat counts once
    /// the next one is due: until then the coordinator may hold it back, to answer when it has news.
    pub unanswered: Option<Unanswered>,
    /// Topics that it subscribes to, or of which partitions are assigned, that are not there or not
    /// for this client to see; with what a broker says of them.
    pub absent: Vec<(Arc<str>, ErrorCode)>,
    /// Positions that changed although the application did not move them, by partition: the last change
    /// of each since it was assigned or moved.
    pub position_resets: Vec<PositionReset>,
    /// Each partition, in order.
    pub partitions: Vec<(TopicPartition, PartitionStatus)>,
    /// Bytes that count against the budget, and the budget.
    pub budget: (usize, usize),
}

/// A request that was not answered yet.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Unanswered {
    /// What was asked.
    pub api: ApiKey,
    /// Of which broker; `None` where any may answer.
    pub broker: Option<i32>,
    /// How long ago.
    pub since: Duration,
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.broker {
            Some(broker) => write!(f, "broker {broker} has not answered {}", self.api)?,
            None => write!(f, "no broker has answered {}", self.api)?,
        }
        write!(f, " for {} s", self.since.as_secs())
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(group) = &self.group {
            writeln!(f, "group: {group}")?;
        }
        if let Some(error) = &self.group_error {
            writeln!(f, "group: the last error: {error}")?;
        }
        if let Some(asked) = self.unanswered.as_ref().filter(|asked| asked.since >= UNANSWERED) {
            writeln!(f, "group: {asked}")?;
        }
        for (topic, code) in self.absent.iter().take(LISTED_MAX) {
            writeln!(f, "topic {topic}: {}", code_name(*code))?;
        }
        let (used, limit) = self.budget;
        if used >= limit {
            writeln!(
                f,
                "the budget of {limit} bytes is used up, by what is buffered and by records that \
                 the application still holds"
            )?;
        }
        for reset in self.position_resets.iter().take(LISTED_MAX) {
            writeln!(f, "{reset}")?;
        }
        if self.partitions.is_empty() {
            writeln!(f, "no partition is assigned")?;
        }
        for (partition, status) in self.partitions.iter().take(LISTED_MAX) {
            writeln!(f, "{partition}: {status}")?;
        }
        match self.partitions.len().checked_sub(LISTED_MAX) {
            None | Some(0) => Ok(()),
            Some(more) => writeln!(f, "and {more} more"),
        }
    }
}
