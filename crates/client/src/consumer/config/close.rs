//! How a consumer is closed.

use std::time::Duration;

use crate::core::group::OnLeave;

/// How a consumer is closed (KIP-1092): made of a [`Duration`] where only that is to be said.
///
/// ```
/// use std::time::Duration;
/// use thalweg::consumer::{CloseOptions, OnLeave};
///
/// // A member that will be back soon, and wants its partitions back without a rebalance.
/// let options =
///     CloseOptions::within(Duration::from_secs(10)).with_on_leave(OnLeave::RemainInGroup);
/// # drop(options);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CloseOptions {
    /// How long it may take (`timeout`); 30 s.
    pub limit: Duration,
    /// Whether the group is told (`group.membership.operation`); dynamic members tell it.
    pub on_leave: OnLeave,
}

impl Default for CloseOptions {
    fn default() -> CloseOptions {
        CloseOptions::within(Duration::from_secs(30))
    }
}

impl CloseOptions {
    /// Takes `limit` at most; the rest is as usual.
    pub fn within(limit: Duration) -> CloseOptions {
        CloseOptions { limit, on_leave: OnLeave::Default }
    }

    /// See [`Self::on_leave`].
    pub fn with_on_leave(mut self, on_leave: OnLeave) -> CloseOptions {
        self.on_leave = on_leave;
        self
    }
}

impl From<Duration> for CloseOptions {
    fn from(limit: Duration) -> CloseOptions {
        CloseOptions::within(limit)
    }
}
