//! The partitions of one internal topic that this broker leads, each with its runner.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::RwLock;
use thalweg_coordinator::{RunnerState, Shard};
use thalweg_log::TransactionCheck;
use thalweg_wire::ErrorCode;
use tokio::runtime::Handle;

use super::leader_shard::{LeaderShard, Source};
use super::load_times::{LoadFigures, LoadTimes};
use super::{Driven, Runner, RunnerEnv, RuntimeConfig, Submitted, load};
use crate::node::clock::Clock;
use crate::node::pool::Pool;
use crate::replicas::partition::{HighWatermarkListener, Partition};

/// How long an append that found no room waits before it is tried again.
const FULL_BACKOFF: Duration = Duration::from_millis(10);
/// How long a partition whose coordinator panicked waits before it is loaded again.
const RELOAD_BACKOFF: Duration = Duration::from_millis(if cfg!(test) { 10 } else { 1000 });

/// The partitions of one coordinator that this broker leads.
pub(crate) struct PartitionRunners<S: Shard> {
    /// Makes the state machine of a partition that is to be loaded.
    new_shard: Box<dyn Fn() -> S + Send + Sync>,
    env: Arc<RunnerEnv<S>>,
    pub(super) shards: RwLock<HashMap<i32, Arc<LeaderShard<S>>>>,
}

impl<S: Driven> PartitionRunners<S> {
    /// A coordinator that leads nothing yet; on a thread of its runtime.
    ///
    /// `initial` gives the events that bring a new shard up to the present. It is called under the lock of a
    /// partition whose shard has just become active. Its state must therefore change *before*
    /// [`event`](Self::event) is called: then a shard misses no event, and at worst gets one twice.
    ///
    /// `effects` is given what shards want done outside, under the lock of a partition.
    pub(crate) fn new(
        config: RuntimeConfig,
        clock: Clock,
        new_shard: impl Fn() -> S + Send + Sync + 'static,
        initial: impl Fn() -> Vec<S::Event> + Send + Sync + 'static,
        effects: impl Fn(Source<S>, S::Effect) + Send + Sync + 'static,
    ) -> Arc<PartitionRunners<S>> {
        let env = Arc::new(RunnerEnv {
            config,
            initial: Box::new(initial),
            effects: Box::new(effects),
            jobs: Pool::new(config.jobs),
            runtime: Handle::current(),
            clock,
            panics: AtomicU64::new(0),
            load_times: LoadTimes::default(),
        });
        Arc::new(PartitionRunners {
            new_shard: Box::new(new_shard),
            env,
            shards: RwLock::default(),
        })
    }

    /// Panics: those that took a partition down, and those of computations.
    pub(crate) fn panics(&self) -> u64 {
        self.env.panics.load(Ordering::Relaxed)
    }

    /// How long loads took of late.
    pub(crate) fn load_figures(&self) -> LoadFigures {
        self.env.load_times.figures(self.env.clock.monotonic_ms())
    }

    /// This broker became the leader of a partition: loads it in the background.
    pub(crate) fn elected(self: &Arc<Self>, partition: Arc<Partition>, leader_epoch: i32) {
        let index = partition.index;
        let (shard, old) = {
            let mut all = self.shards.write();
            if let Some(old) = all.get(&index) {
                if old.leader_epoch.load(Ordering::Acquire) >= leader_epoch {
                    return;
                }
                let is_active = old.state.lock().runner.state() == RunnerState::Active;
                if is_active {
                    // Elected again with the state at hand: nothing was lost in between.
                    old.leader_epoch.store(leader_epoch, Ordering::Release);
                    let old = Arc::clone(old);
                    drop(all);
                    // It may have risen before the epoch was known here.
                    old.high_watermark_raised();
                    return;
                }
            }
            let shard = self.make(partition, leader_epoch);
            let old = all.insert(index, Arc::clone(&shard));
            (shard, old)
        };
        if let Some(old) = old {
            old.close();
        }
        self.start(shard);
    }

    /// Loads a partition again whose runner has failed, unless it moved away.
    fn reload(self: &Arc<Self>, old: &Arc<LeaderShard<S>>) {
        let shard = {
            let mut all = self.shards.write();
            let index = old.partition.index;
            if !all.get(&index).is_some_and(|shard| Arc::ptr_eq(shard, old)) {
                return;
            }
            let epoch = old.leader_epoch.load(Ordering::Acquire);
            let shard = self.make(Arc::clone(&old.partition), epoch);
            all.insert(index, Arc::clone(&shard));
            shard
        };
        old.close();
        self.start(shard);
    }

    /// A runner that refuses requests until its partition is loaded.
    fn new_runner(&self) -> Runner<S> {
        Runner::with_proofs((self.new_shard)(), self.env.config.runner)
    }

    /// A partition that is to be loaded.
    fn make(&self, partition: Arc<Partition>, leader_epoch: i32) -> Arc<LeaderShard<S>> {
        LeaderShard::new(partition, leader_epoch, self.new_runner(), Arc::clone(&self.env))
    }

    /// Loads the partition and keeps its timers.
    fn start(self: &Arc<Self>, shard: Arc<LeaderShard<S>>) {
        let index = shard.partition.index;
        let listener: Weak<dyn HighWatermarkListener> = shard.me.clone();
        shard.partition.set_listener(listener);
        let loading = Arc::clone(&shard);
        let runner = self.new_runner();
        // An empty partition, which is the usual case for most of fifty, loads here and now.
        if shard.partition.log.log_end_offset() == shard.partition.log.log_start_offset() {
            load::load(&loading, runner);
        } else {
            tokio::task::spawn_blocking(move || load::load(&loading, runner));
        }
        let this = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                let Some(runners) = this.upgrade() else { return };
                let still_led = runners
                    .shards
                    .read()
                    .get(&index)
                    .is_some_and(|current| Arc::ptr_eq(current, &shard));
                if !still_led {
                    return;
                }
                let clock = runners.env.clock.clone();
                let wake_at = shard.wake_at_ms.load(Ordering::Acquire);
                if wake_at <= clock.monotonic_ms() {
                    shard.with(|runner, now| runner.advance(now));
                    drop(runners);
                    tokio::task::yield_now().await;
                    continue;
                }
                drop(runners);
                let wake = async {
                    match wake_at {
                        u64::MAX => std::future::pending().await,
                        at => clock.sleep_until(at).await,
                    }
                };
                tokio::select! {
                    () = shard.wake_changed.notified() => {}
                    () = wake => {}
                    () = shard.full.notified() => {
                        tokio::time::sleep(FULL_BACKOFF).await;
                        shard.try_again();
                    }
                    () = shard.reload.notified() => {
                        // What made it panic may be in its log, and do so again.
                        tokio::time::sleep(RELOAD_BACKOFF).await;
                        if let Some(runners) = this.upgrade() {
                            runners.reload(&shard);
                        }
                        return;
                    }
                }
            }
        });
    }

    /// The partition moved away, or is gone.
    pub(crate) fn resigned(&self, index: i32, leader_epoch: Option<i32>) {
        let shard = {
            let mut all = self.shards.write();
            match all.get(&index) {
                Some(shard)
                    if leader_epoch
                        .is_none_or(|epoch| epoch > shard.leader_epoch.load(Ordering::Acquire)) =>
                {
                    all.remove(&index)
                }
                _ => None,
            }
        };
        if let Some(shard) = shard {
            shard.close();
        }
    }

    /// The broker stops: everything parked is answered.
    pub(crate) fn close(&self) {
        let all: Vec<_> = self.shards.write().drain().map(|(_, shard)| shard).collect();
        for shard in all {
            shard.close();
        }
    }

    /// Partitions led here.
    pub(crate) fn partitions(&self) -> Vec<i32> {
        let mut all: Vec<i32> = self.shards.read().keys().copied().collect();
        all.sort_unstable();
        all
    }

    /// Handles a request on the partition's shard. `proof` is of a request in a producer's transaction.
    pub(crate) fn submit(
        &self,
        index: i32,
        request: S::Request,
        proof: Option<TransactionCheck>,
    ) -> Submitted<S::Response> {
        let Some(shard) = self.shards.read().get(&index).cloned() else {
            return Submitted::Now(S::refuse(&request, ErrorCode::NOT_COORDINATOR));
        };
        shard.submit(request, proof)
    }

    /// A partition that this broker coordinates.
    pub(crate) fn partition(&self, index: i32) -> Option<Arc<Partition>> {
        self.shards.read().get(&index).map(|shard| Arc::clone(&shard.partition))
    }

    /// Gives an event from outside the log to the shard of every partition led here. A shard that is loading
    /// gets the events of `initial` when it is loaded.
    pub(crate) fn event(&self, make: impl Fn() -> S::Event) {
        let all: Vec<_> = self.shards.read().values().cloned().collect();
        for shard in all {
            shard.with(|runner, now| runner.event(make(), now));
        }
    }

    /// Gives an event to the shard of one partition, if that is led here and loaded.
    pub(crate) fn event_to(&self, index: i32, event: S::Event) {
        let shard = self.shards.read().get(&index).cloned();
        if let Some(shard) = shard {
            shard.with(|runner, now| runner.event(event, now));
        }
    }

    /// Looks at the shard of every partition led here; again for as long as `look` says that it has not seen
    /// all of it. In between the shard works on.
    pub(crate) fn each_shard(&self, mut look: impl FnMut(i32, &S) -> ControlFlow<()>) {
        let all: Vec<_> =
            self.shards.read().iter().map(|(i, shard)| (*i, Arc::clone(shard))).collect();
        for (index, shard) in all {
            while look(index, shard.state.lock().runner.shard()).is_continue() {}
        }
    }
}
