//! A follower of one partition: what it asks its leader for, and what it does with the answer.

use thalweg_wire::ErrorCode;

/// A leader epoch and the offset behind its last record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochEnd {
    /// Leader epoch.
    pub epoch: i32,
    /// Offset behind the epoch's last record.
    pub end_offset: i64,
}

/// What a follower has to know of its own log.
pub trait Epochs {
    /// Where the log ends.
    fn log_end(&self) -> i64;

    /// Epoch of the last record; `None` if the log knows of no epoch.
    fn latest_epoch(&self) -> Option<i32>;

    /// The newest epoch that is not newer than `epoch`, and where it ends: the beginning of the next one, or the
    /// log's end. If all that are known are newer, `epoch` itself, which ends where the first of them begins.
    /// `None` if none is known, or `epoch` is newer than all.
    fn end_of(&self, epoch: i32) -> Option<EpochEnd>;
}

/// What a leader is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextFetch {
    /// Leader epoch that the follower knows.
    pub leader_epoch: i32,
    /// From here on: where the follower's log ends.
    pub offset: i64,
    /// Epoch of the record before that; -1 if there is none.
    pub last_epoch: i32,
}

/// What the leader says of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchAnswer {
    /// Why there is nothing.
    pub error: ErrorCode,
    /// Where the leader's log and the follower's part ways.
    pub diverging: Option<EpochEnd>,
}

/// Where the leader's log begins or ends, as ListOffsets tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaderOffset {
    /// Timestamp -1.
    Latest(i64),
    /// Timestamp -2.
    Earliest(i64),
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Step {
    /// Nothing, for now.
    Nothing,
    /// The records are appended as they are, up to the first batch of a newer leader epoch than was asked with
    /// (KAFKA-18723), and then high watermark and log start follow the leader's ([`high_watermark`]). The log's
    /// new end is told to [`Follower::moved`].
    Append,
    /// The log is cut off from this offset on, its epochs and producers with it; also where that is its end, for
    /// an epoch without records may go. The new end is told to [`Follower::moved`].
    Truncate(i64),
    /// The log begins anew, empty, at this offset: what the leader still has begins behind what the follower has.
    /// The new end is told to [`Follower::moved`].
    StartAt(i64),
    /// The leader is asked for the offset behind its last record; the answer goes to [`Follower::found`].
    FindLatest,
    /// The leader is asked for its first offset; the answer goes to [`Follower::found`].
    FindEarliest,
}

/// A follower in one leader epoch.
#[derive(Clone, Debug)]
pub struct Follower {
    leader_epoch: i32,
    log_end: i64,
    last_epoch: i32,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Fetching,
    /// After an error, until this moment.
    Waiting(u64),
    /// It looks for the place where the leader's log begins and ends.
    OutOfRange,
    /// There is a newer leader epoch, which the metadata has to bring.
    Fenced,
}

/// Where a follower's high watermark is after an append: as far as the leader's, and as its own log.
pub fn high_watermark(own_end: i64, leaders: i64) -> i64 {
    own_end.min(leaders)
}

impl Follower {
    /// Follows the leader of `leader_epoch` from where the log ends.
    pub fn new(leader_epoch: i32, log: &impl Epochs) -> Follower {
        let mut follower =
            Follower { leader_epoch, log_end: 0, last_epoch: -1, state: State::Fetching };
        follower.moved(log);
        follower
    }

    /// The leader epoch that it follows in.
    pub fn leader_epoch(&self) -> i32 {
        self.leader_epoch
    }

    /// Whether it waits for metadata: its leader epoch has passed.
    pub fn is_fenced(&self) -> bool {
        self.state == State::Fenced
    }

    /// Whether it waits to be told where the leader's log begins or ends ([`Self::found`]).
    pub fn is_out_of_range(&self) -> bool {
        self.state == State::OutOfRange
    }

    /// When it asks again after an error.
    pub fn retries_at(&self) -> Option<u64> {
        match self.state {
            State::Waiting(until) => Some(until),
            _ => None,
        }
    }

    /// What to ask the leader for now, if anything.
    pub fn next_fetch(&self, now_ms: u64) -> Option<NextFetch> {
        match self.state {
            State::Fetching => {}
            State::Waiting(until) if until <= now_ms => {}
            _ => return None,
        }
        Some(NextFetch {
            leader_epoch: self.leader_epoch,
            offset: self.log_end,
            last_epoch: self.last_epoch,
        })
    }

    /// The log ends elsewhere now.
    pub fn moved(&mut self, log: &impl Epochs) {
        self.log_end = log.log_end();
        self.last_epoch = log.latest_epoch().unwrap_or(-1);
        self.state = State::Fetching;
    }

    /// The leader answered `asked`. What was asked for before the log moved, or in another epoch, is passed over.
    pub fn answered(
        &mut self,
        asked: &NextFetch,
        answer: &FetchAnswer,
        log: &impl Epochs,
        retry_at_ms: u64,
    ) -> Step {
        if asked.leader_epoch != self.leader_epoch
            || asked.offset != self.log_end
            || !matches!(self.state, State::Fetching | State::Waiting(_))
        {
            return Step::Nothing;
        }
        match answer.error {
            ErrorCode::NONE => match answer.diverging {
                // No leader means that.
                Some(leaders) if leaders.end_offset < 0 => {
                    self.refused(ErrorCode::UNKNOWN_SERVER_ERROR, retry_at_ms)
                }
                Some(leaders) => Step::Truncate(truncate_to(leaders, log)),
                None => Step::Append,
            },
            ErrorCode::OFFSET_OUT_OF_RANGE => {
                self.state = State::OutOfRange;
                Step::FindLatest
            }
            error => self.refused(error, retry_at_ms),
        }
    }

    /// The leader said where its log begins or ends.
    pub fn found(
        &mut self,
        leader_epoch: i32,
        answer: Result<LeaderOffset, ErrorCode>,
        log: &impl Epochs,
        retry_at_ms: u64,
    ) -> Step {
        if leader_epoch != self.leader_epoch || self.state != State::OutOfRange {
            return Step::Nothing;
        }
        match answer {
            Ok(LeaderOffset::Latest(offset) | LeaderOffset::Earliest(offset)) if offset < 0 => {
                self.refused(ErrorCode::UNKNOWN_SERVER_ERROR, retry_at_ms)
            }
            // A leader that was elected uncleanly has less.
            Ok(LeaderOffset::Latest(end)) if end < log.log_end() => Step::Truncate(end),
            Ok(LeaderOffset::Latest(_)) => Step::FindEarliest,
            Ok(LeaderOffset::Earliest(start)) if start > log.log_end() => Step::StartAt(start),
            // It has been there meanwhile.
            Ok(LeaderOffset::Earliest(_)) => {
                self.state = State::Waiting(retry_at_ms);
                Step::Nothing
            }
            Err(error) => self.refused(error, retry_at_ms),
        }
    }

    /// The leader could not be asked, or what it sent could not be appended.
    pub fn failed(&mut self, retry_at_ms: u64) {
        if self.state != State::Fenced {
            self.state = State::Waiting(retry_at_ms);
        }
    }

    fn refused(&mut self, error: ErrorCode, retry_at_ms: u64) -> Step {
        self.state = match error {
            ErrorCode::FENCED_LEADER_EPOCH => State::Fenced,
            // The leader's metadata may be behind, or this broker's.
            _ => State::Waiting(retry_at_ms),
        };
        Step::Nothing
    }
}

/// Where a log is cut off whose leader has records of no newer epoch than `leaders` before it diverges.
///
/// Where the follower knows that epoch, both have the same records up to the lower of its two ends. Where it does
/// not, all that is newer goes, and the leader is asked again with what is left.
pub(crate) fn truncate_to(leaders: EpochEnd, log: &impl Epochs) -> i64 {
    let end = log.log_end();
    match log.end_of(leaders.epoch) {
        None => leaders.end_offset.min(end),
        Some(own) if own.epoch == leaders.epoch => own.end_offset.min(leaders.end_offset).min(end),
        Some(own) => own.end_offset.min(end),
    }
}
