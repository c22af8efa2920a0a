//! A cluster on this machine to look at: controllers of Apache Kafka, brokers of Thalweg, and of Kafka beside them if
//! asked. Its processes live on until `down`; everything of it is in `target/cluster` (`docs/cluster.md`).

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::setup;

/// How many of each.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub controllers: u16,
    pub java: u16,
    pub thalweg: u16,
}

/// What there is if nobody says otherwise.
pub const USUAL: Size = Size { controllers: 3, java: 0, thalweg: 3 };
/// Most nodes of a kind.
const NODES_MAX: u16 = 9;

const CLUSTER_ID: &str = "thalwegDocsClusterAAAA";
/// Broker N listens at this and N, controller N at the other and N.
const BROKER_PORTS: u16 = 19_090;
const CONTROLLER_PORTS: u16 = 19_190;
/// Id of the first controller is one more than this.
const CONTROLLER_IDS: u16 = 100;
const FOLDER: &str = "target/cluster";
/// Heap of a Java process, in MiB.
const HEAP: u16 = 256;
const STOP: Duration = Duration::from_secs(30);
const START: Duration = Duration::from_secs(90);

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Controller,
    Java,
    Thalweg,
}

/// A node, whose files have its name.
#[derive(Clone, Debug)]
struct Node {
    id: u16,
    kind: Kind,
    folder: PathBuf,
}

impl Node {
    fn file(&self, what: &str) -> PathBuf {
        self.folder.join(format!("node-{}.{what}", self.id))
    }

    fn address(&self) -> String {
        let port = match self.kind {
            Kind::Controller => CONTROLLER_PORTS + self.id - CONTROLLER_IDS,
            Kind::Java | Kind::Thalweg => BROKER_PORTS + self.id,
        };
        format!("127.0.0.1:{port}")
    }

    fn properties(&self, size: Size, voters: &str) -> String {
        let (role, listener) = match self.kind {
            Kind::Controller => ("controller", "CONTROLLER"),
            Kind::Java | Kind::Thalweg => ("broker", "PLAINTEXT"),
        };
        let replicas = (size.java + size.thalweg).min(3);
        format!(
            "process.roles={role}\nnode.id={}\ncontroller.quorum.voters={voters}\n\
             controller.listener.names=CONTROLLER\nlisteners={listener}://{}\n\
             listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n\
             log.dirs={}\ndefault.replication.factor={replicas}\nmin.insync.replicas={}\n\
             offsets.topic.replication.factor={replicas}\n",
            self.id,
            self.address(),
            self.folder.join(format!("node-{}", self.id)).display(),
            replicas.saturating_sub(1).max(1),
        )
    }

    /// Its process, if it lives: the number that its file has may be another one's by now.
    fn process(&self) -> Option<u32> {
        let pid = fs::read_to_string(self.file("pid")).ok()?.trim().parse().ok()?;
        let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let config = self.file("properties");
        let is_it = command
            .split(|byte| *byte == 0)
            .any(|arg| arg == config.as_os_str().as_encoded_bytes());
        is_it.then_some(pid)
    }

    fn start(&self, jars: &Path, binary: &Path) -> Result<(), String> {
        let config = self.file("properties");
        let mut command = match self.kind {
            Kind::Controller | Kind::Java => {
                let mut command = java(jars, "kafka.Kafka");
                command.arg(&config);
                command
            }
            Kind::Thalweg => {
                let mut command = Command::new(binary);
                command.arg("serve").arg("--config").arg(&config);
                command
            }
        };
        let path = self.file("log");
        let log = fs::File::create(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let both = log.try_clone().map_err(|e| format!("{}: {e}", path.display()))?;
        // A process group of its own: what ends the terminal's command does not end the cluster.
        command.process_group(0).stdin(Stdio::null()).stdout(log).stderr(both);
        let child = command.spawn().map_err(|e| format!("node {}: {e}", self.id))?;
        write(&self.file("pid"), &child.id().to_string())
    }
}

fn java(jars: &Path, class: &str) -> Command {
    let mut command = Command::new("java");
    command.arg(format!("-Xmx{HEAP}m")).args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]);
    command.arg("-cp").arg(format!("{}/*", jars.display())).arg(class);
    command
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

fn nodes(folder: &Path, size: Size) -> Vec<Node> {
    let node = |id, kind| Node { id, kind, folder: folder.to_path_buf() };
    let controllers = (1..=size.controllers).map(|at| node(CONTROLLER_IDS + at, Kind::Controller));
    let thalweg = (1..=size.thalweg).map(|at| node(at, Kind::Thalweg));
    let java = (1..=size.java).map(|at| node(size.thalweg + at, Kind::Java));
    controllers.chain(thalweg).chain(java).collect()
}

/// The nodes whose files are there.
fn made(folder: &Path) -> Result<Vec<Node>, String> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in entries {
        let name = entry.map_err(|e| format!("{}: {e}", folder.display()))?.file_name();
        let name = name.to_string_lossy();
        let id = name.strip_prefix("node-").and_then(|name| name.strip_suffix(".properties"));
        let Some(id) = id.and_then(|id| id.parse().ok()) else { continue };
        let kind = if id > CONTROLLER_IDS { Kind::Controller } else { Kind::Thalweg };
        found.push(Node { id, kind, folder: folder.to_path_buf() });
    }
    found.sort_unstable_by_key(|node| node.id);
    Ok(found)
}

/// Starts a new cluster, and waits until all its brokers serve.
pub fn up(root: &Path, jars: &Path, binary: &Path, size: Size) -> Result<(), String> {
    let all = [size.controllers, size.java, size.thalweg];
    if size.controllers == 0 || size.java + size.thalweg == 0 || all.iter().any(|n| *n > NODES_MAX)
    {
        return Err(format!(
            "cluster: 1 to {NODES_MAX} controllers and 1 to {NODES_MAX} brokers of a kind"
        ));
    }
    let folder = root.join(FOLDER);
    if let Some(node) = made(&folder)?.iter().find(|node| node.process().is_some()) {
        return Err(format!("cluster: node {} lives; cargo xtask cluster down ends it", node.id));
    }
    setup::remove(&folder)?;
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let nodes = nodes(&folder, size);
    let voters: Vec<String> = nodes
        .iter()
        .filter(|node| node.kind == Kind::Controller)
        .map(|node| format!("{}@{}", node.id, node.address()))
        .collect();
    for node in &nodes {
        write(&node.file("properties"), &node.properties(size, &voters.join(",")))?;
        if node.kind != Kind::Thalweg {
            format(jars, node)?;
        }
        node.start(jars, binary)?;
    }
    let brokers: Vec<&Node> = nodes.iter().filter(|node| node.kind != Kind::Controller).collect();
    let bootstrap = bootstrap(&brokers);
    let deadline = Instant::now() + START;
    while alive(binary, &bootstrap) < brokers.len() {
        if let Some(node) = nodes.iter().find(|node| node.process().is_none()) {
            return Err(format!(
                "cluster: node {} has ended: {}",
                node.id,
                node.file("log").display()
            ));
        }
        if Instant::now() > deadline {
            return Err(format!("cluster: not all brokers serve within {} s", START.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    println!("bootstrap.servers={bootstrap}");
    status(root, binary)
}

fn bootstrap(brokers: &[&Node]) -> String {
    brokers.iter().map(|node| node.address()).collect::<Vec<_>>().join(",")
}

/// Kafka's directories are made by its own tool, and say what the cluster has: nothing that Thalweg does not serve.
fn format(jars: &Path, node: &Node) -> Result<(), String> {
    let mut command = java(jars, "kafka.tools.StorageTool");
    command.args(["format", "-t", CLUSTER_ID, "-c"]).arg(node.file("properties"));
    if node.kind == Kind::Controller {
        for feature in ["share.version", "streams.version"] {
            command.args(["--feature", &format!("{feature}=0")]);
        }
    }
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|e| format!("java cannot be started: {e}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("node {}: {said}", node.id)) }
}

/// How many brokers the cluster says that it has.
fn alive(binary: &Path, bootstrap: &str) -> usize {
    let mut command = Command::new(binary);
    command.args(["cluster", "describe", "--brief", "--json", "--timeout", "5", "-b", bootstrap]);
    let Ok(output) = command.stdin(Stdio::null()).output() else { return 0 };
    let described: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    described["brokers"].as_array().map_or(0, Vec::len)
}

/// Says which processes live, and what the cluster says of itself.
pub fn status(root: &Path, binary: &Path) -> Result<(), String> {
    let nodes = made(&root.join(FOLDER))?;
    if nodes.is_empty() {
        return Err("cluster: there is none; cargo xtask cluster up makes one".into());
    }
    for node in &nodes {
        let process =
            node.process().map_or("is down".to_owned(), |pid| format!("is process {pid}"));
        println!("node {} {process}: {}", node.id, node.file("log").display());
    }
    let brokers: Vec<&Node> = nodes.iter().filter(|node| node.kind != Kind::Controller).collect();
    let mut command = Command::new(binary);
    command.args(["cluster", "describe", "--fenced", "-b", &bootstrap(&brokers)]);
    let status = command.stdin(Stdio::null()).status().map_err(|e| format!("thalweg: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("thalweg cluster describe: {status}")) }
}

/// Ends it: brokers first, then controllers, who let them go. What it had stays to be looked at until the next `up`.
pub fn down(root: &Path) -> Result<(), String> {
    let nodes = made(&root.join(FOLDER))?;
    let (controllers, brokers): (Vec<_>, Vec<_>) =
        nodes.into_iter().partition(|node| node.kind == Kind::Controller);
    for group in [brokers, controllers] {
        group.iter().for_each(|node| signal(node, "TERM"));
        let deadline = Instant::now() + STOP;
        while group.iter().any(|node| node.process().is_some()) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
        }
        for node in group.iter().filter(|node| node.process().is_some()) {
            println!("node {} does not end by itself: killed", node.id);
            signal(node, "KILL");
        }
    }
    Ok(())
}

fn signal(node: &Node, name: &str) {
    if let Some(pid) = node.process() {
        // Who has ended meanwhile need not be told.
        let _ = Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).status();
    }
}
