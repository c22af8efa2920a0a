//! The controller of this broker, and the metadata log. The embedded controller is the one place where decisions
//! become records, records become an image, and the image takes effect; a broker that has joined the controllers of
//! other nodes asks the active one, and observes its log.

mod checkpoints;
mod controller;
mod embedded;
mod files;
mod log;
mod observer;
mod observer_log;
mod quorum_state;
mod remote;
mod voter_history;

pub(crate) use checkpoints::Retention;
pub(crate) use controller::{Client, Controller, ControllerError};
pub(crate) use embedded::EmbeddedController;
pub(crate) use log::{MetadataLog, MetadataLogError, Owner, sole_voter};
pub(crate) use observer::{ObserverTask, QuorumConfig, QuorumStatus};
pub(crate) use observer_log::ObserverLog;
pub(crate) use remote::{Channel, RemoteController};
