//! The integration tests of this crate, in one binary: linking one for each file takes minutes.

mod behaviour;
mod kafka_oracle;
mod lock_step;
#[path = "../../testkit/src/oracle.rs"]
mod oracle;
#[path = "../../wire/tests/common/random.rs"]
mod random;
mod random_lives;
mod records;
#[path = "../../groups/tests/seeds.rs"]
mod seeds;
mod simulation;
mod world;
