//! Getters of configs, which `gen/broker.rs` lists, and what they read: values by their names. A type that the registry
//! does not agree with is an error of the program (`call_every_getter`).

use super::BrokerConfig;
use crate::config::Value;

/// A method for each config: its name and its type.
macro_rules! getters {
    ($($method:ident: $kind:ident = $name:literal;)*) => {
        impl BrokerConfig {
            $(
                #[doc = concat!("`", $name, "`.")]
                pub fn $method(&self) -> getters!(@type $kind) {
                    self.$kind($name)
                }
            )*
        }

        #[cfg(test)]
        pub(in crate::config) fn call_every_getter(config: &BrokerConfig) {
            $(let _ = config.$method();)*
        }
    };
    (@type int) => { i32 };
    (@type short) => { i16 };
    (@type long) => { i64 };
    (@type double) => { f64 };
    (@type boolean) => { bool };
    (@type text) => { &str };
    (@type list) => { &[String] };
    (@type long_or_none) => { Option<i64> };
    (@type int_or_none) => { Option<i32> };
    (@type text_or_none) => { Option<&str> };
}

pub(in crate::config) use getters;

impl BrokerConfig {
    pub(crate) fn double(&self, name: &str) -> f64 {
        match self.value(name) {
            Some(Value::Double(value)) => *value,
            _ => unreachable!("{name} is not a double config"),
        }
    }

    pub(crate) fn boolean(&self, name: &str) -> bool {
        match self.value(name) {
            Some(Value::Boolean(value)) => *value,
            _ => unreachable!("{name} is not a boolean config"),
        }
    }

    pub(crate) fn int(&self, name: &str) -> i32 {
        self.int_or_none(name).unwrap_or_else(|| unreachable!("{name} is not an int config"))
    }

    pub(crate) fn int_or_none(&self, name: &str) -> Option<i32> {
        match self.value(name) {
            Some(Value::Int(value)) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn short(&self, name: &str) -> i16 {
        match self.value(name) {
            Some(Value::Short(value)) => *value,
            _ => unreachable!("{name} is not a short config"),
        }
    }

    pub(crate) fn long(&self, name: &str) -> i64 {
        self.long_or_none(name).unwrap_or_else(|| unreachable!("{name} is not a long config"))
    }

    pub(crate) fn long_or_none(&self, name: &str) -> Option<i64> {
        match self.value(name) {
            Some(Value::Long(value)) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        self.text_or_none(name).unwrap_or_else(|| unreachable!("{name} is not a string config"))
    }

    pub(crate) fn text_or_none(&self, name: &str) -> Option<&str> {
        match self.value(name) {
            Some(Value::String(value) | Value::Class(value)) => Some(value),
            _ => None,
        }
    }

    /// The members of a list; none if it is unset.
    pub(crate) fn list(&self, name: &str) -> &[String] {
        match self.value(name) {
            Some(Value::List(values)) => values,
            _ => &[],
        }
    }
}
