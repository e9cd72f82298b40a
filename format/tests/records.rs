//! Records of every kind: a reader notices each changed byte, and a writer writes each value in one way only.

use crate::samples::*;
use copal_format::change::Change;
use copal_format::client::{ClientRecord, read_chain};
use copal_format::expiry::Expiry;
use copal_format::id::RepositoryId;
use copal_format::keys::owner::{KemPublic, TextPurpose};
use copal_format::manifest::Manifest;
use copal_format::policy::SignedPolicy;
use copal_format::receipt::Receipt;
use copal_format::repository::Descriptor;
use copal_format::root::{Deletion, Root};
use copal_format::snapshot::SnapshotInfo;
use copal_format::wire::record::{self, Kind};
use ed25519_dalek::SigningKey;
use proptest::prelude::*;

/// Reads a record and writes what was read.
type Rewrite = fn(&[u8]) -> Option<Vec<u8>>;

/// A record, who signs it, and how it is read.
struct Sample {
    kind: Kind,
    signer: fn() -> SigningKey,
    bytes: Vec<u8>,
    rewrite: Rewrite,
}

fn signed() -> Vec<Sample> {
    let mut samples = vec![
        Sample {
            kind: Kind::Descriptor,
            signer: owner,
            bytes: descriptor().sign(&owner()),
            rewrite: |bytes| Some(Descriptor::decode(1, bytes).ok()?.sign(&owner())),
        },
        Sample {
            kind: Kind::Client,
            signer: owner,
            bytes: enrolled().sign(REPOSITORY, &owner()),
            rewrite: |bytes| Some(newest(&[bytes])?.sign(REPOSITORY, &owner())),
        },
        Sample {
            kind: Kind::Client,
            signer: enrollment,
            bytes: joined().sign(REPOSITORY, &enrollment()),
            rewrite: |bytes| {
                let first = enrolled().sign(REPOSITORY, &owner());
                Some(newest(&[&first, bytes])?.sign(REPOSITORY, &enrollment()))
            },
        },
        Sample {
            kind: Kind::Client,
            signer: owner,
            bytes: revoked().sign(REPOSITORY, &owner()),
            rewrite: |bytes| {
                let first = enrolled().sign(REPOSITORY, &owner());
                let second = joined().sign(REPOSITORY, &enrollment());
                Some(newest(&[&first, &second, bytes])?.sign(REPOSITORY, &owner()))
            },
        },
    ];
    samples.extend([manifest(), manifest_with_extent(), proven_manifest()].map(|manifest| Sample {
        kind: Kind::Manifest,
        signer: device,
        bytes: manifest.sign(REPOSITORY, &device()),
        rewrite: |bytes| {
            let verified = Manifest::verify(REPOSITORY, &public(&device()), CLIENT, 2, bytes).ok()?;
            Some(verified.manifest.sign(REPOSITORY, &device()))
        },
    }));
    let changes: [(Change, Rewrite); 3] = [
        (proving_change(), |bytes| rewritten(bytes, 1)),
        (owners_change(), |bytes| rewritten(bytes, 2)),
        (change(), |bytes| rewritten(bytes, 1)),
    ];
    samples.extend(changes.map(|(change, rewrite)| Sample {
        kind: Kind::Change,
        signer: device,
        bytes: change.sign(REPOSITORY, &device()),
        rewrite,
    }));
    samples
}

fn rewritten(bytes: &[u8], number: u64) -> Option<Vec<u8>> {
    let client = Change::claimed_client(bytes).ok()?;
    let verified = Change::verify(REPOSITORY, &public(&device()), client, number, bytes).ok()?;
    Some(verified.change.sign(REPOSITORY, &device()))
}

/// The client as its versions, counted from 1, describe it.
fn newest(versions: &[&[u8]]) -> Option<ClientRecord> {
    let versions: Vec<(u64, Vec<u8>)> = (1..).zip(versions.iter().map(|bytes| bytes.to_vec())).collect();
    read_chain(REPOSITORY, &public(&owner()), CLIENT, &versions).ok()
}

fn plain() -> Vec<Sample> {
    vec![
        Sample {
            kind: Kind::Receipt,
            signer: device,
            bytes: receipt().encode(),
            rewrite: |bytes| Some(Receipt::decode(CLIENT, 2, bytes).ok()?.encode()),
        },
        Sample {
            kind: Kind::Expiry,
            signer: device,
            bytes: expiry().encode(),
            rewrite: |bytes| Some(Expiry::decode(2, bytes).ok()?.encode()),
        },
        Sample {
            kind: Kind::Root,
            signer: device,
            bytes: root().encode().unwrap(),
            rewrite: |bytes| Root::decode(7, bytes).ok()?.encode().ok(),
        },
        Sample {
            kind: Kind::Deletion,
            signer: device,
            bytes: deletion().encode(),
            rewrite: |bytes| Some(Deletion::decode(bytes).ok()?.encode()),
        },
    ]
}

fn all() -> impl Iterator<Item = Sample> {
    signed().into_iter().chain(plain())
}

impl Sample {
    fn body(&self) -> &[u8] {
        let end = if self.is_plain() { 32 } else { 64 };
        &self.bytes[14..self.bytes.len() - end]
    }

    /// Puts a body into a valid envelope: what a signer gone wrong could write.
    fn envelope(&self, body: &[u8]) -> Vec<u8> {
        if self.is_plain() {
            return record::close(self.kind, body);
        }
        record::sign(self.kind, REPOSITORY, body, &(self.signer)())
    }

    fn is_plain(&self) -> bool {
        self.kind as u8 >= Kind::Receipt as u8
    }
}

#[test]
fn every_record_reads_back_and_is_written_the_same_again() {
    for sample in all() {
        assert_eq!((sample.rewrite)(&sample.bytes), Some(sample.bytes.clone()), "{:?}", sample.kind);
    }
}

/// Nothing was read, or what was read is written the same again: without fields that may be ignored.
fn is_as_read(written: Option<Vec<u8>>, read: &[u8]) -> bool {
    written.is_none_or(|written| written == read || written.len() < read.len())
}

/// The body of a record with one more field, the last of its map.
fn with_field(body: &[u8], key: u8) -> Vec<u8> {
    let mut longer = body.to_vec();
    assert!((0xa0..0xb7).contains(&longer[0]), "a map of less than 23 fields");
    longer[0] += 1;
    longer.extend_from_slice(&[0x18, key, 0x65]);
    longer.extend_from_slice(b"later");
    longer
}

#[test]
fn a_field_of_a_later_version_is_ignored_if_it_may_be_and_else_refused() {
    for sample in all() {
        let read = |key| (sample.rewrite)(&sample.envelope(&with_field(sample.body(), key)));
        assert_eq!(read(64), Some(sample.bytes.clone()), "{:?}", sample.kind);
        assert_eq!(read(63), None, "{:?}", sample.kind);
    }
    let [description, policy_bytes] = [info().encode(), policy().encode()];
    assert_eq!(SnapshotInfo::decode(&with_field(&description, 67)), Ok(info()));
    assert!(SnapshotInfo::decode(&with_field(&description, 63)).is_err());
    assert_eq!(SignedPolicy::decode(&with_field(&policy_bytes, 64)).unwrap().encode(), policy_bytes);
    assert!(SignedPolicy::decode(&with_field(&policy_bytes, 63)).is_err());
}

#[test]
fn a_flipped_bit_or_a_missing_byte_is_noticed_wherever_it_is() {
    for sample in all() {
        for at in 0..sample.bytes.len() {
            let mut flipped = sample.bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            assert_eq!((sample.rewrite)(&flipped), None, "{:?}, byte {at}", sample.kind);
            assert_eq!((sample.rewrite)(&sample.bytes[..at]), None, "{:?}, cut at {at}", sample.kind);
        }
        assert_eq!((sample.rewrite)(&[&sample.bytes[..], &[0]].concat()), None, "{:?}", sample.kind);
    }
}

#[test]
fn a_record_of_one_kind_is_never_taken_for_one_of_another() {
    for sample in all() {
        for other in all().filter(|other| other.kind != sample.kind) {
            assert_eq!((sample.rewrite)(&other.bytes), None, "{:?} as {:?}", other.kind, sample.kind);
            let renamed = sample.envelope(other.body());
            assert_eq!((sample.rewrite)(&renamed), None, "{:?} as {:?}", other.kind, sample.kind);
        }
    }
}

#[test]
fn a_record_signed_for_another_repository_or_by_another_key_is_refused() {
    for sample in signed() {
        let foreign = record::sign(sample.kind, RepositoryId([9; 16]), sample.body(), &(sample.signer)());
        assert_eq!((sample.rewrite)(&foreign), None, "{:?}", sample.kind);
        let forged = record::sign(sample.kind, REPOSITORY, sample.body(), &SigningKey::from_bytes(&[9; 32]));
        assert_eq!((sample.rewrite)(&forged), None, "{:?}", sample.kind);
    }
}

#[test]
fn a_newer_version_of_the_envelope_is_refused() {
    for sample in all() {
        let mut newer = sample.bytes.clone();
        newer[9] = 2;
        assert_eq!((sample.rewrite)(&newer), None, "{:?}", sample.kind);
    }
}

proptest! {
    #[test]
    fn any_bytes_give_a_public_key_or_a_sealed_text_or_an_error(bytes: Vec<u8>) {
        let _ = KemPublic::from_slice(&bytes);
        let _ = owner_secret().open_text(TextPurpose::TagName, &[8; 16], &bytes);
    }

    #[test]
    fn a_body_altered_by_its_own_signer_gives_an_error_or_a_record_that_is_written_the_same_again(
        at: prop::sample::Index, value: u8, cut: bool,
    ) {
        for sample in all() {
            let mut altered = sample.body().to_vec();
            let at = at.index(altered.len());
            altered[at] = value;
            altered.truncate(if cut { at } else { altered.len() });
            let bytes = sample.envelope(&altered);
            let written = (sample.rewrite)(&bytes);
            prop_assert!(is_as_read(written, &bytes), "{:?}", sample.kind);
        }
    }

    #[test]
    fn an_altered_description_gives_an_error_or_one_that_is_written_the_same_again(at: prop::sample::Index, value: u8) {
        let mut altered = info_with_an_origin().encode();
        let at = at.index(altered.len());
        altered[at] = value;
        let written = SnapshotInfo::decode(&altered).ok().map(|info| info.encode());
        prop_assert!(is_as_read(written, &altered));
    }
    #[test]
    fn an_altered_policy_gives_an_error_or_one_that_is_written_the_same_again(at: prop::sample::Index, value: u8) {
        let mut altered = policy().encode();
        let at = at.index(altered.len());
        altered[at] = value;
        let written = SignedPolicy::decode(&altered).ok().map(|policy| policy.encode());
        prop_assert!(is_as_read(written, &altered));
    }
}
