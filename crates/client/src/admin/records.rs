//! What is asked of partitions' leaders: offsets, deleting records, who produces.

use std::collections::BTreeMap;
use std::time::Duration;

use thalweg_wire::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
use thalweg_wire::messages::describe_producers_request::TopicRequest;
use thalweg_wire::messages::{DeleteRecordsRequest, DescribeProducersRequest, ListOffsetsRequest};
use thalweg_wire::{ApiKey, grouped};

use super::attempt::{Answers, at_least, for_all, join, millis};
use super::{Admin, AdminError, AdminFuture, Results};
use crate::cluster::offsets::{self, FoundOffset, LookupError};
use crate::core::fetch::IsolationLevel;
use crate::core::partition::{TopicPartition, by_partition, by_topic};

/// Which offset to look for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum OffsetSpec {
    /// The first.
    Earliest,
    /// The one behind the last.
    Latest,
    /// The first record that is at least as late, in ms since 1970.
    Timestamp(i64),
    /// The record with the largest timestamp. Needs brokers from 3.0 on.
    MaxTimestamp,
    /// The first that is on the broker's own disk (KIP-405). Needs brokers from 3.6 on.
    EarliestLocal,
    /// The last that is in remote storage (KIP-1005). Needs brokers from 3.9 on.
    LatestTiered,
}

impl OffsetSpec {
    /// As it stands in a request, and the version from which it may.
    fn code(self) -> (i64, i16) {
        match self {
            OffsetSpec::Earliest => (offsets::EARLIEST, 0),
            OffsetSpec::Latest => (offsets::LATEST, 0),
            OffsetSpec::Timestamp(timestamp) => (timestamp, 0),
            OffsetSpec::MaxTimestamp => (-3, 7),
            OffsetSpec::EarliestLocal => (-4, 8),
            OffsetSpec::LatestTiered => (-5, 9),
        }
    }
}

/// Someone who produces to a partition with sequence numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ProducerState {
    /// The producer's id.
    pub id: i64,
    /// Its epoch.
    pub epoch: i32,
    /// The last sequence number.
    pub last_sequence: i32,
    /// Timestamp of the last batch, in ms since 1970.
    pub last_timestamp: i64,
    /// Epoch of the coordinator that ended the last transaction; none without transactions.
    pub coordinator_epoch: Option<i32>,
    /// Where the transaction under way begins.
    pub transaction_start: Option<i64>,
}

impl Admin {
    /// Offsets of partitions. With [`IsolationLevel::ReadCommitted`] the latest is the end of what
    /// is settled. Where no record is as late as a timestamp, the offset is -1.
    pub fn list_offsets(
        &self,
        wanted: impl IntoIterator<Item = (TopicPartition, OffsetSpec)>,
        isolation: IsolationLevel,
    ) -> AdminFuture<'_, Results<TopicPartition, FoundOffset>> {
        fn boxed(
            admin: &Admin,
            wanted: BTreeMap<TopicPartition, OffsetSpec>,
            isolation: IsolationLevel,
        ) -> AdminFuture<'_, Results<TopicPartition, FoundOffset>> {
            Box::pin(admin.list_offsets_inner(wanted, isolation))
        }
        boxed(self, wanted.into_iter().collect(), isolation)
    }

    async fn list_offsets_inner(
        &self,
        wanted: BTreeMap<TopicPartition, OffsetSpec>,
        isolation: IsolationLevel,
    ) -> Results<TopicPartition, FoundOffset> {
        let negative = |spec: &OffsetSpec| matches!(spec, OffsetSpec::Timestamp(..0));
        let reason = "a timestamp before 1970 is not possible";
        let refused = wanted
            .iter()
            .filter(|(_, spec)| negative(spec))
            .map(|(partition, _)| (partition.clone(), Err(AdminError::Invalid(reason.into()))));
        let refused: Vec<_> = refused.collect();
        let possible = wanted.iter().filter(|(_, spec)| !negative(spec));
        let asked = possible.map(|(partition, _)| partition.clone());
        let wanted = &wanted;
        let mut results = self
            .settle(ApiKey::LIST_OFFSETS, asked, |partitions, _| {
                self.list_offsets_once(partitions, wanted, isolation)
            })
            .await;
        results.extend(refused);
        results
    }

    async fn list_offsets_once(
        &self,
        partitions: Vec<TopicPartition>,
        wanted: &BTreeMap<TopicPartition, OffsetSpec>,
        isolation: IsolationLevel,
    ) -> Answers<TopicPartition, FoundOffset> {
        let api = ApiKey::LIST_OFFSETS;
        let (leaders, mut answers) = self.by_leader(api, partitions).await;
        let mut possible = Vec::new();
        for (leader, partitions) in leaders {
            let coded = partitions.into_iter().filter_map(|p| {
                let (timestamp, needed) = wanted.get(&p)?.code();
                Some((p, timestamp, needed))
            });
            let coded: Vec<_> = coded.collect();
            let needed = coded.iter().map(|(.., needed)| *needed).max().unwrap_or(0);
            // Only what not every broker has is worth asking for a version.
            let connection = match (needed, self.cluster.broker(leader)) {
                (0, _) => None,
                (_, connecting) => match connecting.await {
                    Ok(connection) => Some(connection),
                    Err(error) => {
                        answers.extend(for_all(coded.into_iter().map(|(p, ..)| p), error));
                        continue;
                    }
                },
            };
            for (partition, timestamp, needed) in coded {
                let what = "this kind of offset";
                let checked = connection.as_ref().map_or(Ok(0), |connection| {
                    at_least::<ListOffsetsRequest>(connection, needed, what)
                });
                match checked {
                    Ok(_) => possible.push((partition, timestamp)),
                    Err(error) => answers.push((partition, Err(error))),
                }
            }
        }
        let found = offsets::look_up(&self.cluster, possible, isolation).await;
        answers.extend(found.into_iter().map(|(partition, result)| {
            let failed = |error| match error {
                LookupError::Broker(code) => AdminError::Refused { api, code, message: None },
                LookupError::NoLeader => AdminError::NoLeader,
                LookupError::Unreachable(error) => AdminError::Client(error),
            };
            (partition, result.map_err(failed))
        }));
        answers
    }

    /// Deletes the records before an offset of each partition, -1 being all there are. Gives the
    /// first offset that is left.
    pub fn delete_records(
        &self,
        before: impl IntoIterator<Item = (TopicPartition, i64)>,
    ) -> AdminFuture<'_, Results<TopicPartition, i64>> {
        fn boxed(
            admin: &Admin,
            before: BTreeMap<TopicPartition, i64>,
        ) -> AdminFuture<'_, Results<TopicPartition, i64>> {
            Box::pin(admin.delete_records_inner(before))
        }
        boxed(self, before.into_iter().collect())
    }

    async fn delete_records_inner(
        &self,
        before: BTreeMap<TopicPartition, i64>,
    ) -> Results<TopicPartition, i64> {
        let api = ApiKey::DELETE_RECORDS;
        let before = &before;
        self.settle(api, before.keys().cloned(), |partitions, left| async move {
            let (leaders, mut answers) = self.by_leader(api, partitions).await;
            let asking = leaders.into_iter().map(|(leader, partitions)| {
                let offset_of = |p: TopicPartition| Some((p.clone(), *before.get(&p)?));
                let before: Vec<_> = partitions.into_iter().filter_map(offset_of).collect();
                self.clone().delete_records_at(leader, before, left)
            });
            answers.extend(join(asking).await.into_iter().flatten());
            answers
        })
        .await
    }

    async fn delete_records_at(
        self,
        leader: i32,
        before: Vec<(TopicPartition, i64)>,
        left: Duration,
    ) -> Answers<TopicPartition, i64> {
        let partitions = before.iter().map(|(partition, offset)| {
            let partition_index = partition.partition;
            let offset = *offset;
            (
                &*partition.topic,
                DeleteRecordsPartition { partition_index, offset, ..Default::default() },
            )
        });
        let topics = grouped::by_topic(partitions, |name, partitions| DeleteRecordsTopic {
            name: name.to_owned(),
            partitions,
            ..Default::default()
        });
        let request =
            DeleteRecordsRequest { topics, timeout_ms: millis(left), ..Default::default() };
        let sent = async { self.cluster.broker(leader).await?.send_within(&request, left).await };
        match sent.await {
            Ok(response) => {
                let topics = response.topics.into_iter().map(|t| (t.name, t.partitions));
                by_partition(topics, |p| {
                    let checked = AdminError::check(ApiKey::DELETE_RECORDS, p.error_code, None);
                    (p.partition_index, checked.map(|()| p.low_watermark))
                })
            }
            Err(error) => for_all(before.into_iter().map(|(partition, _)| partition), error),
        }
    }

    /// Who produces to partitions with sequence numbers (KIP-664).
    pub fn describe_producers(
        &self,
        partitions: impl IntoIterator<Item = TopicPartition>,
    ) -> AdminFuture<'_, Results<TopicPartition, Vec<ProducerState>>> {
        fn boxed(
            admin: &Admin,
            partitions: Vec<TopicPartition>,
        ) -> AdminFuture<'_, Results<TopicPartition, Vec<ProducerState>>> {
            Box::pin(admin.describe_producers_inner(partitions))
        }
        boxed(self, partitions.into_iter().collect())
    }

    async fn describe_producers_inner(
        &self,
        partitions: Vec<TopicPartition>,
    ) -> Results<TopicPartition, Vec<ProducerState>> {
        let api = ApiKey::DESCRIBE_PRODUCERS;
        self.settle(api, partitions, |partitions, _| async move {
            let (leaders, mut answers) = self.by_leader(api, partitions).await;
            let asking = leaders
                .into_iter()
                .map(|(leader, partitions)| self.clone().describe_producers_at(leader, partitions));
            answers.extend(join(asking).await.into_iter().flatten());
            answers
        })
        .await
    }

    async fn describe_producers_at(
        self,
        leader: i32,
        partitions: Vec<TopicPartition>,
    ) -> Answers<TopicPartition, Vec<ProducerState>> {
        let topics = by_topic(&partitions, |name, partition_indexes| TopicRequest {
            name,
            partition_indexes,
            ..Default::default()
        });
        let request = DescribeProducersRequest { topics, ..Default::default() };
        let response = match self.cluster.send_to(leader, &request).await {
            Ok(response) => response,
            Err(error) => return for_all(partitions, error),
        };
        let topics = response.topics.into_iter().map(|topic| (topic.name, topic.partitions));
        by_partition(topics, |p| {
            let message = p.error_message.as_deref();
            let checked = AdminError::check(ApiKey::DESCRIBE_PRODUCERS, p.error_code, message);
            let producers = p.active_producers.into_iter().map(|producer| ProducerState {
                id: producer.producer_id,
                epoch: producer.producer_epoch,
                last_sequence: producer.last_sequence,
                last_timestamp: producer.last_timestamp,
                coordinator_epoch: Some(producer.coordinator_epoch).filter(|e| *e >= 0),
                transaction_start: Some(producer.current_txn_start_offset).filter(|o| *o >= 0),
            });
            (p.partition_index, checked.map(|()| producers.collect()))
        })
    }
}
