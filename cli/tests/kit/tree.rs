//! Trees of files that can be compared.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{XattrFlags, lsetxattr};
use serde_json::Value;

use super::listing::everything;

/// All that a restore brings back of an entry.
pub(crate) type Image = Value;

/// A tree, with `.` for its top; without sockets.
pub(crate) fn image(top: &Path) -> BTreeMap<PathBuf, Image> {
    let mut first_names: HashMap<u64, Value> = HashMap::new();
    let mut tree = BTreeMap::new();
    for (path, mut entry) in everything(top) {
        if entry["type"] == "socket" {
            continue;
        }
        // A group has the first of its names: a number would depend on other groups.
        if let Some(group) = entry["hardlink_group"].as_u64() {
            let name = entry["path"].clone();
            entry["hardlink_group"] = first_names.entry(group).or_insert(name).clone();
        }
        tree.insert(if path == Path::new("") { PathBuf::from(".") } else { path }, entry);
    }
    tree
}

/// Says which entries differ, rather than showing all of them.
#[track_caller]
pub(crate) fn assert_same(expected: &Path, found: &Path) {
    let (expected, found) = (image(expected), image(found));
    let names = |tree: &BTreeMap<PathBuf, Image>| tree.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&expected), names(&found));
    for (path, expected) in expected {
        assert_eq!(found[&path], expected, "{path:?} differs");
    }
}

/// Sets an attribute, unless the file system has none.
pub(crate) fn set_xattr(place: &Path, name: &str, value: &[u8]) {
    let _ = lsetxattr(place, name, value, XattrFlags::empty());
}

/// Every file below a directory.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(self::files(&path)) } else { files.push(path) }
    }
    files
}

/// A name of any bytes.
pub(crate) fn name(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
