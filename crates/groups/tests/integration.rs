//! The integration tests of this crate, in one binary: linking one for each file takes minutes.
//! Tests that count what a whole process does have binaries of their own.

mod assignor_oracle;
mod assignors;
mod consumer_groups;
mod disconnects;
mod hosted;
mod hosted_oracle;
mod in_flight;
mod kafka_oracle;
#[path = "../../testkit/src/oracle.rs"]
mod oracle;
mod push;
mod random;
mod random_consumer;
mod rebalances;
mod script;
mod scripts;
mod topic_regex_oracle;
