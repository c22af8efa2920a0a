//! The programs in Go (`tests/go`): suites, and members of the group soak. They are the only ones that need Go, which is
//! not installed for them: without it, or without the modules, they are left out, and that is said.

use std::path::{Path, PathBuf};

use crate::setup;

/// Suites of the client tests that are such programs.
pub const SUITES: [&str; 2] = ["franz", "sarama"];

/// Why there can be no programs in Go on this machine.
pub fn lacks(root: &Path) -> Option<String> {
    let folder = root.join("tests/go");
    let call = |args: &[&str]| setup::call(&folder, "go", args);
    call(&["version"]).and_then(|()| call(&["mod", "download"])).err()
}

/// Builds them, each under the name of its folder.
pub fn programs(root: &Path) -> Result<PathBuf, String> {
    let folder = root.join("target/go");
    let into = format!("{}/", folder.display());
    setup::call(&root.join("tests/go"), "go", &["build", "-o", &into, "./..."])?;
    Ok(folder)
}
