//! Enrolling, joining, listing and revoking.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use copal_format::enrollment::Enrollment;
use copal_format::time::Time;

use super::world::{enroll, join, joined, managed, other, row, rows, upload, with_camera};
use crate::key::unread;
use crate::kit::{Machine, PASSPHRASE, Run, text};

#[test]
fn an_enrollment_is_one_line_with_a_picture_beside_it_for_people_only() {
    let owner = managed();
    let told = owner.run(&["client", "add", "--name", "a", "--role", "write-only"]).ok();
    assert!(told.text().starts_with("COPAL-JOIN-1-") && told.lines().len() == 1, "{told}");
    assert!(told.err.contains('█') && told.err.lines().count() > 20, "{told}");
    let quiet = owner.run(&["client", "add", "--name", "b", "--role", "full", "--quiet"]).ok();
    assert!(quiet.err.is_empty() && quiet.lines().len() == 1, "{quiet}");
    let json = owner.run(&["client", "add", "--name", "c", "--role", "full", "--json"]).ok();
    assert!(json.err.is_empty() && text(&json.json()["line"]).starts_with("COPAL-JOIN-1-"), "{json}");
}

#[test]
fn a_line_that_nobody_reads_is_told_on_standard_error() {
    let owner = managed();
    let ran = unread(&mut owner.with_key(&["client", "add", "--name", "a", "--role", "write-only"])).exits(1);
    let line = ran.err.split_whitespace().find(|word| word.starts_with("COPAL-JOIN-1-"));
    join(&other(&owner), line.unwrap_or_else(|| panic!("{ran}"))).ran().ok();
}

#[test]
fn a_link_for_a_browser_holds_the_line_where_no_server_sees_it() {
    let owner = managed();
    let add = |name: &str, options: &[&str]| {
        owner.run(&[&["client", "add", "--name", name, "--role", "write-only"], options].concat())
    };
    let told = add("a", &["--page", "https://backup.example/"]).ok();
    let (page, line) = told.text().trim().split_once("/#join=").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert!(page == "https://backup.example" && line.starts_with("COPAL-JOIN-1-"), "{told}");
    assert!(told.lines().len() == 1 && told.err.contains('█') && told.err.contains("in a browser"), "{told}");
    let json = add("b", &["--page", "http://127.0.0.1:8321", "--json"]).ok().json();
    assert_eq!(text(&json["link"]), format!("http://127.0.0.1:8321/#join={}", text(&json["line"])));
    // A machine that is given the link finds the line in it.
    let machine = other(&owner);
    join(&machine, &told.text()).ran().ok();
    assert_eq!(row(&owner, "a")["joined"], true);
}

#[test]
fn a_link_to_nowhere_enrolls_nobody() {
    let owner = managed();
    let add = ["client", "add", "--name", "a", "--role", "write-only", "--page"];
    let before = owner.names("clients/");
    let refused = owner.run(&add).exits(2);
    assert!(refused.err.contains("is not reached by a gateway"), "{refused}");
    for page in ["http://backup.example", "https://h/#x", "https://h/?x", "https://me@h", "/mnt/backup", "s3://b"] {
        owner.run(&[&add[..], &[page]].concat()).exits(2);
    }
    assert_eq!(owner.names("clients/"), before);
}

#[test]
fn a_write_only_machine_joins_without_a_passphrase_and_keeps_its_keys_to_itself() {
    let (owner, machine) = with_camera();
    let enrolled = machine.kept("enrolled");
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(enrolled.parent().unwrap()), mode(&enrolled)), (0o700, 0o600));
    let row = row(&owner, "camera");
    assert_eq!((&row["role"], &row["joined"], &row["shared"]), (&"write-only".into(), &true.into(), &false.into()));
    assert!(row["last_manifest"].is_null() && row["revoked"].is_null(), "{row}");
}

#[test]
fn a_full_machine_joins_with_the_passphrase_only_and_reads_everything() {
    let owner = managed();
    owner.write("file", "text");
    upload_by_key(&owner);
    owner.ok(&["ingest"]);
    let line = enroll(&owner, "desk", "full");
    let machine = other(&owner);
    assert_eq!(join(&machine, &line).ran().kind(), "secret");
    assert_eq!(join(&machine, &line).env("COPAL_PASSWORD", "wrong").ran().exits(12).kind(), "wrong_passphrase");
    let told = join(&machine, &line).env("COPAL_PASSWORD", PASSPHRASE).ran().ok();
    assert_eq!(text(&told.json()["role"]), "full");
    machine.command(&["restore", "latest", "-t", "out"]).env("COPAL_PASSWORD", PASSPHRASE).ran().ok();
    let client = text(&told.json()["client"]);
    machine.write("other", "more");
    let backup = ["backup", "source", "--no-wait"];
    machine.command(&backup).env("COPAL_PASSWORD", PASSPHRASE).ran().ok();
    assert!(!owner.names(&format!("manifests/{client}/")).is_empty());
    assert_eq!(row(&owner, "desk")["shared"], true);
}

fn upload_by_key(owner: &Machine) {
    owner.ok(&["backup", "source", "--no-wait"]);
}

#[test]
fn an_enrollment_is_used_once() {
    let owner = managed();
    let line = enroll(&owner, "camera", "write-only");
    let first = other(&owner);
    join(&first, &line).ran().ok();
    let second = other(&owner);
    let refused = join(&second, &line).ran().exits(1);
    assert!(refused.kind() == "enrollment" && refused.err.contains("was used already"), "{refused}");
    assert!(!second.path("home").exists() || upload(&second, &[]).kind() == "secret");
    // Who has joined may ask again, and nothing changes.
    join(&first, &line).ran().ok();
    assert_eq!(owner.records(), 3);
}

#[test]
fn a_join_that_was_interrupted_is_finished_by_the_next() {
    let owner = managed();
    let line = enroll(&owner, "camera", "write-only");
    let id = text(&row(&owner, "camera")["id"]);
    let machine = other(&owner);
    join(&machine, &line).ran().ok();
    let joined = owner.object(&format!("clients/{id}/{:020}", 2));
    let before = std::fs::read(&joined).unwrap();
    // As if the machine had kept its keys and died before it wrote the record.
    std::fs::remove_file(&joined).unwrap();
    assert_eq!(row(&owner, "camera")["joined"], false);
    join(&machine, &line).ran().ok();
    assert_eq!(row(&owner, "camera")["joined"], true);
    assert_eq!(std::fs::read(&joined).unwrap().len(), before.len());
}

#[test]
fn an_enrollment_that_has_expired_joins_nobody_and_its_name_is_free_again() {
    let owner = managed();
    let add = ["client", "add", "--name", "camera", "--json", "--expires"];
    for (role, key) in [("write-only", None), ("full", Some(owner.path("key")))] {
        let told = owner.run(&[&add[..], &["1s", "--role", role]].concat()).ok().json();
        let id = text(&told["client"]);
        std::thread::sleep(Duration::from_millis(1_100));
        let machine = other(&owner);
        let mut join = join(&machine, &text(&told["line"]));
        join.envs(key.map(|key| ("COPAL_KEY_FILE", key)));
        let refused = join.ran().exits(1);
        assert!(refused.kind() == "enrollment" && refused.err.contains("has expired"), "{refused}");
        assert!(refused.err.contains("the owner makes a new one"), "{refused}");
        assert!(!owner.object(&format!("clients/{id}/{:020}", 2)).exists());
        let row = rows(&owner).into_iter().find(|row| text(&row["id"]) == id).unwrap();
        assert_eq!((&row["joined"], &row["expires"]), (&false.into(), &told["expires"]));
        assert!(owner.ok(&["client", "list"]).contains("invited, expired"));
    }
    assert!(owner.run(&[&add[..], &["91d", "--role", "full"]].concat()).exits(2).err.contains("90d at most"));
    owner.run(&[&add[..], &["0s", "--role", "full"]].concat()).exits(2);
    let machine = joined(&owner, "camera", "write-only");
    assert!(owner.ok(&["client", "list"]).lines().filter(|line| line.contains("camera")).count() == 3);
    owner.ok(&["client", "revoke", "camera"]);
    machine.write("file", "text");
    assert!(
        upload(&machine, &[]).exits(1).err.contains("was revoked"),
        "of one name the client that may save is meant"
    );
}

#[test]
fn a_line_whose_end_was_moved_is_not_what_the_owner_has_signed() {
    let owner = managed();
    let line = enroll(&owner, "camera", "write-only");
    let told = Enrollment::decode(&line).unwrap();
    let later = Enrollment { expires: Time(told.expires.0 + 1), ..told };
    let refused = join(&other(&owner), &later.encode()).ran().exits(1);
    assert!(refused.kind() == "enrollment" && refused.err.contains("does not agree"), "{refused}");
    join(&other(&owner), &line).ran().ok();
}

#[test]
fn who_has_joined_late_by_writing_to_the_store_is_listed_so_and_saves_nothing_that_counts() {
    let (owner, machine) = with_camera();
    let id = text(&row(&owner, "camera")["id"]);
    // As if it had been invited for a week, a month ago.
    for copy in ["", ".b"] {
        let file = std::fs::File::open(owner.object(&format!("clients/{id}/{:020}{copy}", 1))).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(30 * 86_400)).unwrap();
    }
    machine.write("file", "text");
    upload(&machine, &[]).ok();
    let told = owner.run(&["ingest", "--json"]).exits(5);
    assert!(told.err.contains("joined after its enrollment had ended"), "{told}");
    assert!(owner.snapshots().is_empty());
    assert!(owner.ok(&["client", "list"]).contains("joined too late: nothing of it counts"));
    assert_eq!(row(&owner, "camera")["joined_late"], true);
    owner.ok(&["client", "revoke", "camera"]);
}

#[test]
fn what_is_no_enrollment_or_is_for_another_repository_is_refused() {
    let owner = managed();
    let line = enroll(&owner, "camera", "write-only");
    let machine = other(&owner);
    for bad in ["", "hello", "COPAL-JOIN-1-", &line[..line.len() - 3], &line.replace("JOIN-1", "JOIN-9")] {
        assert_eq!(join(&machine, bad).ran().exits(1).kind(), "enrollment", "{bad}");
    }
    let stranger = Machine::new();
    let elsewhere = other(&stranger);
    let refused = join(&elsewhere, &line).ran().exits(1);
    assert!(refused.kind() == "enrollment" && refused.err.contains("is not the repository"), "{refused}");
    join(&machine, &line.to_lowercase()).ran().ok();
    // A machine is one client of a repository.
    let another = enroll(&owner, "two", "write-only");
    let refused = join(&machine, &another).ran().exits(1);
    assert!(refused.err.contains("is a client of that repository already"), "{refused}");
}

#[test]
fn the_line_says_where_the_repository_is_and_a_machine_needs_no_other_word() {
    let owner = managed();
    let line = enroll(&owner, "camera", "write-only");
    let machine = Machine::bare();
    machine.write("file", "text");
    let mut join = join(&machine, &line);
    join.env_remove("COPAL_REPOSITORY").ran().ok();
    let mut backup = machine.command(&["backup", "source", "--no-wait"]);
    backup.env_remove("COPAL_REPOSITORY").ran().ok();
    owner.ok(&["ingest"]);
    assert_eq!(owner.snapshots().len(), 1);
}

#[test]
fn the_line_comes_from_standard_input_too() {
    let owner = managed();
    let line = enroll(&owner, "camera", "write-only");
    let machine = other(&owner);
    for words in [["client", "join"].as_slice(), &["client", "join", "-"]] {
        machine.command(words).fed(&line).ok();
    }
}

#[test]
fn nobody_is_enrolled_as_write_only_where_clients_accept_their_own_or_with_shared_data() {
    let owner = Machine::new();
    let add = |machine: &Machine, more: &[&str]| {
        machine.run(&[&["client", "add", "--name", "x", "--json", "--role"], more].concat())
    };
    let refused = add(&owner, &["write-only"]).exits(2);
    assert!(refused.err.contains("needs a server"), "{refused}");
    add(&owner, &["full"]).ok();
    let owner = managed();
    let refused = add(&owner, &["write-only", "--dedup", "shared"]).exits(2);
    assert!(refused.err.contains("shares no data"), "{refused}");
    add(&owner, &["full", "--dedup", "isolated"]).ok();
    assert_eq!(row(&owner, "x")["shared"], false);
    let refused = add(&owner, &["full"]).exits(2);
    assert!(refused.err.contains("called \\\"x\\\" already"), "{refused}");
}

#[test]
fn a_revoked_machine_saves_nothing_more_and_what_it_saved_stays() {
    let (owner, machine) = with_camera();
    machine.write("file", "text");
    upload(&machine, &[]).ok();
    owner.ok(&["ingest"]);
    let told = owner.json(&["client", "revoke", "camera"]);
    assert_eq!((&told["last_good"], &told["version"]), (&1.into(), &3.into()));
    let refused = upload(&machine, &[]).exits(1);
    assert!(refused.kind() == "not_permitted" && refused.err.contains("was revoked by the owner"), "{refused}");
    assert_eq!(row(&owner, "camera")["revoked"], 1);
    owner.ok(&["restore", "latest", "-t", "out"]);
    owner.ok(&["rebuild-index"]);
    assert_eq!(owner.snapshots().len(), 1);
    // The name is free again, and the id still names the old one.
    joined(&owner, "camera", "write-only");
    assert_eq!(rows(&owner).iter().filter(|row| row["name"] == "camera").count(), 2);
}

#[test]
fn a_machine_revokes_itself_only_on_purpose_and_may_join_again() {
    let machine = Machine::saved([("file", "1")]);
    let ran = machine.run(&["client", "revoke", "laptop"]).exits(2);
    assert!(ran.err.contains("this machine's own client") && ran.err.contains("--own"), "{ran}");
    machine.backup(&[]);
    machine.ok(&["client", "revoke", "laptop", "--own"]);
    machine.run(&["backup", "source"]).exits(1);
    let doctor = machine.run(&["doctor"]).exits(1);
    assert!(doctor.text().contains("is revoked: it saves nothing"), "{doctor}");
    let line = machine.ok(&["client", "add", "--name", "again", "--role", "full"]);
    fs::write(machine.path("line"), line).unwrap();
    machine.ok(&["client", "join", "line"]);
    machine.backup(&[]);
    let line = machine.ok(&["client", "add", "--name", "third", "--role", "full"]);
    fs::write(machine.path("line"), line).unwrap();
    let ran = machine.run(&["client", "join", "line"]).exits(1);
    assert!(ran.err.contains("is a client of that repository already"), "{ran}");
}

#[test]
fn a_revocation_may_name_an_earlier_manifest_and_what_came_later_does_not_survive_a_rebuild() {
    let (owner, machine) = with_camera();
    for number in 0..2 {
        machine.write("file", format!("text {number}"));
        upload(&machine, &[]).ok();
        owner.ok(&["ingest"]);
    }
    assert_eq!(owner.run(&["client", "revoke", "camera", "--last-good", "7", "--json"]).exits(1).kind(), "no_object");
    owner.ok(&["client", "revoke", "camera", "--last-good", "1"]);
    assert_eq!(owner.snapshots().len(), 2);
    // A second revocation lets no later manifest count again.
    let again = owner.json(&["client", "revoke", "camera"]);
    assert_eq!((&again["last_good"], &again["version"]), (&1.into(), &3.into()));
    let refused = owner.run(&["client", "revoke", "camera", "--last-good", "2"]).exits(2);
    assert!(refused.err.contains("was revoked after manifest 1 already"), "{refused}");
    owner.run(&["rebuild-index"]);
    assert_eq!(owner.snapshots().len(), 1);
    assert_eq!(owner.json(&["client", "revoke", "camera", "--last-good", "0"])["last_good"], 0);
    owner.run(&["rebuild-index"]);
    assert!(owner.snapshots().is_empty());
}

#[test]
fn an_enrollment_that_nobody_has_used_can_be_withdrawn() {
    let owner = managed();
    let line = enroll(&owner, "camera", "write-only");
    owner.ok(&["client", "revoke", "camera"]);
    let refused = join(&other(&owner), &line).ran().exits(1);
    assert!(refused.err.contains("was revoked"), "{refused}");
    assert_eq!(owner.run(&["client", "revoke", "nobody", "--json"]).kind(), "no_object");
}

#[test]
fn a_client_is_revoked_by_its_name_or_at_least_four_digits() {
    let (owner, _camera) = with_camera();
    let id = text(&row(&owner, "camera")["id"]);
    assert_eq!(owner.run(&["client", "revoke", &id[..3], "--json"]).exits(1).kind(), "no_object");
    assert!(row(&owner, "camera")["revoked"].is_null());
    owner.ok(&["client", "revoke", &id[..4]]);
    assert_eq!(row(&owner, "camera")["revoked"], 0);
}

#[test]
fn a_client_whose_record_is_damaged_is_listed_as_such() {
    let owner = managed();
    joined(&owner, "camera", "write-only");
    let id = text(&row(&owner, "camera")["id"]);
    owner.flip(&format!("clients/{id}/{:020}", 2), 60);
    let listed = owner.run(&["client", "list", "--json"]).exits(4);
    assert!(listed.json().as_array().unwrap().iter().any(|row| !row["problem"].is_null()), "{listed}");
}

#[test]
fn another_repository_in_the_place_of_a_write_only_machines_own_is_told_as_such() {
    let (owner, stranger) = (managed(), Machine::bare());
    stranger.init(&[]).ok();
    let camera = joined(&owner, "camera", "write-only");
    fs::rename(owner.path("repository"), owner.path("away")).unwrap();
    fs::rename(stranger.path("repository"), owner.path("repository")).unwrap();
    let refused = upload(&camera, &[]).exits(1);
    assert!(refused.kind() == "another_repository" && refused.err.contains("a line of its owner"), "{refused}");
}

#[test]
fn a_write_only_machine_tells_each_time_of_a_path_that_has_lost_its_files() {
    let (_owner, camera) = with_camera();
    camera.write("disk/file", "1");
    camera.write("home/file", "1");
    let save = |options: &[&str]| {
        camera.command(&[&["backup", "source/disk", "source/home", "--no-wait"], options].concat()).ran()
    };
    save(&[]).ok();
    camera.remove("disk/file");
    for _ in 0..2 {
        let ran = save(&[]).exits(3);
        assert!(ran.err.contains("/source/disk: it has only directories"), "{ran}");
    }
    save(&["--allow-empty"]).ok();
    save(&[]).ok();
}
