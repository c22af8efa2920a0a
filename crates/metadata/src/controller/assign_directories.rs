//! AssignReplicasToDirs: a broker says in which of its directories replicas are.

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::assign_replicas_to_dirs_request::AssignReplicasToDirsRequest;
use thalweg_wire::messages::assign_replicas_to_dirs_response::{
    AssignReplicasToDirsResponse, DirectoryData, PartitionData, TopicData,
};
use thalweg_wire::messages::metadata_record::MetadataRecord;

use super::partition_change::{BrokerEvent, PartitionChange, leader_and_isr_change};
use super::{Context, ControllerRequest, Decision, RequestContext};

impl ControllerRequest for AssignReplicasToDirsRequest {
    fn decide(
        &self,
        context: &Context<'_>,
        _: &mut RequestContext<'_>,
    ) -> Decision<AssignReplicasToDirsResponse> {
        assign_replicas_to_dirs(context, self)
    }

    fn refused(&self, error_code: ErrorCode) -> AssignReplicasToDirsResponse {
        AssignReplicasToDirsResponse { error_code, ..Default::default() }
    }
}

/// Decides about the directories of replicas. A directory that is not online moves leaders away.
fn assign_replicas_to_dirs(
    context: &Context<'_>,
    request: &AssignReplicasToDirsRequest,
) -> Decision<AssignReplicasToDirsResponse> {
    let refuse = |error_code| {
        Decision::answer(AssignReplicasToDirsResponse { error_code, ..Default::default() })
    };
    if !context.metadata_version().has_directory_assignment() {
        return refuse(ErrorCode::UNSUPPORTED_VERSION);
    }
    let broker = request.broker_id;
    if let Err(error) = context.check_broker_epoch(broker, request.broker_epoch) {
        return refuse(error.code);
    }
    let Some(registration) = context.image.cluster.broker(broker) else {
        return refuse(ErrorCode::BROKER_ID_NOT_REGISTERED);
    };
    let mut records: Vec<MetadataRecord> = Vec::new();
    let mut moved: Vec<MetadataRecord> = Vec::new();
    let mut directories = Vec::with_capacity(request.directories.len());
    for directory in &request.directories {
        let online = registration.has_online_directory(directory.id);
        let mut topics = Vec::with_capacity(directory.topics.len());
        for wanted in &directory.topics {
            let topic = context.image.topics.by_id(wanted.topic_id);
            let mut partitions = Vec::with_capacity(wanted.partitions.len());
            for partition in &wanted.partitions {
                let index = partition.partition_index;
                let found = topic.map(|topic| (topic, topic.partitions.get(&index)));
                let error_code = match found {
                    None => ErrorCode::UNKNOWN_TOPIC_ID,
                    Some((_, None)) => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                    Some((_, Some(current))) if !current.replicas.contains(&broker) => {
                        ErrorCode::NOT_LEADER_OR_FOLLOWER
                    }
                    Some((topic, Some(current))) => {
                        let mut change = PartitionChange::new(context, topic, index, current);
                        change.directories.push((broker, directory.id));
                        records.extend(change.build().map(MetadataRecord::from));
                        if !online {
                            let event = BrokerEvent { removed: Some(broker), ..Default::default() };
                            let unclean = context.unclean_elections(&topic.name);
                            let change = leader_and_isr_change(
                                context, event, unclean, topic, index, current,
                            );
                            // The assignment stands in the record before; a second one with the
                            // old directories would take it back.
                            moved.extend(change.map(|mut change| {
                                change.directories = None;
                                change.into()
                            }));
                        }
                        ErrorCode::NONE
                    }
                };
                partitions.push(PartitionData {
                    partition_index: index,
                    error_code,
                    ..PartitionData::default()
                });
            }
            topics.push(TopicData {
                topic_id: wanted.topic_id,
                partitions,
                ..TopicData::default()
            });
        }
        directories.push(DirectoryData { id: directory.id, topics, ..DirectoryData::default() });
    }
    records.append(&mut moved);
    let response = AssignReplicasToDirsResponse { directories, ..Default::default() };
    Decision { records, response }
}
