//! Names of topics: what is legal, what collides, what is internal.

use thalweg_wire::ErrorCode;

use crate::ApiError;

/// The topic of the metadata log, which nobody can create.
pub const METADATA_TOPIC: &str = "__cluster_metadata";

/// The topic of the group coordinators.
pub const OFFSETS_TOPIC: &str = "__consumer_offsets";
/// The topic of the transaction coordinators.
pub const TRANSACTIONS_TOPIC: &str = "__transaction_state";
/// The topic of the share coordinators.
pub const SHARE_STATE_TOPIC: &str = "__share_group_state";

/// Topics that belong to the coordinators.
pub const INTERNAL_TOPICS: [&str; 3] = [OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_STATE_TOPIC];

const MAX_NAME_LEN: usize = 249;

/// Whether a topic belongs to a coordinator.
pub fn is_internal_topic(name: &str) -> bool {
    INTERNAL_TOPICS.contains(&name)
}

/// Whether a topic may have this name.
pub fn is_legal_topic_name(name: &str) -> bool {
    check_topic_name(name).is_ok()
}

/// Checks a topic's name.
pub fn check_topic_name(name: &str) -> Result<(), ApiError> {
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    let reason = if name.is_empty() {
        "the empty string is not allowed".to_owned()
    } else if name == "." || name == ".." {
        format!("'{name}' is not allowed")
    } else if name.encode_utf16().count() > MAX_NAME_LEN {
        format!("the length of '{name}' is longer than the max allowed length {MAX_NAME_LEN}")
    } else if !name.bytes().all(legal) {
        format!(
            "'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
        )
    } else {
        return Ok(());
    };
    Err(ApiError::new(
        ErrorCode::INVALID_TOPIC_EXCEPTION,
        format!("Topic name is invalid: {reason}"),
    ))
}

/// The name in which '.' and '_' are the same, for metrics that cannot tell them apart. `None` if
/// the name has neither.
pub(super) fn collision_key(name: &str) -> Option<String> {
    name.contains(['.', '_']).then(|| name.replace('.', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let long = "a".repeat(249);
        for fine in ["a", "A.b_c-9", "...", &long, "__consumer_offsets"] {
            assert_eq!(check_topic_name(fine), Ok(()), "{fine}");
        }
        let longer = "a".repeat(250);
        for bad in ["", ".", "..", "a b", "ä", "a/b", &longer] {
            let refused = check_topic_name(bad).map_err(|error| error.code);
            assert_eq!(refused, Err(ErrorCode::INVALID_TOPIC_EXCEPTION), "{bad}");
        }
        assert_eq!(collision_key("a.b"), collision_key("a_b"));
        assert_eq!(collision_key("ab"), None);
    }
}
