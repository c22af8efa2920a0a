//! The listener for log directories that fail.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use thalweg_log::{DirFailureListener, LogDir, StorageError};
use thalweg_wire::{ErrorCode, Uuid};

use crate::node::Node;
use crate::node::directory_news::DirectoryNews;
use crate::replicas::topics::TopicTable;

/// Takes partitions of failed log directories offline, from before the directories are opened.
pub(crate) struct DirFailures {
    node: Arc<Node>,
    /// The topics that the broker serves. Their logs hold this, so that it does not hold them.
    topics: Weak<ArcSwap<TopicTable>>,
    news: Arc<DirectoryNews>,
    /// Id of the metadata log's directory, known once the directories are open.
    metadata_dir: OnceLock<Uuid>,
    dirs: Vec<PathBuf>,
    /// Paths of those that failed.
    failed: Mutex<BTreeSet<PathBuf>>,
}

impl DirFailures {
    pub(crate) fn new(
        node: Arc<Node>,
        topics: &Arc<ArcSwap<TopicTable>>,
        news: Arc<DirectoryNews>,
        dirs: Vec<PathBuf>,
    ) -> DirFailures {
        let topics = Arc::downgrade(topics);
        let (metadata_dir, failed) = (OnceLock::new(), Mutex::default());
        DirFailures { node, topics, news, metadata_dir, dirs, failed }
    }

    /// The directories are open. One of them that failed before ends the start.
    pub(crate) fn opened(&self, metadata_dir: Uuid) {
        let _ = self.metadata_dir.set(metadata_dir);
    }
}

impl std::fmt::Debug for DirFailures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DirFailures").field("failed", &self.failed).finish_non_exhaustive()
    }
}

impl DirFailureListener for DirFailures {
    fn failed(&self, dir: &LogDir, error: &StorageError) {
        tracing::error!(dir = %dir.path().display(), %error, "a log directory is offline");
        let is_last = {
            let mut failed = self.failed.lock();
            failed.insert(dir.path().to_path_buf());
            self.dirs.iter().all(|dir| failed.contains(dir))
        };
        if self.metadata_dir.get() == Some(&dir.id()) {
            self.node.fail("the directory of the metadata log is offline");
        } else if is_last {
            self.node.fail("all log directories are offline");
        }
        // On the thread that met the error, which may hold locks of a log or the controller: only
        // what takes none of these is done here, the rest in `report_directories`.
        let topics = self.topics.upgrade().map(|topics| topics.load_full());
        for topic in topics.iter().flat_map(|table| table.iter()) {
            for partition in topic.partitions() {
                if partition.log.dir().id() == dir.id() {
                    partition.go_offline();
                    partition.answer_waiting(ErrorCode::KAFKA_STORAGE_ERROR);
                }
            }
        }
        self.news.lose(dir.id());
    }
}
