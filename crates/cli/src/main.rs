//! The command `thalweg`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
// The commands that use all of it follow.
#[allow(dead_code, unused_imports)]
mod client;
#[cfg(feature = "serve")]
mod observe;
mod records;
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
    /// Write records: lines, files, JSON.
    Produce(Box<records::produce::ProduceArgs>),
    /// Read records: as they are, in any format, as JSON.
    Consume(Box<records::consume::ConsumeArgs>),
    /// Measure a Kafka cluster under load: produce, fetch, latency.
    Bench(bench::BenchArgs),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::run(args),
        Command::Produce(args) => records::produce::run(&args),
        Command::Consume(args) => records::consume::run(&args),
        Command::Bench(args) => bench::run(args),
    }
}
