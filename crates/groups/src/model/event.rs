//! Changes outside the log of a shard.

use std::sync::Arc;

use thalweg_metadata::image::{Changes, MetadataImage};

use super::config::GroupConfig;
use super::request::ConnectionId;

/// Something outside the log changed.
#[derive(Clone, Debug)]
pub enum GroupEvent {
    /// The cluster's metadata.
    Metadata {
        /// What it says now.
        image: Arc<MetadataImage>,
        /// What is different from before; `None` for a shard that has not been told anything yet.
        changes: Option<Arc<Changes>>,
    },
    /// The settings.
    Config(Arc<GroupConfig>),
    /// A connection is gone, over which requests of a member came.
    Disconnected {
        /// The member's group.
        group: Arc<str>,
        /// Its id.
        member: Arc<str>,
        /// Which it was.
        connection: ConnectionId,
    },
}
