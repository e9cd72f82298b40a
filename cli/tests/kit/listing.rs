//! Listing: a directory tree as `tests/golden/tree.json` describes one (`tests/reader/README.md`), read with plain system
//! calls and nothing of Copal's.
#![allow(dead_code, reason = "whoever uses it takes his part")]

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use copal_format::id::ObjectHash;
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use serde_json::{Map, Value, json};

/// Entries in the order of the tree: `top` itself, the directories on the way to `below`, and everything in that.
pub(crate) fn listing(top: &Path, below: &str) -> Vec<Value> {
    let mut lister = Lister::of(top);
    let mut at = PathBuf::new();
    lister.add(&at);
    let ways: Vec<&str> = below.split('/').collect();
    let (last, ways) = ways.split_last().expect("a path has a name");
    for way in ways {
        at.push(way);
        lister.add(&at);
    }
    lister.add_all(&at.join(last));
    lister.entries.into_iter().map(|(_, entry)| entry).collect()
}

/// Everything in a directory, by its path below `top`, which is empty for `top` itself.
pub(crate) fn everything(top: &Path) -> BTreeMap<PathBuf, Value> {
    let mut lister = Lister::of(top);
    lister.add_all(Path::new(""));
    lister.entries.into_iter().collect()
}

#[derive(Default)]
struct Lister {
    top: PathBuf,
    users: HashMap<u32, String>,
    groups: HashMap<u32, String>,
    /// Device and inode of what has several names, to the number of its group.
    linked: HashMap<(u64, u64), u64>,
    entries: Vec<(PathBuf, Value)>,
}

impl Lister {
    fn of(top: &Path) -> Self {
        Self { top: top.to_owned(), users: names("/etc/passwd"), groups: names("/etc/group"), ..Self::default() }
    }

    fn add_all(&mut self, path: &Path) {
        if self.add(path) {
            let listed = fs::read_dir(self.top.join(path)).expect("a directory can be listed");
            let mut names: Vec<_> = listed.map(|entry| entry.expect("it can be listed").file_name()).collect();
            names.sort();
            names.iter().for_each(|name| self.add_all(&path.join(name)));
        }
    }

    /// Adds an entry; says whether it is a directory.
    fn add(&mut self, path: &Path) -> bool {
        let real = if path.as_os_str().is_empty() { self.top.clone() } else { self.top.join(path) };
        let stat = fs::symlink_metadata(&real).expect("an entry of a test can be looked at");
        let kind = stat.file_type();
        let is_device = kind.is_block_device() || kind.is_char_device();
        let group = (stat.nlink() > 1 && !kind.is_dir()).then(|| {
            let next = self.linked.len() as u64 + 1;
            *self.linked.entry((stat.dev(), stat.ino())).or_insert(next)
        });
        let entry = json!({
            "path": text(path.as_os_str().as_bytes()),
            "type": match () {
                () if kind.is_file() => "file",
                () if kind.is_dir() => "directory",
                () if kind.is_symlink() => "symlink",
                () if kind.is_block_device() => "block",
                () if kind.is_char_device() => "char",
                () if kind.is_fifo() => "fifo",
                () => "socket",
            },
            "mode": stat.mode() & 0o7777,
            "uid": stat.uid(),
            "gid": stat.gid(),
            "user": self.users.get(&stat.uid()).cloned().unwrap_or_default(),
            "group": self.groups.get(&stat.gid()).cloned().unwrap_or_default(),
            "mtime_ns": stat.mtime() * 1_000_000_000 + stat.mtime_nsec(),
            "size": if kind.is_file() { stat.size() } else { 0 },
            "sha256": kind.is_file().then(|| ObjectHash::of(&fs::read(&real).expect("a file can be read")).to_string()),
            "link_target": kind.is_symlink().then(|| text(fs::read_link(&real).expect("a link").as_os_str().as_bytes())),
            "xattrs": xattrs(&real),
            "holes": if kind.is_file() { holes(&real) } else { Vec::new() },
            "hardlink_group": group,
            "rdev": is_device.then(|| [rustix::fs::major(stat.rdev()), rustix::fs::minor(stat.rdev())]),
        });
        self.entries.push((path.to_owned(), entry));
        kind.is_dir()
    }
}

fn xattrs(path: &Path) -> Map<String, Value> {
    let mut buffer = vec![0; 1 << 16];
    let listed = rustix::fs::llistxattr(path, &mut buffer);
    // A file system without attributes has none.
    let length = if listed == Err(Errno::NOTSUP) { 0 } else { listed.expect("attributes can be listed") };
    let listed = buffer[..length].split(|&byte| byte == 0).filter(|name| !name.is_empty());
    let mut found = Map::new();
    for name in listed {
        let mut value = vec![0; 1 << 16];
        let length = rustix::fs::lgetxattr(path, name, &mut value).expect("an attribute can be read");
        found.insert(text(name), value[..length].iter().map(|byte| format!("{byte:02x}")).collect::<String>().into());
    }
    found
}

fn holes(path: &Path) -> Vec<[u64; 2]> {
    let file = fs::File::open(path).expect("a file can be opened");
    let size = file.metadata().expect("it is open").len();
    let (mut holes, mut at) = (Vec::new(), 0);
    while at < size {
        // There is a hole at the end of every file.
        let start = seek(&file, SeekFrom::Hole(at)).expect("holes can be found");
        let end = seek(&file, SeekFrom::Data(start)).unwrap_or(size);
        if start < size {
            holes.push([start, end - start]);
        }
        at = end.max(start);
    }
    holes
}

fn names(file: &str) -> HashMap<u32, String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let name = |line: &str| {
        let mut fields = line.split(':');
        Some((fields.next()?.to_owned(), fields.nth(1)?.parse().ok()?))
    };
    text.lines().filter_map(name).map(|(name, id)| (id, name)).collect()
}

/// Bytes as text; those that are no UTF-8 as the words `\udcxx`.
fn text(bytes: &[u8]) -> String {
    let mut text = String::new();
    for part in bytes.utf8_chunks() {
        text.push_str(part.valid());
        part.invalid().iter().for_each(|byte| write!(text, r"\udc{byte:02x}").expect("a text takes everything"));
    }
    text
}
