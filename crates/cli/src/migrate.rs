//! `thalweg migrate`: before Thalweg takes the place of a broker of Apache Kafka.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::inspection::{self, InspectionArgs};
use crate::serve::properties_of;

/// Options of `thalweg migrate`.
#[derive(Args)]
pub struct MigrateArgs {
    #[command(subcommand)]
    command: MigrateCommand,
}

#[derive(Subcommand)]
enum MigrateCommand {
    /// Look at a broker of Apache Kafka, running or stopped, whose place Thalweg is to take: with its server.properties,
    /// on its machine. Names what would be refused or not honoured, and what to do; changes nothing.
    Check(CheckArgs),
}

#[derive(Args)]
struct CheckArgs {
    /// Its server.properties
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// A config by Kafka's name; goes before the file. May be repeated
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    inspection: InspectionArgs,
}

/// Runs `thalweg migrate`.
pub fn run(args: MigrateArgs) -> ExitCode {
    let MigrateCommand::Check(args) = args.command;
    match properties_of(Some(&args.config), &args.set) {
        Ok(props) => inspection::run(props, &args.inspection, true),
        Err(message) => {
            eprintln!("thalweg migrate check: {message}");
            ExitCode::from(2)
        }
    }
}
