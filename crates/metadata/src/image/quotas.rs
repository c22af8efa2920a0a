//! Client quotas. They are stored and shown; only the rate of connections of an address acts yet.

use std::collections::BTreeMap;

use thalweg_wire::messages::client_quota_record::EntityData;

/// Whom a quota is for: entity types with a name each, `None` for the default of the type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct QuotaEntity(pub BTreeMap<String, Option<String>>);

impl QuotaEntity {
    pub(super) fn from_record(entity: &[EntityData]) -> QuotaEntity {
        QuotaEntity(entity.iter().map(|e| (e.entity_type.clone(), e.entity_name.clone())).collect())
    }

    /// The entity as records have it.
    pub fn to_record(&self) -> Vec<EntityData> {
        self.0
            .iter()
            .map(|(entity_type, entity_name)| EntityData {
                entity_type: entity_type.clone(),
                entity_name: entity_name.clone(),
                ..EntityData::default()
            })
            .collect()
    }
}

/// All quotas, by entity and key.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct QuotasImage {
    /// Quotas by entity; none is empty.
    pub entities: BTreeMap<QuotaEntity, BTreeMap<String, f64>>,
}
