//! Newest: the root of a view, and the objects read for it. The root counts only while the root that it was made from
//! exists.

use copal_format::id::ObjectHash;
use copal_format::layout;
use copal_format::order;
use copal_format::root::Root;

use crate::fault::{Code, Fault};

/// A read: a whole object, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Read {
    /// The object's name.
    pub key: String,
    /// The range of bytes; `None` for the whole object.
    pub range: Option<core::ops::Range<u64>>,
}

impl Read {
    pub(crate) fn whole(key: String) -> Self {
        Self { key, range: None }
    }

    /// Sorts reads by object and range, and removes duplicates.
    pub(crate) fn tidy(reads: &mut Vec<Read>) {
        let place = |read: &Read| read.range.as_ref().map(|range| (range.start, range.end));
        order::sort_by(reads, |a, b| (&a.key, place(a)).cmp(&(&b.key, place(b))));
        reads.dedup();
    }
}

/// The root with a name, as far as it was read.
#[derive(Debug, Default)]
pub(crate) struct Newest {
    pub(crate) number: Option<u64>,
    pub(crate) root: Option<(Root, ObjectHash)>,
    is_base_there: bool,
}

impl Newest {
    /// The root with this name; `None` for a repository without roots.
    pub(crate) fn new(root_key: Option<&str>) -> Result<Self, Fault> {
        let number = |key| layout::root_number(key).ok_or_else(|| Fault::misuse("it is not a root's name"));
        Ok(Self { number: root_key.map(number).transpose()?, ..Self::default() })
    }

    pub(crate) fn needs(&self) -> Vec<Read> {
        let base = self.root.as_ref().and_then(|(root, _)| root.base).filter(|_| !self.is_base_there);
        let missing = if self.root.is_some() { base.map(|(number, _)| number) } else { self.number };
        missing.map(|number| Read::whole(layout::root(number))).into_iter().collect()
    }

    /// Takes one of them. Returns whether it is the root itself.
    pub(crate) fn supply(&mut self, key: &str, bytes: &[u8]) -> Result<bool, Fault> {
        let hash = ObjectHash::of(bytes);
        let number = layout::root_number(key).ok_or_else(|| Fault::misuse("it is not a root's name"))?;
        match &self.root {
            None if Some(number) == self.number => {
                self.root = Some((Root::decode(number, bytes)?, hash));
                Ok(true)
            }
            Some((root, _)) if root.base == Some((number, hash)) => {
                self.is_base_there = true;
                Ok(false)
            }
            Some((root, _)) if root.base.is_some_and(|base| base.0 == number) => {
                Err(Fault::new(Code::RootGone, format!("{key} is not the root that the newest one was made from")))
            }
            _ => Err(Fault::misuse("this root was not asked for")),
        }
    }
}

/// The bytes of an object that a root needs. If the object is gone, there is a newer root.
pub(crate) fn present(key: &str, bytes: Option<Vec<u8>>) -> Result<Vec<u8>, Fault> {
    let gone = || Fault::new(Code::RootGone, format!("{key}, which the newest root needs, is gone"));
    bytes.ok_or_else(gone)
}

/// The hash of an object that is named by it.
pub(crate) fn named(key: &str, bytes: &[u8]) -> Result<ObjectHash, Fault> {
    let hash = ObjectHash::of(bytes);
    let name = key.rsplit('/').next().unwrap_or_default();
    if ObjectHash::from_hex(name)? == hash {
        Ok(hash)
    } else {
        Err(Fault::new(Code::Damaged, format!("{key} is damaged")))
    }
}
