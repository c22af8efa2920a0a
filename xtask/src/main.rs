//! Automation: schemas, codegen, test, tidy.

mod codegen;
mod schemas;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = root();
    let result = match words.as_slice() {
        ["schemas", from] => schemas::run(&root, Path::new(from)),
        ["codegen"] => codegen::run(&root, &root.join("crates/wire/src/gen")),
        ["codegen", "--check"] => codegen::check(&root, &root.join("target/gen-check")),
        _ => Err("usage: cargo xtask schemas <dir> | codegen [--check]".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The checkout.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}
