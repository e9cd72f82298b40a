//! What a hostile client has signed, shown as folders.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use copal_format::client::Role;
use copal_format::id::{ChunkId, SnapshotId};
use copal_format::path::TreePath;
use copal_format::snapshot::MetadataSeen;
use copal_format::time::Time;
use copal_format::tree::{Content, Entry, EntryKind, Extras, Mode, Owner, Piece};
use copal_tests::kit::process::program;
use copal_tests::kit::{World, tree};
use futures::executor::block_on;

use super::Readers;

const CHUNK: [u8; 100] = [b'x'; 100];

#[test]
fn a_mount_of_what_a_hostile_client_says_answers_everything_and_leads_nowhere() {
    let world = World::new();
    let snapshot = save(&world);
    let readers = Readers::of(&world);
    let mounted = Mounted::start(&readers);
    let top = mounted.directory.join("snapshots/by-id").join(&snapshot.to_string()[..8]);
    let is_file = |path: &str| fs::symlink_metadata(top.join(path)).is_ok_and(|metadata| metadata.is_file());

    let seen = walk(&top);
    assert!(fs::symlink_metadata(&top).unwrap().is_dir(), "the top is a directory, whatever its entry says");
    assert!(is_file("file") && !top.join("file/below").exists(), "nothing lies below what is no directory");
    assert!(fs::symlink_metadata(top.join("link")).unwrap().is_symlink());
    assert_eq!(fs::read(top.join("without/entry")).unwrap(), b"in", "a directory without an entry is one");
    assert!(is_file(&"n".repeat(300)) || fs::symlink_metadata(top.join("n".repeat(300))).is_err());
    assert!(!seen.iter().any(|path| path.file_name().unwrap().len() > 1024));
    // It claims more than its chunk holds, and one that fills the disk of who copies it.
    assert!(fs::read(top.join("lies")).is_err());
    let vast = File::open(top.join("vast")).unwrap();
    assert_eq!(vast.metadata().unwrap().len(), VAST);
    let mut bytes = [1; 4096];
    vast.read_exact_at(&mut bytes, VAST - 4096).unwrap();
    assert_eq!(bytes, [0; 4096]);
    assert!(vast.metadata().unwrap().blocks() == 0);
    assert_eq!(fs::metadata(top.join("too vast")).unwrap().len(), i64::MAX as u64, "as large as a file may be");
    // What grants rights here is left out, as by a restore.
    assert_eq!(fs::metadata(top.join("powers")).unwrap().mode() & 0o7777, 0o777);
    assert!(
        !seen.iter().any(|path| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_char_device()))
    );
    let mut names = vec![0; 65_536];
    let length = rustix::fs::llistxattr(top.join("powers"), &mut names[..]).unwrap();
    let names: Vec<_> = names[..length].split(|&byte| byte == 0).filter(|name| !name.is_empty()).collect();
    assert!(names == [b"user.large", &[b'u'; 300][..]], "what grants rights and what is no name is left out");
    let inode = |name: &str| fs::metadata(top.join(name)).unwrap().ino();
    assert_ne!(inode("same a"), inode("same b"), "files of other content are other files");

    // The host of a full client is a name, not a way.
    let hosts: Vec<_> = fs::read_dir(mounted.directory.join("snapshots/by-host"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(hosts.contains(&".._.._etc".into()), "{hosts:?}");

    let (code, told) = mounted.end();
    assert_eq!(code, Some(4), "{told}");
    assert!(told.contains("/lies") && told.contains("its name is too long") && !told.contains("panicked"), "{told}");
}

fn save(world: &World) -> SnapshotId {
    let mut full = world.register(1, Role::Full);
    full.host = "../../etc".to_owned();
    world.back_up(&full, &tree([("file", &b"honest"[..])]));
    let mut hostile = world.register(2, Role::WriteOnly);
    hostile.metadata = MetadataSeen::MODES.union(MetadataSeen::OWNERS).union(MetadataSeen::XATTRS);
    let job = world.job();
    let mut run = hostile.begin(&job).unwrap();
    let packs = block_on(run.take_entries(&job, &CHUNK, entries)).unwrap();
    block_on(hostile.commit_run(&job, &world.view(), &mut run, packs, false)).unwrap()
}

const VAST: u64 = 1 << 50;

fn entries(chunk: ChunkId) -> Vec<Entry> {
    let piece = |length| Content::Chunks(vec![Piece { id: chunk, length }]);
    let inline =
        |path: &[u8], text: &str| file(path, text.len() as u64, Content::Inline(text.as_bytes().to_vec().into()));
    let link = |path: &[u8], target: &[u8]| {
        let extras = Extras { link_target: Some(target.to_vec()), ..Extras::default() };
        Entry { extras, mode: Mode::new(EntryKind::Symlink, 0o777), ..file(path, 0, Content::None) }
    };
    let mut entries = vec![
        link(b"", b"/etc"),
        inline(b"file", "a file"),
        inline(b"file/below", "below"),
        link(b"link", b"/etc"),
        inline(b"link/passwd", "evil"),
        link(b"link to nothing", b""),
        link(b"long link", &[b'l'; 9_000]),
        inline(b"without/entry", "in"),
        file(b"lies", 1_000, piece(1_000)),
        file(b"true", 100, piece(100)),
        inline("n".repeat(300).as_bytes(), "300"),
        inline("n".repeat(2_000).as_bytes(), "2000"),
        inline("deep/".repeat(12_000).trim_end_matches('/').as_bytes(), "deep"),
        Entry { mtime: Time(i64::MIN), ctime: Time(i64::MAX), birth: Some(Time(i64::MIN)), ..inline(b"old", "old") },
        Entry { mtime: Time(i64::MAX), inode: u64::MAX, ..inline(b"new", "new") },
    ];
    for (name, size) in [(b"vast".as_slice(), VAST), (b"too vast", u64::MAX)] {
        let mut vast = file(name, size, Content::None);
        vast.extras.holes = [size].map(|end| 0..end).into();
        entries.push(vast);
    }
    let mut powers = inline(b"powers", "powers");
    powers.mode = Mode::new(EntryKind::File, 0o6777);
    powers.owner = Owner { uid: u32::MAX, gid: u32::MAX, user: b"root\0".to_vec(), group: vec![0xff; 300] }.into();
    powers.extras.xattrs = vec![
        (b"security.capability".to_vec(), vec![1; 20]),
        (b"user.\0zero".to_vec(), vec![2; 20]),
        (vec![b'u'; 300], vec![3; 20]),
        (b"user.large".to_vec(), vec![4; 100_000]),
    ];
    powers.extras.xattrs.sort();
    entries.push(powers);
    let mut device = file(b"device", 0, Content::None);
    (device.mode, device.extras.device) = (Mode::new(EntryKind::CharDevice, 0o666), Some((u32::MAX, u32::MAX)));
    entries.push(device);
    for (name, text) in [("same a", "one"), ("same b", "other")] {
        let mut same = inline(name.as_bytes(), text);
        same.extras.hardlink = Some(7);
        entries.push(same);
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    entries
}

fn file(path: &[u8], size: u64, content: Content) -> Entry {
    let plain = Entry::new(TreePath::new(path).unwrap(), Mode::new(EntryKind::File, 0o644));
    Entry { mtime: Time(1), ctime: Time(1), inode: 1, size, content, ..plain }
}

/// Looks at everything below a directory, as far down as the kernel takes paths.
fn walk(top: &Path) -> Vec<PathBuf> {
    let (mut seen, mut left) = (Vec::new(), vec![top.to_owned()]);
    let mut buffer = vec![0; 65_536];
    while let Some(directory) = left.pop() {
        let Ok(entries) = fs::read_dir(directory) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            let _ = fs::read_link(&path);
            let _ = rustix::fs::llistxattr(&path, &mut buffer[..]);
            let _ = rustix::fs::lgetxattr(&path, "user.large", &mut buffer[..]);
            if metadata.is_file() {
                let _ = File::open(&path).unwrap().read(&mut buffer);
            }
            left.extend(metadata.is_dir().then(|| path.clone()));
            seen.push(path);
        }
    }
    seen
}

struct Mounted {
    child: Child,
    directory: PathBuf,
}

impl Mounted {
    fn start(readers: &Readers<'_>) -> Self {
        let directory = readers.path("mounted");
        fs::create_dir(&directory).unwrap();
        let mut run = Command::new(program("copal"));
        run.arg("mount").arg(&directory).env_clear().env("HOME", readers.path("home"));
        run.env("COPAL_REPOSITORY", readers.path("repository")).env("COPAL_KEY_FILE", readers.path("key.txt"));
        run.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let mut child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("mounted on "), "{line}");
        Self { child, directory }
    }

    fn end(mut self) -> (Option<i32>, String) {
        assert!(Command::new("kill").arg(self.child.id().to_string()).status().unwrap().success());
        let mut told = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        (self.child.wait().unwrap().code(), told)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            let _ = Command::new("kill").arg(self.child.id().to_string()).status();
            let _ = self.child.wait();
        }
    }
}
