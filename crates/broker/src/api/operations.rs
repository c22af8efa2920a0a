//! Operations that a client without an authorizer may do, for the fields that list them (KIP-430).

/// All operations on a cluster, as bits of the operations of Kafka's authorizer.
pub(crate) const CLUSTER_OPERATIONS: i32 = bits(&[5, 7, 8, 9, 10, 11, 12]);
/// The same for a topic.
pub(crate) const TOPIC_OPERATIONS: i32 = bits(&[3, 4, 5, 6, 7, 8, 10, 11]);
/// The same for a group.
pub(crate) const GROUP_OPERATIONS: i32 = bits(&[3, 6, 8, 10, 11]);

const fn bits(operations: &[u32]) -> i32 {
    let mut set = 0;
    let mut at = 0;
    while at < operations.len() {
        set |= 1 << operations[at];
        at += 1;
    }
    set
}
