//! Receipts: the ingesting job's answer to a manifest. A hint for the client; the root holds the decision itself.

use serde::Serialize;

use crate::id::{ChunkId, ClientId, ObjectHash, PackId};
use crate::limits::{RECEIPT_NAMES, RECEIPT_REASONS, TEXT_BYTES};
use crate::time::Time;
use crate::wire::DecodeError;
use crate::wire::cbor::{Reader, Writer};
use crate::wire::record::{self, Kind, RecordError};

/// The answer to one manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Receipt {
    /// The manifest's client.
    pub client: ClientId,
    /// The manifest's number.
    pub number: u64,
    /// The hash of the manifest.
    pub manifest: ObjectHash,
    /// The decision.
    pub outcome: Outcome,
    /// The number of the root that holds the decision.
    pub root: u64,
    /// The store's time of the decision.
    pub time: Time,
    /// Whether a client or the service decided.
    pub by: IngestBy,
    /// Why it was rejected.
    pub reasons: Vec<(Reason, String)>,
    /// Ids that are referenced and found nowhere; at most `RECEIPT_NAMES` are written.
    pub missing: Vec<ChunkId>,
    /// Packs that cannot be used; at most `RECEIPT_NAMES` are written.
    pub packs: Vec<PackId>,
}

impl Receipt {
    /// Encodes the record.
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.map(10).key(0).bytes(self.client.as_bytes()).key(1).uint(self.number);
        writer.key(2).bytes(self.manifest.as_bytes()).key(3).uint(self.outcome as u64).key(4).uint(self.root);
        writer.key(5).time(self.time).key(6).uint(self.by as u64);
        put_reasons(writer.key(7), &self.reasons);
        put_names(writer.key(8), &self.missing);
        put_names(writer.key(9), &self.packs);
        record::close(Kind::Receipt, &writer.finish())
    }

    /// Decodes the receipt stored for a client's manifest of this number.
    pub fn decode(client: ClientId, number: u64, bytes: &[u8]) -> Result<Self, RecordError> {
        let body = record::open(Kind::Receipt, bytes)?;
        let receipt = Self::read(body).map_err(RecordError::malformed(Kind::Receipt))?;
        if (receipt.client, receipt.number) != (client, number) {
            return Err(RecordError::Misplaced { kind: Kind::Receipt.name() });
        }
        Ok(receipt)
    }

    fn read(body: &[u8]) -> Result<Self, DecodeError> {
        Reader::record(body, |fields| {
            Ok(Self {
                client: fields.required(0)?.id()?,
                number: fields.required(1)?.uint()?,
                manifest: fields.required(2)?.id()?,
                outcome: Outcome::read(fields.required(3)?)?,
                root: fields.required(4)?.uint()?,
                time: fields.required(5)?.time()?,
                by: IngestBy::read(fields.required(6)?)?,
                reasons: read_reasons(fields.required(7)?)?,
                missing: fields.required(8)?.ids(RECEIPT_NAMES)?,
                packs: fields.required(9)?.ids(RECEIPT_NAMES)?,
            })
        })
    }
}

/// Writes as many reasons, and as much of their texts, as readers accept.
pub(crate) fn put_reasons(writer: &mut Writer, reasons: &[(Reason, String)]) {
    let reasons = &reasons[..reasons.len().min(RECEIPT_REASONS)];
    writer.array(reasons.len());
    for (reason, text) in reasons {
        writer.array(2).uint(*reason as u64).text(&text[..text.floor_char_boundary(TEXT_BYTES)]);
    }
}

/// Writes as many ids as readers accept.
pub(crate) fn put_names<T: AsRef<[u8]>>(writer: &mut Writer, ids: &[T]) {
    writer.byte_strings(&ids[..ids.len().min(RECEIPT_NAMES)]);
}

pub(crate) fn read_reasons(reader: &mut Reader<'_>) -> Result<Vec<(Reason, String)>, DecodeError> {
    reader.list(RECEIPT_REASONS, |reason| {
        reason.tuple(2)?;
        Ok((reason.code("an unknown reason", Reason::from_code)?, reason.text(TEXT_BYTES)?.to_owned()))
    })
}

/// The decision about a manifest, final for its number.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Its packs and snapshot are part of the repository.
    Accepted = 0,
    /// The manifest's number is used up; other manifests may claim its packs.
    Rejected = 1,
}

impl Outcome {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let all = [Self::Accepted, Self::Rejected];
        reader.code("an unknown outcome", |code| all.into_iter().find(|outcome| *outcome as u64 == code))
    }
}

/// Who decides about manifests (ingests).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IngestBy {
    /// Full clients, after each manifest.
    Client = 0,
    /// The service beside the store.
    Service = 1,
}

impl IngestBy {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let all = [Self::Client, Self::Service];
        reader.code("neither clients nor the service ingest", |code| all.into_iter().find(|by| *by as u64 == code))
    }
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident $code:literal $text:literal;)*) => {
        /// Why a manifest is rejected: always a fact found in the store, never a store's error.
        #[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Reason {$(
            $(#[$doc])*
            $name = $code,
        )*}

        impl Reason {
            /// Every reason, by ascending code.
            pub const ALL: &'static [Reason] = &[$(Reason::$name),*];

            /// The reason as text for people.
            pub fn text(self) -> &'static str {
                match self {
                    $(Reason::$name => $text,)*
                }
            }
        }
    };
}

reasons! {
    /// The manifest cannot be decoded.
    Malformed 1 "the manifest is malformed";
    /// The signature is not the client's.
    BadSignature 2 "the manifest is not signed by its client";
    /// The client has no record.
    UnknownClient 3 "the client is not registered";
    /// The number is above the last good manifest of a revoked client.
    Revoked 4 "the client is revoked";
    /// The manifest does not name the hash of the previous one.
    BrokenChain 5 "the manifest does not follow the one before it";
    /// The manifest names a domain that is not the client's, or packs of another domain.
    Domain 7 "a pack or the manifest belongs to another domain";
    /// A pack is not in the store.
    MissingPack 8 "a pack is missing";
    /// A pack's length is not the one claimed.
    PackLength 9 "a pack has another length than claimed";
    /// A pack's SHA-256 is not its name.
    PackHash 10 "a pack's bytes do not match its name";
    /// A pack's table does not describe the whole pack.
    PackTable 11 "a pack's table is malformed";
    /// A page's reference is not below the page.
    Height 13 "a page refers to something that is not below it";
    /// A reference resolves to nothing in the domain.
    Unresolved 14 "a reference resolves to nothing in the domain";
    /// A pack is about to be deleted, or was deleted under this name.
    Doomed 15 "a pack is being deleted, or was, under this name";
    /// Something is larger than the format allows.
    Oversize 16 "something is larger than the format allows";
}

impl Reason {
    /// The reason of a code.
    fn from_code(code: u64) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| *reason as u64 == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{CLIENT, receipt};

    #[test]
    fn a_receipt_reads_back_under_its_own_name_only() {
        let bytes = receipt().encode();
        assert_eq!(Receipt::decode(CLIENT, 2, &bytes), Ok(receipt()));
        let misplaced = Err(RecordError::Misplaced { kind: "receipt" });
        assert_eq!(Receipt::decode(CLIENT, 8, &bytes), misplaced);
        assert_eq!(Receipt::decode(ClientId([9; 16]), 2, &bytes), misplaced);
    }

    #[test]
    fn long_lists_and_texts_are_cut_to_what_a_reader_accepts() {
        let mut long = receipt();
        long.missing = vec![ChunkId([3; 24]); RECEIPT_NAMES + 1];
        long.packs = vec![PackId([4; 32]); RECEIPT_NAMES + 1];
        long.reasons = vec![(Reason::Height, "ü".repeat(TEXT_BYTES)); RECEIPT_REASONS + 1];
        let cut = Receipt::decode(CLIENT, 2, &long.encode()).unwrap();
        assert_eq!((cut.missing.len(), cut.packs.len()), (RECEIPT_NAMES, RECEIPT_NAMES));
        assert_eq!((cut.reasons.len(), cut.reasons[0].1.len()), (RECEIPT_REASONS, TEXT_BYTES));
    }

    #[test]
    fn codes_of_reasons_are_theirs_alone() {
        assert!(Reason::ALL.is_sorted_by(|a, b| (*a as u8) < (*b as u8)));
        assert!(Reason::ALL.iter().all(|reason| Reason::from_code(*reason as u64) == Some(*reason)));
        assert_eq!(Reason::from_code(0), None);
    }
}
