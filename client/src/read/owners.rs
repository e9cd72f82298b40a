//! Owners: looks up the names of users and groups, each once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::system;

/// Cached names by number. A number without a name has an empty one.
#[derive(Debug, Default)]
pub struct Owners {
    users: HashMap<u32, String>,
    groups: HashMap<u32, String>,
}

impl Owners {
    /// The name of a user.
    pub fn user(&mut self, uid: u32) -> &str {
        named(&mut self.users, uid, || system::user_name(uid))
    }

    /// The name of a group.
    pub fn group(&mut self, gid: u32) -> &str {
        named(&mut self.groups, gid, || system::group_name(gid))
    }
}

fn named(known: &mut HashMap<u32, String>, id: u32, ask: impl FnOnce() -> Option<String>) -> &str {
    match known.entry(id) {
        Entry::Occupied(entry) => entry.into_mut(),
        Entry::Vacant(entry) => entry.insert(ask().unwrap_or_default()),
    }
}
