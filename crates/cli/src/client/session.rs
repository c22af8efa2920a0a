//! A command under way: the cluster it is about, and where its output goes.

use std::fmt::Display;

use serde_json::Value;
use thalweg::admin::{Admin, AdminConfig, AdminError};

use super::args::{ClientArgs, ClientConfig};
use super::error::{CliError, say_error};
use super::output::Out;
use super::properties::report;

/// A command under way.
pub struct CommandContext {
    /// What the options say.
    pub config: ClientConfig,
    /// Administers the cluster.
    pub admin: Admin,
    /// Where the output goes.
    pub out: Out,
}

impl CommandContext {
    /// Reads the options and connects.
    pub async fn open(args: &ClientArgs) -> Result<CommandContext, CliError> {
        let config = args.resolve()?;
        let settings = AdminConfig::from_properties(&config.properties)?;
        let settings = settings.with_timeout(config.timeout);
        report(&config.properties);
        let admin = Admin::new(config.connect().await?, settings);
        Ok(CommandContext { config, admin, out: Out::new() })
    }

    /// Whether JSON is wanted.
    pub fn json(&self) -> bool {
        self.config.json
    }

    /// Ends a command that was about several things: writes what is to be said of each, where JSON is
    /// wanted, and says what failed.
    pub fn conclude(mut self, tally: Tally, all: Vec<Value>) -> Result<(), CliError> {
        if self.json() {
            self.out.json(&Value::Array(all))?;
        }
        tally.conclude(self.out)
    }
}

impl From<AdminError> for CliError {
    fn from(error: AdminError) -> CliError {
        if error.is_not_found() {
            return CliError::NotFound(error.to_string());
        }
        match error {
            AdminError::Client(error) => CliError::Client(error),
            error => CliError::Failed(error.to_string()),
        }
    }
}

/// Counts what was done and what failed, where several things were asked for.
#[derive(Default)]
pub struct Tally {
    done: usize,
    failed: Vec<String>,
    is_missing: bool,
    is_otherwise: bool,
}

impl Tally {
    /// One that was done.
    pub fn done(&mut self) {
        self.done += 1;
    }

    /// One that failed.
    pub fn failed(&mut self, item: impl Display, error: &AdminError) {
        if error.is_not_found() {
            self.is_missing = true;
        } else {
            self.is_otherwise = true;
        }
        self.failed.push(format!("{item}: {error}"));
    }

    /// One that lacks something that was asked for.
    pub fn missing(&mut self, item: impl Display, what: &str) {
        self.is_missing = true;
        self.failed.push(format!("{item}: {what}"));
    }

    /// Counts a result; gives what succeeded.
    pub fn take<T>(&mut self, item: impl Display, result: Result<T, AdminError>) -> Option<T> {
        match result {
            Ok(value) => {
                self.done();
                Some(value)
            }
            Err(error) => {
                self.failed(item, &error);
                None
            }
        }
    }

    /// Whether nothing failed.
    pub fn is_whole(&self) -> bool {
        self.failed.is_empty()
    }

    /// Says what failed, once the output is written.
    pub fn conclude(self, out: Out) -> Result<(), CliError> {
        out.finish()?;
        let Some((last, others)) = self.failed.split_last() else { return Ok(()) };
        for failure in others {
            say_error(failure);
        }
        let last = last.clone();
        Err(match (self.done, self.is_missing, self.is_otherwise) {
            (0, true, false) => CliError::NotFound(last),
            (0, ..) => CliError::Failed(last),
            _ => CliError::Partly(last),
        })
    }
}
