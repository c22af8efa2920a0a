//! What tests of this crate share: a broker in this process whose metadata a test writes, and peers of it, whose
//! answers a test writes as well.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use thalweg_connection::FrameBuffer;
use thalweg_log::testing::TempDir;
use thalweg_metadata::config::broker::Mode;
use thalweg_metadata::config::{BrokerConfig, Properties};
use thalweg_metadata::image::{Delta, Update};
use thalweg_replication::observer::Endpoint;
use thalweg_wire::messages::api_versions_response::ApiVersion;
use thalweg_wire::messages::metadata_record::MetadataRecord;
use thalweg_wire::messages::produce_request::{PartitionProduceData, TopicProduceData};
use thalweg_wire::messages::register_broker_record::BrokerEndpoint;
use thalweg_wire::messages::{
    AddPartitionsToTxnRequest, AlterPartitionRequest, ApiVersionsRequest, ApiVersionsResponse,
    CreateTopicsRequest, FetchRequest, FindCoordinatorRequest, InitProducerIdRequest,
    ListOffsetsRequest, PartitionRecord, ProduceRequest, RegisterBrokerRecord, RequestHeader,
    ResponseHeader, TopicRecord, WriteTxnMarkersRequest,
};
use thalweg_wire::{ApiKey, Message, Reader, Request, Uuid, Writer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::api::services::Services;
use crate::boot::applier::Applier;
use crate::net::outgoing::{ANSWER_MAX, Outgoing, Timeouts};
use crate::node::metadata_listener::MetadataListener;
use crate::replicas::partition::Partition;
use crate::{Hooks, RunningBroker};

/// The node's id, and its only listener.
pub(crate) const NODE: i32 = 1;
const LISTENER: &str = "PLAINTEXT";

/// What must come comes within that.
const WAIT: Duration = Duration::from_secs(60);

/// Waits for what must come.
pub(crate) async fn soon<T>(what: &str, it: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(WAIT, it).await;
    waited.unwrap_or_else(|_| panic!("{what} did not come"))
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let look = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    soon(what, look).await;
}

/// Whether something is there that is waited for; it is looked at once.
pub(crate) async fn is_ready(mut it: Pin<&mut impl Future>) -> bool {
    poll_fn(|cx| Poll::Ready(it.as_mut().poll(cx).is_ready())).await
}

/// A broker that serves, with a directory of its own.
pub(crate) struct Node {
    running: RunningBroker,
    _dir: TempDir,
}

impl Node {
    pub(crate) async fn start(configs: &[(&str, &str)]) -> Node {
        Node::start_with(configs, &[""], Hooks::default()).await
    }

    /// The same with log directories of these names in its own, and with hooks.
    pub(crate) async fn start_with(configs: &[(&str, &str)], dirs: &[&str], hooks: Hooks) -> Node {
        let dir = TempDir::new();
        let paths: Vec<String> =
            dirs.iter().map(|name| dir.path().join(name).display().to_string()).collect();
        let mut props = Properties::new();
        let own = [("listeners", "PLAINTEXT://127.0.0.1:0"), ("log.dirs", &paths.join(","))];
        for (name, value) in own.iter().chain(configs) {
            props.insert((*name).to_owned(), (*value).to_owned());
        }
        let config = BrokerConfig::new(props, Mode::Embedded).unwrap();
        Node { running: RunningBroker::start_with(config, hooks).await.unwrap(), _dir: dir }
    }

    pub(crate) fn services(&self) -> &Arc<Services> {
        &self.running.services
    }

    /// The metadata says this from now on, and the logs that it names are open. The controller in the same process does not
    /// know. Partitions of which no directory is said are in the first one.
    pub(crate) async fn publish(&self, records: impl IntoIterator<Item = MetadataRecord>) {
        let put_off = self.publish_only(records).await;
        let openings = self.services().replicas.openings();
        soon("the logs of new partitions", openings.wait(&put_off)).await;
    }

    /// [`Self::publish`], without waiting for logs. Gives the topics whose logs are not open yet.
    pub(crate) async fn publish_only(
        &self,
        records: impl IntoIterator<Item = MetadataRecord>,
    ) -> BTreeSet<Uuid> {
        let old = (*self.services().node.image().0).clone();
        let mut delta = Delta::new(old.clone());
        for mut record in records {
            if let MetadataRecord::Partition(partition) = &mut record
                && partition.directories.is_empty()
            {
                partition.directories = self.directories_of(&partition.replicas, 0);
            }
            delta.replay(&record).unwrap();
        }
        let (new, changes) = delta.apply(old.provenance);
        let services = self.services();
        let applier = Applier {
            node: Arc::clone(&services.node),
            replicas: Arc::clone(&services.replicas),
            coordination: Arc::clone(&services.coordination),
            sockets: Arc::clone(services.front.sockets()),
            news: Arc::clone(services.control.news()),
        };
        let published =
            tokio::task::spawn_blocking(move || applier.apply(Update { old, new, changes }));
        soon("the metadata in force", published).await.unwrap()
    }

    /// Directories of replicas: this node's is the one with that number.
    pub(crate) fn directories_of(&self, replicas: &[i32], number: usize) -> Vec<Uuid> {
        let own = self.services().replicas.logs().dirs()[number].id();
        let of = |id: &i32| if *id == NODE { own } else { Uuid([0xee; 16]) };
        replicas.iter().map(of).collect()
    }

    /// The port of its first listener.
    pub(crate) fn port(&self) -> u16 {
        self.running.addresses()[0].1.port()
    }

    /// A connection to it.
    pub(crate) async fn connect(&self) -> Outgoing {
        let port = self.port();
        let endpoint = Endpoint { host: "127.0.0.1".into(), port };
        let timeouts = Timeouts { connect: WAIT, request: WAIT, answer_max: ANSWER_MAX };
        Outgoing::open(&endpoint, &"test".into(), timeouts).await.unwrap()
    }

    /// A partition that it has.
    pub(crate) fn partition(&self, topic: &str, index: i32) -> Arc<Partition> {
        let topics = self.services().replicas.topics();
        Arc::clone(topics.by_name(topic).unwrap().partition(index).unwrap())
    }

    pub(crate) async fn shut_down(self) {
        soon("the end of the broker", self.running.shut_down()).await;
    }
}

/// The producer of a transactional id that is new, by its id and epoch.
pub(crate) async fn init_producer(client: &mut Outgoing, id: &str) -> (i64, i16) {
    let find = FindCoordinatorRequest {
        key_type: 1,
        coordinator_keys: vec![id.into()],
        ..Default::default()
    };
    while soon("an answer", client.call(&find)).await.unwrap().coordinators[0].error_code.is_err() {
        tokio::task::yield_now().await;
    }
    let init = InitProducerIdRequest {
        transactional_id: Some(id.into()),
        transaction_timeout_ms: 60_000,
        producer_id: -1,
        producer_epoch: -1,
        ..Default::default()
    };
    loop {
        let answer = soon("an answer", client.call(&init)).await.unwrap();
        if answer.error_code.is_ok() {
            return (answer.producer_id, answer.producer_epoch);
        }
        tokio::task::yield_now().await;
    }
}

/// Appends a batch to a partition, for all in-sync replicas.
pub(crate) fn produce(topic_id: Uuid, index: i32, batch: Vec<u8>) -> ProduceRequest {
    let partition =
        PartitionProduceData { index, records: Some(batch.into()), ..Default::default() };
    let topic =
        TopicProduceData { topic_id, partition_data: vec![partition], ..Default::default() };
    ProduceRequest { acks: -1, timeout_ms: 60_000, topic_data: vec![topic], ..Default::default() }
}

/// A topic.
pub(crate) fn topic(name: &str, topic_id: Uuid) -> MetadataRecord {
    TopicRecord { name: name.into(), topic_id, ..TopicRecord::default() }.into()
}

/// A partition that `leader` leads in an epoch, and that has these in-sync replicas.
pub(crate) fn partition(
    topic_id: Uuid,
    partition_id: i32,
    leader: i32,
    leader_epoch: i32,
    replicas: &[i32],
) -> PartitionRecord {
    PartitionRecord {
        partition_id,
        topic_id,
        replicas: replicas.to_vec(),
        isr: replicas.to_vec(),
        leader,
        leader_epoch,
        partition_epoch: leader_epoch,
        ..PartitionRecord::default()
    }
}

/// Something that listens where the metadata says that another broker does.
pub(crate) struct Peer {
    id: i32,
    listener: TcpListener,
}

impl Peer {
    pub(crate) async fn new(id: i32) -> Peer {
        Peer { id, listener: TcpListener::bind("127.0.0.1:0").await.unwrap() }
    }

    /// Where it listens.
    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint { host: "127.0.0.1".into(), port: self.listener.local_addr().unwrap().port() }
    }

    /// As the metadata names it.
    pub(crate) fn record(&self) -> MetadataRecord {
        let Endpoint { host, port } = self.endpoint();
        let endpoint =
            BrokerEndpoint { name: LISTENER.into(), host, port, ..BrokerEndpoint::default() };
        RegisterBrokerRecord {
            broker_id: self.id,
            broker_epoch: 7,
            incarnation_id: Uuid([9; 16]),
            end_points: vec![endpoint],
            fenced: false,
            ..RegisterBrokerRecord::default()
        }
        .into()
    }

    /// The next connection, on which nothing was answered yet.
    pub(crate) async fn accept_only(&self) -> Conversation {
        let (stream, _) = soon("a connection", self.listener.accept()).await.unwrap();
        Conversation {
            stream,
            buffer: FrameBuffer::new(ANSWER_MAX),
            asked: None,
            client_id: String::new(),
        }
    }

    /// The next connection that is still there when it has been told what the peer speaks.
    pub(crate) async fn accept(&self) -> Conversation {
        let mut conversation = self.accept_only().await;
        while conversation.try_request::<ApiVersionsRequest>().await.is_none() {
            conversation = self.accept_only().await;
        }
        let api_keys = vec![
            spoken::<FetchRequest>(),
            spoken::<ListOffsetsRequest>(),
            spoken::<ApiVersionsRequest>(),
            spoken::<AddPartitionsToTxnRequest>(),
            spoken::<WriteTxnMarkersRequest>(),
            spoken::<AlterPartitionRequest>(),
            spoken::<CreateTopicsRequest>(),
        ];
        conversation.answer(&ApiVersionsResponse { api_keys, ..Default::default() }).await;
        conversation
    }
}

/// What a peer says that it speaks.
fn spoken<R: Request>() -> ApiVersion {
    let max_version = R::API_KEY.info().map_or(R::MAX_VERSION, |info| info.max_stable_version);
    let (api_key, min_version) = (R::API_KEY.0, R::MIN_VERSION);
    ApiVersion { api_key, min_version, max_version, ..Default::default() }
}

/// A connection from the broker to a peer.
pub(crate) struct Conversation {
    stream: TcpStream,
    buffer: FrameBuffer,
    /// What is not answered yet: API, version, correlation id.
    asked: Option<(ApiKey, i16, i32)>,
    /// How the broker has called itself in its last request.
    pub(crate) client_id: String,
}

impl Conversation {
    /// The next frame, or `None` if the broker has closed the connection.
    async fn frame(&mut self) -> Option<Bytes> {
        let frame = async {
            loop {
                if let Some(frame) = self.buffer.take().unwrap() {
                    return Some(frame);
                }
                // Closed with something unread it is reset.
                if self.stream.read_buf(self.buffer.space()).await.unwrap_or(0) == 0 {
                    return None;
                }
            }
        };
        soon("a request, or the end of the connection", frame).await
    }

    /// What it is asked next, which is this.
    pub(crate) async fn request<R: Request>(&mut self) -> R {
        self.try_request().await.expect("a request")
    }

    /// The same, or `None` if the broker has closed the connection.
    pub(crate) async fn try_request<R: Request>(&mut self) -> Option<R> {
        let frame = self.frame().await?;
        let key = ApiKey(i16::from_be_bytes([frame[0], frame[1]]));
        let version = i16::from_be_bytes([frame[2], frame[3]]);
        assert_eq!(key, R::API_KEY);
        let mut reader = Reader::shared(&frame);
        let form = key.request_header_version(version);
        let header = RequestHeader::decode(&mut reader, form).unwrap();
        assert!(self.asked.replace((key, version, header.correlation_id)).is_none());
        self.client_id = header.client_id.unwrap_or_default();
        Some(R::decode(&mut reader, version).unwrap())
    }

    /// Answers that.
    pub(crate) async fn answer<M: Message>(&mut self, response: &M) {
        let mut body = Writer::new();
        let (_, version, _) = self.asked.expect("a request");
        response.encode(&mut body, version).unwrap();
        self.answer_bytes(&body.to_vec()).await;
    }

    /// Answers it with a body that may be anything.
    pub(crate) async fn answer_bytes(&mut self, body: &[u8]) {
        let (key, version, correlation_id) = self.asked.take().expect("a request");
        let mut writer = Writer::new();
        let header = ResponseHeader { correlation_id, ..ResponseHeader::default() };
        header.encode(&mut writer, key.response_header_version(version)).unwrap();
        let frame = [&writer.to_vec(), body].concat();
        let len = i32::try_from(frame.len()).unwrap().to_be_bytes();
        // The broker may have gone away meanwhile.
        let _ = self.stream.write_all(&[&len[..], &frame].concat()).await;
    }

    /// Waits until the broker has closed the connection. It asks nothing before that.
    pub(crate) async fn closed(mut self) {
        while let Some(frame) = self.frame().await {
            assert_eq!(frame[..2], ApiKey::API_VERSIONS.0.to_be_bytes(), "a request");
        }
    }
}
