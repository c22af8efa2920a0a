//! AlterClientQuotas and DescribeClientQuotas. Quotas are stored and shown; they do not act yet.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::ClientQuotaRecord;
use thalweg_wire::messages::alter_client_quotas_request::AlterClientQuotasRequest;
use thalweg_wire::messages::alter_client_quotas_response::{
    AlterClientQuotasResponse, EntityData, EntryData,
};
use thalweg_wire::messages::describe_client_quotas_request::DescribeClientQuotasRequest;
use thalweg_wire::messages::describe_client_quotas_response::{
    DescribeClientQuotasResponse, EntityData as DescribedEntity, EntryData as DescribedEntry,
    ValueData,
};
use thalweg_wire::messages::metadata_record::MetadataRecord;

use super::{
    Context, ControllerRequest, Decision, MAX_RECORDS_PER_REQUEST, RequestContext, too_many_records,
};
use crate::ApiError;
use crate::image::QuotaEntity;

const USER: &str = "user";
const CLIENT_ID: &str = "client-id";
const IP: &str = "ip";

/// The largest value of a quota; `None` for one that may have a fraction and no limit.
fn limit(key: &str, is_ip: bool) -> Option<Option<f64>> {
    Some(match (key, is_ip) {
        ("connection_creation_rate", true) => Some(f64::from(i32::MAX)),
        ("producer_byte_rate" | "consumer_byte_rate", false) => Some(i64::MAX as f64),
        ("request_percentage" | "controller_mutation_rate", false) => None,
        _ => return None,
    })
}

impl ControllerRequest for AlterClientQuotasRequest {
    fn decide(
        &self,
        context: &Context<'_>,
        _: &mut RequestContext<'_>,
    ) -> Decision<AlterClientQuotasResponse> {
        alter_client_quotas(context, self)
    }

    fn refused(&self, error_code: ErrorCode) -> AlterClientQuotasResponse {
        let entries = self.entries.iter().map(|entry| EntryData {
            error_code,
            entity: entry
                .entity
                .iter()
                .map(|part| EntityData {
                    entity_type: part.entity_type.clone(),
                    entity_name: part.entity_name.clone(),
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        });
        AlterClientQuotasResponse { entries: entries.collect(), ..Default::default() }
    }
}

/// Decides about quotas of clients.
fn alter_client_quotas(
    context: &Context<'_>,
    request: &AlterClientQuotasRequest,
) -> Decision<AlterClientQuotasResponse> {
    let mut records: Vec<MetadataRecord> = Vec::new();
    let mut results: BTreeMap<QuotaEntity, ApiError> = BTreeMap::new();
    for entry in &request.entries {
        let entity = QuotaEntity(
            entry.entity.iter().map(|e| (e.entity_type.clone(), e.entity_name.clone())).collect(),
        );
        if let Some(error) = results.get_mut(&entity) {
            *error = invalid(format!("Ignoring duplicate entity {}", shown(&entity)));
            continue;
        }
        let mut values: BTreeMap<&str, Option<f64>> = BTreeMap::new();
        let mut duplicate = false;
        for op in &entry.ops {
            let value = (!op.remove).then_some(op.value);
            duplicate |= values.insert(&op.key, value).is_some();
        }
        let outcome = match duplicate {
            true => Err(invalid(format!("Ignoring duplicate entity {}", shown(&entity)))),
            false => alter(context, &entity, &values),
        };
        let error = match outcome {
            Ok(new) => {
                records.extend(new.into_iter().map(MetadataRecord::from));
                ApiError::NONE
            }
            Err(error) => error,
        };
        results.insert(entity, error);
    }
    if records.len() > MAX_RECORDS_PER_REQUEST {
        records.clear();
        for error in results.values_mut() {
            *error = too_many_records();
        }
    }
    let entries = results
        .into_iter()
        .map(|(entity, error)| EntryData {
            error_code: error.code,
            error_message: error.message,
            entity: entity
                .0
                .into_iter()
                .map(|(entity_type, entity_name)| EntityData {
                    entity_type,
                    entity_name,
                    ..EntityData::default()
                })
                .collect(),
            ..EntryData::default()
        })
        .collect();
    let response = AlterClientQuotasResponse { entries, ..Default::default() };
    Decision { records, response }.validated(request.validate_only)
}

/// An entity as Java prints it.
fn shown(entity: &QuotaEntity) -> String {
    let entries: Vec<String> = entity
        .0
        .iter()
        .map(|(kind, name)| format!("{kind}={}", name.as_deref().unwrap_or("null")))
        .collect();
    format!("ClientQuotaEntity(entries={{{}}})", entries.join(", "))
}

fn invalid(message: String) -> ApiError {
    ApiError::new(ErrorCode::INVALID_REQUEST, message)
}

fn alter(
    context: &Context<'_>,
    entity: &QuotaEntity,
    values: &BTreeMap<&str, Option<f64>>,
) -> Result<Vec<ClientQuotaRecord>, ApiError> {
    if entity.0.is_empty() {
        return Err(invalid("Invalid empty client quota entity".into()));
    }
    for (entity_type, name) in &entity.0 {
        if !matches!(entity_type.as_str(), USER | CLIENT_ID | IP) {
            return Err(invalid(format!("Unhandled client quota entity type: {entity_type}")));
        }
        if name.as_deref() == Some("") {
            return Err(invalid(format!("Empty {entity_type} not supported")));
        }
    }
    let is_ip = entity.0.contains_key(IP);
    if is_ip && entity.0.len() > 1 {
        // Without a space, as Kafka has it.
        return Err(invalid(
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"
                .into(),
        ));
    }
    // Kafka also takes host names that it can look up; nothing can be looked up here.
    if let Some(Some(ip)) = entity.0.get(IP)
        && ip.parse::<IpAddr>().is_err()
        && ip != "localhost"
    {
        return Err(invalid(format!("{ip} is not a valid IP or resolvable host.")));
    }
    let current = context.image.quotas.entities.get(entity);
    let mut records = Vec::new();
    for (key, value) in values {
        let stored = current.and_then(|quotas| quotas.get(*key)).copied();
        let record = |value, remove| ClientQuotaRecord {
            entity: entity.to_record(),
            key: (*key).to_owned(),
            value,
            remove,
            ..ClientQuotaRecord::default()
        };
        match value {
            None => records.extend(stored.map(|_| record(0.0, true))),
            Some(value) => {
                check_value(key, *value, is_ip)?;
                // Bit by bit, as Java compares doubles that are objects.
                if stored.map(f64::to_bits) != Some(value.to_bits()) {
                    records.push(record(*value, false));
                }
            }
        }
    }
    Ok(records)
}

fn check_value(key: &str, value: f64, is_ip: bool) -> Result<(), ApiError> {
    let Some(limit) = limit(key, is_ip) else {
        return Err(invalid(format!("Invalid configuration key {key}")));
    };
    if !value.is_finite() {
        return Err(invalid(format!("Quota {key} must be a finite number")));
    }
    if value <= 0.0 {
        return Err(invalid(format!("Quota {key} must be greater than 0")));
    }
    let Some(limit) = limit else { return Ok(()) };
    if value > limit {
        return Err(invalid(format!(
            "Proposed value for {key} is too large for {}.",
            if is_ip { "an INT" } else { "a LONG" }
        )));
    }
    if (value % 1.0).abs() > 1e-6 {
        return Err(invalid(format!("{key} cannot be a fractional value.")));
    }
    Ok(())
}

/// Describes quotas of clients.
pub fn describe_client_quotas(
    context: &Context<'_>,
    request: &DescribeClientQuotasRequest,
) -> DescribeClientQuotasResponse {
    match find(context, request) {
        Ok(entries) => DescribeClientQuotasResponse {
            error_message: None,
            entries: Some(entries),
            ..DescribeClientQuotasResponse::default()
        },
        Err(error) => DescribeClientQuotasResponse {
            error_code: error.code,
            error_message: error.message,
            entries: None,
            ..DescribeClientQuotasResponse::default()
        },
    }
}

fn find(
    context: &Context<'_>,
    request: &DescribeClientQuotasRequest,
) -> Result<Vec<DescribedEntry>, ApiError> {
    let mut exact: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    let mut any: BTreeSet<&str> = BTreeSet::new();
    for component in &request.components {
        let kind = component.entity_type.as_str();
        if kind.is_empty() {
            return Err(invalid("Invalid empty entity type.".into()));
        }
        if exact.contains_key(kind) || any.contains(kind) {
            return Err(invalid(format!(
                "Entity type {kind} cannot appear more than once in the filter."
            )));
        }
        if !matches!(kind, USER | CLIENT_ID | IP) {
            return Err(ApiError::new(
                ErrorCode::UNSUPPORTED_VERSION,
                format!("Unsupported entity type {kind}"),
            ));
        }
        match (component.match_type, component.match_.as_deref()) {
            (0, Some(name)) => {
                exact.insert(kind, Some(name));
            }
            (1, None) => {
                exact.insert(kind, None);
            }
            (2, None) => {
                any.insert(kind);
            }
            (0, None) => {
                return Err(invalid(
                    "Request specified MATCH_TYPE_EXACT, but set match string to null.".into(),
                ));
            }
            (1, Some(_)) => {
                return Err(invalid(
                    "Request specified MATCH_TYPE_DEFAULT, but also specified a match string."
                        .into(),
                ));
            }
            (2, Some(_)) => {
                return Err(invalid(
                    "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string."
                        .into(),
                ));
            }
            (other, _) => return Err(invalid(format!("Unknown match type {other}"))),
        }
    }
    let asked = |kind: &str| exact.contains_key(kind) || any.contains(kind);
    if asked(IP) && (asked(USER) || asked(CLIENT_ID)) {
        return Err(invalid(
            "Invalid entity filter component combination. IP filter component should not be used \
             with user or clientId filter component."
                .into(),
        ));
    }
    let matches = |entity: &QuotaEntity| {
        (!request.strict || entity.0.len() == exact.len() + any.len())
            && exact.iter().all(|(kind, name)| {
                entity.0.get(*kind).is_some_and(|stored| stored.as_deref() == *name)
            })
            && any.iter().all(|kind| entity.0.contains_key(*kind))
    };
    let entities = context.image.quotas.entities.iter();
    Ok(entities
        .filter(|(entity, _)| matches(entity))
        .map(|(entity, quotas)| DescribedEntry {
            entity: entity
                .0
                .iter()
                .map(|(entity_type, entity_name)| DescribedEntity {
                    entity_type: entity_type.clone(),
                    entity_name: entity_name.clone(),
                    ..DescribedEntity::default()
                })
                .collect(),
            values: quotas
                .iter()
                .map(|(key, value)| ValueData {
                    key: key.clone(),
                    value: *value,
                    ..ValueData::default()
                })
                .collect(),
            ..DescribedEntry::default()
        })
        .collect())
}
