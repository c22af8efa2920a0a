//! Configs of topics, brokers, groups and client metrics.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use thalweg_wire::messages::describe_configs_request::DescribeConfigsResource;
use thalweg_wire::messages::describe_configs_response::DescribeConfigsResourceResult;
use thalweg_wire::messages::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};
use thalweg_wire::messages::{
    DescribeConfigsRequest, IncrementalAlterConfigsRequest, ListConfigResourcesRequest,
};
use thalweg_wire::{ApiKey, Request, secret};

use super::attempt::{Answers, at_least, for_all, join};
use super::{Admin, AdminError, AdminFuture, Mode, Results};
use crate::error::Error;
use crate::options::setters::setters;

/// What has configs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum ResourceType {
    /// A topic.
    Topic,
    /// A broker, or with an empty name all of them.
    Broker,
    /// The levels at which a broker logs.
    BrokerLogger,
    /// A subscription to clients' metrics (KIP-714).
    ClientMetrics,
    /// A group (KIP-848).
    Group,
    /// One that this does not know.
    Other(i8),
}

impl ResourceType {
    /// Its number in requests.
    pub fn code(self) -> i8 {
        match self {
            ResourceType::Topic => 2,
            ResourceType::Broker => 4,
            ResourceType::BrokerLogger => 8,
            ResourceType::ClientMetrics => 16,
            ResourceType::Group => 32,
            ResourceType::Other(code) => code,
        }
    }

    /// The type with this number.
    pub fn from_code(code: i8) -> ResourceType {
        match code {
            2 => ResourceType::Topic,
            4 => ResourceType::Broker,
            8 => ResourceType::BrokerLogger,
            16 => ResourceType::ClientMetrics,
            32 => ResourceType::Group,
            other => ResourceType::Other(other),
        }
    }

    /// Its name in lower case, as tools show it.
    pub fn name(self) -> &'static str {
        match self {
            ResourceType::Topic => "topic",
            ResourceType::Broker => "broker",
            ResourceType::BrokerLogger => "broker-logger",
            ResourceType::ClientMetrics => "client-metrics",
            ResourceType::Group => "group",
            ResourceType::Other(_) => "unknown",
        }
    }
}

/// Something that has configs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConfigResource {
    /// What it is.
    pub kind: ResourceType,
    /// Its name; a broker's id, or empty for all brokers.
    pub name: String,
}

impl ConfigResource {
    /// One of a type.
    pub fn new(kind: ResourceType, name: impl Into<String>) -> ConfigResource {
        ConfigResource { kind, name: name.into() }
    }

    /// A topic.
    pub fn topic(name: impl Into<String>) -> ConfigResource {
        ConfigResource::new(ResourceType::Topic, name)
    }

    /// A broker.
    pub fn broker(id: i32) -> ConfigResource {
        ConfigResource::new(ResourceType::Broker, id.to_string())
    }

    /// What holds for all brokers.
    pub fn all_brokers() -> ConfigResource {
        ConfigResource::new(ResourceType::Broker, "")
    }

    /// A group.
    pub fn group(id: impl Into<String>) -> ConfigResource {
        ConfigResource::new(ResourceType::Group, id)
    }

    /// The broker that has to be asked; nothing where any will do.
    fn node(&self) -> Result<Option<i32>, AdminError> {
        let is_local = matches!(self.kind, ResourceType::Broker | ResourceType::BrokerLogger);
        if !is_local || self.name.is_empty() {
            return Ok(None);
        }
        let id = self
            .name
            .parse()
            .map_err(|_| AdminError::Invalid(format!("'{}' is not a broker's id", self.name)))?;
        Ok(Some(id))
    }
}

impl fmt::Display for ConfigResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind, &*self.name) {
            (ResourceType::Broker, "") => f.write_str("all brokers"),
            (kind, name) => write!(f, "{} {name}", kind.name()),
        }
    }
}

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ConfigSource {
    /// The topic's own.
    Topic,
    /// This broker's, set while it runs.
    DynamicBroker,
    /// All brokers', set while they run.
    DynamicDefaultBroker,
    /// The broker's `server.properties`.
    StaticBroker,
    /// Kafka's default.
    Default,
    /// The broker's loggers.
    DynamicBrokerLogger,
    /// The metrics subscription's own.
    ClientMetrics,
    /// The group's own.
    Group,
    /// One that this does not know, or that was not told.
    Other(i8),
}

impl ConfigSource {
    pub(super) fn from_code(code: i8) -> ConfigSource {
        match code {
            1 => ConfigSource::Topic,
            2 => ConfigSource::DynamicBroker,
            3 => ConfigSource::DynamicDefaultBroker,
            4 => ConfigSource::StaticBroker,
            5 => ConfigSource::Default,
            6 => ConfigSource::DynamicBrokerLogger,
            7 => ConfigSource::ClientMetrics,
            8 => ConfigSource::Group,
            other => ConfigSource::Other(other),
        }
    }

    /// Kafka's name of it.
    pub fn name(self) -> &'static str {
        match self {
            ConfigSource::Topic => "DYNAMIC_TOPIC_CONFIG",
            ConfigSource::DynamicBroker => "DYNAMIC_BROKER_CONFIG",
            ConfigSource::DynamicDefaultBroker => "DYNAMIC_DEFAULT_BROKER_CONFIG",
            ConfigSource::StaticBroker => "STATIC_BROKER_CONFIG",
            ConfigSource::Default => "DEFAULT_CONFIG",
            ConfigSource::DynamicBrokerLogger => "DYNAMIC_BROKER_LOGGER_CONFIG",
            ConfigSource::ClientMetrics => "DYNAMIC_CLIENT_METRICS_CONFIG",
            ConfigSource::Group => "DYNAMIC_GROUP_CONFIG",
            ConfigSource::Other(_) => "UNKNOWN",
        }
    }
}

/// What kind of value it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ConfigKind {
    /// True or false.
    Boolean,
    /// Text.
    String,
    /// 32 bits.
    Int,
    /// 16 bits.
    Short,
    /// 64 bits.
    Long,
    /// A fraction.
    Double,
    /// Several, with commas.
    List,
    /// A name of Java's.
    Class,
    /// A secret.
    Password,
    /// One that this does not know, or that was not told.
    Unknown(i8),
}

impl ConfigKind {
    fn from_code(code: i8) -> ConfigKind {
        match code {
            1 => ConfigKind::Boolean,
            2 => ConfigKind::String,
            3 => ConfigKind::Int,
            4 => ConfigKind::Short,
            5 => ConfigKind::Long,
            6 => ConfigKind::Double,
            7 => ConfigKind::List,
            8 => ConfigKind::Class,
            9 => ConfigKind::Password,
            other => ConfigKind::Unknown(other),
        }
    }

    /// Kafka's name of it.
    pub fn name(self) -> &'static str {
        match self {
            ConfigKind::Boolean => "BOOLEAN",
            ConfigKind::String => "STRING",
            ConfigKind::Int => "INT",
            ConfigKind::Short => "SHORT",
            ConfigKind::Long => "LONG",
            ConfigKind::Double => "DOUBLE",
            ConfigKind::List => "LIST",
            ConfigKind::Class => "CLASS",
            ConfigKind::Password => "PASSWORD",
            ConfigKind::Unknown(_) => "UNKNOWN",
        }
    }
}

/// A config and its value. `Debug` hides the value of a secret.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigEntry {
    /// Its name.
    pub name: String,
    /// Its value; none where it has none, or where it is a secret.
    pub value: Option<String>,
    /// Where the value comes from.
    pub source: ConfigSource,
    /// Whether the value is a secret.
    pub is_sensitive: bool,
    /// Whether it cannot be changed while the broker runs.
    pub is_read_only: bool,
    /// What kind of value it is; brokers before 2.6 do not tell.
    pub kind: ConfigKind,
    /// Every value it could have, best first, where that was asked for.
    pub synonyms: Vec<ConfigSynonym>,
    /// What it does, where that was asked for.
    pub documentation: Option<String>,
}

impl fmt::Debug for ConfigEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_secret = self.is_sensitive || secret::is_sensitive_name(&self.name);
        let hidden = |value: &Option<String>| match value {
            Some(_) if is_secret => Some(secret::HIDDEN.to_owned()),
            value => value.clone(),
        };
        let synonyms = self.synonyms.iter().cloned();
        let synonyms =
            synonyms.map(|synonym| ConfigSynonym { value: hidden(&synonym.value), ..synonym });
        f.debug_struct("ConfigEntry")
            .field("name", &self.name)
            .field("value", &hidden(&self.value))
            .field("source", &self.source)
            .field("is_sensitive", &self.is_sensitive)
            .field("is_read_only", &self.is_read_only)
            .field("kind", &self.kind)
            .field("synonyms", &synonyms.collect::<Vec<_>>())
            .field("documentation", &self.documentation)
            .finish()
    }
}

/// Another place that a value could come from. `Debug` hides the value of a secret.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigSynonym {
    /// The name there.
    pub name: String,
    /// The value there.
    pub value: Option<String>,
    /// The place.
    pub source: ConfigSource,
}

impl fmt::Debug for ConfigSynonym {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_secret = secret::is_sensitive_name(&self.name);
        let hidden = self.value.as_ref().map(|_| secret::HIDDEN.to_owned());
        f.debug_struct("ConfigSynonym")
            .field("name", &self.name)
            .field("value", if is_secret { &hidden } else { &self.value })
            .field("source", &self.source)
            .finish()
    }
}

/// What to tell of configs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ConfigDetails {
    /// These alone; all without.
    pub names: Option<Vec<String>>,
    /// With synonyms.
    pub synonyms: bool,
    /// With what they do.
    pub documentation: bool,
}

setters! {
    ConfigDetails {
        synonyms: bool => with_synonyms,
        documentation: bool => with_documentation,
    }
}

impl ConfigDetails {
    /// Sets [`Self::names`]: these configs alone.
    #[must_use]
    pub fn with_names<N: Into<String>>(
        mut self,
        names: impl IntoIterator<Item = N>,
    ) -> ConfigDetails {
        self.names = Some(names.into_iter().map(Into::into).collect());
        self
    }
}

/// A change of one config. `Debug` hides the value of a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigChange {
    /// The config.
    pub name: String,
    /// What becomes of it.
    pub operation: ConfigOperation,
}

impl fmt::Debug for ConfigChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ConfigChange");
        shown.field("name", &self.name).field("operation", &self.operation);
        if let (Some(value), None) = (self.operation.value(), self.secret()) {
            shown.field("value", &value);
        }
        shown.finish()
    }
}

/// What becomes of a config. `Debug` shows no value, because it may be a secret.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigOperation {
    /// It has this value.
    Set(String),
    /// It has the value that holds without it.
    Delete,
    /// A list has these too.
    Append(String),
    /// A list has these no more.
    Subtract(String),
}

impl ConfigOperation {
    fn value(&self) -> Option<&str> {
        match self {
            ConfigOperation::Set(value)
            | ConfigOperation::Append(value)
            | ConfigOperation::Subtract(value) => Some(value),
            ConfigOperation::Delete => None,
        }
    }
}

impl fmt::Debug for ConfigOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ConfigOperation::Set(_) => "Set",
            ConfigOperation::Delete => "Delete",
            ConfigOperation::Append(_) => "Append",
            ConfigOperation::Subtract(_) => "Subtract",
        })
    }
}

impl ConfigChange {
    /// A change.
    pub fn new(name: impl Into<String>, operation: ConfigOperation) -> ConfigChange {
        ConfigChange { name: name.into(), operation }
    }

    /// Gives a config a value.
    pub fn set(name: impl Into<String>, value: impl Into<String>) -> ConfigChange {
        ConfigChange::new(name, ConfigOperation::Set(value.into()))
    }

    /// Takes it away again.
    pub fn delete(name: impl Into<String>) -> ConfigChange {
        ConfigChange::new(name, ConfigOperation::Delete)
    }

    /// Adds to a list.
    pub fn append(name: impl Into<String>, value: impl Into<String>) -> ConfigChange {
        ConfigChange::new(name, ConfigOperation::Append(value.into()))
    }

    /// Takes out of a list.
    pub fn subtract(name: impl Into<String>, value: impl Into<String>) -> ConfigChange {
        ConfigChange::new(name, ConfigOperation::Subtract(value.into()))
    }

    /// Its value, if that is a secret.
    fn secret(&self) -> Option<String> {
        let value = self.operation.value()?;
        secret::is_sensitive_name(&self.name).then(|| value.to_owned())
    }

    fn into_request(self) -> AlterableConfig {
        let (config_operation, value) = match self.operation {
            ConfigOperation::Set(value) => (0, Some(value)),
            ConfigOperation::Delete => (1, None),
            ConfigOperation::Append(value) => (2, Some(value)),
            ConfigOperation::Subtract(value) => (3, Some(value)),
        };
        AlterableConfig { name: self.name, config_operation, value, ..Default::default() }
    }
}

/// Resources by whom to ask, and those whom nobody can be asked about.
fn by_node<T>(
    resources: Vec<ConfigResource>,
) -> (BTreeMap<Option<i32>, Vec<ConfigResource>>, Answers<ConfigResource, T>) {
    let mut nodes: BTreeMap<Option<i32>, Vec<ConfigResource>> = BTreeMap::new();
    let mut answers = Vec::new();
    for resource in resources {
        match resource.node() {
            Ok(node) => nodes.entry(node).or_default().push(resource),
            Err(error) => answers.push((resource, Err(error))),
        }
    }
    (nodes, answers)
}

impl Admin {
    /// The configs of resources. A broker is asked for its own.
    pub fn describe_configs(
        &self,
        resources: impl IntoIterator<Item = ConfigResource>,
        details: ConfigDetails,
    ) -> AdminFuture<'_, Results<ConfigResource, Vec<ConfigEntry>>> {
        fn boxed(
            admin: &Admin,
            resources: Vec<ConfigResource>,
            details: ConfigDetails,
        ) -> AdminFuture<'_, Results<ConfigResource, Vec<ConfigEntry>>> {
            Box::pin(admin.describe_configs_inner(resources, details))
        }
        boxed(self, resources.into_iter().collect(), details)
    }

    async fn describe_configs_inner(
        &self,
        resources: Vec<ConfigResource>,
        details: ConfigDetails,
    ) -> Results<ConfigResource, Vec<ConfigEntry>> {
        let api = ApiKey::DESCRIBE_CONFIGS;
        self.settle(api, resources, |resources, _| {
            let details = details.clone();
            async move {
                let (nodes, mut answers) = by_node(resources);
                let asking = nodes.into_iter().map(|(node, resources)| {
                    self.clone().describe_configs_at(node, resources, details.clone())
                });
                answers.extend(join(asking).await.into_iter().flatten());
                answers
            }
        })
        .await
    }

    async fn describe_configs_at(
        self,
        node: Option<i32>,
        resources: Vec<ConfigResource>,
        details: ConfigDetails,
    ) -> Answers<ConfigResource, Vec<ConfigEntry>> {
        let wanted = resources.iter().map(|resource| DescribeConfigsResource {
            resource_type: resource.kind.code(),
            resource_name: resource.name.clone(),
            configuration_keys: details.names.clone(),
            ..Default::default()
        });
        let request = DescribeConfigsRequest {
            resources: wanted.collect(),
            include_synonyms: details.synonyms,
            include_documentation: details.documentation,
            ..Default::default()
        };
        let response = match self.send_to_node(node, &request).await {
            Ok(response) => response,
            Err(error) => return for_all(resources, error),
        };
        let results = response.results.into_iter().map(|result| {
            let kind = ResourceType::from_code(result.resource_type);
            let resource = ConfigResource::new(kind, result.resource_name);
            let api = ApiKey::DESCRIBE_CONFIGS;
            let checked =
                AdminError::check(api, result.error_code, result.error_message.as_deref());
            let mut entries: Vec<ConfigEntry> = result.configs.into_iter().map(entry).collect();
            entries.sort_by(|one, other| one.name.cmp(&other.name));
            (resource, checked.map(|()| entries))
        });
        results.collect()
    }

    async fn send_to_node<R: Request>(
        &self,
        node: Option<i32>,
        request: &R,
    ) -> Result<R::Response, Error> {
        match node {
            Some(id) => self.cluster.send_to(id, request).await,
            None => self.cluster.send_any(request).await,
        }
    }

    /// Changes configs; of each resource all or nothing.
    pub fn alter_configs(
        &self,
        changes: BTreeMap<ConfigResource, Vec<ConfigChange>>,
        mode: Mode,
    ) -> AdminFuture<'_, Results<ConfigResource, ()>> {
        Box::pin(self.alter_configs_inner(changes, mode))
    }

    async fn alter_configs_inner(
        &self,
        changes: BTreeMap<ConfigResource, Vec<ConfigChange>>,
        mode: Mode,
    ) -> Results<ConfigResource, ()> {
        let api = ApiKey::INCREMENTAL_ALTER_CONFIGS;
        self.settle(api, changes.keys().cloned(), |resources, left| {
            let (nodes, mut answers) = by_node(resources);
            let asking = nodes.into_iter().map(|(node, resources)| {
                let with_changes = resources.into_iter().map(|resource| {
                    let changes = changes.get(&resource).cloned().unwrap_or_default();
                    (resource, changes)
                });
                self.clone().alter_configs_at(node, with_changes.collect(), mode, left)
            });
            let asking: Vec<_> = asking.collect();
            async move {
                answers.extend(join(asking).await.into_iter().flatten());
                answers
            }
        })
        .await
    }

    async fn alter_configs_at(
        self,
        node: Option<i32>,
        changes: Vec<(ConfigResource, Vec<ConfigChange>)>,
        mode: Mode,
        left: Duration,
    ) -> Answers<ConfigResource, ()> {
        let resources: Vec<ConfigResource> =
            changes.iter().map(|(resource, _)| resource.clone()).collect();
        // A broker may say in its message which value it refuses.
        let secrets: Vec<String> = changes
            .iter()
            .flat_map(|(_, changes)| changes)
            .filter_map(ConfigChange::secret)
            .collect();
        let wanted = changes.into_iter().map(|(resource, changes)| AlterConfigsResource {
            resource_type: resource.kind.code(),
            resource_name: resource.name,
            configs: changes.into_iter().map(ConfigChange::into_request).collect(),
            ..Default::default()
        });
        let request = IncrementalAlterConfigsRequest {
            resources: wanted.collect(),
            validate_only: mode.is_validation(),
            ..Default::default()
        };
        let sent = async {
            let connection = match node {
                Some(id) => self.cluster.broker(id).await?,
                None => self.controller().await?,
            };
            connection.send_within(&request, left).await
        };
        match sent.await {
            Ok(response) => response
                .responses
                .into_iter()
                .map(|answer| {
                    let kind = ResourceType::from_code(answer.resource_type);
                    let api = ApiKey::INCREMENTAL_ALTER_CONFIGS;
                    let message = answer.error_message.as_deref();
                    let message = message.map(|text| shown_message(text, &secrets));
                    let result = AdminError::check(api, answer.error_code, message);
                    (ConfigResource::new(kind, answer.resource_name), result)
                })
                .collect(),
            Err(error) => for_all(resources, error),
        }
    }

    /// What has configs (KIP-1142), by type and name. Brokers before 4.1 know client metrics alone.
    pub fn list_config_resources<'a>(
        &'a self,
        kinds: &'a [ResourceType],
    ) -> AdminFuture<'a, Result<Vec<ConfigResource>, AdminError>> {
        Box::pin(self.list_config_resources_inner(kinds))
    }

    async fn list_config_resources_inner(
        &self,
        kinds: &[ResourceType],
    ) -> Result<Vec<ConfigResource>, AdminError> {
        let api = ApiKey::LIST_CONFIG_RESOURCES;
        let only_metrics = kinds == [ResourceType::ClientMetrics];
        self.settle_one(api, |_| async move {
            let connection = self.cluster.any().await?;
            let needed = if only_metrics { 0 } else { 1 };
            let what = "listing other resources than client metrics";
            let version = at_least::<ListConfigResourcesRequest>(&connection, needed, what)?;
            let codes = kinds.iter().map(|kind| kind.code());
            let request = ListConfigResourcesRequest {
                resource_types: if version >= 1 { codes.collect() } else { Vec::new() },
                ..Default::default()
            };
            let response = connection.send(&request).await?;
            AdminError::check(api, response.error_code, None)?;
            let all = response.config_resources.into_iter().map(|resource| {
                let kind = ResourceType::from_code(resource.resource_type);
                ConfigResource::new(kind, resource.resource_name)
            });
            let all: BTreeSet<ConfigResource> = all.collect();
            Ok(all.into_iter().collect())
        })
        .await
    }
}

/// A broker's message, unless it repeats one of the secrets that it was sent.
fn shown_message<'a>(message: &'a str, secrets: &[String]) -> &'a str {
    secret::without(message, secrets.iter().map(String::as_str))
}

fn entry(config: DescribeConfigsResourceResult) -> ConfigEntry {
    let synonyms = config.synonyms.into_iter().map(|synonym| ConfigSynonym {
        name: synonym.name,
        value: synonym.value,
        source: ConfigSource::from_code(synonym.source),
    });
    ConfigEntry {
        name: config.name,
        value: config.value,
        source: ConfigSource::from_code(config.config_source),
        is_sensitive: config.is_sensitive,
        is_read_only: config.read_only,
        kind: ConfigKind::from_code(config.config_type),
        synonyms: synonyms.collect(),
        documentation: config.documentation,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secrets_are_not_shown() {
        let name = "listener.name.a.ssl.keystore.key";
        let changes = [
            ConfigChange::set(name, "hunter-22"),
            ConfigChange::append(name, "hunter-22"),
            ConfigChange::subtract(name, "hunter-22"),
        ];
        for change in &changes {
            let shown = format!("{change:?} {:?}", change.operation);
            assert!(!shown.contains("hunter-22"), "{shown}");
            let secrets = vec![change.secret().unwrap()];
            assert_eq!(shown_message("'hunter-22' is no PEM", &secrets), secret::HIDDEN);
            assert_eq!(shown_message("it is no PEM", &secrets), "it is no PEM");
        }
        let open = ConfigChange::set("retention.ms", "5000");
        assert!(open.secret().is_none() && format!("{open:?}").contains("5000"));
        let entry = |name: &str, is_sensitive| ConfigEntry {
            name: name.to_owned(),
            value: Some("hunter-22".into()),
            source: ConfigSource::StaticBroker,
            is_sensitive,
            is_read_only: false,
            kind: ConfigKind::Password,
            synonyms: vec![ConfigSynonym {
                name: name.to_owned(),
                value: Some("hunter-22".into()),
                source: ConfigSource::StaticBroker,
            }],
            documentation: None,
        };
        for entry in [entry("plugin.setting", true), entry("ssl.key.password", false)] {
            assert!(!format!("{entry:?}").contains("hunter-22"), "{entry:?}");
        }
        assert!(format!("{:?}", entry("a.b", false)).contains("hunter-22"));
    }
}
