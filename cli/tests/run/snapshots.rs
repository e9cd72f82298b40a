//! Snapshots of file systems: the ready hooks, with `as-path`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{configure, configured, run};
use crate::changed::{Numbers, change, differs, folders_in};
use crate::kit::{Machine, Run, Volume, assert_same, text};

/// Copies a ready hook to a directory that only its user can write to, as `run` demands; gives its path.
fn installed(machine: &Machine, name: &str) -> PathBuf {
    let script = machine.path(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/hooks").join(name);
    Command::new("install").args(["-m", "755"]).args([&source, &script]).ran().ok();
    script
}

/// A volume with btrfs and a subvolume `home`.
fn subvolumes(machine: &Machine) -> Volume {
    let volume = Volume::mount(machine, "volume", &["mkfs.btrfs", "-q"]);
    Command::new("btrfs").args(["subvolume", "create"]).arg(volume.at.join("home")).ran().ok();
    volume
}

/// A profile that saves what lies at `snapshot` as `path`, with a hook that is called with these words.
fn profile(path: &Path, snapshot: &Path, script: &Path, words: [&str; 2]) -> String {
    let hook = |act: &str, words: &str| format!("[{:?}, \"{act}\", {words}]", script.display());
    format!(
        "[profiles.home]\nrepository = \"HERErepository\"\nkey-file = \"HEREkey\"\n\
         [profiles.home.backup]\npaths = [{:?}]\nas-path = {:?}\n[profiles.home.forget]\nkeep-last = 1\n\
         [profiles.home.hooks]\nbefore-backup = {}\nafter-backup = {}\n",
        snapshot.display(),
        path.display(),
        hook("make", words[0]),
        hook("drop", words[1])
    )
}

#[test]
fn a_backup_reads_a_snapshot_of_a_btrfs_subvolume_and_saves_it_under_its_own_path() {
    let machine = configured("");
    let volume = subvolumes(&machine);
    let (home, snapshot) = (volume.at.join("home"), volume.at.join("snapshot"));
    let script = installed(&machine, "btrfs.sh");
    let words = format!("{:?}, {:?}", home.display(), snapshot.display());
    let profile = profile(&home, &snapshot, &script, [&words, &words]);
    let later = format!("before-forget = \"mkdir HEREonce && echo later > {}/letter; true\"\n", home.display());
    configure(&machine, &(profile + &later));
    fs::create_dir(home.join("below")).unwrap();
    fs::write(home.join("letter"), "first").unwrap();
    // A killed run left its snapshot.
    let btrfs = |words: &[&str], paths: &[&Path]| Command::new("btrfs").args(words).args(paths).ran();
    btrfs(&["subvolume", "snapshot", "-r"], &[&home, &snapshot]).ok();
    fs::write(home.join("below/second"), "2").unwrap();
    // Once two seconds have gone by, files are not read again to be sure.
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    fs::write(home.join("third"), "3").unwrap();
    let first = run(&machine, &["run", "--json"]).ok().json();
    assert_eq!(first["acts"][0]["result"]["files_new"], 3);
    assert!(!snapshot.exists(), "the snapshot is gone after the backup");
    let second = run(&machine, &["run", "--json"]).ok().json();
    let result = &second["acts"][0]["result"];
    assert_eq!((&result["files_changed"], &result["files_unmodified"]), (&1.into(), &2.into()));
    assert_eq!(result["parent_id"], first["acts"][0]["result"]["snapshot_id"]);
    assert_eq!(second["acts"][1]["result"]["forgotten"], 1, "the rules hold for what the profile saves");
    machine.ok(&["restore", "latest", "-t", "out"]);
    let restored = machine.path("out").join(home.strip_prefix("/").unwrap());
    assert_same(&home, &restored);
    // A plain backup of the subvolume goes on with the series, and reads nothing that is as before.
    let plain = machine.json(&["backup", home.to_str().unwrap()]);
    assert_eq!((&plain["parent_id"], &plain["files_unmodified"]), (&result["snapshot_id"], &3.into()));

    // Nothing but a snapshot of this subvolume is deleted or replaced.
    btrfs(&["subvolume", "create"], &[&volume.at.join("other")]).ok();
    fs::create_dir(volume.at.join("directory")).unwrap();
    symlink(&home, volume.at.join("link")).unwrap();
    btrfs(&["subvolume", "snapshot"], &[&home, &volume.at.join("writable")]).ok();
    for name in ["other", "directory", "link", "writable"] {
        for act in ["make", "drop"] {
            let ran = Command::new(&script).arg(act).args([&home, &volume.at.join(name)]).ran().exits(1);
            assert!(ran.err.contains("is no snapshot of"), "{name}: {ran}");
        }
        assert!(volume.at.join(name).symlink_metadata().is_ok());
    }
}

#[test]
fn btrfs_tells_which_paths_differ_from_the_last_snapshot_and_only_these_are_looked_at() {
    let machine = configured("");
    let volume = subvolumes(&machine);
    let (source, snapshot, list) = (machine.path("source"), volume.at.join("snapshot"), machine.path("list"));
    fs::create_dir_all(&source).unwrap();
    Command::new("mount").args(["-o", "subvol=home"]).args([&machine.path("image"), &source]).ran().ok();
    let _mounted = Volume::at(source.clone());
    let words = format!("{:?}, {:?}, {:?}", source.display(), snapshot.display(), list.display());
    let keys = format!("changed-from0 = [{:?}]\nchanged-since = \"@{}.since\"\n", list.display(), list.display());
    let profile = profile(&source, &snapshot, &installed(&machine, "btrfs.sh"), [&words, &words]);
    configure(
        &machine,
        &profile.replacen("as-path", &(keys + "as-path"), 1).replace("[profiles.home.forget]\nkeep-last = 1\n", ""),
    );
    let saved = || run(&machine, &["run", "--json"]).ok().json()["acts"][0]["result"].clone();
    folders_in(&machine);
    assert!(text(&saved()["gap"]).contains("no backup with a list before"));
    for seed in 200..208 {
        let mut numbers = Numbers(seed);
        for _ in 0..numbers.below(6) {
            change(&machine, &mut numbers);
        }
        machine.write(&format!("line\n {seed}\\ dest=./snapshot/x"), format!("{seed}"));
        let made = saved();
        assert_eq!(made["narrowed"], true, "{seed}: {made}");
        assert_eq!(differs(&machine, &text(&made["snapshot_id"])), "", "{seed}");
    }
    // The next list has what a failed backup did not save.
    machine.write("d1/e1/f1", "failed");
    fs::rename(machine.path("key"), machine.path("away")).unwrap();
    assert_ne!(run(&machine, &["run"]).code, 0);
    fs::rename(machine.path("away"), machine.path("key")).unwrap();
    machine.write("d2/e1/f1", "saved");
    let made = saved();
    assert_eq!((&made["narrowed"], &made["files_changed"]), (&true.into(), &2.into()));
    assert_eq!(differs(&machine, &text(&made["snapshot_id"])), "");
    // A backup that no hook knows of came between, and so the list follows another snapshot than the last one.
    let known = fs::read_to_string(machine.path("list.last")).unwrap();
    let id = known.lines().nth(1).unwrap();
    fs::write(machine.path("list.last"), known.replace(id, &"1".repeat(32))).unwrap();
    let made = saved();
    assert!(text(&made["gap"]).contains("follows another snapshot"), "{made}");
    assert_eq!(saved()["narrowed"], true, "from then on lists follow that one");
    // A subvolume below is an empty directory in the snapshot, which a comparison does not name.
    let btrfs = |words: &[&str], path: &Path| Command::new("btrfs").args(words).arg(path).ran().ok();
    btrfs(&["subvolume", "create"], &machine.source("d3/below"));
    let made = saved();
    assert!(text(&made["gap"]).contains("follows another snapshot"), "{made}");
    assert_eq!(saved()["narrowed"], true);
    btrfs(&["subvolume", "delete"], &machine.source("d3/below"));
    let made = saved();
    assert!(text(&made["gap"]).contains("follows another snapshot"), "{made}");
    // Between the backups something came and went: a list since an older snapshot would not have it.
    let older = volume.at.join("older");
    btrfs(&["subvolume", "snapshot", "-r", source.to_str().unwrap()], &older);
    machine.write("passing", "by");
    assert_eq!(saved()["narrowed"], true);
    machine.remove("passing");
    let last = volume.at.join("snapshot.last");
    btrfs(&["subvolume", "delete"], &last);
    fs::rename(&older, &last).unwrap();
    let made = saved();
    assert!(text(&made["gap"]).contains("follows another snapshot"), "{made}");
    assert_eq!(saved()["narrowed"], true);
    // btrfs says nothing of a list that it could not write whole.
    machine.write("d4/many", "1");
    fs::write(
        machine.path("btrfs"),
        "#!/bin/sh\ncase $1 in receive) /usr/bin/btrfs \"$@\" | head -2; exit 1 ;; *) exec /usr/bin/btrfs \"$@\" ;; esac\n",
    )
    .unwrap();
    fs::set_permissions(machine.path("btrfs"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", machine.path("").display(), std::env::var("PATH").unwrap());
    let cut = machine.command(&["run", "--json"]).env_remove("COPAL_REPOSITORY").env("PATH", path).ran().ok().json();
    let made = &cut["acts"][0]["result"];
    assert_eq!(made["narrowed"], false);
    assert_eq!(differs(&machine, &text(&made["snapshot_id"])), "", "{made}");
    // A name that a list cannot hold.
    machine.write("\u{1}", "control");
    let made = saved();
    assert!(text(&made["gap"]).contains("follows another snapshot"), "{made}");
    assert_eq!(differs(&machine, &text(&made["snapshot_id"])), "");
    assert!(!list.exists(), "no list is left for whoever calls without hooks");
}

/// Takes the place of the programs that make and mount snapshots, notes how each is called, and copies instead of mounting.
const STAND_IN: &str = r#"#!/bin/sh
set -eu
name=${0##*/} state=HEREstate
printf '%s' "$name" >> HEREcalls; printf ' <%s>' "$@" >> HEREcalls; echo >> HEREcalls
for last; do :; done
case $name in
    lvs) [ ! -e "$state/made" ] || echo "  home " ;;
    lvcreate) mkdir "$state/made" ;;
    lvremove) [ ! -e "$state/mounted" ] && rmdir "$state/made" ;;
    zfs)
        case $1 in
            list) echo "tank/ho me@other"; [ ! -e "$state/made" ] || echo "tank/ho me@copal" ;;
            snapshot) mkdir "$state/made" ;;
            destroy) [ ! -e "$state/mounted" ] && rmdir "$state/made" ;;
        esac ;;
    findmnt | mountpoint) [ -e "$state/mounted" ] ;;
    blkid) cat "$state/type" ;;
    mount) [ -e "$state/made" ] && cp -a HEREsource/. "$last" && mkdir "$state/mounted" ;;
    umount) rm -r "$last" && mkdir "$last" && rmdir "$state/mounted" ;;
esac
"#;

/// A machine with the stand-ins, which a ready hook calls. Gives what they were called with since the last time.
struct StoodIn {
    machine: Machine,
    script: PathBuf,
    at: PathBuf,
}

impl StoodIn {
    fn new(script: &str, words: &[&str], type_: &str) -> Self {
        let machine = configured("");
        let script = installed(&machine, script);
        let at = machine.path("mnt/it's a \"home\"");
        for directory in ["state", "bin"] {
            fs::create_dir(machine.path(directory)).unwrap();
        }
        fs::write(machine.path("state/type"), type_).unwrap();
        let text = STAND_IN.replace("HERE", &machine.path("").display().to_string());
        for name in ["lvs", "lvcreate", "lvremove", "zfs", "findmnt", "mountpoint", "blkid", "mount", "umount"] {
            let program = machine.path("bin").join(name);
            fs::write(&program, &text).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let [make, drop] = [words, &words[..1]].map(|words| {
            let words = [&words[..1], &[at.to_str().unwrap()], &words[1..]].concat();
            words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ")
        });
        configure(&machine, &profile(&machine.path("source"), &at, &script, [&make, &drop]));
        Self { machine, script, at }
    }

    fn with_stand_ins(&self, command: &mut Command) -> crate::kit::Ran {
        let bin = self.machine.path("bin");
        command.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())).ran()
    }

    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.machine.path("calls")).unwrap_or_default();
        fs::remove_file(self.machine.path("calls")).unwrap_or_default();
        calls.replace(self.at.to_str().unwrap(), "AT").lines().map(str::to_owned).collect()
    }

    /// Runs the profile, also after a run that was killed; gives the calls of both runs.
    fn run_twice(&self, words: &[&str]) -> [Vec<String>; 2] {
        self.machine.write("a/letter", "1");
        let go = || self.with_stand_ins(self.machine.command(&["run", "--json"]).env_remove("COPAL_REPOSITORY"));
        let first = go().ok().json();
        assert_eq!(fs::metadata(self.machine.path("mnt")).unwrap().permissions().mode() & 0o777, 0o700);
        let calls = self.calls();
        let mut make = Command::new(&self.script);
        let made = self.with_stand_ins(make.arg("make").arg(words[0]).arg(&self.at).args(&words[1..]));
        made.ok();
        self.calls();
        let second = go().ok().json();
        let [first, result] = [first, second].map(|report| report["acts"].clone());
        assert_eq!(result[0]["result"]["parent_id"], first[0]["result"]["snapshot_id"]);
        assert_eq!(result[1]["result"]["forgotten"], 1, "the rules hold when the snapshot is gone again");
        assert!(!self.machine.path("state/made").exists() && !self.machine.path("state/mounted").exists());
        self.machine.restore(&[]).ok();
        assert_same(&self.machine.path("source"), &self.machine.path("out"));
        [calls, self.calls()]
    }
}

const MOUNTED: &str = "findmnt <--source> <DEVICE> <--mountpoint> <AT>";

#[test]
fn a_snapshot_of_a_logical_volume_is_made_mounted_saved_under_its_own_path_and_taken_away() {
    let words = ["group/home", "5G"];
    let stood_in = StoodIn::new("lvm.sh", &words, "xfs");
    let mounted = MOUNTED.replace("DEVICE", "/dev/group/home-copal");
    let lvs = "lvs <--noheadings> <--options> <origin> <--select> <lv_name=\"home-copal\"> <group>";
    let make = [
        "mountpoint <-q> <AT>",
        "lvcreate <--yes> <--snapshot> <--size> <5G> <--name> <home-copal> <group/home>",
        "blkid <-o> <value> <-s> <TYPE> </dev/group/home-copal>",
        "mount <-o> <ro,nosuid,nodev,noexec,nouuid> </dev/group/home-copal> <AT>",
    ];
    let drop = [&*mounted, "umount <AT>", &*mounted, lvs, "lvremove <--yes> <group/home-copal>"];
    let [first, second] = stood_in.run_twice(&words);
    assert_eq!(first, [&[&*mounted, lvs], &make[..], &drop].concat());
    assert_eq!(second, [&drop, &make[..], &drop].concat(), "what a killed run has left is taken away first");

    let thin = StoodIn::new("lvm.sh", &words[..1], "ext4");
    let [first, _] = thin.run_twice(&words[..1]);
    let make = "lvcreate <--yes> <--snapshot> <--setactivationskip> <n> <--name> <home-copal> <group/home>";
    assert!(first.iter().any(|call| call == make), "{first:?}");
    assert!(first.iter().any(|call| call.starts_with("mount <-o> <ro,nosuid,nodev,noexec>")), "{first:?}");
}

#[test]
fn a_snapshot_of_a_zfs_dataset_is_made_mounted_saved_under_its_own_path_and_taken_away() {
    let stood_in = StoodIn::new("zfs.sh", &["tank/ho me"], "");
    let mounted = MOUNTED.replace("DEVICE", "tank/ho me@copal");
    let list = "zfs <list> <-H> <-o> <name> <-t> <snapshot> <tank/ho me>";
    let make = [
        "mountpoint <-q> <AT>",
        "zfs <snapshot> <tank/ho me@copal>",
        "mount <-t> <zfs> <-o> <ro,nosuid,nodev,noexec> <tank/ho me@copal> <AT>",
    ];
    let drop = [&*mounted, "umount <AT>", &*mounted, list, "zfs <destroy> <tank/ho me@copal>"];
    let [first, second] = stood_in.run_twice(&["tank/ho me"]);
    assert_eq!(first, [&[&*mounted, list], &make[..], &drop].concat());
    assert_eq!(second, [&drop, &make[..], &drop].concat(), "what a killed run has left is taken away first");
}

#[test]
fn ready_hooks_do_nothing_with_names_that_may_mean_something_else() {
    let refused: [(&str, &[&str]); 11] = [
        ("lvm.sh", &["drop", "group", "/mnt/x"]),
        ("lvm.sh", &["drop", "/dev/group/home", "/mnt/x"]),
        ("lvm.sh", &["drop", "-f/home", "/mnt/x"]),
        ("lvm.sh", &["make", "group/home", "mnt"]),
        ("lvm.sh", &["other", "group/home", "/mnt/x"]),
        ("zfs.sh", &["drop", "tank/home@daily", "/mnt/x"]),
        ("zfs.sh", &["drop", "-r", "/mnt/x"]),
        ("zfs.sh", &["drop", "", "/mnt/x"]),
        ("zfs.sh", &["make", "tank/home", "/mnt/x", "more"]),
        ("btrfs.sh", &["drop", "home", "/home/x"]),
        ("btrfs.sh", &["drop", "/home"]),
    ];
    for (script, words) in refused {
        let stood_in = StoodIn::new(script, &["x"], "");
        let ran = stood_in.with_stand_ins(Command::new(&stood_in.script).args(words)).exits(1);
        assert!(ran.err.starts_with(script) && stood_in.calls().is_empty(), "{words:?}: {ran}");
    }
}
