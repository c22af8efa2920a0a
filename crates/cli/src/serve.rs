//! `thalweg serve`: one broker, its log on stderr, one ready line on stdout.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use thalweg_broker::config::broker::Mode;
use thalweg_broker::config::{BrokerConfig, Properties, Report, properties};
use thalweg_broker::{Hooks, LogLevels, RunningBroker, STOP_TIMEOUT};
use thalweg_wire::secret;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::inspection::{self, InspectionArgs};
use crate::log_levels::Levels;
use crate::observe;

/// Where a broker listens when nobody says.
const LISTEN: &str = "127.0.0.1:9092";
/// Where it keeps its data when nobody says.
const DATA: &str = "./thalweg-data";

/// Delays the first round of a group, because its members are started at the same time. A broker that is only tried
/// out does without.
const INITIAL_REBALANCE_DELAY: &str = "group.initial.rebalance.delay.ms";

/// Options of `thalweg serve`.
#[derive(clap::Args)]
pub struct ServeArgs {
    /// Address to listen on, instead of listeners [default: 127.0.0.1:9092; port 0 lets the system
    /// choose]
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// Directory for the data, instead of log.dirs [default: ./thalweg-data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// A server.properties of Kafka's. Without one group.initial.rebalance.delay.ms is 0, as in the file that comes
    /// with Kafka, and not 3000: a group's first member does not wait for others
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A config by Kafka's name; goes before the file. May be repeated
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Serve /metrics, /healthz and /readyz over HTTP
    #[arg(long, value_name = "HOST:PORT")]
    metrics: Option<String>,
    /// How the log on stderr looks
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
    /// What is logged: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log_level: tracing::level_filters::LevelFilter,
    /// Show what the broker would join or found, and as what; change nothing, register nothing, and end.
    #[arg(long, conflicts_with = "metrics")]
    dry_run: bool,
    #[command(flatten, next_help_heading = "With --dry-run")]
    inspection: InspectionArgs,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum LogFormat {
    Text,
    Json,
}

/// Runs a broker until it is told to stop.
pub fn run(args: ServeArgs) -> ExitCode {
    if args.dry_run {
        return dry_run(&args);
    }
    if let Some(option) = args.inspection.given() {
        eprintln!("thalweg serve: {option} is for --dry-run");
        return ExitCode::from(2);
    }
    let log_levels = log_to_stderr(&args);
    let config = configs(&args).and_then(|props| {
        BrokerConfig::new(props, Mode::Embedded).map_err(|error| error.to_string())
    });
    let config = match config {
        Ok(config) => config,
        Err(message) => {
            eprintln!("thalweg serve: {message}");
            return ExitCode::from(2);
        }
    };
    for report in config.reports() {
        match report {
            Report::Unknown { name } => {
                tracing::warn!(
                    name,
                    "unknown config: Kafka 4.4 has none of this name, it is ignored"
                );
            }
            other => tracing::warn!("{other}"),
        }
    }
    raise_descriptor_limit();
    // One more than processors: it sleeps until a disk stalls and holds the others up.
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get()) + 1;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers.max(3))
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("thalweg serve: no runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(serve(args, config, log_levels));
    // Work that is still under way on the blocking pool must not hold the process.
    runtime.shutdown_timeout(Duration::from_secs(1));
    code
}

/// Shows what a start would find. Nothing is logged: what is to be said is shown.
fn dry_run(args: &ServeArgs) -> ExitCode {
    match configs(args) {
        Ok(props) => {
            raise_descriptor_limit();
            inspection::run(props, &args.inspection, false)
        }
        Err(message) => {
            eprintln!("thalweg serve: {message}");
            ExitCode::from(2)
        }
    }
}

async fn serve(args: ServeArgs, config: BrokerConfig, log_levels: Arc<dyn LogLevels>) -> ExitCode {
    let mut signals = match StopSignals::new() {
        Ok(signals) => signals,
        Err(error) => {
            eprintln!("thalweg serve: signals cannot be heard: {error}");
            return ExitCode::FAILURE;
        }
    };
    let observed = match args.metrics.as_deref().map(observe::listen) {
        None => None,
        Some(Ok(listener)) => Some(listener),
        Some(Err(message)) => {
            eprintln!("thalweg serve: --metrics: {message}");
            return ExitCode::from(2);
        }
    };
    let observer = observe::Observer::default();
    let metrics_address = match observed {
        Some(listener) => match observer.serve(listener) {
            Ok(address) => Some(address),
            Err(error) => {
                eprintln!("thalweg serve: --metrics: {error}");
                return ExitCode::FAILURE;
            }
        },
        None => None,
    };
    let hooks = Hooks { log_levels: Some(log_levels), ..Hooks::default() };
    // A broker that joins a cluster waits for its controllers.
    let started = tokio::select! {
        started = RunningBroker::start_with(config, hooks) => started,
        () = signals.recv() => {
            tracing::warn!("stopped before it had started");
            return ExitCode::from(3);
        }
    };
    let broker = match started {
        Ok(broker) => Arc::new(broker),
        Err(error) => {
            tracing::error!(%error, "the broker did not start");
            eprintln!("thalweg serve: {error}");
            return ExitCode::FAILURE;
        }
    };
    broker.keep_spare_worker();
    observer.ready(&broker);
    announce(&broker, metrics_address);

    let failed = tokio::select! {
        () = signals.recv() => None,
        reason = broker.failed() => Some(reason),
    };
    observer.stopping();
    match &failed {
        None => tracing::info!("stopping"),
        Some(reason) => tracing::error!(reason, "stopping"),
    }
    let clean = tokio::select! {
        stopped = tokio::time::timeout(STOP_TIMEOUT, broker.shut_down()) => stopped.is_ok(),
        // A second signal means now, but for SIGHUP: a terminal that goes away sends two, the shell's and the kernel's.
        () = signals.insist() => false,
    };
    if !clean {
        tracing::warn!("stopped before everything was on the disk; the next start checks the logs");
        return ExitCode::from(3);
    }
    if failed.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The signals that stop the broker: those at which Java runs its shutdown hooks.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    /// Of a terminal that goes away; not where the process was started to outlive it (`nohup`), as in Java.
    hangup: Option<Signal>,
}

impl StopSignals {
    fn new() -> std::io::Result<StopSignals> {
        let hangup = match ignores_hangup() {
            true => None,
            false => Some(signal(SignalKind::hangup())?),
        };
        Ok(StopSignals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup,
        })
    }

    /// Waits for the next one.
    async fn recv(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = hangup => {}
        }
    }

    /// Waits for SIGTERM or SIGINT.
    async fn insist(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Whether this process was started with SIGHUP ignored.
fn ignores_hangup() -> bool {
    // One bit for each signal, the lowest one for SIGHUP.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|it| it & 1 != 0)
}

/// The one line on stdout that scripts wait for.
fn announce(broker: &RunningBroker, metrics: Option<std::net::SocketAddr>) {
    let mut line = String::from("ready");
    for (name, address) in broker.addresses() {
        line.push_str(&format!(" {name}://{address}"));
    }
    line.push_str(&format!(" cluster.id={}", broker.cluster_id()));
    if let Some(address) = metrics {
        line.push_str(&format!(" metrics=http://{address}"));
    }
    line.push('\n');
    let mut out = std::io::stdout().lock();
    // Whoever started the broker may not read it.
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}

/// The configs of a file, and those that were given one by one, which go before them.
pub fn properties_of(file: Option<&PathBuf>, set: &[String]) -> Result<Properties, String> {
    let mut props = match file {
        Some(path) => {
            let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
            properties::parse(&bytes).map_err(|e| format!("{}: {e}", path.display()))?
        }
        None => Properties::new(),
    };
    let mut given = Properties::new();
    for pair in set {
        let (name, value) = pair
            .split_once('=')
            // It is not shown: it may be a password.
            .ok_or("--set: not of the form NAME=VALUE")?;
        let before = given.insert(name.trim().to_owned(), value.to_owned());
        if before.is_some_and(|before| before != value) {
            let name = secret::shown_name(name.trim());
            return Err(format!("--set {name} is there twice, with different values"));
        }
    }
    props.extend(given);
    Ok(props)
}

/// The configs of the file and the options, with where to listen and to keep the data.
fn configs(args: &ServeArgs) -> Result<Properties, String> {
    let mut props = properties_of(args.config.as_ref(), &args.set)?;
    // What an option and a config both say would be ignored in one of them.
    let said_twice = |props: &Properties, option: &str, names: &[&str]| match names
        .iter()
        .find(|name| props.contains_key(**name))
    {
        Some(name) => Err(format!(
            "{option} and the config {name} contradict each other: \
                                       leave one of them out"
        )),
        None => Ok(()),
    };
    if let Some(listen) = &args.listen {
        said_twice(&props, "--listen", &["listeners"])?;
        props.insert("listeners".into(), format!("PLAINTEXT://{listen}"));
    }
    if let Some(dir) = &args.data {
        said_twice(&props, "--data", &["log.dirs", "log.dir"])?;
        props.insert("log.dirs".into(), dir.display().to_string());
    }
    props.entry("listeners".into()).or_insert_with(|| format!("PLAINTEXT://{LISTEN}"));
    if !props.contains_key("log.dirs") && !props.contains_key("log.dir") {
        props.insert("log.dirs".into(), DATA.into());
    }
    if args.config.is_none() {
        props.entry(INITIAL_REBALANCE_DELAY.into()).or_insert_with(|| "0".into());
    }
    Ok(props)
}

/// Logs to stderr from now on; gives the levels, which clients may change.
fn log_to_stderr(args: &ServeArgs) -> Arc<dyn LogLevels> {
    let (filter, levels) = Levels::new(args.log_level);
    let filtered = tracing_subscriber::registry().with(filter);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    // A line that cannot be written is lost: to say so on stderr panics when its terminal is gone.
    let lines = lines.log_internal_errors(false);
    match args.log_format {
        LogFormat::Text => {
            let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
            filtered.with(lines.with_ansi(is_terminal)).init();
        }
        LogFormat::Json => filtered.with(lines.json()).init(),
    }
    Arc::new(levels)
}

/// Partitions and connections take descriptors: as many as the system gives.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    const ENOUGH: u64 = 100_000;
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if limit.current != limit.maximum && setrlimit(Resource::Nofile, raised).is_err() {
        tracing::warn!(limit = limit.current, "the limit of open files could not be raised");
        return;
    }
    match limit.maximum {
        Some(maximum) if maximum < ENOUGH => tracing::warn!(
            limit = maximum,
            "the limit of open files is low for many partitions and connections; raise `ulimit -n`"
        ),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        args: ServeArgs,
    }

    fn delay(options: &[&str]) -> Option<String> {
        let args = Command::parse_from([&["serve"], options].concat()).args;
        configs(&args).expect("configs").get(INITIAL_REBALANCE_DELAY).cloned()
    }

    #[test]
    fn initial_rebalance_delay_is_zero_without_a_file() {
        assert_eq!(delay(&[]).as_deref(), Some("0"));
        let set = format!("{INITIAL_REBALANCE_DELAY}=1500");
        assert_eq!(delay(&["--set", &set]).as_deref(), Some("1500"));
        let file = std::env::temp_dir().join(format!("serve-{}.properties", std::process::id()));
        std::fs::write(&file, "num.partitions=3\n").expect("a file");
        let with_file = delay(&["--config", &file.display().to_string()]);
        std::fs::remove_file(&file).expect("the file");
        assert_eq!(with_file, None, "Kafka's default holds");
    }
}
