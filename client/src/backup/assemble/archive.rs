//! Archive: takes the members of a tar archive. Their content goes to the session as it comes; their entries are
//! sorted, because members may come in any order.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use copal_format::id::ChunkId;
use copal_format::path::TreePath;
use copal_format::tree::{Content, Entry, EntryKind, Extras, Mode, Owner, Piece};
use copal_format::wire::cbor::{Reader, Writer};

use super::super::content::Tools;
use super::super::sorter::{Record, Sorter};
use super::super::{BackupError, SkipKind, Trouble, TroubleKind};
use super::Assembly;
use super::stream::Taken;
use crate::archive::{Archive, Member, MemberKind};
use crate::progress::Fate;
use crate::scan::source_of;
use crate::system::path_of;

impl Assembly<'_, '_> {
    /// Takes a whole archive, whose members lie in the directory `below`. As with `tar -x`, the last of several members
    /// with one name counts, and a hard link means the file that has the name at that point.
    pub(super) fn take_archive(
        &mut self,
        bytes: impl Read,
        below: &TreePath,
        tools: &Tools<'_>,
    ) -> Result<(), BackupError> {
        let mut archive = Archive::new(bytes);
        let sorter = || Sorter::new(std::env::temp_dir(), SORTED);
        let (mut entries, mut links) = (sorter(), Links { sorter: sorter(), targets: HashMap::new() });
        let mut window = Vec::new();
        let mut number = 0;
        while let Some(member) = archive.next()? {
            number += 1;
            if self.attempt.interrupted.load(Ordering::Relaxed) {
                return Err(BackupError::Interrupted);
            }
            let Some(path) = self.path_of(&member.name, below, &member.name) else { continue };
            let is_nameless = path == *below && member.kind != MemberKind::Directory;
            if let Some(why) = member.fault.or(is_nameless.then_some("a member without a name is no directory")) {
                self.trouble(Trouble { path: source_of(&path), kind: TroubleKind::Unreadable, why: why.to_owned() });
                links.targets.remove(&path);
                entries.push(Record { path, number, says: LOST.to_vec() }).map_err(BackupError::Scratch)?;
                continue;
            }
            if let MemberKind::HardLink(target) = &member.kind {
                if let Some(target) = self.path_of(target, below, &member.name) {
                    links.push(path, target, number)?;
                }
                continue;
            }
            if member.has_acl {
                let why = "its ACL is in a form that is not read, and left out".to_owned();
                self.trouble(Trouble { path: source_of(&path), kind: TroubleKind::Skipped(SkipKind::Noted), why });
            }
            let content = match member.kind {
                MemberKind::File => self.take_bytes(&path, &mut archive, &mut window, Some(tools.inline_max), tools)?.1,
                _ => Taken::Stored(Content::None),
            };
            let Some(says) = says(&member, &content) else {
                let why = "the number of its owner or group is too large".to_owned();
                self.trouble(Trouble { path: source_of(&path), kind: TroubleKind::Unreadable, why });
                links.targets.remove(&path);
                entries.push(Record { path, number, says: LOST.to_vec() }).map_err(BackupError::Scratch)?;
                continue;
            };
            links.targets.remove(&path);
            entries.push(Record { path, number, says }).map_err(BackupError::Scratch)?;
        }
        if number == 0 && !self.attempt.options.may_be_empty {
            return Err(BackupError::EmptyArchive);
        }
        if let Some(at) = archive.behind() {
            let why = format!("more follows the end mark of the archive, at byte {at}, and is not imported");
            self.trouble(Trouble { path: source_of(&TreePath::TOP), kind: TroubleKind::Unreadable, why });
        }
        entries.finish().map_err(BackupError::Scratch)?;
        let (named, linked) = self.name_links(&entries, links)?;
        self.add_sorted([&entries, &named], &linked)
    }

    /// A member's path in the tree, in the directory `below`: without `.`, and without a slash at its beginning. None
    /// if the path leads out of it.
    fn path_of(&mut self, name: &[u8], below: &TreePath, member: &[u8]) -> Option<TreePath> {
        let names = [below.as_bytes(), name].into_iter().flat_map(|path| path.split(|&byte| byte == b'/'));
        let names = names.filter(|name| !matches!(*name, b"" | b"."));
        let path = TreePath::new(names.collect::<Vec<_>>().join(&b'/'));
        path.map_err(|error| {
            let path = path_of(member).into_owned();
            self.trouble(Trouble { path, kind: TroubleKind::Unreadable, why: error.to_string() });
        })
        .ok()
    }

    /// Gives each hard link the entry of its file. Returns these entries, and the numbers of all files with several
    /// names.
    fn name_links(&mut self, entries: &Sorter, links: Links) -> Result<(Sorter, HashSet<u64>), BackupError> {
        let mut by_target = links.sorter;
        drop(links.targets);
        by_target.finish().map_err(BackupError::Scratch)?;
        let mut named = Sorter::new(std::env::temp_dir(), SORTED);
        let mut linked = HashSet::new();
        let mut files = Sorter::merge([entries]).peekable();
        for link in Sorter::merge([&by_target]) {
            // Among links to the same path, the archive's last one comes first; among files at that path, too.
            let is_before = |file: &Record| (&file.path, link.number) < (&link.path, file.number);
            while files.next_if(is_before).is_some() {}
            let Some((path, own)) = link_of(&link) else { continue };
            match files.peek().filter(|file| file.path == link.path && file.number < link.number) {
                Some(file) if file.says == LOST || kind_of(file) == Some(EntryKind::Directory) => {
                    let is = if file.says == LOST { "cannot be imported" } else { "is a directory" };
                    let why = format!("it is another name of /{}, which {is}", link.path);
                    self.trouble(Trouble { path: source_of(&path), kind: TroubleKind::Unreadable, why });
                }
                Some(file) => {
                    linked.insert(file.number);
                    let says = [&file.number.to_le_bytes()[..], &file.says[8..]].concat();
                    named.push(Record { path, number: own, says }).map_err(BackupError::Scratch)?;
                }
                None => {
                    let why = format!("it is another name of /{}, which is not in the archive before it", link.path);
                    self.trouble(Trouble { path: source_of(&path), kind: TroubleKind::Unreadable, why });
                }
            }
        }
        named.finish().map_err(BackupError::Scratch)?;
        Ok((named, linked))
    }

    fn add_sorted(&mut self, sorters: [&Sorter; 2], linked: &HashSet<u64>) -> Result<(), BackupError> {
        let (mut last, mut blocked): (Option<TreePath>, Option<TreePath>) = (None, None);
        let mut owner: Arc<Owner> = Arc::default();
        for record in Sorter::merge(sorters) {
            if last.as_ref() == Some(&record.path) {
                continue;
            }
            if blocked.as_ref().is_some_and(|above| record.path.is_within(above)) {
                let why = "it lies below what is no directory".to_owned();
                self.trouble(Trouble { path: source_of(&record.path), kind: TroubleKind::Unreadable, why });
                continue;
            }
            let Some(entry) = entry_of(&record, linked, &mut owner) else { continue };
            last = Some(record.path);
            if entry.kind() != EntryKind::Directory {
                blocked = Some(entry.path.clone());
            }
            self.attempt.progress.now_in_tree(&entry.path);
            self.add(&entry, Fate::New)?;
            self.act()?;
            self.claim_if_due()?;
        }
        Ok(())
    }
}

/// Other names of files.
struct Links {
    /// By the path of the file, with the number of the linking member.
    sorter: Sorter,
    /// The targets of links, so that a link to a link means the same file.
    targets: HashMap<TreePath, (TreePath, u64)>,
}

impl Links {
    fn push(&mut self, path: TreePath, target: TreePath, number: u64) -> Result<(), BackupError> {
        let meant = self.targets.get(&target).map(|(target, number)| (target.clone(), *number));
        let (target, bound) = meant.unwrap_or((target, number));
        let says = [&number.to_le_bytes()[..], path.as_bytes()].concat();
        self.targets.insert(path, (target.clone(), bound));
        self.sorter.push(Record { path: target, number: bound, says }).map_err(BackupError::Scratch)
    }
}

/// The path and number of another name.
fn link_of(record: &Record) -> Option<(TreePath, u64)> {
    let (number, path) = record.says.split_first_chunk()?;
    Some((TreePath::new(path).ok()?, u64::from_le_bytes(*number)))
}

/// Encodes an entry without its path, for [`Record::says`]. The first eight bytes are the number of the member that it
/// is a hard link to, or zeros.
fn says(member: &Member, content: &Taken) -> Option<Vec<u8>> {
    let id = |number: u64| u32::try_from(number).ok().or(i32::try_from(number as i64).ok().map(|number| number as u32));
    let (kind, target, device) = match &member.kind {
        MemberKind::File | MemberKind::HardLink(_) => (EntryKind::File, None, None),
        MemberKind::Directory => (EntryKind::Directory, None, None),
        MemberKind::Fifo => (EntryKind::Fifo, None, None),
        MemberKind::Symlink(target) => (EntryKind::Symlink, Some(target), None),
        MemberKind::CharDevice(major, minor) => (EntryKind::CharDevice, None, Some((*major, *minor))),
        MemberKind::BlockDevice(major, minor) => (EntryKind::BlockDevice, None, Some((*major, *minor))),
    };
    let mut writer = Writer::new();
    writer.array(10).uint(Mode::new(kind, member.mode).bits().into());
    writer.uint(id(member.uid)?.into()).uint(id(member.gid)?.into()).bytes(&member.user).bytes(&member.group);
    writer.time(member.mtime).uint(member.size);
    match content {
        Taken::Inline(bytes) if bytes.is_empty() => writer.array(0),
        Taken::Inline(bytes) => writer.array(1).bytes(bytes),
        Taken::Stored(Content::List { root, height }) => writer.array(2).bytes(root.as_bytes()).uint((*height).into()),
        Taken::Stored(Content::Chunks(pieces)) => {
            writer.array(2 * pieces.len() + 1).uint(pieces.len() as u64);
            for piece in pieces {
                writer.bytes(piece.id.as_bytes()).uint(piece.length.into());
            }
            &mut writer
        }
        Taken::Stored(_) => writer.array(0),
    };
    let others = target.map_or(0, |_| 1) + device.map_or(0, |_| 2);
    writer.array(others);
    target.map(|target| writer.bytes(target));
    device.map(|(major, minor)| writer.uint(major.into()).uint(minor.into()));
    writer.array(2 * (member.xattrs.len() + member.holes.len()) + 1).uint(member.xattrs.len() as u64);
    for (name, value) in &member.xattrs {
        writer.bytes(name).bytes(value);
    }
    for hole in &member.holes {
        writer.uint(hole.start).uint(hole.end);
    }
    Some([&[0; 8][..], &writer.finish()].concat())
}

/// The kind of the entry of a record that [`says`] wrote.
fn kind_of(record: &Record) -> Option<EntryKind> {
    let mut reader = Reader::new(record.says.get(8..)?).ok()?;
    reader.array(10).ok()?;
    Mode::from_bits(reader.narrow().ok()?).map(Mode::kind)
}

/// The entry of a record that [`says`] wrote.
fn entry_of(record: &Record, linked: &HashSet<u64>, last: &mut Arc<Owner>) -> Option<Entry> {
    let (of, says) = record.says.split_first_chunk()?;
    let of = u64::from_le_bytes(*of);
    let mut reader = Reader::new(says).ok()?;
    reader.array(10).ok()?;
    let mode = Mode::from_bits(reader.narrow().ok()?)?;
    let owner = Owner {
        uid: reader.narrow().ok()?,
        gid: reader.narrow().ok()?,
        user: reader.bytes(usize::MAX).ok()?.to_vec(),
        group: reader.bytes(usize::MAX).ok()?.to_vec(),
    };
    if **last != owner {
        *last = Arc::new(owner);
    }
    let (mtime, size) = (reader.time().ok()?, reader.wide().ok()?);
    let id = |reader: &mut Reader<'_>| reader.fixed().ok().map(ChunkId);
    let content = match reader.array(usize::MAX).ok()? {
        0 => Content::None,
        1 => Content::Inline(reader.bytes(usize::MAX).ok()?.to_vec().into()),
        2 => Content::List { root: id(&mut reader)?, height: reader.narrow().ok()? },
        _ => {
            let count = reader.wide().ok()?;
            let mut piece = || Some(Piece { id: id(&mut reader)?, length: reader.narrow().ok()? });
            Content::Chunks((0..count).map(|_| piece()).collect::<Option<_>>()?)
        }
    };
    let mut extras = Extras { hardlink: Some(if of == 0 { record.number } else { of }), ..Extras::default() };
    extras.hardlink = extras.hardlink.filter(|number| linked.contains(number) && mode.kind() != EntryKind::Directory);
    match reader.array(2).ok()? {
        0 => {}
        1 => extras.link_target = Some(reader.bytes(usize::MAX).ok()?.to_vec()),
        _ => extras.device = Some((reader.narrow().ok()?, reader.narrow().ok()?)),
    }
    let count = reader.array(usize::MAX).ok()?;
    let xattrs = reader.wide().ok()? as usize;
    for _ in 0..xattrs {
        extras.xattrs.push((reader.bytes(usize::MAX).ok()?.to_vec(), reader.bytes(usize::MAX).ok()?.to_vec()));
    }
    for _ in xattrs..count / 2 {
        extras.holes.push(reader.wide().ok()?..reader.wide().ok()?);
    }
    let path = record.path.clone();
    Some(Entry { path, mode, owner: last.clone(), mtime, ctime: mtime, birth: None, inode: 0, size, content, extras })
}

/// Stands for an entry that cannot be kept, so that links to it do not mean an older one.
const LOST: &[u8] = &[];
/// Bytes of entries that are sorted in memory.
const SORTED: usize = 32 << 20;
