//! Records that are committed before they are handed out.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::stream::Stream;

use super::control::Control;
use super::shape::WithOffset;
use super::source::Source;
use crate::core::exclusive::Exclusive;
use crate::core::fetch::SharedRecord;
use crate::error::Error;
use crate::stream::hub::committable::{CommittableMessage, CommittableOffset};

/// Hands a record out once its offset is committed: none comes twice, whatever happens, and one
/// whose work was not finished is not seen again. Each record costs a commit.
///
/// When a commit fails the error is handed out, and the same record's commit is tried again when
/// more is asked for.
pub struct AtMostOnceSource {
    source: Source<WithOffset>,
    next: Option<Next>,
}

struct Next {
    message: CommittableMessage,
    commit: Option<Exclusive<Commit>>,
}

type Commit = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

impl AtMostOnceSource {
    pub(in crate::stream) fn new(source: Source<WithOffset>) -> AtMostOnceSource {
        AtMostOnceSource { source, next: None }
    }

    /// Stops and ends it, from wherever.
    pub fn control(&self) -> Control {
        self.source.control()
    }
}

impl Stream for AtMostOnceSource {
    type Item = Result<SharedRecord, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if let Some(next) = &mut this.next {
                // The offset stays here: the partition is not given up before it is committed.
                let offset = &next.message.offset;
                let commit = next.commit.get_or_insert_with(|| {
                    let commit = CommittableOffset::clone(offset).commit();
                    Exclusive::new(Box::pin(commit))
                });
                let committed = ready!(commit.get_mut().as_mut().poll(cx));
                next.commit = None;
                match committed {
                    Ok(()) => {
                        let next = this.next.take();
                        return Poll::Ready(next.map(|next| Ok(next.message.record)));
                    }
                    // It is another's to read now.
                    Err(Error::Revoked(_)) => this.next = None,
                    Err(error) => return Poll::Ready(Some(Err(error))),
                }
            }
            match ready!(Pin::new(&mut this.source).poll_next(cx)) {
                Some(Ok(message)) => this.next = Some(Next { message, commit: None }),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl fmt::Debug for AtMostOnceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtMostOnceSource").finish_non_exhaustive()
    }
}
