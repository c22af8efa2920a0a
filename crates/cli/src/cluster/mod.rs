//! `thalweg cluster`: brokers, features, the quorum, log directories, who has which partition.

mod describe;
mod log_dirs;
mod overview;
mod replicas;

#[cfg(feature = "serve")]
pub(crate) use replicas::plan;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::client::{ClientArgs, CommandContext};

/// Options of `thalweg cluster`.
#[derive(Args)]
pub struct ClusterArgs {
    #[command(flatten)]
    client: ClientArgs,
    #[command(subcommand)]
    command: ClusterCommand,
}

#[derive(Subcommand)]
enum ClusterCommand {
    /// Show the cluster, its brokers and how their replicas are.
    Describe(overview::DescribeArgs),
    /// Show features and their levels.
    Features,
    /// Change levels of features.
    UpdateFeatures(describe::UpdateArgs),
    /// Show the controllers' quorum.
    Quorum,
    /// Show which versions of which requests brokers speak.
    Brokers(describe::BrokersArgs),
    /// Have the controllers forget a broker that is gone for good.
    ///
    /// It stays a replica of what it had: give its partitions to others first (`reassign`).
    Unregister(describe::UnregisterArgs),
    /// Have the controllers forget a controller that is gone for good.
    ///
    /// It has to be out of the quorum. Until it is forgotten, features stay at levels that it supports. Needs
    /// metadata.version 33 (4.4).
    UnregisterController(describe::UnregisterControllerArgs),
    /// Show brokers' log directories.
    LogDirs(log_dirs::LogDirsArgs),
    /// Move a replica to another log directory of its broker.
    ///
    /// It goes on in the background: `log-dirs --replicas` shows how far it is. Moved to where it is, it stays there.
    MoveReplica(log_dirs::MoveArgs),
    /// Give partitions to other brokers.
    Reassign(replicas::ReassignArgs),
    /// Show reassignments under way.
    Reassignments(replicas::ReassignmentsArgs),
    /// Elect leaders: the preferred ones, unless --unclean is given.
    ElectLeaders(replicas::ElectArgs),
}

/// Runs `thalweg cluster`.
pub fn run(args: ClusterArgs) -> ExitCode {
    crate::client::run(async {
        let client = &args.client;
        let open = || CommandContext::open(client);
        match args.command {
            ClusterCommand::Describe(args) => overview::cluster(open().await?, args).await,
            ClusterCommand::Features => describe::features(open().await?).await,
            ClusterCommand::UpdateFeatures(args) => describe::update(open().await?, args).await,
            ClusterCommand::Quorum => describe::quorum(open().await?).await,
            ClusterCommand::Brokers(args) => describe::brokers(open().await?, args).await,
            ClusterCommand::Unregister(args) => describe::unregister(open().await?, args).await,
            ClusterCommand::UnregisterController(args) => {
                describe::unregister_controller(open().await?, args).await
            }
            ClusterCommand::LogDirs(args) => log_dirs::show(open().await?, args).await,
            ClusterCommand::MoveReplica(args) => log_dirs::move_replica(open().await?, args).await,
            // It connects by itself, once it knows that what it is told makes sense.
            ClusterCommand::Reassign(args) => replicas::reassign(client, args).await,
            ClusterCommand::Reassignments(args) => replicas::list(open().await?, args).await,
            ClusterCommand::ElectLeaders(args) => replicas::elect(open().await?, args).await,
        }
    })
}
