//! What a hostile client has signed leads no reader astray: not the command, not the reader that a repository carries, not
//! the page.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::rc::Rc;

use copal_engine::client::Role;
use copal_engine::id::SnapshotId;
use copal_engine::keys::secret::Secret;
use copal_engine::keys::text::encode_key_file;
use copal_engine::layout;
use copal_engine::path::TreePath;
use copal_engine::repository::Descriptor;
use copal_reader::{Streams, run};
use copal_tests::kit::s3::command;
use copal_tests::kit::{DAY, How, World, tree};
use copal_wasm::look::{Library, Snapshot, Window};
use copal_wasm::owner::Owner;
use copal_wasm::view::{Read, View};
use tempfile::TempDir;

const TOLD: &str = "below what is no directory";

#[test]
fn nothing_is_written_below_what_is_no_directory() {
    let world = World::new();
    let hostile = world.register(2, Role::WriteOnly);
    // What unpacks an archive might follow a link there. A file says as much as a link.
    let snapshot =
        world.back_up(&hostile, &tree([("link", &b"away"[..]), ("link/.profile", b"evil"), ("other", b"fine")]));
    let readers = Readers::of(&world);

    let window = readers.page_restores(snapshot);
    let begun: Vec<_> = window.entries.iter().map(|started| started.entry.path.to_string()).collect();
    assert_eq!(begun, ["link", "other"]);
    let damaged: Vec<_> =
        window.damaged.iter().map(|damage| (damage.path.as_str(), damage.why.contains(TOLD))).collect();
    assert_eq!(damaged, [("link/.profile", true)]);

    let dumped = readers.copal(&["dump", "--format", "tar", &format!("{snapshot}:/")]);
    assert_eq!(dumped.status.code(), Some(4));
    assert!(!holds(&dumped.stdout, ".profile") && !holds(&dumped.stdout, "evil"));
    assert!(holds(&dumped.stderr, TOLD), "{}", String::from_utf8_lossy(&dumped.stderr));

    let (code, archive, messages) = readers.reader(&["restore", "--tar", "-"]);
    assert_eq!((code, holds(&archive, "evil"), holds(&archive, "fine")), (4, false, true));
    assert!(messages.contains(TOLD), "{messages}");
}

#[test]
fn a_client_whose_clock_is_ahead_does_not_make_the_newest_snapshot() {
    let world = World::new();
    let [honest, hostile] = [world.register(1, Role::Full), world.register(2, Role::WriteOnly)];
    let ahead = How { skew: 3_650 * DAY.as_nanos() as i64, ..How::default() };
    world.try_back_up(&hostile, &tree([("theirs", &b"x"[..])]), &ahead).unwrap();
    world.wait(DAY);
    let newest = world.back_up(&honest, &tree([("ours", &b"y"[..])]));
    let readers = Readers::of(&world);

    let listed: Vec<Snapshot> = readers.library().snapshots();
    assert!(listed[0].time < listed[1].time, "the clock was ahead");
    assert_eq!(listed[0].id, newest);

    let (code, list, messages) = readers.reader(&["list"]);
    let last = String::from_utf8(list).unwrap().lines().last().unwrap().to_owned();
    assert_eq!((code, last.split(' ').next()), (0, Some(&*newest.to_string())), "{messages}");
    let (code, entries, _) = readers.reader(&["ls"]);
    assert_eq!((code, holds(&entries, "ours"), holds(&entries, "theirs")), (0, true, false));
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Everything that reads the repository of a world.
struct Readers<'a> {
    world: &'a World,
    place: TempDir,
}

impl<'a> Readers<'a> {
    fn of(world: &'a World) -> Self {
        let place = tempfile::tempdir().unwrap();
        for name in world.names("") {
            let path = place.path().join("repository").join(&name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, world.read(&name)).unwrap();
        }
        let readers = Self { world, place };
        fs::write(readers.path("key.txt"), encode_key_file(&Secret::new([9; 32])).as_bytes()).unwrap();
        readers
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn copal(&self, arguments: &[&str]) -> Output {
        let mut run = Command::new(command());
        run.args(arguments)
            .env_clear()
            .env("HOME", self.place.path())
            .env("COPAL_REPOSITORY", self.path("repository"))
            .env("COPAL_KEY_FILE", self.path("key.txt"));
        run.output().unwrap()
    }

    fn reader(&self, arguments: &[&str]) -> (u8, Vec<u8>, String) {
        let (mut output, mut messages) = (Vec::new(), Vec::new());
        let mut words: Vec<_> = arguments.iter().map(Into::into).collect();
        words.insert(1, self.path("repository").into());
        words.extend(["--key-file".into(), self.path("key.txt").into()]);
        let streams = Streams { input: &mut std::io::empty(), output: &mut output, messages: &mut messages };
        let code = run(&words, streams);
        (code, output, String::from_utf8(messages).unwrap())
    }

    /// What the page reads with.
    fn library(&self) -> Library {
        let domains = self.world.view().state.snapshots.values().map(|snapshot| snapshot.domain).collect();
        let root = self.world.names("roots/").into_iter().next();
        let mut view = View::new(root.as_deref(), domains).unwrap();
        while !view.is_complete() {
            for read in view.needs() {
                view.supply(&read.key, Some(self.world.read(&read.key))).unwrap();
            }
        }
        let descriptor = Descriptor::decode(1, &self.world.read(&layout::descriptor(1))).unwrap();
        let owner = Owner::of(self.world.repository.owner.clone());
        let mut library = Library::new(&owner, &descriptor, Rc::new(RefCell::new(view))).unwrap();
        for client in library.needed_clients() {
            library.supply_client(client, &[(1, self.world.read(&layout::client(client, 1)))]);
        }
        for key in library.needed_manifests() {
            library.supply_manifest(&key, Some(&self.world.read(&key))).unwrap();
        }
        assert_eq!(library.problems(), []);
        library
    }

    /// All that a restore of a whole snapshot is told.
    fn page_restores(&self, snapshot: SnapshotId) -> Window {
        let library = self.library();
        let mut restore = library.tree(snapshot).unwrap().restore(vec![TreePath::TOP], None);
        let mut all = Window::default();
        while !all.is_done {
            let window = restore.advance().unwrap();
            window.needs.iter().for_each(|read| library.supply(read, Some(self.part(read))));
            for (at, (read, _)) in window.reads.iter().enumerate() {
                restore.take(at, Some(&self.part(read))).unwrap();
            }
            all.entries.extend(window.entries);
            all.damaged.extend(window.damaged);
            all.is_done = window.is_done;
        }
        all
    }

    fn part(&self, read: &Read) -> Vec<u8> {
        let bytes = self.world.read(&read.key);
        match &read.range {
            Some(range) => bytes[range.start as usize..range.end as usize].to_vec(),
            None => bytes,
        }
    }
}
