//! The programs in Go (`tests/go`): suites, and members of groups. `setup` installs Debian's Go where none is installed.
//! Where that Go is older than the modules, or the modules cannot be fetched, the programs are left out, and the reason
//! is printed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::setup;

/// Suites of the client tests that are such programs.
pub const SUITES: [&str; 2] = ["franz", "sarama"];

/// Why there can be no programs in Go on this machine.
pub fn lacks(root: &Path) -> Option<String> {
    let folder = root.join("tests/go");
    let call = |args: &[&str]| setup::call(&folder, "go", args);
    let why = call(&["version"]).and_then(|()| call(&["mod", "download"])).err()?;
    let needed = needed(root).unwrap_or_default();
    Some(format!(
        "{why}; tests/go needs Go {needed} and its modules: a Go from 1.21 on fetches that version itself unless \
         GOTOOLCHAIN is local, an older one (Debian 12) has to be replaced"
    ))
}

/// The version of Go that the modules ask for.
fn needed(root: &Path) -> Option<String> {
    let text = fs::read_to_string(root.join("tests/go/go.mod")).ok()?;
    Some(text.lines().find_map(|line| line.strip_prefix("go "))?.to_owned())
}

/// Builds them, each under the name of its folder.
pub fn programs(root: &Path) -> Result<PathBuf, String> {
    let folder = root.join("target/go");
    let into = format!("{}/", folder.display());
    setup::call(&root.join("tests/go"), "go", &["build", "-o", &into, "./..."])?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_mod_names_the_version_that_a_toolchain_needs() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let version = needed(root).unwrap();
        assert!(version.starts_with("1."), "{version}");
    }
}
