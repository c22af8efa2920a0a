//! StreamsGroupDescribeRequest, versions 0 to 1.

use super::prelude::*;

/// `StreamsGroupDescribeRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct StreamsGroupDescribeRequest {
    pub group_ids: Vec<String>,
    pub include_authorized_operations: bool,
    pub include_topology_description: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for StreamsGroupDescribeRequest {
    fn default() -> Self {
        Self {
            group_ids: Default::default(),
            include_authorized_operations: false,
            include_topology_description: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl StreamsGroupDescribeRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let group_ids = r.vec(true, |r| r.string(true))?;
        let include_authorized_operations = r.bool()?;
        let include_topology_description = if version >= 1 { r.bool()? } else { false };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            group_ids,
            include_authorized_operations,
            include_topology_description,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.array(true, Some(&self.group_ids[..]), |w, v| w.string(true, v))?;
        if version >= 1 {
            let mut b = [0; 2];
            b[0..1].copy_from_slice(&[u8::from(self.include_authorized_operations)]);
            b[1..2].copy_from_slice(&[u8::from(self.include_topology_description)]);
            w.raw(&b);
        } else {
            w.bool(self.include_authorized_operations);
            if self.include_topology_description {
                return Err(EncodeError::NotInVersion {
                    message: "StreamsGroupDescribeRequest",
                    field: "IncludeTopologyDescription",
                    version,
                });
            }
        }
        w.unknown_tags(true, &self.unknown_tags, "StreamsGroupDescribeRequest", version)
    }
}

#[cfg(feature = "json")]
impl StreamsGroupDescribeRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("groupIds".into(), {
            let v = &self.group_ids;
            serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
        });
        o.insert("includeAuthorizedOperations".into(), {
            let v = &self.include_authorized_operations;
            (*v).into()
        });
        if version >= 1 {
            o.insert("includeTopologyDescription".into(), {
                let v = &self.include_topology_description;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for StreamsGroupDescribeRequest {
    const NAME: &'static str = "StreamsGroupDescribeRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
    const FLEXIBLE_FROM: i16 = 0;
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
impl crate::json::ToJson for StreamsGroupDescribeRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for StreamsGroupDescribeRequest {
    const API_KEY: ApiKey = ApiKey(89);
    type Response = super::streams_group_describe_response::StreamsGroupDescribeResponse;
}
