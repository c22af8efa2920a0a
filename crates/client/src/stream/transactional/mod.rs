//! From topics to topics, exactly once: records and the offsets of what they were made of in one
//! transaction (KIP-98, KIP-447).

mod committing;
mod feed;
mod given;
mod settings;

use futures_core::stream::Stream;

pub use feed::{TransactionalFlow, TransactionalSink};
pub use settings::TransactionSettings;

use super::settings::{ConsumerSettings, Subscription};
use crate::cluster::Cluster;
use crate::core::fetch::IsolationLevel;
use crate::error::Error;
use crate::producer::Producer;
use crate::stream::hub::transactional::Transactional;
use crate::stream::sinks::envelope::Envelope;
use crate::stream::sources::connect;
use crate::stream::sources::partitioned::PartitionedSource;
use crate::stream::sources::shape::InTransaction;
use crate::stream::sources::source::Source;

/// Records with the offset that a [`transactional_sink`] or [`transactional_flow`] commits with what is made
/// of them. What is not committed is not read, whatever `isolation.level` says.
///
/// A partition that is to be given up waits until what was handed out of it is in a transaction that
/// is committed, or was dropped, for [`ConsumerSettings::revocation_timeout`] at most; a transaction that has
/// something of a partition that is gone is aborted.
///
/// # Errors
/// As [`committable_source`](super::committable_source).
pub fn transactional_source(
    cluster: &Cluster,
    settings: impl Into<ConsumerSettings>,
    subscription: Subscription,
) -> Result<Source<InTransaction>, Error> {
    connect::source(cluster, committed_only(settings), subscription, InTransaction)
}

/// As [`transactional_source`], with one stream for each partition.
///
/// # Errors
/// As [`committable_source`](super::committable_source).
pub fn transactional_partitioned_source(
    cluster: &Cluster,
    settings: impl Into<ConsumerSettings>,
    subscription: Subscription,
) -> Result<PartitionedSource<InTransaction>, Error> {
    connect::partitioned(cluster, committed_only(settings), subscription, InTransaction, None)
}

fn committed_only(settings: impl Into<ConsumerSettings>) -> ConsumerSettings {
    let mut settings = settings.into();
    settings.consumer.isolation_level = IsolationLevel::ReadCommitted;
    settings
}

/// Produces what envelopes hold and commits the offsets that came with them, both in transactions of
/// `producer`: exactly once, from topics to topics. Flushing it commits what it was given; so does closing it.
/// The producer itself remains open, and nobody else may begin transactions with it meanwhile.
///
/// It takes nothing more after an error, and what is not committed then is aborted: the stream is begun again
/// from what is committed ([`with_backoff`](super::with_backoff)), with another producer where
/// [`TransactionError::is_fatal`](crate::TransactionError::is_fatal). Dropping it aborts what is not
/// committed.
///
/// Envelopes come in the order of each partition's records, one for each record (or for several,
/// [`Envelope::multi`] and [`TransactionalOffsetBatch`](super::TransactionalOffsetBatch)), and all of a
/// partition's to one sink: an offset says that everything before it is done. One that comes after later ones of its partition are committed is
/// an error ([`AbortReason::Order`](crate::AbortReason::Order)); so is one behind an envelope that was given to
/// a sink that failed or was dropped ([`AbortReason::Skipped`](crate::AbortReason::Skipped)): the source has to be
/// begun again, too. An envelope of which all partitions were given up is left to those who have them now, and
/// counts as done; one that has others, too, is an error ([`AbortReason::Revoked`](crate::AbortReason::Revoked)).
///
/// Offsets of partitions that are assigned by hand ([`Subscription::assignment`]) are of no member: nothing but
/// the `transactional.id` keeps two programs from doing the same.
///
/// Must be called within a tokio runtime.
///
/// # Errors
/// [`Error::Transaction`] where the producer has no `transactional.id`, [`Error::Config`] where transactions would
/// take longer than its `transaction.timeout.ms`.
pub fn transactional_sink<C: Transactional>(
    producer: &Producer,
    settings: TransactionSettings,
) -> Result<TransactionalSink<C>, Error> {
    TransactionalSink::new(producer, settings.bounded())
}

/// As [`transactional_sink`], as a flow: results come in the order of the envelopes, once their
/// transaction is committed; those of partitions that are others' by then have none. At the end of the stream what is left is committed; after an error of the
/// stream, too, and then the error is given.
///
/// # Errors
/// As [`transactional_sink`].
pub fn transactional_flow<St, C, E>(
    producer: &Producer,
    settings: TransactionSettings,
    envelopes: St,
) -> Result<TransactionalFlow<St, C, E>, Error>
where
    St: Stream<Item = Result<Envelope<C>, E>>,
    C: Transactional,
    E: From<Error>,
{
    TransactionalFlow::new(producer, settings.bounded(), envelopes)
}
