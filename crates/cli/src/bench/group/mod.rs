//! `thalweg bench group`: what rebalances cost a consumer group, on any Kafka.
//!
//! The members are simulated ([`member`]): they speak the real protocol, each on a connection of its
//! own, but fetch nothing. One thread runs them all ([`engine`]) and writes down in one place
//! ([`ledger`]) who believes to own what, by one clock. [`scenario`] says what happens to the group,
//! [`report`] what came of it.

mod args;
mod assignor;
mod codec;
mod engine;
mod failure;
mod figures;
mod ledger;
mod link;
mod member;
mod moves;
mod process;
mod protocol;
mod report;
mod scenario;

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use thalweg::error::code_name;
use thalweg::{Admin, AdminConfig, Cluster, Options};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::FindCoordinatorRequest;

pub use args::GroupArgs;

use super::random::Random;
use super::{BenchError, Outcome, harness, topic};
use args::{Events, Plan};
use codec::Codec;
use engine::Engine;
use member::GroupSpec;
use process::{BrokerProcess, allow_files};
use report::Report;
use scenario::Director;

/// Time for a coordinator to be found.
const TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);
/// Time for one of its addresses to answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const CLIENT_ID: &str = "thalweg-bench";

/// Runs the command.
pub fn run(args: &GroupArgs) -> Result<Outcome, BenchError> {
    let plan = args.plan()?;
    let percent = match plan.events {
        Events::Storm { percent, .. } => u64::from(percent),
        _ => 0,
    };
    let members = u64::from(args.members);
    // Members that are killed give their sockets back at once; those that leave a little later.
    allow_files(members + members * percent / 100 + 1)?;
    let runtime = harness::runtime()?;
    let (cluster, setting) = runtime.block_on(async {
        let options = Options::default().with_client_id(CLIENT_ID);
        let cluster = Cluster::connect(&args.bootstrap, options).await?;
        let setting = prepare(&cluster, args, &plan).await?;
        Ok::<_, BenchError>((cluster, setting))
    })?;
    let (group, is_topic_ours) = (setting.spec.group.clone(), setting.is_topic_ours);
    let ran = play(args, &plan, setting);
    let left = ran.as_ref().ok().map(|(_, has_left)| *has_left);
    let cleaned = runtime.block_on(async {
        if args.keep {
            return Ok(());
        }
        delete_group(&cluster, &group, left).await;
        match is_topic_ours {
            true => topic::delete(&cluster, &args.target()).await,
            false => Ok(()),
        }
    });
    let (report, _) = ran?;
    report.print(args.output.json)?;
    cleaned?;
    Ok(report.outcome())
}

/// What the members need to know of the cluster.
struct Setting {
    spec: GroupSpec,
    codec: Codec,
    coordinator: SocketAddr,
    broker: Option<BrokerProcess>,
    /// The topic was not there before.
    is_topic_ours: bool,
}

async fn prepare(cluster: &Cluster, args: &GroupArgs, plan: &Plan) -> Result<Setting, BenchError> {
    let group = args.group.clone().unwrap_or_else(|| {
        let number = Random::fresh().next() & 0xffff_ffff;
        format!("bench-group-{number:08x}")
    });
    let broker = args.broker_pid.map(BrokerProcess::of).transpose()?;
    let target = args.target();
    let (metadata, _) = cluster.refresh(&[&target.topic]).await?;
    let is_topic_ours = args.recreate || !metadata.topics.contains_key(&target.topic);
    let topic = topic::prepare(cluster, &target, true).await?;
    let (id, address) = find_coordinator(cluster, &group).await?;
    let spec = GroupSpec {
        group,
        topic: target.topic,
        topic_id: topic.id,
        partitions: args.partitions,
        protocol: plan.protocol.clone(),
        clients: plan.clients,
        heartbeat: u64::from(plan.heartbeat_ms) * 1000,
        session_ms: i32::try_from(plan.session_ms).unwrap_or(i32::MAX),
        rebalance_ms: i32::try_from(args.rebalance_ms).unwrap_or(i32::MAX),
        commit: Some(u64::from(args.auto_commit_ms) * 1000).filter(|&every| every > 0),
    };
    let setting = async {
        let connection = cluster.broker(id).await?;
        let codec = Codec::new(connection.versions(), &address, &spec)?;
        let coordinator = resolve(&address)?;
        let broker = broker.or_else(|| BrokerProcess::listening_at(coordinator));
        Ok(Setting { spec, codec, coordinator, broker, is_topic_ours })
    };
    match setting.await {
        Ok(setting) => Ok(setting),
        Err(error) => {
            if is_topic_ours && !args.keep {
                topic::delete(cluster, &args.target()).await?;
            }
            Err(error)
        }
    }
}

/// The coordinator's id and address, once there is one: a cluster makes its offsets topic for the
/// first group.
async fn find_coordinator(cluster: &Cluster, group: &str) -> Result<(i32, String), BenchError> {
    const GROUP: i8 = 0;
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let request = FindCoordinatorRequest {
            key_type: GROUP,
            coordinator_keys: vec![group.to_owned()],
            ..FindCoordinatorRequest::default()
        };
        let response = cluster.send_any(&request).await?;
        let found = response.coordinators.into_iter().next();
        let code = found.as_ref().map_or(ErrorCode::UNKNOWN_SERVER_ERROR, |found| found.error_code);
        match found {
            Some(found) if code == ErrorCode::NONE => {
                // An address of IPv6 stands in brackets before a port.
                let host = match found.host.contains(':') {
                    true => format!("[{}]", found.host),
                    false => found.host,
                };
                // So that the cluster knows its address, too.
                cluster.refresh(&[]).await?;
                return Ok((found.node_id, format!("{host}:{}", found.port)));
            }
            _ if code.is_retriable() && Instant::now() < deadline => {
                tokio::time::sleep(PAUSE).await;
            }
            _ => {
                let what = format!("its coordinator cannot be found: {}", code_name(code));
                return Err(BenchError::Group { group: group.to_owned(), what });
            }
        }
    }
}

fn resolve(address: &str) -> Result<SocketAddr, BenchError> {
    let what = || format!("looking up the coordinator's address {address}");
    let failed = |source| BenchError::Io { what: what(), source };
    let mut last = std::io::ErrorKind::NotFound.into();
    // The members take one address: the first at which somebody listens.
    for found in address.to_socket_addrs().map_err(failed)? {
        match TcpStream::connect_timeout(&found, CONNECT_TIMEOUT) {
            Ok(_) => return Ok(found),
            Err(error) => last = error,
        }
    }
    Err(failed(last))
}

/// The run itself; whether the group is empty after it.
fn play(args: &GroupArgs, plan: &Plan, setting: Setting) -> Result<(Report, bool), BenchError> {
    let interrupted = Arc::new(AtomicBool::new(false));
    heed_interrupts(interrupted.clone())?;
    let Setting { spec, codec, coordinator, broker, .. } = setting;
    let instances = args.is_static.then(|| spec.group.clone());
    let mut engine = Engine::new(spec, codec, coordinator, interrupted)?;
    let times = (args.settle_seconds, args.timeout_seconds);
    let director =
        Director::new(&mut engine, broker, args.members, instances, times, args.output.quiet);
    let results = director.run(plan.events.clone())?;
    let report = Report::new(args, plan, &engine, results, broker);
    let is_empty = !args.keep && scenario::disband(&mut engine)?;
    Ok((report, is_empty))
}

/// The first interrupt ends the run in order, the second at once.
fn heed_interrupts(interrupted: Arc<AtomicBool>) -> Result<(), BenchError> {
    let runtime = harness::runtime()?;
    let wait = move || {
        runtime.block_on(async {
            while tokio::signal::ctrl_c().await.is_ok() {
                if interrupted.swap(true, Ordering::Relaxed) {
                    std::process::exit(1);
                }
            }
        });
    };
    std::thread::Builder::new()
        .name("interrupts".into())
        .spawn(wait)
        .map_err(|source| BenchError::Io { what: "starting a thread".into(), source })?;
    Ok(())
}

/// Deletes the group, if its members have left: `None` when the run failed, and nobody knows what
/// there is of it.
async fn delete_group(cluster: &Cluster, group: &str, has_left: Option<bool>) {
    match has_left {
        None => {}
        Some(false) => {
            eprintln!("warning: group {group} stays until the sessions of its members end");
        }
        Some(true) => {
            let admin = Admin::new(cluster.clone(), AdminConfig::default());
            for (group, deleted) in admin.delete_groups([group]).await {
                if let Err(error) = deleted {
                    eprintln!("warning: group {group} stays: {error}");
                }
            }
        }
    }
}
