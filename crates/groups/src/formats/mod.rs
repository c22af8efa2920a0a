//! Formats of Kafka: bytes, hashes, orders and votes that must be the same to the bit.
//!
//! Invariant: every function here is pure, and knows no group.
//!
//! Records are not here: they are messages of the wire, and `model` names them.

mod consumer_protocol;
mod java_string;
mod metadata_hash;
mod partition;
mod topic_regex;
mod vote;

pub use consumer_protocol::{CONSUMER_PROTOCOL_TYPE, subscribed_topics};
pub(crate) use consumer_protocol::{protocol_version, read_assignment, subscription_of};
pub(crate) use java_string::java_string_cmp;
pub use metadata_hash::{group_hash, topic_hash};
pub use partition::{java_string_hash, partition_for};
pub use topic_regex::{InvalidRegex, InvalidRegexKind, TopicMatcher, TopicRegex};
pub(crate) use vote::{
    Offer, bucket, hash_map_buckets, offer_of, offers, offers_without, spread_hash, vote_of, voted,
    winner,
};
