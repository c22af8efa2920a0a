//! Going on when leaders change: the partitions of a connection stay its own, and where they are led decides to whom it
//! is open. A *round* lasts until one of them is led elsewhere, or a broker is gone.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use thalweg::Cluster;
use thalweg_wire::ErrorCode;

use super::BenchError;
use super::harness::Clock;
use super::produce::connection_error;
use super::stats::{Shared, Stats};

/// Pause before the cluster is asked who leads now.
const PAUSE: Duration = Duration::from_millis(100);
/// Partitions without a leader are looked for again after so long, while the others go on.
const LEADERLESS_PAUSE: Duration = Duration::from_secs(1);

/// A broker that leads partitions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leader {
    /// Its id.
    pub id: i32,
    /// Where it is reached.
    pub address: String,
}

/// A partition that a broker leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Led {
    /// Its number.
    pub partition: i32,
    /// The epoch of the leadership; -1 from brokers too old to tell.
    pub epoch: i32,
}

/// Whether an error of a partition says that it is led elsewhere, or cannot be written or read here for now: it may be
/// otherwise when the cluster was asked again.
pub fn is_to_be_located_anew(code: ErrorCode) -> bool {
    code.is_retriable()
}

/// As long as nothing has moved.
#[derive(Debug)]
pub struct Round {
    is_over: Cell<bool>,
    until: Option<Instant>,
}

impl Round {
    /// One in which every partition has its leader, or which ends at a time because some have none.
    pub fn new(until: Option<Instant>) -> Round {
        Round { is_over: Cell::new(false), until }
    }

    /// Something has moved.
    pub fn end(&self) {
        self.is_over.set(true);
    }

    /// Whether something has moved.
    pub fn is_over(&self) -> bool {
        self.is_over.get() || self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// Where the partitions are.
pub struct Place<'a> {
    /// The cluster, as it was when the run began. Its connections belong to another thread's runtime, which waits for
    /// the end of the run: whoever asks anew connects anew.
    pub cluster: &'a Cluster,
    /// The topic.
    pub topic: &'a str,
}

impl Place<'_> {
    /// Any broker that was known when the run began.
    fn bootstrap(&self) -> String {
        let known = self.cluster.metadata();
        known.brokers.values().map(|broker| broker.address()).collect::<Vec<_>>().join(",")
    }
}

/// Who leads the partitions of a connection.
struct Located {
    /// Partitions by leader.
    leaders: BTreeMap<Leader, Vec<Led>>,
    /// When those are looked for again that have no leader.
    until: Option<Instant>,
}

/// Asks the cluster who leads these partitions now, until it says so for one at least. `None` when the run is over, or
/// nobody was found for as long as a request may take.
async fn locate(
    place: &Place<'_>,
    partitions: &[i32],
    clock: Clock,
    shared: &Shared,
) -> Option<Located> {
    let Place { cluster, topic } = *place;
    let (bootstrap, options) = (place.bootstrap(), cluster.options());
    let give_up = Instant::now() + options.request_timeout;
    let mut asked: Option<Cluster> = None;
    loop {
        tokio::time::sleep(PAUSE).await;
        let now = Instant::now();
        if shared.stopped() || clock.is_over(now) || now >= give_up {
            return None;
        }
        let asking = async {
            let cluster = match asked.take() {
                Some(cluster) => cluster,
                None => Cluster::connect(&bootstrap, options.clone()).await?,
            };
            let (metadata, _) = cluster.refresh(&[topic]).await?;
            Ok::<_, thalweg::Error>((cluster, metadata))
        };
        let until = clock.end.map_or(give_up, |end| end.min(give_up));
        let answer = tokio::time::timeout_at(until.into(), asking).await;
        let Ok(Ok((cluster, metadata))) = answer else { continue };
        asked = Some(cluster);
        let Some(known) = metadata.topics.get(topic) else { continue };
        let mut leaders: BTreeMap<Leader, Vec<Led>> = BTreeMap::new();
        let mut is_complete = true;
        for index in partitions {
            let leader = known.partitions.get(index).and_then(|partition| partition.leader);
            let broker = leader.and_then(|leader| metadata.brokers.get(&leader.id));
            match (leader, broker) {
                (Some(leader), Some(broker)) => {
                    let led = Led { partition: *index, epoch: leader.epoch };
                    let leader = Leader { id: leader.id, address: broker.address() };
                    leaders.entry(leader).or_default().push(led);
                }
                _ => is_complete = false,
            }
        }
        if !leaders.is_empty() {
            let until = (!is_complete).then(|| Instant::now() + LEADERLESS_PAUSE);
            return Some(Located { leaders, until });
        }
    }
}

/// Opens links to those who lead these partitions now. `None` when the run is over, or nobody could be reached for as
/// long as a request may take. What fails is counted.
pub async fn reopen<L>(
    place: &Place<'_>,
    partitions: &[i32],
    clock: Clock,
    shared: &Shared,
    stats: &mut Stats,
    open: impl AsyncFn(Leader, Vec<Led>) -> Result<L, BenchError>,
) -> Option<(Vec<L>, Round)> {
    let give_up = Instant::now() + place.cluster.options().request_timeout;
    loop {
        let located = locate(place, partitions, clock, shared).await?;
        let (mut links, mut until) = (Vec::new(), located.until);
        for (leader, led) in located.leaders {
            let id = leader.id;
            match open(leader, led).await {
                Ok(link) => links.push(link),
                Err(error) => {
                    let name = match &error {
                        BenchError::Client(error) => connection_error(error),
                        _ => "CLIENT_ERROR",
                    };
                    let mut failed = Stats::default();
                    failed.error(name);
                    shared.count(0, 0, 1);
                    stats.merge(&failed.of_broker(id));
                    until = Some(Instant::now() + LEADERLESS_PAUSE);
                }
            }
        }
        if !links.is_empty() {
            return Some((links, Round::new(until)));
        }
        if Instant::now() >= give_up {
            return None;
        }
    }
}

/// A future, and what came of it.
type Awaited<F> = (Pin<Box<F>>, Option<<F as Future>::Output>);

/// Waits for all of them.
pub async fn all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<Awaited<F>> =
        futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    poll_fn(|context| {
        let mut is_done = true;
        for (future, output) in running.iter_mut().filter(|(_, output)| output.is_none()) {
            match future.as_mut().poll(context) {
                Poll::Ready(found) => *output = Some(found),
                Poll::Pending => is_done = false,
            }
        }
        if is_done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    running.into_iter().filter_map(|(_, output)| output).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_are_waited_for_and_answer_in_their_order() {
        let slow = |turns: usize, value: u32| async move {
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
            value
        };
        assert_eq!(all([slow(5, 1), slow(0, 2), slow(2, 3)]).await, [1, 2, 3]);
    }

    #[test]
    fn a_round_ends_by_what_moved_or_by_time() {
        let round = Round::new(None);
        assert!(!round.is_over());
        round.end();
        assert!(round.is_over());
        assert!(Round::new(Some(Instant::now())).is_over());
        assert!(!Round::new(Some(Instant::now() + Duration::from_secs(3_600))).is_over());
        assert!(is_to_be_located_anew(ErrorCode::NOT_LEADER_OR_FOLLOWER));
        assert!(is_to_be_located_anew(ErrorCode::FENCED_LEADER_EPOCH));
        assert!(!is_to_be_located_anew(ErrorCode::MESSAGE_TOO_LARGE));
    }
}
