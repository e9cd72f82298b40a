//! Lists: files that name paths.

use std::io::Read;
use std::path::{Path, PathBuf};

use copal_client::words::os_string;

use crate::report::Failure;

/// The paths in a file, each ended by a byte; "-" is standard input.
pub(super) fn read_list(file: &Path, end: u8) -> Result<Vec<PathBuf>, Failure> {
    let mut bytes = Vec::new();
    let read = match file.as_os_str() == "-" {
        true => std::io::stdin().read_to_end(&mut bytes).map(drop),
        false => std::fs::read(file).map(|read| bytes = read),
    };
    read.map_err(|error| Failure::io("read", file, error))?;
    let names = bytes.split(|&byte| byte == end).filter(|name| !name.is_empty());
    Ok(names.map(|name| PathBuf::from(os_string(name.to_vec()))).collect())
}
