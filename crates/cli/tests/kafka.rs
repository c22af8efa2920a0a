//! The commands against Apache Kafka behind TLS and SASL, with a property file as Kafka's own
//! clients take it.
//!
//! Needs Java and, in `THALWEG_KAFKA_JARS`, a directory with the jars of Kafka 4.4. Without the
//! variable there is nothing to do, and the test says so.
#![cfg(feature = "tls")]

use crate::limited::{self, Limited};

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::Value;
use thalweg_testkit::kafka::Kafka;
use thalweg_testkit::oracle::Program;

const THALWEG: &str = env!("CARGO_BIN_EXE_thalweg");
const SCRAM: &str = "org.apache.kafka.common.security.scram.ScramLoginModule required";

struct Files(PathBuf);

impl Files {
    fn new() -> Files {
        let folder = format!("kafka-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        Files(folder)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn property_files_lead_through_tls_and_sasl() {
    let Some(builder) = Kafka::builder() else { return };
    let files = Files::new();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let trusted = files.write("ca.pem", &params.self_signed(&key).unwrap().pem());
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap().pem();
    let keys = files.write("broker.pem", &format!("{}{certificate}", key.serialize_pem()));
    let kafka = builder
        .listener("CLIENTS", "SASL_SSL")
        .config("ssl.keystore.type", "PEM")
        .config("ssl.keystore.location", &keys)
        .config("listener.name.clients.sasl.enabled.mechanisms", "SCRAM-SHA-512")
        .config("listener.name.clients.scram-sha-512.sasl.jaas.config", format!("{SCRAM};"))
        .scram("SCRAM-SHA-512", "alice", "secret")
        .start();

    let properties = |password: &str, trusted: &str| {
        format!(
            "bootstrap.servers={}\nsecurity.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n\
             sasl.jaas.config={SCRAM} \\\n  username=\"alice\" password=\"{password}\";\n\
             ssl.truststore.type=PEM\nssl.truststore.location={trusted}\n",
            kafka.bootstrap("CLIENTS")
        )
    };
    let run = |file: &str, args: &[&str]| {
        let mut command = Command::new(THALWEG);
        command.args(args).args(["--command-config", file]).env_remove("THALWEG_BOOTSTRAP");
        let output = limited::output(&mut command);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let good = files.write("good.properties", &properties("secret", &trusted));
    let (code, _, err) = run(&good, &["topic", "create", "t", "-p", "2"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let (_, out, _) = run(&good, &["topic", "list"]);
    assert_eq!(out, "t\n");
    let (code, out, _) = run(&good, &["cluster", "describe", "--json"]);
    let described: Value = serde_json::from_str(&out).unwrap();
    let port = i64::from(kafka.port(0, "CLIENTS"));
    assert_eq!((code, described["brokers"][0]["port"].as_i64()), (Some(0), Some(port)));

    let wrong = files.write("wrong.properties", &properties("guess", &trusted));
    let (code, _, err) = run(&wrong, &["topic", "list", "--timeout", "10"]);
    assert!(code == Some(1) && err.contains("SASL authentication with"), "{err}");
    assert!(!err.contains("guess") && err.lines().count() == 1, "{err}");
    let key = KeyPair::generate().unwrap();
    let stranger = CertificateParams::new(Vec::new()).unwrap().self_signed(&key).unwrap();
    let stranger = files.write("stranger.pem", &stranger.pem());
    let untrusted = files.write("untrusted.properties", &properties("secret", &stranger));
    let (code, _, err) = run(&untrusted, &["topic", "list", "--timeout", "10"]);
    assert!(code == Some(1) && err.contains("TLS"), "{err}");
    let missing = files.write("missing.properties", &properties("secret", "none.pem"));
    let (code, _, err) = run(&missing, &["topic", "list"]);
    assert!(code == Some(2) && err.contains("none.pem cannot be read"), "{code:?} {err}");
}

#[test]
fn who_may_do_what_and_how_much() {
    let Some(builder) = Kafka::builder() else { return };
    let kafka = builder
        .config("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer")
        .config("super.users", "User:ANONYMOUS")
        .start();
    let bootstrap = kafka.bootstrap(Kafka::INTERNAL);
    let run = |args: &[&str], input: &str| {
        let mut command = Command::new(THALWEG);
        command.args(args).args(["--bootstrap-server", &bootstrap]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _limited = Limited::new(&child);
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let ok = |args: &[&str]| {
        let (code, out, err) = run(args, "");
        assert_eq!((code, err.as_str()), (Some(0), ""), "{args:?}");
        out
    };
    let fails = |args: &[&str], code: i32, why: &str| {
        let (found, _, err) = run(args, "");
        assert!(found == Some(code) && err.contains(why), "{args:?}: {found:?} {err}");
    };

    // ACLs, also as Kafka's own tool sees them.
    ok(&["acl", "allow", "User:alice", "--consumer", "--topic", "t", "--group", "g"]);
    ok(&["acl", "deny", "User:*", "-o", "write", "--topic", "audit-", "--prefixed"]);
    let listed = ok(&["acl", "list"]);
    assert_eq!(listed.lines().count(), 1 + 4, "{listed}");
    let all: Value = serde_json::from_str(&ok(&["acl", "list", "--denied", "--json"])).unwrap();
    assert_eq!(all.as_array().unwrap().len(), 1);
    assert_eq!((&all[0]["pattern"], &all[0]["operation"]), (&"Prefixed".into(), &"Write".into()));
    let about = ok(&["acl", "list", "--topic", "audit-log", "--pattern", "match"]);
    assert!(about.contains("audit-") && about.lines().count() == 2, "{about}");
    let tool = Program::class("org.apache.kafka.tools.AclCommand");
    let tool = tool.args(["--bootstrap-server", &bootstrap, "--list", "--principal", "User:alice"]);
    let theirs = tool.succeed();
    for part in ["operation=READ", "operation=DESCRIBE", "resourceType=GROUP, name=g"] {
        assert!(theirs.contains(part), "{theirs}");
    }
    fails(&["acl", "delete", "--principal", "User:alice"], 2, "these 3: say --yes");
    ok(&["acl", "delete", "--principal", "User:alice", "--yes"]);
    fails(&["acl", "delete", "--principal", "User:alice", "--yes"], 4, "nothing matches");
    fails(&["acl", "delete", "--yes"], 2, "or else --all");
    fails(&["acl", "allow", "User:a", "-o", "write", "--group", "g"], 2, "done with a Group");

    // Passwords.
    let (code, out, err) = run(&["user", "set-password", "bob"], "secret\n");
    assert_eq!(
        (code, out.as_str(), err.as_str()),
        (Some(0), "bob, SCRAM-SHA-512: password set\n", "")
    );
    let listed = ok(&["user", "list"]);
    assert!(listed.contains("bob   SCRAM-SHA-512        8192"), "{listed}");
    let (code, _, err) = run(&["user", "set-password", "bob"], "");
    assert!(code == Some(2) && err.contains("empty"), "{err}");
    ok(&["user", "delete", "bob"]);
    // Kafka refuses a request that names a user twice.
    let both = ["--mechanism", "SCRAM-SHA-256", "--mechanism", "SCRAM-SHA-512"];
    let set = [&["user", "set-password", "dora"], &both[..], &both[..2]].concat();
    let (code, out, err) = run(&set, "secret\n");
    let done = "dora, SCRAM-SHA-256: password set\ndora, SCRAM-SHA-512: password set\n";
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), done, ""));
    assert_eq!(ok(&["user", "list", "dora", "dora"]).lines().count(), 3);
    let deleted = ok(&["user", "delete", "dora"]);
    assert_eq!(deleted, "dora, SCRAM-SHA-256: deleted\ndora, SCRAM-SHA-512: deleted\n");
    run(&["user", "set-password", "dora"], "secret\n");
    let (code, out, err) = run(&[&["user", "delete", "dora"], &both[..]].concat(), "");
    assert_eq!((code, out.as_str()), (Some(3), "dora, SCRAM-SHA-512: deleted\n"));
    assert!(err.contains("user dora, SCRAM-SHA-256: "), "{err}");
    fails(&["user", "list", "bob"], 4, "bob");
    fails(&["user", "delete", "bob"], 4, "bob");

    // Kafka takes the deletion of a config that does not exist without a word.
    ok(&["topic", "create", "t"]);
    for (kind, name, config) in [
        ("topic", "t", "retention.ms"),
        ("broker", "1", "log.cleaner.threads"),
        ("broker", "--all-brokers", "log.cleaner.threads"),
        ("broker", "1", "listener.name.internal.ssl.keystore.location"),
        ("group", "g", "consumer.session.timeout.ms"),
        ("client-metrics", "m", "interval.ms"),
    ] {
        let alter = ["config", "alter", kind, name, "--delete"];
        ok(&[&alter[..], &[config]].concat());
        fails(&[&alter[..], &["no.such"]].concat(), 4, "there is no config no.such");
        if name != "--all-brokers" && !config.starts_with("listener") {
            ok(&["config", "describe", kind, name, "--config", config]);
            fails(
                &["config", "describe", kind, name, "--config", "no.such"],
                4,
                "no config no.such",
            );
        }
    }

    // Limits.
    let alice = ["--user", "alice", "--for-client-id", "c"];
    let set = ["--set", "producer_byte_rate=1024", "--set", "request_percentage=12.5"];
    ok(&[&["quota", "alter"], &alice[..], &set].concat());
    ok(&["quota", "alter", "--default-user", "--set", "consumer_byte_rate=5", "--validate-only"]);
    let listed = ok(&["quota", "list"]);
    assert!(listed.contains("client-id c, user alice  producer_byte_rate   1024"), "{listed}");
    assert_eq!(listed.lines().count(), 3, "{listed}");
    ok(&[&["quota", "alter"], &alice[..], &["--delete", "producer_byte_rate"]].concat());
    let left: Value = serde_json::from_str(&ok(&["quota", "list", "--json"])).unwrap();
    assert_eq!(left[0]["limits"], serde_json::json!({"request_percentage": 12.5}));
    fails(&["quota", "alter", "--user", "x", "--set", "speed=1"], 1, "INVALID_REQUEST");
    fails(&["quota", "alter", "--set", "speed=1"], 2, "for whom?");
}
