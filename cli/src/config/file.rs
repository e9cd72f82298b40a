//! File: where the configuration lies, and whether only its owner can change it.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::error::ConfigError;

/// The paths at which the program looks for a configuration if no option names one.
fn places(home: Option<&Path>) -> Vec<PathBuf> {
    let configuration = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let own = configuration.or_else(|| home.map(|home| home.join(".config"))).map(|path| path.join("copal/copal.toml"));
    own.into_iter().chain([PathBuf::from("/etc/copal/copal.toml")]).collect()
}

/// Reads the file that is named, or the first of the usual ones.
pub(super) fn read(named: Option<PathBuf>, home: Option<&Path>) -> Result<(PathBuf, String), ConfigError> {
    let looked = places(home);
    let path = match named {
        Some(path) => path,
        None => looked.iter().find(|path| path.exists()).cloned().ok_or(ConfigError::Missing { looked })?,
    };
    let unreadable = |cause| ConfigError::Unreadable { path: path.clone(), cause };
    let real = path.canonicalize().map_err(unreadable)?;
    // A FIFO must not hold the command up.
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits();
    let opened = File::options().read(true).custom_flags(flags.cast_signed()).open(&real);
    let file = opened.map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(unreadable(io::Error::other("it is not a file")));
    }
    guard(&path, &real, &metadata)?;
    let mut text = String::new();
    file.take(LONGEST + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > LONGEST {
        return Err(unreadable(io::Error::other("it is longer than 1 MiB")));
    }
    Ok((path, text))
}

/// Whether a file belongs to root or this user, and nobody else may write to it. A directory like `/tmp`, in which nobody
/// replaces the files of others, counts as well.
pub fn is_guarded(metadata: &Metadata) -> bool {
    let is_ours = metadata.uid() == 0 || metadata.uid() == rustix::process::geteuid().as_raw();
    is_ours && (metadata.mode() & 0o022 == 0 || (metadata.is_dir() && metadata.mode() & 0o1000 != 0))
}

/// Refuses a file that another user than root may change, by itself or by a directory above it.
fn guard(path: &Path, real: &Path, file: &Metadata) -> Result<(), ConfigError> {
    let writable = |place: &Path| ConfigError::Writable { path: path.to_owned(), place: place.to_owned() };
    if !is_guarded(file) {
        return Err(writable(real));
    }
    for above in real.ancestors().skip(1) {
        let unreadable = |cause| ConfigError::Unreadable { path: above.to_owned(), cause };
        let metadata = above.symlink_metadata().map_err(unreadable)?;
        if !is_guarded(&metadata) {
            return Err(writable(above));
        }
    }
    Ok(())
}

const LONGEST: u64 = 1 << 20;
