//! A broker follows the metadata log: random lives beside a quorum that elects, loses and forgets, and what single
//! answers lead to.
//!
//! What must hold, always: what is below the observer's high watermark is what the quorum has committed, and stays
//! so, even if the quorum loses it; the epoch does not go back; whom it takes for an epoch's leader was elected in it;
//! nobody who has refused is asked again at once. And in the end, when all controllers but perhaps one work again: the
//! observer has all that is committed.

mod quorum;

use std::collections::BTreeMap;

use bytes::Bytes;
use thalweg_replication::observer::{
    Endpoint, Next, Observer, ObserverError, ObserverLog, Question, Quorum as Known, Retry,
    Settings, SnapshotId, Step,
};
use thalweg_replication::{EpochEnd, Epochs};
use thalweg_wire::messages::fetch_response::{
    EpochEndOffset, FetchableTopicResponse, LeaderIdAndEpoch, PartitionData,
};
use thalweg_wire::messages::voters_record::{Endpoint as VoterEndpoint, Voter};
use thalweg_wire::messages::{FetchRequest, FetchResponse, VotersRecord};
use thalweg_wire::{ErrorCode, Uuid};

use crate::random::Random;
use crate::seeds::family;
use quorum::{CLUSTER, Log, Quorum, Record, endpoint};

const RETRY: Retry = Retry { backoff_ms: 20, backoff_max_ms: 500 };
const STEPS: usize = 600;
/// Questions within which an observer has to have everything, once everybody answers.
const HEALED_STEPS: usize = 400;

/// The observer's disk.
#[derive(Clone, Debug, Default)]
struct Disk {
    log: Log,
    high_watermark: Option<i64>,
    /// What the snapshot says that the log begins with.
    base: Vec<Record>,
    /// A snapshot that is not complete.
    download: Vec<u8>,
    epoch: i32,
}

impl Epochs for Disk {
    fn log_end(&self) -> i64 {
        self.log.log_end()
    }

    fn latest_epoch(&self) -> Option<i32> {
        self.log.latest_epoch()
    }

    fn end_of(&self, epoch: i32) -> Option<EpochEnd> {
        self.log.end_of(epoch)
    }
}

impl ObserverLog for Disk {
    fn high_watermark(&self) -> Option<i64> {
        self.high_watermark
    }
}

impl Disk {
    /// What may be applied.
    fn committed(&self) -> Vec<Record> {
        let mut all = self.base.clone();
        let end = self.high_watermark.unwrap_or(0).max(self.log.start());
        all.extend_from_slice(&self.log.records[..(end - self.log.start()) as usize]);
        all
    }

    fn carry_out(&mut self, step: Step) {
        match step {
            Step::Nothing => {}
            Step::Append { records, leader_epoch, high_watermark } => {
                let records = Record::decode(&records);
                assert!(records.iter().all(|record| record.epoch <= leader_epoch));
                self.log.records.extend(records);
                let to = high_watermark.map(|leaders| leaders.min(self.log_end()));
                self.high_watermark = self.high_watermark.max(to);
            }
            Step::Truncate(to) => self.log.truncate(to),
            Step::Snapshot { id, position, bytes, is_complete } => {
                if position == 0 {
                    self.download.clear();
                }
                assert_eq!(self.download.len() as i64, position);
                self.download.extend_from_slice(&bytes);
                if is_complete {
                    self.base = Record::decode(&std::mem::take(&mut self.download));
                    self.log = Log { base: Some(id), records: Vec::new() };
                    self.high_watermark = self.high_watermark.max(Some(id.end_offset));
                }
            }
        }
    }
}

fn settings() -> Settings {
    Settings {
        cluster_id: CLUSTER.into(),
        replica_id: 1,
        directory_id: Uuid::TWO,
        fetch_max_bytes: 1 << 20,
        fetch_snapshot_max_bytes: 1 << 20,
    }
}

/// One that knows only some addresses.
fn observer(bootstrap: &[i32], voters: &[i32], epoch: i32) -> Observer {
    let voters: BTreeMap<_, _> = voters.iter().map(|id| (*id, endpoint(*id))).collect();
    let bootstrap = bootstrap.iter().map(|id| endpoint(*id)).collect();
    Observer::new(settings(), Known::new(bootstrap, voters, epoch, RETRY))
}

/// Who refused what was asked last, without a pause since.
type Refused = Option<Endpoint>;

/// One question. Whether the observer can go on.
#[allow(clippy::too_many_arguments)]
fn ask(
    observer: &mut Observer,
    refused: &mut Refused,
    disk: &mut Disk,
    quorum: &Quorum,
    now: &mut u64,
    random: &mut Random,
    loss: usize,
    history: &mut Vec<String>,
) -> bool {
    let (to, question) = match observer.next(*now, disk) {
        Next::Wait(until) => {
            assert!(until > *now && until <= *now + RETRY.backoff_max_ms);
            *now = until;
            *refused = None;
            return true;
        }
        Next::Ask(to, question) => (to, question),
    };
    assert_ne!(refused.as_ref(), Some(&to), "who has refused is asked again at once");
    *refused = None;
    *now += 1 + random.below(5) as u64;
    if random.chance(loss) {
        history.push(format!("{now}: {to} is not heard"));
        observer.failed(*now);
        *refused = Some(to);
        return true;
    }
    let done = match &question {
        Question::Fetch(request) => match quorum.fetch(&to, request, random) {
            None => {
                observer.failed(*now);
                *refused = Some(to);
                return true;
            }
            Some(response) => {
                let asked = &request.topics[0].partitions[0];
                let (from, epoch) = (asked.fetch_offset, asked.current_leader_epoch);
                let told = &response.responses[0].partitions[0];
                let leader = &told.current_leader;
                let (leads, of) = (leader.leader_id, leader.leader_epoch);
                let (diverging, snapshot) = (&told.diverging_epoch, &told.snapshot_id);
                history.push(format!(
                    "{now}: {to} from {from} in {epoch}: {}, {leads} leads {of}, up to {}, diverging {} {}, \
                     snapshot {}",
                    told.error_code, told.high_watermark, diverging.epoch, diverging.end_offset,
                    snapshot.end_offset
                ));
                *refused = told.error_code.is_err().then_some(to);
                observer.fetched(response, *now, disk)
            }
        },
        Question::FetchSnapshot(request) => match quorum.fetch_snapshot(&to, request, random) {
            None => {
                observer.failed(*now);
                *refused = Some(to);
                return true;
            }
            Some(response) => {
                *refused = response.error_code.is_err().then(|| to.clone());
                history.push(format!("{now}: {to} a piece of a snapshot: {}", response.error_code));
                observer.snapshot_fetched(response, *now)
            }
        },
    };
    match done {
        Ok(step) => {
            disk.carry_out(step);
            disk.epoch = disk.epoch.max(observer.quorum().epoch());
        }
        Err(error) => {
            history.push(format!("{now}: {error}"));
            assert!(!error.is_fatal() || quorum.has_forgotten, "{error}");
            return !error.is_fatal();
        }
    }
    let known = observer.quorum();
    if let Some(leader) = known.leader() {
        let elected = quorum.elected.get(&known.epoch());
        assert_eq!(elected, Some(&leader.id), "it does not lead epoch {}", known.epoch());
    }
    true
}

/// The log names the voters, once there is something in it.
fn tell_voters(observer: &mut Observer, disk: &Disk, ids: &[i32]) {
    if disk.log_end() > 0 {
        let voters = ids.iter().map(|id| voter(*id, "CONTROLLER")).collect();
        let record = VotersRecord { voters, ..VotersRecord::default() };
        observer.quorum_mut().voters(&record, "CONTROLLER");
    }
}

fn voter(id: i32, name: &str) -> Voter {
    let endpoint = VoterEndpoint {
        name: name.into(),
        host: endpoint(id).host,
        port: 9093,
        ..VoterEndpoint::default()
    };
    Voter { voter_id: id, endpoints: vec![endpoint], ..Voter::default() }
}

/// What is committed here is committed there, and more every time.
fn check(disk: &Disk, quorum: &Quorum, before: &mut Vec<Record>) {
    let now = disk.committed();
    assert!(now.starts_with(before), "what was committed is not any more");
    let is_committed = quorum.has_forgotten || quorum.committed.starts_with(&now);
    assert!(is_committed, "the quorum has not committed this");
    *before = now;
}

fn live(seed: u64, history: &mut Vec<String>) {
    let random = &mut Random(seed);
    let count = *random.pick(&[1, 3, 3, 5]);
    let names_endpoints = random.chance(70);
    let mut quorum = Quorum::new(count, names_endpoints);
    let ids: Vec<i32> = quorum.controllers.keys().copied().collect();
    // Endpoints come from answers, from the configuration, or from the log.
    let bootstrap = if random.chance(50) { ids.clone() } else { vec![*random.pick(&ids)] };
    let has_all = bootstrap.len() == ids.len();
    let of_log = !has_all && random.chance(50);
    let voters = if of_log || names_endpoints && has_all { &[][..] } else { &ids[..] };
    quorum.names_endpoints |= of_log;
    quorum.ignores_epochs = random.chance(30);
    let forgets = random.chance(10);
    let mut disk = Disk::default();
    let mut observed = observer(&bootstrap, voters, 0);
    let (mut now, mut before, mut epoch) = (0, Vec::new(), 0);
    let mut refused = None;
    for step in 0..STEPS {
        if of_log {
            tell_voters(&mut observed, &disk, &ids);
        }
        if forgets && step == STEPS / 2 {
            history.push(format!("{now}: the quorum loses what it has committed"));
            quorum.forget(random);
        }
        match random.below(20) {
            0 => quorum.elect(random),
            1..=4 => quorum.write(random),
            5..=8 => quorum.replicate(random),
            9 => quorum.snapshot(random),
            10 if random.chance(30) => {
                let id = *random.pick(&ids);
                let controller = quorum.controllers.get_mut(&id).unwrap();
                controller.is_down = !controller.is_down;
                if controller.leader == Some(id) {
                    // It comes back as a follower.
                    controller.leader = None;
                }
            }
            11 if random.chance(30) => {
                history.push(format!("{now}: the observer starts again"));
                // What was not flushed may be gone; how far it is committed is not written down.
                if random.chance(50) {
                    let end = disk.log.start() + random.below(disk.log.records.len() + 1) as i64;
                    disk.log.truncate(end);
                }
                disk.high_watermark = disk.log.base.map(|base| base.end_offset);
                let epoch_known = if random.chance(50) { disk.epoch } else { 0 };
                let last = disk.latest_epoch().unwrap_or(0);
                observed = observer(&bootstrap, voters, epoch_known.max(last));
                refused = None;
                (before, epoch) = (disk.committed(), 0);
            }
            12 if random.chance(15) => quorum.resign(),
            _ => {
                let goes_on = ask(
                    &mut observed,
                    &mut refused,
                    &mut disk,
                    &quorum,
                    &mut now,
                    random,
                    15,
                    history,
                );
                if !goes_on {
                    return;
                }
                check(&disk, &quorum, &mut before);
                assert!(observed.quorum().epoch() >= epoch, "the epoch goes back");
                epoch = observed.quorum().epoch();
            }
        }
    }

    if forgets {
        return;
    }
    history.push("everything works again".into());
    quorum.controllers.values_mut().for_each(|controller| controller.is_down = false);
    let is_known = |id: &i32| bootstrap.contains(id) || !voters.is_empty();
    let can_ask = |down: i32| ids.iter().any(|id| *id != down && is_known(id));
    let may_be_down = if random.chance(50) { &bootstrap } else { &ids };
    let down = *random.pick(may_be_down);
    if ids.len() > 1 && (can_ask(down) || of_log && disk.log_end() > 0) {
        history.push(format!("but for {down}"));
        let controller = quorum.controllers.get_mut(&down).unwrap();
        controller.is_down = true;
        if controller.leader == Some(down) {
            controller.leader = None;
        }
    }
    for _ in 0..100 {
        if quorum.leader().is_some_and(|id| {
            let epochs = quorum.controllers.values().map(|it| it.epoch);
            Some(quorum.controllers[&id].epoch) == epochs.max()
        }) {
            break;
        }
        quorum.elect(random);
    }
    for _ in 0..50 {
        quorum.replicate(random);
    }
    let leader = quorum.leader().expect("one is elected");
    assert_eq!(quorum.controllers[&leader].high_watermark, Some(quorum.committed.len() as i64));
    let is_complete = |disk: &Disk| disk.committed() == quorum.committed;
    for _ in 0..HEALED_STEPS {
        if of_log {
            tell_voters(&mut observed, &disk, &ids);
        }
        ask(&mut observed, &mut refused, &mut disk, &quorum, &mut now, random, 0, history);
        check(&disk, &quorum, &mut before);
    }
    assert!(
        is_complete(&disk),
        "it does not have everything: {} of {}",
        before.len(),
        quorum.committed.len()
    );
}

#[test]
fn observers_follow_whoever_leads() {
    family("observer", 2_000, 20, live);
}

// Single answers.

fn answer(partition: PartitionData) -> FetchResponse {
    FetchResponse {
        responses: vec![FetchableTopicResponse {
            topic_id: Uuid::ONE,
            partitions: vec![partition],
            ..FetchableTopicResponse::default()
        }],
        ..FetchResponse::default()
    }
}

/// What somebody answers who takes `leader` for the leader of `epoch`.
fn says(error_code: ErrorCode, leader_id: i32, leader_epoch: i32) -> PartitionData {
    PartitionData {
        error_code,
        current_leader: LeaderIdAndEpoch { leader_id, leader_epoch, ..LeaderIdAndEpoch::default() },
        ..PartitionData::default()
    }
}

fn fetch_of(next: Next) -> (i32, FetchRequest) {
    let Next::Ask(to, Question::Fetch(request)) = next else { panic!("{next:?}") };
    let id = to.host.rsplit('-').next().and_then(|id| id.parse().ok()).unwrap();
    (id, request)
}

/// An observer that has been told that 102 leads epoch 5.
fn following(disk: &Disk) -> Observer {
    let mut observed = observer(&[101], &[101, 102, 103], 0);
    assert_eq!(fetch_of(observed.next(0, disk)).0, 101);
    let told = says(ErrorCode::FENCED_LEADER_EPOCH, 102, 5);
    assert_eq!(observed.fetched(answer(told), 0, disk), Ok(Step::Nothing));
    assert_eq!(fetch_of(observed.next(0, disk)).0, 102, "who is named is asked at once");
    observed
}

#[test]
fn the_first_question_has_no_field_that_controllers_refuse() {
    let disk = Disk::default();
    let (_, request) = fetch_of(observer(&[101], &[], 0).next(0, &disk));
    let partition = &request.topics[0].partitions[0];
    assert_eq!(
        (request.session_id, request.session_epoch, request.replica_state.replica_id),
        (0, -1, 1)
    );
    assert_eq!((request.max_wait_ms, request.min_bytes), (500, 0));
    assert_eq!((partition.current_leader_epoch, partition.last_fetched_epoch), (0, 0));
    assert_eq!((partition.fetch_offset, partition.high_watermark), (0, -1));
    assert_eq!(partition.replica_directory_id, Uuid::TWO);
}

#[test]
fn earlier_epochs_are_not_believed() {
    let disk = Disk::default();
    let mut observed = following(&disk);
    observed.failed(0);
    // A controller that was removed goes on to name itself.
    let Next::Wait(until) = observed.next(0, &disk) else { panic!("at once") };
    assert_eq!(fetch_of(observed.next(until, &disk)).0, 103, "somebody else");
    let told = says(ErrorCode::NOT_LEADER_OR_FOLLOWER, 103, 4);
    assert_eq!(observed.fetched(answer(told), until, &disk), Ok(Step::Nothing));
    assert_eq!(observed.quorum().epoch(), 5);
    assert_eq!(observed.quorum().leader().map(|leader| leader.id), Some(102));
}

#[test]
fn who_names_itself_and_does_not_lead_is_not_asked_again_and_again() {
    let disk = Disk::default();
    let mut observed = following(&disk);
    let told = says(ErrorCode::NOT_LEADER_OR_FOLLOWER, 102, 5);
    assert_eq!(observed.fetched(answer(told), 0, &disk), Ok(Step::Nothing));
    let Next::Wait(until) = observed.next(0, &disk) else { panic!("at once") };
    assert_ne!(fetch_of(observed.next(until, &disk)).0, 102);
}

#[test]
fn two_leaders_of_one_epoch_are_reported() {
    let disk = Disk::default();
    let mut observed = following(&disk);
    let told = says(ErrorCode::NOT_LEADER_OR_FOLLOWER, 103, 5);
    let expected = ObserverError::TwoLeaders { epoch: 5, known: 102, told: 103 };
    assert_eq!(observed.fetched(answer(told), 0, &disk), Err(expected));
    assert_eq!(observed.quorum().leader().map(|leader| leader.id), Some(102));
}

#[test]
fn a_leader_that_answers_elsewhere_than_where_it_is_said_to_be_is_asked_there() {
    let disk = Disk::default();
    let mut observed = following(&disk);
    observed.failed(0);
    assert_eq!(fetch_of(observed.next(1_000, &disk)).0, 103);
    let data = PartitionData { high_watermark: 0, ..says(ErrorCode::NONE, 102, 5) };
    let step = observed.fetched(answer(data), 1_000, &disk).unwrap();
    assert!(matches!(step, Step::Append { high_watermark: Some(0), .. }));
    assert_eq!(fetch_of(observed.next(1_000, &disk)).0, 103);
}

#[test]
fn voters_of_the_log_are_asked_when_the_configured_ones_are_gone() {
    let disk = Disk::default();
    let mut observed = observer(&[101], &[], 0);
    let voters = vec![voter(102, "CONTROLLER"), voter(103, "OTHER")];
    let record = VotersRecord { voters, ..VotersRecord::default() };
    observed.quorum_mut().voters(&record, "CONTROLLER");
    let asked: Vec<i32> = (0..4u64)
        .map(|at| {
            let now = at * 10_000;
            let (asked, _) = fetch_of(observed.next(now, &disk));
            observed.failed(now);
            asked
        })
        .collect();
    assert_eq!(asked, [101, 102, 101, 102]);
}

#[test]
fn pauses_grow_and_end() {
    let disk = Disk::default();
    let mut observed = observer(&[101], &[], 0);
    let mut now = 0;
    let mut pauses = Vec::new();
    for _ in 0..8 {
        fetch_of(observed.next(now, &disk));
        observed.failed(now);
        let Next::Wait(until) = observed.next(now, &disk) else { panic!("at once") };
        pauses.push(until - now);
        now = until;
    }
    assert_eq!(pauses, [20, 40, 80, 160, 320, 500, 500, 500]);
}

#[test]
fn nothing_that_was_committed_is_cut_off() {
    let record = |epoch, value| Record { epoch, value };
    let records = vec![record(1, 1), record(1, 2), record(3, 3)];
    let log = Log { base: None, records };
    let disk = Disk { log, high_watermark: Some(2), ..Disk::default() };
    let diverging = |epoch, end_offset| PartitionData {
        diverging_epoch: EpochEndOffset { epoch, end_offset, ..EpochEndOffset::default() },
        ..says(ErrorCode::NONE, 102, 5)
    };
    let told = answer(diverging(1, 2));
    assert_eq!(following(&disk).fetched(told, 0, &disk), Ok(Step::Truncate(2)));
    let error = following(&disk).fetched(answer(diverging(1, 1)), 0, &disk).unwrap_err();
    assert_eq!(error, ObserverError::CommittedLost { to: 1, high_watermark: 2 });
    assert!(error.is_fatal());
    let mut old = says(ErrorCode::NONE, 102, 5);
    old.snapshot_id.end_offset = 1;
    old.snapshot_id.epoch = 1;
    let error = following(&disk).fetched(answer(old), 0, &disk).unwrap_err();
    assert_eq!(error, ObserverError::CommittedLost { to: 1, high_watermark: 2 });
}

#[test]
fn pieces_of_a_snapshot_have_to_follow_each_other() {
    use thalweg_wire::messages::{FetchSnapshotResponse, fetch_snapshot_response as wire};
    let disk = Disk::default();
    let begin = || {
        let mut observed = following(&disk);
        let mut snapshot = says(ErrorCode::NONE, 102, 5);
        snapshot.snapshot_id.end_offset = 70;
        snapshot.snapshot_id.epoch = 4;
        assert_eq!(observed.fetched(answer(snapshot), 0, &disk), Ok(Step::Nothing));
        let Next::Ask(to, Question::FetchSnapshot(request)) = observed.next(0, &disk) else {
            panic!("a snapshot is asked for")
        };
        assert_eq!(to, endpoint(102));
        let asked = &request.topics[0].partitions[0];
        assert_eq!((asked.position, asked.current_leader_epoch), (0, 5));
        observed
    };
    let piece = |id: (i64, i32), size, position, bytes: &'static [u8]| FetchSnapshotResponse {
        topics: vec![wire::TopicSnapshot {
            name: "__cluster_metadata".into(),
            partitions: vec![wire::PartitionSnapshot {
                snapshot_id: wire::SnapshotId {
                    end_offset: id.0,
                    epoch: id.1,
                    ..wire::SnapshotId::default()
                },
                current_leader: wire::LeaderIdAndEpoch {
                    leader_id: 102,
                    leader_epoch: 5,
                    ..wire::LeaderIdAndEpoch::default()
                },
                size,
                position,
                unaligned_records: Bytes::from_static(bytes),
                ..wire::PartitionSnapshot::default()
            }],
            ..wire::TopicSnapshot::default()
        }],
        ..FetchSnapshotResponse::default()
    };
    let id = SnapshotId { end_offset: 70, epoch: 4 };
    let mut observed = begin();
    let expected = |position, bytes: &'static [u8], is_complete| Step::Snapshot {
        id,
        position,
        bytes: Bytes::from_static(bytes),
        is_complete,
    };
    let first = observed.snapshot_fetched(piece((70, 4), 5, 0, b"abc"), 0);
    assert_eq!(first, Ok(expected(0, b"abc", false)));
    let Next::Ask(_, Question::FetchSnapshot(request)) = observed.next(0, &disk) else {
        panic!("the rest is asked for")
    };
    assert_eq!(request.topics[0].partitions[0].position, 3);
    let last = observed.snapshot_fetched(piece((70, 4), 5, 3, b"de"), 0);
    assert_eq!(last, Ok(expected(3, b"de", true)));
    fetch_of(observed.next(0, &disk));

    let refused = FetchSnapshotResponse {
        error_code: ErrorCode::UNKNOWN_SERVER_ERROR,
        ..FetchSnapshotResponse::default()
    };
    for wrong in [
        piece((70, 3), 5, 0, b"abc"),
        piece((69, 4), 5, 0, b"abc"),
        piece((70, 4), 5, 1, b"abc"),
        piece((70, 4), 2, 0, b"abc"),
        piece((70, 4), 5, 0, b""),
        FetchSnapshotResponse::default(),
        refused,
    ] {
        let mut observed = begin();
        assert!(observed.snapshot_fetched(wrong, 0).is_err());
        // The log is asked for, not the snapshot again.
        fetch_of(observed.next(1_000, &disk));
    }
}

#[test]
fn who_may_not_read_the_log_stops_and_who_meets_another_cluster_asks_elsewhere() {
    let disk = Disk::default();
    for (code, is_fatal) in [
        (ErrorCode::INCONSISTENT_CLUSTER_ID, false),
        (ErrorCode::CLUSTER_AUTHORIZATION_FAILED, true),
        (ErrorCode::UNKNOWN_SERVER_ERROR, false),
    ] {
        let mut observed = following(&disk);
        let response = FetchResponse { error_code: code, ..FetchResponse::default() };
        let error = observed.fetched(response, 0, &disk).unwrap_err();
        assert_eq!(error.is_fatal(), is_fatal);
        assert!(matches!(error, ObserverError::Refused { code: told, .. } if told == code));
    }
    let mut observed = following(&disk);
    let error = observed.fetched(answer(says(ErrorCode::INVALID_REQUEST, 102, 5)), 0, &disk);
    let refused = ErrorCode::INVALID_REQUEST;
    assert!(matches!(error, Err(ObserverError::Refused { code, .. }) if code == refused));
    let mut observed = following(&disk);
    let error = observed.fetched(FetchResponse::default(), 0, &disk);
    assert!(matches!(error, Err(ObserverError::Malformed { .. })));
}
