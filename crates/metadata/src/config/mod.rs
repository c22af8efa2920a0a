//! The config registry: what Kafka 4.4 can be told, how it is checked, where a value comes from.
//!
//! The facts stand in `tables/`, and `cargo xtask codegen` writes the code of `gen/` from them: getters of brokers'
//! configs, and fields of topics'. The rest reads the tables. Nothing in here reads files
//! or the environment: texts come in, values, errors and reports go out.

pub mod broker;
mod broker_check;
pub mod client_metrics;
pub mod describe;
pub mod dynamic;
mod error;
mod r#gen;
pub mod group;
pub mod listeners;
pub mod properties;
mod report;
pub mod synonyms;
mod table;
pub mod topic;
mod validator;
mod value;

pub use broker::BrokerConfig;
pub use error::{ConfigError, HIDDEN};
pub use properties::Properties;
pub use report::Report;
pub use table::{
    Acts, BROKER, BROKER_DYNAMIC_ONLY, CLIENT_METRICS, ConfigKey, Default, GROUP, Importance,
    NOT_YET, Registry, TOPIC, Update, broker_key,
};
pub use topic::{TopicConfig, TopicScalars};
pub use validator::{Valid, Voter};
pub use value::{ConfigType, Value};
