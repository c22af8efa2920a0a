//! Errors of the command line, which repeat what was typed, without what may be a secret.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use thalweg_wire::secret::HIDDEN;

/// Options whose values are configs, which can be passwords and keys.
const PAIRS: [&str; 2] = ["NAME=VALUE", "--password-file"];

/// The error without the value of an option that takes configs, and without an argument that is one too many: behind
/// `thalweg user set-password NAME` it is a password.
pub fn without_secrets(mut error: clap::Error) -> clap::Error {
    let hidden = || ContextValue::String(HIDDEN.to_owned());
    let of = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(of)) => of.clone(),
        _ => String::new(),
    };
    match error.kind() {
        ErrorKind::UnknownArgument if !is_option_name(&of) => {
            error.insert(ContextKind::InvalidArg, hidden());
            // How it would be typed as a value.
            error.remove(ContextKind::Suggested);
        }
        ErrorKind::TooManyValues => {
            error.insert(ContextKind::InvalidValue, hidden());
        }
        _ if PAIRS.iter().any(|pair| of.contains(pair)) => {
            error.insert(ContextKind::InvalidValue, hidden());
        }
        _ => {}
    }
    error
}

/// Whether it looks like an option: a letter, or small letters and hyphens. A password may begin with hyphens.
fn is_option_name(typed: &str) -> bool {
    let is_small = |name: &str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    match (typed.strip_prefix("--"), typed.strip_prefix('-')) {
        (Some(name), _) => is_small(name),
        (None, Some(letter)) => letter.len() == 1 && letter.is_ascii(),
        (None, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::Cli;

    #[test]
    fn usage_errors_do_not_repeat_secrets() {
        for typed in [
            "user set-password alice hunter-22",
            "user set-password alice --hunter-22",
            "user set-password alice --Hunter",
            "user set-password alice ---hunter-2=2",
            "user set-password alice -hunter-22",
            "user delete alice --mechanism SCRAM-SHA-512 hunter-22",
            "config alter broker 1 --set hunter-22",
            "config alter broker 1 --set =hunter-22",
            "config alter broker 1 --append hunter-22",
            "config alter broker 1 --subtract hunter-22",
            "topic create t --config hunter-22",
            "topic list --json=hunter-22",
        ] {
            let words = ["thalweg"].into_iter().chain(typed.split(' '));
            let Err(error) = Cli::try_parse_from(words) else { panic!("{typed}") };
            let error = without_secrets(error);
            let shown = format!("{error} {error:?}");
            assert!(!shown.to_lowercase().contains("hunter"), "{shown}");
        }
        let words = ["thalweg", "topic", "list", "--mistake"];
        let Err(error) = Cli::try_parse_from(words) else { panic!("no error") };
        assert!(without_secrets(error).to_string().contains("--mistake"));
    }
}
