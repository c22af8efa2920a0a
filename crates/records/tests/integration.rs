//! The integration tests of this crate, in one binary: linking one for each file takes minutes.
//! Tests that count what a whole process does have binaries of their own.

mod fuzz_smoke;
#[path = "oracle/main.rs"]
mod oracle;
#[path = "../../wire/tests/common/random.rs"]
mod random;
mod round_trip;
