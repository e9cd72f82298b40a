//! Metadata: sets owner, mode, attributes and times of a restored entry, in an order in which no step undoes another.

use std::ffi::CString;

use copal_format::path::TreePath;
use copal_format::time::Time;

use super::WriteError;
use super::file::TargetFile;
use super::shortfalls::{Lack, Power};
use super::target::Target;
use crate::read::Xattr;
use crate::stat::EntryStat;
use crate::system::{self, AsFd, Birth, Errno, FileType, KEEPS_MODES, Mode, Object, attributes, kind_of, mode_of};

/// The metadata that an entry shall have.
#[derive(Debug, Copy, Clone)]
pub struct Metadata<'m> {
    /// `st_mode`, with the type bits.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The owning group.
    pub gid: u32,
    /// When the content last changed.
    pub mtime: Time,
    /// When it was made, for systems that can set that.
    pub birth: Birth,
    /// Its extended attributes and ACLs.
    pub xattrs: &'m [Xattr],
}

/// Whether the entry has the right user and group now.
struct Owned {
    user: bool,
    group: bool,
}

impl Target {
    /// Sets the metadata of any entry; for a directory, after its content is written.
    pub fn set_metadata(&self, path: &TreePath, metadata: &Metadata<'_>) -> Result<(), WriteError> {
        let at = self.at(path).map_err(|error| WriteError::io("set the metadata of", path, error))?;
        let object = Object::at(at.place(), metadata.is_openable());
        let object = object.map_err(|errno| WriteError::io("look at", path, errno))?;
        self.recognise(&object, path, metadata)?;
        // A directory made by this restore has no other attributes, except the target itself.
        let is_new = metadata.kind() == FileType::Directory && self.open.are_alike() && !path.is_top();
        let is_ours = is_new && self.open.all_give((metadata.uid, metadata.gid));
        if !is_new && !self.options.no_xattrs {
            self.remove_other_xattrs(&object, path, metadata);
        }
        self.set_xattrs(&object, path, metadata, Space::User);
        self.set_owner_and_mode(&object, path, metadata, is_ours);
        self.set_xattrs(&object, path, metadata, Space::System);
        self.set_times(&object, path, metadata);
        Ok(())
    }

    /// Fails if the entry is of another kind than what was made or found here, or if it is a file that may not get this
    /// metadata: another user may have exchanged it meanwhile.
    fn recognise(&self, object: &Object<'_>, path: &TreePath, metadata: &Metadata<'_>) -> Result<(), WriteError> {
        let stat = object.stat().map_err(|error| WriteError::io("look at", path, error))?;
        // Something else was there if root could not open it, and the next call may find yet another entry.
        let is_uncertain = system::is_root() && metadata.is_openable() && !object.is_held();
        // Every entry but a file may be one that root has just made, and that still belongs to root.
        let may_take = stat.kind() != FileType::RegularFile || self.may_take(&stat, metadata);
        let is_right = stat.kind() == metadata.kind() && may_take && !is_uncertain;
        if is_right { Ok(()) } else { Err(WriteError::Exchanged { path: path.clone() }) }
    }

    /// Sets the metadata of an existing entry, unless it is right already.
    pub fn renew_metadata(&self, path: &TreePath, metadata: &Metadata<'_>) -> Result<(), WriteError> {
        let Some(stat) = self.existing(path)? else { return Ok(()) };
        let has_owner = self.options.no_owner || (stat.uid, stat.gid) == (metadata.uid, metadata.gid);
        let is_right = has_owner && self.is_alike(&stat, metadata) && stat.mtime == metadata.mtime;
        if is_right && (self.options.no_xattrs || (metadata.xattrs.is_empty() && !self.has_xattrs(path)?)) {
            return Ok(());
        }
        self.set_metadata(path, metadata)
    }

    /// Whether an entry has the right mode, and the right owner as far as this process can set it.
    pub fn is_alike(&self, stat: &EntryStat, metadata: &Metadata<'_>) -> bool {
        let has_owner = (stat.uid, stat.gid) == (metadata.uid, metadata.gid);
        let keeps_owner = self.options.no_owner || !system::is_root();
        let mode = if self.options.no_xattrs { metadata.safe_mode() } else { metadata.mode };
        (has_owner || keeps_owner) && (stat.mode == mode || metadata.kind() == FileType::Symlink)
    }

    /// Sets the metadata of a file just written; do not write to it afterwards.
    pub fn set_file_metadata(&self, file: &TargetFile, metadata: &Metadata<'_>) {
        let object = Object::Open(file.file.as_fd());
        self.set_file_rights(file, metadata);
        self.set_times(&object, &file.path, metadata);
    }

    /// Sets everything except the times of an incomplete file, so that a later restore does not take it for complete.
    pub fn set_file_rights(&self, file: &TargetFile, metadata: &Metadata<'_>) {
        let object = Object::Open(file.file.as_fd());
        let owner = (metadata.uid, metadata.gid);
        let is_ours = file.made.as_ref().is_some_and(|(made_in, _)| made_in.gives(file.file.as_fd(), owner));
        let mode = mode_of(metadata.safe_mode());
        let has_mode =
            KEEPS_MODES && self.open.are_alike() && file.made.as_ref().is_some_and(|(_, made_with)| *made_with == mode);
        if file.made.as_ref().is_none_or(|(made_in, _)| made_in.passes_acl_on) && !self.options.no_xattrs {
            self.remove_other_xattrs(&object, &file.path, metadata);
        }
        self.set_xattrs(&object, &file.path, metadata, Space::User);
        if !is_ours || !has_mode {
            self.set_owner_and_mode(&object, &file.path, metadata, is_ours);
        }
        self.set_xattrs(&object, &file.path, metadata, Space::System);
    }

    fn set_owner_and_mode(&self, object: &Object<'_>, path: &TreePath, metadata: &Metadata<'_>, is_owned: bool) {
        let owned = match is_owned {
            true => Owned { user: true, group: true },
            false => self.set_owner(object, path, metadata),
        };
        if metadata.kind() == FileType::Symlink {
            return;
        }
        // chown clears these bits. A program must not run with the rights of a user other than its own.
        let mut mode = mode_of(metadata.safe_mode());
        let powers = Mode::SUID | Mode::SGID;
        // On a directory these bits only pass on its group.
        if metadata.kind() != FileType::Directory && mode.intersects(powers) && self.leaves_out(Power::Bits, path) {
            mode.remove(powers);
        }
        // A name may lead to another entry by now.
        let is_certain = object.is_open();
        for (bit, may_stay) in [(Mode::SUID, owned.user), (Mode::SGID, owned.group)] {
            if mode.contains(bit) && !(may_stay && is_certain) {
                mode.remove(bit);
                self.lacks(Lack::SpecialBits, path, Errno::PERM);
            }
        }
        let special = Mode::SUID | Mode::SGID | Mode::SVTX;
        let set = match object.chmod(mode) {
            // Not every system lets every user set these bits, and a refused call sets no bit at all.
            Err(errno) if mode.intersects(special) => {
                object.chmod(mode - special).map(|()| self.lacks(Lack::SpecialBits, path, errno))
            }
            set => set,
        };
        if let Err(errno) = set {
            self.lacks(Lack::Mode, path, errno);
        }
    }

    fn set_owner(&self, object: &Object<'_>, path: &TreePath, metadata: &Metadata<'_>) -> Owned {
        if self.options.no_owner {
            let (uid, gid) = object.stat().map_or((u32::MAX, u32::MAX), |stat| (stat.uid, stat.gid));
            return Owned { user: uid == metadata.uid, group: gid == metadata.gid };
        }
        // The value -1 means "do not change" to chown, so it cannot be an owner.
        let owner = (metadata.uid != u32::MAX).then_some(metadata.uid);
        let group = (metadata.gid != u32::MAX).then_some(metadata.gid);
        let errno = match object.chown(owner, group) {
            Ok(()) => return Owned { user: owner.is_some(), group: group.is_some() },
            Err(errno) => errno,
        };
        self.lacks(Lack::Owner, path, errno);
        let user = owner.is_some() && object.chown(owner, None).is_ok();
        Owned { user, group: group.is_some() && object.chown(None, group).is_ok() }
    }

    fn has_xattrs(&self, path: &TreePath) -> Result<bool, WriteError> {
        let at = self.at(path).map_err(|error| WriteError::io("look at", path, error))?;
        let names = Object::at(at.place(), false).and_then(|object| object.xattr_names()).unwrap_or_default();
        Ok(names.split(|&byte| byte == 0).any(attributes::is_ours))
    }

    /// Removes attributes that the entry had before and the snapshot does not have.
    fn remove_other_xattrs(&self, object: &Object<'_>, path: &TreePath, metadata: &Metadata<'_>) {
        let names = object.xattr_names().unwrap_or_default();
        for name in names.split(|&byte| byte == 0) {
            if !attributes::is_ours(name) || metadata.xattrs.iter().any(|(wanted, _)| wanted == name) {
                continue;
            }
            let c_name = CString::new(name).expect("the list was split at its zero bytes");
            if let Err(errno) = change(object, metadata, name, || object.remove_xattr(&c_name)) {
                self.lacks(Lack::xattr(name), path, errno);
            }
        }
    }

    fn set_xattrs(&self, object: &Object<'_>, path: &TreePath, metadata: &Metadata<'_>, space: Space) {
        let wanted = |(name, _): &&Xattr| !self.options.no_xattrs && Space::of(name) == space;
        for (name, value) in metadata.xattrs.iter().filter(wanted) {
            // A name may lead to another entry by now.
            let is_uncertain = name == CAPABILITY && !object.is_open();
            if is_uncertain || (is_power(name) && self.leaves_out(Power::Attribute, path)) {
                continue;
            }
            let c_name = CString::new(name.as_slice()).map_err(|_| Errno::INVAL);
            let set = |c_name: CString| change(object, metadata, name, || object.set_xattr(&c_name, value));
            if let Err(errno) = c_name.and_then(set) {
                self.lacks(Lack::xattr(name), path, errno);
            }
        }
    }

    fn set_times(&self, object: &Object<'_>, path: &TreePath, metadata: &Metadata<'_>) {
        if let Err(errno) = object.set_times(metadata.mtime, metadata.birth) {
            self.lacks(Lack::Times, path, errno);
        }
    }
}

impl Metadata<'_> {
    /// Whether a program with it runs with rights that its user does not have.
    pub(super) fn gives_rights(&self) -> bool {
        let has_bits = mode_of(self.mode).intersects(Mode::SUID | Mode::SGID);
        has_bits || self.has_capability()
    }

    pub(super) fn has_capability(&self) -> bool {
        self.xattrs.iter().any(|(name, _)| name == CAPABILITY)
    }

    /// The mode to set before the ACL. With an ACL, the saved group bits are its mask: the most that anybody gets. So
    /// they are narrowed to what the ACL gives the owning group. Setting the ACL sets them to its mask.
    pub fn safe_mode(&self) -> u32 {
        let acl = self.xattrs.iter().find(|(name, _)| name == b"system.posix_acl_access");
        let (entries, _) = acl.and_then(|(_, value)| value.get(4..)).unwrap_or_default().as_chunks::<8>();
        let of_group = entries.iter().find(|[tag, zero, ..]| [*tag, *zero] == [ACL_GROUP, 0]);
        of_group.map_or(self.mode, |[_, _, rights, ..]| self.mode & (!0o070 | u32::from(*rights) << 3))
    }

    pub(super) fn kind(&self) -> FileType {
        kind_of(self.mode)
    }

    /// Whether to open such an entry has no effect on it.
    fn is_openable(&self) -> bool {
        matches!(self.kind(), FileType::Directory | FileType::RegularFile)
    }
}

/// When an attribute is set: before or after owner and mode.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Space {
    /// Set before the mode: setting them needs the right to write, which the final mode may not give.
    User,
    /// Set after owner and mode: a change of these would remove or change them.
    System,
}

impl Space {
    fn of(name: &[u8]) -> Self {
        if attributes::needs_writing(name) { Self::User } else { Self::System }
    }
}

/// Changes an attribute. On an entry that its owner may not write to, grants that right for the duration if it is needed.
/// Set-user-id and set-group-id bits are set afterwards, with the owner.
fn change(
    object: &Object<'_>,
    metadata: &Metadata<'_>,
    name: &[u8],
    act: impl Fn() -> Result<(), Errno>,
) -> Result<(), Errno> {
    match act() {
        Err(Errno::ACCESS) if Space::of(name) == Space::User && metadata.kind() != FileType::Symlink => {
            object.chmod(Mode::RWXU)?;
            let changed = act();
            object.chmod(mode_of(metadata.safe_mode() & 0o777))?;
            changed
        }
        changed => changed,
    }
}

impl Lack {
    fn xattr(name: &[u8]) -> Self {
        if is_acl(name) { Self::Acl } else { Self::Xattr }
    }
}

/// Whether an attribute grants rights, or is used to decide about them.
pub fn is_power(name: &[u8]) -> bool {
    name.starts_with(b"security.") || name.starts_with(b"trusted.")
}

/// The attribute with which Linux gives a program rights.
const CAPABILITY: &[u8] = b"security.capability";

fn is_acl(name: &[u8]) -> bool {
    name.starts_with(b"system.posix_acl_")
}

/// The tag of an ACL's entry for the owning group (acl(5), `ACL_GROUP_OBJ`). An entry is a tag and rights of two bytes each,
/// and an id.
const ACL_GROUP: u8 = 4;
