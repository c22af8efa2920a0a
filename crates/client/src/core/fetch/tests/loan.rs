//! Records that are taken while somebody else looks at the fetcher.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use thalweg_records::Compression;
use thalweg_records::builder::BatchOptions;

use super::super::*;
use super::cluster::*;
use super::seeds::poll;
use crate::core::partition::Position;

/// One batch of so many records, fetched.
fn with_batch(records: usize) -> Fetcher {
    let mut cluster = Cluster::with(1, 1);
    let values: Vec<String> = (0..records).map(|at| at.to_string()).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let log = cluster.logs.get_mut(&0).unwrap();
    log.append(&values, BatchOptions::default(), Compression::None);
    let mut fetcher = fetcher(FetchSettings::default(), 8 << 20);
    fetcher.add(tp(0), Some(Position::at(0)));
    fetcher.update_leaders(&cluster.metadata());
    pump(&mut fetcher, &mut cluster, 0);
    fetcher
}

fn offsets(records: &Records) -> Vec<i64> {
    records.iter().map(|record| record.offset()).collect()
}

#[test]
fn what_was_taken_of_a_loan_is_known_when_it_is_called_back() {
    let mut fetcher = with_batch(20);
    let mut loan = fetcher.loan();
    assert!(loan.take(1).is_none());
    assert_eq!(offsets(&poll(&mut fetcher, &mut loan, 2)), [0, 1]);
    for at in 1..4 {
        assert_eq!(offsets(&loan.take(2).unwrap()), [2 * at, 2 * at + 1]);
    }
    // A poll of another size may come between.
    assert_eq!(offsets(&loan.take(3).unwrap()), [8, 9, 10]);
    fetcher.recall();
    assert_eq!(fetcher.position(&tp(0)).map(|position| position.offset), Some(11));
    assert_eq!(fetcher.acknowledged(&tp(0)).map(|position| position.offset), Some(8));
    assert_eq!(fetcher.counts().records, 11);
    assert!(loan.take(1).is_none());
    // To be called back without anything taken of it changes nothing.
    assert_eq!(offsets(&poll(&mut fetcher, &mut loan, 1)), [11]);
    fetcher.recall();
    assert_eq!(fetcher.acknowledged(&tp(0)).map(|position| position.offset), Some(11));
    fetcher.acknowledge();
    assert_eq!(fetcher.acknowledged(&tp(0)).map(|position| position.offset), Some(12));
    // Up to the last record of the batch, which is not lent.
    let mut rest = Vec::new();
    let mut lent = 0;
    while rest.last() != Some(&19) {
        if let Some(records) = loan.take(1) {
            lent += 1;
            rest.extend(offsets(&records));
        } else {
            rest.extend(offsets(&poll(&mut fetcher, &mut loan, 1)));
        }
    }
    assert_eq!(rest, (12..20).collect::<Vec<_>>());
    assert!((4..7).contains(&lent), "{lent} of 8");
    assert_eq!(fetcher.counts().records, 20);
}

#[test]
fn a_loan_ends_with_a_pause_a_seek_and_a_loss() {
    let mut fetcher = with_batch(20);
    let mut loan = fetcher.loan();
    poll(&mut fetcher, &mut loan, 1);
    assert_eq!(offsets(&loan.take(1).unwrap()), [1]);
    fetcher.recall();
    fetcher.pause(&tp(0));
    assert!(poll(&mut fetcher, &mut loan, 1).is_empty());
    fetcher.resume(&tp(0));
    assert_eq!(offsets(&poll(&mut fetcher, &mut loan, 1)), [2]);
    assert_eq!(offsets(&loan.take(1).unwrap()), [3]);
    fetcher.recall();
    fetcher.seek(&tp(0), Position::at(1));
    assert_eq!(offsets(&poll(&mut fetcher, &mut loan, 1)), [1]);
    assert_eq!(offsets(&loan.take(1).unwrap()), [2]);
    fetcher.recall();
    assert_eq!(fetcher.remove(&tp(0)).map(|position| position.offset), Some(3));
    assert!(loan.take(1).is_none());
    assert!(poll(&mut fetcher, &mut loan, 1).is_empty());
    fetcher.recall();
}

#[test]
fn records_are_lent_to_one_thread_while_another_calls_them_back() {
    let fetcher = Mutex::new(with_batch(20_000));
    let mut loan = fetcher.lock().unwrap().loan();
    let is_over = AtomicBool::new(false);
    let (mut lent, mut recalled) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut before = 0;
            while !is_over.load(Ordering::Relaxed) {
                let mut fetcher = fetcher.lock().unwrap();
                fetcher.recall();
                let position = fetcher.position(&tp(0)).unwrap().offset;
                let acknowledged = fetcher.acknowledged(&tp(0)).unwrap().offset;
                assert!(before <= acknowledged && acknowledged <= position);
                assert!(position - acknowledged <= 3);
                before = acknowledged;
                drop(fetcher);
                std::thread::yield_now();
            }
        });
        let mut next = 0;
        while next < 20_000 {
            let max = 1 + (next % 3) as usize;
            let records = match loan.take(max) {
                Some(records) => {
                    lent += 1;
                    records
                }
                None => {
                    recalled += 1;
                    poll(&mut fetcher.lock().unwrap(), &mut loan, max)
                }
            };
            for record in &records {
                assert_eq!(record.offset(), next);
                next += 1;
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(lent > 0 && recalled > 0, "{lent} lent, {recalled} called back");
}
