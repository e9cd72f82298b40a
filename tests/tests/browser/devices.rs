//! Devices: what only the owner signs about clients, and what a browser asks of their records before.

use copal_format::client::Role;
use copal_format::id::{ClientId, ObjectHash};
use copal_format::layout;
use copal_format::snapshot::SnapshotInfo;
use copal_format::time::Time;
use copal_wasm::client::HostKeys;
use copal_wasm::devices::Last;
use copal_wasm::enrollment::Enrollment;
use copal_wasm::fault::Code;

use super::seat::{Browser, LATER, files};

/// The versions of a client's record in the store.
fn versions(browser: &Browser, id: ClientId) -> Vec<(u64, Vec<u8>)> {
    let names = (1..).map(|version| (version, layout::client(id, version)));
    let there = names.take_while(|(_, name)| browser.world.has(name));
    there.map(|(version, name)| (version, browser.world.read(&name))).collect()
}

#[test]
fn a_revocation_names_a_manifest_that_the_device_has_signed() {
    let browser = Browser::new();
    let [client, other] = [1, 2].map(|number| browser.world.register(number, Role::Full));
    for client in [&client, &other] {
        browser.world.back_up(client, &files(1, 3, 500));
    }
    let manifest = |id: ClientId| browser.world.read(&layout::manifest(id, 1));
    let (own, foreign) = (manifest(client.id), manifest(other.id));
    let known = versions(&browser, client.id);
    let revoke = |number: u64, hash: ObjectHash, bytes: &[u8]| {
        let last = Some(Last { number, hash, bytes });
        browser.owner.revoke(&browser.descriptor, client.id, &known, last, None, Time(9)).map_err(|fault| fault.code)
    };
    assert_eq!(revoke(1, ObjectHash::of(&foreign), &foreign), Err(Code::Damaged), "another device signed it");
    assert_eq!(revoke(1, ObjectHash::of(&foreign), &own), Err(Code::Damaged), "it is not the one that was named");
    assert_eq!(revoke(2, ObjectHash::of(&own), &own), Err(Code::Damaged), "it has another number");
    let next = revoke(1, ObjectHash::of(&own), &own).unwrap();
    next.keys.iter().for_each(|key| browser.world.put(key, next.bytes.clone()));
    let device = browser.owner.device(&browser.descriptor, client.id, &versions(&browser, client.id)).unwrap();
    assert_eq!(device.record.revoked, Some((1, ObjectHash::of(&own))));
    assert_eq!(browser.world.check().findings.len(), 0);
}

#[test]
fn a_record_with_a_version_that_cannot_be_believed_gets_no_other() {
    let browser = Browser::new();
    let client = browser.world.register(1, Role::Full);
    let mut known = versions(&browser, client.id);
    known.push((2, b"it might be a revocation".to_vec()));
    let renamed = browser.owner.rename(&browser.descriptor, client.id, &known, "desk", Time(9));
    assert_eq!(renamed.unwrap_err().code, Code::ClientDamaged);
    let revoked = browser.owner.revoke(&browser.descriptor, client.id, &known, None, None, Time(9));
    assert_eq!(revoked.unwrap_err().code, Code::ClientDamaged);
    assert!(!browser.owner.device(&browser.descriptor, client.id, &known).unwrap().is_whole);
}

#[test]
fn a_renamed_device_is_the_same_and_goes_on_saving() {
    let browser = Browser::new();
    let client = browser.world.register(1, Role::WriteOnly);
    let next =
        browser.owner.rename(&browser.descriptor, client.id, &versions(&browser, client.id), "desk", Time(9)).unwrap();
    next.keys.iter().for_each(|key| browser.world.put(key, next.bytes.clone()));
    let known = versions(&browser, client.id);
    let device = browser.owner.device(&browser.descriptor, client.id, &known).unwrap();
    assert_eq!(
        (device.name.as_deref(), device.record.version, device.is_whole),
        (Some("desk"), known.len() as u64, true)
    );
    browser.world.back_up(&client, &files(2, 3, 500));
}

#[test]
fn descriptions_of_a_write_only_device_that_are_too_long_together_are_not_held_and_all_others_are() {
    let browser = Browser::new();
    let own = browser.back_up(LATER, &files(1, 3, 500), &[], usize::MAX);
    let line = browser.invite();
    let enrollment = Enrollment::parse(&line.encode()).unwrap();
    let known = versions(&browser, line.client);
    let joined = enrollment.join(&browser.descriptor, &known, Time(2), &[6; 96], HostKeys::default()).unwrap();
    browser.world.put(&joined.key, joined.bytes);
    let device = Browser { client: joined.client, ..browser };
    // A megabyte that is sealed into little.
    let paths: Vec<Vec<u8>> = (0..250).map(|number| format!("{number:04}").repeat(1_000).into_bytes()).collect();
    for at in 0..40 {
        let info = SnapshotInfo { paths: paths.clone(), ..SnapshotInfo::default() };
        device.go_on(device.begin_with(LATER + at, info, &[]), &files(2, 1, 500), usize::MAX);
    }
    let library = device.library();
    let (listed, problems) = (library.snapshots(), library.problems());
    assert_eq!(listed.len() + problems.len(), 41);
    assert!((1..20).contains(&problems.len()), "{} of 41", problems.len());
    assert!(problems.iter().all(|(_, fault)| fault.code == Code::TooLong), "{problems:?}");
    assert!(listed.iter().any(|snapshot| snapshot.id == own.snapshot));
}
