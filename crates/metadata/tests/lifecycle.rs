//! What a broker tells its controller, and when.

use thalweg_metadata::image::MetadataImage;
use thalweg_metadata::lifecycle::{
    BrokerState, Lifecycle, LifecycleError, Milestone, Settings, ToController,
};
use thalweg_metadata::{Delta, MetadataVersion};
use thalweg_wire::messages::{
    BrokerHeartbeatRequest, BrokerHeartbeatResponse, BrokerRegistrationRequest,
    BrokerRegistrationResponse, FeatureLevelRecord, RegisterBrokerRecord, UnregisterBrokerRecord,
};
use thalweg_wire::{ErrorCode, Uuid};

const INCARNATION: Uuid = Uuid::from_u128(1_000);
const DIRECTORY: Uuid = Uuid::from_u128(2_000);
const EPOCH: i64 = 40;
const NEWEST: MetadataVersion = MetadataVersion::LATEST;

fn begin() -> Lifecycle {
    let registration = BrokerRegistrationRequest {
        broker_id: 3,
        cluster_id: "cluster".into(),
        incarnation_id: INCARNATION,
        log_dirs: vec![DIRECTORY],
        ..BrokerRegistrationRequest::default()
    };
    let settings = Settings {
        registration,
        heartbeat_interval_ms: 2_000,
        registration_timeout_ms: 60_000,
        directory_timeout_ms: 30_000,
    };
    Lifecycle::new(settings, vec![DIRECTORY], 0)
}

fn registration(lifecycle: &mut Lifecycle, now: u64) -> BrokerRegistrationRequest {
    match lifecycle.next(now, -1, NEWEST) {
        Ok(Some(ToController::Register(request))) => request,
        other => panic!("at {now}: {other:?}"),
    }
}

fn heartbeat(lifecycle: &mut Lifecycle, now: u64, applied: i64) -> BrokerHeartbeatRequest {
    match lifecycle.next(now, applied, NEWEST) {
        Ok(Some(ToController::Heartbeat(request))) => request,
        other => panic!("at {now}: {other:?}"),
    }
}

fn register(lifecycle: &mut Lifecycle, now: u64, epoch: i64) {
    registration(lifecycle, now);
    let answer = BrokerRegistrationResponse { broker_epoch: epoch, ..Default::default() };
    assert_eq!(lifecycle.registered(Some(&answer), now), Some(Milestone::Registered));
    assert_eq!(lifecycle.epoch(), epoch);
}

fn answer(is_caught_up: bool, is_fenced: bool, should_shut_down: bool) -> BrokerHeartbeatResponse {
    BrokerHeartbeatResponse { is_caught_up, is_fenced, should_shut_down, ..Default::default() }
}

fn refused(code: ErrorCode) -> BrokerHeartbeatResponse {
    BrokerHeartbeatResponse { error_code: code, ..Default::default() }
}

/// One that serves, at moment 100.
fn running() -> Lifecycle {
    let mut lifecycle = begin();
    register(&mut lifecycle, 0, EPOCH);
    heartbeat(&mut lifecycle, 0, EPOCH);
    let milestone = lifecycle.heartbeat_answered(Some(&answer(true, true, false)), 50);
    assert_eq!(milestone, Some(Milestone::CaughtUp));
    lifecycle.ready(100);
    heartbeat(&mut lifecycle, 100, EPOCH);
    let milestone = lifecycle.heartbeat_answered(Some(&answer(true, false, false)), 100);
    assert_eq!(milestone, Some(Milestone::Unfenced));
    lifecycle
}

#[test]
fn a_broker_starts_catches_up_and_serves() {
    let mut lifecycle = begin();
    assert_eq!(registration(&mut lifecycle, 0).incarnation_id, INCARNATION);
    assert_eq!(lifecycle.next(1, -1, NEWEST), Ok(None), "one request at a time");
    assert_eq!(lifecycle.wakes_at(), None);
    let registered = BrokerRegistrationResponse { broker_epoch: EPOCH, ..Default::default() };
    assert_eq!(lifecycle.registered(Some(&registered), 5), Some(Milestone::Registered));

    let first = heartbeat(&mut lifecycle, 5, 12);
    assert_eq!((first.broker_id, first.broker_epoch), (3, EPOCH));
    assert_eq!((first.current_metadata_offset, first.want_fence), (12, true));
    assert_eq!((first.cordoned_log_dirs, first.want_shut_down), (None, false));
    assert_eq!(lifecycle.heartbeat_answered(Some(&answer(false, true, false)), 6), None);
    assert_eq!(lifecycle.wakes_at(), Some(16));
    heartbeat(&mut lifecycle, 16, EPOCH);
    let caught_up = lifecycle.heartbeat_answered(Some(&answer(true, true, false)), 17);
    assert_eq!((caught_up, lifecycle.state()), (Some(Milestone::CaughtUp), BrokerState::Recovery));

    // It opens its logs: it goes on to say that it is fenced, and which directories are cordoned.
    let recovering = heartbeat(&mut lifecycle, 27, EPOCH);
    assert!(recovering.want_fence);
    assert_eq!(recovering.cordoned_log_dirs, Some(vec![DIRECTORY]));
    // That it is ready is said at once, though a heartbeat was in flight.
    lifecycle.ready(28);
    assert_eq!(lifecycle.heartbeat_answered(Some(&answer(true, true, false)), 30), None);
    assert!(!heartbeat(&mut lifecycle, 30, EPOCH).want_fence);
    // Others may be heard first.
    assert_eq!(lifecycle.heartbeat_answered(Some(&answer(true, true, false)), 31), None);
    assert_eq!(lifecycle.wakes_at(), Some(81));
    heartbeat(&mut lifecycle, 81, EPOCH);
    let unfenced = lifecycle.heartbeat_answered(Some(&answer(true, false, false)), 82);
    assert_eq!((unfenced, lifecycle.state()), (Some(Milestone::Unfenced), BrokerState::Running));
    assert_eq!(lifecycle.wakes_at(), Some(2_082));
}

#[test]
fn levels_without_cordoned_directories_are_not_told_of_them() {
    let mut lifecycle = running();
    let level = MetadataVersion::from_level(29).unwrap();
    let Ok(Some(ToController::Heartbeat(request))) = lifecycle.next(9_000, 50, level) else {
        panic!("a heartbeat is due")
    };
    assert_eq!(request.cordoned_log_dirs, None);
}

#[test]
fn a_registration_that_is_refused_is_tried_again_until_its_time_is_over() {
    let mut lifecycle = begin();
    let refused = BrokerRegistrationResponse {
        error_code: ErrorCode::DUPLICATE_BROKER_REGISTRATION,
        ..Default::default()
    };
    let mut now = 0;
    loop {
        match lifecycle.next(now, -1, NEWEST) {
            Ok(Some(ToController::Register(_))) => {
                assert_eq!(lifecycle.registered(Some(&refused), now), None);
                now = lifecycle.wakes_at().unwrap();
            }
            Err(error) => {
                let last = ErrorCode::DUPLICATE_BROKER_REGISTRATION.to_string();
                assert_eq!(error, LifecycleError::NotRegistered(60_000, last));
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(now >= 60_000);
    // Later it may take as long as it takes.
    let mut lifecycle = running();
    heartbeat(&mut lifecycle, 3_000, EPOCH);
    let forgotten = ErrorCode::BROKER_ID_NOT_REGISTERED;
    assert_eq!(lifecycle.heartbeat_answered(Some(&self::refused(forgotten)), 3_000), None);
    registration(&mut lifecycle, 3_000);
    assert_eq!(lifecycle.registered(None, 3_000), None);
    registration(&mut lifecycle, 200_000);
}

#[test]
fn unanswered_and_refused_heartbeats_are_repeated() {
    let mut lifecycle = running();
    for answer in [None, Some(ErrorCode::NOT_CONTROLLER), Some(ErrorCode::STALE_BROKER_EPOCH)] {
        let now = lifecycle.wakes_at().unwrap();
        heartbeat(&mut lifecycle, now, EPOCH);
        let answer = answer.map(refused);
        assert_eq!(lifecycle.heartbeat_answered(answer.as_ref(), now), None);
        assert_eq!(lifecycle.wakes_at(), Some(now + 250));
        assert_eq!(lifecycle.state(), BrokerState::Running);
    }
}

#[test]
fn a_broker_that_is_about_to_stop_waits_until_it_is_let_go() {
    let mut lifecycle = running();
    assert!(!lifecycle.shut_down(500));
    let said = heartbeat(&mut lifecycle, 500, EPOCH);
    assert!(said.want_shut_down && !said.want_fence);
    assert_eq!(lifecycle.heartbeat_answered(Some(&answer(true, false, false)), 510), None);
    assert_eq!(lifecycle.wakes_at(), Some(560), "once soon");
    heartbeat(&mut lifecycle, 560, EPOCH);
    assert_eq!(lifecycle.heartbeat_answered(Some(&answer(true, false, false)), 560), None);
    assert_eq!(lifecycle.wakes_at(), Some(2_560));
    assert!(!lifecycle.shut_down(600), "asked twice it waits as well");
    heartbeat(&mut lifecycle, 2_560, EPOCH);
    let let_go = lifecycle.heartbeat_answered(Some(&answer(true, true, true)), 2_560);
    assert_eq!(let_go, Some(Milestone::MayStop));
    assert_eq!(lifecycle.next(9_000, EPOCH, NEWEST), Ok(None));
    assert!(begin().shut_down(0), "nobody knows of this one");
}

#[test]
fn lost_directories_are_reported_with_every_heartbeat_and_in_time() {
    let mut lifecycle = running();
    lifecycle.directory_lost(DIRECTORY, 200);
    assert_eq!(heartbeat(&mut lifecycle, 200, EPOCH).offline_log_dirs, [DIRECTORY]);
    lifecycle.heartbeat_answered(Some(&answer(true, false, false)), 200);
    assert_eq!(heartbeat(&mut lifecycle, 40_000, EPOCH).offline_log_dirs, [DIRECTORY]);

    let mut lifecycle = running();
    lifecycle.directory_lost(DIRECTORY, 200);
    heartbeat(&mut lifecycle, 200, EPOCH);
    lifecycle.heartbeat_answered(None, 200);
    let overdue = Err(LifecycleError::LostDirectoryUnreported(DIRECTORY, 30_000));
    assert_eq!(lifecycle.next(30_200, EPOCH, NEWEST), overdue);
}

#[test]
fn what_is_cordoned_is_said_when_it_changes() {
    let mut lifecycle = running();
    lifecycle.set_cordoned(vec![DIRECTORY], 300);
    assert_eq!(lifecycle.next(300, EPOCH, NEWEST), Ok(None), "that was said");
    lifecycle.set_cordoned(Vec::new(), 300);
    assert_eq!(heartbeat(&mut lifecycle, 300, EPOCH).cordoned_log_dirs, Some(Vec::new()));
}

#[test]
fn a_broker_that_does_not_know_what_is_so_asks_to_be_fenced() {
    let mut lifecycle = running();
    lifecycle.faulty(300);
    assert!(heartbeat(&mut lifecycle, 300, EPOCH).want_fence);
}

/// The metadata at an offset, with this broker as a record says.
fn image(records: &[RegisterBrokerRecord], level: i16, offset: i64) -> MetadataImage {
    let mut delta = Delta::new(MetadataImage::empty());
    let name = "metadata.version".to_owned();
    let feature = FeatureLevelRecord { name, feature_level: level, ..Default::default() };
    delta.replay(&feature.into()).unwrap();
    for record in records {
        delta.replay(&record.clone().into()).unwrap();
    }
    let provenance = thalweg_metadata::image::Provenance { offset, epoch: 1, timestamp_ms: 0 };
    delta.apply(provenance).0
}

fn own(incarnation_id: Uuid, broker_epoch: i64, log_dirs: Vec<Uuid>) -> RegisterBrokerRecord {
    RegisterBrokerRecord {
        broker_id: 3,
        incarnation_id,
        broker_epoch,
        log_dirs,
        ..Default::default()
    }
}

#[test]
fn two_processes_with_one_id_do_not_go_on() {
    let other = Uuid::from_u128(7_000);
    let mut lifecycle = running();
    let seen = |record| image(&[record], 30, 60);
    assert_eq!(
        lifecycle.metadata_changed(&seen(own(INCARNATION, EPOCH, vec![DIRECTORY])), 0),
        Ok(())
    );
    // One that was there before this process.
    assert_eq!(lifecycle.metadata_changed(&seen(own(other, EPOCH - 1, vec![])), 0), Ok(()));
    let replaced = LifecycleError::Replaced { id: 3, incarnation: other };
    let error = lifecycle.metadata_changed(&seen(own(other, EPOCH + 1, vec![])), 0);
    assert_eq!(error, Err(replaced));
    // Before this one is registered, all are its past.
    assert_eq!(begin().metadata_changed(&seen(own(other, EPOCH + 1, vec![])), 0), Ok(()));
}

#[test]
fn a_broker_that_is_unregistered_registers_again() {
    let mut lifecycle = running();
    let unregistered = {
        let image = image(&[own(INCARNATION, EPOCH, vec![DIRECTORY])], 30, 60);
        let mut delta = Delta::new(image);
        let gone =
            UnregisterBrokerRecord { broker_id: 3, broker_epoch: EPOCH, ..Default::default() };
        delta.replay(&gone.into()).unwrap();
        delta.apply(thalweg_metadata::image::Provenance { offset: 61, epoch: 1, timestamp_ms: 0 }).0
    };
    lifecycle.metadata_changed(&unregistered, 700).unwrap();
    register(&mut lifecycle, 700, 62);
    assert_eq!(heartbeat(&mut lifecycle, 700, 62).broker_epoch, 62);
    // The metadata of before the new registration is no reason to register once more.
    lifecycle.heartbeat_answered(Some(&answer(true, false, false)), 700);
    lifecycle.metadata_changed(&unregistered, 700).unwrap();
    heartbeat(&mut lifecycle, 3_000, 62);
}

#[test]
fn directories_are_registered_when_the_level_knows_them() {
    let mut lifecycle = running();
    lifecycle.metadata_changed(&image(&[own(INCARNATION, EPOCH, vec![])], 16, 60), 700).unwrap();
    assert_eq!(lifecycle.next(700, EPOCH, NEWEST), Ok(None));
    lifecycle.metadata_changed(&image(&[own(INCARNATION, EPOCH, vec![])], 17, 61), 700).unwrap();
    assert_eq!(registration(&mut lifecycle, 700).log_dirs, [DIRECTORY]);
}
