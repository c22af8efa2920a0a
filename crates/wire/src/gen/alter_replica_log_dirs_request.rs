//! AlterReplicaLogDirsRequest, versions 1 to 2.

use super::prelude::*;

/// `AlterReplicaLogDirsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AlterReplicaLogDirsRequest {
    pub dirs: Vec<AlterReplicaLogDir>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AlterReplicaLogDirsRequest {
    fn default() -> Self {
        Self { dirs: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl AlterReplicaLogDirsRequest {
    #[allow(unused_variables, clippy::field_reassign_with_default)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let mut m = Self::default();
        m.dirs = r.vec(flex, |r| AlterReplicaLogDir::read(r, version))?;
        if flex {
            let mut unknown_tags = RawTags::default();
            r.tags(Some(&mut unknown_tags), |_, _| Ok(false))?;
            m.unknown_tags = unknown_tags;
        }
        Ok(m)
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.array(flex, Some(&self.dirs[..]), |w, v| v.write(w, version))?;
        if flex {
            w.raw_tags(&self.unknown_tags)?;
        } else if self.unknown_tags.len() > 0 {
            return Err(EncodeError::NotInVersion {
                message: "AlterReplicaLogDirsRequest",
                field: "unknown_tags",
                version,
            });
        }
        Ok(())
    }
}

#[cfg(feature = "json")]
impl AlterReplicaLogDirsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("dirs".into(), {
            let v = &self.dirs;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `AlterReplicaLogDir`, part of AlterReplicaLogDirsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AlterReplicaLogDir {
    pub path: String,
    pub topics: Vec<AlterReplicaLogDirTopic>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AlterReplicaLogDir {
    fn default() -> Self {
        Self { path: String::new(), topics: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl AlterReplicaLogDir {
    #[allow(unused_variables, clippy::field_reassign_with_default)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let mut m = Self::default();
        m.path = r.string(flex)?;
        m.topics = r.vec(flex, |r| AlterReplicaLogDirTopic::read(r, version))?;
        if flex {
            let mut unknown_tags = RawTags::default();
            r.tags(Some(&mut unknown_tags), |_, _| Ok(false))?;
            m.unknown_tags = unknown_tags;
        }
        Ok(m)
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.string(flex, &self.path)?;
        w.array(flex, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        if flex {
            w.raw_tags(&self.unknown_tags)?;
        } else if self.unknown_tags.len() > 0 {
            return Err(EncodeError::NotInVersion {
                message: "AlterReplicaLogDir",
                field: "unknown_tags",
                version,
            });
        }
        Ok(())
    }
}

#[cfg(feature = "json")]
impl AlterReplicaLogDir {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("path".into(), {
            let v = &self.path;
            v.as_str().into()
        });
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `AlterReplicaLogDirTopic`, part of AlterReplicaLogDirsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AlterReplicaLogDirTopic {
    pub name: String,
    pub partitions: Vec<i32>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AlterReplicaLogDirTopic {
    fn default() -> Self {
        Self {
            name: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl AlterReplicaLogDirTopic {
    #[allow(unused_variables, clippy::field_reassign_with_default)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let mut m = Self::default();
        m.name = r.string(flex)?;
        m.partitions = r.vec(flex, |r| r.i32())?;
        if flex {
            let mut unknown_tags = RawTags::default();
            r.tags(Some(&mut unknown_tags), |_, _| Ok(false))?;
            m.unknown_tags = unknown_tags;
        }
        Ok(m)
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.string(flex, &self.name)?;
        w.array(flex, Some(&self.partitions[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        if flex {
            w.raw_tags(&self.unknown_tags)?;
        } else if self.unknown_tags.len() > 0 {
            return Err(EncodeError::NotInVersion {
                message: "AlterReplicaLogDirTopic",
                field: "unknown_tags",
                version,
            });
        }
        Ok(())
    }
}

#[cfg(feature = "json")]
impl AlterReplicaLogDirTopic {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert("partitions".into(), {
            let v = &self.partitions;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

impl Message for AlterReplicaLogDirsRequest {
    const NAME: &'static str = "AlterReplicaLogDirsRequest";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 2;
    const FLEXIBLE_FROM: i16 = 2;
    fn decode(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        Self::check_version(version)?;
        Self::read(r, version)
    }
    fn encode(&self, w: &mut Writer, version: i16) -> Encoded {
        Self::check_written_version(version)?;
        self.write(w, version)
    }
}

#[cfg(feature = "json")]
impl crate::json::ToJson for AlterReplicaLogDirsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for AlterReplicaLogDirsRequest {
    const API_KEY: ApiKey = ApiKey(34);
    type Response = super::alter_replica_log_dirs_response::AlterReplicaLogDirsResponse;
}
