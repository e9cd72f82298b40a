//! Marking: what a browser signs about snapshots, and what it believes before it signs.

use copal_engine::changing::Mark;
use copal_format::change::{Change, Operation};
use copal_format::client::Role;
use copal_format::id::{ObjectHash, SnapshotId};
use copal_format::layout;
use copal_format::state::SnapshotState;
use copal_format::time::Time;
use copal_wasm::changes::Changes;
use copal_wasm::fault::Code;
use copal_wasm::look::Library;

use super::seat::{Browser, files};

/// A browser, and two snapshots of another client.
fn two() -> (Browser, copal_tests::kit::Client, [SnapshotId; 2]) {
    let browser = Browser::new();
    let client = browser.world.register(1, Role::Full);
    let snapshots = [1, 2].map(|seed| browser.world.back_up(&client, &files(seed, 10, 2_000)));
    (browser, client, snapshots)
}

/// Follows the chain, and stores what is due; other writers are let go first as long as `between` stores something.
pub(super) fn write(browser: &Browser, changes: Option<Changes>, mut between: impl FnMut(&str)) {
    let mut changes = changes.expect("something is to be changed");
    let fetch = |key: &str| browser.world.has(key).then(|| browser.world.read(key));
    while let Some(name) = changes.unread() {
        changes.read(fetch(&name).as_deref()).unwrap();
    }
    while changes.next(Time(7)).is_some() {
        let signed = changes.signed(None).unwrap();
        between(&signed.key);
        if !browser.world.has(&signed.key) {
            browser.world.put(&signed.key, signed.bytes);
        }
        changes.stored(&browser.world.read(&signed.key)).unwrap();
    }
    browser.world.ingest().unwrap();
}

fn mark(browser: &Browser, library: &Library, mark: Mark, ids: &[SnapshotId]) -> Result<Option<Changes>, Code> {
    library.mark(&browser.client, None, mark, ids).map_err(|fault| fault.code)
}

#[test]
fn what_a_browser_marks_counts_behind_what_others_have_changed() {
    let (browser, client, [first, second]) = two();
    browser.world.change(&client, vec![Operation::Pin(vec![first])]);
    let library = browser.library();
    let mut is_first = true;
    let overtake = |_: &str| {
        if core::mem::take(&mut is_first) {
            browser.world.write_change(&client, vec![Operation::Pin(vec![second])]);
        }
    };
    write(&browser, mark(&browser, &library, Mark::Unpin, &[first]).unwrap(), overtake);
    let is_pinned = [first, second].map(|id| browser.world.snapshot(id).pinned);
    assert_eq!(is_pinned, [false, true]);
}

#[test]
fn forgotten_snapshots_are_listed_on_demand_and_come_back() {
    let (browser, _, [first, second]) = two();
    let library = browser.library();
    write(&browser, mark(&browser, &library, Mark::Forget, &[first]).unwrap(), |_| {});
    assert_eq!(browser.world.snapshot(first).state, SnapshotState::Forgotten);
    let mut library = browser.library();
    let ids = |library: &Library| library.snapshots().iter().map(|of| of.id).collect::<Vec<_>>();
    assert_eq!(ids(&library), [second]);
    library.list_forgotten();
    for key in library.needed_manifests() {
        library.supply_manifest(&key, Some(&browser.world.read(&key))).unwrap();
    }
    assert_eq!(ids(&library).len(), 2);
    write(&browser, mark(&browser, &library, Mark::Undelete, &[first, second]).unwrap(), |_| {});
    assert_eq!(browser.world.snapshot(first).state, SnapshotState::Kept);
    assert!(
        mark(&browser, &browser.library(), Mark::Undelete, &[first]).unwrap().is_none(),
        "nothing is to be changed"
    );
}

#[test]
fn only_snapshots_whose_manifests_count_are_marked() {
    let (browser, _, [first, _]) = two();
    let mut library = browser.library();
    let unknown = mark(&browser, &library, Mark::Pin, &[first, SnapshotId([9; 16])]);
    assert_eq!(unknown.err(), Some(Code::Absent), "what no manifest has as its hash");
    let key = library.needed_manifests();
    assert!(key.is_empty());
    let record = library.snapshots().into_iter().find(|of| of.id == first).unwrap();
    let name = layout::manifest(record.client, record.number);
    let mut bytes = browser.world.read(&name);
    *bytes.last_mut().unwrap() ^= 1;
    library.supply_manifest(&name, Some(&bytes)).unwrap();
    assert_eq!(mark(&browser, &library, Mark::Forget, &[first]).err(), Some(Code::Absent), "its signature is false");
}

#[test]
fn names_of_tags_come_from_changes_and_only_of_the_owners_making() {
    let (browser, _, [first, second]) = two();
    let library = browser.library();
    let tags = library.tag(&browser.client, None, &[first, second], &["taxes".into()], &[]).unwrap();
    write(&browser, tags, |_| {});
    let mut library = browser.library();
    assert!(library.needs_tags());
    let name = layout::change(1);
    let mut forged =
        Change::vouched(1, ObjectHash::of(&browser.world.read(&name)), &browser.world.read(&name)).unwrap();
    for operation in &mut forged.operations {
        let Operation::Tag { add, .. } = operation else { panic!() };
        add.iter_mut().for_each(|(_, sealed)| *sealed.last_mut().unwrap() ^= 1);
    }
    let key = browser.world.register(3, Role::Full).keys.manifest_key();
    assert!(!library.supply_change(&name, &forged.sign(browser.client.repository(), &key)));
    assert!(library.supply_change(&name, &browser.world.read(&name)));
    assert!(!library.needs_tags());
    assert!(library.snapshots().iter().all(|of| of.tags == ["taxes"]));
}
