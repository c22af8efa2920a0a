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
//! Exit codes: 0 all well; 1 errors, or data that is not what it should be; 2 bad usage; 3 the
//! run could not begin; 130 interrupted.

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
mod report;
mod schedule;
mod stats;
mod topic;
mod verify;

use std::process::ExitCode;

pub use args::BenchArgs;

use args::BenchCommand;

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
    /// Something on this machine.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: std::io::Error,
    },
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Clean,
    Errors,
    Interrupted,
}

/// Runs one bench command.
pub fn run(args: BenchArgs) -> ExitCode {
    let outcome = match args.command {
        BenchCommand::Produce(args) => produce::run(&args),
        BenchCommand::Fetch(args) => fetch::run(&args),
        BenchCommand::Latency(args) => latency::run(&args),
        BenchCommand::Client(args) => client::run(&args),
        BenchCommand::Group(args) => group::run(&args),
        BenchCommand::Floor(args) => floor::run(&args),
    };
    match outcome {
        Ok(Outcome::Clean) => ExitCode::SUCCESS,
        Ok(Outcome::Errors) => ExitCode::from(1),
        Ok(Outcome::Interrupted) => ExitCode::from(130),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(if matches!(error, BenchError::Usage(_)) { 2 } else { 3 })
        }
    }
}
