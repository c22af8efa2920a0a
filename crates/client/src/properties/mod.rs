//! Settings by Kafka's names: what `ConsumerConfig`, `ProducerConfig` and `CommonClientConfigs` of
//! Java take, as text.

mod clients;
mod connection;
mod jaas;
mod names;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thalweg_wire::secret;

use crate::error::Error;
use names::Meaning;

/// Settings of connections and clients by Kafka's names (`security.protocol`, `linger.ms`, ...),
/// with values as Java reads them. One set serves connections, consumers and producers: each takes
/// what is its own.
///
/// ```
/// use thalweg::{ConsumerConfig, Options, ProducerConfig, Properties, Unused};
///
/// # fn example() -> Result<(), thalweg::Error> {
/// let properties = Properties::from_iter([
///     ("client.id", "billing"),
///     ("group.id", "billing"),
///     ("linger.ms", "20"),
///     ("linger.millis", "20"),
/// ]);
/// let options = Options::from_properties(&properties)?;
/// let consumer = ConsumerConfig::from_properties(&properties)?;
/// let producer = ProducerConfig::from_properties(&properties)?;
/// assert_eq!(producer.linger.as_millis(), 20);
/// // What nobody takes is for the caller to tell.
/// let unused: Vec<_> = properties.unused().collect();
/// assert_eq!(unused, [("linger.millis", Unused::Unknown)]);
/// # drop((options, consumer));
/// # Ok(())
/// # }
/// # example().unwrap();
/// ```
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Properties {
    values: BTreeMap<String, String>,
}

/// Why a property does nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Unused {
    /// No client of Kafka's has a config of this name.
    Unknown,
    /// Kafka's clients have it, and nothing here needs it.
    NotNeeded,
}

impl Properties {
    /// Sets a property, in place of what was there.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.values.insert(name.into(), value.into());
    }

    /// The properties that neither [`Options`](crate::Options) nor any client takes: whoever gave
    /// them should be told.
    ///
    /// A name that does not look like one of a property is given as `[hidden]`. In a file whose PEM has no backslashes at
    /// the ends of its lines, each line of a private key is such a name.
    pub fn unused(&self) -> impl Iterator<Item = (&str, Unused)> {
        self.values.keys().filter_map(|name| match names::meaning(name) {
            Some(Meaning::Taken | Meaning::Refused(_) | Meaning::RefusedUnless { .. }) => None,
            Some(Meaning::Idle) => Some((name.as_str(), Unused::NotNeeded)),
            None => Some((secret::shown_name(name), Unused::Unknown)),
        })
    }

    /// What was given under a name, without white space around it.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|value| value.trim())
    }

    /// The same, but nothing for what was left empty.
    pub fn filled(&self, name: &str) -> Option<&str> {
        self.text(name).filter(|value| !value.is_empty())
    }

    /// A number.
    ///
    /// # Errors
    /// [`Error::Config`] for what is none, or out of range.
    pub fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>, Error> {
        let parse = |value: &str| value.parse().map_err(|_| refuse(name, value, "a number"));
        self.text(name).map(parse).transpose()
    }

    /// `true` or `false`.
    ///
    /// # Errors
    /// [`Error::Config`] for what is neither.
    pub fn boolean(&self, name: &str) -> Result<Option<bool>, Error> {
        let parse = |value: &str| match value.to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(refuse(name, value, "true or false")),
        };
        self.text(name).map(parse).transpose()
    }

    /// A time in milliseconds.
    ///
    /// # Errors
    /// [`Error::Config`] for what is none.
    pub fn millis(&self, name: &str) -> Result<Option<Duration>, Error> {
        Ok(self.number(name)?.map(Duration::from_millis))
    }

    /// Refuses what changes who is trusted, or what is written, in a way that this cannot follow.
    fn refuse_unsupported(&self) -> Result<(), Error> {
        for (name, value) in &self.values {
            let value = value.trim();
            let (is_harmless, why) = match names::meaning(name) {
                Some(Meaning::Refused(why)) => (value.is_empty(), why),
                Some(Meaning::RefusedUnless { default, why }) => {
                    (value.is_empty() || value.eq_ignore_ascii_case(default), why)
                }
                Some(Meaning::Taken | Meaning::Idle) | None => continue,
            };
            if !is_harmless {
                return Err(wrong(name, format!("is not supported: {why}")));
            }
        }
        Ok(())
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Properties {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Properties {
        let pairs = pairs.into_iter().map(|(name, value)| (name.into(), value.into()));
        Properties { values: pairs.collect() }
    }
}

impl fmt::Debug for Properties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // There are passwords among the values, and lines of keys among the names.
        f.debug_set().entries(self.values.keys().map(|name| secret::shown_name(name))).finish()
    }
}

fn wrong(name: &str, reason: impl Into<String>) -> Error {
    Error::Config { name: name.into(), reason: reason.into() }
}

/// Names a value that makes no sense, unless it may be a secret.
fn refuse(name: &str, value: &str, wanted: &str) -> Error {
    let name = secret::shown_name(name);
    match secret::shown_value(name, value) {
        secret::HIDDEN => wrong(name, format!("is not {wanted}")),
        value => wrong(name, format!("is '{value}', not {wanted}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_make_no_sense_are_named() {
        let properties = Properties::from_iter([("retries", "often"), ("check.crcs", "yes")]);
        let error = properties.number::<u32>("retries").unwrap_err().to_string();
        assert_eq!(error, "config retries is 'often', not a number");
        let error = properties.boolean("check.crcs").unwrap_err().to_string();
        assert_eq!(error, "config check.crcs is 'yes', not true or false");
        assert_eq!(properties.text("acks"), None);
    }

    #[test]
    fn what_cannot_be_followed_is_refused() {
        let mut properties = Properties::default();
        properties.set("ssl.cipher.suites", "");
        properties.refuse_unsupported().unwrap();
        properties.set("ssl.cipher.suites", "TLS_AES_128_GCM_SHA256");
        assert!(properties.refuse_unsupported().is_err());
    }

    #[test]
    fn configs_not_there_yet_are_refused_but_for_their_default() {
        for harmless in ["", "false", " False "] {
            let properties = Properties::from_iter([("partitioner.rack.aware", harmless)]);
            properties.refuse_unsupported().unwrap();
            assert_eq!(properties.unused().count(), 0);
        }
        for value in ["true", "yes"] {
            let properties = Properties::from_iter([("partitioner.rack.aware", value)]);
            let error = crate::Options::from_properties(&properties).unwrap_err().to_string();
            assert!(error.starts_with("config partitioner.rack.aware is not supported"), "{error}");
        }
    }

    #[test]
    fn what_nobody_takes_is_told_and_values_are_not_shown() {
        let names = ["linger.ms", "linger", "send.buffer.bytes", "sasl.jaas.config"];
        let properties = Properties::from_iter(names.map(|name| (name, "secret")));
        let unused: Vec<_> = properties.unused().collect();
        let expected = [("linger", Unused::Unknown), ("send.buffer.bytes", Unused::NotNeeded)];
        assert_eq!(unused, expected);
        assert!(!format!("{properties:?}").contains("secret"));
    }

    /// A PEM whose lines do not end in backslashes is read as one property per line.
    #[test]
    fn lines_of_keys_are_not_shown_as_names() {
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
        let mut properties = Properties::from_iter([(line, ""), ("-----END", "PRIVATE KEY-----")]);
        properties.set("ssl.key.password", line);
        let shown: Vec<_> = properties.unused().collect();
        assert_eq!(shown, [("[hidden]", Unused::Unknown), ("[hidden]", Unused::Unknown)]);
        assert!(!format!("{properties:?}").contains(line));
        for name in ["ssl.key.password", line] {
            let error = properties.number::<u32>(name).unwrap_err();
            assert!(!format!("{error} {error:?}").contains(line), "{error}");
        }
    }
}
