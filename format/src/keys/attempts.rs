//! Attempts: which key slots to try with an input, in which order, and which to try only after asking.
//!
//! A slot proves nothing before it opens, and each passphrase slot costs the memory and time that it asks for. Anyone
//! who may write to `keys/` can plant slots. So the cheapest slots come first, and expensive ones need a confirmation.

use core::fmt;
use std::collections::VecDeque;

use super::slot::{Argon2Params, Slot, SlotKind};
use crate::id::RepositoryId;
use crate::order;

/// The slots that an input may open, in the order of attempts.
#[derive(Clone, Debug)]
pub struct Attempts {
    slots: VecDeque<(Option<Doubt>, Slot)>,
    tried: usize,
    work: u64,
}

/// The next attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// Try this slot.
    Open(Slot),
    /// Ask whether to try this slot.
    Ask(Slot, Doubt),
}

/// Why to ask before trying a slot.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doubt {
    /// It asks for more memory than `UNASKED_KIB`.
    Memory,
    /// The slots before it have used up the time or the number of attempts that need no question.
    Work,
    /// It claims to belong to another repository than the descriptor's.
    Repository,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Doubt::Memory => "it asks for more memory than is usual",
            Doubt::Work => "many slots were tried before it",
            Doubt::Repository => "it belongs to another repository",
        })
    }
}

impl Attempts {
    /// Selects the slots of this kind: first those of the repository, cheapest first. `repository` is none if no
    /// descriptor is known.
    pub fn new(slots: impl IntoIterator<Item = Slot>, kind: SlotKind, repository: Option<RepositoryId>) -> Self {
        let doubted = |slot: Slot| {
            let cost = slot.cost();
            let is_others = repository.is_some_and(|repository| repository != slot.repository());
            let is_large = cost.is_some_and(|cost| cost.m_kib > UNASKED_KIB);
            let doubt = if is_others { Some(Doubt::Repository) } else { is_large.then_some(Doubt::Memory) };
            // A slot without cost needs no question.
            (doubt.filter(|_| cost.is_some()), slot)
        };
        let mut slots: Vec<_> = slots.into_iter().filter(|slot| slot.kind() == kind).map(doubted).collect();
        let key = |(doubt, slot): &(Option<Doubt>, Slot)| (*doubt, slot.cost().map_or(0, work), slot.id());
        order::sort_by(&mut slots, |a, b| key(a).cmp(&key(b)));
        Self { slots: slots.into(), tried: 0, work: 0 }
    }

    /// The next attempt; none if every slot was returned.
    pub fn poll(&mut self) -> Option<Attempt> {
        let (doubt, slot) = self.slots.pop_front()?;
        let more = slot.cost().map_or(0, work);
        self.work = self.work.saturating_add(more);
        self.tried += usize::from(more > 0);
        let is_much = more > 0 && (self.tried > UNASKED_SLOTS || self.work > UNASKED_WORK);
        Some(match doubt.or(is_much.then_some(Doubt::Work)) {
            None => Attempt::Open(slot),
            Some(doubt) => Attempt::Ask(slot, doubt),
        })
    }
}

/// KiB written in all passes: roughly the time that stretching takes.
fn work(cost: Argon2Params) -> u64 {
    u64::from(cost.m_kib).saturating_mul(cost.t.into())
}

/// The most memory of one slot without a question, in KiB: 1 GiB.
pub(crate) const UNASKED_KIB: u32 = 1 << 20;
/// The most passphrase slots tried without a question.
pub(crate) const UNASKED_SLOTS: usize = 64;
/// The most work of all slots without a question: 64 times the memory of one slot, about a minute on a small machine.
pub(crate) const UNASKED_WORK: u64 = 64 * UNASKED_KIB as u64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::SlotId;
    use crate::keys::owner::OwnerSecret;
    use crate::keys::secret::Secret;
    use crate::keys::slot::{SlotInput, SlotParams, seal};
    use crate::time::Time;

    const REPOSITORY: RepositoryId = RepositoryId([1; 16]);

    /// A slot as somebody may plant it: what it asks for is in its header, and nothing was ever stretched for it.
    fn planted(id: u8, repository: RepositoryId, m_kib: u32, t: u32) -> Slot {
        let secret = |byte| Secret::new([byte; 32]);
        let owner = OwnerSecret::new(repository, secret(2), secret(3), secret(4));
        let argon2 = Argon2Params { m_kib: 8 << 10, t: 1, p: 1 };
        let params = SlotParams { id: SlotId([id; 16]), created: Time(0), nonce: [0; 12], salt: [0; 16], argon2 };
        let input = SlotInput::passphrase("words").expect("a passphrase");
        Slot::parse(&seal(&input, &params, &owner)).expect("a slot").asking_for(Argon2Params { m_kib, t, p: 1 })
    }

    fn order(slots: Vec<Slot>, repository: Option<RepositoryId>) -> Vec<(u8, Option<Doubt>)> {
        let mut attempts = Attempts::new(slots, SlotKind::Passphrase, repository);
        let next = || {
            attempts.poll().map(|attempt| match attempt {
                Attempt::Open(slot) => (slot.id().0[0], None),
                Attempt::Ask(slot, doubt) => (slot.id().0[0], Some(doubt)),
            })
        };
        core::iter::from_fn(next).collect()
    }

    #[test]
    fn the_cheapest_slots_of_the_repository_come_first_and_a_gigabyte_is_asked_about() {
        let other = RepositoryId([9; 16]);
        let slots = vec![
            planted(1, REPOSITORY, 4 << 20, 1),
            planted(2, other, 8 << 10, 1),
            planted(3, REPOSITORY, 1 << 20, 2),
            planted(4, REPOSITORY, 64 << 10, 3),
        ];
        let found = order(slots.clone(), Some(REPOSITORY));
        assert_eq!(found, [(4, None), (3, None), (1, Some(Doubt::Memory)), (2, Some(Doubt::Repository))]);
        let unknown = order(slots, None);
        assert_eq!(unknown, [(2, None), (4, None), (3, None), (1, Some(Doubt::Memory))]);
    }

    #[test]
    fn many_slots_and_much_work_are_asked_about() {
        let one = planted(1, REPOSITORY, 8 << 10, 1);
        let found = order(vec![one; 70], Some(REPOSITORY));
        assert_eq!(found.iter().filter(|(_, doubt)| doubt.is_none()).count(), UNASKED_SLOTS);
        assert!(found[UNASKED_SLOTS..].iter().all(|(_, doubt)| *doubt == Some(Doubt::Work)));
        let slow = planted(2, REPOSITORY, UNASKED_KIB, 40);
        assert_eq!(order(vec![slow; 2], Some(REPOSITORY)), [(2, None), (2, Some(Doubt::Work))]);
    }

    #[test]
    fn slots_of_another_kind_are_left_out_and_what_costs_nothing_is_tried_unasked() {
        let secret = |byte| Secret::new([byte; 32]);
        let owner = OwnerSecret::new(REPOSITORY, secret(2), secret(3), secret(4));
        let argon2 = Argon2Params::default();
        let params = SlotParams { id: SlotId([5; 16]), created: Time(0), nonce: [0; 12], salt: [0; 16], argon2 };
        let free = Slot::parse(&seal(&SlotInput::KeyFile(secret(7)), &params, &owner)).expect("a slot");
        assert_eq!(order(vec![free.clone()], Some(REPOSITORY)), []);
        let slots = vec![free; 100];
        let mut attempts = Attempts::new(slots, SlotKind::KeyFile, Some(RepositoryId([8; 16])));
        assert!((0..100).all(|_| matches!(attempts.poll(), Some(Attempt::Open(_)))));
    }
}
