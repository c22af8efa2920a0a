//! What the shard answers, writes and has done outside, request by request.

use thalweg_transactions::{
    AddPartitions, TransactionConfig, TransactionRequest, TransactionState, TransactionVersion,
};
use thalweg_wire::ErrorCode;

use crate::world::{
    World, add, add_as, config, describe, end, end_as, entry, init, init_as, list, verify,
};

const V0: TransactionVersion = TransactionVersion::V0;
const V1: TransactionVersion = TransactionVersion::V1;
const V2: TransactionVersion = TransactionVersion::V2;
const NOT_FOUND: &str = "TRANSACTIONAL_ID_NOT_FOUND";
const CONCURRENT: &str = "CONCURRENT_TRANSACTIONS";

/// A world whose requests wait.
fn waiting() -> World {
    World::new(TransactionConfig { wait_ms: 1_000, ..config(V2) })
}

/// "a" in a state, its producer 1000 in epoch 0 but where a transaction of version 2 has ended.
fn at(state: TransactionState) -> World {
    let mut world = World::new(config(V2));
    assert_eq!(world.ask(init("a")), "1000/0");
    if state == TransactionState::Empty {
        return world;
    }
    assert_eq!(world.ask(add("a", (1000, 0), "t-0 t-1")), "NONE");
    if state == TransactionState::Ongoing {
        return world;
    }
    let commit =
        matches!(state, TransactionState::PrepareCommit | TransactionState::CompleteCommit);
    assert_eq!(world.ask(end("a", (1000, 0), commit)), "1000/1");
    if !state.is_prepared() {
        assert_eq!(world.mark_all(), 1);
    }
    assert!(world.describe("a").starts_with(state.name()), "{}", world.describe("a"));
    world
}

#[test]
fn each_request_in_each_state() {
    use TransactionState as S;
    const FENCED: &str = "PRODUCER_FENCED";
    const INVALID: &str = "INVALID_TXN_STATE";
    // Init, add, verify, commit and abort of the current producer, then commit and abort sent again by that of before.
    let table: [(S, (i64, i16), [&str; 7]); 6] = [
        (
            S::Empty,
            (1000, 0),
            ["1000/1", "NONE", "t-1:TRANSACTION_ABORTABLE", INVALID, "1000/1", FENCED, FENCED],
        ),
        (
            S::Ongoing,
            (1000, 0),
            [CONCURRENT, "NONE", "t-1:NONE", "1000/1", "1000/1", FENCED, FENCED],
        ),
        (S::PrepareCommit, (1000, 1), [CONCURRENT; 7]),
        (S::PrepareAbort, (1000, 1), [CONCURRENT; 7]),
        (
            S::CompleteCommit,
            (1000, 1),
            ["1000/2", "NONE", "t-1:TRANSACTION_ABORTABLE", INVALID, "1000/2", "1000/1", INVALID],
        ),
        (
            S::CompleteAbort,
            (1000, 1),
            ["1000/2", "NONE", "t-1:TRANSACTION_ABORTABLE", INVALID, "1000/2", INVALID, "1000/1"],
        ),
    ];
    for (state, of, expected) in table {
        let before = (of.0, of.1 - 1);
        let requests = [
            init_as("a", Some(of)),
            add("a", of, "t-1"),
            verify("a", of, "t-1"),
            end("a", of, true),
            end("a", of, false),
            end("a", before, true),
            end("a", before, false),
        ];
        for (request, expected) in requests.into_iter().zip(expected) {
            let mut world = at(state);
            let said = world.ask(request.clone());
            assert_eq!(said, expected, "{request:?} in {state:?}");
        }
        // Somebody else, in each of them.
        let is_prepared = state.is_prepared();
        let or = |code| if is_prepared { CONCURRENT } else { code };
        let mut world = at(state);
        let mapping = "INVALID_PRODUCER_ID_MAPPING";
        assert_eq!(world.ask(add("a", (9, of.1), "t-1")), or(mapping));
        assert_eq!(world.ask(end("a", (9, of.1), true)), or(mapping));
        assert_eq!(world.ask(add("a", (of.0, of.1 + 1), "t-1")), or(FENCED));
        assert_eq!(world.ask(end("a", (of.0, of.1 + 1), true)), or(FENCED));
        assert_eq!(world.ask(verify("a", (9, of.1), "t-1")), mapping);
        assert_eq!(world.ask(verify("a", (of.0, of.1 + 1), "t-1")), FENCED);
        assert_eq!(world.ask(init_as("a", Some((9, 0)))), or(FENCED));
    }
    let mut world = World::new(config(V2));
    assert_eq!(world.ask(add("a", (1000, 0), "t-0")), "INVALID_PRODUCER_ID_MAPPING");
    assert_eq!(world.ask(end("a", (1000, 0), true)), "INVALID_PRODUCER_ID_MAPPING");
    assert_eq!(world.ask(verify("a", (1000, 0), "t-0")), "INVALID_PRODUCER_ID_MAPPING");
    assert_eq!(world.describe("a"), NOT_FOUND);
    world.ids.fail(Some(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS));
    assert_eq!(world.ask(init("a")), "COORDINATOR_LOAD_IN_PROGRESS");
    assert!(world.memory.log.is_empty());
}

#[test]
fn what_is_in_transit_is_not_read() {
    let mut world = World::new(config(V2));
    world.memory.auto_commit = false;
    let first = world.try_ask(init("a")).expect_err("it is not committed");
    assert_eq!(world.describe("a"), NOT_FOUND);
    assert_eq!(world.ask(list()), "");
    assert_eq!(world.ask(init("a")), CONCURRENT);
    world.memory.commit(1);
    assert_eq!(world.answer(first), "1000/0");
    let added = world.try_ask(add("a", (1000, 0), "t-0")).expect_err("it is not committed");
    assert_eq!(world.describe("a"), "Empty 1000/0 60000 -1");
    assert_eq!(world.ask(list()), "a:1000:Empty");
    assert_eq!(world.ask(verify("a", (1000, 0), "t-0")), "t-0:TRANSACTION_ABORTABLE");
    assert_eq!(world.ask(add("a", (1000, 0), "t-0")), CONCURRENT);
    world.memory.commit(2);
    assert_eq!(world.answer(added), "NONE");
    assert_eq!(world.ask(verify("a", (1000, 0), "t-0")), "t-0:NONE");
    // The decision has no effect before it is committed.
    let ended = world.try_ask(end("a", (1000, 0), true)).expect_err("it is not committed");
    assert_eq!(world.effect(), None);
    assert_eq!(world.describe("a"), "Ongoing 1000/0 60000 1000000 t-0");
    world.memory.commit(3);
    assert_eq!(world.answer(ended), "1000/1");
    assert_eq!(world.mark_all(), 1);
    assert_eq!(world.describe("a"), "PrepareCommit 1000/1 60000 1000000");
    world.memory.commit(4);
    assert_eq!(world.describe("a"), "CompleteCommit 1000/1 60000 1000000");
}

#[test]
fn an_append_that_fails_leaves_everything_as_before() {
    let mut world = at(TransactionState::Ongoing);
    let before = (world.describe("a"), world.memory.log.clone());
    for request in [
        add("a", (1000, 0), "t-2"),
        end("a", (1000, 0), true),
        end("a", (1000, 0), false),
        init("a"),
    ] {
        for (error, said) in [
            (ErrorCode::NOT_ENOUGH_REPLICAS, "COORDINATOR_NOT_AVAILABLE"),
            (ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND, "COORDINATOR_NOT_AVAILABLE"),
            (ErrorCode::NOT_LEADER_OR_FOLLOWER, "NOT_COORDINATOR"),
            (ErrorCode::MESSAGE_TOO_LARGE, "UNKNOWN_SERVER_ERROR"),
        ] {
            world.memory.failures.push(error);
            assert_eq!(world.ask(request.clone()), said);
            assert_eq!((world.describe("a"), world.memory.log.clone()), before);
            assert_eq!(world.effect(), None);
        }
    }
    world.memory.failures.push(ErrorCode::NOT_ENOUGH_REPLICAS);
    assert_eq!(world.ask(init("b")), "COORDINATOR_NOT_AVAILABLE");
    assert_eq!(world.describe("b"), NOT_FOUND);
    assert_eq!(world.memory.runner.shard().len(), 1);
}

#[test]
fn a_completion_that_cannot_be_written_is_written_again() {
    for error in [ErrorCode::NOT_ENOUGH_REPLICAS, ErrorCode::KAFKA_STORAGE_ERROR] {
        let mut world = at(TransactionState::PrepareCommit);
        world.memory.failures.extend([error, error]);
        let to_retry = |world: &World| world.memory.runner.shard().completions_to_retry();
        assert_eq!(to_retry(&world), 0);
        assert_eq!(world.mark_all(), 1);
        assert_eq!(world.describe("a"), "PrepareCommit 1000/1 60000 1000000");
        assert_eq!(to_retry(&world), 1);
        world.memory.advance(1_000);
        assert_eq!(to_retry(&world), 0);
        assert!(world.memory.failures.is_empty(), "it was tried twice");
        assert_eq!(world.describe("a"), "CompleteCommit 1000/1 60000 1000000");
    }
}

#[test]
fn markers_come_twice_late_and_in_pieces() {
    let mut world = at(TransactionState::PrepareCommit);
    let of = world.effect().expect("markers");
    let piece = |to: &str| {
        let partitions = crate::world::partitions(to);
        thalweg_transactions::WriteMarkers { partitions, ..of.clone() }
    };
    for _ in 0..2 {
        world.marked(piece("t-1"));
        assert_eq!(world.describe("a"), "PrepareCommit 1000/1 60000 1000000 t-0");
    }
    let mut earlier = piece("t-0");
    earlier.producer.epoch -= 1;
    world.marked(earlier);
    assert_eq!(world.describe("a"), "PrepareCommit 1000/1 60000 1000000 t-0");
    world.marked(piece("t-0"));
    let length = world.memory.log.len();
    world.marked(of.clone());
    assert_eq!(world.memory.log.len(), length, "it is complete once");
    // Those of the transaction before say nothing of the one behind it.
    assert_eq!(world.ask(add("a", (1000, 1), "t-0")), "NONE");
    assert_eq!(world.ask(end("a", (1000, 1), false)), "1000/2");
    world.marked(of);
    assert_eq!(world.describe("a"), "PrepareAbort 1000/2 60000 1000000 t-0");
    let abort = world.effect().expect("markers");
    assert!(!abort.commit && abort.producer.epoch == 2);
    world.marked(abort);
    assert_eq!(world.describe("a"), "CompleteAbort 1000/2 60000 1000000");
}

#[test]
fn after_a_load_the_markers_of_what_was_decided_are_sent_again() {
    for state in &TransactionState::ALL[..6] {
        let mut world = at(*state);
        let before = world.describe("a");
        world.reload();
        assert_eq!(world.describe("a"), before);
        let effects: Vec<_> = std::iter::from_fn(|| world.effect()).collect();
        assert_eq!(effects.len(), usize::from(state.is_prepared()));
        for of in effects {
            assert_eq!(of.commit, *state == TransactionState::PrepareCommit);
            assert_eq!((of.producer.epoch, of.partitions.len()), (1, 2));
            world.marked(of);
            assert!(world.describe("a").starts_with("Complete"));
        }
    }
    // What is decided and not committed when the log is loaded has its markers sent when it is.
    let mut world = at(TransactionState::Ongoing);
    world.memory.auto_commit = false;
    let _ = world.try_ask(end("a", (1000, 0), true));
    let committed = world.memory.log.len() as i64 - 1;
    let shard = world.fresh();
    world.memory.reload_at(shard, committed);
    assert_eq!(world.effect(), None);
    // Nobody is told what would end a producer before that is known.
    assert_eq!(world.ask(verify("a", (1000, 0), "t-0")), CONCURRENT);
    assert_eq!(world.ask(end_as("a", (1000, 0), true, V0)), CONCURRENT);
    assert_eq!(world.ask(add("a", (1000, 0), "t-0")), CONCURRENT);
    world.memory.commit(committed + 1);
    assert!(world.effect().is_some_and(|of| of.commit));
}

/// As Kafka's coordinator, which takes all of a log that it has loaded for committed.
#[test]
fn what_was_loaded_is_shown_before_it_is_known_to_be_committed() {
    let mut world = at(TransactionState::Ongoing);
    assert_eq!(world.ask(init("b")), "1001/0");
    world.memory.auto_commit = false;
    let (all, shard) = (world.memory.log.len() as i64, world.fresh());
    world.memory.reload_at(shard, 0);
    let described = "Ongoing 1000/0 60000 1000000 t-0 t-1";
    assert_eq!(world.describe("a"), described);
    assert_eq!(world.ask(list()), "a:1000:Ongoing b:1001:Empty");
    world.memory.commit(all);
    assert_eq!(world.describe("a"), described);
    // What this coordinator writes itself is not.
    let _ = world.try_ask(end("a", (1000, 0), true));
    assert_eq!(world.describe("a"), described);
    assert_eq!(world.ask(list()), "a:1000:Ongoing b:1001:Empty");
}

/// They need not ask again: nobody writes anything that would tell of it.
#[test]
fn who_waits_for_what_was_loaded_goes_on_when_it_is_committed() {
    let mut world = waiting();
    assert_eq!(world.ask(init("a")), "1000/0");
    assert_eq!(world.ask(add("a", (1000, 0), "t-0")), "NONE");
    world.memory.auto_commit = false;
    let (all, shard) = (world.memory.log.len() as i64, world.fresh());
    world.memory.reload_at(shard, 0);
    let added = world.try_ask(add("a", (1000, 0), "t-0")).expect_err("it is not committed");
    // The first record alone says nothing of the last state.
    world.memory.commit(1);
    assert_eq!(world.answer(added), "-");
    world.memory.commit(all);
    assert_eq!(world.answer(added), "NONE");

    // The same for those that have something to write, one after the other.
    let shard = world.fresh();
    world.memory.reload_at(shard, 0);
    let added = world.try_ask(add("a", (1000, 0), "t-1")).expect_err("it is not committed");
    let ended = world.try_ask(end("a", (1000, 0), true)).expect_err("the same");
    world.memory.commit(all);
    assert_eq!(world.memory.log.len() as i64, all + 1);
    assert_eq!(world.answer(added), "-", "its record is not committed yet");
    world.memory.commit(all + 1);
    assert_eq!((world.answer(added), world.answer(ended)), ("NONE".into(), "-".into()));
    world.memory.commit(all + 2);
    assert_eq!(world.answer(ended), "1000/1");
}

#[test]
fn who_waits_for_a_commit_that_took_too_long_goes_on_when_it_comes() {
    let mut world = waiting();
    assert_eq!(world.ask(init("a")), "1000/0");
    world.memory.auto_commit = false;
    let added = world.try_ask(add("a", (1000, 0), "t-0")).expect_err("it is not committed");
    world.memory.advance(60_000);
    assert_eq!(world.answer(added), "COORDINATOR_NOT_AVAILABLE");
    let again = world.try_ask(add("a", (1000, 0), "t-0")).expect_err("nobody knows");
    world.memory.commit(2);
    assert_eq!(world.answer(again), "NONE");
}

#[test]
fn requests_wait_and_are_answered_in_order() {
    let mut world = waiting();
    assert_eq!(world.ask(init("a")), "1000/0");
    assert_eq!(world.ask(add("a", (1000, 0), "t-0")), "NONE");
    assert_eq!(world.ask(end("a", (1000, 0), true)), "1000/1");
    let requests =
        [add("a", (1000, 1), "t-0"), add("a", (1000, 1), "t-0"), end("a", (1000, 1), false)];
    let tokens = requests.map(|request| world.try_ask(request).expect_err("it waits"));
    let last = world.try_ask(add("a", (1000, 2), "t-1")).expect_err("it waits");
    assert_eq!(world.mark_all(), 2, "two transactions come to an end");
    let answered = world.memory.take_answers();
    let order: Vec<_> = answered.iter().map(|(token, _)| *token).collect();
    assert_eq!(order, [tokens[0], tokens[1], tokens[2], last]);
    let said: Vec<String> = answered.iter().map(|(_, it)| crate::world::words(it)).collect();
    assert_eq!(said, ["NONE", "NONE", "1000/2", "NONE"]);
    assert_eq!(world.describe("a"), "Ongoing 1000/2 60000 1000000 t-1");
}

#[test]
fn a_serial_producer_never_hears_of_concurrent_transactions() {
    let mut world = waiting();
    let mut epoch = 0;
    assert_eq!(world.ask(init("a")), "1000/0");
    for round in 0..20 {
        // Half of the transactions are ended before, and their markers come only now.
        let added = world.try_ask(add("a", (1000, epoch), "t-0"));
        world.mark_all();
        let said = added.map_or_else(|token| world.answer(token), |it| crate::world::words(&it));
        assert_eq!(said, "NONE", "round {round}");
        epoch += 1;
        let commit = round % 2 == 0;
        assert_eq!(world.ask(end("a", (1000, epoch - 1), commit)), format!("1000/{epoch}"));
        // The same request, sent again while the markers are on their way.
        if round % 3 == 0 {
            let again = world.try_ask(end("a", (1000, epoch - 1), commit)).expect_err("it waits");
            world.mark_all();
            assert_eq!(world.answer(again), format!("1000/{epoch}"));
        }
    }
}

#[test]
fn requests_are_refused_when_they_have_waited_for_long_or_are_too_many() {
    let mut world = waiting();
    assert_eq!(world.ask(init("a")), "1000/0");
    assert_eq!(world.ask(add("a", (1000, 0), "t-0")), "NONE");
    assert_eq!(world.ask(end("a", (1000, 0), true)), "1000/1");
    let mut tokens = Vec::new();
    for _ in 0..64 {
        tokens.push(world.try_ask(add("a", (1000, 1), "t-0")).expect_err("it waits"));
    }
    assert_eq!(world.ask(add("a", (1000, 1), "t-0")), CONCURRENT);
    assert_eq!(world.ask(init("b")), "1001/0", "others are not held up");
    world.memory.advance(999);
    assert_eq!(world.memory.take_answers().len(), 0);
    world.memory.advance(1);
    for token in tokens {
        assert_eq!(world.answer(token), CONCURRENT);
    }
    let token = world.try_ask(add("a", (1000, 1), "t-0")).expect_err("it waits anew");
    world.memory.close(ErrorCode::NOT_COORDINATOR);
    assert_eq!(world.answer(token), "NOT_COORDINATOR");
    assert_eq!(world.ask(add("a", (1000, 1), "t-0")), "NOT_COORDINATOR");
}

#[test]
fn what_is_committed_late_holds_nobody_up() {
    let mut world = waiting();
    world.memory.auto_commit = false;
    let late = world.try_ask(init("a")).expect_err("it is not committed");
    world.memory.advance(4_500);
    let first = world.try_ask(init("a")).expect_err("it waits");
    world.memory.advance(500);
    assert_eq!(world.answer(late), "COORDINATOR_NOT_AVAILABLE");
    world.memory.auto_commit = true;
    world.memory.settle();
    // Nothing is under way any more: whoever waits goes on, and whoever comes does not wait.
    assert_eq!(world.answer(first), "1000/1");
    assert_eq!(world.ask(add("a", (1000, 1), "t-0")), "NONE");
    assert_eq!(world.ask(end("a", (1000, 1), true)), "1000/2");
}

#[test]
fn a_fenced_producer_is_not_taken_for_the_one_that_fenced_it() {
    // The producer in epoch 1 has no epoch for each of its transactions: its last one ended in its own.
    for (commit, state) in [(true, "CompleteCommit"), (false, "CompleteAbort")] {
        let mut world = World::new(config(V2));
        assert_eq!(world.ask(init("a")), "1000/0");
        assert_eq!(world.ask(init("a")), "1000/1");
        assert_eq!(world.ask(add_as("a", (1000, 1), "t-0", V0)), "NONE");
        assert_eq!(world.ask(end_as("a", (1000, 1), commit, V0)), "-1/-1");
        world.mark_all();
        assert!(world.describe("a").starts_with(state));
        for late in [true, false] {
            assert_eq!(world.ask(end("a", (1000, 0), late)), "PRODUCER_FENCED");
        }
    }
    // One that is fenced where the cluster does not know better.
    let mut world = World::new(config(V1));
    assert_eq!(world.ask(init("a")), "1000/0");
    assert_eq!(world.ask(add("a", (1000, 0), "t-0")), "NONE");
    assert_eq!(world.ask(init("a")), CONCURRENT);
    world.mark_all();
    assert!(world.describe("a").starts_with("CompleteAbort 1000/1"));
    assert_eq!(world.ask(end("a", (1000, 0), false)), "PRODUCER_FENCED");
}

#[test]
fn a_fence_that_cannot_be_written_is_not_begun_again() {
    let mut world = waiting();
    assert_eq!(world.ask(init("a")), "1000/0");
    assert_eq!(world.ask(add("a", (1000, 0), "t-0")), "NONE");
    let before = world.describe("a");
    world.memory.failures.extend([ErrorCode::MESSAGE_TOO_LARGE; 3]);
    assert_eq!(world.ask(init("a")), "UNKNOWN_SERVER_ERROR");
    assert_eq!(world.memory.failures.len(), 2, "it was tried once");
    world.memory.failures.clear();
    assert_eq!((world.describe("a"), world.effect()), (before, None));
    assert_eq!(world.ask(end("a", (1000, 0), true)), "1000/1", "the id is not stuck");
}

#[test]
fn brokers_that_ask_for_several_transactions_do_not_wait_for_long() {
    let mut world = waiting();
    assert_eq!(world.ask(init("a")), "1000/0");
    assert_eq!(world.ask(add("a", (1000, 0), "t-0")), "NONE");
    assert_eq!(world.ask(end("a", (1000, 0), true)), "1000/1");
    let TransactionRequest::Add(add) = add("a", (1000, 1), "t-0") else { unreachable!() };
    let of_client = world.try_ask(init("a")).expect_err("it waits");
    let of_broker = AddPartitions { is_of_broker: true, ..add };
    let of_broker =
        world.try_ask(TransactionRequest::Add(of_broker)).expect_err("it waits a little");
    world.memory.advance(19);
    assert_eq!(world.answer(of_broker), "-");
    world.memory.advance(1);
    assert_eq!((world.answer(of_broker), world.answer(of_client)), (CONCURRENT.into(), "-".into()));
    world.memory.advance(979);
    assert_eq!(world.answer(of_client), "-");
    world.memory.advance(1);
    assert_eq!(world.answer(of_client), CONCURRENT);
}

#[test]
fn whoever_fences_a_producer_waits_for_the_end_of_its_transaction() {
    for version in [V0, V1, V2] {
        let mut world = World::new(TransactionConfig { wait_ms: 1_000, ..config(version) });
        assert_eq!(world.ask(init("a")), "1000/0");
        let client = if version == V2 { V2 } else { V0 };
        assert_eq!(world.ask(add_as("a", (1000, 0), "t-0", client)), "NONE");
        let fencing = world.try_ask(init("a")).expect_err("it waits");
        let of = world.effect().expect("markers");
        assert!(!of.commit && of.producer.epoch == 1);
        let late = world.try_ask(end_as("a", (1000, 0), true, client)).expect_err("it waits");
        world.marked(of);
        assert_eq!(world.answer(fencing), "1000/2");
        assert_eq!(world.answer(late), "PRODUCER_FENCED");
    }
}

#[test]
fn transactions_that_are_open_for_too_long_are_aborted() {
    for (version, epoch) in [(V0, 1), (V2, 1)] {
        let mut world = World::new(config(version));
        assert_eq!(world.ask(init("a")), "1000/0");
        assert_eq!(world.ask(add_as("a", (1000, 0), "t-0", V0)), "NONE");
        world.memory.advance(59_999);
        world.abort_timed_out();
        assert_eq!(world.effect(), None, "not before it is over");
        world.abort_timed_out();
        let of = world.effect().expect("markers");
        assert!(!of.commit && of.producer.epoch == epoch);
        assert_eq!(world.ask(end_as("a", (1000, 0), true, V0)), "PRODUCER_FENCED");
        world.marked(of);
        assert_eq!(world.ask(add_as("a", (1000, 0), "t-0", V0)), "PRODUCER_FENCED");
    }
}

#[test]
fn ids_that_are_not_used_expire() {
    let mut world = at(TransactionState::CompleteCommit);
    assert_eq!(world.ask(init("b")), "1001/0");
    assert_eq!(world.ask(add("b", (1001, 0), "t-0")), "NONE");
    let expiration_ms = world.config.id_expiration_ms as u64;
    world.memory.advance(expiration_ms - 2);
    world.expire();
    assert_eq!(world.memory.runner.shard().len(), 2);
    world.memory.failures.push(ErrorCode::NOT_ENOUGH_REPLICAS);
    world.expire();
    assert_eq!(world.memory.runner.shard().len(), 2, "the tombstone was not written");
    world.expire();
    assert_eq!(world.describe("a"), NOT_FOUND);
    assert!(world.describe("b").starts_with("Ongoing"));
    assert_eq!(world.records(world.memory.log.len() - 1)[0].value, None);
    world.reload();
    assert_eq!(world.describe("a"), NOT_FOUND);
    assert_eq!(world.ask(init_as("a", Some((1000, 1)))), "1002/0", "it begins anew");
}

#[test]
fn epochs_that_are_used_up_give_way_to_another_producer_id() {
    let exhausted = |state| {
        let mut transaction = at(TransactionState::Ongoing).last();
        transaction.producer_epoch = i16::MAX - 1;
        transaction.state = state;
        if state != TransactionState::Ongoing {
            transaction.partitions = thalweg_transactions::Partitions::default();
        }
        let log = vec![entry("a", Some(transaction), V2)];
        World::with_log(config(V2), log)
    };
    let last = i16::MAX - 1;
    let mut world = exhausted(TransactionState::Empty);
    assert_eq!(world.ask(init_as("a", Some((1000, last - 1)))), "UNKNOWN_SERVER_ERROR");
    assert_eq!(world.ask(init_as("a", Some((1000, last)))), "1000/0");
    let mut world = exhausted(TransactionState::Ongoing);
    assert_eq!(world.ask(end("a", (1000, last), true)), "1000/0");
    let of = world.effect().expect("markers");
    assert_eq!(of.producer.epoch, i16::MAX, "of the producer that ends");
    world.marked(of);
    assert_eq!(world.ask(end("a", (1000, last), true)), "1000/0", "it is sent again");
    // Before version 2 the transaction ends in its epoch, and the next producer has another id.
    let mut world = exhausted(TransactionState::Ongoing);
    assert_eq!(world.ask(end_as("a", (1000, last), true, V0)), "-1/-1");
    world.mark_all();
    assert_eq!(world.ask(init_as("a", Some((1000, last)))), "1000/0");
    // Without a producer id to go on with, nothing is decided.
    let mut world = exhausted(TransactionState::Ongoing);
    world.ids.fail(Some(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS));
    assert_eq!(world.ask(end("a", (1000, last), true)), "COORDINATOR_LOAD_IN_PROGRESS");
    assert_eq!(world.ask(init("a")), "COORDINATOR_LOAD_IN_PROGRESS");
    assert!(world.describe("a").starts_with("Ongoing"));
}

/// Kafka cannot write that, and the id is stuck from then on.
#[test]
fn a_client_that_speaks_of_more_than_is_finalized_is_served() {
    let mut world = World::new(config(V0));
    assert_eq!(world.ask(init("a")), "1000/0");
    assert_eq!(world.ask(add("a", (1000, 0), "t-0")), "NONE");
    assert_eq!(world.last().client_version, V0);
    world.reload();
    assert_eq!(world.ask(describe("a")), "Ongoing 1000/0 60000 1000000 t-0");
}

/// Kafka throws upon the first of them, and a producer id is used up; nobody was ever given that epoch.
#[test]
fn a_transaction_in_the_last_epoch_ends_either_way() {
    for commit in [true, false] {
        let mut transaction = at(TransactionState::Ongoing).last();
        transaction.producer_epoch = i16::MAX;
        let log = vec![entry("a", Some(transaction), V2)];
        let mut world = World::with_log(config(V2), log);
        assert_eq!(world.ask(end("a", (1000, i16::MAX), commit)), "1000/0");
        assert_eq!(world.mark_all(), 1);
    }
}
