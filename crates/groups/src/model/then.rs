//! Continuations: what a handler does once its records are committed, or have failed.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use thalweg_coordinator::Token;

use super::classic_member::Member;

/// What a shard goes on with when its records are committed.
#[derive(Debug)]
pub enum Then {
    /// Hand out a generation's assignment.
    StoredAssignment(StoredAssignment),
    /// A round's assignment, written as that of a group that the coordinator assigns.
    HostedRound(Arc<str>),
    /// Answer a static member that came back.
    StaticRejoin(Box<StaticRejoin>),
    /// Go on with classic members that joined a consumer group.
    ClassicJoins(Vec<ClassicJoin>),
}

/// A generation's assignment is being written.
#[derive(Debug)]
pub struct StoredAssignment {
    pub(crate) group: Arc<str>,
    pub(crate) generation: i32,
    pub(crate) assignments: BTreeMap<Arc<str>, Bytes>,
}

/// A static member's new id is being written.
#[derive(Debug)]
pub struct StaticRejoin {
    pub(crate) group: Arc<str>,
    pub(crate) token: Token,
    pub(crate) api_version: i16,
    pub(crate) instance_id: Arc<str>,
    pub(crate) new_id: Arc<str>,
    pub(crate) leader_before: String,
    /// The member whose place was taken.
    pub(crate) old: Member,
}

/// What follows when a classic member's join is committed.
#[derive(Debug)]
pub struct ClassicJoin {
    pub(crate) group: Arc<str>,
    pub(crate) member: Arc<str>,
    pub(crate) session_timeout_ms: i32,
    pub(crate) rebalance_timeout_ms: i32,
}
