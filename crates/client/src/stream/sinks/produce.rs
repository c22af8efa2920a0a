//! Streams into a producer: a flow whose results come in the order of what went in, and sinks.
//!
//! What is under way is bounded by a number of envelopes, and by the producer's `buffer.memory`:
//! whoever feeds more waits.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::stream::Stream;
use futures_sink::Sink;
use smallvec::SmallVec;
use tokio::task::JoinHandle;

use super::committer::{CommitterSettings, OffsetBatches};
use super::envelope::{Envelope, OwnedProducerRecord, Results};
use crate::core::produce::{ProduceError, ProduceErrorKind, RecordMetadata};
use crate::error::Error;
use crate::options::setters::setters;
use crate::producer::{Delivery, Producer, TrySendError};
use crate::stream::hub::committable::Committable;

/// How records of a stream are produced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ProducerSettings {
    /// Envelopes (or records) that may be under way (Alpakka's `parallelism`); 10 000.
    pub parallelism: usize,
}

setters! {
    ProducerSettings {
        parallelism: usize => with_parallelism,
    }
}

impl Default for ProducerSettings {
    fn default() -> ProducerSettings {
        ProducerSettings { parallelism: 10_000 }
    }
}

/// Produces what a stream's envelopes hold. The results come in the same order, each when all
/// records of its envelope are acknowledged.
///
/// The flow ends after the first error, of the stream or of a record: what is behind it must not
/// be taken for done. Records that are under way then are sent all the same.
pub fn flexi_flow<St, P, E>(
    producer: &Producer,
    settings: ProducerSettings,
    envelopes: St,
) -> FlexiFlow<St, P, E>
where
    St: Stream<Item = Result<Envelope<P>, E>>,
    E: From<Error>,
{
    FlexiFlow {
        envelopes: Some(Box::pin(envelopes)),
        sending: Sending::new(producer.clone(), settings),
        error: None,
        is_over: false,
    }
}

/// As [`flexi_flow`], for one record each.
pub fn producer_flow<St, P, E>(
    producer: &Producer,
    settings: ProducerSettings,
    records: St,
) -> FlexiFlow<Singles<St>, P, E>
where
    St: Stream<Item = Result<(OwnedProducerRecord, P), E>>,
    E: From<Error>,
{
    flexi_flow(producer, settings, Singles { records: Box::pin(records) })
}

/// Produces records. Flushing it waits until all of them are acknowledged; so does closing it. The
/// producer itself remains open.
pub fn plain_sink(producer: &Producer, settings: ProducerSettings) -> ProducerSink {
    ProducerSink { sending: Sending::new(producer.clone(), settings) }
}

/// Produces what envelopes hold, then commits the offsets that came with them: at least once, from
/// topics to topics. Flushing it waits until everything is acknowledged and commits that are under
/// way are done; closing it also commits what is left.
///
/// It takes nothing more after an error, and no offset behind a record that failed is committed by
/// it.
pub fn committable_sink<C: Committable>(
    producer: &Producer,
    settings: ProducerSettings,
    committer: CommitterSettings,
) -> CommittableSink<C> {
    let sending = Sending::new(producer.clone(), settings);
    CommittableSink { sending, batches: OffsetBatches::new(committer) }
}

/// Envelopes under way, in order.
struct Sending<P> {
    producer: Producer,
    parallelism: usize,
    /// The envelope whose records are being handed to the producer.
    partial: Option<Partial<P>>,
    under_way: VecDeque<Entry<P>>,
    /// Why nothing goes on.
    error: Option<ProduceError>,
}

struct Partial<P> {
    /// Last one first.
    records: SmallVec<[OwnedProducerRecord; 1]>,
    waiting: Option<SendLater>,
    entry: Entry<P>,
}

/// A record that waits for room, in a task of its own: a flow that nobody polls must not be the one
/// that is told of room which others wait for. Ends when this is dropped.
struct SendLater {
    task: JoinHandle<Result<Delivery, ProduceError>>,
    topic: Arc<str>,
}

impl SendLater {
    fn begin(producer: Producer, record: OwnedProducerRecord) -> SendLater {
        let topic = Arc::clone(&record.topic);
        let task = tokio::spawn(async move { producer.send(record).await });
        SendLater { task, topic }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Delivery, ProduceError>> {
        Pin::new(&mut self.task).poll(cx).map(|sent| {
            // The runtime is going down, and the producer with it.
            let closed = |_| ProduceError {
                topic: Arc::clone(&self.topic),
                partition: None,
                kind: ProduceErrorKind::Closed,
            };
            sent.map_err(closed)?
        })
    }
}

impl Drop for SendLater {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Entry<P> {
    deliveries: SmallVec<[Delivery; 1]>,
    metadata: SmallVec<[RecordMetadata; 1]>,
    pass_through: P,
}

impl<P> Sending<P> {
    fn new(producer: Producer, settings: ProducerSettings) -> Sending<P> {
        Sending {
            producer,
            parallelism: settings.parallelism.max(1),
            partial: None,
            under_way: VecDeque::new(),
            error: None,
        }
    }

    /// Takes an envelope in; nothing else may be on its way in.
    fn start(&mut self, envelope: Envelope<P>) {
        let Envelope { mut records, pass_through } = envelope;
        records.reverse();
        let (deliveries, metadata) = (SmallVec::new(), SmallVec::new());
        let entry = Entry { deliveries, metadata, pass_through };
        self.partial = Some(Partial { records, waiting: None, entry });
    }

    /// Hands records to the producer until it has all of them.
    fn poll_sent(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ProduceError>> {
        if let Some(error) = &self.error {
            return Poll::Ready(Err(error.clone()));
        }
        let Some(partial) = &mut self.partial else { return Poll::Ready(Ok(())) };
        loop {
            let sent = match &mut partial.waiting {
                Some(waiting) => {
                    let sent = ready!(waiting.poll(cx));
                    partial.waiting = None;
                    sent
                }
                None => {
                    let Some(record) = partial.records.pop() else { break };
                    match self.producer.try_send(&record) {
                        Ok(delivery) => Ok(delivery),
                        Err(TrySendError::Failed(error)) => Err(error),
                        Err(TrySendError::Full | TrySendError::NotReady) => {
                            let waiting = SendLater::begin(self.producer.clone(), record);
                            partial.waiting = Some(waiting);
                            continue;
                        }
                    }
                }
            };
            match sent {
                Ok(delivery) => partial.entry.deliveries.push(delivery),
                Err(error) => {
                    self.error = Some(error.clone());
                    return Poll::Ready(Err(error));
                }
            }
        }
        self.under_way.extend(self.partial.take().map(|partial| partial.entry));
        Poll::Ready(Ok(()))
    }

    /// The oldest envelope, once it is acknowledged; `None` when there is none.
    fn poll_acknowledged(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Results<P>, ProduceError>>> {
        let Some(first) = self.under_way.front_mut() else { return Poll::Ready(None) };
        while let Some(delivery) = first.deliveries.get_mut(first.metadata.len()) {
            match ready!(Pin::new(delivery).poll(cx)) {
                Ok(metadata) => first.metadata.push(metadata),
                Err(error) => {
                    self.error = Some(error.clone());
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
        let Some(entry) = self.under_way.pop_front() else { return Poll::Ready(None) };
        let Entry { metadata, pass_through, .. } = entry;
        Poll::Ready(Some(Ok(Results { metadata, pass_through })))
    }

    fn has_room(&self) -> bool {
        self.partial.is_none() && self.under_way.len() < self.parallelism
    }

    fn is_empty(&self) -> bool {
        self.partial.is_none() && self.under_way.is_empty()
    }

    /// Waits for room, or, with `all`, until nothing is under way. What is acknowledged goes to
    /// `done`.
    fn poll_room(
        &mut self,
        all: bool,
        cx: &mut Context<'_>,
        mut done: impl FnMut(Results<P>),
    ) -> Poll<Result<(), Error>> {
        let sent = self.poll_sent(cx)?;
        while let Poll::Ready(Some(results)) = self.poll_acknowledged(cx)? {
            done(results);
        }
        let is_done = sent.is_ready() && if all { self.is_empty() } else { self.has_room() };
        if is_done { Poll::Ready(Ok(())) } else { Poll::Pending }
    }
}

impl<P> fmt::Debug for Sending<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sending")
            .field("under_way", &self.under_way.len())
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

/// See [`flexi_flow`].
pub struct FlexiFlow<St, P, E> {
    /// Until it ends.
    envelopes: Option<Pin<Box<St>>>,
    sending: Sending<P>,
    error: Option<E>,
    is_over: bool,
}

impl<St, P, E> Unpin for FlexiFlow<St, P, E> {}

impl<St, P, E> Stream for FlexiFlow<St, P, E>
where
    St: Stream<Item = Result<Envelope<P>, E>>,
    E: From<Error>,
{
    type Item = Result<Results<P>, E>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.is_over {
            return Poll::Ready(None);
        }
        let mut sent = this.sending.poll_sent(cx);
        // What comes in goes out before it is waited for; a stream that always has more lets go
        // when there is no room.
        while matches!(sent, Poll::Ready(Ok(())))
            && this.sending.has_room()
            && let Some(envelopes) = &mut this.envelopes
        {
            match envelopes.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(envelope))) => {
                    this.sending.start(envelope);
                    sent = this.sending.poll_sent(cx);
                }
                Poll::Ready(over) => {
                    this.error = over.and_then(Result::err);
                    this.envelopes = None;
                }
                Poll::Pending => break,
            }
        }
        let next = match this.sending.poll_acknowledged(cx) {
            Poll::Ready(Some(Ok(results))) => return Poll::Ready(Some(Ok(results))),
            Poll::Ready(Some(Err(error))) => Some(Error::Produce(error).into()),
            Poll::Pending => return Poll::Pending,
            // What came before a record that was not taken is done.
            Poll::Ready(None) => match sent {
                Poll::Ready(Err(error)) => Some(Error::Produce(error).into()),
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) if this.envelopes.is_some() => return Poll::Pending,
                Poll::Ready(Ok(())) => this.error.take(),
            },
        };
        this.is_over = true;
        this.envelopes = None;
        Poll::Ready(next.map(Err))
    }
}

impl<St, P, E> fmt::Debug for FlexiFlow<St, P, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sending.fmt(f)
    }
}

/// Records as envelopes; see [`producer_flow`].
pub struct Singles<St> {
    records: Pin<Box<St>>,
}

impl<St, P, E> Stream for Singles<St>
where
    St: Stream<Item = Result<(OwnedProducerRecord, P), E>>,
{
    type Item = Result<Envelope<P>, E>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.records.as_mut().poll_next(cx);
        polled.map(|next| {
            let next = next?;
            Some(next.map(|(record, pass_through)| Envelope::single(record, pass_through)))
        })
    }
}

impl<St> fmt::Debug for Singles<St> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Singles")
    }
}

/// See [`plain_sink`].
#[derive(Debug)]
pub struct ProducerSink {
    sending: Sending<()>,
}

impl Sink<OwnedProducerRecord> for ProducerSink {
    type Error = Error;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.sending.poll_room(false, cx, drop)
    }

    fn start_send(mut self: Pin<&mut Self>, record: OwnedProducerRecord) -> Result<(), Error> {
        self.sending.start(Envelope::single(record, ()));
        Ok(())
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.sending.poll_room(true, cx, drop)
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.poll_flush(cx)
    }
}

/// See [`committable_sink`].
pub struct CommittableSink<C> {
    sending: Sending<C>,
    batches: OffsetBatches,
}

impl<C> Unpin for CommittableSink<C> {}

impl<C: Committable> Sink<Envelope<C>> for CommittableSink<C> {
    type Error = Error;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let CommittableSink { sending, batches } = self.get_mut();
        ready!(sending.poll_room(false, cx, |results| batches.push(results.pass_through)))?;
        batches.poll_ready(cx)
    }

    fn start_send(self: Pin<&mut Self>, envelope: Envelope<C>) -> Result<(), Error> {
        self.get_mut().sending.start(envelope);
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let CommittableSink { sending, batches } = self.get_mut();
        ready!(sending.poll_room(true, cx, |results| batches.push(results.pass_through)))?;
        batches.poll_flush(cx)
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let CommittableSink { sending, batches } = self.get_mut();
        ready!(sending.poll_room(true, cx, |results| batches.push(results.pass_through)))?;
        batches.poll_close(cx)
    }
}

impl<C> fmt::Debug for CommittableSink<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommittableSink")
            .field("sending", &self.sending)
            .field("batches", &self.batches)
            .finish()
    }
}
