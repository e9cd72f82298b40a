//! Changes: a full client's signed decisions about existing snapshots (forget, undelete, pin, tag) and the policy. A
//! change that removes a protection also has the owner's signature: a client's key is on its disk, the owner's is not.

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde::Serialize;

use crate::id::{ClientId, ObjectHash, PackId, RepositoryId, SnapshotId, TagId};
use crate::keys::owner::OwnerSecret;
use crate::limits::{
    CHANGE_LOSSES, CHANGE_OPERATIONS, CHANGE_PACKS, CHANGE_SNAPSHOTS, POLICY_BYTES, SEALED_TEXT_BYTES, SNAPSHOT_TAGS,
};
use crate::policy::SignedPolicy;
use crate::proof::Proof;
use crate::shown;
use crate::time::Time;
use crate::wire::DecodeError;
use crate::wire::cbor::{Reader, Writer};
pub use crate::wire::chain::{Chain, ChainError, Link};
use crate::wire::record::{self, Kind, RecordError, Unverified, label};

/// One record of the repository's chain of changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Its number; a repository's changes are numbered from 1.
    pub number: u64,
    /// The hash of the previous change; [`ObjectHash::NONE`] for number 1.
    pub previous: ObjectHash,
    /// The client that made it.
    pub client: ClientId,
    /// When it was made, by the client's clock.
    pub time: Time,
    /// Its operations, in order; at most [`CHANGE_OPERATIONS`].
    pub operations: Vec<Operation>,
}

/// One operation of a change. A list of snapshots has at most [`CHANGE_SNAPSHOTS`] ids.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Hides these snapshots, so that they need not be kept.
    Forget(Vec<SnapshotId>),
    /// Brings these forgotten snapshots back.
    Undelete(Vec<SnapshotId>),
    /// Keeps these snapshots whatever the policy says.
    Pin(Vec<SnapshotId>),
    /// Ends the pin of these snapshots.
    Unpin(Vec<SnapshotId>),
    /// Changes tags of snapshots; at most [`SNAPSHOT_TAGS`] in each list.
    Tag {
        /// The snapshots.
        snapshots: Vec<SnapshotId>,
        /// Tags to add, with their sealed names.
        #[serde(skip)]
        add: Vec<(TagId, Vec<u8>)>,
        /// Tags to remove.
        remove: Vec<TagId>,
    },
    /// A policy without the owner's signature, as `retention::SignedPolicy` writes it; at most [`POLICY_BYTES`]. The
    /// service ignores it, and no client writes it any more.
    #[serde(serialize_with = "shown::hex")]
    Policy(Vec<u8>),
    /// Sets the policy that the service follows, signed by the owner.
    OwnerPolicy {
        /// The policy, at most [`POLICY_BYTES`].
        #[serde(serialize_with = "shown::hex")]
        policy: Vec<u8>,
        /// The owner's signature, which [`Change::sign_as_owner`] makes.
        signature: OwnerSignature,
    },
    /// Releases suspicious snapshots: they no longer hold their series.
    Release {
        /// The snapshots.
        snapshots: Vec<SnapshotId>,
        /// The owner's signature, which [`Change::sign_as_owner`] makes.
        signature: OwnerSignature,
    },
    /// Proves packs: every id in their tables is right, as the owner's signature states. At most `CHANGE_PACKS`.
    Prove {
        /// The packs.
        packs: Vec<PackId>,
        /// The owner's signature.
        proof: Proof,
    },
    /// Accepts that these manifests and changes are lost for good: a check no longer counts them as damage. At most
    /// [`CHANGE_LOSSES`] of each.
    AcceptLoss {
        /// Clients, and the numbers of their manifests.
        manifests: Vec<(ClientId, u64)>,
        /// Numbers of changes.
        changes: Vec<u64>,
        /// The owner's signature, which [`Change::sign_as_owner`] makes.
        signature: OwnerSignature,
    },
}

/// The owner's signature of one operation. It covers the change's place in the chain.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OwnerSignature(#[serde(serialize_with = "shown::hex")] pub [u8; 64]);

impl OwnerSignature {
    /// A placeholder until the change is signed.
    pub const NONE: Self = Self([0; 64]);
}

/// A change whose signature and name were checked, with the hash of its bytes. Only [`Change::verify`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::manual_non_exhaustive, reason = "nothing else in this crate may make one either")]
pub struct VerifiedChange {
    /// The change.
    pub change: Change,
    /// The SHA-256 of the stored object.
    pub hash: ObjectHash,
    checked: (),
}

impl Change {
    /// Encodes the record, signed with the client's manifest key.
    pub fn sign(&self, repository: RepositoryId, key: &SigningKey) -> Vec<u8> {
        record::sign(Kind::Change, repository, &self.body(), key)
    }

    /// The unsigned record, for a host that holds the client's manifest key itself.
    pub fn unsigned(&self, repository: RepositoryId) -> record::Unsigned {
        record::Unsigned::new(Kind::Change, repository, &self.body())
    }

    /// The last policy that can be read, of those that the owner must have signed.
    pub fn owner_policy(&self) -> Option<SignedPolicy> {
        let brought = self.operations.iter().filter_map(Operation::policy).filter(|(_, by_owner)| *by_owner);
        brought.filter_map(|(bytes, _)| SignedPolicy::decode(bytes).ok()).next_back()
    }

    /// Fills in the owner's signatures, which are valid only at this place of the chain.
    pub fn sign_as_owner(&mut self, repository: RepositoryId, key: &SigningKey) {
        let place = (self.number, self.previous);
        for operation in &mut self.operations {
            let signed = operation.signed_by_owner(repository, place).map(|bytes| key.sign(&bytes).to_bytes());
            if let (Some(stands), Some(signed)) = (operation.owner_signature_mut(), signed) {
                *stands = OwnerSignature(signed);
            }
        }
    }

    /// Whether the owner signed every operation that needs it, for this place of the chain.
    pub fn is_signed_by_owner(&self, repository: RepositoryId, key: &[u8; 32]) -> bool {
        let place = (self.number, self.previous);
        let is_proven = |operation: &Operation| match operation {
            Operation::Prove { packs, proof } => proof.holds(repository, key, packs.iter().copied()),
            _ => true,
        };
        if !self.operations.iter().all(is_proven) {
            return false;
        }
        let mut signed = self.operations.iter().filter_map(|operation| {
            Some((operation.signed_by_owner(repository, place)?, operation.owner_signature()?))
        });
        let is_by = |key: &VerifyingKey, (bytes, signature): (Vec<u8>, &OwnerSignature)| {
            key.verify_strict(&bytes, &Signature::from_bytes(&signature.0)).is_ok()
        };
        // Most changes need no owner's signature: do not even parse the key then.
        let Some(first) = signed.next() else { return true };
        VerifyingKey::from_bytes(key).is_ok_and(|key| is_by(&key, first) && signed.all(|signed| is_by(&key, signed)))
    }

    /// The client that the change claims as its author, to find that client's key. Not verified.
    pub fn claimed_client(bytes: &[u8]) -> Result<ClientId, RecordError> {
        let record = Unverified::parse(Kind::Change, bytes)?;
        let change = Self::read(record.claimed_body()).map_err(RecordError::malformed(Kind::Change))?;
        Ok(change.client)
    }

    /// Verifies the bytes as the change of this number: signed by the client's key, with this client and number inside.
    pub fn verify(
        repository: RepositoryId,
        key: &[u8; 32],
        client: ClientId,
        number: u64,
        bytes: &[u8],
    ) -> Result<VerifiedChange, RecordError> {
        let body = Unverified::parse(Kind::Change, bytes)?.verify(repository, key)?;
        let change = Self::read(body).map_err(RecordError::malformed(Kind::Change))?;
        if (change.client, change.number) != (client, number) {
            return Err(RecordError::Misplaced { kind: Kind::Change.name() });
        }
        Ok(VerifiedChange { change, hash: ObjectHash::of(bytes), checked: () })
    }

    /// Reads a change whose hash a root names. Does not check the signature: that was done when the root was made, and
    /// the client may have been revoked since.
    pub fn vouched(number: u64, hash: ObjectHash, bytes: &[u8]) -> Result<Self, RecordError> {
        let record = Unverified::parse(Kind::Change, bytes)?;
        let change = Self::read(record.claimed_body()).map_err(RecordError::malformed(Kind::Change))?;
        if change.number != number || ObjectHash::of(bytes) != hash {
            return Err(RecordError::Misplaced { kind: Kind::Change.name() });
        }
        Ok(change)
    }

    fn body(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.map(5).key(0).uint(self.number).key(1).bytes(self.previous.as_bytes());
        writer.key(2).bytes(self.client.as_bytes()).key(3).time(self.time);
        writer.key(4).array(self.operations.len());
        for operation in &self.operations {
            operation.write(&mut writer);
        }
        writer.finish()
    }

    fn read(body: &[u8]) -> Result<Self, DecodeError> {
        Reader::record(body, |fields| {
            let (number, previous) = Link::read(fields, 0, 1)?;
            Ok(Self {
                number,
                previous,
                client: fields.required(2)?.id()?,
                time: fields.required(3)?.time()?,
                operations: fields.required(4)?.list(CHANGE_OPERATIONS, Operation::read)?,
            })
        })
    }
}

impl From<&VerifiedChange> for Link {
    fn from(verified: &VerifiedChange) -> Self {
        Self { number: verified.change.number, previous: verified.change.previous, hash: verified.hash }
    }
}

impl Operation {
    /// States, with the owner's signature, that every chunk and page of these packs was compared with its id.
    pub fn prove(owner: &OwnerSecret, packs: Vec<PackId>) -> Self {
        let proof = Proof::sign(owner, packs.iter().copied());
        Self::Prove { packs, proof }
    }

    /// The packs it proves.
    pub fn proven(&self) -> &[PackId] {
        if let Self::Prove { packs, .. } = self { packs } else { &[] }
    }

    /// The snapshots it is about.
    pub fn snapshots(&self) -> &[SnapshotId] {
        match self {
            Operation::Forget(ids) | Operation::Undelete(ids) | Operation::Pin(ids) | Operation::Unpin(ids) => ids,
            Operation::Tag { snapshots, .. } | Operation::Release { snapshots, .. } => snapshots,
            Operation::Policy(_)
            | Operation::OwnerPolicy { .. }
            | Operation::Prove { .. }
            | Operation::AcceptLoss { .. } => &[],
        }
    }

    /// The policy it sets, if any, and whether the owner must have signed it.
    pub fn policy(&self) -> Option<(&[u8], bool)> {
        match self {
            Operation::Policy(policy) => Some((policy, false)),
            Operation::OwnerPolicy { policy, .. } => Some((policy, true)),
            _ => None,
        }
    }

    /// The bytes that the owner signs; none for an operation that any full client may make.
    fn signed_by_owner(&self, repository: RepositoryId, (number, previous): (u64, ObjectHash)) -> Option<Vec<u8>> {
        let mut bytes = match self {
            Operation::OwnerPolicy { .. } => label("owner-policy"),
            Operation::Release { .. } => label("release"),
            Operation::AcceptLoss { .. } => label("accept-loss"),
            _ => return None,
        };
        bytes.extend_from_slice(repository.as_bytes());
        bytes.extend_from_slice(&number.to_le_bytes());
        bytes.extend_from_slice(previous.as_bytes());
        match self {
            Operation::OwnerPolicy { policy, .. } => bytes.extend_from_slice(policy),
            Operation::AcceptLoss { manifests, changes, .. } => {
                bytes.extend_from_slice(&(manifests.len() as u64).to_le_bytes());
                for (client, number) in manifests {
                    bytes.extend_from_slice(client.as_bytes());
                    bytes.extend_from_slice(&number.to_le_bytes());
                }
                changes.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
            }
            other => other.snapshots().iter().for_each(|id| bytes.extend_from_slice(id.as_bytes())),
        }
        Some(bytes)
    }

    fn owner_signature(&self) -> Option<&OwnerSignature> {
        match self {
            Operation::OwnerPolicy { signature, .. }
            | Operation::Release { signature, .. }
            | Operation::AcceptLoss { signature, .. } => Some(signature),
            _ => None,
        }
    }

    fn owner_signature_mut(&mut self) -> Option<&mut OwnerSignature> {
        match self {
            Operation::OwnerPolicy { signature, .. }
            | Operation::Release { signature, .. }
            | Operation::AcceptLoss { signature, .. } => Some(signature),
            _ => None,
        }
    }

    fn write(&self, writer: &mut Writer) {
        match self {
            Self::Forget(snapshots) => writer.array(2).uint(1).byte_strings(snapshots),
            Self::Undelete(snapshots) => writer.array(2).uint(2).byte_strings(snapshots),
            Self::Pin(snapshots) => writer.array(2).uint(3).byte_strings(snapshots),
            Self::Unpin(snapshots) => writer.array(2).uint(4).byte_strings(snapshots),
            Self::Tag { snapshots, add, remove } => {
                writer.array(4).uint(5).byte_strings(snapshots).array(add.len());
                for (tag, name) in add {
                    writer.array(2).bytes(tag.as_bytes()).bytes(name);
                }
                writer.byte_strings(remove)
            }
            Self::Policy(policy) => writer.array(2).uint(6).bytes(policy),
            Self::OwnerPolicy { policy, signature } => writer.array(3).uint(7).bytes(policy).bytes(&signature.0),
            Self::Release { snapshots, signature } => {
                writer.array(3).uint(8).byte_strings(snapshots).bytes(&signature.0)
            }
            Self::Prove { packs, proof } => writer.array(3).uint(9).byte_strings(packs).bytes(&proof.0),
            Self::AcceptLoss { manifests, changes, signature } => {
                writer.array(4).uint(10).array(manifests.len());
                for (client, number) in manifests {
                    writer.array(2).bytes(client.as_bytes()).uint(*number);
                }
                writer.array(changes.len());
                for number in changes {
                    writer.uint(*number);
                }
                writer.bytes(&signature.0)
            }
        };
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let wrong = reader.error("an unknown operation, or one with the wrong number of items");
        let items = reader.array(4)?;
        Ok(match (reader.uint()?, items) {
            (1, 2) => Self::Forget(reader.ids(CHANGE_SNAPSHOTS)?),
            (2, 2) => Self::Undelete(reader.ids(CHANGE_SNAPSHOTS)?),
            (3, 2) => Self::Pin(reader.ids(CHANGE_SNAPSHOTS)?),
            (4, 2) => Self::Unpin(reader.ids(CHANGE_SNAPSHOTS)?),
            (5, 4) => Self::Tag {
                snapshots: reader.ids(CHANGE_SNAPSHOTS)?,
                add: reader.list(SNAPSHOT_TAGS, |tag| {
                    tag.tuple(2)?;
                    Ok((tag.id()?, tag.bytes(SEALED_TEXT_BYTES)?.to_vec()))
                })?,
                remove: reader.ids(SNAPSHOT_TAGS)?,
            },
            (6, 2) => Self::Policy(reader.bytes(POLICY_BYTES)?.to_vec()),
            (7, 3) => Self::OwnerPolicy {
                policy: reader.bytes(POLICY_BYTES)?.to_vec(),
                signature: OwnerSignature(reader.fixed()?),
            },
            (8, 3) => {
                Self::Release { snapshots: reader.ids(CHANGE_SNAPSHOTS)?, signature: OwnerSignature(reader.fixed()?) }
            }
            (9, 3) => Self::Prove { packs: reader.ids(CHANGE_PACKS)?, proof: Proof(reader.fixed()?) },
            (10, 4) => Self::AcceptLoss {
                manifests: reader.list(CHANGE_LOSSES, |lost| {
                    lost.tuple(2)?;
                    Ok((lost.id()?, lost.uint()?))
                })?,
                changes: reader.list(CHANGE_LOSSES, |lost| lost.uint())?,
                signature: OwnerSignature(reader.fixed()?),
            },
            _ => return Err(wrong),
        })
    }
}

#[cfg(test)]
mod tests;
