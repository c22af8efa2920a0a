//! What a disk may hold after a crash of the machine.
//!
//! A [`CrashDisk`] is a hook that keeps a record of every change below one directory, with its
//! bytes, while the program runs on. Afterwards [`CrashDisk::crash`] writes to a new directory what
//! a power cut at any point of that record may have left. One run gives as many crashes as it has
//! changes, and the same seed gives the same state.
//!
//! The model is what POSIX promises, and no more:
//!
//! - *File data and length* are on the disk up to the last `fdatasync` of that file that had
//!   succeeded, as far as they were written before it began. Of each later write all, nothing, its
//!   first bytes, some of its pages of 4 KiB, or only its length (bytes that read as zero) may be
//!   there, and each later change of length or none of it, in any order. A gap reads as zeros.
//! - *Names* (making, renaming, unlinking files and directories) are on the disk up to the last
//!   `fsync` of the directory they are in. `fsync` of a file says nothing about its name, and
//!   `fsync` of a directory nothing about its own name in the directory above, nor about the data
//!   of its files: a file that was renamed without a sync may be empty under its new name.
//! - Each change of names is there or not, as a whole: a rename leaves the file under one of its two
//!   names, and what it replaces is there until then. A change that is about a name of an earlier
//!   one is not there without that one.
//! - In a third of the crashes changes of names are there in the order in which they were made, as
//!   ext4 and XFS keep it in their journals; in a third in that order within each directory; in a
//!   third in any order.
//!
//! Not relied on is what ext4 (`data=ordered`) and XFS do beyond that: that the sync of any file
//! flushes the whole journal, with all names so far; that the length grows only after the
//! data was written; that a file which replaces another by a rename has its data first
//! (`auto_da_alloc`); that writes within one sector are not torn.
//!
//! What the model does take for granted: a sync that succeeded was not a lie, bytes that were on the
//! disk and are not written again stay, and what was never written reads as zeros, never as another
//! file's old data (`data=writeback` breaks that).

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::thread::ThreadId;

use parking_lot::Mutex;
use thalweg_random::Random;

use crate::fs::disk::{Change, DiskOp, FaultHook, Injected, Record};

/// Pages are written as a whole, or not.
const PAGE: usize = 4096;
/// What is not below the root.
const ELSEWHERE: u64 = u64::MAX;
const ROOT: u64 = 0;

/// Runs a test with many seeds: `usual` of them, or `THALWEG_CRASH_SEEDS`, from those of
/// `THALWEG_SEED_BASE` on. A seed that fails is printed, and `THALWEG_SEED` runs it alone.
///
/// # Panics
/// If `one` does, if a variable is not a number, and if no seed was run.
#[allow(clippy::print_stderr)]
pub fn with_seeds(usual: u64, mut one: impl FnMut(u64)) {
    let number = |name: &str| {
        let text = std::env::var(name).ok()?;
        Some(text.parse::<u64>().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
    };
    let base = number("THALWEG_SEED_BASE").unwrap_or(1);
    let (seeds, count) = match number("THALWEG_SEED") {
        Some(seed) => (seed..seed + 1, 1),
        None => {
            let count = number("THALWEG_CRASH_SEEDS").unwrap_or(usual);
            eprintln!("{count} seeds from THALWEG_SEED_BASE={base} on");
            // Far apart, so that neighbouring bases have no seed in common.
            let first = base.wrapping_mul(1_000_000);
            (first..first + count, count)
        }
    };
    let mut failed = Vec::new();
    let mut panic = None;
    let mut ran = 0;
    for seed in seeds {
        ran += 1;
        if let Err(reason) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| one(seed))) {
            eprintln!("THALWEG_SEED={seed} fails");
            failed.push(seed);
            panic.get_or_insert(reason);
            if failed.len() == 10 {
                break;
            }
        }
    }
    if let Some(panic) = panic {
        eprintln!("{} of {count} seeds fail: {failed:?}", failed.len());
        std::panic::resume_unwind(panic);
    }
    assert!(ran > 0 && ran == count, "{ran} of {count} seeds ran");
}

/// Keeps a record of every change below a directory.
#[derive(Debug)]
pub struct CrashDisk {
    recording: Mutex<Recording>,
}

impl FaultHook for CrashDisk {
    fn before(&self, _: DiskOp, _: &Path, _: usize) -> Injected {
        Injected::Nothing
    }

    fn record(&self) -> Option<&Mutex<dyn Record>> {
        Some(&self.recording)
    }
}

/// A change of a file's content.
#[derive(Clone, Debug)]
enum Edit {
    Write { at: u64, bytes: Vec<u8> },
    Length(u64),
}

/// A change of names in one directory, as a whole: what each stands for now.
type Names = Vec<(String, Option<u64>)>;

/// Up to where a file was synced, and its edits with when they were made.
type Edits<'a> = (usize, Vec<(usize, &'a Edit)>);

#[derive(Debug)]
enum Entry {
    Edit(u64, Edit),
    Names(u64, Names),
    /// All of a file, or of a directory's names, is on the disk that came before the other entry.
    Sync(u64, usize),
}

#[derive(Debug)]
enum Node {
    /// With what was on the disk when the record was begun.
    File(Vec<u8>),
    Dir(BTreeMap<String, u64>),
}

#[derive(Debug)]
struct Recording {
    root: PathBuf,
    /// Everything there ever was, by number; directories with their names of now.
    nodes: Vec<Node>,
    /// The names that were there at the beginning.
    first_names: HashMap<u64, BTreeMap<String, u64>>,
    entries: Vec<Entry>,
    syncs: HashMap<(ThreadId, u64), usize>,
}

impl Recording {
    fn scan(&mut self, path: &Path, dir: u64) -> std::io::Result<()> {
        let mut found: Vec<_> = std::fs::read_dir(path)?.collect::<Result<_, _>>()?;
        found.sort_by_key(std::fs::DirEntry::file_name);
        for entry in found {
            let node = self.nodes.len() as u64;
            let is_dir = entry.file_type()?.is_dir();
            self.nodes.push(match is_dir {
                true => Node::Dir(BTreeMap::new()),
                false => Node::File(std::fs::read(entry.path())?),
            });
            let name = entry.file_name().to_string_lossy().into_owned();
            self.names_mut(dir).insert(name, node);
            if is_dir {
                self.scan(&entry.path(), node)?;
            }
        }
        let names = self.names_mut(dir).clone();
        self.first_names.insert(dir, names);
        Ok(())
    }

    fn names_mut(&mut self, dir: u64) -> &mut BTreeMap<String, u64> {
        match self.nodes.get_mut(dir as usize) {
            Some(Node::Dir(names)) => names,
            _ => panic!("node {dir} is no directory"),
        }
    }

    /// What is at a path below the root.
    fn find(&self, path: &Path) -> Option<u64> {
        let mut node = ROOT;
        for part in path.strip_prefix(&self.root).ok()? {
            let Node::Dir(names) = &self.nodes[node as usize] else { return None };
            node = *names.get(&*part.to_string_lossy())?;
        }
        Some(node)
    }

    /// The directory that a name is in, and the name; nothing for what is not below the root.
    fn place(&self, path: &Path) -> Option<(u64, String)> {
        let parent = self.find(path.parent()?)?;
        path.starts_with(&self.root).then_some(())?;
        Some((parent, path.file_name()?.to_string_lossy().into_owned()))
    }

    fn set_names(&mut self, dir: u64, names: Names) {
        for (name, node) in &names {
            match node {
                Some(node) => self.names_mut(dir).insert(name.clone(), *node),
                None => self.names_mut(dir).remove(name),
            };
        }
        self.entries.push(Entry::Names(dir, names));
    }

    fn add(&mut self, dir: u64, name: String, node: Node) -> u64 {
        let number = self.nodes.len() as u64;
        self.nodes.push(node);
        self.set_names(dir, vec![(name, Some(number))]);
        number
    }

    fn remove_tree(&mut self, path: &Path) {
        let Some(node) = self.find(path) else { return };
        if let Node::Dir(names) = &self.nodes[node as usize] {
            for name in names.keys().cloned().collect::<Vec<_>>() {
                self.remove_tree(&path.join(name));
            }
        }
        if path.symlink_metadata().is_err()
            && let Some((dir, name)) = self.place(path)
        {
            self.set_names(dir, vec![(name, None)]);
        }
    }

    fn sync_begins(&mut self, node: u64) {
        self.syncs.insert((std::thread::current().id(), node), self.entries.len());
    }

    fn synced(&mut self, node: u64) {
        if let Some(upto) = self.syncs.remove(&(std::thread::current().id(), node)) {
            self.entries.push(Entry::Sync(node, upto));
        }
    }
}

impl Record for Recording {
    fn opened(&mut self, path: &Path) -> u64 {
        if let Some(node) = self.find(path) {
            return node;
        }
        match self.place(path) {
            Some((dir, name)) => self.add(dir, name, Node::File(Vec::new())),
            None => ELSEWHERE,
        }
    }

    fn changed(&mut self, change: Change<'_>) {
        match change {
            Change::Written { file: ELSEWHERE, .. }
            | Change::Length { file: ELSEWHERE, .. }
            | Change::SyncBegins { file: ELSEWHERE }
            | Change::Synced { file: ELSEWHERE } => {}
            Change::Written { file, at, bytes } => {
                let edit = Edit::Write { at, bytes: bytes.to_vec() };
                self.entries.push(Entry::Edit(file, edit));
            }
            Change::Length { file, len } => self.entries.push(Entry::Edit(file, Edit::Length(len))),
            Change::SyncBegins { file } => self.sync_begins(file),
            Change::Synced { file } => self.synced(file),
            Change::DirSyncBegins { path } => {
                if let Some(dir) = self.find(path) {
                    self.sync_begins(dir);
                }
            }
            Change::DirSynced { path } => {
                if let Some(dir) = self.find(path) {
                    self.synced(dir);
                }
            }
            Change::Renamed { from, to } => {
                let (Some((dir, from)), Some((other, to))) = (self.place(from), self.place(to))
                else {
                    panic!("{from:?} is renamed to {to:?}, out of the record");
                };
                assert_eq!(dir, other, "a rename into another directory is not modelled");
                let node = self.names_mut(dir).get(&from).copied();
                self.set_names(dir, vec![(from, None), (to, node)]);
            }
            Change::Removed { path } => {
                if let Some((dir, name)) = self.place(path) {
                    self.set_names(dir, vec![(name, None)]);
                }
            }
            Change::TreeRemoved { path } => self.remove_tree(path),
            Change::DirMade { path } => {
                let mut missing = Vec::new();
                let mut at = path;
                while at.starts_with(&self.root) && self.find(at).is_none() {
                    missing.push(at);
                    let Some(parent) = at.parent() else { break };
                    at = parent;
                }
                for path in missing.into_iter().rev() {
                    if let Some((dir, name)) = self.place(path) {
                        self.add(dir, name, Node::Dir(BTreeMap::new()));
                    }
                }
            }
        }
    }
}

/// What becomes of what was not synced.
#[derive(Clone, Copy)]
enum Style {
    Lost,
    Kept,
    /// A beginning of it, whose last part is torn.
    InOrder,
    Any,
}

impl Style {
    fn choose(random: &mut Random) -> Style {
        match random.below(4) {
            0 => Style::Lost,
            1 => Style::Kept,
            2 => Style::InOrder,
            _ => Style::Any,
        }
    }
}

/// Which changes of names that were not synced are there.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    OfAll,
    OfEachDirectory,
    None,
}

impl CrashDisk {
    /// Everything below `root` is on the disk now; what changes from here on is recorded.
    ///
    /// # Panics
    /// If the directory cannot be read.
    pub fn new(root: &Path) -> CrashDisk {
        let mut recording = Recording {
            root: root.to_path_buf(),
            nodes: vec![Node::Dir(BTreeMap::new())],
            first_names: HashMap::new(),
            entries: Vec::new(),
            syncs: HashMap::new(),
        };
        if let Err(error) = recording.scan(root, ROOT) {
            panic!("{}: {error}", root.display());
        }
        CrashDisk { recording: Mutex::new(recording) }
    }

    /// How many changes there were: a crash at this point is a crash now.
    pub fn position(&self) -> usize {
        self.recording.lock().entries.len()
    }

    /// Writes to `into`, which is made, what a crash after the first `at` changes may leave.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn crash(&self, at: usize, seed: u64, into: &Path) {
        let recording = self.recording.lock();
        let mut random = Random::new(seed);
        let names = recording.names_at(at, &mut random);
        let contents = recording.contents_at(at, &mut random);
        if let Err(error) = recording.write(ROOT, &names, &contents, into) {
            panic!("{}: {error}", into.display());
        }
    }

    /// The last changes before a point, a line each, for people who look for a fault.
    pub fn trace(&self, at: usize) -> String {
        let recording = self.recording.lock();
        let mut names: HashMap<u64, String> = HashMap::new();
        let mut text = String::new();
        let mut dirs: Vec<_> = recording.first_names.iter().collect();
        dirs.sort_by_key(|(dir, _)| **dir);
        for (dir, inside) in dirs {
            let dir = names.get(dir).map_or("", String::as_str).to_owned();
            names.extend(inside.iter().map(|(name, node)| (*node, format!("{dir}/{name}"))));
        }
        for (index, entry) in recording.entries[..at].iter().enumerate() {
            if let Entry::Names(dir, changed) = entry {
                for (name, node) in changed {
                    if let Some(node) = node {
                        let dir = names.get(dir).map_or("", String::as_str);
                        names.insert(*node, format!("{dir}/{name}"));
                    }
                }
            }
            let called = |node: &u64| names.get(node).cloned().unwrap_or_default();
            let _ = match entry {
                Entry::Edit(file, Edit::Write { at, bytes }) => {
                    writeln!(text, "{index} write {} at {at}: {}", called(file), bytes.len())
                }
                Entry::Edit(file, Edit::Length(len)) => {
                    writeln!(text, "{index} length {}: {len}", called(file))
                }
                Entry::Names(dir, changed) => {
                    writeln!(text, "{index} names in {}: {changed:?}", called(dir))
                }
                Entry::Sync(node, upto) => {
                    writeln!(text, "{index} sync {} of {upto}", called(node))
                }
            };
        }
        text
    }
}

impl Recording {
    /// What is in each directory after a crash.
    fn names_at(&self, at: usize, random: &mut Random) -> HashMap<u64, BTreeMap<String, u64>> {
        let mut disk = self.first_names.clone();
        let mut pending: Vec<(usize, u64, &Names)> = Vec::new();
        for (index, entry) in self.entries[..at].iter().enumerate() {
            match entry {
                Entry::Names(dir, names) => pending.push((index, *dir, names)),
                Entry::Sync(node, upto) if matches!(self.nodes[*node as usize], Node::Dir(_)) => {
                    pending.retain(|(index, dir, names)| {
                        let is_synced = dir == node && index < upto;
                        if is_synced {
                            set(disk.entry(*dir).or_default(), names);
                        }
                        !is_synced
                    });
                }
                _ => {}
            }
        }
        let order = [Order::OfAll, Order::OfEachDirectory, Order::None][random.below(3) as usize];
        let cut = random.below(pending.len() as u64 + 1) as usize;
        let chance = 1 + random.below(5);
        let mut cuts: HashMap<u64, bool> = HashMap::new();
        let mut lost: Vec<(u64, &str)> = Vec::new();
        for (index, (_, dir, names)) in pending.into_iter().enumerate() {
            let is_kept = match order {
                Order::OfAll => index < cut,
                Order::OfEachDirectory => {
                    let over = cuts.entry(dir).or_default();
                    *over |= random.one_in(chance + 1);
                    !*over
                }
                Order::None => {
                    let depends =
                        names.iter().any(|(name, _)| lost.contains(&(dir, name.as_str())));
                    !random.one_in(chance + 1) && !depends
                }
            };
            if is_kept {
                set(disk.entry(dir).or_default(), names);
            } else {
                lost.extend(names.iter().map(|(name, _)| (dir, name.as_str())));
            }
        }
        disk
    }

    /// The content of each file after a crash.
    fn contents_at(&self, at: usize, random: &mut Random) -> HashMap<u64, Vec<u8>> {
        let mut edits: BTreeMap<u64, Edits<'_>> = BTreeMap::new();
        for (index, entry) in self.entries[..at].iter().enumerate() {
            match entry {
                Entry::Edit(file, edit) => edits.entry(*file).or_default().1.push((index, edit)),
                // Of what had begun before is nothing lost.
                Entry::Sync(node, upto) => {
                    let synced = &mut edits.entry(*node).or_default().0;
                    *synced = (*synced).max(*upto);
                }
                Entry::Names(..) => {}
            }
        }
        let of_all = random.one_in(3).then(|| Style::choose(random));
        let seed = random.next_u64();
        let mut contents = HashMap::new();
        for (file, (synced, edits)) in edits {
            let Node::File(first) = &self.nodes[file as usize] else { continue };
            // Each file has its own chances, whatever happens to others.
            let mut random = Random::new(seed ^ file.wrapping_mul(0xa076_1d64_78bd_642f));
            let mut content = first.clone();
            let (on_disk, pending) = edits.split_at(edits.partition_point(|(i, _)| *i < synced));
            for (_, edit) in on_disk {
                apply(&mut content, edit);
            }
            let style = of_all.unwrap_or_else(|| Style::choose(&mut random));
            let cut = random.below(pending.len() as u64 + 1) as usize;
            for (index, (_, edit)) in pending.iter().enumerate() {
                match style {
                    Style::Lost => {}
                    Style::Kept => apply(&mut content, edit),
                    Style::InOrder if index < cut => apply(&mut content, edit),
                    Style::InOrder if index == cut => tear(&mut content, edit, &mut random),
                    Style::InOrder => {}
                    Style::Any => match random.below(4) {
                        0 => {}
                        1 => tear(&mut content, edit, &mut random),
                        _ => apply(&mut content, edit),
                    },
                }
            }
            contents.insert(file, content);
        }
        contents
    }

    fn write(
        &self,
        node: u64,
        names: &HashMap<u64, BTreeMap<String, u64>>,
        contents: &HashMap<u64, Vec<u8>>,
        path: &Path,
    ) -> std::io::Result<()> {
        match &self.nodes[node as usize] {
            Node::File(first) => std::fs::write(path, contents.get(&node).unwrap_or(first)),
            Node::Dir(_) => {
                std::fs::create_dir_all(path)?;
                names.get(&node).into_iter().flatten().try_for_each(|(name, node)| {
                    self.write(*node, names, contents, &path.join(name))
                })
            }
        }
    }
}

fn set(dir: &mut BTreeMap<String, u64>, names: &Names) {
    for (name, node) in names {
        match node {
            Some(node) => dir.insert(name.clone(), *node),
            None => dir.remove(name),
        };
    }
}

fn put(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    if content.len() < at + bytes.len() {
        content.resize(at + bytes.len(), 0);
    }
    content[at..at + bytes.len()].copy_from_slice(bytes);
}

fn apply(content: &mut Vec<u8>, edit: &Edit) {
    match edit {
        Edit::Write { at, bytes } => put(content, *at as usize, bytes),
        Edit::Length(len) => content.resize(*len as usize, 0),
    }
}

/// Does a part of it.
fn tear(content: &mut Vec<u8>, edit: &Edit, random: &mut Random) {
    let Edit::Write { at, bytes } = edit else { return };
    let at = *at as usize;
    match random.below(3) {
        0 => put(content, at, &bytes[..random.below(bytes.len() as u64 + 1) as usize]),
        // Only the length.
        1 => content.resize(content.len().max(at + bytes.len()), 0),
        _ => {
            let mut from = 0;
            while from < bytes.len() {
                let to = bytes.len().min(PAGE - (at + from) % PAGE + from);
                if random.one_in(2) {
                    put(content, at + from, &bytes[from..to]);
                }
                from = to;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use crate::fs::disk::{Disk, Mode};
    use crate::testing::TempDir;

    /// All states that crashes at the end of `work` leave: names and contents.
    fn states(work: impl Fn(&Disk, &Path)) -> BTreeSet<Vec<(String, Vec<u8>)>> {
        let dir = TempDir::in_memory();
        let root = dir.path().join("live");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join("old"), "old").unwrap();
        let crash = Arc::new(CrashDisk::new(&root));
        work(&Disk::with_hook(crash.clone()), &root);
        let mut states = BTreeSet::new();
        for seed in 0..300 {
            let path = dir.path().join(format!("{seed}"));
            crash.crash(crash.position(), seed, &path);
            let mut state = Vec::new();
            list(&path, "", &mut state);
            state.sort();
            states.insert(state);
            let again = dir.path().join("again");
            crash.crash(crash.position(), seed, &again);
            let mut same = Vec::new();
            list(&again, "", &mut same);
            same.sort();
            assert!(states.contains(&same), "a seed gives one state");
            std::fs::remove_dir_all(again).unwrap();
        }
        states
    }

    fn list(path: &Path, prefix: &str, found: &mut Vec<(String, Vec<u8>)>) {
        for entry in std::fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type().unwrap().is_dir() {
                list(&entry.path(), &format!("{name}/"), found);
                found.push((name, Vec::new()));
            } else {
                found.push((name, std::fs::read(entry.path()).unwrap()));
            }
        }
    }

    fn write(disk: &Disk, path: &Path, bytes: &[u8], at: u64) {
        disk.open(path, Mode::Create).unwrap().write_all_at(bytes, at).unwrap();
    }

    #[test]
    fn what_is_synced_stays_and_what_is_not_may_be_there_in_any_part() {
        let all = states(|disk, root| {
            let file = disk.open(&root.join("new"), Mode::Create).unwrap();
            file.write_all_at(b"safe", 0).unwrap();
            file.sync().unwrap();
            disk.sync_dir(root).unwrap();
            file.write_all_at(b"12", 4).unwrap();
            file.write_all_at(b"34", 6).unwrap();
        });
        let contents: BTreeSet<&[u8]> = all.iter().map(|state| &state[0].1[..]).collect();
        assert!(all.iter().all(|state| state[0].0 == "new" && state[1].1 == b"old"));
        assert!(contents.iter().all(|content| content.starts_with(b"safe")), "{contents:?}");
        for expected in
            [&b"safe"[..], b"safe1", b"safe12", b"safe1234", b"safe\0\x0034", b"safe12\0\0"]
        {
            assert!(contents.contains(expected), "{expected:?} in {contents:?}");
        }
    }

    #[test]
    fn what_is_written_while_a_file_is_synced_need_not_be_part_of_it() {
        let all = states(|disk, root| {
            let file = disk.open(&root.join("old"), Mode::Write).unwrap();
            disk.tell(Change::SyncBegins { file: 1 });
            file.write_all_at(b"new", 0).unwrap();
            disk.tell(Change::Synced { file: 1 });
        });
        assert!(all.len() > 2, "{all:?}");
    }

    #[test]
    fn a_name_needs_the_sync_of_its_directory() {
        let names = |all: &BTreeSet<Vec<(String, Vec<u8>)>>| -> BTreeSet<Vec<String>> {
            all.iter().map(|state| state.iter().map(|(name, _)| name.clone()).collect()).collect()
        };
        // The data is synced, the name is not.
        let all = states(|disk, root| {
            write(disk, &root.join("new"), b"new", 0);
            disk.open(&root.join("new"), Mode::Write).unwrap().sync().unwrap();
        });
        assert_eq!(names(&all).len(), 2, "{all:?}");
        assert_eq!(all.len(), 2);
        // The name is synced, the data is not.
        let all = states(|disk, root| {
            write(disk, &root.join("new"), b"new", 0);
            disk.sync_dir(root).unwrap();
        });
        assert_eq!(names(&all).len(), 1);
        assert!(all.len() > 2);
        // A directory whose names are synced, and which has none itself.
        let all = states(|disk, root| {
            disk.create_dir_all(&root.join("a/b")).unwrap();
            disk.sync_dir(&root.join("a")).unwrap();
        });
        let expected = [vec!["a", "a/b", "old"], vec!["old"]];
        assert_eq!(
            names(&all),
            expected.map(|names| names.iter().map(|n| (*n).into()).collect()).into()
        );
    }

    #[test]
    fn a_rename_leaves_the_old_or_the_new() {
        let all = states(|disk, root| disk.write_atomic(&root.join("old"), b"new").unwrap());
        assert_eq!(all, [vec![("old".to_owned(), b"new".to_vec())]].into());
        // Without the sync of the directory either, without that of the file also less.
        let all = states(|disk, root| disk.replace_unsynced(&root.join("old"), b"new").unwrap());
        let contents: BTreeSet<&[u8]> =
            all.iter().flatten().filter(|(name, _)| name == "old").map(|(_, c)| &c[..]).collect();
        for expected in [&b"old"[..], b"new", b"", b"\0\0\0"] {
            assert!(contents.contains(expected), "{expected:?} in {contents:?}");
        }
        assert!(all.iter().all(|state| state.iter().any(|(name, _)| name == "old")));
    }

    #[test]
    fn removal_of_a_directory_may_be_there_in_part() {
        let all = states(|disk, root| {
            disk.create_dir_all(&root.join("d")).unwrap();
            write(disk, &root.join("d/1"), b"1", 0);
            write(disk, &root.join("d/2"), b"2", 0);
            disk.sync_dir(&root.join("d")).unwrap();
            disk.sync_dir(root).unwrap();
            disk.remove_dir_all(&root.join("d")).unwrap();
        });
        let names: BTreeSet<Vec<&str>> =
            all.iter().map(|state| state.iter().map(|(name, _)| name.as_str()).collect()).collect();
        for expected in [
            vec!["d", "d/1", "d/2", "old"],
            vec!["d", "d/1", "old"],
            vec!["d", "d/2", "old"],
            vec!["d", "old"],
            vec!["old"],
        ] {
            assert!(names.contains(&expected), "{expected:?} in {names:?}");
        }
    }
}
