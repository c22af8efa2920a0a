//! The member of groups that is the crate krafka (`tests/krafka`). It has a hundred crates of its own, which take a minute to
//! compile, so it is built only for the commands that are about makes of clients, and for the long form of the tests.

use std::path::PathBuf;

use crate::setup::Tools;
use crate::test;

/// Its workspace, with versions of its own: nothing of Thalweg depends on another Kafka client.
pub const MANIFEST: &str = "tests/krafka/Cargo.toml";
/// Where it is built, in the checkout.
const TARGET: &str = "target/krafka";

/// Builds it.
pub fn program(tools: &Tools) -> Result<PathBuf, String> {
    println!("building the make krafka: a minute, the first time");
    cargo(tools, &["build"], &[])?;
    Ok(tools.root.join(TARGET).join("debug/thalweg-krafka-worker"))
}

/// What clippy says of it.
pub fn clippy(tools: &Tools) -> Result<(), String> {
    cargo(tools, &["clippy"], &["--", "-D", "warnings"])
}

fn cargo(tools: &Tools, what: &[&str], rest: &[&str]) -> Result<(), String> {
    let place = ["--quiet", "--locked", "--manifest-path", MANIFEST, "--target-dir", TARGET];
    test::cargo(tools, &[what, &place, rest].concat())
}
