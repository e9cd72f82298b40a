//! Sorter: sorts entries into tree order with little memory: sorted runs are in unnamed files.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::io;
use std::path::PathBuf;

use copal_format::path::TreePath;
use copal_store::fs::Unnamed;

/// Collects records by path and number.
pub(super) struct Sorter {
    directory: PathBuf,
    /// The bytes after which a run is written.
    most: usize,
    batch: Vec<Record>,
    bytes: usize,
    runs: Vec<Run>,
}

/// A record. The caller decides what `says` holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) path: TreePath,
    /// Of several records of one path, the one with the highest number comes first.
    pub(super) number: u64,
    pub(super) says: Vec<u8>,
}

/// Sorted records, one after another.
enum Run {
    File(Unnamed),
    Memory(Vec<u8>),
}

/// The records of sorters, in order.
pub(super) struct Merge<'a> {
    rests: Vec<&'a [u8]>,
    heads: BinaryHeap<Reverse<Head>>,
}

struct Head {
    record: Record,
    run: usize,
}

impl Sorter {
    /// Collects with about this many bytes of memory, and writes the rest to files in a directory.
    pub(super) fn new(directory: PathBuf, most: usize) -> Self {
        Self { directory, most, batch: Vec::new(), bytes: 0, runs: Vec::new() }
    }

    /// Adds a record; its number is new for its path.
    pub(super) fn push(&mut self, record: Record) -> io::Result<()> {
        self.bytes += record.length() + size_of::<Record>();
        self.batch.push(record);
        if self.bytes < self.most { Ok(()) } else { self.end_run(true) }
    }

    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.end_run(!self.runs.is_empty())
    }

    /// The records of these sorters, which have ended, in one order.
    pub(super) fn merge<'a>(sorters: impl IntoIterator<Item = &'a Self>) -> Merge<'a> {
        let runs = sorters.into_iter().flat_map(|sorter| &sorter.runs);
        let mut merge = Merge { rests: runs.map(Run::bytes).collect(), heads: BinaryHeap::new() };
        (0..merge.rests.len()).for_each(|run| merge.advance(run));
        merge
    }

    fn end_run(&mut self, in_file: bool) -> io::Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.batch.sort_by(Record::order);
        let length = self.batch.iter().map(Record::length).sum();
        let mut run = match in_file {
            true => Run::File(Unnamed::new(&self.directory, length)?),
            false => Run::Memory(vec![0; length]),
        };
        let mut rest = match &mut run {
            Run::File(file) => file.bytes_mut(),
            Run::Memory(bytes) => bytes,
        };
        for record in self.batch.drain(..) {
            let (into, after) = rest.split_at_mut(record.length());
            record.write(into);
            rest = after;
        }
        self.bytes = 0;
        self.runs.push(run);
        Ok(())
    }
}

impl Run {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::File(file) => file.bytes(),
            Self::Memory(bytes) => bytes,
        }
    }
}

impl Merge<'_> {
    fn advance(&mut self, run: usize) {
        if let Some((record, rest)) = Record::read(self.rests[run]) {
            self.rests[run] = rest;
            self.heads.push(Reverse(Head { record, run }));
        }
    }
}

impl Iterator for Merge<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        let Reverse(Head { record, run }) = self.heads.pop()?;
        self.advance(run);
        Some(record)
    }
}

impl Record {
    fn order(&self, other: &Self) -> Ordering {
        self.path.cmp(&other.path).then(other.number.cmp(&self.number))
    }

    fn length(&self) -> usize {
        HEAD + self.path.as_bytes().len() + self.says.len()
    }

    /// `path length u32 ‖ length of the rest u32 ‖ number u64 ‖ path ‖ rest`.
    fn write(&self, into: &mut [u8]) {
        let path = self.path.as_bytes();
        into[..4].copy_from_slice(&(path.len() as u32).to_le_bytes());
        into[4..8].copy_from_slice(&(self.says.len() as u32).to_le_bytes());
        into[8..HEAD].copy_from_slice(&self.number.to_le_bytes());
        into[HEAD..HEAD + path.len()].copy_from_slice(path);
        into[HEAD + path.len()..].copy_from_slice(&self.says);
    }

    /// Reads what [`Record::write`] wrote; none at the end.
    fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let length = |at: usize| Some(u32::from_le_bytes(*head[at..].first_chunk()?) as usize);
        let (path, rest) = rest.split_at_checked(length(0)?)?;
        let (says, rest) = rest.split_at_checked(length(4)?)?;
        let number = u64::from_le_bytes(*head[8..].first_chunk()?);
        Some((Self { path: TreePath::new(path).ok()?, number, says: says.to_vec() }, rest))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        self.record.order(&other.record)
    }
}

/// Bytes of a record before its path.
const HEAD: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_in_tree_order_the_newest_of_a_path_first_however_many_runs_there_are() {
        let directory = tempfile::tempdir().unwrap();
        for most in [1, 300, usize::MAX] {
            let sorter = || Sorter::new(directory.path().to_owned(), most);
            let mut sorters = [sorter(), sorter()];
            let mut all = Vec::new();
            for number in 0..500u64 {
                let path = TreePath::new(format!("a{}/b{}", number * 7 % 13, number * 11 % 17)).unwrap();
                let record = Record { path, number, says: number.to_string().into_bytes() };
                all.push(record.clone());
                sorters[number as usize % 2].push(record).unwrap();
            }
            sorters.iter_mut().for_each(|sorter| sorter.finish().unwrap());
            all.sort_by(Record::order);
            assert_eq!(Sorter::merge(&sorters).collect::<Vec<_>>(), all, "{most}");
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_without_room_is_an_error() {
        let mut sorter = Sorter::new("/nowhere".into(), 1);
        assert!(sorter.push(Record { path: TreePath::TOP, number: 1, says: vec![0; 10] }).is_err());
    }
}
