//! The command `thalweg`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
// The commands that use all of it follow.
#[allow(dead_code, unused_imports)]
mod client;
#[cfg(feature = "serve")]
mod observe;
#[cfg(feature = "serve")]
mod serve;

#[derive(Parser)]
#[command(name = "thalweg", version, about = "Event streaming that speaks Kafka")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a broker.
    #[cfg(feature = "serve")]
    Serve(serve::ServeArgs),
    /// Measure a Kafka cluster under load: produce, fetch, latency.
    Bench(bench::BenchArgs),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::run(args),
        Command::Bench(args) => bench::run(args),
    }
}
