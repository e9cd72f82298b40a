//! Chain: numbered records that each name the hash of the previous one, so that none can be omitted or replaced.

use super::DecodeError;
use super::cbor::Fields;
use crate::id::ObjectHash;

/// What a record says about its place in a chain.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The record's number.
    pub number: u64,
    /// The hash of the previous record, as this one claims it.
    pub previous: ObjectHash,
    /// The record's own hash.
    pub hash: ObjectHash,
}

impl Link {
    /// Reads a record's number and the previous record's hash. Numbers start at 1; only number 1 has no previous one.
    pub(crate) fn read(
        fields: &mut Fields<'_, '_>,
        number_key: u64,
        previous_key: u64,
    ) -> Result<(u64, ObjectHash), DecodeError> {
        let field = fields.required(number_key)?;
        let zero = field.error("numbers start at 1");
        let number = field.uint()?;
        let field = fields.required(previous_key)?;
        let wrong = field.error("number 1, and no other, has nothing before it");
        let previous = ObjectHash(field.fixed()?);
        if number == 0 {
            return Err(zero);
        }
        if (number == 1) != (previous == ObjectHash::NONE) {
            return Err(wrong);
        }
        Ok((number, previous))
    }
}

/// The last record of a chain that was followed so far.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    number: u64,
    hash: ObjectHash,
}

/// Why a record does not continue the chain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ChainError {
    /// Another number was due: a record is missing, or repeated.
    #[error("number {found} was read where number {due} was due")]
    Gap { due: u64, found: u64 },
    /// The record names another hash than that of the previous record.
    #[error("number {number} does not name the hash of the record before it")]
    Broken { number: u64 },
}

impl Chain {
    /// A chain with no record yet: number 1 is due.
    pub fn new() -> Self {
        Self::after(0, ObjectHash::NONE)
    }

    /// A chain already followed up to the record of this number and hash.
    pub fn after(number: u64, hash: ObjectHash) -> Self {
        Self { number, hash }
    }

    /// Accepts the record that is due. Refuses any other and stays unchanged.
    pub fn next(&mut self, link: impl Into<Link>) -> Result<(), ChainError> {
        let link = link.into();
        if self.number.checked_add(1) != Some(link.number) {
            return Err(ChainError::Gap { due: self.due(), found: link.number });
        }
        if link.previous != self.hash {
            return Err(ChainError::Broken { number: link.number });
        }
        self.advance(link.hash);
        Ok(())
    }

    /// The number that comes next. Saturates at 2⁶⁴−1, which no chain reaches in steps of one.
    pub fn due(&self) -> u64 {
        self.number.saturating_add(1)
    }

    /// Advances by one record without checking its `previous`: a writer must link to whatever is stored.
    pub fn advance(&mut self, hash: ObjectHash) {
        *self = Self::after(self.due(), hash);
    }

    /// The number of the last accepted record; 0 before the first.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The hash of the last accepted record, which the next one must name.
    pub fn hash(&self) -> ObjectHash {
        self.hash
    }
}

impl Default for Chain {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(number: u64, previous: u8, hash: u8) -> Link {
        let hash_of = |byte| if byte == 0 { ObjectHash::NONE } else { ObjectHash([byte; 32]) };
        Link { number, previous: hash_of(previous), hash: hash_of(hash) }
    }

    #[test]
    fn each_record_follows_the_one_before() {
        let mut chain = Chain::new();
        assert_eq!(chain.next(link(1, 0, 1)), Ok(()));
        assert_eq!(chain.next(link(2, 1, 2)), Ok(()));
        assert_eq!((chain.number(), chain.hash()), (2, ObjectHash([2; 32])));
        assert_eq!(Chain::after(1, ObjectHash([1; 32])).next(link(2, 1, 2)), Ok(()));
    }

    #[test]
    fn a_gap_a_repetition_and_a_broken_chain_are_refused_and_change_nothing() {
        let mut chain = Chain::after(1, ObjectHash([1; 32]));
        assert_eq!(chain.next(link(3, 1, 3)), Err(ChainError::Gap { due: 2, found: 3 }));
        assert_eq!(chain.next(link(1, 0, 1)), Err(ChainError::Gap { due: 2, found: 1 }));
        assert_eq!(chain.next(link(2, 9, 2)), Err(ChainError::Broken { number: 2 }));
        assert_eq!(chain.next(link(2, 1, 2)), Ok(()));
    }

    #[test]
    fn nothing_follows_the_last_number() {
        let mut chain = Chain::after(u64::MAX, ObjectHash([1; 32]));
        assert!(chain.next(link(0, 1, 2)).is_err() && chain.next(link(u64::MAX, 1, 2)).is_err());
    }
}
