//! ConsumerGroupMemberMetadataValue, versions 0 to 0.

use super::prelude::*;

/// `ConsumerGroupMemberMetadataValue`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ConsumerGroupMemberMetadataValue {
    pub instance_id: Option<String>,
    pub rack_id: Option<String>,
    pub client_id: String,
    pub client_host: String,
    pub subscribed_topic_names: Vec<String>,
    pub subscribed_topic_regex: Option<String>,
    pub rebalance_timeout_ms: i32,
    pub server_assignor: Option<String>,
    pub classic_member_metadata: Option<ClassicMemberMetadata>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ConsumerGroupMemberMetadataValue {
    fn default() -> Self {
        Self {
            instance_id: Some(String::new()),
            rack_id: Some(String::new()),
            client_id: String::new(),
            client_host: String::new(),
            subscribed_topic_names: Default::default(),
            subscribed_topic_regex: Some(String::new()),
            rebalance_timeout_ms: -1,
            server_assignor: Some(String::new()),
            classic_member_metadata: Some(Default::default()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ConsumerGroupMemberMetadataValue {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let instance_id = r.nullable_string(true)?;
        let rack_id = r.nullable_string(true)?;
        let client_id = r.string(true)?;
        let client_host = r.string(true)?;
        let subscribed_topic_names = r.vec(true, |r| r.string(true))?;
        let subscribed_topic_regex = r.nullable_string(true)?;
        let rebalance_timeout_ms = r.i32()?;
        let server_assignor = r.nullable_string(true)?;
        let mut classic_member_metadata = Some(Default::default());
        let mut unknown_tags = RawTags::default();
        {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        classic_member_metadata = if r.uvarint()? > 0 {
                            Some(ClassicMemberMetadata::read(r, version)?)
                        } else {
                            None
                        };
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self {
            instance_id,
            rack_id,
            client_id,
            client_host,
            subscribed_topic_names,
            subscribed_topic_regex,
            rebalance_timeout_ms,
            server_assignor,
            classic_member_metadata,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.nullable_string(true, self.instance_id.as_deref())?;
        w.nullable_string(true, self.rack_id.as_deref())?;
        w.string(true, &self.client_id)?;
        w.string(true, &self.client_host)?;
        w.array(true, Some(&self.subscribed_topic_names[..]), |w, v| w.string(true, v))?;
        w.nullable_string(true, self.subscribed_topic_regex.as_deref())?;
        w.i32(self.rebalance_timeout_ms);
        w.nullable_string(true, self.server_assignor.as_deref())?;
        let mut count = self.unknown_tags.len();
        let tag_0 =
            !self.classic_member_metadata.as_ref().is_some_and(|v| *v == Default::default());
        count += usize::from(tag_0);
        w.uvarint(count as u32);
        if count > 0 {
            let mut raw = self.unknown_tags.as_slice();
            w.raw_tags_below(Some(0), &mut raw)?;
            if tag_0 {
                let at = w.begin_tag(0);
                match &self.classic_member_metadata {
                    Some(v) => {
                        w.uvarint(1);
                        v.write(w, version)?;
                    }
                    None => {
                        w.uvarint(0);
                    }
                }
                w.end_tag(at);
            }
            w.raw_tags_below(None, &mut raw)?;
        }

        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl ConsumerGroupMemberMetadataValue {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert(
            "instanceId".into(),
            match &self.instance_id {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert(
            "rackId".into(),
            match &self.rack_id {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("clientId".into(), {
            let v = &self.client_id;
            v.as_str().into()
        });
        o.insert("clientHost".into(), {
            let v = &self.client_host;
            v.as_str().into()
        });
        o.insert("subscribedTopicNames".into(), {
            let v = &self.subscribed_topic_names;
            serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
        });
        o.insert(
            "subscribedTopicRegex".into(),
            match &self.subscribed_topic_regex {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("rebalanceTimeoutMs".into(), {
            let v = &self.rebalance_timeout_ms;
            (*v).into()
        });
        o.insert(
            "serverAssignor".into(),
            match &self.server_assignor {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        if !self.classic_member_metadata.as_ref().is_some_and(|v| *v == Default::default()) {
            o.insert(
                "classicMemberMetadata".into(),
                match &self.classic_member_metadata {
                    Some(v) => v.json(version),
                    None => serde_json::Value::Null,
                },
            );
        }
        serde_json::Value::Object(o)
    }
}

/// `ClassicMemberMetadata`, part of ConsumerGroupMemberMetadataValue.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ClassicMemberMetadata {
    pub session_timeout_ms: i32,
    pub supported_protocols: Vec<ClassicProtocol>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ClassicMemberMetadata {
    fn default() -> Self {
        Self {
            session_timeout_ms: 0,
            supported_protocols: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ClassicMemberMetadata {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let session_timeout_ms = r.i32()?;
        let supported_protocols = r.vec(true, |r| ClassicProtocol::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { session_timeout_ms, supported_protocols, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.session_timeout_ms);
        w.array(true, Some(&self.supported_protocols[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "ClassicMemberMetadata", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl ClassicMemberMetadata {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("sessionTimeoutMs".into(), {
            let v = &self.session_timeout_ms;
            (*v).into()
        });
        o.insert("supportedProtocols".into(), {
            let v = &self.supported_protocols;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `ClassicProtocol`, part of ConsumerGroupMemberMetadataValue.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ClassicProtocol {
    pub name: String,
    pub metadata: Bytes,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ClassicProtocol {
    fn default() -> Self {
        Self { name: String::new(), metadata: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl ClassicProtocol {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(true)?;
        let metadata = r.bytes(true)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, metadata, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        w.bytes(true, &self.metadata)?;
        w.unknown_tags(true, &self.unknown_tags, "ClassicProtocol", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl ClassicProtocol {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert("metadata".into(), {
            let v = &self.metadata;
            crate::json::base64(v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for ConsumerGroupMemberMetadataValue {
    const NAME: &'static str = "ConsumerGroupMemberMetadataValue";
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
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl crate::json::ToJson for ConsumerGroupMemberMetadataValue {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl ConsumerGroupMemberMetadataValue {
    /// Number of this record type.
    pub const KEY: i16 = 5;
}
