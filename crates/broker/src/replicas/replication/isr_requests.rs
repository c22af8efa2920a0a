//! Requests for changes of in-sync replicas (AlterPartition): sent to the controller, one at a time, and their answers given
//! to the partitions.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use thalweg_replication::Altered;
use thalweg_wire::grouped::by_sorted_topic;
use thalweg_wire::messages::alter_partition_request::{BrokerState, PartitionData, TopicData};
use thalweg_wire::messages::{AlterPartitionRequest, AlterPartitionResponse};
use thalweg_wire::{ErrorCode, Uuid};

use crate::node::backoff::Backoff;
use crate::replicas::Replicas;
use crate::replicas::shared::Changes;

/// Pause before what was not carried out is asked for again, as in the Java broker.
const RETRY: Duration = Duration::from_millis(50);
/// The longest pause while no controller answers.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Asks for changes for as long as it is polled. `ask` sends a request to the controller in this node's name.
pub(crate) async fn run<A, E>(replicas: Arc<Replicas>, ask: impl Fn(AlterPartitionRequest) -> A)
where
    A: Future<Output = Result<AlterPartitionResponse, E>>,
    E: Display,
{
    let isr_changes = &replicas.shared.isr_changes;
    let mut backoff = Backoff::new(RETRY, PAUSE_MAX);
    loop {
        let changes = isr_changes.take();
        if changes.is_empty() {
            isr_changes.added.notified().await;
            continue;
        }
        let answer = ask(request(replicas.node.id(), replicas.node.broker_epoch(), &changes)).await;
        let mut answers = match answer {
            Ok(answer) if answer.error_code.is_ok() => by_partition(answer),
            unanswered => {
                let code =
                    unanswered.as_ref().map_or(ErrorCode::NOT_CONTROLLER, |it| it.error_code);
                let error = unanswered.err().map_or(code.to_string(), |error| error.to_string());
                tracing::warn!(
                    error,
                    partitions = changes.len(),
                    "the controller does not answer what is asked of ISRs; it is asked again"
                );
                tell(&replicas, &changes, |_| Err(code));
                tokio::time::sleep(backoff.pause()).await;
                continue;
            }
        };
        backoff.reset();
        let mut is_refused = false;
        tell(&replicas, &changes, |key| {
            let sent = &changes[key];
            let answer = answers.remove(key).unwrap_or(Err(ErrorCode::UNKNOWN_SERVER_ERROR));
            isr_changes.count(&sent.change, &answer);
            if let Err(code) = answer {
                let topic = replicas.topics().by_id(key.0).map(|topic| Arc::clone(&topic.name));
                tracing::info!(topic = topic.as_deref(), topic_id = %key.0, partition = key.1,
                    %code, isr = ?sent.isr,
                    "the controller refuses an ISR");
                is_refused = true;
            }
            answer
        });
        if is_refused {
            tokio::time::sleep(RETRY).await;
        }
    }
}

/// Tells each partition what the controller says.
fn tell(
    replicas: &Replicas,
    changes: &Changes,
    mut answer: impl FnMut(&(Uuid, i32)) -> Result<Altered, ErrorCode>,
) {
    let table = replicas.topics();
    for (key, sent) in changes {
        let answer = answer(key);
        if let Some(partition) = table.by_id(key.0).and_then(|topic| topic.partition(key.1)) {
            partition.altered(sent, answer);
        }
    }
}

type Answers = BTreeMap<(Uuid, i32), Result<Altered, ErrorCode>>;

fn by_partition(answer: AlterPartitionResponse) -> Answers {
    let mut answers = Answers::new();
    for topic in answer.topics {
        for partition in topic.partitions {
            let altered = match partition.error_code {
                ErrorCode::NONE => Ok(Altered {
                    leader_epoch: partition.leader_epoch,
                    partition_epoch: partition.partition_epoch,
                    isr: partition.isr,
                }),
                code => Err(code),
            };
            answers.insert((topic.topic_id, partition.partition_index), altered);
        }
    }
    answers
}

fn request(broker_id: i32, broker_epoch: i64, changes: &Changes) -> AlterPartitionRequest {
    let partitions = changes.iter().map(|((topic_id, index), change)| {
        let member = |member: &thalweg_replication::IsrMember| BrokerState {
            broker_id: member.broker,
            broker_epoch: member.epoch,
            ..BrokerState::default()
        };
        let partition = PartitionData {
            partition_index: *index,
            leader_epoch: change.leader_epoch,
            new_isr_with_epochs: change.isr.iter().map(member).collect(),
            // A leader has recovered as soon as it leads, also after an unclean election.
            leader_recovery_state: 0,
            partition_epoch: change.partition_epoch,
            ..PartitionData::default()
        };
        (*topic_id, partition)
    });
    let topics = by_sorted_topic(partitions, |topic_id, partitions| TopicData {
        topic_id,
        partitions,
        ..TopicData::default()
    });
    AlterPartitionRequest { broker_id, broker_epoch, topics, ..Default::default() }
}

#[cfg(test)]
mod tests {
    use thalweg_replication::{AlterPartition, IsrChange, IsrMember};
    use thalweg_wire::messages::alter_partition_response as wire;

    use super::*;
    use crate::replicas::shared::{IsrChanges, PARTITIONS_MAX};
    use crate::testing::{self, NODE, Node};
    use crate::{Hooks, TestClock};

    fn id(n: u8) -> Uuid {
        Uuid::from_u128(u128::from(n) << 64)
    }

    fn change(partition_epoch: i32) -> AlterPartition {
        AlterPartition {
            leader_epoch: 4,
            partition_epoch,
            isr: vec![IsrMember { broker: 1, epoch: 11 }, IsrMember { broker: 2, epoch: -1 }],
            change: IsrChange::Expand(2),
        }
    }

    #[test]
    fn the_last_change_of_a_partition_is_asked_for() {
        let changes = IsrChanges::default();
        changes.ask(id(1), 0, change(6));
        changes.ask(id(2), 3, change(7));
        changes.ask(id(1), 0, change(8));
        changes.ask(id(1), 0, change(7));
        let request = request(1, 11, &changes.take());
        let asked: Vec<(Uuid, i32, i32)> = request
            .topics
            .iter()
            .flat_map(|topic| {
                topic
                    .partitions
                    .iter()
                    .map(|it| (topic.topic_id, it.partition_index, it.partition_epoch))
            })
            .collect();
        assert_eq!(asked, [(id(1), 0, 8), (id(2), 3, 7)]);
        let isr = &request.topics[0].partitions[0].new_isr_with_epochs;
        let isr: Vec<(i32, i64)> = isr.iter().map(|it| (it.broker_id, it.broker_epoch)).collect();
        assert_eq!((request.broker_epoch, isr), (11, vec![(1, 11), (2, -1)]));
        assert!(changes.take().is_empty());
    }

    #[test]
    fn answers_belong_to_their_partitions() {
        let partition = |index, error_code| wire::PartitionData {
            partition_index: index,
            error_code,
            leader_epoch: 4,
            partition_epoch: 9,
            isr: vec![1, 2],
            ..Default::default()
        };
        let answer = AlterPartitionResponse {
            topics: vec![wire::TopicData {
                topic_id: id(1),
                partitions: vec![
                    partition(0, ErrorCode::NONE),
                    partition(1, ErrorCode::INELIGIBLE_REPLICA),
                ],
                ..Default::default()
            }],
            ..Default::default()
        };
        let answers = by_partition(answer);
        let altered = Altered { leader_epoch: 4, partition_epoch: 9, isr: vec![1, 2] };
        assert_eq!(answers[&(id(1), 0)], Ok(altered));
        assert_eq!(answers[&(id(1), 1)], Err(ErrorCode::INELIGIBLE_REPLICA));
    }

    #[test]
    fn many_changes_go_in_several_requests() {
        let changes = IsrChanges::default();
        let count = i32::try_from(PARTITIONS_MAX).unwrap() + 1;
        (0..count).for_each(|index| changes.ask(id(1), index, change(1)));
        assert_eq!((changes.take().len(), changes.take().len()), (PARTITIONS_MAX, 1));
    }

    /// A partition takes the ISR from the answer, and does not wait for the metadata.
    #[tokio::test]
    async fn partition_takes_the_isr_of_an_answer() {
        let clock = TestClock::new();
        let hooks = Hooks { clock: Some(clock.clone()), ..Hooks::default() };
        let node = Node::start_with(&[], &[""], hooks).await;
        let led = testing::partition(id(1), 0, NODE, 3, &[NODE, 2]);
        node.publish([testing::topic("t", id(1)), led.into()]).await;
        let (replicas, partition) = (&node.services().replicas, node.partition("t", 0));
        // The other replica has never fetched. The broker's own task does not run before the next wait.
        clock.advance(Duration::from_secs(3600));
        partition.check_lag();
        let changes = replicas.shared.isr_changes.take();
        assert_eq!(changes.len(), 1);
        assert!(!partition.missing_replicas().replicas);
        tell(replicas, &changes, |key| {
            let sent = &changes[key];
            let partition_epoch = sent.partition_epoch + 1;
            Ok(Altered { leader_epoch: 3, partition_epoch, isr: vec![NODE] })
        });
        assert!(partition.missing_replicas().replicas);
        node.shut_down().await;
    }
}
