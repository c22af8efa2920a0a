//! What is done with a leader's answers, on threads that may wait for disks. The partitions of each log directory are a
//! share of their own: where a directory does not take what was fetched, its partitions are left out of the fetches until
//! it does, and those of others are fetched on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use thalweg_wire::messages::FetchResponse;
use thalweg_wire::{ErrorCode, Uuid};
use tokio::task::JoinSet;

use super::answer::{self, Found, Taken};
use super::fetcher::{Fetcher, Key, Session, offset};
use crate::broker::Broker;
use crate::net::peer::Connection;

/// For so long a share is waited for, if something else could be fetched meanwhile.
const WAIT: Duration = Duration::from_millis(200);

/// The shares of one fetcher that are being carried out.
#[derive(Default)]
pub(super) struct Shares {
    threads: JoinSet<(u64, Option<Taken>)>,
    running: Vec<Share>,
    begun: u64,
}

/// One directory's share of an answer.
pub(super) struct Share {
    number: u64,
    pub(super) dir: Uuid,
    /// Its partitions, with the leader epochs that they were asked for in.
    pub(super) asked: Vec<(Key, i32)>,
    /// Nobody waits for it any more.
    is_late: bool,
}

impl Shares {
    /// Has a share carried out.
    pub(super) fn begin(
        &mut self,
        dir: Uuid,
        asked: Vec<(Key, i32)>,
        work: impl FnOnce() -> Taken + Send + 'static,
    ) {
        self.begun += 1;
        let number = self.begun;
        self.running.push(Share { number, dir, asked, is_late: false });
        self.threads.spawn_blocking(move || (number, catch_unwind(AssertUnwindSafe(work)).ok()));
    }

    /// What is done next, and what it came to; `None` for the latter if it panicked. `None` if nothing is being done.
    pub(super) async fn next(&mut self) -> Option<(Share, Option<Taken>)> {
        loop {
            // Work that panics is caught, and nothing is cancelled: there is no other error.
            let (number, taken) = self.threads.join_next().await?.ok()?;
            if let Some(at) = self.running.iter().position(|share| share.number == number) {
                return Some((self.running.swap_remove(at), taken));
            }
        }
    }

    /// The same of what is done already.
    pub(super) fn try_next(&mut self) -> Option<(Share, Option<Taken>)> {
        let (number, taken) = self.threads.try_join_next()?.ok()?;
        let at = self.running.iter().position(|share| share.number == number)?;
        Some((self.running.swap_remove(at), taken))
    }

    /// Whether somebody waits for one of them.
    pub(super) fn are_waited_for(&self) -> bool {
        self.running.iter().any(|share| !share.is_late)
    }

    /// Nobody waits for what is not done yet; gives those that were waited for.
    pub(super) fn give_up_waiting(&mut self) -> impl Iterator<Item = &Share> {
        self.running.iter_mut().filter(|share| !share.is_late).map(|share| {
            share.is_late = true;
            &*share
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Whether a partition that is in that directory has to be let be.
    pub(super) fn hold(&self, key: &Key, dir: Uuid) -> bool {
        let holds = |share: &Share| share.dir == dir || share.asked.iter().any(|(it, _)| it == key);
        self.running.iter().any(holds)
    }
}

/// Has what came carried out: appended, cut off.
pub(super) fn begin(
    broker: &Arc<Broker>,
    fetcher: &Arc<Fetcher>,
    session: &Session,
    response: FetchResponse,
    shares: &mut Shares,
) {
    for (dir, answered) in fetcher.split(session, response) {
        let asked = answered.iter().map(|(key, fetch, _)| (*key, fetch.leader_epoch)).collect();
        let (broker, fetcher) = (Arc::clone(broker), Arc::clone(fetcher));
        shares.begin(dir, asked, move || answer::take(&broker, &fetcher, answered));
    }
}

/// Waits until what came is carried out. Where a directory takes long, and there are partitions in others, it is not
/// waited for any more.
pub(super) async fn settle(
    broker: &Arc<Broker>,
    fetcher: &Arc<Fetcher>,
    session: &mut Session,
    shares: &mut Shares,
    connection: &mut Connection,
) {
    while let Some(done) = shares.try_next() {
        finish(broker, fetcher, done, session, shares, connection).await;
    }
    while shares.are_waited_for() {
        match tokio::time::timeout(WAIT, shares.next()).await {
            Ok(Some(done)) => finish(broker, fetcher, done, session, shares, connection).await,
            Ok(None) => return,
            Err(_) if !fetcher.has_others(shares) => {}
            Err(_) => {
                let (leader, _) = fetcher.id();
                for share in shares.give_up_waiting() {
                    tracing::warn!(dir_id = %share.dir, partitions = share.asked.len(), leader,
                        "a log directory takes long for what was fetched; nothing is fetched for it meanwhile");
                }
            }
        }
    }
}

/// Goes on with what a share of an answer came to: finds out where the leader's logs begin and end.
async fn finish(
    broker: &Arc<Broker>,
    fetcher: &Arc<Fetcher>,
    (share, taken): (Share, Option<Taken>),
    session: &mut Session,
    shares: &mut Shares,
    connection: &mut Connection,
) {
    let Some(Taken { to_find, is_whole }) = taken else {
        let (leader, _) = fetcher.id();
        broker.metrics.panics.add(1);
        tracing::error!(leader, "what was fetched panicked; it is fetched again");
        for (key, leader_epoch) in share.asked {
            answer::give_up(broker, fetcher, key, leader_epoch);
        }
        session.lost();
        return;
    };
    if !is_whole {
        session.lost();
    }
    // Few: who is out of range begins anew.
    let mut all = Vec::new();
    for (key, leader_epoch, wanted) in to_find {
        let found = match connection {
            Some((_, connection)) => offset(broker, connection, key, leader_epoch, wanted).await,
            None => Err(ErrorCode::NETWORK_EXCEPTION),
        };
        all.push(Found { key, leader_epoch, found });
    }
    if !all.is_empty() {
        let asked = all.iter().map(|found| (found.key, found.leader_epoch)).collect();
        let (broker, fetcher) = (Arc::clone(broker), Arc::clone(fetcher));
        shares.begin(share.dir, asked, move || {
            let to_find = all.into_iter().filter_map(|it| answer::found(&broker, &fetcher, it));
            Taken { to_find: to_find.collect(), is_whole: true }
        });
    }
}
