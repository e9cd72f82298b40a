//! A name that its file system lists and cannot look up, as happens with names that SMB, FAT or a FUSE program translates.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEntry, ReplyOpen, Request, Session,
};

use crate::kit::{Machine, Ran};

/// A file system of two names. One of them is not found, though it is listed.
struct Listed {
    /// How many listings have it.
    times: u64,
    /// The answers to the first look-ups of it. All later ones give the last answer.
    answers: &'static [Answer],
    opened: Arc<AtomicU64>,
    looked_up: AtomicUsize,
    /// Which of the next look-ups does not find it; 0 for none.
    failing: Arc<AtomicUsize>,
}

/// An answer to a look-up: an error, or the file.
type Answer = Result<(), Errno>;

impl Listed {
    fn new(times: u64, answers: &'static [Answer]) -> Self {
        Self { times, answers, opened: Arc::default(), looked_up: AtomicUsize::new(0), failing: Arc::default() }
    }

    fn mount(self, at: &Path) -> BackgroundSession {
        Session::new(self, at, &Config::default()).unwrap().spawn().unwrap()
    }
}

const LOST: &str = "lost";
const THERE: &str = "there";

const NEVER: &[Answer] = &[Err(Errno::ENOENT)];
const LATE: &[Answer] = &[Err(Errno::ENOENT), Ok(())];
const BROKEN: &[Answer] = &[Err(Errno::ENOENT), Err(Errno::EIO)];

/// Backs up a directory where this file system is mounted; gives what the command said and the number of listings.
fn backup(machine: &Machine, files: Listed) -> (Ran, u64) {
    let (at, opened) = (machine.path("source/mounted"), Arc::clone(&files.opened));
    fs::create_dir(&at).unwrap();
    let session = files.mount(&at);
    let ran = machine.run(&["backup", "source"]);
    session.umount_and_join().unwrap();
    fs::remove_dir(&at).unwrap();
    (ran, opened.load(Ordering::Relaxed))
}

#[test]
fn a_name_that_is_listed_and_never_found_is_told() {
    let machine = Machine::new();
    let (ran, _) = backup(&machine, Listed::new(u64::MAX, NEVER));
    let ran = ran.exits(3);
    assert!(ran.err.contains("/source/mounted/lost: No such file"), "{ran}");
    let path = machine.source("mounted").display().to_string();
    assert_eq!(machine.ok(&["dump", &format!("latest:{path}/there")]), "there");
    assert!(!machine.ok(&["ls", &format!("latest:{path}")]).contains("lost"));
}

#[test]
fn a_file_that_vanishes_after_it_was_listed_is_no_trouble() {
    let machine = Machine::new();
    let (ran, listings) = backup(&machine, Listed::new(1, NEVER));
    ran.ok();
    assert!(listings >= 2, "{listings}");
}

#[test]
fn a_file_that_is_found_at_the_second_look_is_saved() {
    let machine = Machine::new();
    backup(&machine, Listed::new(u64::MAX, LATE)).0.ok();
    let path = machine.source("mounted").display().to_string();
    for name in [LOST, THERE] {
        assert_eq!(machine.ok(&["dump", &format!("latest:{path}/{name}")]), "there", "{name}");
    }
}

#[test]
fn a_second_look_that_fails_for_another_reason_is_told() {
    let machine = Machine::new();
    let ran = backup(&machine, Listed::new(u64::MAX, BROKEN)).0.exits(3);
    assert!(ran.err.contains("/source/mounted/lost: Input/output error"), "{ran}");
}

#[test]
fn a_name_that_is_never_found_is_told_though_a_list_of_changes_lacks_it() {
    let machine = Machine::new();
    let session = Listed::new(u64::MAX, NEVER).mount(&machine.path("source"));
    fs::write(machine.path("list"), "source/there\n").unwrap();
    for is_narrowed in [false, true] {
        let ran = machine.run(&["backup", "source", "--changed-from", "list", "--json"]).exits(3);
        assert_eq!(ran.json()["narrowed"], is_narrowed, "{ran}");
        assert!(ran.err.contains("/source/lost"), "{ran}");
    }
    session.umount_and_join().unwrap();
}

#[test]
fn a_name_of_a_list_of_changes_that_is_not_found_once_stays() {
    let machine = Machine::new();
    let files = Listed::new(u64::MAX, &[Ok(())]);
    let failing = Arc::clone(&files.failing);
    let session = files.mount(&machine.path("source"));
    fs::write(machine.path("list"), "source/lost\nsource/there\n").unwrap();
    let path = machine.path("source/lost").display().to_string();
    // While the list is looked at, while the scan looks, and not at all.
    for at in 1..=3 {
        machine.ok(&["backup", "source", "--changed-from", "list"]);
        failing.store(at, Ordering::Relaxed);
        let ran = machine.run(&["backup", "source", "--changed-from", "list", "--json"]).exits(0);
        assert_eq!(ran.json()["narrowed"], true, "{ran}");
        assert_eq!(machine.ok(&["dump", &format!("latest:{path}")]), "there", "{at}");
    }
    session.umount_and_join().unwrap();
}

fn attributes(inode: INodeNo) -> FileAttr {
    let is_top = inode == INodeNo::ROOT;
    FileAttr {
        ino: inode,
        size: if is_top { 0 } else { THERE.len() as u64 },
        blocks: 1,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: if is_top { FileType::Directory } else { FileType::RegularFile },
        perm: 0o755,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4_096,
        flags: 0,
    }
}

impl Filesystem for Listed {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let (inode, answer) = if name == THERE {
            (INodeNo(2), Ok(()))
        } else if name == LOST {
            if self.failing.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) == Ok(1) {
                return reply.error(Errno::ENOENT);
            }
            let at = self.looked_up.fetch_add(1, Ordering::Relaxed).min(self.answers.len() - 1);
            (INodeNo(3), self.answers[at])
        } else {
            (INodeNo(0), Err(Errno::ENOENT))
        };
        match answer {
            Ok(()) => reply.entry(&Duration::ZERO, &attributes(inode), Generation(0)),
            Err(error) => reply.error(error),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&Duration::ZERO, &attributes(inode));
    }

    /// The handle is the number of the listing.
    fn opendir(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(self.opened.fetch_add(1, Ordering::Relaxed)), FopenFlags::empty());
    }

    fn readdir(&self, _: &Request, _: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let names = [(2, THERE), (3, LOST)].into_iter().take(if handle.0 < self.times { 2 } else { 1 });
        for (number, name) in names.filter(|(number, _)| *number > offset) {
            let _ = reply.add(INodeNo(number), number, FileType::RegularFile, name);
        }
        reply.ok();
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        _: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        reply.data(THERE.as_bytes().get(offset as usize..).unwrap_or_default());
    }
}
