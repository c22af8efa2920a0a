//! Kafka's property files, and what is said of properties that do nothing.

use std::path::Path;

use thalweg::{Properties, Unused};
use thalweg_metadata::config::properties;

use super::error::CliError;
use super::stderr::warn;

/// Reads a file as `java.util.Properties` does.
pub(super) fn read(path: &Path) -> Result<Properties, CliError> {
    let wrong = |why: String| CliError::Usage(format!("{}: {why}", path.display()));
    let bytes = std::fs::read(path).map_err(|error| CliError::file(path, &error))?;
    let values = properties::parse(&bytes).map_err(|error| wrong(error.to_string()))?;
    Ok(Properties::from_iter(values))
}

/// Sets a property from `name=value`, in place of what the file says.
pub(super) fn set_pair(properties: &mut Properties, pair: &str) -> Result<(), CliError> {
    let (name, value) = pair
        .split_once('=')
        .filter(|(name, _)| !name.trim().is_empty())
        .ok_or_else(|| CliError::Usage(format!("property '{pair}' is not name=value")))?;
    properties.set(name.trim(), value);
    Ok(())
}

/// Says on stderr which properties do nothing: those nobody knows, and those that Kafka's clients
/// have but this does without. What another command would take is passed over, as one file serves
/// them all.
pub fn report(properties: &Properties) {
    for (name, why) in properties.unused() {
        match why {
            Unused::NotNeeded => warn(&format!("property {name} does nothing here")),
            _ => warn(&format!("property {name} is unknown, it does nothing")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_go_before_the_file() {
        let mut properties = Properties::from_iter([("linger.ms", "7")]);
        set_pair(&mut properties, "linger.ms = 9").unwrap();
        set_pair(&mut properties, "nobody=knows=this").unwrap();
        assert_eq!(properties.text("linger.ms"), Some("9"));
        assert_eq!(properties.text("nobody"), Some("knows=this"));
        for bad in ["x", "=1", " =1"] {
            assert!(set_pair(&mut properties, bad).is_err(), "{bad}");
        }
    }
}
