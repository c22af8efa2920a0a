//! The integration tests of this crate, in one binary: linking one for each file takes minutes.
//! Tests that count what a whole process does have binaries of their own.

mod alter_partition;
mod config_oracle;
#[path = "controller_oracle/main.rs"]
mod controller_oracle;
mod histories;
mod lifecycle;
mod offline_directories;
mod refused;
mod support;
mod unregister_controller;
