//! Witness: an outage detector, which tells an unreadable object from a store that is away. A bad sector hides one
//! pack. An unplugged cable hides all packs for a while, and harms none.

use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use copal_store::{Key, Op, Stat, Store, StoreError};

/// The object that the store has but does not give, and why; none if the error says something else.
pub fn refusal(error: &StoreError) -> Option<(&str, String)> {
    match error {
        // An error without a key is about the store or its clock.
        StoreError::Io { key, source, .. } if !key.is_empty() => Some((key, format!("it cannot be read: {source}"))),
        StoreError::Obstructed { key } => Some((key, "something other than an object is in its place".to_owned())),
        _ => None,
    }
}

/// Why the store denies reading an object; none for other errors. Nothing is known of the object then.
pub fn denial(error: &StoreError) -> Option<String> {
    match error {
        StoreError::Denied { source, .. } => Some(format!("it may not be read: {source}")),
        _ => None,
    }
}

/// A store that passes refusals on and remembers them. They count as damage only if the store itself works:
/// [`verdict`](Self::verdict) says so in the end.
pub struct Witnessed<S> {
    inner: S,
    heard: Mutex<Heard>,
}

#[derive(Default)]
struct Heard {
    /// Refused keys, each with the last request for it.
    refused: BTreeMap<Key, Asked>,
    /// How many refusals of packs came since a pack could be read.
    row: usize,
    /// The last packs that could be read.
    packs: VecDeque<Key>,
    /// The last object other than a pack that could be read.
    other: Option<Key>,
    /// Whether the store is away; then no further requests are made.
    is_away: bool,
}

#[derive(Clone, Debug)]
enum Asked {
    Whole,
    Part(Range<u64>),
    Stat,
}

impl<S: Store> Witnessed<S> {
    /// Wraps a store.
    pub fn new(inner: S) -> Self {
        Self { inner, heard: Mutex::default() }
    }

    /// Fails if the refusals may be the store's fault: if a refused object can be read by now, or if nothing else can
    /// be read. Only another pack can vouch for packs: packs may lie on a disk of their own, and small objects are
    /// still read from memory after the disk is gone.
    pub async fn verdict(&self) -> Result<(), StoreError> {
        let (refused, is_away) = {
            let heard = self.heard();
            (heard.refused.clone(), heard.is_away)
        };
        // Fails even if the refused object can be read now, because further requests were not made.
        if let (true, Some((key, asked))) = (is_away, refused.iter().next()) {
            return Err(match self.ask_again(key, asked).await {
                Err(denied @ StoreError::Denied { .. }) => denied,
                _ => away(Op::Read, key),
            });
        }
        let (mut of_pack, mut of_other) = (None, None);
        for (key, asked) in &refused {
            match self.ask_again(key, asked).await {
                // Somebody has deleted the object meanwhile.
                Err(StoreError::NotFound { .. }) => {}
                Err(error) if !is_refused(key, &error) => return Err(error),
                Err(error) if is_pack(key) => of_pack = Some(error),
                Err(error) => of_other = Some(error),
                Ok(()) => return Err(unsteady(key)),
            }
        }
        if let Some(error) = of_pack
            && !self.gives_packs().await?
        {
            return Err(error);
        }
        let other = self.heard().other.clone();
        match (of_other, other) {
            (Some(error), None) => Err(error),
            (Some(_), Some(other)) => match self.ask_again(&other, &Asked::Part(0..1)).await {
                // The object is empty or was deleted: the store did look, so it is there.
                Err(StoreError::OutOfRange { .. } | StoreError::NotFound { .. }) => Ok(()),
                asked => asked,
            },
            (None, _) => Ok(()),
        }
    }

    async fn ask_again(&self, key: &Key, asked: &Asked) -> Result<(), StoreError> {
        match asked {
            Asked::Whole => self.inner.read(key).await.map(drop),
            Asked::Part(range) => self.inner.read_range(key, range.clone()).await.map(drop),
            Asked::Stat => self.inner.stat(key).await.map(drop),
        }
    }

    /// Whether any pack can be read now: one that was readable before, or one of the first listed.
    async fn gives_packs(&self) -> Result<bool, StoreError> {
        let mut witnesses: Vec<Key> = self.heard().packs.iter().cloned().collect();
        for prefix in PREFIXES {
            match self.inner.list(prefix, None, WITNESSES).await {
                Ok(page) => witnesses.extend(page.objects.into_iter().map(|listed| listed.key)),
                Err(error) if refusal(&error).is_some() => {}
                Err(error) => return Err(error),
            }
        }
        // A pack with a bad sector may still give other bytes, so it cannot vouch for the store.
        let refused: BTreeSet<Key> = self.heard().refused.keys().cloned().collect();
        for witness in witnesses.iter().filter(|witness| !refused.contains(*witness)) {
            match self.inner.read_range(witness, 0..1).await {
                Ok(_) => return Ok(true),
                Err(error @ (StoreError::Gone { .. } | StoreError::Crashed)) => return Err(error),
                Err(_) => {}
            }
        }
        Ok(false)
    }

    /// Remembers an answer. After [`ROW`] refusals in a row another pack has to vouch for the store at once, because a
    /// store that is away may be slow to refuse each of many packs.
    async fn hear<T>(&self, key: &Key, asked: Asked, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        let is_refused = answer.as_ref().is_err_and(|error| is_refused(key, error));
        let is_doubtful = {
            let mut heard = self.heard();
            match (&answer, asked) {
                (Err(_), asked) if is_refused => {
                    heard.refused.insert(key.clone(), asked);
                    heard.row += usize::from(is_pack(key));
                }
                // A stat may be answered from the system's memory and says nothing of the disk.
                (Ok(_), Asked::Whole | Asked::Part(_)) if is_pack(key) => {
                    heard.row = 0;
                    heard.packs.push_back(key.clone());
                    if heard.packs.len() > WITNESSES {
                        heard.packs.pop_front();
                    }
                }
                (Ok(_), Asked::Whole | Asked::Part(_)) => heard.other = Some(key.clone()),
                _ => {}
            }
            is_refused && heard.row >= ROW
        };
        if is_doubtful {
            let is_there = self.gives_packs().await?;
            let mut heard = self.heard();
            (heard.row, heard.is_away) = (0, !is_there);
        }
        answer
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_there(&self, op: Op, key: &Key) -> Result<(), StoreError> {
        if self.heard().is_away { Err(away(op, key)) } else { Ok(()) }
    }
}

#[async_trait]
impl<S: Store> Store for Witnessed<S> {
    copal_store::pass_on!(inner: create, list, delete, delete_all, now, is_remote, largest);

    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        self.is_there(Op::Read, key)?;
        self.hear(key, Asked::Whole, self.inner.read(key).await).await
    }

    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.is_there(Op::ReadRange, key)?;
        self.hear(key, Asked::Part(range.clone()), self.inner.read_range(key, range).await).await
    }

    async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError> {
        self.is_there(Op::Stat, key)?;
        self.hear(key, Asked::Stat, self.inner.stat(key).await).await
    }

    /// Reads the object before it is mapped for others: a store maps large objects as they are, and a bad sector in a
    /// mapping ends the process.
    async fn map(&self, key: &Key) -> Result<Bytes, StoreError> {
        self.is_there(Op::Map, key)?;
        let mapped = self.hear(key, Asked::Whole, self.inner.map(key).await).await?;
        let length = mapped.len() as u64;
        for start in (0..length).step_by(PIECE as usize).filter(|_| !self.inner.is_remote()) {
            self.read_range(key, start..length.min(start + PIECE)).await?;
        }
        Ok(mapped)
    }
}

/// Whether the store may be at fault, not the object. An obstruction is no fault of the medium, because the store has
/// looked. Missing rights on a record are reported at once; a pack may have rights of its own.
fn is_refused(key: &Key, error: &StoreError) -> bool {
    match error {
        StoreError::Io { .. } => true,
        StoreError::Denied { .. } => is_pack(key),
        _ => false,
    }
}

fn is_pack(key: &Key) -> bool {
    PREFIXES.iter().any(|prefix| key.as_str().starts_with(prefix))
}

fn away(op: Op, key: &Key) -> StoreError {
    StoreError::Io { op, key: key.as_str().to_owned(), source: "the store is away".into() }
}

fn unsteady(key: &Key) -> StoreError {
    let source = "it could not be read a while ago, and now it can: the store comes and goes".into();
    StoreError::Transient { op: Op::Read, key: key.as_str().to_owned(), source }
}

/// The prefixes of packs.
const PREFIXES: [&str; 2] = ["packs/", "moved/"];
/// Refusals in a row that may be chance: if one pack in ten is unreadable, eight are one in a hundred million.
const ROW: usize = 8;
/// How many packs are asked whether the store is there.
const WITNESSES: usize = 8;
/// Bytes of a mapped object read at once.
const PIECE: u64 = 8 << 20;
