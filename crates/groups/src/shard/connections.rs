//! Members whose connections are gone (`thalweg.group.disconnect.grace.ms`).
//!
//! A process that dies takes its connections with it, and the coordinator hears of that at once. In Kafka it
//! waits for the session timeout all the same, since a connection may end for other reasons. With a grace a
//! dynamic member that has no connection left for so long is taken out as if its session had ended. A static
//! member is expected back: that is what its instance id is for.
//!
//! Which connections a member has is known from its requests, and lost with the shard: of a member that has
//! sent none to this shard yet the end of any connection counts as that of the last. It has the grace to be
//! heard of again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thalweg_coordinator::Now;

use super::{GroupShard, Out};
use crate::{ConnectionId, GroupTimer, Submission};

/// The connections of one member.
#[derive(Debug, Default)]
struct Connected {
    open: BTreeSet<ConnectionId>,
    /// None is open, and [`GroupTimer::Disconnected`] is set.
    is_failing: bool,
}

/// Members by group, of those that have connections or had them a moment ago.
///
/// Bounded by whoever has the connections: each is of so many members, and its end is told of every one.
#[derive(Debug, Default)]
pub(super) struct Connections {
    groups: BTreeMap<Arc<str>, GroupConnections>,
}

#[derive(Debug, Default)]
struct GroupConnections {
    members: BTreeMap<Arc<str>, Connected>,
    /// How many of them have none open.
    failing: usize,
}

impl Connections {
    fn get_mut(&mut self, group: &str, member: &str) -> Option<&mut Connected> {
        self.groups.get_mut(group)?.members.get_mut(member)
    }

    /// What must hold after any operation.
    pub(super) fn check(&self) -> Result<(), String> {
        for (group, GroupConnections { members, failing }) in &self.groups {
            if members.values().filter(|of| of.is_failing).count() != *failing {
                return Err(format!("members of {group} without connections are miscounted"));
            }
            let lost = members.iter().find(|(_, of)| of.is_failing != of.open.is_empty());
            if let Some((member, of)) = lost {
                return Err(format!("member {member} of {group} has {of:?}"));
            }
            if members.is_empty() {
                return Err(format!("group {group} has no members with connections"));
            }
        }
        Ok(())
    }

    /// Whether members of a group will be taken out soon, unless they come back.
    pub(super) fn has_failing(&self, group: &str) -> bool {
        self.groups.get(group).is_some_and(|of| of.failing > 0)
    }

    /// A member that had no connection is heard of, over one or over none that is known.
    fn came_back(&mut self, group: &str, member: &str) {
        let Some(of) = self.groups.get_mut(group) else { return };
        let Some(connected) = of.members.get_mut(member) else { return };
        of.failing -= usize::from(std::mem::take(&mut connected.is_failing));
        if connected.open.is_empty() {
            self.remove(group, member);
        }
    }

    fn insert(&mut self, group: Arc<str>, member: Arc<str>, connected: Connected) {
        let of = self.groups.entry(group).or_default();
        of.failing += usize::from(connected.is_failing);
        let before = of.members.insert(member, connected);
        of.failing -= usize::from(before.is_some_and(|before| before.is_failing));
    }

    fn remove(&mut self, group: &str, member: &str) {
        let Some(of) = self.groups.get_mut(group) else { return };
        of.failing -= usize::from(of.members.remove(member).is_some_and(|had| had.is_failing));
        if of.members.is_empty() {
            self.groups.remove(group);
        }
    }
}

impl GroupShard {
    /// A group's and a dynamic member's ids; `None` if there is no such member.
    fn dynamic_member(&self, group: &str, member: &str) -> Option<(Arc<str>, Arc<str>)> {
        if let Some(live) = self.live.get(group) {
            let member = live.member(member).filter(|member| member.instance_id.is_none())?;
            return Some((live.id().clone(), member.id.clone()));
        }
        let (id, _) = self.logged.group_with_id(group)?;
        let member = self.logged.consumer_group(id)?.member(member)?;
        member.metadata.instance_id.is_none().then(|| (id.clone(), member.id.clone()))
    }

    /// A member is heard of: the connection that its request came on is open.
    pub(super) fn heard(&mut self, submission: &Submission, out: &mut Out) {
        let Some((group, member)) = submission.request.member() else { return };
        let connection = submission.context.connection;
        match self.connections.get_mut(group, member) {
            Some(connected) => {
                connected.open.extend(connection);
                if connected.is_failing {
                    out.cancel(GroupTimer::Disconnected(group.into(), member.into()));
                    self.connections.came_back(group, member);
                }
            }
            None => {
                let Some(connection) = connection else { return };
                // The first request of a member is not noted. That it is there may not be written, ever.
                let Some((group, member)) = self.dynamic_member(group, member) else { return };
                let connected = Connected { open: [connection].into(), is_failing: false };
                self.connections.insert(group, member, connected);
            }
        }
    }

    /// A connection is gone, over which requests of a member came.
    pub(super) fn disconnected(
        &mut self,
        group: &str,
        member: &str,
        connection: ConnectionId,
        out: &mut Out,
    ) {
        if let Some(connected) = self.connections.get_mut(group, member) {
            connected.open.remove(&connection);
            if connected.is_failing || !connected.open.is_empty() {
                return;
            }
        }
        let grace_ms = self.config.of_group(group).disconnect_grace_ms;
        let grace_ms = u64::try_from(grace_ms).unwrap_or(0);
        let Some((group, member)) = self.dynamic_member(group, member).filter(|_| grace_ms > 0)
        else {
            return self.connections.remove(group, member);
        };
        let failing = Connected { open: BTreeSet::new(), is_failing: true };
        self.connections.insert(group.clone(), member.clone(), failing);
        out.schedule(GroupTimer::Disconnected(group, member), grace_ms);
    }

    /// A member had no connection for as long as it may.
    pub(super) fn fail_disconnected(&mut self, group: &str, member: &str, now: Now, out: &mut Out) {
        self.connections.remove(group, member);
        // The grace may have been taken back, and the member may have left or got an instance id.
        if self.config.of_group(group).disconnect_grace_ms <= 0
            || self.dynamic_member(group, member).is_none()
        {
            return;
        }
        self.counters.disconnected_members += 1;
        let classic = self.with_group(group, now, out, |group, env| group.fail(member, env));
        if classic.is_none() {
            self.with_consumer_group(group, now, out, |step| Ok(((), step.fence_overdue(member)?)));
        }
    }
}
