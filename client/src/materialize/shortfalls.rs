//! Shortfalls: metadata that a restore could not set, counted instead of reported per file.

use std::collections::BTreeMap;
use std::io;

use copal_format::path::TreePath;

/// A kind of metadata that could not be restored.
#[derive(Debug, Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lack {
    /// Owner or group.
    Owner,
    /// The permissions.
    Mode,
    /// Set-user-id or set-group-id, left out because the owner could not be set.
    SpecialBits,
    /// An ACL.
    Acl,
    /// Another extended attribute.
    Xattr,
    /// The time of the last change.
    Times,
    /// A device file as a whole.
    Device,
    /// Several names of one file: they became several files.
    Names,
    /// Something that grants rights on this machine, left out on purpose.
    LeftOut(Power),
}

/// A part of an entry that grants rights on this machine.
#[derive(Debug, Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Power {
    /// Set-user-id or set-group-id.
    Bits,
    /// File capabilities, and other attributes of the system.
    Attribute,
    /// A device file as a whole.
    Device,
}

/// Counts by kind, with the first examples of each.
#[derive(Debug, Default)]
pub struct Shortfalls {
    tallies: BTreeMap<Lack, Tally>,
}

/// One case.
#[derive(Debug)]
pub struct Example {
    /// The entry.
    pub path: TreePath,
    /// Why.
    pub error: io::Error,
}

#[derive(Debug, Default)]
struct Tally {
    count: u64,
    examples: Vec<Example>,
}

impl Shortfalls {
    /// Counts a case.
    pub fn add(&mut self, lack: Lack, path: &TreePath, error: io::Error) {
        let tally = self.tallies.entry(lack).or_default();
        tally.count += 1;
        if tally.examples.len() < EXAMPLES {
            tally.examples.push(Example { path: path.clone(), error });
        }
    }

    /// How many cases were left out on purpose.
    pub fn left_out(&self) -> u64 {
        let left_out = self.tallies.iter().filter(|(lack, _)| matches!(lack, Lack::LeftOut(_)));
        left_out.map(|(_, tally)| tally.count).sum()
    }

    /// Whether everything could be set.
    pub fn is_empty(&self) -> bool {
        self.tallies.is_empty()
    }

    /// Each kind, with its count and the first examples.
    pub fn iter(&self) -> impl Iterator<Item = (Lack, u64, &[Example])> {
        self.tallies.iter().map(|(lack, tally)| (*lack, tally.count, tally.examples.as_slice()))
    }
}

/// Examples kept per kind.
const EXAMPLES: usize = 3;
