//! Every file operation of this crate, in one place.
//!
//! Production code pays one branch for [`FaultHook`]; tests put a hook in and get errors, torn
//! writes and slow calls where they want them. Nothing here retries an operation that failed,
//! except for a call interrupted by a signal: after a failed `fsync` the page cache may already
//! have dropped the data, and asking again would answer a lie. An open for which the system has no
//! descriptor or no memory is another matter: it says nothing about the disk and may be repeated by
//! the caller ([`is_exhausted`]).

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::io::ReadWriteFlags;

use crate::fs::file_pool::Held;

/// What is about to be done to a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DiskOp {
    /// Opening, and creating where that was asked for.
    Open,
    /// Reading at a position, or a whole small file.
    Read,
    /// Reading at a position what the page cache holds, without waiting. A hook that fails it with
    /// `WouldBlock` makes a cold page of it.
    ReadCached,
    /// Writing at a position, or a whole small file.
    Write,
    /// `fdatasync` or `fsync` of a file.
    Sync,
    /// `fsync` of a directory.
    SyncDir,
    /// Changing a file's length.
    Truncate,
    /// Renaming a file or directory.
    Rename,
    /// Unlinking a file or removing a directory.
    Remove,
    /// Making a directory.
    CreateDir,
    /// Reading a directory's entries.
    List,
}

/// What a [`FaultHook`] makes of an operation.
#[derive(Debug)]
pub enum Injected {
    /// Carry on.
    Nothing,
    /// Fail with this error, having done nothing.
    Fail(io::Error),
    /// Write only so many bytes and then fail with the error: a torn write.
    Torn(usize, io::Error),
    /// Do only so many bytes of this one system call; the caller has to go on from there.
    Short(usize),
}

/// Sees every operation before it is done. A hook that sleeps makes the disk slow.
pub trait FaultHook: Send + Sync {
    /// Called with the operation, its path and the bytes it is about.
    fn before(&self, op: DiskOp, path: &Path, len: usize) -> Injected;

    /// Who keeps a record of every change, if anybody does. It is locked from before a change is
    /// made until it has heard of it, so that it hears of changes in the order they were made.
    fn record(&self) -> Option<&Mutex<dyn Record>> {
        None
    }
}

/// Hears of changes that were made, not of those that failed.
pub trait Record: Send {
    /// A file is open, made if it was missing; what it is called in [`Change`]s, also once it was
    /// renamed or unlinked.
    fn opened(&mut self, path: &Path) -> u64;
    /// Something else was changed, or flushed.
    fn changed(&mut self, change: Change<'_>);
}

/// A change that was made to a file or a directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Change<'a> {
    /// Bytes were written at a position.
    Written { file: u64, at: u64, bytes: &'a [u8] },
    /// A file has this length now.
    Length { file: u64, len: u64 },
    /// `fdatasync` of a file begins: what is written from here on need not be part of it.
    SyncBegins { file: u64 },
    /// `fdatasync` of a file that this thread began has succeeded.
    Synced { file: u64 },
    /// `fsync` of a directory begins.
    DirSyncBegins { path: &'a Path },
    /// `fsync` of a directory that this thread began has succeeded.
    DirSynced { path: &'a Path },
    /// A file or directory has another name.
    Renamed { from: &'a Path, to: &'a Path },
    /// A file was unlinked.
    Removed { path: &'a Path },
    /// A directory was removed with everything below it, or some of it, up to an error.
    TreeRemoved { path: &'a Path },
    /// A directory was made, with those above it that were missing.
    DirMade { path: &'a Path },
}

/// Access to files, through the hook if there is one.
#[derive(Clone, Default)]
pub struct Disk {
    hook: Option<Arc<dyn FaultHook>>,
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disk").field("hooked", &self.hook.is_some()).finish()
    }
}

/// Fills `buf` with what `read` gives from `at` on; an early end is `UnexpectedEof`.
fn fill(
    buf: &mut [u8],
    at: u64,
    read: impl Fn(&mut [u8], u64) -> io::Result<usize>,
) -> io::Result<()> {
    let mut done = 0;
    while done < buf.len() {
        match read(&mut buf[done..], at + done as u64)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => done += n,
        }
    }
    Ok(())
}

fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Ok(value) => return Ok(value),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// The system had no descriptor, or no memory, for an open.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
struct Exhausted {
    error: io::Error,
    /// The descriptor was there, and is kept for others.
    is_kept: bool,
}

/// Whether an open failed for lack of descriptors or memory. Only opens do: what is said of a read,
/// a write or a sync is said of the disk.
pub(crate) fn is_exhausted(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Exhausted>())
}

/// The error of an open that is not tried, because the descriptors that there are are kept for others.
pub(crate) fn kept(reason: &'static str) -> io::Error {
    let error = io::Error::other(reason);
    io::Error::new(error.kind(), Exhausted { error, is_kept: true })
}

/// Whether an open was not tried, see [`kept`].
pub(crate) fn is_kept(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Exhausted>());
    inner.is_some_and(|exhausted| exhausted.is_kept)
}

/// The result of something that opens a file or a directory, and does nothing else that could fail
/// for the same reasons and leave something behind.
fn opening<T>(result: io::Result<T>) -> io::Result<T> {
    use rustix::io::Errno;
    const EXHAUSTED: [Errno; 3] = [Errno::MFILE, Errno::NFILE, Errno::NOMEM];
    result.map_err(|error| {
        let errno = error.raw_os_error();
        match EXHAUSTED.iter().any(|code| Some(code.raw_os_error()) == errno) {
            true => io::Error::new(error.kind(), Exhausted { error, is_kept: false }),
            false => error,
        }
    })
}

/// How a file is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// For reading; must exist.
    Read,
    /// For reading and writing; must exist.
    Write,
    /// For reading and writing; made if it is missing.
    Create,
}

impl Disk {
    /// With a hook that sees every operation.
    pub fn with_hook(hook: Arc<dyn FaultHook>) -> Disk {
        Disk { hook: Some(hook) }
    }

    fn inject(&self, op: DiskOp, path: &Path, len: usize) -> io::Result<usize> {
        match &self.hook {
            None => Ok(len),
            Some(hook) => match hook.before(op, path, len) {
                Injected::Nothing => Ok(len),
                Injected::Fail(error) | Injected::Torn(_, error) => Err(error),
                Injected::Short(n) => Ok(n.min(len)),
            },
        }
    }

    /// Makes a change, and tells who keeps a record of them.
    fn change<T>(
        &self,
        make: impl FnOnce() -> io::Result<T>,
        tell: impl FnOnce(&mut dyn Record, &T),
    ) -> io::Result<T> {
        let Some(record) = self.hook.as_deref().and_then(FaultHook::record) else { return make() };
        let mut record = record.lock();
        let made = make()?;
        tell(&mut *record, &made);
        Ok(made)
    }

    /// Tells who keeps a record of changes.
    pub(crate) fn tell(&self, change: Change<'_>) {
        if let Some(record) = self.hook.as_deref().and_then(FaultHook::record) {
            record.lock().changed(change);
        }
    }

    /// Opens a file.
    pub fn open(&self, path: &Path, mode: Mode) -> io::Result<OpenFile> {
        opening(self.inject(DiskOp::Open, path, 0))?;
        let mut options = OpenOptions::new();
        options.read(true);
        match mode {
            Mode::Read => {}
            Mode::Write => {
                options.write(true);
            }
            Mode::Create => {
                options.write(true).create(true).truncate(false);
            }
        }
        let mut id = 0;
        let opened = self.change(|| options.open(path), |record, _| id = record.opened(path));
        let file = opening(opened)?;
        Ok(OpenFile { file, _held: None, path: path.into(), disk: self.clone(), id })
    }

    /// The whole of a small file; `None` if there is none.
    pub fn read_small(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        opening(self.inject(DiskOp::Read, path, 0))?;
        match opening(std::fs::read(path)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a whole file, replaced if it is there, and flushes its content; its name is
    /// there once the directory was synced.
    pub fn create_synced(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let file = self.open(path, Mode::Create)?;
        file.set_len(0)?;
        file.write_all_at(content, 0)?;
        file.sync()
    }

    /// Replaces a small file so that after a crash either the old or the new content is there.
    pub fn write_atomic(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let mut name = path.as_os_str().to_owned();
        name.push(".tmp");
        let tmp = Path::new(&name);
        self.create_synced(tmp, content)?;
        self.rename(tmp, path)?;
        match path.parent() {
            Some(parent) => self.sync_dir(parent),
            None => Ok(()),
        }
    }

    /// Replaces a small file so that after the death of the process either the old or the new
    /// content is there. After a power cut the file may be empty until it is synced.
    pub(crate) fn replace_unsynced(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let mut name = path.as_os_str().to_owned();
        name.push(".tmp");
        let tmp = Path::new(&name);
        let file = self.open(tmp, Mode::Create)?;
        file.set_len(0)?;
        file.write_all_at(content, 0)?;
        self.rename(tmp, path)
    }

    /// Renames a file or directory.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inject(DiskOp::Rename, from, 0)?;
        self.change(
            || std::fs::rename(from, to),
            |record, ()| record.changed(Change::Renamed { from, to }),
        )
    }

    /// Renames if the file is there; says whether it was.
    pub(crate) fn rename_if_exists(&self, from: &Path, to: &Path) -> io::Result<bool> {
        match self.rename(from, to) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Unlinks if the file is there; says whether it was.
    pub fn remove_file(&self, path: &Path) -> io::Result<bool> {
        self.inject(DiskOp::Remove, path, 0)?;
        let removed = self.change(
            || std::fs::remove_file(path),
            |record, ()| record.changed(Change::Removed { path }),
        );
        match removed {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes a directory with everything in it, if it is there.
    ///
    /// A link goes with everything in the directory that it leads to. Kafka deletes the segments of such a partition
    /// and leaves its small files. The emptied directory stays, because it may be a mount point.
    pub fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        opening(self.inject(DiskOp::Remove, path, 0))?;
        // Where it fails, part of it is gone.
        let removed = self.change(
            || Ok(remove_tree(path)),
            |record, _| record.changed(Change::TreeRemoved { path }),
        )?;
        match opening(removed) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Makes a directory, and those above it that are missing.
    pub fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.inject(DiskOp::CreateDir, path, 0)?;
        self.change(
            || std::fs::create_dir_all(path),
            |record, ()| record.changed(Change::DirMade { path }),
        )
    }

    /// Flushes the names in a directory.
    pub fn sync_dir(&self, path: &Path) -> io::Result<()> {
        opening(self.inject(DiskOp::Open, path, 0))?;
        let dir = opening(File::open(path))?;
        self.inject(DiskOp::SyncDir, path, 0)?;
        self.tell(Change::DirSyncBegins { path });
        dir.sync_all()?;
        self.tell(Change::DirSynced { path });
        Ok(())
    }

    /// Names of the files and directories in a directory, unsorted. Links are followed, as Kafka follows them.
    pub fn list(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        opening(self.inject(DiskOp::List, path, 0))?;
        let mut entries = Vec::new();
        for entry in opening(std::fs::read_dir(path))? {
            let entry = entry?;
            // A name that is not UTF-8 is none of ours.
            let Ok(name) = entry.file_name().into_string() else { continue };
            let kind = entry.file_type()?;
            let (is_dir, broken) = match kind.is_symlink() {
                true => match opening(std::fs::metadata(entry.path())) {
                    Ok(target) => (target.is_dir(), None),
                    Err(error) if is_exhausted(&error) => return Err(error),
                    Err(error) => (false, Some(error)),
                },
                false => (kind.is_dir(), None),
            };
            entries.push(DirEntry { name, is_dir, broken });
        }
        Ok(entries)
    }

    /// Whether a directory has this name in it, be it of a link that leads nowhere.
    pub(crate) fn has_name(&self, path: &Path) -> io::Result<bool> {
        match std::fs::symlink_metadata(path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn len(&self, path: &Path) -> io::Result<Option<u64>> {
        match std::fs::metadata(path) {
            Ok(metadata) => Ok(Some(metadata.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// What [`Disk::list`] tells of one entry.
#[derive(Debug)]
pub struct DirEntry {
    /// Its name.
    pub name: String,
    /// Whether it is a directory, or a link to one.
    pub is_dir: bool,
    /// Why a link cannot be followed, if so. It may lead to a disk that is not mounted.
    pub broken: Option<io::Error>,
}

impl DirEntry {
    /// Whether it is a directory. A link that cannot be followed is an error: what it leads to is not known, and must
    /// not be taken for missing.
    pub(crate) fn is_partition(&self) -> io::Result<bool> {
        match &self.broken {
            Some(error) => {
                let reason = format!("{} is a link that cannot be followed: {error}", self.name);
                Err(io::Error::new(error.kind(), reason))
            }
            None => Ok(self.is_dir),
        }
    }
}

fn remove_tree(path: &Path) -> io::Result<()> {
    if !std::fs::symlink_metadata(path)?.is_symlink() {
        return std::fs::remove_dir_all(path);
    }
    match std::fs::read_dir(path) {
        Ok(entries) => {
            for entry in entries {
                let entry = entry?;
                match entry.file_type()?.is_dir() {
                    true => std::fs::remove_dir_all(entry.path())?,
                    false => std::fs::remove_file(entry.path())?,
                }
            }
        }
        // It leads nowhere, or to a file.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
        Err(error) => return Err(error),
    }
    std::fs::remove_file(path)
}

/// A file held open. Reads and writes carry their position; there is no cursor.
#[derive(Debug)]
pub struct OpenFile {
    file: File,
    /// Where it is counted, of a log file.
    _held: Option<Held>,
    path: Box<Path>,
    disk: Disk,
    /// What [`Record`] calls it.
    id: u64,
}

impl std::os::fd::AsFd for OpenFile {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl std::os::fd::AsRawFd for OpenFile {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.file.as_raw_fd()
    }
}

impl OpenFile {
    /// The same, counted for as long as it is open.
    pub(crate) fn counted(self, held: Held) -> OpenFile {
        OpenFile { _held: Some(held), ..self }
    }

    /// The path it was opened under; the file may have been renamed since.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads up to `buf.len()` bytes at `at`; waits for the disk. 0 is the end of the file.
    pub fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        let len = self.disk.inject(DiskOp::Read, &self.path, buf.len())?;
        retry(|| rustix::io::pread(&self.file, &mut buf[..len], at))
    }

    /// Fills `buf` from `at`; an early end of the file is `UnexpectedEof`.
    pub fn read_exact_at(&self, buf: &mut [u8], at: u64) -> io::Result<()> {
        fill(buf, at, |buf, at| self.read_at(buf, at))
    }

    /// Reads what the page cache holds of `buf.len()` bytes at `at`, without waiting for the
    /// disk: possibly fewer bytes, `WouldBlock` if none. 0 is the end of the file. On a file
    /// system that cannot tell, it reads as [`Self::read_at`] does.
    pub fn read_nowait(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        let len = self.disk.inject(DiskOp::ReadCached, &self.path, buf.len())?;
        let outcome = retry(|| {
            let mut bufs = [IoSliceMut::new(&mut buf[..len])];
            rustix::io::preadv2(&self.file, &mut bufs, at, ReadWriteFlags::NOWAIT)
        });
        match outcome {
            Err(error)
                if error.raw_os_error() == Some(rustix::io::Errno::OPNOTSUPP.raw_os_error())
                    || error.raw_os_error() == Some(rustix::io::Errno::NOSYS.raw_os_error()) =>
            {
                self.read_at(buf, at)
            }
            other => other,
        }
    }

    /// Fills `buf` from what the page cache holds at `at`; `WouldBlock` if some of it is missing.
    pub(crate) fn read_exact_nowait(&self, buf: &mut [u8], at: u64) -> io::Result<()> {
        fill(buf, at, |buf, at| self.read_nowait(buf, at))
    }

    /// Whether there are only zeros between two places. What was never written is not read.
    pub(crate) fn is_zero_from(&self, from: u64, to: u64) -> io::Result<bool> {
        let mut at = match rustix::fs::seek(&self.file, rustix::fs::SeekFrom::Data(from)) {
            Ok(data) => data,
            Err(rustix::io::Errno::NXIO) => return Ok(true),
            // A file system that cannot tell.
            Err(_) => from,
        };
        let mut chunk = [0u8; 16 << 10];
        while at < to {
            let len = usize::try_from(to - at).unwrap_or(chunk.len()).min(chunk.len());
            self.read_exact_at(&mut chunk[..len], at)?;
            if chunk[..len].iter().any(|&byte| byte != 0) {
                return Ok(false);
            }
            at += len as u64;
        }
        Ok(true)
    }

    /// Writes all of `bytes` from position `at` on.
    pub fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            let rest = &bytes[done..];
            let (len, then) = self.inject_write(rest.len())?;
            match self.write_once(&rest[..len], at + done as u64)? {
                0 if len > 0 => return Err(io::ErrorKind::WriteZero.into()),
                n => done += n,
            }
            if let Some(error) = then {
                return Err(error);
            }
        }
        Ok(())
    }

    /// One system call.
    fn write_once(&self, bytes: &[u8], at: u64) -> io::Result<usize> {
        self.disk.change(
            || retry(|| rustix::io::pwrite(&self.file, bytes, at)),
            |record, &n| {
                record.changed(Change::Written { file: self.id, at, bytes: &bytes[..n] });
            },
        )
    }

    /// One `pwritev` in the ordinary case; what it leaves is written buffer by buffer.
    pub(crate) fn write_vectored_at(&self, bufs: &[IoSlice<'_>], at: u64) -> io::Result<()> {
        let total: usize = bufs.iter().map(|buf| buf.len()).sum();
        let (len, then) = self.inject_write(total)?;
        let upto = if then.is_some() { len } else { total };
        let mut done = if len == total && then.is_none() {
            self.disk.change(
                || retry(|| rustix::io::pwritev(&self.file, bufs, at)),
                |record, &n| {
                    let mut bytes: Vec<u8> =
                        bufs.iter().flat_map(|buf| buf.iter().copied()).collect();
                    bytes.truncate(n);
                    record.changed(Change::Written { file: self.id, at, bytes: &bytes });
                },
            )?
        } else {
            0
        };
        let mut begins = 0usize;
        for buf in bufs {
            let end = buf.len().min(upto.saturating_sub(begins));
            let mut from = done.saturating_sub(begins);
            while from < end {
                let position = at + (begins + from) as u64;
                match self.write_once(&buf[from..end], position)? {
                    0 => return Err(io::ErrorKind::WriteZero.into()),
                    n => from += n,
                }
            }
            begins += buf.len();
            done = done.max(begins.min(upto));
        }
        match then {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// How many bytes to write now, and the error to end with after them.
    fn inject_write(&self, len: usize) -> io::Result<(usize, Option<io::Error>)> {
        match &self.disk.hook {
            None => Ok((len, None)),
            Some(hook) => match hook.before(DiskOp::Write, &self.path, len) {
                Injected::Nothing => Ok((len, None)),
                Injected::Fail(error) => Err(error),
                Injected::Torn(n, error) => Ok((n.min(len), Some(error))),
                Injected::Short(n) => Ok((n.clamp(1, len.max(1)), None)),
            },
        }
    }

    /// Flushes data and length.
    pub fn sync(&self) -> io::Result<()> {
        self.disk.inject(DiskOp::Sync, &self.path, 0)?;
        self.disk.tell(Change::SyncBegins { file: self.id });
        retry(|| rustix::fs::fdatasync(&self.file))?;
        self.disk.tell(Change::Synced { file: self.id });
        Ok(())
    }

    /// Cuts the file off, or makes it longer by zeros.
    pub fn set_len(&self, len: u64) -> io::Result<()> {
        self.disk.inject(DiskOp::Truncate, &self.path, 0)?;
        self.change_len(len, || self.file.set_len(len))
    }

    fn change_len(&self, len: u64, make: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        self.disk.change(make, |record, ()| {
            record.changed(Change::Length { file: self.id, len });
        })
    }

    /// Reserves blocks so that later writes cannot run out of space.
    pub(crate) fn allocate(&self, len: u64) -> io::Result<()> {
        self.disk.inject(DiskOp::Truncate, &self.path, 0)?;
        let flags = rustix::fs::FallocateFlags::empty();
        let outcome =
            self.change_len(len, || retry(|| rustix::fs::fallocate(&self.file, flags, 0, len)));
        match outcome {
            // Where blocks cannot be reserved the length alone is set, which is all Kafka does.
            Err(error)
                if error.raw_os_error() == Some(rustix::io::Errno::OPNOTSUPP.raw_os_error()) =>
            {
                self.change_len(len, || self.file.set_len(len))
            }
            other => other,
        }
    }

    /// Sets when the file was last changed, in milliseconds since 1970. Not flushed.
    pub(crate) fn set_modified(&self, at_ms: i64) -> io::Result<()> {
        let since = std::time::Duration::from_millis(u64::try_from(at_ms).unwrap_or(0));
        self.file.set_modified(std::time::UNIX_EPOCH + since)
    }

    /// The file's length now.
    pub fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Whether the file is empty now.
    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

pub(crate) fn mtime_ms(metadata: &std::fs::Metadata) -> i64 {
    match metadata.modified().map(|at| at.duration_since(std::time::UNIX_EPOCH)) {
        Ok(Ok(since)) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        _ => 0,
    }
}
