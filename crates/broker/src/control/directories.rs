//! What the controller has to hear of this broker's log directories: which partition came to lie in
//! which (KIP-858), and which directories are offline.
//!
//! Both are found out where the controller cannot be asked - while an image takes effect, or under a
//! log's locks - so they are noted there and reported by a task of their own. Assignments go first:
//! the controller looks for the partitions of a lost directory by their assignment.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_wire::messages::assign_replicas_to_dirs_request::{
    DirectoryData, PartitionData, TopicData,
};
use thalweg_wire::messages::{AssignReplicasToDirsRequest, AssignReplicasToDirsResponse};
use thalweg_wire::{ErrorCode, Uuid};
use tokio::sync::Notify;

use crate::broker::Broker;
use crate::control::kraft::EmbeddedController;
use crate::control::registration;
use crate::node::internal_topics::InternalTopic;

/// Partitions per request, as Kafka's brokers send them.
const ASSIGNMENTS_PER_REQUEST: usize = 2_250;

/// Pause before what could not be reported is reported again.
const RETRY: Duration = Duration::from_secs(1);

/// Topic and partition, and the directory it lies in.
type Assignments = BTreeMap<(Uuid, i32), Uuid>;

/// What is to be reported.
#[derive(Debug, Default)]
pub(crate) struct Directories {
    assignments: Mutex<Assignments>,
    changed: Notify,
}

impl Directories {
    /// Partitions of a topic lie in other directories than the metadata says.
    pub(crate) fn assign(&self, topic: Uuid, partitions: Vec<(i32, Uuid)>) {
        let mut assignments = self.assignments.lock();
        assignments.extend(partitions.into_iter().map(|(index, dir)| ((topic, index), dir)));
        drop(assignments);
        self.changed.notify_one();
    }

    /// Something is to be reported; takes no lock that anybody holds for long.
    pub(crate) fn wake(&self) {
        self.changed.notify_one();
    }

    /// What could not be reported is reported with what came meanwhile, which is newer.
    fn note_again(&self, assignments: &Assignments) {
        let mut noted = self.assignments.lock();
        for (partition, dir) in assignments {
            noted.entry(*partition).or_insert(*dir);
        }
    }

    fn take(&self) -> Assignments {
        let mut assignments = self.assignments.lock();
        match assignments.keys().nth(ASSIGNMENTS_PER_REQUEST).copied() {
            None => std::mem::take(&mut *assignments),
            Some(rest) => {
                let rest = assignments.split_off(&rest);
                std::mem::replace(&mut *assignments, rest)
            }
        }
    }
}

/// Reports what is noted, for as long as it is polled.
pub(crate) async fn report(broker: Arc<Broker>) {
    loop {
        broker.control.directories().changed.notified().await;
        settle_moves(&broker);
        loop {
            let taken = broker.control.directories().take();
            if taken.is_empty() {
                break;
            }
            report_assignments(&broker, &taken).await;
        }
        report_offline(&broker).await;
    }
}

/// What was moving from or to a directory that failed is where it is, and is told so before the failure is.
fn settle_moves(broker: &Arc<Broker>) {
    if broker.replicas.logs().dirs().iter().all(|dir| dir.check().is_ok()) {
        return;
    }
    for topic in broker.replicas.topics().iter() {
        topic.partitions().for_each(|partition| partition.come_online_if_moved());
    }
    // Not waited for: the failure is to be reported however long the disk hangs.
    for future in broker.replicas.moves().give_up_offline(broker) {
        let (broker, pool) =
            (Arc::clone(broker), broker.replicas.disk_changes().of(future.dir()).clone());
        tokio::spawn(async move {
            // What is there of it is found by a later start.
            let remove = move || {
                broker.replicas.logs().remove_future(&future, broker.node.clock().wall_ms())
            };
            let _ = pool.run(remove).await;
        });
    }
}

async fn report_assignments(broker: &Arc<Broker>, assignments: &Assignments) {
    let request = request_of(broker.node.id(), broker.control.epoch(), assignments);
    let answer = broker.control.controller().send(broker, request).await;
    look_at(answer.as_ref().map_err(ToString::to_string));
    let is_taken = answer.is_ok_and(|answer| answer.error_code.is_ok());
    // The embedded controller answers once and for all.
    if !is_taken && broker.control.controller().remote().is_some() {
        tokio::time::sleep(RETRY).await;
        broker.control.directories().note_again(assignments);
    }
}

/// Reports what was found while the metadata was served for the first time; on a thread that may
/// wait. To be called once the broker is registered with its directories and before it is unfenced:
/// only partitions that lie in one of these get a leader then.
pub(crate) fn report_before_unfencing(broker: &Arc<Broker>, controller: &EmbeddedController) {
    loop {
        let taken = broker.control.directories().take();
        if taken.is_empty() {
            return;
        }
        let request = request_of(broker.node.id(), broker.control.epoch(), &taken);
        let answer = controller.send_blocking(broker, &request);
        look_at(answer.as_ref().map_err(ToString::to_string));
    }
}

fn look_at(answer: Result<&AssignReplicasToDirsResponse, String>) {
    match answer {
        Ok(answer) if answer.error_code.is_ok() => {
            for topic in answer.directories.iter().flat_map(|dir| &dir.topics) {
                for partition in &topic.partitions {
                    // A topic that was deleted meanwhile needs none.
                    if partition.error_code.is_err()
                        && partition.error_code != ErrorCode::UNKNOWN_TOPIC_ID
                    {
                        tracing::warn!(topic_id = %topic.topic_id,
                            partition = partition.partition_index, error = %partition.error_code,
                            "the directory of a partition was not taken note of");
                    }
                }
            }
        }
        Ok(answer) => {
            tracing::warn!(error = %answer.error_code,
                "the directories of partitions were not taken note of");
        }
        Err(error) => tracing::warn!(%error, "the directories of partitions are not reported"),
    }
}

fn request_of(
    broker_id: i32,
    broker_epoch: i64,
    assignments: &Assignments,
) -> AssignReplicasToDirsRequest {
    let mut by_dir: BTreeMap<Uuid, BTreeMap<Uuid, Vec<PartitionData>>> = BTreeMap::new();
    for (&(topic, partition_index), &dir) in assignments {
        let partition = PartitionData { partition_index, ..PartitionData::default() };
        by_dir.entry(dir).or_default().entry(topic).or_default().push(partition);
    }
    let directories = by_dir.into_iter().map(|(id, topics)| DirectoryData {
        id,
        topics: topics
            .into_iter()
            .map(|(topic_id, partitions)| TopicData {
                topic_id,
                partitions,
                ..TopicData::default()
            })
            .collect(),
        ..DirectoryData::default()
    });
    AssignReplicasToDirsRequest {
        broker_id,
        broker_epoch,
        directories: directories.collect(),
        ..Default::default()
    }
}

async fn report_offline(broker: &Arc<Broker>) {
    if broker.replicas.logs().dirs().iter().all(|dir| dir.check().is_ok())
        || broker.node.is_stopping()
    {
        return;
    }
    // What cannot be written must not be answered for: the groups look for their coordinator again.
    let table = broker.replicas.topics();
    for internal in InternalTopic::ALL {
        for partition in table.by_name(internal.name()).iter().flat_map(|t| t.partitions()) {
            if partition.log.dir().check().is_err() {
                internal.resigned(broker, partition.index, None);
            }
        }
    }
    drop(table);
    registration::report_directories(broker).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u8) -> Uuid {
        Uuid::from_u128(u128::from(n) << 64)
    }

    #[test]
    fn assignments_are_grouped_by_directory_and_topic() {
        let noted = Directories::default();
        noted.assign(id(1), vec![(0, id(8)), (1, id(9)), (2, id(8))]);
        noted.assign(id(2), vec![(0, id(9))]);
        let request = request_of(1, 7, &noted.take());
        let listed: Vec<(Uuid, Uuid, Vec<i32>)> = request
            .directories
            .iter()
            .flat_map(|dir| {
                dir.topics.iter().map(|topic| {
                    let partitions = topic.partitions.iter().map(|p| p.partition_index);
                    (dir.id, topic.topic_id, partitions.collect())
                })
            })
            .collect();
        let expected =
            [(id(8), id(1), vec![0, 2]), (id(9), id(1), vec![1]), (id(9), id(2), vec![0])];
        assert_eq!(listed, expected);
        assert!(noted.take().is_empty());
    }

    #[test]
    fn many_assignments_go_in_several_requests() {
        let noted = Directories::default();
        let count = i32::try_from(ASSIGNMENTS_PER_REQUEST).unwrap() * 2 + 1;
        noted.assign(id(1), (0..count).map(|index| (index, id(9))).collect());
        assert_eq!(noted.take().len(), ASSIGNMENTS_PER_REQUEST);
        assert_eq!(noted.take().len(), ASSIGNMENTS_PER_REQUEST);
        assert_eq!(noted.take().len(), 1);
        assert!(noted.take().is_empty());
    }
}
