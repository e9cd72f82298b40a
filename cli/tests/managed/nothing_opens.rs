//! A thief of a machine opens nothing without the passphrase. These tests take every file that a machine keeps, except its
//! cache, and try its bytes as every kind of key on every object that the repository stores.

use std::collections::BTreeSet;

use copal_format::block::{OpenBlock, OpenTools};
use copal_format::enrollment::Enrollment;
use copal_format::id::RepositoryId;
use copal_format::keys::owner::OwnerSecret;
use copal_format::keys::secret::Secret;
use copal_format::keys::session::{SessionKey, SessionRecord};
use copal_format::keys::slot::{Slot, SlotInput};
use copal_format::manifest::Manifest;
use copal_format::pack::{self, PackKind, PackTable};
use copal_format::repository::Descriptor;
use copal_format::seal::{BlockKind, SessionCipher};

use super::world::{enroll, join, joined, managed, other, upload};
use crate::kit::{Machine, Run, files, noise, text};

/// What the repository stores that is sealed.
struct Sealed {
    repository: RepositoryId,
    packs: Vec<(Vec<u8>, PackTable)>,
    /// Session records, kinds, numbers and bytes of snapshots' descriptions.
    infos: Vec<(Vec<u8>, u64, Vec<u8>)>,
    slots: Vec<Slot>,
}

impl Sealed {
    fn of(owner: &Machine, signer: &[u8; 32]) -> Self {
        let objects = owner.objects();
        let below = |prefix: &'static str| objects.iter().filter(move |(name, _)| name.starts_with(prefix));
        let repository = Descriptor::decode(1, below("copal/").next().unwrap().1).unwrap().repository;
        let packs = below("packs/").map(|(_, bytes)| (bytes.clone(), pack::parse(bytes).unwrap())).collect();
        let infos = below("manifests/").map(|(name, bytes)| {
            let client = copal_format::layout::client_of(name).unwrap();
            let number = copal_format::layout::trailing_number(name).unwrap();
            let verified = Manifest::verify(repository, signer, client, number, bytes).unwrap();
            let claim = verified.manifest.snapshot.unwrap();
            (claim.session_record, claim.counter, claim.info)
        });
        let slots = below("keys/").map(|(_, bytes)| Slot::parse(bytes).unwrap()).collect();
        Self { repository, packs, infos: infos.collect(), slots }
    }

    /// How many blocks and slots open with these session keys and owner's secrets.
    fn opened_by(&self, sessions: &[Secret], owners: &[OwnerSecret]) -> usize {
        let mut opened = 0;
        let mut tools = OpenTools::new();
        let mut try_on = |record: &[u8], kind: BlockKind, counter: u64, stored: &[u8]| {
            let record = SessionRecord::parse(record).unwrap();
            let unwrapped = owners.iter().filter_map(|owner| record.unwrap(owner).ok());
            let keys = sessions.iter().map(|secret| SessionKey::new(secret.clone())).chain(unwrapped);
            for key in keys {
                let cipher = SessionCipher::new(&key, self.repository, record.id(self.repository));
                opened += usize::from(OpenBlock::open(&cipher, kind, counter, stored, &mut tools).is_ok());
            }
        };
        for (bytes, table) in &self.packs {
            let kind = if table.kind == PackKind::Data { BlockKind::Data } else { BlockKind::Tree };
            for row in &table.blocks {
                let stored = &bytes[row.offset as usize..(row.offset + row.length) as usize];
                try_on(&table.sessions[row.session as usize], kind, row.counter, stored);
            }
        }
        for (record, counter, stored) in &self.infos {
            try_on(record, BlockKind::Info, *counter, stored);
        }
        opened
    }

    fn session_records(&self) -> impl Iterator<Item = &Vec<u8>> {
        let of_packs = self.packs.iter().flat_map(|(_, table)| &table.sessions);
        of_packs.chain(self.infos.iter().map(|(record, ..)| record))
    }

    fn slots_opened_by(&self, secrets: &[Secret]) -> usize {
        let inputs = secrets
            .iter()
            .flat_map(|secret| [SlotInput::KeyFile(secret.clone()), SlotInput::RecoveryCode(secret.clone())]);
        inputs.map(|input| self.slots.iter().filter(|slot| slot.open(&input).is_ok()).count()).sum()
    }
}

/// Every 32 bytes that follow each other in what is held.
fn secrets_in(held: &[Vec<u8>]) -> Vec<Secret> {
    let windows = held.iter().flat_map(|bytes| bytes.windows(Secret::LEN).map(|window| window.try_into().unwrap()));
    let distinct: BTreeSet<[u8; Secret::LEN]> = windows.collect();
    distinct.into_iter().map(Secret::new).collect()
}

#[test]
fn nothing_that_a_write_only_machine_holds_opens_anything_that_is_stored() {
    let owner = managed();
    let line = enroll(&owner, "camera", "write-only");
    let machine = other(&owner);
    join(&machine, &line).ran().ok();
    machine.write("file", noise(1, 10_000));
    upload(&machine, &["--tag", "t"]).ok();
    owner.ok(&["ingest"]);
    let enrollment = Enrollment::decode(&line).unwrap();
    // The thief may even have found the line.
    let secrets = opens_nothing(&owner, &machine, "enrolled", vec![enrollment.seed.expose().to_vec()]);
    let domain_key = *enrollment.domain_key.as_ref().unwrap().expose().expose();
    assert!(secrets.contains(&Secret::new(domain_key)), "the domain's key is among them");
}

#[test]
fn nothing_that_a_full_machine_keeps_opens_anything_that_is_stored() {
    let owner = managed();
    let machine = joined(&owner, "desk", "full");
    machine.write("file", noise(1, 10_000));
    let mut backup = machine.command(&["backup", "source", "--no-wait", "--tag", "t"]);
    backup.env("COPAL_KEY_FILE", owner.path("key")).ran().ok();
    owner.ok(&["ingest"]);
    opens_nothing(&owner, &machine, "client", Vec::new());
}

/// Tries all that a machine keeps, and what else was found; gives what was tried. The file of this name holds its signing keys.
fn opens_nothing(owner: &Machine, machine: &Machine, keys: &str, found: Vec<Vec<u8>>) -> Vec<Secret> {
    let mut paths = files(&machine.path("home"));
    paths.retain(|path| !path.iter().any(|name| name == ".cache"));
    // The file of the signing keys comes first. The other files note what the machine has met.
    paths.sort_by_key(|path| !path.ends_with(keys));
    assert!(paths[0].ends_with(keys), "{paths:?}");
    let mut held: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    held.extend(found);
    let signing = held[0].windows(32).find_map(|seed| {
        let keys =
            copal_format::keys::client::ClientKeys::new(Secret::new(seed.try_into().unwrap()), Secret::new([0; 32]));
        is_signer(owner, keys.manifest_public()).then(|| keys.manifest_public())
    });
    let sealed = Sealed::of(owner, &signing.expect("its signing key is there"));
    assert!(sealed.packs.len() >= 2 && !sealed.infos.is_empty() && sealed.slots.len() >= 4);

    let secrets = secrets_in(&held);
    let purposes = ["domain", "block", "nonce", "session-wrap", "session-commit", "slot", "text", "kept-tree"];
    let derived = |secret: &Secret| purposes.map(|purpose| secret.derive(purpose, b""));
    let mut sessions: Vec<Secret> = secrets.iter().flat_map(derived).collect();
    sessions.extend(secrets.iter().cloned());
    let as_owner =
        |secret: &Secret| OwnerSecret::new(sealed.repository, secret.clone(), secret.clone(), secret.clone());
    let owners: Vec<OwnerSecret> = secrets.iter().map(as_owner).collect();
    assert_eq!(sealed.opened_by(&sessions, &owners), 0);
    assert_eq!(sealed.slots_opened_by(&secrets), 0);

    // The same attempts succeed for who holds the owner's key file, and each session is wrapped for nobody else.
    let key_file = std::fs::read_to_string(owner.path("key")).unwrap();
    let input = SlotInput::key_file(&key_file).unwrap();
    let secret = sealed.slots.iter().find_map(|slot| slot.open(&input).ok()).expect("a slot opens");
    assert!(sealed.opened_by(&[], &[secret]) >= 3);
    assert!(sealed.session_records().all(|record| record.len() < 2 * WRAP), "one recipient each");
    secrets
}

/// Bytes of what wraps a session for one recipient: the ciphertext of X-Wing alone.
const WRAP: usize = 1_120;

/// Whether a client of the repository has this key for manifests.
fn is_signer(owner: &Machine, public: [u8; 32]) -> bool {
    owner.names("clients/").iter().any(|name| {
        let bytes = std::fs::read(owner.object(name)).unwrap();
        bytes.windows(32).any(|window| window == public)
    })
}

#[test]
fn what_is_stored_tells_no_names_and_no_content() {
    let owner = managed();
    for (name, role) in [("camera-of-anna", "write-only"), ("laptop-of-anna", "full")] {
        let machine = joined(&owner, name, role);
        machine.write("a-telling-name", format!("a telling content of a {role} client, ").repeat(40));
        let mut backup = machine.command(&["backup", "source", "--no-wait", "--tag", "a-telling-tag"]);
        if role == "full" {
            backup.env("COPAL_KEY_FILE", owner.path("key")).args(["--label", "a-telling-label"]);
        }
        backup.ran().ok();
    }
    owner.ok(&["ingest"]);
    let words: [&[u8]; 5] = [b"telling", b"-of-anna", b"laptop", b"source", b"content"];
    for (name, bytes) in owner.objects() {
        for word in words {
            let is_in = bytes.windows(word.len()).any(|window| window == word);
            assert!(!is_in, "{name} tells {}", text(&String::from_utf8_lossy(word).into_owned().into()));
        }
    }
}
