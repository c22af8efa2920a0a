//! Members' requests as bytes, and answers read.

use thalweg::{ApiVersions, Error, raw};
use thalweg_wire::messages::consumer_group_heartbeat_request::TopicPartitions;
use thalweg_wire::messages::join_group_request::JoinGroupRequestProtocol;
use thalweg_wire::messages::leave_group_request::MemberIdentity;
use thalweg_wire::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use thalweg_wire::messages::sync_group_request::SyncGroupRequestAssignment;
use thalweg_wire::messages::{
    ApiVersionsRequest, ApiVersionsResponse, ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse, HeartbeatRequest, HeartbeatResponse, JoinGroupRequest,
    JoinGroupResponse, LeaveGroupRequest, LeaveGroupResponse, OffsetCommitRequest,
    OffsetCommitResponse, SyncGroupRequest, SyncGroupResponse,
};
use thalweg_wire::{
    ApiKey, DecodeError, EncodeError, ErrorCode, Message, Reader, Request as WireRequest, Writer,
};

use super::assignor::Assignor;
use super::member::{
    Answer, Api, GroupSpec, HeartbeatAnswer, JoinAnswer, Member, Protocol, Request, Say,
};
use super::protocol::{self, PROTOCOL_TYPE};
use crate::bench::BenchError;

const CLIENT_ID: &str = "thalweg-bench";
/// The name of the software of members that are like librdkafka's. A coordinator that goes by it knows what to do.
const LIKE_LIBRDKAFKA: &str = "thalweg-bench-librdkafka";
/// The last version that names topics; the next one has ids.
const COMMIT_VERSION_MAX: i16 = 9;
/// The first version in which members choose their ids.
const CHOSEN_ID_FROM: i16 = 1;

/// The versions in use, and memory that every request is built in.
pub struct Codec {
    versions: Versions,
    writer: Writer,
    heartbeat: HeartbeatRequest,
    alive: ConsumerGroupHeartbeatRequest,
}

/// By [`Api`].
#[derive(Clone, Copy, Debug)]
struct Versions {
    versions: i16,
    join: i16,
    sync: i16,
    heartbeat: i16,
    leave: i16,
    consumer_heartbeat: i16,
    commit: i16,
}

impl Codec {
    /// For a coordinator that speaks `offered`.
    pub fn new(offered: &ApiVersions, addr: &str, spec: &GroupSpec) -> Result<Codec, BenchError> {
        let pick = |api: ApiKey, ours| {
            offered
                .pick(api, ours)
                .map_err(|source| BenchError::Client(Error::Version { addr: addr.into(), source }))
        };
        let consumer_heartbeat = match spec.protocol {
            Protocol::Classic(_) => -1,
            Protocol::Consumer(_) => {
                let ours = CHOSEN_ID_FROM..=ConsumerGroupHeartbeatRequest::MAX_VERSION;
                pick(ApiKey::CONSUMER_GROUP_HEARTBEAT, ours).map_err(|_| BenchError::Group {
                    group: spec.group.clone(),
                    what: format!(
                        "its coordinator {addr} does not serve --protocol consumer (no \
                         ConsumerGroupHeartbeat of version 1 or later): use --protocol classic, or \
                         enable the protocol there (feature group.version 1, and consumer in \
                         group.coordinator.rebalance.protocols)"
                    ),
                })?
            }
        };
        let versions = Versions {
            versions: offered.pick_for::<ApiVersionsRequest>().unwrap_or(0),
            // Before 4 a member's id is given without a second round; 5 has static members.
            join: pick(ApiKey::JOIN_GROUP, 5..=JoinGroupRequest::MAX_VERSION)?,
            sync: pick(ApiKey::SYNC_GROUP, 3..=SyncGroupRequest::MAX_VERSION)?,
            heartbeat: pick(ApiKey::HEARTBEAT, 3..=HeartbeatRequest::MAX_VERSION)?,
            leave: pick(ApiKey::LEAVE_GROUP, 3..=LeaveGroupRequest::MAX_VERSION)?,
            consumer_heartbeat,
            commit: pick(ApiKey::OFFSET_COMMIT, 7..=COMMIT_VERSION_MAX)?,
        };
        let group_id = || spec.group.clone();
        Ok(Codec {
            versions,
            writer: Writer::with_capacity(4096),
            heartbeat: HeartbeatRequest { group_id: group_id(), ..HeartbeatRequest::default() },
            alive: ConsumerGroupHeartbeatRequest {
                group_id: group_id(),
                ..ConsumerGroupHeartbeatRequest::default()
            },
        })
    }

    /// Appends the request that a connection begins with.
    pub fn write_versions(
        &mut self,
        is_like_librdkafka: bool,
        correlation: i32,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let request = ApiVersionsRequest {
            client_software_name: match is_like_librdkafka {
                true => LIKE_LIBRDKAFKA.to_owned(),
                false => CLIENT_ID.to_owned(),
            },
            client_software_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..ApiVersionsRequest::default()
        };
        frame(&mut self.writer, &request, self.versions.versions, correlation, out)
    }

    /// Appends a member's request.
    pub fn write(
        &mut self,
        request: &Request,
        member: &Member,
        spec: &GroupSpec,
        correlation: i32,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let core = member.core();
        let (v, w) = (self.versions, &mut self.writer);
        match request {
            Request::Heartbeat => {
                let message = &mut self.heartbeat;
                message.generation_id = core.epoch;
                message.member_id.clone_from(&core.id);
                message.group_instance_id.clone_from(&core.instance);
                frame(w, message, v.heartbeat, correlation, out)
            }
            Request::ConsumerHeartbeat(Say::Alive) => {
                let message = &mut self.alive;
                message.member_epoch = core.epoch;
                message.member_id.clone_from(&core.id);
                message.instance_id.clone_from(&core.instance);
                frame(w, message, v.consumer_heartbeat, correlation, out)
            }
            Request::ConsumerHeartbeat(say) => {
                let message = consumer_heartbeat(*say, member, spec);
                frame(w, &message, v.consumer_heartbeat, correlation, out)
            }
            Request::Join => frame(w, &join(member, spec)?, v.join, correlation, out),
            Request::Sync(assignments) => {
                let assignments = assignments.iter().map(|(id, partitions)| {
                    Ok(SyncGroupRequestAssignment {
                        member_id: id.clone(),
                        assignment: protocol::assignment(&spec.topic, partitions)?,
                        ..SyncGroupRequestAssignment::default()
                    })
                });
                let has_names = v.sync >= 5;
                let message = SyncGroupRequest {
                    group_id: spec.group.clone(),
                    generation_id: core.epoch,
                    member_id: core.id.clone(),
                    group_instance_id: core.instance.clone(),
                    protocol_type: has_names.then(|| PROTOCOL_TYPE.to_owned()),
                    protocol_name: has_names.then(|| assignor(spec).name().to_owned()),
                    assignments: assignments.collect::<Result<_, EncodeError>>()?,
                    ..SyncGroupRequest::default()
                };
                frame(w, &message, v.sync, correlation, out)
            }
            Request::Leave => {
                let message = LeaveGroupRequest {
                    group_id: spec.group.clone(),
                    members: vec![MemberIdentity {
                        member_id: core.id.clone(),
                        group_instance_id: core.instance.clone(),
                        reason: None,
                        ..MemberIdentity::default()
                    }],
                    ..LeaveGroupRequest::default()
                };
                frame(w, &message, v.leave, correlation, out)
            }
            Request::Commit(partitions) => {
                let partition = |&partition_index: &i32| OffsetCommitRequestPartition {
                    partition_index,
                    committed_offset: 0,
                    committed_leader_epoch: -1,
                    committed_metadata: Some(String::new()),
                    ..OffsetCommitRequestPartition::default()
                };
                let message = OffsetCommitRequest {
                    group_id: spec.group.clone(),
                    generation_id_or_member_epoch: core.epoch,
                    member_id: core.id.clone(),
                    group_instance_id: core.instance.clone(),
                    topics: vec![OffsetCommitRequestTopic {
                        name: spec.topic.clone(),
                        partitions: partitions.iter().map(partition).collect(),
                        ..OffsetCommitRequestTopic::default()
                    }],
                    ..OffsetCommitRequest::default()
                };
                frame(w, &message, v.commit, correlation, out)
            }
        }
    }

    /// Version in which an API is spoken.
    fn version(&self, api: Api) -> (ApiKey, i16) {
        let v = self.versions;
        match api {
            Api::Versions => (ApiKey::API_VERSIONS, v.versions),
            Api::Join => (ApiKey::JOIN_GROUP, v.join),
            Api::Sync => (ApiKey::SYNC_GROUP, v.sync),
            Api::Heartbeat => (ApiKey::HEARTBEAT, v.heartbeat),
            Api::Leave => (ApiKey::LEAVE_GROUP, v.leave),
            Api::ConsumerHeartbeat => (ApiKey::CONSUMER_GROUP_HEARTBEAT, v.consumer_heartbeat),
            Api::Commit => (ApiKey::OFFSET_COMMIT, v.commit),
        }
    }

    /// What is behind the correlation id of a frame that answers `api`; `None` for the answer to
    /// ApiVersions, which says what is known.
    pub fn read(&self, api: Api, rest: &[u8]) -> Result<Option<Answer>, DecodeError> {
        let (key, version) = self.version(api);
        let mut r = Reader::new(rest);
        if key.response_header_version(version) >= 1 {
            r.tags(None, |_, _| Ok(false))?;
        }
        let r = &mut r;
        Ok(Some(match api {
            Api::Versions => {
                ApiVersionsResponse::decode(r, version)?;
                return Ok(None);
            }
            Api::Join => join_answer(JoinGroupResponse::decode(r, version)?),
            Api::Sync => {
                let answer = SyncGroupResponse::decode(r, version)?;
                Answer::Sync { code: answer.error_code, assignment: answer.assignment }
            }
            Api::Heartbeat => Answer::Heartbeat(HeartbeatResponse::decode(r, version)?.error_code),
            Api::Leave => {
                let answer = LeaveGroupResponse::decode(r, version)?;
                let codes = answer.members.iter().map(|member| member.error_code);
                Answer::Leave(first_error([answer.error_code].into_iter().chain(codes)))
            }
            Api::ConsumerHeartbeat => {
                heartbeat_answer(ConsumerGroupHeartbeatResponse::decode(r, version)?)
            }
            Api::Commit => {
                let answer = OffsetCommitResponse::decode(r, version)?;
                let partitions = answer.topics.iter().flat_map(|topic| &topic.partitions);
                Answer::Commit(first_error(partitions.map(|partition| partition.error_code)))
            }
        }))
    }
}

/// Appends a whole frame.
fn frame<R: WireRequest>(
    w: &mut Writer,
    request: &R,
    version: i16,
    correlation: i32,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    w.clear();
    raw::encode_request(w, request, version, CLIENT_ID)?;
    raw::set_correlation_id(w.inline_mut(), correlation);
    if w.segments().is_empty() {
        out.extend_from_slice(w.inline());
    } else {
        out.extend_from_slice(&w.to_vec());
    }
    Ok(())
}

fn first_error(mut codes: impl Iterator<Item = ErrorCode>) -> ErrorCode {
    codes.find(|&code| code != ErrorCode::NONE).unwrap_or(ErrorCode::NONE)
}

/// The assignor of a classic group; requests with it are sent in no other.
fn assignor(spec: &GroupSpec) -> Assignor {
    match spec.protocol {
        Protocol::Classic(assignor) => assignor,
        Protocol::Consumer(_) => Assignor::Range,
    }
}

fn join(member: &Member, spec: &GroupSpec) -> Result<JoinGroupRequest, EncodeError> {
    let core = member.core();
    let assignor = assignor(spec);
    let (owned, generation) = match member {
        Member::Classic(member) => member.claim(),
        Member::Consumer(_) => (&core.owned[..], core.epoch),
    };
    Ok(JoinGroupRequest {
        group_id: spec.group.clone(),
        session_timeout_ms: spec.session_ms,
        rebalance_timeout_ms: spec.rebalance_ms,
        member_id: core.id.clone(),
        group_instance_id: core.instance.clone(),
        protocol_type: PROTOCOL_TYPE.to_owned(),
        protocols: vec![JoinGroupRequestProtocol {
            name: assignor.name().to_owned(),
            metadata: protocol::subscription(assignor, &spec.topic, owned, generation)?,
            ..JoinGroupRequestProtocol::default()
        }],
        ..JoinGroupRequest::default()
    })
}

fn consumer_heartbeat(
    say: Say,
    member: &Member,
    spec: &GroupSpec,
) -> ConsumerGroupHeartbeatRequest {
    let core = member.core();
    let mut message = ConsumerGroupHeartbeatRequest {
        group_id: spec.group.clone(),
        member_id: core.id.clone(),
        member_epoch: core.epoch,
        instance_id: core.instance.clone(),
        ..ConsumerGroupHeartbeatRequest::default()
    };
    match say {
        Say::Alive => {}
        Say::Leave(epoch) => message.member_epoch = epoch,
        Say::Owned => {
            let owned = TopicPartitions {
                topic_id: spec.topic_id,
                partitions: core.owned.clone(),
                ..TopicPartitions::default()
            };
            let owned = Some(owned).filter(|owned| !owned.partitions.is_empty());
            message.topic_partitions = Some(owned.into_iter().collect());
        }
        Say::All => {
            message.rebalance_timeout_ms = spec.rebalance_ms;
            message.subscribed_topic_names = Some(vec![spec.topic.clone()]);
            message.topic_partitions = Some(Vec::new());
            if let Protocol::Consumer(assignor) = &spec.protocol {
                message.server_assignor.clone_from(assignor);
            }
        }
    }
    message
}

fn join_answer(answer: JoinGroupResponse) -> Answer {
    let members = answer.members.into_iter();
    Answer::Join(JoinAnswer {
        code: answer.error_code,
        generation: answer.generation_id,
        member_id: answer.member_id,
        leader: answer.leader,
        skip_assignment: answer.skip_assignment,
        members: members.map(|m| (m.member_id, m.group_instance_id, m.metadata)).collect(),
    })
}

fn heartbeat_answer(answer: ConsumerGroupHeartbeatResponse) -> Answer {
    Answer::ConsumerHeartbeat(HeartbeatAnswer {
        code: answer.error_code,
        message: answer.error_message,
        epoch: answer.member_epoch,
        interval: u64::try_from(answer.heartbeat_interval_ms).unwrap_or(0) * 1000,
        assignment: answer.assignment.map(|assignment| {
            let topics = assignment.topic_partitions.into_iter();
            let mut partitions: Vec<i32> = topics.flat_map(|topic| topic.partitions).collect();
            partitions.sort_unstable();
            partitions.dedup();
            partitions
        }),
    })
}
