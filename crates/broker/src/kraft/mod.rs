//! The embedded controller's shell: the metadata log on disk, its checkpoints, and the one place
//! where decisions become records, records become an image, and the image takes effect.

mod checkpoints;
mod controller;
mod log;
mod quorum_state;

pub(crate) use checkpoints::Retention;
pub(crate) use controller::{Controller, ControllerError};
pub(crate) use log::{MetadataLog, MetadataLogError, Owner};
