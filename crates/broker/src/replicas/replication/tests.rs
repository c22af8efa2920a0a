//! A follower whose leader answers as a test has it answer: what it should not, and what it seldom does.

use thalweg_log::testing::BatchSpec;
use thalweg_replication::Follower;
use thalweg_wire::messages::fetch_response::{
    EpochEndOffset, FetchableTopicResponse, PartitionData,
};
use thalweg_wire::messages::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use thalweg_wire::messages::{
    FetchRequest, FetchResponse, ListOffsetsRequest, ListOffsetsResponse, RemoveTopicRecord,
};
use thalweg_wire::{ErrorCode, Uuid};

mod gate;
mod idle_leader;
mod meanwhile;
mod refused;
mod roles;
mod settle;
mod several;
mod stalled;
mod told_again;

use std::sync::Arc;

use crate::testing::{self, Conversation, NODE, Node, Peer, until};

const LEADER: i32 = 2;
const TOPIC: Uuid = Uuid([6; 16]);
/// The leader epoch in which everything begins.
const EPOCH: i32 = 3;
/// A pause that no test lives through, and none.
const LONG: (&str, &str) = ("replica.fetch.backoff.ms", "3600000");
const NONE: (&str, &str) = ("replica.fetch.backoff.ms", "0");
/// A limit that no test reaches.
const HOUR_MS: u64 = 3_600_000;

/// A broker that follows some partitions of `t`.
struct FollowingBroker {
    node: Node,
    leader: Arc<Peer>,
    partitions: usize,
}

impl FollowingBroker {
    async fn new(partitions: i32, config: (&str, &str)) -> FollowingBroker {
        let leader = Arc::new(Peer::new(LEADER).await);
        let node = Node::start(&[config]).await;
        // However busy the machine is: what is done with a log is done before the next fetch.
        node.services().replicas.fetchers().set_wait_for_disks_ms(HOUR_MS);
        let mut records = vec![leader.record(), testing::topic("t", TOPIC)];
        records.extend((0..partitions).map(|index| led(index, LEADER, EPOCH)));
        node.publish(records).await;
        FollowingBroker { node, leader, partitions: usize::try_from(partitions).unwrap() }
    }

    /// The connection on which everything is asked for first, and that fetch. One that was sent before everything had
    /// come is given up.
    async fn first(&self) -> (Conversation, Fetched) {
        loop {
            let mut conversation = self.leader.accept().await;
            let fetched = fetched(&mut conversation).await;
            if fetched.named.len() == self.partitions {
                return (conversation, fetched);
            }
            conversation.closed().await;
        }
    }

    /// The next fetch of the only fetcher, on another connection if this one is closed: a fetch is given up for what is to
    /// be fetched, too.
    async fn next(&self, mut conversation: Conversation) -> (Conversation, Fetched) {
        loop {
            match try_fetched(&mut conversation).await {
                Some(next) => return (conversation, next),
                None => conversation = self.leader.accept().await,
            }
        }
    }

    fn log(&self, index: i32) -> Arc<thalweg_log::Log> {
        Arc::clone(&self.node.partition("t", index).log)
    }

    /// Where a log ends, and up to where it is committed.
    fn ends(&self, index: i32) -> (i64, i64) {
        let log = self.log(index);
        (log.log_end_offset(), log.high_watermark())
    }

    fn look<T>(&self, index: i32, look: impl Fn(&Follower) -> T) -> T {
        let fetchers = self.node.services().replicas.fetchers();
        fetchers.look((TOPIC, index), |it| look(&it.follower)).expect("it is followed")
    }

    /// Whether a partition is not fetched before the long pause is over.
    fn waits_long(&self, index: i32) -> bool {
        let now = self.node.services().node.clock().monotonic_ms();
        self.look(index, |it| it.retries_at().is_some_and(|at| at > now + 1_800_000))
    }

    /// A connection whose fetch is let be, whatever comes meanwhile, because the one before it was given up.
    async fn undisturbed(&self) -> (Conversation, Fetched) {
        let (mut first, _) = self.first().await;
        // That one may be such a fetch itself.
        first.answer(&response(0, Vec::new())).await;
        let _ = fetched(&mut first).await;
        self.node.publish([led(0, LEADER, EPOCH + 1)]).await;
        first.closed().await;
        let mut second = self.leader.accept().await;
        let request = fetched(&mut second).await;
        (second, request)
    }
}

/// What the metadata says of a partition that this broker has a replica of.
fn led(
    index: i32,
    leader: i32,
    epoch: i32,
) -> thalweg_wire::messages::metadata_record::MetadataRecord {
    testing::partition(TOPIC, index, leader, epoch, &[LEADER, NODE]).into()
}

/// A fetch: session id and epoch, and of each partition that it names, in their order, which is not that of the
/// request, epoch, offset and last epoch.
#[derive(Debug, PartialEq, Eq)]
struct Fetched {
    session: (i32, i32),
    named: Vec<(i32, i32, i64, i32)>,
    forgotten: Vec<i32>,
}

/// The next one.
async fn fetched(conversation: &mut Conversation) -> Fetched {
    try_fetched(conversation).await.expect("a fetch")
}

/// The same, or `None` if the connection is closed.
async fn try_fetched(conversation: &mut Conversation) -> Option<Fetched> {
    let request: FetchRequest = conversation.try_request().await?;
    assert_eq!(request.replica_state.replica_id, NODE);
    let topics = request.topics.iter().inspect(|topic| assert_eq!(topic.topic_id, TOPIC));
    let mut named: Vec<_> = topics
        .flat_map(|topic| &topic.partitions)
        .map(|it| (it.partition, it.current_leader_epoch, it.fetch_offset, it.last_fetched_epoch))
        .collect();
    named.sort_unstable();
    Some(Fetched {
        session: (request.session_id, request.session_epoch),
        named,
        forgotten: request
            .forgotten_topics_data
            .iter()
            .flat_map(|topic| topic.partitions.clone())
            .collect(),
    })
}

fn request(session: (i32, i32), named: &[(i32, i32, i64, i32)]) -> Fetched {
    Fetched { session, named: named.to_vec(), forgotten: Vec::new() }
}

/// Of a session, with what there is of partitions.
fn response(session_id: i32, partitions: Vec<PartitionData>) -> FetchResponse {
    let topic = FetchableTopicResponse { topic_id: TOPIC, partitions, ..Default::default() };
    FetchResponse { session_id, responses: vec![topic], ..Default::default() }
}

fn data(partition_index: i32, high_watermark: i64, batches: &[Vec<u8>]) -> PartitionData {
    PartitionData {
        partition_index,
        high_watermark,
        log_start_offset: 0,
        records: Some(batches.concat().into()),
        ..Default::default()
    }
}

fn refused(partition_index: i32, error_code: ErrorCode) -> PartitionData {
    PartitionData { partition_index, error_code, high_watermark: -1, ..Default::default() }
}

/// Where a partition of the leader begins or ends.
fn told_offset(partition_index: i32, error_code: ErrorCode, offset: i64) -> ListOffsetsResponse {
    let partition =
        ListOffsetsPartitionResponse { partition_index, error_code, offset, ..Default::default() };
    let topic = ListOffsetsTopicResponse {
        name: "t".into(),
        partitions: vec![partition],
        ..Default::default()
    };
    ListOffsetsResponse { topics: vec![topic], ..Default::default() }
}

/// Three records.
fn batch(base_offset: i64, epoch: i32) -> Vec<u8> {
    BatchSpec::new(base_offset, 3).leader_epoch(epoch).build()
}

/// The same, with a bit that is another one.
fn torn(base_offset: i64) -> Vec<u8> {
    let mut batch = batch(base_offset, EPOCH);
    *batch.last_mut().unwrap() ^= 1;
    batch
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_is_appended_and_the_leaders_offsets_are_followed() {
    let world = FollowingBroker::new(2, LONG).await;
    let (mut leader, first) = world.first().await;
    assert_eq!(first, request((0, 0), &[(0, EPOCH, 0, -1), (1, EPOCH, 0, -1)]));
    let records = data(0, 4, &[batch(0, EPOCH - 1), batch(3, EPOCH)]);
    leader.answer(&response(77, vec![records, data(1, 0, &[])])).await;

    // Only what is new is named.
    assert_eq!(fetched(&mut leader).await, request((77, 1), &[(0, EPOCH, 6, EPOCH)]));
    assert_eq!((world.ends(0), world.ends(1)), ((6, 4), (0, 0)));
    // What the leader has committed, and this one has not, is not committed here.
    leader.answer(&response(77, vec![data(0, 9, &[]), data(1, i64::MAX, &[])])).await;
    assert_eq!(fetched(&mut leader).await, request((77, 2), &[]));
    assert_eq!((world.ends(0), world.ends(1)), ((6, 6), (0, 0)));
    let start = PartitionData { log_start_offset: 3, ..data(0, 9, &[]) };
    leader.answer(&response(77, vec![start])).await;
    // Where the log begins is told, too.
    assert_eq!(fetched(&mut leader).await, request((77, 3), &[(0, EPOCH, 6, EPOCH)]));
    assert_eq!(world.log(0).log_start_offset(), 3);
    // No leader says that: nothing goes that is not committed, and nothing goes back.
    let strange = PartitionData { log_start_offset: i64::MAX, ..data(0, -1, &[batch(6, EPOCH)]) };
    leader.answer(&response(77, vec![strange])).await;
    assert_eq!(fetched(&mut leader).await, request((77, 4), &[(0, EPOCH, 9, EPOCH)]));
    assert_eq!((world.ends(0), world.log(0).log_start_offset()), ((9, 6), 6));
    world.node.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_damaged_is_not_appended_and_the_rest_goes_on() {
    let world = FollowingBroker::new(6, LONG).await;
    let (mut leader, _) = world.first().await;
    let cut = |batch: Vec<u8>, keep: usize| batch[..keep].to_vec();
    let answer = vec![
        data(0, 9, &[vec![0xff; 200]]),
        // All of it is fetched again, not the half that is whole.
        data(1, 9, &[batch(0, EPOCH), torn(3)]),
        // Nothing whole.
        data(2, 9, &[cut(batch(0, EPOCH), 70)]),
        // It ends in the middle of a batch, as answers do.
        data(3, 9, &[batch(0, EPOCH), cut(batch(3, EPOCH), 70)]),
        // Less than the length of what follows.
        data(4, 9, &[batch(0, EPOCH), cut(batch(3, EPOCH), 7)]),
        data(5, 3, &[batch(0, EPOCH), batch(3, EPOCH)]),
    ];
    leader.answer(&response(77, answer)).await;
    // The leader believes that it has told all of them: that session is over.
    let named = [(3, EPOCH, 3, EPOCH), (4, EPOCH, 3, EPOCH), (5, EPOCH, 6, EPOCH)];
    assert_eq!(fetched(&mut leader).await, request((77, 0), &named));
    for damaged in 0..3 {
        assert!(world.waits_long(damaged), "partition {damaged}");
        assert_eq!(world.ends(damaged), (0, 0));
    }
    assert_eq!((world.ends(3), world.ends(5)), ((3, 3), (6, 3)));
    // The pause ends with the epoch.
    world.node.publish([led(1, LEADER, EPOCH + 1)]).await;
    leader.closed().await;
    let mut leader = world.leader.accept().await;
    let named = fetched(&mut leader).await.named;
    assert_eq!(named.iter().map(|it| it.0).collect::<Vec<_>>(), [1, 3, 4, 5]);
    leader.answer(&response(78, vec![data(1, 3, &[batch(0, EPOCH)])])).await;
    assert_eq!(fetched(&mut leader).await, request((78, 1), &[(1, EPOCH + 1, 3, EPOCH)]));
    world.node.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_damaged_is_fetched_again() {
    let world = FollowingBroker::new(1, NONE).await;
    let mut leader = world.leader.accept().await;
    for session in 1..4 {
        assert_eq!(fetched(&mut leader).await.named, [(0, EPOCH, 0, -1)]);
        leader.answer(&response(session, vec![data(0, 9, &[torn(0)])])).await;
    }
    assert_eq!(fetched(&mut leader).await, request((3, 0), &[(0, EPOCH, 0, -1)]));
    leader.answer(&response(4, vec![data(0, 9, &[batch(0, EPOCH)])])).await;
    assert_eq!(fetched(&mut leader).await, request((4, 1), &[(0, EPOCH, 3, EPOCH)]));
    world.node.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_asked_for_is_passed_over() {
    let world = FollowingBroker::new(2, LONG).await;
    let (mut leader, _) = world.first().await;
    let mut answer = response(
        77,
        vec![
            data(9, 3, &[batch(0, EPOCH)]),
            data(-1, 3, &[batch(0, EPOCH)]),
            data(0, 3, &[batch(0, EPOCH)]),
            // The same once more: the log has moved on.
            data(0, 3, &[batch(0, EPOCH)]),
            data(0, 3, &[batch(3, EPOCH)]),
            // Those that are not there wait for nothing.
            refused(7, ErrorCode::NOT_LEADER_OR_FOLLOWER),
        ],
    );
    let stranger = FetchableTopicResponse {
        topic_id: Uuid([1; 16]),
        partitions: vec![data(1, 3, &[batch(0, EPOCH)])],
        ..Default::default()
    };
    answer.responses.push(stranger);
    leader.answer(&answer).await;
    let next = fetched(&mut leader).await;
    assert_eq!(next.named.first(), Some(&(0, EPOCH, 3, EPOCH)));
    assert_eq!((world.ends(0), world.ends(1)), ((3, 3), (0, 0)));
    world.node.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_that_do_not_follow_the_log_are_refused() {
    let world = FollowingBroker::new(4, LONG).await;
    let (mut leader, _) = world.first().await;
    let whole = |index: i32| data(index, 3, &[batch(0, EPOCH)]);
    leader.answer(&response(77, (0..4).map(whole).collect())).await;
    assert_eq!(fetched(&mut leader).await.named.len(), 4);
    let answer = vec![
        // It begins before what was asked for.
        data(0, 9, &[batch(2, EPOCH)]),
        // What was compacted away is not missed.
        data(1, 9, &[batch(7, EPOCH)]),
        // Offsets that go back.
        data(2, 9, &[batch(5, EPOCH), batch(3, EPOCH)]),
        // A newer epoch than that of the fetch comes with the next one (KAFKA-18723).
        data(3, 9, &[batch(3, EPOCH), batch(6, EPOCH + 1)]),
    ];
    leader.answer(&response(77, answer)).await;
    let named = [(1, EPOCH, 10, EPOCH), (3, EPOCH, 6, EPOCH)];
    assert_eq!(fetched(&mut leader).await, request((77, 0), &named));
    assert!(world.waits_long(0) && world.waits_long(2));
    assert_eq!((world.ends(0), world.ends(2)), ((3, 3), (3, 3)));
    world.node.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_in_an_epoch_that_is_over_changes_nothing() {
    let world = FollowingBroker::new(2, LONG).await;
    let (mut leader, asked) = world.undisturbed().await;
    assert_eq!(asked.named, [(0, EPOCH + 1, 0, -1), (1, EPOCH, 0, -1)]);
    world.node.publish([led(0, LEADER, EPOCH + 2)]).await;
    let answer = vec![data(0, 3, &[batch(0, EPOCH)]), data(1, 3, &[batch(0, EPOCH)])];
    leader.answer(&response(77, answer)).await;
    let named = [(0, EPOCH + 2, 0, -1), (1, EPOCH, 3, EPOCH)];
    assert_eq!(fetched(&mut leader).await, request((77, 0), &named));
    assert_eq!((world.ends(0), world.ends(1)), ((0, 0), (3, 3)));
    // The same of what it refuses: who asks in the next epoch does not wait for that.
    leader.answer(&response(78, vec![data(0, 3, &[batch(0, EPOCH)])])).await;
    assert_eq!(fetched(&mut leader).await, request((78, 1), &[(0, EPOCH + 2, 3, EPOCH)]));
    world.node.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_for_what_is_not_followed_any_more_changes_nothing() {
    let world = FollowingBroker::new(4, LONG).await;
    let (mut leader, asked) = world.undisturbed().await;
    assert_eq!(asked.named.len(), 4);
    let (led_here, gone) = (world.log(1), world.log(2));
    // One is led here, one is gone with its replica, and of one there is no leader.
    let elsewhere = testing::partition(TOPIC, 2, LEADER, EPOCH + 1, &[LEADER]);
    let leaderless = led(3, -1, EPOCH + 1);
    world.node.publish([led(1, NODE, EPOCH + 1), elsewhere.into(), leaderless]).await;
    let whole = |index: i32| data(index, 3, &[batch(0, EPOCH)]);
    leader.answer(&response(77, (0..4).map(whole).collect())).await;
    assert_eq!(fetched(&mut leader).await, request((77, 0), &[(0, EPOCH + 1, 3, EPOCH)]));
    assert_eq!((led_here.log_end_offset(), gone.log_end_offset()), (0, 0));
    assert_eq!(world.ends(3), (0, 0));

    // The topic is deleted: nothing is asked for, and the connection goes.
    let removed = RemoveTopicRecord { topic_id: TOPIC, ..Default::default() };
    world.node.publish([removed.into()]).await;
    leader.answer(&response(77, vec![data(0, 6, &[batch(3, EPOCH)])])).await;
    leader.closed().await;
    world.node.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_refused_waits_and_who_is_fenced_waits_for_the_metadata() {
    let codes = [
        ErrorCode::UNKNOWN_SERVER_ERROR,
        ErrorCode::KAFKA_STORAGE_ERROR,
        ErrorCode::CORRUPT_MESSAGE,
        ErrorCode::INCONSISTENT_TOPIC_ID,
        ErrorCode(12_345),
        ErrorCode::FENCED_LEADER_EPOCH,
    ];
    let fenced = i32::try_from(codes.len()).unwrap() - 1;
    let world = FollowingBroker::new(fenced + 2, LONG).await;
    let (mut leader, _) = world.first().await;
    let mut answer: Vec<PartitionData> = (0..).zip(codes).map(|(at, it)| refused(at, it)).collect();
    // Records beside an error are none.
    answer[0].records = Some(batch(0, EPOCH).into());
    answer.push(data(fenced + 1, 3, &[batch(0, EPOCH)]));
    leader.answer(&response(77, answer)).await;
    let next = fetched(&mut leader).await;
    assert_eq!((next.session, next.named.len()), ((77, 1), 1), "the session goes on");
    assert_eq!(next.forgotten, (0..=fenced).collect::<Vec<_>>());
    for index in 0..fenced {
        assert!(world.waits_long(index), "partition {index}");
        assert_eq!(world.ends(index), (0, 0));
    }
    assert!(world.look(fenced, Follower::is_fenced));
    world.node.publish([led(fenced, LEADER, EPOCH + 1)]).await;
    leader.closed().await;
    let mut leader = world.leader.accept().await;
    let named: Vec<i32> = fetched(&mut leader).await.named.iter().map(|it| it.0).collect();
    assert_eq!(named, [fenced, fenced + 1]);
    world.node.shut_down().await;
}

/// A leader whose metadata is behind is asked again soon, but not for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_does_not_know_yet_that_it_leads_is_asked_soon_and_so_often() {
    let world = FollowingBroker::new(1, LONG).await;
    let mut leader = world.leader.accept().await;
    let codes = [
        ErrorCode::NOT_LEADER_OR_FOLLOWER,
        ErrorCode::UNKNOWN_LEADER_EPOCH,
        ErrorCode::UNKNOWN_TOPIC_ID,
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
    ];
    let mut codes = codes.into_iter().cycle();
    let mut refuse = async |leader: &mut Conversation, times: usize| {
        for at in 0..times {
            assert_eq!(fetched(leader).await.named, [(0, EPOCH, at_end(&world), -1)], "{at}");
            leader.answer(&response(0, vec![refused(0, codes.next().unwrap())])).await;
        }
    };
    refuse(&mut leader, 20).await;
    // It has heard of it meanwhile: from here on it counts anew.
    let _ = fetched(&mut leader).await;
    leader.answer(&response(0, vec![data(0, 0, &[])])).await;
    refuse(&mut leader, 26).await;
    until("the long pause", || world.waits_long(0)).await;
    // There is nothing to ask it for.
    leader.closed().await;
    world.node.shut_down().await;
}

fn at_end(world: &FollowingBroker) -> i64 {
    world.ends(0).0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_out_of_range_begins_where_the_leader_begins_or_ends() {
    const LATEST: i64 = -1;
    const EARLIEST: i64 = -2;
    let world = FollowingBroker::new(5, LONG).await;
    let (mut leader, _) = world.first().await;
    // One has nothing; the others have more than the leader, or what it says makes no sense.
    let whole = |index: i32| data(index, 0, &[batch(0, EPOCH)]);
    leader.answer(&response(77, (1..5).map(whole).collect())).await;
    let _ = fetched(&mut leader).await;
    let out = |index: i32| refused(index, ErrorCode::OFFSET_OUT_OF_RANGE);
    leader.answer(&response(77, (0..5).map(out).collect())).await;
    // The end of each, and where the first one begins.
    for _ in 0..6 {
        let asked: ListOffsetsRequest = leader.request().await;
        assert_eq!((asked.replica_id, &*asked.topics[0].name), (NODE, "t"));
        let partition = &asked.topics[0].partitions[0];
        assert_eq!(partition.current_leader_epoch, EPOCH);
        let told = match (partition.partition_index, partition.timestamp) {
            (0, LATEST) => Some((ErrorCode::NONE, 50)),
            (0, EARLIEST) => Some((ErrorCode::NONE, 20)),
            (1, LATEST) => Some((ErrorCode::NONE, 2)),
            (2, LATEST) => Some((ErrorCode::NONE, -7)),
            (3, LATEST) => Some((ErrorCode::NOT_LEADER_OR_FOLLOWER, -1)),
            (4, LATEST) => None,
            other => panic!("{other:?}"),
        };
        let answer = told
            .map(|(error_code, offset)| told_offset(partition.partition_index, error_code, offset));
        leader.answer(&answer.unwrap_or_default()).await;
    }
    let next = fetched(&mut leader).await;
    assert_eq!(next.named, [(0, EPOCH, 20, -1), (1, EPOCH, 2, EPOCH)]);
    assert_eq!(world.log(0).log_start_offset(), 20);
    assert!((2..5).all(|index| world.waits_long(index)));
    // Where records were deleted the leader's log begins in the middle of a batch; an empty one begins with all of it.
    leader.answer(&response(77, vec![data(0, 21, &[batch(19, EPOCH)])])).await;
    let next = fetched(&mut leader).await;
    assert_eq!(next.named.first(), Some(&(0, EPOCH, 22, EPOCH)));
    assert_eq!(world.ends(0), (22, 21));
    world.node.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_leader_does_not_have_is_cut_off() {
    let world = FollowingBroker::new(2, LONG).await;
    let (mut leader, _) = world.first().await;
    let whole = |index: i32| data(index, 0, &[batch(0, 1), batch(3, EPOCH)]);
    leader.answer(&response(77, (0..2).map(whole).collect())).await;
    assert_eq!(fetched(&mut leader).await.named.len(), 2);
    let diverging = |index: i32, epoch: i32, end_offset: i64| PartitionData {
        diverging_epoch: EpochEndOffset { epoch, end_offset, ..Default::default() },
        // Which does not count beside that.
        ..data(index, 0, &[batch(6, EPOCH)])
    };
    leader.answer(&response(77, vec![diverging(0, 1, 2), diverging(1, 1, -1)])).await;
    let next = fetched(&mut leader).await;
    assert_eq!((next.named, next.session.0), (vec![(0, EPOCH, 2, 1)], 77));
    assert_eq!((world.ends(0), world.ends(1)), ((2, 0), (6, 0)));
    assert!(world.waits_long(1), "no leader means that");
    world.node.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_loses_its_session_tells_the_leader_everything() {
    let world = FollowingBroker::new(2, NONE).await;
    let (mut leader, mut full) = world.first().await;
    let all = [(0, EPOCH, 0, -1), (1, EPOCH, 0, -1)];
    for code in [
        ErrorCode::FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode::INVALID_FETCH_SESSION_EPOCH,
        ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR,
        // After a pause, which is none here.
        ErrorCode::UNKNOWN_SERVER_ERROR,
    ] {
        assert_eq!(full, request((0, 0), &all));
        leader.answer(&response(77, Vec::new())).await;
        assert_eq!(fetched(&mut leader).await, request((77, 1), &[]));
        let refused = FetchResponse { error_code: code, ..Default::default() };
        leader.answer(&refused).await;
        full = fetched(&mut leader).await;
    }
    assert_eq!(full, request((0, 0), &all));
    leader.answer(&response(78, Vec::new())).await;
    let _ = fetched(&mut leader).await;
    // What cannot be read, and who hangs up: another connection, and the session's id, so that the leader ends it.
    leader.answer_bytes(&[0xff; 30]).await;
    leader.closed().await;
    let mut leader = world.leader.accept().await;
    assert_eq!(fetched(&mut leader).await, request((78, 0), &all));
    drop(leader);
    let mut leader = world.leader.accept().await;
    assert_eq!(fetched(&mut leader).await, request((78, 0), &all));
    world.node.shut_down().await;
}
