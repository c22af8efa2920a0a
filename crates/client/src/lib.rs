//! Async Kafka client: connections, negotiation, login, metadata.
//!
//! Two layers. [`core`] is pure: frames, requests in flight, version negotiation and the metadata
//! cache, without sockets or clocks. On top of it stand three drivers for tokio:
//!
//! - [`RawConnection`]: one negotiated connection that its owner drives by hand, also with frames
//!   built beforehand; what load generators want.
//! - [`Connection`]: the same connection shared by many callers, with requests pipelined.
//! - [`Cluster`]: finds brokers from bootstrap addresses, keeps metadata, opens connections when
//!   they are first needed.
//!
//! On those stand [`Consumer`], [`Producer`] and [`Admin`](admin::Admin), and on the first two
//! [`stream`]: sources and sinks for `futures`, with demand that reaches down to the requests.
//!
//! Messages are those of `thalweg_wire`; responses are decoded, but errors inside them are the
//! caller's to judge.
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
//! Connections are plaintext unless [`Options::security`] says otherwise. TLS is rustls on
//! aws-lc-rs, behind the feature `tls`, which is on by default; it brings C and assembly.

pub mod admin;
mod auth;
pub mod cluster;
pub mod connection;
pub mod consumer;
mod coordinator;
pub mod core;
pub mod error;
mod offsets;
pub mod options;
pub mod producer;
pub mod raw;
pub mod stream;
#[cfg(feature = "tls")]
mod tls;
mod transport;

pub use crate::core::fetch::{
    ConsumerRecord, IsolationLevel, OffsetReset, OwnedRecord, Records, SharedRecord,
};
pub use crate::core::group::{Assignor, GroupProtocol, GroupStatus};
pub use crate::core::partition::{Position, TopicPartition};
pub use crate::core::produce::{
    Acks, ProduceError, ProduceErrorKind, ProducerRecord, RecordMetadata,
};
pub use admin::{Admin, AdminConfig, AdminError};
pub use cluster::Cluster;
pub use connection::Connection;
pub use consumer::{Consumer, ConsumerConfig, Rebalance, RebalanceListener};
pub use coordinator::CommittedOffset;
pub use error::{AuthenticationError, Error};
pub use offsets::FoundOffset;
#[cfg(feature = "tls")]
pub use options::{Identity, Pem, Roots, TlsOptions};
pub use options::{Mechanism, Options, SaslOptions, Security};
pub use producer::{Delivery, Producer, ProducerConfig, TrySendError};
pub use raw::{RawConnection, RawReceiver, RawSender};
