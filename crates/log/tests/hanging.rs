//! A disk that hangs: nothing that is done to another directory waits for it.

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use common::*;
use parking_lot::{Condvar, Mutex};
use thalweg_log::testing::{BatchSpec, TempDir};
use thalweg_log::{CreateRequest, Disk, DiskOp, FaultHook, Injected, LogConfig, LogManager};

const PATIENCE: Duration = Duration::from_secs(20);

/// Syncs in one directory hang while that is set.
#[derive(Default)]
struct Hanging {
    dir: Mutex<Option<PathBuf>>,
    changed: Condvar,
    hung: Mutex<Option<mpsc::Sender<()>>>,
}

impl FaultHook for Hanging {
    fn before(&self, op: DiskOp, path: &Path, _: usize) -> Injected {
        let mut dir = self.dir.lock();
        let hangs = |dir: &mut Option<PathBuf>| dir.as_ref().is_some_and(|d| path.starts_with(d));
        if op == DiskOp::Sync && hangs(&mut dir) {
            if let Some(hung) = self.hung.lock().take() {
                let _ = hung.send(());
            }
            self.changed.wait_while(&mut dir, hangs);
        }
        Injected::Nothing
    }
}

#[test]
fn a_checkpoint_that_hangs_holds_up_no_deletion_elsewhere() {
    let (first, second) = (TempDir::new(), TempDir::new());
    let hook = Arc::new(Hanging::default());
    let mut config = config(&[first.path(), second.path()], LogConfig::default());
    config.disk = Disk::with_hook(hook.clone());
    let (logs, _) = LogManager::open(config).unwrap();
    for partition in 0..4 {
        let log = logs.create(&CreateRequest::new("t", partition, TOPIC_ID), 0).unwrap();
        append(&log, BatchSpec::new(0, 1));
    }
    let (sender, hung) = mpsc::channel();
    *hook.hung.lock() = Some(sender);
    *hook.dir.lock() = Some(second.path().into());
    let (sender, done) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| logs.checkpoint());
        hung.recv_timeout(PATIENCE).unwrap();
        scope.spawn(|| {
            let in_first = logs.all().into_iter().filter(|log| log.dir().path() == first.path());
            let partitions: Vec<i32> = in_first.map(|log| log.partition()).collect();
            assert_eq!(partitions.len(), 2);
            let removed = logs.delete(partitions.into_iter().map(|at| ("t", at)), 1_000).unwrap();
            logs.in_dir(&logs.dirs()[0]).flush_due(1_000);
            let _ = sender.send(removed.len());
        });
        let removed = done.recv_timeout(PATIENCE);
        *hook.dir.lock() = None;
        hook.changed.notify_all();
        assert_eq!(removed, Ok(2));
    });
    logs.shut_down(1, 1_000);
}
