//! Drives the runners of one internal topic: loading, appends, answers, timers.
//!
//! [`PartitionRunners`] has a [`LeaderShard`](leader_shard::LeaderShard) for each partition that is led here. One lock per
//! partition, never held across an await or a write: while an append is on its way to the disk others are handled, and
//! their records wait for its result. Requests run on their connection's task. Each partition has one timer task, which
//! sleeps until the runner wants to be woken. Jobs of shards run on a few threads that may take long, for all partitions
//! together. A job's result goes to the runner that asked, if that is still there.
//!
//! A panic may leave a runner half changed. Such a partition is taken down: its waiting requests are answered
//! NOT_COORDINATOR, and it is loaded again from its log.

mod batches;
mod leader_shard;
mod load;
mod load_times;
mod partition_runners;
#[cfg(test)]
mod tests;

use std::sync::atomic::AtomicU64;

use thalweg_coordinator::{RunnerConfig, Shard};
use thalweg_log::TransactionCheck;
use thalweg_records::codec::CompressionSpec;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::node::clock::Clock;
use crate::node::pool::Pool;

pub(crate) use batches::compressed_len;
pub(crate) use leader_shard::Source;
pub(crate) use load_times::LoadFigures;
use load_times::LoadTimes;
pub(crate) use partition_runners::PartitionRunners;

/// A shard that any thread can drive.
pub(crate) trait Driven:
    Shard<
        Request: Send,
        Response: Send + 'static,
        Record: Send,
        TimerKey: Send,
        Then: Send,
        Effect: Send,
    > + Send
    + 'static
{
}

impl<S> Driven for S where
    S: Shard<
            Request: Send,
            Response: Send + 'static,
            Record: Send,
            TimerKey: Send,
            Then: Send,
            Effect: Send,
        > + Send
        + 'static
{
}

/// A runner whose transactional appends come with a proof for the log.
type Runner<S> = thalweg_coordinator::Runner<S, TransactionCheck>;

/// Events with the current metadata and settings, for a shard that was loaded.
type Initial<E> = Box<dyn Fn() -> Vec<E> + Send + Sync>;

/// Has something done outside; must not wait.
type Effects<S> = Box<dyn Fn(Source<S>, <S as Shard>::Effect) + Send + Sync>;

/// What is the same for all partitions of one coordinator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuntimeConfig {
    pub(crate) runner: RunnerConfig,
    /// Codec of the coordinator's own batches (`offsets.topic.compression.codec`).
    pub(crate) compression: CompressionSpec,
    /// Computations of shards that run at a time; more wait their turn. How many can wait is the
    /// shards' to bound: a group has at most one of each kind.
    pub(crate) jobs: usize,
    /// Whether a load ends at what cannot be read, and what stands before that is served. Otherwise the partition has no
    /// coordinator then.
    pub(crate) serves_partial_loads: bool,
}

/// What the runners of all partitions share.
struct RunnerEnv<S: Shard> {
    config: RuntimeConfig,
    initial: Initial<S::Event>,
    effects: Effects<S>,
    jobs: Pool,
    /// Where jobs are started, whichever thread has found them.
    runtime: Handle,
    clock: Clock,
    /// Panics: those that took a partition down, and those of computations.
    panics: AtomicU64,
    load_times: LoadTimes,
}

/// An answer that is there, or will come.
pub(crate) enum Submitted<R> {
    Now(R),
    Later(oneshot::Receiver<R>),
}

impl<R> Submitted<R> {
    /// Waits for the answer; `None` if the coordinator went away without giving one.
    pub(crate) async fn wait(self) -> Option<R> {
        match self {
            Submitted::Now(response) => Some(response),
            Submitted::Later(answer) => answer.await.ok(),
        }
    }
}
