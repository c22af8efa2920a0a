//! Whether a metadata log may be begun where the configuration puts it: looked at before a start
//! writes anything.
//!
//! A disk that is not mounted is an empty directory. Taken for a new one, it would make the node the
//! first of a new cluster, to which every partition on the other disks is a stray.

use std::io;
use std::path::Path;

use thalweg_log::{CLUSTER_METADATA_TOPIC, is_partition_dir};

const META_PROPERTIES: &str = "meta.properties";

/// Refuses to begin a metadata log in `metadata_dir` when the log directories show that there is, or
/// was, another one; says why and what to do.
///
/// Fine are directories that nobody used, and those that Kafka's `StorageTool` formatted: they have
/// `meta.properties` everywhere and no partitions.
pub(crate) fn check<P: AsRef<Path>>(log_dirs: &[P], metadata_dir: &Path) -> Result<(), String> {
    let folder = format!("{CLUSTER_METADATA_TOPIC}-0");
    let log_dirs = || log_dirs.iter().map(AsRef::as_ref);
    let others = || log_dirs().filter(|dir| !is_same(dir, metadata_dir));
    let here = metadata_dir.display();
    for other in others() {
        // An older one would be forgotten without a word, and with it all topics.
        if exists(&other.join(&folder))? {
            return Err(format!(
                "{} holds a metadata log, but metadata.log.dir is {here}",
                other.display()
            ));
        }
    }
    if exists(&metadata_dir.join(&folder))? {
        return Ok(());
    }
    let put_right = "if that is a disk which is not mounted, mount it; to begin anew, empty the log \
                     directories first";
    for dir in log_dirs() {
        if let Some(partition) = some_partition(dir) {
            return Err(format!(
                "{here} holds no metadata log ({folder}), but {} holds partitions, such as \
                 {partition}, of which a new cluster would know nothing: {put_right}",
                dir.display()
            ));
        }
    }
    if exists(&metadata_dir.join(META_PROPERTIES))? {
        return Ok(());
    }
    for other in others() {
        if exists(&other.join(META_PROPERTIES))? {
            return Err(format!(
                "{here} was never used, but {} has belonged to a node before, by its \
                 {META_PROPERTIES}, and the node's metadata log is nowhere: {put_right}",
                other.display()
            ));
        }
    }
    Ok(())
}

/// Never takes what cannot be looked at for missing, nor what a link leads to that is not there.
fn exists(path: &Path) -> Result<bool, String> {
    match path.try_exists() {
        Ok(false) if path.is_symlink() => {
            Err(format!("{} is a link to what is not there", path.display()))
        }
        // A log directory below a file: taking it into use will say so.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(false),
        known => known.map_err(|error| format!("{}: {error}", path.display())),
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    let canonical = |path: &Path| path.canonicalize().ok();
    one == other || canonical(one).is_some_and(|path| canonical(other) == Some(path))
}

fn some_partition(dir: &Path) -> Option<String> {
    // One that cannot be read will be offline, and nothing in it is touched.
    let mut entries = std::fs::read_dir(dir).ok()?.filter_map(Result::ok);
    entries.find_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        // A link that leads nowhere counts: its disk may not be mounted.
        let is_dir = entry.path().is_dir() || entry.path().is_symlink();
        (is_partition_dir(&name) && is_dir).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;

    /// Directories "a", the metadata's, and "b", with what is in them.
    fn checked(name: &str, entries: &[&str]) -> Result<(), String> {
        let root = format!("thalweg-place-{name}-{}", std::process::id());
        let root = std::env::temp_dir().join(root);
        let _ = fs::remove_dir_all(&root);
        for dir in ["a", "b"] {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        for entry in entries {
            match entry.contains('.') {
                true => fs::write(root.join(entry), "").unwrap(),
                false => fs::create_dir(root.join(entry)).unwrap(),
            }
        }
        let dirs: [PathBuf; 2] = [root.join("a"), root.join("b")];
        let result = check(&dirs, &dirs[0]);
        fs::remove_dir_all(&root).unwrap();
        result
    }

    #[test]
    fn what_may_begin() {
        assert_eq!(checked("new", &[]), Ok(()));
        let formatted = ["a/meta.properties", "a/bootstrap.checkpoint", "b/meta.properties"];
        assert_eq!(checked("formatted", &formatted), Ok(()));
        // A start that died before it came to the others.
        assert_eq!(checked("begun", &["a/meta.properties"]), Ok(()));
        assert_eq!(checked("used", &["a/__cluster_metadata-0", "a/t-0", "b/t-1"]), Ok(()));
        assert_eq!(checked("new-disk", &["a/__cluster_metadata-0", "b/meta.properties"]), Ok(()));
        assert_eq!(checked("others", &["b/lost+found", "b/notes-1.txt"]), Ok(()));
    }

    /// The disks that links lead to may not be mounted.
    #[test]
    fn links_that_lead_nowhere_are_not_taken_for_missing() {
        let root = std::env::temp_dir().join(format!("thalweg-place-links-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let (a, b) = (root.join("a"), root.join("b"));
        fs::create_dir_all(&a).unwrap();
        fs::create_dir_all(&b).unwrap();
        let dirs = [a.clone(), b.clone()];
        symlink(root.join("away"), a.join("__cluster_metadata-0")).unwrap();
        let error = check(&dirs, &a).unwrap_err();
        assert!(error.contains("__cluster_metadata-0 is a link to what is not there"), "{error}");
        fs::remove_file(a.join("__cluster_metadata-0")).unwrap();
        symlink(root.join("away"), b.join("t-0")).unwrap();
        let error = check(&dirs, &a).unwrap_err();
        assert!(error.contains("/b holds partitions, such as t-0"), "{error}");
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn what_would_be_forgotten() {
        let error = checked("unmounted", &["b/meta.properties", "b/my-topic-3"]).unwrap_err();
        assert!(error.contains("/a holds no metadata log"), "{error}");
        assert!(error.contains("/b holds partitions, such as my-topic-3"), "{error}");
        let error = checked("lost", &["a/meta.properties", "a/t-0"]).unwrap_err();
        assert!(error.contains("/a holds partitions, such as t-0"), "{error}");
        let error = checked("idle", &["b/meta.properties"]).unwrap_err();
        assert!(error.contains("/a was never used, but") && error.contains("/b has"), "{error}");
        let error = checked("moved", &["b/__cluster_metadata-0"]).unwrap_err();
        assert!(error.contains("/b holds a metadata log, but"), "{error}");
    }
}
