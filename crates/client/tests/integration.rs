//! The integration tests of this crate, in one binary: linking one for each file takes minutes.
//! Tests that count what a whole process does have binaries of their own.

mod admin;
mod admin_kafka;
mod ahead;
mod brokers;
mod closing;
mod configs;
mod connection;
mod consumer;
mod group;
mod hostile;
mod limits;
mod login;
mod mixed;
mod offset_commit;
mod pauses;
mod producer;
mod producer_transactions;
mod rebootstrap;
mod recreated;
mod security;
mod send_sync;
mod stream;
mod stream_commit;
mod stream_faults;
mod stream_kafka;
mod stream_more;
mod stream_positions;
mod stream_transactions;
mod support;
mod transactions;
mod transactions_kafka;
