//! Why a member makes no progress, in words.

use std::fmt;

use thalweg_wire::{ApiKey, ErrorCode};

use super::protocol::ProtocolError;
use crate::core::code_name::code_name;

/// What goes wrong with a membership.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GroupError {
    /// The coordinator answered with an error.
    #[error("{api} was answered with {}{}", code_name(*.code), suffix(.message))]
    Broker {
        /// What was asked.
        api: ApiKey,
        /// The code.
        code: ErrorCode,
        /// What the coordinator says about it.
        message: Option<String>,
    },
    /// The connection to the coordinator failed, or it did not answer in time.
    #[error("{api} was not answered")]
    Connection {
        /// What was asked.
        api: ApiKey,
    },
    /// The coordinator is too old for what is asked.
    #[error("the coordinator does not support what this member needs: {0}")]
    Unsupported(String),
    /// The leader's assignment cannot be read.
    #[error("the assignment made by the group's leader cannot be read: {0}")]
    MalformedAssignment(ProtocolError),
    /// A member's subscription cannot be read; it gets nothing.
    #[error("the subscription of member {member} cannot be read: {source}")]
    MalformedSubscription {
        /// The member's id.
        member: String,
        /// Why.
        source: ProtocolError,
    },
    /// What the member has to tell the group cannot be written.
    #[error("the subscription or assignment cannot be written: {0}")]
    Unwritable(ProtocolError),
    /// The group uses an assignor that this member did not offer.
    #[error("the group uses the assignor '{0}', which this member did not offer")]
    UnknownAssignor(String),
    /// The group is not one of consumers.
    #[error("the group's protocol type is '{0}', not 'consumer'")]
    ProtocolType(String),
    /// No assignor is set.
    #[error("a classic group needs at least one assignor")]
    NoAssignor,
    /// The application has not given partitions up in time.
    #[error("{partitions} partitions were not given up in time and are lost")]
    RevocationTimeout {
        /// How many.
        partitions: usize,
    },
}

impl GroupError {
    /// Whether a request that is answered well shows that it is over.
    pub(super) fn is_of_requests(&self) -> bool {
        matches!(self, GroupError::Broker { .. } | GroupError::Connection { .. })
    }

    /// Whether it is only that the coordinator was not found.
    pub(super) fn is_of_lookup(&self) -> bool {
        match self {
            GroupError::Broker { api, .. } | GroupError::Connection { api } => {
                *api == ApiKey::FIND_COORDINATOR
            }
            _ => false,
        }
    }
}

fn suffix(message: &Option<String>) -> String {
    message.as_ref().map_or_else(String::new, |message| format!(": {message}"))
}

/// What a member is doing, or waiting for.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum GroupStatus {
    /// Its pattern has not been matched against the cluster's topics yet.
    WaitingForTopics,
    /// The group's coordinator is being looked up.
    WaitingForCoordinator,
    /// Topics have to be known before an assignment can be made or taken over.
    WaitingForMetadata {
        /// How many.
        topics: usize,
    },
    /// It entered the group, or wants to, and the round has not begun.
    Joining,
    /// The round has begun, and the assignment is being made.
    Syncing,
    /// The coordinator wants it to have other partitions than it has.
    Reconciling,
    /// The application has not given up partitions yet.
    Revoking {
        /// How many.
        partitions: usize,
        /// When they are lost.
        deadline_ms: u64,
    },
    /// It has its assignment.
    Stable {
        /// How many partitions that is.
        partitions: usize,
    },
    /// It left because the application did not poll for `max.poll.interval.ms`, and comes back at
    /// the next poll.
    PollIntervalExceeded,
    /// It is on its way out.
    Leaving,
    /// It is out, as asked.
    Left,
    /// It is out for good.
    Failed(GroupError),
}

impl fmt::Display for GroupStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GroupStatus::WaitingForTopics => {
                f.write_str("waiting for the topics that match the subscribed pattern")
            }
            GroupStatus::WaitingForCoordinator => f.write_str("waiting for the group coordinator"),
            GroupStatus::WaitingForMetadata { topics } => {
                write!(f, "waiting for metadata of {topics} topics")
            }
            GroupStatus::Joining => f.write_str("joining the group"),
            GroupStatus::Syncing => f.write_str("waiting for the group leader's assignment"),
            GroupStatus::Reconciling => f.write_str("taking over the coordinator's assignment"),
            GroupStatus::Revoking { partitions, .. } => {
                write!(f, "waiting for the application to give up {partitions} partitions")
            }
            GroupStatus::Stable { partitions } => {
                write!(f, "member of the group with {partitions} partitions")
            }
            GroupStatus::PollIntervalExceeded => f.write_str(
                "left the group because max.poll.interval.ms passed without a poll; \
                 the next poll joins again",
            ),
            GroupStatus::Leaving => f.write_str("leaving the group"),
            GroupStatus::Left => f.write_str("left the group"),
            GroupStatus::Failed(error) => write!(f, "out of the group: {error}"),
        }
    }
}
