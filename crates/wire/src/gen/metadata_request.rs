//! MetadataRequest, versions 0 to 13.

use super::prelude::*;

/// `MetadataRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct MetadataRequest {
    pub topics: Option<Vec<MetadataRequestTopic>>,
    pub allow_auto_topic_creation: bool,
    pub include_cluster_authorized_operations: bool,
    pub include_topic_authorized_operations: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for MetadataRequest {
    fn default() -> Self {
        Self {
            topics: Some(Default::default()),
            allow_auto_topic_creation: true,
            include_cluster_authorized_operations: false,
            include_topic_authorized_operations: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl MetadataRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 9;
        let topics = non_null_unless(
            version >= 1,
            r.nullable_vec(flex, |r| MetadataRequestTopic::read(r, version))?,
            "Topics",
        )?;
        let allow_auto_topic_creation = if version >= 4 { r.bool()? } else { true };
        let include_cluster_authorized_operations =
            if (8..=10).contains(&version) { r.bool()? } else { false };
        let include_topic_authorized_operations = if version >= 8 { r.bool()? } else { false };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            topics,
            allow_auto_topic_creation,
            include_cluster_authorized_operations,
            include_topic_authorized_operations,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 9;
        if self.topics.is_none() && !(version >= 1) {
            return Err(EncodeError::Null { message: "MetadataRequest", field: "Topics", version });
        }
        w.array(flex, self.topics.as_deref(), |w, v| v.write(w, version))?;
        if version >= 4 {
            w.bool(self.allow_auto_topic_creation);
        } else {
            if !self.allow_auto_topic_creation {
                return Err(EncodeError::NotInVersion {
                    message: "MetadataRequest",
                    field: "AllowAutoTopicCreation",
                    version,
                });
            }
        }
        if (8..=10).contains(&version) {
            w.bool(self.include_cluster_authorized_operations);
        } else {
            if self.include_cluster_authorized_operations {
                return Err(EncodeError::NotInVersion {
                    message: "MetadataRequest",
                    field: "IncludeClusterAuthorizedOperations",
                    version,
                });
            }
        }
        if version >= 8 {
            w.bool(self.include_topic_authorized_operations);
        } else {
            if self.include_topic_authorized_operations {
                return Err(EncodeError::NotInVersion {
                    message: "MetadataRequest",
                    field: "IncludeTopicAuthorizedOperations",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "MetadataRequest", version)
    }
}

#[cfg(feature = "json")]
impl MetadataRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert(
            "topics".into(),
            match &self.topics {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect()),
                None => serde_json::Value::Null,
            },
        );
        if version >= 4 {
            o.insert("allowAutoTopicCreation".into(), {
                let v = &self.allow_auto_topic_creation;
                (*v).into()
            });
        }
        if (8..=10).contains(&version) {
            o.insert("includeClusterAuthorizedOperations".into(), {
                let v = &self.include_cluster_authorized_operations;
                (*v).into()
            });
        }
        if version >= 8 {
            o.insert("includeTopicAuthorizedOperations".into(), {
                let v = &self.include_topic_authorized_operations;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `MetadataRequest` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct MetadataRequestView<'a> {
    pub topics: Option<ArrayView<'a, MetadataRequestTopicView<'a>>>,
    pub allow_auto_topic_creation: bool,
    pub include_cluster_authorized_operations: bool,
    pub include_topic_authorized_operations: bool,
}

impl Default for MetadataRequestView<'_> {
    fn default() -> Self {
        Self {
            topics: Some(Default::default()),
            allow_auto_topic_creation: true,
            include_cluster_authorized_operations: false,
            include_topic_authorized_operations: false,
        }
    }
}

impl<'a> ViewElement<'a> for MetadataRequestView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 9;
        let mut m = Self::default();
        m.topics = non_null_unless(version >= 1, r.nullable_array_view(flex, version)?, "Topics")?;
        if version >= 4 {
            m.allow_auto_topic_creation = r.bool()?;
        }
        if (8..=10).contains(&version) {
            m.include_cluster_authorized_operations = r.bool()?;
        }
        if version >= 8 {
            m.include_topic_authorized_operations = r.bool()?;
        }
        if flex {
            r.skip_tags()?;
        }
        Ok(m)
    }

    #[inline]
    #[allow(unused_variables)]
    fn skip(r: &mut Reader<'a>, version: i16) -> Decoded<()> {
        let flex = version >= 9;
        let _: Option<ArrayView<'a, MetadataRequestTopicView<'a>>> =
            non_null_unless(version >= 1, r.nullable_array_view(flex, version)?, "Topics")?;
        if version >= 4 {
            r.skip(1)?;
        }
        if (8..=10).contains(&version) {
            r.skip(1)?;
        }
        if version >= 8 {
            r.skip(1)?;
        }
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

impl MetadataRequestView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> MetadataRequest {
        MetadataRequest {
            topics: self.topics.map(|v| v.iter().map(|v| v.owned()).collect()),
            allow_auto_topic_creation: self.allow_auto_topic_creation,
            include_cluster_authorized_operations: self.include_cluster_authorized_operations,
            include_topic_authorized_operations: self.include_topic_authorized_operations,
            unknown_tags: RawTags::default(),
        }
    }
}

impl<'a> MetadataRequestView<'a> {
    /// Reads and checks the whole message in place; no allocation.
    pub fn parse(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        MetadataRequest::check_version(version)?;
        <Self as ViewElement>::read(r, version)
    }
}

/// `MetadataRequestTopic`, part of MetadataRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct MetadataRequestTopic {
    pub topic_id: Uuid,
    pub name: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for MetadataRequestTopic {
    fn default() -> Self {
        Self {
            topic_id: Default::default(),
            name: Some(String::new()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl MetadataRequestTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 9;
        let topic_id = if version >= 10 { r.uuid()? } else { Default::default() };
        let name = non_null_unless(version >= 10, r.nullable_string(flex)?, "Name")?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { topic_id, name, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 9;
        if version >= 10 {
            w.uuid(self.topic_id);
        }
        if self.name.is_none() && !(version >= 10) {
            return Err(EncodeError::Null {
                message: "MetadataRequestTopic",
                field: "Name",
                version,
            });
        }
        w.nullable_string(flex, self.name.as_deref())?;
        w.unknown_tags(flex, &self.unknown_tags, "MetadataRequestTopic", version)
    }
}

#[cfg(feature = "json")]
impl MetadataRequestTopic {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 10 {
            o.insert("topicId".into(), {
                let v = &self.topic_id;
                v.to_string().into()
            });
        }
        o.insert(
            "name".into(),
            match &self.name {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

/// `MetadataRequestTopic` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct MetadataRequestTopicView<'a> {
    pub topic_id: Uuid,
    pub name: Option<&'a str>,
}

impl Default for MetadataRequestTopicView<'_> {
    fn default() -> Self {
        Self { topic_id: Default::default(), name: Some("") }
    }
}

impl<'a> ViewElement<'a> for MetadataRequestTopicView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 9;
        let mut m = Self::default();
        if version >= 10 {
            m.topic_id = r.uuid()?;
        }
        m.name = non_null_unless(version >= 10, r.nullable_str(flex)?, "Name")?;
        if flex {
            r.skip_tags()?;
        }
        Ok(m)
    }

    #[inline]
    #[allow(unused_variables)]
    fn skip(r: &mut Reader<'a>, version: i16) -> Decoded<()> {
        let flex = version >= 9;
        if version >= 10 {
            r.skip(16)?;
        }
        let _: Option<&'a str> = non_null_unless(version >= 10, r.nullable_str(flex)?, "Name")?;
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

impl MetadataRequestTopicView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> MetadataRequestTopic {
        MetadataRequestTopic {
            topic_id: self.topic_id,
            name: self.name.map(|v| v.to_owned()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl Message for MetadataRequest {
    const NAME: &'static str = "MetadataRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 13;
    const FLEXIBLE_FROM: i16 = 9;
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
impl crate::json::ToJson for MetadataRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for MetadataRequest {
    const API_KEY: ApiKey = ApiKey(3);
    type Response = super::metadata_response::MetadataResponse;
}
