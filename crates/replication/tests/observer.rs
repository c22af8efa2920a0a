//! A broker follows the metadata log: random lives beside a quorum that elects, loses and forgets, and what single
//! answers lead to.
//!
//! What must hold, always: what is below the observer's high watermark is what the quorum has committed, and stays
//! so, even if the quorum loses it; the epoch does not go back; whom it takes for an epoch's leader was elected in it;
//! nobody who has refused is asked again at once. And in the end, when all controllers but perhaps one work again: the
//! observer has all that is committed.

mod life;
mod quorum;

use std::collections::BTreeMap;

use bytes::Bytes;
use thalweg_random::seeds::family;
use thalweg_replication::observer::{
    Next, Observer, ObserverError, ObserverLog, Question, Quorum as Known, Retry, Settings,
    SnapshotId, Step,
};
use thalweg_replication::{EpochEnd, Epochs};
use thalweg_wire::messages::fetch_response::{
    EpochEndOffset, FetchableTopicResponse, LeaderIdAndEpoch, PartitionData,
};
use thalweg_wire::messages::voters_record::{Endpoint as VoterEndpoint, Voter};
use thalweg_wire::messages::{FetchRequest, FetchResponse, VotersRecord};
use thalweg_wire::{ErrorCode, Uuid};

use quorum::{CLUSTER, Log, Record, endpoint};

const RETRY: Retry = Retry { backoff_ms: 20, backoff_max_ms: 500 };

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

fn voter(id: i32, name: &str) -> Voter {
    let endpoint = VoterEndpoint {
        name: name.into(),
        host: endpoint(id).host,
        port: 9093,
        ..VoterEndpoint::default()
    };
    Voter { voter_id: id, endpoints: vec![endpoint], ..Voter::default() }
}

#[test]
fn observers_follow_whoever_leads() {
    family("observer", 2_000, 20, life::live);
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
