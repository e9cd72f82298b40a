//! Run: sorted records of one kind, immutable, named by the hash of its bytes.

use super::Records;
use crate::id::{DomainId, ObjectHash};
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
    OverlayRuns = 7,
}

impl RunKind {
    /// The kinds whose runs hold keys and values: those that roots name. The runs of the overlay, of which every domain
    /// has its own, are named by records.
    pub const RECORDS: [RunKind; 6] =
        [RunKind::Segments, RunKind::Snapshots, RunKind::Heads, RunKind::Packs, RunKind::Doomed, RunKind::OverlayRuns];

    /// The kind of this number.
    pub fn from_code(code: u64) -> Option<Self> {
        Self::RECORDS.into_iter().chain([Self::Overlay]).find(|kind| *kind as u64 == code)
    }
}

/// A run as it is named: by a root, or by a record of its domain.
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

/// A run that was just written.
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

/// Whether a root names older runs that hold records of the same kind.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Older {
    /// It does: what removes must stay, to hide their records.
    Runs,
    /// It does not: what removes has nothing left to hide.
    Nothing,
}

/// What a run begins with.
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
/// Bytes before the first record.
pub(crate) const HEAD: usize = 56;
const REMOVED: u32 = u32::MAX;

/// Writes a run of keys and values. The random bytes make its name one that never was.
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

/// A run that was read.
#[derive(Clone, Debug)]
pub struct RunReader<'a> {
    kind: RunKind,
    records: Vec<(&'a [u8], Option<&'a [u8]>)>,
}

impl<'a> RunReader<'a> {
    /// Splits a run of keys and values into its records.
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

    /// The records, ascending by key; without a value they remove an older one.
    pub fn records(&self) -> impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)> + '_ {
        self.records.iter().copied()
    }
}

/// How many of the old runs (their records, newest first) a new one of `new` records is folded with.
///
/// A run is folded in while it has at most four times the records gathered so far. Where that would leave more than
/// eight runs, the four is doubled until it does not: runs then differ in size by a factor that fits how much there is,
/// and a record is written again only as often as the logarithm of that.
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

/// Runs of one kind that a root names at most, and of the overlay that records name for a domain.
pub const RUNS_MOST: usize = 8;
