//! Records: checks descriptors, key slots, changes, expiries and deletion records. Also checks old roots and runs, which
//! no current root needs.

use bytes::Bytes;
use copal_format::expiry::Expiry;
use copal_format::id::{ObjectHash, SlotId};
use copal_format::keys::slot::Slot;
use copal_format::layout;
use copal_format::limits::READER_BYTES;
use copal_format::repository::Descriptor;
use copal_format::root::{Deletion, Root};
use copal_store::Listed;
use futures::{StreamExt, stream};

use super::{Kind, Report, hash_in};
use crate::changes::verify_change;
use crate::context::JobContext;
use crate::error::JobError;
use crate::faults::windows;
use crate::objects;

/// Checks every record that belongs to no client.
pub(super) async fn check(job: &JobContext<'_>, report: &mut Report) -> Result<(), JobError> {
    let reader = check_descriptors(job, report).await?;
    check_slots(job, report).await?;
    check_readers(job, reader, report).await?;
    check_changes(job, report).await?;
    check_expiries(job, report).await?;
    check_deletions(job, report).await?;
    check_roots(job, report).await?;
    Ok(())
}

/// Returns the reader that the newest sound descriptor names.
async fn check_descriptors(job: &JobContext<'_>, report: &mut Report) -> Result<Option<ObjectHash>, JobError> {
    let mut reader = None;
    let listed = objects::list(job.store, "copal/").await?;
    if listed.is_empty() {
        report.add(Kind::Missing, "copal/", "the descriptor is gone; restoring still works, backing up does not");
    }
    for listed in listed {
        let name = listed.key.as_str();
        let Some(bytes) = report.given(objects::read(job.store, name).await)? else { continue };
        let Some(version) = layout::trailing_number(name) else { continue };
        match Descriptor::decode(version, &bytes) {
            Ok(descriptor) if descriptor.owner_key == job.owner_key => reader = descriptor.reader,
            Ok(_) => report.add(Kind::Damaged, name, "another owner has signed it"),
            Err(error) => report.add(Kind::Damaged, name, error),
        }
    }
    Ok(reader)
}

async fn check_slots(job: &JobContext<'_>, report: &mut Report) -> Result<(), JobError> {
    let mut slots: std::collections::BTreeMap<SlotId, u32> = Default::default();
    for listed in objects::list(job.store, "keys/").await? {
        let name = listed.key.as_str();
        let slot = name.split('/').nth(1).and_then(|id| SlotId::from_hex(id).ok());
        let Some(bytes) = report.given(objects::read(job.store, name).await)? else { continue };
        match Slot::parse(&bytes) {
            Ok(parsed) if Some(parsed.id()) == slot && parsed.repository() == job.repository => {
                *slots.entry(parsed.id()).or_default() += 1;
            }
            Ok(_) => report.add(Kind::Damaged, name, "it belongs under another name or to another repository"),
            Err(error) => report.add(Kind::Damaged, name, error),
        }
    }
    for (slot, copies) in &slots {
        if *copies < 2 {
            report.add(Kind::Missing, format!("keys/{slot}"), "only one of its two copies is whole");
        }
    }
    if slots.is_empty() {
        report.add(Kind::Missing, "keys/", "no key slot can be read: without one nothing can be restored");
    }
    Ok(())
}

/// Checks that the newest descriptor's reader exists, and the hashes of all readers. No saved data depends on them.
async fn check_readers(job: &JobContext<'_>, newest: Option<ObjectHash>, report: &mut Report) -> Result<(), JobError> {
    let listed = objects::list(job.store, "reader/").await?;
    for listed in &listed {
        let name = listed.key.as_str();
        let Some(hash) = layout::reader_hash(name) else { continue };
        if listed.stat.length > READER_BYTES {
            report.add(Kind::Stale, name, "it is longer than any reader");
            continue;
        }
        match objects::read_hashed(job.store, name, hash).await {
            Ok(_) => {}
            Err(error) => report.add(Kind::Stale, name, error.blame()?.1),
        }
    }
    if let Some(hash) = newest
        && !listed.iter().any(|listed| listed.key.as_str() == layout::reader(hash))
    {
        report.add(Kind::Missing, layout::reader(hash), "the reader is gone; \"copal reader\" stores it again");
    }
    Ok(())
}

async fn check_changes(job: &JobContext<'_>, report: &mut Report) -> Result<(), JobError> {
    // The number and the hash of the change before. A damaged one has no hash: nothing follows from its bytes.
    let mut before = (0, Some(ObjectHash::NONE));
    for listed in objects::list(job.store, "changes/").await? {
        let name = listed.key.as_str();
        let Some(number) = layout::trailing_number(name) else { continue };
        let expected = before.1.filter(|_| number == before.0 + 1);
        before = (number, None);
        let Some(bytes) = report.given(objects::read(job.store, name).await)? else { continue };
        match verify_change(job, number, expected, &bytes).await {
            Ok(Some(verified)) => before.1 = Some(verified.hash),
            Ok(None) => {
                report.add(Kind::Damaged, name, "it is not signed by a full client, or does not follow the one before");
            }
            Err(error) => {
                let (object, _) = error.blame()?;
                // The change itself may be whole.
                report.add(Kind::Dangling, name, format!("it cannot be verified: {object} is damaged"));
            }
        }
    }
    Ok(())
}

/// Checks only that expiries are readable and chained. Whether one is believed was decided on an earlier state.
async fn check_expiries(job: &JobContext<'_>, report: &mut Report) -> Result<(), JobError> {
    let mut before = (0, ObjectHash::NONE);
    each(job, "expiries/", 0, report, |name, bytes, report| {
        let Some(number) = layout::trailing_number(name) else { return };
        match Expiry::decode(number, bytes) {
            Ok(expiry) if number == before.0 + 1 && expiry.previous != before.1 => {
                report.add(Kind::Damaged, name, "it does not name the expiry before it");
            }
            Ok(_) => {}
            Err(error) => report.add(Kind::Damaged, name, error),
        }
        before = (number, ObjectHash::of(bytes));
    })
    .await
}

async fn check_deletions(job: &JobContext<'_>, report: &mut Report) -> Result<(), JobError> {
    each(job, "deletions/", 0, report, |name, bytes, report| {
        if let Err(error) = Deletion::decode(bytes) {
            report.add(Kind::Damaged, name, error);
        }
    })
    .await
}

/// Checks that older roots can be read. The newest root is checked with its whole state elsewhere.
async fn check_roots(job: &JobContext<'_>, report: &mut Report) -> Result<(), JobError> {
    each(job, "roots/", 1, report, |name, bytes, report| {
        if let Some(number) = layout::root_number(name)
            && let Err(error) = Root::decode(number, bytes)
        {
            report.add(Kind::Stale, name, error);
        }
    })
    .await?;
    for prefix in ["state/", "index/"] {
        let listed = objects::list(job.store, prefix).await?;
        let (small, large): (Vec<&Listed>, Vec<&Listed>) =
            listed.iter().partition(|listed| listed.stat.length <= SMALL);
        for (few, of) in [(windows().at_once, small), (1, large)] {
            let hashes = of.iter().map(|listed| objects::hash(job.store, listed.key.as_str(), listed.stat.length));
            let mut hashes = stream::iter(hashes).buffered(few);
            for name in of.iter().map(|listed| listed.key.as_str()) {
                match hashes.next().await.transpose().map_err(JobError::from) {
                    Ok(found)
                        if found.flatten().is_some_and(|found| hash_in(name).is_some_and(|hash| hash != found)) =>
                    {
                        report.add(Kind::Stale, name, "its bytes do not have the hash it is named by");
                    }
                    Ok(_) => {}
                    Err(error) => report.add(Kind::Stale, name, error.blame()?.1),
                }
            }
        }
    }
    Ok(())
}

/// Objects up to this size are read many at a time, larger ones one by one.
const SMALL: u64 = 1 << 20;

/// Passes each record with a prefix to `check`, except the first `skipped`. Many are read at the same time.
async fn each(
    job: &JobContext<'_>,
    prefix: &str,
    skipped: usize,
    report: &mut Report,
    mut check: impl FnMut(&str, &Bytes, &mut Report) + Send,
) -> Result<(), JobError> {
    let listed = objects::list(job.store, prefix).await?;
    let names = listed.iter().skip(skipped).map(|listed| listed.key.as_str());
    let mut reads = stream::iter(names.clone().map(|name| objects::read(job.store, name))).buffered(windows().at_once);
    for name in names {
        let bytes = report.given(reads.next().await.transpose())?;
        bytes.flatten().iter().for_each(|bytes| check(name, bytes, report));
    }
    Ok(())
}
