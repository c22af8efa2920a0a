//! The integration tests of this crate, in one binary: linking one for each file takes minutes.
//! Tests that count what a whole process does have binaries of their own.

mod apache_kafka;
mod broker;
mod compaction;
mod consumer_groups;
mod controllers;
mod crash;
mod disconnects;
mod dynamic_configs;
mod faults;
mod fetch_min_bytes;
mod fetch_sessions;
mod group_ids;
mod group_metrics;
mod held_heartbeats;
mod log_dir_moves;
mod membership;
mod memory;
mod metadata_dir;
mod moved_clock;
mod open_transactions;
mod oracle;
mod periodic;
mod stalls;
mod support;
mod txn_offsets;
mod uncommitted;
mod upgrade;
