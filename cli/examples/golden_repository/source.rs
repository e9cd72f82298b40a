//! Source: an odd tree, and what happens to it between backups.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, Timespec, Timestamps, XattrFlags, lsetxattr, makedev, mknodat, utimensat,
};

/// A directory that is filled and changed.
pub(crate) struct Tree {
    top: PathBuf,
}

impl Tree {
    /// An empty directory.
    pub(crate) fn new(top: &Path) -> Self {
        fs::create_dir(top).expect("the source is not there yet");
        Self { top: top.to_owned() }
    }

    /// The first state: one of everything.
    pub(crate) fn fill(&self) {
        self.contents();
        self.names();
        self.kinds();
        self.attributes();
        self.times();
        for number in 0..60 {
            self.write(&format!("many/{:02}/file {number:03}", number / 12), text(number, 40 + number as usize * 7));
        }
        self.touch("", 1_700_000_000, 1);
    }

    /// Edits, additions, removals; a directory becomes a file and a file a directory.
    pub(crate) fn change(&self) {
        let mut long = long();
        long.splice(70_000..70_010, *b"0123456789abcdef");
        self.write("contents/long", long);
        self.write("contents/appended", [noise(3, 3_000), text(1, 500)].concat());
        self.write("many/00/file 003", "shorter");
        fs::remove_dir_all(self.at("many/01")).expect("it was made before");
        self.write("many/01", "was a directory");
        fs::remove_file(self.at("many/02/file 024")).expect("it was made before");
        self.write("many/02/file 024/inside", "was a file");
        fs::rename(self.at("many/03"), self.at("many/33")).expect("both are in the source");
        self.chmod("attributes/plain", 0o640);
        for number in 0..20 {
            self.write(&format!("gone later/{number}"), noise(100 + number, 2_500));
        }
    }

    /// Adds some that stays among much that does not.
    pub(crate) fn swell(&self) {
        for number in 0..20 {
            self.write(&format!("gone soon/{number}"), noise(200 + number, 2_500));
            self.write(&format!("many/05/beside {number}"), noise(300 + number, 300));
        }
    }

    /// Removes what was to go.
    pub(crate) fn shrink(&self) {
        for folder in ["gone soon", "gone later"] {
            fs::remove_dir_all(self.at(folder)).expect("it was made before");
        }
        self.write("contents/appended", [noise(3, 3_000), text(1, 500), noise(4, 900)].concat());
        for number in 0..6 {
            self.write(&format!("many/04/passing {number}"), text(70 + number, 900));
        }
    }

    /// The last edits.
    pub(crate) fn finish(&self) {
        for number in 0..6 {
            fs::remove_file(self.at(&format!("many/04/passing {number}"))).expect("it was made before");
        }
        self.write("many/04/new", text(99, 5_000));
        self.touch("many/04", -1, 999_999_999);
        self.touch("", 1_700_000_000, 2);
    }

    /// Contents of all kinds.
    fn contents(&self) {
        self.write("contents/empty", "");
        self.write("contents/one byte", "x");
        for length in [63, 64, 65, 255, 256, 257, 2_047, 2_048, 2_049] {
            self.write(&format!("contents/noise of {length}"), noise(length, length as usize));
        }
        self.write("contents/several chunks", noise(1, 9_000));
        self.write("contents/the same again", noise(1, 9_000));
        self.write("contents/zeros", [0; 20_000]);
        self.write("contents/appended", noise(3, 3_000));
        self.write("contents/long", long());
        self.sparse("contents/hole at the start", 131_072, &[(65_536, text(2, 65_536))]);
        self.sparse("contents/hole at the end", 327_680, &[(0, text(3, 65_536))]);
        self.sparse("contents/two holes", 262_144, &[(0, text(4, 65_536)), (131_072, noise(5, 65_536)[..].to_vec())]);
        self.sparse("contents/only a hole", 4 << 20, &[]);
    }

    /// Names that programs trip over.
    fn names(&self) {
        for name in [" ", "-rf", "*", "a b", "back\\slash", "line\nend", "quote\"'", "tab\t", "~", "ä", "名前", "🦀"]
        {
            self.write(&format!("names/{name}"), name);
        }
        // The same letter, composed and not.
        self.write("names/\u{e9}", "composed");
        self.write("names/e\u{301}", "decomposed");
        for bytes in [b"\xff".as_slice(), b"\xc3(", b"latin \xe4\xf6\xfc", b"\xed\xa0\x80"] {
            let path = self.at("names").join(std::ffi::OsStr::from_bytes(bytes));
            fs::write(path, bytes).expect("Linux takes any bytes");
        }
        self.write(&format!("names/{}", "n".repeat(255)), "as long as a name may be");
        // '/' sorts below every other byte: "order" and what it holds come before "order!".
        for name in ["order/a", "order!", "order-a", "order0"] {
            self.write(&format!("names/{name}"), name);
        }
        let deep = vec!["d".repeat(200); 14].join("/");
        self.write(&format!("deep/{deep}/bottom"), "at the bottom");
    }

    /// Entries of every kind that a backup saves.
    fn kinds(&self) {
        self.directory("kinds/empty directory");
        for (name, target) in [
            ("link", "../contents/long"),
            ("dangling", "no/such/thing"),
            ("link up", ".."),
            ("absolute", "/golden/kinds"),
        ] {
            symlink(target, self.at("kinds").join(name)).expect("a link");
        }
        let odd = std::ffi::OsStr::from_bytes(b"to \xff");
        symlink(odd, self.at("kinds/link to bytes")).expect("a link");
        symlink("t".repeat(3_000), self.at("kinds/long link")).expect("a link");
        for (name, kind, device) in [
            ("fifo", FileType::Fifo, 0),
            ("block device", FileType::BlockDevice, makedev(7, 200)),
            ("char device", FileType::CharacterDevice, makedev(1, 3)),
            ("large device", FileType::CharacterDevice, makedev(4_000, 1_000_000)),
        ] {
            mknodat(CWD, self.at("kinds").join(name), kind, Mode::from(0o640), device).expect("root makes devices");
        }
        self.write("kinds/one of three", text(7, 700));
        self.directory("kinds/far");
        for other in ["kinds/two of three", "kinds/far/three of three"] {
            fs::hard_link(self.at("kinds/one of three"), self.at(other)).expect("a hard link");
        }
        fs::hard_link(self.at("kinds/fifo"), self.at("kinds/far/same fifo")).expect("a hard link");
        fs::hard_link(self.at("kinds/dangling"), self.at("kinds/far/same link")).expect("a hard link");
        self.write("kinds/empty twice", "");
        fs::hard_link(self.at("kinds/empty twice"), self.at("kinds/far/empty too")).expect("a hard link");
    }

    /// Owners, modes, extended attributes and ACLs.
    fn attributes(&self) {
        self.write("attributes/plain", "plain");
        for (name, mode) in [("read only", 0o400), ("setuid", 0o4755), ("setgid", 0o2711), ("all bits", 0o7777)] {
            self.write(&format!("attributes/{name}"), name);
            self.chmod(&format!("attributes/{name}"), mode);
        }
        self.directory("attributes/sticky");
        self.chmod("attributes/sticky", 0o1777);
        for (name, user, group) in
            [("nobody here", 123_456, 234_567), ("large ids", 4_000_000_000, 0), ("theirs", 1_000_001, 0)]
        {
            self.write(&format!("attributes/{name}"), name);
            lchown(self.at("attributes").join(name), Some(user), Some(group)).expect("root gives files away");
        }
        self.write("attributes/theirs with setuid", "");
        lchown(self.at("attributes/theirs with setuid"), Some(1_000_001), Some(1_000_001))
            .expect("root gives files away");
        self.chmod("attributes/theirs with setuid", 0o6750);
        symlink("plain", self.at("attributes/link of theirs")).expect("a link");
        lchown(self.at("attributes/link of theirs"), Some(1_000_001), Some(1_000_001)).expect("root gives links away");
        self.write("attributes/extended", "");
        self.xattr("attributes/extended", b"user.empty", b"");
        self.xattr("attributes/extended", b"user.bytes", b"\0\xff\n");
        self.xattr("attributes/extended", b"user.long", &text(8, 1_500));
        self.xattr("attributes/extended", b"user.\xe4", b"a name that is no UTF-8");
        self.directory("attributes/directory");
        self.xattr("attributes/directory", b"user.note", b"of a directory");
        self.xattr("attributes/directory", b"trusted.note", b"for root only");
        self.xattr("attributes/link of theirs", b"trusted.note", b"of a link");
        self.write("attributes/listed", "");
        self.xattr("attributes/listed", b"system.posix_acl_access", &acl(6));
        self.xattr("attributes/directory", b"system.posix_acl_default", &acl(4));
    }

    /// Times before 1970, with and without nanoseconds.
    fn times(&self) {
        for (name, seconds, nanoseconds) in [
            ("epoch", 0, 0),
            ("just before", -1, 999_999_999),
            ("1969", -10_000_000, 0),
            ("1938", -1_000_000_000, 1),
            ("whole", 1_500_000_000, 0),
            ("a nanosecond", 1_500_000_000, 1),
            ("2038", 2_147_483_648, 500_000_000),
            ("2150", 5_680_281_600, 123_456_789),
        ] {
            self.write(&format!("times/{name}"), name);
            self.touch(&format!("times/{name}"), seconds, nanoseconds);
        }
        symlink("epoch", self.at("times/old link")).expect("a link");
        self.touch("times/old link", -86_400, 0);
        self.touch("times", -123_456_789, 987_654_321);
    }

    fn at(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.top.clone() } else { self.top.join(name) }
    }

    fn directory(&self, name: &str) {
        fs::create_dir_all(self.at(name)).expect("a directory");
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().expect("it is in the source")).expect("a directory");
        fs::write(path, bytes).expect("a file");
    }

    fn sparse(&self, name: &str, size: u64, parts: &[(u64, Vec<u8>)]) {
        let file = fs::File::create(self.at(name)).expect("a file");
        file.set_len(size).expect("a file as long as that");
        parts.iter().for_each(|(offset, bytes)| file.write_all_at(bytes, *offset).expect("it can be written"));
    }

    fn chmod(&self, name: &str, mode: u32) {
        fs::set_permissions(self.at(name), fs::Permissions::from_mode(mode)).expect("a mode");
    }

    fn xattr(&self, name: &str, attribute: &[u8], value: &[u8]) {
        lsetxattr(self.at(name), attribute, value, XattrFlags::empty()).expect("a file system with attributes");
    }

    fn touch(&self, name: &str, seconds: i64, nanoseconds: i64) {
        let time = Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
        let times = Timestamps { last_access: time, last_modification: time };
        utimensat(CWD, self.at(name), &times, AtFlags::SYMLINK_NOFOLLOW).expect("a time");
    }
}

/// Version 2 of the kernel's form; owner rw, user 1000001 as given, group and mask r, others nothing.
fn acl(user: u16) -> Vec<u8> {
    let entry = |tag: u16, permissions: u16, id: u32| {
        [tag.to_le_bytes().as_slice(), &permissions.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    let nobody = u32::MAX;
    let entries = [(1, 6, nobody), (2, user, 1_000_001), (4, 4, nobody), (16, 4, nobody), (32, 0, nobody)];
    let entries = entries.map(|(tag, permissions, id)| entry(tag, permissions, id));
    [2u32.to_le_bytes().as_slice(), &entries.concat()].concat()
}

/// Of many more than 64 chunks, and few bytes when compressed.
fn long() -> Vec<u8> {
    text(6, 150_000)
}

/// Bytes that compress.
fn text(seed: u64, length: usize) -> Vec<u8> {
    let words = ["copal ", "amber ", "resin ", "tree ", "insect ", "million ", "years "];
    let mut bytes = Vec::new();
    let mut at = noise(seed, length / 4 + 8).into_iter();
    while bytes.len() < length {
        let word = at.next().expect("no word has fewer than four letters");
        bytes.extend_from_slice(words[usize::from(word) % words.len()].as_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// Bytes that do not compress.
pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..length).map(|_| step()).collect()
}
