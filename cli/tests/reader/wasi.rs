//! The reader as the WebAssembly that is stored, run by wasmtime.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::runtime::{self, Given, reader_file};
use crate::golden::comparison::{comparable, is_root, plain, read};
use crate::kit::listing::{everything, listing};
use crate::kit::{Harm, Machine, PASSPHRASE, Ran, Run, copy, files, noise};

#[test]
fn every_snapshot_of_the_golden_repository_comes_out_of_its_archive_as_it_was() {
    let listed = Place::golden().reads(&["list", "repository"], "golden");
    let newest = snapshots(&listed).last().expect("there are some").clone();
    assert_eq!(snapshots(&listed).len(), 1 + fs::read_dir(golden("trees")).unwrap().count());
    for id in snapshots(&listed) {
        let tree = if id == newest { golden("tree.json") } else { golden("trees").join(format!("{id}.json")) };
        let place = Place::golden();
        let ran = place.reads(&["restore", "repository", "--snapshot", &id, "--tar", "-"], "golden");
        place.unpack(&ran.out);
        let expected = read(&fs::read_to_string(tree).unwrap());
        let top = expected.get(1).and_then(|entry| entry["path"].as_str()).expect("a tree has a top").to_owned();
        let found = listing(&place.path("out"), top.split('/').next().unwrap());
        let (expected, found) = (without_holes(&expected[1..]), without_holes(&found[1..]));
        found.iter().zip(&expected).for_each(|(found, expected)| assert_eq!(found, expected));
        assert_eq!(found.len(), expected.len());
    }
}

/// The snapshot that `tree.json` lists. Several clients have some, so that none is the newest.
const GOLDEN: &str = "e53dfdcb9dea21f1eb86383e2e8a6d79";

#[test]
fn in_a_directory_names_contents_and_times_are_as_they_were_and_what_cannot_be_is_named() {
    let place = Place::golden();
    let ran = place.run(&["restore", "repository", "out", "--snapshot", GOLDEN], "golden\n");
    assert_eq!(ran.code, 3, "{}", ran.err);
    let found = listing(&place.path("out"), "golden");
    let by_path = |path: &Value| found.iter().find(|entry| entry["path"] == *path);
    let mut named = 0;
    for expected in &read(&fs::read_to_string(golden("tree.json")).unwrap())[1..] {
        let path = expected["path"].as_str().unwrap();
        let told = format!("/{}", path.replace('\\', "").replace("udc", "\\x"));
        let is_same = |field: &&str| by_path(&expected["path"]).is_some_and(|found| found[*field] == expected[*field]);
        let different: Vec<&str> =
            ["type", "size", "sha256", "link_target", "mtime_ns"].into_iter().filter(|field| !is_same(field)).collect();
        if !different.is_empty() {
            assert!(ran.err.contains(&told), "{path} differs in {different:?} and is not named:\n{}", ran.err);
            named += 1;
        }
    }
    assert!((1..40).contains(&named), "{named} are named");
}

#[test]
fn the_recovery_code_and_the_key_file_open_the_repository_and_a_wrong_word_does_not() {
    let place = Place::golden();
    let code = fs::read_to_string(golden("recovery-code.txt")).unwrap();
    let listed = place.reads(&["list", "repository"], "golden");
    assert_eq!(place.reads(&["list", "repository"], &code).out, listed.out);
    fs::copy(golden("key.txt"), place.path("out/key")).unwrap();
    assert_eq!(place.reads(&["list", "repository", "--key-file", "out/key"], "").out, listed.out);
    let wrong = place.run(&["list", "repository"], "gold");
    assert_eq!(wrong.code, 12, "{}", wrong.err);
    assert!(!wrong.err.contains("gold"), "{}", wrong.err);
    assert_eq!(place.run(&["list", "repository"], "").code, 1);
    assert_eq!(place.run(&["list", "out"], "golden").code, 10);
    assert_eq!(place.run(&["list", "elsewhere"], "golden").code, 10);
    assert_eq!(place.run(&["erase", "repository"], "golden").code, 2);
}

#[test]
fn a_repository_restores_with_nothing_but_the_reader_that_it_carries() {
    let place = Place::made();
    let carried = place.carried();
    assert_eq!(fs::read(&carried).unwrap(), fs::read(reader_file()).unwrap());
    let text = fs::read_to_string(place.only("reader", ".txt")).unwrap();
    assert!(text.contains("SECOND WAY") && text.contains("# The format, version 1"));
    let ran = place.run_with(&carried, &["restore", "repository", "out"], PASSPHRASE);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(place.tree("out", true), place.tree("source", true));

    let other = Place::of(&place);
    let ran = other.reads(&["restore", "repository", "--tar", "-"], PASSPHRASE);
    other.unpack(&ran.out);
    assert_eq!(other.tree("out", false), place.tree("source", false));
}

#[test]
fn an_export_restores_in_its_place() {
    let machine = Machine::saved([("dir/file", noise(1, 200_000))]);
    machine.with_key(&["export", "latest", "holiday.copal"]).env("COPAL_TO_PASSWORD", "its own").ran().ok();
    fs::create_dir(machine.path("out")).unwrap();
    let place = Given { path: &machine.path(""), name: ".", is_writable: true };
    let ran = runtime::run(&reader_file(), &["restore", "holiday.copal", "out"], &[place], b"its own");
    assert_eq!(ran.code, 0, "{ran:?}");
    let restored = machine.path("out").join(machine.source("dir/file").strip_prefix("/").unwrap());
    assert!(fs::read(restored).unwrap() == noise(1, 200_000));
}

#[test]
fn a_part_of_a_snapshot_is_restored_and_one_that_is_not_there_is_not() {
    let place = Place::made();
    let path = format!("{}/many", place.path("source").display());
    let ran = place.reads(&["restore", "repository", "out", "--path", &path], PASSPHRASE);
    let mut restored = place.tree("out", true);
    // The directories on the way are made, and nothing is said of them.
    restored.retain(|name, _| name.starts_with("many"));
    let expected: BTreeMap<_, _> =
        place.tree("source", true).into_iter().filter(|(name, _)| name.starts_with("many")).collect();
    assert!(restored == expected && !expected.is_empty(), "{}", ran.err);
    let listed = place.reads(&["ls", "repository", "--path", &path], PASSPHRASE);
    assert_eq!(String::from_utf8(listed.out).unwrap().lines().count(), expected.len());
    let place = Place::of(&place);
    assert_eq!(place.run(&["restore", "repository", "out", "--path", "/no/such"], PASSPHRASE).code, 1);
}

#[test]
fn nothing_is_written_where_something_is() {
    let place = Place::made();
    fs::write(place.path("out/mine"), "mine").unwrap();
    assert_eq!(place.run(&["restore", "repository", "out"], PASSPHRASE).code, 1);
    assert_eq!(place.run(&["restore", "repository", "--tar", "out/mine"], PASSPHRASE).code, 1);
    assert_eq!(fs::read(place.path("out/mine")).unwrap(), b"mine");
    assert_eq!(fs::read_dir(place.path("out")).unwrap().count(), 1);
}

#[test]
fn what_can_be_derived_or_has_a_copy_is_restored() {
    let made = Place::made();
    let without = |folders: &'static [&'static str]| {
        move |repository: &Path| folders.iter().for_each(|folder| fs::remove_dir_all(repository.join(folder)).unwrap())
    };
    let without_copy =
        |lost: usize| move |repository: &Path| fs::remove_file(&files(&repository.join("clients"))[lost]).unwrap();
    let with_damaged_index = |repository: &Path| {
        for segment in files(&repository.join("index")) {
            let mut bytes = fs::read(&segment).unwrap();
            let half = bytes.len() / 2;
            bytes[half..].fill(0xee);
            // Objects are made without the right to be written.
            fs::remove_file(&segment).unwrap();
            fs::write(&segment, &bytes).unwrap();
        }
    };
    let harms: [&dyn Fn(&Path); 4] = [
        &without(&["index", "state", "roots", "receipts", "copal"]),
        &without_copy(0),
        &without_copy(1),
        &with_damaged_index,
    ];
    for (number, harm) in harms.into_iter().enumerate() {
        let place = Place::of(&made);
        harm(&place.path("repository"));
        let ran = place.run(&["restore", "repository", "out"], PASSPHRASE);
        assert_eq!(place.tree("out", true), made.tree("source", true), "harm {number}: {}", ran.err);
        assert_eq!(ran.code, 0, "harm {number}: {}", ran.err);
    }
}

#[test]
fn a_lost_tree_is_told() {
    let place = Place::made();
    place.machine.packs(1).iter().for_each(|pack| place.machine.damage(pack, Harm::Delete));
    let ran = place.run(&["restore", "repository", "out"], PASSPHRASE);
    assert_eq!(ran.code, 4);
    assert!(ran.err.contains("lost: entries"), "{}", ran.err);
}

#[test]
fn damage_is_passed_and_what_it_hits_is_named() {
    let place = Place::made();
    place.machine.damage(&place.machine.packs(0)[0], Harm::Flip);
    let before = place.tree("source", true);
    for way in [vec!["restore", "repository", "out"], vec!["restore", "repository", "--tar", "-"]] {
        let place = Place::of(&place);
        let ran = place.run(&way, PASSPHRASE);
        assert_eq!(ran.code, 4, "{}", ran.err);
        if way.contains(&"--tar") {
            place.unpack(&ran.out);
        }
        let after = place.tree("out", true);
        let hit: Vec<&String> =
            before.iter().filter(|(name, what)| after.get(*name) != Some(what)).map(|x| x.0).collect();
        assert!(!hit.is_empty() && hit.len() < before.len());
        hit.iter().for_each(|name| assert!(ran.err.contains(name.as_str()), "{name} is not named:\n{}", ran.err));
    }
}

/// A directory with a repository, and an empty one.
pub(crate) struct Place {
    machine: Machine,
    /// Where its source was when it was saved.
    source: PathBuf,
}

impl Place {
    pub(crate) fn bare() -> Self {
        let machine = Machine::bare_on_disk();
        fs::create_dir(machine.path("out")).unwrap();
        Self { source: machine.path("source"), machine }
    }

    pub(crate) fn golden() -> Self {
        let place = Self::bare();
        copy(&golden("repository"), &place.path("repository"));
        place
    }

    /// The repository of another place once more.
    pub(crate) fn of(other: &Self) -> Self {
        let place = Self { source: other.source.clone(), ..Self::bare() };
        copy(&other.path("repository"), &place.path("repository"));
        place
    }

    /// A repository that the command has made of an odd tree, and that carries the reader.
    pub(crate) fn made() -> Self {
        let place = Self::bare();
        let source = place.path("source");
        for name in ["many", "deep/er/and/deeper", "empty", "names"] {
            fs::create_dir_all(source.join(name)).unwrap();
        }
        (0..300).for_each(|at| fs::write(source.join(format!("many/{at}")), noise(at, 37 * at as usize)).unwrap());
        fs::write(source.join("empty file"), "").unwrap();
        fs::write(source.join("large"), noise(1, 9 << 20)).unwrap();
        fs::write(source.join("deep/er/and/deeper/file"), vec![7; 300_000]).unwrap();
        fs::write(source.join("names/\u{e4} \u{1f980} -\n'\""), "odd").unwrap();
        fs::hard_link(source.join("large"), source.join("names/the same")).unwrap();
        symlink("../large", source.join("names/link")).unwrap();
        symlink("no such thing", source.join("dangling")).unwrap();
        let sparse = fs::File::create(source.join("sparse")).unwrap();
        sparse.set_len(40 << 20).unwrap();
        std::os::unix::fs::FileExt::write_at(&sparse, b"in the middle", 20 << 20).unwrap();
        fs::set_permissions(source.join("many/7"), fs::Permissions::from_mode(0o741)).unwrap();
        let then = std::time::UNIX_EPOCH + std::time::Duration::new(1_000_000_000, 123_456_789);
        for name in ["large", "many/8", "empty"] {
            fs::File::open(source.join(name)).unwrap().set_modified(then).unwrap();
        }
        place.copal(&["init", "--reader", reader_file().to_str().unwrap()]);
        place.copal(&["backup", source.to_str().unwrap()]);
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.machine.path(name)
    }

    pub(crate) fn copal(&self, arguments: &[&str]) {
        self.machine.run_with(PASSPHRASE, arguments).ok();
    }

    fn run(&self, arguments: &[&str], input: &str) -> Ran {
        self.run_with(&reader_file(), arguments, input)
    }

    /// The repository is given for reading alone.
    fn run_with(&self, program: &Path, arguments: &[&str], input: &str) -> Ran {
        let (repository, out) = (self.path("repository"), self.path("out"));
        let given = [
            Given { path: &repository, name: "repository", is_writable: false },
            Given { path: &out, name: "out", is_writable: true },
        ];
        runtime::run(program, arguments, &given, input.as_bytes())
    }

    /// A run that must succeed.
    pub(crate) fn reads(&self, arguments: &[&str], input: &str) -> Ran {
        let ran = self.run(arguments, input);
        assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.err);
        ran
    }

    pub(crate) fn unpack(&self, archive: &[u8]) {
        let mut tar = Command::new("tar");
        tar.args(["--extract", "--preserve-permissions", "--xattrs", "--xattrs-include=*", "--numeric-owner"]);
        let done = tar.current_dir(self.path("out")).fed(archive);
        assert!(done.code == 0 || !is_root(), "{done}");
    }

    /// The reader in the repository.
    pub(crate) fn carried(&self) -> PathBuf {
        self.only("reader", ".wasm")
    }

    fn only(&self, folder: &str, end: &str) -> PathBuf {
        let mut found = files(&self.path("repository").join(folder));
        found.retain(|file| file.to_str().unwrap().ends_with(end));
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    /// What lies in the source, or where it was restored to: what it is, its content, its time, and its mode if that was
    /// to be restored.
    pub(crate) fn tree(&self, name: &str, is_without_modes: bool) -> BTreeMap<String, Vec<Value>> {
        match name {
            "source" => tree(&self.source, is_without_modes),
            name => self.tree_in(&self.path(name), is_without_modes),
        }
    }

    /// What of the source was restored to a directory.
    pub(crate) fn tree_in(&self, target: &Path, is_without_modes: bool) -> BTreeMap<String, Vec<Value>> {
        tree(&target.join(self.source.strip_prefix("/").unwrap()), is_without_modes)
    }
}

fn tree(top: &Path, is_without_modes: bool) -> BTreeMap<String, Vec<Value>> {
    let entries = if top.exists() { everything(top) } else { BTreeMap::new() };
    let told = |(path, entry): (PathBuf, Value)| {
        let mut fields = plain(&entry);
        if !is_without_modes && entry["type"] != "symlink" {
            fields.push(entry["mode"].clone());
        }
        (path.into_os_string().into_string().unwrap(), fields)
    };
    entries.into_iter().map(told).collect()
}

fn snapshots(listed: &Ran) -> Vec<String> {
    let text = String::from_utf8(listed.out.clone()).unwrap();
    let kept = text.lines().filter(|line| !line.ends_with("(forgotten)"));
    kept.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

/// An archive has zeros where holes were.
fn without_holes(entries: &[Value]) -> Vec<Value> {
    let mut entries = comparable(entries);
    entries.iter_mut().for_each(|entry| entry["holes"] = Value::Null);
    entries
}

pub(crate) fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden").join(name)
}
