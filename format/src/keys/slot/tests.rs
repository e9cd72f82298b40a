use super::*;
use crate::keys::gcm_seal;

const WEAK: Argon2Params = Argon2Params { m_kib: 8 << 10, t: 1, p: 1 };

fn owner() -> OwnerSecret {
    let [root, kem, signing] = [2, 3, 4].map(|byte| Secret::new([byte; 32]));
    OwnerSecret::new(RepositoryId([1; 16]), root, kem, signing)
}

fn params() -> SlotParams {
    SlotParams { id: SlotId([5; 16]), created: Time(-7), nonce: [6; 12], salt: [7; 16], argon2: WEAK }
}

fn passphrase(text: &str) -> SlotInput {
    SlotInput::passphrase(text).unwrap()
}

fn key_file() -> SlotInput {
    SlotInput::KeyFile(Secret::new([8; 32]))
}

/// The slot with its content changed and a checksum that fits again: forged, not damaged.
fn resealed(mut slot: Vec<u8>, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    slot.truncate(slot.len() - 32);
    change(&mut slot);
    let hash = ObjectHash::of(&slot);
    slot.extend_from_slice(hash.as_bytes());
    slot
}

#[test]
fn a_slot_of_each_kind_opens_with_its_own_input_only() {
    let inputs = [passphrase("correct horse"), SlotInput::RecoveryCode(Secret::new([8; 32])), key_file()];
    for input in &inputs {
        let slot = Slot::parse(&seal(input, &params(), &owner())).unwrap();
        assert_eq!(slot.open(input), Ok(owner()));
        assert_eq!(slot.unwrap(&slot.stretch(input).unwrap()), Ok(owner()));
        assert_eq!((slot.id(), slot.kind(), slot.created()), (SlotId([5; 16]), input.kind(), Time(-7)));
        assert_eq!(slot.repository(), RepositoryId([1; 16]));
        for other in inputs.iter().filter(|other| other.kind() != input.kind()) {
            assert_eq!(slot.stretch(other), Err(SlotError::OtherKind { slot: slot.id(), kind: slot.kind() }));
            assert_eq!(slot.open(other), Err(SlotError::OtherKind { slot: slot.id(), kind: slot.kind() }));
        }
    }
}

#[test]
fn a_name_is_read_by_its_owner_only_and_belongs_to_one_slot() {
    let bytes = seal_named(&key_file(), &params(), &owner(), "Ännchen's laptop");
    let slot = Slot::parse(&bytes).unwrap();
    assert_eq!((slot.name(&owner()).as_deref(), slot.open(&key_file())), (Some("Ännchen's laptop"), Ok(owner())));
    assert!(!bytes.windows(6).any(|window| window == b"laptop"));
    let [root, kem, signing] = [9, 3, 4].map(|byte| Secret::new([byte; 32]));
    assert_eq!(slot.name(&OwnerSecret::new(RepositoryId([1; 16]), root, kem, signing)), None);
    let other = SlotParams { id: SlotId([6; 16]), ..params() };
    let moved = Slot { id: other.id, ..slot };
    assert_eq!(moved.name(&owner()), None);
    let unnamed = Slot::parse(&seal(&key_file(), &params(), &owner())).unwrap();
    assert_eq!(unnamed.name(&owner()), None);
    let longest = seal_named(&passphrase("p"), &params(), &owner(), &"n".repeat(KEY_NAME_BYTES));
    assert!(longest.len() <= STORED_BYTES && Slot::parse(&longest).is_ok());
}

#[test]
fn a_wrong_passphrase_and_damage_are_told_apart() {
    let bytes = seal(&passphrase("correct horse"), &params(), &owner());
    let slot = Slot::parse(&bytes).unwrap();
    let wrong = SlotError::WrongSecret { slot: slot.id(), kind: SlotKind::Passphrase };
    assert_eq!(slot.open(&passphrase("correct hors")), Err(wrong));
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert_eq!(Slot::parse(&damaged), Err(SlotError::Damaged), "byte {at}");
        assert_eq!(Slot::parse(&bytes[..at]), Err(SlotError::Damaged), "cut at {at}");
    }
}

#[test]
fn an_empty_passphrase_is_refused() {
    assert_eq!(SlotInput::passphrase(""), Err(BadPassphrase::Empty));
}

#[test]
fn composed_and_decomposed_passphrases_open_the_same_slot() {
    let slot = Slot::parse(&seal(&passphrase("gr\u{fc}n"), &params(), &owner())).unwrap();
    assert_eq!(slot.open(&passphrase("gru\u{308}n")), Ok(owner()));
}

#[test]
fn a_forged_seal_is_not_taken_for_a_wrong_input() {
    let bytes = resealed(seal(&key_file(), &params(), &owner()), |slot| *slot.last_mut().unwrap() ^= 1);
    let slot = Slot::parse(&bytes).unwrap();
    assert_eq!(slot.open(&key_file()), Err(SlotError::Forged { slot: slot.id() }));
}

#[test]
fn an_altered_header_does_not_open() {
    // The 4 bytes of the length, then map, key 0, kind, key 1, byte string head: the slot's id starts at 9.
    let bytes = resealed(seal(&key_file(), &params(), &owner()), |slot| slot[9] ^= 1);
    assert!(matches!(Slot::parse(&bytes).unwrap().open(&key_file()), Err(SlotError::WrongSecret { .. })));
}

#[test]
fn a_slot_that_wraps_the_secret_of_another_repository_is_refused() {
    let header = encode_header(SlotKind::KeyFile, &params(), RepositoryId([9; 16]), None, None);
    let (kek, commitment) = wrap_keys(&Secret::new([8; 32]), &header);
    let sealed = gcm_seal(&kek, params().nonce, &associated(&header, &commitment), &owner().to_bytes()[..]);
    let slot = Slot::parse_header(&header, commitment, sealed.try_into().unwrap()).unwrap();
    assert_eq!(slot.open(&key_file()), Err(SlotError::OtherRepository { slot: slot.id() }));
}

#[test]
fn costs_beyond_the_limits_are_refused_before_any_work() {
    for cost in [
        Argon2Params { m_kib: (8 << 10) - 1, ..WEAK },
        Argon2Params { m_kib: (4 << 20) + 1, ..WEAK },
        Argon2Params { t: 0, ..WEAK },
        Argon2Params { t: 65, ..WEAK },
        Argon2Params { p: 0, ..WEAK },
        Argon2Params { p: 17, ..WEAK },
    ] {
        let header = encode_header(SlotKind::Passphrase, &params(), RepositoryId([1; 16]), Some((cost, [7; 16])), None);
        let parsed = Slot::parse_header(&header, [0; 32], [0; SEALED]);
        assert_eq!(parsed, Err(SlotError::Cost { slot: SlotId([5; 16]), cost }));
    }
    assert!(Argon2Params::default().is_within_limits());
}

#[test]
fn kinds_this_program_does_not_know_are_named() {
    // The kind is the value of the header's first key.
    let bytes = resealed(seal(&key_file(), &params(), &owner()), |slot| slot[6] = 4);
    assert_eq!(Slot::parse(&bytes), Err(SlotError::UnknownKind { kind: 4 }));
}

#[test]
fn a_cost_in_a_slot_without_a_passphrase_is_refused() {
    let header = encode_header(SlotKind::KeyFile, &params(), RepositoryId([1; 16]), Some((WEAK, [7; 16])), None);
    assert!(matches!(Slot::parse_header(&header, [0; 32], [0; SEALED]), Err(SlotError::Malformed(_))));
}

#[test]
fn what_opens_a_slot_is_never_printed() {
    assert_eq!(format!("{:?}", passphrase("horse")), "Passphrase(Passphrase(..))");
    assert_eq!(format!("{:?}", key_file()), "KeyFile(Secret(..))");
}

#[test]
fn a_draft_tells_who_stretches_elsewhere_what_to_do_and_becomes_the_same_slot() {
    let input = passphrase("correct horse");
    let draft = SlotDraft::new(SlotKind::Passphrase, &params(), owner().repository());
    let unsealed = Slot::parse(&draft.unsealed()).unwrap();
    let stretched = unsealed.stretch(&input).unwrap();
    assert_eq!(draft.seal(&stretched, &owner()), seal(&input, &params(), &owner()));
    assert!(unsealed.unwrap(&stretched).is_err(), "a draft seals nothing");
}
