//! `thalweg bench`: load for any Kafka, and figures about it.
//!
//! Open loop: with `--rate` each request has a time at which it should be sent, and its latency
//! counts from then, however late the broker's slowness made it (coordinated omission corrected).
//! Batches are built before the run, so that little of the machine goes into making load; how
//! much did is part of every report.
//!
//! Partitions stay with the connection that has them; when their leader moves or ends, it goes after them (`follow`), and
//! what was refused or lost meanwhile is counted.
//!
//! It ends with the exit codes of every command ([`CliError`]). A run that had errors, found data that is
//! not what it should be, or was interrupted was done in part: 3.

mod args;
mod client;
mod data;
mod fetch;
mod floor;
mod follow;
mod frames;
mod group;
mod harness;
mod latency;
mod pacer;
mod produce;
mod random;
mod report;
mod schedule;
mod stats;
mod topic;
mod verify;

use std::path::PathBuf;
use std::process::ExitCode;

pub use args::BenchArgs;

use args::BenchCommand;

use crate::client::CliError;

/// Why a run could not begin or end.
#[derive(Debug, thiserror::Error)]
enum BenchError {
    /// The options contradict each other.
    #[error("{0}")]
    Usage(String),
    /// The cluster does not do what is needed.
    #[error(transparent)]
    Client(#[from] thalweg::Error),
    /// The topic is not what the options say.
    #[error("topic {topic}: {what}")]
    Topic {
        /// The topic.
        topic: String,
        /// What is wrong.
        what: String,
    },
    /// The topic is not there.
    #[error("topic {0}: does not exist")]
    NoTopic(String),
    /// The group cannot be what the options say.
    #[error("group {group}: {what}")]
    Group {
        /// The group.
        group: String,
        /// What is wrong.
        what: String,
    },
    /// The data asked for cannot be made.
    #[error(transparent)]
    Data(#[from] data::DataError),
    /// A file that cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The report cannot be written.
    #[error("{0}")]
    Output(std::io::Error),
    /// Something on this machine.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: std::io::Error,
    },
}

impl From<BenchError> for CliError {
    fn from(error: BenchError) -> CliError {
        match error {
            BenchError::Usage(why) => CliError::Usage(why),
            BenchError::Data(error) => CliError::Usage(error.to_string()),
            BenchError::Output(error) => CliError::output(&error),
            BenchError::Client(error) => CliError::Client(error),
            BenchError::NoTopic(_) => CliError::NotFound(error.to_string()),
            BenchError::File { path, source } => CliError::file(&path, &source),
            error => CliError::Failed(error.to_string()),
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Clean,
    Errors,
    Interrupted,
}

/// Writes a report.
fn print(report: &str) -> Result<(), BenchError> {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{report}").and_then(|()| out.flush()).map_err(BenchError::Output)
}

/// Runs one bench command.
pub fn run(args: BenchArgs) -> ExitCode {
    crate::client::show_warnings(None);
    let outcome = match args.command {
        BenchCommand::Produce(args) => produce::run(&args),
        BenchCommand::Fetch(args) => fetch::run(&args),
        BenchCommand::Latency(args) => latency::run(&args),
        BenchCommand::Client(args) => client::run(&args),
        BenchCommand::Group(args) => group::run(&args),
        BenchCommand::Floor(args) => floor::run(&args),
    };
    crate::client::exit(match outcome {
        Ok(Outcome::Clean) => Ok(()),
        Ok(Outcome::Errors) => {
            Err(CliError::Partly("there were errors, which the report has".into()))
        }
        Ok(Outcome::Interrupted) => Err(CliError::Partly("interrupted before the end".into())),
        Err(error) => Err(error.into()),
    })
}
