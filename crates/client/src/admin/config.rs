//! How an administrator's client behaves.

use std::time::Duration;

use crate::options::backoff;
use crate::options::setters::setters;

/// Settings of an [`Admin`](super::Admin). Defaults are those of Kafka's admin client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AdminConfig {
    /// How long one call tries (`default.api.timeout.ms`); 1 minute.
    pub timeout: Duration,
    /// First pause before something is tried again (`retry.backoff.ms`); 100 ms.
    pub retry_backoff: Duration,
    /// Longest such pause (`retry.backoff.max.ms`); 1 s.
    pub retry_backoff_max: Duration,
}

setters! {
    AdminConfig {
        timeout: Duration => with_timeout,
        retry_backoff: Duration => with_retry_backoff,
        retry_backoff_max: Duration => with_retry_backoff_max,
    }
}

impl Default for AdminConfig {
    fn default() -> AdminConfig {
        AdminConfig {
            timeout: Duration::from_secs(60),
            retry_backoff: backoff::RETRY_BACKOFF,
            retry_backoff_max: backoff::RETRY_BACKOFF_MAX,
        }
    }
}
