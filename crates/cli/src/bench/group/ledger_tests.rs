//! The ledger on scripts of a few members, and on random ones beside a slow model of itself.

use super::*;
use crate::bench::random::Random;

/// Two members with two partitions each, settled at time 100.
fn two_of_four() -> Ledger {
    let mut ledger = Ledger::new(4);
    for member in 0..2 {
        ledger.join(member, 0);
        for partition in [2 * member, 2 * member + 1] {
            ledger.acquire(member, partition, 50);
        }
        ledger.settle(member, 100);
    }
    assert!(ledger.is_whole() && ledger.is_balanced());
    ledger.begin(1000, false);
    ledger
}

#[test]
fn an_eager_rebalance_pauses_everybody() {
    let mut ledger = two_of_four();
    ledger.join(2, 1000);
    for member in 0..2 {
        ledger.tell(member, 1100);
        for partition in [2 * member, 2 * member + 1] {
            ledger.release(member, partition, 1100);
        }
        ledger.rejoin(member, 1100);
    }
    assert!(!ledger.is_whole());
    // Member 0 gets back both, member 1 one, the newcomer the other.
    for (member, partition, at) in [(0, 0, 1400), (0, 1, 1400), (1, 2, 1700), (2, 3, 1500)] {
        ledger.acquire(member, partition, at);
    }
    for member in 0..3 {
        ledger.settle(member, 1700);
    }
    let figures = ledger.end(2500);
    assert_eq!((figures.members, figures.paused, figures.rejoins), (3, 2, 2));
    assert_eq!(figures.slowest_pause, 600);
    assert_eq!((figures.kept, figures.kept_slowest_pause, figures.kept_rejoins), (1, 300, 1));
    assert_eq!((figures.moves, figures.least_moves), (1, 1));
    assert_eq!(figures.unowned.percentiles([100.0]), Some([400]));
    assert_eq!(figures.settling.count(), 2);
    assert_eq!((figures.doubles, figures.stable_after, figures.length), (0, 700, 1500));
}

#[test]
fn a_member_that_keeps_some_partition_has_no_pause() {
    let mut ledger = two_of_four();
    ledger.tell(0, 1100);
    ledger.release(0, 1, 1100);
    ledger.settle(0, 1150);
    ledger.acquire(1, 1, 1300);
    let figures = ledger.end(1400);
    assert_eq!((figures.told, figures.paused, figures.moves), (1, 0, 1));
    assert_eq!(figures.kept, 1, "member 1 lost nothing");
    assert_eq!(figures.unavailable_revoked, 200);
    assert_eq!(figures.unavailable_orphaned, 0);
}

#[test]
fn a_planted_overlap_is_found() {
    let mut ledger = two_of_four();
    ledger.acquire(1, 0, 1200);
    ledger.release(0, 0, 1450);
    let figures = ledger.end(2000);
    assert_eq!((figures.doubles, figures.double_longest), (1, 250));
    // One that does not end is as long as the event.
    ledger.begin(2000, false);
    ledger.acquire(0, 2, 2100);
    let figures = ledger.end(2600);
    assert_eq!((figures.doubles, figures.double_longest), (1, 500));
}

#[test]
fn what_a_dead_member_had_is_nobodys() {
    let mut ledger = two_of_four();
    ledger.stop(0, &[0, 1], 1000);
    assert_eq!(ledger.unfinished(), (0, 2));
    ledger.acquire(1, 0, 1600);
    ledger.acquire(1, 1, 1700);
    assert!(ledger.is_whole());
    let figures = ledger.end(2000);
    assert_eq!((figures.moves, figures.least_moves, figures.kept), (2, 2, 1));
    assert_eq!((figures.unavailable_orphaned, figures.unavailable_revoked), (1300, 0));
    assert_eq!(figures.unavailable(4), (1300.0 / 4000.0, 0.0));
}

#[test]
fn a_static_member_that_comes_back_moves_nothing() {
    let mut ledger = two_of_four();
    ledger.stop(0, &[0, 1], 1000);
    ledger.join(0, 1200);
    ledger.acquire(0, 0, 1300);
    ledger.acquire(0, 1, 1300);
    ledger.settle(0, 1300);
    let figures = ledger.end(1500);
    assert_eq!((figures.moves, figures.least_moves, figures.rejoins), (0, 0, 0));
    assert_eq!(figures.unavailable_orphaned, 600);
}

#[test]
fn a_pause_goes_on_from_tick_to_tick() {
    let mut ledger = two_of_four();
    ledger.tell(0, 1100);
    ledger.release(0, 0, 1100);
    ledger.release(0, 1, 1100);
    assert_eq!(ledger.end(1200).paused, 0);
    ledger.begin(1200, true);
    ledger.acquire(0, 0, 1500);
    ledger.acquire(0, 1, 1500);
    let figures = ledger.end(1600);
    assert_eq!((figures.paused, figures.slowest_pause), (1, 400));
    assert_eq!(figures.unavailable_revoked, 600, "300 for each, since the tick began");
}

/// Members that take and give up at random: overlaps, moves and unowned time as a list of what
/// happened tells them.
#[test]
fn random_histories_are_counted_as_a_list_of_them_tells() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let (members, partitions) = (1 + random.below(5), 1 + random.below(6));
        let mut ledger = Ledger::new(partitions);
        (0..members).for_each(|member| ledger.join(member, 0));
        ledger.begin(0, false);
        let mut owners: Vec<Vec<usize>> = vec![Vec::new(); partitions];
        let mut last: Vec<Option<(usize, Micros)>> = vec![None; partitions];
        let (mut doubles, mut moves, mut revoked) = (0, 0, 0);
        let mut now = 0;
        for _ in 0..100 {
            now += 1 + random.below(50) as Micros;
            let (member, partition) = (random.below(members), random.below(partitions));
            let slot = &mut owners[partition];
            if let Some(at) = slot.iter().position(|&owner| owner == member) {
                slot.remove(at);
                ledger.release(member, partition, now);
                last[partition] = last[partition].map(|(owner, _)| (owner, now));
            } else {
                doubles += u64::from(!slot.is_empty());
                moves += u64::from(last[partition].is_some_and(|(owner, _)| owner != member));
                if let (true, Some((_, since))) = (slot.is_empty(), last[partition]) {
                    revoked += now - since;
                }
                slot.push(member);
                ledger.acquire(member, partition, now);
                last[partition] = Some((member, now));
            }
        }
        for (slot, last) in owners.iter().zip(&last) {
            if let (true, Some((_, since))) = (slot.is_empty(), last) {
                revoked += now - since;
            }
        }
        let figures = ledger.end(now);
        assert_eq!((figures.doubles, figures.moves), (doubles, moves), "seed {seed}");
        assert_eq!(figures.unavailable_revoked, revoked, "seed {seed}");
        let unowned = owners.iter().filter(|slot| slot.is_empty()).count();
        assert_eq!(ledger.unfinished().1, unowned, "seed {seed}");
    }
}
