//! Features of the cluster and their levels.
//!
//! A feature's level is finalized for the whole cluster by a record in the metadata log; each node
//! says which levels it can live with. Thalweg says what Kafka 4.4 says, and keeps whatever level
//! the log has: what it cannot serve yet it does not advertise as an API.

use std::fmt;

/// Name of the feature that decides about metadata records and inter-broker protocols.
pub const METADATA_VERSION: &str = "metadata.version";
/// Name of the feature that decides whether the quorum's voters can change. Its level stands in a
/// control record, never in a feature record.
pub const KRAFT_VERSION: &str = "kraft.version";
/// Name of the feature of eligible leader replicas (KIP-966).
pub const ELR_VERSION: &str = "eligible.leader.replicas.version";

/// Name of the feature of groups of the consumer protocol (KIP-848).
pub const GROUP_VERSION: &str = "group.version";

/// Name of the feature of transactions (KIP-890).
pub const TRANSACTION_VERSION: &str = "transaction.version";

/// Level of `metadata.version`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetadataVersion(i16);

/// Levels of `metadata.version` that brought new records or new forms of old ones.
const RECORDS_CHANGED_AT: [i16; 10] = [8, 11, 13, 14, 15, 17, 23, 30, 32, 33];

impl MetadataVersion {
    /// The lowest level there is (3.3-IV3).
    pub const MINIMUM: MetadataVersion = MetadataVersion(7);
    /// The highest level of Kafka 4.4 (4.4-IV2).
    pub const LATEST: MetadataVersion = MetadataVersion(33);

    /// The level of that number, if Kafka 4.4 can run at it.
    pub fn from_level(level: i16) -> Option<MetadataVersion> {
        (Self::MINIMUM.0..=Self::LATEST.0).contains(&level).then_some(MetadataVersion(level))
    }

    /// The level of a name, or the last level of a release: `4.3-IV0`, `4.3`.
    pub fn named(name: &str) -> Option<MetadataVersion> {
        let is_meant = |known: &str| {
            known == name || known.rsplit_once("-IV").is_some_and(|(release, _)| release == name)
        };
        let levels = (Self::MINIMUM.0..=Self::LATEST.0).rev().map(MetadataVersion);
        levels.into_iter().find(|version| is_meant(version.name()))
    }

    /// The number.
    pub fn level(self) -> i16 {
        self.0
    }

    /// Kafka's name of the level.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 27] = [
            "3.3-IV3", "3.4-IV0", "3.5-IV0", "3.5-IV1", "3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2",
            "3.7-IV0", "3.7-IV1", "3.7-IV2", "3.7-IV3", "3.7-IV4", "3.8-IV0", "3.9-IV0", "4.0-IV0",
            "4.0-IV1", "4.0-IV2", "4.0-IV3", "4.1-IV0", "4.1-IV1", "4.2-IV0", "4.2-IV1", "4.3-IV0",
            "4.4-IV0", "4.4-IV1", "4.4-IV2",
        ];
        let at = usize::try_from(self.0 - Self::MINIMUM.0).unwrap_or(0);
        NAMES.get(at).copied().unwrap_or("unknown")
    }

    /// Whether controllers register themselves.
    pub fn has_controller_registration(self) -> bool {
        self.0 >= 15
    }

    /// Whether replicas are assigned to directories.
    pub fn has_directory_assignment(self) -> bool {
        self.0 >= 17
    }

    /// Whether partition records carry eligible leader replicas.
    pub fn has_elr(self) -> bool {
        self.0 >= 23
    }

    /// Whether SCRAM credentials are stored.
    pub fn has_scram(self) -> bool {
        self.0 >= 11
    }

    /// Whether several batches can form one metadata transaction.
    pub fn has_transactions(self) -> bool {
        self.0 >= 13
    }

    /// Whether delegation tokens are stored.
    pub fn has_delegation_tokens(self) -> bool {
        self.0 >= 14
    }

    /// Whether brokers report cordoned directories.
    pub fn has_cordoned_dirs(self) -> bool {
        self.0 >= 30
    }

    /// Whether the registration of a controller can be taken away (KIP-1312).
    pub fn has_controller_unregistration(self) -> bool {
        self.0 >= 33
    }

    /// Whether a fetch of an ISR shrink leaves the leader epoch alone.
    pub fn keeps_epoch_on_shrink(self) -> bool {
        self.0 >= 12
    }

    /// Whether this level and the other do not have the same records.
    pub fn records_differ_from(self, other: MetadataVersion) -> bool {
        let (low, high) = (self.0.min(other.0), self.0.max(other.0));
        RECORDS_CHANGED_AT.iter().any(|level| low < *level && *level <= high)
    }
}

impl fmt::Display for MetadataVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Levels of a feature that a node can live with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeatureRange {
    /// Name of the feature.
    pub name: &'static str,
    /// Lowest level.
    pub min: i16,
    /// Highest level.
    pub max: i16,
}

/// What a broker of this release supports; the ranges of Kafka 4.4.
pub const SUPPORTED: [FeatureRange; 7] = [
    FeatureRange { name: ELR_VERSION, min: 0, max: 1 },
    FeatureRange { name: GROUP_VERSION, min: 0, max: 1 },
    FeatureRange { name: KRAFT_VERSION, min: 0, max: 1 },
    FeatureRange { name: METADATA_VERSION, min: 7, max: 33 },
    FeatureRange { name: "share.version", min: 0, max: 2 },
    FeatureRange { name: "streams.version", min: 0, max: 1 },
    FeatureRange { name: TRANSACTION_VERSION, min: 0, max: 2 },
];

/// The supported range of a feature.
pub fn supported(name: &str) -> Option<FeatureRange> {
    SUPPORTED.iter().copied().find(|range| range.name == name)
}

/// Levels that features have by default from a level of `metadata.version` on, by name, the highest first.
const DEFAULT_SINCE: [(&str, i16, i16); 6] = [
    (ELR_VERSION, 1, 26),
    (GROUP_VERSION, 1, 22),
    ("share.version", 2, 31),
    ("share.version", 1, 28),
    ("streams.version", 1, 29),
    (TRANSACTION_VERSION, 2, 24),
];

/// The levels that a cluster begins with which Kafka 4.4 formats for a level of `metadata.version`, in the order of its
/// records: `metadata.version` first, the others by name. Those at level 0 have no record.
pub fn initial_levels(version: MetadataVersion) -> Vec<(&'static str, i16)> {
    let mut levels = vec![(METADATA_VERSION, version.level())];
    for (name, level, since) in DEFAULT_SINCE {
        if version.level() >= since && levels.last().is_some_and(|(last, _)| *last != name) {
            levels.push((name, level));
        }
    }
    levels
}

/// The lowest `metadata.version` that a level of another feature needs.
pub fn needed_metadata_version(name: &str, level: i16) -> Option<MetadataVersion> {
    match name {
        _ if level < 1 => None,
        ELR_VERSION => MetadataVersion::from_level(23),
        _ => Some(MetadataVersion::MINIMUM),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels() {
        assert_eq!(MetadataVersion::LATEST.to_string(), "4.4-IV2");
        assert_eq!(MetadataVersion::MINIMUM.to_string(), "3.3-IV3");
        assert_eq!(MetadataVersion::from_level(6), None);
        assert_eq!(MetadataVersion::from_level(34), None);
        assert_eq!(MetadataVersion::from_level(25).map(MetadataVersion::name), Some("4.0-IV3"));
        let level = |level| MetadataVersion::from_level(level).expect("a level");
        assert!(level(30).records_differ_from(level(29)));
        assert!(level(29).records_differ_from(level(30)));
        assert!(!level(29).records_differ_from(level(23)));
        assert!(!level(31).records_differ_from(level(30)));
        assert!(level(32).records_differ_from(level(31)));
        assert!(level(33).records_differ_from(level(32)));
    }

    #[test]
    fn initial_levels_are_supported() {
        for (name, level) in initial_levels(MetadataVersion::LATEST) {
            let range = supported(name).expect("a supported feature");
            assert!((range.min..=range.max).contains(&level), "{name}");
        }
    }

    #[test]
    fn releases_have_levels() {
        let named = |name| MetadataVersion::named(name).map(MetadataVersion::level);
        assert_eq!(named("4.3"), Some(30));
        assert_eq!(named("4.4"), Some(33));
        assert_eq!(named("4.4-IV1"), Some(32));
        assert_eq!(named("4.5"), None);
        assert_eq!(named(""), None);
    }
}
