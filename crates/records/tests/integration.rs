//! The integration tests of this crate, in one binary: linking one for each file takes minutes.
//! Tests that count what a whole process does have binaries of their own.

mod fuzz_smoke;
#[path = "oracle/main.rs"]
mod oracle;
mod round_trip;
