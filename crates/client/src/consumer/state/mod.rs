//! The state that a consumer's handle and its tasks share, under one lock, with the tasks that are woken when it
//! changes.
//!
//! Nothing here asks a broker for anything but the group's coordinator, and nothing here is a task.

pub(super) mod group;
pub(super) mod pending;
pub(super) mod shared;
