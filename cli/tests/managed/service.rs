//! Waiting for the service: its answer, its refusal, and its absence.

use super::world::{assert_restored, managed, served, upload, wait_for_manifests, with_camera};
use crate::kit::{Run, Running, noise, number, signal, text};

#[test]
fn a_backup_waits_until_the_service_has_verified_it_and_says_so() {
    let (owner, machine) = with_camera();
    for (who, command) in
        [(&machine, machine.command(&["backup", "source"])), (&owner, owner.with_key(&["backup", "source"]))]
    {
        who.write("file", "text");
        let mut command = command;
        let ran = served(&owner, Running::start(&mut command)).ok();
        assert!(ran.text().contains("saved, verified by the service"), "{ran}");
    }
    let mut command = machine.command(&["backup", "source", "--json"]);
    assert_eq!(text(&served(&owner, Running::start(&mut command)).ok().json()["accepted_by"]), "service");
    assert_eq!(owner.snapshots().len(), 3);
}

#[test]
fn a_full_client_does_not_decide_about_its_own_manifests_there() {
    let owner = managed();
    owner.write("file", "text");
    let ran = owner.run(&["backup", "source", "--no-wait"]).ok();
    assert!(ran.text().contains("the service has not verified it yet"), "{ran}");
    assert!(owner.names("roots/").is_empty() && owner.names("receipts/").is_empty());
    assert!(owner.run(&["backup", "source", "--no-wait", "--json"]).ok().json()["accepted_by"].is_null());
    owner.ok(&["ingest"]);
    assert_eq!(owner.snapshots().len(), 2);
}

#[test]
fn without_a_service_a_backup_gives_up_in_time_and_says_what_to_do() {
    let (owner, machine) = with_camera();
    machine.write("file", "text");
    let ran = machine.command(&["backup", "source", "--wait", "1s", "--json"]).ran().exits(5);
    assert_eq!(ran.kind(), "not_yet_accepted");
    assert!(ran.err.contains("copal ingest") && ran.err.contains("copal status"), "{ran}");
    owner.ok(&["ingest"]);
    assert_eq!(owner.snapshots().len(), 1);
}

#[test]
fn what_a_rejection_names_is_uploaded_again_under_a_new_name() {
    let (owner, machine) = with_camera();
    machine.write("file", noise(1, 100_000));
    let mut running = Running::start(&mut machine.command(&["backup", "source", "--json"]));
    wait_for_manifests(&owner, &mut running, 1);
    // The manifest is there, and a pack that it names is not.
    let lost = owner.packs(0).remove(0);
    std::fs::remove_file(owner.object(&lost)).unwrap();
    let ran = served(&owner, running).ok();
    assert!(!owner.names("packs/").contains(&lost));
    assert!(number(&ran, "bytes_stored") > 100_000, "{ran}");
    assert_eq!(owner.names("receipts/").len(), 2);
    assert_eq!((owner.snapshots().len(), owner.check(&["--full"]).0), (1, 0));
    assert_restored(&owner, &machine);
}

#[test]
fn a_run_that_refers_to_what_was_rejected_uploads_it_itself() {
    let (owner, machine) = with_camera();
    machine.write("file", noise(1, 100_000));
    upload(&machine, &[]).ok();
    std::fs::remove_file(owner.object(&owner.packs(0)[0])).unwrap();
    // The second one relies on the first, which the service then rejects, and the second with it.
    machine.write("new", "text");
    let ran = served(&owner, Running::start(&mut machine.command(&["backup", "source", "--json"]))).ok();
    assert!(number(&ran, "bytes_stored") > 100_000, "{ran}");
    assert_eq!((owner.snapshots().len(), owner.check(&["--full"]).0), (1, 0));
}

#[test]
fn a_client_that_is_revoked_while_it_waits_gives_up_at_once() {
    let (owner, machine) = with_camera();
    machine.write("file", "text");
    let mut running = Running::start(&mut machine.command(&["backup", "source", "--json"]));
    wait_for_manifests(&owner, &mut running, 1);
    owner.ok(&["client", "revoke", "camera", "--last-good", "0"]);
    owner.run(&["ingest"]).exits(5);
    let ran = running.end().exits(5);
    assert!(ran.kind() == "rejected" && ran.err.contains("revoked"), "{ran}");
    assert_eq!(owner.names("manifests/").len(), 1);
}

#[test]
fn decisions_of_the_owner_wait_for_the_service_too() {
    let owner = managed();
    owner.write("file", "text");
    owner.ok(&["backup", "source", "--no-wait"]);
    owner.ok(&["ingest"]);
    let ran = served(&owner, Running::start(&mut owner.with_key(&["pin", "latest", "--json"]))).ok();
    assert_eq!(number(&ran, "change"), 1);
    let pinned = owner.json(&["snapshots"]);
    assert_eq!(pinned[0]["pinned"], true);
}

#[test]
fn an_interrupted_backup_leaves_what_the_next_run_does_not_upload_again() {
    let (owner, machine) = with_camera();
    machine.write("file", noise(1, 300_000));
    let mut running = Running::start(&mut machine.command(&["backup", "source", "--json"]));
    wait_for_manifests(&owner, &mut running, 1);
    signal(running.child(), "INT");
    assert_eq!(running.end().exits(130).kind(), "interrupted");
    let ran = upload(&machine, &["--force"]).ok();
    assert_eq!(number(&ran, "bytes_new"), 0, "{ran}");
    owner.ok(&["ingest"]);
    assert_eq!(owner.snapshots().len(), 2);
}
