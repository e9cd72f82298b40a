//! Allowance: how much memory the descriptions of a write-only client's snapshots may take. A description of 1 MiB is
//! sealed into 2 KB if it repeats itself. So whoever has the client's keys could make every program that lists
//! snapshots run out of memory, also those that would put an end to it.

use core::sync::atomic::{AtomicU64, Ordering};

use copal_format::client::Role;
use copal_format::snapshot::SnapshotInfo;

/// What is left to one write-only client, in bytes.
#[derive(Debug)]
pub struct Allowance(AtomicU64);

/// A description does not fit into what is left to its client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the descriptions of this client's snapshots are too long to be held in memory together: forget older ones of it; \
     if its keys may be in other hands, revoke it"
)]
pub struct TooLong;

impl Allowance {
    /// What a client with so many snapshots may take: `base` bytes, and more for each snapshot. `None` for a full
    /// client, which may take what it needs.
    pub fn of(role: Role, base: u64, snapshots: usize) -> Option<Self> {
        (role == Role::WriteOnly).then(|| Self((base + EACH * snapshots as u64).into()))
    }

    /// Takes the room for a description, if there is enough.
    pub fn take(&self, info: &SnapshotInfo) -> Result<(), TooLong> {
        let excluded = info.exclusions.iter().map(|of| of.patterns.len() + of.markers.len()).sum::<usize>();
        let troubled = info.troubles.unreadable_paths.len() + info.troubles.changing_paths.len();
        let texts = info.paths.len() + info.tags.len() + excluded + troubled;
        let bytes = (info.encode().len() + texts * OVERHEAD) as u64;
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        taken.map(drop).map_err(|_| TooLong)
    }
}

/// Bytes for each snapshot. Most descriptions take 500 bytes; one with a list of 1,000 paths takes this much.
const EACH: u64 = 64 << 10;
/// Bytes of memory that each path, tag, pattern and marker takes besides its own text.
const OVERHEAD: usize = 40;

#[cfg(test)]
mod tests {
    use copal_format::exclusions::{Exclusions, Pattern};

    use super::*;

    #[test]
    fn a_write_only_client_takes_no_more_than_it_is_allowed_and_others_what_they_need() {
        let long = SnapshotInfo { paths: vec![vec![b'a'; 1 << 20]], ..SnapshotInfo::default() };
        let allowance = Allowance::of(Role::WriteOnly, 256 << 20, 2).unwrap();
        assert_eq!((0..1_000).filter(|_| allowance.take(&long).is_ok()).count(), 256);
        assert!(allowance.take(&SnapshotInfo::default()).is_ok(), "a short description still fits into what is left");
        assert!(Allowance::of(Role::Full, 256 << 20, 2).is_none());
    }

    #[test]
    fn short_patterns_count_as_what_they_take_in_memory() {
        let patterns = vec![Pattern { text: "a".to_owned(), any_case: false }; 4_096];
        let exclusions = Some(Exclusions { patterns, ..Exclusions::default() });
        let info = SnapshotInfo { exclusions, ..SnapshotInfo::default() };
        let in_memory = 4_096 * (size_of::<Pattern>() + 1);
        let allowance = Allowance::of(Role::WriteOnly, 1 << 20, 0).unwrap();
        let taken = (0..1_000).filter(|_| allowance.take(&info).is_ok()).count();
        assert!(taken > 0 && taken * in_memory <= 1 << 20, "{taken}");
    }
}
