//! Parts of requests, and what comes with them.

use thalweg_metadata::controller::{
    self, Context, ControllerRequest, Decision, HeartbeatState, RequestContext,
};
use thalweg_metadata::features::SUPPORTED;
use thalweg_wire::Uuid;
use thalweg_wire::messages::*;

use broker_registration_request::{Feature, Listener};
use create_topics_request::{CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig};

/// A controller that has heard of nobody.
pub const NOT_HEARD_OF: HeartbeatState = HeartbeatState {
    has_session: false,
    registration_offset: 0,
    lowest_active_offset: None,
    shutdown_offset: None,
};

/// Decides about a request in its newest version. `change` sets what else comes with it.
pub fn decide<'a, R: ControllerRequest>(
    context: &Context<'_>,
    request: &R,
    numbers: &'a mut dyn controller::Random,
    change: impl FnOnce(&mut RequestContext<'a>),
) -> Decision<R::Response> {
    let mut given = RequestContext {
        version: R::MAX_VERSION,
        random: numbers,
        cluster_id: "",
        kraft_version: 1,
        next_offset: 0,
        heartbeats: NOT_HEARD_OF,
    };
    change(&mut given);
    request.decide(context, &mut given)
}

/// A broker that exists only as a registration.
pub struct Fake {
    pub id: i32,
    pub epoch: i64,
    pub previous_epoch: i64,
    pub registration_offset: i64,
    pub incarnation: Uuid,
    pub directories: Vec<Uuid>,
    pub rack: Option<String>,
    pub leave_out: &'static str,
}

impl Fake {
    pub fn new(id: i32, directories: &[u128]) -> Fake {
        Fake {
            id,
            epoch: -1,
            previous_epoch: -1,
            registration_offset: -1,
            incarnation: Uuid::from_u128(1 << 100 | id as u128),
            directories: directories.iter().map(|id| Uuid::from_u128(*id)).collect(),
            rack: None,
            leave_out: "",
        }
    }

    pub fn registration(&self, cluster_id: &str) -> BrokerRegistrationRequest {
        BrokerRegistrationRequest {
            broker_id: self.id,
            cluster_id: cluster_id.into(),
            incarnation_id: self.incarnation,
            listeners: vec![Listener {
                name: "PLAINTEXT".into(),
                host: "127.0.0.1".into(),
                port: 9,
                security_protocol: 0,
                ..Default::default()
            }],
            features: SUPPORTED
                .iter()
                .filter(|range| range.name != self.leave_out)
                .map(|range| Feature {
                    name: range.name.into(),
                    min_supported_version: range.min,
                    max_supported_version: range.max,
                    ..Default::default()
                })
                .collect(),
            rack: self.rack.clone(),
            is_migrating_zk_broker: false,
            log_dirs: self.directories.clone(),
            previous_broker_epoch: self.previous_epoch,
            ..Default::default()
        }
    }
}

pub fn topic(name: &str, partitions: i32, replication_factor: i16) -> CreatableTopic {
    CreatableTopic {
        name: name.into(),
        num_partitions: partitions,
        replication_factor,
        ..Default::default()
    }
}

pub fn with_configs(mut topic: CreatableTopic, configs: &[(&str, Option<&str>)]) -> CreatableTopic {
    topic.configs = configs
        .iter()
        .map(|(name, value)| CreatableTopicConfig {
            name: (*name).into(),
            value: value.map(Into::into),
            ..Default::default()
        })
        .collect();
    topic
}

pub fn assigned(name: &str, assignments: &[(i32, &[i32])]) -> CreatableTopic {
    CreatableTopic {
        assignments: assignments
            .iter()
            .map(|(index, brokers)| CreatableReplicaAssignment {
                partition_index: *index,
                broker_ids: brokers.to_vec(),
                ..Default::default()
            })
            .collect(),
        ..topic(name, -1, -1)
    }
}
