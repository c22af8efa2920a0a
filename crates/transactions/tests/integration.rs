//! The integration tests of this crate, in one binary: linking one for each file takes minutes.

mod behaviour;
mod kafka_oracle;
mod lock_step;
#[path = "../../testkit/src/oracle.rs"]
mod oracle;
mod random_lives;
mod records;
mod simulation;
mod world;
