//! Which protocol a generation uses: each member votes for its best among those that all support.
//!
//! Where Kafka's choice falls to whatever a Java `HashMap` has first, so does ours.

use std::collections::{BTreeMap, BTreeSet};

use crate::formats::winner;
use crate::model::Member;

/// The protocol with the most votes. A tie goes to the one that comes first in a Java `HashMap`,
/// which is what Kafka counts with. `members` stand in Kafka's order.
pub(super) fn select_protocol(members: &[&Member], supported: &BTreeMap<String, usize>) -> String {
    let everybody = members.len();
    let candidates: BTreeSet<&str> = supported
        .iter()
        .filter(|(_, count)| **count == everybody)
        .map(|(name, _)| name.as_str())
        .collect();
    let votes = members.iter().filter_map(|member| member.vote(&candidates));
    winner(votes.map(|name| (name, 1))).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::{bucket, spread_hash};
    use crate::model::Protocol;
    use bytes::Bytes;

    fn member(id: &str, protocols: &[&str]) -> Member {
        Member {
            id: id.into(),
            instance_id: None,
            client_id: "".into(),
            client_host: "".into(),
            rebalance_timeout_ms: 0,
            session_timeout_ms: 0,
            protocols: protocols
                .iter()
                .map(|p| Protocol { name: (*p).into(), metadata: Bytes::new() })
                .collect(),
            assignment: Bytes::new(),
            awaiting_join: None,
            awaiting_sync: None,
            is_new: false,
            sequence: 0,
            spread_hash: 0,
        }
    }

    fn select(protocols: &[&[&str]]) -> String {
        let members: Vec<Member> =
            protocols.iter().enumerate().map(|(i, p)| member(&i.to_string(), p)).collect();
        let mut supported = BTreeMap::new();
        for name in members.iter().flat_map(Member::protocol_names) {
            *supported.entry(name.to_owned()).or_default() += 1;
        }
        select_protocol(&members.iter().collect::<Vec<_>>(), &supported)
    }

    #[test]
    fn only_what_all_support_and_the_most_votes() {
        assert_eq!(select(&[&["range"]]), "range");
        assert_eq!(select(&[&["a", "b"], &["b"]]), "b");
        assert_eq!(select(&[&["a", "b"], &["a", "b"], &["b", "a"]]), "a");
        assert_eq!(select(&[&["x", "a", "b"], &["b", "a"], &["y", "b", "a"]]), "b");
    }

    #[test]
    fn ties_fall_as_in_java() {
        // Buckets of 16: sticky 8, range 9, roundrobin 10, connect 14, cooperative-sticky 15.
        let names = ["sticky", "range", "roundrobin", "connect", "cooperative-sticky"];
        assert_eq!(names.map(|name| bucket(spread_hash(name), 16)), [8, 9, 10, 14, 15]);
        assert_eq!(select(&[&["range", "roundrobin"], &["roundrobin", "range"]]), "range");
        assert_eq!(select(&[&["roundrobin", "range"], &["range", "roundrobin"]]), "range");
        assert_eq!(select(&[&["sticky", "range"], &["range", "sticky"]]), "sticky");
    }
}
