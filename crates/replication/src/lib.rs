//! One partition's replication, as state machines: what this broker is to the partition, how far its records
//! are committed, and who is in sync.
//!
//! * [`Replica`]: what this broker is to one partition. Metadata makes it leader or follower
//!   ([`Replica::apply`]). A leader hears of appends, of followers' fetches and of the controller's answers, and
//!   says how far the high watermark goes and which change of the ISR the controller is to be asked for.
//! * [`Follower`]: what a follower asks its leader for, and what it does with the answer: append, cut off what
//!   the leader does not have, begin anew, wait.
//! * [`FetchSession`]: what a leader has been told of the partitions that are fetched from it (KIP-227).
//! * [`RateQuota`]: the throttle of replication.
//! * [`observer`]: a broker's part in the metadata log, which is another log that it follows: it finds the leader of
//!   the controllers' quorum by itself, and begins with a snapshot where the log does not reach back.
//! * [`Brokers`]: what has to be known of other brokers, which a
//!   [`MetadataImage`](thalweg_metadata::image::MetadataImage) says.
//!
//! Kafka 4.4's own `kafka.cluster.Partition` is the oracle: the tests take both through the same events and
//! compare every state (`tests/partition_oracle.rs`).
//!
//! Whoever drives a `Replica` has it behind a lock, passes what is so now ([`Context`]) to every event, and carries
//! out what comes back ([`Outcome`]) in any order, but before the log is cut off: a high watermark that is raised
//! late delays readers, and a question to the controller is answered for the state that it was asked in, or not
//! at all.
//!
//! Metadata is applied from the one on that has this process's registration. What was said before was for an
//! earlier process, which may have had more: a leader of then must not lead again.
//!
//! *Invariants*: the high watermark never passes the log end of a replica that is in the ISR, that is being
//! added to it, or that is still in it until the controller says otherwise; it does not move while fewer than
//! the effective `min.insync.replicas` are in the committed ISR (KIP-966: a leader may be elected of those that
//! left); one change of the ISR is in flight at a time; a replica joins only if it has everything up to the
//! high watermark and up to where this leader's epoch begins.
//!
//! Pure: no I/O, no clock, no randomness, no threads.

mod brokers;
mod fetch_session;
mod follower;
mod isr;
pub mod observer;
mod progress;
mod rate_quota;
mod replica;

pub use brokers::{BrokerStatus, Brokers};
pub use fetch_session::{Changes, FetchSession, Told};
pub use follower::{
    EpochEnd, Epochs, FetchAnswer, Follower, LeaderOffset, NextFetch, Step, high_watermark,
};
pub use isr::{AlterPartition, IsrChange, IsrMember};
pub use progress::Progress;
pub use rate_quota::RateQuota;
pub use replica::{
    Acknowledged, Altered, Applied, Context, Fetched, Offsets, Outcome, Replica, Settings,
};
