//! Golden vectors of `docs/format.md` §4, §7 and §11. A byte that changes here is a new version of the format.
//!
//! The X-Wing vectors are the draft's own. The others come from an independent implementation (Python with `cryptography`,
//! `argon2-cffi`, `blake3` and `zstandard`), but for two that it could only read back: the session record, since it cannot
//! choose the KEM's randomness, and the compressed block, since another version of Zstandard gives other bytes.

use copal_format::block::{BlockBuilder, OpenBlock, OpenTools, SealTools, SealedBlock};
use copal_format::chunk::{ChunkSizes, Chunker};
use copal_format::compress::Parameters;
use copal_format::id::{ChunkId, DomainId, ObjectHash, RepositoryId, SlotId};
use copal_format::keys::client::ClientKeys;
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::owner::{OwnerSecret, TextPurpose};
use copal_format::keys::secret::Secret;
use copal_format::keys::session::{SessionKey, SessionRecord};
use copal_format::keys::slot::{self, Argon2Params, Slot, SlotInput, SlotParams};
use copal_format::keys::text;
use copal_format::seal::{BlockKind, Counters, SessionCipher};
use copal_format::time::Time;

use crate::samples::hex;

const REPOSITORY: RepositoryId = RepositoryId(run(0x10));
const DOMAIN: DomainId = DomainId(run(0x20));

/// Ascending bytes.
const fn run<const N: usize>(first: u8) -> [u8; N] {
    let mut bytes = [0; N];
    let mut i = 0;
    while i < N {
        bytes[i] = first.wrapping_add(i as u8);
        i += 1;
    }
    bytes
}

fn owner() -> OwnerSecret {
    OwnerSecret::new(REPOSITORY, Secret::new(run(0x30)), Secret::new(run(0x50)), Secret::new(run(0x70)))
}

fn domain() -> DomainKeys {
    DomainKeys::new(&owner().domain_key(DOMAIN))
}

fn session() -> (SessionKey, SessionRecord) {
    let key = SessionKey::new(Secret::new(run(0x90)));
    let record = key.record(REPOSITORY, DOMAIN, &[(&owner().kem_public(), run(0xb0))]);
    (key, record)
}

/// Bytes without structure: BLAKE3's extended output of a text.
fn noise(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(b"copal golden noise").finalize_xof().fill(&mut bytes);
    bytes
}

fn sha256(bytes: &[u8]) -> String {
    ObjectHash::of(bytes).to_string()
}

/// A vector of draft-connolly-cfrg-xwing-kem-06; of the long values their SHA-256.
struct XWing {
    seed: &'static str,
    randomness: &'static str,
    shared: &'static str,
    public: &'static str,
    ciphertext: &'static str,
}

#[test]
fn x_wing_follows_the_draft() {
    use x_wing::{Decapsulate, Decapsulator, KeyExport};
    for vector in X_WING {
        let seed: [u8; 32] = unhex(vector.seed).try_into().unwrap();
        let randomness: [u8; 64] = unhex(vector.randomness).try_into().unwrap();
        let key = x_wing::DecapsulationKey::from(seed);
        let public = key.encapsulation_key();
        let (ciphertext, shared) = public.encapsulate_deterministic(&randomness.into());
        assert_eq!(sha256(&public.to_bytes()), vector.public);
        assert_eq!(sha256(&ciphertext), vector.ciphertext);
        assert_eq!(hex(&shared), vector.shared);
        assert_eq!(key.decapsulate(&ciphertext), shared);

        let secret = || Secret::new(seed);
        let owner = OwnerSecret::new(REPOSITORY, secret(), secret(), secret());
        assert_eq!(sha256(owner.kem_public().as_bytes()), vector.public);
        let record = SessionKey::new(secret()).record(REPOSITORY, DOMAIN, &[(&owner.kem_public(), randomness)]);
        let at = record.bytes().windows(ciphertext.len()).position(|window| window == &ciphertext[..]);
        assert!(at.is_some(), "a session record holds the draft's ciphertext");
    }
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn derived_keys_and_ids() {
    let root = Secret::new(run(0x30));
    assert_eq!(hex(root.derive("example", b"context").expose()), KDF);
    assert_eq!(hex(owner().domain_key(DOMAIN).expose().expose()), DOMAIN_KEY);
    assert_eq!(domain().chunk_id(b"hello").to_string(), CHUNK_ID);
    let references = [ChunkId(run(1)), ChunkId(run(2))];
    assert_eq!(domain().page_id(3, &references, b"page").to_string(), PAGE_ID);
    assert_eq!(domain().boundary(1, b"a/path").to_string(), BOUNDARY);
    assert_eq!(domain().source_id("host", &[b"/home".to_vec(), b"/etc".to_vec()], "label").to_string(), SOURCE_ID);
    assert_eq!(domain().tag_id("monthly").to_string(), TAG_ID);
    let [first, last] = [0, 255].map(|byte| domain().cuts().gear()[byte]);
    assert_eq!((format!("{first:016x}"), format!("{last:016x}")), (GEAR.0.to_owned(), GEAR.1.to_owned()));
    assert_eq!(format!("{:016x}", domain().cuts().choice(1)), CHOICE);
}

#[test]
fn owners_public_parts_and_sealed_texts() {
    assert_eq!(hex(&owner().verifying_key()), VERIFYING_KEY);
    assert_eq!(sha256(owner().kem_public().as_bytes()), KEM_PUBLIC);
    assert_eq!(owner().kem_public().recipient_id().to_string(), RECIPIENT_ID);
    assert_eq!(owner().fingerprint().to_string(), FINGERPRINT);
    assert_eq!(hex(&owner().seal_text(TextPurpose::TagName, &run(0xa0), "monthly")), SEALED_TEXT);
    let client = ClientKeys::new(Secret::new(run(1)), Secret::new(run(2)));
    assert_eq!(hex(&client.manifest_public()), MANIFEST_KEY);
    assert_eq!(hex(&client.request_public()), REQUEST_KEY);
}

#[test]
fn session_record() {
    let (key, record) = session();
    assert_eq!(sha256(record.bytes()), SESSION_RECORD);
    assert_eq!(hex(&record.bytes()[..53]), SESSION_HEAD);
    assert_eq!(record.id(REPOSITORY).to_string(), SESSION_ID);
    assert_eq!(record.unwrap(&owner()), Ok(key));
}

#[test]
fn key_slots_of_each_kind() {
    let params = SlotParams {
        id: SlotId(run(0x40)),
        created: Time::from_unix(1_700_000_000, 5),
        nonce: run(0x60),
        salt: run(0x80),
        argon2: Argon2Params { m_kib: 8 << 10, t: 1, p: 1 },
    };
    let inputs = [
        (SlotInput::passphrase("grün").unwrap(), PASSPHRASE_SLOT),
        (SlotInput::RecoveryCode(Secret::new(run(0x0f))), RECOVERY_SLOT),
        (SlotInput::KeyFile(Secret::new(run(0x1f))), KEY_FILE_SLOT),
    ];
    for (input, golden) in inputs {
        assert_eq!(hex(&slot::seal(&input, &params, &owner())), golden);
        assert_eq!(Slot::parse(&unhex(golden)).unwrap().open(&input), Ok(owner()));
    }
}

#[test]
fn a_key_slot_with_a_name() {
    let (id, created) = (SlotId(run(0x40)), Time::from_unix(1_700_000_000, 5));
    let argon2 = Argon2Params { m_kib: 8 << 10, t: 1, p: 1 };
    let params = SlotParams { id, created, nonce: run(0x60), salt: run(0x80), argon2 };
    let input = SlotInput::KeyFile(Secret::new(run(0x1f)));
    assert_eq!(hex(&slot::seal_named(&input, &params, &owner(), "laptop")), NAMED_SLOT);
    let read = Slot::parse(&unhex(NAMED_SLOT)).unwrap();
    assert_eq!((read.name(&owner()).as_deref(), read.open(&input)), (Some("laptop"), Ok(owner())));
}

#[test]
fn recovery_code_and_key_file() {
    assert_eq!(*text::encode_recovery(&Secret::new(run(0x0f))), RECOVERY_CODE);
    assert_eq!(*text::encode_key_file(&Secret::new(run(0x1f))), KEY_FILE);
}

fn sealed(kind: BlockKind, chunks: &[&[u8]]) -> SealedBlock {
    let (key, record) = session();
    let cipher = SessionCipher::new(&key, REPOSITORY, record.id(REPOSITORY));
    let mut builder = BlockBuilder::new(kind, 1 << 20);
    chunks.iter().for_each(|chunk| builder.push(domain().chunk_id(chunk), chunk, None));
    let job = builder.take(Counters::new().nth(7).unwrap()).unwrap();
    let block = job.run(&mut SealTools::new(Parameters::of_level(3)), &cipher).unwrap();
    let open = OpenBlock::open(&cipher, kind, 7, &block.bytes, &mut OpenTools::new()).unwrap();
    assert!(chunks.iter().enumerate().all(|(ordinal, chunk)| open.chunk(ordinal) == Some(chunk)));
    block
}

#[test]
fn sealed_blocks() {
    assert_eq!(hex(&sealed(BlockKind::Info, &[b"hello"]).bytes), SEALED_HELLO);
    assert_eq!(sha256(&sealed(BlockKind::Data, &[&noise(300)[..100], &noise(300)[100..]]).bytes), SEALED_NOISE);
    let text = "All work and no play makes Jack a dull boy. ".repeat(50);
    let compressed = sealed(BlockKind::Tree, &[text.as_bytes(), &noise(100), text.as_bytes()]);
    assert_eq!(sha256(&compressed.bytes), SEALED_TEXTS);
}

#[test]
fn cut_points() {
    let chunker = Chunker::new(ChunkSizes::new(256, 1024, 4096).unwrap(), domain().cuts());
    let ends: Vec<usize> = chunker.cuts(&noise(20_001)).map(|cut| cut.end).collect();
    assert_eq!(ends, CUTS);
}

const X_WING: [XWing; 2] = [
    XWing {
        seed: "7f9c2ba4e88f827d616045507605853ed73b8093f6efbc88eb1a6eacfa66ef26",
        randomness: "3cb1eea988004b93103cfb0aeefd2a686e01fa4a58e8a3639ca8a1e3f9ae57e235b8cc873c23dc62b8d260169afa2f75ab916a58d974918835d25e6a435085b2",
        shared: "d2df0522128f09dd8e2c92b1e905c793d8f57a54c3da25861f10bf4ca613e384",
        public: "2e816deebcd76c5c80d0cd2d174478871658e8e2ff42bc9d4a6e486372e856bb",
        ciphertext: "17cd532d657e44c897ca6583e548a5424fc70bf54f99515a4d2bcf99e3469f33",
    },
    XWing {
        seed: "badfd6dfaac359a5efbb7bcc4b59d538df9a04302e10c8bc1cbf1a0b3a5120ea",
        randomness: "17cda7cfad765f5623474d368ccca8af0007cd9f5e4c849f167a580b14aabdefaee7eef47cb0fca9767be1fda69419dfb927e9df07348b196691abaeb580b32d",
        shared: "f2e86241c64d60f6649fbc6c5b7d17180b780a3f34355e64a85749949c45f150",
        public: "c42ba5f8430d7d2c83739338203819f090e8303ce9c8b02107c272bfa5376916",
        ciphertext: "1661ea86d608a1924ba30840cb0a65f13ae051e3aec9cf0f064efc0bc92f2154",
    },
];
const KDF: &str = "d8a76936b24da07428c3c6f78623b9d95f7366d3c0670cf87f64853ee55bf0b5";
const DOMAIN_KEY: &str = "6dff187a951a08a0ce50b60e73e6626a2bf8a887dbdb63fdb42198e3448a7512";
const CHUNK_ID: &str = "2999bcf859f0ec4c8168e57b16699c7c1a109bb46af68b48";
const PAGE_ID: &str = "9280d4ae0dc234a389d1008e5d7e1d4cb74563887bbcc2f3";
const BOUNDARY: &str = "9678748413286964441";
const SOURCE_ID: &str = "2abc8e81ee263fcb7a74763fe3567d17";
const TAG_ID: &str = "1c8c20e4f1dc7fcd3bd0c0acb2f2d782";
const GEAR: (&str, &str) = ("060a13dfaccdcd74", "105ff461bb9b9cb6");
const CHOICE: &str = "897342f2d3b3effb";
const VERIFYING_KEY: &str = "1ce56a48c82ff99162a14bc544612674e5d61fb9317e65d4055780fdbcb4dc35";
const KEM_PUBLIC: &str = "da668025e295976458a417fdd74ce67e4fa5faa9de3edb98b61574a7d78d59e9";
const RECIPIENT_ID: &str = "f7c238ac311303ffd497faf6d192259a";
const FINGERPRINT: &str = "9b39b57cee8c97773ffec654b07766a0fdffb165b1139ec8861e9f9ac9cba667";
const SEALED_TEXT: &str = "50f7c7f9a0ce4c9ce52037b21fa7ac591e32ec00884fff0443fed0409fd05064a1ddcc";
const MANIFEST_KEY: &str = "79b5562e8fe654f94078b112e8a98ba7901f853ae695bed7e0e3910bad049664";
const REQUEST_KEY: &str = "43cdc023d22d5f9e107d1a0693457d35d1d10eb7d21c721192f56f5de40665d3";
const SESSION_RECORD: &str = "24bbc6690a016b6c6b7691be1c6b8be8d08f34d0e843488a09dc5ce2cafa0e62";
const SESSION_HEAD: &str = "\
    840150202122232425262728292a2b2c2d2e2f58202258b4f0a2784de241d454adf276878a92da7068fa1e262ed80d58e6d292bcfa";
const SESSION_ID: &str = "9d76aaf4a30eef6b9372679270fe3813";
const PASSPHRASE_SLOT: &str = "\
    57000000a600010150404142434445464748494a4b4c4d4e4f0250101112131415161718191a1b1c1d1e1f0384192000010150808182\
    838485868788898a8b8c8d8e8f044c606162636465666768696a6b051b17979cfe362a0005d013478b6915bd7ef5cc0ebf27a5ec2de4\
    88cc191ad942a94e6f738f9f69d146939cbaef629b677fe844a2763b2ca3b1479638bcf2832cf455985b76def35bb0b5167a53350adf\
    c7aa6f15ffeb0b46386b8d652c65025115e376f2e2ebe8b3895c7428e8be9116f57000b51f7ead30fbf14735adacd181f73ee1198af1\
    ad0c77c8d29796a7796d35b57fc011642cbe012be7ab0402b60087fec73467f19fe84f0cfec396ea61996b0a2d9d6a9b8410bcc9c91e\
    00c48031de213e147babe924b3";
const RECOVERY_SLOT: &str = "\
    3f000000a500020150404142434445464748494a4b4c4d4e4f0250101112131415161718191a1b1c1d1e1f044c606162636465666768\
    696a6b051b17979cfe362a000598342166fcf52d83f1acee3bc67025e0b85430486786d1b249ef2eb4a57100c4711cc1bf1f9af1f6d7\
    2f0b7dcade3908c85a982a78086a9118be9b95b0bea29f9cddded802efc13ad3a98cb8483560ca44898bf57f42cc2b3ba32850939545\
    ff8d8b98dff57ef0e3cd11d1188999ad6400568c81378af327370aa4dd78c60870e0a0f70cebd009506ad86f3632919cd3df9fb3b138\
    ec345115c2a9c70f380f4caeda973f2f6164b63804b0f4fc64bf802d4cbba94253434898298fd91c595c63";
const NAMED_SLOT: &str = "\
    65000000a600030150404142434445464748494a4b4c4d4e4f0250101112131415161718191a1b1c1d1e1f044c606162636465666768\
    696a6b051b17979cfe362a000518405822d10dce1260c97d8b4d43f902aaa7f548f6ffc9f1237643cd7127ef6f64bbeb5d9051f50ee3\
    88c29ae06e6cbc769c93464fe83d6b25fee0933c9569322e995b97528f97e62a6d5e50ae0adbf05f478cae6377f027e0cfe1dfcef82f\
    e387731328d2d5e8b3d721ac9fb09127650f872decfe704aea627efa5a118f92bb14c2c1b3da43a8b9a08a2b14d46e90ad83c6616230\
    bc1f6b72442ba3f16b9e01ad852f498cf8f02494d823f4f07b9c0aa3c6a4d903a9f0e8bf1f4157a24549ec32cbde1d47a82eb06bf33a\
    8b890ceef6752c796b624ba80363a47063b4772d84002a21822b04";
const KEY_FILE_SLOT: &str = "\
    3f000000a500030150404142434445464748494a4b4c4d4e4f0250101112131415161718191a1b1c1d1e1f044c606162636465666768\
    696a6b051b17979cfe362a0005a2a9a9c728ec575189637298f032f49306a631ad2a85029c2a20029220465c9db28a268c68a8cedda8\
    85c5195397bfd2bb26b5a7b22335cd196506ec145cecc44d6f50ff0195185c3846a45b243c84d05ad70353fa002ac4f386b8025c3960\
    edb3030116f2e08f8e7033999a8a744bfc6333c01c9146bb287a8ea5f25d01ccc35dad2263bff0150394d71dc865101e16c9e0161ed6\
    db9ea53ad33737300536877a8711ce38f7f13bc7f0edda692856e8523adeef362706e0019c1931d0070c73";
const RECOVERY_CODE: &str = "copal-recovery-1-1W8124G-K2GAHC5-RR34D1P-70X3RFJ-08924CJ-2A9H750-MJMASC5-MQ2RSWH";
const KEY_FILE: &str = "copal-key-1-3WG228H-34GJJC9-S854N2P-B1D5RQK-0C9J6CT-3ADHQ70-WKMESW7-MZA1DXH\n";
const SEALED_HELLO: &str =
    "d76f2942428499611cac432c864f61327ff65f513094dc9afff7e5eb3c2bf9156058f755a53f9d4a2e78cca3e1494a9260ac";
const SEALED_NOISE: &str = "30012eb79a191f60a459e5a82d6717d6943667b5374152299f6756509ef54b07";
const SEALED_TEXTS: &str = "9f8089384c834c7afd64b486efb5bdf747ce9cd82a8c6a5de52ab1944a75e562";
const CUTS: [usize; 19] = [
    704, 1743, 3064, 4676, 5867, 6134, 6718, 7823, 8371, 10477, 11529, 13057, 14507, 15049, 16847, 17770, 18297, 19573,
    20001,
];
