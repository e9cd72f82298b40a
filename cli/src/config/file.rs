//! File: where the configuration lies.

use std::path::{Path, PathBuf};

use super::error::ConfigError;
use crate::guarded::{self, NotGuarded};

/// The paths at which the program looks for a configuration if no option names one.
fn places(home: Option<&Path>) -> Vec<PathBuf> {
    let configuration = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let own = configuration.or_else(|| home.map(|home| home.join(".config"))).map(|path| path.join("copal/copal.toml"));
    own.into_iter().chain([PathBuf::from("/etc/copal/copal.toml")]).collect()
}

/// Reads the file that is named, or the first of the usual ones. It says what is run, with whose rights, and what is
/// forgotten, so only root and this user may be able to change it.
pub(super) fn read(named: Option<PathBuf>, home: Option<&Path>) -> Result<(PathBuf, String), ConfigError> {
    let looked = places(home);
    let path = match named {
        Some(path) => path,
        None => looked.iter().find(|path| path.exists()).cloned().ok_or(ConfigError::Missing { looked })?,
    };
    match guarded::read(&path, LONGEST) {
        Ok(text) => Ok((path, text)),
        Err(NotGuarded::Writable(place)) => Err(ConfigError::Writable { path, place }),
        Err(NotGuarded::Io(cause)) => Err(ConfigError::Unreadable { path, cause }),
    }
}

const LONGEST: u64 = 1 << 20;
