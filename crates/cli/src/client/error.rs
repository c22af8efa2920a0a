//! How commands fail, and what the shell hears of it.

use std::path::Path;
use std::process::ExitCode;

use super::stderr::say;

/// Why a command did not do all that it was told.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// Nobody could do this: the options or a file of settings make no sense. Exit code 2.
    #[error("{0}")]
    Usage(String),
    /// Nothing was done, or nobody knows how much. Exit code 1.
    #[error("{0}")]
    Failed(String),
    /// As [`Self::Failed`]: the cluster could not be asked, or refused.
    #[error(transparent)]
    Client(#[from] thalweg::Error),
    /// Some of it was done. Exit code 3.
    #[error("{0}")]
    Partly(String),
    /// There is no such thing. Exit code 4.
    #[error("{0}")]
    NotFound(String),
    /// Nobody reads the output any more, as with `| head`. Exit code 0, without a word.
    #[error("nobody reads the output")]
    Closed,
}

impl CliError {
    /// What is said of what cannot be written.
    pub fn output(error: &std::io::Error) -> CliError {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => CliError::Closed,
            _ => CliError::Failed(format!("cannot write the output: {error}")),
        }
    }

    /// What is said of a file that cannot be read.
    pub fn file(path: &Path, error: &std::io::Error) -> CliError {
        let text = format!("{}: {error}", path.display());
        match error.kind() {
            std::io::ErrorKind::NotFound => CliError::NotFound(text),
            _ => CliError::Failed(text),
        }
    }

    fn code(&self) -> u8 {
        match self {
            CliError::Closed => 0,
            CliError::Failed(_) => 1,
            CliError::Client(thalweg::Error::Config { .. } | thalweg::Error::BadAddress(_))
            | CliError::Usage(_) => 2,
            CliError::Client(_) => 1,
            CliError::Partly(_) => 3,
            CliError::NotFound(_) => 4,
        }
    }
}

/// Says of one of several things that it failed.
pub(super) fn say_error(text: &str) {
    say("error", text);
}

/// Says why a command failed; how the process ends.
pub fn exit(result: Result<(), CliError>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !matches!(error, CliError::Closed) {
                say("error", &error.to_string());
            }
            ExitCode::from(error.code())
        }
    }
}
