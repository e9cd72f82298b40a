//! Newest: which listed root is the newest that counts. Anybody who may create objects in `roots/` may use any number,
//! so roots numbered far above all others, and roots without an existing base, are passed over.

use std::collections::{BTreeMap, BTreeSet};

use copal_format::id::ObjectHash;
use copal_format::layout;
use copal_format::limits::ROOT_LEAP;
use copal_format::number::reached;
use copal_format::root::Root;
use copal_format::state::RunKind;
use copal_store::{Store, StoreError};

use super::{Parts, View, lost, read_state};
use crate::error::JobError;
use crate::faults::{Mistake, is_planted};
use crate::objects::{self, Call};
use crate::replica_mark::is_replica;

/// Reads the newest root that counts and the whole state it names.
pub async fn read(store: &dyn Store) -> Result<View, JobError> {
    read_parts(store, &Parts::ALL).await
}

/// Reads the newest root that counts, and parts of its state. A root counts only if its base still exists, with the
/// hash that it names, after the root was read: a writer that slept may have reused a number that was deleted long ago.
///
/// If the base stays gone and no newer root appears, the root is passed over: whoever may create roots may invent a
/// base. Then evidence of a newer root than the chosen one (a deletion record, a receipt) means that the state is lost.
pub fn read_parts<'a>(store: &'a dyn Store, parts: &'a Parts) -> Call<'a, View> {
    Box::pin(go(store, parts))
}

async fn go(store: &dyn Store, parts: &Parts) -> Result<View, JobError> {
    let (mut newest, mut failed) = (None, 0);
    let mut unreached: BTreeMap<u64, String> = BTreeMap::new();
    loop {
        let numbers = unreached.keys().copied().collect();
        match attempt(store, parts, &numbers).await? {
            Attempt::Read(mut view) if !unreached.is_empty() => {
                let Some(evidence) = lost::told_beyond(store, &view).await? else {
                    for (number, why) in unreached {
                        if !is_half_copied(store, number).await? {
                            view.passed.push(why);
                        }
                    }
                    return Ok(*view);
                };
                if !is_superseded(store, &view).await? {
                    let whys: Vec<String> = unreached.into_values().collect();
                    return Err(JobError::StateLost { evidence: format!("{}, and {evidence}", whys.join(", ")) });
                }
                // The newer root may be the base of one that was passed over: a sync creates a base after its root.
                unreached.clear();
                (newest, failed) = (None, 0);
            }
            Attempt::Read(view) => return Ok(*view),
            // While newer roots appear, other writers are merely faster.
            Attempt::Again { root, .. } if newest < Some(root) => (newest, failed) = (Some(root), 0),
            Attempt::Again { root, gone, is_base: true }
                if failed == ATTEMPTS && unreached.len() < UNREACHED && newest == Some(root) =>
            {
                unreached.insert(root, gone);
                (newest, failed) = (None, 0);
            }
            Attempt::Again { gone, .. } if failed == ATTEMPTS => return Err(JobError::StateLost { evidence: gone }),
            Attempt::Again { .. } => failed += 1,
        }
    }
}

enum Attempt {
    Read(Box<View>),
    /// Something that the newest root needs is gone.
    Again {
        root: u64,
        gone: String,
        /// Whether the root's base is what is gone.
        is_base: bool,
    },
}

async fn attempt(store: &dyn Store, parts: &Parts, unreached: &BTreeSet<u64>) -> Result<Attempt, JobError> {
    let listed = Listed::read(store).await?;
    let number = listed.newest(unreached);
    let empty = View { passed: listed.passed, unreached: unreached.clone(), ..View::default() };
    let Some(number) = number else { return Ok(Attempt::Read(Box::new(empty))) };
    let name = &layout::root(number);
    let again = |gone| Ok(Attempt::Again { root: number, gone, is_base: false });
    let Some(bytes) = objects::read(store, name).await? else {
        return again(format!("{name} is gone"));
    };
    let root = Root::decode(number, &bytes).map_err(|error| JobError::damaged(name, error))?;
    let counts = async {
        Ok(match root.base {
            _ if is_planted(Mistake::BaseUnchecked) => None,
            Some((base, hash)) if !is_there(store, base, hash).await? => {
                Some((format!("the base of {name}, {}, is gone", layout::root(base)), true))
            }
            Some(_) => None,
            // A writer that slept since before the first root may have made it, so without a base only the newest
            // counts.
            None if Listed::read(store).await?.newest(unreached) != Some(number) => {
                Some((format!("{name} is not the newest any more"), false))
            }
            None => None,
        })
    };
    // Both run after the root was read. If the root does not count, the result for its state is ignored.
    let (counts, state): (Result<_, StoreError>, _) = futures::join!(counts, read_state(store, &root, parts));
    if let Some((gone, is_base)) = counts? {
        return Ok(Attempt::Again { root: number, gone, is_base });
    }
    let hash = ObjectHash::of(&bytes);
    match state? {
        Ok((state, indexes)) => Ok(Attempt::Read(Box::new(View { root: Some((root, hash)), state, indexes, ..empty }))),
        Err(gone) => again(format!("{gone}, which {name} names, is gone")),
    }
}

/// Reads parts of the state of the root with this number and hash.
pub(crate) async fn read_root(
    store: &dyn Store,
    (number, hash): (u64, ObjectHash),
    parts: &Parts,
) -> Result<View, JobError> {
    let name = layout::root(number);
    let lost = |evidence| JobError::StateLost { evidence };
    let bytes = objects::read(store, &name).await?.filter(|bytes| ObjectHash::of(bytes) == hash);
    let bytes = bytes.ok_or_else(|| lost(format!("{name} is not there as it was")))?;
    let root = Root::decode(number, &bytes).map_err(|error| JobError::damaged(&name, error))?;
    let read = read_state(store, &root, parts).await?;
    let (state, indexes) = read.map_err(|gone| lost(format!("{gone}, which {name} names, is gone")))?;
    Ok(View { root: Some((root, hash)), state, indexes, ..View::default() })
}

/// Reads the newest root that counts and the client heads it names.
pub(crate) async fn newest_heads(store: &dyn Store) -> Result<View, JobError> {
    read_parts(store, &Parts { kinds: &[RunKind::Heads], domains: Some(BTreeSet::new()) }).await
}

/// Whether this root lies in a replica whose sync was killed before it created the root's base. That is no damage: the
/// next sync creates the base, or a newer root with its base.
async fn is_half_copied(store: &dyn Store, number: u64) -> Result<bool, StoreError> {
    let is_replica = match is_replica(store).await {
        // Nobody syncs with such rights, so the missing base is reported.
        Err(StoreError::Denied { .. }) => false,
        is_replica => is_replica?,
    };
    if !is_replica {
        return Ok(false);
    }
    let Some((base, hash)) = base_of(store, number).await? else { return Ok(false) };
    // A sync never creates a base with another hash.
    Ok(objects::read(store, &layout::root(base)).await?.is_none_or(|bytes| ObjectHash::of(&bytes) == hash))
}

/// The base that a root names. None if it names none, or if the root is damaged or gone.
async fn base_of(store: &dyn Store, number: u64) -> Result<Option<(u64, ObjectHash)>, StoreError> {
    let bytes = objects::read(store, &layout::root(number)).await?;
    Ok(bytes.and_then(|bytes| Root::decode(number, &bytes).ok()?.base))
}

/// Whether the root of this number exists with this hash.
pub async fn is_there(store: &dyn Store, number: u64, hash: ObjectHash) -> Result<bool, StoreError> {
    Ok(objects::read(store, &layout::root(number)).await?.is_some_and(|bytes| ObjectHash::of(&bytes) == hash))
}

/// The roots at the beginning of the listing.
#[derive(Default)]
pub(crate) struct Listed {
    /// Numbers that are believed, the newest first. Not all older ones are listed.
    pub(crate) numbers: Vec<u64>,
    /// What is passed over, each with the reason.
    pub(crate) passed: Vec<String>,
}

impl Listed {
    /// Lists roots from the newest on, until one of them is low enough to be believed or the listing ends.
    pub(crate) async fn read(store: &dyn Store) -> Result<Self, StoreError> {
        let (mut listed, mut after) = (Self::default(), None);
        loop {
            let page = store.list("roots/", after.as_ref(), PAGE).await?;
            after = page.objects.last().map(|last| last.key.clone());
            for object in page.objects {
                match layout::root_number(object.key.as_str()) {
                    Some(number) => listed.numbers.push(number),
                    None => listed.passed.push(format!("{} is not the name of a root", object.key.as_str())),
                }
            }
            if !page.more || listed.numbers.last().is_some_and(|lowest| *lowest <= ROOT_LEAP) {
                break;
            }
        }
        // Numbers this high come from a rebuild that stepped over a false number. Its deletion record names its root.
        let is_high = listed.numbers.last().is_some_and(|lowest| *lowest > ROOT_LEAP);
        let told = if is_high { told_by_deletions(store).await? } else { 0 };
        let highest = reached(told, ROOT_LEAP, listed.numbers.iter().copied());
        let (too_high, believed): (Vec<u64>, Vec<u64>) = listed.numbers.iter().partition(|number| **number > highest);
        listed.numbers = believed;
        listed.passed.extend(too_high.into_iter().map(|number| {
            format!("{} stands {} numbers above every other root", layout::root(number), number - highest)
        }));
        Ok(listed)
    }

    /// The newest number that is believed and is not in `unreached`.
    pub(crate) fn newest(&self, unreached: &BTreeSet<u64>) -> Option<u64> {
        self.numbers.iter().copied().find(|number| !unreached.contains(number))
    }
}

async fn told_by_deletions(store: &dyn Store) -> Result<u64, StoreError> {
    let records = objects::list(store, "deletions/").await?;
    Ok(records.iter().filter_map(|record| layout::deletion_root(record.key.as_str())).max().unwrap_or(0))
}

/// The number of the newest root that is believed; 0 without roots. A hint: its base is not checked.
pub async fn newest_number(store: &dyn Store) -> Result<u64, StoreError> {
    Ok(Listed::read(store).await?.newest(&BTreeSet::new()).unwrap_or(0))
}

/// The number of the newest root that has no base or whose base exists, for callers that read the root themselves. The
/// root `known` is known to be such a root and is not checked again.
pub async fn newest_reached(store: &dyn Store, known: Option<u64>) -> Result<Option<u64>, StoreError> {
    let numbers = Listed::read(store).await?.numbers;
    for number in &numbers {
        if known == Some(*number) {
            return Ok(known);
        }
        // A damaged root counts here: whoever reads it next reports the damage.
        match base_of(store, *number).await? {
            Some((base, hash)) if !is_there(store, base, hash).await? => {}
            _ => return Ok(Some(*number)),
        }
    }
    Ok(numbers.first().copied())
}

/// Whether a root newer than the view's is listed that the view has not passed over as unreached.
pub async fn is_superseded(store: &dyn Store, view: &View) -> Result<bool, StoreError> {
    Ok(Listed::read(store).await?.newest(&view.unreached).is_some_and(|newest| newest > view.number()))
}

/// Whether a rebuild has made a root that is newer than the view's. No root ever has the number before that of a
/// rebuilt root, so there is a gap between the numbers of the newer roots.
pub(crate) async fn is_rebuilt_since(store: &dyn Store, view: &View) -> Result<bool, StoreError> {
    let (mut newer, mut after) = (Vec::new(), None);
    loop {
        let page = store.list("roots/", after.as_ref(), PAGE).await?;
        after = page.objects.last().map(|last| last.key.clone());
        let numbers = page.objects.iter().filter_map(|root| layout::root_number(root.key.as_str()));
        let numbers: Vec<u64> = numbers.collect();
        let is_all = numbers.last().is_some_and(|lowest| *lowest <= view.number());
        newer.extend(numbers.into_iter().filter(|number| *number > view.number()));
        if is_all || !page.more {
            break;
        }
    }
    // Numbers that no reader believes tell of no rebuild, and the next writer steps over unreached ones.
    let highest = reached(view.number(), ROOT_LEAP, newer.iter().copied());
    let mut before = view.number();
    for number in newer.into_iter().rev().filter(|number| *number <= highest) {
        if number > before + 1 && !view.unreached.contains(&number) {
            return Ok(true);
        }
        before = number;
    }
    Ok(false)
}

/// How often in a row the same newest root may turn out incomplete before it counts as lost.
const ATTEMPTS: u32 = 8;
/// How many roots without a reachable base are passed over at most.
const UNREACHED: usize = 64;
/// Roots listed with one call. So many false numbers in a row are recognised with a single call.
const PAGE: usize = 32;
