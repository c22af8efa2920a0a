//! Limits for clients: by user, client id and address (KIP-546).

use std::collections::BTreeMap;

use thalweg_wire::ApiKey;
use thalweg_wire::messages::alter_client_quotas_request::{EntityData, EntryData, OpData};
use thalweg_wire::messages::describe_client_quotas_request::ComponentData;
use thalweg_wire::messages::{AlterClientQuotasRequest, DescribeClientQuotasRequest};

use super::attempt::for_all;
use super::{Admin, AdminError, AdminFuture, Mode, Results};

/// Whom limits are for: the name for each type (`user`, `client-id`, `ip`), or none for whoever has
/// no limits of its own.
pub type QuotaEntity = BTreeMap<String, Option<String>>;

/// Which entities are meant, as far as one type goes.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum QuotaMatch {
    /// The one with this name.
    Exact(String),
    /// Whoever has no limits of its own.
    Default,
    /// All that have the type.
    Any,
}

/// Limits by what they are of: names of quotas with their values.
pub type Quotas = BTreeMap<QuotaEntity, BTreeMap<String, f64>>;

impl Admin {
    /// The limits of entities that match; with `strict` only of those that have no other types. An
    /// empty filter that is not strict means all.
    pub fn describe_client_quotas(
        &self,
        filter: BTreeMap<String, QuotaMatch>,
        strict: bool,
    ) -> AdminFuture<'_, Result<Quotas, AdminError>> {
        Box::pin(self.describe_client_quotas_inner(filter, strict))
    }

    async fn describe_client_quotas_inner(
        &self,
        filter: BTreeMap<String, QuotaMatch>,
        strict: bool,
    ) -> Result<Quotas, AdminError> {
        let api = ApiKey::DESCRIBE_CLIENT_QUOTAS;
        let filter = &filter;
        self.settle_one(api, |_| async move {
            let component = |(entity_type, wanted): (&String, &QuotaMatch)| {
                let (match_type, match_) = match wanted {
                    QuotaMatch::Exact(name) => (0, Some(name.clone())),
                    QuotaMatch::Default => (1, None),
                    QuotaMatch::Any => (2, None),
                };
                let entity_type = entity_type.clone();
                ComponentData { entity_type, match_type, match_, ..Default::default() }
            };
            let components = filter.iter().map(component).collect();
            let request = DescribeClientQuotasRequest { components, strict, ..Default::default() };
            let response = self.cluster.send_any(&request).await?;
            AdminError::check(api, response.error_code, response.error_message.as_deref())?;
            let entries = response.entries.unwrap_or_default().into_iter().map(|entry| {
                let entity = entry.entity.into_iter().map(|e| (e.entity_type, e.entity_name));
                let values = entry.values.into_iter().map(|value| (value.key, value.value));
                (entity.collect(), values.collect())
            });
            Ok(entries.collect())
        })
        .await
    }

    /// Changes limits: sets those with a value, takes those without away.
    pub fn alter_client_quotas(
        &self,
        changes: BTreeMap<QuotaEntity, BTreeMap<String, Option<f64>>>,
        mode: Mode,
    ) -> AdminFuture<'_, Results<QuotaEntity, ()>> {
        Box::pin(self.alter_client_quotas_inner(changes, mode))
    }

    async fn alter_client_quotas_inner(
        &self,
        changes: BTreeMap<QuotaEntity, BTreeMap<String, Option<f64>>>,
        mode: Mode,
    ) -> Results<QuotaEntity, ()> {
        let api = ApiKey::ALTER_CLIENT_QUOTAS;
        let changes = &changes;
        self.settle(api, changes.keys().cloned(), |entities, left| async move {
            let entry = |entity: &QuotaEntity| {
                let ops = changes.get(entity)?.iter().map(|(key, value)| OpData {
                    key: key.clone(),
                    value: value.unwrap_or_default(),
                    remove: value.is_none(),
                    ..Default::default()
                });
                let parts = entity.iter().map(|(entity_type, name)| EntityData {
                    entity_type: entity_type.clone(),
                    entity_name: name.clone(),
                    ..Default::default()
                });
                let (entity, ops) = (parts.collect(), ops.collect());
                Some(EntryData { entity, ops, ..Default::default() })
            };
            let request = AlterClientQuotasRequest {
                entries: entities.iter().filter_map(entry).collect(),
                validate_only: mode.is_validation(),
                ..Default::default()
            };
            let sent = async { self.controller().await?.send_within(&request, left).await };
            match sent.await {
                Ok(response) => response
                    .entries
                    .into_iter()
                    .map(|entry| {
                        let entity = entry.entity.into_iter();
                        let entity = entity.map(|e| (e.entity_type, e.entity_name)).collect();
                        let message = entry.error_message.as_deref();
                        (entity, AdminError::check(api, entry.error_code, message))
                    })
                    .collect(),
                Err(error) => for_all(entities, error),
            }
        })
        .await
    }
}
