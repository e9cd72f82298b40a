//! House: what a repository has besides its state: key slots, client records, readers and descriptors.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use copal_format::client::ClientHistory;
use copal_format::id::{ClientId, ObjectHash, SlotId};
use copal_format::keys::slot::{STORED_BYTES, Slot};
use copal_format::layout;
use copal_format::limits::READER_BYTES;
use copal_format::repository::Descriptor;
use copal_store::Listed;

use super::SyncError;
use super::carrier::{self, Carrier, RECORD};
use crate::clients;

/// Copies what is missing. Returns the key slots that only the replica has.
pub(super) async fn carry(carrier: &Carrier<'_>) -> Result<Vec<String>, SyncError> {
    let slots_left = carry_slots(carrier).await?;
    carry_clients(carrier).await?;
    let is_reader = |name: &str, bytes: &Bytes| layout::reader_hash(name) == Some(ObjectHash::of(bytes));
    carry_few(carrier, "reader/", READER_BYTES, is_reader).await?;
    let (repository, owner_key) = (carrier.source.repository, carrier.source.owner_key);
    let is_descriptor = |name: &str, bytes: &Bytes| {
        let descriptor = layout::trailing_number(name).and_then(|version| Descriptor::decode(version, bytes).ok());
        descriptor.is_some_and(|of| of.repository == repository && of.owner_key == owner_key)
    };
    // Last: without a descriptor a store does not count as a repository.
    carry_few(carrier, "copal/", RECORD, is_descriptor).await?;
    Ok(slots_left)
}

async fn carry_slots(carrier: &Carrier<'_>) -> Result<Vec<String>, SyncError> {
    let id_in = |name: &str| SlotId::from_hex(name.split('/').nth(1)?).ok();
    let is_slot = |name: &str, bytes: &Bytes| {
        let slot = Slot::parse(bytes).ok().filter(|slot| slot.repository() == carrier.source.repository);
        slot.is_some_and(|slot| layout::slot(slot.id()).iter().any(|copy| copy == name))
    };
    carry_few(carrier, "keys/", STORED_BYTES as u64, is_slot).await?;
    let ids = |listed: Vec<Listed>| -> BTreeSet<SlotId> {
        listed.iter().filter_map(|listed| id_in(listed.key.as_str())).collect()
    };
    let here = ids(carrier::list(carrier.source.store, "keys/", None, FEW).await?);
    let there = ids(carrier::list(carrier.target, "keys/", None, FEW).await?);
    Ok(there.difference(&here).map(ToString::to_string).collect())
}

/// Copies the objects below a prefix that are what their names say.
async fn carry_few(
    carrier: &Carrier<'_>,
    prefix: &str,
    most: u64,
    is_sound: impl Fn(&str, &Bytes) -> bool + Sync,
) -> Result<(), SyncError> {
    for listed in carrier.missing(prefix, FEW).await? {
        let name = listed.key.as_str();
        let Some(bytes) = carrier.read(name, listed.stat.length, most).await? else { continue };
        match is_sound(name, &bytes) {
            true => carrier.put(name, bytes).await?,
            false => carrier.fault(name, "it is damaged, or not of this repository")?,
        }
    }
    Ok(())
}

/// Copies client records. A record may be signed with a key that the client's first version names, so all versions are
/// read.
async fn carry_clients(carrier: &Carrier<'_>) -> Result<(), SyncError> {
    let mut clients: BTreeMap<ClientId, BTreeSet<String>> = BTreeMap::new();
    for listed in carrier.missing("clients/", CLIENTS).await? {
        let name = listed.key.as_str();
        match (layout::client_of(name), layout::client_version(name)) {
            (Some(client), Some(_)) => drop(clients.entry(client).or_default().insert(name.to_owned())),
            _ => continue,
        }
    }
    carrier::each_small(clients, |(client, new)| carry_client(carrier, client, new)).await
}

async fn carry_client(carrier: &Carrier<'_>, client: ClientId, new: BTreeSet<String>) -> Result<(), SyncError> {
    let source = carrier.source;
    let mut named = Vec::new();
    for listed in carrier::list(source.store, &format!("clients/{client}/"), None, FEW).await? {
        let version = layout::client_version(listed.key.as_str());
        named.extend(version.map(|version| (version, listed)));
    }
    named.sort_by_key(|(version, _)| *version);
    let has_joined = named.iter().any(|(version, listed)| *version == 2 && !new.contains(listed.key.as_str()));
    let mut sound: Vec<(u64, Vec<u8>)> = Vec::new();
    let mut uncopied = Vec::new();
    for (version, listed) in named {
        let name = listed.key.as_str();
        let Some(bytes) = carrier.read(name, listed.stat.length, RECORD).await? else { continue };
        let versions = [&sound[..], &[(version, bytes.to_vec())]].concat();
        let history = ClientHistory::read(source.repository, &source.owner_key, client, &versions);
        // This copy is judged without its twin: a sound twin would hide that this one is not.
        let alone = [
            &sound.iter().filter(|(of, _)| *of < version).cloned().collect::<Vec<_>>()[..],
            &[(version, bytes.to_vec())],
        ]
        .concat();
        let alone = ClientHistory::read(source.repository, &source.owner_key, client, &alone);
        if history.newest.is_none() || alone.newest.is_none_or(|newest| newest.version != version) {
            carrier.fault(name, "neither the owner nor its client's enrollment has signed it")?;
            continue;
        }
        sound.push((version, bytes.to_vec()));
        if new.contains(name) {
            uncopied.push((version, name.to_owned(), bytes));
        }
    }
    // In the replica it has joined already, so later versions come in any case: one may revoke it.
    let last = if has_joined { u64::MAX } else { last_to_copy(carrier, client, &sound).await? };
    // The newest first: if the sync breaks off, version 2 is not the younger one in the replica.
    for (_, name, bytes) in uncopied.into_iter().rev().filter(|(version, ..)| *version <= last) {
        carrier.put(&name, bytes).await?;
    }
    Ok(())
}

/// The last version of a client's record that may be copied; 0 if none may.
///
/// The replica dates its copies itself, and the time between versions 1 and 2 decides there, too, whether the client
/// joined late. So version 1 waits until the client has joined, and then both come in one sync. If the client joined
/// late, only version 1 comes.
async fn last_to_copy(carrier: &Carrier<'_>, client: ClientId, sound: &[(u64, Vec<u8>)]) -> Result<u64, SyncError> {
    let source = carrier.source;
    let newest = ClientHistory::read(source.repository, &source.owner_key, client, sound).newest;
    if newest.is_some_and(|newest| newest.enrollment.is_some() && newest.revoked.is_none()) {
        // A client that has written did join, and the source has lost that version: a rebuild needs what is left.
        let written = source.store.list(&format!("manifests/{client}/"), None, 1).await?;
        return Ok(if written.objects.is_empty() { 0 } else { u64::MAX });
    }
    if sound.iter().all(|(version, _)| *version == 1) {
        return Ok(u64::MAX);
    }
    match clients::is_late(source, client).await {
        Ok(is_late) => Ok(if is_late { 1 } else { u64::MAX }),
        Err(error) => {
            let (object, why) = error.blame()?;
            carrier.fault(object, why).map(|()| u64::MAX)
        }
    }
}

/// Most descriptors, key slots or readers of a repository, and objects of one client.
pub(super) const DESCRIPTORS: usize = FEW;
const FEW: usize = 10_000;
/// Most client records.
const CLIENTS: usize = 1_000_000;
