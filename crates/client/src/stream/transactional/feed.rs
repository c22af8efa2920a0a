//! The sink and the flow that feed transactions.

use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::stream::Stream;
use futures_sink::Sink;
use smallvec::SmallVec;

use super::committing::{Committing, Taken};
use super::given::{Given, TakenIn};
use super::settings::TransactionSettings;
use crate::core::produce::RecordMetadata;
use crate::error::Error;
use crate::producer::Producer;
use crate::stream::hub::transactional::Transactional;
use crate::stream::sinks::envelope::{Envelope, Results};

/// Where what is given goes. Dropping it aborts what is not committed.
struct Feed {
    committing: Arc<Committing>,
}

impl Feed {
    fn new(producer: &Producer, settings: TransactionSettings) -> Result<Feed, Error> {
        Ok(Feed { committing: Committing::begin(producer, settings)? })
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.committing.leave();
    }
}

/// See [`transactional_sink`](super::transactional_sink).
pub struct TransactionalSink<C> {
    feed: Feed,
    given: PhantomData<fn(C)>,
}

impl<C: Transactional> TransactionalSink<C> {
    pub(super) fn new(
        producer: &Producer,
        settings: TransactionSettings,
    ) -> Result<TransactionalSink<C>, Error> {
        Ok(TransactionalSink { feed: Feed::new(producer, settings)?, given: PhantomData })
    }
}

impl<C: Transactional> Sink<Envelope<C>> for TransactionalSink<C> {
    type Error = Error;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.feed.committing.poll_room(cx.waker())
    }

    fn start_send(self: Pin<&mut Self>, envelope: Envelope<C>) -> Result<(), Error> {
        self.feed.committing.take_later(Given::of(envelope).0)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.feed.committing.poll_committed(cx.waker())
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.poll_flush(cx)
    }
}

impl<C> fmt::Debug for TransactionalSink<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TransactionalSink")
    }
}

/// See [`transactional_flow`](super::transactional_flow).
pub struct TransactionalFlow<St, C, E> {
    /// Until it ends.
    envelopes: Option<Pin<Box<St>>>,
    feed: Feed,
    /// What was not taken in yet.
    next: Option<(Given, C)>,
    /// In order, and so many at most.
    under_way: VecDeque<Entry<C>>,
    under_way_max: usize,
    error: Option<E>,
    is_over: bool,
}

struct Entry<C> {
    pass_through: C,
    taken: TakenIn,
    metadata: SmallVec<[RecordMetadata; 1]>,
}

impl<St, C, E> Unpin for TransactionalFlow<St, C, E> {}

impl<St, C, E> TransactionalFlow<St, C, E>
where
    St: Stream<Item = Result<Envelope<C>, E>>,
    C: Transactional,
    E: From<Error>,
{
    pub(super) fn new(
        producer: &Producer,
        settings: TransactionSettings,
        envelopes: St,
    ) -> Result<TransactionalFlow<St, C, E>, Error> {
        Ok(TransactionalFlow {
            envelopes: Some(Box::pin(envelopes)),
            feed: Feed::new(producer, settings)?,
            next: None,
            under_way: VecDeque::new(),
            under_way_max: settings.max_records,
            error: None,
            is_over: false,
        })
    }

    /// Takes in what the stream has.
    fn poll_fed(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        loop {
            if let Some((given, pass_through)) = self.next.take() {
                match self.feed.committing.take(given, cx.waker())? {
                    Taken::Wait(given) => {
                        self.next = Some((given, pass_through));
                        return Poll::Pending;
                    }
                    Taken::Gone => {}
                    Taken::In(taken) => {
                        let metadata = SmallVec::new();
                        self.under_way.push_back(Entry { pass_through, taken, metadata });
                    }
                }
            }
            if self.under_way.len() >= self.under_way_max {
                // The oldest of them makes room, and is waited for.
                return Poll::Pending;
            }
            let Some(envelopes) = &mut self.envelopes else { return Poll::Ready(Ok(())) };
            match ready!(envelopes.as_mut().poll_next(cx)) {
                Some(Ok(envelope)) => self.next = Some(Given::of(envelope)),
                over => {
                    self.error = over.and_then(Result::err);
                    self.envelopes = None;
                }
            }
        }
    }

    /// The oldest envelope, once it is committed.
    fn poll_done(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Results<C>, Error>>> {
        let Some(first) = self.under_way.front_mut() else { return Poll::Ready(None) };
        match self.feed.committing.is_committed(first.taken.number, cx.waker()) {
            Ok(true) => {}
            Ok(false) => return Poll::Pending,
            Err(error) => return Poll::Ready(Some(Err(error))),
        }
        if let Some(rest) = &mut first.taken.rest {
            // A runtime that goes down takes its tasks along.
            let rest = ready!(Pin::new(rest).poll(cx)).map_err(|_| Error::ConsumerClosed)?;
            first.taken.deliveries.extend(rest);
            first.taken.rest = None;
        }
        while let Some(delivery) = first.taken.deliveries.get_mut(first.metadata.len()) {
            match ready!(Pin::new(delivery).poll(cx)) {
                Ok(metadata) => first.metadata.push(metadata),
                Err(error) => return Poll::Ready(Some(Err(error.into()))),
            }
        }
        let Some(Entry { pass_through, metadata, .. }) = self.under_way.pop_front() else {
            return Poll::Ready(None);
        };
        Poll::Ready(Some(Ok(Results { metadata, pass_through })))
    }
}

impl<St, C, E> Stream for TransactionalFlow<St, C, E>
where
    St: Stream<Item = Result<Envelope<C>, E>>,
    C: Transactional,
    E: From<Error>,
{
    type Item = Result<Results<C>, E>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.is_over {
            return Poll::Ready(None);
        }
        let fed = this.poll_fed(cx);
        if let Poll::Ready(Err(_)) = &fed {
            // Nothing more is taken in.
            this.envelopes = None;
        }
        // What is committed is told, whatever became of the rest.
        let failed = match this.poll_done(cx) {
            Poll::Ready(Some(Ok(results))) => return Poll::Ready(Some(Ok(results))),
            Poll::Ready(Some(Err(error))) => Some(error.into()),
            Poll::Pending | Poll::Ready(None) => match fed {
                Poll::Ready(Err(error)) => Some(error.into()),
                Poll::Pending => return Poll::Pending,
                // The stream has ended: nobody waits for more to come.
                Poll::Ready(Ok(())) => {
                    match ready!(this.feed.committing.poll_committed(cx.waker())) {
                        Ok(()) if !this.under_way.is_empty() => {
                            cx.waker().wake_by_ref();
                            return Poll::Pending;
                        }
                        Ok(()) => this.error.take(),
                        Err(error) => Some(error.into()),
                    }
                }
            },
        };
        this.is_over = true;
        this.envelopes = None;
        this.next = None;
        this.under_way.clear();
        Poll::Ready(failed.map(Err))
    }
}

impl<St, C, E> fmt::Debug for TransactionalFlow<St, C, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransactionalFlow")
            .field("under_way", &self.under_way.len())
            .finish_non_exhaustive()
    }
}
