//! The integration tests of this crate, in one binary: linking one for each file takes minutes.
//! Tests that count what a whole process does have binaries of their own.

mod admin;
mod bench;
mod bench_group;
mod kafka;
#[path = "support/limited.rs"]
mod limited;
mod migrate;
mod password;
mod produce_transactions;
#[path = "../../testkit/tests/support/mod.rs"]
mod raw;
mod records;
mod serve;
mod stopping;
mod transactions;
mod warnings;
