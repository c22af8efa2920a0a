//! Patterns of topics that a classic group's consumer subscribes to.

use crate::error::Error;

/// Matches whole names of topics.
pub(in crate::consumer) fn matcher(pattern: &str) -> Result<regex_lite::Regex, Error> {
    regex_lite::Regex::new(&format!("^(?:{pattern})$")).map_err(|error| Error::Config {
        name: "the subscribed pattern".into(),
        reason: format!("is not a regular expression: {error}"),
    })
}
