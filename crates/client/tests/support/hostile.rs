//! A broker behind something that spoils its answers.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use thalweg::{Cluster, Options};
use thalweg_testkit::TestBroker;
use thalweg_wire::messages::{FetchResponse, ProduceResponse};
use thalweg_wire::{ApiKey, Message, Reader, Writer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// What becomes of an answer.
pub enum Fate {
    /// It arrives as it is.
    Pass,
    /// This arrives instead: a frame, with its correlation id, or what looks like one.
    Send(Vec<u8>),
    /// Nothing arrives, and nothing after it.
    Silence,
    /// These bytes arrive, without a length before them, and then the connection ends.
    Break(Vec<u8>),
}

/// An answer on its way.
pub struct Answer<'a> {
    pub api: ApiKey,
    pub version: i16,
    /// From the correlation id on.
    pub frame: &'a [u8],
}

impl Answer<'_> {
    fn body_at(&self) -> usize {
        // Nobody puts tags into a header.
        if self.api.response_header_version(self.version) >= 1 { 5 } else { 4 }
    }

    /// The same answer, changed.
    pub fn change<M: Message>(&self, change: impl FnOnce(&mut M)) -> Fate {
        let body_at = self.body_at();
        let mut message =
            M::decode(&mut Reader::new(&self.frame[body_at..]), self.version).unwrap();
        change(&mut message);
        let mut body = Writer::new();
        message.encode(&mut body, self.version).unwrap();
        Fate::Send([&self.frame[..body_at], &body.to_vec()].concat())
    }

    pub fn fetch(&self) -> Option<FetchResponse> {
        self.read(ApiKey::FETCH)
    }

    pub fn produce(&self) -> Option<ProduceResponse> {
        self.read(ApiKey::PRODUCE)
    }

    fn read<M: Message>(&self, api: ApiKey) -> Option<M> {
        let body = &self.frame[self.body_at()..];
        (self.api == api).then(|| M::decode(&mut Reader::new(body), self.version).unwrap())
    }
}

type Judge = Box<dyn FnMut(&Answer<'_>) -> Fate + Send>;
/// Whether a request reaches the broker; one that does not ends its connection.
type Passes = Box<dyn FnMut(ApiKey) -> bool + Send>;

/// Stands between clients and a broker.
pub struct Hostile {
    pub broker: TestBroker,
    pub address: String,
    judge: Arc<Mutex<Judge>>,
    passes: Arc<Mutex<Passes>>,
}

impl Hostile {
    /// A broker that can be reached by this alone; at first everything passes.
    pub async fn start() -> Hostile {
        Hostile::start_with(&[]).await
    }

    /// As [`Self::start`], a broker with configs.
    pub async fn start_with(configs: &[(&str, &str)]) -> Hostile {
        let (listener, address, broker) = super::behind_with(configs).await;
        let behind = broker.bootstrap();
        let judge: Arc<Mutex<Judge>> = Arc::new(Mutex::new(Box::new(|_| Fate::Pass)));
        let judging = Arc::clone(&judge);
        let passes: Arc<Mutex<Passes>> = Arc::new(Mutex::new(Box::new(|_| true)));
        let passing = Arc::clone(&passes);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (behind, judge) = (behind.clone(), Arc::clone(&judging));
                let passes = Arc::clone(&passing);
                tokio::spawn(async move {
                    let Ok(broker) = TcpStream::connect(&behind).await else { return };
                    // However it ends, the client sees a connection that is gone.
                    drop(between(client, broker, judge, passes).await);
                });
            }
        });
        Hostile { broker, address, judge, passes }
    }

    /// From now on this decides.
    pub fn judge(&self, judge: impl FnMut(&Answer<'_>) -> Fate + Send + 'static) {
        *self.judge.lock().unwrap() = Box::new(judge);
    }

    /// From now on this decides which requests reach the broker.
    pub fn pass_requests(&self, passes: impl FnMut(ApiKey) -> bool + Send + 'static) {
        *self.passes.lock().unwrap() = Box::new(passes);
    }

    pub async fn cluster(&self) -> Cluster {
        let options = Options::default()
            .with_connect_timeout(Duration::from_secs(2))
            .with_request_timeout(Duration::from_millis(400));
        loop {
            if let Ok(cluster) = Cluster::connect(&self.address, options.clone()).await {
                return cluster;
            }
        }
    }
}

async fn between(
    client: TcpStream,
    broker: TcpStream,
    judge: Arc<Mutex<Judge>>,
    passes: Arc<Mutex<Passes>>,
) -> io::Result<()> {
    let (from_client, to_client) = client.into_split();
    let (from_broker, to_broker) = broker.into_split();
    let asked = Arc::new(Mutex::new(VecDeque::new()));
    tokio::select! {
        done = requests(from_client, to_broker, &asked, &passes) => done,
        done = answers(from_broker, to_client, &asked, &judge) => done,
    }
}

type InFlightRequests = Mutex<VecDeque<(ApiKey, i16)>>;

async fn frame(from: &mut OwnedReadHalf) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; from.read_i32().await? as usize];
    from.read_exact(&mut frame).await?;
    Ok(frame)
}

async fn send(to: &mut OwnedWriteHalf, frame: &[u8]) -> io::Result<()> {
    let whole = [&(frame.len() as i32).to_be_bytes(), frame].concat();
    to.write_all(&whole).await
}

async fn requests(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    asked: &InFlightRequests,
    passes: &Mutex<Passes>,
) -> io::Result<()> {
    loop {
        let frame = frame(&mut from).await?;
        let word = |at: usize| i16::from_be_bytes([frame[at], frame[at + 1]]);
        if !(passes.lock().unwrap())(ApiKey(word(0))) {
            return Ok(());
        }
        asked.lock().unwrap().push_back((ApiKey(word(0)), word(2)));
        send(&mut to, &frame).await?;
    }
}

async fn answers(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    asked: &InFlightRequests,
    judge: &Mutex<Judge>,
) -> io::Result<()> {
    loop {
        let frame = frame(&mut from).await?;
        let (api, version) = asked.lock().unwrap().pop_front().unwrap();
        let fate = (judge.lock().unwrap())(&Answer { api, version, frame: &frame });
        match fate {
            Fate::Pass => send(&mut to, &frame).await?,
            Fate::Send(other) => send(&mut to, &other).await?,
            Fate::Break(bytes) => return to.write_all(&bytes).await,
            Fate::Silence => std::future::pending().await,
        }
    }
}
