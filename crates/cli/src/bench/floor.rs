//! `thalweg bench floor`: the least that a broker could do, as a reference for real ones.
//!
//! Produce: receive, CRC, base offset in place, one `pwrite` per batch at the end of its
//! partition's file. Fetch: find the place in a list, `sendfile`. One thread per connection, each
//! blocking. Nothing is validated beyond the CRC, nothing is recovered, retained, replicated or
//! indexed on disk, and no fetch waits; it speaks just enough of the protocol for
//! `thalweg bench`, and is not for anything else.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use thalweg_records::batch::{self, BatchView};
use thalweg_wire::messages::api_versions_response::ApiVersion;
use thalweg_wire::messages::create_topics_response::CreatableTopicResult;
use thalweg_wire::messages::delete_topics_response::DeletableTopicResult;
use thalweg_wire::messages::fetch_request::FetchRequestView;
use thalweg_wire::messages::fetch_response::{
    FetchResponseRef, FetchableTopicResponseRef, PartitionDataRef,
};
use thalweg_wire::messages::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use thalweg_wire::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use thalweg_wire::messages::produce_request::ProduceRequestView;
use thalweg_wire::messages::produce_response::{
    PartitionProduceResponseRef, ProduceResponseRef, TopicProduceResponseRef,
};
use thalweg_wire::messages::*;
use thalweg_wire::{
    ApiKey, ErrorCode, Message, Reader, RecordsRef, Request, Segment, Uuid, Writer,
};

use super::args::FloorArgs;
use super::{BenchError, Outcome};

/// Largest request.
const REQUEST_MAX: usize = 256 << 20;
const NODE: i32 = 1;

/// What all connections share.
struct Floor {
    host: String,
    port: i32,
    dir: PathBuf,
    topics: Mutex<HashMap<String, Arc<Topic>>>,
}

struct Topic {
    name: String,
    id: Uuid,
    partitions: Vec<Partition>,
}

struct Partition {
    file: File,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    /// Offset of the next record.
    end: i64,
    /// Length of the file.
    len: u64,
    /// Base offset and position of each batch.
    batches: Vec<(i64, u64)>,
}

/// Listens on the first address of a name that is this machine's; IPv4 first, as brokers do.
fn listen(address: &str) -> io::Result<TcpListener> {
    let mut addresses: Vec<_> = address.to_socket_addrs()?.collect();
    addresses.sort_by_key(SocketAddr::is_ipv6);
    TcpListener::bind(&addresses[..])
}

/// Runs until the process is ended.
pub fn run(args: &FloorArgs) -> Result<Outcome, BenchError> {
    let failed = |what: &str, source| BenchError::Io { what: what.to_owned(), source };
    std::fs::create_dir_all(&args.data)
        .map_err(|source| failed(&format!("creating {}", args.data.display()), source))?;
    let listener = listen(&args.listen)
        .map_err(|source| failed(&format!("listening on {}", args.listen), source))?;
    let send_buffer = usize::try_from(args.send_buffer).unwrap_or(0);
    if send_buffer > 0 {
        // Accepted connections inherit it.
        rustix::net::sockopt::set_socket_send_buffer_size(&listener, send_buffer)
            .map_err(|source| failed("setting the send buffer", source.into()))?;
    }
    let address = listener.local_addr().map_err(|source| failed("own address", source))?;
    let floor = Arc::new(Floor {
        host: address.ip().to_string(),
        port: address.port().into(),
        dir: args.data.clone(),
        topics: Mutex::default(),
    });
    let _ = writeln!(io::stdout(), "ready {address}");
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        let floor = floor.clone();
        // The connection ends with whatever went wrong on it.
        std::thread::spawn(move || Connection::new(floor, stream).serve());
    }
    Ok(Outcome::Clean)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn invalid(error: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

impl Floor {
    fn by_name(&self, name: &str) -> Option<Arc<Topic>> {
        lock(&self.topics).get(name).cloned()
    }

    fn find(&self, name: &str, id: Uuid) -> Option<Arc<Topic>> {
        let topics = lock(&self.topics);
        topics
            .get(name)
            .or_else(|| topics.values().find(|topic| !id.is_zero() && topic.id == id))
            .cloned()
    }

    fn create(&self, name: &str, partitions: usize) -> io::Result<()> {
        let mut topics = lock(&self.topics);
        let open = |index: usize| {
            let path = self.dir.join(format!("floor-{}-{index}.log", topics.len()));
            let file =
                File::options().read(true).write(true).create(true).truncate(true).open(path)?;
            Ok(Partition { file, log: Mutex::default() })
        };
        let partitions = (0..partitions).map(open).collect::<io::Result<_>>()?;
        let id = Uuid::from_u128(topics.len() as u128 + 1000);
        let topic = Topic { name: name.to_owned(), id, partitions };
        topics.insert(name.to_owned(), Arc::new(topic));
        Ok(())
    }
}

/// A range of a partition's file in a response.
struct Range {
    topic: Arc<Topic>,
    partition: usize,
    from: u64,
}

struct Connection {
    floor: Arc<Floor>,
    stream: TcpStream,
    frame: Vec<u8>,
    ranges: Vec<Range>,
}

impl Connection {
    fn new(floor: Arc<Floor>, stream: TcpStream) -> Connection {
        Connection { floor, stream, frame: Vec::new(), ranges: Vec::new() }
    }

    fn serve(mut self) -> io::Result<()> {
        self.stream.set_nodelay(true)?;
        let mut out = Writer::new();
        loop {
            let mut length = [0; 4];
            self.stream.read_exact(&mut length)?;
            let length = usize::try_from(i32::from_be_bytes(length)).map_err(invalid)?;
            if length > REQUEST_MAX {
                return Err(invalid("request too large"));
            }
            self.frame.resize(length, 0);
            self.stream.read_exact(&mut self.frame)?;
            let mut frame = std::mem::take(&mut self.frame);
            let answered = self.answer(&mut frame, &mut out);
            self.frame = frame;
            answered?;
            self.write(&out)?;
        }
    }

    /// Writes the answer to one request.
    fn answer(&mut self, frame: &mut [u8], out: &mut Writer) -> io::Result<()> {
        let len = frame.len();
        let mut r = Reader::new(frame);
        let api = ApiKey(r.i16().map_err(invalid)?);
        let version = r.i16().map_err(invalid)?;
        let correlation_id = r.i32().map_err(invalid)?;
        r.nullable_str(false).map_err(invalid)?;
        if api.request_header_version(version) >= 2 {
            r.tags(None, |_, _| Ok(false)).map_err(invalid)?;
        }
        let body_at = len - r.remaining();
        out.begin_frame();
        out.i32(correlation_id);
        if api.response_header_version(version) >= 1 {
            out.uvarint(0);
        }
        self.ranges.clear();
        let body = &mut frame[body_at..];
        match api {
            ApiKey::PRODUCE => self.produce(body, version, out)?,
            ApiKey::FETCH => self.fetch(body, version, out)?,
            ApiKey::API_VERSIONS => api_versions().encode(out, version).map_err(invalid)?,
            ApiKey::METADATA => self.metadata(&decode(body, version)?, version, out)?,
            ApiKey::CREATE_TOPICS => self.create(&decode(body, version)?, version, out)?,
            ApiKey::DELETE_TOPICS => self.delete(&decode(body, version)?, version, out)?,
            ApiKey::LIST_OFFSETS => self.offsets(&decode(body, version)?, version, out)?,
            api => return Err(invalid(format!("{api} is not part of the floor"))),
        }
        out.end_frame().map_err(invalid)
    }

    fn produce(&self, body: &mut [u8], version: i16, out: &mut Writer) -> io::Result<()> {
        // First the places of the batches, then the batches themselves, which change.
        let mut places = Vec::new();
        let start = body.as_ptr() as usize;
        let request =
            ProduceRequestView::parse(&mut Reader::new(body), version).map_err(invalid)?;
        let first = request.topic_data.iter().next().ok_or_else(|| invalid("no topic"))?;
        let topic = self.floor.find(first.name, first.topic_id);
        let topic = topic.ok_or_else(|| invalid("unknown topic"))?;
        for part in first.partition_data {
            let records = part.records.unwrap_or_default();
            let at = records.as_ptr() as usize - start;
            places.push((part.index, at..at + records.len()));
        }
        let mut answers = Vec::with_capacity(places.len());
        for (index, place) in places {
            let partition = usize::try_from(index).ok().and_then(|i| topic.partitions.get(i));
            let partition = partition.ok_or_else(|| invalid("unknown partition"))?;
            let bytes = body.get_mut(place).ok_or_else(|| invalid("batch out of range"))?;
            let view = BatchView::parse(bytes).map_err(invalid)?;
            if !view.crc_is_valid() {
                return Err(invalid("wrong crc"));
            }
            let records = i64::from(view.last_offset_delta()) + 1;
            let mut log = lock(&partition.log);
            let (base, at) = (log.end, log.len);
            batch::set_base_offset(bytes, base);
            batch::set_partition_leader_epoch(bytes, 0);
            partition.file.write_all_at(bytes, at)?;
            log.batches.push((base, at));
            log.end += records;
            log.len += bytes.len() as u64;
            answers.push(PartitionProduceResponseRef {
                index,
                base_offset: base,
                log_append_time_ms: -1,
                log_start_offset: 0,
                ..PartitionProduceResponseRef::default()
            });
        }
        let response = ProduceResponseRef {
            responses: &[TopicProduceResponseRef {
                name: &topic.name,
                topic_id: topic.id,
                partition_responses: &answers,
            }],
            ..ProduceResponseRef::default()
        };
        response.encode(out, version).map_err(invalid)
    }

    fn fetch(&mut self, body: &[u8], version: i16, out: &mut Writer) -> io::Result<()> {
        let request = FetchRequestView::parse(&mut Reader::new(body), version).map_err(invalid)?;
        let (mut left, mut answers, mut topic) = (request.max_bytes, Vec::new(), None);
        if let Some(first) = request.topics.iter().next() {
            let found = self.floor.find(first.topic, first.topic_id);
            let found = found.ok_or_else(|| invalid("unknown topic"))?;
            for part in first.partitions {
                let index = usize::try_from(part.partition).map_err(invalid)?;
                let partition =
                    found.partitions.get(index).ok_or_else(|| invalid("unknown partition"))?;
                let log = lock(&partition.log);
                let from = log.batches.partition_point(|(base, _)| *base <= part.fetch_offset);
                let from = match part.fetch_offset < log.end {
                    true => log.batches.get(from.saturating_sub(1)).map_or(log.len, |b| b.1),
                    false => log.len,
                };
                let len = (log.len - from).min(left.min(part.partition_max_bytes).max(0) as u64);
                left -= len as i32;
                let records = match len {
                    0 => RecordsRef::Inline(&[]),
                    len => RecordsRef::External { id: self.ranges.len() as u32, len: len as u32 },
                };
                if len > 0 {
                    self.ranges.push(Range { topic: found.clone(), partition: index, from });
                }
                answers.push(PartitionDataRef {
                    partition_index: part.partition,
                    high_watermark: log.end,
                    last_stable_offset: log.end,
                    log_start_offset: 0,
                    records,
                    ..PartitionDataRef::default()
                });
            }
            topic = Some(found);
        }
        if self.ranges.is_empty() {
            // Nothing waits here; without a pause an idle consumer would spin.
            std::thread::sleep(Duration::from_millis(1));
        }
        let topics = topic.as_ref().map(|topic| FetchableTopicResponseRef {
            topic: &topic.name,
            topic_id: topic.id,
            partitions: &answers,
        });
        let response = FetchResponseRef { responses: topics.as_slice(), ..Default::default() };
        response.encode(out, version).map_err(invalid)
    }

    fn metadata(
        &self,
        request: &MetadataRequest,
        version: i16,
        out: &mut Writer,
    ) -> io::Result<()> {
        let topic = |name: &str| match self.floor.by_name(name) {
            Some(topic) => MetadataResponseTopic {
                name: Some(name.to_owned()),
                topic_id: topic.id,
                partitions: (0..topic.partitions.len() as i32).map(partition_of).collect(),
                ..MetadataResponseTopic::default()
            },
            None => MetadataResponseTopic {
                error_code: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                name: Some(name.to_owned()),
                ..MetadataResponseTopic::default()
            },
        };
        let names = request.topics.iter().flatten().filter_map(|topic| topic.name.as_deref());
        let response = MetadataResponse {
            brokers: vec![MetadataResponseBroker {
                node_id: NODE,
                host: self.floor.host.clone(),
                port: self.floor.port,
                ..MetadataResponseBroker::default()
            }],
            controller_id: NODE,
            topics: names.map(topic).collect(),
            ..MetadataResponse::default()
        };
        response.encode(out, version).map_err(invalid)
    }

    fn create(
        &self,
        request: &CreateTopicsRequest,
        version: i16,
        out: &mut Writer,
    ) -> io::Result<()> {
        let mut response = CreateTopicsResponse::default();
        for topic in &request.topics {
            self.floor.create(&topic.name, usize::try_from(topic.num_partitions).unwrap_or(1))?;
            let name = topic.name.clone();
            response.topics.push(CreatableTopicResult { name, ..Default::default() });
        }
        response.encode(out, version).map_err(invalid)
    }

    fn delete(
        &self,
        request: &DeleteTopicsRequest,
        version: i16,
        out: &mut Writer,
    ) -> io::Result<()> {
        let mut response = DeleteTopicsResponse::default();
        for name in request.topics.iter().filter_map(|topic| topic.name.clone()) {
            if let Some(topic) = lock(&self.floor.topics).remove(&name) {
                for partition in &topic.partitions {
                    partition.file.set_len(0)?;
                }
            }
            response
                .responses
                .push(DeletableTopicResult { name: Some(name), ..Default::default() });
        }
        response.encode(out, version).map_err(invalid)
    }

    fn offsets(
        &self,
        request: &ListOffsetsRequest,
        version: i16,
        out: &mut Writer,
    ) -> io::Result<()> {
        let mut response = ListOffsetsResponse::default();
        for asked in &request.topics {
            let topic = self.floor.by_name(&asked.name).ok_or_else(|| invalid("unknown topic"))?;
            let partition = |asked: &list_offsets_request::ListOffsetsPartition| {
                let index = usize::try_from(asked.partition_index).unwrap_or(usize::MAX);
                let end = topic.partitions.get(index).map_or(0, |p| lock(&p.log).end);
                ListOffsetsPartitionResponse {
                    partition_index: asked.partition_index,
                    offset: if asked.timestamp == super::topic::LATEST { end } else { 0 },
                    ..ListOffsetsPartitionResponse::default()
                }
            };
            response.topics.push(ListOffsetsTopicResponse {
                name: asked.name.clone(),
                partitions: asked.partitions.iter().map(partition).collect(),
                ..ListOffsetsTopicResponse::default()
            });
        }
        response.encode(out, version).map_err(invalid)
    }

    /// Writes a response with its ranges of files.
    fn write(&mut self, out: &Writer) -> io::Result<()> {
        let mut at = 0;
        for (position, segment) in out.segments() {
            self.stream.write_all(&out.inline()[at..*position])?;
            at = *position;
            match segment {
                Segment::Bytes(bytes) => self.stream.write_all(bytes)?,
                Segment::External { id, len } => self.send_range(*id, u64::from(*len))?,
            }
        }
        self.stream.write_all(&out.inline()[at..])
    }

    fn send_range(&self, id: u32, len: u64) -> io::Result<()> {
        let range = self.ranges.get(id as usize).ok_or_else(|| invalid("unknown range"))?;
        let file = &range.topic.partitions[range.partition].file;
        let (mut from, end) = (range.from, range.from + len);
        while from < end {
            let left = usize::try_from(end - from).map_err(invalid)?;
            // The offset moves along.
            if rustix::fs::sendfile(&self.stream, file, Some(&mut from), left)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }
}

fn decode<M: Message>(body: &[u8], version: i16) -> io::Result<M> {
    M::decode(&mut Reader::new(body), version).map_err(invalid)
}

fn partition_of(partition_index: i32) -> MetadataResponsePartition {
    MetadataResponsePartition {
        partition_index,
        leader_id: NODE,
        leader_epoch: 0,
        replica_nodes: vec![NODE],
        isr_nodes: vec![NODE],
        ..MetadataResponsePartition::default()
    }
}

fn api_versions() -> ApiVersionsResponse {
    fn row<R: Request>() -> ApiVersion {
        let max_version = R::API_KEY.info().map_or(R::MAX_VERSION, |info| info.max_stable_version);
        let (api_key, min_version) = (R::API_KEY.0, R::MIN_VERSION);
        ApiVersion { api_key, min_version, max_version, ..ApiVersion::default() }
    }
    ApiVersionsResponse {
        api_keys: vec![
            row::<ProduceRequest>(),
            row::<FetchRequest>(),
            row::<ListOffsetsRequest>(),
            row::<MetadataRequest>(),
            row::<ApiVersionsRequest>(),
            row::<CreateTopicsRequest>(),
            row::<DeleteTopicsRequest>(),
        ],
        ..ApiVersionsResponse::default()
    }
}
