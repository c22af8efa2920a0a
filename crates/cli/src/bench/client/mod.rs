//! `thalweg bench client`: what this client costs, for experiments that compare it with others.
//! `bench/peers` has programs with the same options for those, and `bench/clients.py` runs them all.
//!
//! Each prints one JSON object: what was done, how long it took, what CPU time it cost the whole
//! process, how often its threads went to sleep.

mod args;
mod consume;
mod copy;
mod moves;
mod stream;
mod transact;
mod usage;
mod write;

use serde_json::{Map, Value, json};
use thalweg::{Cluster, Options};
use tokio::runtime::{Builder, Runtime};

pub use args::ClientArgs;

use super::{BenchError, Outcome};
use args::{ClientCommand, Common};

/// Runs the command.
pub fn run(args: &ClientArgs) -> Result<Outcome, BenchError> {
    let (common, experiment) = match &args.command {
        ClientCommand::Poll(args) if args.idle => (&args.common, "idle"),
        ClientCommand::Poll(args) => (&args.common, "poll"),
        ClientCommand::Pause(args) => (&args.common, "pause"),
        ClientCommand::Stream(args) => (&args.common, "stream"),
        ClientCommand::Write(args) => (&args.common, "write"),
        ClientCommand::Transact(args) => (&args.common, "transact"),
        ClientCommand::Copy(args) => (&args.common, "copy"),
        ClientCommand::Moves(args) => (&args.common, "moves"),
    };
    let report = runtime(common.threads)?.block_on(async {
        let cluster = connect(common).await?;
        match &args.command {
            ClientCommand::Poll(args) => consume::poll(cluster, args).await,
            ClientCommand::Pause(args) => consume::pause(cluster, args).await,
            ClientCommand::Stream(args) => stream::run(cluster, args).await,
            ClientCommand::Write(args) => write::run(cluster, args).await,
            ClientCommand::Transact(args) => transact::run(cluster, args).await,
            ClientCommand::Copy(args) => copy::run(cluster, args).await,
            ClientCommand::Moves(args) => moves::run(cluster, args).await,
        }
    })?;
    let mut object = Map::new();
    object.insert("client".into(), "thalweg".into());
    object.insert("version".into(), env!("CARGO_PKG_VERSION").into());
    object.insert("experiment".into(), experiment.into());
    object.extend(report);
    let has_errors = object.get("errors").and_then(Value::as_u64).unwrap_or(0) > 0;
    super::print(&json!(object).to_string())?;
    Ok(if has_errors { Outcome::Errors } else { Outcome::Clean })
}

fn runtime(threads: u32) -> Result<Runtime, BenchError> {
    let mut builder = match threads {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    if threads > 1 {
        builder.worker_threads(threads as usize);
    }
    let failed = |source| BenchError::Io { what: "starting a runtime".into(), source };
    builder.enable_all().build().map_err(failed)
}

async fn connect(common: &Common) -> Result<Cluster, BenchError> {
    let options = Options::default().with_client_id("thalweg-bench");
    Ok(Cluster::connect(&common.bootstrap, options).await?)
}
