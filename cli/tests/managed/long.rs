//! Long backups, which write several manifests: nobody waits in the middle, whoever serves meanwhile, and nothing is lost
//! where the service rejects one of them or the machine stops.

use copal_format::receipt::IngestBy;

use super::world::{assert_restored, joined, listed, served, upload, wait_for_manifests};
use crate::kit::{Machine, Running, noise, number, signal, tiny_packs, wait};

/// A managed repository of tiny packs, and a write-only machine with as many files of half a MiB.
fn world(files: u64) -> (Machine, Machine) {
    let owner = tiny_packs(16 << 10, IngestBy::Service);
    let machine = joined(&owner, "camera", "write-only");
    (0..files).for_each(|at| machine.write(&format!("{at:03}"), noise(at, 512 << 10)));
    (owner, machine)
}

fn manifests(owner: &Machine) -> usize {
    listed(owner, "manifests").len()
}

fn is_whole(owner: &Machine, machine: &Machine) {
    assert_eq!(owner.check(&["--full"]).0, 0);
    assert_restored(owner, machine);
}

#[test]
fn a_long_upload_does_not_wait_for_a_service_that_is_away() {
    let (owner, machine) = world(6);
    let ran = upload(&machine, &[]).ok();
    assert!(manifests(&owner) >= 3 && owner.names("receipts/").is_empty(), "{ran}");
    // Nor does the next one upload anything again.
    machine.write("new", noise(100, 20_000));
    let next = upload(&machine, &["--force"]).ok();
    assert_eq!(number(&next, "bytes_new"), 20_000, "{next}");
    owner.ok(&["ingest"]);
    assert_eq!((owner.snapshots().len(), owner.names("receipts/").len()), (2, manifests(&owner)));
    is_whole(&owner, &machine);
}

#[test]
fn answers_that_come_in_the_middle_are_taken_and_all_is_verified_at_the_end() {
    let (owner, machine) = world(8);
    let running = Running::start(&mut machine.command(&["backup", "source", "--json"]));
    let ran = served(&owner, running).ok();
    assert_eq!(ran.json()["accepted_by"], "service");
    assert!(manifests(&owner) >= 4, "{ran}");
    assert_eq!(number(&ran, "bytes_new"), 8 << 19, "nothing is stored twice");
    is_whole(&owner, &machine);
}

#[test]
fn a_manifest_that_is_rejected_in_the_middle_costs_what_it_named_and_no_more() {
    let (owner, machine) = world(8);
    let mut running = Running::start(&mut machine.command(&["backup", "source", "--json"]));
    wait_for_manifests(&owner, &mut running, 1);
    let is_data = |name: &String| std::fs::read(owner.object(name)).is_ok_and(|bytes| bytes[9] == 0);
    let lost = listed(&owner, "packs").into_iter().find(is_data).unwrap();
    std::fs::remove_file(owner.object(&lost)).unwrap();
    let ran = served(&owner, running).ok();
    assert_eq!(ran.json()["accepted_by"], "service", "{ran}");
    assert_eq!(owner.snapshots().len(), 1);
    is_whole(&owner, &machine);
}

#[test]
fn a_long_upload_that_is_stopped_goes_on_from_what_its_manifests_name() {
    for name in ["INT", "KILL"] {
        let (owner, machine) = world(8);
        let mut running = Running::start(&mut machine.command(&["backup", "source", "--json", "--no-wait"]));
        wait_for_manifests(&owner, &mut running, 2);
        signal(running.child(), name);
        wait(running.child());
        // At least a manifest's worth is not uploaded again, whether it was accepted meanwhile or not.
        let next = upload(&machine, &[]).ok();
        assert!(number(&next, "bytes_new") < (8 << 19) - ((64 * 16) << 10), "{name}: {next}");
        owner.ok(&["ingest"]);
        is_whole(&owner, &machine);
    }
}
