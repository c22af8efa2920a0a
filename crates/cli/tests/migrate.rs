//! `thalweg migrate check` and `thalweg serve --dry-run`: beside a broker of Apache Kafka, and beside our own.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use thalweg_testkit::kafka::Kafka;
use thalweg_testkit::oracle::Program;

use crate::limited::{self, Limited};
use crate::records::THALWEG;

const WAIT: Duration = Duration::from_secs(60);

/// How a command ended, and what it wrote.
fn run(args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(THALWEG);
    let output = limited::output(command.args(args).env_remove("THALWEG_BOOTSTRAP"));
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// The exit code, and the JSON.
fn inspected(args: &[&str]) -> (i32, Value) {
    let (code, out, err) = run(&[args, &["--json"]].concat());
    let value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{args:?}: {out} {err}"));
    (code, value)
}

/// The first that is as it should be.
fn inspected_until(args: &[&str], is_so: impl Fn(i32, &Value) -> bool) -> (i32, Value) {
    let deadline = Instant::now() + WAIT;
    loop {
        let (code, value) = inspected(args);
        if is_so(code, &value) {
            return (code, value);
        }
        assert!(Instant::now() < deadline, "{code} {value:#}");
    }
}

/// The findings of a weight, each as a line.
fn findings(value: &Value, severity: &str) -> Vec<String> {
    let all = value["findings"].as_array().unwrap().iter();
    let those = all.filter(|finding| finding["severity"] == severity);
    those.map(|finding| finding["what"].as_str().unwrap().to_owned()).collect()
}

fn has(value: &Value, severity: &str, part: &str) -> bool {
    findings(value, severity).iter().any(|what| what.contains(part))
}

/// Names, lengths and times of all files.
fn listing(dir: &Path) -> BTreeMap<PathBuf, (u64, std::time::SystemTime)> {
    let mut all = BTreeMap::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            if metadata.is_dir() {
                folders.push(entry.path());
            }
            all.insert(entry.path(), (metadata.len(), metadata.modified().unwrap()));
        }
    }
    all
}

/// What inspections of this process's children leave in the directory for temporary files.
fn left_over(of: &str) -> usize {
    let entries = fs::read_dir(std::env::temp_dir()).unwrap();
    entries.filter(|it| it.as_ref().unwrap().file_name().to_string_lossy().contains(of)).count()
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("migrate-{name}-{}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_broker_of_apache_kafka_is_looked_at_while_it_runs_and_when_it_has_stopped() {
    let Some(builder) = Kafka::builder() else { return };
    let mut kafka = builder
        .nodes(1)
        .brokers(2)
        .config("confluent.something", "7")
        .config("broker.session.timeout.ms", 3_000)
        .config("broker.heartbeat.interval.ms", 500)
        .config("min.insync.replicas", 1)
        .start();
    let own = 3;
    let bootstrap = kafka.bootstrap(Kafka::INTERNAL);
    let tool = |class: &str, args: &[&str]| {
        let program = Program::class(class).args(["--bootstrap-server", &bootstrap]);
        program.args(args).succeed()
    };
    let topics = "org.apache.kafka.tools.TopicCommand";
    tool(topics, &["--create", "--topic", "orders", "--replica-assignment", "3:1,2:3,1:2"]);
    tool(
        topics,
        &["--create", "--topic", "__share_group_state", "--replica-assignment", "3:1,1:2"],
    );
    let limit = ["--for-client-id", "c", "--set", "producer_byte_rate=9", "-b", &bootstrap];
    let (code, _, err) = run(&[&["quota", "alter"], &limit[..]].concat());
    assert_eq!(code, 0, "{err}");

    let properties = kafka.properties(2).display().to_string();
    let check = ["migrate", "check", "--config", &properties];
    // A broker makes its logs after the topic is there.
    let (code, running) =
        inspected_until(&check, |_, found| found["directories"][0]["partitions"] == 3);
    assert_eq!(code, 1, "{running:#}");
    assert_eq!(running["verdict"], "refused");
    assert!(has(&running, "note", "in use by process"), "{running:#}");
    let refused = findings(&running, "refused");
    assert!(
        refused.len() == 1 && refused[0].contains("partitions 0 of __share_group_state"),
        "{refused:?}"
    );
    for part in ["confluent.something", "share.version=", "streams.version=", "producer_byte_rate"]
    {
        assert!(has(&running, "not honoured", part), "{part}: {running:#}");
    }
    let cluster = &running["cluster"];
    assert_eq!((&cluster["replicas"], &cluster["is_cordoned"]), (&3.into(), &true.into()));
    assert_eq!(cluster["registration"]["is_fenced"], false);
    assert_eq!(cluster["controllers"][0]["is_active"], true, "{cluster:#}");
    let found = &running["directories"][0];
    assert_eq!((&found["partitions"], &found["is_clean"]), (&3.into(), &false.into()));

    // Nobody was told of it.
    let quorum =
        tool("org.apache.kafka.tools.MetadataQuorumCommand", &["describe", "--replication"]);
    let observers = quorum.lines().filter(|line| line.contains("Observer")).count();
    assert_eq!(observers, 2, "{quorum}");

    // The plan is one that can be carried out.
    let folder = Folder::new("plan");
    let plan = folder.write("plan.json", &running["reassignment"].to_string());
    assert_eq!(running["reassignment"]["partitions"][0]["replicas"], serde_json::json!([2, 1]));
    let (code, out, err) = run(&["cluster", "reassign", "--file", &plan, "-b", &bootstrap]);
    assert_eq!(code, 0, "{out} {err}");
    let (_, moved) = inspected_until(&check, |code, _| code == 0);
    assert_eq!((&moved["verdict"], &moved["reassignment"]), (&"ready".into(), &Value::Null));
    assert_eq!(run(&[&check[..], &["--strict"]].concat()).0, 1);

    kafka.stop(2);
    let dir = kafka.data().join("node-3");
    let before = listing(&dir);
    let (code, stopped) = inspected(&check);
    assert_eq!(code, 0, "{stopped:#}");
    assert!(!has(&stopped, "note", "in use by") && !has(&stopped, "note", "not closed cleanly"));
    assert_eq!(stopped["cluster"]["registration"]["is_fenced"], true, "{stopped:#}");
    let epoch = &stopped["cluster"]["registration"]["broker_epoch"];
    assert_eq!(&stopped["previous_broker_epoch"], epoch);

    // What it would be, if it was started.
    let (code, dry) = inspected(&["serve", "--dry-run", "--config", &properties]);
    assert_eq!((code, &dry["node_id"]), (0, &own.into()), "{dry:#}");
    assert_eq!(dry["cluster"]["id"], stopped["cluster"]["id"]);
    let (code, text, _) = run(&["serve", "--dry-run", "--config", &properties]);
    assert_eq!(code, 0, "{text}");
    for part in [
        "Node 3 would join cluster",
        "as a broker, cordoned.",
        "1@127.0.0.1",
        "(active)",
        "closed cleanly",
        "metadata.version=",
        "2 replicas by the metadata",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }

    assert_eq!(listing(&dir), before, "files have changed");
    // And it is so.
    let mut serve = Command::new(THALWEG);
    serve.args(["serve", "--config", &properties]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut broker = serve.spawn().unwrap();
    let limit = Limited::new(&broker);
    let mut line = String::new();
    BufReader::new(broker.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("ready "), "{line}");
    let (code, ours) = inspected(&["serve", "--dry-run", "--config", &properties]);
    assert!(code == 1 && has(&ours, "refused", "in use by process"), "{ours:#}");
    kill_process(Pid::from_child(&broker), Signal::TERM).unwrap();
    assert!(broker.wait().unwrap().success());
    drop(limit);
    let before = listing(&dir);

    // Without the cluster its own copy of the metadata says the same.
    let (code, offline) = inspected(&[&check[..], &["--offline"]].concat());
    assert_eq!(code, 0, "{offline:#}");
    assert_eq!(offline["cluster"]["replicas"], 2, "{offline:#}");
    assert!(has(&offline, "note", "own copy of the metadata"), "{offline:#}");
    kafka.kill(0);
    kafka.kill(1);
    let (code, alone) = inspected(&[&check[..], &["--timeout", "500ms"]].concat());
    assert_eq!((code, &alone["verdict"]), (3, &"not checked".into()), "{alone:#}");
    assert!(has(&alone, "not checked", "cluster cannot be asked"), "{alone:#}");
    assert_eq!(alone["cluster"]["replicas"], 2, "{alone:#}");

    assert_eq!(listing(&dir), before, "files have changed");
    assert_eq!(left_over("thalweg-inspect-"), 0);
}

#[test]
fn a_file_that_no_broker_here_can_go_by_is_told_in_whole() {
    let folder = Folder::new("refused");
    let data = folder.0.join("data");
    let file = folder.write(
        "server.properties",
        &format!(
            "process.roles=broker\nnode.id=4\ncontroller.quorum.bootstrap.servers=127.0.0.1:1\n\
             controller.listener.names=CONTROLLER\nlisteners=PLAINTEXT://:9092,SSL://:9093\n\
             listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL\n\
             authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n\
             remote.log.storage.system.enable=true\nlog.dirs={}\n",
            data.display()
        ),
    );
    let (code, found) = inspected(&["migrate", "check", "--config", &file, "--offline"]);
    assert_eq!((code, findings(&found, "refused").len()), (1, 3), "{found:#}");
    assert!(!data.exists());
    let (code, text, err) = run(&["migrate", "check", "--config", &file, "--offline"]);
    assert_eq!((code, err.as_str()), (1, ""));
    assert!(text.starts_with("Node 4 would join a cluster, as a broker.\n"), "{text}");
    assert!(
        text.ends_with("to note.\n") && text.contains("A start would be refused: 3 refused"),
        "{text}"
    );
    let lines = text.lines().filter(|line| line.starts_with("refused ")).count();
    assert_eq!(lines, 3, "{text}");

    let (code, out, err) = run(&["migrate", "check", "--config", "/nowhere/server.properties"]);
    assert!(code == 2 && out.is_empty() && err.contains("/nowhere/server.properties"), "{err}");
    assert_eq!(run(&["migrate", "check"]).0, 2);
    assert_eq!(run(&["migrate", "check", "--config", &file, "--set", "nothing"]).0, 2);
}

#[test]
fn a_new_node_is_told_that_it_would_found_a_cluster() {
    let folder = Folder::new("new");
    let data = folder.0.join("data").display().to_string();
    let serve = ["serve", "--dry-run", "--listen", "127.0.0.1:0", "--data", &data];
    let (code, found) = inspected(&serve);
    assert_eq!((code, &found["is_new_cluster"]), (0, &true.into()), "{found:#}");
    assert_eq!(found["roles"], serde_json::json!(["broker", "controller"]));
    assert!(!Path::new(&data).exists());
    let (code, text, _) = run(&serve);
    assert_eq!(code, 0, "{text}");
    assert!(text.starts_with("Node 1 would found a cluster"), "{text}");
    assert!(text.contains("127.0.0.1:0, advertised as 127.0.0.1:0"), "{text}");

    // An address that somebody has is one that a start could not have either.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, found) = inspected(&["serve", "--dry-run", "--listen", &address, "--data", &data]);
    assert!(code == 1 && has(&found, "refused", &address), "{found:#}");
    // What makes no sense without the other.
    assert_eq!(run(&["serve", "--offline", "--data", &data]).0, 2);
}

#[test]
fn a_node_of_apache_kafka_that_is_its_own_controller_is_looked_at() {
    let Some(builder) = Kafka::builder() else { return };
    let mut kafka = builder.start();
    let properties = kafka.properties(0).display().to_string();
    let bootstrap = kafka.bootstrap(Kafka::INTERNAL);
    assert_eq!(run(&["topic", "create", "orders", "-p", "3", "-b", &bootstrap]).0, 0);
    kafka.stop(0);
    let before = listing(kafka.data());
    let check = ["migrate", "check", "--config", &properties];
    let (code, found) = inspected(&check);
    assert_eq!((code, &found["is_new_cluster"]), (0, &false.into()), "{found:#}");
    assert_eq!(found["roles"], serde_json::json!(["broker", "controller"]));
    let cluster = &found["cluster"];
    assert_eq!((&cluster["replicas"], &cluster["is_cordoned"]), (&3.into(), &false.into()));
    assert_eq!(cluster["features"]["metadata.version"], 33, "{found:#}");

    let elsewhere = "controller.quorum.voters=7@127.0.0.1:1";
    let (code, found) = inspected(&[&check[..], &["--set", elsewhere]].concat());
    assert!(code == 1 && has(&found, "refused", "controller.quorum.voters"), "{found:#}");
    let (code, found) =
        inspected(&[&check[..], &["--set", "node.id=7", "--set", elsewhere]].concat());
    assert!(code == 1 && has(&found, "refused", "node.id is 1"), "{found:#}");
    assert_eq!(listing(kafka.data()), before, "files have changed");
}
