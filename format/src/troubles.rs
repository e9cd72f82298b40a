//! Troubles: entries that a run could not read, and files that were written to while it read them. Its snapshot names
//! the first of them, so that a restore can tell which are missing, and which may be a mixture of old and new.

use serde::Serialize;

use crate::limits::{TEXT_BYTES, TROUBLE_NAMES, TROUBLES_BYTES};
use crate::shown;
use crate::wire::DecodeError;
use crate::wire::cbor::{Reader, Writer};

/// What went wrong with entries of a run. The summary counts the unreadable ones.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct Troubles {
    /// The number of files that were written to each time they were read. The snapshot has what was read last.
    pub changing: u64,
    /// Paths of entries that are missing, or lack their content or an attribute, in the order of the run.
    #[serde(serialize_with = "shown::paths")]
    pub unreadable_paths: Vec<Vec<u8>>,
    /// Paths of the files that were written to, in the order of the run.
    #[serde(serialize_with = "shown::paths")]
    pub changing_paths: Vec<Vec<u8>>,
}

impl Troubles {
    /// Names an entry that could not be read, unless there is no room for more names.
    pub fn unreadable(&mut self, path: &[u8]) {
        if self.has_room(&self.unreadable_paths, path) {
            self.unreadable_paths.push(path.to_vec());
        }
    }

    /// Counts a file that was written to each time it was read, and names it if there is room.
    pub fn changing(&mut self, path: &[u8]) {
        self.changing += 1;
        if self.has_room(&self.changing_paths, path) {
            self.changing_paths.push(path.to_vec());
        }
    }

    fn has_room(&self, names: &[Vec<u8>], path: &[u8]) -> bool {
        let taken = |names: &[Vec<u8>]| names.iter().map(|name| name.len() + HEAD).sum::<usize>();
        names.len() < TROUBLE_NAMES
            && path.len() <= TEXT_BYTES
            && taken(&self.unreadable_paths) + taken(&self.changing_paths) + path.len() + HEAD <= TROUBLES_BYTES - FRAME
    }

    /// True if nothing went wrong: then a snapshot does not record it.
    pub(crate) fn is_empty(&self) -> bool {
        self.changing == 0 && self.unreadable_paths.is_empty() && self.changing_paths.is_empty()
    }

    pub(crate) fn encode(&self, writer: &mut Writer) {
        writer.map(3).key(0).uint(self.changing);
        writer.key(1).byte_strings(&self.unreadable_paths).key(2).byte_strings(&self.changing_paths);
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (start, error) = (reader.offset(), reader.error("troubles are none, or too large"));
        let paths = |field: &mut Reader<'_>| field.list(TROUBLE_NAMES, |path| Ok(path.bytes(TEXT_BYTES)?.to_vec()));
        let troubles = reader.fields(|fields| {
            Ok(Self {
                changing: fields.required(0)?.wide()?,
                unreadable_paths: paths(fields.required(1)?)?,
                changing_paths: paths(fields.required(2)?)?,
            })
        })?;
        if !troubles.is_empty() && reader.offset() - start <= TROUBLES_BYTES { Ok(troubles) } else { Err(error) }
    }
}

/// The most bytes before the content of a path.
const HEAD: usize = 3;
/// The most bytes of everything besides the paths.
const FRAME: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(troubles: &Troubles) -> Result<Troubles, DecodeError> {
        let mut writer = Writer::new();
        troubles.encode(&mut writer);
        Troubles::decode(&mut Reader::new(&writer.finish())?)
    }

    #[test]
    fn names_are_kept_as_far_as_readers_accept_them_and_changing_files_are_counted_all() {
        for (count, length) in [(1, 0), (1, TEXT_BYTES + 1), (TROUBLE_NAMES + 1, 1), (9, TEXT_BYTES), (600, 80)] {
            let mut troubles = Troubles::default();
            for _ in 0..count {
                troubles.unreadable(&vec![b'x'; length]);
                troubles.changing(&vec![b'y'; length]);
            }
            assert_eq!(troubles.changing, count as u64);
            assert_eq!(read(&troubles), Ok(troubles), "{count} names of {length} bytes");
        }
    }

    #[test]
    fn what_no_writer_writes_is_refused() {
        assert!(read(&Troubles::default()).is_err());
        let name = |length: usize| vec![b'x'; length];
        for (count, length) in [(TROUBLE_NAMES + 1, 1), (1, TEXT_BYTES + 1), (5, TEXT_BYTES)] {
            let troubles = Troubles { unreadable_paths: vec![name(length); count], ..Troubles::default() };
            assert!(read(&troubles).is_err(), "{count} names of {length} bytes");
        }
    }
}
