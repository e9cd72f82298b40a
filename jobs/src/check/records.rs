//! Records: checks descriptors, key slots, clients, manifests, receipts, changes, expiries and deletion records. Also
//! checks old roots and runs, which no current root needs.

use std::collections::BTreeSet;

use bytes::Bytes;
use copal_format::client::ClientError;
use copal_format::expiry::Expiry;
use copal_format::id::{ClientId, ObjectHash, SlotId};
use copal_format::keys::slot::Slot;
use copal_format::layout;
use copal_format::limits::READER_BYTES;
use copal_format::manifest::Manifest;
use copal_format::receipt::{Outcome, Receipt};
use copal_format::repository::Descriptor;
use copal_format::root::{Deletion, Root};

use super::{Kind, Report, hash_in};
use crate::changes::verify_change;
use crate::clients;
use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;

/// Checks every record of the store.
pub(super) async fn check(job: &JobContext<'_>, report: &mut Report) -> Result<(), JobError> {
    check_descriptors(job, report).await?;
    check_slots(job, report).await?;
    check_readers(job, report).await?;
    let registered = clients::below(job.store, "clients/").await?;
    let writing = clients::below(job.store, "manifests/").await?;
    for client in registered.into_iter().chain(writing).collect::<BTreeSet<ClientId>>() {
        check_client(job, client, report).await?;
    }
    check_receipts(job, report).await?;
    check_changes(job, report).await?;
    check_expiries(job, report).await?;
    check_deletions(job, report).await?;
    check_roots(job, report).await?;
    Ok(())
}

/// Reads a record. Reports a record that the store has and does not give.
async fn read(job: &JobContext<'_>, name: &str, report: &mut Report) -> Result<Option<Bytes>, JobError> {
    match objects::read(job.store, name).await.map_err(JobError::from) {
        Err(error) => {
            let (object, why) = error.blame()?;
            report.add(Kind::Damaged, object, why);
            Ok(None)
        }
        Ok(bytes) => Ok(bytes),
    }
}

async fn check_descriptors(job: &JobContext<'_>, report: &mut Report) -> Result<(), JobError> {
    let listed = objects::list(job.store, "copal/").await?;
    if listed.is_empty() {
        report.add(Kind::Missing, "copal/", "the descriptor is gone; restoring still works, backing up does not");
    }
    for listed in listed {
        let name = listed.key.as_str();
        let Some(bytes) = read(job, name, report).await? else { continue };
        let Some(version) = layout::trailing_number(name) else { continue };
        match Descriptor::decode(version, &bytes) {
            Ok(descriptor) if descriptor.owner_key == job.owner_key => {}
            Ok(_) => report.add(Kind::Damaged, name, "another owner has signed it"),
            Err(error) => report.add(Kind::Damaged, name, error),
        }
    }
    Ok(())
}

async fn check_slots(job: &JobContext<'_>, report: &mut Report) -> Result<(), JobError> {
    let mut slots: std::collections::BTreeMap<SlotId, u32> = Default::default();
    for listed in objects::list(job.store, "keys/").await? {
        let name = listed.key.as_str();
        let slot = name.split('/').nth(1).and_then(|id| SlotId::from_hex(id).ok());
        let Some(bytes) = read(job, name, report).await? else { continue };
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
async fn check_readers(job: &JobContext<'_>, report: &mut Report) -> Result<(), JobError> {
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
    if let Some(hash) = named_reader(job).await?
        && !listed.iter().any(|listed| listed.key.as_str() == layout::reader(hash))
    {
        report.add(Kind::Missing, layout::reader(hash), "the reader is gone; \"copal reader\" stores it again");
    }
    Ok(())
}

/// The reader that the newest sound descriptor names.
async fn named_reader(job: &JobContext<'_>) -> Result<Option<ObjectHash>, JobError> {
    for listed in objects::list(job.store, "copal/").await?.iter().rev() {
        let name = listed.key.as_str();
        let Some(version) = layout::trailing_number(name) else { continue };
        // An unreadable descriptor was reported before.
        let Some(bytes) = read(job, name, &mut Report::default()).await? else { continue };
        if let Ok(descriptor) = Descriptor::decode(version, &bytes)
            && descriptor.owner_key == job.owner_key
        {
            return Ok(descriptor.reader);
        }
    }
    Ok(None)
}

async fn check_client(job: &JobContext<'_>, client: ClientId, report: &mut Report) -> Result<(), JobError> {
    let survey = match clients::survey(job, client).await {
        Ok(survey) => survey,
        Err(error) => {
            let (object, why) = error.blame()?;
            report.add(Kind::Damaged, object, why);
            return Ok(());
        }
    };
    let record = match survey.record.unwrap_or(Err(ClientError::Unknown { client })) {
        Ok(record) => record,
        Err(error) => {
            report.add(Kind::Damaged, format!("clients/{client}"), error);
            return Ok(());
        }
    };
    for name in survey.damaged {
        report.add(Kind::Damaged, name, "it is not what the other copy is, which is sound");
    }
    let Some(keys) = record.keys else { return Ok(()) };
    let receipts = objects::list(job.store, &format!("receipts/{client}/")).await?;
    let answered = receipts.last().and_then(|listed| layout::trailing_number(listed.key.as_str())).unwrap_or(0);
    let (mut number, mut before) = (0, Some(ObjectHash::NONE));
    let listed = objects::list(job.store, &format!("manifests/{client}/")).await?;
    for listed in listed {
        let name = listed.key.as_str();
        let Some(found) = layout::trailing_number(name) else { continue };
        if found != number + 1 {
            report.add(Kind::Missing, layout::manifest(client, number + 1), "a manifest of the chain is gone");
        }
        let expected = if found == number + 1 { before } else { None };
        (number, before) = (found, None);
        let Some(bytes) = read(job, name, report).await? else { continue };
        before = Some(ObjectHash::of(&bytes));
        let is_believed = found <= answered && !is_rejected(job, client, found).await?;
        match Manifest::verify(job.repository, &keys.manifest, client, found, &bytes) {
            // A client may write anything. Nothing relies on a manifest that was rejected or still waits for an answer.
            _ if !is_believed => {}
            Ok(verified) if expected.is_some_and(|before| verified.manifest.previous != before) => {
                report.add(Kind::Damaged, name, "it does not name the manifest before it");
            }
            Ok(_) => {}
            Err(error) => report.add(Kind::Damaged, name, error),
        }
    }
    Ok(())
}

/// Whether a receipt rejects this manifest. An unreadable receipt counts as a rejection; it is reported elsewhere.
async fn is_rejected(job: &JobContext<'_>, client: ClientId, number: u64) -> Result<bool, JobError> {
    let receipt = match objects::read(job.store, &layout::receipt(client, number)).await.map_err(JobError::from) {
        Err(error) => return error.blame().map(|_| true),
        Ok(receipt) => receipt,
    };
    let receipt = receipt.and_then(|bytes| Receipt::decode(client, number, &bytes).ok());
    Ok(receipt.is_some_and(|receipt| receipt.outcome == Outcome::Rejected))
}

async fn check_receipts(job: &JobContext<'_>, report: &mut Report) -> Result<(), JobError> {
    for listed in objects::list(job.store, "receipts/").await? {
        let name = listed.key.as_str();
        let (Some(client), Some(number)) = (layout::client_of(name), layout::trailing_number(name)) else { continue };
        if let Some(bytes) = read(job, name, report).await?
            && let Err(error) = Receipt::decode(client, number, &bytes)
        {
            report.add(Kind::Damaged, name, error);
        }
    }
    Ok(())
}

async fn check_changes(job: &JobContext<'_>, report: &mut Report) -> Result<(), JobError> {
    let mut before = Some(ObjectHash::NONE);
    for listed in objects::list(job.store, "changes/").await? {
        let name = listed.key.as_str();
        let Some(number) = layout::trailing_number(name) else { continue };
        let expected = before.take();
        let Some(bytes) = read(job, name, report).await? else { continue };
        match verify_change(job, number, expected, &bytes).await {
            Ok(Some(_)) => {}
            Ok(None) => {
                report.add(Kind::Damaged, name, "it is not signed by a full client, or does not follow the one before");
            }
            Err(error) => {
                let (object, _) = error.blame()?;
                report.add(Kind::Damaged, name, format!("it cannot be verified: {object} is damaged"));
            }
        }
        before = Some(ObjectHash::of(&bytes));
    }
    Ok(())
}

/// Checks only that expiries are readable and chained. Whether one is believed was decided on an earlier state.
async fn check_expiries(job: &JobContext<'_>, report: &mut Report) -> Result<(), JobError> {
    let mut before = (0, ObjectHash::NONE);
    for listed in objects::list(job.store, "expiries/").await? {
        let name = listed.key.as_str();
        let Some(number) = layout::trailing_number(name) else { continue };
        let Some(bytes) = read(job, name, report).await? else { continue };
        match Expiry::decode(number, &bytes) {
            Ok(expiry) if number == before.0 + 1 && expiry.previous != before.1 => {
                report.add(Kind::Damaged, name, "it does not name the expiry before it");
            }
            Ok(_) => {}
            Err(error) => report.add(Kind::Damaged, name, error),
        }
        before = (number, ObjectHash::of(&bytes));
    }
    Ok(())
}

async fn check_deletions(job: &JobContext<'_>, report: &mut Report) -> Result<(), JobError> {
    for listed in objects::list(job.store, "deletions/").await? {
        let name = listed.key.as_str();
        if let Some(bytes) = read(job, name, report).await?
            && let Err(error) = Deletion::decode(&bytes)
        {
            report.add(Kind::Damaged, name, error);
        }
    }
    Ok(())
}

/// Checks that older roots can be read. The newest root is checked with its whole state elsewhere.
async fn check_roots(job: &JobContext<'_>, report: &mut Report) -> Result<(), JobError> {
    for listed in objects::list(job.store, "roots/").await?.iter().skip(1) {
        let name = listed.key.as_str();
        let Some(number) = layout::root_number(name) else { continue };
        if let Some(bytes) = read(job, name, report).await?
            && let Err(error) = Root::decode(number, &bytes)
        {
            report.add(Kind::Stale, name, error);
        }
    }
    for prefix in ["state/", "index/"] {
        for listed in objects::list(job.store, prefix).await? {
            let name = listed.key.as_str();
            let Some(hash) = hash_in(name) else { continue };
            match objects::read_hashed(job.store, name, hash).await {
                Ok(_) => {}
                Err(error) => report.add(Kind::Stale, name, error.blame()?.1),
            }
        }
    }
    Ok(())
}
