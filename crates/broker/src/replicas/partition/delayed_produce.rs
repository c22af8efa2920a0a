//! Produce requests that wait until records are committed (Kafka's DelayedProduce): a request with acks=all registers
//! its partitions with one [`DelayedProduce`], which gets one result of each, when its records are committed or never
//! will be.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_wire::ErrorCode;
use tokio::sync::Notify;

use super::Partition;

/// What became of the appends that a request waits for.
#[derive(Debug)]
pub(crate) struct DelayedProduce {
    /// By the number that each was registered with; `None` while it is open.
    results: Mutex<Vec<Option<ErrorCode>>>,
    open: AtomicUsize,
    all_done: Notify,
}

impl DelayedProduce {
    /// Memory of each append that is waited for, here and in its partition's list.
    pub(crate) const BYTES_OF_APPEND: usize =
        size_of::<Option<ErrorCode>>() + size_of::<DelayedAppend>();

    /// Of so many appends.
    pub(crate) fn new(count: usize) -> Arc<DelayedProduce> {
        Arc::new(DelayedProduce {
            results: Mutex::new(vec![None; count]),
            open: AtomicUsize::new(count),
            all_done: Notify::new(),
        })
    }

    /// Only the first result of an append counts.
    pub(crate) fn set(&self, number: usize, result: ErrorCode) {
        let mut results = self.results.lock();
        let Some(slot) = results.get_mut(number).filter(|slot| slot.is_none()) else { return };
        *slot = Some(result);
        if self.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.all_done.notify_one();
        }
    }

    /// Whether it has no result yet.
    pub(crate) fn is_open(&self, number: usize) -> bool {
        self.results.lock().get(number).is_some_and(Option::is_none)
    }

    /// Waits for all of them, and no longer than that; gives the result of each, REQUEST_TIMED_OUT of those that
    /// are open.
    pub(crate) async fn wait(&self, timeout: Duration) -> Vec<ErrorCode> {
        if self.open.load(Ordering::Acquire) > 0 {
            let _ = tokio::time::timeout(timeout, self.all_done.notified()).await;
        }
        let results = self.results.lock();
        results.iter().map(|result| result.unwrap_or(ErrorCode::REQUEST_TIMED_OUT)).collect()
    }
}

/// An append that other replicas have to get.
pub(crate) struct Uncommitted {
    pub(crate) partition: Arc<Partition>,
    /// Its place among the parts of its request.
    pub(crate) part: usize,
    /// Leader epoch in which it was appended.
    pub(crate) leader_epoch: i32,
    /// Offset behind it.
    pub(crate) required: i64,
}

impl Uncommitted {
    /// From here on the request gets the results of its appends.
    pub(crate) fn register(appends: &[Uncommitted]) -> WaitingRequest<'_> {
        let delayed = DelayedProduce::new(appends.len());
        let waiting = WaitingRequest { delayed, appends };
        for (number, append) in appends.iter().enumerate() {
            let Uncommitted { partition, leader_epoch, required, .. } = append;
            partition.wait_committed(*leader_epoch, *required, &waiting.delayed, number);
        }
        waiting
    }
}

/// A request that waits for its appends. It leaves the partitions' lists when it is over, also with its connection.
pub(crate) struct WaitingRequest<'a> {
    delayed: Arc<DelayedProduce>,
    appends: &'a [Uncommitted],
}

impl WaitingRequest<'_> {
    /// See [`DelayedProduce::wait`].
    pub(crate) async fn results(&self, timeout: Duration) -> Vec<ErrorCode> {
        self.delayed.wait(timeout).await
    }
}

impl Drop for WaitingRequest<'_> {
    fn drop(&mut self) {
        // An answered append is in no list, and a partition's list is left once for all appends to it: looking for each
        // among all that wait would cost their square.
        let mut left = BTreeSet::new();
        for (number, append) in self.appends.iter().enumerate() {
            if self.delayed.is_open(number) && left.insert(Arc::as_ptr(&append.partition)) {
                append.partition.leave_delayed(&self.delayed);
            }
        }
    }
}

/// One append that is waited for. It leaves the partition's list when the request is over, however that comes.
#[derive(Debug)]
struct DelayedAppend {
    /// Leader epoch in which it was appended.
    epoch: i32,
    /// Offset behind the append.
    required: i64,
    number: usize,
    produce: Arc<DelayedProduce>,
}

/// The appends of a partition that are waited for.
#[derive(Debug, Default)]
pub(crate) struct DelayedProduceList {
    waiting: Mutex<Vec<DelayedAppend>>,
    /// So many: looked at before the list is locked.
    len: AtomicUsize,
}

impl DelayedProduceList {
    /// The append that ends before `required` is waited for. What was committed before this must be looked for
    /// again afterwards.
    pub(crate) fn register(
        &self,
        epoch: i32,
        required: i64,
        produce: &Arc<DelayedProduce>,
        number: usize,
    ) {
        let mut waiting = self.waiting.lock();
        waiting.push(DelayedAppend { epoch, required, number, produce: Arc::clone(produce) });
        self.len.store(waiting.len(), Ordering::SeqCst);
    }

    /// Answers appends that end at or before `high_watermark`. What was appended before epoch `led_since` may have
    /// been cut off since, and other records be at its offsets.
    pub(crate) fn committed(&self, high_watermark: i64, led_since: i32, result: ErrorCode) {
        let is_meant = |it: &DelayedAppend| it.epoch >= led_since && it.required <= high_watermark;
        self.answer(is_meant, result);
    }

    /// Fails all waiting appends.
    pub(crate) fn lost(&self, result: ErrorCode) {
        self.answer(|_| true, result);
    }

    /// An append is waited for no more.
    pub(crate) fn leave_one(&self, produce: &Arc<DelayedProduce>, number: usize) {
        let is_meant =
            |it: &DelayedAppend| it.number == number && Arc::ptr_eq(&it.produce, produce);
        self.take(is_meant, |_| {});
    }

    /// A request is over: its appends are waited for no more.
    pub(crate) fn leave(&self, produce: &Arc<DelayedProduce>) {
        self.take(|waiting| Arc::ptr_eq(&waiting.produce, produce), |_| {});
    }

    fn answer(&self, is_meant: impl Fn(&DelayedAppend) -> bool, result: ErrorCode) {
        self.take(is_meant, |waiting| waiting.produce.set(waiting.number, result));
    }

    fn take(
        &self,
        is_meant: impl Fn(&DelayedAppend) -> bool,
        mut then: impl FnMut(&DelayedAppend),
    ) {
        std::sync::atomic::fence(Ordering::SeqCst);
        if self.len.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut waiting = self.waiting.lock();
        waiting.retain(|one| {
            let is_meant = is_meant(one);
            if is_meant {
                then(one);
            }
            !is_meant
        });
        self.len.store(waiting.len(), Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn each_append_is_told_once_of_what_became_of_it() {
        let (one, other) = (DelayedProduceList::default(), DelayedProduceList::default());
        let produce = DelayedProduce::new(3);
        one.register(3, 5, &produce, 0);
        one.register(3, 7, &produce, 1);
        other.register(3, 2, &produce, 2);
        one.committed(9, 4, ErrorCode::NOT_ENOUGH_REPLICAS);
        one.committed(6, 3, ErrorCode::NONE);
        other.lost(ErrorCode::NOT_LEADER_OR_FOLLOWER);
        other.committed(9, 3, ErrorCode::NONE);
        let (waited, ()) = tokio::join!(produce.wait(LONG), async {
            tokio::task::yield_now().await;
            one.committed(7, 2, ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND);
        });
        let expected = [
            ErrorCode::NONE,
            ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            ErrorCode::NOT_LEADER_OR_FOLLOWER,
        ];
        assert_eq!(waited, expected);
        assert_eq!(one.len.load(Ordering::Relaxed) + other.len.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn who_is_over_leaves_the_list() {
        let list = DelayedProduceList::default();
        let (gone, stays) = (DelayedProduce::new(1), DelayedProduce::new(1));
        list.register(3, 5, &gone, 0);
        list.register(3, 5, &stays, 0);
        let results = gone.wait(Duration::from_millis(1)).await;
        assert_eq!(results, [ErrorCode::REQUEST_TIMED_OUT]);
        list.leave(&gone);
        assert_eq!((list.len.load(Ordering::Relaxed), Arc::strong_count(&gone)), (1, 1));
        list.committed(5, 3, ErrorCode::NONE);
        assert_eq!(stays.wait(LONG).await, [ErrorCode::NONE]);
    }

    #[tokio::test]
    async fn an_append_that_comes_too_late_leaves_the_others_of_its_request() {
        let list = DelayedProduceList::default();
        let produce = DelayedProduce::new(2);
        list.register(3, 5, &produce, 0);
        list.register(3, 6, &produce, 1);
        produce.set(1, ErrorCode::NOT_LEADER_OR_FOLLOWER);
        list.leave_one(&produce, 1);
        list.lost(ErrorCode::KAFKA_STORAGE_ERROR);
        let expected = [ErrorCode::KAFKA_STORAGE_ERROR, ErrorCode::NOT_LEADER_OR_FOLLOWER];
        assert_eq!(produce.wait(LONG).await, expected);
    }
}
