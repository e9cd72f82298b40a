//! Pin: the owner whose repository this machine serves, remembered from the first time.

use std::io;
use std::path::Path;

use copal_client::places::{PlaceError, create_private_dir, read_private, write_private};
use copal_format::id::OwnerFingerprint;

/// The owner that was seen first. If there is none, remembers `seen`.
pub(super) fn remembered(path: &Path, seen: OwnerFingerprint) -> io::Result<OwnerFingerprint> {
    match read_private(path) {
        Ok(text) => OwnerFingerprint::from_hex(String::from_utf8_lossy(&text).trim_end()).map_err(io::Error::other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let cause = |error| match error {
                PlaceError::Refused { cause, .. } => cause,
                other => io::Error::other(other),
            };
            if let Some(directory) = path.parent() {
                create_private_dir(directory).map_err(cause)?;
            }
            write_private(path, format!("{seen}\n").as_bytes()).map_err(cause)?;
            Ok(seen)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_first_owner_seen_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/owner");
        let [first, other] = [1, 2].map(|byte| OwnerFingerprint([byte; 32]));
        assert_eq!(remembered(&path, first).unwrap(), first);
        assert_eq!(remembered(&path, other).unwrap(), first);
        fs::write(&path, "damaged").unwrap();
        assert!(remembered(&path, first).is_err());
    }
}
