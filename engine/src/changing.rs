//! Changing: makes the next changes of a repository's chain, one after another, beside other writers. The host reads
//! and creates the objects.

mod fit;
mod marks;

pub use marks::{Mark, TagError, Tagged, tag};

use std::collections::VecDeque;

use copal_format::change::{Chain, Change, Operation};
use copal_format::id::{ClientId, ObjectHash};
use copal_format::keys::owner::OwnerSecret;
use copal_format::layout;
use copal_format::time::Time;

/// The number and hash of a change.
pub type Link = (u64, ObjectHash);

/// Operations on their way into the chain of changes.
#[derive(Clone, Debug)]
pub struct Changing {
    end: Chain,
    is_end_found: bool,
    met: Option<Met>,
    parts: VecDeque<Vec<Operation>>,
}

/// A change that the host has met before. It must still be in the chain.
#[derive(Copy, Clone, Debug)]
struct Met {
    link: Link,
    is_there: bool,
}

/// The chain lacks a change that was there before: the store lost it, is an older copy, or lies. Nothing may be signed
/// on such a chain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("change {number} was there before, and now it is gone or another one")]
pub struct ChainLost {
    /// The number of the change that was met.
    pub number: u64,
}

impl Changing {
    /// Appends operations to the chain. `head` is the newest change that a root names, `met` the newest change that the
    /// host remembers.
    pub fn new(head: Option<Link>, met: Option<Link>, operations: Vec<Operation>) -> Self {
        let end = head.map_or_else(Chain::new, |(number, hash)| Chain::after(number, hash));
        let met = met.map(|link| Met { link, is_there: head == Some(link) });
        Self { end, is_end_found: false, met, parts: fit::parts(operations).into() }
    }

    /// The name of the next change to read; none once the end of the chain is found.
    pub fn unread(&self) -> Option<String> {
        match self.met {
            Some(met) if !met.is_there && met.link.0 <= self.end.number() => Some(layout::change(met.link.0)),
            _ => (!self.is_end_found).then(|| layout::change(self.end.due())),
        }
    }

    /// Takes the change that [`Changing::unread`] names; `None` if it does not exist.
    pub fn read(&mut self, bytes: Option<&[u8]>) -> Result<(), ChainLost> {
        let hash = bytes.map(ObjectHash::of);
        let end = self.end.number();
        let Some(met) = self.met.as_mut().filter(|met| !met.is_there) else {
            self.follow(hash);
            return Ok(());
        };
        let number = met.link.0;
        let is_about_met = number <= end || number == end.saturating_add(1);
        met.is_there = is_about_met && hash == Some(met.link.1);
        if is_about_met && !met.is_there || hash.is_none() {
            return Err(ChainLost { number });
        }
        if number > end {
            self.follow(hash);
        }
        Ok(())
    }

    fn follow(&mut self, hash: Option<ObjectHash>) {
        match hash {
            Some(hash) => self.end.advance(hash),
            None => self.is_end_found = true,
        }
    }

    /// The next change to create, signed by the owner where it must be; none if all operations are in the chain, or its
    /// end is not found yet.
    pub fn due(&self, client: ClientId, time: Time, owner: &OwnerSecret) -> Option<Change> {
        let operations = self.parts.front().filter(|_| self.unread().is_none())?.clone();
        let mut change = Change { number: self.end.due(), previous: self.end.hash(), client, time, operations };
        change.sign_as_owner(owner.repository(), &owner.signing_key());
        Some(change)
    }

    /// Takes the bytes stored under the name of the change that was due. If another writer was faster, they are its
    /// change, and the operations come after it. Returns whether the bytes are `ours`.
    pub fn stored(&mut self, there: &[u8], ours: &[u8]) -> bool {
        self.end.advance(ObjectHash::of(there));
        let is_ours = there == ours;
        if is_ours {
            self.parts.pop_front();
        }
        is_ours
    }

    /// The last change of the chain.
    pub fn end(&self) -> Link {
        (self.end.number(), self.end.hash())
    }
}

#[cfg(test)]
mod tests {
    use copal_format::id::{RepositoryId, SnapshotId};
    use copal_format::keys::client::ClientKeys;
    use copal_format::keys::secret::Secret;

    use super::*;

    const CLIENT: ClientId = ClientId([7; 16]);

    fn owner() -> OwnerSecret {
        let seed = |byte| Secret::new([byte; 32]);
        OwnerSecret::new(RepositoryId([1; 16]), seed(1), seed(2), seed(3))
    }

    fn pin() -> Vec<Operation> {
        vec![Operation::Pin(vec![SnapshotId([9; 16])])]
    }

    fn signed(change: &Change) -> Vec<u8> {
        let keys = ClientKeys::new(Secret::new([4; 32]), Secret::new([5; 32]));
        change.sign(owner().repository(), &keys.manifest_key())
    }

    /// Follows a chain that consists of these records, from number 1 on.
    fn follow(changing: &mut Changing, chain: &[&[u8]]) -> Result<(), ChainLost> {
        while let Some(name) = changing.unread() {
            let number = layout::trailing_number(&name).unwrap();
            changing.read(chain.get(number as usize - 1).copied())?;
        }
        Ok(())
    }

    #[test]
    fn a_change_names_the_hash_of_the_last_one_there() {
        let mut changing = Changing::new(Some((1, ObjectHash::of(b"one"))), None, pin());
        assert_eq!(changing.due(CLIENT, Time(5), &owner()), None, "before the end is found");
        follow(&mut changing, &[b"one", b"two"]).unwrap();
        let change = changing.due(CLIENT, Time(5), &owner()).unwrap();
        assert_eq!((change.number, change.previous, change.operations), (3, ObjectHash::of(b"two"), pin()));
    }

    #[test]
    fn behind_another_writers_change_the_operations_are_signed_anew() {
        let mut changing = Changing::new(None, None, pin());
        follow(&mut changing, &[]).unwrap();
        let first = signed(&changing.due(CLIENT, Time(5), &owner()).unwrap());
        assert!(!changing.stored(b"another writer's", &first));
        let second = changing.due(CLIENT, Time(5), &owner()).unwrap();
        assert_eq!((second.number, second.previous), (2, ObjectHash::of(b"another writer's")));
        let second = signed(&second);
        assert!(changing.stored(&second, &second));
        assert_eq!(changing.due(CLIENT, Time(5), &owner()), None);
        assert_eq!(changing.end(), (2, ObjectHash::of(&second)));
    }

    #[test]
    fn nothing_is_signed_on_a_chain_that_lacks_a_change_that_was_met() {
        let met = Some((2, ObjectHash::of(b"two")));
        let heads = [
            None,
            Some((1, ObjectHash::of(b"one"))),
            Some((2, ObjectHash::of(b"TWO"))),
            Some((3, ObjectHash::of(b"3"))),
        ];
        let other: [&[&[u8]]; 4] = [&[], &[b"one"], &[b"one", b"TWO"], &[b"one", b"TWO", b"3"]];
        for head in heads {
            for chain in other {
                let mut changing = Changing::new(head, met, pin());
                assert_eq!(follow(&mut changing, chain), Err(ChainLost { number: 2 }), "{head:?} {chain:?}");
                assert_eq!(changing.due(CLIENT, Time(5), &owner()), None, "{head:?} {chain:?}");
            }
        }
    }

    #[test]
    fn a_chain_with_the_change_that_was_met_is_followed_to_its_end() {
        let chain: [&[u8]; 3] = [b"one", b"two", b"three"];
        for met in 1..=3u64 {
            for head in 0..=3u64 {
                let link = |number: u64| (number, ObjectHash::of(chain[number as usize - 1]));
                let mut changing = Changing::new((head > 0).then(|| link(head)), Some(link(met)), pin());
                follow(&mut changing, &chain).unwrap();
                assert_eq!(changing.due(CLIENT, Time(5), &owner()).unwrap().number, 4, "met {met}, head {head}");
            }
        }
    }
}
