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
    positions: HashMap<Arc<Owner>, u64, BuildHasherDefault<DefaultHasher>>,
    last: Option<(Arc<Owner>, u64)>,
}

impl OwnersWriter {
    pub(super) fn put(&mut self, [indices, table]: [&mut Vec<u8>; 2], owner: &Arc<Owner>) {
        let position = match &self.last {
            Some((last, position)) if Arc::ptr_eq(last, owner) => *position,
            _ => self.position(table, owner),
        };
        varint::put(indices, position);
    }

    pub(super) fn clear(&mut self) {
        let Self { positions, last } = self;
        positions.clear();
        *last = None;
    }

    fn position(&mut self, table: &mut Vec<u8>, owner: &Arc<Owner>) -> u64 {
        let next = self.positions.len() as u64;
        let position = *self.positions.entry(Arc::clone(owner)).or_insert(next);
        if position == next {
            varint::put(table, u64::from(owner.uid));
            varint::put(table, u64::from(owner.gid));
            for name in [&owner.user, &owner.group] {
                varint::put(table, name.len() as u64);
                table.extend_from_slice(name);
            }
        }
        self.last = Some((Arc::clone(owner), position));
        position
    }
}

#[derive(Debug, Default)]
pub(super) struct OwnersReader {
    owners: Vec<Arc<Owner>>,
}

impl OwnersReader {
    pub(super) fn take(&mut self, [indices, table]: [&mut Column<'_>; 2]) -> Result<Arc<Owner>, PageError> {
        let index: usize = indices.narrow()?;
        if index > self.owners.len() {
            return Err(indices.error("an owner is used before its turn"));
        }
        if index == self.owners.len() {
            let (uid, gid) = (table.narrow()?, table.narrow()?);
            let (user, group) = (table.bytes()?.to_vec(), table.bytes()?.to_vec());
            self.owners.push(Arc::new(Owner { uid, gid, user, group }));
        }
        Ok(Arc::clone(&self.owners[index]))
    }
}
