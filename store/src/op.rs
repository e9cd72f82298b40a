//! The operations of a store, by name: for errors, fault scripts and records.

use std::fmt;

/// One method of [`Store`](crate::Store).
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "each is the method of that name")]
pub enum Op {
    Create,
    Read,
    ReadRange,
    Stat,
    List,
    Delete,
    Now,
    Map,
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Op::Create => "create",
            Op::Read => "read",
            Op::ReadRange => "read a range of",
            Op::Stat => "stat",
            Op::List => "list",
            Op::Delete => "delete",
            Op::Now => "read the clock",
            Op::Map => "map",
        })
    }
}
