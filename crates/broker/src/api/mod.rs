//! The handlers of APIs, in a file for each API or for those of one subject (`configs`, `groups`, `transactions`). A handler
//! sees one normalised form of its request, whatever the version. `table` lists the APIs.

pub(crate) mod add_to_txn;
mod alter_replica_log_dirs;
mod api_versions;
mod codec;
mod configs;
pub(crate) mod connection;
pub(crate) mod connection_members;
pub(crate) mod context;
mod delete_records;
mod describe_cluster;
mod describe_log_dirs;
mod describe_producers;
mod describe_quorum;
mod end_txn;
pub(crate) mod exposition;
pub(crate) mod fetch;
pub(crate) mod fetch_session;
mod find_coordinator;
mod forward;
pub(crate) mod front;
mod groups;
pub(crate) mod heartbeat;
mod init_producer_id;
mod leader_hints;
mod list_offsets;
mod metadata;
mod offset_for_leader_epoch;
mod operations;
pub(crate) mod produce;
pub(crate) mod services;
pub(crate) mod table;
mod transactions;
mod txn_offset_commit;
mod unregister_broker;
pub(crate) mod write_txn_markers;
