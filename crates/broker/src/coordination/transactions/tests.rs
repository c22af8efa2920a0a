//! Coordinators that do not do what they should: they close connections, leave something out, refuse, or say nothing.

use thalweg_log::testing::BatchSpec;
use thalweg_wire::Uuid;
use thalweg_wire::messages::add_partitions_to_txn_response::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnResult, AddPartitionsToTxnTopicResult,
};
use thalweg_wire::messages::fetch_request::{FetchPartition, FetchTopic};
use thalweg_wire::messages::produce_response::PartitionProduceResponse;
use thalweg_wire::messages::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, FetchRequest, ProduceRequest,
};

use super::*;
use crate::net::budget::Charge;
use crate::net::outgoing::Outgoing;
use crate::testing::{self, Conversation, NODE, Node, Peer, is_ready, soon, until};

const COORDINATORS: Uuid = Uuid([5; 16]);
const TOPIC: Uuid = Uuid([6; 16]);

/// A broker that leads `t-0`; two others coordinate transactions, of every second partition each.
struct VerifyingBroker {
    node: Node,
    first: Peer,
    second: Peer,
}

impl VerifyingBroker {
    async fn new(configs: &[(&str, &str)]) -> VerifyingBroker {
        let (first, second) = (Peer::new(2).await, Peer::new(3).await);
        let node = Node::start(configs).await;
        let coordinators = [2, 3].into_iter().zip(0..);
        let mut records = vec![
            first.record(),
            second.record(),
            testing::topic(TRANSACTIONS_TOPIC, COORDINATORS),
            testing::topic("t", TOPIC),
            testing::partition(TOPIC, 0, NODE, 0, &[NODE]).into(),
        ];
        records.extend(
            coordinators
                .map(|(id, index)| testing::partition(COORDINATORS, index, id, 0, &[id]).into()),
        );
        node.publish(records).await;
        VerifyingBroker { node, first, second }
    }

    fn services(&self) -> &Arc<crate::api::services::Services> {
        self.node.services()
    }

    /// A transaction whose coordinator has this id.
    fn name(&self, coordinator: i32, number: usize) -> String {
        let names = (0..).map(|at| format!("transaction-{at}"));
        let mut its =
            names.filter(|name| coordinator_of(&self.services().node, name) == Some(coordinator));
        its.nth(number).unwrap()
    }

    /// Asks about two partitions of a topic.
    fn ask(&self, transactional_id: &str) -> impl Future<Output = Verdict> + Send + 'static {
        let question = Question {
            transactional_id: transactional_id.to_owned(),
            producer_id: 4,
            producer_epoch: 0,
            operation: Operation::Verify,
            topics: BTreeMap::from([("t".into(), vec![0, 1])]),
        };
        let services = Arc::clone(self.services());
        let asked = tokio::spawn(async move {
            services
                .coordination
                .transaction_writes()
                .verify(&services.coordination, question)
                .await
        });
        async { soon("a verdict", asked).await.unwrap() }
    }

    fn failures(&self) -> u64 {
        self.services().coordination.transaction_writes().failures()
    }

    /// How many questions to a coordinator wait for the request in flight.
    fn waiting(&self, coordinator: i32) -> usize {
        let coordinators = self.services().coordination.transaction_writes().coordinators.lock();
        coordinators.get(&coordinator).map_or(0, |coordinator| coordinator.waiting())
    }
}

/// What a coordinator says of partition 0 of `t`, and of no other.
fn result(transactional_id: &str, code: ErrorCode) -> AddPartitionsToTxnResult {
    let partition = AddPartitionsToTxnPartitionResult {
        partition_index: 0,
        partition_error_code: code.0,
        ..Default::default()
    };
    let topic = AddPartitionsToTxnTopicResult {
        name: "t".into(),
        results_by_partition: vec![partition],
        ..Default::default()
    };
    AddPartitionsToTxnResult {
        transactional_id: transactional_id.into(),
        topic_results: vec![topic],
        ..Default::default()
    }
}

fn answer(results: Vec<AddPartitionsToTxnResult>) -> AddPartitionsToTxnResponse {
    AddPartitionsToTxnResponse { results_by_transaction: results, ..Default::default() }
}

/// The transactions of the next request.
async fn asked(conversation: &mut Conversation) -> Vec<String> {
    let request: AddPartitionsToTxnRequest = conversation.request().await;
    request.transactions.into_iter().map(|it| it.transactional_id).collect()
}

/// Nobody is refused anything.
fn all_well() -> Verdict {
    Verdict::Failed(BTreeMap::from([("t".into(), BTreeMap::new())]))
}

const UNREACHED: Verdict = Verdict::All(ErrorCode::NETWORK_EXCEPTION);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_was_closed_while_it_was_idle_is_opened_again_once() {
    let world = VerifyingBroker::new(&[]).await;
    let [one, two, three, four] = [0, 1, 2, 3].map(|number| world.name(2, number));
    let verdict = world.ask(&one);
    let mut kept = world.first.accept().await;
    assert_eq!(asked(&mut kept).await, [&*one]);
    kept.answer(&answer(vec![result(&one, ErrorCode::NONE)])).await;
    assert_eq!(verdict.await, all_well());

    drop(kept);
    let verdict = world.ask(&two);
    let mut second = world.first.accept().await;
    assert_eq!(asked(&mut second).await, [&*two]);
    second.answer(&answer(vec![result(&two, ErrorCode::NONE)])).await;
    assert_eq!(verdict.await, all_well());
    assert_eq!(world.failures(), 0, "the producer has not heard of it");

    // The new one is closed as well, once it is asked: nothing is asked a third time.
    drop(second);
    let verdict = world.ask(&three);
    let mut third = world.first.accept().await;
    assert_eq!(asked(&mut third).await, [three]);
    drop(third);
    assert_eq!(verdict.await, UNREACHED);
    assert_eq!(world.failures(), 2, "partitions");

    // Nor is a connection that was not there before opened twice.
    let verdict = world.ask(&four);
    let mut fourth = world.first.accept().await;
    assert_eq!(asked(&mut fourth).await, [four]);
    drop(fourth);
    assert_eq!(verdict.await, UNREACHED);
    let verdict = world.ask(&one);
    let mut fifth = world.first.accept().await;
    assert_eq!(asked(&mut fifth).await, [&*one]);
    fifth.answer(&answer(vec![result(&one, ErrorCode::NONE)])).await;
    assert_eq!(verdict.await, all_well());
    world.node.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_the_answer_lacks_is_asked_about_again_by_its_producer() {
    let world = VerifyingBroker::new(&[]).await;
    let names: Vec<String> = (0..3).map(|number| world.name(2, number)).collect();
    let first = world.ask(&names[0]);
    let mut conversation = world.first.accept().await;
    assert_eq!(asked(&mut conversation).await, names[..1]);
    // Both of these wait for the request in flight.
    let (lacking, refused) = (world.ask(&names[1]), world.ask(&names[2]));
    until("two questions", || world.waiting(2) == 2).await;
    // An answer to what nobody has asked is passed over.
    let strange = result("nobody's", ErrorCode::NONE);
    conversation.answer(&answer(vec![strange, result(&names[0], ErrorCode::NONE)])).await;
    assert_eq!(first.await, all_well());

    assert_eq!(asked(&mut conversation).await.len(), 2);
    let said = ErrorCode::INVALID_TXN_STATE;
    conversation.answer(&answer(vec![result(&names[2], said)])).await;
    assert_eq!(lacking.await, UNREACHED);
    let refused = refused.await;
    assert_eq!((refused.of("t", 0), refused.of("t", 1)), (said, ErrorCode::NONE));
    assert_eq!(world.failures(), 2 + 1);
    assert_eq!(world.waiting(2), 0);
    // The connection is as good as before.
    let again = world.ask(&names[1]);
    assert_eq!(asked(&mut conversation).await, names[1..2]);
    conversation.answer(&answer(vec![result(&names[1], ErrorCode::NONE)])).await;
    assert_eq!(again.await, all_well());
    world.node.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_do_not_hear_that_this_broker_may_not_ask() {
    let world = VerifyingBroker::new(&[]).await;
    let name = world.name(2, 0);
    let mut conversation = None;
    for (code, told) in [
        (ErrorCode::CLUSTER_AUTHORIZATION_FAILED, ErrorCode::INVALID_TXN_STATE),
        (ErrorCode::COORDINATOR_LOAD_IN_PROGRESS, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS),
        (ErrorCode::UNKNOWN_SERVER_ERROR, ErrorCode::UNKNOWN_SERVER_ERROR),
    ] {
        let verdict = world.ask(&name);
        if conversation.is_none() {
            conversation = Some(world.first.accept().await);
        }
        let conversation = conversation.as_mut().unwrap();
        assert_eq!(asked(conversation).await, [&*name]);
        // What is said of transactions beside that does not count.
        let all = AddPartitionsToTxnResponse {
            error_code: code,
            ..answer(vec![result(&name, ErrorCode::NONE)])
        };
        conversation.answer(&all).await;
        assert_eq!(verdict.await, Verdict::All(told));
    }
    assert_eq!(world.failures(), 6);
    world.node.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_cannot_be_read_ends_the_connection() {
    let world = VerifyingBroker::new(&[]).await;
    let name = world.name(2, 0);
    let verdict = world.ask(&name);
    let mut conversation = world.first.accept().await;
    assert_eq!(asked(&mut conversation).await, [&*name]);
    conversation.answer_bytes(&[0xff; 40]).await;
    assert_eq!(verdict.await, UNREACHED);
    conversation.closed().await;
    let verdict = world.ask(&name);
    let mut conversation = world.first.accept().await;
    assert_eq!(asked(&mut conversation).await, [&*name]);
    conversation.answer(&answer(vec![result(&name, ErrorCode::NONE)])).await;
    assert_eq!(verdict.await, all_well());
    world.node.shut_down().await;
}

/// Producers that leave it to the broker to add partitions: their questions go out also where this broker is no part
/// of a cluster, if nothing is to be verified.
const ADDING: (&str, &str) = ("transaction.partition.verification.enable", "false");

/// Sends a record to `t-0`, in a transaction if it has a name.
async fn produce(
    connection: &mut Outgoing,
    transactional_id: Option<&str>,
    producer_id: i64,
) -> PartitionProduceResponse {
    let batch = BatchSpec::new(0, 1);
    let batch = match transactional_id {
        Some(_) => batch.producer(producer_id, 0, 0).transactional(),
        None => batch,
    };
    let request = ProduceRequest {
        transactional_id: transactional_id.map(str::to_owned),
        ..testing::produce(TOPIC, 0, batch.build())
    };
    let answer = soon("an answer", connection.call(&request)).await.unwrap();
    answer.responses.into_iter().next().unwrap().partition_responses.remove(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_for_a_coordinator_that_hangs_holds_nobody_else_up() {
    let world = VerifyingBroker::new(&[ADDING]).await;
    let (hangs, goes_on) = (world.name(2, 0), world.name(3, 0));
    let [mut one, mut two, mut three] =
        [world.node.connect().await, world.node.connect().await, world.node.connect().await];
    let mut waits = std::pin::pin!(produce(&mut one, Some(&hangs), 4));
    assert!(!is_ready(waits.as_mut()).await);
    let mut silent = world.first.accept().await;
    assert_eq!(asked(&mut silent).await, [&*hangs]);

    // A record without a transaction, and one in a transaction that somebody else coordinates.
    let plain = produce(&mut two, None, -1).await;
    assert_eq!((plain.error_code, plain.base_offset), (ErrorCode::NONE, 0));
    let other = async {
        let mut conversation = world.second.accept().await;
        assert_eq!(asked(&mut conversation).await, [&*goes_on]);
        conversation.answer(&answer(vec![result(&goes_on, ErrorCode::NONE)])).await;
    };
    let (added, ()) = tokio::join!(produce(&mut three, Some(&goes_on), 5), other);
    assert_eq!((added.error_code, added.base_offset), (ErrorCode::NONE, 1));
    assert!(!is_ready(waits.as_mut()).await);

    // It wakes up after all.
    silent.answer(&answer(vec![result(&hangs, ErrorCode::NONE)])).await;
    let late = waits.await;
    assert_eq!((late.error_code, late.base_offset), (ErrorCode::NONE, 2));
    world.node.shut_down().await;
}

/// Requests that wait with their frames may hold all the memory that there is for requests. What they wait for may need a
/// follower's fetch, so that is served.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fetch_is_read_while_produce_requests_hold_all_memory() {
    const PARTITIONS: usize = 3_000;
    let configs = [
        ADDING,
        ("queued.max.request.bytes", "262144"),
        ("socket.request.max.bytes", "131072"),
        ("request.timeout.ms", "600000"),
    ];
    let world = VerifyingBroker::new(&configs).await;
    let name = world.name(2, 0);
    let (transactional, plain) = (world.node.connect().await, world.node.connect().await);
    let producing = |mut connection: Outgoing, name: Option<String>, producer_id: i64| {
        tokio::spawn(async move { produce(&mut connection, name.as_deref(), producer_id).await })
    };
    let mut waiting = vec![producing(transactional, Some(name.clone()), 4)];
    let mut conversation = world.first.accept().await;
    assert_eq!(asked(&mut conversation).await, [&*name]);
    // All others that hold memory.
    let budget = world.services().front.sockets().request_budget();
    let mut all = Charge::new(budget);
    until("the rest of the memory", || {
        let free = budget.limit() - budget.used();
        all.try_raise_to(all.bytes() + free) && budget.used() == budget.limit()
    })
    .await;
    // A producer waits for room.
    waiting.push(producing(plain, None, -1));

    // A follower comes, and what it says is read: little, and more than a first buffer has room for.
    let mut follower = world.node.connect().await;
    for partitions in [1, PARTITIONS] {
        let partition = FetchPartition {
            current_leader_epoch: -1,
            partition_max_bytes: 1 << 20,
            ..Default::default()
        };
        let topic = FetchTopic {
            topic_id: TOPIC,
            partitions: vec![partition; partitions],
            ..Default::default()
        };
        let request =
            FetchRequest { max_bytes: 1 << 20, topics: vec![topic], ..Default::default() };
        let answer = soon("an answer", follower.call(&request)).await.unwrap();
        assert_eq!(answer.responses[0].partitions.len(), partitions);
    }
    assert!(waiting.iter().all(|produce| !produce.is_finished()));
    assert_eq!((budget.used(), budget.reserve_used()), (budget.limit(), 0));

    drop(all);
    conversation.answer(&answer(vec![result(&name, ErrorCode::NONE)])).await;
    for produced in waiting {
        assert_eq!(soon("an answer", produced).await.unwrap().error_code, ErrorCode::NONE);
    }
    until("the requests' memory", || budget.used() == 0).await;
    world.node.shut_down().await;
}

/// As Kafka's AddPartitionsToTxnManager has it: NETWORK_EXCEPTION, of which producers hear as NOT_ENOUGH_REPLICAS.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_producer_is_answered_whose_coordinator_never_says_anything() {
    let world = VerifyingBroker::new(&[ADDING, ("request.timeout.ms", "300")]).await;
    let names = [world.name(2, 0), world.name(2, 1), world.name(2, 2)];
    let mut connections =
        [world.node.connect().await, world.node.connect().await, world.node.connect().await];
    let [one, two, three] = &mut connections;
    let (first, rest) = tokio::join!(produce(one, Some(&names[0]), 4), async {
        let mut conversation = world.first.accept().await;
        assert_eq!(asked(&mut conversation).await, names[..1]);
        // Those that come meanwhile have their turn, and the same end, with a coordinator that does not even say what
        // it speaks.
        let (second, third, ()) = tokio::join!(
            produce(two, Some(&names[1]), 5),
            produce(three, Some(&names[2]), 6),
            async {
                conversation.closed().await;
                world.first.accept_only().await.closed().await;
            },
        );
        [second, third]
    });
    for refused in [&first, &rest[0], &rest[1]] {
        assert_eq!(refused.error_code, ErrorCode::NOT_ENOUGH_REPLICAS);
        let message = refused.error_message.as_deref().unwrap_or_default();
        assert!(message.contains(&ErrorCode::NETWORK_EXCEPTION.to_string()), "{message}");
    }
    assert_eq!(world.failures(), 3);
    assert_eq!(world.waiting(2), 0);
    let services = world.services();
    until("the requests' memory", || services.front.sockets().request_budget().used() == 0).await;
    assert_eq!(world.node.partition("t", 0).log.log_end_offset(), 0);

    // A coordinator that is well again is asked over a connection of its own.
    let (added, ()) = tokio::join!(produce(&mut connections[0], Some(&names[0]), 4), async {
        // The third question may have had a turn of its own, and a connection that is closed by now.
        let (mut conversation, request) = loop {
            let mut conversation = world.first.accept().await;
            let request = conversation.try_request::<AddPartitionsToTxnRequest>().await;
            if let Some(request) = request {
                break (conversation, request);
            }
        };
        assert_eq!(request.transactions[0].transactional_id, names[0]);
        conversation.answer(&answer(vec![result(&names[0], ErrorCode::NONE)])).await;
    });
    assert_eq!((added.error_code, added.base_offset), (ErrorCode::NONE, 0));
    world.node.shut_down().await;
}

/// A broker that is fenced while it is asked is asked no longer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_waits_for_who_coordinates_no_more() {
    let world = VerifyingBroker::new(&[]).await;
    let name = world.name(2, 0);
    let verdict = world.ask(&name);
    let mut conversation = world.first.accept().await;
    assert_eq!(asked(&mut conversation).await, [&*name]);
    let moved = testing::partition(COORDINATORS, 0, 3, 1, &[3]);
    let also_moved = testing::partition(COORDINATORS, 1, 3, 1, &[3]);
    world.node.publish([moved.into(), also_moved.into()]).await;
    assert_eq!(verdict.await, Verdict::All(ErrorCode::NOT_COORDINATOR));
    let verdict = world.ask(&name);
    let mut conversation = world.second.accept().await;
    assert_eq!(asked(&mut conversation).await, [&*name]);
    conversation.answer(&answer(vec![result(&name, ErrorCode::NONE)])).await;
    assert_eq!(verdict.await, all_well());
    world.node.shut_down().await;
}
