//! Who a member is, as somebody says who commits for it.

use std::sync::Arc;

/// A member, as the group knows it (Java's `ConsumerGroupMetadata`).
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct GroupMetadata {
    /// The group's id.
    pub group_id: Arc<str>,
    /// The generation of a classic group, or the member's epoch in one of KIP-848; -1 while it is
    /// in none.
    pub generation_id: i32,
    /// The member's id; empty while it has none.
    pub member_id: String,
    /// `group.instance.id` of a static member.
    pub group_instance_id: Option<String>,
    /// The member was thrown out, and the application has not heard of it: it may have come back since, but
    /// what the application has in hand is of the membership before.
    pub(crate) is_lost: bool,
}

impl GroupMetadata {
    /// Of who is no member of the group, and commits for it.
    pub fn new(group_id: impl Into<Arc<str>>) -> GroupMetadata {
        GroupMetadata {
            group_id: group_id.into(),
            generation_id: -1,
            member_id: String::new(),
            group_instance_id: None,
            is_lost: false,
        }
    }
}
