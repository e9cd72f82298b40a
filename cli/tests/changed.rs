//! A list of changes: a backup that looks only at what is listed makes the snapshot that a whole walk makes.

mod as_path;
mod audit;
mod overlap;
mod write_only;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::Value;

use crate::kit::{Machine, Run, files, first_json, text};

/// Saves the source with a list of these paths of it.
fn saved(machine: &Machine, listed: &[PathBuf], options: &[&str]) -> Value {
    let list: Vec<u8> =
        listed.iter().flat_map(|path| [machine.source(path).as_os_str().as_bytes(), b"\0"].concat()).collect();
    fs::write(machine.path("list"), list).unwrap();
    machine.json(&[&["backup", "source", "--changed-from0", "list"], options].concat())
}

fn listed(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

/// What differs between a snapshot and the source as a whole walk saves it.
pub(crate) fn differs(machine: &Machine, snapshot: &str) -> String {
    let whole = machine.backup(&["--label", "whole", "--force"]);
    let place = |id: &str| format!("{id}:{}", machine.path("source").display());
    machine.ok(&["diff", &place(snapshot), &place(&whole)])
}

/// A machine with some directories of files, of which a backup with a list was made.
fn begun() -> Machine {
    let machine = folders();
    assert_eq!(saved(&machine, &[], &[])["narrowed"], false);
    machine
}

/// A machine with some directories of files.
pub(crate) fn folders() -> Machine {
    let machine = Machine::new();
    folders_in(&machine);
    machine
}

pub(crate) fn folders_in(machine: &Machine) {
    for directory in 0..12 {
        for file in 0..20 {
            machine.write(&format!("d{directory}/e{}/f{file}", file % 3), format!("{directory} {file}"));
        }
    }
}

/// Numbers that come again for the same seed.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }
}

/// Does something to the source; gives the paths that a watcher would have told of, each entry's own and no more.
pub(crate) fn change(machine: &Machine, numbers: &mut Numbers) -> Vec<PathBuf> {
    let directory = PathBuf::from(format!("d{}", numbers.below(12)));
    let inner = directory.join(format!("e{}", numbers.below(3)));
    let file = inner.join(format!("f{}", numbers.below(20)));
    let fresh = |numbers: &mut Numbers| PathBuf::from(format!("d{}/n{}", numbers.below(12), numbers.below(9_000)));
    let at = |path: &PathBuf| machine.source(path);
    let mut made: Vec<PathBuf> = [&directory, &inner].into_iter().filter(|path| !at(path).is_dir()).cloned().collect();
    fs::create_dir_all(at(&inner)).unwrap();
    let mut told = match numbers.below(9) {
        0 | 1 => {
            fs::write(at(&file), format!("{}", numbers.below(1_000_000))).unwrap();
            vec![file]
        }
        2 => {
            let _ = fs::remove_file(at(&file));
            vec![file]
        }
        3 => {
            fs::remove_dir_all(at(&inner)).unwrap();
            vec![inner]
        }
        4 => {
            let to = fresh(numbers);
            made.extend(to.parent().filter(|above| !machine.source(above).is_dir()).map(PathBuf::from));
            fs::create_dir_all(at(&to).parent().unwrap()).unwrap();
            fs::rename(at(&inner), at(&to)).unwrap();
            vec![inner, to]
        }
        5 => {
            let to = fresh(numbers);
            made.extend(to.parent().filter(|above| !machine.source(above).is_dir()).map(PathBuf::from));
            fs::create_dir_all(at(&to).join("x/y")).unwrap();
            fs::write(at(&to).join("x/y/z"), "deep").unwrap();
            vec![to]
        }
        6 => {
            let _ = fs::remove_file(at(&file));
            symlink("nowhere", at(&file)).unwrap();
            vec![file]
        }
        7 => {
            fs::set_permissions(at(&inner), fs::Permissions::from_mode(0o700 + numbers.below(8) as u32)).unwrap();
            vec![inner]
        }
        _ => {
            // Another directory, with other content, comes to have the name.
            let to = fresh(numbers);
            made.extend(to.parent().filter(|above| !machine.source(above).is_dir()).map(PathBuf::from));
            fs::create_dir_all(at(&to).join("other")).unwrap();
            fs::remove_dir_all(at(&inner)).unwrap();
            fs::rename(at(&to), at(&inner)).unwrap();
            vec![to, inner]
        }
    };
    told.extend(made);
    told
}

#[test]
fn whatever_changes_the_snapshot_is_the_one_that_a_whole_walk_makes() {
    let machine = begun();
    for seed in 0..12 {
        let mut numbers = Numbers(seed);
        let told: Vec<PathBuf> = (0..1 + numbers.below(6)).flat_map(|_| change(&machine, &mut numbers)).collect();
        let made = saved(&machine, &told, &[]);
        assert_eq!(made["narrowed"], true, "{seed}: {made}");
        assert_eq!(differs(&machine, &text(&made["snapshot_id"])), "", "{seed}: {told:?}");
        let whole = machine.json(&["backup", "source", "--label", "whole", "-n"]);
        for key in ["dirs", "others", "bytes_scanned"] {
            assert_eq!(made[key], whole[key], "{seed}: {key}");
        }
    }
    assert_eq!(machine.check(&["--read-data"]).0, 0);
}

#[test]
fn a_directory_that_was_touched_and_a_new_one_stand_for_all_below_them() {
    let machine = begun();
    machine.write("d3/e0/new", "1");
    machine.write("d3/e0/f3", "written");
    machine.remove("d3/e0/f0");
    machine.write("fresh/a/b", "2");
    machine.write("fresh/c", "3");
    // A program that watches files lists one file of the new directory, and not the directory.
    let made = saved(&machine, &listed(&["d3/e0", "fresh/a/b"]), &[]);
    assert_eq!(made["narrowed"], true);
    assert_eq!(differs(&machine, &text(&made["snapshot_id"])), "");
}

#[test]
fn what_makes_a_list_doubtful_makes_the_backup_walk_everything() {
    let machine = begun();
    machine.write("unlisted", "all is looked at");
    let gap = |options: &[&str]| {
        let made = saved(&machine, &[], options);
        assert_eq!(made["narrowed"], false, "{options:?}");
        assert_eq!(differs(&machine, &text(&made["snapshot_id"])), "", "{options:?}");
        text(&made["gap"])
    };
    assert!(gap(&["--label", "another"]).contains("no backup with a list before"));
    assert!(gap(&["--changed-since", "00"]).contains("follows another snapshot"));
    assert!(gap(&["--exclude", "nothing"]).contains("exclusions have changed"));
    assert!(gap(&["--exclude", "nothing", "--exclude-caches"]).contains("exclusions have changed"));
    assert!(gap(&["--exclude", "nothing", "--exclude-caches"]).contains("markers"));
    fs::write(machine.path("list"), "M\t/srv/x\n").unwrap();
    let made = machine.json(&["backup", "source", "--label", "another", "--changed-from", "list"]);
    assert!(text(&made["gap"]).contains("no path of the list"), "{made}");
    saved(&machine, &[], &[]);
    machine.backup(&[]);
    assert!(gap(&[]).contains("not the one that this machine made with a list"));
    fs::hard_link(machine.source("unlisted"), machine.source("second")).unwrap();
    let made = saved(&machine, &listed(&["second"]), &[]);
    assert!(text(&made["gap"]).contains("several names"), "{made}");
    assert_eq!(differs(&machine, &text(&made["snapshot_id"])), "");
    // The other names of what is no longer there are not listed either.
    machine.remove("second");
    let made = saved(&machine, &listed(&["second"]), &[]);
    assert!(text(&made["gap"]).contains("several names"), "{made}");
}

#[test]
fn a_list_follows_the_snapshot_that_it_names() {
    let machine = begun();
    let last = machine.snapshots().pop().unwrap();
    assert_eq!(saved(&machine, &[], &["--changed-since", &last[..8]])["narrowed"], true);
    assert!(text(&saved(&machine, &[], &["--changed-since", &last])["gap"]).contains("follows another"));
}

#[test]
fn excluded_things_and_the_repository_are_not_saved_because_they_are_listed() {
    let machine = Machine::with([("a", "1"), ("sub/b.tmp", "2")]);
    let save = |list: &str| {
        fs::write(machine.path("list"), list).unwrap();
        let options = ["--changed-from", "list", "--exclude", "*.tmp", "--exclude", "/**/home", "--exclude", "list"];
        machine.json(&[&["backup", "."], options.as_slice()].concat())
    };
    save("");
    machine.write("sub/c.tmp", "3");
    machine.write("sub/d", "4");
    let made = save("source/sub/c.tmp\nsource/sub\nrepository/packs\nrepository\nhome\n/nowhere/else\n");
    assert_eq!((&made["narrowed"], &made["files_new"]), (&true.into(), &1.into()), "{made}");
    let names = machine.ok(&["ls", "-R", &format!("latest:{}", machine.path("").display())]);
    assert!(
        names.contains("sub/d")
            && !names.contains("b.tmp")
            && !names.contains("c.tmp")
            && !names.contains("repository/packs"),
        "{names}"
    );
}

#[test]
fn paths_are_understood_as_a_person_writes_them() {
    let machine = begun();
    symlink(machine.path("source"), machine.path("way")).unwrap();
    machine.write("d4/e1/f1", "by a link");
    machine.write("d5/e1/f1", "with dots");
    machine.write("d6/e1/odd\nname", "with a newline");
    machine.remove("d7/e1/f1");
    let list = b"way/d4/e1/f1\0source/d5/../d5/./e1/f1\0source/d6/e1/odd\nname\0way/d7/e1/f1\0\0";
    fs::write(machine.path("list"), list).unwrap();
    let made = machine.json(&["backup", "source", "--changed-from0", "list"]);
    assert_eq!(made["narrowed"], true);
    assert_eq!(differs(&machine, &text(&made["snapshot_id"])), "");
}

#[test]
fn a_byte_order_mark_before_a_list_of_lines_is_no_part_of_its_first_path() {
    let machine = begun();
    machine.write("d1/e1/f1", "first");
    machine.write("d2/e2/f2", "second");
    fs::write(machine.path("list"), "\u{feff}source/d1/e1/f1\nsource/d2/e2/f2\n").unwrap();
    let made = machine.json(&["backup", "source", "--changed-from", "list"]);
    assert_eq!((&made["narrowed"], &made["files_changed"]), (&true.into(), &2.into()), "{made}");
    assert_eq!(differs(&machine, &text(&made["snapshot_id"])), "");
}

#[test]
fn a_list_comes_on_standard_input_once_or_not_at_all() {
    let machine = begun();
    let two = machine.run(&["backup", "source", "--changed-from", "-", "--changed-from0", "-"]);
    assert!(two.code == 2 && two.err.contains("one list only"), "{two:?}");
    assert_eq!(machine.run(&["backup", "source", "--changed-from", "nowhere"]).code, 1);
    machine.write("d1/e1/f1", "new");
    let mut backup = machine.with_key(&["backup", "source", "--changed-from", "-", "--json"]);
    let made = first_json(&backup.fed(format!("{}\n", machine.source("d1/e1/f1").display())).text());
    assert_eq!((&made["narrowed"], &made["files_changed"]), (&true.into(), &1.into()));
}

#[test]
fn a_dry_run_looks_at_the_list_and_changes_nothing() {
    let machine = begun();
    machine.write("d1/e1/f1", "new");
    for _ in 0..2 {
        let made = saved(&machine, &listed(&["d1/e1/f1"]), &["-n"]);
        assert_eq!((&made["narrowed"], &made["files_changed"]), (&true.into(), &1.into()));
    }
    assert_eq!(saved(&machine, &listed(&["d1/e1/f1"]), &[])["files_changed"], 1);
}

/// The files in which the machine has noted its last backups with lists.
fn notes(machine: &Machine) -> Vec<PathBuf> {
    let mut notes = files(&machine.path("home/.local/state/copal"));
    notes.retain(|path| path.file_name().unwrap().as_bytes().starts_with(b"changed-"));
    notes
}

#[test]
fn what_the_last_backup_could_not_save_is_looked_at_again_and_of_a_directory_all_that_is_in_it() {
    let machine = folders();
    // The times of directories prove something after two seconds.
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    saved(&machine, &[], &[]);
    for (trouble, changed) in [("d1/e1/f1", "d1/e1/f1"), ("d2", "d2/e2/f2")] {
        machine.write(changed, "as it is now");
        let path = machine.source(trouble).as_os_str().as_bytes()[1..].to_vec();
        let file = notes(&machine).remove(0);
        let mut noted: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        noted["troubles"] = vec![path].into();
        fs::write(&file, noted.to_string()).unwrap();
        let made = saved(&machine, &[], &[]);
        assert_eq!((&made["narrowed"], &made["files_changed"]), (&true.into(), &1.into()), "{trouble}");
        assert_eq!(differs(&machine, &text(&made["snapshot_id"])), "");
    }
}

#[test]
fn a_note_that_cannot_be_read_is_none() {
    let machine = begun();
    machine.write("unlisted", "all is looked at");
    fs::write(&notes(&machine)[0], "{").unwrap();
    let made = saved(&machine, &[], &[]);
    assert!(text(&made["gap"]).contains("no backup with a list before"), "{made}");
    assert_eq!(differs(&machine, &text(&made["snapshot_id"])), "");
    assert_eq!(saved(&machine, &[], &[])["narrowed"], true, "it is written anew");
}

#[test]
fn a_directory_that_was_away_is_looked_at_with_all_that_changed_meanwhile() {
    let machine = begun();
    let away = |to: PathBuf| {
        fs::rename(machine.source("d1"), &to).unwrap();
        fs::write(to.join("e1/f1"), "written while it was away").unwrap();
        fs::rename(&to, machine.source("d1")).unwrap();
    };
    away(machine.source("other"));
    let made = saved(&machine, &listed(&["d1", "other", "other/e1/f1"]), &[]);
    assert_eq!((&made["narrowed"], differs(&machine, &text(&made["snapshot_id"]))), (&true.into(), String::new()));
    away(machine.path("outside"));
    let made = saved(&machine, &listed(&["d1"]), &[]);
    assert_eq!((&made["narrowed"], differs(&machine, &text(&made["snapshot_id"]))), (&true.into(), String::new()));
}

#[test]
fn what_becomes_excluded_by_its_kind_is_no_longer_saved() {
    let machine = Machine::new();
    let options = ["--exclude", "cache/", "--exclude", "keep", "--exclude", "!keep/", "--allow-empty"];
    machine.write("cache", "a file");
    machine.write("keep/inside", "kept");
    saved(&machine, &[], &options);
    machine.remove("cache");
    machine.write("cache/inside", "left out");
    fs::remove_dir_all(machine.source("keep")).unwrap();
    machine.write("keep", "left out");
    let made = saved(&machine, &listed(&["cache", "keep"]), &options);
    assert_eq!(
        (&made["narrowed"], &made["files_unmodified"], &made["bytes_scanned"]),
        (&true.into(), &0.into(), &0.into())
    );
    assert_eq!(machine.ok(&["ls", "-R", &machine.whole()]).lines().count(), 0);
}

#[test]
fn a_gap_that_is_found_late_loses_nothing_of_what_was_stored_before() {
    let machine = begun();
    for file in 0..30 {
        let content: Vec<u8> = (0..600_000_u32)
            .flat_map(|at| (at.wrapping_mul(2_654_435_761) ^ (at >> 7) ^ (file << 20)).to_le_bytes())
            .collect();
        machine.write(&format!("fresh/f{file:02}"), content);
    }
    machine.write("fresh/z", "two names");
    fs::hard_link(machine.source("fresh/z"), machine.source("fresh/zz")).unwrap();
    let made = saved(&machine, &listed(&["fresh"]), &[]);
    assert!(text(&made["gap"]).contains("several names"), "{made}");
    assert!(made["bytes_new"].as_u64() >= Some(30 * 2_400_000), "{made}");
    assert_eq!(differs(&machine, &text(&made["snapshot_id"])), "");
    assert_eq!(machine.check(&["--read-data"]).0, 0);
}

#[test]
fn damage_of_the_last_snapshot_makes_the_backup_walk_everything() {
    let machine = begun();
    for pack in machine.names("packs/") {
        let mut bytes = fs::read(machine.object(&pack)).unwrap();
        let half = bytes.len() / 2;
        bytes[200..half].iter_mut().for_each(|byte| *byte ^= 0xff);
        machine.replace(&pack, &bytes);
    }
    machine.write("d1/e1/f1", "new");
    fs::remove_dir_all(machine.source("d2")).unwrap();
    let ran = machine.run(&["backup", "source", "--changed-from0", "list", "--json"]);
    assert!(ran.code == 0, "{}", ran.err);
    assert!(text(&first_json(&ran.text())["gap"]).contains("cannot be read"), "{}", ran.text());
}

#[test]
fn a_path_that_has_lost_its_files_is_looked_at_whatever_a_list_has() {
    let machine = Machine::with([("disk/file", "1"), ("home/file", "1")]);
    fs::write(machine.path("list"), "source/home/file\n").unwrap();
    let save = |options: &[&str]| machine.run(&[&["backup", "source/disk", "source/home", "--json"], options].concat());
    save(&[]).ok();
    machine.remove("disk/file");
    for options in [&[][..], &["--changed-from", "list"], &["--changed-from", "list"]] {
        let ran = save(options).exits(3);
        assert_eq!(ran.json()["narrowed"], false, "{ran}");
    }
    machine.write("disk/file", "1");
    save(&["--changed-from", "list"]).ok();
    assert_eq!(save(&["--changed-from", "list"]).ok().json()["narrowed"], true);
}
