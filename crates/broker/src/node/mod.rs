//! What every room of the broker may know: its id, clock, settings, counters, the metadata in force, and whether it stops.
//!
//! *Invariants*: nothing here imports another room. Once a broker serves, the image that [`Node::image`] gives is in force: its
//! changes of replicas are done before (`replicas::images`), and coordinators get it right after. While a broker starts, the
//! image is only known, and nothing of it has taken effect (`boot::applier`). Settings follow from the image and are replaced
//! as a whole.

pub(crate) mod backoff;
pub(crate) mod catch_panic;
pub(crate) mod clock;
pub(crate) mod directory_news;
pub(crate) mod internal_topics;
pub(crate) mod logged_once;
pub(crate) mod loggers;
pub(crate) mod metadata_listener;
pub(crate) mod metrics;
pub(crate) mod pool;
pub(crate) mod random;
pub(crate) mod record_scan;
pub(crate) mod settings;
pub(crate) mod view;
pub(crate) mod workspace;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arc_swap::{ArcSwap, Guard};
use parking_lot::Mutex;
use thalweg_metadata::config::BrokerConfig;
use thalweg_metadata::image::MetadataImage;
use thalweg_wire::Uuid;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use catch_panic::CatchPanic;
use clock::Clock;
use loggers::LogLevels;
use metrics::Metrics;
use random::Random;
use settings::Settings;
use view::View;

/// The node that this process is.
pub(crate) struct Node {
    id: i32,
    cluster_id: String,
    clock: Clock,
    random: Random,
    metrics: Metrics,
    log_levels: Option<Arc<dyn LogLevels>>,
    /// Configuration as files and command line gave it; dynamic configs go on top.
    static_config: BrokerConfig,
    settings: ArcSwap<Settings>,
    image: ArcSwap<MetadataImage>,
    published: Notify,
    /// Epoch of this broker's registration; -1 before there is one.
    broker_epoch: AtomicI64,
    /// Set once, when the broker has to stop: tasks beside requests end with it ([`Self::spawn_until_stopped`]).
    shutdown: watch::Sender<bool>,
    /// Why it stops by itself, if it does.
    fatal: Mutex<Option<String>>,
}

impl Node {
    pub(crate) fn new(
        cluster_id: String,
        clock: Clock,
        random: Random,
        log_levels: Option<Arc<dyn LogLevels>>,
        config: BrokerConfig,
        image: Arc<MetadataImage>,
    ) -> Arc<Node> {
        Arc::new(Node {
            id: config.node_id(),
            cluster_id,
            clock,
            random,
            metrics: Metrics::new(),
            log_levels,
            settings: ArcSwap::from_pointee(Settings::new(config.clone())),
            static_config: config,
            image: ArcSwap::new(image),
            published: Notify::new(),
            broker_epoch: AtomicI64::new(-1),
            shutdown: watch::Sender::new(false),
            fatal: Mutex::new(None),
        })
    }

    /// `node.id`
    #[inline]
    pub(crate) fn id(&self) -> i32 {
        self.id
    }

    pub(crate) fn cluster_id(&self) -> &str {
        &self.cluster_id
    }

    #[inline]
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(crate) fn random(&self) -> &Random {
        &self.random
    }

    #[inline]
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The levels of the process's log, if it lets them be changed.
    pub(crate) fn log_levels(&self) -> Option<&dyn LogLevels> {
        self.log_levels.as_deref()
    }

    /// Configuration without dynamic configs.
    pub(crate) fn static_config(&self) -> &BrokerConfig {
        &self.static_config
    }

    /// The configuration now.
    #[inline]
    pub(crate) fn settings(&self) -> Guard<Arc<Settings>> {
        self.settings.load()
    }

    pub(crate) fn set_settings(&self, settings: Settings) {
        self.settings.store(Arc::new(settings));
    }

    /// The metadata now.
    #[inline]
    pub(crate) fn image(&self) -> View {
        View(self.image.load_full())
    }

    /// The metadata now, for a look that keeps nothing: cheaper than [`Self::image`].
    #[inline]
    pub(crate) fn load_image(&self) -> Guard<Arc<MetadataImage>> {
        self.image.load()
    }

    /// The image from now on. Tasks that wait for one are woken by [`Self::notify_published`].
    pub(crate) fn set_image(&self, image: Arc<MetadataImage>) {
        self.image.store(image);
    }

    /// Wakes the tasks that wait for an image.
    pub(crate) fn notify_published(&self) {
        self.published.notify_waiters();
    }

    /// Notified when an image is in force.
    pub(crate) fn published(&self) -> &Notify {
        &self.published
    }

    /// Looks at the newest image with the configuration of now.
    pub(crate) fn with_controller_context<R>(
        &self,
        look: impl FnOnce(&thalweg_metadata::controller::Context<'_>) -> R,
    ) -> R {
        let image = self.image();
        let settings = self.settings();
        look(&thalweg_metadata::controller::Context { image: &image, config: &settings.config })
    }

    /// Leader and leader epoch of a partition without a replica on this node. For a moment the table of topics may be
    /// newer than the image, which names this node as the leader then.
    pub(crate) fn leader_elsewhere(&self, topic: Uuid, index: i32) -> Option<(i32, i32)> {
        let image = self.image();
        let partition = image.topics.partition(topic, index)?;
        (partition.leader != self.id).then_some((partition.leader, partition.leader_epoch))
    }

    /// The epoch of this broker's registration, which its requests to the controller carry; -1 before there is one.
    pub(crate) fn broker_epoch(&self) -> i64 {
        self.broker_epoch.load(Ordering::Acquire)
    }

    pub(crate) fn set_broker_epoch(&self, epoch: i64) {
        self.broker_epoch.store(epoch, Ordering::Release);
    }

    /// Stops the broker.
    pub(crate) fn stop(&self) {
        self.shutdown.send_replace(true);
    }

    /// Stops the broker for a reason of its own.
    pub(crate) fn fail(&self, reason: &str) {
        self.fatal.lock().get_or_insert_with(|| reason.to_owned());
        self.stop();
    }

    /// Work whose thread or task has ended early: it panicked, unless the broker stops.
    pub(crate) fn fail_unless_stopping(&self, work: &str) {
        if !self.is_stopping() {
            self.metrics.panics.add(1);
            self.fail(&format!("{work} panicked; see the message above"));
        }
    }

    /// Why the broker stopped by itself.
    pub(crate) fn fatal(&self) -> Option<String> {
        self.fatal.lock().clone()
    }

    /// Whether the broker stops: requests that wait are answered with what there is.
    pub(crate) fn is_stopping(&self) -> bool {
        *self.shutdown.borrow()
    }

    /// Becomes true when the broker stops.
    pub(crate) fn subscribe_shutdown(&self) -> watch::Receiver<bool> {
        self.shutdown.subscribe()
    }

    /// Does `work` on a task of its own until the broker stops. Work on a thread that may wait is not waited for then,
    /// and done to its end. A panic stops the broker, because the work would not be done any more.
    pub(crate) fn spawn_until_stopped(
        self: &Arc<Self>,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<()> {
        let mut shutdown = self.shutdown.subscribe();
        let node = Arc::clone(self);
        // A task is compiled for each type of future, and there are dozens that run for as long as the broker.
        let work: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(work);
        tokio::spawn(async move {
            tokio::select! {
                ended = CatchPanic(work) => {
                    if ended.is_err() {
                        node.metrics.panics.add(1);
                        node.fail("a task of the broker panicked; see the message above");
                    }
                }
                _ = shutdown.wait_for(|stop| *stop) => {}
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use thalweg_metadata::config::Properties;
    use thalweg_metadata::config::broker::Mode;

    use super::*;

    impl Node {
        /// A node with id 1 that knows nothing of its cluster.
        pub(crate) fn of_broker_1() -> Arc<Node> {
            let props = Properties::from([("node.id".to_owned(), "1".to_owned())]);
            let config = BrokerConfig::new(props, Mode::Embedded).unwrap();
            let image = Arc::new(MetadataImage::empty());
            Node::new("test".into(), Clock::new(None), Random::new(), None, config, image)
        }
    }
}
