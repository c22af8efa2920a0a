//! Transactions of the producer against Thalweg's broker, with brokers that add partitions by themselves
//! (`transaction.version` 2) and for clients that do so, and with answers and requests that get lost.

use crate::support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use support::hostile::{Answer, Fate, Hostile};
use support::soon;
use thalweg::admin::{Admin, AdminConfig, Mode, NewTopic, TransactionFilter};
use thalweg::consumer::GroupMetadata;
use thalweg::{
    AbortReason, Cluster, CommittedOffset, Consumer, ConsumerConfig, Error, IsolationLevel,
    OffsetReset, Position, ProduceErrorKind, Producer, ProducerConfig, ProducerRecord,
    TopicPartition, TransactionError,
};
use thalweg_wire::messages::{
    ApiVersionsResponse, EndTxnResponse, MetadataResponse, TxnOffsetCommitResponse,
};
use thalweg_wire::{ApiKey, ErrorCode, Uuid};

const TOPIC: &str = "t";
const PARTITIONS: i32 = 3;

/// A broker, and whether it tells clients to leave it to the brokers which partitions are in a transaction.
struct TransactionalBroker {
    hostile: Hostile,
    cluster: Cluster,
}

impl TransactionalBroker {
    async fn new(level: i16) -> TransactionalBroker {
        TransactionalBroker::with(level, &[]).await
    }

    /// As [`Self::new`], a broker with configs.
    async fn with(level: i16, configs: &[(&str, &str)]) -> TransactionalBroker {
        let hostile = Hostile::start_with(configs).await;
        hostile.judge(move |answer| answer_of(level, answer));
        let cluster = hostile.cluster().await;
        let admin = Admin::new(cluster.clone(), AdminConfig::default());
        let topic = NewTopic::new(TOPIC).with_partitions(PARTITIONS);
        for (_, result) in soon(admin.create_topics([topic], Mode::Apply)).await {
            result.unwrap();
        }
        TransactionalBroker { hostile, cluster }
    }

    fn config(&self) -> ProducerConfig {
        ProducerConfig::default()
            .with_transactional_id("id")
            .with_linger(Duration::ZERO)
            .with_retry_backoff(Duration::from_millis(1))
            .with_retry_backoff_max(Duration::from_millis(20))
    }

    fn producer_without_id(&self) -> Producer {
        let config = ProducerConfig::default().with_linger(Duration::ZERO);
        Producer::new(self.cluster.clone(), config).unwrap()
    }

    fn producer(&self) -> Producer {
        Producer::new(self.cluster.clone(), self.config()).unwrap()
    }

    /// The values of each partition, in order, up to the end.
    async fn read(&self, isolation: IsolationLevel) -> BTreeMap<i32, Vec<String>> {
        let admin = Admin::new(self.cluster.clone(), AdminConfig::default());
        let all: Vec<_> = (0..PARTITIONS).map(|at| TopicPartition::new(TOPIC, at)).collect();
        // What is committed is all there once the markers are.
        soon(async {
            loop {
                let listed = admin.list_transactions(&TransactionFilter::default()).await.unwrap();
                let is_over = |state: &str| state.starts_with("Complete") || state == "Empty";
                if listed.transactions.iter().all(|one| is_over(&one.state)) {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        let wanted = all.iter().map(|of| (of.clone(), thalweg::admin::OffsetSpec::Latest));
        let mut ends = BTreeMap::new();
        for (of, found) in admin.list_offsets(wanted, IsolationLevel::ReadUncommitted).await {
            ends.insert(of.partition, found.unwrap().offset);
        }
        let config = ConsumerConfig::default()
            .with_auto_offset_reset(OffsetReset::Earliest)
            .with_isolation_level(isolation);
        let mut consumer = Consumer::new(self.cluster.clone(), config).unwrap();
        consumer.assign(all.iter().map(|of| (of.clone(), None))).unwrap();
        let mut values: BTreeMap<i32, Vec<String>> = BTreeMap::new();
        soon(async {
            loop {
                let mut is_over = true;
                for of in &all {
                    let position = consumer.position(of).map_or(0, |position| position.offset);
                    is_over &= position >= ends[&of.partition];
                }
                if is_over {
                    break;
                }
                let records = consumer.poll_timeout(100, Duration::from_millis(50)).await.unwrap();
                for record in &records {
                    let value = String::from_utf8(record.value().unwrap().to_vec()).unwrap();
                    values.entry(record.partition()).or_default().push(value);
                }
            }
        })
        .await;
        values
    }
}

/// Passes everything, but for what the cluster has finalized.
fn answer_of(level: i16, answer: &Answer<'_>) -> Fate {
    if answer.api != ApiKey::API_VERSIONS || level == 2 {
        return Fate::Pass;
    }
    answer.change(|it: &mut ApiVersionsResponse| {
        it.finalized_features.retain(|feature| feature.name != "transaction.version");
    })
}

fn record(partition: i32, value: &str) -> ProducerRecord<'_> {
    ProducerRecord::new(TOPIC).with_partition(partition).with_value(value)
}

/// `[(partition, values)]` as [`TransactionalBroker::read`] gives them.
fn values<const N: usize>(of: [(i32, &[&str]); N]) -> BTreeMap<i32, Vec<String>> {
    let owned = |(at, values): (i32, &[&str])| {
        (at, values.iter().map(|value| (*value).to_owned()).collect())
    };
    of.into_iter().map(owned).collect()
}

fn committed_at(offset: i64) -> (TopicPartition, CommittedOffset) {
    let metadata = Some("beside".to_owned());
    (TopicPartition::new(TOPIC, 0), CommittedOffset { position: Position::at(offset), metadata })
}

/// What a group has committed of partition 0.
async fn committed(cluster: &Cluster, group: &str) -> Option<i64> {
    let config = ConsumerConfig::default().with_group_id(group);
    let consumer = Consumer::new(cluster.clone(), config).unwrap();
    let partition = TopicPartition::new(TOPIC, 0);
    let found = soon(consumer.committed([&partition])).await.unwrap();
    found.into_iter().find_map(|(_, found)| Some(found?.position.offset))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_of_a_transaction_is_read_or_nothing() {
    for level in [2, 1] {
        let world = TransactionalBroker::new(level).await;
        let producer = world.producer();
        soon(producer.init_transactions()).await.unwrap();

        let transaction = soon(producer.begin()).await.unwrap();
        for partition in 0..PARTITIONS {
            drop(transaction.send(record(partition, "a")).await.unwrap());
        }
        soon(transaction.commit()).await.unwrap();

        let transaction = soon(producer.begin()).await.unwrap();
        assert_eq!(soon(producer.begin()).await.unwrap_err(), TransactionError::Open);
        let sent = transaction.send(record(1, "aborted")).await.unwrap();
        soon(sent).await.unwrap();
        soon(transaction.abort()).await.unwrap();

        // Nothing in it: the coordinator does not hear of it.
        soon(soon(producer.begin()).await.unwrap().commit()).await.unwrap();
        soon(soon(producer.begin()).await.unwrap().abort()).await.unwrap();

        let transaction = soon(producer.begin()).await.unwrap();
        drop(transaction.send(record(1, "b")).await.unwrap());
        let outside = world.producer_without_id();
        soon(outside.send(record(2, "outside")).await.unwrap()).await.unwrap();
        soon(transaction.commit()).await.unwrap();

        let error = producer.send(record(0, "outside")).await.unwrap_err();
        assert_eq!(error.kind, ProduceErrorKind::NoTransaction);

        let is_committed = values([(0, &["a"]), (1, &["a", "b"]), (2, &["a", "outside"])]);
        assert_eq!(world.read(IsolationLevel::ReadCommitted).await, is_committed, "{level}");
        let is_there = values([(0, &["a"]), (1, &["a", "aborted", "b"]), (2, &["a", "outside"])]);
        assert_eq!(world.read(IsolationLevel::ReadUncommitted).await, is_there, "{level}");
        let counts = producer.counts();
        let ended = (counts.transactions_committed, counts.transactions_aborted);
        assert_eq!(ended, (3, 2), "{level}");
        // InitProducerId, three times EndTxn, and, where the client adds partitions, at least as many
        // AddPartitionsToTxn; what had to be asked again says so.
        let asked = counts.coordinator_requests - counts.concurrent_transactions;
        match level {
            2 => assert!(counts.coordinator_requests >= 4 && asked <= 4, "{counts:?}"),
            _ => assert!(asked >= 7, "{counts:?}"),
        }
        assert!(producer.close(Duration::from_secs(20)).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn offsets_are_committed_with_their_transaction() {
    for level in [2, 1] {
        let world = TransactionalBroker::new(level).await;
        let producer = world.producer();
        let group = GroupMetadata::new("g");
        for (offset, is_commit) in [(5, true), (7, false), (9, true), (11, false)] {
            let transaction = soon(producer.begin()).await.unwrap();
            drop(transaction.send(record(0, "x")).await.unwrap());
            soon(transaction.send_offsets([committed_at(offset)], &group)).await.unwrap();
            soon(transaction.send_offsets([], &group)).await.unwrap();
            let ended =
                if is_commit { transaction.commit().await } else { transaction.abort().await };
            ended.unwrap();
            let expected = if is_commit { offset } else { offset - 2 };
            assert_eq!(committed(&world.cluster, "g").await, Some(expected), "{level}");
        }
        // Of a member that the group does not know: the transaction is lost, the producer is not.
        let mut stranger = GroupMetadata::new("g");
        (stranger.member_id, stranger.generation_id) = ("stranger".to_owned(), 3);
        let transaction = soon(producer.begin()).await.unwrap();
        drop(transaction.send(record(0, "lost")).await.unwrap());
        let error =
            soon(transaction.send_offsets([committed_at(20)], &stranger)).await.unwrap_err();
        let TransactionError::Aborted(AbortReason::Broker { api, code, about, .. }) = &error else {
            panic!("{error}")
        };
        assert_eq!((*api, *code), (ApiKey::TXN_OFFSET_COMMIT, ErrorCode::UNKNOWN_MEMBER_ID));
        assert_eq!(&**about, "t-0");
        let refused = transaction.send(record(0, "lost")).await.unwrap_err();
        assert!(matches!(refused.kind, ProduceErrorKind::Aborted { reason: Some(_) }), "{refused}");
        assert_eq!(transaction.failure(), Some(error.clone()));
        assert_eq!(soon(transaction.commit()).await.unwrap_err(), error);
        let transaction = soon(producer.begin()).await.unwrap();
        soon(transaction.send_offsets([committed_at(30)], &group)).await.unwrap();
        soon(transaction.commit()).await.unwrap();
        assert_eq!(committed(&world.cluster, "g").await, Some(30), "{level}");
        let all: &[&str] = &["x", "x"];
        assert_eq!(world.read(IsolationLevel::ReadCommitted).await, values([(0, all)]), "{level}");
    }
}

/// The versions of TxnOffsetCommit that a producer uses, and times that it asks for metadata while it commits one
/// offset. The judge changes what is answered.
async fn commit_one_offset(
    world: &TransactionalBroker,
    level: i16,
    mut judge: impl FnMut(&Answer<'_>) -> Fate + Send + 'static,
) -> (Vec<i16>, u64, Result<(), TransactionError>) {
    let versions = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&versions);
    world.hostile.judge(move |answer| {
        if answer.api == ApiKey::TXN_OFFSET_COMMIT {
            seen.lock().unwrap().push(answer.version);
        }
        match judge(answer) {
            Fate::Pass => answer_of(level, answer),
            fate => fate,
        }
    });
    let cluster = world.hostile.cluster().await;
    let producer = Producer::new(cluster.clone(), world.config()).unwrap();
    let transaction = soon(producer.begin()).await.unwrap();
    let asked = cluster.metadata_requests();
    let sent = soon(transaction.send_offsets([committed_at(5)], &GroupMetadata::new("g"))).await;
    let asked = cluster.metadata_requests() - asked;
    let ended = soon(transaction.commit()).await;
    assert_eq!(sent.is_ok(), ended.is_ok());
    // The producer goes on.
    drop(soon(producer.begin()).await.unwrap());
    let versions = versions.lock().unwrap().clone();
    (versions, asked, sent)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn txn_offset_commit_names_topic_ids_from_version_6() {
    let world = TransactionalBroker::new(2).await;
    let (versions, asked, sent) = commit_one_offset(&world, 2, |_| Fate::Pass).await;
    assert_eq!((versions, asked, sent), (vec![6], 1, Ok(())));
    assert_eq!(committed(&world.cluster, "g").await, Some(5));
    // Clients that add groups themselves use version 4 at most.
    let (versions, asked, sent) = commit_one_offset(&world, 1, |_| Fate::Pass).await;
    assert_eq!((versions, asked, sent), (vec![4], 0, Ok(())));
    // A topic without an id goes by its name.
    let without_ids = |answer: &Answer<'_>| match answer.api {
        ApiKey::METADATA => answer.change(|it: &mut MetadataResponse| {
            it.topics.iter_mut().for_each(|topic| topic.topic_id = Uuid::ZERO);
        }),
        _ => Fate::Pass,
    };
    let (versions, _, sent) = commit_one_offset(&world, 2, without_ids).await;
    assert_eq!((versions, sent), (vec![5], Ok(())));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_topic_id_is_retried_after_metadata() {
    let world = TransactionalBroker::new(2).await;
    let mut left = 2;
    let refuses = move |answer: &Answer<'_>| match answer.api {
        ApiKey::TXN_OFFSET_COMMIT if left > 0 => {
            left -= 1;
            refused_offsets(answer, ErrorCode::UNKNOWN_TOPIC_ID)
        }
        _ => Fate::Pass,
    };
    let (versions, asked, sent) = commit_one_offset(&world, 2, refuses).await;
    assert_eq!((versions, asked, sent), (vec![6; 3], 3, Ok(())));
    assert_eq!(committed(&world.cluster, "g").await, Some(5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn offsets_of_a_group_that_is_gone_abort_the_transaction() {
    let world = TransactionalBroker::new(2).await;
    for code in [ErrorCode::GROUP_ID_NOT_FOUND, ErrorCode::STALE_MEMBER_EPOCH] {
        let refuses = move |answer: &Answer<'_>| match answer.api {
            ApiKey::TXN_OFFSET_COMMIT => refused_offsets(answer, code),
            _ => Fate::Pass,
        };
        let (versions, _, sent) = commit_one_offset(&world, 2, refuses).await;
        assert_eq!(versions, [6]);
        let error = sent.unwrap_err();
        assert!(error.is_aborted() && error.is_retriable(), "{error}");
    }
    assert_eq!(committed(&world.cluster, "g").await, None);
}

fn refused_offsets(answer: &Answer<'_>, code: ErrorCode) -> Fate {
    answer.change(|it: &mut TxnOffsetCommitResponse| {
        let partitions = it.topics.iter_mut().flat_map(|topic| &mut topic.partitions);
        partitions.for_each(|partition| partition.error_code = code);
    })
}

/// The answer is PRODUCER_FENCED in version 1 and INVALID_TXN_STATE in version 2: it is one error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transaction_that_took_too_long_reads_as_fenced() {
    for level in [2, 1] {
        let sweep = "transaction.abort.timed.out.transaction.cleanup.interval.ms";
        let world = TransactionalBroker::with(level, &[(sweep, "20")]).await;
        let config = world.config().with_transaction_timeout(Duration::from_millis(100));
        let producer = Producer::new(world.cluster.clone(), config).unwrap();
        let transaction = soon(producer.begin()).await.unwrap();
        soon(transaction.send(record(0, "late")).await.unwrap()).await.unwrap();
        let admin = Admin::new(world.cluster.clone(), AdminConfig::default());
        soon(async {
            loop {
                let listed = admin.list_transactions(&TransactionFilter::default()).await.unwrap();
                if listed.transactions.iter().any(|one| one.state == "CompleteAbort") {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        let error = soon(transaction.commit()).await.unwrap_err();
        assert!(error.is_fenced() && error.is_fatal(), "{level}: {error:?}");
        let said = "its transaction took longer than transaction.timeout.ms, or it was fenced";
        assert!(error.to_string().contains(said), "{level}: {error}");
        assert!(soon(producer.begin()).await.unwrap_err().is_fenced(), "{level}");
        let kind = producer.send(record(0, "x")).await.unwrap_err().kind;
        assert!(kind.is_fenced() && kind.to_string().contains(said), "{level}: {kind}");
        let read = world.read(IsolationLevel::ReadCommitted).await;
        assert_eq!(read, values([]), "{level}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_producer_of_a_name_fences_the_one_before() {
    for level in [2, 1] {
        let world = TransactionalBroker::new(level).await;
        let first = world.producer();
        let transaction = soon(first.begin()).await.unwrap();
        soon(transaction.send(record(0, "zombie")).await.unwrap()).await.unwrap();
        let second = world.producer();
        soon(second.init_transactions()).await.unwrap();
        let next = soon(second.begin()).await.unwrap();
        drop(next.send(record(0, "alive")).await.unwrap());
        let error = soon(transaction.commit()).await.unwrap_err();
        assert!(error.is_fenced() && error.is_fatal() && !error.is_aborted(), "{error}");
        soon(next.commit()).await.unwrap();
        // It stays so, and says so.
        assert!(soon(first.begin()).await.unwrap_err().is_fenced());
        assert!(first.send(record(0, "zombie")).await.unwrap_err().kind.is_fenced());
        let error = Error::from(soon(first.init_transactions()).await.unwrap_err());
        assert!(!error.is_retriable() && error.to_string().contains("PRODUCER_FENCED"), "{error}");
        let read = world.read(IsolationLevel::ReadCommitted).await;
        assert_eq!(read, values([(0, &["alive"])]), "{level}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_dropped_is_aborted() {
    for level in [2, 1] {
        let world = TransactionalBroker::new(level).await;
        let producer = world.producer();
        let transaction = soon(producer.begin()).await.unwrap();
        soon(transaction.send(record(0, "dropped")).await.unwrap()).await.unwrap();
        drop(transaction);
        let transaction = soon(producer.begin()).await.unwrap();
        soon(transaction.send(record(0, "dropped as well")).await.unwrap()).await.unwrap();
        // Nothing but the transaction holds the producer.
        drop(producer);
        drop(transaction);
        let read = world.read(IsolationLevel::ReadCommitted).await;
        assert_eq!(read, values([]), "{level}");
        // A commit is carried out, whether anybody waits for it or not.
        let producer = world.producer();
        let transaction = soon(producer.begin()).await.unwrap();
        drop(transaction.send(record(0, "committed")).await.unwrap());
        drop(producer);
        let given_up = tokio::time::timeout(Duration::ZERO, transaction.commit()).await;
        drop(given_up);
        let read = || world.read(IsolationLevel::ReadCommitted);
        soon(async { while read().await != values([(0, &["committed"])]) {} }).await;
        // Closing aborts what is open.
        let producer = world.producer();
        let transaction = soon(producer.begin()).await.unwrap();
        soon(transaction.send(record(0, "closed")).await.unwrap()).await.unwrap();
        assert!(producer.close(Duration::from_secs(20)).await);
        assert_eq!(read().await, values([(0, &["committed"])]), "{level}");
        let error = soon(transaction.commit()).await.unwrap_err();
        assert_eq!(error, TransactionError::Aborted(AbortReason::Closed));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_is_refused_costs_its_transaction() {
    for level in [2, 1] {
        let world = TransactionalBroker::new(level).await;
        let admin = Admin::new(world.cluster.clone(), AdminConfig::default());
        let small = NewTopic::new("small").with_config("max.message.bytes", "1000");
        for (_, result) in soon(admin.create_topics([small], Mode::Apply)).await {
            result.unwrap();
        }
        let producer = world.producer();
        for is_waited_for in [false, true] {
            let transaction = soon(producer.begin()).await.unwrap();
            drop(transaction.send(record(0, "lost")).await.unwrap());
            let large = "x".repeat(2_000);
            let large = ProducerRecord::new("small").with_value(&large);
            let delivery = transaction.send(large).await.unwrap();
            if is_waited_for {
                assert!(soon(delivery).await.is_err());
            }
            let error = soon(transaction.commit()).await.unwrap_err();
            let TransactionError::Aborted(AbortReason::Record(of)) = &error else {
                panic!("{error}")
            };
            assert_eq!(&*of.topic, "small");
            // The same producer goes on, in the same partitions.
            let transaction = soon(producer.begin()).await.unwrap();
            drop(transaction.send(record(0, "kept")).await.unwrap());
            drop(transaction.send(ProducerRecord::new("small").with_value("x")).await.unwrap());
            soon(transaction.commit()).await.unwrap();
        }
        let read = world.read(IsolationLevel::ReadCommitted).await;
        assert_eq!(read, values([(0, &["kept", "kept"])]), "{level}");
    }
}

/// Three transactions, of which the second is aborted, with offsets, and what then is to be read.
async fn work(world: &TransactionalBroker) {
    let producer = world.producer();
    let group = GroupMetadata::new("g");
    for number in 0..3 {
        loop {
            let transaction = producer.begin().await.unwrap();
            let value = format!("{number}");
            let mut is_sent = true;
            for partition in [0, 1] {
                is_sent &= transaction.send(record(partition, &value)).await.is_ok();
            }
            let offsets = transaction.send_offsets([committed_at(number)], &group).await;
            let ended = match number {
                1 => transaction.abort().await,
                _ => transaction.commit().await,
            };
            match ended {
                Ok(()) if number == 1 => break,
                Ok(()) => {
                    assert!(is_sent && offsets.is_ok(), "{offsets:?}");
                    break;
                }
                Err(error) => assert!(error.is_aborted(), "{error}"),
            }
        }
    }
    assert!(producer.close(Duration::from_secs(20)).await);
    let all: &[&str] = &["0", "2"];
    let read = world.read(IsolationLevel::ReadCommitted).await;
    assert_eq!(read, values([(0, all), (1, all)]));
    assert_eq!(committed(&world.cluster, "g").await, Some(2));
}

/// What is lost of one exchange between the client and a broker.
#[derive(Clone, Copy, Debug)]
enum Lost {
    Request,
    Answer,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_is_lost_on_the_way_is_missing_or_there_twice() {
    const OF_TRANSACTIONS: [ApiKey; 7] = [
        ApiKey::FIND_COORDINATOR,
        ApiKey::INIT_PRODUCER_ID,
        ApiKey::ADD_PARTITIONS_TO_TXN,
        ApiKey::ADD_OFFSETS_TO_TXN,
        ApiKey::TXN_OFFSET_COMMIT,
        ApiKey::END_TXN,
        ApiKey::PRODUCE,
    ];
    for level in [2, 1] {
        let mut apis = BTreeSet::new();
        for lost in [Lost::Request, Lost::Answer] {
            // Every exchange of the scenario is lost once, until there is none that would be.
            for at in 0.. {
                let world = TransactionalBroker::new(level).await;
                let (seen, hit) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(None)));
                let strikes = {
                    let (seen, hit) = (Arc::clone(&seen), Arc::clone(&hit));
                    move |api: ApiKey| {
                        let counts = OF_TRANSACTIONS.contains(&api);
                        let is_hit = counts && seen.fetch_add(1, Ordering::Relaxed) == at;
                        if is_hit {
                            *hit.lock().unwrap() = Some(api);
                        }
                        is_hit
                    }
                };
                match lost {
                    Lost::Request => world.hostile.pass_requests(move |api| !strikes(api)),
                    Lost::Answer => world.hostile.judge(move |answer| match strikes(answer.api) {
                        true => Fate::Break(Vec::new()),
                        false => answer_of(level, answer),
                    }),
                }
                soon(work(&world)).await;
                let Some(api) = *hit.lock().unwrap() else { break };
                apis.insert(api);
            }
        }
        let expected = OF_TRANSACTIONS.into_iter().filter(|api| {
            let by_client = [ApiKey::ADD_PARTITIONS_TO_TXN, ApiKey::ADD_OFFSETS_TO_TXN];
            level == 1 || !by_client.contains(api)
        });
        assert_eq!(apis, expected.collect(), "{level}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_takes_too_long_goes_on() {
    for level in [2, 1] {
        let world = TransactionalBroker::new(level).await;
        let config = world.config().with_max_block(Duration::from_millis(300));
        let producer = Producer::new(world.cluster.clone(), config).unwrap();
        let transaction = soon(producer.begin()).await.unwrap();
        drop(transaction.send(record(0, "late")).await.unwrap());
        world.hostile.judge(move |answer| match answer.api {
            ApiKey::END_TXN => answer.change(|it: &mut EndTxnResponse| {
                it.error_code = ErrorCode::COORDINATOR_LOAD_IN_PROGRESS;
            }),
            _ => answer_of(level, answer),
        });
        let error = soon(transaction.commit()).await.unwrap_err();
        let TransactionError::Timeout { last, .. } = &error else { panic!("{error}") };
        assert_eq!(last.as_deref(), Some("COORDINATOR_LOAD_IN_PROGRESS"));
        assert!(Error::from(error).is_retriable());
        assert!(matches!(soon(producer.begin()).await, Err(TransactionError::Timeout { .. })));
        world.hostile.judge(move |answer| answer_of(level, answer));
        let next = soon(async {
            loop {
                if let Ok(next) = producer.begin().await {
                    break next;
                }
            }
        });
        soon(next.await.commit()).await.unwrap();
        let read = world.read(IsolationLevel::ReadCommitted).await;
        assert_eq!(read, values([(0, &["late"])]), "{level}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_no_name_has_no_transactions() {
    let world = TransactionalBroker::new(2).await;
    let producer = world.producer_without_id();
    let error = soon(producer.begin()).await.unwrap_err();
    assert_eq!(error, TransactionError::NotTransactional);
    assert_eq!(soon(producer.init_transactions()).await.unwrap_err(), error);
    let config = || world.config();
    for (config, name) in [
        (config().with_enable_idempotence(false), "enable.idempotence"),
        (config().with_transactional_id(""), "transactional.id"),
        (config().with_transactional_id("x".repeat(40_000)), "transactional.id"),
        (config().with_transaction_timeout(Duration::ZERO), "transaction.timeout.ms"),
    ] {
        let refused = Producer::new(world.cluster.clone(), config).unwrap_err();
        assert!(refused.to_string().contains(name), "{refused}");
    }
    // The broker allows no more than transaction.max.timeout.ms.
    let config = config().with_transaction_timeout(Duration::from_secs(1_000_000));
    let producer = Producer::new(world.cluster.clone(), config).unwrap();
    let error = soon(producer.begin()).await.unwrap_err();
    assert!(error.to_string().contains("INVALID_TRANSACTION_TIMEOUT"), "{error}");
}
