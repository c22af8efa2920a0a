//! One line at info of each rebalance that is over. Shards hand them over under their lock; a task writes them,
//! because that may wait for the reader of the output.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use thalweg_groups::{RebalanceObserver, TriggerKind, WaitStep, unowned_ms};
use thalweg_wire::messages::group_rebalances::{GroupRebalance, PartitionMove};
use tokio::sync::mpsc;

/// Lines that may wait to be written; what is more is counted.
const WAITING_MAX: usize = 1_000;

#[derive(Debug)]
struct Line {
    group: Box<str>,
    /// Without its moves.
    rebalance: GroupRebalance,
    /// The longest that a partition had no owner.
    unowned_ms: i64,
    /// The longest that an owner took to give a partition up, and who that was.
    revocation_ms: i64,
    revocation_by: Option<String>,
    /// Of a rebalance at the barrier: when all members had joined again, and who was the last.
    joined_ms: Option<i64>,
    last_joined: Option<String>,
}

impl Line {
    fn of(group: &str, rebalance: &GroupRebalance) -> Line {
        let kept_ms = |moved: &PartitionMove| {
            let is_known = moved.told_ms >= 0 && moved.freed_ms >= 0;
            is_known.then(|| moved.freed_ms.saturating_sub(moved.told_ms).max(0))
        };
        let kept = rebalance.moves.iter().filter_map(|moved| Some((kept_ms(moved)?, &moved.from)));
        let mut waits = rebalance.waits.iter();
        let joined = waits.find(|wait| wait.step == WaitStep::Join as i8);
        let slowest = kept.max_by_key(|(ms, _)| *ms);
        Line {
            group: group.into(),
            unowned_ms: rebalance.moves.iter().map(unowned_ms).max().unwrap_or(0),
            revocation_ms: slowest.map_or(0, |(ms, _)| ms),
            revocation_by: slowest.and_then(|(_, from)| from.clone()),
            joined_ms: joined.map(|joined| joined.ended_ms.saturating_sub(rebalance.began_ms)),
            last_joined: joined.map(|joined| joined.member.clone()),
            rebalance: GroupRebalance {
                epoch: rebalance.epoch,
                began_ms: rebalance.began_ms,
                over_ms: rebalance.over_ms,
                members: rebalance.members,
                superseded_by: rebalance.superseded_by,
                triggers: rebalance.triggers.first().cloned().into_iter().collect(),
                trigger_count: rebalance.trigger_count,
                move_count: rebalance.move_count,
                ..Default::default()
            },
        }
    }

    /// What clients chose is quoted.
    fn write(&self) {
        let rebalance = &self.rebalance;
        let first = rebalance.triggers.first().cloned().unwrap_or_default();
        let superseded = (rebalance.superseded_by >= 0).then_some(rebalance.superseded_by);
        tracing::info!(
            group = &*self.group,
            epoch = rebalance.epoch,
            trigger = TriggerKind::of(first.kind).map_or("unknown", TriggerKind::name),
            subject = first.subject,
            client_id = first.client_id,
            reason = first.reason,
            more_triggers = rebalance.trigger_count.saturating_sub(1).max(0),
            members = rebalance.members,
            moved = rebalance.move_count,
            took_ms = rebalance.over_ms.saturating_sub(rebalance.began_ms),
            unowned_ms_max = self.unowned_ms,
            revocation_ms_max = self.revocation_ms,
            revocation_by = self.revocation_by.as_deref(),
            joined_ms = self.joined_ms,
            last_joined = self.last_joined.as_deref(),
            superseded_by = superseded,
            "a group rebalanced"
        );
    }
}

/// Takes what rebalances that are over leave, and has it written.
#[derive(Debug)]
pub(crate) struct RebalanceLog {
    lines: mpsc::Sender<Line>,
    waiting: Mutex<Option<mpsc::Receiver<Line>>>,
    /// Rebalances for whose line there was no room.
    missed: AtomicU64,
}

impl RebalanceObserver for RebalanceLog {
    fn is_over(&self, group: &str, rebalance: &GroupRebalance) {
        if !tracing::enabled!(tracing::Level::INFO) {
            return;
        }
        match self.lines.try_reserve() {
            Ok(room) => room.send(Line::of(group, rebalance)),
            Err(_) => {
                self.missed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl Default for RebalanceLog {
    fn default() -> RebalanceLog {
        let (lines, waiting) = mpsc::channel(WAITING_MAX);
        RebalanceLog { lines, waiting: Mutex::new(Some(waiting)), missed: AtomicU64::new(0) }
    }
}

impl RebalanceLog {
    /// Writes the lines as they come, for as long as it is polled. Only the first call does.
    pub(crate) async fn write(self: Arc<Self>) {
        let Some(mut waiting) = self.waiting.lock().take() else { return };
        while let Some(line) = waiting.recv().await {
            line.write();
            let missed = self.missed.swap(0, Ordering::Relaxed);
            if missed > 0 {
                tracing::warn!(missed, "groups rebalanced faster than that could be logged");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_no_room_for_is_counted() {
        let log = RebalanceLog::default();
        let moved = |told_ms, freed_ms, taken_ms, from: &str| PartitionMove {
            from: Some(from.into()),
            told_ms,
            freed_ms,
            taken_ms,
            ..Default::default()
        };
        let rebalance = GroupRebalance {
            moves: vec![
                moved(10, 40, 45, "slow"),
                moved(10, 12, 50, "quick"),
                moved(9, -1, -1, "never"),
            ],
            ..Default::default()
        };
        let line = Line::of("g", &rebalance);
        assert_eq!((line.unowned_ms, line.revocation_ms), (38, 30));
        assert_eq!(line.revocation_by.as_deref(), Some("slow"));
        tracing::subscriber::with_default(Always, || {
            for _ in 0..WAITING_MAX + 3 {
                log.is_over("g", &rebalance);
            }
        });
        assert_eq!(log.missed.load(Ordering::Relaxed), 3);
    }

    /// A subscriber that takes everything.
    struct Always;

    impl tracing::Subscriber for Always {
        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }
        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
        fn event(&self, _: &tracing::Event<'_>) {}
        fn enter(&self, _: &tracing::span::Id) {}
        fn exit(&self, _: &tracing::span::Id) {}
    }
}
