//! The controller of this broker: the way to it, and the embedded one with the metadata log on disk
//! and its checkpoints - the one place where decisions become records, records become an image, and
//! the image takes effect.

mod checkpoints;
mod controller;
mod embedded;
mod log;
mod quorum_state;

pub(crate) use checkpoints::Retention;
pub(crate) use controller::{Client, Controller, ControllerError};
pub(crate) use embedded::EmbeddedController;
pub(crate) use log::{MetadataLog, MetadataLogError, Owner};
