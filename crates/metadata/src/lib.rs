//! Metadata image, config registry and the embedded controller's decisions.
//!
//! | To | use |
//! |---|---|
//! | read, check, describe configs | [`config`] |
//! | read and write records of the metadata log | [`records`] |
//! | know topics, brokers, configs at an offset | [`image`] |
//! | know feature levels | [`features`] |
//! | decide about requests | [`controller`] |
//! | say what a broker tells its controllers, and when | [`lifecycle`] |
//! | format an empty directory, write a snapshot | [`bootstrap`] |
//!
//! Pure: no I/O, no clock, no randomness. Time and random ids are passed in.

mod api_error;
pub mod bootstrap;
pub mod config;
pub mod controller;
pub mod features;
pub mod image;
pub mod lifecycle;
pub mod records;
#[doc(hidden)]
pub mod testing;

pub use api_error::ApiError;
pub use features::MetadataVersion;
pub use image::{Changes, Delta, MetadataImage};
