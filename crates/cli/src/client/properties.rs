//! Kafka's property files, and what is said of properties that do nothing.

use std::path::Path;

use thalweg::{Properties, Unused};
use thalweg_metadata::config::properties;
use thalweg_wire::secret;

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
        // It is not shown: it may be a password.
        .ok_or_else(|| CliError::Usage("a property (-X) is not name=value".into()))?;
    properties.set(name.trim(), value);
    Ok(())
}

/// Says on stderr which properties do nothing: those nobody knows, and those that Kafka's clients
/// have but this does without. What another command would take is passed over, as one file serves
/// them all.
pub fn report(properties: &Properties) {
    for text in warnings(properties) {
        warn(&text);
    }
}

fn warnings(properties: &Properties) -> Vec<String> {
    let mut texts = Vec::new();
    for (name, why) in properties.unused() {
        let text = match (name, why) {
            (secret::HIDDEN, _) => {
                "a line that is no property does nothing: does a line before it \
                                    lack a backslash at its end?"
                    .to_owned()
            }
            (name, Unused::NotNeeded) => format!("property {name} does nothing here"),
            (name, _) => format!("property {name} is unknown, it does nothing"),
        };
        // Of a key's lines, which are as many names, one warning is enough.
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
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
        for bad in ["secret", "=secret", " =secret"] {
            let error = set_pair(&mut properties, bad).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
        }
    }

    /// A PEM in a property file whose lines do not end in backslashes.
    #[test]
    fn lines_of_keys_are_not_shown() {
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
        let text = format!(
            "ssl.keystore.key=-----BEGIN PRIVATE KEY-----\n{line}\nA{line}\n-----END PRIVATE KEY-----\n"
        );
        let path = std::env::temp_dir().join(format!("thalweg-lines-{}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        let properties = read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let warnings = warnings(&properties);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(!format!("{warnings:?} {properties:?}").contains(line));
    }
}
