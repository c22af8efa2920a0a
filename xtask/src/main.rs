//! Automation: schemas, codegen, test, tidy.
fn main() {}
