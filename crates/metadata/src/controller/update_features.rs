//! UpdateFeatures.

use std::collections::BTreeMap;

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::metadata_record::MetadataRecord;
use thalweg_wire::messages::update_features_request::UpdateFeaturesRequest;
use thalweg_wire::messages::update_features_response::{
    UpdatableFeatureResult, UpdateFeaturesResponse,
};
use thalweg_wire::messages::{ConfigRecord, FeatureLevelRecord};

use super::{Context, ControllerRequest, Decision, RequestContext};
use crate::ApiError;
use crate::config::{self, BROKER, ConfigType};
use crate::features::{
    self, ELR_VERSION, KRAFT_VERSION, METADATA_VERSION, MetadataVersion, needed_metadata_version,
};
use crate::image::{ConfigResource, ResourceType};

/// In which direction a level may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Upgrade {
    Up,
    SafelyDown,
    UnsafelyDown,
    Unknown,
}

impl ControllerRequest for UpdateFeaturesRequest {
    fn decide(
        &self,
        context: &Context<'_>,
        given: &mut RequestContext<'_>,
    ) -> Decision<UpdateFeaturesResponse> {
        update_features(context, self, given.kraft_version, given.version)
    }

    fn refused(&self, error_code: ErrorCode) -> UpdateFeaturesResponse {
        UpdateFeaturesResponse { error_code, ..Default::default() }
    }
}

/// Decides about other levels of features.
///
/// `kraft_version` is the level in the log's control records, `version` that of the request: only
/// older ones are answered feature by feature.
fn update_features(
    context: &Context<'_>,
    request: &UpdateFeaturesRequest,
    kraft_version: i16,
    version: i16,
) -> Decision<UpdateFeaturesResponse> {
    let mut updates: BTreeMap<&str, (i16, Upgrade)> = BTreeMap::new();
    for update in &request.feature_updates {
        let upgrade = match (version, update.upgrade_type) {
            (0, _) if update.allow_downgrade => Upgrade::SafelyDown,
            (0, _) | (_, 1) => Upgrade::Up,
            (_, 2) => Upgrade::SafelyDown,
            (_, 3) => Upgrade::UnsafelyDown,
            _ => Upgrade::Unknown,
        };
        updates.insert(&update.feature, (update.max_version_level, upgrade));
    }
    let mut records: Vec<MetadataRecord> = Vec::new();
    for (name, (level, upgrade)) in &updates {
        match update(context, name, *level, *upgrade, kraft_version, &updates) {
            Ok(record) => records.extend(record.map(MetadataRecord::from)),
            Err(error) => {
                let reason = error.message.unwrap_or_default();
                return Decision::answer(UpdateFeaturesResponse {
                    error_code: error.code,
                    error_message: Some(format!("no feature was updated: {reason}")),
                    ..UpdateFeaturesResponse::default()
                });
            }
        }
    }
    if updates.get(ELR_VERSION).is_some_and(|(level, _)| *level > 0) {
        let mut first = elr_safety_records(context);
        first.append(&mut records);
        records = first;
    }
    let results = match version {
        ..=1 => request
            .feature_updates
            .iter()
            .map(|update| UpdatableFeatureResult {
                feature: update.feature.clone(),
                error_message: None,
                ..UpdatableFeatureResult::default()
            })
            .collect(),
        _ => Vec::new(),
    };
    let response = UpdateFeaturesResponse {
        error_message: None,
        results,
        ..UpdateFeaturesResponse::default()
    };
    Decision { records, response }.validated(request.validate_only)
}

fn update(
    context: &Context<'_>,
    name: &str,
    level: i16,
    upgrade: Upgrade,
    kraft_version: i16,
    updates: &BTreeMap<&str, (i16, Upgrade)>,
) -> Result<Option<FeatureLevelRecord>, ApiError> {
    let refuse = |reason: String| {
        Err(ApiError::new(
            ErrorCode::INVALID_UPDATE_VERSION,
            format!("level {level} of feature {name} is not possible: {reason}"),
        ))
    };
    if upgrade == Upgrade::Unknown {
        return refuse("the kind of upgrade is unknown".into());
    }
    let current = match name {
        KRAFT_VERSION => kraft_version,
        _ => context.image.features.level(name),
    };
    if level < 0 {
        return refuse("it is negative".into());
    }
    if let Some(reason) = not_supported(context, name, level) {
        return refuse(reason);
    }
    if level < current && upgrade == Upgrade::Up {
        return refuse(format!("it is below {current}, and no downgrade was asked for"));
    }
    if level > current && upgrade != Upgrade::Up {
        return refuse(format!("it is above {current}, which is no downgrade"));
    }
    let record = FeatureLevelRecord {
        name: name.to_owned(),
        feature_level: level,
        ..FeatureLevelRecord::default()
    };
    match name {
        METADATA_VERSION => {
            let Some(target) = MetadataVersion::from_level(level) else {
                return refuse("it does not exist".into());
            };
            let now = context.metadata_version();
            if target < now && now.records_differ_from(target) {
                let reason = match upgrade {
                    Upgrade::UnsafelyDown => "unsafe downgrades are not supported",
                    _ => "metadata might be lost",
                };
                return refuse(format!("going down from {}: {reason}", now.level()));
            }
            Ok(Some(record))
        }
        // It stands in a control record; a change of it needs voters that can change.
        KRAFT_VERSION if level == current => Ok(None),
        KRAFT_VERSION if upgrade == Upgrade::Up => {
            refuse("kraft.version cannot be changed while the controller is embedded".into())
        }
        KRAFT_VERSION => refuse("it cannot be downgraded".into()),
        _ if features::supported(name).is_none() => refuse("the feature does not exist".into()),
        _ => {
            let metadata_version = match updates.get(METADATA_VERSION) {
                Some((level, _)) => *level,
                None => context.metadata_version().level(),
            };
            match needed_metadata_version(name, level) {
                Some(needed) if metadata_version < needed.level() => {
                    refuse(format!("it needs metadata.version {}", needed.level()))
                }
                _ => Ok(Some(record)),
            }
        }
    }
}

fn not_supported(context: &Context<'_>, name: &str, level: i16) -> Option<String> {
    let outside = |who: String, range: Option<(i16, i16)>| {
        let (min, max) = range.unwrap_or((0, 0));
        match (level < min || level > max, max) {
            (false, _) => None,
            (true, 0) => Some(format!("{who} does not support the feature")),
            (true, _) => Some(format!("{who} supports levels {min} to {max}")),
        }
    };
    let ours = features::supported(name).map(|range| (range.min, range.max));
    if let Some(reason) = outside("this controller".into(), ours) {
        return Some(reason);
    }
    let cluster = &context.image.cluster;
    let brokers = cluster.brokers.values().map(|b| (format!("broker {}", b.id), &b.features));
    let controllers = cluster
        .controllers
        .values()
        .filter(|controller| controller.id != context.config.node_id())
        .map(|c| (format!("controller {}", c.id), &c.features));
    brokers.chain(controllers).find_map(|(who, ranges)| outside(who, ranges.get(name).copied()))
}

/// With eligible leader replicas all brokers must agree on `min.insync.replicas`: its default is
/// written down, and what single brokers set is removed.
fn elr_safety_records(context: &Context<'_>) -> Vec<MetadataRecord> {
    const NAME: &str = "min.insync.replicas";
    let configs = &context.image.configs;
    let record = |resource: &ConfigResource, value: Option<String>| {
        MetadataRecord::from(ConfigRecord {
            resource_type: resource.resource_type.id(),
            resource_name: resource.name.clone(),
            name: NAME.to_owned(),
            value,
            ..ConfigRecord::default()
        })
    };
    let mut records = Vec::new();
    let defaults = ConfigResource::broker_defaults();
    if !configs.get(&defaults).is_some_and(|set| set.contains_key(NAME)) {
        let fixed = context.config.static_props().get(NAME).map(String::as_str);
        let value = fixed
            .and_then(|text| ConfigType::Int.parse(text).ok())
            .or_else(|| BROKER.get(NAME).and_then(|key| key.default_value().cloned()));
        records.push(record(&defaults, value.as_ref().map(config::Value::to_text)));
    }
    for (resource, set) in configs.iter() {
        let one_broker =
            resource.resource_type == ResourceType::Broker && !resource.name.is_empty();
        if one_broker && set.contains_key(NAME) {
            records.push(record(resource, None));
        }
    }
    records
}
