//! What can be wrong with a config.

use std::fmt;

pub use thalweg_wire::secret::HIDDEN;

/// A config that cannot be accepted. The message names the config, its value and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The value does not have the config's type, or lies outside what the config allows.
    #[error("invalid value {value} for config {name}: {reason}")]
    InvalidValue {
        /// The config.
        name: String,
        /// The value as it was given; hidden for sensitive configs.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Kafka 4.4 has no such config.
    #[error("unknown {scope} config {name}")]
    UnknownName {
        /// The kind of resource: topic, broker, group, client metrics.
        scope: &'static str,
        /// The config.
        name: String,
    },
    /// A config without default is not set.
    #[error("config {name} is required and not set")]
    Missing {
        /// The config.
        name: &'static str,
    },
    /// Values that are fine alone contradict each other.
    #[error("{0}")]
    Conflict(String),
    /// The config is valid, but ignoring it would be dangerous and Thalweg cannot act on it.
    #[error("config {name}={value} cannot be honoured yet: {reason}")]
    CannotHonour {
        /// The config.
        name: String,
        /// The value as it was given.
        value: String,
        /// What is missing.
        reason: String,
    },
    /// The file is not in the syntax of Java properties.
    #[error("line {line} of the properties is malformed: {reason}")]
    Syntax {
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

impl ConfigError {
    pub(crate) fn invalid(
        name: impl Into<String>,
        value: impl fmt::Display,
        reason: impl Into<String>,
    ) -> Self {
        ConfigError::InvalidValue {
            name: name.into(),
            value: value.to_string(),
            reason: reason.into(),
        }
    }

    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        ConfigError::Conflict(message.into())
    }
}
