//! Manifests: a client's signed, numbered claims to packs, optionally with a snapshot. The only commit point.

use std::collections::BTreeSet;

use ed25519_dalek::SigningKey;
use serde::Serialize;

use crate::extent::Extent;
use crate::id::{ChunkId, ClientId, DomainId, ObjectHash, PackId, RepositoryId, SnapshotId, SourceId, TagId};
use crate::keys::owner::OwnerSecret;
use crate::limits::{MANIFEST_PACKS, SEALED_INFO_BYTES, SESSION_BLOCKS, SESSION_RECORD_BYTES, SNAPSHOT_TAGS};
use crate::order;
use crate::proof::Proof;
use crate::time::Time;
use crate::wire::DecodeError;
use crate::wire::cbor::{Reader, Writer};
pub use crate::wire::chain::{Chain, ChainError, Link};
use crate::wire::record::{self, Kind, RecordError, Unsigned, Unverified};

/// A claim of one client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Manifest {
    /// The client that makes the claim.
    pub client: ClientId,
    /// The manifest's number; a client's manifests are numbered from 1.
    pub number: u64,
    /// The hash of the previous manifest; [`ObjectHash::NONE`] for number 1.
    pub previous: ObjectHash,
    /// The domain of all its packs and its snapshot.
    pub domain: DomainId,
    /// The newest root the client has seen: number and hash.
    pub root_seen: Option<(u64, ObjectHash)>,
    /// The packs it adds, each once, with their lengths in bytes; at most [`MANIFEST_PACKS`].
    pub packs: Vec<(PackId, u64)>,
    /// The snapshot it commits.
    pub snapshot: Option<SnapshotClaim>,
    /// The packs that the owner's signature proves, if any.
    #[serde(skip)]
    pub proven: Option<ProvenPacks>,
}

/// The packs of a manifest whose content its author vouches for, with the owner's signature.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ProvenPacks {
    /// Bit n is set if pack n of the manifest is proven; at least one bit is.
    positions: u64,
    proof: Proof,
}

/// A snapshot, as a manifest claims it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SnapshotClaim {
    /// The root page of its tree.
    pub root: ChunkId,
    /// Whether this is a checkpoint of an unfinished run: hidden from lists, and the parent snapshot of the next run.
    pub partial: bool,
    /// When the snapshot was made, by the client's clock.
    pub client_time: Time,
    /// What was backed up.
    pub source: SourceId,
    /// Its tags, ascending, each once; at most [`SNAPSHOT_TAGS`].
    pub tags: Vec<TagId>,
    /// The record of the session that sealed `info`.
    #[serde(skip)]
    pub session_record: Vec<u8>,
    /// The counter of the block `info`; below `SESSION_BLOCKS`.
    pub counter: u64,
    /// The snapshot's description: one sealed block.
    #[serde(skip)]
    pub info: Vec<u8>,
    /// The snapshot's approximate size, if the client states it.
    pub extent: Option<Extent>,
}

/// A manifest whose signature and name were checked, with the hash of its bytes. Only [`Manifest::verify`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::manual_non_exhaustive, reason = "nothing else in this crate may make one either")]
pub struct VerifiedManifest {
    /// The claim.
    pub manifest: Manifest,
    /// The SHA-256 of the stored object.
    pub hash: ObjectHash,
    checked: (),
}

impl Manifest {
    /// A manifest that names neither packs nor a snapshot.
    pub fn new(client: ClientId, number: u64, previous: ObjectHash, domain: DomainId) -> Self {
        let (root_seen, packs, snapshot, proven) = (None, Vec::new(), None, None);
        Self { client, number, previous, domain, root_seen, packs, snapshot, proven }
    }

    /// Encodes the record, signed with the client's manifest key. Sorts and deduplicates the tags.
    pub fn sign(&self, repository: RepositoryId, key: &SigningKey) -> Vec<u8> {
        record::sign(Kind::Manifest, repository, &self.body(), key)
    }

    /// The unsigned record, for a host that holds the client's manifest key itself.
    pub fn unsigned(&self, repository: RepositoryId) -> Unsigned {
        Unsigned::new(Kind::Manifest, repository, &self.body())
    }

    /// Checks a manifest's signature and form, and that it names this client and number.
    pub fn verify(
        repository: RepositoryId,
        key: &[u8; 32],
        client: ClientId,
        number: u64,
        bytes: &[u8],
    ) -> Result<VerifiedManifest, RecordError> {
        let body = Unverified::parse(Kind::Manifest, bytes)?.verify(repository, key)?;
        let manifest = Self::read(body).map_err(RecordError::malformed(Kind::Manifest))?;
        if (manifest.client, manifest.number) != (client, number) {
            return Err(RecordError::Misplaced { kind: Kind::Manifest.name() });
        }
        Ok(VerifiedManifest { manifest, hash: ObjectHash::of(bytes), checked: () })
    }

    /// Signs the packs for which `is_proven` is true: every chunk and page in them was compared with its id.
    pub fn prove(&mut self, owner: &OwnerSecret, is_proven: impl Fn(&PackId) -> bool) {
        let numbered = (0..).zip(&self.packs).filter(|(_, (id, _))| is_proven(id));
        let positions = numbered.fold(0u64, |positions, (at, _)| positions | 1 << at);
        self.proven = (positions != 0).then(|| {
            let proof = Proof::sign(owner, chosen(&self.packs, positions));
            ProvenPacks { positions, proof }
        });
    }

    /// The packs that the owner's signature proves; empty if that signature is wrong.
    pub fn proven_packs(&self, repository: RepositoryId, owner_key: &[u8; 32]) -> BTreeSet<PackId> {
        let holds = |of: &&ProvenPacks| of.proof.holds(repository, owner_key, chosen(&self.packs, of.positions));
        self.proven.iter().filter(holds).flat_map(|of| chosen(&self.packs, of.positions)).collect()
    }

    /// The snapshot's approximate size, if stated. `stored` is at least the total length of this manifest's packs.
    pub fn extent(&self) -> Option<Extent> {
        let extent = self.snapshot.as_ref()?.extent?;
        let named = self.packs.iter().fold(0u64, |sum, (_, length)| sum.saturating_add(*length));
        Some(Extent { stored: extent.stored.max(named), ..extent })
    }

    fn body(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        let optional = [self.root_seen.is_some(), self.snapshot.is_some(), self.proven.is_some()];
        writer.map(5 + optional.into_iter().map(u64::from).sum::<u64>());
        writer.key(0).bytes(self.client.as_bytes()).key(1).uint(self.number);
        writer.key(2).bytes(self.previous.as_bytes()).key(3).bytes(self.domain.as_bytes());
        if let Some(root) = self.root_seen {
            writer.key(4).link(root);
        }
        writer.key(5).array(self.packs.len());
        for (pack, length) in &self.packs {
            writer.array(2).bytes(pack.as_bytes()).uint(*length);
        }
        if let Some(snapshot) = &self.snapshot {
            writer.key(6);
            snapshot.write(&mut writer);
        }
        if let Some(ProvenPacks { positions, proof }) = &self.proven {
            writer.key(7).array(2).uint(*positions).bytes(&proof.0);
        }
        writer.finish()
    }

    fn read(body: &[u8]) -> Result<Self, DecodeError> {
        Reader::record(body, |fields| {
            let client = fields.required(0)?.id()?;
            let (number, previous) = Link::read(fields, 1, 2)?;
            let domain = fields.required(3)?.id()?;
            let root_seen = fields.optional(4)?.map(Reader::link).transpose()?;
            let packs = read_packs(fields.required(5)?)?;
            let snapshot = fields.optional(6)?.map(SnapshotClaim::read).transpose()?;
            let proven = fields.optional(7)?.map(|reader| ProvenPacks::read(reader, packs.len())).transpose()?;
            Ok(Self { client, number, previous, domain, root_seen, packs, snapshot, proven })
        })
    }
}

impl VerifiedManifest {
    /// The id of the snapshot it commits, if it commits one.
    pub fn snapshot_id(&self) -> Option<SnapshotId> {
        self.manifest.snapshot.as_ref().map(|_| self.hash.snapshot())
    }
}

impl From<&VerifiedManifest> for Link {
    fn from(verified: &VerifiedManifest) -> Self {
        Self { number: verified.manifest.number, previous: verified.manifest.previous, hash: verified.hash }
    }
}

impl SnapshotClaim {
    fn write(&self, writer: &mut Writer) {
        writer.map(8 + u64::from(self.extent.is_some()));
        writer.key(0).bytes(self.root.as_bytes()).key(1).bool(self.partial).key(2).time(self.client_time);
        writer.key(3).bytes(self.source.as_bytes());
        let mut tags = self.tags.clone();
        order::sort(&mut tags);
        tags.dedup();
        writer
            .key(4)
            .byte_strings(tags)
            .key(5)
            .bytes(&self.session_record)
            .key(6)
            .uint(self.counter)
            .key(7)
            .bytes(&self.info);
        if let Some(extent) = &self.extent {
            extent.write(writer.key(8));
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let is_ascending = |tags: &Vec<TagId>| tags.is_sorted_by(|a, b| a < b);
        let tags = |tags: &mut Reader<'_>| {
            tags.checked("a snapshot's tags do not ascend", |tags| tags.ids(SNAPSHOT_TAGS), is_ascending)
        };
        let counter = |counter: &mut Reader<'_>| {
            counter.checked("a block's counter is too large", Reader::uint, |counter| *counter < SESSION_BLOCKS)
        };
        reader.fields(|fields| {
            Ok(Self {
                root: fields.required(0)?.id()?,
                partial: fields.required(1)?.bool()?,
                client_time: fields.required(2)?.time()?,
                source: fields.required(3)?.id()?,
                tags: tags(fields.required(4)?)?,
                session_record: fields.required(5)?.bytes(SESSION_RECORD_BYTES)?.to_vec(),
                counter: counter(fields.required(6)?)?,
                info: fields.required(7)?.bytes(SEALED_INFO_BYTES)?.to_vec(),
                extent: fields.optional(8)?.map(Extent::read).transpose()?,
            })
        })
    }
}

impl ProvenPacks {
    fn read(reader: &mut Reader<'_>, packs: usize) -> Result<Self, DecodeError> {
        reader.tuple(2)?;
        let wrong = reader.error("proven packs are not among the manifest's");
        let positions = reader.wide()?;
        let proof = Proof(reader.fixed()?);
        let known = if packs < 64 { (1 << packs) - 1 } else { u64::MAX };
        if positions == 0 || positions & !known != 0 { Err(wrong) } else { Ok(Self { positions, proof }) }
    }
}

fn chosen(packs: &[(PackId, u64)], positions: u64) -> impl Iterator<Item = PackId> + '_ {
    (0..).zip(packs).filter(move |(at, _)| positions & (1u64 << at) != 0).map(|(_, (id, _))| *id)
}

/// `positions` has one bit per pack.
const _: () = assert!(MANIFEST_PACKS <= 64);

fn read_packs(reader: &mut Reader<'_>) -> Result<Vec<(PackId, u64)>, DecodeError> {
    let twice = reader.error("a pack is named twice");
    let packs = reader.list(MANIFEST_PACKS, |pack| {
        pack.tuple(2)?;
        Ok((pack.id()?, pack.uint()?))
    })?;
    let mut ids: Vec<PackId> = packs.iter().map(|(id, _)| *id).collect();
    order::sort(&mut ids);
    if ids.is_sorted_by(|a, b| a < b) { Ok(packs) } else { Err(twice) }
}

#[cfg(test)]
mod tests;
