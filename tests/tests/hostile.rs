//! What a hostile client has signed leads no reader astray: not the command, not the reader that a repository carries, not
//! the page.

mod link;
mod mount;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use copal_format::client::Role;
use copal_format::id::SnapshotId;
use copal_format::keys::secret::Secret;
use copal_format::keys::text::encode_key_file;
use copal_format::pack::{self, PackKind};
use copal_format::path::TreePath;
use copal_reader::{Streams, run};
use copal_tests::kit::craft::sealed_pack;
use copal_tests::kit::process::program;
use copal_tests::kit::{DAY, How, World, tree};
use copal_wasm::look::{Library, Snapshot, Window};
use copal_wasm::owner::Owner;
use copal_wasm::view::Read;
use futures::executor::block_on;
use serde_json::json;
use tempfile::TempDir;

use crate::shelf::{self, Objects};

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
}

/// A write-only client has everything that its machine holds, and reads the source ids of others in the clear.
#[test]
fn a_client_that_copies_the_series_of_another_is_nowhere_taken_for_it() {
    let world = World::new();
    let [mut honest, mut hostile] = [world.register(1, Role::Full), world.register(2, Role::WriteOnly)];
    honest.host = "fileserver".to_owned();
    (hostile.host, hostile.source) = (honest.host.clone(), honest.source);
    let [_, ours] = [&b"old"[..], b"ours"].map(|content| world.back_up(&honest, &tree([("file", content)])));
    world.wait(DAY);
    let theirs = world.back_up(&hostile, &tree([("file", &b"theirs"[..])]));
    let readers = Readers::of(&world);

    let out = readers.path("out");
    let target = out.to_str().unwrap();
    let restored = readers.copal(&["restore", "latest", "--host", "fileserver", "--target", target]);
    assert_eq!((restored.status.code(), fs::read(out.join("file")).unwrap()), (Some(0), b"ours".to_vec()));
    // On the very machine it is the same, and elsewhere full clients come first.
    let latest = |host| readers.copal_on(host, &["dump", "latest:file"]);
    assert_eq!(latest("fileserver").stdout, b"ours");
    let elsewhere = latest("elsewhere");
    assert_eq!((elsewhere.status.code(), &elsewhere.stdout[..]), (Some(0), &b"ours"[..]));
    assert!(holds(&elsewhere.stderr, "of \"fileserver\", "), "{elsewhere:?}");
    assert_eq!(readers.copal(&["dump", "latest:file", "--client", "client 2"]).stdout, b"theirs");
    let none = readers.copal(&["snapshots", "--host", "fileserver", "--client", "client 2"]);
    assert!(holds(&none.stderr, "client 2 (write-only, says it is \"fileserver\")"), "{none:?}");

    let listed = readers.copal_json(&["snapshots"]);
    let row = listed.as_array().unwrap().iter().find(|row| row["id"] == theirs.to_string()).unwrap();
    assert_eq!(
        [&row["host"], &row["client_name"], &row["role"], &row["claimed_host"]],
        ["client 2", "client 2", "write-only", "fileserver"]
    );
    let status = readers.copal_json(&["status"]);
    let series = status["series"].as_array().unwrap().iter();
    let mut newest: Vec<_> = series.map(|one| json!([one["host"], one["role"], one["snapshot"]])).collect();
    newest.sort_by_key(|one| one[0].to_string());
    let [ours, theirs] = [ours, theirs].map(|id| id.to_string());
    assert_eq!(json!(newest), json!([["client 2", "write-only", theirs], ["fileserver", "full", ours]]));
    let kept = readers.copal_json(&["forget", "--keep-last", "1", "--group-by", "none", "--dry-run"]);
    assert_eq!([&kept["kept"], &kept["forgotten"]], [2, 1], "one of each client: {kept}");

    let (code, _, messages) = readers.reader(&["ls"]);
    assert!(code == 1 && messages.contains("several clients"), "{messages}");
    assert!(messages.contains("fileserver  by client 1 (full)"), "{messages}");
    assert!(messages.contains("client 2  by client 2 (write-only, says it is \"fileserver\")"), "{messages}");
    let machines: Vec<_> = readers.library().snapshots().iter().map(Snapshot::machine).collect();
    assert_eq!(machines, ["client 2", "fileserver", "fileserver"]);
}

#[test]
fn machines_of_one_name_are_told_apart_and_found_by_their_clients() {
    let world = World::new();
    let mut clients = [1, 2].map(|number| world.register(number, Role::Full));
    clients[1].source = clients[0].source;
    let [before, after] = [0, 1].map(|at| {
        world.wait(DAY);
        world.back_up(&clients[at], &tree([("file", [at as u8].as_slice())]))
    });
    let readers = Readers::of(&world);
    let newest = readers.copal(&["dump", "latest:file", "--host", "host"]);
    assert_eq!((newest.status.code(), &newest.stdout[..]), (Some(0), &[1][..]));
    let [before, after] = [before, after].map(|id| id.short());
    assert!(holds(&newest.stderr, &format!("\"latest\" is {after}")), "{newest:?}");
    assert!(holds(&newest.stderr, &format!("also there: {before}")) && holds(&newest.stderr, "client 1"), "{newest:?}");
    assert_eq!(readers.copal(&["dump", "latest:file", "--client", "0202"]).stdout, [1]);
    let kept = readers.copal_json(&["forget", "--keep-last", "1", "--dry-run"]);
    assert_eq!(kept["forgotten"], 0, "{kept}");
}

/// A pack of the client's whose one block is sealed well for the owner, and opens to what somebody wanted.
#[test]
fn what_is_sealed_under_the_id_of_something_else_is_restored_by_no_reader() {
    for (content, code) in [([b'x'; 100], 0), ([b'y'; 100], 4)] {
        let world = World::new();
        let client = world.register(2, Role::WriteOnly);
        let snapshot = world.back_up(&client, &tree([("letter", &[b'x'; 100][..])]));
        let whole = world.packs(PackKind::Data).remove(0);
        let id = pack::parse(&world.read(&whole)).unwrap().ids[0];
        let owner = &world.repository.owner;
        let copy = sealed_pack(&owner.kem_public(), owner.repository(), client.domain, id, &content);
        let named = [world.put_pack(&copy)];
        block_on(client.write_manifest(&world.job(), &world.view(), &named, None, &How::default())).unwrap();
        world.ingest().unwrap();
        world.destroy(&whole);
        let readers = Readers::of(&world);

        let dumped = readers.copal(&["dump", "latest:letter", "--client", "client 2"]);
        let out = readers.path("out");
        let target = ["--target", out.to_str().unwrap()];
        let restored = readers.copal(&[&["restore", "latest", "--client", "client 2"], &target[..]].concat());
        assert_eq!([&dumped, &restored].map(|ran| ran.status.code()), [Some(code); 2], "{dumped:?} {restored:?}");
        let (told, archive, messages) = readers.reader(&["restore", "--tar", "-"]);
        assert_eq!(told, code as u8, "{messages}");
        let written = fs::read(out.join("letter")).unwrap_or_default();
        for restored in [&dumped.stdout, &written, &archive] {
            assert_eq!((holds(restored, "xxx"), holds(restored, "yyy")), (code == 0, false));
        }
        assert_eq!(readers.page_restores(snapshot).damaged.is_empty(), code == 0);
    }
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
        self.copal_on("elsewhere", arguments)
    }

    /// On a machine of this name that has not saved anything.
    fn copal_on(&self, host: &str, arguments: &[&str]) -> Output {
        let mut run = Command::new(program("copal"));
        run.args(arguments)
            .env_clear()
            .env("COPAL_HOST", host)
            .env("HOME", self.place.path())
            .env("COPAL_REPOSITORY", self.path("repository"))
            .env("COPAL_KEY_FILE", self.path("key.txt"));
        run.output().unwrap()
    }

    fn copal_json(&self, arguments: &[&str]) -> serde_json::Value {
        let ran = self.copal(&[arguments, &["--json"]].concat());
        assert_eq!(ran.status.code(), Some(0), "{ran:?}");
        serde_json::from_slice(&ran.stdout).unwrap()
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
        let root = self.world.names("roots/").into_iter().next();
        let objects: Objects<'_> = &|name| self.object(name);
        let view = shelf::view(objects, root.as_deref(), self.world.repository.shared);
        let library = shelf::library(objects, &Owner::of(self.world.repository.owner.clone()), view);
        assert_eq!(library.problems(), []);
        library
    }

    /// All that a restore of a whole snapshot is told.
    fn page_restores(&self, snapshot: SnapshotId) -> Window {
        let library = self.library();
        let mut restore = library.tree(snapshot).unwrap().restore(vec![TreePath::TOP], 0..u64::MAX);
        let mut all = Window::default();
        while !all.is_done {
            let window = restore.advance().unwrap();
            window.needs.iter().for_each(|read| library.supply(read, self.part(read)));
            for (at, (read, _)) in window.reads.iter().enumerate() {
                restore.take(at, self.part(read).as_deref()).unwrap();
            }
            all.entries.extend(window.entries);
            all.damaged.extend(window.damaged);
            all.is_done = window.is_done;
        }
        all
    }

    fn object(&self, name: &str) -> Option<Vec<u8>> {
        self.world.has(name).then(|| self.world.read(name))
    }

    fn part(&self, read: &Read) -> Option<Vec<u8>> {
        shelf::part(&|name| self.object(name), read)
    }
}
