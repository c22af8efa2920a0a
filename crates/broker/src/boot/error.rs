//! Why a broker did not start.

use thalweg_log::OpenError;
use thalweg_metadata::config::ConfigError;

use crate::control::kraft::MetadataLogError;

/// Why a broker did not start.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum StartError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Logs(#[from] OpenError),
    #[error("{0}")]
    Metadata(String),
    #[error("listener {listener} cannot listen on {address}: {error}")]
    Listen { listener: String, address: String, error: std::io::Error },
    #[error("{0}")]
    Other(String),
}

impl From<MetadataLogError> for StartError {
    fn from(error: MetadataLogError) -> StartError {
        StartError::Metadata(error.to_string())
    }
}
