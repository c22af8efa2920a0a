//! Properties by Kafka's names, and who took what of them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use thalweg_metadata::config::properties;

use super::error::{CliError, warn};
use super::known::{self, Meaning};

/// Properties as given, with a note of those that somebody took.
#[derive(Clone, Debug, Default)]
pub struct Properties {
    values: BTreeMap<String, String>,
    taken: RefCell<BTreeSet<String>>,
}

impl Properties {
    /// Reads a file as `java.util.Properties` does.
    pub fn read(path: &Path) -> Result<Properties, CliError> {
        let wrong = |why: String| CliError::Usage(format!("{}: {why}", path.display()));
        let bytes = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
        let values = properties::parse(&bytes).map_err(|error| wrong(error.to_string()))?;
        Ok(Properties { values, taken: RefCell::default() })
    }

    /// Sets a property, in place of what the file says.
    pub fn set(&mut self, name: &str, value: &str) {
        self.values.insert(name.to_owned(), value.to_owned());
    }

    /// The same from `name=value`.
    pub fn set_pair(&mut self, pair: &str) -> Result<(), CliError> {
        let (name, value) = pair
            .split_once('=')
            .filter(|(name, _)| !name.trim().is_empty())
            .ok_or_else(|| CliError::Usage(format!("property '{pair}' is not name=value")))?;
        self.set(name.trim(), value);
        Ok(())
    }

    /// What was given under a name, without white space around it; from now on the name counts as
    /// taken.
    pub fn text(&self, name: &str) -> Option<&str> {
        let value = self.values.get(name)?;
        self.taken.borrow_mut().insert(name.to_owned());
        Some(value.trim())
    }

    /// The same, but nothing for what was left empty.
    pub fn filled(&self, name: &str) -> Option<&str> {
        self.text(name).filter(|value| !value.is_empty())
    }

    /// A number.
    pub fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>, CliError> {
        let parse = |value: &str| value.parse().map_err(|_| refuse(name, value, "a number"));
        self.text(name).map(parse).transpose()
    }

    /// `true` or `false`.
    pub fn boolean(&self, name: &str) -> Result<Option<bool>, CliError> {
        let parse = |value: &str| match value.to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(refuse(name, value, "true or false")),
        };
        self.text(name).map(parse).transpose()
    }

    /// A time in milliseconds.
    pub fn millis(&self, name: &str) -> Result<Option<Duration>, CliError> {
        Ok(self.number(name)?.map(Duration::from_millis))
    }

    /// Says on stderr which properties do nothing: those nobody knows, and those that Kafka's
    /// clients have but this does without. What another command would take is passed over, as one
    /// file serves them all.
    pub fn report(&self) {
        let taken = self.taken.borrow();
        for name in self.values.keys().filter(|name| !taken.contains(*name)) {
            match known::meaning(name) {
                Some(Meaning::Taken | Meaning::Refused(_)) => {}
                Some(Meaning::Idle) => warn(&format!("property {name} does nothing here")),
                None => warn(&format!("property {name} is unknown, it does nothing")),
            }
        }
    }

    /// Refuses what changes who is trusted, or what is written, in a way that this cannot follow.
    pub(super) fn refuse_unsupported(&self) -> Result<(), CliError> {
        for (name, value) in &self.values {
            if let Some(Meaning::Refused(why)) = known::meaning(name)
                && !value.trim().is_empty()
            {
                return Err(CliError::Usage(format!("property {name} is not supported: {why}")));
            }
        }
        Ok(())
    }
}

/// Names a value that makes no sense.
pub(super) fn refuse(name: &str, value: &str, wanted: &str) -> CliError {
    CliError::Usage(format!("property {name}: '{value}' is not {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_go_before_the_file_and_takers_are_remembered() {
        let mut properties = Properties::default();
        properties.set("linger.ms", "7");
        properties.set_pair("linger.ms = 9").unwrap();
        properties.set_pair("nobody=knows=this").unwrap();
        assert_eq!(properties.millis("linger.ms").unwrap(), Some(Duration::from_millis(9)));
        assert_eq!(properties.text("acks"), None);
        let taken: Vec<String> = properties.taken.borrow().iter().cloned().collect();
        assert_eq!(taken, ["linger.ms"]);
        for bad in ["x", "=1", " =1"] {
            assert!(properties.set_pair(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn values_that_make_no_sense_are_named() {
        let mut properties = Properties::default();
        properties.set("retries", "often");
        properties.set("check.crcs", "yes");
        let error = properties.number::<u32>("retries").unwrap_err().to_string();
        assert_eq!(error, "property retries: 'often' is not a number");
        let error = properties.boolean("check.crcs").unwrap_err().to_string();
        assert_eq!(error, "property check.crcs: 'yes' is not true or false");
    }

    #[test]
    fn what_cannot_be_followed_is_refused() {
        let mut properties = Properties::default();
        properties.set("ssl.cipher.suites", "");
        properties.refuse_unsupported().unwrap();
        properties.set("ssl.cipher.suites", "TLS_AES_128_GCM_SHA256");
        assert!(properties.refuse_unsupported().is_err());
    }
}
