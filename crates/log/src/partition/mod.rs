//! One partition: its log, and the log directory that the log lies in.
//!
//! `log` holds the parts of a log, each with private state. What a log does (`append`, `read`, `roll`, ...)
//! has a module of its own.
//!
//! Invariant: a part does not know the log; it gets what it needs, or a closure.
//!
//! Not here: several logs together, which are `store`'s.

pub(crate) mod answer;
pub(crate) mod append;
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
pub(crate) mod offset_checkpoint;
pub(crate) mod pending;
pub(crate) mod producers;
pub(crate) mod published;
pub(crate) mod queue;
pub(crate) mod read;
pub(crate) mod refusal;
pub(crate) mod replay;
pub(crate) mod request;
pub(crate) mod restart;
pub(crate) mod retention;
pub(crate) mod role;
pub(crate) mod roll;
pub(crate) mod segment;
pub(crate) mod segments;
pub(crate) mod snapshots;
pub(crate) mod submit;
pub(crate) mod timestamps;
pub(crate) mod turn;
pub(crate) mod unflushed;
pub(crate) mod verify;
