//! Tests of one partition: its leadership, and the waits that end with it.

use thalweg_log::AppendWaiter;
use thalweg_log::testing::BatchSpec;
use thalweg_metadata::testing::led_by_1;

use super::testing::PartitionOnDisk;
use super::*;

fn submit(partition: &Partition, epoch: i32) -> SubmittedOwn {
    let waiter: Arc<dyn AppendWaiter> = Arc::<AppendResultSlot>::default();
    let mut batch = BatchSpec::new(0, 1).build();
    partition.submit_own(&mut batch, OwnAppend::Records, epoch, 0, &waiter, 0)
}

fn append(partition: &Partition, epoch: i32) {
    let appended = submit(partition, epoch);
    assert!(matches!(appended, SubmittedOwn::Done(Ok(_))), "{appended:?}");
}

/// What became of the appends up to each offset.
async fn results(
    partition: &Partition,
    epoch: i32,
    required: &[i64],
    then: impl FnOnce(),
) -> Vec<ErrorCode> {
    let delayed = DelayedProduce::new(required.len());
    for (number, required) in required.iter().enumerate() {
        partition.wait_committed(epoch, *required, &delayed, number);
    }
    then();
    let results = delayed.wait(Duration::from_millis(1)).await;
    partition.leave_delayed(&delayed);
    results
}

#[tokio::test]
async fn what_other_replicas_have_not_is_not_committed() {
    let PartitionOnDisk { partition, .. } = &PartitionOnDisk::new("t", 1);
    partition.assign(&led_by_1(0, 1, &[1, 2], &[1, 2]));
    append(partition, 0);
    append(partition, 0);
    assert_eq!((partition.log.log_end_offset(), partition.log.high_watermark()), (2, 0));
    let open = [ErrorCode::REQUEST_TIMED_OUT; 2];
    assert_eq!(results(partition, 0, &[1, 2], || {}).await, open);
    // The follower leaves the ISR.
    let shrinks = || partition.assign(&led_by_1(0, 2, &[1, 2], &[1]));
    assert_eq!(results(partition, 0, &[1, 2], shrinks).await, [ErrorCode::NONE; 2]);
    assert_eq!(partition.log.high_watermark(), 2);
    // Who asks late is told at once; the next append is committed when it is written.
    assert_eq!(results(partition, 0, &[2], || {}).await, [ErrorCode::NONE]);
    append(partition, 0);
    assert_eq!(partition.log.high_watermark(), 3);
    assert!(!partition.is_alone());
    partition.assign(&led_by_1(0, 3, &[1], &[1]));
    assert!(partition.is_alone());
}

#[test]
fn a_new_leader_does_not_know_how_far_the_one_before_had_committed() {
    let PartitionOnDisk { partition, .. } = &PartitionOnDisk::new("t", 1);
    partition.assign(&led_by_1(0, 1, &[1, 2], &[1, 2]));
    append(partition, 0);
    assert!(!partition.is_high_watermark_behind(), "nobody led before");
    partition.assign(&led_by_1(1, 2, &[1, 2], &[1, 2]));
    append(partition, 1);
    assert!(partition.is_high_watermark_behind());
    partition.assign(&led_by_1(1, 3, &[1, 2], &[1]));
    assert!(!partition.is_high_watermark_behind());
    partition.assign(&led_by_1(1, 4, &[1], &[1]));
    assert!(!partition.is_high_watermark_behind());
}

#[tokio::test]
async fn fewer_in_sync_replicas_than_must_be_commit_nothing() {
    let PartitionOnDisk { partition, .. } = &PartitionOnDisk::new("t", 2);
    partition.assign(&led_by_1(0, 1, &[1, 2, 3], &[1, 2]));
    append(partition, 0);
    partition.assign(&led_by_1(0, 2, &[1, 2, 3], &[1]));
    assert_eq!(partition.check_in_sync(), Err(ErrorCode::NOT_ENOUGH_REPLICAS));
    assert_eq!(partition.log.high_watermark(), 0);
    let refused = submit(partition, 0);
    assert!(matches!(refused, SubmittedOwn::Done(Err(AppendFailure::NotEnoughReplicas))));
    partition.assign(&led_by_1(0, 3, &[1], &[1]));
    assert_eq!((partition.check_in_sync(), partition.log.high_watermark()), (Ok(()), 1));
    append(partition, 0);
}

#[tokio::test]
async fn who_waits_hears_when_the_leadership_ends() {
    let PartitionOnDisk { partition, .. } = &PartitionOnDisk::new("t", 1);
    partition.assign(&led_by_1(0, 1, &[1, 2], &[1, 2]));
    append(partition, 0);
    let lost = [ErrorCode::NOT_LEADER_OR_FOLLOWER];
    let moves = || partition.assign(&Assignment { leader: 2, ..led_by_1(1, 2, &[1, 2], &[1, 2]) });
    assert_eq!(results(partition, 0, &[1], moves).await, lost);
    // Another leadership's records may be others.
    partition.assign(&led_by_1(2, 3, &[1, 2], &[1]));
    assert_eq!(results(partition, 0, &[1], || {}).await, lost);
    partition.assign(&led_by_1(3, 4, &[1, 2], &[1, 2]));
    append(partition, 3);
    // Elected again without a break: the records are there.
    let elected_again = || partition.assign(&led_by_1(4, 5, &[1, 2], &[1]));
    assert_eq!(results(partition, 3, &[2], elected_again).await, [ErrorCode::NONE]);
    assert_eq!(results(partition, 3, &[2], || {}).await, [ErrorCode::NONE]);
    // Not without a break: another broker may have led in epoch 5.
    partition.assign(&led_by_1(4, 6, &[1, 2], &[1, 2]));
    append(partition, 4);
    let with_gap = || partition.assign(&led_by_1(6, 7, &[1, 2], &[1]));
    assert_eq!(results(partition, 4, &[3], with_gap).await, lost);
    assert_eq!(results(partition, 4, &[3], || {}).await, lost);
    assert_eq!(results(partition, 6, &[9], || partition.resign(None)).await, lost);
    assert_eq!(partition.led_epoch(), Err(Leader { id: -1, epoch: 6, is_local: false }));
}

#[tokio::test]
async fn who_waits_hears_who_leads_a_partition_that_is_elsewhere() {
    let PartitionOnDisk { partition, .. } = &PartitionOnDisk::new("t", 1);
    partition.assign(&led_by_1(0, 1, &[1, 2], &[1, 2]));
    append(partition, 0);
    let moves = || partition.resign(Some((2, 1)));
    let lost = [ErrorCode::NOT_LEADER_OR_FOLLOWER];
    assert_eq!(results(partition, 0, &[1], moves).await, lost);
    assert_eq!(partition.led_epoch(), Err(Leader { id: 2, epoch: 1, is_local: false }));
}

/// A consumer that may read from any replica (KIP-392) has nothing more to expect of a replica that is gone.
#[test]
fn partition_that_is_gone_serves_no_consumer() {
    for leader in [1, 2] {
        let PartitionOnDisk { partition, .. } = &PartitionOnDisk::new("t", 1);
        partition.assign(&Assignment { leader, ..led_by_1(3, 4, &[1, 2], &[1, 2]) });
        assert!(partition.check_reader(-1, true).is_ok());
        partition.resign(Some((2, 3)));
        let refused = partition.check_reader(-1, true);
        assert!(
            matches!(refused, Err(ReadFailure::NotLeader { leader_id: 2, leader_epoch: 3 })),
            "{refused:?}"
        );
    }
}

#[test]
fn only_an_in_sync_follower_that_did_not_just_lead_may_be_elected() {
    let PartitionOnDisk { partition, .. } = &PartitionOnDisk::new("t", 1);
    let follows = |epoch, isr: &[i32]| {
        let led = led_by_1(epoch, epoch + 1, &[1, 2], isr);
        partition.assign(&Assignment { leader: 2, ..led });
        partition.may_be_elected()
    };
    assert!(!partition.may_be_elected(), "nothing is known");
    assert!(follows(0, &[1, 2]));
    assert!(!follows(1, &[2]));
    assert!(follows(2, &[1, 2]));
    partition.assign(&led_by_1(3, 4, &[1, 2], &[1, 2]));
    assert!(!partition.may_be_elected(), "it leads");
    assert!(!follows(4, &[1, 2]), "it led a moment ago");
    let long_ago = partition.shared.node.clock().monotonic_ms().saturating_sub(WAS_LEADER_MS);
    partition.led_until_ms.store(long_ago, Ordering::Release);
    assert!(partition.may_be_elected());
    partition.resign(None);
    assert!(!partition.may_be_elected());
}

#[test]
fn metadata_that_is_old_changes_nothing() {
    let PartitionOnDisk { partition, .. } = &PartitionOnDisk::new("t", 1);
    partition.assign(&led_by_1(4, 7, &[1], &[1]));
    partition.assign(&Assignment { leader: 2, ..led_by_1(3, 6, &[1, 2], &[1, 2]) });
    assert_eq!((partition.led_epoch(), partition.is_alone()), (Ok(4), true));
    append(partition, 4);
}
