//! A leader says what it has committed once in a fetch session. A follower that has not taken it over is told again.

use std::collections::BTreeMap;

use super::*;

/// What a leader does with an incremental fetch session (KIP-227): a partition that has no records to send is in an answer
/// only if its high watermark is another one than it has told.
#[derive(Default)]
struct Session {
    told: BTreeMap<i32, i64>,
    high_watermarks: BTreeMap<i32, i64>,
}

impl Session {
    /// Answers a fetch; these batches are there to be sent.
    fn answer(&mut self, fetched: &Fetched, records: &[(i32, Vec<u8>)]) -> FetchResponse {
        if fetched.session.1 == 0 {
            self.told.clear();
        }
        for index in &fetched.forgotten {
            self.told.remove(index);
        }
        for (index, ..) in &fetched.named {
            self.told.entry(*index).or_insert(-1);
        }
        let mut answer = Vec::new();
        for (index, told) in &mut self.told {
            let high_watermark = self.high_watermarks[index];
            let sent = records.iter().filter(|(of, _)| of == index);
            let sent: Vec<Vec<u8>> = sent.map(|(_, batch)| batch.clone()).collect();
            if !sent.is_empty() || *told != high_watermark {
                *told = high_watermark;
                answer.push(data(*index, high_watermark, &sent));
            }
        }
        response(77, answer)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_could_not_append_hears_of_the_high_watermark_although_it_has_not_changed() {
    let world = FollowingBroker::new(2, NONE).await;
    let mut session = Session { high_watermarks: [(0, 0), (1, 0)].into(), ..Session::default() };
    let (mut leader, first) = world.first().await;
    leader.answer(&session.answer(&first, &[(0, batch(0, EPOCH))])).await;
    let next = fetched(&mut leader).await;
    assert_eq!(next, request((77, 1), &[(0, EPOCH, 3, EPOCH)]));
    // All that there is was fetched, and now it is committed. What comes with that is damaged on its way, and then there
    // is nothing more.
    session.high_watermarks.insert(0, 3);
    leader.answer(&session.answer(&next, &[(0, torn(3))])).await;
    let next = fetched(&mut leader).await;
    assert_eq!(world.ends(0), (3, 0));
    leader.answer(&session.answer(&next, &[])).await;
    let _ = fetched(&mut leader).await;
    assert_eq!(world.ends(0), (3, 3));
    world.node.shut_down().await;
}
