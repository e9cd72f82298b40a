//! FUSE: shows the tree of snapshots to the kernel as a read-only file system.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use copal_client::browse::{Attributes, BrowseError, Browser, Node};
use copal_format::time::Time;
use copal_format::tree::EntryKind;
use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory,
    ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyLseek, ReplyOpen, ReplyXattr, Request, Session, SessionACL,
};

use super::holes::seek;
use crate::commands::mount::system::Audience;

/// Mounts the tree on a directory and answers the kernel from other threads.
pub(super) fn mount(
    browser: Arc<Browser>,
    directory: &Path,
    source: String,
    audience: Audience,
) -> io::Result<BackgroundSession> {
    let mut config = Config::default();
    config.mount_options = vec![MountOption::RO, MountOption::FSName(source), MountOption::Subtype("copal".into())];
    if audience == Audience::Permitted {
        config.mount_options.push(MountOption::DefaultPermissions);
    }
    config.acl = if audience == Audience::Owner { SessionACL::Owner } else { SessionACL::All };
    // More threads than cores: some wait for a store.
    config.n_threads = Some(THREADS);
    config.clone_fd = true;
    Session::new(Snapshots::new(browser, audience), directory, &config)?.spawn()
}

struct Snapshots {
    browser: Arc<Browser>,
    top: Node,
    /// The nodes that the kernel knows by number, until it forgets them.
    known: Mutex<HashMap<u64, Known>>,
    /// Open directories: whether a listing has left out something.
    directories: Mutex<HashMap<u64, Arc<AtomicBool>>>,
    handles: AtomicU64,
    audience: Audience,
}

struct Known {
    node: Node,
    /// The kernel's lookup count.
    times: u64,
}

impl Snapshots {
    fn new(browser: Arc<Browser>, audience: Audience) -> Self {
        let (top, handles) = (browser.top(), AtomicU64::new(1));
        Self { browser, top, known: Mutex::default(), directories: Mutex::default(), handles, audience }
    }

    fn node(&self, inode: INodeNo) -> Result<Node, Errno> {
        if inode == INodeNo::ROOT {
            return Ok(self.top.clone());
        }
        locked(&self.known).get(&inode.0).map(|known| known.node.clone()).ok_or(Errno::ESTALE)
    }

    fn tell_kernel(&self, inode: u64, node: &Node) {
        let mut known = locked(&self.known);
        known.entry(inode).or_insert_with(|| Known { node: node.clone(), times: 0 }).times += 1;
    }

    /// The node of a name, its attributes, and how long the kernel may believe that it has this name.
    fn look_up(&self, parent: INodeNo, name: &OsStr) -> Result<(Node, Attributes, Duration), Errno> {
        let directory = self.node(parent)?;
        let node = self.browser.find(&directory, name.as_bytes()).map_err(errno)?.ok_or(Errno::ENOENT)?;
        let attributes = self.browser.attributes(&node).map_err(errno)?;
        let lasts = lasting_in(&directory, &node);
        Ok((node, attributes, lasts))
    }

    /// Lists a directory from an offset: 1 is after `.`, 2 after `..`, and the listing's number `n` has offset `n` + 3.
    /// `add` returns whether the buffer is full. An error comes at the end, after all that can be read.
    fn list(
        &self,
        inode: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut add: impl FnMut(Row<'_>) -> bool,
    ) -> Result<(), Errno> {
        let node = self.node(inode)?;
        let has_gaps = locked(&self.directories).get(&handle.0).cloned().unwrap_or_default();
        let attributes = self.browser.attributes(&node).map_err(errno)?;
        let mut added = 0;
        for (at, name) in [(1, b".".as_slice()), (2, b"..")] {
            if offset < at {
                if add(Row { offset: at, name, attributes: &attributes, node: None, lasts: Duration::ZERO }) {
                    return Ok(());
                }
                added += 1;
            }
        }
        let mut is_full = false;
        let listed = self.browser.list(&node, offset.checked_sub(DOTS + 1), &mut |listed| {
            let (offset, name) = (listed.number.saturating_add(DOTS + 1), listed.name.as_slice());
            let lasts = lasting_in(&node, &listed.node);
            is_full = add(Row { offset, name, attributes: &listed.attributes, node: Some(&listed.node), lasts });
            added += u32::from(!is_full);
            !is_full
        });
        match listed {
            Ok(()) => {}
            Err(BrowseError::Incomplete) => has_gaps.store(true, Ordering::Relaxed),
            Err(error) => return Err(errno(error)),
        }
        // A full buffer means that the kernel asks again.
        let is_end = added == 0 && !is_full;
        if is_end && has_gaps.load(Ordering::Relaxed) { Err(Errno::EIO) } else { Ok(()) }
    }
}

/// A name in a directory; the node is none for `.` and `..`.
struct Row<'r> {
    offset: u64,
    name: &'r [u8],
    attributes: &'r Attributes,
    node: Option<&'r Node>,
    /// How long the kernel may believe it.
    lasts: Duration,
}

impl Filesystem for Snapshots {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        for wanted in [
            InitFlags::FUSE_DO_READDIRPLUS,
            InitFlags::FUSE_READDIRPLUS_AUTO,
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_NO_OPEN_SUPPORT,
        ] {
            // An older kernel works without it.
            let _ = config.add_capabilities(wanted);
        }
        // Without it the kernel takes an ACL's mask as the group's rights. (With it, `All` would be subject to
        // permissions.)
        if self.audience == Audience::Permitted && config.add_capabilities(InitFlags::FUSE_POSIX_ACL).is_err() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "this kernel does not apply ACLs to such mounts"));
        }
        let _ = config.set_max_readahead(READ_AHEAD);
        let _ = config.set_max_background(64);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.look_up(parent, name) {
            Ok((node, attributes, lasts)) => {
                self.tell_kernel(attributes.inode, &node);
                reply.entry(&lasts, &file_attr(attributes.inode, &attributes), Generation(0));
            }
            Err(error) => reply.error(error),
        }
    }

    fn forget(&self, _: &Request, inode: INodeNo, times: u64) {
        let mut known = locked(&self.known);
        if let Some(one) = known.get_mut(&inode.0) {
            one.times = one.times.saturating_sub(times);
            if one.times == 0 {
                known.remove(&inode.0);
            }
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let told = self.node(inode).and_then(|node| Ok((self.browser.attributes(&node).map_err(errno)?, node)));
        match told {
            Ok((attributes, node)) => reply.attr(&lasting(&node), &file_attr(inode.0, &attributes)),
            Err(error) => reply.error(error),
        }
    }

    fn readlink(&self, _: &Request, inode: INodeNo, reply: ReplyData) {
        match self.node(inode).and_then(|node| self.browser.target(&node).map_err(errno)) {
            Ok(target) => reply.data(&target),
            Err(error) => reply.error(error),
        }
    }

    /// Files need no handle: the kernel does not ask again.
    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.error(Errno::ENOSYS);
    }

    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.node(inode).and_then(|node| self.browser.read(&node, offset, size).map_err(errno)) {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(error),
        }
    }

    fn lseek(&self, _: &Request, inode: INodeNo, _: FileHandle, offset: i64, whence: i32, reply: ReplyLseek) {
        let found = self.node(inode).and_then(|node| {
            let from = u64::try_from(offset).map_err(|_| Errno::ENXIO)?;
            self.browser.holes(&node, |size, holes| seek(size, holes, from, whence)).map_err(errno)?
        });
        match found.and_then(|offset| i64::try_from(offset).map_err(|_| Errno::EOVERFLOW)) {
            Ok(offset) => reply.offset(offset),
            Err(error) => reply.error(error),
        }
    }

    fn opendir(&self, _: &Request, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let flags = match self.node(inode) {
            // What a snapshot holds never changes.
            Ok(node) if node.is_lasting() => FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_CACHE_DIR,
            Ok(_) => FopenFlags::empty(),
            Err(error) => return reply.error(error),
        };
        let handle = self.handles.fetch_add(1, Ordering::Relaxed);
        locked(&self.directories).insert(handle, Arc::default());
        reply.opened(FileHandle(handle), flags);
    }

    fn readdir(&self, _: &Request, inode: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let listed = self.list(inode, handle, offset, |row| {
            let kind = file_type(row.attributes.kind);
            reply.add(INodeNo(row.attributes.inode), row.offset, kind, OsStr::from_bytes(row.name))
        });
        match listed {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error),
        }
    }

    fn readdirplus(&self, _: &Request, inode: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectoryPlus) {
        let listed = self.list(inode, handle, offset, |row| {
            let number = row.attributes.inode;
            let attr = file_attr(number, row.attributes);
            let name = OsStr::from_bytes(row.name);
            let is_full = reply.add(INodeNo(number), row.offset, name, &row.lasts, &attr, Generation(0));
            if let (false, Some(node)) = (is_full, row.node) {
                self.tell_kernel(number, node);
            }
            is_full
        });
        match listed {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error),
        }
    }

    fn releasedir(&self, _: &Request, _: INodeNo, handle: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        locked(&self.directories).remove(&handle.0);
        reply.ok();
    }

    fn getxattr(&self, _: &Request, inode: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let xattrs = self.node(inode).and_then(|node| self.browser.xattrs(&node).map_err(errno));
        let value = xattrs.and_then(|xattrs| {
            let found = xattrs.into_iter().find(|(found, _)| found == name.as_bytes());
            found.map(|(_, value)| value).ok_or(Errno::ENODATA)
        });
        answer(value, size, reply);
    }

    fn listxattr(&self, _: &Request, inode: INodeNo, size: u32, reply: ReplyXattr) {
        let xattrs = self.node(inode).and_then(|node| self.browser.xattrs(&node).map_err(errno));
        let names = xattrs.map(|xattrs| xattrs.into_iter().flat_map(|(name, _)| [name, vec![0]].concat()).collect());
        answer(names, size, reply);
    }
}

/// Sends attribute bytes; their length if no room is given.
fn answer(bytes: Result<Vec<u8>, Errno>, room: u32, reply: ReplyXattr) {
    match (bytes, room) {
        (Err(error), _) => reply.error(error),
        (Ok(bytes), 0) => reply.size(u32::try_from(bytes.len()).unwrap_or(u32::MAX)),
        (Ok(bytes), room) if bytes.len() > room as usize => reply.error(Errno::ERANGE),
        (Ok(bytes), _) => reply.data(&bytes),
    }
}

fn errno(error: BrowseError) -> Errno {
    match error {
        BrowseError::Absent => Errno::ENOENT,
        BrowseError::Kind => Errno::EINVAL,
        BrowseError::Incomplete | BrowseError::Read(_) | BrowseError::Content(_) => Errno::EIO,
    }
}

/// How long the kernel may believe what it was told of a node.
fn lasting(node: &Node) -> Duration {
    if node.is_lasting() { Duration::from_secs(3600) } else { Duration::from_secs(1) }
}

/// How long the kernel may believe that a directory has this node: a snapshot never changes, but it may be forgotten.
fn lasting_in(directory: &Node, node: &Node) -> Duration {
    lasting(directory).min(lasting(node))
}

fn file_attr(inode: u64, of: &Attributes) -> FileAttr {
    let [mtime, ctime] = [of.mtime, of.ctime].map(system_time);
    FileAttr {
        ino: INodeNo(inode),
        // The kernel accepts no larger size, and would refuse the whole entry.
        size: of.size.min(i64::MAX as u64),
        blocks: of.content_bytes.div_ceil(512),
        atime: mtime,
        mtime,
        ctime,
        crtime: of.birth.map_or(UNIX_EPOCH, system_time),
        kind: file_type(of.kind),
        perm: of.permissions,
        // Directories have 1, which means unknown. The snapshot does not record how many names a file has.
        nlink: if of.is_hardlinked { 2 } else { 1 },
        uid: of.uid,
        gid: of.gid,
        rdev: of
            .device
            .map_or(0, |(major, minor)| (minor & 0xff) | ((major & 0xfff) << 8) | ((minor & 0xf_ff00) << 12)),
        blksize: 4096,
        flags: 0,
    }
}

fn file_type(kind: EntryKind) -> FileType {
    match kind {
        EntryKind::Fifo => FileType::NamedPipe,
        EntryKind::CharDevice => FileType::CharDevice,
        EntryKind::Directory => FileType::Directory,
        EntryKind::BlockDevice => FileType::BlockDevice,
        EntryKind::File => FileType::RegularFile,
        EntryKind::Symlink => FileType::Symlink,
        EntryKind::Socket => FileType::Socket,
    }
}

fn system_time(time: Time) -> SystemTime {
    let since = Duration::from_nanos(time.0.unsigned_abs());
    if time.0 < 0 { UNIX_EPOCH - since } else { UNIX_EPOCH + since }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const THREADS: usize = 8;
const READ_AHEAD: u32 = 1 << 20;
/// Offsets of `.` and `..`.
const DOTS: u64 = 2;
