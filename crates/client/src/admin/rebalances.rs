//! Why groups rebalanced.

use thalweg_wire::messages::{self, DescribeGroupsRequest, group_rebalances};
use thalweg_wire::{ApiKey, GROUP_REBALANCES_TAG, Message as _, RawTags, Reader};

use super::attempt::{Answers, at_least, for_all};
use super::{Admin, AdminError, AdminFuture, Results};

/// First version of DescribeGroups with tagged fields.
const FIRST_FLEXIBLE_VERSION: i16 = 5;

/// By which rules a group is run, and why it rebalanced. Only Thalweg's brokers tell.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct GroupRebalances {
    /// `server`: the coordinator assigns classic members. `barrier`: a leader does, all members join again.
    /// `consumer`: the group goes by the rules of KIP-848. Empty for a group that is not there.
    pub mode: String,
    /// Why it is that.
    pub reason: String,
    /// Those since the broker coordinates the group, ten at most, the newest first.
    pub rebalances: Vec<GroupRebalance>,
}

/// One rebalance. Times are milliseconds since 1970 of the broker's clock.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct GroupRebalance {
    /// The epoch of the group that began with it; of a rebalance at the barrier the generation that it led to.
    pub epoch: i32,
    /// When it began.
    pub began_ms: i64,
    /// When the target assignment was computed, or the leader's was written.
    pub assigned_ms: Option<i64>,
    /// When everything was where it should be.
    pub over_ms: Option<i64>,
    /// The epoch that gave partitions of it to somebody else before they had come, or was assigned with it.
    pub superseded_by: Option<i32>,
    /// Members of the group when it began.
    pub members: usize,
    /// What began it; sixteen at most.
    pub triggers: Vec<RebalanceTrigger>,
    /// How many things began it.
    pub trigger_count: usize,
    /// Partitions that moved, those that had no owner for longest first; 32 at most.
    pub moves: Vec<PartitionMove>,
    /// How many partitions moved.
    pub move_count: usize,
    /// What a rebalance at the barrier has waited for, and waits for; none of other rebalances.
    pub waits: Vec<RebalanceWait>,
}

/// A step of a rebalance at the barrier, which all members go through together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RebalanceStep {
    /// Every member joins again.
    Join,
    /// The leader hands the assignment in.
    Assignment,
    /// Every member asks for what it is assigned.
    Sync,
    /// Something that this version of the client does not know.
    Unknown(i8),
}

/// What a step of a rebalance waited for, or waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RebalanceWait {
    /// The step.
    pub step: RebalanceStep,
    /// The member that ended it, the last of all; or one that it waits for, sixteen at most.
    pub member: String,
    /// When it ended.
    pub ended_ms: Option<i64>,
}

/// What began a rebalance.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RebalanceTrigger {
    /// A member joined.
    Joined {
        /// Its id.
        member: String,
        /// Its client's name.
        client_id: String,
    },
    /// A member left, or was taken out.
    Left {
        /// Its id.
        member: String,
        /// Its client's name.
        client_id: String,
        /// Why: what it said itself (KIP-800), or which time it let pass.
        reason: String,
    },
    /// A member subscribes to something else, or asks for another assignor.
    Subscription {
        /// Its id.
        member: String,
        /// Its client's name.
        client_id: String,
    },
    /// A regular expression stands for other topics than before.
    Regex(String),
    /// Topics that the group subscribes to changed: partitions, racks, or whether there is such a topic.
    Topics,
    /// A member of a group at the barrier joined again: its leader, because the metadata that it assigns by
    /// has changed, or a cooperative member, because it has given partitions up.
    Rejoined {
        /// Its id.
        member: String,
        /// Its client's name.
        client_id: String,
        /// What it said itself (KIP-800).
        reason: String,
    },
    /// The coordinator had this reason of its own.
    Coordinator(String),
    /// Something that this version of the client does not know.
    Unknown(i8),
}

/// A partition that goes from one member to another.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PartitionMove {
    /// Its topic's name, or id if it is gone.
    pub topic: String,
    /// Its number.
    pub partition: i32,
    /// Who had it.
    pub from: Option<String>,
    /// Who is to have it.
    pub to: Option<String>,
    /// When the first was told to give it up.
    pub told_ms: Option<i64>,
    /// When that was done.
    pub freed_ms: Option<i64>,
    /// When the other one took it.
    pub taken_ms: Option<i64>,
}

impl PartitionMove {
    /// For how long nobody had it, in milliseconds; none if it is not over.
    pub fn unowned_ms(&self) -> Option<i64> {
        Some(self.taken_ms?.saturating_sub(self.freed_ms?).max(0))
    }
}

fn time(ms: i64) -> Option<i64> {
    (ms >= 0).then_some(ms)
}

fn count(count: i32) -> usize {
    usize::try_from(count).unwrap_or(0)
}

impl From<group_rebalances::RebalanceTrigger> for RebalanceTrigger {
    fn from(said: group_rebalances::RebalanceTrigger) -> RebalanceTrigger {
        let (member, client_id) = (said.subject, said.client_id);
        match said.kind {
            0 => RebalanceTrigger::Joined { member, client_id },
            1 => RebalanceTrigger::Left { member, client_id, reason: said.reason },
            2 => RebalanceTrigger::Subscription { member, client_id },
            3 => RebalanceTrigger::Regex(member),
            4 => RebalanceTrigger::Topics,
            5 => RebalanceTrigger::Rejoined { member, client_id, reason: said.reason },
            6 => RebalanceTrigger::Coordinator(said.reason),
            other => RebalanceTrigger::Unknown(other),
        }
    }
}

impl From<group_rebalances::PartitionMove> for PartitionMove {
    fn from(said: group_rebalances::PartitionMove) -> PartitionMove {
        PartitionMove {
            topic: said.topic,
            partition: said.partition,
            from: said.from,
            to: said.to,
            told_ms: time(said.told_ms),
            freed_ms: time(said.freed_ms),
            taken_ms: time(said.taken_ms),
        }
    }
}

impl From<group_rebalances::RebalanceWait> for RebalanceWait {
    fn from(said: group_rebalances::RebalanceWait) -> RebalanceWait {
        let step = match said.step {
            0 => RebalanceStep::Join,
            1 => RebalanceStep::Assignment,
            2 => RebalanceStep::Sync,
            other => RebalanceStep::Unknown(other),
        };
        RebalanceWait { step, member: said.member, ended_ms: time(said.ended_ms) }
    }
}

impl From<group_rebalances::GroupRebalance> for GroupRebalance {
    fn from(said: group_rebalances::GroupRebalance) -> GroupRebalance {
        GroupRebalance {
            epoch: said.epoch,
            began_ms: said.began_ms,
            assigned_ms: time(said.assigned_ms),
            over_ms: time(said.over_ms),
            superseded_by: (said.superseded_by >= 0).then_some(said.superseded_by),
            members: count(said.members),
            triggers: said.triggers.into_iter().map(Into::into).collect(),
            trigger_count: count(said.trigger_count),
            moves: said.moves.into_iter().map(Into::into).collect(),
            move_count: count(said.move_count),
            waits: said.waits.into_iter().map(Into::into).collect(),
        }
    }
}

/// What the field of a group's description says.
fn read(tags: &RawTags) -> Result<GroupRebalances, AdminError> {
    let Some((_, field)) = tags.iter().find(|(tag, _)| *tag == GROUP_REBALANCES_TAG) else {
        let reason = "the group's coordinator is a broker that does not tell why groups rebalance";
        return Err(AdminError::Invalid(reason.to_owned()));
    };
    let said = messages::GroupRebalances::decode(&mut Reader::new(field), 0).map_err(|error| {
        AdminError::Invalid(format!("what the broker tells cannot be read: {error}"))
    })?;
    Ok(GroupRebalances {
        mode: said.mode,
        reason: said.reason,
        rebalances: said.rebalances.into_iter().map(Into::into).collect(),
    })
}

impl Admin {
    /// Tells by which rules groups are run, and why they rebalanced of late: what began each rebalance,
    /// which partitions moved, and who was waited for. Brokers of Apache Kafka do not know.
    pub fn describe_rebalances<G: Into<String>>(
        &self,
        groups: impl IntoIterator<Item = G>,
    ) -> AdminFuture<'_, Results<String, GroupRebalances>> {
        fn boxed(
            admin: &Admin,
            groups: Vec<String>,
        ) -> AdminFuture<'_, Results<String, GroupRebalances>> {
            Box::pin(admin.for_groups(
                ApiKey::DESCRIBE_GROUPS,
                groups,
                |admin, coordinator, groups, _| admin.describe_rebalances_at(coordinator, groups),
            ))
        }
        boxed(self, groups.into_iter().map(Into::into).collect())
    }

    async fn describe_rebalances_at(
        self,
        coordinator: i32,
        groups: Vec<String>,
    ) -> Answers<String, GroupRebalances> {
        match self.ask_for_rebalances(coordinator, groups.clone()).await {
            Ok(answers) => answers,
            Err(error) => for_all(groups, error),
        }
    }

    async fn ask_for_rebalances(
        self,
        coordinator: i32,
        groups: Vec<String>,
    ) -> Result<Answers<String, GroupRebalances>, AdminError> {
        let connection = self.cluster.broker(coordinator).await?;
        let what = "telling why groups rebalanced";
        at_least::<DescribeGroupsRequest>(&connection, FIRST_FLEXIBLE_VERSION, what)?;
        let mut request = DescribeGroupsRequest { groups, ..Default::default() };
        request.unknown_tags.push(GROUP_REBALANCES_TAG, bytes::Bytes::new());
        let response = connection.send(&request).await?;
        let answers = response.groups.into_iter().map(|group| {
            let told = read(&group.unknown_tags);
            // A group of the consumer protocol has no description here, and is told of all the same.
            let message = group.error_message.as_deref();
            let refused = AdminError::check(ApiKey::DESCRIBE_GROUPS, group.error_code, message);
            let result = match told {
                Ok(told) if !told.mode.is_empty() => Ok(told),
                told => refused.and(told),
            };
            (group.group_id, result)
        });
        Ok(answers.collect())
    }
}
