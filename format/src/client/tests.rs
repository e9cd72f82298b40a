use super::*;

const REPOSITORY: RepositoryId = RepositoryId([9; 16]);
const CLIENT: ClientId = ClientId([1; 16]);

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn owner() -> SigningKey {
    key(1)
}

fn public(seed: u8) -> [u8; 32] {
    key(seed).verifying_key().to_bytes()
}

fn registered() -> ClientRecord {
    ClientRecord {
        sealed_name: b"sealed".to_vec(),
        keys: Some(ClientPublic { manifest: public(5), request: public(6) }),
        ..ClientRecord::new(CLIENT, Role::WriteOnly, DomainId([2; 16]), Time(3))
    }
}

fn enrollment() -> ClientRecord {
    ClientRecord { keys: None, enrollment: enrolled_by(4), ..registered() }
}

fn enrolled_by(seed: u8) -> Option<EnrollmentPublic> {
    Some(EnrollmentPublic { key: public(seed), expires: Some(Time(9)) })
}

fn joined() -> ClientRecord {
    ClientRecord { version: 2, signed_by: SignedBy::Enrollment, ..registered() }
}

fn revoked(version: u64) -> ClientRecord {
    let last_change = Some((9, ObjectHash([9; 32])));
    ClientRecord { version, revoked: Some((7, ObjectHash([7; 32]))), last_change, ..registered() }
}

fn signed(records: &[(&ClientRecord, SigningKey)]) -> Vec<(u64, Vec<u8>)> {
    records.iter().map(|(record, key)| (record.version, record.sign(REPOSITORY, key))).collect()
}

fn read(versions: &[(u64, Vec<u8>)]) -> Result<ClientRecord, ClientError> {
    read_chain(REPOSITORY, &public(1), CLIENT, versions)
}

fn read_signed(records: &[(&ClientRecord, SigningKey)]) -> Result<ClientRecord, ClientError> {
    read(&signed(records))
}

fn forged(version: u64) -> ClientError {
    ClientError::Record { client: CLIENT, version, source: RecordError::Signature { kind: "client" } }
}

#[test]
fn the_newest_of_the_owners_versions_counts() {
    assert_eq!(read_signed(&[(&registered(), owner())]), Ok(registered()));
    assert_eq!(read_signed(&[(&registered(), owner()), (&revoked(2), owner())]), Ok(revoked(2)));
}

#[test]
fn versions_may_come_in_any_order() {
    assert_eq!(read_signed(&[(&revoked(2), owner()), (&registered(), owner())]), Ok(revoked(2)));
}

#[test]
fn an_enrolled_client_joins_with_its_enrollment_key_and_is_revoked_by_the_owner() {
    let versions = [(&enrollment(), owner()), (&joined(), key(4)), (&revoked(3), owner())];
    assert_eq!(read_signed(&versions[..1]), Ok(enrollment()));
    assert_eq!(read_signed(&versions[..2]), Ok(joined()));
    assert_eq!(read_signed(&versions), Ok(revoked(3)));
}

#[test]
fn of_two_copies_one_that_can_be_believed_is_enough() {
    let sound = signed(&[(&enrollment(), owner()), (&joined(), key(4)), (&revoked(3), owner())]);
    let damaged = |(version, bytes): &(u64, Vec<u8>)| (*version, bytes[1..].to_vec());
    for (at, copy) in sound.iter().enumerate() {
        for copies in [[damaged(copy), copy.clone()], [copy.clone(), damaged(copy)], [copy.clone(), copy.clone()]] {
            let mut versions = sound.clone();
            versions.splice(at..=at, copies);
            assert_eq!(read(&versions), Ok(revoked(3)), "version {}", copy.0);
        }
        let mut versions = sound.clone();
        versions.splice(at..=at, [damaged(copy), damaged(copy)]);
        let history = ClientHistory::read(REPOSITORY, &public(1), CLIENT, &versions);
        assert_eq!(
            history
                .refused
                .iter()
                .filter(|error| matches!(error, ClientError::Record { version, .. } if *version == copy.0))
                .count(),
            1
        );
        assert!(read(&versions).is_err(), "version {}", copy.0);
    }
}

#[test]
fn of_two_copies_that_can_be_believed_the_first_counts() {
    let other = ClientRecord { created: Time(4), ..registered() };
    assert_eq!(read_signed(&[(&registered(), owner()), (&other, owner())]), Ok(registered()));
}

#[test]
fn a_client_without_a_version_is_unknown() {
    assert_eq!(read(&[]), Err(ClientError::Unknown { client: CLIENT }));
}

#[test]
fn a_first_version_that_the_owner_did_not_sign_is_refused() {
    assert_eq!(read_signed(&[(&registered(), key(8))]), Err(forged(1)));
    let itself = ClientRecord { signed_by: SignedBy::Enrollment, ..registered() };
    let not_enrolled = ClientError::NotEnrolled { client: CLIENT, version: 1 };
    assert_eq!(read_signed(&[(&itself, key(5))]), Err(not_enrolled));
}

#[test]
fn joining_needs_the_key_that_version_1_names() {
    assert_eq!(read_signed(&[(&enrollment(), owner()), (&joined(), key(8))]), Err(forged(2)));
    assert_eq!(read_signed(&[(&enrollment(), owner()), (&joined(), owner())]), Err(forged(2)));
}

#[test]
fn a_client_that_did_not_wait_cannot_be_joined() {
    let not_enrolled = |version| Err(ClientError::NotEnrolled { client: CLIENT, version });
    assert_eq!(read_signed(&[(&registered(), owner()), (&joined(), key(4))]), not_enrolled(2));
    let cancelled = ClientRecord { revoked: Some((0, ObjectHash::NONE)), ..enrollment() };
    assert_eq!(read_signed(&[(&cancelled, owner()), (&joined(), key(4))]), not_enrolled(2));
}

#[test]
fn an_enrollment_key_is_good_for_one_version_only() {
    let again = ClientRecord { version: 3, ..joined() };
    let versions = [(&enrollment(), owner()), (&joined(), key(4)), (&again, key(4))];
    assert_eq!(read_signed(&versions), Err(ClientError::NotEnrolled { client: CLIENT, version: 3 }));
}

#[test]
fn joining_cannot_change_role_domain_or_name_nor_revoke_nor_leave_out_the_keys() {
    for altered in [
        ClientRecord { role: Role::Full, ..joined() },
        ClientRecord { domain: DomainId([3; 16]), ..joined() },
        ClientRecord { sealed_name: b"other".to_vec(), ..joined() },
        ClientRecord { revoked: Some((7, ObjectHash([7; 32]))), ..joined() },
        ClientRecord { keys: None, enrollment: enrolled_by(8), ..joined() },
    ] {
        let versions = [(&enrollment(), owner()), (&altered, key(4))];
        assert_eq!(read_signed(&versions), Err(ClientError::Altered { client: CLIENT, version: 2 }), "{altered:?}");
    }
}

#[test]
fn a_record_under_another_name_or_from_another_repository_is_refused() {
    let misplaced = |version| {
        let source = RecordError::Misplaced { kind: "client" };
        Err(ClientError::Record { client: CLIENT, version, source })
    };
    let other = ClientRecord { client: ClientId([8; 16]), ..registered() };
    assert_eq!(read_signed(&[(&other, owner())]), misplaced(1));
    let first = registered().sign(REPOSITORY, &owner());
    assert_eq!(read(&[(1, first.clone()), (2, first)]), misplaced(2));
    assert_eq!(read(&[(1, registered().sign(RepositoryId([8; 16]), &owner()))]), Err(forged(1)));
}

#[test]
fn joining_adds_keys_and_leaves_what_the_owner_decided_and_a_revocation_leaves_the_keys() {
    let keys = registered().keys.unwrap();
    let joined = enrollment().joined(keys, Time(6));
    assert!(joined.joins(&enrollment()) && (joined.version, joined.created) == (2, Time(6)));
    let gone = joined.revoked((7, ObjectHash([7; 32])), None, Time(7));
    assert_eq!((gone.version, gone.keys, gone.signed_by), (3, Some(keys), SignedBy::Owner));
    assert_eq!(gone.revoked, Some((7, ObjectHash([7; 32]))));
    let withdrawn = enrollment().revoked((0, ObjectHash::NONE), None, Time(7));
    assert!(withdrawn.enrollment.is_some() && withdrawn.joinable().is_none());
}

#[test]
fn keys_and_enrollment_key_exclude_each_other() {
    for bad in [
        ClientRecord { enrollment: enrolled_by(4), ..registered() },
        ClientRecord { keys: None, ..registered() },
        ClientRecord { revoked: Some((0, ObjectHash([1; 32]))), ..registered() },
        ClientRecord { revoked: Some((1, ObjectHash::NONE)), ..registered() },
        ClientRecord { last_change: Some((1, ObjectHash([1; 32]))), ..registered() },
        ClientRecord { last_change: Some((0, ObjectHash([1; 32]))), ..revoked(1) },
    ] {
        let source = read_signed(&[(&bad, owner())]).unwrap_err();
        assert!(matches!(source, ClientError::Record { source: RecordError::Malformed { .. }, .. }), "{bad:?}");
    }
}

#[test]
fn an_enrollment_has_an_end_unless_one_of_the_first_programs_made_it() {
    let endless = ClientRecord { enrollment: Some(EnrollmentPublic { key: public(4), expires: None }), ..enrollment() };
    assert_eq!(read_signed(&[(&endless, owner())]), Ok(endless.clone()));
    let withdrawn = enrollment().revoked((0, ObjectHash::NONE), None, Time(7));
    assert_eq!(read_signed(&[(&enrollment(), owner()), (&withdrawn, owner())]), Ok(withdrawn));
    let ends = |record: &ClientRecord, at| record.enrollment.is_some_and(|enrollment| enrollment.is_over(Time(at)));
    assert!(!ends(&enrollment(), 9) && ends(&enrollment(), 10) && !ends(&endless, i64::MAX));
    // The end of no enrollment.
    let mut body = registered().body();
    body[0] += 1;
    body.extend([12, 9]);
    let source = read(&[(1, record::sign(Kind::Client, REPOSITORY, &body, &owner()))]).unwrap_err();
    assert!(matches!(source, ClientError::Record { source: RecordError::Malformed { .. }, .. }), "{source:?}");
}

#[test]
fn no_client_may_write_while_a_version_is_missing_or_cannot_be_believed() {
    let mut versions = signed(&[(&registered(), owner()), (&revoked(3), owner())]);
    assert_eq!(read(&versions), Err(ClientError::Missing { client: CLIENT, version: 2 }));
    versions[1] = (2, b"damaged".to_vec());
    assert!(matches!(read(&versions), Err(ClientError::Record { version: 2, .. })));
}

#[test]
fn a_forged_or_missing_version_does_not_hide_the_others_from_a_reader() {
    let mut versions = signed(&[(&registered(), owner()), (&revoked(4), owner())]);
    versions.push((5, b"damaged".to_vec()));
    let history = ClientHistory::read(REPOSITORY, &public(1), CLIENT, &versions);
    assert_eq!(history.newest, Some(revoked(4)));
    assert_eq!(history.refused[0], ClientError::Missing { client: CLIENT, version: 2 });
    assert!(matches!(history.refused[1], ClientError::Record { version: 5, .. }));
}

#[test]
fn a_revoked_client_keeps_its_manifests_up_to_the_last_good_one() {
    let revoked = revoked(2);
    assert!(revoked.accepts(6, ObjectHash([1; 32])) && revoked.accepts(7, ObjectHash([7; 32])));
    assert!(!revoked.accepts(7, ObjectHash([8; 32])) && !revoked.accepts(8, ObjectHash([7; 32])));
    assert!(registered().accepts(u64::MAX, ObjectHash([1; 32])));
    let never = ClientRecord { revoked: Some((0, ObjectHash::NONE)), ..registered() };
    assert!(!never.accepts(1, ObjectHash([1; 32])));
}

#[test]
fn a_client_that_has_not_joined_has_no_manifests() {
    assert!(!enrollment().accepts(1, ObjectHash([1; 32])));
}

#[test]
fn changes_of_a_revoked_client_count_up_to_the_last_one_that_its_revocation_names() {
    let full = ClientRecord { role: Role::Full, ..registered() };
    let revoked = ClientRecord { role: Role::Full, ..revoked(2) };
    assert!(revoked.accepts_change(8, ObjectHash([1; 32])) && revoked.accepts_change(9, ObjectHash([9; 32])));
    assert!(!revoked.accepts_change(9, ObjectHash([8; 32])) && !revoked.accepts_change(10, ObjectHash([9; 32])));
    let none = ClientRecord { last_change: None, ..revoked };
    assert!(!none.accepts_change(1, ObjectHash([1; 32])) && full.accepts_change(1, ObjectHash([1; 32])));
    assert!(!ClientRecord { role: Role::WriteOnly, ..full }.accepts_change(1, ObjectHash([1; 32])));
}
