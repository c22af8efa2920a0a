//! One member of a classic group.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use thalweg_coordinator::{Account, Token};
use thalweg_wire::messages::JoinGroupRequest;
use thalweg_wire::messages::describe_groups_response::DescribedGroupMember;
use thalweg_wire::messages::group_metadata_value::MemberMetadata;
use thalweg_wire::messages::join_group_request::JoinGroupRequestProtocol;

use super::request::RequestContext;

/// A protocol a member can work with, and what it has to say to the leader if it is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// Name, for consumers that of the assignor.
    pub name: String,
    /// The member's own bytes. Not read here, but for a consumer's subscribed topics.
    pub metadata: Bytes,
}

/// What a member takes in memory besides its texts and the bytes it hands in, about.
const MEMBER_OVERHEAD: usize = 1 << 10;

/// The same with its texts.
fn overhead(client_id: &str, client_host: &str, instance_id: Option<&str>) -> usize {
    MEMBER_OVERHEAD + client_id.len() + client_host.len() + 2 * instance_id.map_or(0, str::len)
}

impl Protocol {
    /// The protocols of a request; `None` if the account has no room for them. Bytes are copied:
    /// what a member says lives long, and a slice would keep the whole request's buffer. What
    /// `before` said already is shared with it.
    pub(crate) fn from_request(
        context: &RequestContext,
        request: &JoinGroupRequest,
        before: Option<&Member>,
        account: &Arc<Account>,
    ) -> Option<Vec<Protocol>> {
        let before = before.map_or(&[][..], |member| &member.protocols);
        let instance_id = request.group_instance_id.as_deref();
        let mut of_member = overhead(&context.client_id, &context.client_host, instance_id);
        let protocols = request.protocols.iter().enumerate().map(|(at, protocol)| {
            if let Some(same) = before.get(at)
                && same.name == protocol.name
                && same.metadata == protocol.metadata
            {
                return Some(same.clone());
            }
            let more = size_of::<Protocol>() + protocol.name.len() + std::mem::take(&mut of_member);
            Some(Protocol {
                name: protocol.name.clone(),
                metadata: account.try_keep(&protocol.metadata, more)?,
            })
        });
        protocols.collect()
    }
}

/// A member of a classic group.
#[derive(Clone, Debug)]
pub struct Member {
    /// Given by the coordinator.
    pub id: Arc<str>,
    /// Chosen by the client: such a member keeps its place when it comes back (KIP-345).
    pub instance_id: Option<Arc<str>>,
    /// Client id of the request it joined with.
    pub client_id: Arc<str>,
    /// Address it joined from.
    pub client_host: Arc<str>,
    /// How long a rebalance waits for it.
    pub rebalance_timeout_ms: i32,
    /// How long it lives without a heartbeat.
    pub session_timeout_ms: i32,
    /// What it can work with, best first.
    pub protocols: Vec<Protocol>,
    /// What the leader gave it.
    pub assignment: Bytes,
    pub(crate) awaiting_join: Option<Token>,
    pub(crate) awaiting_sync: Option<Token>,
    /// Joined and not been through a completed join phase: it has no id to send heartbeats with, so
    /// waiting for its answer does not keep it alive.
    pub(crate) is_new: bool,
    /// Order in which the members came.
    pub(crate) sequence: u64,
    /// Of its id; see `protocol`.
    pub(crate) spread_hash: u32,
}

impl Member {
    /// A member that waits for nothing and has nothing.
    pub(crate) fn joined(
        id: Arc<str>,
        instance_id: Option<Arc<str>>,
        client_id: &str,
        client_host: &str,
        (rebalance_timeout_ms, session_timeout_ms): (i32, i32),
    ) -> Member {
        Member {
            id,
            instance_id,
            client_id: client_id.into(),
            client_host: client_host.into(),
            rebalance_timeout_ms,
            session_timeout_ms,
            protocols: Vec::new(),
            assignment: Bytes::new(),
            awaiting_join: None,
            awaiting_sync: None,
            is_new: false,
            sequence: 0,
            spread_hash: 0,
        }
    }

    /// The member that a record describes. What it holds is counted like what a request leaves behind,
    /// but not refused: it is in the log.
    pub(crate) fn from_record(
        protocol: &str,
        record: &MemberMetadata,
        account: &Arc<Account>,
    ) -> Member {
        let more = size_of::<Protocol>()
            + protocol.len()
            + overhead(&record.client_id, &record.client_host, record.group_instance_id.as_deref());
        let rebalance_timeout_ms = match record.rebalance_timeout {
            -1 => record.session_timeout,
            timeout => timeout,
        };
        Member {
            protocols: vec![Protocol {
                name: protocol.to_owned(),
                metadata: account.keep(record.subscription.clone(), more),
            }],
            assignment: account.keep(record.assignment.clone(), 0),
            ..Member::joined(
                record.member_id.as_str().into(),
                record.group_instance_id.as_deref().map(Into::into),
                &record.client_id,
                &record.client_host,
                (rebalance_timeout_ms, record.session_timeout),
            )
        }
    }

    pub(crate) fn to_record(&self, protocol: &str, assignment: Bytes) -> MemberMetadata {
        MemberMetadata {
            member_id: self.id.to_string(),
            group_instance_id: self.instance_id.as_deref().map(str::to_owned),
            client_id: self.client_id.to_string(),
            client_host: self.client_host.to_string(),
            rebalance_timeout: self.rebalance_timeout_ms,
            session_timeout: self.session_timeout_ms,
            subscription: self.metadata(protocol),
            assignment,
            ..Default::default()
        }
    }

    pub(crate) fn is_static(&self) -> bool {
        self.instance_id.is_some()
    }

    /// Whether it waits for a JoinGroup answer.
    pub fn is_awaiting_join(&self) -> bool {
        self.awaiting_join.is_some()
    }

    /// Whether it waits for a SyncGroup answer.
    pub fn is_awaiting_sync(&self) -> bool {
        self.awaiting_sync.is_some()
    }

    /// Whether it has not been through a completed join phase yet.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Whether it need not have sent a heartbeat: it waits for an answer.
    pub(crate) fn has_satisfied_heartbeat(&self) -> bool {
        !self.is_new && (self.awaiting_join.is_some() || self.awaiting_sync.is_some())
    }

    /// What it says under `protocol`; nothing if it does not support it.
    pub(crate) fn metadata(&self, protocol: &str) -> Bytes {
        self.protocols
            .iter()
            .find(|p| p.name == protocol)
            .map_or_else(Bytes::new, |p| p.metadata.clone())
    }

    /// Whether a request says what the member said before.
    pub(crate) fn matches(&self, protocols: &[JoinGroupRequestProtocol]) -> bool {
        self.protocols.len() == protocols.len()
            && self
                .protocols
                .iter()
                .zip(protocols)
                .all(|(a, b)| a.name == b.name && a.metadata == b.metadata)
    }

    /// Its best protocol among `candidates`.
    pub(crate) fn vote(&self, candidates: &BTreeSet<&str>) -> Option<&str> {
        self.protocols.iter().map(|p| p.name.as_str()).find(|name| candidates.contains(name))
    }

    /// Names of its protocols, each once.
    pub(crate) fn protocol_names(&self) -> BTreeSet<&str> {
        self.protocols.iter().map(|p| p.name.as_str()).collect()
    }

    pub(crate) fn describe(&self, member_metadata: Bytes) -> DescribedGroupMember {
        DescribedGroupMember {
            member_id: self.id.to_string(),
            group_instance_id: self.instance_id.as_deref().map(str::to_owned),
            client_id: self.client_id.to_string(),
            client_host: self.client_host.to_string(),
            member_metadata,
            member_assignment: self.assignment.clone(),
            ..Default::default()
        }
    }
}
