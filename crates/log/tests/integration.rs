//! The integration tests of this crate, in one binary: linking one for each file takes minutes.
//! Tests that count what a whole process does have binaries of their own.

mod append_read;
mod common;
mod compaction;
mod concurrency;
mod crash;
mod cut;
mod faults;
mod folders;
mod hanging;
mod kafka;
mod links;
mod manager;
mod model;
mod moves;
#[path = "../../testkit/src/oracle.rs"]
mod oracle;
mod recovery;
mod roles;
mod syncs;
mod turns;
