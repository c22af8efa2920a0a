//! A Kafka node of its own: formatted, started, asked over TCP, its metadata log read along.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::oracle::Program;
use thalweg_metadata::config::broker::Mode;
use thalweg_metadata::config::{BrokerConfig, Properties, dynamic, properties};
use thalweg_metadata::image::{ConfigResource, Loader, MetadataImage};
use thalweg_metadata::records::{Batch, BatchContents};
use thalweg_records::Decompressor;
use thalweg_wire::messages::metadata_record::MetadataRecord;
use thalweg_wire::messages::{RequestHeader, ResponseHeader};
use thalweg_wire::{Message, Reader, Request, Writer};

/// A running node, stopped when dropped.
pub struct Kafka {
    pub directory: PathBuf,
    pub broker_port: u16,
    pub controller_port: u16,
    pub cluster_id: String,
    pub props: Properties,
    class_path: String,
    /// What is in its file.
    text: String,
    child: Option<Child>,
    connections: RefCell<BTreeMap<u16, TcpStream>>,
}

/// The cluster's id, in every test the same.
pub const CLUSTER_ID: &str = "MkU3OEVBNTcwNTJENDM2Qg";

/// The configuration of a node with one directory, `data` in the directory in which it runs.
pub fn settings(broker_port: u16, controller_port: u16, more: &str) -> String {
    format!(
        "process.roles=broker,controller\nnode.id=1\n\
         controller.quorum.bootstrap.servers=127.0.0.1:{controller_port}\n\
         listeners=PLAINTEXT://127.0.0.1:{broker_port},CONTROLLER://127.0.0.1:{controller_port}\n\
         controller.listener.names=CONTROLLER\nlog.dirs=data\n\
         offsets.topic.replication.factor=1\n{more}"
    )
}

impl Kafka {
    /// Writes a configuration; nothing is formatted or started yet.
    pub fn configure(class_path: &str, directory: &Path, more: &str) -> Kafka {
        let (broker_port, controller_port) = (super::ports::free(), super::ports::free());
        let text = settings(broker_port, controller_port, more);
        std::fs::write(directory.join("server.properties"), &text).expect("a file");
        Kafka {
            directory: directory.to_owned(),
            broker_port,
            controller_port,
            cluster_id: CLUSTER_ID.into(),
            props: properties::parse(text.as_bytes()).expect("properties"),
            class_path: class_path.to_owned(),
            text,
            child: None,
            connections: RefCell::default(),
        }
    }

    /// Formats as `StorageTool format --standalone` does.
    pub fn format(&self) {
        self.format_with(&[]);
    }

    /// The same with more options of the tool.
    pub fn format_with(&self, options: &[&str]) {
        let text =
            self.text.replace("log.dirs=", &format!("log.dirs={}/", self.directory.display()));
        // The tool runs in another directory than the node.
        let file = self.directory.join("format.properties");
        std::fs::write(&file, text).expect("a file");
        let format = Program::class("kafka.tools.StorageTool").args(["format", "--standalone"]);
        format.args(["-t", &self.cluster_id, "-c"]).arg(file.display()).args(options).succeed();
    }

    /// Starts it; ready is it later.
    pub fn start(&mut self) {
        let output = std::fs::File::create(self.directory.join("out.txt")).expect("a file");
        let errors = output.try_clone().expect("a file");
        let child = Command::new("java")
            .args(["-Xmx256m", "-cp", &self.class_path, "kafka.Kafka", "server.properties"])
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .expect("java");
        self.child = Some(child);
    }

    /// Runs one of Kafka's tools against it, gives what it writes.
    pub fn tool(&self, main: &str, args: &[&str]) -> String {
        let server = format!("127.0.0.1:{}", self.broker_port);
        Program::class(main).args(["--bootstrap-server", &server]).args(args).succeed()
    }

    pub fn log_path(&self) -> PathBuf {
        self.directory.join("data/__cluster_metadata-0/00000000000000000000.log")
    }

    fn output(&self) -> String {
        std::fs::read_to_string(self.directory.join("out.txt")).unwrap_or_default()
    }

    /// Waits until the node's broker is unfenced, as its log says.
    pub fn wait_ready(&mut self, log: &mut Log) {
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            log.read();
            if log.image().cluster.is_unfenced(1) {
                return;
            }
            let ended = self.child.as_mut().and_then(|child| child.try_wait().expect("a child"));
            assert!(ended.is_none(), "Kafka ended with {ended:?}: {}", self.output());
            assert!(Instant::now() < deadline, "Kafka is not ready: {}", self.output());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Sends a request in its newest version.
    pub fn ask<R: Request + std::fmt::Debug>(&self, port: u16, request: &R) -> R::Response {
        let version = R::MAX_VERSION;
        let mut w = Writer::new();
        let header = RequestHeader {
            request_api_key: R::API_KEY.0,
            request_api_version: version,
            correlation_id: 7,
            client_id: Some("oracle".into()),
            ..Default::default()
        };
        header.encode(&mut w, R::API_KEY.request_header_version(version)).expect("a header");
        request.encode(&mut w, version).expect("a request");
        let body = w.to_vec();
        let mut connections = self.connections.borrow_mut();
        let stream = connections.entry(port).or_insert_with(|| {
            let stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
            stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
            stream
        });
        let len = i32::try_from(body.len()).expect("a length").to_be_bytes();
        stream.write_all(&[len.as_slice(), &body].concat()).expect("the request is sent");
        let mut len = [0u8; 4];
        stream.read_exact(&mut len).unwrap_or_else(|e| {
            let asked: String = format!("{request:?}").chars().take(400).collect();
            panic!("no answer to {}: {e}: {asked}", R::NAME)
        });
        let mut answer = vec![0u8; usize::try_from(i32::from_be_bytes(len)).expect("a length")];
        stream.read_exact(&mut answer).expect("the answer");
        let mut r = Reader::new(&answer);
        let header_version = R::API_KEY.response_header_version(version);
        ResponseHeader::decode(&mut r, header_version).expect("a response header");
        let response = R::Response::decode(&mut r, version).expect("a response");
        assert_eq!(r.remaining(), 0, "{} is longer than expected", R::NAME);
        response
    }
}

impl Drop for Kafka {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.directory);
        }
    }
}

/// The metadata log of a node, read as it grows.
pub struct Log {
    path: PathBuf,
    position: usize,
    loader: Loader,
}

impl Log {
    /// Of the file at `path`; of none, all batches come through [`Log::take`].
    pub fn new(path: PathBuf) -> Log {
        Log { path, position: 0, loader: Loader::new(MetadataImage::empty()) }
    }

    pub fn image(&self) -> &MetadataImage {
        self.loader.image()
    }

    pub fn next_offset(&self) -> i64 {
        self.loader.next_offset()
    }

    /// How many bytes were taken.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Takes what is new; gives the records, those that say nothing left out.
    pub fn read(&mut self) -> Vec<MetadataRecord> {
        let batches = self.unread();
        self.take(&batches)
    }

    /// The whole batches that are new in the file.
    pub fn unread(&self) -> Vec<u8> {
        let mut bytes = std::fs::read(&self.path).unwrap_or_default();
        bytes.drain(..self.position.min(bytes.len()));
        let mut end = 0;
        while let Some(length) = batch_length(&bytes[end..]) {
            end += length;
        }
        bytes.truncate(end);
        bytes
    }

    /// Takes batches; gives the records, those that say nothing left out.
    pub fn take(&mut self, mut batches: &[u8]) -> Vec<MetadataRecord> {
        self.position += batches.len();
        let mut records = Vec::new();
        while let Some(length) = batch_length(batches) {
            let (batch, rest) = batches.split_at(length);
            let batch = Batch::read(batch, &mut Decompressor::new()).expect("a batch");
            self.loader.load(&batch).expect("a batch that fits");
            if let BatchContents::Data(data) = batch.contents {
                records.extend(data.into_iter().filter(|r| !matches!(r, MetadataRecord::NoOp(_))));
            }
            batches = rest;
        }
        assert!(batches.is_empty(), "half a batch");
        records
    }

    /// The configuration of node 1 as file and image make it.
    pub fn config(&self, props: &Properties) -> BrokerConfig {
        let config = BrokerConfig::new(props.clone(), Mode::Kafka).expect("a configuration");
        configured(&config, self.image())
    }
}

/// The configuration of node 1 as its file, which this is what follows from, and the image make it.
pub fn configured(config: &BrokerConfig, image: &MetadataImage) -> BrokerConfig {
    let configs = &image.configs;
    let (defaults, _) =
        dynamic::usable(&configs.properties(&ConfigResource::broker_defaults()), false);
    let (broker, _) = dynamic::usable(&configs.properties(&ConfigResource::broker(1)), true);
    config.with_dynamic(defaults, broker).expect("a configuration")
}

/// The configuration of node 1, of which nothing was set.
pub fn node_config() -> BrokerConfig {
    let props = properties::parse(settings(9092, 9093, "").as_bytes()).expect("properties");
    BrokerConfig::new(props, Mode::Kafka).expect("a configuration")
}

/// Length of the batch at the front, if it is there as a whole.
pub fn batch_length(bytes: &[u8]) -> Option<usize> {
    let length = i32::from_be_bytes(bytes.get(8..12)?.try_into().expect("four bytes"));
    let length = 12 + usize::try_from(length).expect("a length");
    (length <= bytes.len()).then_some(length)
}
