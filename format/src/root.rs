//! Root: a numbered object that names the current state; the highest number counts. Also the record that prune writes
//! before it deletes doomed objects.

use serde::Serialize;

use crate::guard::Lingering;
use crate::id::ObjectHash;
use crate::layout::{self, Prunable};
use crate::limits::{RECORD_BYTES, ROOT_BYTES};
use crate::shown;
use crate::state::{RunKind, RunRef};
use crate::time::Time;
use crate::wire::DecodeError;
use crate::wire::cbor::{Reader, Writer};
use crate::wire::record::{Kind, RecordError, close, open};

/// A state of the repository; the current one if no root has a higher number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Root {
    /// Its number.
    pub number: u64,
    /// Random bytes that distinguish two roots of the same number, even with the same content.
    #[serde(serialize_with = "shown::hex")]
    pub random: [u8; 16],
    /// The root from which this one was made; none for the first root and for rebuilt ones.
    pub base: Option<(u64, ObjectHash)>,
    /// The store's time when it was made.
    pub time: Time,
    /// Whether a rebuild made it.
    pub rebuilt: bool,
    /// The state runs it names, the newest of each kind first: at most [`RUNS_MOST`](crate::state::RUNS_MOST) of each
    /// of [`RunKind::RECORDS`], however many domains and clients exist.
    pub runs: Vec<RunRef>,
    /// The last change folded in.
    pub change_head: Option<(u64, ObjectHash)>,
    /// The change that holds the policy in force.
    pub policy: Option<(u64, ObjectHash)>,
    /// The last expiry folded in, whether believed or not.
    pub expiry_head: Option<(u64, ObjectHash)>,
    /// The floor and hold of replaced policies that are still in force.
    pub lingering: Option<Lingering>,
}

/// The root would be larger than the format allows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a root of {0} bytes is larger than the format allows")]
pub struct RootSize(pub usize);

impl Root {
    /// The first root of an empty repository: for tests. A commit names every field.
    pub fn new(number: u64, time: Time) -> Self {
        let (change_head, policy, expiry_head, lingering) = (None, None, None, None);
        let (random, base, rebuilt, runs) = ([0; 16], None, false, Vec::new());
        Self { number, random, base, time, rebuilt, runs, change_head, policy, expiry_head, lingering }
    }

    /// Encodes the object.
    pub fn encode(&self) -> Result<Vec<u8>, RootSize> {
        let mut writer = Writer::new();
        let optional = [&self.base, &self.change_head, &self.policy, &self.expiry_head];
        let links = optional.iter().filter(|link| link.is_some()).count() as u64;
        writer.map(5 + links + u64::from(self.lingering.is_some()));
        writer.key(0).uint(self.number).key(1).bytes(&self.random);
        if let Some(base) = self.base {
            writer.key(2).link(base);
        }
        writer.key(3).time(self.time).key(4).bool(self.rebuilt).key(5).array(self.runs.len());
        for run in &self.runs {
            writer.array(4).uint(run.kind as u64).bytes(run.hash.as_bytes()).uint(run.length).uint(run.records);
        }
        for (key, link) in [(6, self.change_head), (7, self.policy), (8, self.expiry_head)] {
            if let Some(link) = link {
                writer.key(key).link(link);
            }
        }
        if let Some(lingering) = &self.lingering {
            lingering.put(writer.key(9));
        }
        let body = writer.finish();
        if body.len() > ROOT_BYTES { Err(RootSize(body.len())) } else { Ok(close(Kind::Root, &body)) }
    }

    /// Decodes the object stored as the root of this number.
    pub fn decode(number: u64, bytes: &[u8]) -> Result<Self, RecordError> {
        let body = open(Kind::Root, bytes)?;
        let root = Self::decode_body(body).map_err(RecordError::malformed(Kind::Root))?;
        if root.number == number { Ok(root) } else { Err(RecordError::Misplaced { kind: Kind::Root.name() }) }
    }

    fn decode_body(body: &[u8]) -> Result<Self, DecodeError> {
        if body.len() > ROOT_BYTES {
            return Err(DecodeError::new(0, "a root is larger than the format allows"));
        }
        let root = Reader::record(body, |fields| {
            Ok(Self {
                number: fields.required(0)?.uint()?,
                random: fields.required(1)?.fixed()?,
                base: fields.optional(2)?.map(Reader::link).transpose()?,
                time: fields.required(3)?.time()?,
                rebuilt: fields.required(4)?.bool()?,
                runs: fields.required(5)?.list(RUNS, run)?,
                change_head: fields.optional(6)?.map(Reader::link).transpose()?,
                policy: fields.optional(7)?.map(Reader::link).transpose()?,
                expiry_head: fields.optional(8)?.map(Reader::link).transpose()?,
                lingering: fields.optional(9)?.map(Lingering::read).transpose()?,
            })
        })?;
        if root.number == 0 || root.base.is_some_and(|(base, _)| base >= root.number) {
            return Err(DecodeError::new(0, "a root does not follow its base"));
        }
        Ok(root)
    }
}

fn run(reader: &mut Reader<'_>) -> Result<RunRef, DecodeError> {
    reader.tuple(4)?;
    let kind = |code| RunKind::RECORDS.into_iter().find(|kind| *kind as u64 == code);
    Ok(RunRef {
        kind: reader.code("a run of a kind that no root names", kind)?,
        hash: reader.id()?,
        length: reader.uint()?,
        records: reader.uint()?,
    })
}

/// The record of a prune: the names it is about to delete, or the root whose state it verified or made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Deletion {
    /// The number of the root that dooms the names.
    pub root_number: u64,
    /// Random bytes that make the record's name unique; there may be several records for one root.
    #[serde(serialize_with = "shown::hex")]
    pub random: [u8; 16],
    /// The store's time when the record was made.
    pub time: Time,
    /// The names of the objects.
    pub names: Vec<Prunable>,
    /// The number and hash of a root whose state the writer verified or made; later roots are compared with it.
    pub baseline: Option<(u64, ObjectHash)>,
}

impl Deletion {
    /// The most names in one record.
    pub const NAMES: usize = 8_000;

    /// The name under which the record is stored. A record found under another name is misplaced.
    pub fn name(&self) -> String {
        layout::deletion(self.root_number, &self.random)
    }

    /// Encodes the object.
    ///
    /// # Panics
    /// If there are more than [`Deletion::NAMES`] names: readers would refuse the record.
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.map(4 + u64::from(self.baseline.is_some()));
        writer.key(0).uint(self.root_number).key(1).bytes(&self.random).key(2).time(self.time);
        writer.key(3).array(self.names.len());
        self.names.iter().for_each(|name| {
            writer.text(&name.to_string());
        });
        if let Some(root) = self.baseline {
            writer.key(4).link(root);
        }
        let body = writer.finish();
        assert!(body.len() <= RECORD_BYTES, "a record of deletions holds at most {} names", Self::NAMES);
        close(Kind::Deletion, &body)
    }

    /// Decodes the object.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let body = open(Kind::Deletion, bytes)?;
        Self::decode_body(body).map_err(RecordError::malformed(Kind::Deletion))
    }

    fn decode_body(body: &[u8]) -> Result<Self, DecodeError> {
        Reader::record(body, |fields| {
            Ok(Self {
                root_number: fields.required(0)?.uint()?,
                random: fields.required(1)?.fixed()?,
                time: fields.required(2)?.time()?,
                names: fields.required(3)?.list(RECORD_BYTES, prunable)?,
                baseline: fields.optional(4)?.map(Reader::link).transpose()?,
            })
        })
    }
}

fn prunable(reader: &mut Reader<'_>) -> Result<Prunable, DecodeError> {
    let error = reader.error("the name of an object that no prune may delete");
    Prunable::parse(reader.text(RECORD_BYTES)?).ok_or(error)
}

/// The most runs of all kinds in one root.
const RUNS: usize = 256;

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::guard::{Floor, Hold};
    use crate::id::PackId;
    use crate::layout::Place;
    use crate::limits::NUMBER;
    use crate::samples;
    use crate::state::RUNS_MOST;

    fn root() -> Root {
        let hold = Some(Hold { share: 50, least: 1 << 26 });
        let lingering = Lingering { until: Time(1), floor: Floor { last: 3, age: Duration::from_secs(60) }, hold };
        let run = |kind, byte| RunRef { kind, hash: ObjectHash([byte; 32]), length: 1 << 40, records: 300 };
        let runs = vec![run(RunKind::Packs, 1), run(RunKind::Packs, 2), run(RunKind::OverlayRuns, 3)];
        Root { runs, lingering: Some(lingering), ..samples::root() }
    }

    fn deletion() -> Deletion {
        let names = vec![Prunable::Pack(Place::Packs, PackId([0xab; 32])), Prunable::Run(ObjectHash([0xef; 32]))];
        Deletion { names, ..samples::deletion() }
    }

    #[test]
    fn a_root_reads_back_with_and_without_its_optional_fields() {
        let links = Root { change_head: None, policy: None, expiry_head: None, lingering: None, ..root() };
        let first = Root { number: 1, base: None, runs: Vec::new(), ..links };
        for root in [root(), first] {
            assert_eq!(Root::decode(root.number, &root.encode().unwrap()), Ok(root));
        }
    }

    #[test]
    fn a_root_under_another_name_is_refused() {
        let bytes = root().encode().unwrap();
        assert_eq!(Root::decode(8, &bytes), Err(RecordError::Misplaced { kind: "root" }));
    }

    #[test]
    fn a_root_that_does_not_follow_its_base_is_refused() {
        let own_base = Root { base: Some((7, ObjectHash::NONE)), ..root() };
        let zero = Root { number: 0, base: None, ..root() };
        for root in [own_base, zero] {
            let decoded = Root::decode(root.number, &root.encode().unwrap());
            assert!(matches!(decoded, Err(RecordError::Malformed { .. })));
        }
    }

    #[test]
    fn as_many_runs_of_each_kind_as_there_ever_are_fit_twice_and_more_than_readers_take_are_not_written() {
        let longest = RunRef { length: NUMBER, records: NUMBER, ..root().runs[0].clone() };
        let runs = |count| Root { number: NUMBER, runs: vec![longest.clone(); count], ..root() };
        let most = runs(RUNS_MOST * RunKind::RECORDS.len());
        let bytes = most.encode().unwrap();
        assert!(bytes.len() < ROOT_BYTES / 2, "{} bytes", bytes.len());
        assert_eq!(Root::decode(NUMBER, &bytes), Ok(most));
        assert!(matches!(runs(200).encode(), Err(RootSize(bytes)) if bytes > ROOT_BYTES));
    }

    #[test]
    fn a_root_that_names_a_run_of_an_overlay_is_refused() {
        let run = RunRef { kind: RunKind::Overlay, ..root().runs[0].clone() };
        let bytes = Root { runs: vec![run], ..root() }.encode().unwrap();
        assert!(matches!(Root::decode(7, &bytes), Err(RecordError::Malformed { .. })));
    }

    #[test]
    fn a_deletion_record_reads_back_and_tells_its_name() {
        assert_eq!(Deletion::decode(&deletion().encode()), Ok(deletion()));
        assert_eq!(deletion().name(), format!("deletions/{:020}-{}", 3, "05".repeat(16)));
    }

    #[test]
    fn a_deletion_record_of_anything_else_than_packs_segments_and_runs_is_refused() {
        let bytes = deletion().encode();
        let body = open(Kind::Deletion, &bytes).unwrap();
        let run = deletion().names[1].to_string();
        let at = body.windows(run.len()).position(|window| window == run.as_bytes()).unwrap();
        for folder in ["copal", "roots", "tmp/."] {
            let mut forged = body.to_vec();
            forged[at..at + folder.len()].copy_from_slice(folder.as_bytes());
            let decoded = Deletion::decode(&close(Kind::Deletion, &forged));
            assert!(matches!(decoded, Err(RecordError::Malformed { .. })), "{folder}: {decoded:?}");
        }
    }

    #[test]
    fn as_many_of_the_longest_names_as_promised_fit_a_deletion_record() {
        let names = vec![deletion().names[0]; Deletion::NAMES];
        let bytes = Deletion { names, ..deletion() }.encode();
        assert_eq!(Deletion::decode(&bytes).map(|deletion| deletion.names.len()), Ok(Deletion::NAMES));
    }
}
