//! What a consumer's handle and its tasks have in common: one state under one lock, and who is woken when
//! it changes.
//!
//! Nothing here asks a broker for anything but the group's coordinator, and nothing here is a task.

pub(super) mod group;
pub(super) mod pending;
pub(super) mod shared;
