//! A leader that has nothing: for what is to be asked for at some time, on whichever connection that comes.

use std::collections::BTreeSet;
use std::time::Duration;

use parking_lot::Mutex;

use super::*;

/// What a leader was asked for that answers with nothing.
pub(super) struct Asked(Arc<Mutex<BTreeSet<Named>>>);

/// Who asks, which partition, in which leader epoch and from which offset on.
type Named = (String, i32, i32, i64);

impl Asked {
    /// Waits until a partition is fetched in an epoch from an offset on.
    pub(super) async fn until(&self, index: i32, epoch: i32, offset: i64) {
        self.until_by("broker-1-fetcher-0", index, epoch, offset).await;
    }

    /// The same of one fetcher.
    pub(super) async fn until_by(&self, fetcher: &str, index: i32, epoch: i32, offset: i64) {
        let wanted = (fetcher.to_owned(), index, epoch, offset);
        until(&format!("{wanted:?}"), || self.0.lock().contains(&wanted)).await;
    }

    /// From which offsets on a partition is fetched, by whomever.
    pub(super) fn offsets(&self, index: i32) -> Vec<i64> {
        let all = self.0.lock();
        let offsets: BTreeSet<i64> = all.iter().filter(|it| it.1 == index).map(|it| it.3).collect();
        offsets.into_iter().collect()
    }
}

impl FollowingBroker {
    /// Has the leader answer with nothing from now on, on these connections, whose requests are not answered yet, and on
    /// those that come.
    pub(super) fn answer_nothing(
        &self,
        begun: impl IntoIterator<Item = Conversation> + Send,
    ) -> Asked {
        let asked = Arc::default();
        for conversation in begun {
            tokio::spawn(answer_nothing(conversation, true, Arc::clone(&asked)));
        }
        let (leader, noted) = (Arc::clone(&self.leader), Arc::clone(&asked));
        tokio::spawn(async move {
            loop {
                let conversation = leader.accept().await;
                tokio::spawn(answer_nothing(conversation, false, Arc::clone(&noted)));
            }
        });
        Asked(asked)
    }
}

async fn answer_nothing(
    mut conversation: Conversation,
    mut is_asked: bool,
    noted: Arc<Mutex<BTreeSet<Named>>>,
) {
    loop {
        if is_asked {
            // As a leader that waits for something to come.
            tokio::time::sleep(Duration::from_millis(2)).await;
            conversation.answer(&response(99, Vec::new())).await;
        }
        let Some(fetched) = try_fetched(&mut conversation).await else { return };
        let by = &conversation.client_id;
        let named = fetched.named.iter().map(|it| (by.clone(), it.0, it.1, it.2));
        noted.lock().extend(named);
        is_asked = true;
    }
}
