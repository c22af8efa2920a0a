//! Disks that hang where a test has them hang.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use super::*;
use crate::Hooks;
use crate::disk::{Disk, DiskOp, FaultHook, Injected};

/// Lets no record into directories of these names, log directories or partitions', and does nothing to files of these
/// names, while they are shut.
#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    shut: BTreeSet<String>,
    /// What is held up.
    held: Vec<PathBuf>,
}

impl State {
    fn is_shut(&self, path: &Path, is_record: bool) -> bool {
        let is_file = path.file_name().is_some_and(|name| self.is_named(name));
        is_file || is_record && path.components().any(|part| self.is_named(part.as_os_str()))
    }

    fn is_named(&self, name: &std::ffi::OsStr) -> bool {
        name.to_str().is_some_and(|name| self.shut.contains(name))
    }
}

impl FaultHook for Gate {
    fn before(&self, op: DiskOp, path: &Path, _: usize) -> Injected {
        let is_record = op == DiskOp::Write && path.extension().is_some_and(|it| it == "log");
        let mut state = self.state.lock();
        if state.is_shut(path, is_record) {
            state.held.push(path.to_owned());
            self.changed.wait_while(&mut state, |state| state.is_shut(path, is_record));
            let at = state.held.iter().position(|it| it == path);
            state.held.remove(at.expect("it was held up"));
        }
        Injected::Nothing
    }
}

/// Shuts and opens gates. All are open when a test ends, however it does: the runtime waits for the threads before them.
pub(super) struct Gates(Arc<Gate>);

impl Gates {
    pub(super) fn shut(&self, names: &[&str]) {
        self.0.state.lock().shut.extend(names.iter().map(|name| (*name).to_owned()));
    }

    pub(super) fn open(&self, name: &str) {
        self.0.state.lock().shut.remove(name);
        self.0.changed.notify_all();
    }

    pub(super) fn open_all(&self) {
        self.0.state.lock().shut.clear();
        self.0.changed.notify_all();
    }

    /// Waits until something is held up there.
    pub(super) async fn until_held(&self, name: &str) {
        let is_there = |path: &PathBuf| path.components().any(|part| part.as_os_str() == name);
        until("what is held up", || self.0.state.lock().held.iter().any(is_there)).await;
    }
}

impl Drop for Gates {
    fn drop(&mut self) {
        self.open_all();
    }
}

/// Numbers of the log directories.
pub(super) const A: usize = 0;
pub(super) const B: usize = 1;
pub(super) const C: usize = 2;

impl FollowingBroker {
    /// A broker with the partitions of `t` in these of the log directories "a", "b" and "c".
    pub(super) async fn in_directories(directories: &[usize]) -> (FollowingBroker, Gates) {
        FollowingBroker::with(directories, LONG).await
    }

    /// The same with a pause of its own after errors.
    pub(super) async fn with(
        directories: &[usize],
        pause: (&str, &str),
    ) -> (FollowingBroker, Gates) {
        let gate = Arc::new(Gate::default());
        let hooks = Hooks { disk: Disk::with_hook(gate.clone()), ..Hooks::default() };
        let leader = Arc::new(Peer::new(LEADER).await);
        let node = Node::start_with(&[pause], &["a", "b", "c"], hooks).await;
        let mut records = vec![leader.record(), testing::topic("t", TOPIC)];
        let world = FollowingBroker { node, leader, partitions: directories.len() };
        let all = (0..).zip(directories);
        records.extend(all.map(|(index, dir)| world.in_directory(index, *dir, EPOCH)));
        world.node.publish(records).await;
        (world, Gates(gate))
    }

    pub(super) fn in_directory(
        &self,
        index: i32,
        dir: usize,
        epoch: i32,
    ) -> thalweg_wire::messages::metadata_record::MetadataRecord {
        let mut record = testing::partition(TOPIC, index, LEADER, epoch, &[LEADER, NODE]);
        record.directories = self.node.directories_of(&record.replicas, dir);
        record.into()
    }
}
