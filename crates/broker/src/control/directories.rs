//! Reports to the controller which partition came to lie in which log directory (AssignReplicasToDirs, KIP-858).

use std::collections::BTreeMap;
use std::time::Duration;

use thalweg_wire::grouped::by_topic;
use thalweg_wire::messages::assign_replicas_to_dirs_request::{
    DirectoryData, PartitionData, TopicData,
};
use thalweg_wire::messages::{AssignReplicasToDirsRequest, AssignReplicasToDirsResponse};
use thalweg_wire::{ErrorCode, Uuid};

use crate::control::Control;
use crate::control::kraft::EmbeddedController;
use crate::node::directory_news::{Assignments, DirectoryNews};

/// Pause before what could not be reported is reported again.
const RETRY: Duration = Duration::from_secs(1);

impl Control {
    /// Reports the assignments that are noted.
    pub(crate) async fn report_assignments(&self) {
        loop {
            let taken = self.news.take();
            if taken.is_empty() {
                return;
            }
            self.report_assignments_of(Unreported { news: &self.news, assignments: taken }).await;
        }
    }

    async fn report_assignments_of(&self, mut unreported: Unreported<'_>) {
        let assignments = &unreported.assignments;
        let request = request_of(self.node.id(), self.node.broker_epoch(), assignments);
        let answer = self.send(request).await;
        look_at(answer.as_ref().map_err(ToString::to_string));
        let is_taken = answer.is_ok_and(|answer| answer.error_code.is_ok());
        // The embedded controller answers once and for all.
        if is_taken || !self.is_joined() {
            unreported.assignments.clear();
        } else {
            tokio::time::sleep(RETRY).await;
        }
    }
}

/// Assignments that are being reported. They are noted again if that fails, or if a stop ends the task that does it.
struct Unreported<'a> {
    news: &'a DirectoryNews,
    assignments: Assignments,
}

impl Drop for Unreported<'_> {
    fn drop(&mut self) {
        self.news.note_again(&self.assignments);
    }
}

/// Reports the assignments that are noted; on a thread that may wait. A start calls it once the broker is registered with
/// its directories and before it is unfenced, because only partitions in one of these get a leader then. A stop calls it
/// when the task that reports them has ended.
pub(crate) fn report_noted(control: &Control, controller: &EmbeddedController) {
    loop {
        let taken = control.news.take();
        if taken.is_empty() {
            return;
        }
        let request = request_of(control.node.id(), control.node.broker_epoch(), &taken);
        let answer = controller.send_blocking(&request);
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
    let mut by_dir: BTreeMap<Uuid, Vec<(Uuid, PartitionData)>> = BTreeMap::new();
    for (&(topic_id, partition_index), &dir) in assignments {
        let partition = PartitionData { partition_index, ..PartitionData::default() };
        by_dir.entry(dir).or_default().push((topic_id, partition));
    }
    let topic = |topic_id, partitions| TopicData { topic_id, partitions, ..TopicData::default() };
    let directories = by_dir.into_iter().map(|(id, partitions)| DirectoryData {
        id,
        topics: by_topic(partitions, topic),
        ..DirectoryData::default()
    });
    AssignReplicasToDirsRequest {
        broker_id,
        broker_epoch,
        directories: directories.collect(),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u8) -> Uuid {
        Uuid::from_u128(u128::from(n) << 64)
    }

    /// As when a stop ends the task that waits for the controller's answer.
    #[test]
    fn assignments_of_a_report_that_is_given_up_are_noted_again() {
        let news = DirectoryNews::default();
        news.assign(id(1), vec![(0, id(8)), (1, id(8))]);
        let unreported = Unreported { news: &news, assignments: news.take() };
        news.assign(id(1), vec![(1, id(9))]);
        drop(unreported);
        let noted: Vec<_> = news.take().into_iter().collect();
        assert_eq!(noted, [((id(1), 0), id(8)), ((id(1), 1), id(9))]);
    }

    #[test]
    fn assignments_are_grouped_by_directory_and_topic() {
        let noted = DirectoryNews::default();
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
}
