//! What a follower does with its leader's answers.

use thalweg_replication::{EpochEnd, Epochs, FetchAnswer, Follower, LeaderOffset, NextFetch, Step};
use thalweg_wire::ErrorCode;

/// Where each epoch begins, and the log's end.
struct Log(&'static [(i32, i64)], i64);

impl Epochs for Log {
    fn log_end(&self) -> i64 {
        self.1
    }

    fn latest_epoch(&self) -> Option<i32> {
        self.0.last().map(|(epoch, _)| *epoch)
    }

    fn end_of(&self, epoch: i32) -> Option<EpochEnd> {
        self.0.last().filter(|(last, _)| *last >= epoch)?;
        let next = self.0.iter().position(|(known, _)| *known > epoch).unwrap_or(self.0.len());
        let end_offset = self.0.get(next).map_or(self.1, |(_, start)| *start);
        let epoch = next.checked_sub(1).map_or(epoch, |at| self.0[at].0);
        Some(EpochEnd { epoch, end_offset })
    }
}

/// Epochs 1, 3 and 5 from 0, 10 and 20 on, up to 30.
const LOG: Log = Log(&[(1, 0), (3, 10), (5, 20)], 30);

fn next_fetch(follower: &Follower) -> NextFetch {
    follower.next_fetch(0).expect("it asks")
}

fn answer(error: ErrorCode) -> FetchAnswer {
    FetchAnswer { error, diverging: None }
}

fn diverges(log: &Log, epoch: i32, end_offset: i64) -> Step {
    let mut follower = Follower::new(7, log);
    let diverging = Some(EpochEnd { epoch, end_offset });
    let answer = FetchAnswer { error: ErrorCode::NONE, diverging };
    follower.answered(&next_fetch(&follower), &answer, log, 0)
}

#[test]
fn offsets_that_no_leader_means_cut_nothing_off() {
    assert_eq!(diverges(&LOG, 5, -1), Step::Nothing);
    for answer in [LeaderOffset::Latest(-1), LeaderOffset::Earliest(-1)] {
        let mut follower = Follower::new(7, &LOG);
        let asked = next_fetch(&follower);
        let out_of_range = self::answer(ErrorCode::OFFSET_OUT_OF_RANGE);
        assert_eq!(follower.answered(&asked, &out_of_range, &LOG, 9), Step::FindLatest);
        assert_eq!(follower.found(7, Ok(answer), &LOG, 9), Step::Nothing);
        assert_eq!(follower.retries_at(), Some(9));
    }
}

#[test]
fn a_log_that_diverges_is_cut_off() {
    // The leader has less of the newest epoch, or more of an older one.
    assert_eq!(diverges(&LOG, 5, 25), Step::Truncate(25));
    assert_eq!(diverges(&LOG, 3, 15), Step::Truncate(15));
    assert_eq!(diverges(&LOG, 3, 28), Step::Truncate(20));
    // It has an epoch that this log has not: what is newer goes, and the rest is asked about again.
    assert_eq!(diverges(&LOG, 4, 12), Step::Truncate(20));
    assert_eq!(diverges(&LOG, 2, 28), Step::Truncate(10));
    // All that this log has is newer, or it knows no epoch.
    assert_eq!(diverges(&LOG, 0, 28), Step::Truncate(0));
    assert_eq!(diverges(&Log(&[], 30), 4, 12), Step::Truncate(12));
    assert_eq!(diverges(&Log(&[], 30), 4, 42), Step::Truncate(30));
}

#[test]
fn it_asks_with_what_it_has_last() {
    let follower = Follower::new(7, &LOG);
    assert_eq!(next_fetch(&follower), NextFetch { leader_epoch: 7, offset: 30, last_epoch: 5 });
    let follower = Follower::new(7, &Log(&[], 0));
    assert_eq!(next_fetch(&follower), NextFetch { leader_epoch: 7, offset: 0, last_epoch: -1 });
}

#[test]
fn what_was_asked_for_before_the_log_moved_is_passed_over() {
    let mut follower = Follower::new(7, &LOG);
    let asked = next_fetch(&follower);
    follower.moved(&Log(&[(1, 0)], 10));
    let step = follower.answered(&asked, &answer(ErrorCode::NONE), &LOG, 0);
    assert_eq!(step, Step::Nothing);
    let other_epoch = NextFetch { leader_epoch: 6, ..next_fetch(&follower) };
    assert_eq!(follower.answered(&other_epoch, &answer(ErrorCode::NONE), &LOG, 0), Step::Nothing);
}

#[test]
fn after_an_error_it_waits() {
    for error in [
        ErrorCode::UNKNOWN_LEADER_EPOCH,
        ErrorCode::NOT_LEADER_OR_FOLLOWER,
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode::UNKNOWN_TOPIC_ID,
        ErrorCode::INCONSISTENT_TOPIC_ID,
        ErrorCode::KAFKA_STORAGE_ERROR,
        ErrorCode::CORRUPT_MESSAGE,
    ] {
        let mut follower = Follower::new(7, &LOG);
        let step = follower.answered(&next_fetch(&follower), &answer(error), &LOG, 50);
        assert_eq!(
            (step, follower.next_fetch(49), follower.retries_at()),
            (Step::Nothing, None, Some(50))
        );
        assert!(follower.next_fetch(50).is_some(), "{error}");
    }
}

/// Its metadata is behind: asking again would give the same answer.
#[test]
fn a_fenced_follower_waits_for_metadata() {
    let mut follower = Follower::new(7, &LOG);
    let fenced = answer(ErrorCode::FENCED_LEADER_EPOCH);
    assert_eq!(follower.answered(&next_fetch(&follower), &fenced, &LOG, 50), Step::Nothing);
    assert!(follower.is_fenced());
    assert_eq!(follower.next_fetch(u64::MAX), None);
    follower.failed(60);
    assert_eq!(follower.next_fetch(u64::MAX), None);
}

#[test]
fn out_of_range_it_looks_for_the_leaders_log() {
    let out_of_range = || {
        let mut follower = Follower::new(7, &LOG);
        let answer = answer(ErrorCode::OFFSET_OUT_OF_RANGE);
        let asked = next_fetch(&follower);
        assert_eq!(follower.answered(&asked, &answer, &LOG, 50), Step::FindLatest);
        assert_eq!(follower.next_fetch(u64::MAX), None);
        // Nothing else counts until that is found.
        assert_eq!(follower.answered(&asked, &answer, &LOG, 50), Step::Nothing);
        follower
    };
    // An unclean leader has less.
    let mut follower = out_of_range();
    assert_eq!(follower.found(7, Ok(LeaderOffset::Latest(20)), &LOG, 50), Step::Truncate(20));
    // What the leader has begins later.
    let mut follower = out_of_range();
    assert_eq!(follower.found(7, Ok(LeaderOffset::Latest(90)), &LOG, 50), Step::FindEarliest);
    assert_eq!(follower.found(7, Ok(LeaderOffset::Earliest(40)), &LOG, 50), Step::StartAt(40));
    follower.moved(&Log(&[], 40));
    assert_eq!(next_fetch(&follower), NextFetch { leader_epoch: 7, offset: 40, last_epoch: -1 });
    // The leader has got there meanwhile.
    let mut follower = out_of_range();
    assert_eq!(follower.found(7, Ok(LeaderOffset::Latest(30)), &LOG, 50), Step::FindEarliest);
    assert_eq!(follower.found(7, Ok(LeaderOffset::Earliest(0)), &LOG, 50), Step::Nothing);
    assert_eq!((follower.next_fetch(49), follower.next_fetch(50).is_some()), (None, true));
    // It does not lead any more; or an answer is for another epoch.
    let mut follower = out_of_range();
    assert_eq!(follower.found(6, Ok(LeaderOffset::Latest(2)), &LOG, 50), Step::Nothing);
    let refused = Err(ErrorCode::NOT_LEADER_OR_FOLLOWER);
    assert_eq!(follower.found(7, refused, &LOG, 50), Step::Nothing);
    assert!(follower.next_fetch(50).is_some());
}
