//! Every public type can be shared between tasks, and every public future spawned: `Send + Sync` and
//! `Send`, asserted by the compiler for each by name. What is added to the crate has to be added
//! here: the sources are read as text for that.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::fs;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use futures_util::stream::{Empty, Stream};
use thalweg::admin::{Results, *};
use thalweg::cluster::Cluster;
use thalweg::connection::Connection;
use thalweg::consumer::*;
use thalweg::error::{AuthenticationError, Error};
use thalweg::options::*;
use thalweg::producer::*;
use thalweg::raw::{RawConnection, RawReceiver, RawSender};
use thalweg::stream::*;
use thalweg::{
    AbortReason, Acks, AdminError, Assignor, CommittedOffset, ConsumerRecord, Fault, FetchCounts,
    FoundOffset, GroupError, GroupProtocol, GroupStatus, IsolationLevel, Metadata,
    MetadataRecoveryStrategy, OffsetReset, OwnedRecord, PartitionError, PartitionErrorKind,
    PartitionStatus, Position, ProduceCounts, ProduceError, ProduceErrorKind, ProducerRecord,
    RecordMetadata, Records, RecordsIntoIter as IntoIter, RecordsIter as Iter, SharedRecord,
    TopicPartition, TransactionError,
};
use thalweg_wire::messages::MetadataRequest;

fn shared<T: Send + Sync + Debug>() {}

/// A type that has parameters of the application's, which may have no `Debug`.
fn shared_with<T: Send + Sync>() {}

fn send<F: Future + Send>(_: F) {}

fn value<T: Send + Sync>(_: T) {}

type Offsets<E> = Pin<Box<dyn Stream<Item = Result<CommittableOffset, E>> + Send + Sync>>;
type Work = std::future::Ready<Result<u64, Error>>;
type Begun = std::future::Ready<Result<Empty<Result<u64, Error>>, Error>>;

#[test]
fn types_can_be_shared() {
    shared::<Consumer>();
    shared::<ConsumerConfig>();
    shared::<ConsumerHandle>();
    shared::<CloseOptions>();
    shared::<OnLeave>();
    shared::<GroupMetadata>();
    shared::<PendingCommit>();
    shared::<Rebalance>();
    shared_with::<Box<dyn RebalanceListener>>();
    shared::<Why>();
    shared::<Unanswered>();
    shared::<CommittedOffset>();
    shared::<FoundOffset>();
    shared::<FetchCounts>();
    shared::<Records>();
    shared::<Iter<'static>>();
    shared::<IntoIter>();
    shared::<ConsumerRecord<'static>>();
    shared::<SharedRecord>();
    shared::<OwnedRecord>();
    shared::<PartitionError>();
    shared::<PartitionErrorKind>();
    shared::<PartitionStatus>();
    shared::<Fault>();
    shared::<Position>();
    shared::<TopicPartition>();
    shared::<GroupError>();
    shared::<GroupStatus>();
    shared::<GroupProtocol>();
    shared::<Assignor>();
    shared::<IsolationLevel>();
    shared::<OffsetReset>();

    shared_with::<Producer>();
    shared::<ProducerConfig>();
    shared::<ProducerRecord<'static>>();
    shared::<ProduceCounts>();
    shared::<ProduceError>();
    shared::<ProduceErrorKind>();
    shared::<RecordMetadata>();
    shared::<Delivery>();
    shared::<TrySendError>();
    shared::<Transaction>();
    shared::<TransactionError>();
    shared::<AbortReason>();
    shared::<Acks>();

    shared::<Cluster>();
    shared::<Connection>();
    shared::<Metadata>();
    shared_with::<RawConnection>();
    shared_with::<RawSender>();
    shared_with::<RawReceiver>();
    shared::<Options>();
    shared::<MetadataRecoveryStrategy>();
    shared::<Security>();
    shared::<SaslOptions>();
    shared::<Mechanism>();
    shared::<Error>();
    shared::<AuthenticationError>();

    streams_can_be_shared();
    admin_can_be_shared();
    #[cfg(feature = "tls")]
    {
        shared::<TlsOptions>();
        shared::<Roots>();
        shared::<Identity>();
        shared::<Pem>();
    }
}

fn streams_can_be_shared() {
    shared::<Source<Plain>>();
    shared::<Source<WithOffset>>();
    shared::<Source<InContext>>();
    shared::<Source<InTransaction>>();
    shared::<PartitionedSource<InTransaction>>();
    shared::<Batches<Source<InTransaction>>>();
    shared::<TransactionSettings>();
    shared::<TransactionalMessage>();
    shared::<TransactionalRecords>();
    shared::<TransactionalOffset>();
    shared::<TransactionalOffsetBatch>();
    shared::<TransactionalSink<TransactionalOffset>>();
    type Envelopes = Batches<Source<InTransaction>>;
    shared::<TransactionalFlow<Envelopes, TransactionalOffsetBatch, Error>>();
    shared::<Batches<Source<WithOffset>>>();
    shared::<PartitionedSource<WithOffset>>();
    shared::<PartitionSource<WithOffset>>();
    shared::<ExternalSource<WithOffset>>();
    shared::<AtMostOnceSource>();
    shared::<SharedConsumer>();
    shared::<ConsumerSettings>();
    shared::<Subscription>();
    shared::<Control>();
    shared::<SourceMetrics>();
    shared::<DrainingControl<Work>>();
    shared::<MetadataClient>();
    shared::<Committer>();
    shared::<CommitterSettings>();
    shared::<CommitDelivery>();
    shared::<Committed>();
    shared::<CommitterSink>();
    shared::<CommitterFlow<Offsets<Error>, Error>>();
    shared::<CommittableOffset>();
    shared::<CommittableOffsetBatch>();
    shared::<CommittableMessage>();
    shared::<CommittableRecords>();
    shared::<ProducerSettings>();
    shared::<ProducerSink>();
    shared::<CommittableSink<CommittableOffset>>();
    shared::<FlexiFlow<Empty<Result<Envelope<u64>, Error>>, u64, Error>>();
    shared::<Singles<Empty<Result<(OwnedProducerRecord, u64), Error>>>>();
    shared::<OwnedProducerRecord>();
    shared::<Envelope<u64>>();
    shared::<thalweg::stream::Results<u64>>();
    shared::<Results<String, u64>>();
    shared::<RestartSettings>();
    shared::<RestartControl>();
    shared::<
        RestartSource<fn() -> Begun, Begun, Empty<Result<u64, Error>>, fn(Option<&Error>) -> bool>,
    >();
    shared::<
        MapOrderedBy<
            Empty<Result<u64, Error>>,
            u64,
            fn(&u64) -> u64,
            fn(u64) -> Work,
            Work,
            u64,
            Error,
        >,
    >();
}

fn admin_can_be_shared() {
    shared::<Admin>();
    shared::<AdminConfig>();
    shared::<AdminError>();
    shared::<Mode>();
    shared::<AclBinding>();
    shared::<AclFilter>();
    shared::<AclPatternFilter>();
    shared::<LogDir>();
    shared::<LogDirReplica>();
    shared::<ReplicaMove>();
    shared::<ScramChange>();
    shared::<ScramCredential>();
    shared::<ClusterDescription>();
    shared::<BrokerDescription>();
    shared::<BrokerVersions>();
    shared::<Features>();
    shared::<FeatureRange>();
    shared::<UpgradeType>();
    shared::<FeatureUpdate>();
    shared::<QuorumDescription>();
    shared::<QuorumReplica>();
    shared::<QuorumNode>();
    shared::<OffsetSpec>();
    shared::<ProducerState>();
    shared::<GroupFilter>();
    shared::<GroupListing>();
    shared::<FencedProducer>();
    shared::<ListedTransactions>();
    shared::<TransactionDescription>();
    shared::<TransactionFilter>();
    shared::<TransactionListing>();
    shared::<TransactionToAbort>();
    shared::<GroupKind>();
    shared::<GroupDescription>();
    shared::<GroupMember>();
    shared::<GroupRebalances>();
    shared::<GroupRebalance>();
    shared::<RebalanceTrigger>();
    shared::<RebalanceStep>();
    shared::<RebalanceWait>();
    shared::<PartitionMove>();
    shared::<MemberToRemove>();
    shared::<Reassignment>();
    shared::<Election>();
    shared::<NewTopic>();
    shared::<CreatedTopic>();
    shared::<TopicRef>();
    shared::<TopicListing>();
    shared::<TopicDescription>();
    shared::<PartitionDescription>();
    shared::<NewPartitions>();
    shared::<QuotaMatch>();
    shared::<ResourceType>();
    shared::<ConfigResource>();
    shared::<ConfigSource>();
    shared::<ConfigKind>();
    shared::<ConfigEntry>();
    shared::<ConfigSynonym>();
    shared::<ConfigDetails>();
    shared::<ConfigChange>();
    shared::<ConfigOperation>();
}

/// Not run: that it compiles is the test.
#[allow(dead_code)]
async fn consumers(consumer: &mut Consumer, handle: &ConsumerHandle, rebalance: &Rebalance) {
    let partitions = || [TopicPartition::new("t", 0)];
    let offsets = || [(TopicPartition::new("t", 0), Position::at(0))];
    let with_metadata = || {
        let position = Position::at(0);
        [(TopicPartition::new("t", 0), CommittedOffset { position, metadata: None })]
    };
    send(consumer.poll(1));
    send(consumer.poll_timeout(1, Duration::ZERO));
    send(consumer.commit());
    send(consumer.commit_async());
    send(consumer.commit_offsets(offsets()));
    send(consumer.commit_with_metadata(with_metadata()));
    send(consumer.committed(&partitions()));
    send(consumer.offsets_for_times([(TopicPartition::new("t", 0), 0)]));
    send(consumer.beginning_offsets(&partitions()));
    send(consumer.end_offsets(partitions().iter().filter(|known| known.partition > 0)));
    send(consumer.unsubscribe());
    send(consumer.close(Duration::ZERO));
    send(handle.commit());
    send(handle.commit_offsets(offsets()));
    send(handle.commit_with_metadata(with_metadata()));
    send(handle.committed(&partitions()));
    send(handle.offsets_for_times([(TopicPartition::new("t", 0), 0)]));
    send(handle.beginning_offsets(&partitions()));
    send(handle.end_offsets(&partitions()));
    send(rebalance.commit(offsets()));
    let records = consumer.poll(1).await.unwrap_or_default();
    value(records.iter());
    value(records.by_partition());
    for record in &records {
        value(record);
        value(record.headers());
    }
    value(records.into_iter());
}

#[allow(dead_code)]
fn streams(control: Control, restarts: RestartControl, offset: CommittableOffset) {
    let done = || std::future::ready(());
    send(control.drain_and_shutdown(done(), Duration::ZERO));
    send(control.drain_when(done(), done(), Duration::ZERO));
    let task = || tokio::spawn(async { Ok::<(), thalweg::Error>(()) });
    send(control.run_until(done(), task(), Duration::ZERO));
    send(control.shutdown(Duration::ZERO));
    send(control.is_shutdown());
    send(control.commit());
    send(restarts.drain_and_shutdown(done(), Duration::ZERO));
    send(restarts.drain_when(done(), done(), Duration::ZERO));
    send(restarts.run_until(done(), task(), Duration::ZERO));
    send(restarts.shutdown(Duration::ZERO));
    send(control.clone().draining(done()).drain_and_shutdown(Duration::ZERO));
    send(CommittableOffsetBatch::from(offset.clone()).commit());
    let offsets: Offsets<Error> = Box::pin(futures_util::stream::empty());
    send(Committer::default().run(offsets));
    send(offset.commit());
    let client = control.metadata_client();
    let partitions = [TopicPartition::new("t", 0)];
    send(client.list_topics());
    send(client.partitions_for("t"));
    send(client.committed(&partitions));
    send(client.beginning_offsets(&partitions));
    send(client.end_offsets(&partitions));
    send(client.offsets_for_times([(TopicPartition::new("t", 0), 0)]));
}

#[allow(dead_code)]
fn producers(producer: &Producer) {
    send(producer.send(ProducerRecord::default()));
    send(producer.flush());
    send(producer.close(Duration::ZERO));
    send(producer.init_transactions());
    send(producer.begin());
}

#[allow(dead_code)]
fn transactions(one: Transaction, other: Transaction, group: &GroupMetadata) {
    let position = Position::at(0);
    let offset = (TopicPartition::new("t", 0), CommittedOffset { position, metadata: None });
    send(one.send(ProducerRecord::default()));
    send(one.send_offsets([offset], group));
    send(one.commit());
    send(other.abort());
}

#[allow(dead_code)]
async fn clusters(cluster: &Cluster, connection: &Connection, raw: &mut RawConnection) {
    let request = MetadataRequest::default();
    send(Cluster::connect("", Options::default()));
    send(cluster.refresh(&[]));
    send(cluster.broker(0));
    send(cluster.send_to(0, &request));
    send(cluster.send_controller(&request));
    send(cluster.send_any(&request));
    send(Connection::open("", &Options::default()));
    send(connection.send(&request));
    send(connection.send_within(&request, Duration::ZERO));
    send(connection.send_frame(thalweg_wire::Writer::new(), thalweg_wire::ApiKey::METADATA, 0));
    send(connection.send_unanswered(thalweg_wire::Writer::new(), thalweg_wire::ApiKey::PRODUCE, 0));
    send(RawConnection::open("", &Options::default()));
    send(raw.call(&request));
}

#[allow(dead_code)]
fn raw(sender: &mut RawSender, receiver: &mut RawReceiver) {
    send(sender.send(&[]));
    send(sender.send_segments(&thalweg_wire::Writer::new()));
    send(receiver.recv());
    send(receiver.take());
}

#[allow(dead_code)]
fn admins(admin: &Admin, acl: AclFilter) {
    let partition = || TopicPartition::new("t", 0);
    send(admin.describe_acls(acl.clone()));
    send(admin.create_acls([]));
    send(admin.delete_acls([acl]));
    send(admin.describe_log_dirs(None));
    send(admin.alter_replica_log_dirs([]));
    send(admin.describe_user_scram_credentials(None));
    send(admin.alter_user_scram_credentials(BTreeMap::new()));
    send(admin.describe_cluster(true));
    send(admin.broker_versions());
    send(admin.describe_features());
    send(admin.unregister_broker(1));
    send(admin.unregister_controller(1));
    send(admin.update_features(Vec::new(), Mode::Apply));
    send(admin.describe_quorum());
    send(admin.list_offsets(BTreeMap::new(), IsolationLevel::default()));
    send(admin.delete_records(BTreeMap::new()));
    send(admin.describe_producers([partition()]));
    send(admin.list_groups(&GroupFilter::default()));
    send(admin.list_transactions(&TransactionFilter::default()));
    send(admin.describe_transactions(["t"]));
    send(admin.abort_transaction(TransactionToAbort::new(partition(), 0, 0, 0)));
    send(admin.fence_producers(["t"]));
    send(admin.describe_groups([String::new()]));
    send(admin.describe_rebalances([String::new()]));
    send(admin.delete_groups([String::new()]));
    send(admin.remove_members("g", [], ""));
    send(admin.list_group_offsets([String::new()]));
    send(admin.alter_group_offsets("g", BTreeMap::new()));
    send(admin.delete_group_offsets("g", [partition()]));
    send(admin.alter_partition_reassignments(BTreeMap::new()));
    send(admin.list_partition_reassignments(None));
    send(admin.elect_leaders(Election::Preferred, None));
    send(admin.create_topics(Vec::new(), Mode::Apply));
    send(admin.delete_topics([TopicRef::from("t")]));
    send(admin.list_topics(false));
    send(admin.describe_topics([TopicRef::from("t")]));
    send(admin.create_partitions(Vec::new(), Mode::Apply));
    send(admin.describe_client_quotas(BTreeMap::new(), false));
    send(admin.alter_client_quotas(BTreeMap::new(), Mode::Apply));
    send(admin.describe_configs([ConfigResource::topic("t")], ConfigDetails::default()));
    send(admin.alter_configs(BTreeMap::new(), Mode::Apply));
    send(admin.list_config_resources(&[]));
}

/// Public by the language, but nothing that a user can name.
const HIDDEN: [&str; 2] = ["AssignedPartition", "Hubs"];

/// What is `pub` in the sources outside of `core` and stands in modules that users see.
fn public(keyword: &str) -> HashMap<String, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = HashMap::new();
    let mut look = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        for line in text.lines() {
            let Some(rest) = line.trim_start().strip_prefix(keyword) else { continue };
            let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
            if !name.is_empty() {
                found.insert(name.to_owned(), path.display().to_string());
            }
        }
    };
    let files = [
        "cluster/mod.rs",
        "consumer/commits/offsets.rs",
        "consumer/commits/pending.rs",
        "core/group/metadata.rs",
        "error.rs",
        "net/connection.rs",
        "net/raw.rs",
        "options/mod.rs",
        "options/tls/mod.rs",
        "stream/hub/assigned.rs",
        "stream/hub/committable.rs",
        "stream/hub/manual.rs",
        "stream/hub/transactional.rs",
    ];
    for file in files {
        look(&source.join(file));
    }
    let private = ["lookups.rs", "shared.rs", "streams.rs"];
    let folders = [
        "admin",
        "consumer",
        "consumer/config",
        "producer",
        "producer/tasks",
        "stream",
        "stream/sinks",
        "stream/sources",
        "stream/transactional",
    ];
    for folder in folders {
        for entry in fs::read_dir(source.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_private =
                !folder.starts_with("stream") && folder != "admin" && private.contains(&&*name);
            if name.ends_with(".rs") && !is_private {
                look(&path);
            }
        }
    }
    found
}

/// Calls whose futures are boxed where they are written: those of `Admin`.
fn boxed_calls() -> HashMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/admin");
    let mut found = HashMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        for call in fs::read_to_string(&path).unwrap().split("    pub fn ").skip(1) {
            let head = call.split('{').next().unwrap();
            if head.contains("-> AdminFuture<") {
                let name = head.split(['(', '<']).next().unwrap();
                found.insert(name.to_owned(), path.display().to_string());
            }
        }
    }
    found
}

#[test]
fn nothing_is_left_out() {
    let this = include_str!("send_sync.rs");
    let mut missing = Vec::new();
    for keyword in ["pub struct ", "pub enum "] {
        for (name, file) in public(keyword) {
            let named = [format!("<{name}"), format!(" {name}<")];
            let is_named = named.iter().any(|named| this.contains(named));
            if !is_named && !HIDDEN.contains(&&*name) {
                missing.push(format!("{keyword}{name} in {file}"));
            }
        }
    }
    let mut calls = public("pub async fn ");
    calls.extend(boxed_calls());
    for (name, file) in &calls {
        let called = [format!(".{name}("), format!("::{name}(")];
        if !called.iter().any(|call| this.contains(call)) {
            missing.push(format!("{name}() in {file}"));
        }
    }
    assert!(missing.is_empty(), "not asserted: {missing:#?}");
    assert!(calls.len() > 60, "the sources are read otherwise now: {}", calls.len());
}
