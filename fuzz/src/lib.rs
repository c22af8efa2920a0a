//! What the fuzz targets do with their input: one function per target, so that ordinary tests can
//! run them as well. They end in silence or in a panic, and a panic is a finding.

pub mod groups;
pub mod records;
pub mod wire;
