//! UpdateRaftVoterResponse, versions 0 to 0.

use super::prelude::*;

/// `UpdateRaftVoterResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct UpdateRaftVoterResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub current_leader: CurrentLeader,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for UpdateRaftVoterResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            current_leader: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl UpdateRaftVoterResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let throttle_time_ms = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let mut current_leader = Default::default();
        let mut unknown_tags = RawTags::default();
        {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        current_leader = CurrentLeader::read(r, version)?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self { throttle_time_ms, error_code, current_leader, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        let mut count = self.unknown_tags.len();
        let tag_0 = self.current_leader != Default::default();
        count += usize::from(tag_0);
        w.uvarint(count as u32);
        if count > 0 {
            let mut raw = self.unknown_tags.as_slice();
            w.raw_tags_below(Some(0), &mut raw)?;
            if tag_0 {
                let at = w.begin_tag(0);
                self.current_leader.write(w, version)?;
                w.end_tag(at);
            }
            w.raw_tags_below(None, &mut raw)?;
        }

        Ok(())
    }
}

#[cfg(feature = "json")]
impl UpdateRaftVoterResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        if self.current_leader != Default::default() {
            o.insert("currentLeader".into(), {
                let v = &self.current_leader;
                v.json(version)
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `CurrentLeader`, part of UpdateRaftVoterResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct CurrentLeader {
    pub leader_id: i32,
    pub leader_epoch: i32,
    pub host: String,
    pub port: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for CurrentLeader {
    fn default() -> Self {
        Self {
            leader_id: -1,
            leader_epoch: -1,
            host: String::new(),
            port: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl CurrentLeader {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let leader_id = r.i32()?;
        let leader_epoch = r.i32()?;
        let host = r.string(true)?;
        let port = r.i32()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { leader_id, leader_epoch, host, port, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 8];
        b[0..4].copy_from_slice(&self.leader_id.to_be_bytes());
        b[4..8].copy_from_slice(&self.leader_epoch.to_be_bytes());
        w.raw(&b);
        w.string(true, &self.host)?;
        w.i32(self.port);
        w.unknown_tags(true, &self.unknown_tags, "CurrentLeader", version)
    }
}

#[cfg(feature = "json")]
impl CurrentLeader {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("leaderId".into(), {
            let v = &self.leader_id;
            (*v).into()
        });
        o.insert("leaderEpoch".into(), {
            let v = &self.leader_epoch;
            (*v).into()
        });
        o.insert("host".into(), {
            let v = &self.host;
            v.as_str().into()
        });
        o.insert("port".into(), {
            let v = &self.port;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for UpdateRaftVoterResponse {
    const NAME: &'static str = "UpdateRaftVoterResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 0;
    const FLEXIBLE_FROM: i16 = 0;
    fn decode(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        Self::check_version(version)?;
        Self::read(r, version)
    }
    fn encode(&self, w: &mut Writer, version: i16) -> Encoded {
        Self::check_written_version(version)?;
        self.write(w, version)
    }
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}

#[cfg(feature = "json")]
impl crate::json::ToJson for UpdateRaftVoterResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
