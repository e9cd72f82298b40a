//! Shortfalls: metadata that a restore could not set. Metadata that rights or the file system do not allow is counted,
//! not reported per file: thousands of files may lack the same. Any other error is a failure of its entry.

use std::collections::BTreeMap;
use std::fmt;
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

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Owner => "the owner",
            Self::Mode => "the mode",
            Self::SpecialBits | Self::LeftOut(Power::Bits) => "set-user-id or set-group-id",
            Self::Acl => "the ACL",
            Self::Xattr => "an extended attribute",
            Self::Times => "the time",
            Self::Names => "that it is the same file as another entry",
            Self::LeftOut(Power::Attribute) => "an attribute of security.* or trusted.*",
            Self::Device | Self::LeftOut(Power::Device) => "a device",
        })
    }
}

/// Counts by kind, with the first examples of each.
#[derive(Debug, Default)]
pub struct Shortfalls {
    tallies: BTreeMap<Lack, Tally>,
    failures: Vec<(Lack, Example)>,
    failed: u64,
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
    /// Counts a case of what rights or the file system do not allow.
    pub fn add(&mut self, lack: Lack, path: &TreePath, error: io::Error) {
        let tally = self.tallies.entry(lack).or_default();
        tally.count += 1;
        if tally.examples.len() < EXAMPLES {
            tally.examples.push(Example { path: path.clone(), error });
        }
    }

    /// Counts a case of any other reason.
    pub fn fail(&mut self, lack: Lack, path: &TreePath, error: io::Error) {
        self.failed += 1;
        if self.failures.len() < FAILURES {
            self.failures.push((lack, Example { path: path.clone(), error }));
        }
    }

    /// The first failures, and how many there were in all; they are not listed with the rest.
    pub fn failures(&self) -> (&[(Lack, Example)], u64) {
        (&self.failures, self.failed)
    }

    /// How many cases were left out on purpose.
    pub fn left_out(&self) -> u64 {
        let left_out = self.tallies.iter().filter(|(lack, _)| matches!(lack, Lack::LeftOut(_)));
        left_out.map(|(_, tally)| tally.count).sum()
    }

    /// Whether everything could be set.
    pub fn is_empty(&self) -> bool {
        self.tallies.is_empty() && self.failed == 0
    }

    /// Each kind, with its count and the first examples.
    pub fn iter(&self) -> impl Iterator<Item = (Lack, u64, &[Example])> {
        self.tallies.iter().map(|(lack, tally)| (*lack, tally.count, tally.examples.as_slice()))
    }
}

/// Examples kept per kind.
const EXAMPLES: usize = 3;
/// Most failures kept.
const FAILURES: usize = 1000;
