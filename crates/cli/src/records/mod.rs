//! `thalweg produce` and `thalweg consume`: records from lines and files, and records as lines, as
//! people know it from kcat.

mod bounds;
pub mod consume;
mod envelope;
mod format;
mod input;
mod output;
pub mod produce;
mod progress;
mod sources;
mod transactions;
