//! Offsets in transactions, with a log on disk: what it takes, what it refuses, and what is there after a restart.

use std::time::Duration;

use thalweg_coordinator::{Producer, RunnerConfig};
use thalweg_log::{BeginVerification, VerificationGuard};
use thalweg_records::BatchView;
use thalweg_records::batch::Compression;
use thalweg_records::codec::CompressionSpec;
use thalweg_wire::messages::TxnOffsetCommitRequest;
use thalweg_wire::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use thalweg_wire::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};

use super::*;
use crate::replicas::partition::testing::PartitionOnDisk;
use crate::testing::soon;

struct GroupsOnDisk {
    on_disk: PartitionOnDisk,
    groups: Groups,
}

fn end(producer: Producer, coordinator_epoch: i32, commit: bool) -> TransactionEnd {
    TransactionEnd { producer, coordinator_epoch, transaction_version: 1, commit }
}

const P: Producer = Producer { id: 7, epoch: 3 };

impl GroupsOnDisk {
    async fn new() -> GroupsOnDisk {
        let on_disk = PartitionOnDisk::led_alone("__consumer_offsets");
        let runtime = RuntimeConfig {
            runner: RunnerConfig::default(),
            compression: CompressionSpec::new(Compression::None),
            jobs: 1,
            serves_partial_loads: false,
        };
        let image = Arc::new(MetadataImage::empty());
        let groups = Groups::new(GroupConfig::default(), image, 1 << 20, runtime, Clock::new(None));
        groups.elected(Arc::clone(&on_disk.partition), 0);
        let world = GroupsOnDisk { on_disk, groups };
        world.loaded().await;
        world
    }

    async fn loaded(&self) {
        for _ in 0..3_000 {
            if self.fetch(false).await.1 != ErrorCode::COORDINATOR_LOAD_IN_PROGRESS {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the partition was not loaded");
    }

    /// The coordinator begins anew with what is in the log.
    async fn reload(&self, epoch: i32) {
        self.groups.resigned(0, None);
        self.on_disk.partition.lead_alone(epoch);
        self.groups.elected(Arc::clone(&self.on_disk.partition), epoch);
        self.loaded().await;
    }

    /// Asks for a commit in a producer's transaction; in what it is refused comes back.
    fn ask(
        &self,
        producer: Producer,
        offset: i64,
        check: TransactionCheck,
    ) -> impl Future<Output = ErrorCode> + use<> {
        let partition =
            TxnOffsetCommitRequestPartition { committed_offset: offset, ..Default::default() };
        let topic = TxnOffsetCommitRequestTopic {
            name: "t".into(),
            partitions: vec![partition],
            ..Default::default()
        };
        let request = GroupRequest::TxnOffsetCommit(TxnOffsetCommitRequest {
            group_id: "g".into(),
            producer_id: producer.id,
            producer_epoch: producer.epoch,
            generation_id_or_member_epoch: -1,
            topics: vec![topic],
            ..Default::default()
        });
        let submission = Submission { context: RequestContext::default(), request };
        let submitted = self.groups.submit(Some(0), submission, Some(check));
        async {
            match soon("an answer", submitted.wait()).await {
                Some(GroupResponse::TxnOffsetCommit(r)) => r.topics[0].partitions[0].error_code,
                other => panic!("{other:?}"),
            }
        }
    }

    async fn commit(&self, producer: Producer, offset: i64) -> ErrorCode {
        self.ask(producer, offset, TransactionCheck::Waived).await
    }

    async fn end(&self, end: TransactionEnd) -> ErrorCode {
        soon("an answer", self.groups.complete_transaction(0, end)).await
    }

    /// The committed offset of the partition and its error.
    async fn fetch(&self, require_stable: bool) -> (i64, ErrorCode) {
        let topic = OffsetFetchRequestTopics {
            name: "t".into(),
            partition_indexes: vec![0],
            ..Default::default()
        };
        let group = OffsetFetchRequestGroup {
            group_id: "g".into(),
            member_epoch: -1,
            topics: Some(vec![topic]),
            ..Default::default()
        };
        let request = GroupRequest::OffsetFetch { group, require_stable };
        let context = RequestContext { api_version: 8, ..RequestContext::default() };
        let submitted = self.groups.submit(Some(0), Submission { context, request }, None);
        match soon("an answer", submitted.wait()).await {
            Some(GroupResponse::OffsetFetch(r)) if r.error_code.is_err() => (-1, r.error_code),
            Some(GroupResponse::OffsetFetch(r)) => {
                let partition = &r.topics[0].partitions[0];
                (partition.committed_offset, partition.error_code)
            }
            other => panic!("{other:?}"),
        }
    }

    fn verification(&self, producer: Producer) -> Option<VerificationGuard> {
        let begun = self.on_disk.partition.log.try_begin_verification(&BeginVerification {
            leader_epoch: 0,
            producer_id: producer.id,
            producer_epoch: producer.epoch,
            sequence: -1,
            bumps_epoch: false,
            now_ms: 1,
        });
        begun.expect("nothing is being written").expect("the producer is no zombie")
    }
}

const UNSTABLE: (i64, ErrorCode) = (-1, ErrorCode::UNSTABLE_OFFSET_COMMIT);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn offsets_of_a_transaction_count_when_it_ends_and_over_restarts() {
    let world = GroupsOnDisk::new().await;
    assert_eq!(world.commit(P, 10).await, ErrorCode::NONE);
    assert_eq!(world.fetch(false).await, (-1, ErrorCode::NONE));
    assert_eq!(world.fetch(true).await, UNSTABLE);
    world.reload(1).await;
    assert_eq!(world.fetch(true).await, UNSTABLE);
    assert_eq!(world.end(end(P, 1, true)).await, ErrorCode::NONE);
    assert_eq!(world.fetch(true).await, (10, ErrorCode::NONE));

    assert_eq!(world.commit(P, 20).await, ErrorCode::NONE);
    assert_eq!(world.fetch(true).await, UNSTABLE);
    assert_eq!(world.end(end(P, 1, false)).await, ErrorCode::NONE);
    assert_eq!(world.fetch(true).await, (10, ErrorCode::NONE));
    world.reload(2).await;
    assert_eq!(world.fetch(true).await, (10, ErrorCode::NONE));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_are_as_kafka_writes_them() {
    let world = GroupsOnDisk::new().await;
    assert_eq!(world.commit(P, 10).await, ErrorCode::NONE);
    assert_eq!(world.end(end(P, 5, true)).await, ErrorCode::NONE);
    let written = world.on_disk.partition.read_whole(0, 1 << 20).unwrap().expect("it is there");
    let data = BatchView::parse(&written).unwrap();
    assert!(data.is_transactional() && !data.is_control());
    assert_eq!((data.producer_id(), data.producer_epoch(), data.base_sequence()), (7, 3, 0));
    let marker = BatchView::parse(&written[data.total_len()..]).unwrap();
    assert!(marker.is_transactional() && marker.is_control());
    assert_eq!((marker.producer_id(), marker.producer_epoch()), (7, 3));
    assert_eq!((marker.base_offset(), marker.next_offset()), (1, 2));
    assert_eq!(marker.total_len() + data.total_len(), written.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_not_verified_is_refused_and_leaves_nothing() {
    let world = GroupsOnDisk::new().await;
    let unverified = TransactionCheck::Guarded(None);
    assert_eq!(world.ask(P, 10, unverified).await, ErrorCode::INVALID_TXN_STATE);
    assert_eq!(world.fetch(true).await, (-1, ErrorCode::NONE));
    let guard = world.verification(P);
    assert!(guard.is_some());
    assert_eq!(world.ask(P, 10, TransactionCheck::Guarded(guard)).await, ErrorCode::NONE);
    // From here on the log knows the transaction.
    assert_eq!(world.verification(P), None);
    assert_eq!(world.ask(P, 11, unverified).await, ErrorCode::NONE);
    // A guard is worth nothing after the end.
    assert_eq!(world.end(end(P, 1, true)).await, ErrorCode::NONE);
    let late = world.ask(P, 12, TransactionCheck::Guarded(guard)).await;
    assert_eq!(late, ErrorCode::INVALID_TXN_STATE);
    assert_eq!(world.fetch(true).await, (11, ErrorCode::NONE));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn zombies_are_refused() {
    let world = GroupsOnDisk::new().await;
    let before = Producer { epoch: 2, ..P };
    assert_eq!(world.commit(P, 10).await, ErrorCode::NONE);
    assert_eq!(world.commit(before, 11).await, ErrorCode::INVALID_PRODUCER_EPOCH);
    assert_eq!(world.end(end(before, 1, true)).await, ErrorCode::INVALID_PRODUCER_EPOCH);
    assert_eq!(world.fetch(true).await, UNSTABLE);
    assert_eq!(world.end(end(P, 5, true)).await, ErrorCode::NONE);
    let fenced = world.end(end(P, 4, false)).await;
    assert_eq!(fenced, ErrorCode::TRANSACTION_COORDINATOR_FENCED);
    // With transaction.version 2 the marker's epoch is above the transaction's.
    let bumped = Producer { epoch: 4, ..P };
    let version_2 = |producer| TransactionEnd { transaction_version: 2, ..end(producer, 5, true) };
    assert_eq!(world.commit(P, 12).await, ErrorCode::NONE);
    assert_eq!(world.end(version_2(P)).await, ErrorCode::INVALID_PRODUCER_EPOCH);
    assert_eq!(world.end(version_2(bumped)).await, ErrorCode::NONE);
    assert_eq!(world.fetch(true).await, (12, ErrorCode::NONE));
    assert_eq!(world.commit(P, 13).await, ErrorCode::INVALID_PRODUCER_EPOCH);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_ends_transactions_of_a_partition_that_is_elsewhere() {
    let world = GroupsOnDisk::new().await;
    assert_eq!(
        soon("an answer", world.groups.complete_transaction(1, end(P, 1, true))).await,
        ErrorCode::NOT_COORDINATOR
    );
    world.groups.resigned(0, None);
    assert_eq!(world.end(end(P, 1, true)).await, ErrorCode::NOT_COORDINATOR);
    assert_eq!(world.commit(P, 1).await, ErrorCode::NOT_COORDINATOR);
}
