//! Owners: encodes owners in columns, each owner once in the page's table, in order of first use.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use super::columns::Column;
use super::entry::Owner;
use super::page::PageError;
use crate::wire::varint;

#[derive(Clone, Debug, Default)]
pub(super) struct OwnersWriter {
    indices: Vec<u8>,
    table: Vec<u8>,
    positions: HashMap<Arc<Owner>, u64, BuildHasherDefault<DefaultHasher>>,
    last: Option<(Arc<Owner>, u64)>,
}

impl OwnersWriter {
    pub(super) fn put(&mut self, owner: &Arc<Owner>) {
        let position = match &self.last {
            Some((last, position)) if Arc::ptr_eq(last, owner) => *position,
            _ => self.position(owner),
        };
        varint::put(&mut self.indices, position);
    }

    pub(super) fn clear(&mut self) {
        let Self { indices, table, positions, last } = self;
        [indices, table].into_iter().for_each(Vec::clear);
        positions.clear();
        *last = None;
    }

    pub(super) fn columns(&self) -> [&[u8]; 2] {
        [&self.indices, &self.table]
    }

    fn position(&mut self, owner: &Arc<Owner>) -> u64 {
        let next = self.positions.len() as u64;
        let position = *self.positions.entry(Arc::clone(owner)).or_insert(next);
        if position == next {
            varint::put(&mut self.table, u64::from(owner.uid));
            varint::put(&mut self.table, u64::from(owner.gid));
            for name in [&owner.user, &owner.group] {
                varint::put(&mut self.table, name.len() as u64);
                self.table.extend_from_slice(name);
            }
        }
        self.last = Some((Arc::clone(owner), position));
        position
    }
}

#[derive(Debug)]
pub(super) struct OwnersReader<'a> {
    indices: Column<'a>,
    table: Column<'a>,
    owners: Vec<Arc<Owner>>,
}

impl<'a> OwnersReader<'a> {
    pub(super) fn new([indices, table]: [Column<'a>; 2]) -> Self {
        Self { indices, table, owners: Vec::new() }
    }

    pub(super) fn take(&mut self) -> Result<Arc<Owner>, PageError> {
        let index: usize = self.indices.narrow()?;
        if index > self.owners.len() {
            return Err(self.indices.error("an owner is used before its turn"));
        }
        if index == self.owners.len() {
            let (uid, gid) = (self.table.narrow()?, self.table.narrow()?);
            let (user, group) = (self.table.bytes()?.to_vec(), self.table.bytes()?.to_vec());
            self.owners.push(Arc::new(Owner { uid, gid, user, group }));
        }
        Ok(Arc::clone(&self.owners[index]))
    }

    pub(super) fn finish(&self) -> Result<(), PageError> {
        self.indices.finish()?;
        self.table.finish()
    }
}
