//! `rewrite`: snapshots without what should never have been saved.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::kill::{after_deaths, every, with_key};
use crate::kit::{Harm, Machine, Run, assert_same, noise, text, texts};
use crate::managed::world::{upload, with_camera};

/// A machine with two snapshots that have a secret, and one before them that has none.
fn saved() -> (Machine, Vec<String>) {
    let machine = Machine::with([("dir/kept", noise(1, 300_000))]);
    let mut ids = vec![machine.backup(&["--tag", "before"])];
    machine.write("dir/secret/key", noise(2, 200_000));
    machine.write("other.key", "small");
    ids.push(machine.backup(&["--time", "2020-01-02 03:04:05", "--tag", "a", "--label", "l"]));
    machine.write("dir/kept", noise(3, 300_000));
    ids.push(machine.backup(&["--tag", "b", "--exclude", "*.tmp"]));
    (machine, ids)
}

fn rewrites(machine: &Machine, options: &[&str]) -> Value {
    machine.json(&[&["rewrite", "--exclude", "secret/"], options].concat())
}

/// Restores a snapshot's source.
fn restored(machine: &Machine, id: &str) -> std::path::PathBuf {
    let out = machine.path(&format!("out-{id}"));
    machine.ok(&["restore", &format!("{id}:{}", machine.path("source").display()), "-t", out.to_str().unwrap()]);
    out
}

#[test]
fn a_path_is_left_out_and_everything_else_is_as_it_was() {
    let (machine, ids) = saved();
    let rows = machine.json(&["snapshots"]);
    let would = rewrites(&machine, &["-n"]);
    assert_eq!((texts(&would["rewritten"], "source_id"), machine.snapshots().len()), (ids[1..].to_vec(), 3));
    let summary = rewrites(&machine, &[]);
    assert_eq!((&summary["unchanged"], texts(&summary["rewritten"], "source_id")), (&json!(1), ids[1..].to_vec()));
    for row in summary["rewritten"].as_array().unwrap() {
        let found = [&row["left_out"], &row["forgotten"], &row["bytes_new"], &row["errors"], &row["files"]];
        assert_eq!(found, [&json!(2), &json!(true), &json!(0), &json!(0), &json!(2)]);
    }
    let made = texts(&summary["rewritten"], "snapshot_id");
    let now = machine.json(&["snapshots"]);
    let of = |rows: &Value, id: &str| rows.as_array().unwrap().iter().find(|row| row["id"] == id).unwrap().clone();
    for (old, new) in ids[1..].iter().zip(&made) {
        let (old, new) = (of(&rows, old), of(&now, new));
        for field in ["time", "host", "paths", "tags", "label", "client"] {
            assert_eq!(old[field], new[field], "{field}");
        }
        assert_eq!(new["origin"]["snapshot"], old["id"]);
    }
    assert_eq!(texts(&machine.json(&["snapshots", "--forgotten"]), "id"), ids[1..]);
    let info = machine.json(&["cat", &made[1]])["snapshot"]["info"].clone();
    assert_eq!(texts(&info["exclusions"]["patterns"], "text"), ["*.tmp", "secret/"]);
    let new = restored(&machine, &made[1]);
    machine.ok(&["undelete", &ids[2]]);
    let old = restored(&machine, &ids[2]);
    fs::remove_dir_all(old.join("dir/secret")).unwrap();
    fs::File::open(old.join("dir"))
        .unwrap()
        .set_modified(fs::metadata(new.join("dir")).unwrap().modified().unwrap())
        .unwrap();
    assert_same(&old, &new);
    machine.ok(&["check", "--full"]);
}

#[test]
fn what_only_the_old_snapshots_hold_is_gone_after_a_prune() {
    let (machine, _) = saved();
    let packs =
        |machine: &Machine| machine.objects().iter().filter(|(name, _)| is_pack(name)).map(|(_, b)| b.len()).sum();
    let before: usize = packs(&machine);
    rewrites(&machine, &[]);
    machine.ok(&["prune", "--grace", "0s"]);
    assert!(packs(&machine) + 150_000 < before);
    machine.ok(&["check", "--full"]);
    assert_eq!(machine.snapshots().len(), 3);
}

fn is_pack(name: &str) -> bool {
    name.starts_with("packs/") || name.starts_with("moved/")
}

#[test]
fn options_choose_what_is_rewritten_and_pinned_snapshots_stay() {
    let (machine, ids) = saved();
    machine.ok(&["pin", &ids[2]]);
    let ran = machine.run(&["rewrite", "--json", "--exclude", "secret/", "--tag", "b"]).ok();
    assert!(ran.err.contains("is pinned") && ran.json()["rewritten"] == json!([]), "{ran}");
    let summary = machine.json(&["rewrite", "--iexclude", "*.KEY", &ids[1]]);
    assert_eq!(texts(&summary["rewritten"], "source_id"), [ids[1].clone()]);
    fs::write(machine.path("patterns"), "secret/\n").unwrap();
    let summary = machine.json(&["rewrite", "--exclude-file", "patterns", "--tag", "a"]);
    assert_eq!((texts(&summary["rewritten"], "source_id").len(), &summary["rewritten"][0]["left_out"]), (1, &json!(2)));
    machine.run(&["rewrite"]).exits(2);
    machine.run(&["rewrite", "--exclude", "x", "ffffffff"]).exits(1);
}

#[test]
fn a_dry_run_of_a_machine_that_the_repository_does_not_know_writes_nothing() {
    let (machine, ids) = saved();
    let before = machine.objects();
    let mut rewrite = machine.with_key(&["rewrite", "--json", "--exclude", "secret/", "-n"]);
    let would = rewrite.env("COPAL_STATE_DIR", machine.path("other")).ran().ok().json();
    assert_eq!(texts(&would["rewritten"], "source_id"), ids[1..]);
    assert_eq!(machine.objects(), before);
}

#[test]
fn a_rewrite_killed_anywhere_is_finished_by_the_next_one() {
    let (machine, ids) = saved();
    let rewrite = ["rewrite", "--exclude", "secret/"];
    after_deaths(&machine, every(5), with_key(&rewrite), |machine, label| {
        machine.ok(&rewrite);
        machine.ok(&["check", "--full"]);
        assert_eq!(machine.snapshots().len(), 3, "{label}");
        assert_eq!(texts(&machine.json(&["snapshots", "--forgotten"]), "id"), ids[1..], "{label}");
        assert!(!machine.ok(&["find", "--json", "secret"]).contains("secret"), "{label}");
    });
}

#[test]
fn a_snapshot_that_cannot_be_read_whole_stays() {
    let (machine, ids) = saved();
    for pack in machine.packs(1) {
        machine.damage(&pack, Harm::Delete);
    }
    let ran = machine.run(&["rewrite", "--json", "--exclude", "secret/"]).exits(4);
    assert!(ran.err.contains("stays as it is") && ran.json()["rewritten"] == json!([]), "{ran}");
    assert!(machine.snapshots().len() == 3 && ids.iter().all(|id| machine.snapshots().contains(id)));
}

#[test]
fn where_content_is_known_to_be_lost_both_snapshots_are_kept() {
    let (machine, ids) = saved();
    machine.damage(&machine.packs(0)[0], Harm::Delete);
    machine.run(&["check"]).exits(4);
    let ran = machine.run(&["rewrite", "--json", "--exclude", "other.key"]).exits(4);
    let forgotten: Vec<bool> =
        ran.json()["rewritten"].as_array().unwrap().iter().map(|row| row["forgotten"].as_bool().unwrap()).collect();
    assert!(forgotten.contains(&false), "{ran}");
    assert!(machine.snapshots().len() > 3 && machine.snapshots().contains(&ids[0]));
}

#[test]
fn what_a_write_only_client_has_saved_is_rewritten_without_its_rights_and_with_the_time_of_acceptance() {
    let (owner, camera) = with_camera();
    camera.write("program", noise(1, 100_000));
    camera.write("secret/key", noise(2, 100_000));
    fs::set_permissions(camera.source("program"), fs::Permissions::from_mode(0o4755)).unwrap();
    upload(&camera, &["--time", "2020-01-02"]).ok();
    owner.ok(&["ingest"]);
    let time = || text(&owner.json(&["status"])["series"][0]["time"]);
    let accepted = time();
    let mut rewrite = owner.with_key(&["rewrite", "--json", "--exclude", "secret/", "--host", "camera"]);
    let rewriting = crate::managed::world::Running::start(&mut rewrite);
    let forgotten = || owner.json(&["snapshots", "--forgotten"]).as_array().is_some_and(|rows| !rows.is_empty());
    crate::managed::world::serve_until(&owner, forgotten);
    let summary = rewriting.end().ok().json();
    let row = &summary["rewritten"][0];
    assert_eq!((&row["forgotten"], &row["host"]), (&json!(true), &json!("camera")));
    assert_eq!(time(), accepted);
    let path = format!("{}:{}/program", text(&row["snapshot_id"]), camera.path("source").display());
    owner.ok(&["restore", &path, "-t", "out"]);
    let program = owner.path("out/program");
    assert_eq!(fs::metadata(&program).unwrap().permissions().mode() & 0o7777, 0o755);
    assert_eq!(fs::read(program).unwrap(), noise(1, 100_000));
}
