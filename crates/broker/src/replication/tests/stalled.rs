//! A log directory that does not take what was fetched: its partitions wait, and those of another one do not.

use std::path::Path;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use super::*;
use crate::Hooks;
use crate::disk::{Disk, DiskOp, FaultHook, Injected};

/// Lets no record into directory "b" while it is shut.
#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_shut: bool,
    waiting: usize,
}

impl FaultHook for Gate {
    fn before(&self, op: DiskOp, path: &Path, _: usize) -> Injected {
        let is_record = op == DiskOp::Write && path.extension().is_some_and(|it| it == "log");
        if is_record && path.components().any(|part| part.as_os_str() == "b") {
            let mut state = self.state.lock();
            state.waiting += 1;
            self.changed.wait_while(&mut state, |state| state.is_shut);
            state.waiting -= 1;
        }
        Injected::Nothing
    }
}

/// Opens the gate when a test ends, however it does: the runtime waits for the threads before it.
struct Shut(Arc<Gate>);

impl Shut {
    fn open(&self) {
        self.0.state.lock().is_shut = false;
        self.0.changed.notify_all();
    }

    async fn until_waits(&self) {
        until("a write", || self.0.state.lock().waiting > 0).await;
    }
}

impl Drop for Shut {
    fn drop(&mut self) {
        self.open();
    }
}

impl World {
    /// A broker with the partitions of `t` in these directories: 0 is "a", 1 is "b".
    async fn in_directories(directories: &[usize]) -> (World, Shut) {
        World::with(directories, LONG).await
    }

    /// The same with a pause of its own after errors.
    async fn with(directories: &[usize], pause: (&str, &str)) -> (World, Shut) {
        let gate = Arc::new(Gate::default());
        let hooks = Hooks { disk: Disk::with_hook(gate.clone()), ..Hooks::default() };
        let leader = Peer::new(LEADER).await;
        let node = Node::start_with(&[pause], &["a", "b"], hooks).await;
        let mut records = vec![leader.record(), testing::topic("t", TOPIC)];
        let world = World { node, leader, partitions: directories.len() };
        records.extend((0..).zip(directories).map(|(index, dir)| world.in_directory(index, *dir)));
        world.node.publish(records).await;
        (world, Shut(gate))
    }

    fn in_directory(
        &self,
        index: i32,
        dir: usize,
    ) -> thalweg_wire::messages::metadata_record::MetadataRecord {
        let mut record = testing::partition(TOPIC, index, LEADER, EPOCH, &[LEADER, NODE]);
        record.directories = self.node.directories_of(&record.replicas, dir);
        record.into()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_directory_that_hangs_holds_up_only_its_own_partitions() {
    let (world, gate) = World::in_directories(&[0, 0, 1, 1]).await;
    let (mut stuck, _) = world.first().await;
    gate.0.state.lock().is_shut = true;
    let both = vec![data(2, 3, &[batch(0, EPOCH)]), data(0, 3, &[batch(0, EPOCH)])];
    stuck.answer(&response(77, both)).await;
    gate.until_waits().await;

    // Somebody else fetches on, but for what is being written.
    let mut leader = world.leader.accept().await;
    let named = [(0, EPOCH, 0, -1), (1, EPOCH, 0, -1), (3, EPOCH, 0, -1)];
    assert_eq!(fetched(&mut leader).await, request((0, 0), &named));
    // What else comes for the directory waits behind that.
    let come = vec![data(3, 3, &[batch(0, EPOCH)]), data(0, 3, &[batch(0, EPOCH)])];
    leader.answer(&response(78, come)).await;
    let next = fetched(&mut leader).await;
    assert_eq!((next.session, &next.named[..]), ((78, 1), &[(0, EPOCH, 3, EPOCH)][..]));
    assert_eq!(next.forgotten, [3]);
    for round in 1..5 {
        let come = vec![
            data(0, 3 * round, &[batch(3 * round, EPOCH)]),
            data(1, 0, &[batch(3 * (round - 1), EPOCH)]),
            // Nobody asks for that.
            data(3, 3, &[batch(0, EPOCH)]),
        ];
        leader.answer(&response(78, come)).await;
        let request: FetchRequest = leader.request().await;
        // The leader does not hold it for long, because it does not hear that there is more to ask for.
        assert!(request.max_wait_ms <= 100, "{}", request.max_wait_ms);
        let offsets: Vec<i64> =
            request.topics[0].partitions.iter().map(|it| it.fetch_offset).collect();
        assert_eq!(offsets, [3 * round + 3, 3 * round]);
        assert!(request.forgotten_topics_data.is_empty());
    }
    assert_eq!((world.ends(2), world.ends(3)), ((0, 0), (0, 0)));

    gate.open();
    // Who was stuck fetches no more, and what has waited is fetched on from where it is now.
    stuck.closed().await;
    let mut named = Vec::new();
    while named.len() < 2 {
        leader.answer(&response(78, Vec::new())).await;
        named.append(&mut fetched(&mut leader).await.named);
    }
    named.sort_unstable();
    assert_eq!(named, [(2, EPOCH, 3, EPOCH), (3, EPOCH, 3, EPOCH)]);
    assert_eq!((world.ends(2), world.ends(3)), ((3, 3), (3, 3)));
    world.node.shut_down().await;
}

/// Who is stuck does not come to what it was to ask the leader for, and whoever fetches instead does not know of that.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn who_is_out_of_range_when_a_directory_hangs_is_fetched_on() {
    let (world, gate) = World::with(&[0, 1], NONE).await;
    let (mut stuck, _) = world.first().await;
    gate.0.state.lock().is_shut = true;
    let out = refused(0, ErrorCode::OFFSET_OUT_OF_RANGE);
    stuck.answer(&response(77, vec![out, data(1, 3, &[batch(0, EPOCH)])])).await;
    gate.until_waits().await;
    let mut leader = world.leader.accept().await;
    assert_eq!(fetched(&mut leader).await, request((0, 0), &[(0, EPOCH, 0, -1)]));
    gate.open();
    stuck.closed().await;
    world.node.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn what_was_not_taken_over_late_is_told_again_by_the_leader() {
    let (world, gate) = World::in_directories(&[0, 1, 1, 1]).await;
    let (mut stuck, _) = world.first().await;
    gate.0.state.lock().is_shut = true;
    stuck.answer(&response(77, vec![data(1, 3, &[batch(0, EPOCH)])])).await;
    gate.until_waits().await;
    let mut leader = world.leader.accept().await;
    assert_eq!(fetched(&mut leader).await.named.len(), 3);
    // What begins before the log's end is found out when its turn comes, behind a write that hangs.
    let early = BatchSpec::new(-1, 1).leader_epoch(EPOCH).build();
    let come = vec![data(3, 3, &[batch(0, EPOCH)]), data(2, 3, &[early])];
    leader.answer(&response(78, come)).await;
    assert_eq!(fetched(&mut leader).await.forgotten, [2, 3]);
    gate.open();
    stuck.closed().await;
    let next = loop {
        leader.answer(&response(78, Vec::new())).await;
        let next = fetched(&mut leader).await;
        if next.session == (78, 0) {
            break next;
        }
    };
    // The session is over, and one partition waits.
    let is_there = |named: &[(i32, i32, i64, i32)]| named.contains(&(0, EPOCH, 0, -1));
    assert!(is_there(&next.named), "{next:?}");
    assert!(world.waits_long(2));
    world.node.shut_down().await;
}

/// Where nothing else is to be fetched, what comes to be fetched while a directory hangs is fetched.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_partition_that_comes_while_the_only_directory_hangs_is_fetched() {
    let (world, gate) = World::in_directories(&[1]).await;
    let (mut stuck, _) = world.first().await;
    gate.0.state.lock().is_shut = true;
    stuck.answer(&response(77, vec![data(0, 3, &[batch(0, EPOCH)])])).await;
    gate.until_waits().await;
    world.node.publish([world.in_directory(1, 0)]).await;
    let mut leader = world.leader.accept().await;
    assert_eq!(fetched(&mut leader).await, request((0, 0), &[(1, EPOCH, 0, -1)]));
    gate.open();
    stuck.closed().await;
    let named = loop {
        leader.answer(&response(78, Vec::new())).await;
        let next = fetched(&mut leader).await;
        if !next.named.is_empty() {
            break next.named;
        }
    };
    assert_eq!(named, [(0, EPOCH, 3, EPOCH)]);
    world.node.shut_down().await;
}
