//! Edit: what people and programs do to files, generated.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::sample::{Index, select};
use rustix::fs::{AtFlags, CWD, FileType, Mode, Timespec, Timestamps, XattrFlags, lsetxattr, mknodat, utimensat};

use crate::kit::noise;

/// Something done to a tree. What a path names is made way for; an edit that finds nothing to work on does nothing.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
    Write(Name, Bytes),
    /// A file of so many pages of 4 KiB, of which only those set in the bits hold data.
    Sparse(Name, u32, u32, u64),
    Directory(Name),
    Symlink(Name, &'static str),
    Fifo(Name),
    HardLink(Index, Name),
    Copy(Index, Name),
    Append(Index, Bytes),
    Truncate(Index, u64),
    /// Other bytes in the middle, of the same length; and whether the time of change is set back to what it was.
    Alter(Index, u64, bool),
    Rename(Index, Name),
    Delete(Index),
    Chmod(Index, u32),
    Touch(Index, (i64, i64)),
    Xattr(Index, &'static str, Vec<u8>),
}

/// A path of one to three names.
pub(crate) type Name = Vec<&'static [u8]>;

/// Content: how much, of what kind, and which.
#[derive(Clone, Debug)]
pub(crate) struct Bytes {
    length: usize,
    kind: Kind,
    seed: u64,
}

#[derive(Copy, Clone, Debug)]
enum Kind {
    Noise,
    Text,
    Zeros,
}

/// Any edit.
pub(crate) fn edit() -> impl Strategy<Value = Edit> {
    let which = any::<Index>;
    prop_oneof![
        6 => (name(), bytes()).prop_map(|(name, bytes)| Edit::Write(name, bytes)),
        1 => (name(), 1..40u32, any::<u32>(), 0..9u64)
            .prop_map(|(name, pages, bits, seed)| Edit::Sparse(name, pages, bits, seed)),
        1 => name().prop_map(Edit::Directory),
        1 => (name(), select(TARGETS)).prop_map(|(name, target)| Edit::Symlink(name, target)),
        1 => name().prop_map(Edit::Fifo),
        2 => (which(), name()).prop_map(|(at, name)| Edit::HardLink(at, name)),
        1 => (which(), name()).prop_map(|(at, name)| Edit::Copy(at, name)),
        1 => (which(), bytes()).prop_map(|(at, bytes)| Edit::Append(at, bytes)),
        1 => (which(), select(LENGTHS)).prop_map(|(at, length)| Edit::Truncate(at, length as u64)),
        2 => (which(), any::<u64>(), any::<bool>()).prop_map(|(at, seed, back)| Edit::Alter(at, seed, back)),
        1 => (which(), name()).prop_map(|(at, name)| Edit::Rename(at, name)),
        1 => which().prop_map(Edit::Delete),
        1 => (which(), select(MODES)).prop_map(|(at, mode)| Edit::Chmod(at, mode)),
        1 => (which(), select(TIMES)).prop_map(|(at, time)| Edit::Touch(at, time)),
        1 => (which(), select(ATTRIBUTES), prop::collection::vec(any::<u8>(), 0..200))
            .prop_map(|(at, name, value)| Edit::Xattr(at, name, value)),
    ]
}

/// Every length at which something changes, in a file of each kind.
pub(crate) fn boundaries() -> Vec<Edit> {
    let kinds = [(Kind::Noise, b"noise"), (Kind::Text, b"text_"), (Kind::Zeros, b"zeros")];
    let one = |(kind, folder): (Kind, &'static [u8; 5]), (at, length): (usize, &usize)| {
        let bytes = Bytes { length: *length, kind, seed: at as u64 };
        Edit::Write(vec![folder, NUMBERS[at].as_bytes()], bytes)
    };
    kinds.into_iter().flat_map(|kind| LENGTHS.iter().enumerate().map(move |length| one(kind, length))).collect()
}

impl Edit {
    /// Does it.
    pub(crate) fn apply(&self, top: &Path) {
        match self {
            Self::Write(name, bytes) => fs::write(way(top, name), bytes.make()).unwrap(),
            Self::Sparse(name, pages, bits, seed) => {
                let file = File::create(way(top, name)).unwrap();
                file.set_len(u64::from(*pages) * PAGE as u64).unwrap();
                for page in (0..*pages).filter(|page| bits >> (page % 32) & 1 == 1) {
                    file.write_all_at(&noise(seed + u64::from(page), PAGE), u64::from(page) * PAGE as u64).unwrap();
                }
            }
            Self::Directory(name) => fs::create_dir(way(top, name)).unwrap(),
            Self::Symlink(name, target) => symlink(target, way(top, name)).unwrap(),
            Self::Fifo(name) => mknodat(CWD, way(top, name), FileType::Fifo, Mode::from(0o600), 0).unwrap(),
            Self::HardLink(at, name) => with(entry(top, *at, |_| true), |from| {
                let to = way(top, name);
                // Making way may have removed it; directories have no second name.
                if fs::symlink_metadata(&from).is_ok_and(|stat| !stat.is_dir()) {
                    fs::hard_link(from, to).unwrap();
                }
            }),
            Self::Copy(at, name) => with(file(top, *at), |from| {
                let bytes = fs::read(from).unwrap();
                fs::write(way(top, name), bytes).unwrap();
            }),
            Self::Append(at, bytes) => with(file(top, *at), |path| {
                let content = [fs::read(&path).unwrap(), bytes.make()].concat();
                fs::write(path, content).unwrap();
            }),
            Self::Truncate(at, length) => with(file(top, *at), |path| {
                OpenOptions::new().write(true).open(path).unwrap().set_len(*length).unwrap();
            }),
            Self::Alter(at, seed, back) => with(file(top, *at), |path| alter(&path, *seed, *back)),
            Self::Rename(at, name) => with(entry(top, *at, |_| true), |from| {
                let to = top.join(joined(name));
                if !to.starts_with(&from) && !from.starts_with(&to) {
                    let to = way(top, name);
                    let _ = fs::rename(from, to);
                }
            }),
            Self::Delete(at) => with(entry(top, *at, |_| true), |path| remove(&path)),
            Self::Chmod(at, mode) => with(entry(top, *at, |stat| !stat.is_symlink()), |path| {
                fs::set_permissions(path, fs::Permissions::from_mode(*mode)).unwrap();
            }),
            Self::Touch(at, time) => with(entry(top, *at, |_| true), |path| touch(&path, *time)),
            Self::Xattr(at, name, value) => with(entry(top, *at, |stat| stat.is_file() || stat.is_dir()), |path| {
                lsetxattr(path, *name, value, XattrFlags::empty()).unwrap();
            }),
        }
    }
}

impl Edit {
    /// Removes what a write has made.
    pub(crate) fn undo(&self, top: &Path) {
        if let Self::Write(name, _) = self {
            remove(&top.join(joined(name)));
        }
    }
}

impl Bytes {
    fn make(&self) -> Vec<u8> {
        match self.kind {
            Kind::Noise => noise(self.seed, self.length),
            Kind::Text => (0..self.length).map(|at| b"copal "[(at + self.seed as usize) % 6]).collect(),
            Kind::Zeros => vec![0; self.length],
        }
    }
}

/// Changes bytes, not their number.
fn alter(path: &Path, seed: u64, back: bool) {
    let mut bytes = fs::read(path).unwrap();
    let mtime = fs::metadata(path).unwrap();
    let Some(last) = bytes.len().checked_sub(1) else { return };
    bytes[seed as usize % (last + 1)] ^= 0x55;
    fs::write(path, bytes).unwrap();
    if back {
        use std::os::unix::fs::MetadataExt;
        touch(path, (mtime.mtime(), mtime.mtime_nsec()));
    }
}

fn touch(path: &Path, (tv_sec, tv_nsec): (i64, i64)) {
    let time = Timespec { tv_sec, tv_nsec };
    let times = Timestamps { last_access: time, last_modification: time };
    utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

/// The place of a name, with nothing there and a directory above.
fn way(top: &Path, name: &Name) -> PathBuf {
    let path = top.join(joined(name));
    let above: Vec<&Path> = path.ancestors().skip(1).take_while(|above| *above != top).collect();
    for directory in above.into_iter().rev() {
        if !fs::symlink_metadata(directory).is_ok_and(|stat| stat.is_dir()) {
            remove(directory);
            fs::create_dir(directory).unwrap();
        }
    }
    remove(&path);
    path
}

fn joined(name: &Name) -> PathBuf {
    name.iter().map(|name| OsStr::from_bytes(name)).collect()
}

fn remove(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(stat) if stat.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

fn file(top: &Path, at: Index) -> Option<PathBuf> {
    entry(top, at, fs::Metadata::is_file)
}

/// One of the entries below a directory.
fn entry(top: &Path, at: Index, fits: impl Fn(&fs::Metadata) -> bool) -> Option<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let stat = fs::symlink_metadata(&path).unwrap();
            if stat.is_dir() {
                folders.push(path.clone());
            }
            if fits(&stat) {
                found.push(path);
            }
        }
    }
    found.sort();
    (!found.is_empty()).then(|| at.get(&found).clone())
}

fn with(path: Option<PathBuf>, act: impl FnOnce(PathBuf)) {
    if let Some(path) = path {
        act(path);
    }
}

fn name() -> impl Strategy<Value = Name> {
    prop::collection::vec(select(NAMES), 1..=3)
}

fn bytes() -> impl Strategy<Value = Bytes> {
    (select(LENGTHS), select(&[Kind::Noise, Kind::Text, Kind::Zeros][..]), 0..5u64)
        .prop_map(|(length, kind, seed)| Bytes { length, kind, seed })
}

/// Few, so that edits meet; some that sort in odd places.
const NAMES: &[&[u8]] = &[b"a", b"b", b"a b", b"a!", b"\xc3\xa4", b"\xff", b"B"];
/// Around the inline threshold, the least and largest chunk, a block; several chunks; more than 64.
const LENGTHS: &[usize] =
    &[0, 1, 63, 64, 65, 255, 256, 257, 511, 512, 513, 2_047, 2_048, 2_049, 4_096, 9_000, 40_000, 90_000];
/// A name for each of the lengths.
const NUMBERS: &[&str] =
    &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17"];
const TARGETS: &[&str] = &["a", "no/such/thing", "..", "/"];
const MODES: &[u32] = &[0o700, 0o755, 0o711, 0o777, 0o1777, 0o6755];
const TIMES: &[(i64, i64)] =
    &[(0, 0), (-1, 999_999_999), (-1_000_000_000, 1), (1_500_000_000, 0), (1_500_000_000, 1), (2_147_483_648, 5)];
const ATTRIBUTES: &[&str] = &["user.a", "user.b", "user.\u{e4}"];
/// Bytes of a page of the file system.
const PAGE: usize = 4096;
