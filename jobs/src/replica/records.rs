//! Records: the numbered records that a root has decided about, and the notes of prunes.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use copal_format::expiry::Expiry;
use copal_format::id::{ClientId, ObjectHash};
use copal_format::layout;
use copal_format::manifest::Manifest;
use copal_format::receipt::{Outcome, Receipt};
use copal_format::root::Deletion;
use copal_store::Store;

use super::SyncError;
use super::carrier::{self, Carrier, GONE, RECORD};
use crate::changes::is_signed;
use crate::clients;
use crate::error::JobError;
use crate::objects;
use crate::view::View;

/// Copies the manifests, changes and expiries that the root has decided about. What it has not decided about comes with a
/// later root.
pub(super) async fn carry_signed(carrier: &Carrier<'_>, view: &View, there: &Numbers) -> Result<(), SyncError> {
    let Some((root, _)) = &view.root else { return Ok(()) };
    for (client, head) in &view.state.heads {
        let new = Chain { prefix: format!("manifests/{client}/"), to: head.number, is_whole: true };
        let new = new.missing(carrier, there.manifests.get(client)).await?;
        if new.is_empty() {
            continue;
        }
        let known = match clients::read(carrier.source, *client).await {
            Ok(record) => record.and_then(|record| record.keys).map(|keys| keys.manifest),
            Err(JobError::Damaged { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        carrier::each_small(new, |record| carry_manifest(carrier, *client, known, record)).await?;
    }
    let changes = Chain { prefix: "changes/".into(), to: root.change_head.map_or(0, |(last, _)| last), is_whole: true };
    let new = changes.missing(carrier, Some(&there.changes)).await?;
    carrier::each_small(new, async |record: Record| {
        let Some(bytes) = carrier.read(&record.name, record.length, RECORD).await? else { return Ok(()) };
        match is_signed(carrier.source, record.number, &bytes).await {
            Ok(true) => carrier.put(&record.name, bytes).await,
            Ok(false) => carrier.fault(record.name, "the client that it names has not signed it"),
            Err(error) => error.blame().map_err(SyncError::from).and_then(|(_, why)| carrier.fault(record.name, why)),
        }
    })
    .await?;
    let expiries =
        Chain { prefix: "expiries/".into(), to: root.expiry_head.map_or(0, |(last, _)| last), is_whole: true };
    let new = expiries.missing(carrier, Some(&there.expiries)).await?;
    carrier::each_small(new, |record| {
        carry_plain(carrier, record, |number, bytes| Expiry::decode(number, bytes).map(|_| ()))
    })
    .await
}

/// Copies the notes of prunes up to the root, and the receipts of its decisions.
pub(super) async fn carry_answers(carrier: &Carrier<'_>, view: &View) -> Result<(), SyncError> {
    // First: they say which root a prune has verified, and until then a check cannot follow what the prune has removed.
    carry_deletions(carrier, view).await?;
    let there = numbers_of_clients(carrier.target, "receipts/").await?;
    for (client, head) in &view.state.heads {
        // The last ones may not be written yet.
        let new = Chain { prefix: format!("receipts/{client}/"), to: head.number, is_whole: false };
        let new = new.missing(carrier, there.get(client)).await?;
        carrier::each_small(new, |record| {
            carry_plain(carrier, record, |number, bytes| Receipt::decode(*client, number, bytes).map(|_| ()))
        })
        .await?;
    }
    Ok(())
}

async fn carry_deletions(carrier: &Carrier<'_>, view: &View) -> Result<(), SyncError> {
    let new = carrier.missing("deletions/", MANY).await?.into_iter().filter_map(|listed| {
        let name = listed.key.as_str();
        let number = layout::deletion_root(name).filter(|number| *number <= view.number())?;
        Some(Record { name: name.to_owned(), number, length: listed.stat.length })
    });
    carrier::each_small(new, |record| {
        let name = record.name.clone();
        carry_plain(carrier, record, move |_, bytes| match Deletion::decode(bytes) {
            Ok(deletion) if deletion.name() == name => Ok(()),
            Ok(_) => Err("it belongs under another name".to_owned()),
            Err(error) => Err(error.to_string()),
        })
    })
    .await
}

async fn carry_manifest(
    carrier: &Carrier<'_>,
    client: ClientId,
    known: Option<[u8; 32]>,
    record: Record,
) -> Result<(), SyncError> {
    let Some(bytes) = carrier.read(&record.name, record.length, RECORD).await? else { return Ok(()) };
    let is_its =
        |key: &[u8; 32]| Manifest::verify(carrier.source.repository, key, client, record.number, &bytes).is_ok();
    if known.as_ref().is_some_and(is_its) || was_rejected(carrier, client, record.number, &bytes).await? {
        return carrier.put(&record.name, bytes).await;
    }
    carrier.fault(record.name, "its client has not signed it")
}

/// Whether a receipt says that exactly these bytes were rejected: then they may be anything.
async fn was_rejected(carrier: &Carrier<'_>, client: ClientId, number: u64, bytes: &Bytes) -> Result<bool, SyncError> {
    let read = objects::read(carrier.source.store, &layout::receipt(client, number)).await?;
    let receipt = read.and_then(|bytes| Receipt::decode(client, number, &bytes).ok());
    Ok(receipt.is_some_and(|of| of.outcome == Outcome::Rejected && of.manifest == ObjectHash::of(bytes)))
}

async fn carry_plain<E: ToString>(
    carrier: &Carrier<'_>,
    record: Record,
    decode: impl Fn(u64, &[u8]) -> Result<(), E>,
) -> Result<(), SyncError> {
    let Some(bytes) = carrier.read(&record.name, record.length, RECORD).await? else { return Ok(()) };
    match decode(record.number, &bytes).map_err(|error| error.to_string()) {
        Ok(()) => carrier.put(&record.name, bytes).await,
        Err(why) => carrier.fault(record.name, why),
    }
}

/// A numbered record of the source.
struct Record {
    name: String,
    number: u64,
    length: u64,
}

/// The records of one chain up to a number.
struct Chain {
    prefix: String,
    to: u64,
    /// Whether all of them exist, so that a missing one is lost.
    is_whole: bool,
}

impl Chain {
    /// The records that the source has and the replica has not.
    async fn missing(&self, carrier: &Carrier<'_>, there: Option<&BTreeSet<u64>>) -> Result<Vec<Record>, SyncError> {
        let has = |number: &u64| there.is_some_and(|there| there.contains(number));
        // `to` may be falsely huge: the search stops at the first number that the replica lacks.
        let Some(first) = (1..=self.to).find(|number| !has(number)) else { return Ok(Vec::new()) };
        let after = objects::key(format!("{}{:020}", self.prefix, first - 1));
        let mut found = BTreeMap::new();
        for listed in carrier::list(carrier.source.store, &self.prefix, Some(after), MANY).await? {
            let name = listed.key.as_str();
            if let Some(number) = layout::trailing_number(name).filter(|number| *number <= self.to && !has(number)) {
                found.insert(number, Record { name: name.to_owned(), number, length: listed.stat.length });
            }
        }
        if self.is_whole {
            // The numbers that exist are compared with each other: there may be far too many between them to try each.
            let known: BTreeSet<u64> = there.into_iter().flatten().chain(found.keys()).copied().collect();
            let mut due = first;
            for number in known.range(first..=self.to).copied().chain([self.to + 1]) {
                if due < number {
                    carrier.lose(&self.prefix, due..=number - 1, GONE)?;
                }
                due = number + 1;
            }
        }
        Ok(found.into_values().collect())
    }
}

/// The numbers of the signed records that a store has.
pub(super) struct Numbers {
    pub(super) manifests: BTreeMap<ClientId, BTreeSet<u64>>,
    pub(super) changes: BTreeSet<u64>,
    pub(super) expiries: BTreeSet<u64>,
}

impl Numbers {
    pub(super) async fn list(store: &dyn Store) -> Result<Self, SyncError> {
        let (manifests, changes, expiries) = futures::try_join!(
            numbers_of_clients(store, "manifests/"),
            numbers(store, "changes/"),
            numbers(store, "expiries/"),
        )?;
        Ok(Self { manifests, changes, expiries })
    }
}

async fn numbers(store: &dyn Store, prefix: &str) -> Result<BTreeSet<u64>, SyncError> {
    let listed = carrier::list(store, prefix, None, MANY).await?;
    Ok(listed.iter().filter_map(|listed| layout::trailing_number(listed.key.as_str())).collect())
}

async fn numbers_of_clients(store: &dyn Store, prefix: &str) -> Result<BTreeMap<ClientId, BTreeSet<u64>>, SyncError> {
    let mut numbers: BTreeMap<ClientId, BTreeSet<u64>> = BTreeMap::new();
    for listed in carrier::list(store, prefix, None, MANY).await? {
        let name = listed.key.as_str();
        if let (Some(client), Some(number)) = (layout::client_of(name), layout::trailing_number(name)) {
            numbers.entry(client).or_default().insert(number);
        }
    }
    Ok(numbers)
}

/// Most records of one kind.
const MANY: usize = 10_000_000;
