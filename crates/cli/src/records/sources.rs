//! Where the records that are written come from.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use crate::client::CliError;

/// What is to be read, one behind the other.
pub struct Sources {
    pub all: Vec<Source>,
    /// Bytes of all of it, where that is known.
    pub total: Option<u64>,
}

/// One of them.
pub enum Source {
    Stdin,
    Path(PathBuf),
}

impl Sources {
    /// These files, or the standard input. Nothing is written if one of them is not there; they are opened one
    /// by one, in their turn.
    pub fn of(paths: &[PathBuf]) -> Result<Sources, CliError> {
        if paths.is_empty() {
            return Ok(Sources { all: vec![Source::Stdin], total: None });
        }
        let mut total = 0;
        for path in paths {
            total += std::fs::metadata(path).map_err(|error| CliError::file(path, &error))?.len();
        }
        let all = paths.iter().cloned().map(Source::Path).collect();
        Ok(Sources { all, total: Some(total) })
    }
}

impl Source {
    /// Opens it.
    pub fn open(&self) -> Result<Box<dyn Read + Send>, CliError> {
        Ok(match self {
            Source::Stdin => Box::new(std::io::stdin()),
            Source::Path(path) => {
                Box::new(File::open(path).map_err(|error| CliError::file(path, &error))?)
            }
        })
    }
}
