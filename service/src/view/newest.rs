//! Newest: which of the roots that are listed may be the newest. Whoever may create objects below `roots/` may create one
//! of any number: one that stands too far above the others is passed over, and so is one that no base leads to.

use std::collections::{BTreeMap, BTreeSet};

use copal_engine::id::ObjectHash;
use copal_engine::layout;
use copal_engine::limits::ROOT_LEAP;
use copal_engine::number::reached;
use copal_engine::root::Root;
use copal_engine::state::RunKind;
use copal_store::{Store, StoreError};

use super::{Parts, View, lost, read_state};
use crate::error::JobError;
use crate::faults::{Fault, is_planted};
use crate::objects;

/// Reads the newest root and all that it names.
pub async fn read(store: &dyn Store) -> Result<View, JobError> {
    read_parts(store, &Parts::ALL).await
}

/// Reads the newest root and parts of what it names. A root counts only if, after reading it, its base is still there
/// with the hash it names: a writer that slept may have created a number that was deleted long ago.
///
/// If that stays so while no newer root appears, the root is passed over, as if it had been lost: whoever may create roots
/// may create one with a base that never was. Then whatever tells of a newer root than the one that is taken counts.
pub async fn read_parts(store: &dyn Store, parts: &Parts) -> Result<View, JobError> {
    let (mut newest, mut failed) = (None, 0);
    let mut unreached: BTreeMap<u64, String> = BTreeMap::new();
    loop {
        let numbers = unreached.keys().copied().collect();
        match attempt(store, parts, &numbers).await? {
            Attempt::Read(mut view) if !unreached.is_empty() => {
                let Some(evidence) = lost::told_beyond(store, &view).await? else {
                    view.passed.extend(unreached.into_values());
                    return Ok(*view);
                };
                if !is_superseded(store, &view).await? {
                    let whys: Vec<String> = unreached.into_values().collect();
                    return Err(JobError::StateLost { evidence: format!("{}, and {evidence}", whys.join(", ")) });
                }
            }
            Attempt::Read(view) => return Ok(*view),
            // As long as newer roots appear, others are merely faster.
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
    /// Something the newest root needs was gone.
    Again {
        root: u64,
        gone: String,
        /// Whether that is its base.
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
            _ if is_planted(Fault::BaseUnchecked) => None,
            Some((base, hash)) if !is_there(store, base, hash).await? => {
                Some((format!("the base of {name}, {}, is gone", layout::root(base)), true))
            }
            Some(_) => None,
            // Without a base only the newest counts: this may be what a writer made that slept since there was none.
            None if Listed::read(store).await?.newest(unreached) != Some(number) => {
                Some((format!("{name} is not the newest any more"), false))
            }
            None => None,
        })
    };
    // Both come after the root; what a root names that does not count is of no interest.
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

/// Parts of what a root names that is known by its number and hash.
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

/// The newest root that counts, and the heads it names.
pub(crate) async fn newest_heads(store: &dyn Store) -> Result<View, JobError> {
    read_parts(store, &Parts { kinds: &[RunKind::Heads], domains: Some(BTreeSet::new()) }).await
}

/// Whether a root is there with the hash that another one names.
pub async fn is_there(store: &dyn Store, number: u64, hash: ObjectHash) -> Result<bool, StoreError> {
    Ok(objects::read(store, &layout::root(number)).await?.is_some_and(|bytes| ObjectHash::of(&bytes) == hash))
}

/// The roots at the beginning of the list.
#[derive(Default)]
pub(crate) struct Listed {
    /// The numbers that are believed, the newest first. Behind the first of them not all are listed.
    pub(crate) numbers: Vec<u64>,
    /// What is passed over, and why.
    pub(crate) passed: Vec<String>,
}

impl Listed {
    /// Lists roots from the newest on until one is believed.
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
        // Numbers so high are of a rebuild that went beyond a lie; it has left a record that tells of its root.
        let is_far = listed.numbers.last().is_some_and(|lowest| *lowest > ROOT_LEAP);
        let told = if is_far { told_by_deletions(store).await? } else { 0 };
        let highest = reached(told, ROOT_LEAP, listed.numbers.iter().copied());
        let (far, believed) = listed.numbers.iter().partition(|number| **number > highest);
        listed.numbers = believed;
        let far: Vec<u64> = far;
        listed.passed.extend(far.into_iter().map(|number| {
            format!("{} stands {} numbers above every other root", layout::root(number), number - highest)
        }));
        Ok(listed)
    }

    /// The newest that is believed, but for those to which no base leads.
    pub(crate) fn newest(&self, unreached: &BTreeSet<u64>) -> Option<u64> {
        self.numbers.iter().copied().find(|number| !unreached.contains(number))
    }
}

async fn told_by_deletions(store: &dyn Store) -> Result<u64, StoreError> {
    let records = objects::list(store, "deletions/").await?;
    Ok(records.iter().filter_map(|record| layout::deletion_root(record.key.as_str())).max().unwrap_or(0))
}

/// The number of the newest root; 0 where there is none. A hint: whether a base leads to it is not looked at.
pub async fn newest_number(store: &dyn Store) -> Result<u64, StoreError> {
    Ok(Listed::read(store).await?.newest(&BTreeSet::new()).unwrap_or(0))
}

/// The newest root to which a base leads, or that stands without one; for whoever reads it by itself. One that is known to
/// be such is not looked at again.
pub(crate) async fn newest_reached(store: &dyn Store, known: Option<u64>) -> Result<Option<u64>, StoreError> {
    let numbers = Listed::read(store).await?.numbers;
    for number in &numbers {
        if known == Some(*number) {
            return Ok(known);
        }
        let root = objects::read(store, &layout::root(*number)).await?.map(|bytes| Root::decode(*number, &bytes));
        // What is damaged is told as such by whoever reads it.
        match root {
            Some(Ok(Root { base: Some((base, hash)), .. })) if !is_there(store, base, hash).await? => {}
            _ => return Ok(Some(*number)),
        }
    }
    Ok(numbers.first().copied())
}

/// Whether a newer root is listed than that of a view, and none that it has passed over.
pub async fn is_superseded(store: &dyn Store, view: &View) -> Result<bool, StoreError> {
    Ok(Listed::read(store).await?.newest(&view.unreached).is_some_and(|newest| newest > view.number()))
}

/// A reader that finds something gone starts again from the newest root; if that stays the same for so long, it is lost.
const ATTEMPTS: u32 = 8;
/// So many roots to which no base leads are passed over.
const UNREACHED: usize = 64;
/// Roots that are listed at once. So many lies in a row are found out with one call.
const PAGE: usize = 32;
