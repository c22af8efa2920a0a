//! DescribeClusterRequest, versions 0 to 2.

use super::prelude::*;

/// `DescribeClusterRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeClusterRequest {
    pub include_cluster_authorized_operations: bool,
    pub endpoint_type: i8,
    pub include_fenced_brokers: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeClusterRequest {
    fn default() -> Self {
        Self {
            include_cluster_authorized_operations: false,
            endpoint_type: 1,
            include_fenced_brokers: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeClusterRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let include_cluster_authorized_operations = r.bool()?;
        let endpoint_type = if version >= 1 { r.i8()? } else { 1 };
        let include_fenced_brokers = if version >= 2 { r.bool()? } else { false };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            include_cluster_authorized_operations,
            endpoint_type,
            include_fenced_brokers,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        if version >= 1 {
            let mut b = [0; 2];
            b[0..1].copy_from_slice(&[u8::from(self.include_cluster_authorized_operations)]);
            b[1..2].copy_from_slice(&self.endpoint_type.to_be_bytes());
            w.raw(&b);
        } else {
            w.bool(self.include_cluster_authorized_operations);
            if self.endpoint_type != 1 {
                return Err(EncodeError::NotInVersion {
                    message: "DescribeClusterRequest",
                    field: "EndpointType",
                    version,
                });
            }
        }
        if version >= 2 {
            w.bool(self.include_fenced_brokers);
        } else {
            if self.include_fenced_brokers {
                return Err(EncodeError::NotInVersion {
                    message: "DescribeClusterRequest",
                    field: "IncludeFencedBrokers",
                    version,
                });
            }
        }
        w.unknown_tags(true, &self.unknown_tags, "DescribeClusterRequest", version)
    }
}

#[cfg(feature = "json")]
impl DescribeClusterRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("includeClusterAuthorizedOperations".into(), {
            let v = &self.include_cluster_authorized_operations;
            (*v).into()
        });
        if version >= 1 {
            o.insert("endpointType".into(), {
                let v = &self.endpoint_type;
                (*v).into()
            });
        }
        if version >= 2 {
            o.insert("includeFencedBrokers".into(), {
                let v = &self.include_fenced_brokers;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for DescribeClusterRequest {
    const NAME: &'static str = "DescribeClusterRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 2;
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
impl crate::json::ToJson for DescribeClusterRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for DescribeClusterRequest {
    const API_KEY: ApiKey = ApiKey(60);
    type Response = super::describe_cluster_response::DescribeClusterResponse;
}
