//! Seen: the newest version of the descriptor that this machine has met. A store that shows an older version has lost
//! the newer one, was restored from a copy, or lies.

use std::path::Path;

use copal_format::repository::{Descriptor, DescriptorError};

use crate::places::{create_private_dir, private_text, write_private};

/// Refuses a descriptor that is older than the newest one seen; remembers a newer one.
pub(super) fn compare(state_dir: &Path, descriptor: &Descriptor) -> Result<(), DescriptorError> {
    let (version, seen) = (descriptor.version, newest(state_dir));
    if version < seen {
        return Err(DescriptorError::Older { version, seen });
    }
    // Version 1 need not be remembered: no descriptor is older.
    if version > seen.max(1) {
        // A failure to write is ignored, because it must not stop the command.
        let kept = create_private_dir(state_dir);
        let _ = kept.and_then(|()| write_private(&state_dir.join(FILE), format!("{version}\n").as_bytes()));
    }
    Ok(())
}

/// The newest version that was seen; 0 if none is remembered.
pub(super) fn newest(state_dir: &Path) -> u64 {
    let text = private_text(&state_dir.join(FILE));
    text.and_then(|text| text.trim_end().parse().ok()).unwrap_or(0)
}

const FILE: &str = "descriptor";

#[cfg(test)]
mod tests {
    use std::fs;

    use copal_format::id::{DomainId, RepositoryId};
    use copal_format::repository::{IngestBy, Parameters};
    use copal_format::time::Time;

    use super::*;

    fn version(version: u64) -> Descriptor {
        Descriptor {
            version,
            repository: RepositoryId([1; 16]),
            created: Time(0),
            parameters: Parameters::default(),
            owner_key: [2; 32],
            kem_public: Vec::new(),
            ingest: IngestBy::Client,
            reader: None,
            shared_domain: DomainId([3; 16]),
        }
    }

    #[test]
    fn a_descriptor_that_is_older_than_one_that_was_seen_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let state = directory.path().join("repository");
        for seen in [1, 3, 3] {
            assert_eq!(compare(&state, &version(seen)), Ok(()));
        }
        assert_eq!(compare(&state, &version(2)), Err(DescriptorError::Older { version: 2, seen: 3 }));
        assert_eq!((newest(&state), compare(&state, &version(4))), (3, Ok(())));
    }

    #[test]
    fn of_the_first_descriptor_nothing_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(compare(directory.path(), &version(1)), Ok(()));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
