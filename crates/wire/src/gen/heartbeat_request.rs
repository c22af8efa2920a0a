//! HeartbeatRequest, versions 0 to 4.

use super::prelude::*;

/// `HeartbeatRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct HeartbeatRequest {
    pub group_id: String,
    pub generation_id: i32,
    pub member_id: String,
    pub group_instance_id: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for HeartbeatRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            generation_id: 0,
            member_id: String::new(),
            group_instance_id: None,
            unknown_tags: RawTags::default(),
        }
    }
}

impl HeartbeatRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let group_id = r.string(flex)?;
        let generation_id = r.i32()?;
        let member_id = r.string(flex)?;
        let group_instance_id = if version >= 3 { r.nullable_string(flex)? } else { None };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { group_id, generation_id, member_id, group_instance_id, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        w.string(flex, &self.group_id)?;
        w.i32(self.generation_id);
        w.string(flex, &self.member_id)?;
        if version >= 3 {
            w.nullable_string(flex, self.group_instance_id.as_deref())?;
        } else {
            if self.group_instance_id.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "HeartbeatRequest",
                    field: "GroupInstanceId",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "HeartbeatRequest", version)
    }
}

#[cfg(feature = "json")]
impl HeartbeatRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("groupId".into(), {
            let v = &self.group_id;
            v.as_str().into()
        });
        o.insert("generationId".into(), {
            let v = &self.generation_id;
            (*v).into()
        });
        o.insert("memberId".into(), {
            let v = &self.member_id;
            v.as_str().into()
        });
        if version >= 3 {
            o.insert(
                "groupInstanceId".into(),
                match &self.group_instance_id {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        serde_json::Value::Object(o)
    }
}

/// `HeartbeatRequest` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct HeartbeatRequestView<'a> {
    pub group_id: &'a str,
    pub generation_id: i32,
    pub member_id: &'a str,
    pub group_instance_id: Option<&'a str>,
}

impl Default for HeartbeatRequestView<'_> {
    fn default() -> Self {
        Self { group_id: "", generation_id: 0, member_id: "", group_instance_id: None }
    }
}

impl<'a> ViewElement<'a> for HeartbeatRequestView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let mut m = Self::default();
        m.group_id = r.str(flex)?;
        m.generation_id = r.i32()?;
        m.member_id = r.str(flex)?;
        if version >= 3 {
            m.group_instance_id = r.nullable_str(flex)?;
        }
        if flex {
            r.skip_tags()?;
        }
        Ok(m)
    }

    #[inline]
    #[allow(unused_variables)]
    fn skip(r: &mut Reader<'a>, version: i16) -> Decoded<()> {
        let flex = version >= 4;
        r.skip_str(flex, false)?;
        r.skip(4)?;
        r.skip_str(flex, false)?;
        if version >= 3 {
            r.skip_str(flex, true)?;
        }
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

impl HeartbeatRequestView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> HeartbeatRequest {
        HeartbeatRequest {
            group_id: self.group_id.to_owned(),
            generation_id: self.generation_id,
            member_id: self.member_id.to_owned(),
            group_instance_id: self.group_instance_id.map(|v| v.to_owned()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl<'a> HeartbeatRequestView<'a> {
    /// Reads and checks the whole message in place; no allocation.
    pub fn parse(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        HeartbeatRequest::check_version(version)?;
        <Self as ViewElement>::read(r, version)
    }
}

impl Message for HeartbeatRequest {
    const NAME: &'static str = "HeartbeatRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 4;
    const FLEXIBLE_FROM: i16 = 4;
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
impl crate::json::ToJson for HeartbeatRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for HeartbeatRequest {
    const API_KEY: ApiKey = ApiKey(12);
    type Response = super::heartbeat_response::HeartbeatResponse;
}
