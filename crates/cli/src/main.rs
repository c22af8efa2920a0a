//! The command `thalweg`.

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;

mod access;
mod bench;
mod client;
mod cluster;
mod config;
mod group;
mod help;
#[cfg(feature = "serve")]
mod inspection;
mod log;
#[cfg(feature = "serve")]
mod log_levels;
#[cfg(feature = "serve")]
mod migrate;
#[cfg(feature = "serve")]
mod observe;
mod records;
#[cfg(feature = "serve")]
mod serve;
mod topic;
mod transactions;
mod usage;

/// A broker of many connections and groups has millions of pieces of all lengths and ages; with glibc's allocator
/// a third of its heap is holes between them, and more after every burst. What is shipped has this feature.
#[cfg(all(feature = "jemalloc", target_os = "linux"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

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
    /// Look at a broker of Apache Kafka before Thalweg takes its place.
    #[cfg(feature = "serve")]
    Migrate(migrate::MigrateArgs),
    /// Write records: lines, files, JSON.
    Produce(Box<records::produce::ProduceArgs>),
    /// Read records: as they are, in any format, as JSON.
    Consume(Box<records::consume::ConsumeArgs>),
    /// List, make, describe, change and delete topics.
    Topic(topic::TopicArgs),
    /// Show and change configs of topics, brokers, groups and client metrics.
    Config(config::ConfigArgs),
    /// List, describe and delete groups; reset their offsets.
    Group(group::GroupArgs),
    /// List and describe transactions; find and abort those that hang, fence producers.
    Transactions(transactions::TransactionsArgs),
    /// Show brokers, features, the quorum and log directories; move partitions.
    Cluster(cluster::ClusterArgs),
    /// Show and change who may do what.
    Acl(access::acl::AclArgs),
    /// Show users, set and delete their SCRAM passwords.
    User(access::user::UserArgs),
    /// Show and change limits of users, client ids and addresses.
    Quota(access::quota::QuotaArgs),
    /// Look into files of a log directory; delete records.
    Log(log::LogArgs),
    /// Measure a Kafka cluster under load: produce, fetch, latency.
    Bench(bench::BenchArgs),
    /// Print a script that completes this command's arguments in a shell.
    Completions(CompletionsArgs),
}

#[derive(Args)]
struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// The command line, with examples and exit codes.
fn command() -> clap::Command {
    help::complete(Cli::command())
}

fn main() -> ExitCode {
    let parsed = command().try_get_matches();
    let parsed = parsed.and_then(|matches| Cli::from_arg_matches(&matches));
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(error) => usage::without_secrets(error.format(&mut command())).exit(),
    };
    match parsed.command {
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::run(args),
        #[cfg(feature = "serve")]
        Command::Migrate(args) => migrate::run(args),
        Command::Produce(args) => records::produce::run(&args),
        Command::Consume(args) => records::consume::run(&args),
        Command::Topic(args) => topic::run(args),
        Command::Config(args) => config::run(args),
        Command::Group(args) => group::run(args),
        Command::Transactions(args) => transactions::run(args),
        Command::Cluster(args) => cluster::run(args),
        Command::Acl(args) => access::acl::run(args),
        Command::User(args) => access::user::run(args),
        Command::Quota(args) => access::quota::run(args),
        Command::Log(args) => log::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Completions(args) => completions(&args),
    }
}

fn completions(args: &CompletionsArgs) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "thalweg", &mut script);
    let mut out = std::io::stdout().lock();
    let written = out.write_all(&script).and_then(|()| out.flush());
    client::exit(written.map_err(|error| client::CliError::output(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_fit_together() {
        command().debug_assert();
    }
}
