//! What must hold after any history of a cluster: the decisions of the controller, one after the
//! other, with brokers that come and go.
//!
//! Records fit the image they were decided on, partitions stay sound, changes are what a comparison
//! of the images says, an old image stays as it was, and the image can be had in other ways too:
//! from the log in batches and metadata transactions, from a snapshot's records, from its bytes.

use crate::support;

use std::collections::BTreeSet;

use proptest::prelude::*;
use support::fixtures::{Fake, NOT_HEARD_OF, decide, topic};
use thalweg_metadata::MetadataImage;
use thalweg_metadata::bootstrap::{activation_records, bootstrap_records, snapshot_batches};
use thalweg_metadata::config::BrokerConfig;
use thalweg_metadata::config::broker::{Mode, embedded_defaults};
use thalweg_metadata::controller::{self, Context, HeartbeatState};
use thalweg_metadata::features::MetadataVersion;
use thalweg_metadata::image::{
    Changes, ConfigResource, Delta, Loader, Provenance, ResourceType, SnapshotReader,
    snapshot_records,
};
use thalweg_metadata::records::{Batch, BatchWriter};
use thalweg_random::Random;
use thalweg_records::Decompressor;
use thalweg_wire::Uuid;
use thalweg_wire::messages::metadata_record::MetadataRecord;
use thalweg_wire::messages::*;

const CLUSTER_ID: &str = "a-cluster";

/// One thing that happens; the numbers say what exactly.
type Step = (u8, u64);

struct ControllerHistory {
    config: BrokerConfig,
    image: MetadataImage,
    fakes: Vec<Fake>,
    /// What each step appended.
    history: Vec<Vec<MetadataRecord>>,
    offset: i64,
}

fn brokers(n: &mut Random) -> Vec<i32> {
    let mut all = vec![1, 2, 3, 4];
    let count = 1 + n.below(3);
    (0..count).map(|_| all.remove(n.below(all.len()))).collect()
}

fn name(n: &mut Random) -> String {
    format!("t{}", n.below(6))
}

impl ControllerHistory {
    fn new() -> ControllerHistory {
        let config = BrokerConfig::new(embedded_defaults(), Mode::Embedded).expect("defaults");
        let fakes = (1..=4)
            .map(|id| Fake::new(id, &[(id as u128) << 64, (id as u128) << 64 | 1 << 70]))
            .collect();
        let mut world = ControllerHistory {
            image: MetadataImage::empty(),
            fakes,
            history: Vec::new(),
            offset: 0,
            config: config.clone(),
        };
        let records =
            activation_records(&config, &bootstrap_records(MetadataVersion::LATEST), false)
                .into_iter()
                .filter(|record| {
                    !matches!(
                        record,
                        MetadataRecord::BeginTransaction(_) | MetadataRecord::EndTransaction(_)
                    )
                })
                .collect();
        world.append(records);
        world
    }

    fn append(&mut self, records: Vec<MetadataRecord>) {
        if records.is_empty() {
            return;
        }
        let old = self.image.clone();
        let before = snapshot_records(&old);
        let mut delta = Delta::new(old.clone());
        for record in &records {
            delta.replay(record).unwrap_or_else(|error| panic!("{error}: {record:?}"));
        }
        self.offset += records.len() as i64;
        let provenance = Provenance { offset: self.offset - 1, epoch: 3, timestamp_ms: 77 };
        let (new, changes) = delta.apply(provenance);
        assert_eq!(snapshot_records(&old), before, "the old image changed");
        check_changes(&old, &new, &changes);
        check_partitions(&new);
        self.image = new;
        self.history.push(records);
    }

    /// Decides and returns the records.
    fn decide(&mut self, kind: u8, n: &mut Random) -> Vec<MetadataRecord> {
        let context = Context { image: &self.image, config: &self.config };
        match kind % 16 {
            0 => {
                let at = n.below(self.fakes.len());
                let fake = &mut self.fakes[at];
                fake.incarnation = Uuid::from_u128(1 << 100 | u128::from(n.next_u64() >> 40));
                fake.previous_epoch = if n.below(2) == 0 { fake.epoch } else { -1 };
                let has_session = n.below(4) == 0;
                let request = fake.registration(CLUSTER_ID);
                let decision = decide(&context, &request, &mut || n.next_u64(), |given| {
                    given.cluster_id = CLUSTER_ID;
                    given.next_offset = self.offset;
                    given.heartbeats = HeartbeatState { has_session, ..NOT_HEARD_OF };
                });
                if !decision.records.is_empty() {
                    fake.epoch = decision.response.broker_epoch;
                }
                decision.records
            }
            1 | 2 => {
                let fake = &self.fakes[n.below(self.fakes.len())];
                let some = |n: &mut Random, often: usize| -> Vec<Uuid> {
                    let directories = fake.directories.iter().copied();
                    directories.filter(|_| n.below(often) == 0).collect()
                };
                let request = BrokerHeartbeatRequest {
                    broker_id: fake.id,
                    broker_epoch: fake.epoch,
                    current_metadata_offset: i64::MAX,
                    want_fence: n.below(6) == 0,
                    want_shut_down: n.below(8) == 0,
                    offline_log_dirs: some(n, 9),
                    cordoned_log_dirs: (n.below(3) == 0).then(|| some(n, 4)),
                    ..Default::default()
                };
                decide(&context, &request, &mut || n.next_u64(), |_| {}).records
            }
            3 | 4 => {
                let count = 1 + n.below(3);
                let topics = (0..count)
                    .map(|_| topic(&name(n), 1 + n.below(4), 1 + n.below(3) as i16))
                    .collect();
                let request = CreateTopicsRequest { topics, ..Default::default() };
                decide(&context, &request, &mut || n.next_u64(), |_| {}).records
            }
            5 => {
                let request = DeleteTopicsRequest {
                    topics: vec![delete_topics_request::DeleteTopicState {
                        name: Some(name(n)),
                        ..Default::default()
                    }],
                    ..Default::default()
                };
                decide(&context, &request, &mut || n.next_u64(), |_| {}).records
            }
            6 => {
                let request = CreatePartitionsRequest {
                    topics: vec![create_partitions_request::CreatePartitionsTopic {
                        name: name(n),
                        count: 1 + n.below(6),
                        assignments: None,
                        ..Default::default()
                    }],
                    ..Default::default()
                };
                decide(&context, &request, &mut || n.next_u64(), |_| {}).records
            }
            7 => {
                let (kind, resource, configs): (i8, String, &[&str]) = match n.below(4) {
                    0 => (2, name(n), &["retention.ms", "min.insync.replicas", "segment.ms"]),
                    1 => (4, String::new(), &["min.insync.replicas", "log.retention.ms"]),
                    2 => (4, "1".into(), &["num.io.threads", "log.cleaner.threads"]),
                    _ => (32, "group".into(), &["consumer.session.timeout.ms"]),
                };
                let operation = n.below(2) as i8;
                let configs = vec![incremental_alter_configs_request::AlterableConfig {
                    name: (*n.pick(configs)).into(),
                    config_operation: operation,
                    value: (operation == 0).then(|| (1 + n.below(2)).to_string()),
                    ..Default::default()
                }];
                let request = IncrementalAlterConfigsRequest {
                    resources: vec![incremental_alter_configs_request::AlterConfigsResource {
                        resource_type: kind,
                        resource_name: resource,
                        configs,
                        ..Default::default()
                    }],
                    ..Default::default()
                };
                decide(&context, &request, &mut || n.next_u64(), |_| {}).records
            }
            8 => {
                use alter_client_quotas_request::{EntityData, EntryData, OpData};
                let request = AlterClientQuotasRequest {
                    entries: vec![EntryData {
                        entity: vec![EntityData {
                            entity_type: (*n.pick(&["user", "client-id"])).into(),
                            entity_name: (n.below(3) > 0).then(|| name(n)),
                            ..Default::default()
                        }],
                        ops: vec![OpData {
                            key: (*n.pick(&["producer_byte_rate", "consumer_byte_rate"])).into(),
                            value: 1.0 + n.below(3) as f64,
                            remove: n.below(3) == 0,
                            ..Default::default()
                        }],
                        ..Default::default()
                    }],
                    ..Default::default()
                };
                decide(&context, &request, &mut || n.next_u64(), |_| {}).records
            }
            9 => {
                let features = ["eligible.leader.replicas.version", "share.version"];
                let request = UpdateFeaturesRequest {
                    feature_updates: vec![update_features_request::FeatureUpdateKey {
                        feature: (*n.pick(&features)).into(),
                        max_version_level: n.below(2) as i16,
                        upgrade_type: 1 + n.below(2) as i8,
                        ..Default::default()
                    }],
                    ..Default::default()
                };
                decide(&context, &request, &mut || n.next_u64(), |_| {}).records
            }
            10 => {
                use alter_partition_reassignments_request as alter;
                let request = AlterPartitionReassignmentsRequest {
                    allow_replication_factor_change: n.below(4) > 0,
                    topics: vec![alter::ReassignableTopic {
                        name: name(n),
                        partitions: vec![alter::ReassignablePartition {
                            partition_index: n.below(2),
                            replicas: (n.below(3) > 0).then(|| brokers(n)),
                            ..Default::default()
                        }],
                        ..Default::default()
                    }],
                    ..Default::default()
                };
                decide(&context, &request, &mut || n.next_u64(), |_| {}).records
            }
            11 => {
                let request = ElectLeadersRequest {
                    election_type: n.below(2) as i8,
                    topic_partitions: None,
                    ..Default::default()
                };
                decide(&context, &request, &mut || n.next_u64(), |_| {}).records
            }
            12 => match n.below(6) {
                0 => {
                    let request =
                        UnregisterBrokerRequest { broker_id: 1 + n.below(4), ..Default::default() };
                    decide(&context, &request, &mut || n.next_u64(), |_| {}).records
                }
                1 => {
                    let fake = n.pick(&self.fakes);
                    let request = AllocateProducerIdsRequest {
                        broker_id: fake.id,
                        broker_epoch: fake.epoch,
                        ..Default::default()
                    };
                    decide(&context, &request, &mut || n.next_u64(), |_| {}).records
                }
                2 => {
                    let request = ControllerRegistrationRequest {
                        controller_id: 1 + n.below(2),
                        incarnation_id: Uuid::from_u128(n.below(9) as u128 + 5),
                        ..Default::default()
                    };
                    decide(&context, &request, &mut || n.next_u64(), |_| {}).records
                }
                _ => {
                    let fake = n.pick(&self.fakes);
                    controller::fence_broker(&context, fake.id, fake.epoch)
                }
            },
            13 => {
                use assign_replicas_to_dirs_request as assign;
                let fake = &self.fakes[n.below(self.fakes.len())];
                let directories = [fake.directories[0], fake.directories[1], Uuid::TWO];
                let topic_id = context.image.topics.by_name(&name(n)).map(|topic| topic.id);
                let request = AssignReplicasToDirsRequest {
                    broker_id: fake.id,
                    broker_epoch: fake.epoch,
                    directories: vec![assign::DirectoryData {
                        id: *n.pick(&directories),
                        topics: vec![assign::TopicData {
                            topic_id: topic_id.unwrap_or(Uuid::ONE),
                            partitions: vec![assign::PartitionData {
                                partition_index: n.below(2),
                                ..Default::default()
                            }],
                            ..Default::default()
                        }],
                        ..Default::default()
                    }],
                    ..Default::default()
                };
                decide(&context, &request, &mut || n.next_u64(), |_| {}).records
            }
            14 => {
                let request = self.isr_change(n);
                decide(&context, &request, &mut || n.next_u64(), |_| {}).records
            }
            _ => vec![self.foreign(n)],
        }
    }

    /// A leader asks for another ISR, now and then for one that cannot be.
    fn isr_change(&self, n: &mut Random) -> AlterPartitionRequest {
        use alter_partition_request::{BrokerState, PartitionData, TopicData};
        let cluster = &self.image.cluster;
        let led = self.image.topics.iter().flat_map(|topic| {
            topic.partitions.iter().map(|(index, partition)| (topic.id, *index, partition))
        });
        let led: Vec<_> = led.filter(|(_, _, partition)| partition.leader != -1).collect();
        if led.is_empty() {
            return AlterPartitionRequest::default();
        }
        let (topic_id, partition_index, partition) = *n.pick(&led);
        let leader = partition.leader;
        let replicas = partition.replicas.iter().copied();
        let isr = replicas.filter(|id| *id == leader && n.below(20) > 0 || n.below(4) > 0);
        let partition = PartitionData {
            partition_index,
            leader_epoch: partition.leader_epoch,
            partition_epoch: partition.partition_epoch,
            new_isr_with_epochs: isr
                .map(|broker_id| BrokerState { broker_id, ..Default::default() })
                .collect(),
            ..Default::default()
        };
        AlterPartitionRequest {
            broker_id: leader,
            broker_epoch: cluster.broker(leader).map_or(-1, |broker| broker.epoch),
            topics: vec![TopicData { topic_id, partitions: vec![partition], ..Default::default() }],
            ..Default::default()
        }
    }

    /// Records that only others write: they are kept, whatever they mean.
    fn foreign(&self, n: &mut Random) -> MetadataRecord {
        let id = Uuid::from_u128(5 << 64 | n.below(4) as u128);
        match n.below(6) {
            0 if self.image.acls.contains_key(&id) => {
                RemoveAccessControlEntryRecord { id, ..Default::default() }.into()
            }
            0 | 1 => AccessControlEntryRecord {
                id,
                resource_type: 2,
                resource_name: name(n),
                pattern_type: 3,
                principal: "User:somebody".into(),
                host: "*".into(),
                operation: 3,
                permission_type: 3,
                ..Default::default()
            }
            .into(),
            2 => UserScramCredentialRecord {
                name: name(n),
                mechanism: 1 + n.below(2) as i8,
                salt: vec![1, 2].into(),
                stored_key: vec![3].into(),
                server_key: vec![4].into(),
                iterations: 4096 + n.below(2),
                ..Default::default()
            }
            .into(),
            3 => RemoveUserScramCredentialRecord {
                name: name(n),
                mechanism: 1 + n.below(2) as i8,
                ..Default::default()
            }
            .into(),
            4 => RemoveDelegationTokenRecord { token_id: name(n), ..Default::default() }.into(),
            _ => DelegationTokenRecord {
                owner: "User:somebody".into(),
                requester: "User:somebody".into(),
                issue_timestamp: 1,
                max_timestamp: 3,
                expiration_timestamp: 2 + n.below(2) as i64,
                token_id: name(n),
                ..Default::default()
            }
            .into(),
        }
    }
}

/// What changed, found by looking at everything.
fn check_changes(old: &MetadataImage, new: &MetadataImage, changes: &Changes) {
    let mut expected = Changes {
        acls: old.acls != new.acls,
        scram: old.scram != new.scram,
        tokens: old.tokens != new.tokens,
        producer_ids: old.next_producer_id != new.next_producer_id,
        ..Changes::default()
    };
    for topic in old.topics.iter().filter(|topic| new.topics.by_id(topic.id).is_none()) {
        expected.deleted_topics.insert(topic.id, topic.clone());
    }
    for topic in new.topics.iter() {
        if old.topics.by_id(topic.id).is_none() {
            expected.created_topics.insert(topic.id);
        }
        for (index, partition) in &topic.partitions {
            if old.topics.partition(topic.id, *index) != Some(partition) {
                expected.partitions.entry(topic.id).or_default().insert(*index);
            }
        }
    }
    let ids: BTreeSet<i32> =
        old.cluster.brokers.keys().chain(new.cluster.brokers.keys()).copied().collect();
    expected.brokers = ids
        .into_iter()
        .filter(|id| old.cluster.brokers.get(id) != new.cluster.brokers.get(id))
        .collect();
    let ids: BTreeSet<i32> =
        old.cluster.controllers.keys().chain(new.cluster.controllers.keys()).copied().collect();
    expected.controllers = ids
        .into_iter()
        .filter(|id| old.cluster.controllers.get(id) != new.cluster.controllers.get(id))
        .collect();
    let entities: BTreeSet<_> =
        old.quotas.entities.keys().chain(new.quotas.entities.keys()).cloned().collect();
    expected.quotas = entities
        .into_iter()
        .filter(|entity| old.quotas.entities.get(entity) != new.quotas.entities.get(entity))
        .collect();
    let names: BTreeSet<String> = old
        .features
        .levels
        .keys()
        .chain(new.features.levels.keys())
        .cloned()
        .chain(["metadata.version".to_owned()])
        .collect();
    expected.features = names
        .into_iter()
        .filter(|name| old.features.level(name) != new.features.level(name))
        .collect();
    let resources: BTreeSet<ConfigResource> = old
        .configs
        .iter()
        .chain(new.configs.iter())
        .map(|(resource, _)| resource.clone())
        .collect();
    expected.configs = resources
        .into_iter()
        .filter(|resource| old.configs.get(resource) != new.configs.get(resource))
        .collect();
    // Brokers reload their files when a config is written again.
    let mut found = changes.clone();
    found.configs.retain(|resource| {
        resource.resource_type != ResourceType::Broker || expected.configs.contains(resource)
    });
    assert_eq!(found, expected);
}

fn check_partitions(image: &MetadataImage) {
    for topic in image.topics.iter() {
        assert_eq!(image.topics.by_name(&topic.name).map(|topic| topic.id), Some(topic.id));
        for (index, (number, partition)) in topic.partitions.iter().enumerate() {
            assert_eq!(index as i32, *number, "partitions of {} have gaps", topic.name);
            let replicas: BTreeSet<i32> = partition.replicas.iter().copied().collect();
            let text = format!("{}-{number}: {partition:?}", topic.name);
            assert_eq!(replicas.len(), partition.replicas.len(), "{text}");
            assert_eq!(partition.directories.len(), partition.replicas.len(), "{text}");
            assert!(partition.isr.iter().all(|id| replicas.contains(id)), "{text}");
            assert!(partition.elr.iter().all(|id| !partition.isr.contains(id)), "{text}");
            assert!(partition.adding_replicas.iter().all(|id| replicas.contains(id)), "{text}");
            assert!(partition.removing_replicas.iter().all(|id| replicas.contains(id)), "{text}");
            if partition.leader != -1 {
                assert!(partition.isr.contains(&partition.leader), "{text}");
                let broker = image.cluster.broker(partition.leader);
                assert!(broker.is_some_and(|broker| !broker.fenced), "{text}");
            }
        }
    }
    for broker in image.cluster.brokers.values() {
        assert_ne!(broker.directories.len(), 0, "{broker:?}");
    }
}

fn writer() -> BatchWriter {
    BatchWriter { epoch: 3, timestamp_ms: 77, metadata_version: MetadataVersion::LATEST }
}

fn read(bytes: &[u8]) -> Batch {
    Batch::read(bytes, &mut Decompressor::new()).expect("a batch")
}

/// The history as a log, cut at random places, some of it in transactions, of which some fail.
fn check_log(world: &ControllerHistory, n: &mut Random) {
    let mut loader = Loader::new(MetadataImage::empty());
    let mut offset = 0;
    let mut load = |loader: &mut Loader, records: &[MetadataRecord]| {
        let batch = read(&writer().data(offset, records).expect("a batch"));
        offset += records.len() as i64;
        loader.load(&batch).unwrap_or_else(|error| panic!("{error}"))
    };
    for (at, records) in world.history.iter().enumerate() {
        let before = loader.image().clone();
        let begin = MetadataRecord::from(BeginTransactionRecord::default());
        if n.below(4) == 0 {
            let aborted = [std::slice::from_ref(&begin), records].concat();
            assert_eq!(load(&mut loader, &aborted), [], "an update within a transaction");
            assert!(loader.open_transaction().is_some());
            load(&mut loader, &[AbortTransactionRecord::default().into()]);
            let found = MetadataImage { provenance: before.provenance, ..loader.image().clone() };
            assert_eq!(found, before, "a transaction that was dropped left something");
        }
        let (cut, whole) = (n.below(records.len()), n.below(2) == 0);
        if whole {
            load(&mut loader, records);
        } else {
            // Nothing shows before the end.
            assert_eq!(load(&mut loader, &[begin]), []);
            for part in [&records[..cut], &records[cut..]].into_iter().filter(|p| !p.is_empty()) {
                assert_eq!(load(&mut loader, part), []);
            }
            let updates = load(&mut loader, &[EndTransactionRecord::default().into()]);
            assert!(updates.len() <= 1, "step {at}: {updates:?}");
            for update in updates {
                check_changes(&update.old, &update.new, &update.changes);
                assert_eq!(&update.new, loader.image());
            }
        }
    }
    let found = MetadataImage { provenance: world.image.provenance, ..loader.image().clone() };
    assert_eq!(found, world.image, "the log gives another image");
}

/// A snapshot, as records and as bytes, on top of nothing and of an image from before.
fn check_snapshot(world: &ControllerHistory, earlier: &MetadataImage) {
    let mut delta = Delta::new(MetadataImage::empty());
    for record in snapshot_records(&world.image) {
        delta.replay(&record).unwrap_or_else(|error| panic!("{error}: {record:?}"));
    }
    assert_eq!(delta.apply(world.image.provenance).0, world.image, "records of a snapshot");
    let batches = snapshot_batches(&world.image, 1, None, 88).expect("batches");
    for base in [&MetadataImage::empty(), earlier] {
        let mut reader = SnapshotReader::new(base.clone());
        for batch in &batches {
            reader.load(&read(batch)).unwrap_or_else(|error| panic!("{error}"));
        }
        assert_eq!(reader.kraft_version().map(|record| record.k_raft_version), Some(1));
        let (image, changes) = reader.finish(world.offset, 3).expect("a snapshot");
        assert_eq!(image, world.image, "bytes of a snapshot");
        check_changes(base, &image, &changes);
    }
}

fn run(steps: &[Step]) -> ControllerHistory {
    let mut world = ControllerHistory::new();
    let mut earlier = world.image.clone();
    for (at, (kind, seed)) in steps.iter().enumerate() {
        let records = world.decide(*kind, &mut Random::new(*seed));
        world.append(records);
        if at == steps.len() / 2 {
            earlier = world.image.clone();
        }
    }
    check_snapshot(&world, &earlier);
    check_log(&world, &mut Random::new(steps.len() as u64));
    world
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 128,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_history(steps in proptest::collection::vec(any::<Step>(), 1..150)) {
        run(&steps);
    }
}

/// That histories are not all dull.
#[test]
fn much_happens() {
    let mut n = Random::new(1);
    let mut kinds = BTreeSet::new();
    let (mut topics, mut leaderless, mut moving) = (0, 0, 0);
    for _ in 0..30 {
        let steps: Vec<Step> = (0..150).map(|_| (n.next_u64() as u8, n.next_u64())).collect();
        let world = run(&steps);
        kinds.extend(world.history.iter().flatten().map(MetadataRecord::key));
        topics += world.image.topics.len();
        let partitions: Vec<_> =
            world.image.topics.iter().flat_map(|t| t.partitions.values()).collect();
        leaderless += partitions.iter().filter(|p| p.leader == -1).count();
        moving += partitions.iter().filter(|p| p.is_reassigning()).count();
    }
    assert!(topics > 30 && leaderless > 5 && moving > 5, "{topics} {leaderless} {moving}");
    assert!(kinds.len() >= 18, "{kinds:?}");
}
