//! State: the snapshots and segments that the newest readable root names. Only a hint: without any root, the manifests
//! name the snapshots, and the packs' tables tell where content is.

use copal_format::id::ObjectHash;
use copal_format::layout;
use copal_format::limits::{PACK_BYTES, RECORD_BYTES, ROOT_LEAP};
use copal_format::number::reached;
use copal_format::root::Root;
use copal_format::state::{RunKind, RunReader, State, StateFold};

use crate::directory::Directory;
use crate::failure::Failure;
use crate::report::Report;

/// Reads the state of the newest root that is readable.
pub(crate) fn read(directory: &Directory, report: &mut Report<'_>) -> Result<State, Failure> {
    let names = directory.names("roots")?;
    let numbers = names.iter().filter_map(|name| layout::root_number(&format!("roots/{name}")));
    let mut numbers: Vec<u64> = numbers.collect();
    // A number far above all others cannot come from counting up: it is ignored.
    let last = reached(0, ROOT_LEAP, numbers.iter().copied());
    numbers.retain(|number| *number <= last);
    for number in numbers.into_iter().take(ROOTS) {
        let name = layout::root(number);
        match state_of(directory, &name) {
            Ok(state) => return Ok(state),
            Err((object, why)) => report.damaged_object(&object, &why),
        }
    }
    if !names.is_empty() || !directory.names("manifests")?.is_empty() {
        report.note("no root can be read: manifests tell which snapshots there are, also forgotten ones");
    }
    Ok(State::default())
}

/// An object that cannot be used, and why.
type Fault = (String, String);

fn state_of(directory: &Directory, name: &str) -> Result<State, Fault> {
    let number = layout::root_number(name).ok_or_else(|| fault(name, "it is not a root's name"))?;
    let root = Root::decode(number, &object(directory, name, RECORD_BYTES as u64)?);
    let root = root.map_err(|error| fault(name, error))?;
    let mut fold = StateFold::default();
    for run in root.runs.iter().filter(|run| matches!(run.kind, RunKind::Segments | RunKind::Snapshots)) {
        let name = layout::state(run.hash);
        let bytes = object(directory, &name, PACK_BYTES)?;
        if ObjectHash::of(&bytes) != run.hash {
            return Err(fault(&name, "its bytes do not have the hash it is named by"));
        }
        RunReader::parse(&bytes).and_then(|run| fold.add(&run)).map_err(|error| fault(&name, error))?;
    }
    Ok(fold.finish())
}

fn object(directory: &Directory, name: &str, most: u64) -> Result<Vec<u8>, Fault> {
    let bytes = directory.read(name, most).map_err(|error| fault(name, error))?;
    bytes.ok_or_else(|| fault(name, "it is not there"))
}

fn fault(name: &str, why: impl ToString) -> Fault {
    (name.to_owned(), why.to_string())
}

/// Roots to try before using only manifests.
const ROOTS: usize = 16;
