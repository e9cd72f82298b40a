//! Trees of files that can be compared.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use copal_client::read::{Extras, holes_of};
use copal_client::stat::EntryStat;
use rustix::fs::{FileType, XattrFlags, lsetxattr};

/// All that a restore brings back of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Image {
    mode: u32,
    owner: (u32, u32),
    mtime: i64,
    size: u64,
    content: Vec<u8>,
    holes: Vec<std::ops::Range<u64>>,
    points_to: Option<PathBuf>,
    device: (u32, u32),
    xattrs: Vec<(Vec<u8>, Vec<u8>)>,
    /// The first of all names of the same file.
    first_name: PathBuf,
}

/// A tree, with `.` for its top; without sockets.
pub(crate) fn image(top: &Path) -> BTreeMap<PathBuf, Image> {
    let mut tree = BTreeMap::new();
    let mut names = BTreeMap::new();
    let mut left = vec![PathBuf::from(".")];
    left.extend(list(top, Path::new("")));
    while let Some(path) = left.pop() {
        let place = top.join(&path);
        let stat = EntryStat::of_path(&place).unwrap();
        if stat.is_directory() && path != Path::new(".") {
            left.extend(list(top, &path));
        }
        if stat.kind() != FileType::Socket {
            let first = names.entry(stat.inode).or_insert_with(|| path.clone());
            *first = path.clone().min(first.clone());
            tree.insert(path, image_of(&place, &stat));
        }
    }
    for (path, image) in &mut tree {
        let inode = EntryStat::of_path(&top.join(path)).unwrap().inode;
        image.first_name = names[&inode].clone();
    }
    tree
}

fn list(top: &Path, below: &Path) -> Vec<PathBuf> {
    fs::read_dir(top.join(below)).unwrap().map(|entry| below.join(entry.unwrap().file_name())).collect()
}

fn image_of(place: &Path, stat: &EntryStat) -> Image {
    let is_file = stat.kind() == FileType::RegularFile;
    let holes = if is_file { holes_of(fs::File::open(place).unwrap(), stat.size).unwrap() } else { Vec::new() };
    Image {
        mode: stat.mode,
        owner: (stat.uid, stat.gid),
        mtime: stat.mtime.0,
        size: if is_file { stat.size } else { 0 },
        content: if is_file { fs::read(place).unwrap() } else { Vec::new() },
        holes,
        points_to: fs::read_link(place).ok(),
        device: stat.rdev,
        xattrs: Extras::read(place).xattrs,
        first_name: PathBuf::new(),
    }
}

/// Says which entries differ, rather than showing all their bytes.
#[track_caller]
pub(crate) fn assert_same(expected: &Path, found: &Path) {
    let (expected, found) = (image(expected), image(found));
    let names = |tree: &BTreeMap<PathBuf, Image>| tree.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&expected), names(&found));
    for (path, expected) in expected {
        let found = &found[&path];
        let differences = [
            ("mode", expected.mode == found.mode),
            ("owner", expected.owner == found.owner),
            ("mtime", expected.mtime == found.mtime),
            ("size", expected.size == found.size),
            ("content", expected.content == found.content),
            ("holes", expected.holes == found.holes),
            ("link target", expected.points_to == found.points_to),
            ("device", expected.device == found.device),
            ("attributes", expected.xattrs == found.xattrs),
            ("names", expected.first_name == found.first_name),
        ];
        let differ: Vec<_> = differences.iter().filter(|(_, same)| !same).map(|(what, _)| what).collect();
        assert!(differ.is_empty(), "{path:?} differs in {differ:?}");
    }
}

/// Sets an attribute, unless the file system has none.
pub(crate) fn set_xattr(place: &Path, name: &str, value: &[u8]) {
    let _ = lsetxattr(place, name, value, XattrFlags::empty());
}

/// A name of any bytes.
pub(crate) fn name(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
