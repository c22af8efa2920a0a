//! The contract that every coordinator state machine plugs into: handle, append, replay, timers.
//!
//! A *coordinator* owns the state that lives in one partition of an internal topic
//! (`__consumer_offsets`, `__transaction_state`). This crate holds what all of them share and
//! knows nothing of groups or transactions:
//!
//! * [`Shard`]: what a state machine implements. A handler computes records, answers and timers;
//!   records reach the logged state only through [`Shard::replay`].
//! * [`Runner`]: drives one shard without I/O. Holds answers back until their records are committed,
//!   takes back what failed, keeps the timers.
//! * [`Timers`], [`UndoLog`], [`Account`]: parts that shards and the runner are made of.
//! * [`MemoryRunner`]: a log and a clock in memory for tests.
//!
//! Pure: no I/O, no clock, no randomness, no threads.
//!
//! # How a broker drives it
//!
//! One `Runner` per partition this broker leads, behind a lock of its own. Every call is short and
//! none blocks; the lock is never held across an await.
//!
//! **Election.** When the broker becomes leader of the partition with a higher leader epoch, make a
//! `Runner` (it refuses requests with COORDINATOR_LOAD_IN_PROGRESS by itself) and replay the log in
//! the background into another one, from the log start to the log *end* (not the high watermark). It
//! takes the first one's place when it is done; until then no lock is held:
//!
//! * control batches: [`Runner::load_marker`] for COMMIT and ABORT, others are skipped;
//! * other batches: [`CoordinatorRecord::decode`] for every record; `Ok(None)` is skipped (log the
//!   record type once), an error or a panic fails the load: [`Runner::close`] and an error in the log,
//!   after which this partition's requests get NOT_COORDINATOR;
//! * `producer_id` of [`Position`] is the batch's if the batch is transactional;
//! * the end: [`Runner::load_finished`] with the log end offset and the high watermark. An election
//!   with a higher epoch while active keeps the runner.
//!
//! **Resignation** (another leader, partition or replica gone, shutdown): [`Runner::close`] with
//! NOT_COORDINATOR, then send the answers that it gives out. A resignation that carries an epoch
//! counts only if it is higher than the loaded one. Shutdown closes the same way.
//!
//! **A request.** Refuse what needs no shard first (for groups: `thalweg_groups` has these checks),
//! find the partition, take the lock, [`Runner::submit`], then *pump*. A request of a transaction is asked about at
//! the transaction's coordinator before that, and comes with what proves it ([`Runner::submit_with_proof`]):
//!
//! 1. while [`Runner::poll_append`] gives an append: build one batch of its records (CREATE_TIME,
//!    `timestamp_ms` on every record, no producer id, compression as `offsets.topic.compression.codec`
//!    says) and append it as the leader with the leader epoch unchanged. A transactional batch
//!    ([`AppendKind::Transactional`]) has its producer and the base sequence 0, and the log is shown the append's
//!    proof; a marker is a control batch. A record that cannot be
//!    encoded (text too long for its field) fails the append with UNKNOWN_SERVER_ERROR. [`Runner::appended`] with the
//!    base offset, or [`Runner::append_failed`] with the log's own error code: NOT_LEADER_OR_FOLLOWER,
//!    KAFKA_STORAGE_ERROR, NOT_ENOUGH_REPLICAS, MESSAGE_TOO_LARGE for a batch above
//!    `max.message.bytes`, which the builder checks *before* it writes, INVALID_PRODUCER_EPOCH and the like for
//!    what a producer or another coordinator did, which only its own request is told. An append that is not atomic
//!    may be cut into several batches at any record; if a later one of them fails, that is
//!    [`Runner::appended_in_part`]. An append that cannot be done in place (its log
//!    directory stalls, the partition's lock is taken) may be reported later: requests go on
//!    meanwhile and their records queue up behind it. Nothing but the runner may append to the
//!    partition; if something did, [`OutOfSync`] says so: make a new runner and load again.
//! 2. [`Runner::high_watermark`] with the partition's high watermark. Call it again whenever the
//!    high watermark moves; with a single replica that is right after the append.
//! 3. while [`Runner::poll_answer`] gives an answer: wake the request that waits for that token. The
//!    token of the submitted request may be among them; if not, its connection parks (its token goes
//!    into a table under the same lock, before the lock is released).
//! 4. while [`Runner::poll_job`] gives a computation: run it on a bounded pool, without the lock, and
//!    give the result to [`Runner::job_done`] of the same runner, then pump. A runner that took its
//!    place never asked for it.
//! 5. while [`Runner::poll_effect`] gives something to do outside (a transaction's markers): do it, without the lock, and
//!    again until it is done, as long as this runner is active; then [`Runner::event`]. A runner that takes its place asks
//!    for it again.
//! 6. [`Runner::wake_at_ms`]: tell the timer wheel when this partition wants [`Runner::advance`].
//!    One entry per partition is enough; it may come early or twice, never late.
//!
//! **Metadata that changed.** Take the lock of each partition, [`Runner::event`], pump. A runner that has
//! just become active gets one with everything that is so.
//!
//! **A timer.** Take the lock, [`Runner::advance`], pump. If `wake_at_ms` is still due, release the
//! lock, yield and go on.
//!
//! **A panic** in any of these calls may leave the runner half changed, or take an append with it that
//! it waits for: close the runner, answer who waits with NOT_COORDINATOR, and load the partition into a
//! new one.
//!
//! **A connection that goes away** while its request is parked: drop the table's entry and ignore
//! the answer. Its member leaves the group when its session ends, as in Kafka, or a while after its last
//! connection is gone, if that is configured: groups are told by an event.
//!
//! Bounds: parked tokens and waiting answers are at most one per connection, since a connection has
//! one request in flight; appends queue only behind an append that is being written, and requests
//! are refused while those appends hold more than 4 MiB.

mod account;
mod append;
mod memory;
mod now;
mod runner;
mod shard;
mod timers;
mod undo;

pub use account::{Account, Held};
pub use append::{Append, AppendKind, OutOfSync, Producer, TransactionEnd};
pub use memory::{LogEntry, MemoryRunner};
pub use now::Now;
pub use runner::{Runner, RunnerConfig, RunnerState};
pub use shard::{
    CoordinatorRecord, Job, KeyValue, Outcome, Position, Reply, Shard, TimerChange, Token,
    append_error,
};
pub use timers::Timers;
pub use undo::UndoLog;
