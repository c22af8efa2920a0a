//! Kafka client for async Rust: [consumers](Consumer), [producers](Producer), [streams](stream) and
//! [administration](admin), on tokio, for any Kafka cluster.
//!
//! A [`Cluster`] is the connections to one cluster; everything else stands on it. [`Options`] say
//! how connections behave and how they are protected. The guide is the crate's `README.md`; its
//! `CONFIGS.md` has Java's config names and what they are here.
//!
//! **Producing.** [`Producer::send`] takes a record in; the [`Delivery`] that it gives is a future of
//! what becomes of the record.
//!
//! ```no_run
//! use thalweg::{Cluster, Options, Producer, ProducerConfig, ProducerRecord};
//!
//! # async fn example() -> Result<(), thalweg::Error> {
//! let cluster = Cluster::connect("127.0.0.1:9092", Options::default()).await?;
//! let producer = Producer::new(cluster, ProducerConfig::default())?;
//! let record =
//!     ProducerRecord { topic: "orders", value: Some(b"two of them"), ..Default::default() };
//! let delivery = producer.send(record).await?;
//! println!("offset {}", delivery.await?.offset);
//! # Ok(())
//! # }
//! ```
//!
//! **Consuming.** [`Consumer::poll`] gives what is there, as views into what was fetched.
//!
//! ```no_run
//! use thalweg::{Cluster, Consumer, ConsumerConfig, Options};
//!
//! # async fn example() -> Result<(), thalweg::Error> {
//! let cluster = Cluster::connect("127.0.0.1:9092", Options::default()).await?;
//! let config = ConsumerConfig::default().with_group_id("billing");
//! let mut consumer = Consumer::new(cluster, config)?;
//! consumer.subscribe(["orders"])?;
//! for record in &consumer.poll(500).await? {
//!     println!("{} {:?}", record.offset(), record.value());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! **Streams.** Sources, flows and sinks for `futures`, with demand that reaches down to the
//! requests.
//!
//! ```no_run
//! use futures_util::TryStreamExt;
//! use thalweg::stream::{self, Committer, Subscription};
//! use thalweg::{Cluster, ConsumerConfig, Options};
//!
//! # async fn example() -> Result<(), thalweg::Error> {
//! let cluster = Cluster::connect("127.0.0.1:9092", Options::default()).await?;
//! let config = ConsumerConfig::default().with_group_id("billing");
//! let source = stream::committable_source(&cluster, config, Subscription::topics(["orders"]))?;
//! let done = source.map_ok(|message| {
//!     println!("{:?}", message.record.value());
//!     message.offset
//! });
//! Committer::default().run(done).await?;
//! # Ok(())
//! # }
//! ```
//!
//! **Administration.** Names are those of Kafka's `Admin`; what is asked of several things is
//! answered for each.
//!
//! ```no_run
//! use thalweg::admin::{Mode, NewTopic};
//! use thalweg::{Admin, AdminConfig, Cluster, Options};
//!
//! # async fn example() -> Result<(), thalweg::Error> {
//! let cluster = Cluster::connect("127.0.0.1:9092", Options::default()).await?;
//! let admin = Admin::new(cluster, AdminConfig::default());
//! let topic = NewTopic::new("orders").with_partitions(12);
//! for (name, result) in admin.create_topics([topic], Mode::Apply).await {
//!     println!("{name}: {result:?}");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What is below
//! Consumers, producers and admins stand on these:
//!
//! - [`Cluster`]: finds brokers from bootstrap addresses, keeps metadata, opens connections when
//!   they are first needed.
//! - [`Connection`]: one negotiated connection shared by many callers, with requests pipelined.
//! - [`RawConnection`]: one that its owner drives by hand, also with frames built beforehand; what
//!   load generators want. [`raw`] has what builds such frames.
//!
//! With them requests can be sent that nothing above knows. Messages are those of `thalweg_wire`;
//! responses are decoded, but errors inside them are the caller's to judge.
//!
//! ```no_run
//! use thalweg::{Cluster, Options};
//! use thalweg_wire::messages::DescribeClusterRequest;
//!
//! # async fn example() -> Result<(), thalweg::Error> {
//! let cluster = Cluster::connect("127.0.0.1:9092", Options::default()).await?;
//! let answer = cluster.send_any(&DescribeClusterRequest::default()).await?;
//! println!("{} brokers", answer.brokers.len());
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//! Connections are plaintext unless [`Options::security`] says otherwise. TLS is rustls on
//! aws-lc-rs, behind the feature `tls`, which is on by default; it brings C and assembly.

pub mod admin;
pub mod cluster;
pub mod consumer;
mod core;
pub mod error;
mod net;
pub mod options;
pub mod producer;
mod properties;
pub mod stream;

pub use crate::core::fetch::records::{IntoIter as RecordsIntoIter, Iter as RecordsIter};
pub use crate::core::fetch::{
    ConsumerRecord, Fault, FetchCounts, IsolationLevel, OffsetReset, OwnedRecord, PartitionError,
    PartitionErrorKind, PartitionStatus, PositionReset, Records, ResetCause, SharedRecord,
};
pub use crate::core::group::protocol::ProtocolError;
pub use crate::core::group::{Assignor, GroupError, GroupProtocol, GroupStatus};
pub use crate::core::headers::{Header, Headers};
pub use crate::core::metadata::{Broker, Leader, Metadata, Partition, Topic};
pub use crate::core::partition::{Position, TopicPartition};
pub use crate::core::produce::{
    AbortReason, Acks, AsProducerRecord, ProduceCounts, ProduceError, ProduceErrorKind,
    ProducerRecord, RecordMetadata, TransactionError,
};
pub use admin::{Admin, AdminConfig, AdminError};
pub use cluster::Cluster;
pub use cluster::coordinator::CommittedOffset;
pub use cluster::offsets::FoundOffset;
pub use consumer::{
    CloseOptions, Consumer, ConsumerConfig, ConsumerHandle, ListenerFuture, OnLeave, Rebalance,
    RebalanceListener,
};
pub use error::{AuthenticationError, Error};
pub use net::connection::Connection;
pub use net::raw::{RawConnection, RawReceiver, RawSender};
pub use net::{connection, raw};
#[cfg(feature = "tls")]
pub use options::{Identity, Pem, Roots, TlsOptions};
pub use options::{Mechanism, MetadataRecoveryStrategy, Options, SaslOptions, Security};
pub use producer::{Delivery, Producer, ProducerConfig, Transaction, TrySendError};
pub use properties::{Properties, Unused};
pub use thalweg_connection::{
    ApiVersions, FrameError, NegotiationError, PipelineError, SaslError, ServerError, VersionError,
};
pub use thalweg_records::{Compression, CompressionSpec};
pub use thalweg_wire::{ApiKey, DecodeError, EncodeError, ErrorCode, Uuid};

/// The snippets of the guide compile.
#[cfg(all(doctest, feature = "tls"))]
#[doc = include_str!("../README.md")]
struct Readme;
