//! Expiries: the service's lists of snapshots that the signed policy no longer keeps. An expiry is believed only if
//! applying that policy again gives the same result.

use serde::Serialize;

use crate::id::{ObjectHash, SnapshotId};
use crate::limits::CHANGE_SNAPSHOTS;
use crate::time::Time;
use crate::wire::DecodeError;
use crate::wire::cbor::{Reader, Writer};
use crate::wire::chain::Link;
use crate::wire::record::{self, Kind, RecordError};

/// Snapshots that expire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Expiry {
    /// Its number; expiries are numbered from 1.
    pub number: u64,
    /// The hash of the previous expiry; [`ObjectHash::NONE`] for number 1.
    pub previous: ObjectHash,
    /// The number of the change that holds the policy.
    pub policy: u64,
    /// The number of the last change folded in. The expiry is believed only on the state with that change.
    pub change: u64,
    /// The store's time at which the policy was applied.
    pub time: Time,
    /// The snapshots that the policy no longer keeps; at most [`CHANGE_SNAPSHOTS`].
    pub snapshots: Vec<SnapshotId>,
}

impl Expiry {
    /// Encodes the record.
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.map(6).key(0).uint(self.number).key(1).bytes(self.previous.as_bytes()).key(2).uint(self.policy);
        writer.key(3).time(self.time).key(4).byte_strings(&self.snapshots).key(5).uint(self.change);
        record::close(Kind::Expiry, &writer.finish())
    }

    /// Decodes the expiry stored under this number.
    pub fn decode(number: u64, bytes: &[u8]) -> Result<Self, RecordError> {
        let body = record::open(Kind::Expiry, bytes)?;
        let expiry = Self::read(body).map_err(RecordError::malformed(Kind::Expiry))?;
        if expiry.number != number {
            return Err(RecordError::Misplaced { kind: Kind::Expiry.name() });
        }
        Ok(expiry)
    }

    /// The expiry's place in the chain, given the hash of the stored object.
    pub fn link(&self, hash: ObjectHash) -> Link {
        Link { number: self.number, previous: self.previous, hash }
    }

    fn read(body: &[u8]) -> Result<Self, DecodeError> {
        let expiry = Reader::record(body, |fields| {
            let (number, previous) = Link::read(fields, 0, 1)?;
            let policy = fields.required(2)?.uint()?;
            let time = fields.required(3)?.time()?;
            let snapshots = fields.required(4)?.ids(CHANGE_SNAPSHOTS)?;
            Ok(Self { number, previous, policy, change: fields.required(5)?.uint()?, time, snapshots })
        })?;
        if expiry.policy == 0 || expiry.policy > expiry.change {
            return Err(DecodeError::new(0, "an expiry names a policy behind the changes it knows"));
        }
        Ok(expiry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expiry() -> Expiry {
        let snapshots = vec![SnapshotId([1; 16]), SnapshotId([2; 16])];
        Expiry { number: 1, previous: ObjectHash::NONE, policy: 3, change: 5, time: Time(4), snapshots }
    }

    #[test]
    fn an_expiry_reads_back_under_its_own_number_only() {
        let bytes = expiry().encode();
        assert_eq!(Expiry::decode(1, &bytes), Ok(expiry()));
        assert_eq!(Expiry::decode(2, &bytes), Err(RecordError::Misplaced { kind: "expiry" }));
    }

    #[test]
    fn a_policy_behind_the_last_change_is_refused() {
        let strange = Expiry { policy: 6, ..expiry() };
        assert!(matches!(Expiry::decode(1, &strange.encode()), Err(RecordError::Malformed { .. })));
    }
}
