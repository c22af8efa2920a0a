//! CreateTopicsResponse, versions 2 to 7.

use super::prelude::*;

/// `CreateTopicsResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct CreateTopicsResponse {
    pub throttle_time_ms: i32,
    pub topics: Vec<CreatableTopicResult>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for CreateTopicsResponse {
    fn default() -> Self {
        Self { throttle_time_ms: 0, topics: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl CreateTopicsResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 5;
        let throttle_time_ms = r.i32()?;
        let topics = r.vec(flex, |r| CreatableTopicResult::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { throttle_time_ms, topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 5;
        w.i32(self.throttle_time_ms);
        w.array(flex, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "CreateTopicsResponse", version)
    }
}

#[cfg(feature = "json")]
impl CreateTopicsResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `CreatableTopicResult`, part of CreateTopicsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct CreatableTopicResult {
    pub name: String,
    pub topic_id: Uuid,
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub topic_config_error_code: i16,
    pub num_partitions: i32,
    pub replication_factor: i16,
    pub configs: Option<Vec<CreatableTopicConfigs>>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for CreatableTopicResult {
    fn default() -> Self {
        Self {
            name: String::new(),
            topic_id: Default::default(),
            error_code: ErrorCode(0),
            error_message: Some(String::new()),
            topic_config_error_code: 0,
            num_partitions: -1,
            replication_factor: -1,
            configs: Some(Default::default()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl CreatableTopicResult {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 5;
        let name = r.string(flex)?;
        let topic_id = if version >= 7 { r.uuid()? } else { Default::default() };
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(flex)?;
        let num_partitions = if version >= 5 { r.i32()? } else { -1 };
        let replication_factor = if version >= 5 { r.i16()? } else { -1 };
        let configs = if version >= 5 {
            r.nullable_vec(flex, |r| CreatableTopicConfigs::read(r, version))?
        } else {
            Some(Default::default())
        };
        let mut topic_config_error_code = 0;
        let mut unknown_tags = RawTags::default();
        if flex {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 5) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        topic_config_error_code = r.i16()?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self {
            name,
            topic_id,
            error_code,
            error_message,
            topic_config_error_code,
            num_partitions,
            replication_factor,
            configs,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 5;
        w.string(flex, &self.name)?;
        if version >= 7 {
            w.uuid(self.topic_id);
        }
        w.i16(self.error_code.0);
        w.nullable_string(flex, self.error_message.as_deref())?;
        if version >= 5 {
            let mut b = [0; 6];
            b[0..4].copy_from_slice(&self.num_partitions.to_be_bytes());
            b[4..6].copy_from_slice(&self.replication_factor.to_be_bytes());
            w.raw(&b);
        }
        if version >= 5 {
            w.array(flex, self.configs.as_deref(), |w, v| v.write(w, version))?;
        }
        if flex {
            let mut count = self.unknown_tags.len();
            let tag_0 = version >= 5 && self.topic_config_error_code != 0;
            count += usize::from(tag_0);
            w.uvarint(count as u32);
            if count > 0 {
                let mut raw = self.unknown_tags.as_slice();
                w.raw_tags_below(Some(0), &mut raw)?;
                if tag_0 {
                    let at = w.begin_tag(0);
                    w.i16(self.topic_config_error_code);
                    w.end_tag(at);
                }
                w.raw_tags_below(None, &mut raw)?;
            }
        } else if self.unknown_tags.len() > 0 {
            return Err(EncodeError::NotInVersion {
                message: "CreatableTopicResult",
                field: "unknown_tags",
                version,
            });
        }
        Ok(())
    }
}

#[cfg(feature = "json")]
impl CreatableTopicResult {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        if version >= 7 {
            o.insert("topicId".into(), {
                let v = &self.topic_id;
                v.to_string().into()
            });
        }
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert(
            "errorMessage".into(),
            match &self.error_message {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        if version >= 5 {
            if self.topic_config_error_code != 0 {
                o.insert("topicConfigErrorCode".into(), {
                    let v = &self.topic_config_error_code;
                    (*v).into()
                });
            }
        }
        if version >= 5 {
            o.insert("numPartitions".into(), {
                let v = &self.num_partitions;
                (*v).into()
            });
        }
        if version >= 5 {
            o.insert("replicationFactor".into(), {
                let v = &self.replication_factor;
                (*v).into()
            });
        }
        if version >= 5 {
            o.insert(
                "configs".into(),
                match &self.configs {
                    Some(v) => {
                        serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
                    }
                    None => serde_json::Value::Null,
                },
            );
        }
        serde_json::Value::Object(o)
    }
}

/// `CreatableTopicConfigs`, part of CreateTopicsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct CreatableTopicConfigs {
    pub name: String,
    pub value: Option<String>,
    pub read_only: bool,
    pub config_source: i8,
    pub is_sensitive: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for CreatableTopicConfigs {
    fn default() -> Self {
        Self {
            name: String::new(),
            value: Some(String::new()),
            read_only: false,
            config_source: -1,
            is_sensitive: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl CreatableTopicConfigs {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 5;
        let name = if version >= 5 { r.string(flex)? } else { String::new() };
        let value = if version >= 5 { r.nullable_string(flex)? } else { Some(String::new()) };
        let read_only = if version >= 5 { r.bool()? } else { false };
        let config_source = if version >= 5 { r.i8()? } else { -1 };
        let is_sensitive = if version >= 5 { r.bool()? } else { false };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, value, read_only, config_source, is_sensitive, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 5;
        if version >= 5 {
            w.string(flex, &self.name)?;
        } else {
            if !self.name.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "CreatableTopicConfigs",
                    field: "Name",
                    version,
                });
            }
        }
        if version >= 5 {
            w.nullable_string(flex, self.value.as_deref())?;
        } else {
            if !self.value.as_ref().is_some_and(|v| v.is_empty()) {
                return Err(EncodeError::NotInVersion {
                    message: "CreatableTopicConfigs",
                    field: "Value",
                    version,
                });
            }
        }
        if version >= 5 {
            let mut b = [0; 3];
            b[0..1].copy_from_slice(&[u8::from(self.read_only)]);
            b[1..2].copy_from_slice(&self.config_source.to_be_bytes());
            b[2..3].copy_from_slice(&[u8::from(self.is_sensitive)]);
            w.raw(&b);
        } else {
            if self.read_only {
                return Err(EncodeError::NotInVersion {
                    message: "CreatableTopicConfigs",
                    field: "ReadOnly",
                    version,
                });
            }
            if self.is_sensitive {
                return Err(EncodeError::NotInVersion {
                    message: "CreatableTopicConfigs",
                    field: "IsSensitive",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "CreatableTopicConfigs", version)
    }
}

#[cfg(feature = "json")]
impl CreatableTopicConfigs {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 5 {
            o.insert("name".into(), {
                let v = &self.name;
                v.as_str().into()
            });
        }
        if version >= 5 {
            o.insert(
                "value".into(),
                match &self.value {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        if version >= 5 {
            o.insert("readOnly".into(), {
                let v = &self.read_only;
                (*v).into()
            });
        }
        if version >= 5 {
            o.insert("configSource".into(), {
                let v = &self.config_source;
                (*v).into()
            });
        }
        if version >= 5 {
            o.insert("isSensitive".into(), {
                let v = &self.is_sensitive;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for CreateTopicsResponse {
    const NAME: &'static str = "CreateTopicsResponse";
    const MIN_VERSION: i16 = 2;
    const MAX_VERSION: i16 = 7;
    const FLEXIBLE_FROM: i16 = 5;
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
impl crate::json::ToJson for CreateTopicsResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
