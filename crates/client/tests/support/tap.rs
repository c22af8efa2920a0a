//! Stands between clients and the nodes of a cluster, and counts who is asked what.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use thalweg_testkit::TestBroker;
use thalweg_wire::ApiKey;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::Bench;

/// Longer than any request of these tests: more is a frame that was not understood.
const FRAME_MAX: usize = 16 << 20;

/// One place to connect to per node. Clients get there if the nodes tell them to.
pub struct Tap {
    listeners: Vec<TcpListener>,
    ports: Vec<u16>,
    seen: Arc<Mutex<Seen>>,
    cut: Arc<Notify>,
}

/// What passed so far; nodes count from 0.
#[derive(Clone, Default, Debug)]
pub struct Seen {
    requests: BTreeMap<(usize, ApiKey), u64>,
    connections: u64,
}

impl Seen {
    /// Requests of a kind, to all nodes.
    pub fn requests(&self, api: ApiKey) -> u64 {
        self.requests.iter().filter(|((_, key), _)| *key == api).map(|(_, count)| count).sum()
    }

    /// Connections that were opened, to all nodes.
    pub fn connections(&self) -> u64 {
        self.connections
    }

    /// Requests of a kind to one node.
    pub fn requests_to(&self, node: usize, api: ApiKey) -> u64 {
        self.requests.get(&(node, api)).copied().unwrap_or(0)
    }
}

impl Tap {
    pub async fn bind(nodes: usize) -> Tap {
        let mut tap = Tap {
            listeners: Vec::new(),
            ports: Vec::new(),
            seen: Arc::default(),
            cut: Arc::default(),
        };
        for _ in 0..nodes {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            tap.ports.push(listener.local_addr().unwrap().port());
            tap.listeners.push(listener);
        }
        tap
    }

    /// Where nodes have to send clients.
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// `bootstrap.servers`.
    pub fn bootstrap(&self) -> String {
        let addresses: Vec<String> =
            self.ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        addresses.join(",")
    }

    /// Connects clients through to these addresses from now on, node by node.
    pub fn lead_to(&mut self, nodes: &[String]) {
        for (node, (listener, behind)) in self.listeners.drain(..).zip(nodes).enumerate() {
            let (seen, cut) = (Arc::clone(&self.seen), Arc::clone(&self.cut));
            let behind = behind.clone();
            tokio::spawn(async move {
                while let Ok((client, _)) = listener.accept().await {
                    seen.lock().unwrap().connections += 1;
                    let (seen, cut) = (Arc::clone(&seen), Arc::clone(&cut));
                    let passing = pass(client, behind.clone(), node, seen);
                    tokio::spawn(async move {
                        tokio::select! {
                            () = passing => {}
                            () = cut.notified() => {}
                        }
                    });
                }
            });
        }
    }

    /// Ends all connections that there are.
    pub fn cut(&self) {
        self.cut.notify_waiters();
    }

    /// What passed so far.
    pub fn seen(&self) -> Seen {
        self.seen.lock().unwrap().clone()
    }

    /// What passed since the last time.
    pub fn take(&self) -> Seen {
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

/// One connection, until either side ends it; at once where there is nobody behind.
async fn pass(client: TcpStream, behind: String, node: usize, seen: Arc<Mutex<Seen>>) {
    let Ok(broker) = TcpStream::connect(behind).await else { return };
    let (asked, mut answers_to) = client.into_split();
    let (mut answers, asks) = broker.into_split();
    tokio::select! {
        _ = requests(asked, asks, node, &seen) => {}
        _ = tokio::io::copy(&mut answers, &mut answers_to) => {}
    }
}

async fn requests(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    node: usize,
    seen: &Mutex<Seen>,
) -> std::io::Result<()> {
    loop {
        let length = from.read_u32().await?;
        let size = length as usize;
        assert!((8..FRAME_MAX).contains(&size), "a request of {size} bytes");
        let mut frame = vec![0; 4 + size];
        frame[..4].copy_from_slice(&length.to_be_bytes());
        from.read_exact(&mut frame[4..]).await?;
        let api = ApiKey(i16::from_be_bytes([frame[4], frame[5]]));
        *seen.lock().unwrap().requests.entry((node, api)).or_default() += 1;
        to.write_all(&frame).await?;
    }
}

/// A broker of which every request is counted, its bootstrap address, and a topic with so many partitions.
pub async fn tapped(partitions: i32) -> (Tap, String, Bench) {
    let mut tap = Tap::bind(1).await;
    let address = tap.bootstrap();
    let broker = TestBroker::builder()
        .config("advertised.listeners", format!("PLAINTEXT://{address}"))
        .start()
        .await;
    tap.lead_to(&[broker.bootstrap()]);
    let bench = Bench::on(broker, partitions).await;
    (tap, address, bench)
}
