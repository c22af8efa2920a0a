//! The integration tests of this crate, in one binary.

mod cluster;
mod follower;
mod leader;
mod observer;
#[path = "../../testkit/src/oracle.rs"]
mod oracle;
mod partition_oracle;
