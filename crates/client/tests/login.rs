//! Logging in, and again before the session ends, on a broker that watches what comes when.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use thalweg::{
    AuthenticationError, Cluster, Connection, Error, Mechanism, Options, RawConnection,
    SaslOptions, Security,
};
use thalweg_wire::messages::metadata_response::MetadataResponseBroker;
use thalweg_wire::messages::{
    ApiVersionsRequest, ApiVersionsResponse, MetadataRequest, MetadataResponse,
    SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeResponse,
};
use thalweg_wire::{ApiKey, ErrorCode, Message};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use crate::support::frames::{ReceivedRequest, versions};

/// So much later than it said does the fake end a session: on a busy machine what was sent in time
/// may be read late.
const GRACE: Duration = Duration::from_millis(250);

/// How the fake treats logins.
#[derive(Clone, Copy)]
struct Manner {
    lifetime_ms: u64,
    /// Consents to so many logins.
    consents: usize,
    code: ErrorCode,
    is_silent: bool,
    /// Time for an answer to Metadata.
    pause: Duration,
}

impl Default for Manner {
    fn default() -> Manner {
        Manner {
            lifetime_ms: 0,
            consents: usize::MAX,
            code: ErrorCode::SASL_AUTHENTICATION_FAILED,
            is_silent: false,
            pause: Duration::ZERO,
        }
    }
}

struct Fake {
    addr: String,
    connections: Arc<AtomicUsize>,
    logins: Arc<AtomicUsize>,
    asked: ApiVersionsTargets,
}

/// The cluster and node of each ApiVersions request, and whether it came after the login.
type ApiVersionsTargets = Arc<Mutex<Vec<(Option<String>, i32, bool)>>>;

impl Fake {
    async fn start(manner: Manner) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap().to_string();
        let connections = Arc::new(AtomicUsize::new(0));
        let logins = Arc::new(AtomicUsize::new(0));
        let counts = (Arc::clone(&connections), Arc::clone(&logins));
        let asked = ApiVersionsTargets::default();
        let asking = Arc::clone(&asked);
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counts.0.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(
                    stream,
                    manner,
                    port,
                    Arc::clone(&counts.1),
                    Arc::clone(&asking),
                ));
            }
        });
        Fake { addr, connections, logins, asked }
    }

    fn counts(&self) -> (usize, usize) {
        (self.connections.load(Ordering::SeqCst), self.logins.load(Ordering::SeqCst))
    }
}

async fn serve(
    mut stream: TcpStream,
    manner: Manner,
    port: u16,
    logins: Arc<AtomicUsize>,
    asked: ApiVersionsTargets,
) -> Option<()> {
    let mut ends: Option<Instant> = None;
    let mut is_greeted = false;
    loop {
        let received = ReceivedRequest::read(&mut stream).await?;
        let (api, version) = (received.api, received.version);
        let mut w = received.begin_answer();
        match api {
            ApiKey::API_VERSIONS => {
                let request: ApiVersionsRequest = received.body();
                let of = (request.cluster_id, request.node_id, ends.is_some());
                asked.lock().unwrap().push(of);
                api_versions().encode(&mut w, version).unwrap();
            }
            ApiKey::SASL_HANDSHAKE => {
                assert!(!is_greeted && version == 1);
                is_greeted = true;
                let mechanisms = vec!["PLAIN".into()];
                SaslHandshakeResponse { mechanisms, ..Default::default() }
                    .encode(&mut w, version)
                    .unwrap();
            }
            ApiKey::SASL_AUTHENTICATE => {
                let request: SaslAuthenticateRequest = received.body();
                assert!(is_greeted && request.auth_bytes[..] == *b"\0alice\0secret");
                is_greeted = false;
                if manner.is_silent {
                    continue;
                }
                let is_welcome = logins.fetch_add(1, Ordering::SeqCst) < manner.consents;
                ends = Some(Instant::now() + Duration::from_millis(manner.lifetime_ms));
                let response = SaslAuthenticateResponse {
                    error_code: if is_welcome { ErrorCode::NONE } else { manner.code },
                    error_message: (!is_welcome).then(|| "not you".into()),
                    session_lifetime_ms: manner.lifetime_ms as i64,
                    ..Default::default()
                };
                response.encode(&mut w, version).unwrap();
            }
            _ => {
                // As Kafka does: nothing in the middle of a login, nothing after the session.
                let is_over = manner.lifetime_ms > 0 && ends? + GRACE < Instant::now();
                if is_greeted || ends.is_none() || is_over {
                    return None;
                }
                tokio::time::sleep(manner.pause).await;
                // Another address than that of bootstrap.
                let broker = MetadataResponseBroker {
                    node_id: 1,
                    host: "localhost".into(),
                    port: port.into(),
                    ..Default::default()
                };
                let cluster_id = Some("cluster".into());
                MetadataResponse { cluster_id, brokers: vec![broker], ..Default::default() }
                    .encode(&mut w, version)
                    .unwrap();
            }
        }
        w.end_frame().unwrap();
        stream.write_all(&w.to_vec()).await.ok()?;
    }
}

fn api_versions() -> ApiVersionsResponse {
    let api_keys = versions(&[
        (ApiKey::API_VERSIONS, 5),
        (ApiKey::METADATA, 12),
        (ApiKey::SASL_HANDSHAKE, 1),
        (ApiKey::SASL_AUTHENTICATE, 2),
    ]);
    ApiVersionsResponse { api_keys, ..ApiVersionsResponse::default() }
}

fn alice() -> Options {
    Options::default()
        .with_connect_timeout(Duration::from_secs(5))
        .with_request_timeout(Duration::from_secs(5))
        .with_security(Security::Plaintext)
        .with_sasl(SaslOptions::new(Mechanism::Plain, "alice", "secret"))
}

#[tokio::test]
async fn nothing_comes_before_the_login() {
    let fake = Fake::start(Manner::default()).await;
    let mut raw = RawConnection::open(&fake.addr, &alice()).await.unwrap();
    assert_eq!(raw.session_ends(), None);
    raw.call(&MetadataRequest::default()).await.unwrap();
    assert_eq!(fake.counts(), (1, 1));
    let mut stranger = alice();
    stranger.sasl = None;
    let mut raw = RawConnection::open(&fake.addr, &stranger).await.unwrap();
    let error = raw.call(&MetadataRequest::default()).await.unwrap_err();
    assert!(matches!(error, Error::Closed { .. } | Error::Io { .. }), "{error:?}");
}

#[tokio::test]
async fn sessions_are_renewed_on_the_same_connection() {
    let manner = Manner { lifetime_ms: 300, ..Manner::default() };
    let fake = Fake::start(manner).await;
    let mut raw = RawConnection::open(&fake.addr, &alice()).await.unwrap();
    let shared = Connection::open(&fake.addr, &alice()).await.unwrap();
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(1_000) {
        raw.call(&MetadataRequest::default()).await.unwrap();
        shared.send(&MetadataRequest::default()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let (connections, logins) = fake.counts();
    assert!(connections == 2 && (4..=12).contains(&logins), "{connections}, {logins}");
}

#[tokio::test]
async fn many_callers_wait_for_the_renewal_and_all_are_answered() {
    let manner = Manner { lifetime_ms: 200, pause: Duration::from_millis(3), ..Manner::default() };
    let fake = Fake::start(manner).await;
    for max_in_flight in [1, 5] {
        let options = alice().with_max_in_flight(max_in_flight);
        let connection = Connection::open(&fake.addr, &options).await.unwrap();
        let began = Instant::now();
        let callers: Vec<_> = (0..8)
            .map(|_| {
                let connection = connection.clone();
                tokio::spawn(async move {
                    while began.elapsed() < Duration::from_millis(700) {
                        connection.send(&MetadataRequest::default()).await?;
                    }
                    Ok::<_, Error>(())
                })
            })
            .collect();
        for caller in callers {
            caller.await.unwrap().unwrap();
        }
    }
    assert_eq!(fake.counts().0, 2);
}

#[tokio::test]
async fn a_refused_renewal_ends_the_connection_with_its_reason() {
    let manner = Manner { lifetime_ms: 100, consents: 1, ..Manner::default() };
    let fake = Fake::start(manner).await;
    let connection = Connection::open(&fake.addr, &alice()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(120)).await;
    let request = MetadataRequest::default();
    let (a, b) = tokio::join!(connection.send(&request), connection.send(&request));
    for error in [a.unwrap_err(), b.unwrap_err(), connection.over().unwrap()] {
        assert!(error.is_authentication(), "{error:?}");
        assert!(error.to_string().ends_with("SASL_AUTHENTICATION_FAILED: not you"), "{error}");
    }
}

#[tokio::test]
async fn refusals_are_not_tried_again() {
    let fake = Fake::start(Manner { consents: 0, ..Manner::default() }).await;
    // The same broker twice: the second address would not help.
    let bootstrap = format!("{0},{0}", fake.addr);
    let error = Cluster::connect(&bootstrap, alice()).await.unwrap_err();
    let Error::Authentication { addr, source } = error else { panic!("{error:?}") };
    assert_eq!(*addr, *fake.addr);
    let AuthenticationError::Refused { code, message } = source else { panic!("{source:?}") };
    assert_eq!(code, ErrorCode::SASL_AUTHENTICATION_FAILED);
    assert_eq!(message.as_deref(), Some("not you"));
    assert_eq!(fake.counts(), (1, 1));
}

#[tokio::test]
async fn trouble_of_the_brokers_own_is_no_refusal() {
    let manner = Manner { consents: 0, code: ErrorCode::UNKNOWN_SERVER_ERROR, ..Manner::default() };
    let fake = Fake::start(manner).await;
    let error = RawConnection::open(&fake.addr, &alice()).await.unwrap_err();
    assert!(matches!(error, Error::Broker { .. }), "{error:?}");
}

/// Before the login, Kafka's broker does not look at them.
#[tokio::test]
async fn api_versions_names_the_broker_after_the_login() {
    let fake = Fake::start(Manner::default()).await;
    let cluster = Cluster::connect(&fake.addr, alice()).await.unwrap();
    let nothing = (None, -1, false);
    assert_eq!(*fake.asked.lock().unwrap(), std::slice::from_ref(&nothing));
    cluster.broker(1).await.unwrap();
    let named = (Some("cluster".to_owned()), 1, true);
    assert_eq!(*fake.asked.lock().unwrap(), [nothing.clone(), nothing, named]);
}

#[tokio::test]
async fn everything_together_has_one_timeout() {
    let fake = Fake::start(Manner { is_silent: true, ..Manner::default() }).await;
    let options = alice().with_connect_timeout(Duration::from_millis(200));
    let began = Instant::now();
    let error = RawConnection::open(&fake.addr, &options).await.unwrap_err();
    assert!(error.to_string().starts_with("SASL authentication at"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(2));
}
