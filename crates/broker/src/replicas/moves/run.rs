//! Working on the moves: so many tasks, each a step of one partition after the other.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use thalweg_log::{CopyStep, Log, MoveError};

use super::plan::{Next, Now};
use super::throttle::step_bytes;
use super::{Key, Move, Moves, assigned};
use crate::replicas::Replicas;
use crate::replicas::partition::Partition;

/// What lacked a descriptor or memory is tried again after this.
const RETRY_MS: u64 = 1_000;

/// A step that came to nothing is tried again after this: the log is being cut, or compacted.
const NOTHING_MS: u64 = 50;

/// Without anything to do it is looked again after this, also without a wake-up.
const LOOK_AGAIN_MS: u64 = 10_000;

/// A step of one move.
struct Step {
    key: Key,
    partition: Arc<Partition>,
    future: Arc<Log>,
    next: Next,
    max_bytes: u32,
}

/// What there is to do.
enum Work {
    Step(Step),
    WaitMs(u64),
}

/// What a step has come to.
enum Done {
    Copied(CopyStep),
    Moved(bool),
}

/// Moves partitions for as long as it is polled, one of [`super::threads`].
pub(crate) async fn run(replicas: Arc<Replicas>) {
    let mut buffer = Vec::new();
    loop {
        let mut published = std::pin::pin!(replicas.node.published().notified());
        let mut changed = std::pin::pin!(replicas.moves().changed.notified());
        // Before it is looked, so that nothing is missed.
        published.as_mut().enable();
        changed.as_mut().enable();
        match replicas.moves().take(&replicas) {
            Work::Step(step) => buffer = go(&replicas, step, buffer).await,
            Work::WaitMs(wait) => {
                // Memory is for who works.
                buffer = Vec::new();
                let wait = Duration::from_millis(wait.min(LOOK_AGAIN_MS));
                tokio::select! {
                    () = published => {}
                    () = changed => {}
                    () = tokio::time::sleep(wait) => {}
                }
            }
        }
    }
}

impl Moves {
    /// The next step: of the partition that comes after the one that had the last.
    fn take(&self, replicas: &Replicas) -> Work {
        let now_ms = replicas.node.clock().monotonic_ms();
        let rate = replicas.node.settings().config.alter_log_dirs_bytes_per_second();
        let throttled = self.throttle.lock().wait_ms(rate, now_ms);
        let mut wait = u64::MAX;
        let mut table = self.moves.lock();
        let last = table.last;
        let after = match last {
            Some(last) => (Bound::Excluded(last), Bound::Unbounded),
            None => (Bound::Unbounded, Bound::Unbounded),
        };
        let rest = table.by_partition.range(after).map(|(key, _)| *key);
        let first = table.by_partition.keys().copied().take_while(|key| Some(*key) <= last);
        let order: Vec<Key> = rest.chain(first).collect();
        for key in order {
            let Some(it) = table.by_partition.get_mut(&key) else { continue };
            if it.is_busy || it.has_failed {
                continue;
            }
            if it.retry_ms > now_ms {
                wait = wait.min(it.retry_ms - now_ms);
                continue;
            }
            let next = it.next(replicas, key, now_ms);
            match next {
                Next::WaitUntil(until) => wait = wait.min(until.saturating_sub(now_ms)),
                Next::Tell => {
                    it.told_ms = Some(now_ms);
                    replicas.news.assign(key.0, vec![(key.1, it.future.dir().id())]);
                }
                Next::Copy | Next::Switch => {
                    if let Some(throttled) = throttled {
                        wait = wait.min(throttled);
                        continue;
                    }
                    it.is_busy = true;
                    let step = Step {
                        key,
                        partition: Arc::clone(&it.partition),
                        future: Arc::clone(&it.future),
                        next,
                        max_bytes: step_bytes(rate),
                    };
                    table.last = Some(key);
                    return Work::Step(step);
                }
            }
        }
        Work::WaitMs(wait.max(1))
    }
}

impl Move {
    fn next(&self, replicas: &Replicas, key: Key, now_ms: u64) -> Next {
        let (is_caught_up, told_ms) = (self.is_caught_up, self.told_ms);
        let assigned = assigned(replicas, key);
        Now { is_caught_up, to: self.future.dir().id(), assigned, told_ms, now_ms }.next()
    }
}

async fn go(replicas: &Arc<Replicas>, step: Step, mut buffer: Vec<u8>) -> Vec<u8> {
    let Step { key, partition, future, next, max_bytes } = step;
    let (copying, moved) = (Arc::clone(replicas), Arc::clone(&partition));
    let to = Arc::clone(&future);
    let pool = replicas.disk_moves().of(future.dir());
    let ran = pool.run(move || {
        let now_ms = copying.node.clock().wall_ms();
        let log = &moved.log;
        let done = match next {
            Next::Switch => copying
                .logs
                .replace_with_future(log, &to, &mut buffer, max_bytes, now_ms)
                .map(Done::Moved),
            _ => copying
                .logs
                .copy_to_future(log, &to, &mut buffer, max_bytes, now_ms)
                .map(Done::Copied),
        };
        (done, buffer)
    });
    let Ok((done, buffer)) = ran.await else {
        if !replicas.node.is_stopping() {
            replicas.moves().fail(replicas, key, &future, "the step panicked");
        }
        return Vec::new();
    };
    match done {
        Ok(Done::Copied(copied)) => {
            replicas.moves().throttle.lock().moved(copied.bytes);
            let is_nothing = copied.bytes == 0 && !copied.is_caught_up;
            let now_ms = replicas.node.clock().monotonic_ms();
            replicas.moves().with(key, &future, |it| {
                it.is_caught_up = copied.is_caught_up;
                if is_nothing {
                    it.retry_ms = now_ms + NOTHING_MS;
                }
            });
        }
        // What was appended since is too much to go with the switch, or a pass of the cleaner is not at its end.
        Ok(Done::Moved(false)) => {
            let now_ms = replicas.node.clock().monotonic_ms();
            replicas.moves().with(key, &future, |it| {
                (it.is_caught_up, it.retry_ms) = (false, now_ms + NOTHING_MS);
            });
        }
        Ok(Done::Moved(true)) => {
            replicas.moves().end(key, &future);
            partition.has_moved();
        }
        // It was deleted, given up, or the broker stops.
        Err(MoveError::Closed) => replicas.moves().end(key, &future),
        Err(error) if error.is_retriable() => {
            tracing::warn!(topic = %partition.topic, partition = partition.index, %error,
                "a move waits");
            let retry_ms = replicas.node.clock().monotonic_ms() + RETRY_MS;
            replicas.moves().with(key, &future, |it| it.retry_ms = retry_ms);
        }
        Err(error) => {
            let is_offline = |log: &Log| log.dir().check().is_err();
            if is_offline(&future) || is_offline(&partition.log) {
                // The report of the directory gives the move up.
                replicas.moves().with(key, &future, |it| it.has_failed = true);
                replicas.news.wake();
            } else {
                replicas.moves().fail(replicas, key, &future, &error.to_string());
            }
        }
    }
    buffer
}

impl Moves {
    /// A step is over.
    fn with(&self, key: Key, future: &Arc<Log>, change: impl FnOnce(&mut Move)) {
        let mut table = self.moves.lock();
        let of_key = table.by_partition.get_mut(&key);
        if let Some(it) = of_key.filter(|it| Arc::ptr_eq(&it.future, future)) {
            it.is_busy = false;
            change(it);
        }
        drop(table);
        // Others may have found nothing because this one had it.
        self.changed.notify_waiters();
    }

    fn end(&self, key: Key, future: &Arc<Log>) {
        let mut table = self.moves.lock();
        if table.by_partition.get(&key).is_some_and(|it| Arc::ptr_eq(&it.future, future)) {
            table.by_partition.remove(&key);
        }
    }

    /// A move is not gone on with: the partition stays where it is.
    fn fail(&self, replicas: &Replicas, key: Key, future: &Arc<Log>, reason: &str) {
        let mut told = None;
        self.with(key, future, |it| {
            it.has_failed = true;
            replicas.logs().suspend_move(&it.partition.log);
            if it.told_ms.take().is_some() {
                told = Some(it.partition.log.dir().id());
            }
            tracing::error!(topic = %it.partition.topic, partition = it.partition.index, reason,
                to = %future.dir().path().display(), "the partition does not move");
        });
        if let Some(dir) = told {
            replicas.news.assign(key.0, vec![(key.1, dir)]);
        }
    }
}
