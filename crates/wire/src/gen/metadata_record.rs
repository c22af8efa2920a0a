//! One record of the metadata log, whatever its type.

use super::prelude::*;

/// A record of `__cluster_metadata`.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum MetadataRecord {
    RegisterBroker(super::RegisterBrokerRecord),
    UnregisterBroker(super::UnregisterBrokerRecord),
    Topic(super::TopicRecord),
    Partition(super::PartitionRecord),
    Config(super::ConfigRecord),
    PartitionChange(super::PartitionChangeRecord),
    FenceBroker(super::FenceBrokerRecord),
    UnfenceBroker(super::UnfenceBrokerRecord),
    RemoveTopic(super::RemoveTopicRecord),
    DelegationToken(super::DelegationTokenRecord),
    UserScramCredential(super::UserScramCredentialRecord),
    FeatureLevel(super::FeatureLevelRecord),
    ClientQuota(super::ClientQuotaRecord),
    ProducerIds(super::ProducerIdsRecord),
    BrokerRegistrationChange(super::BrokerRegistrationChangeRecord),
    AccessControlEntry(super::AccessControlEntryRecord),
    RemoveAccessControlEntry(super::RemoveAccessControlEntryRecord),
    NoOp(super::NoOpRecord),
    ZkMigrationState(super::ZkMigrationStateRecord),
    RemoveUserScramCredential(super::RemoveUserScramCredentialRecord),
    BeginTransaction(super::BeginTransactionRecord),
    EndTransaction(super::EndTransactionRecord),
    AbortTransaction(super::AbortTransactionRecord),
    RemoveDelegationToken(super::RemoveDelegationTokenRecord),
    RegisterController(super::RegisterControllerRecord),
    ClearElr(super::ClearElrRecord),
    UnregisterController(super::UnregisterControllerRecord),
}

impl MetadataRecord {
    /// Number of the record's type.
    pub fn key(&self) -> i16 {
        match self {
            Self::RegisterBroker(_) => 0,
            Self::UnregisterBroker(_) => 1,
            Self::Topic(_) => 2,
            Self::Partition(_) => 3,
            Self::Config(_) => 4,
            Self::PartitionChange(_) => 5,
            Self::FenceBroker(_) => 7,
            Self::UnfenceBroker(_) => 8,
            Self::RemoveTopic(_) => 9,
            Self::DelegationToken(_) => 10,
            Self::UserScramCredential(_) => 11,
            Self::FeatureLevel(_) => 12,
            Self::ClientQuota(_) => 14,
            Self::ProducerIds(_) => 15,
            Self::BrokerRegistrationChange(_) => 17,
            Self::AccessControlEntry(_) => 18,
            Self::RemoveAccessControlEntry(_) => 19,
            Self::NoOp(_) => 20,
            Self::ZkMigrationState(_) => 21,
            Self::RemoveUserScramCredential(_) => 22,
            Self::BeginTransaction(_) => 23,
            Self::EndTransaction(_) => 24,
            Self::AbortTransaction(_) => 25,
            Self::RemoveDelegationToken(_) => 26,
            Self::RegisterController(_) => 27,
            Self::ClearElr(_) => 28,
            Self::UnregisterController(_) => 29,
        }
    }

    /// Reads a record of type `key`.
    pub fn decode(r: &mut Reader<'_>, key: i16, version: i16) -> Decoded<Self> {
        Ok(match key {
            0 => Self::RegisterBroker(super::RegisterBrokerRecord::decode(r, version)?),
            1 => Self::UnregisterBroker(super::UnregisterBrokerRecord::decode(r, version)?),
            2 => Self::Topic(super::TopicRecord::decode(r, version)?),
            3 => Self::Partition(super::PartitionRecord::decode(r, version)?),
            4 => Self::Config(super::ConfigRecord::decode(r, version)?),
            5 => Self::PartitionChange(super::PartitionChangeRecord::decode(r, version)?),
            7 => Self::FenceBroker(super::FenceBrokerRecord::decode(r, version)?),
            8 => Self::UnfenceBroker(super::UnfenceBrokerRecord::decode(r, version)?),
            9 => Self::RemoveTopic(super::RemoveTopicRecord::decode(r, version)?),
            10 => Self::DelegationToken(super::DelegationTokenRecord::decode(r, version)?),
            11 => Self::UserScramCredential(super::UserScramCredentialRecord::decode(r, version)?),
            12 => Self::FeatureLevel(super::FeatureLevelRecord::decode(r, version)?),
            14 => Self::ClientQuota(super::ClientQuotaRecord::decode(r, version)?),
            15 => Self::ProducerIds(super::ProducerIdsRecord::decode(r, version)?),
            17 => Self::BrokerRegistrationChange(super::BrokerRegistrationChangeRecord::decode(
                r, version,
            )?),
            18 => Self::AccessControlEntry(super::AccessControlEntryRecord::decode(r, version)?),
            19 => Self::RemoveAccessControlEntry(super::RemoveAccessControlEntryRecord::decode(
                r, version,
            )?),
            20 => Self::NoOp(super::NoOpRecord::decode(r, version)?),
            21 => Self::ZkMigrationState(super::ZkMigrationStateRecord::decode(r, version)?),
            22 => Self::RemoveUserScramCredential(super::RemoveUserScramCredentialRecord::decode(
                r, version,
            )?),
            23 => Self::BeginTransaction(super::BeginTransactionRecord::decode(r, version)?),
            24 => Self::EndTransaction(super::EndTransactionRecord::decode(r, version)?),
            25 => Self::AbortTransaction(super::AbortTransactionRecord::decode(r, version)?),
            26 => {
                Self::RemoveDelegationToken(super::RemoveDelegationTokenRecord::decode(r, version)?)
            }
            27 => Self::RegisterController(super::RegisterControllerRecord::decode(r, version)?),
            28 => Self::ClearElr(super::ClearElrRecord::decode(r, version)?),
            29 => {
                Self::UnregisterController(super::UnregisterControllerRecord::decode(r, version)?)
            }
            _ => return Err(DecodeError::UnknownRecordType { key }),
        })
    }

    /// Appends the record's body in `version`'s form.
    pub fn encode(&self, w: &mut Writer, version: i16) -> Encoded {
        match self {
            Self::RegisterBroker(m) => m.encode(w, version),
            Self::UnregisterBroker(m) => m.encode(w, version),
            Self::Topic(m) => m.encode(w, version),
            Self::Partition(m) => m.encode(w, version),
            Self::Config(m) => m.encode(w, version),
            Self::PartitionChange(m) => m.encode(w, version),
            Self::FenceBroker(m) => m.encode(w, version),
            Self::UnfenceBroker(m) => m.encode(w, version),
            Self::RemoveTopic(m) => m.encode(w, version),
            Self::DelegationToken(m) => m.encode(w, version),
            Self::UserScramCredential(m) => m.encode(w, version),
            Self::FeatureLevel(m) => m.encode(w, version),
            Self::ClientQuota(m) => m.encode(w, version),
            Self::ProducerIds(m) => m.encode(w, version),
            Self::BrokerRegistrationChange(m) => m.encode(w, version),
            Self::AccessControlEntry(m) => m.encode(w, version),
            Self::RemoveAccessControlEntry(m) => m.encode(w, version),
            Self::NoOp(m) => m.encode(w, version),
            Self::ZkMigrationState(m) => m.encode(w, version),
            Self::RemoveUserScramCredential(m) => m.encode(w, version),
            Self::BeginTransaction(m) => m.encode(w, version),
            Self::EndTransaction(m) => m.encode(w, version),
            Self::AbortTransaction(m) => m.encode(w, version),
            Self::RemoveDelegationToken(m) => m.encode(w, version),
            Self::RegisterController(m) => m.encode(w, version),
            Self::ClearElr(m) => m.encode(w, version),
            Self::UnregisterController(m) => m.encode(w, version),
        }
    }

    /// Versions this type of record can be written in.
    pub fn versions(key: i16) -> Option<std::ops::RangeInclusive<i16>> {
        Some(match key {
            0 => 0..=4,
            1 => 0..=0,
            2 => 0..=0,
            3 => 0..=2,
            4 => 0..=0,
            5 => 0..=2,
            7 => 0..=0,
            8 => 0..=0,
            9 => 0..=0,
            10 => 0..=0,
            11 => 0..=0,
            12 => 0..=0,
            14 => 0..=0,
            15 => 0..=0,
            17 => 0..=3,
            18 => 0..=0,
            19 => 0..=0,
            20 => 0..=0,
            21 => 0..=0,
            22 => 0..=0,
            23 => 0..=0,
            24 => 0..=0,
            25 => 0..=0,
            26 => 0..=0,
            27 => 0..=0,
            28 => 0..=0,
            29 => 0..=0,
            _ => return None,
        })
    }
}

impl From<super::RegisterBrokerRecord> for MetadataRecord {
    fn from(m: super::RegisterBrokerRecord) -> Self {
        Self::RegisterBroker(m)
    }
}
impl From<super::UnregisterBrokerRecord> for MetadataRecord {
    fn from(m: super::UnregisterBrokerRecord) -> Self {
        Self::UnregisterBroker(m)
    }
}
impl From<super::TopicRecord> for MetadataRecord {
    fn from(m: super::TopicRecord) -> Self {
        Self::Topic(m)
    }
}
impl From<super::PartitionRecord> for MetadataRecord {
    fn from(m: super::PartitionRecord) -> Self {
        Self::Partition(m)
    }
}
impl From<super::ConfigRecord> for MetadataRecord {
    fn from(m: super::ConfigRecord) -> Self {
        Self::Config(m)
    }
}
impl From<super::PartitionChangeRecord> for MetadataRecord {
    fn from(m: super::PartitionChangeRecord) -> Self {
        Self::PartitionChange(m)
    }
}
impl From<super::FenceBrokerRecord> for MetadataRecord {
    fn from(m: super::FenceBrokerRecord) -> Self {
        Self::FenceBroker(m)
    }
}
impl From<super::UnfenceBrokerRecord> for MetadataRecord {
    fn from(m: super::UnfenceBrokerRecord) -> Self {
        Self::UnfenceBroker(m)
    }
}
impl From<super::RemoveTopicRecord> for MetadataRecord {
    fn from(m: super::RemoveTopicRecord) -> Self {
        Self::RemoveTopic(m)
    }
}
impl From<super::DelegationTokenRecord> for MetadataRecord {
    fn from(m: super::DelegationTokenRecord) -> Self {
        Self::DelegationToken(m)
    }
}
impl From<super::UserScramCredentialRecord> for MetadataRecord {
    fn from(m: super::UserScramCredentialRecord) -> Self {
        Self::UserScramCredential(m)
    }
}
impl From<super::FeatureLevelRecord> for MetadataRecord {
    fn from(m: super::FeatureLevelRecord) -> Self {
        Self::FeatureLevel(m)
    }
}
impl From<super::ClientQuotaRecord> for MetadataRecord {
    fn from(m: super::ClientQuotaRecord) -> Self {
        Self::ClientQuota(m)
    }
}
impl From<super::ProducerIdsRecord> for MetadataRecord {
    fn from(m: super::ProducerIdsRecord) -> Self {
        Self::ProducerIds(m)
    }
}
impl From<super::BrokerRegistrationChangeRecord> for MetadataRecord {
    fn from(m: super::BrokerRegistrationChangeRecord) -> Self {
        Self::BrokerRegistrationChange(m)
    }
}
impl From<super::AccessControlEntryRecord> for MetadataRecord {
    fn from(m: super::AccessControlEntryRecord) -> Self {
        Self::AccessControlEntry(m)
    }
}
impl From<super::RemoveAccessControlEntryRecord> for MetadataRecord {
    fn from(m: super::RemoveAccessControlEntryRecord) -> Self {
        Self::RemoveAccessControlEntry(m)
    }
}
impl From<super::NoOpRecord> for MetadataRecord {
    fn from(m: super::NoOpRecord) -> Self {
        Self::NoOp(m)
    }
}
impl From<super::ZkMigrationStateRecord> for MetadataRecord {
    fn from(m: super::ZkMigrationStateRecord) -> Self {
        Self::ZkMigrationState(m)
    }
}
impl From<super::RemoveUserScramCredentialRecord> for MetadataRecord {
    fn from(m: super::RemoveUserScramCredentialRecord) -> Self {
        Self::RemoveUserScramCredential(m)
    }
}
impl From<super::BeginTransactionRecord> for MetadataRecord {
    fn from(m: super::BeginTransactionRecord) -> Self {
        Self::BeginTransaction(m)
    }
}
impl From<super::EndTransactionRecord> for MetadataRecord {
    fn from(m: super::EndTransactionRecord) -> Self {
        Self::EndTransaction(m)
    }
}
impl From<super::AbortTransactionRecord> for MetadataRecord {
    fn from(m: super::AbortTransactionRecord) -> Self {
        Self::AbortTransaction(m)
    }
}
impl From<super::RemoveDelegationTokenRecord> for MetadataRecord {
    fn from(m: super::RemoveDelegationTokenRecord) -> Self {
        Self::RemoveDelegationToken(m)
    }
}
impl From<super::RegisterControllerRecord> for MetadataRecord {
    fn from(m: super::RegisterControllerRecord) -> Self {
        Self::RegisterController(m)
    }
}
impl From<super::ClearElrRecord> for MetadataRecord {
    fn from(m: super::ClearElrRecord) -> Self {
        Self::ClearElr(m)
    }
}
impl From<super::UnregisterControllerRecord> for MetadataRecord {
    fn from(m: super::UnregisterControllerRecord) -> Self {
        Self::UnregisterController(m)
    }
}
