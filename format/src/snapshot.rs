//! Snapshot: a snapshot's description for holders of a key: its source, and the results of its run.

use serde::Serialize;

use crate::exclusions::Exclusions;
use crate::id::{ClientId, RepositoryId, SnapshotId};
use crate::limits::{
    EXCLUSIONS_BYTES, PATH_BYTES, SNAPSHOT_INFO_BYTES, SNAPSHOT_PATHS, SNAPSHOT_TAGS, TEXT_BYTES, TROUBLES_BYTES,
};
use crate::order;
use crate::shown;
use crate::time::Time;
use crate::troubles::Troubles;
use crate::wire::DecodeError;
use crate::wire::cbor::{Reader, Writer};

/// The description of a snapshot, sealed as a block of its own inside the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct SnapshotInfo {
    /// The host that was backed up.
    pub host: String,
    /// The paths to back up, ascending, each once.
    #[serde(serialize_with = "shown::paths")]
    pub paths: Vec<Vec<u8>>,
    /// Distinguishes sources with the same host and paths.
    pub label: String,
    /// The tags' names, ascending, each once.
    pub tags: Vec<String>,
    /// When the run began, by the client's clock.
    pub started: Time,
    /// The number of entries by type, and their size.
    pub counts: Counts,
    /// The differences to the parent snapshot.
    pub summary: Summary,
    /// The kinds of metadata that the host could read.
    pub metadata: MetadataSeen,
    /// The program and its version.
    pub program: String,
    /// The user who ran it.
    pub user: String,
    /// The options of the run that left something out; none if there were none.
    pub exclusions: Option<Exclusions>,
    /// Entries that could not be read, and files that were written to meanwhile.
    pub troubles: Troubles,
    /// The snapshot that this one was made from; none if it was made from the source itself.
    pub origin: Option<Origin>,
}

/// The snapshot that another one was copied or rewritten from. Nobody vouches for it but the client that made the copy.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Origin {
    /// Its repository; the same one if the snapshot was rewritten there.
    pub repository: RepositoryId,
    /// Its id there.
    pub snapshot: SnapshotId,
    /// The client that signed it there.
    pub client: ClientId,
}

/// The number of entries by type, and their size.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default, Serialize)]
#[allow(missing_docs)]
pub struct Counts {
    pub files: u64,
    pub directories: u64,
    pub others: u64,
    /// The total size of the files in bytes.
    pub bytes: u64,
}

/// How many entries differ from the parent snapshot.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default, Serialize)]
#[allow(missing_docs)]
pub struct Summary {
    pub new: u64,
    pub changed: u64,
    pub unmodified: u64,
    /// Entries that could not be read.
    pub errors: u64,
}

/// The kinds of metadata that the host could read, as a set of bits.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct MetadataSeen(pub u32);

#[allow(missing_docs)]
impl MetadataSeen {
    pub const OWNERS: Self = Self(1);
    pub const MODES: Self = Self(2);
    pub const CTIME_AND_INODE: Self = Self(4);
    pub const XATTRS: Self = Self(8);
    pub const ACLS: Self = Self(16);
    pub const HOLES: Self = Self(32);
    pub const BIRTH_TIME: Self = Self(64);
    pub const HARDLINKS: Self = Self(128);

    /// Whether all bits of `other` are set.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits that `other` does not have.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The bits of both sets.
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The description is too large to be read back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum OversizeInfo {
    /// A text, path or list is too long.
    #[error("a snapshot's {what} is longer than {most}")]
    Field { what: &'static str, most: usize },
    /// The description as a whole is too long.
    #[error("a snapshot's description has {bytes} bytes, allowed are {SNAPSHOT_INFO_BYTES}")]
    Total { bytes: usize },
}

impl SnapshotInfo {
    /// Checks that readers will accept the result of [`SnapshotInfo::encode`].
    pub fn check(&self) -> Result<(), OversizeInfo> {
        let longest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0);
        for (what, length, most) in [
            ("host", self.host.len(), TEXT_BYTES),
            ("label", self.label.len(), TEXT_BYTES),
            ("program", self.program.len(), TEXT_BYTES),
            ("user", self.user.len(), TEXT_BYTES),
            ("tag", longest(&mut self.tags.iter().map(String::len)), TEXT_BYTES),
            ("path", longest(&mut self.paths.iter().map(Vec::len)), PATH_BYTES),
            ("list of tags", self.tags.len(), SNAPSHOT_TAGS),
            ("list of paths", self.paths.len(), SNAPSHOT_PATHS),
        ] {
            if length > most {
                return Err(OversizeInfo::Field { what, most });
            }
        }
        if self.exclusions.as_ref().is_some_and(|exclusions| !exclusions.is_within_limits()) {
            return Err(OversizeInfo::Field { what: "list of exclusions", most: EXCLUSIONS_BYTES });
        }
        // A run checks this when it begins, before it knows its troubles: leave room for them.
        let troubles = if self.troubles.is_empty() { TROUBLES_BYTES } else { 0 };
        let bytes = self.encode().len() + troubles;
        if bytes > SNAPSHOT_INFO_BYTES { Err(OversizeInfo::Total { bytes }) } else { Ok(()) }
    }

    /// Encodes the plaintext of the info block. Sorts and deduplicates paths and tags.
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        let optional = [self.exclusions.is_some(), !self.troubles.is_empty(), self.origin.is_some()];
        writer.map(10 + optional.map(u64::from).iter().sum::<u64>()).key(0).text(&self.host);
        writer.key(1).byte_strings(ascending(&self.paths)).key(2).text(&self.label);
        let tags = ascending(&self.tags);
        writer.key(3).array(tags.len());
        for tag in tags {
            writer.text(tag);
        }
        writer.key(4).time(self.started);
        let counts = &self.counts;
        writer.key(5).array(4).uint(counts.files).uint(counts.directories).uint(counts.others).uint(counts.bytes);
        let summary = &self.summary;
        writer.key(6).array(4).uint(summary.new).uint(summary.changed).uint(summary.unmodified).uint(summary.errors);
        writer.key(7).uint(self.metadata.0.into()).key(8).text(&self.program).key(9).text(&self.user);
        if let Some(exclusions) = &self.exclusions {
            exclusions.encode(writer.key(EXCLUSIONS));
        }
        if !self.troubles.is_empty() {
            self.troubles.encode(writer.key(TROUBLES));
        }
        if let Some(Origin { repository, snapshot, client }) = &self.origin {
            writer.key(ORIGIN).map(3).key(0).bytes(repository.as_bytes()).key(1).bytes(snapshot.as_bytes());
            writer.key(2).bytes(client.as_bytes());
        }
        writer.finish()
    }

    /// Decodes the plaintext of an info block.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        if bytes.len() > SNAPSHOT_INFO_BYTES {
            return Err(DecodeError::new(SNAPSHOT_INFO_BYTES, "a snapshot's description is longer than allowed"));
        }
        let text = |field: &mut Reader<'_>| field.text(TEXT_BYTES).map(str::to_owned);
        Reader::record(bytes, |fields| {
            Ok(Self {
                host: text(fields.required(0)?)?,
                paths: ascending_list(fields.required(1)?, SNAPSHOT_PATHS, |path| {
                    Ok(path.bytes(PATH_BYTES)?.to_vec())
                })?,
                label: text(fields.required(2)?)?,
                tags: ascending_list(fields.required(3)?, SNAPSHOT_TAGS, text)?,
                started: fields.required(4)?.time()?,
                counts: {
                    let [files, directories, others, bytes] = four(fields.required(5)?)?;
                    Counts { files, directories, others, bytes }
                },
                summary: {
                    let [new, changed, unmodified, errors] = four(fields.required(6)?)?;
                    Summary { new, changed, unmodified, errors }
                },
                metadata: MetadataSeen(fields.required(7)?.narrow()?),
                program: text(fields.required(8)?)?,
                user: text(fields.required(9)?)?,
                exclusions: fields.optional(EXCLUSIONS)?.map(Exclusions::decode).transpose()?,
                troubles: fields.optional(TROUBLES)?.map(Troubles::decode).transpose()?.unwrap_or_default(),
                origin: fields.optional(ORIGIN)?.map(Origin::decode).transpose()?,
            })
        })
    }
}

impl Origin {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.fields(|fields| {
            Ok(Self {
                repository: fields.required(0)?.id()?,
                snapshot: fields.required(1)?.id()?,
                client: fields.required(2)?.id()?,
            })
        })
    }
}

fn ascending<T: Ord>(items: &[T]) -> Vec<&T> {
    let mut items: Vec<&T> = items.iter().collect();
    order::sort(&mut items);
    items.dedup();
    items
}

/// Reads an array of strictly ascending items.
fn ascending_list<'a, T: Ord>(
    reader: &mut Reader<'a>,
    most: usize,
    item: impl FnMut(&mut Reader<'a>) -> Result<T, DecodeError>,
) -> Result<Vec<T>, DecodeError> {
    let is_ascending = |items: &Vec<T>| items.is_sorted_by(|a, b| a < b);
    reader.checked("a list does not ascend", |reader| reader.list(most, item), is_ascending)
}

fn four(reader: &mut Reader<'_>) -> Result<[u64; 4], DecodeError> {
    reader.tuple(4)?;
    Ok([reader.wide()?, reader.wide()?, reader.wide()?, reader.wide()?])
}

/// Key of the exclusions. Readers may ignore it: they restore the same without it.
const EXCLUSIONS: u64 = 64;
/// Key of the troubles. Readers may ignore it, too.
const TROUBLES: u64 = 65;
/// Key of the origin. Readers may ignore it: a copy is a snapshot like any other.
const ORIGIN: u64 = 66;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::info;

    #[test]
    fn a_description_reads_back() {
        let metadata = MetadataSeen::OWNERS.union(MetadataSeen::HARDLINKS);
        let counts = Counts { bytes: u64::MAX, ..info().counts };
        let info = SnapshotInfo { metadata, counts, ..info() };
        assert_eq!(SnapshotInfo::decode(&info.encode()).as_ref(), Ok(&info));
        assert!(info.metadata.contains(MetadataSeen::OWNERS) && !info.metadata.contains(MetadataSeen::ACLS));
    }

    #[test]
    fn paths_and_tags_are_written_in_order_each_once() {
        let mut shuffled = info();
        shuffled.paths.reverse();
        shuffled.tags.reverse();
        shuffled.tags.push("offsite".into());
        assert_eq!(shuffled.encode(), info().encode());
    }

    #[test]
    fn a_list_out_of_order_is_refused() {
        let mut bytes = info().encode();
        let at = bytes.windows(4).position(|w| w == b"/etc").unwrap();
        bytes[at + 1] = b'z';
        assert_eq!(SnapshotInfo::decode(&bytes).unwrap_err().what, "a list does not ascend");
    }

    #[test]
    fn what_passes_the_check_reads_back_and_what_does_not_is_named() {
        assert_eq!(info().check(), Ok(()));
        let long = SnapshotInfo { label: "x".repeat(TEXT_BYTES + 1), ..info() };
        assert_eq!(long.check(), Err(OversizeInfo::Field { what: "label", most: TEXT_BYTES }));
        assert!(SnapshotInfo::decode(&long.encode()).is_err());
        let paths = (0..17u8).map(|i| vec![i; PATH_BYTES]).collect();
        let large = SnapshotInfo { paths, ..info() };
        assert!(matches!(large.check(), Err(OversizeInfo::Total { .. })));
        assert!(SnapshotInfo::decode(&large.encode()).is_err());
    }
}
