//! Run: sorted records of one kind, immutable, named by the hash of its bytes.

use super::Records;
use crate::id::ObjectHash;
use crate::wire::DecodeError;
use crate::wire::cursor::Cursor;

/// What the records of a run are about.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum RunKind {
    Segments = 1,
    Snapshots = 2,
    Heads = 3,
    Packs = 4,
    Doomed = 5,
    Overlay = 6,
}

impl RunKind {
    /// The kinds whose runs hold keys and values.
    pub const RECORDS: [RunKind; 5] =
        [RunKind::Segments, RunKind::Snapshots, RunKind::Heads, RunKind::Packs, RunKind::Doomed];

    /// The kind of this number.
    pub fn from_code(code: u64) -> Option<Self> {
        [Self::Segments, Self::Snapshots, Self::Heads, Self::Packs, Self::Doomed, Self::Overlay]
            .into_iter()
            .find(|kind| *kind as u64 == code)
    }
}

/// A run as a root names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRef {
    /// What its records are about.
    pub kind: RunKind,
    /// Its name.
    pub hash: ObjectHash,
    /// Its bytes.
    pub length: u64,
    /// Its records.
    pub records: u64,
}

/// Magic bytes at the start of every run.
pub(crate) const RUN_MAGIC: &[u8; 8] = b"COPALRUN";
/// Bytes before the first record.
pub(crate) const RUN_HEADER: usize = 56;
const REMOVED: u32 = u32::MAX;

/// Writes a run of kinds 1 to 5; gives its name and its bytes. The random bytes make the name one that never was.
pub fn write_run(kind: RunKind, random: [u8; 16], records: &Records) -> (ObjectHash, Vec<u8>) {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(RUN_MAGIC);
    bytes.push(kind as u8);
    bytes.extend_from_slice(&[0; 7 + 16]);
    bytes.extend_from_slice(&random);
    bytes.extend_from_slice(&(records.len() as u64).to_le_bytes());
    for (key, value) in records {
        let length = value.as_ref().map_or(REMOVED, |value| value.len() as u32);
        bytes.extend_from_slice(&(key.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value.as_deref().unwrap_or_default());
    }
    (ObjectHash::of(&bytes), bytes)
}

/// A run that was read.
#[derive(Clone, Debug)]
pub struct RunReader<'a> {
    kind: RunKind,
    records: Vec<(&'a [u8], Option<&'a [u8]>)>,
}

impl<'a> RunReader<'a> {
    /// Splits a run of kinds 1 to 5 into its records.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(bytes);
        cursor.expect(RUN_MAGIC, "not a state run")?;
        let kind = RunKind::from_code(cursor.u8()?.into()).filter(|kind| *kind != RunKind::Overlay);
        let kind = kind.ok_or_else(|| cursor.error("a run of an unknown kind"))?;
        cursor.zeros(7 + 16)?;
        cursor.take(16)?;
        let count = cursor.u64()?;
        let mut records: Vec<(&[u8], Option<&[u8]>)> = Vec::new();
        for _ in 0..count {
            let key_length = cursor.u16()?;
            let value_length = cursor.u32()?;
            let key = cursor.take(key_length.into())?;
            if records.last().is_some_and(|(before, _)| *before >= key) {
                return Err(cursor.error("a run's keys do not ascend"));
            }
            let value = if value_length == REMOVED { None } else { Some(cursor.take(value_length as usize)?) };
            records.push((key, value));
        }
        cursor.finish()?;
        Ok(Self { kind, records })
    }

    /// What the records are about.
    pub fn kind(&self) -> RunKind {
        self.kind
    }

    /// The records, ascending by key; without a value they remove.
    pub fn records(&self) -> impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)> + '_ {
        self.records.iter().copied()
    }
}

/// How many of the old runs (their sizes, newest first) a new one of `new` records is folded with: every one that is
/// not larger than what is gathered so far, and as many as it takes to keep at most [`RUNS_MOST`].
pub fn runs_to_fold(new: u64, old: &[u64]) -> usize {
    let mut gathered = new;
    let mut folded = 0;
    for size in old {
        if *size > gathered && old.len() - folded < RUNS_MOST {
            break;
        }
        gathered += size;
        folded += 1;
    }
    folded
}

/// Runs of one kind that a root may name.
pub const RUNS_MOST: usize = 8;
