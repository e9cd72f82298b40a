//! Allowance: how much memory the descriptions of a write-only client's snapshots may take. A description of 1 MiB is
//! sealed into 2 KB if it repeats itself. So whoever has the client's keys could make every command that lists snapshots
//! run out of memory, also those that would put an end to it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use copal_format::client::Role;
use copal_format::id::ClientId;
use copal_format::snapshot::SnapshotInfo;

use super::{Signers, Snapshot, SnapshotKey};

/// What is left to each write-only client, in bytes.
pub(super) struct Allowance(BTreeMap<ClientId, AtomicU64>);

impl Allowance {
    pub(super) fn of<'k>(signers: &Signers, keys: impl Iterator<Item = &'k SnapshotKey>) -> Self {
        let of_all = signers.values().flatten().filter(|signer| signer.role == Role::WriteOnly);
        let mut left: BTreeMap<ClientId, AtomicU64> = of_all.map(|signer| (signer.client, BASE.into())).collect();
        for key in keys {
            if let Some(left) = left.get_mut(&key.0) {
                *left.get_mut() += EACH;
            }
        }
        Self(left)
    }

    /// Takes the room of what is held already.
    pub(super) fn charge(&self, held: &[Snapshot]) {
        held.iter().for_each(|snapshot| drop(self.take(snapshot.key.0, &snapshot.info)));
    }

    /// Takes the room for a description; fails with the reason if there is none.
    pub(super) fn take(&self, client: ClientId, info: &SnapshotInfo) -> Result<(), String> {
        let Some(left) = self.0.get(&client) else { return Ok(()) };
        let bytes = (info.encode().len() + info.paths.len() * OVERHEAD) as u64;
        let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        taken.map(drop).map_err(|_| TOO_MUCH.to_owned())
    }
}

/// Bytes that each write-only client may take, and more for each of its snapshots. Most descriptions take 500 bytes; one
/// with a list of 1,000 paths takes the second figure.
const BASE: u64 = 256 << 20;
const EACH: u64 = 64 << 10;
/// Bytes of memory that a path takes besides its own.
const OVERHEAD: usize = 40;
const TOO_MUCH: &str = "the descriptions of this client's snapshots are too long to be held in memory together: forget older \
                        ones of it; if its keys may be in other hands, revoke it";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_only_client_takes_no_more_than_it_is_allowed_and_others_what_they_need() {
        let (thief, full) = (ClientId([1; 16]), ClientId([2; 16]));
        let long = SnapshotInfo { paths: vec![vec![b'a'; 1 << 20]], ..SnapshotInfo::default() };
        let allowance = Allowance([(thief, AtomicU64::new(BASE + 2 * EACH))].into());
        let taken = (0..1_000).filter(|_| allowance.take(thief, &long).is_ok()).count();
        assert_eq!(taken, 256);
        // A short description still fits into what is left.
        assert!(allowance.take(thief, &SnapshotInfo::default()).is_ok());
        assert!((0..1_000).all(|_| allowance.take(full, &long).is_ok()));
    }
}
