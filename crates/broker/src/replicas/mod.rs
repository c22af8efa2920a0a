//! The partitions that this node has: their logs, their leaders and followers, and how an image of the metadata takes
//! effect on them.

pub(crate) mod images;
pub(crate) mod leadership;
pub(crate) mod moves;
pub(crate) mod open;
pub(crate) mod openings;
pub(crate) mod partition;
pub(crate) mod replication;
pub(crate) mod roles;
pub(crate) mod shared;
pub(crate) mod topic_settings;
pub(crate) mod topics;
pub(crate) mod wait;

use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use thalweg_log::LogManager;
use thalweg_wire::Uuid;
use tokio::sync::Notify;

use crate::node::Node;
use crate::node::directory_news::DirectoryNews;
use crate::node::pool::{
    CHANGES_PER_DIR, DirPools, METADATA_PER_DIR, Pool, PoolError, READS_PER_DIR,
};
use leadership::LeadershipListener;
use moves::Moves;
use openings::{Indexes, Openings};
use replication::Fetchers;
use roles::WaitingRoles;
use shared::Shared;
use topics::{TopicTable, TopicsGuard};

/// The partitions that this node has, and what is done to them.
pub(crate) struct Replicas {
    node: Arc<Node>,
    logs: LogManager,
    /// What is to be reported of log directories.
    news: Arc<DirectoryNews>,
    /// Coordinators.
    leadership: Arc<dyn LeadershipListener>,
    /// What partitions go by.
    shared: Arc<Shared>,
    topics: Arc<ArcSwap<TopicTable>>,
    /// Held while image or topics are replaced ([`Self::begin_publishing`]).
    publishing: Mutex<()>,
    /// What this broker fetches from others.
    fetchers: Fetchers,
    /// Partitions whose logs are to be opened.
    openings: Openings,
    /// Those whose logs could not be opened for lack of descriptors or memory: they wait again after a while.
    unopened: Mutex<Indexes>,
    /// There are some.
    unopened_added: Notify,
    /// Changes of role that wait for a directory that hangs.
    roles: WaitingRoles,
    moves: Moves,
    disk_reads: DirPools,
    /// Beside the reads: a flush that hangs stops no read.
    disk_changes: DirPools,
    /// Changes that images ask for: logs are opened and deleted, and take roles that wait.
    disk_metadata: DirPools,
    /// Beside all of them: moves take long, and wait for two disks.
    disk_moves: DirPools,
}

impl Replicas {
    pub(crate) fn new(
        node: Arc<Node>,
        logs: LogManager,
        topics: Arc<ArcSwap<TopicTable>>,
        news: Arc<DirectoryNews>,
        leadership: Arc<dyn LeadershipListener>,
    ) -> Arc<Replicas> {
        let move_threads = moves::threads(node.static_config(), logs.dirs());
        Arc::new(Replicas {
            shared: Arc::new(Shared::new(Arc::clone(&node))),
            node,
            news,
            leadership,
            topics,
            publishing: Mutex::default(),
            fetchers: Fetchers::default(),
            openings: Openings::default(),
            unopened: Mutex::default(),
            unopened_added: Notify::new(),
            roles: WaitingRoles::default(),
            moves: Moves::default(),
            disk_reads: DirPools::new(logs.dirs(), READS_PER_DIR),
            disk_changes: DirPools::new(logs.dirs(), CHANGES_PER_DIR),
            disk_metadata: DirPools::new(logs.dirs(), METADATA_PER_DIR),
            disk_moves: DirPools::new(logs.dirs(), move_threads),
            logs,
        })
    }

    #[inline]
    pub(crate) fn logs(&self) -> &LogManager {
        &self.logs
    }

    /// The topics now.
    #[inline]
    pub(crate) fn topics(&self) -> TopicsGuard {
        self.topics.load()
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn fetchers(&self) -> &Fetchers {
        &self.fetchers
    }

    pub(crate) fn openings(&self) -> &Openings {
        &self.openings
    }

    /// Notified when there are partitions whose logs could not be opened for lack of descriptors or memory.
    pub(crate) fn unopened_added(&self) -> &Notify {
        &self.unopened_added
    }

    fn roles(&self) -> &WaitingRoles {
        &self.roles
    }

    pub(crate) fn moves(&self) -> &Moves {
        &self.moves
    }

    /// Threads for reads.
    pub(crate) fn disk_reads(&self) -> &DirPools {
        &self.disk_reads
    }

    /// Threads for changes of logs.
    pub(crate) fn disk_changes(&self) -> &DirPools {
        &self.disk_changes
    }

    /// Does `work` that an image asks for on a thread of the log directory ([`Self::change_in`]).
    fn change_for_metadata<T: Send + 'static>(
        &self,
        dir: Uuid,
        what: &'static str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = Option<T>> + Send + 'static {
        self.change_in(self.disk_metadata.of_id(dir), what, work)
    }

    /// Does `work` that an image asks for on a thread of a pool. If it panics, the broker stops.
    fn change_in<T: Send + 'static>(
        &self,
        pool: &Pool,
        what: &'static str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = Option<T>> + Send + 'static {
        let (pool, node) = (pool.clone(), Arc::clone(&self.node));
        async move {
            let done = pool.run(work).await;
            if matches!(done, Err(PoolError::Panicked)) && !node.is_stopping() {
                node.fail(&format!("{what} panicked; see the message above"));
            }
            done.ok()
        }
    }

    /// Threads for changes that images ask for.
    pub(crate) fn disk_metadata(&self) -> &DirPools {
        &self.disk_metadata
    }

    /// Threads for moves between directories.
    pub(crate) fn disk_moves(&self) -> &DirPools {
        &self.disk_moves
    }
}
