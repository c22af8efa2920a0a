//! BROKER_LOGGER (KIP-412): levels of the process's log, by target. They live as long as the process
//! and are no metadata, so the broker that is asked sees to them itself.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use thalweg_metadata::ApiError;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::describe_configs_request::DescribeConfigsResource;
use thalweg_wire::messages::describe_configs_response::{
    DescribeConfigsResourceResult, DescribeConfigsResult,
};
use thalweg_wire::messages::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};

/// The name under which the level of everything else is found.
pub const ROOT_LOGGER: &str = "root";

/// Loggers whose level can be asked for and set, besides [`ROOT_LOGGER`]: what this release logs under. A logger's level
/// is that of the loggers in it, unless they have their own.
pub const LOGGERS: &[&str] = &[
    "thalweg",
    "thalweg_broker",
    "thalweg_broker::api",
    "thalweg_broker::coordinators",
    "thalweg_broker::kraft",
    "thalweg_broker::net",
    "thalweg_log",
];

/// The modules whose lines belong to a logger, beside those inside them. Names of loggers are public and stay when modules
/// move.
pub fn logged_modules(logger: &str) -> Vec<&str> {
    match logger {
        "thalweg_broker::api" => {
            vec![logger, "thalweg_broker::coordination::transactions::write_markers"]
        }
        "thalweg_broker::coordinators" => vec![
            "thalweg_broker::coordination::groups",
            "thalweg_broker::coordination::rebalance_log",
            "thalweg_broker::coordination::runtime",
            "thalweg_broker::coordination::transaction_coordinator",
        ],
        "thalweg_broker::kraft" => vec!["thalweg_broker::control::kraft"],
        module => vec![module],
    }
}

/// The resource type of Kafka's protocol.
pub(crate) const BROKER_LOGGER: i8 = 8;
/// DYNAMIC_BROKER_LOGGER_CONFIG
const CONFIG_SOURCE: i8 = 6;

/// A level of Kafka's logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// Nothing. Can be a process's first level, and cannot be set.
    Off,
    /// Nothing either: nothing is logged as fatal here.
    Fatal,
    /// Errors.
    Error,
    /// Warnings and errors.
    Warn,
    /// What an operator may want to know.
    Info,
    /// What helps to find a bug.
    Debug,
    /// Everything.
    Trace,
}

impl LogLevel {
    /// The level of a name that may be set; `None` for any other. Names are in capital letters.
    pub fn from_name(name: &str) -> Option<LogLevel> {
        Some(match name {
            "FATAL" => LogLevel::Fatal,
            "ERROR" => LogLevel::Error,
            "WARN" => LogLevel::Warn,
            "INFO" => LogLevel::Info,
            "DEBUG" => LogLevel::Debug,
            "TRACE" => LogLevel::Trace,
            _ => return None,
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            LogLevel::Off => "OFF",
            LogLevel::Fatal => "FATAL",
            LogLevel::Error => "ERROR",
            LogLevel::Warn => "WARN",
            LogLevel::Info => "INFO",
            LogLevel::Debug => "DEBUG",
            LogLevel::Trace => "TRACE",
        }
    }
}

/// The levels of the process's log. The program that installs the log implements it.
pub trait LogLevels: fmt::Debug + Send + Sync {
    /// The level in force for [`ROOT_LOGGER`] and each of [`LOGGERS`].
    fn levels(&self) -> BTreeMap<String, LogLevel>;

    /// Sets the level of one of them; with `None` a target has that of what it is in.
    fn set(&self, target: &str, level: Option<LogLevel>);
}

/// Describes the levels, for a request to node `node_id`.
pub(crate) fn describe(
    levels: Option<&dyn LogLevels>,
    node_id: i32,
    resource: &DescribeConfigsResource,
) -> DescribeConfigsResult {
    let name = &resource.resource_name;
    let refused = match name.parse::<i32>() {
        _ if name.is_empty() => Some("Broker id must not be empty".to_owned()),
        Err(_) => Some(format!("Broker id must be an integer, but it is: {name}")),
        Ok(id) if id != node_id => {
            Some(format!("Unexpected broker id, expected {node_id} but received {name}"))
        }
        Ok(_) => None,
    };
    let mut result = DescribeConfigsResult {
        resource_type: resource.resource_type,
        resource_name: name.clone(),
        error_message: Some(String::new()),
        ..Default::default()
    };
    if refused.is_some() {
        result.error_code = ErrorCode::INVALID_REQUEST;
        result.error_message = refused;
        return result;
    }
    let is_wanted = |name: &String| match &resource.configuration_keys {
        Some(keys) if !keys.is_empty() => keys.contains(name),
        _ => true,
    };
    let levels = levels.map(LogLevels::levels).unwrap_or_default();
    result.configs = levels
        .into_iter()
        .filter(|(name, _)| is_wanted(name))
        .map(|(name, level)| DescribeConfigsResourceResult {
            name,
            value: Some(level.name().to_owned()),
            config_source: CONFIG_SOURCE,
            ..Default::default()
        })
        .collect();
    result
}

/// Changes levels: all that the resource asks for, or nothing.
pub(crate) fn alter(
    levels: Option<&dyn LogLevels>,
    node_id: i32,
    resource: &AlterConfigsResource,
    validate_only: bool,
) -> Result<(), ApiError> {
    let invalid = |message: String| Err(ApiError::new(ErrorCode::INVALID_REQUEST, message));
    let mut seen = HashSet::new();
    if !resource.configs.iter().all(|config| seen.insert(config.name.as_str())) {
        return invalid("Error due to duplicate config keys".into());
    }
    const SET: i8 = 0;
    const DELETE: i8 = 1;
    let without_value: Vec<&str> = resource
        .configs
        .iter()
        .filter(|config| config.config_operation != DELETE && config.value.is_none())
        .map(|config| config.name.as_str())
        .collect();
    if !without_value.is_empty() {
        return invalid(format!("Null value not supported for : {}", without_value.join(", ")));
    }
    let name = &resource.resource_name;
    match name.parse::<i32>() {
        Err(_) => return invalid(format!("Node id must be an integer, but it is: {name}")),
        Ok(id) if id != node_id => {
            return invalid(format!("Unexpected node id. Expected {node_id}, but received {id}"));
        }
        Ok(_) => {}
    }
    let known = levels.map(LogLevels::levels).unwrap_or_default();
    let exists = |config: &AlterableConfig| match known.contains_key(&config.name) {
        true => Ok(()),
        false => Err(ApiError::new(
            ErrorCode::INVALID_CONFIG,
            format!("Logger {} does not exist!", config.name),
        )),
    };
    let mut changes = Vec::with_capacity(resource.configs.len());
    for config in &resource.configs {
        let change = match config.config_operation {
            SET => {
                exists(config)?;
                let value = config.value.as_deref().unwrap_or_default();
                let level = LogLevel::from_name(value).ok_or_else(|| {
                    ApiError::new(
                        ErrorCode::INVALID_CONFIG,
                        format!(
                            "Cannot set the log level of {} to {value} as it is not a supported log \
                             level. Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN",
                            config.name
                        ),
                    )
                })?;
                Some(level)
            }
            DELETE => {
                exists(config)?;
                if config.name == ROOT_LOGGER {
                    return invalid(format!(
                        "Removing the log level of the {ROOT_LOGGER} logger is not allowed"
                    ));
                }
                None
            }
            2 => return not_allowed("APPEND operation"),
            3 => return not_allowed("SUBTRACT operation"),
            other => return not_allowed(&format!("Unknown operation type {other}")),
        };
        changes.push((config.name.as_str(), change));
    }
    if let Some(levels) = levels.filter(|_| !validate_only) {
        for (target, level) in changes {
            levels.set(target, level);
            let level = level.map(LogLevel::name);
            tracing::warn!(target_of_log = target, level, "the level of the log was changed");
        }
    }
    Ok(())
}

fn not_allowed(operation: &str) -> Result<(), ApiError> {
    Err(ApiError::new(
        ErrorCode::INVALID_REQUEST,
        format!("{operation} is not allowed for the BROKER_LOGGER resource"),
    ))
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    #[derive(Debug)]
    struct Levels(Mutex<BTreeMap<String, LogLevel>>);

    impl LogLevels for Levels {
        fn levels(&self) -> BTreeMap<String, LogLevel> {
            let own = self.0.lock();
            let root = own[ROOT_LOGGER];
            let level = |name: &str| (name.to_owned(), *own.get(name).unwrap_or(&root));
            LOGGERS.iter().copied().chain([ROOT_LOGGER]).map(level).collect()
        }

        fn set(&self, target: &str, level: Option<LogLevel>) {
            let mut own = self.0.lock();
            match level {
                Some(level) => own.insert(target.to_owned(), level),
                None => own.remove(target),
            };
        }
    }

    fn levels() -> Levels {
        Levels(Mutex::new([(ROOT_LOGGER.to_owned(), LogLevel::Info)].into()))
    }

    /// Name, operation and value.
    type Op<'a> = (&'a str, i8, Option<&'a str>);

    fn resource(name: &str, configs: &[Op<'_>]) -> AlterConfigsResource {
        let configs = configs.iter().map(|(name, config_operation, value)| AlterableConfig {
            name: (*name).into(),
            config_operation: *config_operation,
            value: value.map(str::to_owned),
            ..Default::default()
        });
        AlterConfigsResource {
            resource_type: BROKER_LOGGER,
            resource_name: name.into(),
            configs: configs.collect(),
            ..Default::default()
        }
    }

    #[test]
    fn levels_are_set_and_taken_back() {
        let levels = levels();
        let set = resource("1", &[("thalweg_log", 0, Some("TRACE")), ("root", 0, Some("FATAL"))]);
        assert_eq!(alter(Some(&levels), 1, &set, true), Ok(()));
        assert_eq!(levels.levels()["thalweg_log"], LogLevel::Info, "only validated");
        assert_eq!(alter(Some(&levels), 1, &set, false), Ok(()));
        assert_eq!(levels.levels()["thalweg_log"], LogLevel::Trace);
        assert_eq!(levels.levels()["thalweg_broker"], LogLevel::Fatal);
        let delete = resource("1", &[("thalweg_log", 1, None)]);
        assert_eq!(alter(Some(&levels), 1, &delete, false), Ok(()));
        assert_eq!(levels.levels()["thalweg_log"], LogLevel::Fatal);
    }

    #[test]
    fn what_is_wrong_changes_nothing() {
        use ErrorCode as E;
        let levels = levels();
        let ok = ("thalweg_log", 0, Some("TRACE"));
        let cases: &[(&str, &[Op<'_>], ErrorCode, &str)] = &[
            ("", &[ok], E::INVALID_REQUEST, "Node id must be an integer, but it is: "),
            ("2", &[ok], E::INVALID_REQUEST, "Unexpected node id. Expected 1, but received 2"),
            ("1", &[ok, ok], E::INVALID_REQUEST, "Error due to duplicate config keys"),
            (
                "1",
                &[ok, ("root", 0, None)],
                E::INVALID_REQUEST,
                "Null value not supported for : root",
            ),
            (
                "1",
                &[ok, ("kafka", 0, Some("INFO"))],
                E::INVALID_CONFIG,
                "Logger kafka does not exist!",
            ),
            (
                "1",
                &[ok, ("root", 0, Some("info"))],
                E::INVALID_CONFIG,
                "Cannot set the log level of root to info as it is not a supported log level. Valid \
                 log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN",
            ),
            (
                "1",
                &[ok, ("root", 1, None)],
                E::INVALID_REQUEST,
                "Removing the log level of the root logger is not allowed",
            ),
            (
                "1",
                &[ok, ("root", 2, Some("INFO"))],
                E::INVALID_REQUEST,
                "APPEND operation is not allowed for the BROKER_LOGGER resource",
            ),
            (
                "1",
                &[ok, ("root", 3, Some("INFO"))],
                E::INVALID_REQUEST,
                "SUBTRACT operation is not allowed for the BROKER_LOGGER resource",
            ),
        ];
        for (name, configs, code, message) in cases {
            let error = alter(Some(&levels), 1, &resource(name, configs), false).unwrap_err();
            assert_eq!((error.code, error.message.as_deref()), (*code, Some(*message)));
            assert_eq!(levels.levels()["thalweg_log"], LogLevel::Info);
        }
    }

    #[test]
    fn levels_are_described() {
        let levels = levels();
        let ask = |name: &str, keys: Option<Vec<String>>| {
            let resource = DescribeConfigsResource {
                resource_type: BROKER_LOGGER,
                resource_name: name.into(),
                configuration_keys: keys,
                ..Default::default()
            };
            describe(Some(&levels), 1, &resource)
        };
        let all = ask("1", None);
        assert_eq!(all.configs.len(), LOGGERS.len() + 1);
        assert!(all.configs.iter().all(|c| c.value.as_deref() == Some("INFO")));
        assert!(all.configs.iter().all(|c| c.config_source == CONFIG_SOURCE && !c.read_only));
        assert_eq!(ask("1", Some(vec!["root".into()])).configs.len(), 1);
        for (name, message) in [
            ("", "Broker id must not be empty"),
            ("x", "Broker id must be an integer, but it is: x"),
            ("2", "Unexpected broker id, expected 1 but received 2"),
        ] {
            let refused = ask(name, None);
            assert_eq!(refused.error_code, ErrorCode::INVALID_REQUEST);
            assert_eq!(refused.error_message.as_deref(), Some(message));
        }
    }

    /// A module that moves takes its lines with it, and its logger must follow.
    #[test]
    fn loggers_name_modules_that_exist() {
        use std::any::type_name;
        let of = [
            ("thalweg_broker::kraft", type_name::<crate::control::kraft::Controller>()),
            ("thalweg_broker::coordinators", type_name::<crate::coordination::groups::Groups>()),
            (
                "thalweg_broker::coordinators",
                type_name::<crate::coordination::runtime::RuntimeConfig>(),
            ),
            (
                "thalweg_broker::coordinators",
                type_name::<crate::coordination::transaction_coordinator::TransactionCoordinator>(),
            ),
            ("thalweg_broker::net", type_name::<crate::net::limits::ConnectionLimits>()),
            ("thalweg_broker::api", type_name::<crate::api::context::Context>()),
        ];
        for (logger, logs) in of {
            let modules = logged_modules(logger);
            assert!(modules.iter().any(|module| logs.starts_with(module)), "{logger}: {logs}");
        }
    }
}
