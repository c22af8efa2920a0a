//! The command `thalweg`.
fn main() {}
