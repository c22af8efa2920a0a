//! StreamsGroupCurrentMemberAssignmentKey, versions 0 to 0.

use super::prelude::*;

/// `StreamsGroupCurrentMemberAssignmentKey`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct StreamsGroupCurrentMemberAssignmentKey {
    pub group_id: String,
    pub member_id: String,
}

impl Default for StreamsGroupCurrentMemberAssignmentKey {
    fn default() -> Self {
        Self { group_id: String::new(), member_id: String::new() }
    }
}

impl StreamsGroupCurrentMemberAssignmentKey {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let group_id = r.string(false)?;
        let member_id = r.string(false)?;
        Ok(Self { group_id, member_id })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(false, &self.group_id)?;
        w.string(false, &self.member_id)?;
        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl StreamsGroupCurrentMemberAssignmentKey {
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
        serde_json::Value::Object(o)
    }
}

impl Message for StreamsGroupCurrentMemberAssignmentKey {
    const NAME: &'static str = "StreamsGroupCurrentMemberAssignmentKey";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 0;
    const FLEXIBLE_FROM: i16 = 32767;
    fn decode(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        Self::check_version(version)?;
        Self::read(r, version)
    }
    fn encode(&self, w: &mut Writer, version: i16) -> Encoded {
        Self::check_written_version(version)?;
        self.write(w, version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl crate::json::ToJson for StreamsGroupCurrentMemberAssignmentKey {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl StreamsGroupCurrentMemberAssignmentKey {
    /// Number of this record type.
    pub const KEY: i16 = 22;
}
