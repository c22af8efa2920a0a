//! Taking a log directory into use: it is made, locked, and checked to be this node's.

use std::io;
use std::path::Path;

use thalweg_wire::Uuid;

use crate::format::meta_properties::MetaProperties;
use crate::fs::names;
use crate::fs::random::random_uuid;
use crate::partition::dir::LogDir;
use crate::store::error::OpenError;

/// Makes the directory if it is missing and locks it.
pub(crate) fn take(dir: &LogDir) -> Result<(), OpenError> {
    let (disk, path) = (&dir.disk, dir.path());
    let prepared = (|| {
        if disk.len(path)?.is_none() {
            disk.create_dir_all(path)?;
            if let Some(parent) = path.parent()
                && !parent.as_os_str().is_empty()
            {
                disk.sync_dir(parent)?;
            }
        }
        // Also what tells that it is a directory, and readable.
        disk.list(path)?;
        dir.lock()
    })();
    match prepared {
        Ok(true) => Ok(()),
        Ok(false) => Err(OpenError::Locked(path.to_path_buf())),
        Err(error) => unusable(dir, "use log directory", path, &error),
    }
}

/// Reads `meta.properties`, or writes it where there is none, and checks that the directory
/// is this node's.
pub(crate) fn identify(
    dir: &LogDir,
    node_id: i32,
    cluster_id: Option<&str>,
) -> Result<Option<MetaProperties>, OpenError> {
    let path = dir.path().join(names::META_PROPERTIES);
    let refuse = |reason: String| OpenError::MetaProperties { path: path.clone(), reason };
    let bytes = match dir.disk.read_small(&path) {
        Ok(bytes) => bytes,
        Err(error) => {
            unusable(dir, "read", &path, &error)?;
            return Ok(None);
        }
    };
    let mut meta = match bytes {
        Some(bytes) => MetaProperties::parse(&bytes).map_err(refuse)?,
        None => {
            let cluster_id = cluster_id.ok_or_else(|| {
                refuse("the directory is not formatted and no cluster id is known".into())
            })?;
            let mut meta = MetaProperties::new(cluster_id, node_id, Uuid::ZERO);
            meta.directory_id = None;
            meta
        }
    };
    if meta.node_id != node_id {
        return Err(refuse(format!(
            "node.id is {}, but this node is configured as {node_id}",
            meta.node_id
        )));
    }
    if let Some(cluster_id) = cluster_id
        && meta.cluster_id != cluster_id
    {
        return Err(refuse(format!(
            "cluster.id is {:?}, but this node belongs to {cluster_id:?}",
            meta.cluster_id
        )));
    }
    if meta.directory_id.is_none() {
        meta.directory_id = Some(random_uuid());
        if let Err(error) = dir.disk.write_atomic(&path, &meta.format()) {
            unusable(dir, "write", &path, &error)?;
            return Ok(None);
        }
    }
    if let Some(id) = meta.directory_id {
        dir.set_id(id);
    }
    Ok(Some(meta))
}

/// The directory cannot be taken into use: it is offline, or the start has to be repeated.
fn unusable(dir: &LogDir, action: &str, path: &Path, error: &io::Error) -> Result<(), OpenError> {
    let failure = dir.failure_of(action, path, error);
    match failure.is_retriable {
        true => Err(OpenError::exhausted(&failure)),
        false => Ok(()),
    }
}
