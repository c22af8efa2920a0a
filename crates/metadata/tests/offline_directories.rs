//! A broker of one node loses a directory, gets it back, and says where its replicas are: what the
//! controller decides of it, without Kafka at hand.

use crate::support;

use support::fixtures::{self, Fake, NOT_HEARD_OF, topic};
use thalweg_metadata::bootstrap::{activation_records, bootstrap_records};
use thalweg_metadata::config::BrokerConfig;
use thalweg_metadata::config::broker::{Mode, embedded_defaults};
use thalweg_metadata::controller::{
    self, Context, ControllerRequest, HeartbeatState, RequestContext,
};
use thalweg_metadata::features::MetadataVersion;
use thalweg_metadata::image::{Partition, Provenance};
use thalweg_metadata::{Delta, MetadataImage};
use thalweg_random::Random;
use thalweg_wire::messages::assign_replicas_to_dirs_request::{
    DirectoryData, PartitionData, TopicData,
};
use thalweg_wire::messages::metadata_record::MetadataRecord;
use thalweg_wire::messages::*;
use thalweg_wire::{ErrorCode, Uuid};

const GOOD: Uuid = Uuid::from_u128(7 << 64);
const BAD: Uuid = Uuid::from_u128(8 << 64);

struct TwoDirectories {
    image: MetadataImage,
    config: BrokerConfig,
    fake: Fake,
    numbers: Random,
}

impl TwoDirectories {
    /// One broker with two directories, and a topic with a partition in each.
    fn new() -> TwoDirectories {
        let config = BrokerConfig::new(embedded_defaults(), Mode::Embedded).expect("defaults");
        let fake = Fake::new(1, &[GOOD.as_u128(), BAD.as_u128()]);
        let mut world =
            TwoDirectories { image: MetadataImage::empty(), config, fake, numbers: Random::new(5) };
        world.append(activation_records(
            &world.config,
            &bootstrap_records(MetadataVersion::LATEST),
            false,
        ));
        world.register(&[GOOD, BAD], 10);
        let request = CreateTopicsRequest { topics: vec![topic("t", 2, 1)], ..Default::default() };
        let created = world.decide(&request);
        assert_eq!(created.topics[0].error_code, ErrorCode::NONE);
        let topic_id = world.image.topics.by_name("t").expect("the topic").id;
        let directory = |id, index| DirectoryData {
            id,
            topics: vec![TopicData {
                topic_id,
                partitions: vec![PartitionData { partition_index: index, ..Default::default() }],
                ..Default::default()
            }],
            ..Default::default()
        };
        let assigned = world.decide(&AssignReplicasToDirsRequest {
            broker_id: 1,
            broker_epoch: world.image.cluster.broker(1).expect("the broker").epoch,
            directories: vec![directory(GOOD, 0), directory(BAD, 1)],
            ..Default::default()
        });
        assert_eq!(assigned.error_code, ErrorCode::NONE);
        world
    }

    fn append(&mut self, records: Vec<MetadataRecord>) {
        let mut delta = Delta::new(self.image.clone());
        for record in records.iter().filter(|r| {
            !matches!(r, MetadataRecord::BeginTransaction(_) | MetadataRecord::EndTransaction(_))
        }) {
            delta.replay(record).expect("a record that was decided");
        }
        self.image = delta.apply(Provenance::NONE).0;
    }

    fn decide<R: ControllerRequest>(&mut self, request: &R) -> R::Response {
        self.decide_with(request, |_| {})
    }

    fn decide_with<R: ControllerRequest>(
        &mut self,
        request: &R,
        change: impl FnOnce(&mut RequestContext<'_>),
    ) -> R::Response {
        let context = Context { image: &self.image, config: &self.config };
        let decided = fixtures::decide(&context, request, &mut || self.numbers.next_u64(), change);
        self.append(decided.records);
        decided.response
    }

    /// A new incarnation with these directories, which may lead.
    fn register(&mut self, directories: &[Uuid], epoch: i64) {
        self.fake.incarnation = Uuid::from_u128(1 << 100 | u128::from(epoch.unsigned_abs()));
        self.fake.directories = directories.to_vec();
        let request = self.fake.registration("cluster");
        let answer = self.decide_with(&request, |given| {
            given.cluster_id = "cluster";
            given.next_offset = epoch;
        });
        assert_eq!(answer.error_code, ErrorCode::NONE);
        assert!(!self.heartbeat(&[]).is_fenced);
    }

    fn heartbeat(&mut self, offline: &[Uuid]) -> BrokerHeartbeatResponse {
        let epoch = self.image.cluster.broker(1).expect("the broker").epoch;
        let request = BrokerHeartbeatRequest {
            broker_id: 1,
            broker_epoch: epoch,
            current_metadata_offset: epoch,
            offline_log_dirs: offline.to_vec(),
            cordoned_log_dirs: Some(Vec::new()),
            ..Default::default()
        };
        self.decide_with(&request, |given| {
            given.heartbeats = HeartbeatState { registration_offset: epoch, ..NOT_HEARD_OF };
        })
    }

    fn partition(&self, index: i32) -> &Partition {
        &self.image.topics.by_name("t").expect("the topic").partitions[&index]
    }

    fn leaders(&self) -> [i32; 2] {
        [self.partition(0).leader, self.partition(1).leader]
    }

    fn directories(&self) -> &[Uuid] {
        &self.image.cluster.broker(1).expect("the broker").directories
    }
}

#[test]
fn a_lost_directory_takes_the_leaders_of_its_partitions() {
    let mut world = TwoDirectories::new();
    assert_eq!(world.leaders(), [1, 1]);
    let epochs = [world.partition(0).leader_epoch, world.partition(1).leader_epoch];
    assert_eq!(world.heartbeat(&[BAD]).error_code, ErrorCode::NONE);
    assert_eq!(world.leaders(), [1, -1]);
    assert_eq!(world.partition(0).leader_epoch, epochs[0]);
    assert_eq!(world.partition(1).leader_epoch, epochs[1] + 1);
    assert_eq!(world.directories(), [GOOD]);

    // What is known is not decided again, nor is a directory that nobody has.
    let before = world.image.clone();
    world.heartbeat(&[BAD]);
    world.heartbeat(&[BAD, Uuid::from_u128(9 << 64)]);
    assert_eq!(world.image, before);
}

#[test]
fn a_directory_that_is_lost_with_the_heartbeat_that_unfences_brings_no_leader() {
    let mut world = TwoDirectories::new();
    let epoch = world.image.cluster.broker(1).expect("the broker").epoch;
    let fenced =
        controller::fence_broker(&Context { image: &world.image, config: &world.config }, 1, epoch);
    world.append(fenced);
    assert_eq!(world.leaders(), [-1, -1]);
    assert!(!world.heartbeat(&[BAD]).is_fenced);
    assert_eq!(world.leaders(), [1, -1]);
    assert_eq!(world.directories(), [GOOD]);
    world.register(&[GOOD, BAD], 30);
    assert_eq!(world.leaders(), [1, 1]);
}

#[test]
fn new_partitions_are_in_the_directory_that_is_left() {
    let mut world = TwoDirectories::new();
    world.heartbeat(&[BAD]);
    let request = CreatePartitionsRequest {
        topics: vec![create_partitions_request::CreatePartitionsTopic {
            name: "t".into(),
            count: 3,
            assignments: None,
            ..Default::default()
        }],
        ..Default::default()
    };
    let answer = world.decide(&request);
    assert_eq!(answer.results[0].error_code, ErrorCode::NONE);
    assert_eq!((world.partition(2).leader, world.partition(2).directory(1)), (1, Some(GOOD)));
}

#[test]
fn a_directory_that_is_back_gives_its_partitions_leaders_again() {
    let mut world = TwoDirectories::new();
    world.heartbeat(&[BAD]);
    // A start without it changes nothing, one with it everything.
    world.register(&[GOOD], 20);
    assert_eq!(world.leaders(), [1, -1]);
    world.register(&[GOOD, BAD], 30);
    assert_eq!(world.leaders(), [1, 1]);
    assert_eq!(world.directories().len(), 2);
}
