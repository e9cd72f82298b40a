//! Stand: the objects that a root's state names by their hashes: packs, segments and runs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::{Bytes, BytesMut};
use copal_format::id::ObjectHash;
use copal_format::layout::{Place, Prunable};
use copal_store::{Store, StoreError};

use super::SyncError;
use super::carrier::{self, Carrier};
use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;
use crate::stored::{PRUNABLE, Stored};
use crate::view::{self, Parts, View};

/// An object named by its hash.
struct Named {
    name: Prunable,
    hash: ObjectHash,
    length: u64,
    need: Need,
}

/// What it means if the source does not have an object.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Need {
    /// The state cannot be read without it, or would no longer lead to what the replica has.
    State,
    /// What is in it is lost.
    Data,
    /// Nothing: it is of an older root.
    Nothing,
}

/// Copies what the replica lacks. Returns whether the whole state is there now. `verified` is the root that the last prune
/// has verified: the next prune, or a check, compares with it.
pub(super) async fn carry(
    carrier: &Carrier<'_>,
    view: &View,
    verified: Option<(u64, ObjectHash)>,
) -> Result<bool, SyncError> {
    let older = match verified {
        Some(root) if view.base() != Some(root) => {
            match view::read_root(carrier.source.store, root, &Parts::RECORDS).await {
                Ok(older) => Some(older),
                Err(JobError::StateLost { .. } | JobError::Damaged { .. }) => None,
                Err(error) => return Err(error.into()),
            }
        }
        _ => None,
    };
    let mut all = BTreeMap::new();
    let older = older.iter().flat_map(|older| state(older, Need::Nothing));
    for named in packs(view).into_iter().chain(state(view, Need::State)).chain(older) {
        all.entry(named.name).or_insert(named);
    }
    let there = Stored::list(&JobContext { store: carrier.target, ..*carrier.source }, PRUNABLE).await?;
    let mut is_whole = true;
    let mut missing: [Vec<Named>; 3] = Default::default();
    for named in all.into_values() {
        match there.objects.get(&named.name) {
            None if named.length > OBJECT => {
                is_whole &= named.need != Need::State;
                carrier.fault(named.name.to_string(), format!("its state gives it {} bytes", named.length))?;
            }
            Some(stat) if stat.length == named.length => {}
            Some(stat) => {
                is_whole &= named.need != Need::State;
                let name = named.name.to_string();
                // Whoever writes the state may have given a false length: then the replica's object is the good one.
                let given = read(carrier.source.store, &name, named.length).await;
                let why = match given.is_ok_and(|bytes| ObjectHash::of(&bytes) == named.hash) {
                    true => format!(
                        "the replica has {} bytes of {}: delete it there and sync again",
                        stat.length, named.length
                    ),
                    false => format!("the replica has {} bytes, and the state says {}", stat.length, named.length),
                };
                carrier.fault(name, why)?;
            }
            None => missing[if named.length <= SMALL { 0 } else { 1 + usize::from(named.length > LARGE) }].push(named),
        }
    }
    let unmet = AtomicBool::new(false);
    let act = async |named: Named| {
        if !carry_one(carrier, &named).await? && named.need == Need::State {
            unmet.store(true, Ordering::Relaxed);
        }
        Ok(())
    };
    let [small, middle, large] = missing;
    carrier::each_small(small, act).await?;
    carrier::each(AT_ONCE, middle, act).await?;
    carrier::each(1, large, act).await?;
    Ok(is_whole && !unmet.into_inner())
}

fn packs(view: &View) -> Vec<Named> {
    let packs = view.state.packs.iter();
    packs
        .map(|(id, record)| Named {
            name: Prunable::Pack(record.place, *id),
            hash: ObjectHash(id.0),
            length: record.length,
            // A moved pack stands for others that the state does not name any more, and the replica may have these whole.
            need: if record.place == Place::Moved && !record.is_missing && !record.is_damaged {
                Need::State
            } else {
                Need::Data
            },
        })
        .collect()
}

/// The segments and runs of a state.
fn state(view: &View, need: Need) -> Vec<Named> {
    let segments =
        view.state.segments.iter().map(|((_, hash), record)| (Prunable::Segment(*hash), *hash, record.length));
    let runs = view.root.iter().flat_map(|(root, _)| &root.runs).map(|run| (run.hash, run.length));
    let overlays = view.state.overlays.iter().map(|((_, hash), record)| (*hash, record.length));
    let runs = runs.chain(overlays).map(|(hash, length)| (Prunable::Run(hash), hash, length));
    segments.chain(runs).map(|(name, hash, length)| Named { name, hash, length, need }).collect()
}

/// Copies one object whose bytes have the hash of its name; false if the source does not have such bytes.
async fn carry_one(carrier: &Carrier<'_>, named: &Named) -> Result<bool, SyncError> {
    let name = named.name.to_string();
    let read = match read(carrier.source.store, &name, named.length).await {
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error @ StoreError::OutOfRange { .. }) => {
            carrier.fault(&name, error)?;
            return Ok(false);
        }
        read => read.map(Some),
    };
    if named.need == Need::Nothing && matches!(read, Ok(None)) {
        return Ok(false);
    }
    let Some(bytes) = carrier.given(&name, read)? else { return Ok(false) };
    if ObjectHash::of(&bytes) != named.hash {
        carrier.fault(name, "its bytes do not have the hash it is named by")?;
        return Ok(false);
    }
    carrier.put(&name, bytes).await?;
    Ok(true)
}

/// Reads an object up to the length that the state records, so that a longer object does not fill the memory.
async fn read(store: &dyn Store, name: &str, length: u64) -> Result<Bytes, StoreError> {
    let key = objects::key(name);
    if length <= LARGE {
        return store.read_range(&key, 0..length).await;
    }
    let mut bytes = BytesMut::new();
    for start in (0..length).step_by(LARGE as usize) {
        bytes.extend_from_slice(&store.read_range(&key, start..length.min(start + LARGE)).await?);
    }
    Ok(bytes.freeze())
}

/// Up to this size many objects are copied at once, beyond it a few, and beyond `LARGE` one.
const SMALL: u64 = 1 << 20;
const LARGE: u64 = 64 << 20;
/// Packs on their way at once: at most 4 × 64 MiB.
const AT_ONCE: usize = 4;
/// More bytes than any pack, segment or run has.
const OBJECT: u64 = 4 << 30;
