//! What the peers of the client benchmarks share, so that each of them does the same work: the
//! command line, what is done with a record, the measured window, the report.

mod args;
mod meter;
mod pauser;
mod payload;
mod sockets;

pub use args::{Command, Mode, Options, Pause, Poll, Start, Write, parse};
pub use meter::{Counters, Meter, Tally, Usage, Warmup, report_write};
pub use pauser::{Change, Pauser};
pub use payload::Payload;

/// Why a run failed, for the user to read.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// An error with a text.
pub fn failure(text: impl Into<String>) -> Failure {
    text.into().into()
}
