//! State: the snapshots and segments that the newest readable root names. Only a hint: without any root, the manifests
//! name the snapshots, and the packs' tables tell where content is.

use std::collections::BTreeSet;

use copal_format::id::ObjectHash;
use copal_format::layout;
use copal_format::limits::{PACK_BYTES, RECORD_BYTES, ROOT_LEAP};
use copal_format::number::reached;
use copal_format::root::Root;
use copal_format::state::{RunKind, RunReader, State, StateFold};

use crate::directory::Directory;
use crate::failure::Failure;
use crate::report::Report;

/// Reads the state of the newest root that counts and is readable (`docs/format.md` §13.7).
pub(crate) fn read(directory: &Directory, report: &mut Report<'_>) -> Result<State, Failure> {
    let mut tried = BTreeSet::new();
    // Lists again for each root: a writer may have added newer ones meanwhile, and removed the base of this one.
    while tried.len() < ROOTS
        && let Some(number) = believed(directory)?.into_iter().find(|number| !tried.contains(number))
    {
        tried.insert(number);
        match state_of(directory, number) {
            Ok(state) => return Ok(state),
            // Perhaps a slow writer left it: that is not damage.
            Err(Unusable::Unreached { base }) => report.note(&format!(
                "{} is passed over: the root it was made from, {}, is not there as it was",
                layout::root(number),
                layout::root(base)
            )),
            Err(Unusable::Damaged { object, why }) => report.damaged_object(&object, &why),
        }
    }
    if !directory.names("roots")?.is_empty() || !directory.names("manifests")?.is_empty() {
        report.note("no root can be read: manifests tell which snapshots there are, also forgotten ones");
    }
    Ok(State::default())
}

/// The numbers of roots, the newest first. Leaves out those far above all others, which cannot come from counting up.
fn believed(directory: &Directory) -> Result<Vec<u64>, Failure> {
    let numbers_in = |folder: &str, number: fn(&str) -> Option<u64>| -> Result<Vec<u64>, Failure> {
        let names = directory.names(folder)?;
        Ok(names.iter().filter_map(|name| number(&format!("{folder}/{name}"))).collect())
    };
    let mut numbers = numbers_in("roots", layout::root_number)?;
    // Numbers this high come from a rebuild that stepped over a false number. Its deletion record names its root.
    let is_high = numbers.iter().min().is_some_and(|lowest| *lowest > ROOT_LEAP);
    let told = if is_high { numbers_in("deletions", layout::deletion_root)? } else { Vec::new() };
    let last = reached(told.into_iter().max().unwrap_or(0), ROOT_LEAP, numbers.iter().copied());
    numbers.retain(|number| *number <= last);
    Ok(numbers)
}

/// Why a root is not used.
enum Unusable {
    /// Its base is not there with the hash that it names.
    Unreached { base: u64 },
    /// The root, or a run that it names, cannot be read.
    Damaged { object: String, why: String },
}

fn state_of(directory: &Directory, number: u64) -> Result<State, Unusable> {
    let name = layout::root(number);
    let root = Root::decode(number, &object(directory, &name, ROOT_OBJECT)?);
    let root = root.map_err(|error| damaged(&name, error))?;
    if let Some((base, hash)) = root.base
        && !is_there(directory, base, hash)
    {
        return Err(Unusable::Unreached { base });
    }
    let mut fold = StateFold::default();
    for run in root.runs.iter().filter(|run| matches!(run.kind, RunKind::Segments | RunKind::Snapshots)) {
        let name = layout::state(run.hash);
        let bytes = object(directory, &name, PACK_BYTES)?;
        if ObjectHash::of(&bytes) != run.hash {
            return Err(damaged(&name, "its bytes do not have the hash it is named by"));
        }
        RunReader::parse(&bytes).and_then(|run| fold.add(&run)).map_err(|error| damaged(&name, error))?;
    }
    Ok(fold.finish())
}

/// Whether the root of this number exists with this hash.
fn is_there(directory: &Directory, number: u64, hash: ObjectHash) -> bool {
    let bytes = directory.read(&layout::root(number), ROOT_OBJECT).ok().flatten();
    bytes.is_some_and(|bytes| ObjectHash::of(&bytes) == hash)
}

fn object(directory: &Directory, name: &str, most: u64) -> Result<Vec<u8>, Unusable> {
    let bytes = directory.read(name, most).map_err(|error| damaged(name, error))?;
    bytes.ok_or_else(|| damaged(name, "it is not there"))
}

fn damaged(name: &str, why: impl ToString) -> Unusable {
    Unusable::Damaged { object: name.to_owned(), why: why.to_string() }
}

/// Roots to try before using only manifests.
const ROOTS: usize = 16;
/// Above the size of any root.
const ROOT_OBJECT: u64 = RECORD_BYTES as u64;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use copal_format::id::{ChunkId, DomainId};
    use copal_format::state::{SegmentRecord, StateDelta, write_run};
    use copal_format::time::Time;
    use tempfile::TempDir;

    use super::*;

    /// A repository with these roots, each with the number of its base, and with records of deletions for these roots.
    /// A base that is written later, or never, does not have the hash that its root names.
    fn repository(roots: &[(u64, Option<u64>)], deletions: &[u64]) -> TempDir {
        let folder = TempDir::new().unwrap();
        let mut written: BTreeMap<u64, ObjectHash> = BTreeMap::new();
        let write = |name: String, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        write("copal/x".to_owned(), b"");
        for (number, base) in roots {
            // The state of a root is one segment, which has as many entries as the root's number says.
            let segment =
                SegmentRecord { entries: *number, length: 1, first: ChunkId([1; 24]), last: ChunkId([1; 24]) };
            let segments = BTreeMap::from([((DomainId([1; 16]), ObjectHash([1; 32])), Some(segment))]);
            let delta = StateDelta { segments, ..StateDelta::default() };
            let run = write_run(RunKind::Segments, [0; 16], &delta.records(RunKind::Segments));
            let named = |base: u64| (base, written.get(&base).copied().unwrap_or(ObjectHash([9; 32])));
            let root = Root { base: base.map(named), runs: vec![run.reference], ..Root::new(*number, Time(1)) };
            let bytes = root.encode().unwrap();
            written.insert(*number, ObjectHash::of(&bytes));
            write(layout::root(*number), &bytes);
            write(layout::state(root.runs[0].hash), &run.bytes);
        }
        for number in deletions {
            write(layout::deletion(*number, &[7; 16]), b"");
        }
        folder
    }

    /// The number of the root whose state is read, and the messages.
    fn newest(roots: &[(u64, Option<u64>)], deletions: &[u64]) -> (Option<u64>, String) {
        let folder = repository(roots, deletions);
        let mut messages = Vec::new();
        let mut report = Report::new(&mut messages);
        let state = read(&Directory::open(folder.path()).unwrap(), &mut report).unwrap();
        assert_eq!(report.exit_code(), 0, "nothing is damaged");
        (state.segments.values().next().map(|segment| segment.entries), String::from_utf8(messages).unwrap())
    }

    #[test]
    fn a_root_needs_its_base() {
        assert_eq!(newest(&[(1, None), (2, Some(1)), (3, Some(2))], &[]), (Some(3), String::new()));
        let (number, messages) = newest(&[(1, None), (3, Some(2)), (2, Some(1))], &[]);
        assert_eq!(number, Some(2));
        assert!(messages.starts_with(&format!("{} is passed over", layout::root(3))), "{messages}");
        let (number, messages) = newest(&[(3, Some(2))], &[]);
        assert_eq!(number, None);
        assert!(messages.ends_with("also forgotten ones\n"), "{messages}");
    }

    #[test]
    fn a_root_too_far_above_the_others_is_passed_over_unless_a_deletion_record_leads_up_to_it() {
        let far = 5 + ROOT_LEAP;
        let number = |roots: &[(u64, Option<u64>)], deletions: &[u64]| newest(roots, deletions).0;
        assert_eq!(number(&[(5, None), (far, None)], &[]), Some(far));
        assert_eq!(number(&[(5, None), (far + 1, None)], &[]), Some(5));
        assert_eq!(number(&[(5, None), (far + 1, None)], &[far]), Some(5), "the lowest root is not above the leap");
        assert_eq!(number(&[(far, None)], &[]), None);
        assert_eq!(number(&[(far, None)], &[3, far]), Some(far));
    }
}
