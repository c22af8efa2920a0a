//! Members whose connections are gone (`thalweg.group.disconnect.grace.ms`).
//!
//! The kernel closes the connections of a process that dies, so the coordinator can notice a crash. Kafka waits for the
//! session timeout, because a connection may end for other reasons. With a grace, a dynamic member is removed as if its
//! session had ended when two things hold:
//! - it has no connection to the coordinator;
//! - its next heartbeat is overdue by the grace.
//!
//! A live client sends that heartbeat on a new connection. It is due two intervals after the connection ended (why two:
//! [`HeartbeatTimes::due_after_ms`]). It does not count from the last heartbeat: a heartbeat that is held ends with its
//! connection, and clients back off from there (kafka-python, Sarama: up to 8 s after a port was closed for 2 s). A
//! member whose heartbeat is overdue when the connection ends gets the time to return, too: its JoinGroup waited, or a
//! proxy hung.
//!
//! A member is exempt if its last heartbeat's connection has not carried two. A client that connects for each heartbeat,
//! or behind a proxy that closes idle connections, has none between two heartbeats. A shard that was loaded knows no
//! connections, so its members are exempt until they have sent it two heartbeats. A member that is stopped
//! (SIGSTOP) keeps its connection and its session. A static member is expected back: its instance id says that.

mod heartbeats;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thalweg_coordinator::Now;

use super::{GroupShard, Out};

use crate::model::{ConnectionId, GroupTimer, Submission};
use heartbeats::{HeartbeatTimes, Sign};

/// The connections of one member.
#[derive(Debug, Default)]
struct Connected {
    open: BTreeSet<ConnectionId>,
    heartbeats: Option<HeartbeatTimes>,
    /// None is open, and [`GroupTimer::Disconnected`] is set for this moment.
    fails_at_ms: Option<u64>,
}

/// Members by group, of those that have connections or had them a moment ago.
///
/// Bounded by the connections: each notes a bounded number of members, and its end is reported for every one.
#[derive(Debug, Default)]
pub(super) struct Connections {
    groups: BTreeMap<Arc<str>, GroupConnections>,
}

#[derive(Debug, Default)]
struct GroupConnections {
    members: BTreeMap<Arc<str>, Connected>,
    /// Those that have none open, by the moment at which they are removed.
    failing: BTreeSet<(u64, Arc<str>)>,
}

impl Connections {
    fn get_mut(&mut self, group: &str, member: &str) -> Option<&mut Connected> {
        self.groups.get_mut(group)?.members.get_mut(member)
    }

    /// What must hold after any operation.
    pub(super) fn check(&self) -> Result<(), String> {
        for (group, GroupConnections { members, failing }) in &self.groups {
            let failing_members =
                members.iter().filter_map(|(member, of)| Some((of.fails_at_ms?, member.clone())));
            if failing_members.collect::<BTreeSet<_>>() != *failing {
                return Err(format!("members of {group} without connections are {failing:?}"));
            }
            let lost =
                members.iter().find(|(_, of)| of.fails_at_ms.is_some() != of.open.is_empty());
            if let Some((member, of)) = lost {
                return Err(format!("member {member} of {group} has {of:?}"));
            }
            if members.is_empty() {
                return Err(format!("group {group} has no members with connections"));
            }
        }
        Ok(())
    }

    /// The members of a group that have no connection, by the moment at which they are removed.
    fn failing(&self, group: &str) -> impl Iterator<Item = &(u64, Arc<str>)> {
        self.groups.get(group).into_iter().flat_map(|of| &of.failing)
    }

    fn insert(&mut self, group: Arc<str>, member: Arc<str>, connected: Connected) {
        self.remove(&group, &member);
        let of = self.groups.entry(group).or_default();
        of.failing.extend(connected.fails_at_ms.map(|at_ms| (at_ms, member.clone())));
        of.members.insert(member, connected);
    }

    fn remove(&mut self, group: &str, member: &str) -> Option<Connected> {
        let of = self.groups.get_mut(group)?;
        let (member, connected) = of.members.remove_entry(member)?;
        if let Some(at_ms) = connected.fails_at_ms {
            of.failing.remove(&(at_ms, member));
        }
        if of.members.is_empty() {
            self.groups.remove(group);
        }
        Some(connected)
    }
}

/// A dynamic member.
struct DynamicMember {
    group: Arc<str>,
    id: Arc<str>,
    session_timeout_ms: i32,
    /// The heartbeat interval that the coordinator tells it, in the consumer protocol; 0 in the classic one.
    told_interval_ms: i32,
}

impl GroupShard {
    /// `None` if there is no such member, or it is static.
    fn dynamic_member(&self, group: &str, member: &str) -> Option<DynamicMember> {
        if let Some(live) = self.classic_groups.get(group) {
            let member = live.member(member).filter(|member| member.instance_id.is_none())?;
            return Some(DynamicMember {
                group: live.id().clone(),
                id: member.id.clone(),
                session_timeout_ms: member.session_timeout_ms,
                told_interval_ms: 0,
            });
        }
        let (id, _) = self.logged.group_with_id(group)?;
        let member = self.logged.consumer_group(id)?.member(member)?;
        let config = self.config.of_group(id);
        let (session_timeout_ms, told_interval_ms) = match &member.metadata.classic {
            Some(classic) => (classic.session_timeout_ms, 0),
            None => (config.session_timeout_ms, config.heartbeat_interval_ms),
        };
        member.metadata.instance_id.is_none().then(|| DynamicMember {
            group: id.clone(),
            id: member.id.clone(),
            session_timeout_ms,
            told_interval_ms,
        })
    }

    /// When the first member of a group is removed that has no connection, unless it comes back.
    pub(super) fn next_failure_ms(&self, group: &str) -> Option<u64> {
        // One that has left since, or has ended with its session, is nothing to wait for.
        let mut failing = self.connections.failing(group);
        let first = failing.find(|(_, member)| self.dynamic_member(group, member).is_some());
        first.map(|(at_ms, _)| *at_ms)
    }

    /// A member that had no connection has come back: a member that waited for its end waits for nothing.
    fn has_come_back(&mut self, group: &str, member: &str, out: &mut Out) {
        out.cancel(GroupTimer::Disconnected(group.into(), member.into()));
        if self.held.has_group(group) && self.next_failure_ms(group).is_none() {
            self.held.release_spares(group);
        }
    }

    /// A member has sent a request: the connection that it came on is open.
    pub(super) fn note_connection(&mut self, submission: &Submission, now: Now, out: &mut Out) {
        if submission.context.is_repeat {
            return;
        }
        let Some((group, member)) = submission.request.member() else { return };
        let sign = Sign::of(&submission.request);
        let now_ms = now.monotonic_ms;
        let Some(connection) = submission.context.connection else {
            // The end of this connection will not be reported, so the connections of the member are not known.
            if let Some(Connected { fails_at_ms: Some(_), .. }) =
                self.connections.remove(group, member)
            {
                self.has_come_back(group, member, out);
            }
            return;
        };
        if let Some(connected) = self.connections.get_mut(group, member)
            && connected.fails_at_ms.is_none()
        {
            connected.open.insert(connection);
            connected.heartbeats =
                HeartbeatTimes::after(connected.heartbeats, sign, connection, now_ms);
            return;
        }
        if self.connections.remove(group, member).is_some() {
            self.has_come_back(group, member, out);
        }
        // The first request of a member is not noted, because the member may never be written.
        let Some(member) = self.dynamic_member(group, member) else { return };
        let connected = Connected {
            open: [connection].into(),
            heartbeats: HeartbeatTimes::after(None, sign, connection, now_ms),
            fails_at_ms: None,
        };
        self.connections.insert(member.group, member.id, connected);
    }

    /// A connection has ended that carried requests of a member.
    pub(super) fn disconnected(
        &mut self,
        group: &str,
        member: &str,
        connection: ConnectionId,
        now: Now,
        out: &mut Out,
    ) {
        let Some(connected) = self.connections.get_mut(group, member) else { return };
        // An end that is reported twice counts from the first report.
        if !connected.open.remove(&connection) || !connected.open.is_empty() {
            return;
        }
        let heartbeats = connected.heartbeats;
        self.connections.remove(group, member);
        let ms = |ms: i32| u64::try_from(ms).unwrap_or(0);
        let grace_ms = ms(self.config.of_group(group).disconnect_grace_ms);
        let Some(member) = self.dynamic_member(group, member).filter(|_| grace_ms > 0) else {
            return;
        };
        let (told_ms, session_ms) = (ms(member.told_interval_ms), ms(member.session_timeout_ms));
        let Some(due_ms) = heartbeats.and_then(|of| of.due_after_ms(told_ms, session_ms)) else {
            return;
        };
        let delay_ms = due_ms.saturating_add(grace_ms);
        let fails_at_ms = now.monotonic_ms.saturating_add(delay_ms);
        let failing =
            Connected { open: BTreeSet::new(), heartbeats, fails_at_ms: Some(fails_at_ms) };
        self.connections.insert(member.group.clone(), member.id.clone(), failing);
        out.schedule(GroupTimer::Disconnected(member.group, member.id), delay_ms);
    }

    /// A member has no connection, and its heartbeat is overdue by the grace.
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
