//! Periodic tasks: retention, flushes, checkpoints, expiry, and reports of log directories that failed.

use std::sync::Arc;
use std::time::Duration;

use thalweg_log::{DirLogs, LogDir};
use tokio::task::JoinHandle;

use crate::api::services::Services;
use crate::control::kraft::Controller;
use crate::control::{Control, registration};
use crate::coordination::Coordination;
use crate::coordination::transactions::LATE_CHECK_MS;
use crate::replicas::{Replicas, moves, open, replication, roles};

/// Reports news of log directories to the controller, until the broker stops.
pub(super) fn report_directories(services: &Arc<Services>) -> JoinHandle<()> {
    let served = Arc::clone(services);
    services.node.spawn_until_stopped(async move {
        let Services { node, control, replicas, .. } = &*served;
        let news = control.news();
        loop {
            news.changed().await;
            // A partition that was moving from or to a directory that failed is where it is, and is reported so before
            // the failure is.
            replicas.settle_moves();
            control.report_assignments().await;
            let is_lost = replicas.has_offline_dir() && !node.is_stopping();
            if is_lost {
                replicas.resign_offline();
            }
            if news.take_cordoned() || is_lost {
                registration::report_directories(control).await;
            }
        }
    })
}

/// Does `work` again and again, one after the other with all that has the same `turn`: first after
/// `delay`, then after `interval` each time.
fn every_after(
    delay: i64,
    services: &Arc<Services>,
    turn: Arc<Turn>,
    interval: impl Fn(&Services) -> i64 + Send + 'static,
    work: impl Fn(&Services) + Send + Sync + 'static,
) -> JoinHandle<()> {
    let (served, work) = (Arc::clone(services), Arc::new(work));
    let mut ahead_ms = services.node.clock().ahead_ms();
    services.node.spawn_until_stopped(async move {
        let mut pause = delay;
        loop {
            let pause_ms = u64::try_from(pause).unwrap_or(1).max(1);
            served.node.clock().sleep_since(ahead_ms, Duration::from_millis(pause_ms)).await;
            let _turn = turn.lock().await;
            // A test may move the clock while the work is done: that counts for the pause behind it.
            ahead_ms = served.node.clock().ahead_ms();
            let (services, work) = (Arc::clone(&served), Arc::clone(&work));
            if tokio::task::spawn_blocking(move || work(&services)).await.is_err() {
                tracing::error!("housekeeping panicked; it goes on with the next turn");
            }
            pause = interval(&served);
        }
    })
}

/// Held by what is done for a log directory: its disk may hang, and then one thread does, not one
/// for each thing there is to do.
type Turn = tokio::sync::Mutex<()>;

/// What is done for each of some log directories, without any waiting for another one's disk.
struct Dirs<'a> {
    services: &'a Arc<Services>,
    dirs: Vec<(Arc<LogDir>, Arc<Turn>)>,
    tasks: Vec<JoinHandle<()>>,
}

impl Dirs<'_> {
    fn every_after(
        &mut self,
        delay: i64,
        interval: impl Fn(&Services) -> i64 + Copy + Send + 'static,
        work: impl Fn(&Services, DirLogs<'_>) + Copy + Send + Sync + 'static,
    ) {
        for (dir, turn) in &self.dirs {
            let dir = Arc::clone(dir);
            let work = move |b: &Services| work(b, b.replicas.logs().in_dir(&dir));
            self.tasks.push(every_after(delay, self.services, Arc::clone(turn), interval, work));
        }
    }

    /// The same without a delay of its own.
    fn every(
        &mut self,
        interval: impl Fn(&Services) -> i64 + Copy + Send + 'static,
        work: impl Fn(&Services, DirLogs<'_>) + Copy + Send + Sync + 'static,
    ) {
        self.every_after(interval(self.services), interval, work);
    }
}

/// Checkpoints of the metadata are looked at this often.
const METADATA_TIDY_MS: i64 = 60_000;

/// Partitions that could not be opened are tried again after this.
const OPEN_AGAIN: Duration = Duration::from_secs(1);

/// Flushes are looked for at least this often, whatever the scheduler's interval says.
const FLUSH_MS_MAX: i64 = 2_000;

/// Opens what could not be opened for lack of descriptors or memory, for as long as it is polled.
async fn open_again(replicas: Arc<Replicas>) {
    loop {
        replicas.unopened_added().notified().await;
        tokio::time::sleep(OPEN_AGAIN).await;
        replicas.open_missing();
    }
}

/// Followers are looked at this often: half of `replica.lag.time.max.ms`.
fn lag(services: &Services) -> i64 {
    (services.node.settings().config.replica_lag_time_max_ms() / 2).max(1)
}

fn check_lag(services: &Services) {
    for topic in services.replicas.topics().iter() {
        topic.partitions().for_each(|partition| partition.check_lag());
    }
}

fn report_late(services: &Services) {
    services.coordination.report_late_transactions();
}

async fn keep_producer_ids(control: Arc<Control>) {
    control.producer_ids().keep(&control).await;
}

async fn write_markers(coordination: Arc<Coordination>) {
    coordination.transaction_writes().markers().run(&coordination).await;
}

async fn ask_for_isrs(services: Arc<Services>) {
    let control = &services.control;
    replication::ask_for_isrs(Arc::clone(&services.replicas), |request| control.send(request))
        .await;
}

/// Starts everything that runs by the clock, until the broker stops.
pub(crate) fn spawn(services: &Arc<Services>) -> Vec<JoinHandle<()>> {
    // `log.initial.task.delay.ms`: a start has better things to do.
    let delay = services.node.settings().log_initial_task_delay_ms();
    let Services { node, control, replicas, coordination, .. } = &**services;
    let mut tasks = vec![
        node.spawn_until_stopped(ask_for_isrs(Arc::clone(services))),
        node.spawn_until_stopped(replication::take_over_stuck(Arc::clone(replicas))),
        every_after(lag(services), services, Arc::default(), lag, check_lag),
        every_after(LATE_CHECK_MS, services, Arc::default(), |_| LATE_CHECK_MS, report_late),
        node.spawn_until_stopped(open_again(Arc::clone(replicas))),
        node.spawn_until_stopped(open::run(Arc::clone(replicas))),
        node.spawn_until_stopped(roles::run(Arc::clone(replicas))),
        node.spawn_until_stopped(coordination.groups().log_rebalances()),
        node.spawn_until_stopped(keep_producer_ids(Arc::clone(control))),
        node.spawn_until_stopped(write_markers(Arc::clone(coordination))),
    ];
    for _ in 0..moves::threads(&node.settings().config, replicas.logs().dirs()) {
        tasks.push(node.spawn_until_stopped(moves::run(Arc::clone(replicas))));
    }
    // An observer of other nodes' controllers looks after its log by itself.
    if let Controller::Embedded(controller) = control.controller() {
        let interval =
            |b: &Services| match b.node.settings().metadata_log_max_snapshot_interval_ms() {
                0 => METADATA_TIDY_MS,
                interval => interval.min(METADATA_TIDY_MS),
            };
        let controller = controller.clone();
        let tidy = move |_: &Services| controller.tidy();
        tasks.push(every_after(interval(services), services, Arc::default(), interval, tidy));
        tasks.push(report_directories(services));
    }
    let dirs =
        services.replicas.logs().all_dirs().map(|dir| (Arc::clone(dir), Arc::default())).collect();
    let mut all = Dirs { services, dirs, tasks };
    all.every_after(
        delay,
        |b| b.node.settings().log_retention_check_interval_ms(),
        |b, dir| {
            dir.clean_up(b.node.clock().wall_ms());
        },
    );
    all.every_after(
        delay,
        |b| b.node.settings().log_flush_scheduler_interval_ms().min(FLUSH_MS_MAX),
        |b, dir| {
            let now = b.node.clock().wall_ms();
            dir.flush_due(now);
            dir.delete_due(now);
        },
    );
    all.every_after(
        delay,
        |b| i64::from(b.node.settings().log_flush_offset_checkpoint_interval_ms()),
        |_, dir| dir.checkpoint_recovery_points(),
    );
    all.every_after(
        delay,
        |b| i64::from(b.node.settings().log_flush_start_offset_checkpoint_interval_ms()),
        |_, dir| dir.checkpoint_log_starts(),
    );
    all.every(
        |b| b.node.settings().replica_high_watermark_checkpoint_interval_ms(),
        |_, dir| {
            dir.checkpoint_high_watermarks();
            dir.close_idle_files();
        },
    );
    all.every(
        |b| i64::from(b.node.settings().producer_id_expiration_check_interval_ms()),
        |b, dir| {
            dir.expire_producers(b.node.clock().wall_ms());
        },
    );
    all.tasks
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use parking_lot::Mutex;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(20);

    /// Otherwise a test would wait in vain for what it has moved the clock for.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_clock_that_is_moved_while_work_is_done_has_it_done_again() {
        const WEEK_MS: i64 = 7 * 86_400_000;
        let clock = crate::TestClock::new();
        let hooks = crate::Hooks { clock: Some(clock.clone()), ..crate::Hooks::default() };
        let node = crate::testing::Node::start_with(&[], &[""], hooks).await;
        let (begun, is_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel();
        let (begun, may_go_on) = (Mutex::new(begun), Mutex::new(may_go_on));
        let work = move |_: &Services| {
            let _ = begun.lock().send(());
            let _ = may_go_on.lock().recv_timeout(TIMEOUT);
        };
        let task = every_after(1, node.services(), Arc::default(), |_| WEEK_MS, work);
        for _ in 0..3 {
            is_begun.recv_timeout(TIMEOUT).expect("work");
            clock.advance(Duration::from_millis(WEEK_MS as u64));
            go_on.send(()).unwrap();
        }
        is_begun.recv_timeout(TIMEOUT).expect("work");
        go_on.send(()).unwrap();
        node.shut_down().await;
        task.await.unwrap();
        assert!(is_begun.try_recv().is_err(), "a week has not passed since");
    }
}
