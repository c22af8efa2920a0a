//! Connections against a broker that misbehaves on request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use thalweg::{Cluster, Connection, Error, Options, RawConnection, Security, TlsOptions};
use thalweg_wire::messages::metadata_response::MetadataResponseBroker;
use thalweg_wire::messages::{
    ApiVersionsResponse, DescribeClusterRequest, FetchRequest, MetadataRequest, MetadataResponse,
};
use thalweg_wire::{ApiKey, ErrorCode, Message, Writer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::support::frames::{ReceivedRequest, versions};

/// What the fake does with Metadata requests once ApiVersions is answered.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    /// Answers each.
    Proper,
    /// Reads this many before it answers them all.
    Batched(usize),
    /// Never answers.
    Silent,
    /// Does not even say what it speaks.
    Mute,
    /// Takes a while to say what it speaks.
    SlowToBegin,
    /// Takes a while to answer the first on each connection.
    SlowOnce,
    /// Closes the connection when asked.
    Closing,
    /// Answers under another number.
    WrongNumber,
    /// Answers with bytes that are no Metadata response.
    Garbled,
    /// Announces a frame of 2 GiB.
    Huge,
    /// Answers once on each connection, and then that clients are to begin anew.
    Leaving,
    /// Says so always.
    Gone,
    /// Answers each, the first one with so many milliseconds of throttle time.
    Throttling(i32),
    /// Answers the first when it has read the second, with a minute of throttle time; and the second after twice
    /// [`THROTTLED_TIMEOUT`].
    ThrottlingLate,
}

/// Long enough for two requests and an answer on a machine that is busy.
const THROTTLED_TIMEOUT: Duration = Duration::from_secs(2);

struct Fake {
    addr: String,
    /// Connections so far.
    accepted: Arc<AtomicUsize>,
    /// Metadata requests so far.
    asked: Arc<AtomicUsize>,
    _task: JoinHandle<()>,
}

async fn fake(manner: Manner) -> Fake {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let accepted = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&accepted);
    let asked = Arc::new(AtomicUsize::new(0));
    let asking = Arc::clone(&asked);
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counting.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(serve(stream, manner, port, Arc::clone(&asking)));
        }
    });
    Fake { addr: format!("127.0.0.1:{port}"), accepted, asked, _task: task }
}

async fn serve(
    mut stream: TcpStream,
    manner: Manner,
    port: u16,
    asked: Arc<AtomicUsize>,
) -> Option<()> {
    let mut held = Vec::new();
    loop {
        let received = ReceivedRequest::read(&mut stream).await?;
        let (api, version) = (received.api, received.version);
        let mut id = received.correlation_id;
        let mut w = Writer::new();
        w.begin_frame();
        if api == ApiKey::API_VERSIONS {
            match manner {
                Manner::Mute => continue,
                Manner::SlowToBegin => tokio::time::sleep(Duration::from_millis(500)).await,
                _ => {}
            }
            w.i32(id);
            api_versions().encode(&mut w, version).unwrap();
            w.end_frame().unwrap();
            stream.write_all(&w.to_vec()).await.ok()?;
            continue;
        }
        assert_eq!(api, ApiKey::METADATA);
        asked.fetch_add(1, Ordering::Relaxed);
        match manner {
            Manner::Silent => continue,
            Manner::Closing => return None,
            Manner::Huge => {
                stream.write_i32(i32::MAX).await.ok()?;
                continue;
            }
            Manner::WrongNumber => id += 1,
            Manner::SlowOnce if id == 1 => tokio::time::sleep(Duration::from_millis(200)).await,
            _ => {}
        }
        w.i32(id);
        w.uvarint(0);
        if manner == Manner::Garbled {
            w.raw(&[0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x07]);
        } else {
            let is_gone = manner == Manner::Gone || (manner == Manner::Leaving && id > 1);
            if is_gone {
                let error_code = ErrorCode::REBOOTSTRAP_REQUIRED;
                let response = MetadataResponse { error_code, ..MetadataResponse::default() };
                response.encode(&mut w, version).unwrap();
                w.end_frame().unwrap();
                stream.write_all(&w.to_vec()).await.ok()?;
                continue;
            }
            let response = MetadataResponse {
                throttle_time_ms: match manner {
                    Manner::Throttling(time) if id == 1 => time,
                    Manner::ThrottlingLate if id == 1 => 60_000,
                    _ => 0,
                },
                controller_id: 5,
                brokers: vec![MetadataResponseBroker {
                    node_id: 5,
                    host: "127.0.0.1".into(),
                    port: port.into(),
                    // The answer says which request it belongs to.
                    rack: Some(id.to_string()),
                    ..MetadataResponseBroker::default()
                }],
                ..MetadataResponse::default()
            };
            response.encode(&mut w, version).unwrap();
        }
        w.end_frame().unwrap();
        held.extend(w.to_vec());
        if let Manner::Batched(n) = manner
            && id < n as i32
        {
            continue;
        }
        if manner == Manner::ThrottlingLate {
            if id == 1 {
                continue;
            }
            let second = held.split_off(held.len() / 2);
            stream.write_all(&held).await.ok()?;
            tokio::time::sleep(THROTTLED_TIMEOUT * 2).await;
            held = second;
        }
        stream.write_all(&held).await.ok()?;
        held.clear();
    }
}

fn api_versions() -> ApiVersionsResponse {
    let api_keys = versions(&[(ApiKey::API_VERSIONS, 5), (ApiKey::METADATA, 13)]);
    ApiVersionsResponse { api_keys, ..ApiVersionsResponse::default() }
}

fn quick() -> Options {
    Options::default()
        .with_connect_timeout(Duration::from_secs(5))
        .with_request_timeout(Duration::from_millis(300))
}

#[tokio::test]
async fn raw_connections_do_one_call_at_a_time() {
    let fake = fake(Manner::Proper).await;
    let mut connection = RawConnection::open(&fake.addr, &quick()).await.unwrap();
    for id in 1..5 {
        let response = connection.call(&MetadataRequest::default()).await.unwrap();
        assert_eq!(number(&response), id);
    }
    // What the broker does not offer is refused without harm to the connection.
    let refused = connection.call(&FetchRequest::default()).await.unwrap_err();
    assert!(matches!(refused, Error::Version { .. }), "{refused}");
    assert!(connection.call(&MetadataRequest::default()).await.is_ok());
}

#[tokio::test]
async fn callers_get_their_own_answers() {
    // The fake answers only once it has all five: they must be in flight together.
    let fake = fake(Manner::Batched(5)).await;
    let connection = Connection::open(&fake.addr, &quick()).await.unwrap();
    let calls: Vec<_> = (0..5)
        .map(|_| {
            let connection = connection.clone();
            tokio::spawn(async move { connection.send(&MetadataRequest::default()).await })
        })
        .collect();
    let mut numbers = Vec::new();
    for call in calls {
        numbers.push(number(&call.await.unwrap().unwrap()));
    }
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn more_callers_than_room_wait_their_turn() {
    let fake = fake(Manner::Proper).await;
    let options = quick().with_max_in_flight(2);
    let connection = Connection::open(&fake.addr, &options).await.unwrap();
    let calls: Vec<_> = (0..100)
        .map(|_| {
            let connection = connection.clone();
            tokio::spawn(async move { connection.send(&MetadataRequest::default()).await })
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
}

/// The request that a fake's answer belongs to.
fn number(response: &MetadataResponse) -> i32 {
    response.brokers[0].rack.as_ref().unwrap().parse().unwrap()
}

#[tokio::test]
async fn throttled_connection_sends_nothing() {
    let fake = fake(Manner::Throttling(3_600_000)).await;
    let connection = Connection::open(&fake.addr, &quick()).await.unwrap();
    let request = MetadataRequest::default();
    assert_eq!(number(&connection.send(&request).await.unwrap()), 1);
    let late = connection.send(&request).await.unwrap_err();
    assert!(matches!(late, Error::Timeout { .. }), "{late}");
    assert_eq!(fake.asked.load(Ordering::Relaxed), 1);
    assert!(connection.over().is_none(), "{:?}", connection.over());
}

#[tokio::test]
async fn throttled_connection_sends_after_the_throttle_time() {
    let fake = fake(Manner::Throttling(1)).await;
    let connection = Connection::open(&fake.addr, &quick()).await.unwrap();
    for id in 1..4 {
        let response = connection.send(&MetadataRequest::default()).await.unwrap();
        assert_eq!(number(&response), id);
    }
}

#[tokio::test]
async fn in_flight_requests_get_the_throttle_time_on_top() {
    let fake = fake(Manner::ThrottlingLate).await;
    let options = quick().with_request_timeout(THROTTLED_TIMEOUT);
    let connection = Connection::open(&fake.addr, &options).await.unwrap();
    let request = MetadataRequest::default();
    let (first, second) = tokio::join!(connection.send(&request), connection.send(&request));
    assert_eq!((number(&first.unwrap()), number(&second.unwrap())), (1, 2));
}

#[tokio::test]
async fn a_silent_broker_times_out_and_ends_the_connection() {
    let fake = fake(Manner::Silent).await;
    let connection = Connection::open(&fake.addr, &quick()).await.unwrap();
    let second = tokio::spawn({
        let connection = connection.clone();
        async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            connection.send(&MetadataRequest::default()).await
        }
    });
    let error = connection.send(&MetadataRequest::default()).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    assert!(error.to_string().contains("Metadata"), "{error}");
    assert!(error.to_string().contains(&fake.addr), "{error}");
    assert!(connection.over().is_some());
    // The other one learns at once, not after its own timeout.
    let error = second.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    assert!(connection.send(&MetadataRequest::default()).await.is_err());
}

/// Waits until the connection is over; says why.
async fn end_of(connection: &Connection) -> Error {
    tokio::time::timeout(Duration::from_secs(20), async {
        loop {
            match connection.over() {
                Some(error) => return error,
                None => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    })
    .await
    .expect("the connection does not end")
}

#[tokio::test]
async fn a_deadline_outlives_the_caller_that_gave_up() {
    let fake = fake(Manner::Silent).await;
    let connection = Connection::open(&fake.addr, &quick()).await.unwrap();
    let request = MetadataRequest::default();
    let given_up = tokio::time::timeout(Duration::from_millis(20), connection.send(&request));
    assert!(given_up.await.is_err());
    // Nobody waits for the answer any more; whoever waits behind it is told when it is overdue.
    let long = Duration::from_secs(600);
    let behind = connection.send_within(&request, long);
    let behind = tokio::time::timeout(Duration::from_secs(20), behind).await.expect("not told");
    assert!(matches!(behind, Err(Error::Timeout { .. })), "{behind:?}");
    let over = end_of(&connection).await;
    assert!(matches!(over, Error::Timeout { .. }), "{over}");
}

#[tokio::test]
async fn a_connection_that_is_not_used_is_closed_and_opened_again() {
    let fake = fake(Manner::Proper).await;
    let options = quick().with_connections_max_idle(Duration::from_millis(50));
    let cluster = Cluster::connect(&fake.addr, options).await.unwrap();
    let before = cluster.broker(5).await.unwrap();
    assert!(before.over().is_none());
    let over = end_of(&before).await;
    assert!(matches!(over, Error::Idle { .. }), "{over}");
    assert_eq!(fake.accepted.load(Ordering::Relaxed), 1);
    cluster.refresh(&[]).await.unwrap();
    assert_eq!(fake.accepted.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn an_address_that_says_nothing_does_not_hold_up_the_next() {
    let (mute, proper) = (fake(Manner::Mute).await, fake(Manner::Proper).await);
    // Ten minutes for each address: nobody waits for that.
    let options = quick().with_connect_timeout(Duration::from_secs(600));
    let bootstrap = format!("{},{}", mute.addr, proper.addr);
    let connected = Cluster::connect(&bootstrap, options);
    let cluster = tokio::time::timeout(Duration::from_secs(20), connected).await;
    assert_eq!(cluster.expect("held up").unwrap().metadata().controller_id, Some(5));
}

/// Answers whatever comes with these bytes.
async fn answering(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4_096]).await;
            let _ = stream.write_all(bytes).await;
            tokio::time::sleep(Duration::from_secs(20)).await;
        }
    });
    addr
}

#[tokio::test]
async fn what_is_wrong_is_said_in_words_that_can_be_searched_for() {
    let open =
        async |addr: &str, options: Options| RawConnection::open(addr, &options).await.unwrap_err();
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = open(&free.to_string(), quick()).await;
    let said = error.to_string();
    assert!(said.starts_with(&format!("cannot connect to {free}: Connection refused")), "{said}");
    assert!(error.is_retriable());
    // The alert of a listener that speaks TLS, to a client that does not.
    let addr = answering(&[0x15, 3, 3, 0, 2, 2, 0x0a]).await;
    let error = open(&addr, quick()).await;
    let said = format!("TLS (SSL) handshake with {addr} failed: the listener speaks TLS, and ");
    assert!(error.to_string().starts_with(&said), "{error}");
    assert!(error.to_string().contains("security.protocol") && !error.is_retriable());
    // And the other way round.
    let addr = answering(b"\0\0\0\x04 no TLS at all").await;
    let options = quick().with_security(Security::Tls(TlsOptions::default()));
    let error = open(&addr, options.clone()).await;
    let said = format!("TLS (SSL) handshake with {addr} failed: received corrupt message");
    assert!(error.to_string().starts_with(&said), "{error}");
    assert!(error.to_string().contains("security.protocol"), "{error}");
    let name = "not_a name";
    let tls = TlsOptions::default().with_server_name(name);
    let error = open(&addr, options.with_security(Security::Tls(tls))).await;
    let said = "'not_a name' is neither a host name nor an IP address";
    assert!(error.to_string().ends_with(said) && error.to_string().contains(&addr), "{error}");
    // A listener that hangs up at once, as Kafka's do on what they do not understand.
    let addr = answering(b"").await;
    let options = quick().with_connect_timeout(Duration::from_millis(50));
    let error = open(&addr, options).await;
    assert_eq!(error.to_string(), format!("ApiVersions at {addr} timed out after 50 ms"));
    // Of several addresses none helps: what the last says decides.
    let error = Cluster::connect(&format!("{free}"), quick()).await.unwrap_err();
    assert!(error.is_retriable() && matches!(error, Error::NoBootstrap(_)), "{error}");
    let wrong = Error::NoBootstrap(Box::new(Error::BadAddress("x".into())));
    assert!(!wrong.is_retriable());
}

#[tokio::test]
async fn connecting_goes_on_when_the_caller_gives_up() {
    let fake = fake(Manner::SlowToBegin).await;
    let addresses = format!("{0},{0}", fake.addr);
    let cluster = Cluster::connect(&addresses, quick()).await.unwrap();
    cluster.broker(5).await.unwrap().close();
    let accepted = fake.accepted.load(Ordering::Relaxed);
    for _ in 0..3 {
        // Less than it takes, each time.
        let given_up = tokio::time::timeout(Duration::from_millis(200), cluster.broker(5)).await;
        if given_up.is_ok() {
            break;
        }
    }
    let again = tokio::time::timeout(Duration::from_millis(200), cluster.broker(5)).await;
    assert!(again.expect("begun anew each time").is_ok());
    assert_eq!(fake.accepted.load(Ordering::Relaxed), accepted + 1);
}

#[tokio::test]
async fn the_answer_to_a_call_that_was_dropped_is_nobodys() {
    let fake = fake(Manner::SlowOnce).await;
    let options = quick().with_request_timeout(Duration::from_secs(20));
    let mut raw = RawConnection::open(&fake.addr, &options).await.unwrap();
    let request = MetadataRequest::default();
    assert!(tokio::time::timeout(Duration::from_millis(20), raw.call(&request)).await.is_err());
    assert_eq!(number(&raw.call(&request).await.unwrap()), 2);
}

#[tokio::test]
async fn what_ends_a_connection_reaches_the_caller() {
    for (manner, text) in [
        (Manner::Closing, "closed the connection while Metadata"),
        (Manner::WrongNumber, "out of turn"),
        (Manner::Garbled, "cannot be read"),
        (Manner::Huge, "above the limit"),
    ] {
        let fake = fake(manner).await;
        let connection = Connection::open(&fake.addr, &quick()).await.unwrap();
        let error = connection.send(&MetadataRequest::default()).await.unwrap_err().to_string();
        assert!(error.contains(text) && error.contains(&fake.addr), "{error}");
        let mut raw = RawConnection::open(&fake.addr, &quick()).await.unwrap();
        let error = raw.call(&MetadataRequest::default()).await.unwrap_err().to_string();
        assert!(error.contains(text) && error.contains(&fake.addr), "{error}");
    }
}

#[tokio::test]
async fn a_closed_handle_is_closed_for_all() {
    let fake = fake(Manner::Silent).await;
    let connection = Connection::open(&fake.addr, &Options::default()).await.unwrap();
    let waiting = tokio::spawn({
        let connection = connection.clone();
        async move { connection.send(&MetadataRequest::default()).await }
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    connection.close();
    let error = waiting.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::ShutDown { .. }), "{error}");
}

#[tokio::test]
async fn clusters_go_on_to_the_next_address() {
    let fake = fake(Manner::Proper).await;
    // Nothing listens on a port that was just given back.
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let bootstrap = format!("{free},{}", fake.addr);
    let cluster = Cluster::connect(&bootstrap, quick()).await.unwrap();
    assert_eq!(cluster.metadata().controller_id, Some(5));
    assert!(cluster.send_to(5, &MetadataRequest::default()).await.is_ok());
    let error = cluster.send_to(6, &MetadataRequest::default()).await.unwrap_err();
    assert!(matches!(error, Error::UnknownBroker(6)));
    let error = cluster.send_any(&DescribeClusterRequest::default()).await.unwrap_err();
    assert!(matches!(error, Error::Version { .. }), "{error}");
    let error = Cluster::connect(&free.to_string(), quick()).await.unwrap_err();
    assert!(error.to_string().contains(&free.to_string()), "{error}");
}

#[tokio::test]
async fn cluster_rebootstraps_when_metadata_says_so() {
    let fake = fake(Manner::Leaving).await;
    let cluster = Cluster::connect(&fake.addr, quick()).await.unwrap();
    let before = cluster.broker(5).await.unwrap();
    for _ in 0..3 {
        let (metadata, _) = cluster.refresh(&["t"]).await.unwrap();
        assert_eq!(metadata.brokers.len(), 1);
    }
    assert!(matches!(end_of(&before).await, Error::Io { .. }));
}

#[tokio::test]
async fn a_new_beginning_that_leads_nowhere_is_an_error() {
    let fake = fake(Manner::Gone).await;
    let error = Cluster::connect(&fake.addr, quick()).await.unwrap_err();
    let code = ErrorCode::REBOOTSTRAP_REQUIRED;
    assert!(matches!(&error, Error::Broker { code: of, .. } if *of == code), "{error}");
}
