//! `connections.max.idle.ms`: how long a peer may neither send what is waited for nor take what is
//! sent to it. What keeps a request for long is no idleness: a frame that arrives slowly, an answer
//! that is read slowly, memory or a disk that is waited for.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// Waits for the socket of one connection, for so long at most.
///
/// Nearly every wait ends long before its time is over. So the timer is not set for each of them, which
/// would be most of what a small request has to do with the clock: it stays where an earlier wait has
/// set it, and is set anew when it fires.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    limit: Option<Duration>,
    /// In a box: a connection's future is as large as all that it may wait for.
    timer: Option<Pin<Box<Sleep>>>,
}

impl Idle {
    /// How long a wait may take from now on; for ever without a limit.
    pub(crate) fn set_limit(&mut self, limit: Option<Duration>) {
        self.limit = limit;
    }

    /// Waits until `poll_socket` is ready; [`io::ErrorKind::TimedOut`] if that takes longer than the limit.
    pub(crate) async fn ready(
        &mut self,
        mut poll_socket: impl FnMut(&mut Context<'_>) -> Poll<io::Result<()>>,
    ) -> io::Result<()> {
        let mut deadline = None;
        poll_fn(|cx| {
            if let Poll::Ready(result) = poll_socket(cx) {
                return Poll::Ready(result);
            }
            let Some(limit) = self.limit else { return Poll::Pending };
            let deadline = *deadline.get_or_insert_with(|| Instant::now() + limit);
            ready!(self.poll_deadline(deadline, cx));
            Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
        })
        .await
    }

    fn poll_deadline(&mut self, deadline: Instant, cx: &mut Context<'_>) -> Poll<()> {
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if timer.deadline() > deadline {
            // The limit was lowered.
            timer.as_mut().reset(deadline);
        }
        loop {
            ready!(timer.as_mut().poll(cx));
            if Instant::now() >= deadline {
                return Poll::Ready(());
            }
            timer.as_mut().reset(deadline);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_millis(60);
    const DEADLINE: Duration = Duration::from_secs(30);

    fn never(_: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }

    /// A wait that ends before its time is over, and leaves its timer behind.
    async fn wait_shortly(idle: &mut Idle, time: Duration) {
        let mut short = Box::pin(tokio::time::sleep(time));
        idle.ready(|cx| short.as_mut().poll(cx).map(Ok)).await.unwrap();
        assert!(idle.timer.is_some());
    }

    async fn wait_in_vain(idle: &mut Idle) {
        let waited = tokio::time::timeout(DEADLINE, idle.ready(never)).await.unwrap();
        assert_eq!(waited.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_wait_has_its_whole_time() {
        let mut idle = Idle::default();
        idle.set_limit(Some(LIMIT));
        for _ in 0..3 {
            // On a slow machine even this may take too long, once.
            let mut short = Box::pin(tokio::time::sleep(LIMIT / 3));
            let _ = idle.ready(|cx| short.as_mut().poll(cx).map(Ok)).await;
            let begun = Instant::now();
            wait_in_vain(&mut idle).await;
            assert!(begun.elapsed() >= LIMIT, "the time of the wait before counted");
        }
    }

    #[tokio::test]
    async fn a_limit_holds_from_the_next_wait_on() {
        let mut idle = Idle::default();
        idle.set_limit(Some(DEADLINE * 10));
        wait_shortly(&mut idle, Duration::from_millis(1)).await;
        idle.set_limit(Some(LIMIT));
        wait_in_vain(&mut idle).await;
        idle.set_limit(None);
        tokio::time::timeout(LIMIT * 3, idle.ready(never)).await.unwrap_err();
    }
}
