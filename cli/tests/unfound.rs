//! A name that its file system lists and cannot look up, as happens with names that SMB, FAT or a FUSE program translates.

use std::ffi::OsStr;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner, OpenFlags,
    ReplyAttr, ReplyData, ReplyDirectory, ReplyEntry, ReplyOpen, Request, Session,
};

use crate::kit::{Machine, Ran};

/// A file system of two names. One of them is never found, though it is listed.
struct Listed {
    /// How many listings have it.
    times: u64,
    opened: Arc<AtomicU64>,
}

const LOST: &str = "lost";
const THERE: &str = "there";

/// Backs up a directory where such a file system is mounted; gives what the command said, and how often it listed the files.
fn backup(machine: &Machine, times: u64) -> (Ran, u64) {
    let (at, opened) = (machine.path("source/mounted"), Arc::default());
    fs::create_dir(&at).unwrap();
    let files = Listed { times, opened: Arc::clone(&opened) };
    let session = Session::new(files, &at, &Config::default()).unwrap().spawn().unwrap();
    let ran = machine.run(&["backup", "source"]);
    session.umount_and_join().unwrap();
    fs::remove_dir(&at).unwrap();
    (ran, opened.load(Ordering::Relaxed))
}

#[test]
fn a_name_that_is_listed_and_never_found_is_told() {
    let machine = Machine::new();
    let (ran, _) = backup(&machine, u64::MAX);
    let ran = ran.exits(3);
    assert!(ran.err.contains("/source/mounted/lost: No such file"), "{ran}");
    let path = machine.source("mounted").display().to_string();
    assert_eq!(machine.ok(&["dump", &format!("latest:{path}/there")]), "there");
    assert!(!machine.ok(&["ls", &format!("latest:{path}")]).contains("lost"));
}

#[test]
fn a_file_that_vanishes_after_it_was_listed_is_no_trouble() {
    let machine = Machine::new();
    let (ran, listings) = backup(&machine, 1);
    ran.ok();
    assert!(listings >= 2, "{listings}");
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
        if name == THERE {
            reply.entry(&Duration::ZERO, &attributes(INodeNo(2)), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
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
