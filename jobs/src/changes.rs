//! Changes: which records of the numbered chain count, and what one does to a snapshot.

use copal_format::change::{Change, Operation, VerifiedChange};
use copal_format::client::Role;
use copal_format::id::ObjectHash;
use copal_format::state::{SnapshotRecord, SnapshotState};
use copal_format::time::Time;

use crate::clients;
use crate::context::JobContext;
use crate::error::JobError;

/// The change in these bytes. None unless a full client has signed it, the owner too where that is required, and it
/// follows the change `before`, if that is known.
pub async fn verify_change(
    job: &JobContext<'_>,
    number: u64,
    before: Option<ObjectHash>,
    bytes: &[u8],
) -> Result<Option<VerifiedChange>, JobError> {
    let signed = signed_change(job, number, before, bytes).await?;
    Ok(signed.filter(|(_, counts)| *counts).map(|(verified, _)| verified))
}

/// Like [`verify_change`], but also returns a revoked client's change, which may have counted before. The flag says
/// whether it counts now.
pub(crate) async fn signed_change(
    job: &JobContext<'_>,
    number: u64,
    before: Option<ObjectHash>,
    bytes: &[u8],
) -> Result<Option<(VerifiedChange, bool)>, JobError> {
    let Ok(client) = Change::claimed_client(bytes) else { return Ok(None) };
    let Some(record) = clients::admitted(job, client).await? else { return Ok(None) };
    let counts = record.accepts_change(number, ObjectHash::of(bytes));
    let Some(keys) = record.keys.filter(|_| record.role == Role::Full) else { return Ok(None) };
    let Ok(verified) = Change::verify(job.repository, &keys.manifest, client, number, bytes) else { return Ok(None) };
    let is_vouched = verified.change.is_signed_by_owner(job.repository, &job.owner_key);
    let follows = before.is_none_or(|before| verified.change.previous == before);
    Ok((is_vouched && follows).then_some((verified, counts)))
}

/// True if the client that these bytes name has signed them. The change may still not count.
pub(crate) async fn is_signed(job: &JobContext<'_>, number: u64, bytes: &[u8]) -> Result<bool, JobError> {
    let Ok(client) = Change::claimed_client(bytes) else { return Ok(false) };
    let keys = clients::read(job, client).await?.and_then(|record| record.keys);
    let verify = |key: &[u8; 32]| Change::verify(job.repository, key, client, number, bytes);
    Ok(keys.is_some_and(|keys| verify(&keys.manifest).is_ok()))
}

/// Applies an operation to one snapshot; returns whether anything changed. A pinned snapshot cannot be forgotten, and
/// one whose root page is gone (not `is_present`) cannot be undeleted.
pub(crate) fn apply_change(operation: &Operation, record: &mut SnapshotRecord, is_present: bool, now: Time) -> bool {
    let before = record.clone();
    match operation {
        Operation::Forget(_) if record.state == SnapshotState::Kept && !record.pinned => {
            record.state = SnapshotState::Forgotten;
        }
        Operation::Undelete(_) if record.state == SnapshotState::Forgotten && is_present => {
            record.state = SnapshotState::Kept;
        }
        Operation::Pin(_) => record.pinned = true,
        Operation::Unpin(_) => record.pinned = false,
        Operation::Release { .. } => record.released = true,
        Operation::Tag { add, remove, .. } => {
            record.tags.retain(|tag| !remove.contains(tag));
            record.tags.extend(add.iter().map(|(tag, _)| *tag));
            record.tags.sort_unstable();
            record.tags.dedup();
        }
        _ => {}
    }
    let is_changed = *record != before;
    if record.state != before.state {
        record.state_time = now;
    }
    is_changed
}
