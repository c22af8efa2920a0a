//! What several of the wire tests share.
#![allow(dead_code)]

#[cfg(feature = "json")]
pub mod forms;
