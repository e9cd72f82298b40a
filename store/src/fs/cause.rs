//! Translates system errors into store errors.

use std::io;
use std::path::Path;

use crate::system::Errno;
use crate::{Op, StoreError};

pub(super) fn explain(op: Op, key: &str, root: &Path, error: io::Error) -> StoreError {
    let key = key.to_owned();
    match Errno::from_io_error(&error) {
        Some(Errno::NOSPC | Errno::DQUOT) => StoreError::Full { op, key, source: error.into() },
        Some(Errno::ACCESS | Errno::PERM) => StoreError::Denied { op, key, source: error.into() },
        Some(Errno::ROFS) => StoreError::ReadOnly { op, key, source: error.into() },
        Some(Errno::NOTCONN | Errno::NODEV | Errno::SHUTDOWN) => StoreError::Gone { root: root.to_owned() },
        Some(Errno::NOTDIR | Errno::ISDIR | Errno::LOOP | Errno::NXIO) => StoreError::Obstructed { key },
        Some(errno) if PASSING.contains(&errno) => StoreError::Transient { op, key, source: error.into() },
        _ => StoreError::Io { op, key, source: error.into() },
    }
}

/// The error if the root cannot be opened or made.
pub(super) fn of_root(op: Op, root: &Path, error: io::Error) -> StoreError {
    if is_absence(&error) {
        return StoreError::Gone { root: root.to_owned() };
    }
    explain(op, &root.to_string_lossy(), root, error)
}

/// Whether nothing can exist at the path, for example because part of it is not a directory.
pub(super) fn is_absence(error: &io::Error) -> bool {
    is_any(error, &[Errno::NOENT, Errno::NOTDIR, Errno::NAMETOOLONG])
}

pub(super) fn is_any(error: &io::Error, errnos: &[Errno]) -> bool {
    Errno::from_io_error(error).is_some_and(|errno| errnos.contains(&errno))
}

/// Errors of an overloaded system, or of a network file system in trouble: a retry may help.
const PASSING: [Errno; 8] =
    [Errno::INTR, Errno::AGAIN, Errno::TIMEDOUT, Errno::STALE, Errno::BUSY, Errno::NFILE, Errno::MFILE, Errno::NOBUFS];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_and_a_spent_quota_are_full() {
        for errno in [Errno::NOSPC, Errno::DQUOT] {
            assert!(matches!(explained(errno), StoreError::Full { .. }), "{errno:?}");
        }
    }

    #[test]
    fn refusals_are_told_from_a_read_only_medium() {
        assert!(matches!(explained(Errno::ACCESS), StoreError::Denied { .. }));
        assert!(matches!(explained(Errno::ROFS), StoreError::ReadOnly { .. }));
    }

    #[test]
    fn only_what_may_pass_is_transient() {
        assert!(explained(Errno::INTR).is_transient());
        assert!(explained(Errno::STALE).is_transient());
        assert!(!explained(Errno::IO).is_transient());
        assert!(!explained(Errno::NOSPC).is_transient());
    }

    #[test]
    fn a_server_that_went_away_is_a_store_gone() {
        assert!(matches!(explained(Errno::NOTCONN), StoreError::Gone { .. }));
    }

    fn explained(errno: Errno) -> StoreError {
        explain(Op::Create, "a", Path::new("/r"), errno.into())
    }
}
