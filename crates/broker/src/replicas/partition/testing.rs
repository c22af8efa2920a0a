//! Partitions for tests.

use thalweg_log::testing::TempDir;
use thalweg_log::{CreateRequest, Disk, LogConfig, LogManager, ManagerConfig};
use thalweg_metadata::testing::led_by_1;
use thalweg_wire::Uuid;

use super::*;
use crate::node::Node;

/// Settings of a topic that asks for so many in-sync replicas.
fn settings(min_insync_replicas: i32) -> Arc<ArcSwap<TopicSettings>> {
    let mut settings = crate::replicas::topic_settings::defaults();
    settings.scalars.min_insync_replicas = min_insync_replicas;
    Arc::new(ArcSwap::from_pointee(settings))
}

/// Partition 0 of a topic, of broker 1, with a log in a directory of its own.
pub(crate) struct PartitionOnDisk {
    _dir: TempDir,
    _logs: LogManager,
    pub(crate) partition: Arc<Partition>,
}

impl PartitionOnDisk {
    pub(crate) fn new(topic: &str, min_insync_replicas: i32) -> PartitionOnDisk {
        PartitionOnDisk::with(topic, min_insync_replicas, LogConfig::default(), Disk::default())
    }

    /// The same with settings of the log, and a disk that may fail.
    pub(crate) fn with(
        topic: &str,
        min_insync_replicas: i32,
        log: LogConfig,
        disk: Disk,
    ) -> PartitionOnDisk {
        let dir = TempDir::new();
        let mut config = ManagerConfig::new(vec![dir.path().to_path_buf()], 1, log, 0);
        config.cluster_id = Some("test".into());
        config.disk = disk;
        let (logs, _) = LogManager::open(config).unwrap();
        let log = logs.create(&CreateRequest::new(topic, 0, Uuid([7; 16])), 0).unwrap();
        let partition = Arc::new(Partition::of_broker_1(topic, log, min_insync_replicas));
        PartitionOnDisk { _dir: dir, _logs: logs, partition }
    }

    /// One that broker 1 leads, without other replicas.
    pub(crate) fn led_alone(topic: &str) -> PartitionOnDisk {
        let on_disk = PartitionOnDisk::new(topic, 1);
        on_disk.partition.lead_alone(0);
        on_disk
    }
}

impl Partition {
    /// A partition of broker 1 that asks for so many in-sync replicas.
    fn of_broker_1(topic: &str, log: Arc<Log>, min_insync_replicas: i32) -> Partition {
        let node = Node::of_broker_1();
        let shared = Arc::new(Shared::new(node));
        Partition::new(topic.into(), 0, log, shared, settings(min_insync_replicas))
    }

    /// The metadata says this.
    pub(crate) fn assign(&self, assignment: &Assignment) {
        let change = self.apply(assignment, &self.shared.node.load_image());
        assert_eq!(change, RoleChange::Done);
    }

    /// What [`Partition::go_offline`] did is undone, which does not happen to a broker.
    pub(crate) fn go_online(&self) {
        let replica = self.replica.lock();
        self.is_alone.store(replica.is_alone(), Ordering::Release);
        self.led_epoch.store(replica.leader_epoch(), Ordering::Release);
    }

    /// Broker 1 leads, without other replicas.
    pub(crate) fn lead_alone(&self, epoch: i32) {
        self.assign(&led_by_1(epoch, epoch, &[1], &[1]));
    }
}
