//! One broker: what its parts share, and how metadata takes effect on them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::{ArcSwap, Guard};
use parking_lot::Mutex;
use thalweg_log::{CreateError, CreateRequest, Log, LogManager, OpenError};
use thalweg_metadata::config::{BrokerConfig, Properties, TopicConfig, dynamic};
use thalweg_metadata::controller::Decision;
use thalweg_metadata::image::{ConfigResource, MetadataImage, ResourceType, TopicImage, Update};
use thalweg_wire::Uuid;
use tokio::sync::{Notify, watch};

use crate::allowed::Connections;
use crate::api::ApiTable;
use crate::auto_topics::AutoTopics;
use crate::clock::Clock;
use crate::coordinators::groups::{self, Groups};
use crate::directories::Directories;
use crate::fetch_session::SessionCache;
use crate::kraft::{Controller, ControllerError};
use crate::loggers::LogLevels;
use crate::metrics::Metrics;
use crate::net::budget::Budget;
use crate::partition::{Leader, Partition};
use crate::pool::DiskReads;
use crate::producer_ids::ProducerIds;
use crate::random::Random;
use crate::registration;
use crate::settings::Settings;
use crate::topic_names::is_internal;
use crate::topic_settings;
use crate::topics::{Topic, TopicTable, TopicsGuard};
use crate::view::View;

/// How long a stop waits for the answers to what is being served.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Everything that requests share.
pub(crate) struct Broker {
    pub(crate) node_id: i32,
    pub(crate) cluster_id: String,
    /// Directory of the metadata log.
    pub(crate) metadata_directory: Uuid,
    /// Level of `kraft.version`, which is in no record of the image.
    pub(crate) kraft_version: i16,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    pub(crate) apis: ApiTable,
    pub(crate) metrics: Metrics,
    pub(crate) request_budget: Arc<Budget>,
    /// Memory for copies of records in answers to fetches.
    pub(crate) fetch_budget: Arc<Budget>,
    pub(crate) connections: Arc<Connections>,
    pub(crate) sessions: Mutex<SessionCache>,
    pub(crate) disk_reads: DiskReads,
    pub(crate) logs: LogManager,
    pub(crate) groups: Groups,
    pub(crate) controller: Controller,
    pub(crate) producer_ids: ProducerIds,
    pub(crate) directories: Directories,
    pub(crate) auto_topics: AutoTopics,
    pub(crate) log_levels: Option<Arc<dyn LogLevels>>,
    /// Set once, when the broker has to stop.
    pub(crate) shutdown: watch::Sender<bool>,
    /// Set when connections that are still there are closed, whatever they wait for. Each of them
    /// holds a receiver until it is closed.
    pub(crate) cut_off: watch::Sender<bool>,
    /// Why it stops by itself, if it does.
    fatal: Mutex<Option<String>>,
    /// Configuration as files and command line gave it; dynamic configs go on top.
    static_config: BrokerConfig,
    settings: ArcSwap<Settings>,
    image: ArcSwap<MetadataImage>,
    topics: ArcSwap<TopicTable>,
    /// Topics with partitions whose logs could not be opened for lack of descriptors or memory, and
    /// which of these are new: they are made, where others would have to be found.
    unopened: Mutex<BTreeMap<Uuid, BTreeSet<i32>>>,
    /// There are some.
    pub(crate) unopened_added: Arc<Notify>,
    connection_ids: AtomicU64,
}

/// What a broker is made of.
pub(crate) struct Parts {
    pub(crate) cluster_id: String,
    pub(crate) metadata_directory: Uuid,
    pub(crate) kraft_version: i16,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    pub(crate) logs: LogManager,
    pub(crate) groups: Groups,
    pub(crate) controller: Controller,
    pub(crate) connections: Arc<Connections>,
    pub(crate) config: BrokerConfig,
    pub(crate) image: MetadataImage,
    pub(crate) log_levels: Option<Arc<dyn LogLevels>>,
}

impl Broker {
    pub(crate) fn new(parts: Parts) -> Arc<Broker> {
        let settings = Settings::new(parts.config.clone());
        Arc::new(Broker {
            node_id: parts.config.node_id(),
            cluster_id: parts.cluster_id,
            metadata_directory: parts.metadata_directory,
            kraft_version: parts.kraft_version,
            clock: parts.clock,
            random: parts.random,
            apis: ApiTable::new(),
            metrics: Metrics::new(),
            request_budget: Budget::new(crate::settings::request_memory(&parts.config)),
            fetch_budget: Budget::new(crate::settings::fetch_memory()),
            connections: parts.connections,
            sessions: Mutex::new(SessionCache::new(
                usize::try_from(parts.config.fetch_session_slots()).unwrap_or(0),
            )),
            disk_reads: DiskReads::new(parts.logs.dirs()),
            logs: parts.logs,
            groups: parts.groups,
            controller: parts.controller,
            producer_ids: ProducerIds::default(),
            directories: Directories::default(),
            auto_topics: AutoTopics::default(),
            log_levels: parts.log_levels,
            shutdown: watch::Sender::new(false),
            cut_off: watch::Sender::new(false),
            fatal: Mutex::new(None),
            static_config: parts.config,
            settings: ArcSwap::from_pointee(settings),
            image: ArcSwap::from_pointee(parts.image),
            topics: ArcSwap::default(),
            unopened: Mutex::default(),
            unopened_added: Arc::default(),
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
        View(self.image.load_full())
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

    /// Asks the controller for a decision on the newest image and the configuration of now.
    pub(crate) async fn decide<R: Send + 'static>(
        self: &Arc<Self>,
        decision: impl FnOnce(&thalweg_metadata::controller::Context<'_>, &Random) -> Decision<R>
        + Send
        + 'static,
    ) -> Result<R, ControllerError> {
        let broker = Arc::clone(self);
        self.controller
            .decide(self, move |image| {
                let settings = broker.settings();
                let context =
                    thalweg_metadata::controller::Context { image, config: &settings.config };
                let decided = decision(&context, &broker.random);
                (decided.records, decided.response)
            })
            .await
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

    /// Has everything answered that waits, and waits until that is done, but not for ever.
    pub(crate) async fn answer_all(&self) {
        self.groups.close();
        for topic in self.topics().iter() {
            topic.partitions().for_each(|partition| partition.fetchers.wake_all());
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

    // -- metadata takes effect ----------------------------------------------------------------

    /// A new image: what it says is so from now on. On a thread that may wait.
    pub(crate) fn publish(self: &Arc<Self>, update: Update) {
        let Update { old, new, changes } = update;
        let image = Arc::new(new);
        let broker_configs =
            changes.configs.iter().any(|r| r.resource_type == ResourceType::Broker);
        if broker_configs {
            self.apply_broker_configs(&image);
            registration::report_cordoned(self);
        }
        if broker_configs || !changes.quotas.is_empty() {
            self.connections.update(&self.settings(), &image.quotas);
        }
        let local = changes.local(&old, &image, self.node_id);
        let mut table = TopicTable::clone(&self.topics.load());

        // Deletions first: a topic of the same name may come in the same update.
        let mut deleted: Vec<(Uuid, String)> = Vec::new();
        for topic in changes.deleted_topics.values() {
            deleted.push((topic.id, topic.name.to_string()));
            if let Some(topic) = table.remove(topic.id) {
                for partition in topic.partitions() {
                    self.drop_partition(partition);
                }
            }
        }
        if !local.deleted.is_empty() {
            let doomed: Vec<(&str, i32)> =
                local.deleted.iter().map(|(_, name, index)| (&**name, *index)).collect();
            if let Err(error) = self.logs.delete(doomed, self.clock.wall_ms()) {
                tracing::error!(%error, "partitions could not be deleted");
            }
        }
        for id in changes.partitions.keys() {
            if let Some(topic) = image.topics.by_id(*id) {
                let is_new = |index| old.topics.partition(topic.id, index).is_none();
                table.insert(Arc::new(self.build_topic(&table, is_new, &image, topic)));
            }
        }
        let topic_configs: Vec<Arc<Topic>> = if broker_configs {
            table.iter().cloned().collect()
        } else {
            changes
                .configs
                .iter()
                .filter(|r| r.resource_type == ResourceType::Topic)
                .filter_map(|r| table.by_name(&r.name).cloned())
                .collect()
        };
        for topic in topic_configs {
            self.apply_topic_config(&image, &topic);
        }

        self.topics.store(Arc::new(table));
        self.image.store(Arc::clone(&image));
        if !deleted.is_empty() {
            self.groups.topics_deleted(deleted);
        }
        for (id, index) in local.followers {
            if let Some(topic) = image.topics.by_id(id)
                && &*topic.name == groups::TOPIC
                && let Some(partition) = topic.partitions.get(&index)
            {
                self.groups.resigned(index, Some(partition.leader_epoch));
            }
        }
        for (id, index) in local.elected {
            let table = self.topics();
            let Some(topic) = table.by_id(id) else { continue };
            if &*topic.name == groups::TOPIC
                && let Some(partition) = topic.partition(index)
            {
                self.groups.elected(Arc::clone(partition), partition.leader().epoch);
            }
        }
    }

    /// Tries again to open what could not be opened for lack of descriptors or memory. On a thread
    /// that may wait.
    pub(crate) fn open_missing(&self) {
        self.controller.between_decisions(|image| {
            let unopened = std::mem::take(&mut *self.unopened.lock());
            let mut table = TopicTable::clone(&self.topics.load());
            let before = self.topics.load_full();
            for (id, new) in unopened {
                let Some(topic) = image.topics.by_id(id) else { continue };
                let is_new = |index| new.contains(&index);
                table.insert(Arc::new(self.build_topic(&table, is_new, image, topic)));
            }
            self.topics.store(Arc::new(table));
            let (table, id) = (self.topics(), before.by_name(groups::TOPIC).map(|topic| topic.id));
            let Some(topic) = id.and_then(|id| table.by_id(id)) else { return };
            for partition in topic.partitions() {
                self.groups.elected(Arc::clone(partition), partition.leader().epoch);
            }
        });
    }

    /// Serves everything the image says is here: once, when the broker starts.
    pub(crate) fn serve_image(self: &Arc<Self>) -> Result<(), OpenError> {
        let image = self.image.load_full();
        // First, because topics build on them.
        self.apply_broker_configs(&image);
        self.connections.update_and_wait(&self.settings(), &image.quotas);
        self.set_strays_aside(&image)?;
        let mut table = TopicTable::default();
        for topic in image.topics.iter() {
            table.insert(Arc::new(self.build_topic(&table, |_| false, &image, topic)));
        }
        self.topics.store(Arc::new(table));
        let table = self.topics();
        if let Some(topic) = table.by_name(groups::TOPIC) {
            for partition in topic.partitions() {
                self.groups.elected(Arc::clone(partition), partition.leader().epoch);
            }
        }
        Ok(())
    }

    /// Partitions on the disk that the metadata does not know, as after a death between a topic's
    /// removal and that of its files, or a removal while their directory was offline: out of the way
    /// of a new topic of the same name.
    fn set_strays_aside(&self, image: &MetadataImage) -> Result<(), OpenError> {
        let is_known = |log: &Log| {
            let topic = match log.topic_id() {
                Some(id) => image.topics.by_id(id).filter(|topic| topic.name == *log.topic()),
                None => image.topics.by_name(log.topic()),
            };
            let partition = topic.and_then(|topic| topic.partitions.get(&log.partition()));
            partition.is_some_and(|partition| {
                // Left by an attempt to make the partition here; it was made elsewhere, and that
                // directory may be offline now.
                let is_leftover = log.topic_id().is_none()
                    && log.log_end_offset() == 0
                    && partition
                        .directory(self.node_id)
                        .is_some_and(|id| !id.is_reserved() && id != log.dir().id());
                partition.replicas.contains(&self.node_id) && !is_leftover
            })
        };
        for path in self.logs.set_strays_aside(is_known, self.clock.wall_ms())? {
            tracing::warn!(path = %path.display(),
                "the metadata does not know this partition: set aside, not deleted");
        }
        Ok(())
    }

    fn drop_partition(&self, partition: &Partition) {
        if &*partition.topic == groups::TOPIC {
            self.groups.resigned(partition.index, None);
        }
        let leader = Leader { id: -1, epoch: partition.leader().epoch, is_local: false };
        // Nobody leads what is gone; whoever waits for it has to look again.
        partition.set_leader(leader);
    }

    /// A topic as the image says it is, with the logs it already has and new ones where it has none.
    /// What `old` does not know is new; without it nothing is.
    fn build_topic(
        &self,
        table: &TopicTable,
        is_new: impl Fn(i32) -> bool,
        image: &MetadataImage,
        topic: &TopicImage,
    ) -> Topic {
        let before = table.by_id(topic.id);
        let settings = match before {
            Some(before) => Arc::clone(before.settings_cell()),
            None => Arc::new(ArcSwap::from_pointee(self.topic_settings(image, &topic.name))),
        };
        let name =
            before.map_or_else(|| Arc::clone(&topic.name), |before| Arc::clone(&before.name));
        let last = topic.partitions.keys().next_back().copied();
        let count = last.and_then(|last| usize::try_from(last).ok()).map_or(0, |last| last + 1);
        let mut slots: Vec<Option<Arc<Partition>>> = vec![None; count];
        let mut offline = Vec::new();
        let mut moved = Vec::new();
        let mut elsewhere = 0;
        for (&index, partition) in &topic.partitions {
            let Some(slot) = usize::try_from(index).ok().and_then(|at| slots.get_mut(at)) else {
                continue;
            };
            if !partition.replicas.contains(&self.node_id) {
                continue;
            }
            let existing = before.and_then(|before| before.partition(index)).cloned();
            let opened = match existing {
                Some(partition) => Some(partition),
                None => {
                    let request = CreateRequest {
                        dir: partition.directory(self.node_id).filter(|id| !id.is_reserved()),
                        is_new: is_new(index),
                        ..CreateRequest::new(&name, index, topic.id)
                    };
                    match self.logs.create(&request, self.clock.wall_ms()) {
                        Ok(log) => {
                            let wanted = request.dir;
                            elsewhere += usize::from(wanted.is_some_and(|d| d != log.dir().id()));
                            log.configure(
                                Arc::new(settings.load().log.clone()),
                                self.clock.wall_ms(),
                            );
                            Some(Arc::new(Partition::new(Arc::clone(&name), index, log)))
                        }
                        Err(error) => {
                            tracing::error!(topic = %name, partition = index, %error,
                                "a partition cannot be served");
                            if let CreateError::Storage(failure) = error {
                                offline.push(index);
                                if failure.is_retriable {
                                    let mut unopened = self.unopened.lock();
                                    let new = unopened.entry(topic.id).or_default();
                                    if request.is_new {
                                        new.insert(index);
                                    }
                                    drop(unopened);
                                    self.unopened_added.notify_one();
                                }
                            }
                            None
                        }
                    }
                }
            };
            if let Some(opened) = &opened {
                let actual = opened.log.dir().id();
                if partition.directory(self.node_id) != Some(actual) {
                    moved.push((index, actual));
                }
                let leader = Leader {
                    id: partition.leader,
                    epoch: partition.leader_epoch,
                    is_local: partition.leader == self.node_id,
                };
                opened.set_leader(leader);
            }
            *slot = opened;
        }
        if elsewhere > 0 {
            tracing::warn!(topic = %name, partitions = elsewhere,
                "partitions are not in the log directories that the metadata says; what was not \
                 found in another one begins anew, empty");
        }
        if !moved.is_empty() && image.metadata_version().has_directory_assignment() {
            self.directories.assign(topic.id, moved);
        }
        Topic::new(name, topic.id, is_internal(&topic.name), slots, offline, settings)
    }

    fn topic_settings(&self, image: &MetadataImage, name: &str) -> crate::topics::TopicSettings {
        let overrides = image.configs.properties(&ConfigResource::topic(name));
        let settings = self.settings();
        match TopicConfig::new(&settings.config, &overrides) {
            Ok(config) => topic_settings::of(&config),
            Err(error) => {
                // A value that an older release accepted, or another one's record.
                tracing::error!(topic = name, %error, "the topic runs with the broker's defaults");
                TopicConfig::new(&settings.config, &Properties::new()).map_or_else(
                    |_| topic_settings::defaults(),
                    |config| topic_settings::of(&config),
                )
            }
        }
    }

    fn apply_topic_config(&self, image: &MetadataImage, topic: &Topic) {
        let settings = self.topic_settings(image, &topic.name);
        let log = Arc::new(settings.log.clone());
        topic.settings_cell().store(Arc::new(settings));
        for partition in topic.partitions() {
            partition.log.update_config(Arc::clone(&log));
            if partition.index == 0
                && let Some(notice) = partition.log.needs_notice()
            {
                tracing::warn!(topic = %topic.name, notice, "a config does not act yet");
            }
        }
    }

    fn apply_broker_configs(&self, image: &MetadataImage) {
        let defaults = image.configs.properties(&ConfigResource::broker_defaults());
        let own = image.configs.properties(&ConfigResource::broker(self.node_id));
        let (config, unused) = dynamic::apply(&self.static_config, &defaults, &own);
        for config in unused {
            tracing::warn!(name = config.name, value = config.value, reason = %config.reason,
                default_of_all_brokers = !config.for_one_broker,
                "a stored dynamic config is not used");
        }
        self.logs.set_producer_expiration_ms(i64::from(config.producer_id_expiration_ms()));
        self.logs.set_cordoned(registration::cordoned(&self.logs, &config));
        if let Ok(topic) = TopicConfig::new(&config, &Properties::new()) {
            self.logs.set_defaults(Arc::new(topic_settings::of(&topic).log));
        }
        self.settings.store(Arc::new(Settings::new(config)));
    }

    // -- topics made on demand ------------------------------------------------------------------

    /// Makes an internal topic with its own settings; gives the partitions it has.
    pub(crate) async fn create_internal_topic(
        self: &Arc<Self>,
        name: &'static str,
    ) -> Result<usize, String> {
        let refused = crate::auto_topics::create(self, &[name.to_owned()])
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
