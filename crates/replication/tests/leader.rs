//! What a leader does where it is not what Kafka does, and why.

use thalweg_metadata::image::Partition;
use thalweg_metadata::testing::led_by_1;
use thalweg_replication::{
    Altered, Applied, BrokerStatus, Brokers, Context, Fetched, Offsets, Replica, Settings,
};

/// All brokers are well; their epochs are their ids.
struct AllAlive;

impl Brokers for AllAlive {
    fn broker(&self, id: i32) -> Option<BrokerStatus> {
        let epoch = i64::from(id);
        Some(BrokerStatus { epoch, is_fenced: false, is_in_controlled_shutdown: false })
    }
}

fn now(ms: u64, high_watermark: i64, log_end: i64) -> Context<'static> {
    Context {
        ms,
        log: Offsets { log_start: 0, high_watermark, log_end },
        settings: Settings { lag_time_max_ms: 100, min_insync_replicas: 1 },
        broker_epoch: 1,
        brokers: &AllAlive,
    }
}

fn partition(partition_epoch: i32, isr: &[i32]) -> Partition {
    led_by_1(0, partition_epoch, &[1, 2, 3], isr)
}

fn fetch(replica: i32, offset: i64, leader_end: i64) -> Fetched {
    Fetched {
        replica,
        leader_epoch: 0,
        broker_epoch: i64::from(replica),
        offset,
        log_start: 0,
        leader_end,
    }
}

/// Whoever drives them may do so on any thread.
#[test]
fn everything_may_go_to_other_threads() {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Replica>();
    is_send_and_sync::<Context<'static>>();
    is_send_and_sync::<thalweg_replication::Follower>();
    is_send_and_sync::<thalweg_replication::Outcome>();
}

/// The controller's answer says what the metadata says a moment later. In between a replica may have begun to
/// join: it still counts afterwards.
#[test]
fn metadata_that_an_answer_came_before_takes_back_nothing_that_is_in_flight() {
    let mut replica = Replica::new(1);
    let _ = replica.apply(&partition(1, &[1]), &now(0, 0, 0));
    // Both have all there was, and then fall behind.
    let joins = replica.fetched(&fetch(2, 5, 5), &now(0, 0, 5)).unwrap().alter.unwrap();
    let isr = vec![1, 2];
    let altered = Altered { leader_epoch: 0, partition_epoch: 2, isr };
    let outcome = replica.altered(&joins, Ok(altered), &now(0, 0, 5));
    assert_eq!(outcome.high_watermark, Some(5));
    let outcome = replica.fetched(&fetch(3, 5, 9), &now(0, 5, 9)).unwrap();
    assert!(outcome.alter.is_some(), "3 is about to join");

    assert_eq!(replica.apply(&partition(2, &[1, 2]), &now(500, 5, 9)), Applied::Stale);
    assert!(replica.pending().is_some());
    let outcome = replica.fetched(&fetch(2, 9, 9), &now(500, 5, 9)).unwrap();
    assert_eq!(outcome.high_watermark, None, "3 has not got it");
}

/// A replica that was caught up a moment ago holds the high watermark back, so that it can join. When it does not
/// fetch, that ends without anything else happening.
#[test]
fn the_high_watermark_rises_when_a_replica_has_had_its_time() {
    let mut replica = Replica::new(1);
    let _ = replica.apply(&partition(1, &[1]), &now(0, 0, 0));
    let joins = replica.fetched(&fetch(2, 0, 0), &now(0, 0, 0)).unwrap().alter.unwrap();
    // Refused: it is caught up, and not in the ISR.
    let refusal = Err(thalweg_wire::ErrorCode::INELIGIBLE_REPLICA);
    let _ = replica.altered(&joins, refusal, &now(0, 0, 0));
    assert_eq!(replica.advance(&now(10, 0, 3)), None);
    assert_eq!(replica.check_lag(&now(101, 0, 3)).alter, None, "it is not in the ISR");
    assert_eq!(replica.advance(&now(101, 0, 3)), Some(3));
}

/// Between two epochs of this leader another one may have led: its followers have cut off what they had.
#[test]
fn a_leader_of_epochs_that_do_not_follow_each_other_begins_anew() {
    let led = |leader_epoch| {
        let mut replica = Replica::new(1);
        let _ = replica.apply(&partition(1, &[1, 2]), &now(0, 0, 9));
        let _ = replica.fetched(&fetch(2, 9, 9), &now(0, 0, 9)).unwrap();
        let next = Partition { leader_epoch, ..partition(2, &[1, 2]) };
        let Applied::Leads { is_new_leader, .. } = replica.apply(&next, &now(0, 0, 9)) else {
            panic!("it leads");
        };
        (is_new_leader, replica.progress(2).unwrap().log_end)
    };
    assert_eq!(led(1), (false, 9));
    assert_eq!(led(2), (true, -1));
}

/// What is said of a follower is of the epoch in which it was let fetch.
#[test]
fn a_fetch_of_an_earlier_epoch_is_not_noted() {
    let mut replica = Replica::new(1);
    let _ = replica.apply(&partition(1, &[1, 2]), &now(0, 0, 9));
    let late = fetch(2, 9, 9);
    let next = Partition { leader_epoch: 1, ..partition(2, &[1, 2]) };
    let _ = replica.apply(&next, &now(0, 0, 9));
    let refused = replica.fetched(&late, &now(0, 0, 9));
    assert_eq!(refused, Err(thalweg_wire::ErrorCode::NOT_LEADER_OR_FOLLOWER));
    assert_eq!(replica.progress(2).unwrap().log_end, -1);
}

/// Whether the controller has carried it out is not known: the replica counts as joining until it is.
#[test]
fn what_the_controller_did_not_answer_is_asked_again() {
    let mut replica = Replica::new(1);
    let _ = replica.apply(&partition(1, &[1]), &now(0, 0, 5));
    let joins = replica.fetched(&fetch(2, 5, 5), &now(0, 0, 5)).unwrap().alter.unwrap();
    let unknown = Err(thalweg_wire::ErrorCode::NETWORK_EXCEPTION);
    let outcome = replica.altered(&joins, unknown, &now(0, 5, 5));
    assert_eq!(outcome.alter.as_ref(), Some(&joins));
    assert_eq!(replica.pending(), Some(&joins));
    assert_eq!(replica.advance(&now(500, 5, 9)), None, "2 has not got it");
}

/// A process that the metadata does not know yet may fetch; the controller would not let it join.
#[test]
fn a_replica_joins_with_the_broker_epoch_that_is_registered() {
    let mut replica = Replica::new(1);
    let _ = replica.apply(&partition(1, &[1]), &now(0, 0, 5));
    let of_epoch = |broker_epoch| Fetched { broker_epoch, ..fetch(2, 5, 5) };
    let newer = replica.fetched(&of_epoch(3), &now(0, 0, 5)).unwrap();
    assert_eq!(newer.alter, None);
    let older = replica.fetched(&of_epoch(1), &now(0, 0, 5));
    assert_eq!(older, Err(thalweg_wire::ErrorCode::NOT_LEADER_OR_FOLLOWER));
    assert!(replica.fetched(&of_epoch(2), &now(0, 0, 5)).unwrap().alter.is_some());
}
