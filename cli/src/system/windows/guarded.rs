//! Guarded: a file that is trusted because of its place. Windows uses ACLs to say who may change it, and this program
//! does not read them.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum NotGuarded {
    /// Somebody else may change it. Never returned here.
    #[error("{} may be changed by other users", .0.display())]
    #[allow(dead_code, reason = "the other systems find it out")]
    Writable(PathBuf),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Whether there is a file.
pub fn check(path: &Path) -> Result<(), NotGuarded> {
    File::open(path)?;
    Ok(())
}

/// Reads a text of at most `most` bytes.
pub fn read(path: &Path, most: u64) -> Result<String, NotGuarded> {
    let mut text = String::new();
    File::open(path)?.take(most + 1).read_to_string(&mut text)?;
    if text.len() as u64 > most {
        return Err(io::Error::other(format!("it is longer than {} KiB", most >> 10)).into());
    }
    Ok(text)
}
