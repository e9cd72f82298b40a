//! Run: sorted records of one kind, immutable, named by the hash of its bytes.

use serde::Serialize;

use super::Records;
use crate::id::{DomainId, ObjectHash};
use crate::wire::DecodeError;
use crate::wire::cursor::Cursor;

/// The kind of a run's records.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum RunKind {
    Segments = 1,
    Snapshots = 2,
    Heads = 3,
    Packs = 4,
    Doomed = 5,
    Overlay = 6,
    OverlayRuns = 7,
}

impl RunKind {
    /// The kinds of runs that roots name. Overlay runs are named by a domain's records ([`RunKind::OverlayRuns`]).
    pub const RECORDS: [RunKind; 6] =
        [RunKind::Segments, RunKind::Snapshots, RunKind::Heads, RunKind::Packs, RunKind::Doomed, RunKind::OverlayRuns];

    /// The kind of this number.
    pub(crate) fn from_code(code: u64) -> Option<Self> {
        Self::RECORDS.into_iter().chain([Self::Overlay]).find(|kind| *kind as u64 == code)
    }
}

/// A run, as a root or a record of its domain names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunRef {
    /// What its records are about.
    pub kind: RunKind,
    /// The hash of its bytes, which is its name.
    pub hash: ObjectHash,
    /// Its length in bytes.
    pub length: u64,
    /// The number of records.
    pub records: u64,
}

/// A newly written run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// How it is named.
    pub reference: RunRef,
    /// The object to be stored.
    pub bytes: Vec<u8>,
}

impl Run {
    pub(crate) fn seal(kind: RunKind, records: u64, bytes: Vec<u8>) -> Self {
        Self { reference: RunRef { kind, hash: ObjectHash::of(&bytes), length: bytes.len() as u64, records }, bytes }
    }
}

/// Whether a root names older runs of the same kind.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Older {
    /// It does: records that remove a key must stay, to hide older records of that key.
    Runs,
    /// It does not: records that remove a key can be dropped.
    Nothing,
}

pub(crate) struct Head {
    pub(crate) kind: RunKind,
    pub(crate) domain: DomainId,
    pub(crate) records: u64,
}

impl Head {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(bytes);
        cursor.expect(MAGIC, "not a state run")?;
        let kind = RunKind::from_code(cursor.u8()?.into()).ok_or_else(|| cursor.error("a run of an unknown kind"))?;
        cursor.zeros(7)?;
        let domain = DomainId(cursor.array()?);
        if kind != RunKind::Overlay && domain != NO_DOMAIN {
            return Err(cursor.error("a run of the state names a domain"));
        }
        cursor.take(16)?;
        Ok(Self { kind, domain, records: cursor.u64()? })
    }
}

pub(crate) fn put_head(bytes: &mut Vec<u8>, kind: RunKind, domain: DomainId, random: [u8; 16], records: u64) {
    bytes.extend_from_slice(MAGIC);
    bytes.push(kind as u8);
    bytes.extend_from_slice(&[0; 7]);
    bytes.extend_from_slice(domain.as_bytes());
    bytes.extend_from_slice(&random);
    bytes.extend_from_slice(&records.to_le_bytes());
}

const MAGIC: &[u8; 8] = b"COPALRUN";
const NO_DOMAIN: DomainId = DomainId([0; 16]);
/// The length of the header in bytes.
pub(crate) const HEAD: usize = 56;
const REMOVED: u32 = u32::MAX;

/// Writes a run of keys and values. The random bytes make its name unique.
pub fn write_run(kind: RunKind, random: [u8; 16], records: &Records) -> Run {
    let mut bytes = Vec::new();
    put_head(&mut bytes, kind, NO_DOMAIN, random, records.len() as u64);
    for (key, value) in records {
        let key_length = u16::try_from(key.len()).expect("names of objects are far below 64 KiB");
        let value_length = value.as_ref().map_or(REMOVED, |value| value.len() as u32);
        bytes.extend_from_slice(&key_length.to_le_bytes());
        bytes.extend_from_slice(&value_length.to_le_bytes());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value.as_deref().unwrap_or_default());
    }
    Run::seal(kind, records.len() as u64, bytes)
}

/// A parsed run.
#[derive(Clone, Debug)]
pub struct RunReader<'a> {
    kind: RunKind,
    records: Vec<(&'a [u8], Option<&'a [u8]>)>,
}

impl<'a> RunReader<'a> {
    /// Parses a run of keys and values.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let head = Head::parse(bytes)?;
        if head.kind == RunKind::Overlay {
            return Err(DecodeError::new(8, "a run of the overlay instead of one of the state"));
        }
        let mut cursor = Cursor::new(bytes);
        cursor.take(HEAD)?;
        let mut records: Vec<(&[u8], Option<&[u8]>)> = Vec::new();
        for _ in 0..head.records {
            let disorder = cursor.error("a run's keys do not ascend");
            let key_length = cursor.u16()?;
            let value_length = cursor.u32()?;
            let key = cursor.take(key_length.into())?;
            if records.last().is_some_and(|(before, _)| *before >= key) {
                return Err(disorder);
            }
            let value = if value_length == REMOVED { None } else { Some(cursor.take(value_length as usize)?) };
            records.push((key, value));
        }
        cursor.finish()?;
        Ok(Self { kind: head.kind, records })
    }

    /// What the records are about.
    pub fn kind(&self) -> RunKind {
        self.kind
    }

    /// The records, ascending by key; a record without a value removes the key.
    pub fn records(&self) -> impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)> + '_ {
        self.records.iter().copied()
    }
}

/// How many of the old runs to fold with a new run of `new` records. `old` has their numbers of records, newest first.
///
/// An old run is folded in while it has at most four times the records gathered so far. If more than [`RUNS_MOST`] runs
/// would remain, the factor is doubled until they do not. So the sizes of runs grow geometrically, and each record is
/// rewritten only a logarithmic number of times.
pub fn runs_to_fold(new: u64, old: &[u64]) -> usize {
    let mut factor = 4u64;
    loop {
        let (mut gathered, mut folded) = (new.max(1), 0);
        while let Some(&next) = old.get(folded).filter(|&&next| next <= gathered.saturating_mul(factor)) {
            gathered = gathered.saturating_add(next);
            folded += 1;
        }
        if old.len() - folded < RUNS_MOST {
            return folded;
        }
        factor = factor.saturating_mul(2);
    }
}

/// The most runs of one kind that a root names, and the most overlay runs of a domain.
pub const RUNS_MOST: usize = 8;
