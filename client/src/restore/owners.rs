//! Owners: the owner of an entry on this machine. Names come before numbers, because another machine may number its
//! users differently.

use std::collections::HashMap;
use std::sync::Arc;

use copal_format::tree::Owner;

use crate::system;

/// Owners in a snapshot and their numbers on this machine.
#[derive(Default)]
pub(crate) struct Owners {
    are_numeric: bool,
    users: HashMap<Vec<u8>, Option<u32>>,
    groups: HashMap<Vec<u8>, Option<u32>>,
    /// The last result: most entries have the same owner as the one before.
    last: Option<(Arc<Owner>, Arc<Owner>)>,
}

impl Owners {
    pub(crate) fn new(are_numeric: bool) -> Self {
        Self { are_numeric, ..Self::default() }
    }

    /// The owner with the numbers of its names on this machine. If a name is unknown here, its number stays.
    pub(crate) fn here(&mut self, owner: &Arc<Owner>) -> Arc<Owner> {
        if self.are_numeric {
            return owner.clone();
        }
        if let Some((last, here)) = &self.last
            && (Arc::ptr_eq(last, owner) || last == owner)
        {
            return here.clone();
        }
        let uid = number(&mut self.users, &owner.user, system::user_named);
        let gid = number(&mut self.groups, &owner.group, system::group_named);
        let (uid, gid) = (uid.unwrap_or(owner.uid), gid.unwrap_or(owner.gid));
        let here = Arc::new(Owner { uid, gid, ..(**owner).clone() });
        self.last = Some((owner.clone(), here.clone()));
        here
    }
}

fn number(
    known: &mut HashMap<Vec<u8>, Option<u32>>,
    name: &[u8],
    ask: impl FnOnce(&str) -> Option<u32>,
) -> Option<u32> {
    if let Some(number) = known.get(name) {
        return *number;
    }
    let number = std::str::from_utf8(name).ok().filter(|name| !name.is_empty()).and_then(ask);
    known.insert(name.to_vec(), number);
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(uid: u32, user: &str, group: &str) -> Arc<Owner> {
        Arc::new(Owner { uid, gid: uid, user: user.into(), group: group.into() })
    }

    #[test]
    fn a_name_that_is_known_here_counts_before_the_number() {
        let mut owners = Owners::new(false);
        let here = owners.here(&owner(4_321, "root", "no such group"));
        assert_eq!((here.uid, here.gid), (0, 4_321));
        let here = owners.here(&owner(4_321, "", ""));
        assert_eq!((here.uid, here.gid), (4_321, 4_321));
    }

    #[test]
    fn numbers_count_if_they_are_asked_for() {
        assert_eq!(Owners::new(true).here(&owner(4_321, "root", "root")).uid, 4_321);
    }
}
