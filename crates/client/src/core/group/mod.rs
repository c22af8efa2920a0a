//! Membership in a consumer group without I/O: what to ask the coordinator, which partitions the
//! member has, and which it has to give up when.
//!
//! Two kinds of groups, behind one [`Member`]: classic groups, whose leader makes the assignment
//! ([`ClassicMember`]), and those of KIP-848, whose coordinator does ([`ConsumerMember`]).
//!
//! The driver calls [`Member::next`] until it gives nothing more, does what it says, and comes back
//! when something happened or at [`Member::next_deadline`].
//!
//! Invariants:
//! - A partition is given up only after the application was asked to hand it over and said it has
//!   ([`Member::revoked`]), or let the deadline pass, or when the group took it away: then it is
//!   [`Action::Lost`].
//! - [`Member::identity`] is what a commit may carry; there is none while the member is not part of
//!   a generation, so nothing is committed for partitions that were lost.
//! - One request is under way at a time, and a heartbeat beside it.
//!
//! Patterns are not matched here: for a classic group the driver does and calls
//! [`Member::set_topics`], for KIP-848 the coordinator does.
//!
//! Time is passed in, as milliseconds of any monotonic clock; randomness too.

#![warn(missing_debug_implementations)]

pub mod action;
pub mod assignor;
mod classic;
mod consumer;
mod coordinator_requests;
mod metadata;
pub mod protocol;
mod revocation;
mod settings;
pub mod status;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use thalweg_wire::{ApiKey, ErrorCode};

pub use action::{Action, GroupRequest, GroupResponse, MemberIdentity, RequestFailure, RequestId};
pub use assignor::Assignor;
pub use classic::ClassicMember;
pub use consumer::ConsumerMember;
pub use metadata::GroupMetadata;
pub use settings::{GroupProtocol, GroupSettings, OnLeave, SubscribedTopics};
pub use status::{GroupError, GroupStatus};

use crate::core::metadata::Metadata;

/// A member of a group, of either kind. One member is one stay in the group: after it left or
/// failed, [`Member::next`] gives nothing more.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Member {
    Classic(Box<ClassicMember>),
    Consumer(Box<ConsumerMember>),
}

macro_rules! either {
    ($self:ident, $member:ident => $call:expr) => {
        match $self {
            Member::Classic($member) => $call,
            Member::Consumer($member) => $call,
        }
    };
}

impl Member {
    /// A member that will join. `random` becomes its id, where members choose theirs, and spreads
    /// out its retries.
    pub fn new(
        settings: GroupSettings,
        subscription: SubscribedTopics,
        random: [u8; 16],
        now_ms: u64,
    ) -> Member {
        match settings.protocol {
            GroupProtocol::Classic { .. } => Member::Classic(Box::new(ClassicMember::new(
                settings,
                subscription,
                random,
                now_ms,
            ))),
            GroupProtocol::Consumer { .. } => Member::Consumer(Box::new(ConsumerMember::new(
                settings,
                subscription,
                random,
                now_ms,
            ))),
        }
    }

    /// What to do next. To be called until there is nothing.
    pub fn next(&mut self, now_ms: u64) -> Option<Action> {
        either!(self, member => member.next(now_ms))
    }

    /// When [`Member::next`] may have something although nothing happened.
    pub fn next_deadline(&self, now_ms: u64) -> Option<u64> {
        either!(self, member => member.next_deadline(now_ms))
    }

    /// The coordinator is broker `id`.
    pub fn on_coordinator(&mut self, id: i32, now_ms: u64) {
        either!(self, member => member.on_coordinator(id, now_ms));
    }

    /// The coordinator could not be found; `None` when nobody answered. Errors that no retry cures
    /// are fatal.
    pub fn on_coordinator_error(&mut self, code: Option<ErrorCode>, now_ms: u64) {
        either!(self, member => member.on_coordinator_error(code, now_ms));
    }

    /// The answer to a request, or why there is none. Answers that are of no interest any more are
    /// ignored.
    pub fn on_response(
        &mut self,
        id: RequestId,
        result: Result<GroupResponse, RequestFailure>,
        now_ms: u64,
    ) {
        either!(self, member => member.on_response(id, result, now_ms));
    }

    /// A request about offsets, made as `identity`, was refused because of who asked. What the coordinator
    /// says so holds for the membership, and is heard of without waiting for the next heartbeat.
    /// Ignored when the member is another one by now.
    pub fn on_refused(&mut self, api: ApiKey, code: ErrorCode, of: (&str, i32), now_ms: u64) {
        let is_of_now = self
            .identity()
            .is_some_and(|identity| (&*identity.member_id, identity.generation_or_epoch) == of);
        if is_of_now && !self.is_leaving() {
            either!(self, member => member.on_refused(api, code, now_ms));
        }
    }

    /// The application has given up what the last [`Action::Revoke`] asked for, and what it
    /// acknowledged is committed. Not to be called when they were [`Action::Lost`] meanwhile: that
    /// ended the revocation.
    pub fn revoked(&mut self, now_ms: u64) {
        either!(self, member => member.revoked(now_ms));
    }

    /// The application polls. While it waits in a poll it is to be called again before each
    /// [`Member::next`], so that waiting for records is not mistaken for being stuck.
    pub fn polled(&mut self, now_ms: u64) {
        either!(self, member => member.polled(now_ms));
    }

    /// The cluster's topics changed, or were looked up again.
    pub fn update_metadata(&mut self, metadata: &Metadata, now_ms: u64) {
        either!(self, member => member.update_metadata(metadata, now_ms));
    }

    /// Subscribes to something else.
    pub fn set_subscription(&mut self, subscription: SubscribedTopics, now_ms: u64) {
        either!(self, member => member.set_subscription(subscription, now_ms));
    }

    /// The topics that match the pattern of a classic member.
    pub fn set_topics(&mut self, topics: BTreeSet<Arc<str>>, now_ms: u64) {
        match self {
            Member::Classic(member) => member.set_topics(topics, now_ms),
            // The coordinator matches it.
            Member::Consumer(_) => {}
        }
    }

    /// Goes, after a revocation of what the member has, and tells the group what `on_leave` says.
    pub fn leave(&mut self, on_leave: OnLeave, now_ms: u64) {
        either!(self, member => member.leave(on_leave, now_ms));
    }

    /// Joins again, for a reason that the coordinator logs. Says whether this kind of group can be
    /// made to rebalance by a member: those of KIP-848 cannot.
    pub fn enforce_rebalance(&mut self, reason: String) -> bool {
        match self {
            Member::Classic(member) => {
                member.enforce_rebalance(reason);
                true
            }
            Member::Consumer(_) => false,
        }
    }

    /// Whether what it gives up now may come back with its next assignment: it gives everything up
    /// before each join (an eager member of a classic group).
    pub fn may_get_back(&self) -> bool {
        match self {
            Member::Classic(member) => member.may_get_back(),
            Member::Consumer(_) => false,
        }
    }

    /// Who a commit comes from; `None` while nothing may be committed.
    pub fn identity(&self) -> Option<MemberIdentity> {
        either!(self, member => member.identity())
    }

    /// The member's id; empty in a classic group that has not given it one.
    pub fn member_id(&self) -> &str {
        either!(self, member => member.member_id())
    }

    #[cfg(test)]
    /// The generation of a classic group, -1 while the member is in none.
    pub fn generation(&self) -> i32 {
        match self {
            Member::Classic(member) => member.generation(),
            Member::Consumer(_) => -1,
        }
    }

    #[cfg(test)]
    /// The member's epoch in a KIP-848 group, 0 while it is not part of it.
    pub fn epoch(&self) -> i32 {
        match self {
            Member::Classic(_) => 0,
            Member::Consumer(member) => member.epoch(),
        }
    }

    /// Whether it left because the application did not poll, and comes back when it does.
    pub fn is_poll_interval_exceeded(&self) -> bool {
        either!(self, member => member.is_poll_interval_exceeded())
    }

    /// Whether it was told to leave, and has not left yet: it may still be giving up partitions.
    pub fn is_leaving(&self) -> bool {
        !self.is_done() && either!(self, member => member.is_leaving())
    }

    /// What it is doing, or waiting for.
    pub fn why(&self) -> GroupStatus {
        either!(self, member => member.why())
    }

    /// Milliseconds between heartbeats: a coordinator may hold an answer back for as long.
    pub fn heartbeat_interval_ms(&self) -> u64 {
        either!(self, member => member.heartbeat_interval_ms())
    }

    /// What went wrong last, until something goes right.
    pub fn last_error(&self) -> Option<&GroupError> {
        either!(self, member => member.last_error())
    }

    /// Whether it left or failed.
    pub fn is_done(&self) -> bool {
        matches!(self.why(), GroupStatus::Left | GroupStatus::Failed(_))
    }
}
