//! Which brokers have partitions, and who of them leads.

use std::collections::BTreeMap;
use std::time::Duration;

use thalweg_wire::messages::alter_partition_reassignments_request::{
    ReassignablePartition, ReassignableTopic,
};
use thalweg_wire::messages::elect_leaders_request::TopicPartitions;
use thalweg_wire::messages::list_partition_reassignments_request::ListPartitionReassignmentsTopics;
use thalweg_wire::messages::{
    AlterPartitionReassignmentsRequest, ElectLeadersRequest, ListPartitionReassignmentsRequest,
};
use thalweg_wire::{ApiKey, ErrorCode, grouped};

use super::attempt::{Answers, at_least, for_all, millis};
use super::{Admin, AdminError, AdminFuture, Results};
use crate::core::partition::{TopicPartition, by_partition, by_topic};

/// A reassignment under way.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Reassignment {
    /// All brokers that have the partition now, or are to have it.
    pub replicas: Vec<i32>,
    /// Those that are to have it.
    pub adding: Vec<i32>,
    /// Those that are to lose it.
    pub removing: Vec<i32>,
}

/// How to choose a leader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Election {
    /// The first of the replicas, if it is in sync.
    Preferred,
    /// Anyone who is alive, even if records are lost by it. Needs brokers from 2.4 on.
    Unclean,
}

impl Admin {
    /// Gives partitions to other brokers, the preferred leader first; `None` stops what is under
    /// way. It is accepted, not done, when this returns.
    pub fn alter_partition_reassignments(
        &self,
        targets: impl IntoIterator<Item = (TopicPartition, Option<Vec<i32>>)>,
    ) -> AdminFuture<'_, Results<TopicPartition, ()>> {
        fn boxed(
            admin: &Admin,
            targets: BTreeMap<TopicPartition, Option<Vec<i32>>>,
        ) -> AdminFuture<'_, Results<TopicPartition, ()>> {
            Box::pin(admin.alter_partition_reassignments_inner(targets))
        }
        boxed(self, targets.into_iter().collect())
    }

    async fn alter_partition_reassignments_inner(
        &self,
        targets: BTreeMap<TopicPartition, Option<Vec<i32>>>,
    ) -> Results<TopicPartition, ()> {
        let api = ApiKey::ALTER_PARTITION_REASSIGNMENTS;
        let targets = &targets;
        self.settle(api, targets.keys().cloned(), |partitions, left| {
            self.reassign(partitions, targets, left)
        })
        .await
    }

    async fn reassign(
        &self,
        partitions: Vec<TopicPartition>,
        targets: &BTreeMap<TopicPartition, Option<Vec<i32>>>,
        left: Duration,
    ) -> Answers<TopicPartition, ()> {
        let api = ApiKey::ALTER_PARTITION_REASSIGNMENTS;
        let reassigned = partitions.iter().map(|partition| {
            let reassigned = ReassignablePartition {
                partition_index: partition.partition,
                replicas: targets.get(partition).cloned().flatten(),
                ..Default::default()
            };
            (&*partition.topic, reassigned)
        });
        let topics = grouped::by_topic(reassigned, |name, partitions| ReassignableTopic {
            name: name.to_owned(),
            partitions,
            ..Default::default()
        });
        let request = AlterPartitionReassignmentsRequest {
            timeout_ms: millis(left),
            topics,
            ..Default::default()
        };
        let sent = async { self.controller().await?.send_within(&request, left).await };
        let response = match sent.await {
            Ok(response) => response,
            Err(error) => return for_all(partitions, error),
        };
        let message = response.error_message.as_deref();
        if let Err(error) = AdminError::check(api, response.error_code, message) {
            return for_all(partitions, error);
        }
        let topics = response.responses.into_iter().map(|topic| (topic.name, topic.partitions));
        by_partition(topics, |p| {
            let message = p.error_message.as_deref();
            (p.partition_index, AdminError::check(api, p.error_code, message))
        })
    }

    /// Reassignments under way, of certain partitions or of all.
    pub fn list_partition_reassignments(
        &self,
        partitions: Option<Vec<TopicPartition>>,
    ) -> AdminFuture<'_, Result<BTreeMap<TopicPartition, Reassignment>, AdminError>> {
        Box::pin(self.list_partition_reassignments_inner(partitions))
    }

    async fn list_partition_reassignments_inner(
        &self,
        partitions: Option<Vec<TopicPartition>>,
    ) -> Result<BTreeMap<TopicPartition, Reassignment>, AdminError> {
        let api = ApiKey::LIST_PARTITION_REASSIGNMENTS;
        let topics = partitions.map(|partitions| {
            by_topic(&partitions, |name, partition_indexes| ListPartitionReassignmentsTopics {
                name,
                partition_indexes,
                ..Default::default()
            })
        });
        let topics = &topics;
        self.settle_one(api, |left| async move {
            let request = ListPartitionReassignmentsRequest {
                timeout_ms: millis(left),
                topics: topics.clone(),
                ..Default::default()
            };
            let response = self.controller().await?.send_within(&request, left).await?;
            let message = response.error_message.as_deref();
            AdminError::check(api, response.error_code, message)?;
            let topics = response.topics.into_iter().map(|topic| (topic.name, topic.partitions));
            let all = by_partition(topics, |p| {
                let reassignment = Reassignment {
                    replicas: p.replicas,
                    adding: p.adding_replicas,
                    removing: p.removing_replicas,
                };
                (p.partition_index, reassignment)
            });
            Ok(all.into_iter().collect())
        })
        .await
    }

    /// Elects leaders of certain partitions, or of all for which it makes a difference. That a
    /// leader is elected already is
    /// [`ELECTION_NOT_NEEDED`](thalweg_wire::ErrorCode::ELECTION_NOT_NEEDED), and left out where
    /// all were asked for.
    pub fn elect_leaders(
        &self,
        election: Election,
        partitions: Option<Vec<TopicPartition>>,
    ) -> AdminFuture<'_, Result<Results<TopicPartition, ()>, AdminError>> {
        Box::pin(self.elect_leaders_inner(election, partitions))
    }

    async fn elect_leaders_inner(
        &self,
        election: Election,
        partitions: Option<Vec<TopicPartition>>,
    ) -> Result<Results<TopicPartition, ()>, AdminError> {
        let api = ApiKey::ELECT_LEADERS;
        match partitions {
            Some(partitions) => Ok(self
                .settle(api, partitions, |partitions, left| async move {
                    let elected = self.elect(election, Some(partitions.clone()), left).await;
                    elected.unwrap_or_else(|error| for_all(partitions, error))
                })
                .await),
            None => {
                let answers = self.settle_one(api, |left| self.elect(election, None, left)).await?;
                let is_news = |result: &Result<(), AdminError>| {
                    let code = result.as_ref().err().and_then(AdminError::code);
                    code != Some(ErrorCode::ELECTION_NOT_NEEDED)
                };
                Ok(answers.into_iter().filter(|(_, result)| is_news(result)).collect())
            }
        }
    }

    async fn elect(
        &self,
        election: Election,
        partitions: Option<Vec<TopicPartition>>,
        left: Duration,
    ) -> Result<Answers<TopicPartition, ()>, AdminError> {
        let api = ApiKey::ELECT_LEADERS;
        let connection = self.controller().await?;
        let (code, needed) = match election {
            Election::Preferred => (0, 0),
            Election::Unclean => (1, 1),
        };
        at_least::<ElectLeadersRequest>(&connection, needed, "an unclean election")?;
        let topic_partitions = partitions.map(|partitions| {
            by_topic(&partitions, |topic, partitions| TopicPartitions {
                topic,
                partitions,
                ..Default::default()
            })
        });
        let request = ElectLeadersRequest {
            election_type: code,
            topic_partitions,
            timeout_ms: millis(left),
            ..Default::default()
        };
        let response = connection.send_within(&request, left).await?;
        AdminError::check(api, response.error_code, None)?;
        let topics = response.replica_election_results.into_iter();
        let topics = topics.map(|topic| (topic.topic, topic.partition_result));
        Ok(by_partition(topics, |p| {
            let message = p.error_message.as_deref();
            (p.partition_id, AdminError::check(api, p.error_code, message))
        }))
    }
}
