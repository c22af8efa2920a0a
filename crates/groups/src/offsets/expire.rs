//! Offsets that nobody needs any more (KIP-211).
//!
//! | Group | Its offsets expire |
//! |---|---|
//! | empty, once had members | the retention time after it became empty |
//! | stable consumers with known subscriptions | the retention time after their commit, but for subscribed topics |
//! | never had members | the retention time after their commit |
//! | consumer groups (KIP-848) | the retention time after their commit, but for subscribed topics |
//! | anything else | not |
//!
//! Offsets that were committed with an explicit expiry (versions 2 to 4) go by that instead.

use std::sync::Arc;

use crate::classic::{ClassicGroup, ClassicGroupState};
use crate::consumer::ConsumerGroup;
use crate::logged::{CommittedOffset, Logged};
use crate::model::GroupRecord;

/// From when the retention time of an offset counts.
#[derive(Clone, Copy, Debug)]
enum Base {
    Moment(i64),
    Commit,
}

/// How the offsets of a group expire.
pub(crate) struct Expiry<'a> {
    group: &'a Arc<str>,
    /// `None` if they do not.
    base: Option<Base>,
    /// Whether members may depend on the offsets of a topic.
    is_subscribed: Box<dyn Fn(&str) -> bool + 'a>,
}

impl<'a> Expiry<'a> {
    pub(crate) fn of_classic(group: &'a ClassicGroup) -> Expiry<'a> {
        Expiry {
            group: group.id(),
            base: base_of(group),
            is_subscribed: Box::new(|topic| group.is_subscribed_to(topic)),
        }
    }

    pub(crate) fn of_consumer(id: &'a Arc<str>, group: &'a ConsumerGroup) -> Expiry<'a> {
        Expiry {
            group: id,
            base: Some(Base::Commit),
            is_subscribed: Box::new(|topic| group.topics().contains_key(topic)),
        }
    }
}

/// Tombstones for the group's expired offsets. True if it holds nothing after that.
pub(crate) fn expire_offsets(
    logged: &Logged,
    expiry: &Expiry<'_>,
    now_ms: i64,
    retention_ms: i64,
    records: &mut Vec<GroupRecord>,
) -> bool {
    let id = expiry.group;
    let in_transaction = logged.pending_of(id).next().is_some();
    let Some(offsets) = logged.offsets_of(id) else { return !in_transaction };
    let Some(base) = expiry.base else { return false };
    let mut all = true;
    for (topic, partitions) in offsets {
        let subscribed = (expiry.is_subscribed)(topic);
        for (&partition, offset) in partitions {
            if !subscribed
                && is_expired(offset, &base, now_ms, retention_ms)
                && !logged.has_pending(id, topic, partition)
            {
                records.push(GroupRecord::offset_commit(id, topic, partition, None));
            } else {
                all = false;
            }
        }
    }
    all && !in_transaction
}

fn base_of(group: &ClassicGroup) -> Option<Base> {
    if group.protocol_type().is_none() {
        return Some(Base::Commit);
    }
    match group.state() {
        ClassicGroupState::Empty => {
            Some(group.state_timestamp_ms().map_or(Base::Commit, Base::Moment))
        }
        ClassicGroupState::Stable if group.has_known_subscriptions() => Some(Base::Commit),
        _ => None,
    }
}

fn is_expired(offset: &CommittedOffset, base: &Base, now_ms: i64, retention_ms: i64) -> bool {
    if let Some(expire_timestamp_ms) = offset.expire_timestamp_ms {
        return now_ms >= expire_timestamp_ms;
    }
    let since_ms = match base {
        Base::Moment(ms) => *ms,
        Base::Commit => offset.commit_timestamp_ms,
    };
    now_ms.saturating_sub(since_ms) >= retention_ms
}
