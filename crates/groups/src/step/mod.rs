//! Handlers of consumer groups: one for each thing that happens to a member.
//!
//! Invariants:
//! - A handler reads the group as it is. Its decision is records, which the caller hands on if the request
//!   is not refused.
//! - Every method of [`Step`] is in this room. The handlers of groups that the coordinator assigns are
//!   functions over a [`Step`] (`hosted`).
//!
//! Members of the classic protocol may be in such a group beside others (`classic_members`), and a group
//! changes its type with its members (`migrate`). Both are Kafka's rules.

mod classic_members;
mod context;
mod fence;
mod heartbeat;
mod migrate;
mod regexes;
mod server;
mod subscription;
mod target;

pub(crate) use classic_members::{Joined, classic_metadata};
pub(crate) use context::{Cx, Step};
pub(crate) use heartbeat::Heard;
pub(crate) use migrate::{Downgrade, UNKNOWN_TOPIC, assigned_bytes, may_upgrade, upgraded};
