//! `import tar`: what other programs have written.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use copal_client::Settings;
use copal_format::keys::slot::SlotInput;
use copal_format::path::TreePath;
use serde_json::json;

use crate::kit::{Machine, Ran, Run, assert_same, name, noise, number, set_xattr, text};

/// Imports an archive from standard input.
fn imports(machine: &Machine, archive: &[u8], options: &[&str]) -> Ran {
    machine.with_key(&[&["import", "tar", "--json"], options].concat()).fed(archive)
}

fn tar(directory: &Path, options: &[&str]) -> Vec<u8> {
    let output = Command::new("tar").args(options).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{options:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Unpacks an archive with tar and by an import and a restore, and compares.
fn assert_unpacks_alike(machine: &Machine, archive: &[u8], label: &str) {
    let (expected, found) = (machine.path(&format!("tar-{label}")), machine.path(&format!("restored-{label}")));
    fs::create_dir(&expected).unwrap();
    fs::write(machine.path("archive"), archive).unwrap();
    tar(&expected, &["--xattrs", "--xattrs-include=*", "--preserve-permissions", "-xf", "../archive"]);
    imports(machine, archive, &["--label", label]).ok();
    machine.ok(&["restore", "latest", "--label", label, "-t", found.to_str().unwrap()]);
    if !archive.starts_with(b"./") {
        // The top is not in the archive.
        let now = SystemTime::now();
        for top in [&expected, &found] {
            fs::File::open(top).unwrap().set_modified(now).unwrap();
        }
    }
    assert_same(&expected, &found);
}

/// A tree that every format can hold.
fn plain(machine: &Machine) {
    machine.write("dir/below/large", noise(1, 3_000_000));
    machine.write("dir/inline", "inline");
    machine.write("empty", "");
    symlink("dir/inline", machine.source("link")).unwrap();
    fs::hard_link(machine.source("dir/inline"), machine.source("a second name")).unwrap();
    fs::hard_link(machine.source("dir/below/large"), machine.source("dir/other large")).unwrap();
    fs::set_permissions(machine.source("dir/inline"), fs::Permissions::from_mode(0o4710)).unwrap();
    machine.fifo();
}

/// Writes a file with this many holes.
fn sparse(machine: &Machine, name: &str, holes: u64) {
    let file = fs::File::create(machine.source(name)).unwrap();
    for at in 0..holes {
        file.write_all_at(&noise(at, 4_096), at * 65_536 + 16_384).unwrap();
    }
    file.set_len(holes * 65_536 + 1_000_000).unwrap();
}

#[test]
fn archives_of_every_format_unpack_to_the_tree_that_tar_makes_of_them() {
    let machine = Machine::new();
    plain(&machine);
    for format in ["v7", "ustar", "gnu", "posix"] {
        // The oldest format has no pipes.
        let exclude = if format == "v7" { "--exclude=fifo" } else { "--exclude=none" };
        let archive = tar(&machine.path("source"), &["-c", &format!("--format={format}"), exclude, "."]);
        assert_unpacks_alike(&machine, &archive, format);
    }
    let long = "n".repeat(200);
    machine.write(&format!("{long}/{long}/{long}"), "deep");
    fs::hard_link(machine.source(format!("{long}/{long}/{long}")), machine.source("of a long name")).unwrap();
    symlink("x".repeat(300), machine.source("a long link")).unwrap();
    fs::write(machine.source(name(b"\xff\xfe")), "odd").unwrap();
    for (at, holes) in [1, 4, 5, 26, 60].into_iter().enumerate() {
        sparse(&machine, &format!("sparse {at}"), holes);
    }
    set_xattr(&machine.source("dir"), "user.note", b"\0=\n");
    let old = fs::File::options().write(true).open(machine.source("empty")).unwrap();
    old.set_modified(std::time::UNIX_EPOCH - std::time::Duration::from_millis(1500)).unwrap();
    let gnu = tar(&machine.path("source"), &["-c", "--format=gnu", "--sparse", "."]);
    assert_unpacks_alike(&machine, &gnu, "sparse gnu");
    for version in ["0.0", "0.1", "1.0"] {
        let form = format!("--sparse-version={version}");
        let archive = tar(&machine.path("source"), &["-c", "--format=posix", "--xattrs", "--sparse", &form, "."]);
        assert_unpacks_alike(&machine, &archive, version);
    }
    machine.ok(&["check", "--full"]);
}

#[test]
fn a_dump_comes_back_as_the_snapshot_that_it_was_made_of() {
    let machine = Machine::new();
    plain(&machine);
    fs::set_permissions(machine.source("empty"), fs::Permissions::from_mode(0o600)).unwrap();
    machine.backup(&[]);
    let archive = machine.run(&["dump", &machine.whole()]).ok().out;
    let options = ["--label", "l", "--tag", "t", "--host", "other", "--time", "2020-01-02 03:04:05"];
    let id = text(&imports(&machine, &archive, &options).ok().json()["snapshot_id"]);
    machine.ok(&["restore", &id, "-t", "out"]);
    assert_same(&machine.path("source"), &machine.path("out"));
    let row = machine.json(&["snapshots", "--host", "other"])[0].clone();
    assert_eq!((&row["label"], &row["tags"], &row["paths"]), (&json!("l"), &json!(["t"]), &json!(["/"])));
    assert!(row["time"].as_str().unwrap().starts_with("2020-01-02T03:04:05"), "{row}");
    fs::write(machine.path("archive"), &archive).unwrap();
    let again = machine.run(&["import", "tar", "archive", "--json"]).ok();
    assert_eq!(number(&again, "bytes_new"), 0);
    let before = machine.snapshots();
    imports(&machine, &archive, &["-n"]).ok();
    assert_eq!(machine.snapshots(), before);
}

/// An archive that is written member by member.
struct Written(tar::Builder<Vec<u8>>);

impl Written {
    fn new() -> Self {
        Self(tar::Builder::new(Vec::new()))
    }

    fn add(mut self, kind: tar::EntryType, name: &str, link: &str, content: &str) -> Self {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        header.set_cksum();
        self.0.append(&header, content.as_bytes()).unwrap();
        self
    }

    fn file(self, name: &str, content: &str) -> Self {
        self.add(tar::EntryType::Regular, name, "", content)
    }

    fn link(self, name: &str, target: &str) -> Self {
        self.add(tar::EntryType::Link, name, target, "")
    }

    /// Says more of the next member, in its extended header.
    fn more(mut self, key: &str, value: &[u8]) -> Self {
        self.0.append_pax_extensions([(key, value)]).unwrap();
        self
    }

    fn bytes(self) -> Vec<u8> {
        self.0.into_inner().unwrap()
    }
}

#[test]
fn of_members_with_one_name_the_last_counts_and_links_mean_the_one_before_them() {
    let machine = Machine::new();
    let archive = Written::new()
        .file("z/late", "late")
        .file("name", "first")
        .link("a first", "name")
        .file("name", "second")
        .link("a second", "./name")
        .link("of a link", "a first")
        .file("a second", "third")
        .link("of a third", "a second")
        .file("early", "early")
        .add(tar::EntryType::Directory, "z", "", "")
        .bytes();
    assert_unpacks_alike(&machine, &archive, "links");
    let id = machine.snapshots().remove(0);
    let content = |name: &str| machine.ok(&["dump", &format!("{id}:/{name}")]);
    let names = ["name", "a first", "of a link", "a second", "of a third"];
    assert_eq!(names.map(content), ["second", "first", "first", "third", "third"]);
}

#[test]
fn members_that_lead_out_or_nowhere_are_named_and_left_out() {
    let machine = Machine::new();
    let archive = Written::new()
        .file("/absolute", "1")
        .file("./././dotted//twice", "2")
        .file("../out", "x")
        .file("a/../../b", "x")
        .add(tar::EntryType::Symlink, "sly", "/etc", "")
        .file("sly/passwd", "x")
        .link("lost", "not there")
        .link("later", "too late")
        .file("too late", "3")
        .file("", "x")
        .add(tar::EntryType::Directory, "directory", "", "")
        .link("of a directory", "directory")
        .bytes();
    let ran = imports(&machine, &archive, &[]).exits(3);
    for odd in ["../out", "a/../../b", "/sly/passwd", "/lost", "/later", "/of a directory"] {
        assert!(ran.err.contains(&format!("{odd}\"")), "{odd}: {ran}");
    }
    assert_eq!((number(&ran, "errors"), number(&ran, "files_new")), (7, 3));
    machine.ok(&["restore", "latest", "-t", "out"]);
    for (file, content) in [("absolute", "1"), ("dotted/twice", "2"), ("too late", "3")] {
        assert_eq!(fs::read_to_string(machine.path("out").join(file)).unwrap(), content);
    }
    machine.ok(&["check", "--full"]);
}

#[test]
fn members_lie_in_the_path_that_as_path_names_and_belong_to_its_series() {
    let machine = Machine::new();
    plain(&machine);
    let archive = tar(&machine.source(""), &["--format=pax", "-c", "."]);
    let out = machine.path("out");
    let ran = imports(&machine, &archive, &["--as-path", machine.source("").to_str().unwrap()]).ok();
    assert_eq!(number(&ran, "errors"), 0);
    machine.ok(&["restore", "latest", "-t", out.to_str().unwrap()]);
    assert_same(&machine.source(""), &out.join(machine.source("").strip_prefix("/").unwrap()));
    machine.backup(&[]);
    let listed = machine.json(&["snapshots"]);
    let paths: Vec<_> = listed.as_array().unwrap().iter().map(|snapshot| &snapshot["paths"]).collect();
    assert_eq!((paths.len(), paths[0]), (2, paths[1]));

    let outside = Written::new().file("../../out", "x").link("a", "../../etc/passwd").file("in", "y").bytes();
    imports(&machine, &outside, &["--as-path", "/home/ada", "--label", "outside"]).exits(3);
    let ls = machine.ok(&["ls", "-R", "latest:/", "--label", "outside"]);
    assert_eq!(ls.lines().filter(|line| !line.ends_with('/')).count(), 1, "{ls}");
    for bad in ["home/ada", "/home/../etc"] {
        let ran = imports(&machine, &archive, &["--as-path", bad]).exits(2);
        assert!(ran.err.contains("--as-path"), "{ran}");
    }
}

#[test]
fn a_directory_of_which_an_archive_has_only_the_content_is_listed_too() {
    let machine = Machine::new();
    let archive = Written::new().file("dir/a", "1").file("dir/below/b", "2").file("dir/below/c", "3").bytes();
    imports(&machine, &archive, &[]).ok();
    assert_eq!(machine.ok(&["ls", "latest"]), "/dir\n");
    assert_eq!(machine.ok(&["ls", "latest:/dir"]), "/dir/a\n/dir/below\n");
    let directory = &machine.run(&["ls", "--json", "latest:/dir"]).ok().rows()[1];
    assert_eq!((&directory["type"], &directory["mode"]), (&json!("dir"), &json!(0o755)));

    let secret = SlotInput::key_file(fs::read_to_string(machine.path("key")).unwrap().trim()).unwrap();
    let settings = Settings::at(machine.path("repository"));
    let copal = settings.state_dir(machine.path("own")).cache_dir(machine.path("copies")).open(&secret).unwrap();
    let tree = copal.tree(&copal.snapshot("latest").unwrap()).unwrap();
    let listed = |directory: &str| -> Vec<String> {
        let entries = tree.list(TreePath::new(directory).unwrap());
        entries.map(|entry| entry.unwrap().path.to_string()).collect()
    };
    assert_eq!(listed(""), ["dir"], "a program gets the same");
    assert_eq!(listed("dir"), ["dir/a", "dir/below"]);
}

#[test]
fn an_archive_that_lies_about_a_file_stops_no_backup_from_reading_it() {
    let machine = Machine::with([("file", "true")]);
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(86_400);
    fs::File::open(machine.source("file")).unwrap().set_modified(old).unwrap();
    fs::create_dir(machine.path("lies")).unwrap();
    fs::write(machine.path("lies/file"), "lies").unwrap();
    fs::File::open(machine.path("lies/file")).unwrap().set_modified(old).unwrap();
    let archive = tar(&machine.path("lies"), &["-c", "file"]);
    imports(&machine, &archive, &["--as-path", machine.source("").to_str().unwrap()]).ok();
    machine.backup(&["--ignore-inode", "--ignore-ctime"]);
    assert_eq!(machine.ok(&["dump", "latest:source/file"]), "true");
}

#[test]
fn what_lies_behind_the_end_mark_and_members_that_cannot_be_kept_are_told() {
    let machine = Machine::new();
    let (mut odd, next) = (Written::new().file("odd", "1").bytes(), Written::new().file("next", "2").bytes());
    odd.truncate(1_024);
    let (header, _) = odd.split_first_chunk_mut::<512>().unwrap();
    header[136..148].copy_from_slice(b"yesterday\0\0\0");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let ran = imports(&machine, &[odd.clone(), next.clone()].concat(), &["--label", "odd"]).exits(3);
    assert!(ran.err.contains("/odd") && ran.err.contains("its time is not a number"), "{ran}");
    assert_eq!((number(&ran, "errors"), number(&ran, "files_new")), (1, 1));
    // Another name of it does not mean the one that had the name before.
    let old = Written::new().file("odd", "0").bytes()[..1_024].to_vec();
    let link = Written::new().link("other", "odd").bytes();
    let ran = imports(&machine, &[old, odd, link].concat(), &["--label", "link"]).exits(3);
    assert!(ran.err.contains("another name of /odd, which cannot be imported"), "{ran}");
    assert_eq!((number(&ran, "errors"), number(&ran, "files_new")), (2, 1));
    let second = Written::new().file("second", "3").bytes();
    let ran = imports(&machine, &[next.clone(), second].concat(), &["--label", "two"]).exits(3);
    assert!(ran.err.contains(&format!("at byte {}", next.len())), "{ran}");
    assert_eq!((number(&ran, "errors"), number(&ran, "files_new")), (1, 1));
    imports(&machine, &[next, vec![0; 10_000]].concat(), &["--label", "zeros"]).ok();
}

#[test]
fn a_member_with_too_many_attributes_is_saved_without_them_and_what_is_left_out_counts_as_no_file() {
    let (machine, much) = (Machine::new(), vec![b'x'; 3 << 20]);
    let archive = Written::new().more("SCHILY.xattr.user.much", &much).file("file", "text");
    let archive = archive.more("uname", &much).file("lost", "text").file("other", "text").bytes();
    let ran = imports(&machine, &archive, &[]).exits(3);
    assert!(ran.err.contains("its attributes are left out") && ran.err.contains("/lost"), "{ran}");
    assert_eq!((number(&ran, "errors"), number(&ran, "files_new")), (2, 2));
    assert_eq!(machine.ok(&["dump", "latest:/file"]), "text");
}

#[test]
fn an_archive_that_is_not_whole_makes_no_snapshot_and_says_why() {
    let machine = Machine::with([("file", noise(1, 500_000))]);
    let archive = tar(&machine.path("source"), &["-c", "."]);
    let refused = |archive: &[u8], why: &str| {
        let ran = imports(&machine, archive, &[]).exits(1);
        assert!(ran.err.contains(why), "{ran}");
    };
    refused(&archive[..300_000], "cut off after 300000 bytes");
    // Two headers and the content, without an end mark.
    refused(&archive[..1024 + 500_000_usize.next_multiple_of(512)], "cut off");
    refused(&[], "cut off after 0 bytes");
    refused(&[b"\x1f\x8b".as_slice(), &[0; 600]].concat(), "gzip -d");
    refused(&noise(5, 10_000), "no header of a tar archive at byte 0");
    let mut odd = archive;
    odd[700] ^= 1;
    refused(&odd, "no header of a tar archive at byte 512");
    assert!(machine.snapshots().is_empty());
    machine.run(&["import", "tar", "nowhere"]).exits(1);
    machine.run(&["import"]).exits(2);
}

#[test]
fn an_archive_without_members_is_saved_only_if_that_is_allowed() {
    let machine = Machine::new();
    let empty = vec![0; 10_240];
    for options in [&[][..], &["--dry-run"]] {
        let ran = imports(&machine, &empty, options).exits(1);
        assert!(ran.kind() == "empty_stream" && ran.err.contains("--allow-empty"), "{ran}");
    }
    assert!(machine.snapshots().is_empty());
    imports(&machine, &empty, &["--allow-empty"]).ok();
    assert_eq!(machine.snapshots().len(), 1);
}

#[test]
fn a_restore_of_an_import_deletes_nothing_since_nobody_knows_what_was_left_out() {
    let machine = Machine::with([("left out", "by tar"), ("file", "1")]);
    let archive = tar(&machine.path("source"), &["-c", "file"]);
    imports(&machine, &archive, &[]).ok();
    let delete = ["restore", "--json", "latest", "-t", "source", "--delete"];
    let ran = machine.run(&delete).ok();
    assert!(machine.source("left out").exists() && ran.err.contains("left out"), "{ran}");
    machine.run(&[&delete[..], &["--delete-excluded"]].concat()).ok();
    assert!(!machine.source("left out").exists());
}

#[test]
fn an_archive_is_compressed_as_hard_as_it_is_asked_to() {
    let machine = Machine::new();
    let content: Vec<u8> = (0..100_000_u32).flat_map(|n| format!("{n:x} ").into_bytes()).collect();
    machine.write("text", content);
    let archive = tar(&machine.path("source"), &["-cf", "-", "text"]);
    let stored =
        |level: &str| number(&imports(&machine.copy(), &archive, &["--compression", level]).ok(), "bytes_stored");
    let (none, fast) = (stored("0"), stored("fast"));
    assert!(none > 500_000 && fast < none / 2, "{none} {fast}");
}
