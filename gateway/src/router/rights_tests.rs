use super::*;

const SERVICE: House = House { is_made: true, open_slots: false, accept_init: false };
const FULL: Caller = Caller::Client { id: ClientId([1; 16]), role: Role::Full, domain: DomainId([1; 16]) };
const WRITER: Caller = Caller::Client { id: ClientId([2; 16]), role: Role::WriteOnly, domain: DomainId([2; 16]) };

fn create(caller: Caller, key: &str, length: u64) -> bool {
    may_create(caller, SERVICE, &Upload { key, length, sha256: [7; 32] }).is_ok()
}

#[test]
fn no_client_creates_what_the_owner_or_the_service_writes() {
    for key in ["moved/07/07", "reports/x/1", "expiries/00000000000000000001", "", "keys", "packs/", "copal/1"] {
        for caller in [FULL, WRITER, Caller::Nobody, Caller::Owner] {
            assert!(!create(caller, key, 1), "{key} by {caller:?}");
        }
    }
}

#[test]
fn names_of_other_forms_than_the_layouts_are_refused() {
    let id = ClientId([1; 16]);
    for key in [
        format!("manifests/{id}/1"),
        format!("manifests/{id}/x/{:020}", 1),
        layout::manifest(id, 0),
        format!("manifests/{}/{:020}", "AB".repeat(16), 1),
        format!("changes/x/{:020}", 1),
    ] {
        assert!(!create(FULL, &key, 1), "{key}");
    }
    assert!(create(FULL, &layout::manifest(id, 1), 1));
}

#[test]
fn objects_larger_or_shorter_than_any_of_their_kind_are_refused() {
    let manifest = layout::manifest(ClientId([1; 16]), 1);
    assert!(create(FULL, &manifest, RECORD_BYTES as u64) && !create(FULL, &manifest, RECORD_BYTES as u64 * 2));
    let pack = layout::pack(Place::Packs, copal_format::id::PackId([7; 32]));
    assert!(create(WRITER, &pack, PACK_BYTES) && !create(WRITER, &pack, PACK_BYTES + 1));
    assert!(create(WRITER, &pack, 32) && !create(WRITER, &pack, 31) && !create(FULL, &pack, 0));
}

#[test]
fn the_owner_alone_stores_the_reader_under_the_hash_of_its_bytes() {
    let hash = copal_format::id::ObjectHash([7; 32]);
    for key in [layout::reader(hash), layout::reader_text(hash)] {
        assert!(create(Caller::Owner, &key, READER_BYTES) && !create(Caller::Owner, &key, READER_BYTES + 1), "{key}");
        assert!([FULL, WRITER, Caller::Nobody].iter().all(|caller| !create(*caller, &key, 1)), "{key}");
        assert!([FULL, WRITER, Caller::Owner].iter().all(|caller| may_read(*caller, SERVICE, &key).is_ok()), "{key}");
    }
    assert!(!create(Caller::Owner, &layout::reader(copal_format::id::ObjectHash([8; 32])), 1));
    assert!(!create(Caller::Owner, &format!("reader/{hash}"), 1));
}

#[test]
fn a_write_only_client_reads_neither_packs_nor_slots_nor_others() {
    let other = layout::manifest(ClientId([1; 16]), 1);
    for key in ["packs/07/07", "moved/07/07", "keys/x/a", "changes/1", "reports/x/1", &other, "tmp/x"] {
        assert!(may_read(WRITER, SERVICE, key).is_err(), "{key}");
    }
}

#[test]
fn nobody_sees_unfinished_writes_or_the_work_of_jobs() {
    for caller in [FULL, WRITER, Caller::Owner, Caller::Nobody] {
        for key in ["tmp/x", "work/prune/1"] {
            assert!(may_read(caller, SERVICE, key).is_err() && may_list(caller, SERVICE, key).is_err());
        }
    }
}

#[test]
fn second_copies_of_client_records_are_the_owners_to_create() {
    let id = ClientId([2; 16]);
    let copy = layout::client_copy(id, 2);
    let joining = Caller::Joining { id, role: Role::WriteOnly };
    assert!(create(Caller::Owner, &copy, 1) && create(joining, &layout::client(id, 2), 1));
    assert!([FULL, WRITER, joining, Caller::Nobody].iter().all(|caller| !create(*caller, &copy, 1)));
    for other in [format!("{copy}.b"), format!("clients/{id}/2.b"), format!("clients/x/{:020}.b", 2)] {
        assert!(!create(Caller::Owner, &other, 1), "{other}");
    }
    assert!([FULL, WRITER, joining].iter().all(|caller| may_read(*caller, SERVICE, &copy).is_ok()));
    assert!(may_read(Caller::Nobody, SERVICE, &copy).is_err());
}
