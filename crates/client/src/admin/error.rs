//! Why something was not done, or is not known.

use std::time::Duration;

use thalweg_wire::{ApiKey, ErrorCode};

use crate::core::code_name::code_name;
use crate::error::Error;

/// Why one of the things asked for failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdminError {
    /// The cluster refuses.
    #[error("{}", refusal(*.code, .message))]
    Refused {
        /// The API.
        api: ApiKey,
        /// The code.
        code: ErrorCode,
        /// What the broker says about it.
        message: Option<String>,
    },
    /// The broker that has to be asked cannot be asked, or not for this.
    #[error(transparent)]
    Client(#[from] Error),
    /// The broker speaks the API, but not in a version that has what is asked for.
    #[error("{what} needs {api} version {needed}, and {addr} speaks up to {found}")]
    Unsupported {
        /// What was asked for.
        what: &'static str,
        /// The API.
        api: ApiKey,
        /// First version that has it.
        needed: i16,
        /// Last version that both sides speak.
        found: i16,
        /// The broker's address.
        addr: String,
    },
    /// Nobody leads the partition, as far as is known.
    #[error("the partition has no leader")]
    NoLeader,
    /// The answer does not mention it.
    #[error("the answer to {0} says nothing of it")]
    Unanswered(ApiKey),
    /// It is not possible to ask for this.
    #[error("{0}")]
    Invalid(String),
    /// Time was over before anybody answered.
    #[error("took longer than {} ms", after.as_millis())]
    Timeout {
        /// How long was tried.
        after: Duration,
    },
}

impl AdminError {
    pub(super) fn check(
        api: ApiKey,
        code: ErrorCode,
        message: Option<&str>,
    ) -> Result<(), AdminError> {
        if code.is_ok() {
            return Ok(());
        }
        let message = message.filter(|text| !text.is_empty()).map(str::to_owned);
        Err(AdminError::Refused { api, code, message })
    }

    /// The broker's code, where it refused.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            AdminError::Refused { code, .. }
            | AdminError::Client(
                Error::Broker { code, .. } | Error::Group { code, .. } | Error::Topic { code, .. },
            ) => Some(*code),
            _ => None,
        }
    }

    /// Whether there is no such topic, partition, group, member, transactional id, broker or the
    /// like.
    pub fn is_not_found(&self) -> bool {
        if matches!(self, AdminError::Client(Error::UnknownBroker(_))) {
            return true;
        }
        self.code().is_some_and(|code| {
            matches!(
                code,
                ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
                    | ErrorCode::UNKNOWN_TOPIC_ID
                    | ErrorCode::GROUP_ID_NOT_FOUND
                    | ErrorCode::TRANSACTIONAL_ID_NOT_FOUND
                    | ErrorCode::RESOURCE_NOT_FOUND
                    | ErrorCode::UNKNOWN_MEMBER_ID
                    | ErrorCode::NO_REASSIGNMENT_IN_PROGRESS
            )
        })
    }

    /// Whether to ask again: with every code that passes by itself. That a topic or a broker is
    /// unknown passes where it is new, so that counts for the first attempts only. What Kafka calls
    /// retriable is more: it has codes that say that there is nothing to do.
    pub(super) fn is_passing(&self, attempt: u32) -> bool {
        match self {
            AdminError::NoLeader => true,
            AdminError::Client(Error::UnknownBroker(_)) => attempt < 3,
            AdminError::Client(error) if self.code().is_none() => error.is_retriable(),
            _ => match self.code() {
                Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION | ErrorCode::UNKNOWN_TOPIC_ID) => {
                    attempt < 3
                }
                Some(code) => matches!(
                    code,
                    ErrorCode::NOT_CONTROLLER
                        | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
                        | ErrorCode::COORDINATOR_NOT_AVAILABLE
                        | ErrorCode::NOT_COORDINATOR
                        | ErrorCode::NOT_LEADER_OR_FOLLOWER
                        | ErrorCode::LEADER_NOT_AVAILABLE
                        | ErrorCode::FENCED_LEADER_EPOCH
                        | ErrorCode::UNKNOWN_LEADER_EPOCH
                        | ErrorCode::OFFSET_NOT_AVAILABLE
                        | ErrorCode::UNSTABLE_OFFSET_COMMIT
                        | ErrorCode::CONCURRENT_TRANSACTIONS
                        | ErrorCode::THROTTLING_QUOTA_EXCEEDED
                        | ErrorCode::KAFKA_STORAGE_ERROR
                        | ErrorCode::NETWORK_EXCEPTION
                        | ErrorCode::REBOOTSTRAP_REQUIRED
                ),
                None => false,
            },
        }
    }
}

fn refusal(code: ErrorCode, message: &Option<String>) -> String {
    match message {
        Some(message) => format!("{}: {message}", code_name(code)),
        None => code_name(code),
    }
}
