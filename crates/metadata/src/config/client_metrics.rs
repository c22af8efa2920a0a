//! The configuration of a client metrics subscription (KIP-714).

use thalweg_wire::ErrorCode;

use super::properties::Properties;
use super::table::CLIENT_METRICS;
use super::value::{Value, java_trim};
use crate::ApiError;

/// What a subscription can select clients by.
const SELECTORS: [&str; 6] = [
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
];

/// Checks what a subscription is to be configured with.
///
/// Regular expressions are checked for their form only - brackets that close, repetitions that
/// have something to repeat: what Java's engine makes of them is decided where they are compiled.
pub fn validate(name: &str, configs: &Properties) -> Result<(), ApiError> {
    let request = |message: String| Err(ApiError::new(ErrorCode::INVALID_REQUEST, message));
    if name.is_empty() {
        return request("a client metrics subscription must have a name".into());
    }
    for config in configs.keys() {
        if CLIENT_METRICS.get(config).is_none() {
            return request(format!("unknown client metrics config {config}"));
        }
    }
    for key in CLIENT_METRICS.keys() {
        let Some(text) = configs.get(key.name) else { continue };
        match key.parse(text)? {
            Value::Int(interval) if !(100..=3_600_000).contains(&interval) => {
                return request(format!(
                    "invalid value {interval} for config interval.ms: must be 100 to 3600000"
                ));
            }
            Value::List(patterns) if key.name == "match" => {
                for pattern in patterns {
                    check_pattern(&pattern)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_pattern(pattern: &str) -> Result<(), ApiError> {
    let refuse = |reason: &str| {
        Err(ApiError::new(
            ErrorCode::INVALID_CONFIG,
            format!("invalid value {pattern:?} for config match: {reason}"),
        ))
    };
    // Java's split drops empty parts at the end.
    let parts: Vec<&str> = pattern.trim_end_matches('=').split('=').collect();
    let [selector, expression] = parts[..] else {
        return refuse("must be of the form selector=regex");
    };
    if !SELECTORS.contains(&java_trim(selector)) {
        return refuse("there is no such selector");
    }
    if !is_expression(java_trim(expression)) {
        return refuse("the regular expression is malformed");
    }
    Ok(())
}

fn is_expression(text: &str) -> bool {
    let mut chars = text.chars();
    let mut groups = 0usize;
    let mut class = 0usize;
    let mut repeatable = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                if chars.next().is_none() {
                    return false;
                }
                repeatable = true;
            }
            '[' => {
                class += 1;
                // A bracket right behind the opening one stands for itself.
                let mut rest = chars.clone();
                let mut first = rest.next();
                if first == Some('^') {
                    chars.next();
                    first = rest.next();
                }
                if first == Some(']') {
                    chars.next();
                }
            }
            ']' if class > 0 => {
                class -= 1;
                repeatable = true;
            }
            _ if class > 0 => {}
            '(' => {
                groups += 1;
                repeatable = false;
                if chars.as_str().starts_with('?') {
                    chars.next();
                }
            }
            ')' => {
                let Some(open) = groups.checked_sub(1) else { return false };
                groups = open;
                repeatable = true;
            }
            '*' | '+' | '?' if !repeatable => return false,
            '|' => repeatable = false,
            _ => repeatable = true,
        }
    }
    groups == 0 && class == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscriptions() {
        let check = |name: &str, pairs: &[(&str, &str)]| {
            let configs =
                pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
            validate(name, &configs).map_err(|error| error.code)
        };
        assert_eq!(check("a", &[("match", "client_id=a.*b|[]x]+(c)?")]), Ok(()));
        assert_eq!(check("a", &[("interval.ms", "100"), ("metrics", "*")]), Ok(()));
        assert_eq!(check("", &[]), Err(ErrorCode::INVALID_REQUEST));
        assert_eq!(check("a", &[("interval.ms", "99")]), Err(ErrorCode::INVALID_REQUEST));
        assert_eq!(check("a", &[("interval.ms", "x")]), Err(ErrorCode::INVALID_CONFIG));
        assert_eq!(check("a", &[("other", "x")]), Err(ErrorCode::INVALID_REQUEST));
        for bad in ["client_id", "x=y", "client_id=(", "client_id=[", "client_id=*", "client_id=a="]
        {
            let refused = check("a", &[("match", bad)]);
            let fine = bad == "client_id=a=";
            assert_eq!(refused.is_err(), !fine, "{bad}");
        }
    }
}
