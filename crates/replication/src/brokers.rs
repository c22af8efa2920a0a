//! What a leader has to know of other brokers.

use thalweg_metadata::image::MetadataImage;

/// A registered broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokerStatus {
    /// Epoch of its registration; tells incarnations apart.
    pub epoch: i64,
    /// Whether the controller does not hear of it, or it is starting.
    pub is_fenced: bool,
    /// Whether it is about to stop.
    pub is_in_controlled_shutdown: bool,
}

/// The brokers of the cluster, as the metadata says.
pub trait Brokers: Sync {
    /// A broker, if it is registered.
    fn broker(&self, id: i32) -> Option<BrokerStatus>;
}

impl Brokers for MetadataImage {
    fn broker(&self, id: i32) -> Option<BrokerStatus> {
        let broker = self.cluster.brokers.get(&id)?;
        Some(BrokerStatus {
            epoch: broker.epoch,
            is_fenced: broker.fenced,
            is_in_controlled_shutdown: broker.in_controlled_shutdown,
        })
    }
}
