//! The records of state runs: their keys and values.

use serde::{Serialize, Serializer};

use crate::id::{ChunkId, ClientId, DomainId, ObjectHash, PackId};
use crate::layout::Place;
use crate::limits::RECEIPT_NAMES;
use crate::pack::PackKind;
use crate::receipt::{Outcome, Reason, put_names, put_reasons, read_reasons};
use crate::time::Time;
use crate::wire::DecodeError;
use crate::wire::cbor::{Reader, Writer};

/// The key of one of a domain's index parts: a segment, or a run of its overlay.
pub(super) fn part_key((domain, hash): &(DomainId, ObjectHash)) -> Vec<u8> {
    [domain.as_bytes(), hash.as_bytes()].concat()
}

pub(super) fn part_of(key: &[u8]) -> Option<(DomainId, ObjectHash)> {
    let (domain, hash) = key.split_at_checked(DomainId::LEN)?;
    Some((DomainId::from_slice(domain)?, ObjectHash::from_slice(hash)?))
}

pub(super) fn snapshot_key((client, number): &(ClientId, u64)) -> Vec<u8> {
    [client.as_bytes(), &number.to_be_bytes()].concat()
}

pub(super) fn snapshot_of(key: &[u8]) -> Option<(ClientId, u64)> {
    let (client, number) = key.split_at_checked(ClientId::LEN)?;
    Some((ClientId::from_slice(client)?, u64::from_be_bytes(number.try_into().ok()?)))
}

/// A segment of the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SegmentRecord {
    /// The number of entries.
    pub entries: u64,
    /// Its length in bytes.
    pub length: u64,
    /// Its smallest id.
    pub first: ChunkId,
    /// Its largest id.
    pub last: ChunkId,
}

impl SegmentRecord {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.map(4).key(0).uint(self.entries).key(1).uint(self.length);
        writer.key(2).bytes(self.first.as_bytes()).key(3).bytes(self.last.as_bytes());
        writer.finish()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Reader::record(bytes, |fields| {
            Ok(Self {
                entries: fields.required(0)?.uint()?,
                length: fields.required(1)?.uint()?,
                first: fields.required(2)?.id()?,
                last: fields.required(3)?.id()?,
            })
        })
    }
}

/// A run of a domain's overlay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OverlayRecord {
    /// The number of the root that wrote it. The marks of a run with a higher number override those of a lower one.
    pub root: u64,
    /// Its length in bytes.
    pub length: u64,
    /// The number of marks.
    pub records: u64,
}

impl OverlayRecord {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.map(3).key(0).uint(self.root).key(1).uint(self.length).key(2).uint(self.records);
        writer.finish()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Reader::record(bytes, |fields| {
            Ok(Self {
                root: fields.required(0)?.uint()?,
                length: fields.required(1)?.uint()?,
                records: fields.required(2)?.uint()?,
            })
        })
    }
}

/// How far a client's chain is decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClientHead {
    /// The last number decided.
    pub number: u64,
    /// The hash of the manifest with that number.
    pub hash: ObjectHash,
    /// The store's time of the decision.
    pub time: Time,
    /// The decisions of the root that wrote this record. Missing receipts are written from them.
    pub decisions: Vec<Decision>,
}

/// The answer to one manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// The manifest's number.
    pub number: u64,
    /// Its hash.
    pub hash: ObjectHash,
    /// The answer.
    pub outcome: Outcome,
    /// Why it was rejected.
    pub reasons: Vec<(Reason, String)>,
    /// Ids that are referenced and found nowhere.
    pub missing: Vec<ChunkId>,
    /// Packs that cannot be used.
    pub packs: Vec<PackId>,
}

impl Decision {
    /// A decision that names nothing that is missing or wrong.
    pub fn new(number: u64, hash: ObjectHash, outcome: Outcome) -> Self {
        Self { number, hash, outcome, reasons: Vec::new(), missing: Vec::new(), packs: Vec::new() }
    }
}

impl ClientHead {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.map(4).key(0).uint(self.number).key(1).bytes(self.hash.as_bytes()).key(2).time(self.time);
        writer.key(3).array(self.decisions.len());
        for decision in &self.decisions {
            writer.array(6).uint(decision.number).bytes(decision.hash.as_bytes()).uint(decision.outcome as u64);
            // These truncate to the limits of receipts, which are written from this record.
            put_reasons(&mut writer, &decision.reasons);
            put_names(&mut writer, &decision.missing);
            put_names(&mut writer, &decision.packs);
        }
        writer.finish()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Reader::record(bytes, |fields| {
            Ok(Self {
                number: fields.required(0)?.uint()?,
                hash: fields.required(1)?.id()?,
                time: fields.required(2)?.time()?,
                decisions: fields.required(3)?.list(ANY_NUMBER, decode_decision)?,
            })
        })
    }
}

fn decode_decision(reader: &mut Reader<'_>) -> Result<Decision, DecodeError> {
    reader.tuple(6)?;
    Ok(Decision {
        number: reader.uint()?,
        hash: reader.id()?,
        outcome: Outcome::read(reader)?,
        reasons: read_reasons(reader)?,
        missing: reader.ids(RECEIPT_NAMES)?,
        packs: reader.ids(RECEIPT_NAMES)?,
    })
}

/// A pack with chunks or pages in the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PackRecord {
    /// Its domain.
    pub domain: DomainId,
    /// What it holds.
    pub kind: PackKind,
    /// Its length in bytes.
    pub length: u64,
    /// The folder in which it is stored.
    pub place: Place,
    /// Whether a check found it missing.
    pub is_missing: bool,
    /// Whether a check found it damaged.
    pub is_damaged: bool,
    /// When it was last read completely; 0 for never, [`FORGED`](Self::FORGED) if damaged although its hash is right.
    #[serde(serialize_with = "PackRecord::show_read")]
    pub read: Time,
    /// When it was accepted.
    pub accepted: Time,
    /// Whether the owner's signature vouches for its content.
    pub is_proven: bool,
    /// The manifest that first claimed it; none for packs that prune wrote.
    pub claim: Option<PackClaim>,
}

/// The manifest that first claimed a pack.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PackClaim {
    /// The manifest's client.
    pub client: ClientId,
    /// The manifest's number.
    pub number: u64,
    /// Whether the client was full and so could have proven the pack.
    pub by_full_client: bool,
}

impl PackRecord {
    /// Marks a forged pack in `read`: its bytes have the hash of its name, but its content is not what its table says.
    pub const FORGED: Time = Time(-1);

    /// A pack in `packs/` without a claim or a finding: for tests. Code that decides about trust names every field.
    pub fn new(domain: DomainId, kind: PackKind, length: u64, accepted: Time) -> Self {
        let (place, read) = (Place::Packs, Time(0));
        let (is_missing, is_damaged, is_proven) = (false, false, false);
        Self { domain, kind, length, place, is_missing, is_damaged, read, accepted, is_proven, claim: None }
    }

    /// Whether the pack is forged. Only a client that opens it with the key can find it sound again.
    pub fn is_forged(&self) -> bool {
        self.is_damaged && self.read == Self::FORGED
    }

    fn show_read<S: Serializer>(read: &Time, to: S) -> Result<S::Ok, S::Error> {
        match *read {
            Time(0) => to.serialize_none(),
            Self::FORGED => to.serialize_str("forged"),
            time => time.serialize(to),
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let by_full_client = self.claim.is_some_and(|claim| claim.by_full_client);
        let bits = [self.is_missing, self.is_damaged, self.is_proven, by_full_client];
        let bits = (0..).zip(bits).fold(0, |bits, (at, bit)| bits | u64::from(bit) << at);
        let mut writer = Writer::new();
        writer.map(7 + u64::from(self.claim.is_some()));
        writer.key(0).bytes(self.domain.as_bytes()).key(1).uint(self.kind as u64).key(2).uint(self.length);
        writer.key(3).uint(self.place as u64).key(4).uint(bits).key(5).time(self.read).key(6).time(self.accepted);
        if let Some(PackClaim { client, number, .. }) = self.claim {
            writer.key(7).array(2).bytes(client.as_bytes()).uint(number);
        }
        writer.finish()
    }

    /// Decodes the value of a record in a run of packs.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Reader::record(bytes, |fields| {
            let domain = fields.required(0)?.id()?;
            let kind = if narrow(fields.required(1)?, 1)? == 0 { PackKind::Data } else { PackKind::Tree };
            let length = fields.required(2)?.uint()?;
            let place = if narrow(fields.required(3)?, 1)? == 0 { Place::Packs } else { Place::Moved };
            let bits = narrow(fields.required(4)?, 15)?;
            let (read, accepted) = (fields.required(5)?.time()?, fields.required(6)?.time()?);
            let by_full_client = bits & 8 != 0;
            let claim = fields.optional(7)?.map(|reader| PackClaim::read(reader, by_full_client)).transpose()?;
            if by_full_client && claim.is_none() {
                return Err(DecodeError::new(0, "a pack that a full client claimed, without the claim"));
            }
            let [is_missing, is_damaged, is_proven] = [1, 2, 4].map(|bit| bits & bit != 0);
            Ok(Self { domain, kind, length, place, is_missing, is_damaged, read, accepted, is_proven, claim })
        })
    }
}

impl PackClaim {
    fn read(reader: &mut Reader<'_>, by_full_client: bool) -> Result<Self, DecodeError> {
        reader.tuple(2)?;
        Ok(Self { client: reader.id()?, number: reader.uint()?, by_full_client })
    }
}

/// How far the deletion of an object has come.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DoomedState {
    /// The object is about to be deleted (pending delete).
    Doomed = 1,
    /// The object is deleted, and its name must not be used again (tombstone).
    Spent = 2,
}

/// A name that is about to be deleted, or was deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoomedRecord {
    /// How far the deletion has come.
    pub state: DoomedState,
    /// The store's time of that state.
    pub time: Time,
    /// The root that set the state.
    pub root: u64,
}

impl DoomedRecord {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.map(3).key(0).uint(self.state as u64).key(1).time(self.time).key(2).uint(self.root);
        writer.finish()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let state = |code| match code {
            1 => Some(DoomedState::Doomed),
            2 => Some(DoomedState::Spent),
            _ => None,
        };
        Reader::record(bytes, |fields| {
            Ok(Self {
                state: fields.required(0)?.code("an unknown state of a name", state)?,
                time: fields.required(1)?.time()?,
                root: fields.required(2)?.uint()?,
            })
        })
    }
}

fn narrow(reader: &mut Reader<'_>, most: u64) -> Result<u64, DecodeError> {
    reader.checked("a value this version does not know", Reader::uint, |value| *value <= most)
}

/// No limit: jobs extend these lists step by step, and a reader with a limit would refuse the whole state.
pub(super) const ANY_NUMBER: usize = usize::MAX;
