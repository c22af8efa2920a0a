//! Options of every command that talks to a cluster.

use std::path::PathBuf;
use std::time::Duration;

use thalweg::{Cluster, Options, Properties};

use super::error::CliError;
use super::{properties, text};

/// Where the brokers are when nobody says.
const BOOTSTRAP: &str = "127.0.0.1:9092";
/// Names them otherwise.
const BOOTSTRAP_ENV: &str = "THALWEG_BOOTSTRAP";
const TIMEOUT: Duration = Duration::from_secs(60);

/// Where the brokers are when neither an option nor a property says it.
pub fn bootstrap() -> String {
    let named = std::env::var(BOOTSTRAP_ENV).ok().filter(|list| !list.is_empty());
    named.unwrap_or_else(|| BOOTSTRAP.to_owned())
}

/// Options of every command that talks to a cluster.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Connection")]
pub struct ClientArgs {
    /// Brokers to begin with [default: bootstrap.servers, then $THALWEG_BOOTSTRAP, then
    /// 127.0.0.1:9092]
    #[arg(short, long, global = true, value_name = "HOST:PORT,...")]
    pub bootstrap_server: Option<String>,
    /// A file of properties as Kafka's clients read it: security.protocol, sasl.jaas.config, ...
    #[arg(long, global = true, value_name = "FILE")]
    pub command_config: Option<PathBuf>,
    /// A property by Kafka's name; goes before the file. May be repeated
    #[arg(short = 'X', long = "property", global = true, value_name = "NAME=VALUE")]
    pub properties: Vec<String>,
    /// Name of this client in the broker's logs, metrics and quotas [default: client.id, then
    /// thalweg]
    #[arg(long, global = true, value_name = "ID")]
    pub client_id: Option<String>,
    /// How long to try: 30 (seconds), 500ms, 2m [default: default.api.timeout.ms, then 60]. An address
    /// that does not answer is given up before, after socket.connection.setup.timeout.ms (10 s)
    #[arg(long, global = true, value_name = "TIME", value_parser = text::parse_duration)]
    pub timeout: Option<Duration>,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
}

impl std::fmt::Debug for ClientArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // There are passwords among the properties.
        f.debug_struct("ClientArgs")
            .field("bootstrap_server", &self.bootstrap_server)
            .field("command_config", &self.command_config)
            .field("client_id", &self.client_id)
            .field("timeout", &self.timeout)
            .field("json", &self.json)
            .finish_non_exhaustive()
    }
}

/// What the options and the property file say together.
#[derive(Debug)]
pub struct ClientConfig {
    /// `host:port,host:port`
    pub bootstrap: String,
    /// How connections behave and are protected.
    pub options: Options,
    /// Everything that was given.
    pub properties: Properties,
    /// How long one command tries what may be tried again.
    pub timeout: Duration,
    /// Whether JSON is wanted.
    pub json: bool,
}

impl ClientArgs {
    /// What `-X` sets a property to; `None` where only a file does, or nobody.
    pub fn property(&self, name: &str) -> Option<&str> {
        let pairs = self.properties.iter().rev().filter_map(|pair| pair.split_once('='));
        pairs
            .map(|(of, value)| (of.trim(), value.trim()))
            .find(|(of, _)| *of == name)
            .map(|(_, value)| value)
    }

    /// Reads the property file, puts the options on top, and makes of it how connections behave.
    /// [`report`](super::report) is left to the caller, who may have more to set.
    pub fn resolve(&self) -> Result<ClientConfig, CliError> {
        let mut properties = match &self.command_config {
            Some(path) => properties::read(path)?,
            None => Properties::default(),
        };
        for property in &self.properties {
            properties::set_pair(&mut properties, property)?;
        }
        let bootstrap = match (&self.bootstrap_server, properties.text("bootstrap.servers")) {
            (Some(given), _) => given.clone(),
            (None, Some(known)) => known.to_owned(),
            (None, None) => bootstrap(),
        };
        let mut options = Options::from_properties(&properties)?;
        if let Some(id) = &self.client_id {
            options.client_id = id.as_str().into();
        }
        let known = properties.millis("default.api.timeout.ms")?;
        let timeout = self.timeout.or(known).unwrap_or(TIMEOUT);
        // A single request must not outlast what was asked for.
        if let Some(timeout) = self.timeout {
            options.connect_timeout = options.connect_timeout.min(timeout);
            options.request_timeout = options.request_timeout.min(timeout);
        }
        Ok(ClientConfig { bootstrap, options, properties, timeout, json: self.json })
    }
}

impl ClientConfig {
    /// Connects, and learns the cluster's brokers.
    pub async fn connect(&self) -> Result<Cluster, CliError> {
        Ok(Cluster::connect(&self.bootstrap, self.options.clone()).await?)
    }
}
