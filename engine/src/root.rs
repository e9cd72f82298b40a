//! Root: a numbered object that names the current state. The highest number wins. And the record that a prune writes
//! before it deletes what a root dooms.

use crate::id::ObjectHash;
use crate::limits::{RECORD_BYTES, ROOT_BYTES};
use crate::state::{RunKind, RunRef};
use crate::time::Time;
use crate::wire::DecodeError;
use crate::wire::cbor::{Reader, Writer};
use crate::wire::record::{Kind, RecordError, close, open};

/// The current state, as far as its number is the highest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Its number.
    pub number: u64,
    /// Tells two roots of one number apart, even if they name the same.
    pub random: [u8; 16],
    /// The root it was made from; none for the first and for rebuilt ones.
    pub base: Option<(u64, ObjectHash)>,
    /// The store's time when it was made.
    pub time: Time,
    /// Whether a rebuild made it.
    pub rebuilt: bool,
    /// The runs it names, the newest of a kind first.
    pub runs: Vec<RunRef>,
    /// The last change folded in.
    pub change_head: Option<(u64, ObjectHash)>,
}

/// A root that would be larger than the format allows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a root of {0} bytes is larger than the format allows")]
pub struct RootSize(pub usize);

impl Root {
    /// The object's bytes.
    pub fn encode(&self) -> Result<Vec<u8>, RootSize> {
        let mut writer = Writer::new();
        writer.map(5 + u64::from(self.base.is_some()) + u64::from(self.change_head.is_some()));
        writer.key(0).uint(self.number).key(1).bytes(&self.random);
        if let Some((number, hash)) = &self.base {
            writer.key(2).array(2).uint(*number).bytes(hash.as_bytes());
        }
        writer.key(3).time(self.time).key(4).bool(self.rebuilt).key(5).array(self.runs.len());
        for run in &self.runs {
            writer.array(4).uint(run.kind as u64).bytes(run.hash.as_bytes()).uint(run.length).uint(run.records);
        }
        if let Some((number, hash)) = &self.change_head {
            writer.key(6).array(2).uint(*number).bytes(hash.as_bytes());
        }
        let body = writer.finish();
        if body.len() > ROOT_BYTES { Err(RootSize(body.len())) } else { Ok(close(Kind::Root, &body)) }
    }

    /// Reads the object under the name of this number.
    pub fn decode(number: u64, bytes: &[u8]) -> Result<Self, RecordError> {
        let body = open(Kind::Root, bytes)?;
        let root = Self::decode_body(body).map_err(RecordError::malformed(Kind::Root))?;
        if root.number == number { Ok(root) } else { Err(RecordError::Misplaced { kind: Kind::Root.name() }) }
    }

    fn decode_body(body: &[u8]) -> Result<Self, DecodeError> {
        if body.len() > ROOT_BYTES {
            return Err(DecodeError::new(0, "a root is larger than the format allows"));
        }
        let mut reader = Reader::new(body)?;
        let mut fields = reader.map()?;
        let root = Self {
            number: fields.required(0)?.uint()?,
            random: fields.required(1)?.fixed()?,
            base: fields.optional(2)?.map(link).transpose()?,
            time: fields.required(3)?.time()?,
            rebuilt: fields.required(4)?.bool()?,
            runs: fields.required(5)?.list(RUNS, run)?,
            change_head: fields.optional(6)?.map(link).transpose()?,
        };
        fields.end()?;
        Ok(root)
    }
}

fn link(reader: &mut Reader<'_>) -> Result<(u64, ObjectHash), DecodeError> {
    reader.tuple(2)?;
    Ok((reader.uint()?, ObjectHash(reader.fixed()?)))
}

fn run(reader: &mut Reader<'_>) -> Result<RunRef, DecodeError> {
    reader.tuple(4)?;
    let error = reader.error("a run of an unknown kind");
    Ok(RunRef {
        kind: RunKind::from_code(reader.uint()?).ok_or(error)?,
        hash: ObjectHash(reader.fixed()?),
        length: reader.uint()?,
        records: reader.uint()?,
    })
}

/// The names that a prune is about to delete under a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// The number of the root that dooms them.
    pub root_number: u64,
    /// Makes the record's name one that never was.
    pub random: [u8; 16],
    /// The store's time.
    pub time: Time,
    /// The names of the objects.
    pub names: Vec<String>,
}

impl Deletion {
    /// The object's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.map(4).key(0).uint(self.root_number).key(1).bytes(&self.random).key(2).time(self.time);
        writer.key(3).array(self.names.len());
        self.names.iter().for_each(|name| {
            writer.text(name);
        });
        close(Kind::Deletion, &writer.finish())
    }

    /// Reads the object.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let body = open(Kind::Deletion, bytes)?;
        Self::decode_body(body).map_err(RecordError::malformed(Kind::Deletion))
    }

    fn decode_body(body: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body)?;
        let mut fields = reader.map()?;
        let deletion = Self {
            root_number: fields.required(0)?.uint()?,
            random: fields.required(1)?.fixed()?,
            time: fields.required(2)?.time()?,
            names: fields.required(3)?.list(RECORD_BYTES, |reader| reader.text(NAME_BYTES).map(str::to_owned))?,
        };
        fields.end()?;
        Ok(deletion)
    }
}

/// Runs that fit a root.
const RUNS: usize = 256;
/// Bytes of an object's name.
const NAME_BYTES: usize = 512;
