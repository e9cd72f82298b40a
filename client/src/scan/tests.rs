mod as_path;
mod filters;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, mkdirat, mknodat, openat};

use super::*;
use crate::filter::excluding;
use crate::privileges::as_nobody;

struct Place {
    path: PathBuf,
    _guard: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let guard = tempfile::tempdir().unwrap();
        Self { path: guard.path().canonicalize().unwrap(), _guard: guard }
    }

    /// Makes files and, where the name ends in a slash, directories.
    fn with(entries: &[&str]) -> Self {
        let place = Self::new();
        for entry in entries {
            let path = place.path.join(entry.trim_end_matches('/'));
            fs::create_dir_all(if entry.ends_with('/') { &path } else { path.parent().unwrap() }).unwrap();
            if !entry.ends_with('/') {
                fs::write(&path, entry).unwrap();
            }
        }
        place
    }

    fn write(&self, path: &str, content: &str) {
        fs::write(self.path.join(path), content).unwrap();
    }

    fn options(&self, roots: &[&str]) -> ScanOptions {
        let roots = roots.iter().map(|root| Root::new(&self.path.join(root)).unwrap()).collect();
        ScanOptions { roots, ..ScanOptions::default() }
    }

    /// Paths below the place that were emitted, in the order they came.
    fn entries(&self, options: ScanOptions) -> Vec<String> {
        self.relative(&run(options, 2).0)
    }

    fn relative(&self, events: &[ScanEvent]) -> Vec<String> {
        entries(events).iter().filter_map(|scanned| self.below(&scanned.path)).collect()
    }

    fn below(&self, path: &TreePath) -> Option<String> {
        let absolute = source_of(path);
        let below = absolute.strip_prefix(&self.path).ok()?;
        (!below.as_os_str().is_empty()).then(|| below.to_string_lossy().into_owned())
    }

    fn skipped(&self, options: ScanOptions) -> Vec<(String, Skip)> {
        let skipped = run(options, 2).0.into_iter().filter_map(|event| match event {
            ScanEvent::Skipped { path, reason } => Some((self.below(&path)?, reason)),
            _ => None,
        });
        skipped.collect()
    }
}

fn run(options: ScanOptions, threads: usize) -> (Vec<ScanEvent>, Totals) {
    let scan = Scan::new(options).unwrap();
    let (sender, receiver) = crossbeam_channel::bounded(2);
    std::thread::scope(|scope| {
        let listener = scope.spawn(move || receiver.iter().flatten().collect());
        let totals = scan.run(threads, &sender);
        drop(sender);
        (listener.join().unwrap(), totals)
    })
}

fn entries(events: &[ScanEvent]) -> Vec<&Scanned> {
    let entries = events.iter().filter_map(|event| match event {
        ScanEvent::Entry(scanned) => Some(scanned),
        _ => None,
    });
    entries.collect()
}

/// A few thousand entries with awkward names, several levels deep, from a fixed random sequence.
fn thicket() -> Place {
    let place = Place::new();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let names: [&[u8]; 12] =
        [b"a", b"a-", b"a.b", b"a0", b"A", b"\xff", b"\x01", b" ", b"a\n", b"aa", b"\xc3\xa9", b"a!"];
    let mut directories = vec![place.path.clone()];
    for _ in 0..2_000 {
        let directory = directories[next(directories.len() as u64) as usize].clone();
        let name = [names[next(12) as usize], names[next(12) as usize]].concat();
        let path = directory.join(OsStr::from_bytes(&name));
        if next(8) == 0 {
            if fs::create_dir(&path).is_ok() {
                directories.push(path);
            }
        } else {
            let _ = File::create_new(path);
        }
    }
    place
}

#[test]
fn entries_come_in_tree_order_and_each_once() {
    let place = thicket();
    let (events, totals) = run(place.options(&["."]), 2);
    let entries = entries(&events);
    assert!(entries.is_sorted_by(|a, b| a.path < b.path));
    assert_eq!(totals.entries, entries.len() as u64);
    fn count(directory: &Path) -> usize {
        let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| 1 + if path.is_dir() { count(&path) } else { 0 }).sum()
    }
    assert_eq!(place.relative(&events).len(), count(&place.path));
}

#[test]
fn how_many_threads_there_are_makes_no_difference() {
    let place = thicket();
    let scanned = |threads| {
        let (events, totals) = run(place.options(&["."]), threads);
        // Others may change the directories above meanwhile.
        let below = entries(&events).into_iter().filter(|scanned| place.below(&scanned.path).is_some());
        (below.cloned().collect::<Vec<_>>(), totals)
    };
    let serial = scanned(0);
    for threads in [1, 2, 7] {
        assert!(scanned(threads) == serial, "{threads} threads");
    }
}

#[test]
fn a_directory_of_many_names_comes_whole_and_in_order() {
    let place = Place::with(&["many/x/inner", "many/z/inner", "after"]);
    for index in 0..5_000 {
        File::create(place.path.join(format!("many/n{index}"))).unwrap();
    }
    let (events, _) = run(place.options(&["."]), 2);
    assert!(entries(&events).is_sorted_by(|a, b| a.path < b.path));
    assert_eq!(place.relative(&events).len(), 5_000 + 6);
}

#[test]
fn a_listener_that_leaves_ends_the_scan() {
    let place = thicket();
    let (sender, receiver) = crossbeam_channel::bounded(1);
    drop(receiver);
    let totals = Scan::new(place.options(&["."])).unwrap().run(2, &sender);
    assert!(totals.entries < 2_000);
}

#[test]
fn every_kind_of_entry_is_seen_as_what_it_is() {
    let place = Place::with(&["file", "directory/"]);
    symlink("nowhere", place.path.join("dangling")).unwrap();
    symlink("directory", place.path.join("to directory")).unwrap();
    fs::hard_link(place.path.join("file"), place.path.join("hardlink")).unwrap();
    mknodat(CWD, place.path.join("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    fs::set_permissions(place.path.join("file"), fs::Permissions::from_mode(0o4755)).unwrap();
    fs::set_permissions(place.path.join("directory"), fs::Permissions::from_mode(0o1777)).unwrap();
    let _socket = UnixListener::bind(place.path.join("socket")).unwrap();

    let (events, _) = run(place.options(&["."]), 2);
    let stats: BTreeMap<_, _> = entries(&events)
        .into_iter()
        .filter_map(|scanned| Some((place.below(&scanned.path)?, scanned.stat.clone())))
        .collect();
    assert_eq!(stats["dangling"].kind(), FileType::Symlink);
    assert_eq!(stats["to directory"].kind(), FileType::Symlink);
    assert_eq!(stats["fifo"].kind(), FileType::Fifo);
    assert_eq!(stats["file"].mode, 0o104755);
    assert_eq!(stats["directory"].mode, 0o041777);
    assert_eq!((stats["file"].links, stats["file"].inode), (2, stats["hardlink"].inode));
    assert_eq!(stats["file"].size, 4);
    assert!(!stats.contains_key("socket"));
    assert_eq!(place.skipped(place.options(&["."])), [("socket".into(), Skip::Socket)]);
}

#[test]
fn times_before_1970_keep_their_nanoseconds() {
    let place = Place::with(&["file"]);
    let time = std::time::UNIX_EPOCH - std::time::Duration::from_nanos(1_500_000_001);
    File::options().write(true).open(place.path.join("file")).unwrap().set_modified(time).unwrap();
    let (events, _) = run(place.options(&["file"]), 0);
    assert_eq!(entries(&events).last().unwrap().stat.mtime.0, -1_500_000_001);
}

#[test]
fn the_directories_above_a_root_come_without_their_other_content() {
    let place = Place::with(&["a/b/root/file", "a/b/other", "a/c"]);
    let (events, _) = run(place.options(&["a/b/root"]), 2);
    assert_eq!(place.relative(&events), ["a", "a/b", "a/b/root", "a/b/root/file"]);
    assert_eq!(entries(&events)[0].path, TreePath::TOP);
    let above = entries(&events).iter().take_while(|scanned| place.below(&scanned.path).is_none()).count();
    assert_eq!(above, place.path.components().count());
}

#[test]
fn roots_named_twice_or_within_each_other_come_once() {
    let place = Place::with(&["a/b/c", "a/d", "e"]);
    let entries = place.entries(place.options(&["a/b", "e", "a", "a/b/../b/", "a"]));
    assert_eq!(entries, ["a", "a/b", "a/b/c", "a/d", "e"]);
}

#[test]
fn a_root_that_is_a_link_is_the_link_unless_a_slash_follows() {
    let place = Place::with(&["real/file"]);
    symlink("real", place.path.join("link")).unwrap();
    assert_eq!(place.entries(place.options(&["link"])), ["link"]);
    assert_eq!(place.entries(place.options(&["link/"])), ["real", "real/file"]);
    assert_eq!(place.entries(place.options(&["link/file"])), ["real", "real/file"]);
}

#[test]
fn a_root_that_is_not_there_is_named() {
    let place = Place::new();
    let missing = place.path.join("missing");
    assert!(matches!(Root::new(&missing), Err(BadRoot::Unreachable { path, .. }) if path == missing));
    assert!(matches!(Root::new(Path::new("")), Err(BadRoot::Unreachable { .. })));
}

#[test]
fn a_root_that_has_gone_with_the_directory_above_it_or_behind_a_link_is_named() {
    let place = Place::with(&["gone/a/root/file", "linked/b/root/file", "linked/b/c", "there/file"]);
    let options = place.options(&["gone/a/root", "linked/b", "linked/b/root", "there"]);
    fs::remove_dir_all(place.path.join("gone/a")).unwrap();
    fs::rename(place.path.join("linked/b"), place.path.join("moved")).unwrap();
    symlink(place.path.join("moved"), place.path.join("linked/b")).unwrap();
    let (events, _) = run(options, 2);
    assert_eq!(place.relative(&events), ["gone", "linked", "linked/b", "there", "there/file"]);
    let lost = events.iter().filter_map(|event| match event {
        ScanEvent::Unreadable { path, error } => Some((place.below(path)?, error.kind())),
        _ => None,
    });
    let expected = [("gone/a/root", io::ErrorKind::NotFound), ("linked/b/root", io::ErrorKind::NotADirectory)];
    assert_eq!(lost.collect::<Vec<_>>(), expected.map(|(path, kind)| (path.to_owned(), kind)));
}

#[test]
fn the_top_directory_is_a_root_like_any_other() {
    let root = Root::new(Path::new("/")).unwrap();
    assert_eq!(root.path(), &TreePath::TOP);
    let options = ScanOptions { roots: vec![root], excludes: excluding(&["/*"]), ..ScanOptions::default() };
    let (events, totals) = run(options, 1);
    assert_eq!(entries(&events).len(), 1);
    assert!(totals.excluded > 0);
}

#[test]
fn the_repository_is_not_backed_up_into_itself() {
    let place = Place::with(&["repository/pack", "file"]);
    let forbidden = Some(EntryStat::of_path(&place.path.join("repository")).unwrap().id());
    let options = |root| ScanOptions { forbidden, ..place.options(&[root]) };
    assert_eq!(place.entries(options(".")), ["file", "repository"]);
    assert_eq!(place.skipped(options(".")), [("repository".into(), Skip::Repository)]);
    for root in ["repository", "repository/pack"] {
        assert!(matches!(Scan::new(options(root)), Err(ScanError::InRepository(_))), "{root}");
    }
}

#[test]
fn another_file_system_is_left_out_unless_it_is_named() {
    let proc = [("/", false), ("/proc/sys/kernel", true)];
    let options = |roots: &[&str]| ScanOptions {
        roots: roots.iter().map(|root| Root::new(Path::new(root)).unwrap()).collect(),
        excludes: excluding(&["/*", "!/proc", "/proc/*", "!/proc/sys", "/proc/sys/*", "!/proc/sys/kernel"]),
        one_file_system: true,
        ..ScanOptions::default()
    };
    let (events, _) = run(options(&["/"]), 2);
    assert_eq!(entries(&events).last().unwrap().path.as_bytes(), b"proc");
    let is_note = |event: &ScanEvent| matches!(event, ScanEvent::Skipped { reason: Skip::OtherFileSystem, .. });
    assert!(events.iter().any(is_note));
    let (events, _) = run(options(&proc.map(|(root, _)| root)), 2);
    let hostname = |scanned: &&Scanned| scanned.path.as_bytes() == b"proc/sys/kernel/hostname";
    assert!(entries(&events).iter().any(hostname));
}

#[cfg(target_os = "linux")]
#[test]
fn what_the_kernel_shows_as_files_is_left_out_unless_it_is_named() {
    let options = |roots: &[&str]| ScanOptions {
        roots: roots.iter().map(|root| Root::new(Path::new(root)).unwrap()).collect(),
        excludes: excluding(&["/*", "!/proc", "/proc/*", "!/proc/version"]),
        ..ScanOptions::default()
    };
    let is_left_out = |event: &ScanEvent| matches!(event, ScanEvent::Skipped { reason: Skip::KernelFileSystem, .. });
    let has_version =
        |events: &[ScanEvent]| entries(events).iter().any(|scanned| scanned.path.as_bytes() == b"proc/version");
    let (events, _) = run(options(&["/"]), 2);
    assert!(events.iter().any(is_left_out) && !has_version(&events));
    let (events, _) = run(options(&["/", "/proc"]), 2);
    assert!(!events.iter().any(is_left_out) && has_version(&events));
}

#[test]
fn paths_longer_than_the_kernel_takes_are_scanned() {
    let place = Place::new();
    let name = "d".repeat(200);
    let mut at = openat(CWD, &place.path, OFlags::DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..50 {
        mkdirat(&at, name.as_str(), Mode::RWXU).unwrap();
        at = openat(&at, name.as_str(), OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let (events, _) = run(place.options(&["."]), 2);
    assert_eq!(events.len(), entries(&events).len());
    assert_eq!(place.relative(&events).len(), 50);
}

#[test]
fn what_cannot_be_read_is_reported_and_the_rest_is_scanned() {
    let place = Place::with(&["closed/root/file", "closed/file", "listed/file", "open/file"]);
    fs::set_permissions(&place.path, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(place.path.join("closed"), fs::Permissions::from_mode(0o711)).unwrap();
    fs::set_permissions(place.path.join("listed"), fs::Permissions::from_mode(0o744)).unwrap();
    let options = place.options(&[".", "closed/root"]);
    let (events, _) = as_nobody(|| run(options, 2));
    let readable = ["closed", "closed/root", "closed/root/file", "listed", "open", "open/file"];
    assert_eq!(place.relative(&events), readable);
    let unreadable = events.iter().filter_map(|event| match event {
        ScanEvent::Unreadable { path, error } => Some((place.below(path)?, error.kind())),
        _ => None,
    });
    let denied = std::io::ErrorKind::PermissionDenied;
    assert_eq!(unreadable.collect::<Vec<_>>(), [("closed".into(), denied), ("listed/file".into(), denied)]);
}
