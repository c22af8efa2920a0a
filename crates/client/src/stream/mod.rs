//! Streams of records with real demand, in the words of Alpakka / Pekko Connectors Kafka.
//!
//! A source is a [`Stream`](futures_core::Stream), a sink a [`Sink`](futures_sink::Sink), a flow
//! takes a stream and is one; the combinators of `futures_util` go between them. Items are
//! `Result`s. All of it runs on tokio: what is here has to be polled within one of its runtimes.
//!
//! # Demand
//! Whoever polls a source takes records that are there; no task stands between the application and
//! what was fetched. A partition of which little is left is asked for again, and no other: a stream
//! that nobody polls lets its partitions' buffers fill up to their share of
//! [`ConsumerConfig::fetch_budget`](crate::ConsumerConfig::fetch_budget), and then nothing more of
//! them is fetched. Nothing that was fetched is thrown away for that, and no other stream waits for
//! it. No pausing or resuming is needed.
//!
//! Records are views ([`SharedRecord`](crate::SharedRecord)) that share the fetched bytes and count
//! against the budget for as long as they are kept: keep what you want to keep for long as
//! [`OwnedRecord`](crate::OwnedRecord). Handing one out takes no memory; there is one allocation
//! for all that are taken of a fetched batch together, 500 at most, besides a few for each fetch.
//! [`Source::batches`] hands out several at a time, which costs less.
//!
//! # Membership
//! A task looks after the consumer behind a source for as long as the source lives. As with
//! Alpakka, whose stage goes on polling while it is back-pressured, a member stays in its group
//! however long the application takes for a record: `max.poll.interval.ms` is no limit on that,
//! only on how long a revocation may take. An application that is stuck is not
//! noticed by its group; what takes too long has to be bounded by the application itself.
//!
//! # Revoked partitions
//! When a partition is to be given up its records are not handed out any more, and its stream, if it
//! has one of its own, ends. Then the group waits until every [`CommittableOffset`] of it was
//! acknowledged or dropped, and every [`TransactionalOffset`] committed or dropped, for [`ConsumerSettings::revocation_timeout`] at most; what was acknowledged
//! is committed, and only then the partition goes to somebody else. So nothing is read twice as
//! long as the application is in time.
//!
//! # Guarantees
//! - What is committed was acknowledged: by a [`Committer`], by [`CommittableOffset::commit`], or, for
//!   plain sources with `enable.auto.commit`, by asking for the next record. What a [`transactional_source`]
//!   hands out is committed with the transaction of what was made of it, and in no other way.
//! - Dropping any stream, sink or future here loses nothing: a partition's stream comes again where
//!   it was, offsets that a committer took are committed, records that a producer took are sent. What a
//!   transactional sink or flow took and has not committed is aborted, and its partitions go on only
//!   when their source is begun again.
//! - Every queue is bounded: by the consumer's budget, the producer's, a `parallelism`, or the `max_records`
//!   of a transaction.
//!
//! # Names
//! | Alpakka / Pekko Connectors Kafka | here |
//! |---|---|
//! | `ConsumerSettings`, `CommitterSettings`, `ProducerSettings` | [`ConsumerSettings`], [`CommitterSettings`], [`ProducerSettings`] |
//! | `Subscriptions.topics`, `topicPattern`, `assignment`, `assignmentWithOffset` | [`Subscription::topics`], [`topic_pattern`](Subscription::topic_pattern), [`assignment`](Subscription::assignment), [`assignment_with_offset`](Subscription::assignment_with_offset) |
//! | `Consumer.plainSource` | [`plain_source`] |
//! | `Consumer.committableSource` | [`committable_source`] |
//! | `Consumer.commitWithMetadataSource` | [`commit_with_metadata_source`] |
//! | `Consumer.atMostOnceSource` | [`at_most_once_source`] |
//! | `Consumer.sourceWithOffsetContext` | [`source_with_offset_context`] |
//! | `Consumer.plainPartitionedSource` | [`plain_partitioned_source`] |
//! | `Consumer.committablePartitionedSource` | [`committable_partitioned_source`] |
//! | `Consumer.commitWithMetadataPartitionedSource` | [`commit_with_metadata_partitioned_source`] |
//! | `Consumer.plainPartitionedManualOffsetSource` | [`plain_partitioned_manual_offset_source`] |
//! | `Consumer.committablePartitionedManualOffsetSource` | [`committable_partitioned_manual_offset_source`] |
//! | `KafkaConsumerActor`, `plainExternalSource`, `committableExternalSource` | [`SharedConsumer`], its [`plain_source`](SharedConsumer::plain_source) and [`committable_source`](SharedConsumer::committable_source) |
//! | `CommittableMessage`, `CommittableOffset`, `CommittableOffsetBatch` | [`CommittableMessage`], [`CommittableOffset`], [`CommittableOffsetBatch`] |
//! | `Committer.sink`, `Committer.batchFlow` | [`Committer::sink`], [`Committer::run`], [`Committer::flow`] |
//! | `CommitDelivery.WaitForAck`, `SendAndForget` | [`CommitDelivery`] |
//! | `Producer.plainSink` | [`plain_sink`] |
//! | `Producer.flow` | [`producer_flow`] |
//! | `Producer.flexiFlow`, `ProducerMessage.single`, `multi`, `passThrough` | [`flexi_flow`], [`Envelope::single`], [`multi`](Envelope::multi), [`pass_through`](Envelope::pass_through) |
//! | `Producer.committableSink` | [`committable_sink`] |
//! | `Consumer.Control.stop`, `shutdown`, `drainAndShutdown`, `isShutdown`, `metrics` | [`Control`] |
//! | `Consumer.DrainingControl` | [`DrainingControl`], by [`Control::draining`] |
//! | `MetadataClient` | [`MetadataClient`] |
//! | `RestartSource.onFailuresWithBackoff`, `RestartSettings` | [`with_backoff`], [`RestartSettings`], [`RestartControl`] |
//! | `mapAsync` per partition or key (`groupBy`) | [`map_ordered_by`] |
//! | `stop-timeout`, `wait-close-partition` | [`ConsumerSettings::stop_timeout`], [`ConsumerSettings::revocation_timeout`] |
//! | `Transactional.source`, `partitionedSource` | [`transactional_source`], [`transactional_partitioned_source`] |
//! | `Transactional.sink`, `flow` | [`transactional_sink`], [`transactional_flow`] |
//! | `eos-commit-interval` | [`TransactionSettings::commit_interval`] |
//!
//! # Examples
//! There is one for each pattern among the crate's examples: `stream_plain`, `stream_committable`,
//! `stream_at_most_once`, `stream_partitioned`, `stream_manual_offsets`, `stream_copy`
//! (committable sink), `stream_transform` (flexi flow, restarts), `stream_exactly_once` (transactions),
//! `stream_parallel` (order per key),
//! `stream_shared`; `stream_integration` takes any broker through most of it.
//!
//! ```no_run
//! use futures_util::TryStreamExt;
//! use std::time::Duration;
//! use thalweg::stream::{self, Committer, Subscription};
//! use thalweg::{Cluster, ConsumerConfig, Error, Options};
//!
//! # async fn example() -> Result<(), Error> {
//! let cluster = Cluster::connect("127.0.0.1:9092", Options::default()).await?;
//! let config = ConsumerConfig::default().with_group_id("billing");
//! let source = stream::committable_source(&cluster, config, Subscription::topics(["orders"]))?;
//! let control = source.control();
//! let running = tokio::spawn(async move {
//!     let done = source.and_then(|message| async move {
//!         println!("{:?}", message.record.value());
//!         Ok(message.offset)
//!     });
//!     Committer::default().run(done).await
//! });
//! // Whichever is first: Ctrl-C, or the stream that failed.
//! let interrupted = tokio::signal::ctrl_c();
//! // A task that panicked, or took too long, is an error: what was under way is read again.
//! control.run_until(interrupted, running, Duration::from_secs(30)).await.map(drop)
//! # }
//! ```

#![warn(missing_debug_implementations)]

mod hub;
mod ordered;
mod restart;
mod settings;
mod sinks;
mod sources;
mod transactional;

pub use hub::committable::{
    Committable, CommittableMessage, CommittableOffset, CommittableOffsetBatch, CommittableRecords,
};
pub use hub::manual::{BoxError, Offsets};
pub use hub::transactional::{
    Transactional, TransactionalMessage, TransactionalOffset, TransactionalOffsetBatch,
    TransactionalRecords,
};
pub use ordered::{MapOrderedBy, map_ordered_by};
pub use restart::{RestartControl, RestartSettings, RestartSource, with_backoff};
pub use settings::{ConsumerSettings, Offset, Subscription};
pub use sinks::committer::{
    CommitDelivery, Committed, Committer, CommitterFlow, CommitterSettings, CommitterSink,
};
pub use sinks::envelope::{Envelope, OwnedProducerRecord, Results};
pub use sinks::produce::{
    CommittableSink, FlexiFlow, ProducerSettings, ProducerSink, Singles, committable_sink,
    flexi_flow, plain_sink, producer_flow,
};
pub use sources::at_most_once::AtMostOnceSource;
pub use sources::connect::{
    at_most_once_source, commit_with_metadata_partitioned_source, commit_with_metadata_source,
    committable_partitioned_manual_offset_source, committable_partitioned_source,
    committable_source, plain_partitioned_manual_offset_source, plain_partitioned_source,
    plain_source, source_with_offset_context,
};
pub use sources::control::{Control, DrainingControl, SourceMetrics};
pub use sources::external::{ExternalSource, SharedConsumer};
pub use sources::metadata::MetadataClient;
pub use sources::partitioned::{PartitionSource, PartitionedSource};
pub use sources::shape::{InContext, InTransaction, Plain, Shape, WithOffset};
pub use sources::source::{Batches, Source};
pub use transactional::{
    TransactionSettings, TransactionalFlow, TransactionalSink, transactional_flow,
    transactional_partitioned_source, transactional_sink, transactional_source,
};
