//! States of a transactional id, and the transaction version that a request or a record is of.

/// What a transactional id is at. The numbers are those of `__transaction_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TransactionState {
    /// There is no transaction since the producer was initialized.
    Empty,
    /// Partitions or offsets have been added to one.
    Ongoing,
    /// It is decided that it commits; its markers are being written.
    PrepareCommit,
    /// It is decided that it aborts; its markers are being written.
    PrepareAbort,
    /// All markers of the last one are written, which has committed.
    CompleteCommit,
    /// All markers of the last one are written, which has aborted.
    CompleteAbort,
    /// The id is being removed. Kafka has it in memory only.
    Dead,
    /// An older producer is being fenced. Kafka has it in memory only.
    PrepareEpochFence,
}

impl TransactionState {
    /// All of them, in the order of their numbers.
    pub const ALL: [TransactionState; 8] = [
        TransactionState::Empty,
        TransactionState::Ongoing,
        TransactionState::PrepareCommit,
        TransactionState::PrepareAbort,
        TransactionState::CompleteCommit,
        TransactionState::CompleteAbort,
        TransactionState::Dead,
        TransactionState::PrepareEpochFence,
    ];

    /// Its number in a record.
    pub fn id(self) -> i8 {
        self as i8
    }

    /// The state of a number.
    pub fn from_id(id: i8) -> Option<TransactionState> {
        TransactionState::ALL.get(usize::try_from(id).ok()?).copied()
    }

    /// Its name, as DescribeTransactions and ListTransactions give it.
    pub fn name(self) -> &'static str {
        match self {
            TransactionState::Empty => "Empty",
            TransactionState::Ongoing => "Ongoing",
            TransactionState::PrepareCommit => "PrepareCommit",
            TransactionState::PrepareAbort => "PrepareAbort",
            TransactionState::CompleteCommit => "CompleteCommit",
            TransactionState::CompleteAbort => "CompleteAbort",
            TransactionState::Dead => "Dead",
            TransactionState::PrepareEpochFence => "PrepareEpochFence",
        }
    }

    /// The state of a name.
    pub fn from_name(name: &str) -> Option<TransactionState> {
        TransactionState::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether the outcome of the transaction is decided and its markers are still being written.
    pub fn is_prepared(self) -> bool {
        matches!(self, TransactionState::PrepareCommit | TransactionState::PrepareAbort)
    }

    /// Whether an id in this state may be removed when nothing was heard of it for long.
    pub fn may_expire(self) -> bool {
        matches!(
            self,
            TransactionState::Empty
                | TransactionState::CompleteCommit
                | TransactionState::CompleteAbort
        )
    }
}

/// The level of `transaction.version`: what the cluster has finalized, or what a request is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TransactionVersion {
    /// Level 0: records without tagged fields.
    V0,
    /// Level 1: records with tagged fields (KIP-890, the first part).
    V1,
    /// Level 2: partitions are added by their leaders, and each transaction ends in another epoch (KIP-890).
    V2,
}

impl TransactionVersion {
    /// The version of a feature level.
    pub fn from_level(level: i16) -> Option<TransactionVersion> {
        match level {
            0 => Some(TransactionVersion::V0),
            1 => Some(TransactionVersion::V1),
            2 => Some(TransactionVersion::V2),
            _ => None,
        }
    }

    /// Its feature level.
    pub fn level(self) -> i16 {
        self as i16
    }

    /// Whether the epoch is bumped at the end of each transaction.
    pub fn bumps_epochs(self) -> bool {
        self >= TransactionVersion::V2
    }
}
