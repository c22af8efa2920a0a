//! Handlers of consumer groups: each reads the group as it is and decides on records.

mod classic_members;
mod fence;
mod heartbeat;
mod migrate;
mod regexes;
mod server;
#[allow(clippy::module_inception)]
mod step;
mod subscription;
mod target;

pub use classic_members::HostedJoin;
pub(crate) use classic_members::{Joined, classic_metadata, subscription_of};
pub(crate) use fence::{RETRY_MS, not_a_consumer_group};
pub(crate) use heartbeat::{Heard, heartbeat_error, precheck_heartbeat};
pub(crate) use migrate::{
    Downgrade, UNKNOWN_TOPIC, assigned_bytes, may_upgrade, read_assignment, upgraded,
};
pub use regexes::{RegexJob, RegexesResolved};
pub(crate) use step::{Cx, Step};
pub(crate) use subscription::TopicHashes;
pub use target::{TargetComputed, TargetJob};
