//! ShareGroupHeartbeatRequest, versions 1 to 1.

use super::prelude::*;

/// `ShareGroupHeartbeatRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ShareGroupHeartbeatRequest {
    pub group_id: String,
    pub member_id: String,
    pub member_epoch: i32,
    pub rack_id: Option<String>,
    pub subscribed_topic_names: Option<Vec<String>>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ShareGroupHeartbeatRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            member_id: String::new(),
            member_epoch: 0,
            rack_id: None,
            subscribed_topic_names: None,
            unknown_tags: RawTags::default(),
        }
    }
}

impl ShareGroupHeartbeatRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let group_id = r.string(true)?;
        let member_id = r.string(true)?;
        let member_epoch = r.i32()?;
        let rack_id = r.nullable_string(true)?;
        let subscribed_topic_names = r.nullable_vec(true, |r| r.string(true))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            group_id,
            member_id,
            member_epoch,
            rack_id,
            subscribed_topic_names,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.group_id)?;
        w.string(true, &self.member_id)?;
        w.i32(self.member_epoch);
        w.nullable_string(true, self.rack_id.as_deref())?;
        w.array(true, self.subscribed_topic_names.as_deref(), |w, v| w.string(true, v))?;
        w.unknown_tags(true, &self.unknown_tags, "ShareGroupHeartbeatRequest", version)
    }
}

#[cfg(feature = "json")]
impl ShareGroupHeartbeatRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("groupId".into(), {
            let v = &self.group_id;
            v.as_str().into()
        });
        o.insert("memberId".into(), {
            let v = &self.member_id;
            v.as_str().into()
        });
        o.insert("memberEpoch".into(), {
            let v = &self.member_epoch;
            (*v).into()
        });
        o.insert(
            "rackId".into(),
            match &self.rack_id {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert(
            "subscribedTopicNames".into(),
            match &self.subscribed_topic_names {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect()),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

impl Message for ShareGroupHeartbeatRequest {
    const NAME: &'static str = "ShareGroupHeartbeatRequest";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 1;
    const FLEXIBLE_FROM: i16 = 1;
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
impl crate::json::ToJson for ShareGroupHeartbeatRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for ShareGroupHeartbeatRequest {
    const API_KEY: ApiKey = ApiKey(76);
    type Response = super::share_group_heartbeat_response::ShareGroupHeartbeatResponse;
}
