//! AlterPartition: the leader of a partition says which replicas are in sync with it, and whether it has
//! recovered from an unclean election.

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::alter_partition_request::{
    AlterPartitionRequest, BrokerState, PartitionData as Wanted,
};
use thalweg_wire::messages::alter_partition_response::{
    AlterPartitionResponse, PartitionData, TopicData,
};
use thalweg_wire::messages::metadata_record::MetadataRecord;

use super::partition_change::{Election, PartitionChange};
use super::{Context, ControllerRequest, Decision, RequestContext};
use crate::image::{NO_LEADER_CHANGE, Partition, TopicImage};

/// First version that says in which incarnation the members of an ISR were found to be in sync.
const WITH_BROKER_EPOCHS: i16 = 3;
/// Epoch of a member whose incarnation is not compared.
const ANY_EPOCH: i64 = -1;

impl ControllerRequest for AlterPartitionRequest {
    fn decide(
        &self,
        context: &Context<'_>,
        given: &mut RequestContext<'_>,
    ) -> Decision<AlterPartitionResponse> {
        alter_partition(context, self, given.version)
    }

    fn refused(&self, error_code: ErrorCode) -> AlterPartitionResponse {
        AlterPartitionResponse { error_code, ..Default::default() }
    }
}

/// Decides about other ISRs. Each partition is looked at by itself, as it was before the request.
fn alter_partition(
    context: &Context<'_>,
    request: &AlterPartitionRequest,
    version: i16,
) -> Decision<AlterPartitionResponse> {
    // Kafka's controller answers this before it looks at the broker epoch.
    if request.topics.is_empty() {
        return Decision::answer(AlterPartitionResponse::default());
    }
    if let Err(error) = context.check_broker_epoch(request.broker_id, request.broker_epoch) {
        return Decision::answer(request.refused(error.code));
    }
    let mut records: Vec<MetadataRecord> = Vec::new();
    let mut topics = Vec::with_capacity(request.topics.len());
    for asked in &request.topics {
        let topic = context.image.topics.by_id(asked.topic_id);
        let mut partitions = Vec::with_capacity(asked.partitions.len());
        for wanted in &asked.partitions {
            let altered = match topic {
                Some(topic) => alter(context, request.broker_id, topic, wanted, version),
                None => Err(ErrorCode::UNKNOWN_TOPIC_ID),
            };
            let answer = match altered {
                Ok((record, answer)) => {
                    records.extend(record);
                    answer
                }
                // The request is wrong as a whole: nothing of it is carried out.
                Err(code @ ErrorCode::UNKNOWN_SERVER_ERROR) => {
                    return Decision::answer(request.refused(code));
                }
                Err(code) => failure(wanted.partition_index, code),
            };
            partitions.push(answer);
        }
        topics.push(TopicData { topic_id: asked.topic_id, partitions, ..TopicData::default() });
    }
    let response = AlterPartitionResponse { topics, ..Default::default() };
    Decision { records, response }
}

fn failure(partition_index: i32, error_code: ErrorCode) -> PartitionData {
    PartitionData { partition_index, error_code, ..PartitionData::default() }
}

/// The record of a partition's change, if anything changes, and what the leader is told.
fn alter(
    context: &Context<'_>,
    leader: i32,
    topic: &TopicImage,
    wanted: &Wanted,
    version: i16,
) -> Result<(Option<MetadataRecord>, PartitionData), ErrorCode> {
    let index = wanted.partition_index;
    let partition = topic.partitions.get(&index).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    let isr = members(wanted, version);
    let is_recovering = check(context, leader, partition, wanted, &isr)?;
    let mut change = PartitionChange::new(context, topic, index, partition);
    if context.unclean_elections(&topic.name) {
        change.election = Election::Unclean;
    }
    change.isr = isr.iter().map(|member| member.broker_id).collect();
    change.is_recovering = is_recovering;
    let Some(record) = change.build() else { return Ok((None, answer(index, partition))) };
    let changed = partition.changed(&record).map_err(|_| ErrorCode::UNKNOWN_SERVER_ERROR)?;
    // A reassignment that this completes may take the leader away. The change is made, and the leader
    // is told of an error: how the partition goes on comes with the metadata.
    let is_replaced = record.leader != NO_LEADER_CHANGE && record.leader != leader;
    let answer = match is_replaced {
        true => failure(index, ErrorCode::NEW_LEADER_ELECTED),
        false => answer(index, &changed),
    };
    Ok((Some(record.into()), answer))
}

fn answer(partition_index: i32, partition: &Partition) -> PartitionData {
    PartitionData {
        partition_index,
        error_code: ErrorCode::NONE,
        leader_id: partition.leader,
        leader_epoch: partition.leader_epoch,
        isr: partition.isr.clone(),
        leader_recovery_state: i8::from(partition.is_recovering),
        partition_epoch: partition.partition_epoch,
        ..PartitionData::default()
    }
}

/// The members of the ISR that is asked for.
fn members(wanted: &Wanted, version: i16) -> Vec<BrokerState> {
    if version >= WITH_BROKER_EPOCHS {
        return wanted.new_isr_with_epochs.clone();
    }
    let any = |broker_id: &i32| BrokerState {
        broker_id: *broker_id,
        broker_epoch: ANY_EPOCH,
        ..BrokerState::default()
    };
    wanted.new_isr.iter().map(any).collect()
}

/// Whether the leader may have this ISR; gives whether it is still recovering.
fn check(
    context: &Context<'_>,
    leader: i32,
    partition: &Partition,
    wanted: &Wanted,
    isr: &[BrokerState],
) -> Result<bool, ErrorCode> {
    // The leader knows of changes that this controller does not: it is likely no longer the active one.
    if wanted.leader_epoch > partition.leader_epoch
        || wanted.partition_epoch > partition.partition_epoch
    {
        return Err(ErrorCode::NOT_CONTROLLER);
    }
    if wanted.leader_epoch < partition.leader_epoch {
        return Err(ErrorCode::FENCED_LEADER_EPOCH);
    }
    if leader != partition.leader {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    if wanted.partition_epoch < partition.partition_epoch {
        return Err(ErrorCode::INVALID_UPDATE_VERSION);
    }
    let mut brokers: Vec<i32> = isr.iter().map(|member| member.broker_id).collect();
    brokers.sort_unstable();
    let is_set = brokers.windows(2).all(|pair| pair[0] != pair[1]);
    let are_replicas = brokers.iter().all(|id| partition.replicas.contains(id));
    if !is_set || !are_replicas || !brokers.contains(&leader) {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    let is_recovering = match wanted.leader_recovery_state {
        0 => false,
        1 => true,
        // Kafka's controller takes it for a fault of its own: it answers the same, and resigns.
        _ => return Err(ErrorCode::UNKNOWN_SERVER_ERROR),
    };
    // Nobody is in sync with a leader that is recovering, and only an election makes it recovering.
    if is_recovering && (brokers.len() > 1 || !partition.is_recovering) {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    match isr.iter().all(|member| is_eligible(context, member)) {
        true => Ok(is_recovering),
        false => Err(ErrorCode::INELIGIBLE_REPLICA),
    }
}

/// Whether a broker may be in an ISR: it is registered, not about to stop, not fenced, and still the
/// incarnation that the leader has seen. Another one may lack what the leader believes it to have.
fn is_eligible(context: &Context<'_>, member: &BrokerState) -> bool {
    let broker = context.image.cluster.broker(member.broker_id);
    broker.is_some_and(|broker| {
        !broker.in_controlled_shutdown
            && !broker.fenced
            && (member.broker_epoch == ANY_EPOCH || member.broker_epoch == broker.epoch)
    })
}
