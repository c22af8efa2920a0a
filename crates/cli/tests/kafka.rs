//! The commands against Apache Kafka behind TLS and SASL, with a property file as Kafka's own
//! clients take it.
//!
//! Needs Java and, in `THALWEG_KAFKA_JARS`, a directory with the jars of Kafka 4.3. Without the
//! variable there is nothing to do, and the test says so.
#![cfg(feature = "tls")]

use std::path::{Path, PathBuf};
use std::process::Command;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::Value;
use thalweg_testkit::kafka::Kafka;

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
        let output = command.output().unwrap();
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
    assert!(code == Some(1) && err.contains("do not trust each other"), "{err}");
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
