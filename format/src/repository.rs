//! Repository: the descriptor, which names the owner and the parameters by which objects are made.

use ed25519_dalek::SigningKey;
use serde::Serialize;

use crate::id::{DomainId, ObjectHash, OwnerFingerprint, RepositoryId};
use crate::keys::owner::{KemPublic, OwnerSecret, fingerprint};
use crate::limits::{CHUNK_BYTES, PAGE_TARGET};
pub use crate::receipt::IngestBy;
use crate::shown;
use crate::time::Time;
use crate::wire::DecodeError;
use crate::wire::cbor::{Fields, Reader, Writer};
use crate::wire::record::{self, Kind, RecordError, Unverified};

/// Bytes of an X-Wing public key.
pub const KEM_PUBLIC_BYTES: usize = 1216;

/// What all users of a repository must agree on. Clients pin the newest version they have seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Descriptor {
    /// The version in the object's name.
    pub version: u64,
    /// The repository.
    pub repository: RepositoryId,
    /// When the repository was made.
    pub created: Time,
    /// How objects are made.
    pub parameters: Parameters,
    /// The owner's Ed25519 public key.
    #[serde(serialize_with = "shown::hex")]
    pub owner_key: [u8; 32],
    /// The owner's X-Wing public key, [`KEM_PUBLIC_BYTES`] long.
    #[serde(serialize_with = "shown::hex")]
    pub kem_public: Vec<u8>,
    /// Whether a service or clients decide about manifests (ingest).
    pub ingest: IngestBy,
    /// The SHA-256 of the reader program stored in the repository.
    pub reader: Option<ObjectHash>,
    /// The domain that full clients share.
    pub shared_domain: DomainId,
}

/// A descriptor that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum DescriptorError {
    /// Malformed, not signed by the key inside, of a newer version, or stored under another version's name.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The repository uses a chunker that this program does not know.
    #[error("the repository uses chunker {0}, this program knows chunker 1")]
    Chunker(u64),
    /// Parameters that no client should follow.
    #[error("the repository's parameters cannot be used")]
    Parameters(#[from] BadParameters),
    /// Signed consistently, but by another owner.
    #[error("the repository belongs to another owner")]
    Owner,
    /// Older than a version that the caller has seen before.
    #[error("version {version} is the newest there is, and version {seen} was seen before")]
    Older { version: u64, seen: u64 },
}

impl Descriptor {
    /// The first version for an owner, with the usual parameters and without a reader.
    pub fn new(owner: &OwnerSecret, created: Time, ingest: IngestBy, shared_domain: DomainId) -> Self {
        Self {
            version: 1,
            repository: owner.repository(),
            created,
            parameters: Parameters::default(),
            owner_key: owner.verifying_key(),
            kem_public: owner.kem_public().as_bytes().to_vec(),
            ingest,
            reader: None,
            shared_domain,
        }
    }

    /// Writes the record, signed by the owner.
    pub fn sign(&self, key: &SigningKey) -> Vec<u8> {
        record::sign(Kind::Descriptor, self.repository, &self.body(), key)
    }

    /// Reads the descriptor stored under this version and checks that it is consistent in itself. Does not check the
    /// owner: see [`Descriptor::verify_owner`].
    pub fn decode(version: u64, bytes: &[u8]) -> Result<Self, DescriptorError> {
        let record = Unverified::parse(Kind::Descriptor, bytes)?;
        let (claimed, chunker) = Self::read(record.claimed_body()).map_err(RecordError::malformed(Kind::Descriptor))?;
        record.verify(claimed.repository, &claimed.owner_key)?;
        if claimed.version != version {
            return Err(RecordError::Misplaced { kind: Kind::Descriptor.name() }.into());
        }
        if chunker != CHUNKER {
            return Err(DescriptorError::Chunker(chunker));
        }
        claimed.parameters.check()?;
        Ok(claimed)
    }

    /// The owner's public key for wrapping sessions, and the fingerprint of the owner's public keys; none if that key is
    /// malformed.
    pub fn owner(&self) -> Option<(KemPublic, OwnerFingerprint)> {
        let kem = KemPublic::from_slice(&self.kem_public)?;
        let owner = fingerprint(self.repository, &self.owner_key, &kem);
        Some((kem, owner))
    }

    /// The owner's public key for wrapping sessions; fails if the descriptor is not of this repository and owner.
    pub fn kem_of(&self, repository: RepositoryId, owner: OwnerFingerprint) -> Result<KemPublic, DescriptorError> {
        let found = self.owner().filter(|(_, found)| self.repository == repository && *found == owner);
        found.map(|(kem, _)| kem).ok_or(DescriptorError::Owner)
    }

    /// Checks that the descriptor names the expected owner's public key.
    pub fn verify_owner(&self, key: &[u8; 32]) -> Result<(), DescriptorError> {
        if self.owner_key == *key { Ok(()) } else { Err(DescriptorError::Owner) }
    }

    fn body(&self) -> Vec<u8> {
        let p = &self.parameters;
        let mut writer = Writer::new();
        writer.map(15 + u64::from(self.reader.is_some()));
        writer.key(0).uint(self.version).key(1).bytes(self.repository.as_bytes()).key(2).time(self.created);
        writer.key(3).array(4).uint(CHUNKER);
        writer.uint(p.chunk_min.into()).uint(p.chunk_average.into()).uint(p.chunk_max.into());
        writer.key(4).uint(p.block_target.into()).key(5).uint(p.pack_target.into());
        writer.key(6).uint(p.tree_pack_target.into()).key(7).uint(p.inline_max.into());
        writer.key(8).array(4).uint(p.leaf_fanout.into()).uint(p.inner_fanout.into());
        writer.uint(p.page_min.into()).uint(p.page_max.into());
        writer.key(9).bytes(&self.owner_key).key(10).bytes(&self.kem_public).key(11).uint(self.ingest as u64);
        if let Some(hash) = self.reader {
            writer.key(12).bytes(hash.as_bytes());
        }
        writer.key(13).bytes(self.shared_domain.as_bytes()).key(14).int(p.zstd_level.into());
        writer.key(15).uint(p.tree_block_target.into());
        writer.finish()
    }

    fn read(body: &[u8]) -> Result<(Self, u64), DecodeError> {
        let mut reader = Reader::new(body)?;
        let mut fields = reader.map()?;
        let version = fields.required(0)?.uint()?;
        let repository = fields.required(1)?.id()?;
        let created = fields.required(2)?.time()?;
        let (mut parameters, chunker) = Parameters::read(&mut fields)?;
        let owner_key = fields.required(9)?.fixed()?;
        let kem_public = fields.required(10)?.fixed::<KEM_PUBLIC_BYTES>()?.to_vec();
        let ingest = IngestBy::read(fields.required(11)?)?;
        let reader = fields.optional(12)?.map(Reader::fixed).transpose()?.map(ObjectHash);
        let shared_domain = fields.required(13)?.id()?;
        let level = fields.required(14)?;
        let wide = level.error("a number is too large");
        parameters.zstd_level = i32::try_from(level.int()?).map_err(|_| wide)?;
        parameters.tree_block_target = fields.required(15)?.narrow()?;
        fields.end()?;
        let descriptor =
            Self { version, repository, created, parameters, owner_key, kem_public, ingest, reader, shared_domain };
        Ok((descriptor, chunker))
    }
}

/// How objects are made. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Parameters {
    pub chunk_min: u32,
    pub chunk_average: u32,
    pub chunk_max: u32,
    /// A block of data is closed when it holds this much plaintext.
    pub block_target: u32,
    pub tree_block_target: u32,
    /// A pack is closed when it has this size.
    pub pack_target: u32,
    pub tree_pack_target: u32,
    /// Files up to this size are stored in the page itself.
    pub inline_max: u32,
    /// The average number of entries of a leaf page.
    pub leaf_fanout: u32,
    /// The average number of children of an inner page.
    pub inner_fanout: u32,
    pub page_min: u32,
    pub page_max: u32,
    /// A hint for writers; readers ignore it.
    pub zstd_level: i32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            chunk_min: 16 << 10,
            chunk_average: 64 << 10,
            chunk_max: 256 << 10,
            block_target: 1 << 20,
            tree_block_target: 256 << 10,
            pack_target: 32 << 20,
            tree_pack_target: 8 << 20,
            inline_max: 512,
            leaf_fanout: 128,
            inner_fanout: 64,
            page_min: 4 << 10,
            page_max: 64 << 10,
            zstd_level: 3,
        }
    }
}

/// Parameters that a client must not follow: they would exhaust its memory, or make objects that readers refuse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum BadParameters {
    /// A value outside the allowed range.
    #[error("{parameter} is {value}, allowed is {least} to {most}")]
    Range { parameter: &'static str, value: i64, least: i64, most: i64 },
    /// A chunk size that is not a power of two.
    #[error("{parameter} is {value}, not a power of two")]
    PowerOfTwo { parameter: &'static str, value: u32 },
    /// Two sizes in the wrong order.
    #[error("{smaller} exceeds {larger}")]
    Order { smaller: &'static str, larger: &'static str },
}

impl Parameters {
    /// Checks that a client can follow these parameters within its limits.
    pub fn check(&self) -> Result<(), BadParameters> {
        let chunks = [
            ("the least chunk size", self.chunk_min, 256, 1 << 20),
            ("the average chunk size", self.chunk_average, 256, 4 << 20),
            ("the largest chunk size", self.chunk_max, 1 << 10, CHUNK_BYTES),
        ];
        let others = [
            ("the block target", self.block_target, 256, 8 << 20),
            ("the tree block target", self.tree_block_target, 256, 8 << 20),
            ("the pack target", self.pack_target, 1 << 10, 128 << 20),
            ("the tree pack target", self.tree_pack_target, 1 << 10, 128 << 20),
            ("the inline threshold", self.inline_max, 0, 64 << 10),
            ("the leaf fan-out", self.leaf_fanout, 2, 1 << 16),
            ("the inner fan-out", self.inner_fanout, 2, 1 << 16),
            ("the least page size", self.page_min, 1, PAGE_TARGET),
            ("the largest page size", self.page_max, 256, PAGE_TARGET),
        ];
        for (parameter, value, least, most) in chunks.into_iter().chain(others) {
            within(parameter, value.into(), least.into(), most.into())?;
        }
        within("the zstd level", self.zstd_level.into(), -7, 22)?;
        for (parameter, value, ..) in chunks {
            if !value.is_power_of_two() {
                return Err(BadParameters::PowerOfTwo { parameter, value });
            }
        }
        ascend(&chunks[0], &chunks[1])?;
        ascend(&chunks[1], &chunks[2])?;
        ascend(&others[7], &others[8])
    }

    /// Reads fields 3 to 8; returns the chunker too. Compression level and tree block target are fields 14 and 15.
    fn read(fields: &mut Fields<'_, '_>) -> Result<(Self, u64), DecodeError> {
        let mut parameters = Self::default();
        let chunks = fields.required(3)?;
        chunks.tuple(4)?;
        let chunker = chunks.uint()?;
        parameters.chunk_min = chunks.narrow()?;
        parameters.chunk_average = chunks.narrow()?;
        parameters.chunk_max = chunks.narrow()?;
        parameters.block_target = fields.required(4)?.narrow()?;
        parameters.pack_target = fields.required(5)?.narrow()?;
        parameters.tree_pack_target = fields.required(6)?.narrow()?;
        parameters.inline_max = fields.required(7)?.narrow()?;
        let pages = fields.required(8)?;
        pages.tuple(4)?;
        parameters.leaf_fanout = pages.narrow()?;
        parameters.inner_fanout = pages.narrow()?;
        parameters.page_min = pages.narrow()?;
        parameters.page_max = pages.narrow()?;
        Ok((parameters, chunker))
    }
}

fn within(parameter: &'static str, value: i64, least: i64, most: i64) -> Result<(), BadParameters> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(BadParameters::Range { parameter, value, least, most })
}

fn ascend(smaller: &Bounded, larger: &Bounded) -> Result<(), BadParameters> {
    if smaller.1 <= larger.1 { Ok(()) } else { Err(BadParameters::Order { smaller: smaller.0, larger: larger.0 }) }
}

/// A parameter's name, value, least and largest value.
type Bounded = (&'static str, u32, u32, u32);

/// FastCDC with a keyed choice (`docs/format.md` §11).
const CHUNKER: u64 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::ChunkSizes;
    use crate::samples;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_bytes(&[seed; 32])
    }

    fn descriptor() -> Descriptor {
        Descriptor { version: 2, owner_key: samples::public(&key(3)), ..samples::descriptor() }
    }

    #[test]
    fn a_descriptor_reads_back_with_and_without_a_reader() {
        for reader in [None, Some(ObjectHash([6; 32]))] {
            let descriptor = Descriptor { reader, ..descriptor() };
            assert_eq!(Descriptor::decode(2, &descriptor.sign(&key(3))), Ok(descriptor));
        }
    }

    #[test]
    fn a_descriptor_is_believed_under_its_own_version_only() {
        let misplaced = RecordError::Misplaced { kind: "descriptor" };
        assert_eq!(Descriptor::decode(3, &descriptor().sign(&key(3))), Err(misplaced.into()));
    }

    #[test]
    fn another_owners_descriptor_is_consistent_but_not_ours() {
        let descriptor = descriptor();
        assert_eq!(descriptor.verify_owner(&descriptor.owner_key), Ok(()));
        assert_eq!(descriptor.verify_owner(key(9).verifying_key().as_bytes()), Err(DescriptorError::Owner));
    }

    #[test]
    fn a_newer_version_is_named_as_such() {
        let mut bytes = descriptor().sign(&key(3));
        bytes[9] = 2;
        let error = Descriptor::decode(2, &bytes).unwrap_err();
        assert_eq!(error.to_string(), "descriptor has version 2, this program knows version 1");
    }

    #[test]
    fn a_chunker_this_program_does_not_know_is_named_as_such() {
        let mut body = descriptor().body();
        let at = body.windows(3).position(|w| w == [0x03, 0x84, 0x01]).unwrap() + 2;
        body[at] = 2;
        let bytes = record::sign(Kind::Descriptor, samples::REPOSITORY, &body, &key(3));
        assert_eq!(Descriptor::decode(2, &bytes), Err(DescriptorError::Chunker(2)));
    }

    #[test]
    fn signed_parameters_that_would_exhaust_a_client_are_refused() {
        let parameters = Parameters { pack_target: u32::MAX, ..Parameters::default() };
        let bytes = Descriptor { parameters, ..descriptor() }.sign(&key(3));
        assert!(matches!(
            Descriptor::decode(2, &bytes),
            Err(DescriptorError::Parameters(BadParameters::Range { parameter: "the pack target", .. }))
        ));
    }

    #[test]
    fn the_default_parameters_can_be_followed() {
        assert_eq!(Parameters::default().check(), Ok(()));
    }

    #[test]
    fn chunk_and_page_sizes_must_ascend() {
        let default = Parameters::default;
        let average = Parameters { chunk_average: 2 << 20, ..default() }.check().unwrap_err();
        assert_eq!(average.to_string(), "the average chunk size exceeds the largest chunk size");
        assert!(Parameters { chunk_average: 8 << 10, ..default() }.check().is_err());
        assert!(Parameters { page_min: 65 << 10, ..default() }.check().is_err());
    }

    #[test]
    fn chunk_sizes_are_powers_of_two_from_256_bytes() {
        let least = |chunk_min| Parameters { chunk_min, ..Parameters::default() }.check();
        assert_eq!(least(256), Ok(()));
        assert_eq!(least(128).unwrap_err().to_string(), "the least chunk size is 128, allowed is 256 to 1048576");
        assert_eq!(least(258).unwrap_err().to_string(), "the least chunk size is 258, not a power of two");
    }

    #[test]
    fn chunk_sizes_that_can_be_followed_are_those_the_chunker_takes() {
        let sizes = [64, 128, 255, 256, 257, 384, 512, 1 << 10, 1 << 16, 1 << 20];
        for (chunk_min, chunk_average) in sizes.iter().flat_map(|min| sizes.map(|average| (*min, average))) {
            let parameters = Parameters { chunk_min, chunk_average, chunk_max: 1 << 20, ..Parameters::default() };
            let taken = ChunkSizes::new(chunk_min.into(), chunk_average.into(), 1 << 20);
            assert_eq!(parameters.check().is_ok(), taken.is_ok(), "{chunk_min} {chunk_average}");
        }
    }
}
