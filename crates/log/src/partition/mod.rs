//! One partition: its log, segments, producers and role, and the log directory it lies in.
//!
//! Not here: other partitions. The logs of a node together are `store`'s.

pub(crate) mod answer;
pub(crate) mod append;
pub(crate) mod change;
pub(crate) mod cleaning;
pub(crate) mod config;
pub(crate) mod cut;
pub(crate) mod cuts;
pub(crate) mod dir;
pub(crate) mod error;
pub(crate) mod flush;
pub(crate) mod flush_state;
pub(crate) mod hints;
pub(crate) mod home;
pub(crate) mod leader_epochs;
pub(crate) mod leadership;
pub(crate) mod log;
pub(crate) mod pending;
pub(crate) mod producers;
pub(crate) mod published;
pub(crate) mod queue;
pub(crate) mod read;
pub(crate) mod refusal;
pub(crate) mod replay;
pub(crate) mod request;
pub(crate) mod role;
pub(crate) mod segment;
pub(crate) mod segments;
pub(crate) mod snapshots;
pub(crate) mod submit;
pub(crate) mod timestamps;
pub(crate) mod turn;
pub(crate) mod unflushed;
pub(crate) mod verify;
