//! Apache Kafka as a peer: brokers of the real thing, each its own controller too, started from
//! their jars.
//!
//! The jars are looked for in the directory that `THALWEG_KAFKA_JARS` names, and `java` in the path.
//! A test without them says so and does nothing:
//!
//! ```no_run
//! use thalweg_testkit::kafka::Kafka;
//!
//! let Some(kafka) = Kafka::builder() else { return };
//! let kafka = kafka.nodes(3).config("min.insync.replicas", 2).start();
//! println!("{}", kafka.bootstrap(Kafka::INTERNAL));
//! ```
//!
//! Everything listens on 127.0.0.1 at ports of its own, keeps its data in a directory of its own,
//! and is killed and removed on drop. A test that needs several things of a Kafka should ask all of
//! one: a start takes seconds. One that only needs some Kafka to talk to takes [`Shared`].

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use thalweg_wire::messages::{MetadataRequest, MetadataResponse};
use thalweg_wire::{ApiKey, Message, Reader, Writer};

use super::oracle::{self, Program};
use super::{Data, ports, scratch};

/// How long a start may take, on a machine that has other things to do.
const START_TIMEOUT: Duration = Duration::from_secs(120);
const HOST: &str = "127.0.0.1";
const CONTROLLER: &str = "CONTROLLER";
const CLUSTER_ID: &str = "thalwegTestClusterAAAA";
const METADATA_VERSION: i16 = 12;
/// Where the node listens that was started for all tests.
const SHARED: &str = "THALWEG_KAFKA";
/// What the shared node is told beside what every node is; xtask starts it with the same.
const SHARED_SETTINGS: &str = include_str!("shared.properties");

/// How to start Kafka.
#[derive(Debug)]
pub struct Builder {
    class_path: String,
    nodes: usize,
    /// Of these, so many at the end are no controllers.
    brokers: usize,
    listeners: Vec<(String, String)>,
    configs: Vec<(String, String)>,
    /// By node.
    node_configs: Vec<(usize, String, String)>,
    /// What clients of a listener are told, node by node.
    advertised: BTreeMap<String, Vec<u16>>,
    scram: Vec<String>,
    features: Vec<String>,
    /// Whether the voters are in the metadata log, not in the configs (KIP-853).
    has_dynamic_quorum: bool,
    /// Whether it is the release of the oracle.
    is_current: bool,
}

/// Apache Kafka, running.
#[derive(Debug)]
pub struct Kafka {
    listeners: Vec<String>,
    nodes: Vec<Node>,
    /// Behind the nodes, so that it goes when they are gone.
    data: Data,
}

/// A node that other tests talk to at the same time: the one that xtask started, whose address is in
/// `THALWEG_KAFKA`, or without that one of this process's own.
///
/// Topics and groups must have names that no other test has, and no other run of the same test. Who
/// changes the broker, stops it, or counts all topics or groups that there are, starts a [`Kafka`].
#[derive(Debug)]
pub struct Shared {
    bootstrap: String,
    _own: Option<Kafka>,
}

impl Shared {
    /// Finds it, or starts it; `None`, with a word about it, where there are no jars.
    ///
    /// # Panics
    /// If the node that was started for all does not answer, or no other one can be started.
    pub fn get() -> Option<Shared> {
        let builder = Kafka::builder()?;
        let Ok(bootstrap) = std::env::var(SHARED) else {
            let settings = SHARED_SETTINGS.lines().filter_map(|line| line.split_once('='));
            let set = |builder: Builder, (name, value): (&str, &str)| builder.config(name, value);
            let own = settings.fold(builder, set).start();
            return Some(Shared { bootstrap: own.bootstrap(Kafka::INTERNAL), _own: Some(own) });
        };
        let answers = brokers(&bootstrap).is_some_and(|count| count > 0);
        assert!(answers, "the Kafka at {SHARED}={bootstrap} does not answer");
        Some(Shared { bootstrap, _own: None })
    }

    /// Its `bootstrap.servers`.
    pub fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// A Java virtual machine with the classes of Kafka, of its clients too; nothing says yet what
    /// it runs. It is for what has to die or to keep time; all else is an [`oracle`]'s.
    ///
    /// # Panics
    /// If the jars are gone.
    pub fn java(&self) -> Command {
        let jars = oracle::jars().expect("the jars are still there");
        java(&jars.join("*").display().to_string(), "256m")
    }
}

#[derive(Debug)]
struct Node {
    config: PathBuf,
    output: PathBuf,
    /// The jars of its release.
    class_path: String,
    /// One per listener, in their order.
    ports: Vec<u16>,
    /// Of one that is a controller.
    controller_port: Option<u16>,
    child: Option<Child>,
}

impl Kafka {
    /// A plaintext listener that is always there; brokers talk over it, too.
    pub const INTERNAL: &str = "INTERNAL";
    /// The listener of the controllers, in plaintext.
    pub const CONTROLLER: &str = CONTROLLER;

    /// Options first; `None`, with a word about it, where there are no jars.
    ///
    /// # Panics
    /// If the variable names something else than a directory with Kafka's jars.
    pub fn builder() -> Option<Builder> {
        Some(Builder::with(oracle::jars()?, true))
    }

    /// The same of an earlier release.
    ///
    /// # Panics
    /// If its jars are missing where others are there.
    pub fn builder_of(version: &str) -> Option<Builder> {
        Some(Builder::with(oracle::jars_of(version)?, false))
    }

    /// `bootstrap.servers` of a listener.
    ///
    /// # Panics
    /// If there is no such listener.
    pub fn bootstrap(&self, listener: &str) -> String {
        let addresses: Vec<String> =
            (0..self.nodes.len()).map(|node| self.address(node, listener)).collect();
        addresses.join(",")
    }

    /// Where one node listens; they count from 0, their ids from 1.
    ///
    /// # Panics
    /// If there is no such node or listener.
    pub fn address(&self, node: usize, listener: &str) -> String {
        format!("{HOST}:{}", self.port(node, listener))
    }

    /// The port of the same.
    ///
    /// # Panics
    /// If there is no such node or listener.
    pub fn port(&self, node: usize, listener: &str) -> u16 {
        let at = self.listeners.iter().position(|name| name == listener);
        self.nodes[node].ports[at.unwrap_or_else(|| panic!("no listener {listener}"))]
    }

    /// `controller.quorum.voters`, for a broker that joins them; their listener is [`Kafka::CONTROLLER`].
    pub fn voters(&self) -> String {
        let voter = |(at, node): (usize, &Node)| {
            node.controller_port.map(|port| format!("{}@{HOST}:{port}", at + 1))
        };
        let voters: Vec<String> = self.nodes.iter().enumerate().filter_map(voter).collect();
        voters.join(",")
    }

    /// `controller.quorum.bootstrap.servers`, for a broker that joins them without knowing the voters.
    pub fn controllers(&self) -> String {
        let ports = self.nodes.iter().filter_map(|node| node.controller_port);
        let addresses: Vec<String> = ports.map(|port| format!("{HOST}:{port}")).collect();
        addresses.join(",")
    }

    /// Where the data of all nodes is.
    pub fn data(&self) -> &Path {
        &self.data.path
    }

    /// The `server.properties` of a node.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn properties(&self, node: usize) -> &Path {
        &self.nodes[node].config
    }

    /// Stops a node, as `kill` does: it hands over what it leads, and closes its logs.
    ///
    /// # Panics
    /// If it does not end.
    pub fn stop(&mut self, node: usize) {
        let Some(mut child) = self.nodes[node].child.take() else { return };
        let sent = Command::new("kill").arg(child.id().to_string()).status();
        assert!(sent.expect("kill").success(), "no signal for Kafka");
        let began = Instant::now();
        while child.try_wait().expect("a child").is_none() {
            if began.elapsed() > START_TIMEOUT {
                let _ = child.kill();
                let _ = child.wait();
                panic!("Kafka did not stop: {}", self.nodes[node].said());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Kills a node, as `kill -9` does.
    pub fn kill(&mut self, node: usize) {
        self.nodes[node].kill();
    }

    /// Starts a node that was killed, with the data it had, and waits until it and all others that
    /// run know each other.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start_again(&mut self, node: usize) {
        self.nodes[node].kill();
        self.nodes[node].start();
        self.wait_until_ready();
    }

    /// Starts a node that was stopped with the jars of the oracle's release, and waits as
    /// [`Kafka::start_again`] does.
    ///
    /// # Panics
    /// If it does not start, or the jars are gone.
    pub fn start_upgraded(&mut self, node: usize) {
        let jars = oracle::jars().expect("the jars are still there");
        self.nodes[node].class_path = jars.join("*").display().to_string();
        self.start_again(node);
    }

    /// Waits until every node that runs serves, and knows all others that do.
    fn wait_until_ready(&mut self) {
        let began = Instant::now();
        let running = self.nodes.iter().filter(|node| node.child.is_some()).count();
        for node in self.nodes.iter_mut().filter(|node| node.child.is_some()) {
            while brokers(&format!("{HOST}:{}", node.ports[0])).unwrap_or(0) < running {
                if let Some(status) = node.child.as_mut().and_then(|child| child.try_wait().ok()?) {
                    panic!("Kafka ended with {status}: {}", node.said());
                }
                let waited = began.elapsed();
                assert!(waited < START_TIMEOUT, "Kafka did not start: {}", node.said());
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    }
}

impl Builder {
    fn with(jars: PathBuf, is_current: bool) -> Builder {
        Builder {
            class_path: jars.join("*").display().to_string(),
            nodes: 1,
            brokers: 0,
            listeners: vec![(Kafka::INTERNAL.to_owned(), "PLAINTEXT".to_owned())],
            configs: Vec::new(),
            node_configs: Vec::new(),
            advertised: BTreeMap::new(),
            scram: Vec::new(),
            features: Vec::new(),
            has_dynamic_quorum: false,
            is_current,
        }
    }

    /// One node whose quorum is in its metadata log (KIP-853), as `kafka-storage.sh format --standalone` makes it.
    pub fn dynamic_quorum(mut self) -> Builder {
        self.has_dynamic_quorum = true;
        self
    }

    /// Number of nodes; 1. All of them vote in the controllers' quorum, but for [`Builder::brokers`].
    pub fn nodes(mut self, nodes: usize) -> Builder {
        self.nodes = nodes;
        self
    }

    /// So many nodes more, which are brokers and no controllers. They come last.
    pub fn brokers(mut self, brokers: usize) -> Builder {
        self.brokers = brokers;
        self
    }

    /// How many there are in all.
    fn all(&self) -> usize {
        self.nodes + self.brokers
    }

    /// Adds a listener with a security protocol: `PLAINTEXT`, `SSL`, `SASL_PLAINTEXT` or
    /// `SASL_SSL`.
    pub fn listener(mut self, name: &str, protocol: &str) -> Builder {
        self.listeners.push((name.to_owned(), protocol.to_owned()));
        self
    }

    /// Sets a config by Kafka's name, on every node.
    pub fn config(mut self, name: &str, value: impl ToString) -> Builder {
        self.configs.push((name.to_owned(), value.to_string()));
        self
    }

    /// Sets a config on one node; they count from 0.
    pub fn node_config(mut self, node: usize, name: &str, value: impl ToString) -> Builder {
        self.node_configs.push((node, name.to_owned(), value.to_string()));
        self
    }

    /// Tells clients of a listener to come to other ports, node by node: those of something that
    /// stands between.
    pub fn advertise(mut self, listener: &str, ports: &[u16]) -> Builder {
        self.advertised.insert(listener.to_owned(), ports.to_vec());
        self
    }

    /// Creates a user with a SCRAM password, as `kafka-storage.sh format --add-scram` does. Neither
    /// may have `,`, `=` or brackets.
    pub fn scram(mut self, mechanism: &str, name: &str, password: &str) -> Builder {
        self.scram.push(format!("{mechanism}=[name={name},password={password}]"));
        self
    }

    /// Begins with a feature at another level than Kafka's default, as `format --feature` does.
    pub fn feature(mut self, name: &str, level: i16) -> Builder {
        self.features.push(format!("{name}={level}"));
        self
    }

    /// Formats and starts the nodes, and waits until they serve.
    ///
    /// # Panics
    /// If they do not: a test has nothing to do then.
    pub fn start(self) -> Kafka {
        let data = Data { path: scratch(), is_ours: true };
        std::fs::create_dir_all(&data.path).expect("a directory for Kafka");
        let per_node = self.listeners.len() + 1;
        let ports: Vec<u16> = (0..per_node * self.all()).map(|_| ports::free()).collect();
        let ports: Vec<&[u16]> = ports.chunks(per_node).collect();
        let mut kafka = Kafka {
            listeners: self.listeners.iter().map(|(name, _)| name.clone()).collect(),
            nodes: Vec::new(),
            data,
        };
        for node in 0..self.all() {
            let dir = kafka.data.path.join(format!("node-{}", node + 1));
            let config = dir.with_extension("properties");
            std::fs::write(&config, self.properties(node, &dir, &ports)).expect("a config");
            let output = dir.with_extension("log");
            let (controller_port, ports) = match ports[node] {
                [listeners @ .., controller] => {
                    ((node < self.nodes).then_some(*controller), listeners.to_vec())
                }
                [] => unreachable!("a node has listeners"),
            };
            let class_path = self.class_path.clone();
            let node = Node { config, output, class_path, ports, controller_port, child: None };
            kafka.nodes.push(node);
        }
        for node in &kafka.nodes {
            self.format(&node.config);
        }
        for node in &mut kafka.nodes {
            node.start();
        }
        kafka.wait_until_ready();
        kafka
    }

    fn format(&self, config: &Path) {
        let mut args = vec!["format".to_owned(), "-t".into(), CLUSTER_ID.into()];
        args.extend(["-c".into(), config.display().to_string()]);
        for user in &self.scram {
            args.extend(["--add-scram".into(), user.clone()]);
        }
        for feature in &self.features {
            args.extend(["--feature".into(), feature.clone()]);
        }
        if self.has_dynamic_quorum {
            args.push("--standalone".into());
        }
        const TOOL: &str = "kafka.tools.StorageTool";
        if self.is_current {
            Program::class(TOOL).args(args).succeed();
            return;
        }
        let formatted = java(&self.class_path, "256m").arg(TOOL).args(args).output();
        let formatted = formatted.expect("java starts");
        assert!(formatted.status.success(), "{}", String::from_utf8_lossy(&formatted.stderr));
    }

    /// The `server.properties` of a node. `ports` holds, for each node, those of its listeners and,
    /// last, of its controller.
    fn properties(&self, node: usize, dir: &Path, ports: &[&[u16]]) -> String {
        let all = || {
            let controller = (CONTROLLER, "PLAINTEXT");
            let listeners = self.listeners.iter().map(|(name, protocol)| (&**name, &**protocol));
            listeners.chain([controller])
        };
        let join = |parts: Vec<String>| parts.join(",");
        let is_controller = node < self.nodes;
        let replicas = self.all().min(3);
        let mut text = String::new();
        let mut set = |name: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name}={value}");
        };
        let roles = if is_controller { "broker,controller" } else { "broker" };
        set("process.roles", roles.into());
        set("node.id", (node + 1).to_string());
        let voter = |(node, ports): (usize, &&[u16])| {
            format!("{}@{HOST}:{}", node + 1, ports[ports.len() - 1])
        };
        match self.has_dynamic_quorum {
            true => {
                let controllers = ports
                    .iter()
                    .take(self.nodes)
                    .map(|ports| format!("{HOST}:{}", ports[ports.len() - 1]));
                set("controller.quorum.bootstrap.servers", join(controllers.collect()));
            }
            false => {
                set(
                    "controller.quorum.voters",
                    join(ports.iter().enumerate().take(self.nodes).map(voter).collect()),
                );
            }
        }
        set("controller.listener.names", CONTROLLER.into());
        set("inter.broker.listener.name", Kafka::INTERNAL.into());
        let listener = |((name, _), port): ((&str, &str), &u16)| format!("{name}://{HOST}:{port}");
        let own = all().zip(ports[node]).take(self.listeners.len() + usize::from(is_controller));
        set("listeners", join(own.map(listener).collect()));
        let advertised = all().zip(ports[node]).map(|((name, protocol), port)| {
            let told = self.advertised.get(name).map_or(port, |ports| &ports[node]);
            listener(((name, protocol), told))
        });
        // Nobody is told of the controller's.
        set("advertised.listeners", join(advertised.take(self.listeners.len()).collect()));
        let protocols = all().map(|(name, protocol)| format!("{name}:{protocol}"));
        set("listener.security.protocol.map", join(protocols.collect()));
        set("log.dirs", dir.display().to_string());
        for name in [
            "offsets.topic.replication.factor",
            "transaction.state.log.replication.factor",
            "share.coordinator.state.topic.replication.factor",
        ] {
            set(name, replicas.to_string());
        }
        set("transaction.state.log.min.isr", replicas.min(2).to_string());
        set("share.coordinator.state.topic.min.isr", replicas.min(2).to_string());
        set("offsets.topic.num.partitions", "4".into());
        set("transaction.state.log.num.partitions", "4".into());
        set("group.initial.rebalance.delay.ms", "0".into());
        for (name, value) in &self.configs {
            set(name, value.clone());
        }
        for (_, name, value) in self.node_configs.iter().filter(|(of, ..)| *of == node) {
            set(name, value.clone());
        }
        text
    }
}

impl Node {
    fn start(&mut self) {
        let output = File::create(&self.output).expect("a file for Kafka's output");
        let errors = output.try_clone().expect("the same file");
        let mut command = java(&self.class_path, "384m");
        command.arg("kafka.Kafka").arg(&self.config);
        command.stdout(output).stderr(errors);
        self.child = Some(command.spawn().expect("java starts"));
    }

    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// What it wrote so far.
    fn said(&self) -> String {
        std::fs::read_to_string(&self.output).unwrap_or_default()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A virtual machine that starts quickly rather than one that runs fast.
fn java(class_path: &str, heap: &str) -> Command {
    let mut command = Command::new("java");
    command.arg(format!("-Xmx{heap}")).args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]);
    command.args(["-cp", class_path]).stdin(Stdio::null());
    command
}

/// How many brokers the one at this address knows; `None` while it does not answer.
fn brokers(address: &str) -> Option<usize> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let mut w = Writer::new();
    w.begin_frame();
    w.i16(ApiKey::METADATA.0);
    w.i16(METADATA_VERSION);
    w.i32(0);
    w.nullable_string(false, Some("testkit")).ok()?;
    w.uvarint(0);
    // No topics: only the brokers are of interest.
    let request = MetadataRequest { topics: Some(Vec::new()), ..MetadataRequest::default() };
    request.encode(&mut w, METADATA_VERSION).ok()?;
    w.end_frame().ok()?;
    stream.write_all(&w.to_vec()).ok()?;
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut frame = vec![0; usize::try_from(i32::from_be_bytes(length)).ok()?.min(1 << 20)];
    stream.read_exact(&mut frame).ok()?;
    let mut r = Reader::new(&frame);
    r.i32().ok()?;
    r.tags(None, |_, _| Ok(false)).ok()?;
    Some(MetadataResponse::decode(&mut r, METADATA_VERSION).ok()?.brokers.len())
}
