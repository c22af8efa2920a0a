//! Registrations, heartbeats, fencing: which brokers there are and what they may do.
//!
//! Sessions - when a broker was last heard of - are the caller's: it knows the time. It calls
//! [`fence_broker`] when one ends.

use std::collections::BTreeSet;

use thalweg_wire::messages::broker_heartbeat_request::BrokerHeartbeatRequest;
use thalweg_wire::messages::broker_heartbeat_response::BrokerHeartbeatResponse;
use thalweg_wire::messages::broker_registration_request::BrokerRegistrationRequest;
use thalweg_wire::messages::broker_registration_response::BrokerRegistrationResponse;
use thalweg_wire::messages::controller_registration_request::ControllerRegistrationRequest;
use thalweg_wire::messages::controller_registration_response::ControllerRegistrationResponse;
use thalweg_wire::messages::metadata_record::MetadataRecord;
use thalweg_wire::messages::register_broker_record::{BrokerEndpoint, BrokerFeature};
use thalweg_wire::messages::register_controller_record::{ControllerEndpoint, ControllerFeature};
use thalweg_wire::messages::unregister_broker_request::UnregisterBrokerRequest;
use thalweg_wire::messages::unregister_broker_response::UnregisterBrokerResponse;
use thalweg_wire::messages::unregister_controller_request::UnregisterControllerRequest;
use thalweg_wire::messages::unregister_controller_response::UnregisterControllerResponse;
use thalweg_wire::messages::{
    BrokerRegistrationChangeRecord, RegisterBrokerRecord, RegisterControllerRecord,
    UnregisterBrokerRecord, UnregisterControllerRecord,
};
use thalweg_wire::{ErrorCode, Uuid};

use super::partition_change::{BrokerEvent, leader_and_isr_changes};
use super::{Context, ControllerRequest, Decision, HeartbeatState, RequestContext};
use crate::features::{KRAFT_VERSION, METADATA_VERSION};
use crate::image::{BrokerRegistration, NO_LEADER, Partition};

impl ControllerRequest for BrokerRegistrationRequest {
    fn decide(
        &self,
        context: &Context<'_>,
        given: &mut RequestContext<'_>,
    ) -> Decision<BrokerRegistrationResponse> {
        register_broker(context, self, given)
    }

    fn refused(&self, error_code: ErrorCode) -> BrokerRegistrationResponse {
        BrokerRegistrationResponse { error_code, ..Default::default() }
    }
}

impl ControllerRequest for ControllerRegistrationRequest {
    fn decide(
        &self,
        context: &Context<'_>,
        _: &mut RequestContext<'_>,
    ) -> Decision<ControllerRegistrationResponse> {
        register_controller(context, self)
    }

    fn refused(&self, error_code: ErrorCode) -> ControllerRegistrationResponse {
        ControllerRegistrationResponse { error_code, ..Default::default() }
    }
}

impl ControllerRequest for UnregisterBrokerRequest {
    fn decide(
        &self,
        context: &Context<'_>,
        _: &mut RequestContext<'_>,
    ) -> Decision<UnregisterBrokerResponse> {
        unregister_broker(context, self)
    }

    fn refused(&self, error_code: ErrorCode) -> UnregisterBrokerResponse {
        UnregisterBrokerResponse { error_code, ..Default::default() }
    }
}

impl ControllerRequest for UnregisterControllerRequest {
    fn decide(
        &self,
        context: &Context<'_>,
        _: &mut RequestContext<'_>,
    ) -> Decision<UnregisterControllerResponse> {
        unregister_controller(context, self)
    }

    fn refused(&self, error_code: ErrorCode) -> UnregisterControllerResponse {
        UnregisterControllerResponse { error_code, error_message: None, ..Default::default() }
    }
}

impl ControllerRequest for BrokerHeartbeatRequest {
    fn decide(
        &self,
        context: &Context<'_>,
        given: &mut RequestContext<'_>,
    ) -> Decision<BrokerHeartbeatResponse> {
        broker_heartbeat(context, self, given.heartbeats)
    }

    fn refused(&self, error_code: ErrorCode) -> BrokerHeartbeatResponse {
        BrokerHeartbeatResponse { error_code, ..Default::default() }
    }
}

/// Decides about a broker's registration. The registration is the last of the records, so that they
/// need not take effect together: a broker that was not registered registers again.
fn register_broker(
    context: &Context<'_>,
    request: &BrokerRegistrationRequest,
    given: &RequestContext<'_>,
) -> Decision<BrokerRegistrationResponse> {
    match register(context, request, given) {
        Ok((records, broker_epoch)) => Decision {
            records,
            response: BrokerRegistrationResponse { broker_epoch, ..Default::default() },
        },
        Err(error_code) => {
            Decision::answer(BrokerRegistrationResponse { error_code, ..Default::default() })
        }
    }
}

fn register(
    context: &Context<'_>,
    request: &BrokerRegistrationRequest,
    given: &RequestContext<'_>,
) -> Result<(Vec<MetadataRecord>, i64), ErrorCode> {
    let id = request.broker_id;
    if request.cluster_id != given.cluster_id {
        return Err(ErrorCode::INCONSISTENT_CLUSTER_ID);
    }
    let existing = context.image.cluster.broker(id);
    let same_incarnation =
        existing.is_some_and(|broker| broker.incarnation_id == request.incarnation_id);
    if existing.is_some() && given.heartbeats.has_session && !same_incarnation {
        return Err(ErrorCode::DUPLICATE_BROKER_REGISTRATION);
    }
    if request.is_migrating_zk_broker {
        return Err(ErrorCode::BROKER_ID_NOT_REGISTERED);
    }
    let with_directories = context.metadata_version().has_directory_assignment();
    if with_directories {
        check_directories(context, request)?;
    }
    check_features(context, request, given.kraft_version)?;

    let mut records: Vec<MetadataRecord> = Vec::new();
    let mut record = RegisterBrokerRecord {
        broker_id: id,
        incarnation_id: request.incarnation_id,
        broker_epoch: given.next_offset,
        end_points: request
            .listeners
            .iter()
            .map(|listener| BrokerEndpoint {
                name: listener.name.clone(),
                host: listener.host.clone(),
                port: listener.port,
                security_protocol: listener.security_protocol,
                ..BrokerEndpoint::default()
            })
            .collect(),
        features: request
            .features
            .iter()
            .map(|feature| BrokerFeature {
                name: feature.name.clone(),
                min_supported_version: feature.min_supported_version,
                max_supported_version: feature.max_supported_version,
                ..BrokerFeature::default()
            })
            .collect(),
        rack: request.rack.clone(),
        fenced: true,
        log_dirs: if with_directories { request.log_dirs.clone() } else { Vec::new() },
        ..RegisterBrokerRecord::default()
    };
    match existing {
        Some(existing) if same_incarnation => {
            record.fenced = existing.fenced;
            record.in_controlled_shutdown = existing.in_controlled_shutdown;
            record.broker_epoch = existing.epoch;
        }
        _ => {
            let stored_epoch = existing.map_or(-2, |broker| broker.epoch);
            // Older requests cannot tell of a clean shutdown.
            let clean = given.version >= 3 && stored_epoch == request.previous_broker_epoch;
            records.extend(shutdown_records(context, id, clean));
        }
    }
    let epoch = record.broker_epoch;
    records.push(record.into());
    Ok((records, epoch))
}

fn check_directories(
    context: &Context<'_>,
    request: &BrokerRegistrationRequest,
) -> Result<(), ErrorCode> {
    // Ids that stand for something else, the first hundred of all.
    let reserved = |id: &Uuid| id.as_u128() < 100;
    let distinct: BTreeSet<&Uuid> = request.log_dirs.iter().collect();
    let foreign = |id: &Uuid| {
        context
            .image
            .cluster
            .brokers
            .values()
            .any(|broker| broker.id != request.broker_id && broker.directories.contains(id))
    };
    let wrong = request.log_dirs.is_empty()
        || request.log_dirs.iter().any(reserved)
        || distinct.len() != request.log_dirs.len()
        || request.log_dirs.iter().any(foreign);
    if wrong { Err(ErrorCode::INVALID_REGISTRATION) } else { Ok(()) }
}

/// A broker must be able to live with every level that is finalized.
fn check_features(
    context: &Context<'_>,
    request: &BrokerRegistrationRequest,
    kraft_version: i16,
) -> Result<(), ErrorCode> {
    let features = &context.image.features;
    let finalized = |name: &str| match name {
        KRAFT_VERSION => kraft_version,
        _ => features.level(name),
    };
    for feature in &request.features {
        let range = feature.min_supported_version..=feature.max_supported_version;
        if !range.contains(&finalized(&feature.name)) {
            return Err(ErrorCode::UNSUPPORTED_VERSION);
        }
    }
    let named = |name: &str| request.features.iter().any(|feature| feature.name == name);
    if !named(METADATA_VERSION) {
        return Err(ErrorCode::INVALID_REGISTRATION);
    }
    let missing = features.levels.keys().any(|name| !named(name));
    if missing || (kraft_version > 0 && !named(KRAFT_VERSION)) {
        return Err(ErrorCode::UNSUPPORTED_VERSION);
    }
    Ok(())
}

/// What a broker's last incarnation left behind: after a clean stop it leaves ISRs, otherwise also
/// the replicas that count as complete.
fn shutdown_records(context: &Context<'_>, id: i32, clean: bool) -> Vec<MetadataRecord> {
    if context.image.features.elr_enabled() && !clean {
        let event = BrokerEvent { unclean: Some(id), ..BrokerEvent::default() };
        return changes(context, event, |p| p.isr.contains(&id) || p.elr.contains(&id));
    }
    leave_isrs(context, id)
}

fn changes(
    context: &Context<'_>,
    event: BrokerEvent,
    concerns: impl Fn(&Partition) -> bool,
) -> Vec<MetadataRecord> {
    leader_and_isr_changes(context, event, concerns).into_iter().map(Into::into).collect()
}

fn leave_isrs(context: &Context<'_>, id: i32) -> Vec<MetadataRecord> {
    let event = BrokerEvent { removed: Some(id), ..BrokerEvent::default() };
    changes(context, event, |partition| partition.isr.contains(&id))
}

/// Decides about a controller's registration.
fn register_controller(
    context: &Context<'_>,
    request: &ControllerRegistrationRequest,
) -> Decision<ControllerRegistrationResponse> {
    if !context.metadata_version().has_controller_registration() {
        return Decision::answer(ControllerRegistrationResponse {
            error_code: ErrorCode::UNSUPPORTED_VERSION,
            ..ControllerRegistrationResponse::default()
        });
    }
    let record = RegisterControllerRecord {
        controller_id: request.controller_id,
        incarnation_id: request.incarnation_id,
        zk_migration_ready: false,
        end_points: request
            .listeners
            .iter()
            .map(|listener| ControllerEndpoint {
                name: listener.name.clone(),
                host: listener.host.clone(),
                port: listener.port,
                security_protocol: listener.security_protocol,
                ..ControllerEndpoint::default()
            })
            .collect(),
        features: request
            .features
            .iter()
            .map(|feature| ControllerFeature {
                name: feature.name.clone(),
                min_supported_version: feature.min_supported_version,
                max_supported_version: feature.max_supported_version,
                ..ControllerFeature::default()
            })
            .collect(),
        ..RegisterControllerRecord::default()
    };
    Decision {
        records: vec![record.into()],
        response: ControllerRegistrationResponse { error_message: None, ..Default::default() },
    }
}

/// Decides about a broker that is to be forgotten.
fn unregister_broker(
    context: &Context<'_>,
    request: &UnregisterBrokerRequest,
) -> Decision<UnregisterBrokerResponse> {
    let id = request.broker_id;
    let Some(broker) = context.image.cluster.broker(id) else {
        return Decision::answer(UnregisterBrokerResponse {
            error_code: ErrorCode::BROKER_ID_NOT_REGISTERED,
            error_message: Some(format!("broker {id} is not registered")),
            ..UnregisterBrokerResponse::default()
        });
    };
    let event = BrokerEvent { removed: Some(id), ..BrokerEvent::default() };
    let mut records = changes(context, event, |p| p.isr.contains(&id) || p.elr.contains(&id));
    records.push(
        UnregisterBrokerRecord { broker_id: id, broker_epoch: broker.epoch, ..Default::default() }
            .into(),
    );
    Decision {
        records,
        response: UnregisterBrokerResponse { error_message: None, ..Default::default() },
    }
}

/// Decides about a controller that is to be forgotten (KIP-1312). A decision is made by the active controller, which
/// is this node.
fn unregister_controller(
    context: &Context<'_>,
    request: &UnregisterControllerRequest,
) -> Decision<UnregisterControllerResponse> {
    let id = request.controller_id;
    let refuse = |error_code, message: String| {
        Decision::answer(UnregisterControllerResponse {
            error_code,
            error_message: Some(message),
            ..UnregisterControllerResponse::default()
        })
    };
    if id == context.config.node_id() {
        let message = format!("controller {id} is the active one and cannot unregister itself");
        return refuse(ErrorCode::INVALID_REQUEST, message);
    }
    let level = context.metadata_version();
    if !level.has_controller_unregistration() {
        let message = format!("metadata.version {level} is too low to unregister controllers");
        return refuse(ErrorCode::UNSUPPORTED_VERSION, message);
    }
    if !context.image.cluster.controllers.contains_key(&id) {
        let message = format!("controller {id} is not registered");
        return refuse(ErrorCode::CONTROLLER_ID_NOT_REGISTERED, message);
    }
    let record = UnregisterControllerRecord { controller_id: id, ..Default::default() };
    Decision {
        records: vec![record.into()],
        response: UnregisterControllerResponse { error_message: None, ..Default::default() },
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BrokerState {
    Fenced,
    Unfenced,
    ControlledShutdown,
    ShutdownNow,
}

/// Decides about a heartbeat: whether a broker may serve, must wait, or can stop.
fn broker_heartbeat(
    context: &Context<'_>,
    request: &BrokerHeartbeatRequest,
    state: HeartbeatState,
) -> Decision<BrokerHeartbeatResponse> {
    let (id, epoch) = (request.broker_id, request.broker_epoch);
    let registration = match context.check_broker_epoch(id, epoch) {
        Ok(()) => context.image.cluster.broker(id),
        Err(_) => None,
    };
    let Some(broker) = registration else {
        return Decision::answer(BrokerHeartbeatResponse {
            error_code: ErrorCode::STALE_BROKER_EPOCH,
            ..BrokerHeartbeatResponse::default()
        });
    };
    let current = match (broker.in_controlled_shutdown, broker.fenced) {
        (true, false) => BrokerState::ControlledShutdown,
        (_, true) => BrokerState::Fenced,
        (false, false) => BrokerState::Unfenced,
    };
    let is_caught_up = request.current_metadata_offset >= state.registration_offset;
    let next = next_state(context, request, current, is_caught_up, state);
    let mut lost = Vec::new();
    if context.metadata_version().has_directory_assignment() {
        lost.extend(broker.directories.iter().filter(|d| request.offline_log_dirs.contains(d)));
    }
    let mut records = Vec::new();
    if next != current {
        match next {
            BrokerState::Fenced | BrokerState::ShutdownNow => {
                records.extend(fence_records(context, broker));
            }
            BrokerState::Unfenced => {
                records.push(fencing(broker, -1));
                let event = BrokerEvent { added: Some(id), ..BrokerEvent::default() };
                // What it loses with the same heartbeat it does not lead. Kafka elects it
                // there, and takes it out of the ISR with a record that leaves it the leader.
                records.extend(changes(context, event, |p| {
                    p.leader == NO_LEADER && !is_in(p, id, &lost)
                }));
            }
            BrokerState::ControlledShutdown => {
                if !broker.in_controlled_shutdown {
                    let change = BrokerRegistrationChangeRecord {
                        in_controlled_shutdown: 1,
                        ..change_of(broker)
                    };
                    records.push(change.into());
                }
                records.extend(leave_isrs(context, id));
            }
        }
    }
    records.extend(offline_records(context, broker, &lost));
    if context.metadata_version().has_cordoned_dirs() {
        records.extend(cordon_record(broker, request.cordoned_log_dirs.as_deref()));
    }
    let response = BrokerHeartbeatResponse {
        is_caught_up,
        is_fenced: matches!(next, BrokerState::Fenced | BrokerState::ShutdownNow),
        should_shut_down: next == BrokerState::ShutdownNow,
        ..BrokerHeartbeatResponse::default()
    };
    Decision { records, response }
}

fn next_state(
    context: &Context<'_>,
    request: &BrokerHeartbeatRequest,
    current: BrokerState,
    is_caught_up: bool,
    state: HeartbeatState,
) -> BrokerState {
    let leads = || {
        let id = request.broker_id;
        let mut topics = context.image.topics.iter();
        topics.any(|topic| topic.partitions.values().any(|p| p.leader == id))
    };
    match current {
        BrokerState::Fenced if request.want_shut_down => BrokerState::ShutdownNow,
        BrokerState::Fenced if !request.want_fence && is_caught_up => BrokerState::Unfenced,
        BrokerState::Fenced => BrokerState::Fenced,
        BrokerState::Unfenced => match (request.want_fence, request.want_shut_down) {
            (true, true) => BrokerState::ShutdownNow,
            (true, false) => BrokerState::Fenced,
            (false, true) if leads() => BrokerState::ControlledShutdown,
            (false, true) => BrokerState::ShutdownNow,
            (false, false) => BrokerState::Unfenced,
        },
        BrokerState::ControlledShutdown => {
            let known = match (state.shutdown_offset, state.lowest_active_offset) {
                (Some(began), Some(lowest)) => began <= lowest,
                // Nobody else has to hear of it.
                _ => true,
            };
            if !leads() && known {
                BrokerState::ShutdownNow
            } else {
                BrokerState::ControlledShutdown
            }
        }
        BrokerState::ShutdownNow => BrokerState::ShutdownNow,
    }
}

fn change_of(broker: &BrokerRegistration) -> BrokerRegistrationChangeRecord {
    BrokerRegistrationChangeRecord {
        broker_id: broker.id,
        broker_epoch: broker.epoch,
        ..BrokerRegistrationChangeRecord::default()
    }
}

fn fencing(broker: &BrokerRegistration, fenced: i8) -> MetadataRecord {
    BrokerRegistrationChangeRecord { fenced, ..change_of(broker) }.into()
}

fn fence_records(context: &Context<'_>, broker: &BrokerRegistration) -> Vec<MetadataRecord> {
    let mut records = leave_isrs(context, broker.id);
    records.push(fencing(broker, 1));
    records
}

/// The records that fence a broker whose session ended. None if it is not registered in that
/// epoch, or fenced already.
pub fn fence_broker(context: &Context<'_>, id: i32, epoch: i64) -> Vec<MetadataRecord> {
    match context.image.cluster.broker(id) {
        Some(broker) if broker.epoch == epoch && !broker.fenced => fence_records(context, broker),
        _ => Vec::new(),
    }
}

fn is_in(partition: &Partition, broker: i32, directories: &[Uuid]) -> bool {
    partition.directory(broker).is_some_and(|directory| directories.contains(&directory))
}

fn offline_records(
    context: &Context<'_>,
    broker: &BrokerRegistration,
    lost: &[Uuid],
) -> Vec<MetadataRecord> {
    if lost.is_empty() {
        return Vec::new();
    }
    let id = broker.id;
    let event = BrokerEvent { removed: Some(id), ..BrokerEvent::default() };
    let mut records = changes(context, event, |partition| is_in(partition, id, lost));
    let left = broker.directories.iter().filter(|directory| !lost.contains(directory));
    let change =
        BrokerRegistrationChangeRecord { log_dirs: left.copied().collect(), ..change_of(broker) };
    records.push(change.into());
    records
}

fn cordon_record(broker: &BrokerRegistration, cordoned: Option<&[Uuid]>) -> Option<MetadataRecord> {
    // Unknown until the broker has read all of the metadata.
    let cordoned = cordoned?;
    let wanted: BTreeSet<&Uuid> = cordoned.iter().collect();
    let known = broker.cordoned_directories.as_ref();
    if known.is_some_and(|known| known.iter().collect::<BTreeSet<_>>() == wanted) {
        return None;
    }
    let change = BrokerRegistrationChangeRecord {
        cordoned_log_dirs: Some(cordoned.to_vec()),
        ..change_of(broker)
    };
    Some(change.into())
}
