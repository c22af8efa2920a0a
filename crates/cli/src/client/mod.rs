//! What every command that talks to a cluster shares: options, Kafka's property files, exit codes,
//! output.
//!
//! A command flattens [`ClientArgs`] into its own arguments, and runs in [`run`]:
//!
//! - [`ClientArgs::resolve`] reads the property file and the options, and gives a
//!   [`ClientConfig`]: bootstrap addresses, [`Options`] and the [`Properties`] themselves, of which
//!   consumers and producers are made;
//! - [`report`] says on stderr what was given for nothing.

mod args;
mod error;
mod output;
mod partitions;
mod patterns;
mod properties;
mod session;
mod stderr;
mod stop;
mod text;
pub mod time;
mod warnings;

use std::future::Future;
use std::pin::Pin;
use std::process::ExitCode;

pub use args::{ClientArgs, ClientConfig, bootstrap};
pub use error::{CliError, exit};
pub use output::{Align, Out, Table};
pub use partitions::{parse_partition, parse_partitions, show_partitions};
pub use patterns::Patterns;
pub use properties::report;
pub use session::{CommandContext, Tally};
pub use stderr::{clear_progress, note, show_progress, warn};
pub use stop::StopSignals;
pub use text::parse_duration;
pub use warnings::show as show_warnings;

/// Runs a command to its end: its errors go to stderr, and decide how the process ends.
pub fn run<'a>(command: impl Future<Output = Result<(), CliError>> + 'a) -> ExitCode {
    run_boxed(Box::pin(command))
}

/// One runtime's code for all commands, instead of one for each.
fn run_boxed(command: Pin<Box<dyn Future<Output = Result<(), CliError>> + '_>>) -> ExitCode {
    // `consume`, the one command here that has a consumer, tells of them by itself.
    show_warnings(Some("thalweg::position_reset"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(command),
        Err(error) => Err(CliError::Failed(format!("cannot start a runtime: {error}"))),
    };
    error::exit(result)
}
