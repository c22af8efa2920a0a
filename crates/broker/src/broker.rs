//! One broker: what its parts share. How metadata takes effect on them: `publisher`.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::{ArcSwap, Guard};
use parking_lot::Mutex;
use thalweg_log::LogManager;
use thalweg_metadata::config::BrokerConfig;
use thalweg_metadata::image::MetadataImage;
use thalweg_wire::{ErrorCode, Uuid};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use crate::api::ApiTable;
use crate::api::fetch_session::{self, SessionCache};
use crate::control::auto_topics::AutoTopics;
use crate::control::directories::Directories;
use crate::control::kraft::{Controller, ControllerError};
use crate::control::producer_ids::ProducerIds;
use crate::coordination::groups::Groups;
use crate::coordination::transaction_coordinator::TransactionCoordinator;
use crate::coordination::transactions::Transactions;
use crate::net::allowed::Connections;
use crate::net::budget::Budget;
use crate::node::catch_panic::CatchPanic;
use crate::node::clock::Clock;
use crate::node::loggers::LogLevels;
use crate::node::metrics::Metrics;
use crate::node::pool::{CHANGES_PER_DIR, DirPools, READS_PER_DIR};
use crate::node::random::Random;
use crate::node::settings::Settings;
use crate::node::view::View;
use crate::replicas::moves::Moves;
use crate::replicas::openings::{Indexes, Openings};
use crate::replicas::partition::Shared;
use crate::replicas::replication::{Fetchers, IsrChanges, ShortPolls, Throttles};
use crate::replicas::topics::{TopicTable, TopicsGuard};

/// How long a stop waits for the answers to what is being served.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Everything that requests share.
pub(crate) struct Broker {
    pub(crate) node_id: i32,
    pub(crate) cluster_id: String,
    /// Directory of the metadata log.
    pub(crate) metadata_directory: Uuid,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    pub(crate) apis: ApiTable,
    pub(crate) metrics: Metrics,
    pub(crate) request_budget: Arc<Budget>,
    /// Memory for copies of records in answers to fetches.
    pub(crate) fetch_budget: Arc<Budget>,
    /// Memory for answers to fetches of many partitions, beside their records. It is a budget of its own: a fetch that
    /// waits must not hold what another one needs to be answered.
    pub(crate) answer_budget: Arc<Budget>,
    pub(crate) connections: Arc<Connections>,
    pub(crate) sessions: Mutex<SessionCache>,
    pub(crate) disk_reads: DirPools,
    /// Beside the reads: a flush that hangs stops no read.
    pub(crate) disk_changes: DirPools,
    /// Beside both: moves take long, and wait for two disks.
    pub(crate) disk_moves: DirPools,
    pub(crate) moves: Moves,
    pub(crate) logs: LogManager,
    pub(crate) groups: Groups,
    pub(crate) transactions: Transactions,
    /// The transactions that this broker coordinates.
    pub(crate) coordinated: TransactionCoordinator,
    pub(crate) controller: Controller,
    pub(crate) producer_ids: Arc<ProducerIds>,
    pub(crate) directories: Directories,
    /// Held while a heartbeat is in flight, so that the next one says what is so later.
    pub(crate) heartbeat: tokio::sync::Mutex<()>,
    pub(crate) auto_topics: AutoTopics,
    pub(crate) log_levels: Option<Arc<dyn LogLevels>>,
    /// Set once, when the broker has to stop: whatever runs beside requests ends with it
    /// ([`Self::spawn_until_stopped`]), listeners and housekeeping alike.
    pub(crate) shutdown: watch::Sender<bool>,
    /// Set when connections that are still there are closed, whatever they wait for. Each of them
    /// holds a receiver until it is closed.
    pub(crate) cut_off: watch::Sender<bool>,
    /// Why it stops by itself, if it does.
    fatal: Mutex<Option<String>>,
    /// Configuration as files and command line gave it; dynamic configs go on top.
    pub(crate) static_config: BrokerConfig,
    pub(crate) settings: ArcSwap<Settings>,
    /// The image in force, and what else partitions go by.
    pub(crate) shared: Arc<Shared>,
    pub(crate) topics: ArcSwap<TopicTable>,
    /// Held by whoever replaces image or topics: for changes of the metadata, and to open partitions
    /// later. Whoever holds it does not ask the controller, which takes it to publish what it decided.
    pub(crate) publishing: Mutex<()>,
    /// What this broker fetches from others.
    pub(crate) fetchers: Fetchers,
    /// Partitions whose logs are to be opened.
    pub(crate) openings: Openings,
    /// Those whose logs could not be opened for lack of descriptors or memory: they wait again after a while.
    pub(crate) unopened: Mutex<Indexes>,
    /// There are some.
    pub(crate) unopened_added: Notify,
    connection_ids: AtomicU64,
}

/// What a broker is made of.
pub(crate) struct Parts {
    pub(crate) cluster_id: String,
    pub(crate) metadata_directory: Uuid,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    pub(crate) logs: LogManager,
    pub(crate) groups: Groups,
    pub(crate) coordinated: TransactionCoordinator,
    pub(crate) producer_ids: Arc<ProducerIds>,
    pub(crate) controller: Controller,
    pub(crate) connections: Arc<Connections>,
    pub(crate) config: BrokerConfig,
    pub(crate) image: Arc<MetadataImage>,
    pub(crate) fetch_memory: usize,
    pub(crate) log_levels: Option<Arc<dyn LogLevels>>,
}

impl Broker {
    pub(crate) fn new(parts: Parts) -> Arc<Broker> {
        let settings = Settings::new(parts.config.clone());
        let shared = Arc::new(Shared {
            node_id: parts.config.node_id(),
            clock: parts.clock.clone(),
            image: ArcSwap::new(parts.image),
            lag_time_max_ms: u64::try_from(parts.config.replica_lag_time_max_ms()).unwrap_or(0),
            isr_changes: IsrChanges::default(),
            short_polls: ShortPolls::default(),
            throttles: Throttles::new(&parts.config),
            published: Notify::new(),
        });
        Arc::new(Broker {
            node_id: parts.config.node_id(),
            cluster_id: parts.cluster_id,
            metadata_directory: parts.metadata_directory,
            clock: parts.clock,
            random: parts.random,
            apis: ApiTable::new(),
            metrics: Metrics::new(),
            request_budget: Budget::with_reserve(
                crate::node::settings::request_memory(&parts.config),
                crate::node::settings::request_reserve(&parts.config),
            ),
            fetch_budget: Budget::new(parts.fetch_memory),
            connections: parts.connections,
            answer_budget: Budget::new(parts.fetch_memory),
            sessions: Mutex::new(SessionCache::new(fetch_session::Limits {
                slots: usize::try_from(parts.config.fetch_session_slots()).unwrap_or(0),
                bytes: crate::node::settings::fetch_session_memory(),
            })),
            disk_reads: DirPools::new(parts.logs.dirs(), READS_PER_DIR),
            disk_changes: DirPools::new(parts.logs.dirs(), CHANGES_PER_DIR),
            disk_moves: DirPools::new(
                parts.logs.dirs(),
                crate::replicas::moves::threads(&parts.config, parts.logs.dirs()),
            ),
            moves: Moves::default(),
            logs: parts.logs,
            groups: parts.groups,
            transactions: Transactions::default(),
            coordinated: parts.coordinated,
            controller: parts.controller,
            producer_ids: parts.producer_ids,
            directories: Directories::default(),
            heartbeat: tokio::sync::Mutex::default(),
            auto_topics: AutoTopics::default(),
            log_levels: parts.log_levels,
            shutdown: watch::Sender::new(false),
            cut_off: watch::Sender::new(false),
            fatal: Mutex::new(None),
            static_config: parts.config,
            settings: ArcSwap::from_pointee(settings),
            shared,
            topics: ArcSwap::default(),
            publishing: Mutex::default(),
            fetchers: Fetchers::default(),
            openings: Openings::default(),
            unopened: Mutex::default(),
            unopened_added: Notify::new(),
            connection_ids: AtomicU64::new(0),
        })
    }

    /// The configuration now.
    #[inline]
    pub(crate) fn settings(&self) -> Guard<Arc<Settings>> {
        self.settings.load()
    }

    /// The metadata now.
    pub(crate) fn image(&self) -> View {
        View(self.shared.image.load_full())
    }

    /// Who leads a partition of which this broker has no replica, and in which epoch. For a moment the table of topics may
    /// be newer than the image, which names this broker then.
    pub(crate) fn leader_elsewhere(&self, topic: Uuid, index: i32) -> Option<(i32, i32)> {
        let image = self.image();
        let partition = image.topics.partition(topic, index)?;
        (partition.leader != self.node_id).then_some((partition.leader, partition.leader_epoch))
    }

    /// The topics now.
    #[inline]
    pub(crate) fn topics(&self) -> TopicsGuard {
        self.topics.load()
    }

    pub(crate) fn next_connection_id(&self) -> u64 {
        self.connection_ids.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn random_i32(&self) -> i32 {
        self.random.i32()
    }

    pub(crate) fn random_u128(&self) -> u128 {
        self.random.u128()
    }

    /// Features and levels, as brokers of this release support them.
    pub(crate) fn supported_features(&self) -> impl Iterator<Item = (&'static str, i16, i16)> {
        thalweg_metadata::features::SUPPORTED.iter().map(|r| (r.name, r.min, r.max))
    }

    /// The epoch of this broker's registration, which its requests to the controller carry; -1 before
    /// there is one.
    pub(crate) fn epoch(&self) -> i64 {
        match self.controller.remote() {
            Some(remote) => remote.life.epoch(),
            None => self.image().cluster.broker(self.node_id).map_or(-1, |broker| broker.epoch),
        }
    }

    /// Level of `kraft.version`, which is in no record of the image.
    pub(crate) fn kraft_version(&self) -> i16 {
        self.controller.kraft_version()
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

    /// The next producer id; asks the controller for a block when the last one is used up.
    pub(crate) async fn next_producer_id(self: &Arc<Self>) -> Result<i64, ControllerError> {
        self.producer_ids.next(self).await
    }

    /// Stops the broker for a reason of its own.
    pub(crate) fn fail(&self, reason: &str) {
        self.fatal.lock().get_or_insert_with(|| reason.to_owned());
        self.shutdown.send_replace(true);
    }

    /// Whether the broker stops: who waits for something is answered with what there is.
    pub(crate) fn is_stopping(&self) -> bool {
        *self.shutdown.borrow()
    }

    /// Does `work` on a task of its own until the broker stops. What is on a thread that may wait then
    /// is not waited for, and done to its end. A panic stops the broker: nobody would do the work any more.
    pub(crate) fn spawn_until_stopped(
        self: &Arc<Self>,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<()> {
        let mut shutdown = self.shutdown.subscribe();
        let broker = Arc::clone(self);
        // A task is compiled for each type of future, and there are dozens that run for as long as the broker.
        let work: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(work);
        tokio::spawn(async move {
            tokio::select! {
                ended = CatchPanic(work) => {
                    if ended.is_err() {
                        broker.metrics.panics.add(1);
                        broker.fail("a task of the broker panicked; see the message above");
                    }
                }
                _ = shutdown.wait_for(|stop| *stop) => {}
            }
        })
    }

    /// Has everything answered that waits, and waits until that is done, but not for ever.
    pub(crate) async fn answer_all(&self) {
        self.groups.close();
        self.coordinated.close();
        for topic in self.topics().iter() {
            // Producers go on with the next leader.
            let code = ErrorCode::NOT_LEADER_OR_FOLLOWER;
            topic.partitions().for_each(|partition| partition.answer_waiting(code));
        }
        let answered = tokio::time::timeout(ANSWER_TIMEOUT, self.cut_off.closed()).await;
        if answered.is_err() {
            tracing::warn!(
                connections = self.cut_off.receiver_count(),
                "requests that wait for a disk are not answered"
            );
        }
        self.cut_off.send_replace(true);
    }

    /// Why the broker stopped by itself.
    pub(crate) fn fatal(&self) -> Option<String> {
        self.fatal.lock().clone()
    }

    /// Makes an internal topic with its own settings; gives the partitions it has.
    pub(crate) async fn create_internal_topic(
        self: &Arc<Self>,
        name: &'static str,
    ) -> Result<usize, String> {
        let refused = crate::control::auto_topics::create(self, &[name.to_owned()], None)
            .await
            .map_err(|error| error.to_string())?;
        let table = self.topics();
        match table.by_name(name) {
            Some(topic) => Ok(topic.slots().len()),
            None => Err(refused
                .get(name)
                .map_or_else(|| "the topic was not created".into(), |code| code.to_string())),
        }
    }
}
