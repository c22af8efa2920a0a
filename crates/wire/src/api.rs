//! API numbers and what Kafka 4.4 knows of each.

use std::fmt;

pub use crate::r#gen::api_table::APIS;

/// Number of an API.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApiKey(pub i16);

/// One row of the table of APIs.
#[derive(Clone, Copy, Debug)]
pub struct ApiInfo {
    /// Its number.
    pub key: ApiKey,
    /// Kafka's name, as in `Produce`.
    pub name: &'static str,
    /// First version there is.
    pub min_version: i16,
    /// Last version there is.
    pub max_version: i16,
    /// Last version that is released.
    pub max_stable_version: i16,
    /// First version in the compact form; `i16::MAX` when there is none.
    pub flexible_from: i16,
    /// Whether brokers serve it.
    pub broker: bool,
    /// Whether controllers serve it.
    pub controller: bool,
}

impl ApiKey {
    /// Its row in the table; `None` for numbers Kafka 4.4 does not serve.
    pub fn info(self) -> Option<&'static ApiInfo> {
        APIS.binary_search_by_key(&self, |info| info.key).ok().map(|i| &APIS[i])
    }

    /// Kafka's name; `None` for numbers Kafka 4.4 does not serve.
    pub fn name(self) -> Option<&'static str> {
        self.info().map(|info| info.name)
    }

    /// Version of the request header that goes with `version` of this API. Requests nobody knows
    /// are read as far as version 1 goes.
    pub fn request_header_version(self, version: i16) -> i16 {
        match self.info() {
            Some(info) if version >= info.flexible_from => 2,
            _ => 1,
        }
    }

    /// Version of the response header. ApiVersions always has the oldest, because the client does
    /// not know yet what the broker speaks (KIP-511).
    pub fn response_header_version(self, version: i16) -> i16 {
        match self.info() {
            Some(info) if version >= info.flexible_from && self != ApiKey::API_VERSIONS => 1,
            _ => 0,
        }
    }
}

impl fmt::Display for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "api {}", self.0),
        }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
