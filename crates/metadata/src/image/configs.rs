//! Configs of topics, brokers, groups and client metrics subscriptions, as they were set.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use thalweg_wire::secret;

use crate::config::{self, Properties};

/// What a config belongs to, by the numbers of Kafka's protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i8)]
#[allow(missing_docs)]
pub enum ResourceType {
    Topic = 2,
    Broker = 4,
    BrokerLogger = 8,
    ClientMetrics = 16,
    Group = 32,
}

impl ResourceType {
    /// The type of that number.
    pub fn from_id(id: i8) -> Option<ResourceType> {
        Some(match id {
            2 => ResourceType::Topic,
            4 => ResourceType::Broker,
            8 => ResourceType::BrokerLogger,
            16 => ResourceType::ClientMetrics,
            32 => ResourceType::Group,
            _ => return None,
        })
    }

    /// The number.
    pub fn id(self) -> i8 {
        self as i8
    }

    /// Whether a config of that name is kept. Brokers keep every name, for their listeners and for
    /// what only plugins know; of the others, names from older releases are dropped.
    pub fn keeps(self, name: &str) -> bool {
        match self {
            ResourceType::Topic => config::TOPIC.get(name).is_some(),
            ResourceType::Broker => true,
            ResourceType::ClientMetrics => config::CLIENT_METRICS.get(name).is_some(),
            ResourceType::Group => config::GROUP.get(name).is_some(),
            ResourceType::BrokerLogger => false,
        }
    }
}

/// A resource that has configs. A broker without name stands for the defaults of all brokers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigResource {
    /// Its type.
    pub resource_type: ResourceType,
    /// Its name.
    pub name: String,
}

impl ConfigResource {
    /// A topic.
    pub fn topic(name: impl Into<String>) -> ConfigResource {
        ConfigResource { resource_type: ResourceType::Topic, name: name.into() }
    }

    /// A broker.
    pub fn broker(id: i32) -> ConfigResource {
        ConfigResource { resource_type: ResourceType::Broker, name: id.to_string() }
    }

    /// The defaults of all brokers.
    pub fn broker_defaults() -> ConfigResource {
        ConfigResource { resource_type: ResourceType::Broker, name: String::new() }
    }

    /// A group.
    pub fn group(name: impl Into<String>) -> ConfigResource {
        ConfigResource { resource_type: ResourceType::Group, name: name.into() }
    }
}

/// All configs that are set.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ConfigsImage {
    resources: BTreeMap<ConfigResource, Arc<Properties>>,
}

impl fmt::Debug for ConfigsImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.resources.iter().map(|(resource, configs)| {
            let shown = configs
                .iter()
                .map(|(name, value)| (secret::shown_name(name), secret::shown_value(name, value)));
            (resource, shown.collect::<BTreeMap<_, _>>())
        });
        f.debug_map().entries(shown).finish()
    }
}

impl ConfigsImage {
    /// What is set for a resource; `None` if nothing is.
    pub fn get(&self, resource: &ConfigResource) -> Option<&Arc<Properties>> {
        self.resources.get(resource)
    }

    /// What is set for a resource, as a map of its own.
    pub fn properties(&self, resource: &ConfigResource) -> Properties {
        self.resources.get(resource).map(|configs| (**configs).clone()).unwrap_or_default()
    }

    /// All resources for which something is set.
    pub fn iter(&self) -> impl Iterator<Item = (&ConfigResource, &Arc<Properties>)> {
        self.resources.iter()
    }

    /// Whether nothing is set at all.
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }

    pub(super) fn set(&mut self, resource: &ConfigResource, name: &str, value: Option<&str>) {
        let configs = self.resources.entry(resource.clone()).or_default();
        let configs = Arc::make_mut(configs);
        match value {
            Some(value) => configs.insert(name.to_owned(), value.to_owned()),
            None => configs.remove(name),
        };
        if configs.is_empty() {
            self.resources.remove(resource);
        }
    }

    pub(super) fn remove(&mut self, resource: &ConfigResource) -> bool {
        self.resources.remove(resource).is_some()
    }
}
