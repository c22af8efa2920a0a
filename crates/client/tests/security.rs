//! TLS and SASL against Apache Kafka. One broker for all: it takes seconds to start.
//!
//! Needs Java and, in `THALWEG_KAFKA_JARS`, a directory with the jars of Kafka 4.4. Without the
//! variable there is nothing to do, and the test says so.
#![cfg(feature = "tls")]

use std::path::Path;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use thalweg::{
    AuthenticationError, Cluster, Connection, Consumer, ConsumerConfig, Error, Identity, Mechanism,
    OffsetReset, Options, Pem, RawConnection, Roots, SaslOptions, Security, TlsOptions,
    TopicPartition,
};
use thalweg_records::builder::BatchOptions;
use thalweg_testkit::kafka::Kafka;
use thalweg_testkit::requests;
use thalweg_wire::messages::alter_user_scram_credentials_request::ScramCredentialDeletion;
use thalweg_wire::messages::{AlterUserScramCredentialsRequest, DescribeClusterRequest};
use thalweg_wire::{ErrorCode, Uuid};

/// Life of a session on the listener BRIEF.
const BRIEF_MS: u64 = 2_000;
const PLAIN_JAAS: &str = "org.apache.kafka.common.security.plain.PlainLoginModule required \
                          user_alice=\"plain-secret\";";
const SCRAM_JAAS: &str = "org.apache.kafka.common.security.scram.ScramLoginModule required;";

/// Someone who signs certificates.
struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Authority {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.self_signed(&key).unwrap().pem();
        Authority { certificate, issuer: Issuer::new(params, key) }
    }

    /// A certificate and its key.
    fn issue(&self, names: &[&str]) -> (String, String) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(DnType::CommonName, "thalweg test");
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        (certificate, key.serialize_pem())
    }

    fn identity(&self) -> Identity {
        let (certificate, key) = self.issue(&["client.example"]);
        Identity::new(Pem::text(certificate), Pem::text(key))
    }
}

struct Bench {
    kafka: Kafka,
    ours: Authority,
    theirs: Authority,
    /// The broker's own certificate.
    certificate: String,
}

impl Bench {
    fn start() -> Option<Bench> {
        let builder = Kafka::builder()?;
        let ours = Authority::new("ours");
        let theirs = Authority::new("theirs");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let write = |name: &str, text: &str| {
            let path = folder.join(format!("security-{}-{name}.pem", std::process::id()));
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        // Not `localhost`: that it is refused is part of the test.
        let (certificate, key) = ours.issue(&["127.0.0.1", "broker.example"]);
        let keys = write("broker", &format!("{key}{certificate}"));
        let trusted = write("trusted", &ours.certificate);
        let mut builder = builder
            .listener("TLS", "SSL")
            .listener("MUTUAL", "SSL")
            .listener("PLAIN", "SASL_PLAINTEXT")
            .listener("SCRAM", "SASL_SSL")
            .listener("BRIEF", "SASL_PLAINTEXT")
            .config("ssl.keystore.type", "PEM")
            .config("ssl.keystore.location", &keys)
            .config("ssl.truststore.type", "PEM")
            .config("ssl.truststore.location", &trusted)
            .config("listener.name.mutual.ssl.client.auth", "required")
            .config("listener.name.plain.sasl.enabled.mechanisms", "PLAIN")
            .config("listener.name.plain.plain.sasl.jaas.config", PLAIN_JAAS)
            .config("listener.name.scram.sasl.enabled.mechanisms", "SCRAM-SHA-256,SCRAM-SHA-512")
            .config("listener.name.brief.sasl.enabled.mechanisms", "SCRAM-SHA-256")
            .config("listener.name.brief.scram-sha-256.connections.max.reauth.ms", BRIEF_MS);
        for (listener, mechanism) in
            [("scram", "scram-sha-256"), ("scram", "scram-sha-512"), ("brief", "scram-sha-256")]
        {
            let name = format!("listener.name.{listener}.{mechanism}.sasl.jaas.config");
            builder = builder.config(&name, SCRAM_JAAS);
        }
        let kafka = builder
            .scram("SCRAM-SHA-256", "alice", "secret-256")
            .scram("SCRAM-SHA-512", "alice", "secret-512")
            .scram("SCRAM-SHA-256", "carol", "secret-c")
            .start();
        for path in [keys, trusted] {
            std::fs::remove_file(path).unwrap();
        }
        Some(Bench { kafka, ours, theirs, certificate })
    }

    fn tls(&self) -> TlsOptions {
        TlsOptions::default().with_roots(Roots::text(&self.ours.certificate))
    }

    fn scram_sha_256(&self) -> Options {
        let sasl = SaslOptions::new(Mechanism::ScramSha256, "alice", "secret-256");
        with_sasl(Security::Tls(self.tls()), sasl)
    }

    async fn open(&self, listener: &str, options: &Options) -> Result<Connection, Error> {
        Connection::open(&self.kafka.bootstrap(listener), options).await
    }

    /// That a connection comes about and answers.
    async fn works(&self, listener: &str, options: &Options) {
        let connection = self.open(listener, options).await.unwrap();
        let answer = connection.send(&DescribeClusterRequest::default()).await.unwrap();
        assert_eq!(answer.brokers[0].port, i32::from(self.kafka.port(0, listener)));
    }

    /// Why no connection comes about.
    async fn refused(&self, listener: &str, options: &Options) -> AuthenticationError {
        match self.open(listener, options).await {
            Err(Error::Authentication { addr, source }) => {
                assert_eq!(*addr, *self.kafka.bootstrap(listener));
                source
            }
            Err(error) => panic!("{listener}: {error:?}"),
            Ok(_) => panic!("{listener} lets everybody in"),
        }
    }

    async fn topic(&self, name: &str) -> Topic {
        let connection = self.open(Kafka::INTERNAL, &Options::default()).await.unwrap();
        let request = requests::create(requests::topic(name, 1, &[]));
        let created = connection.send(&request).await.unwrap().topics.remove(0);
        assert_eq!(created.error_code, ErrorCode::NONE);
        Topic { id: created.topic_id }
    }
}

struct Topic {
    id: Uuid,
}

impl Topic {
    /// Produces records in one batch.
    async fn produce(&self, connection: &Connection, values: &[&[u8]]) {
        let records = requests::batch(BatchOptions::default(), values);
        let request = requests::produce(self.id, [(0, records)]);
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let response = connection.send(&request).await.unwrap();
            let code = response.responses[0].partition_responses[0].error_code;
            if code == ErrorCode::NONE {
                return;
            }
            // The topic may not have a leader yet.
            assert!(code.is_retriable() && Instant::now() < deadline, "{code:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

fn with_tls(tls: TlsOptions) -> Options {
    Options::default().with_security(Security::Tls(tls))
}

fn with_sasl(security: Security, sasl: SaslOptions) -> Options {
    Options::default().with_security(security).with_sasl(sasl)
}

fn earliest() -> ConsumerConfig {
    ConsumerConfig::default().with_auto_offset_reset(OffsetReset::Earliest)
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future).await.expect("too slow")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn against_apache_kafka() {
    let Some(bench) = Bench::start() else { return };
    tls(&bench).await;
    names(&bench).await;
    client_certificates(&bench).await;
    plain(&bench).await;
    scram(&bench).await;
    records_over_tls(&bench).await;
    sessions_are_renewed(&bench).await;
    consumers_learn_that_they_are_refused(&bench).await;
}

async fn tls(bench: &Bench) {
    let options = with_tls(bench.tls());
    bench.works("TLS", &options).await;
    // Also when the session is resumed.
    bench.works("TLS", &options).await;
    let wrong = TlsOptions::default().with_roots(Roots::text(&bench.theirs.certificate));
    let error = bench.refused("TLS", &with_tls(wrong.clone())).await.to_string();
    assert!(error.contains("UnknownIssuer"), "{error}");
    // A pinned certificate, as property files have it on one line.
    let pinned = bench.certificate.replace('\n', " ");
    let pinned = TlsOptions::default().with_roots(Roots::text(pinned));
    bench.works("TLS", &with_tls(pinned.clone())).await;
    let other = with_tls(pinned.with_server_name("other.example"));
    let error = bench.refused("TLS", &other).await.to_string();
    assert!(error.contains("not valid for name"), "{error}");
    // To do without names is not to do without roots.
    let error = with_tls(wrong.dangerously_accept_any_host_name());
    let error = bench.refused("TLS", &error).await.to_string();
    assert!(error.contains("UnknownIssuer"), "{error}");
    // A cluster does not hide it behind its list of addresses.
    let wrong = TlsOptions::default().with_roots(Roots::text(&bench.theirs.certificate));
    let error = Cluster::connect(&bench.kafka.bootstrap("TLS"), with_tls(wrong)).await;
    assert!(error.unwrap_err().is_authentication());
    // The broker waits for this client to begin, and so it does with TLS: nothing hangs.
    let quick = Options::default().with_connect_timeout(Duration::from_secs(5));
    assert!(bench.open("TLS", &quick).await.is_err());
}

async fn names(bench: &Bench) {
    let port = bench.kafka.port(0, "TLS");
    let localhost = format!("localhost:{port}");
    let open = async |tls: TlsOptions| RawConnection::open(&localhost, &with_tls(tls)).await;
    let error = open(bench.tls()).await.unwrap_err();
    assert!(error.is_authentication(), "{error:?}");
    let said = format!("TLS (SSL) handshake with {localhost} failed: invalid peer certificate: ");
    let text = error.to_string();
    assert!(text.starts_with(&said) && text.contains("not valid for name \"localhost\""), "{text}");
    open(bench.tls().with_server_name("broker.example")).await.unwrap();
    let error = open(bench.tls().with_server_name("other.example")).await.unwrap_err();
    assert!(error.is_authentication(), "{error:?}");
    let mut raw = open(bench.tls().dangerously_accept_any_host_name()).await.unwrap();
    raw.call(&DescribeClusterRequest::default()).await.unwrap();
    assert_eq!(raw.session_ends(), None);
}

async fn client_certificates(bench: &Bench) {
    let identity = bench.ours.identity();
    bench.works("MUTUAL", &with_tls(bench.tls().with_identity(identity))).await;
    let (certificate, key) = bench.ours.issue(&["client.example"]);
    let one_line = |pem: String| Pem::text(pem.replace('\n', "\\n"));
    let identity = Identity::new(one_line(certificate), one_line(key));
    bench.works("MUTUAL", &with_tls(bench.tls().with_identity(identity))).await;
    let stranger = bench.theirs.identity();
    for tls in [bench.tls(), bench.tls().with_identity(stranger)] {
        let error = bench.refused("MUTUAL", &with_tls(tls)).await;
        assert!(matches!(error, AuthenticationError::Tls(_)), "{error:?}");
        assert!(error.to_string().contains("alert"), "{error}");
    }
}

async fn plain(bench: &Bench) {
    let options = |username: &str, password: &str| {
        let sasl = SaslOptions::new(Mechanism::Plain, username, password);
        with_sasl(Security::Plaintext, sasl)
    };
    bench.works("PLAIN", &options("alice", "plain-secret")).await;
    for wrong in [options("alice", "plain-secre"), options("bob", "plain-secret")] {
        let error = bench.open("PLAIN", &wrong).await.unwrap_err().to_string();
        assert!(error.starts_with("SASL authentication with "), "{error}");
        let words = "failed: SASL_AUTHENTICATION_FAILED: Authentication failed: Invalid username";
        assert!(error.contains(words) && error.contains("127.0.0.1:"), "{error}");
        let error = bench.refused("PLAIN", &wrong).await;
        let AuthenticationError::Refused { code, message } = error else { panic!("{error:?}") };
        assert_eq!(code, ErrorCode::SASL_AUTHENTICATION_FAILED);
        assert!(message.is_some_and(|message| message.contains("Invalid username or password")));
    }
    let sasl = SaslOptions::new(Mechanism::ScramSha512, "alice", "plain-secret");
    let error = bench.refused("PLAIN", &with_sasl(Security::Plaintext, sasl)).await;
    assert_eq!(
        error.to_string(),
        "mechanism SCRAM-SHA-512 is not enabled by the broker, only PLAIN"
    );
    let error = bench.open("PLAIN", &options("", "x")).await.unwrap_err();
    assert!(matches!(error, Error::Config { .. }), "{error:?}");
    // Without SASL the broker hangs up on the first request.
    let connection = bench.open("PLAIN", &Options::default()).await.unwrap();
    let error = connection.send(&DescribeClusterRequest::default()).await.unwrap_err();
    assert!(matches!(error, Error::Closed { .. } | Error::Io { .. }), "{error:?}");
}

async fn scram(bench: &Bench) {
    let options = |mechanism, password: &str| {
        with_sasl(Security::Tls(bench.tls()), SaslOptions::new(mechanism, "alice", password))
    };
    bench.works("SCRAM", &options(Mechanism::ScramSha256, "secret-256")).await;
    bench.works("SCRAM", &options(Mechanism::ScramSha512, "secret-512")).await;
    for wrong in [
        options(Mechanism::ScramSha256, "secret-512"),
        options(Mechanism::ScramSha512, "secret-256"),
        with_sasl(
            Security::Tls(bench.tls()),
            SaslOptions::new(Mechanism::ScramSha256, "nobody, =at all", "x"),
        ),
    ] {
        let error = bench.refused("SCRAM", &wrong).await;
        let AuthenticationError::Refused { code, message } = error else { panic!("{error:?}") };
        assert_eq!(code, ErrorCode::SASL_AUTHENTICATION_FAILED);
        assert!(message.is_some_and(|message| message.contains("SCRAM-SHA-")));
    }
}

async fn records_over_tls(bench: &Bench) {
    let topic = bench.topic("records").await;
    let options = bench.scram_sha_256();
    let connection = bench.open("SCRAM", &options).await.unwrap();
    // Much more than TLS holds back, and than a socket takes at once.
    let long = vec![b'x'; 200_000];
    for round in 0..10u8 {
        topic.produce(&connection, &[&[round], &long, &long, &long]).await;
    }
    let cluster = Cluster::connect(&bench.kafka.bootstrap("SCRAM"), options).await.unwrap();
    let mut consumer = Consumer::new(cluster, earliest()).unwrap();
    consumer.assign([(TopicPartition::new("records", 0), None)]).unwrap();
    let mut seen = Vec::new();
    while seen.len() < 40 {
        for record in &soon(consumer.poll(40)).await.unwrap() {
            let value = record.value().unwrap();
            let first = if value.len() == 1 { value[0] } else { 255 };
            assert!(value.len() == 1 || value == long);
            seen.push((record.offset(), first));
        }
    }
    let expected = (0..40).map(|at| (at, if at % 4 == 0 { at as u8 / 4 } else { 255 }));
    assert!(seen.into_iter().eq(expected));
    // Then it waits, and gets what comes.
    let none = consumer.poll_timeout(1, Duration::from_millis(100)).await.unwrap();
    assert!(none.is_empty());
    topic.produce(&connection, &[b"late"]).await;
    let records = soon(consumer.poll(1)).await.unwrap();
    assert_eq!(records.iter().next().unwrap().value(), Some(&b"late"[..]));
}

/// On every kind of connection, beyond two sessions: without logging in again the broker would
/// close them.
async fn sessions_are_renewed(bench: &Bench) {
    let topic = bench.topic("renewed").await;
    let sasl = SaslOptions::new(Mechanism::ScramSha256, "alice", "secret-256");
    let options = with_sasl(Security::Plaintext, sasl);
    let one_at_a_time = options.clone().with_max_in_flight(1);
    let address = bench.kafka.bootstrap("BRIEF");
    let mut raw = RawConnection::open(&address, &options).await.unwrap();
    let first_end = raw.session_ends().expect("the session ends");
    let shared = Connection::open(&address, &options).await.unwrap();
    let narrow = Connection::open(&address, &one_at_a_time).await.unwrap();
    let left_alone = Connection::open(&address, &options).await.unwrap();
    let cluster = Cluster::connect(&address, options).await.unwrap();
    let mut consumer = Consumer::new(cluster, earliest()).unwrap();
    consumer.assign([(TopicPartition::new("renewed", 0), None)]).unwrap();
    let request = DescribeClusterRequest::default();
    let end = Instant::now() + Duration::from_millis(2 * BRIEF_MS + 500);
    let mut produced = 0;
    while Instant::now() < end {
        raw.call(&request).await.unwrap();
        narrow.send(&request).await.unwrap();
        // Several in flight when the time comes.
        let (a, b, c) =
            tokio::join!(shared.send(&request), shared.send(&request), shared.send(&request));
        assert!(a.is_ok() && b.is_ok() && c.is_ok());
        topic.produce(&shared, &[b"x"]).await;
        let records = soon(consumer.poll(10)).await.unwrap();
        assert_eq!(records.iter().map(|record| record.offset()).collect::<Vec<_>>(), [produced]);
        produced += 1;
    }
    assert!(raw.session_ends().unwrap() > first_end);
    assert!(shared.over().is_none() && narrow.over().is_none());
    // The consumer never lost its connection, nor the broker what it knows of its partitions.
    assert_eq!(consumer.counts().sessions, 1);
    // Nothing was sent here since the session ended. Kafka lets whoever comes late log in again.
    left_alone.send(&request).await.unwrap();
}

/// A user that is removed cannot renew his session; the application hears of it, once.
async fn consumers_learn_that_they_are_refused(bench: &Bench) {
    bench.topic("forbidden").await;
    let sasl = SaslOptions::new(Mechanism::ScramSha256, "carol", "secret-c");
    let options = with_sasl(Security::Plaintext, sasl);
    let cluster = Cluster::connect(&bench.kafka.bootstrap("BRIEF"), options).await.unwrap();
    let mut consumer = Consumer::new(cluster.clone(), earliest()).unwrap();
    consumer.assign([(TopicPartition::new("forbidden", 0), None)]).unwrap();
    assert!(consumer.poll_timeout(1, Duration::from_millis(200)).await.unwrap().is_empty());
    let heartbeat_interval = Duration::from_millis(200);
    let config = earliest().with_group_id("g").with_heartbeat_interval(heartbeat_interval);
    let mut member = Consumer::new(cluster.clone(), config).unwrap();
    member.subscribe(["forbidden"]).unwrap();
    soon(async {
        while member.assignment().is_empty() {
            assert!(member.poll_timeout(1, Duration::from_millis(50)).await.unwrap().is_empty());
        }
    })
    .await;
    let connection = bench.open(Kafka::INTERNAL, &Options::default()).await.unwrap();
    let deletion =
        ScramCredentialDeletion { name: "carol".into(), mechanism: 1, ..Default::default() };
    let request =
        AlterUserScramCredentialsRequest { deletions: vec![deletion], ..Default::default() };
    let deleted = connection.send(&request).await.unwrap();
    assert_eq!(deleted.results[0].error_code, ErrorCode::NONE);
    for consumer in [&mut consumer, &mut member] {
        let error = soon(consumer.poll(1)).await.unwrap_err();
        assert!(error.is_authentication(), "{error:?}");
    }
    let Err(error) = cluster.send_any(&DescribeClusterRequest::default()).await else { panic!() };
    assert!(error.is_authentication(), "{error:?}");
    // It may be reported once more for metadata, and for the group; but it is not tried over and
    // over.
    for (mut consumer, most) in [(consumer, 1), (member, 3)] {
        let began = Instant::now();
        let mut reports = 0;
        while began.elapsed() < Duration::from_secs(3) {
            reports += i32::from(consumer.poll_timeout(1, Duration::from_secs(1)).await.is_err());
        }
        assert!(reports <= most, "{reports} more reports in 3 s");
        let began = Instant::now();
        drop(consumer.close(Duration::from_secs(1)).await);
        assert!(began.elapsed() < Duration::from_secs(3));
    }
}
