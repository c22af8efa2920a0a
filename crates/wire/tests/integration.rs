//! The integration tests of this crate, in one binary: linking one for each file takes minutes.
//! Tests that count what a whole process does have binaries of their own.

mod common;
mod fuzz_smoke;
mod java_limits;
#[cfg(feature = "json")]
mod java_oracle;
mod java_tables;
#[path = "../../testkit/src/oracle.rs"]
mod oracle;
