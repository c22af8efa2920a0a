//! What goes wrong between this client and a cluster.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use thalweg_connection::{
    FrameError, Mechanism, NegotiationError, PipelineError, SaslError, VersionError,
};
use thalweg_wire::{ApiKey, DecodeError, EncodeError, ErrorCode};

pub use crate::core::code_name::code_name;
use crate::core::fetch::PartitionError;
use crate::core::group::GroupError;
use crate::core::partition::TopicPartition;
use crate::core::produce::{ProduceError, ProduceErrorKind, TransactionError};

/// An error, with the address and the API it happened on. Cheap to clone: when a connection ends,
/// everybody who waits on it gets the reason.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No connection came about.
    #[error("cannot connect to {addr}: {source}")]
    Connect {
        /// The broker's address.
        addr: Arc<str>,
        /// Why.
        source: Arc<io::Error>,
    },
    /// The broker's versions could not be found out.
    #[error("cannot negotiate with {addr}: {source}")]
    Negotiate {
        /// The broker's address.
        addr: Arc<str>,
        /// Why.
        source: NegotiationError,
    },
    /// The broker does not take this client for who it says it is, or this client the broker. The
    /// next attempt would end in the same way: whoever tries again should do so rarely.
    #[error("{} with {addr} failed: {source}", source.step())]
    Authentication {
        /// The broker's address.
        addr: Arc<str>,
        /// Why.
        source: AuthenticationError,
    },
    /// Something took too long.
    #[error("{what} at {addr} timed out after {} ms", after.as_millis())]
    Timeout {
        /// The broker's address.
        addr: Arc<str>,
        /// What was waited for.
        what: String,
        /// How long.
        after: Duration,
    },
    /// Reading or writing failed.
    #[error("connection to {addr} failed: {source}")]
    Io {
        /// The broker's address.
        addr: Arc<str>,
        /// Why.
        source: Arc<io::Error>,
    },
    /// The broker closed the connection.
    #[error("{addr} closed the connection{}", waiting_for(*.api))]
    Closed {
        /// The broker's address.
        addr: Arc<str>,
        /// The request that was to be answered next.
        api: Option<ApiKey>,
    },
    /// This side closed the connection.
    #[error("connection to {addr} was shut down")]
    ShutDown {
        /// The broker's address.
        addr: Arc<str>,
    },
    /// This side closed the connection, on which nothing had been asked for long
    /// (`connections.max.idle.ms`).
    #[error("connection to {addr} was closed after {} ms without use", after.as_millis())]
    Idle {
        /// The broker's address.
        addr: Arc<str>,
        /// How long.
        after: Duration,
    },
    /// What came is not a frame.
    #[error("{addr} sent what is not a frame: {source}")]
    Frame {
        /// The broker's address.
        addr: Arc<str>,
        /// Why.
        source: FrameError,
    },
    /// A response does not answer what was asked.
    #[error("{addr} sent an answer out of turn: {source}")]
    Pipeline {
        /// The broker's address.
        addr: Arc<str>,
        /// Why.
        source: PipelineError,
    },
    /// A response cannot be read.
    #[error("{api} version {version} from {addr} cannot be read: {source}")]
    Decode {
        /// The broker's address.
        addr: Arc<str>,
        /// The API.
        api: ApiKey,
        /// The response's version.
        version: i16,
        /// Why.
        source: DecodeError,
    },
    /// A request cannot be written in the version that the broker speaks.
    #[error("{api} cannot be sent to {addr} in version {version}: {source}")]
    Encode {
        /// The broker's address.
        addr: Arc<str>,
        /// The API.
        api: ApiKey,
        /// The version.
        version: i16,
        /// Why.
        source: EncodeError,
    },
    /// The broker does not speak a version of the API that this client does.
    #[error("{addr}: {source}")]
    Version {
        /// The broker's address.
        addr: Arc<str>,
        /// Why.
        source: VersionError,
    },
    /// The broker answered with an error that concerns the whole request.
    #[error("{api} was answered by {addr} with {}{}", code_name(*.code), suffix(.message))]
    Broker {
        /// The broker's address.
        addr: Arc<str>,
        /// The API.
        api: ApiKey,
        /// The code.
        code: ErrorCode,
        /// What the broker says about it.
        message: Option<String>,
    },
    /// A setting makes no sense.
    #[error("config {name} {reason}")]
    Config {
        /// Its name.
        name: Arc<str>,
        /// What is wrong with it.
        reason: String,
    },
    /// A group's coordinator refuses.
    #[error("{api} for group {group}{} was answered with {}", of(.partition), code_name(*.code))]
    Group {
        /// The group's id.
        group: Arc<str>,
        /// The API.
        api: ApiKey,
        /// The partition concerned, where it is not all of them.
        partition: Option<Box<TopicPartition>>,
        /// The code.
        code: ErrorCode,
    },
    /// An offset belongs to a partition that was given up.
    #[error("{0} was given up before this: its records are another member's to commit")]
    Revoked(Box<TopicPartition>),
    /// A consumer polls that neither subscribes nor has a partition assigned.
    #[error("the consumer is not subscribed to any topic and has no partition assigned")]
    NotSubscribed,
    /// A partition was to be moved, paused or resumed that is not assigned to the consumer.
    #[error("partition {0} is not assigned to this consumer")]
    NotAssigned(Box<TopicPartition>),
    /// A poll was ended by [`ConsumerHandle::wake_up`](crate::ConsumerHandle::wake_up).
    #[error("the poll was woken up")]
    Wakeup,
    /// The consumer was closed or dropped.
    #[error("the consumer is closed")]
    ConsumerClosed,
    /// An application's own callback failed.
    #[error("{what} failed: {source}")]
    Callback {
        /// Which.
        what: Arc<str>,
        /// Why.
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// This consumer is out of its group for good.
    #[error("out of the group: {0}")]
    Membership(Box<GroupError>),
    /// A partition cannot be read.
    #[error(transparent)]
    Partition(Box<PartitionError>),
    /// A record was not acknowledged.
    #[error(transparent)]
    Produce(#[from] ProduceError),
    /// The producer cannot go on, whatever is sent: the same is the answer to every later call.
    #[error("the producer cannot go on: {0}")]
    Producer(ProduceErrorKind),
    /// A transaction, or a step of it, did not come about.
    #[error(transparent)]
    Transaction(#[from] TransactionError),
    /// A topic that was asked for is not there, or not for this client.
    #[error("topic {topic}: {}", code_name(*.code))]
    Topic {
        /// The topic's name.
        topic: Arc<str>,
        /// What the broker says.
        code: ErrorCode,
    },
    /// An address is not `host:port`.
    #[error("'{0}' is not a list of host:port")]
    BadAddress(String),
    /// None of the bootstrap addresses answered; the reason is that of the last.
    #[error("no bootstrap server answered; the last: {0}")]
    NoBootstrap(Box<Error>),
    /// No broker with this id is known.
    #[error("broker {0} is not part of the cluster's metadata")]
    UnknownBroker(i32),
}

/// Why authentication failed, the broker's or this client's.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthenticationError {
    /// The broker refuses the user name or the password.
    #[error("{}{}", code_name(*.code), suffix(.message))]
    Refused {
        /// The code.
        code: ErrorCode,
        /// What the broker says about it.
        message: Option<String>,
    },
    /// The broker does not offer the mechanism on this listener.
    #[error("mechanism {wanted} is not enabled by the broker, only {}", offered.join(", "))]
    Mechanism {
        /// What was asked for (`sasl.mechanism`).
        wanted: Mechanism,
        /// What is offered (the broker's `sasl.enabled.mechanisms`).
        offered: Vec<String>,
    },
    /// The mechanism failed: among other things, the broker does not know the password either.
    #[error(transparent)]
    Sasl(#[from] SaslError),
    /// TLS failed: one side does not accept the other's certificate, or what the other side speaks
    /// is not TLS.
    #[error("{0}")]
    Tls(Arc<io::Error>),
    /// No certificate could be for this: it is neither a host name nor an IP address.
    #[error("'{0}' is neither a host name nor an IP address")]
    ServerName(String),
}

impl AuthenticationError {
    /// What failed, in the words that both sides' logs have for it.
    fn step(&self) -> &'static str {
        match self {
            AuthenticationError::Tls(_) | AuthenticationError::ServerName(_) => {
                "TLS (SSL) handshake"
            }
            AuthenticationError::Refused { .. }
            | AuthenticationError::Mechanism { .. }
            | AuthenticationError::Sasl(_) => "SASL authentication",
        }
    }
}

impl Error {
    /// Whether this is about who is who, and so about settings rather than the moment.
    pub fn is_authentication(&self) -> bool {
        matches!(self, Error::Authentication { .. })
    }

    /// Whether this says only that the member is on its way to another generation.
    pub(crate) fn is_between_generations(&self) -> bool {
        matches!(
            self,
            Error::Group {
                code: ErrorCode::UNKNOWN_MEMBER_ID
                    | ErrorCode::STALE_MEMBER_EPOCH
                    | ErrorCode::ILLEGAL_GENERATION
                    | ErrorCode::REBALANCE_IN_PROGRESS,
                ..
            }
        )
    }

    /// Whether the same may work later, without anybody changing anything.
    pub fn is_retriable(&self) -> bool {
        match self {
            Error::Connect { .. }
            | Error::Timeout { .. }
            | Error::Io { .. }
            | Error::Closed { .. }
            | Error::ShutDown { .. }
            | Error::Wakeup
            | Error::Idle { .. }
            | Error::UnknownBroker(_) => true,
            // A rebalance ends by itself, while the application polls; whoever is of an earlier
            // generation, or no member, stays that.
            Error::Group { code: ErrorCode::REBALANCE_IN_PROGRESS, .. }
            | Error::Group { code: ErrorCode::STALE_MEMBER_EPOCH, .. } => true,
            // The bootstrap addresses are asked next, or the known brokers again. Java's client never fails on it.
            Error::Negotiate { source: NegotiationError::Refused(code), .. } => {
                *code == ErrorCode::REBOOTSTRAP_REQUIRED
            }
            Error::Broker {
                api: ApiKey::METADATA, code: ErrorCode::REBOOTSTRAP_REQUIRED, ..
            } => true,
            Error::NoBootstrap(last) => last.is_retriable(),
            Error::Broker { code, .. } | Error::Topic { code, .. } | Error::Group { code, .. } => {
                code.is_retriable()
            }
            Error::Partition(error) => error.kind.is_retriable(),
            Error::Produce(error) => error.is_retriable(),
            Error::Transaction(error) => error.is_retriable(),
            Error::Negotiate { .. }
            | Error::Frame { .. }
            | Error::Pipeline { .. }
            | Error::Decode { .. }
            | Error::Encode { .. }
            | Error::Version { .. }
            | Error::Authentication { .. }
            | Error::Config { .. }
            | Error::Revoked(_)
            | Error::NotSubscribed
            | Error::NotAssigned(_)
            | Error::ConsumerClosed
            | Error::Callback { .. }
            | Error::Membership(_)
            | Error::Producer(_)
            | Error::BadAddress(_) => false,
        }
    }

    /// Whether the coordinator that was asked is not, or no longer, the one to ask.
    pub(crate) fn is_coordinator_lost(&self) -> bool {
        match self {
            Error::Group { code, .. } => {
                matches!(*code, ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE)
            }
            Error::Connect { .. }
            | Error::Timeout { .. }
            | Error::Io { .. }
            | Error::Closed { .. }
            | Error::ShutDown { .. }
            | Error::Idle { .. }
            | Error::UnknownBroker(_) => true,
            error => error.is_rebootstrap(),
        }
    }

    /// Whether a broker is not the one that the metadata name, or of another cluster (KIP-1242).
    pub(crate) fn is_rebootstrap(&self) -> bool {
        let code = ErrorCode::REBOOTSTRAP_REQUIRED;
        matches!(self, Error::Negotiate { source: NegotiationError::Refused(of), .. } if *of == code)
    }
}

fn waiting_for(api: Option<ApiKey>) -> String {
    match api {
        None => String::new(),
        // The first request: brokers without a word close connections that are not what their
        // listener is for.
        Some(ApiKey::API_VERSIONS) => {
            " while ApiVersions was to be answered: is security.protocol that of its listener?"
                .to_owned()
        }
        Some(api) => format!(" while {api} was to be answered"),
    }
}

fn of(partition: &Option<Box<TopicPartition>>) -> String {
    partition.as_ref().map_or_else(String::new, |partition| format!(", partition {partition},"))
}

fn suffix(message: &Option<String>) -> String {
    message.as_ref().map_or_else(String::new, |message| format!(": {message}"))
}

#[cfg(test)]
pub(crate) mod tests {
    /// All that an error shows: `Display` and `Debug` of it and of each of its sources.
    pub(crate) fn everything_shown(error: &dyn std::error::Error) -> Vec<String> {
        let mut shown = Vec::new();
        let mut next = Some(error);
        while let Some(error) = next {
            shown.extend([error.to_string(), format!("{error:?}")]);
            next = error.source();
        }
        shown
    }
}
