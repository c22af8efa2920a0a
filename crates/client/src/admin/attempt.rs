//! Asking again until everything is answered or time is over, and whom to ask.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use thalweg_wire::{ApiKey, Request};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::{Admin, AdminConfig, AdminError, Results};
use crate::cluster::Cluster;
use crate::core::partition::TopicPartition;
use crate::error::Error;
use crate::net::connection::Connection;
use crate::options::backoff;

/// What one round of asking found.
pub(super) type Answers<K, T> = Vec<(K, Result<T, AdminError>)>;

/// The same answer for all.
pub(super) fn for_all<K, T>(
    items: impl IntoIterator<Item = K>,
    error: impl Into<AdminError>,
) -> Answers<K, T> {
    let error = error.into();
    items.into_iter().map(|item| (item, Err(error.clone()))).collect()
}

/// Runs all at the same time; they end when this is dropped. What they give comes in the order in which
/// they end.
pub(super) async fn join<F>(asking: impl IntoIterator<Item = F>) -> Vec<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let found = Arc::new(Mutex::new(Vec::new()));
    // One kind of task, so that a runtime's code for tasks is compiled once.
    let mut tasks: Vec<Pin<Box<dyn Future<Output = ()> + Send>>> = Vec::new();
    for one in asking {
        let found = Arc::clone(&found);
        tasks.push(Box::pin(async move {
            let answer = one.await;
            found.lock().unwrap_or_else(PoisonError::into_inner).push(answer);
        }));
    }
    join_all(tasks).await;
    // What did not end, because the runtime shuts down, is missing among the answers.
    std::mem::take(&mut found.lock().unwrap_or_else(PoisonError::into_inner))
}

async fn join_all(tasks: Vec<Pin<Box<dyn Future<Output = ()> + Send>>>) {
    let mut set: JoinSet<()> = tasks.into_iter().collect();
    while set.join_next().await.is_some() {}
}

/// The version in which a request goes to a broker; an error if `what` needs a later one.
pub(super) fn at_least<R: Request>(
    connection: &Connection,
    needed: i16,
    what: &'static str,
) -> Result<i16, AdminError> {
    let found = connection.version_of::<R>()?;
    if found >= needed {
        return Ok(found);
    }
    let addr = connection.addr().to_string();
    Err(AdminError::Unsupported { what, api: R::API_KEY, needed, found, addr })
}

/// A time as requests have it.
pub(super) fn millis(time: Duration) -> i32 {
    i32::try_from(time.as_millis()).unwrap_or(i32::MAX)
}

/// What is open of a number of items, by their indices: all of asking again that does not depend on
/// what the items are. (There are some forty kinds of items and answers, and code for each takes time
/// to compile.)
struct Rounds {
    config: AdminConfig,
    deadline: Instant,
    attempt: u32,
    items: Vec<Item>,
}

/// What is known of one item.
enum Item {
    /// To be asked for, with the reason why it was not settled so far.
    Open(Option<AdminError>),
    /// Asked for in this round, and not answered yet.
    Asked(Option<AdminError>),
    /// Answered, well or not.
    Settled,
}

impl Rounds {
    fn new(config: &AdminConfig, items: usize) -> Rounds {
        Rounds {
            config: config.clone(),
            deadline: Instant::now() + config.timeout,
            attempt: 0,
            items: (0..items).map(|_| Item::Open(None)).collect(),
        }
    }

    /// Begins a round, after a pause unless it is the first: what to ask for, and the time left.
    /// `None` if nothing is open, or no time is left.
    async fn next(&mut self, cluster: &Cluster) -> Option<(Vec<usize>, Duration)> {
        let is_open = |item: &Item| matches!(item, Item::Open(_));
        if !self.items.iter().any(is_open) {
            return None;
        }
        if self.attempt > 0 {
            let (first, max) = (self.config.retry_backoff, self.config.retry_backoff_max);
            let pause = backoff::pause(first, max, self.attempt);
            if Instant::now() + pause >= self.deadline {
                return None;
            }
            sleep_until(Instant::now() + pause).await;
            // Whoever was to be asked may be somewhere else by now; if nobody answers, the next
            // attempt says so.
            let _ = timeout_at(self.deadline, cluster.refresh(&[])).await;
        }
        self.attempt += 1;
        let mut asked = Vec::new();
        for (index, item) in self.items.iter_mut().enumerate() {
            if let Item::Open(last) = item {
                *item = Item::Asked(last.take());
                asked.push(index);
            }
        }
        Some((asked, self.deadline.saturating_duration_since(Instant::now())))
    }

    /// Takes an answer, of which only the error matters here; says whether it settles the item. What
    /// was not asked for, or is answered twice, does not count.
    fn answered(&mut self, index: usize, error: Option<&AdminError>) -> bool {
        if !matches!(self.items[index], Item::Asked(_)) {
            return false;
        }
        match error {
            Some(error) if error.is_passing(self.attempt) => {
                self.items[index] = Item::Open(Some(error.clone()));
                false
            }
            _ => {
                self.items[index] = Item::Settled;
                true
            }
        }
    }

    /// Why an item has no answer, once asking is over.
    fn unanswered(&mut self, index: usize, api: ApiKey) -> AdminError {
        match std::mem::replace(&mut self.items[index], Item::Settled) {
            Item::Open(last) | Item::Asked(last) => {
                last.unwrap_or(AdminError::Timeout { after: self.config.timeout })
            }
            Item::Settled => AdminError::Unanswered(api),
        }
    }

    /// Ends a round: what was asked for and not answered is settled.
    fn end(&mut self) {
        for item in &mut self.items {
            if let Item::Asked(_) = item {
                *item = Item::Settled;
            }
        }
    }
}

impl Admin {
    /// Asks for items, and again for those whose answer was that it is not the moment. `ask` gets
    /// what is still open and the time left.
    pub(super) async fn settle<K, T, F, Fut>(
        &self,
        api: ApiKey,
        items: impl IntoIterator<Item = K>,
        mut ask: F,
    ) -> Results<K, T>
    where
        K: Ord + Clone,
        F: FnMut(Vec<K>, Duration) -> Fut,
        Fut: Future<Output = Answers<K, T>>,
    {
        let mut indices = BTreeMap::new();
        let mut keys = Vec::new();
        for item in items {
            indices.entry(item.clone()).or_insert_with(|| {
                keys.push(item);
                keys.len() - 1
            });
        }
        let mut rounds = Rounds::new(&self.config, keys.len());
        let mut results = Results::new();
        while let Some((asked, left)) = rounds.next(&self.cluster).await {
            let asked: Vec<K> = asked.into_iter().map(|index| keys[index].clone()).collect();
            let Ok(answers) = timeout_at(rounds.deadline, ask(asked, left)).await else { break };
            for (item, result) in answers {
                let Some(&index) = indices.get(&item) else { continue };
                if rounds.answered(index, result.as_ref().err()) {
                    results.insert(item, result);
                }
            }
            rounds.end();
        }
        for (index, item) in keys.into_iter().enumerate() {
            results.entry(item).or_insert_with(|| Err(rounds.unanswered(index, api)));
        }
        results
    }

    /// The same for a request that is about one thing.
    pub(super) async fn settle_one<T, F, Fut>(&self, api: ApiKey, ask: F) -> Result<T, AdminError>
    where
        F: Fn(Duration) -> Fut,
        Fut: Future<Output = Result<T, AdminError>>,
    {
        let asked = |_, left| {
            let asking = ask(left);
            async move { vec![((), asking.await)] }
        };
        let answer = self.settle(api, [()], asked).await.remove(&());
        answer.unwrap_or(Err(AdminError::Unanswered(api)))
    }

    /// The connection to the controller, or to a broker that passes on what is meant for it: with
    /// KRaft that is any.
    pub(super) async fn controller(&self) -> Result<Connection, Error> {
        if let Some(id) = self.cluster.metadata().controller_id
            && let Ok(connection) = self.cluster.broker(id).await
        {
            return Ok(connection);
        }
        self.cluster.any().await
    }

    /// The partitions by who leads them now, and what is known to have none.
    pub(super) async fn by_leader<T>(
        &self,
        api: ApiKey,
        partitions: Vec<TopicPartition>,
    ) -> (BTreeMap<i32, Vec<TopicPartition>>, Answers<TopicPartition, T>) {
        let topics: BTreeSet<&str> = partitions.iter().map(|p| &*p.topic).collect();
        let topics: Vec<&str> = topics.into_iter().collect();
        let (metadata, failed) = match self.cluster.refresh(&topics).await {
            Ok(found) => found,
            Err(error) => return (BTreeMap::new(), for_all(partitions, error)),
        };
        let failed: BTreeMap<String, _> = failed.into_iter().collect();
        let mut leaders: BTreeMap<i32, Vec<TopicPartition>> = BTreeMap::new();
        let mut answers = Vec::new();
        for partition in partitions {
            let refused = failed.get(&*partition.topic).copied();
            let known = metadata.topics.get(&*partition.topic);
            let is_there = known.is_some_and(|t| t.partitions.contains_key(&partition.partition));
            let unknown = thalweg_wire::ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
            match (refused, metadata.leader(&partition.topic, partition.partition)) {
                (Some(code), _) => {
                    let refused = AdminError::Refused { api, code, message: None };
                    answers.push((partition, Err(refused)));
                }
                (None, Some(leader)) => leaders.entry(leader.id).or_default().push(partition),
                (None, None) if is_there => answers.push((partition, Err(AdminError::NoLeader))),
                (None, None) => {
                    let refused = AdminError::Refused { api, code: unknown, message: None };
                    answers.push((partition, Err(refused)));
                }
            }
        }
        (leaders, answers)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use thalweg_wire::ErrorCode;

    use super::*;
    use crate::admin::AdminConfig;
    use crate::{Cluster, Options};

    const API: ApiKey = ApiKey::CREATE_TOPICS;

    fn refused<T>(code: ErrorCode) -> Result<T, AdminError> {
        Err(AdminError::Refused { api: API, code, message: None })
    }

    async fn admin(timeout: Duration) -> (Admin, thalweg_testkit::TestBroker) {
        let broker = thalweg_testkit::TestBroker::start().await;
        let cluster = Cluster::connect(&broker.bootstrap(), Options::default()).await.unwrap();
        let retry_backoff = Duration::from_millis(1);
        let config = AdminConfig::default().with_timeout(timeout).with_retry_backoff(retry_backoff);
        (Admin::new(cluster, config), broker)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn only_what_is_open_is_asked_for_again() {
        let (admin, _broker) = admin(Duration::from_secs(20)).await;
        let asked = RefCell::new(Vec::new());
        let results = admin
            .settle(API, ["again", "done", "never", "silent", "unknown"], |items, _| {
                asked.borrow_mut().push(items.clone());
                let attempt = asked.borrow().len();
                let answers = items.into_iter().filter_map(|item| match item {
                    "again" if attempt < 5 => Some((item, refused(ErrorCode::NOT_CONTROLLER))),
                    "never" => Some((item, refused(ErrorCode::INVALID_CONFIG))),
                    "silent" => None,
                    "unknown" => Some((item, refused(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION))),
                    item => Some((item, Ok(attempt))),
                });
                // Neither what was not asked for nor a second answer counts.
                let extra = [("stranger", Ok(0)), ("done", Ok(99))];
                let answers = answers.chain(extra).collect();
                async move { answers }
            })
            .await;
        assert_eq!(*results["done"].as_ref().unwrap(), 1);
        assert_eq!(*results["again"].as_ref().unwrap(), 5);
        assert_eq!(results["never"].as_ref().unwrap_err().code(), Some(ErrorCode::INVALID_CONFIG));
        assert!(matches!(results["silent"], Err(AdminError::Unanswered(API))));
        assert!(results["unknown"].as_ref().unwrap_err().is_not_found());
        assert_eq!(results.len(), 5);
        let asked = asked.into_inner();
        assert_eq!(asked[1], ["again", "unknown"]);
        assert_eq!(asked[3], ["again"], "an unknown topic is asked for three times");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn when_time_is_over_the_last_reason_is_told() {
        let (admin, _broker) = admin(Duration::from_millis(300)).await;
        let waits = admin
            .settle_one(API, |_| async { refused::<()>(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS) });
        let code = waits.await.unwrap_err().code();
        assert_eq!(code, Some(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS));
        let hangs = admin.settle_one::<(), _, _>(API, |_| std::future::pending());
        assert!(matches!(hangs.await, Err(AdminError::Timeout { .. })));
        let forever = AdminConfig::default().with_timeout(Duration::MAX);
        let admin = Admin::new(admin.cluster().clone(), forever);
        assert_eq!(
            admin.settle_one(API, |left| async move { Ok(left > Duration::ZERO) }).await.ok(),
            Some(true)
        );
    }
}
