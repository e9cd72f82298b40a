//! The examples do what they say, and a program can do with the crate alone what its page promises.

#[path = "../examples/back_up.rs"]
#[expect(dead_code, reason = "its main")]
mod back_up;
#[path = "../examples/serve_file.rs"]
#[expect(dead_code, reason = "its main")]
mod serve_file;
#[path = "../examples/verify.rs"]
#[expect(dead_code, reason = "its main")]
mod verify;

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use copal_client::format::path::TreePath;
use copal_client::format::tree::EntryKind;
use copal_client::jobs::budget::Budget;
use copal_client::jobs::check::Depth;
use copal_client::store::memory::MemoryStore;
use copal_client::store::{Key, Store, StoreError, pass_on};
use copal_client::verify::{Options, ReadData};
use copal_client::wait::wait;
use copal_client::{Copal, Error, ErrorKind, Restoring, Saving, Settings, SlotInput};

const PASSPHRASE: &str = "correct horse";

/// A machine with folders of its own, below one that is deleted in the end.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path("source").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

fn settings(machine: &Machine) -> Settings {
    Settings::at(machine.path("repository")).state_dir(machine.path("own")).cache_dir(machine.path("copies")).host("it")
}

fn in_memory(machine: &Machine, store: &Arc<MemoryStore>) -> Settings {
    Settings::over("memory", store.clone()).state_dir(machine.path("own")).cache_dir(machine.path("copies")).host("it")
}

/// A path as snapshots have it.
fn in_tree(path: &Path) -> TreePath {
    TreePath::new(path.to_str().unwrap().trim_start_matches('/')).unwrap()
}

fn new(settings: &Settings) -> Copal {
    settings.create(&SlotInput::passphrase(PASSPHRASE).unwrap()).unwrap().copal.unwrap()
}

/// More than one chunk, with a hole, and each part of it different.
fn film() -> Vec<u8> {
    let mut state = 7u32;
    let mut noise = |length: usize| -> Vec<u8> {
        let next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        std::iter::repeat_with(next).take(length).collect()
    };
    [noise(3_000_000), vec![0; 1 << 20], noise(500_000)].concat()
}

#[test]
fn an_example_backs_up_and_what_it_saves_can_be_verified_and_restored() {
    let machine = Machine::new();
    machine.write("letters/first", "Dear reader");
    let mut shown = String::new();
    let copal = back_up::open(&settings(&machine), PASSPHRASE, |code| shown = code.to_owned()).unwrap();
    let saved = back_up::back_up(&copal, &machine.path("source")).unwrap();
    assert!(saved.snapshot.is_some() && saved.troubles.is_empty());
    assert!(settings(&machine).open(&SlotInput::recovery_code(&shown).unwrap()).is_ok());

    let again = back_up::open(&settings(&machine), PASSPHRASE, |_| panic!("it is there already")).unwrap();
    assert_eq!(back_up::back_up(&again, &machine.path("source")).unwrap().counts, saved.counts);
    let tags: Vec<_> = again.snapshots().unwrap().into_iter().map(|snapshot| snapshot.tags).collect();
    assert_eq!(tags, [["example"], ["example"]]);
    let whole = Options { chosen: None, read: ReadData::All, is_full: true, threads: 2 };
    assert!(copal_client::verify::verify(again.repository(), &whole, &Arc::default()).unwrap().damage.is_empty());

    let (target, file) = (machine.path("target"), machine.path("source/letters/first"));
    let newest = again.snapshot("latest").unwrap();
    let part = Restoring { path: in_tree(&machine.path("source/letters")), ..Restoring::default() };
    assert!(!again.restore(&newest, &target, &part).unwrap().is_damaged);
    assert_eq!(fs::read(target.join("first")).unwrap(), b"Dear reader");
    again.restore(&newest, &target, &Restoring::default()).unwrap();
    assert_eq!(fs::read(target.join(file.strip_prefix("/").unwrap())).unwrap(), b"Dear reader");
    let inside = machine.path("repository/restored");
    assert!(matches!(again.restore(&newest, &inside, &part), Err(Error::InRepository { .. })));
}

#[test]
fn an_example_serves_a_file_whole_and_by_ranges() {
    let (machine, film) = (Machine::new(), film());
    machine.write("film", &film);
    let copal = new(&settings(&machine));
    back_up::back_up(&copal, &machine.path("source")).unwrap();
    let tree = copal.tree(&copal.snapshot("latest").unwrap()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, path) = (listener.local_addr().unwrap(), in_tree(&machine.path("source/film")));
    // It ends with the process.
    std::thread::spawn(move || serve_file::serve(&listener, &tree, &path).unwrap());

    assert_eq!(ask(address, "GET", "").1, film);
    let (head, none) = ask(address, "HEAD", "");
    assert!(
        head.starts_with("HTTP/1.1 200 OK") && head.contains("Content-Length: 4548576") && none.is_empty(),
        "{head}"
    );
    for (range, part) in [("2-5", 2..6), ("2999990-4048580", 2_999_990..4_048_581), ("4548570-", 4_548_570..film.len())]
    {
        let (head, body) = ask(address, "GET", &format!("Range: bytes={range}\r\n"));
        let place = format!("Content-Range: bytes {}-{}/4548576", part.start, part.end - 1);
        assert!(head.starts_with("HTTP/1.1 206") && head.contains(&place), "{head}");
        assert!(body == film[part], "{range}");
    }
    assert_eq!(ask(address, "GET", "Range: bytes=-3\r\n").1, film[film.len() - 3..]);
    assert!(ask(address, "GET", "Range: bytes=4548576-\r\n").0.starts_with("HTTP/1.1 416"));
}

fn ask(address: SocketAddr, method: &str, line: &str) -> (String, Vec<u8>) {
    let mut connection = TcpStream::connect(address).unwrap();
    write!(connection, "{method} / HTTP/1.1\r\nHost: here\r\n{line}\r\n").unwrap();
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|at| at == b"\r\n\r\n").unwrap() + 4;
    (String::from_utf8(answer[..end].to_vec()).unwrap(), answer.split_off(end))
}

#[test]
fn an_example_verifies_without_a_key_and_names_the_pack_that_is_harmed() {
    let machine = Machine::new();
    machine.write("letters/first", "Dear reader".repeat(1000));
    back_up::back_up(&new(&settings(&machine)), &machine.path("source")).unwrap();
    // Nothing of this machine's own, and no secret.
    let stranger =
        Settings::at(machine.path("repository")).state_dir(machine.path("none")).cache_dir(machine.path("no"));
    let report = verify::verify(&stranger).unwrap();
    assert!(report.is_ok() && report.packs_read > 0, "{report:?}");

    let pack = walk(&machine.path("repository/packs")).unwrap();
    let mut bytes = fs::read(&pack).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::remove_file(&pack).unwrap();
    fs::write(&pack, bytes).unwrap();
    let report = verify::verify(&stranger).unwrap();
    let name = pack.file_name().unwrap().to_str().unwrap();
    assert!(report.findings.iter().any(|finding| finding.object.contains(name)), "{report:?}");
    assert!(!machine.path("none").exists(), "it writes nothing");
}

#[test]
fn a_program_can_end_a_check_which_then_says_how_much_it_has_left() {
    let (machine, store) = (Machine::new(), Arc::new(MemoryStore::new()));
    let copal = new(&in_memory(&machine, &store));
    copal.backup_stream("film", film().as_slice(), &Saving::default()).unwrap();
    let depth = Depth::Data { part: 1, parts: 1 };
    let whole = in_memory(&machine, &store).verify(depth).unwrap();
    assert!(whole.packs_read > 1 && whole.packs_left == 0, "{whole:?}");
    let ended = in_memory(&machine, &store).verify_until(depth, &Budget::until(|| true)).unwrap();
    assert_eq!((ended.packs_read, ended.packs_left), (1, whole.packs_read - 1));
    assert!(ended.is_ok(), "{ended:?}");
}

fn walk(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { walk(&path) } else { Some(path) }).find_map(|found| found)
}

#[test]
fn a_program_saves_a_stream_into_a_store_of_its_own_and_reads_it_from_anywhere() {
    let (machine, film, store) = (Machine::new(), film(), Arc::new(MemoryStore::new()));
    assert!(!in_memory(&machine, &store).is_there().unwrap());
    let copal = new(&in_memory(&machine, &store));
    assert!(in_memory(&machine, &store).is_there().unwrap());
    assert!(copal.backup_stream("film", film.as_slice(), &Saving::default()).unwrap().snapshot.is_some());
    let tree = copal.tree(&copal.snapshot("latest").unwrap()).unwrap();
    let mut file = tree.open(&TreePath::new("film").unwrap()).unwrap();
    let mut part = vec![0; 1000];
    for at in [0, 4_000_000, 2_999_500, 17, 4_547_576] {
        file.seek(SeekFrom::Start(at as u64)).unwrap();
        file.read_exact(&mut part).unwrap();
        assert!(part == film[at..at + 1000], "{at}");
    }
    assert_eq!(file.seek(SeekFrom::End(-1)).unwrap(), 4_548_575);
    assert_eq!(file.read(&mut part).unwrap(), 1);
    assert_eq!(file.read(&mut part).unwrap(), 0);
    assert!(file.seek(SeekFrom::Current(-9_999_999)).is_err());
    assert!(in_memory(&machine, &store).verify(Depth::Structure).unwrap().is_ok());
    for bad in ["", "a/b", "/film"] {
        let refused = copal.backup_stream(bad, film.as_slice(), &Saving::default());
        assert!(matches!(refused, Err(Error::StreamName { .. })), "{bad}");
    }
}

#[test]
fn a_program_walks_a_snapshot_and_lists_its_directories() {
    let machine = Machine::new();
    for name in ["a/one", "a/two", "a/deep/er", "a.txt", "b/three", "left/out.tmp"] {
        machine.write(name, name);
    }
    let copal = new(&settings(&machine));
    let saving = Saving { excludes: vec!["*.tmp".into()], ..Saving::default() };
    copal.backup(&[machine.path("source")], &saving).unwrap();
    let tree = copal.tree(&copal.snapshot("latest").unwrap()).unwrap();
    let names = |walk: copal_client::browse::Walk| -> Vec<String> {
        walk.map(|entry| String::from_utf8(entry.unwrap().path.name().to_vec()).unwrap()).collect()
    };
    let at = |name: &str| in_tree(&machine.path(&format!("source/{name}")));
    assert_eq!(names(tree.list(in_tree(&machine.path("source")))), ["a", "a.txt", "b", "left"]);
    assert_eq!(names(tree.list(at("a"))), ["deep", "one", "two"]);
    assert_eq!(names(tree.walk(at("a"))), ["a", "deep", "er", "one", "two"]);
    assert_eq!(names(tree.walk(at("a/one"))), ["one"]);
    assert!(names(tree.walk(at("missing"))).is_empty() && names(tree.list(at("left"))).is_empty());
    assert_eq!(tree.entry(&at("a")).unwrap().unwrap().kind(), EntryKind::Directory);
    assert!(tree.entry(&at("nothing")).unwrap().is_none());
    // The snapshot has no entries for the directories above the path that was saved.
    let above = in_tree(&machine.path("source")).parent().unwrap();
    for directory in [above, TreePath::TOP] {
        let entry = tree.entry(&directory).unwrap().unwrap();
        assert_eq!((entry.kind(), entry.mode.permissions(), entry.path), (EntryKind::Directory, 0o755, directory));
    }
    assert!(tree.open(&at("a")).is_err() && tree.open(&at("nothing")).is_err());
    let whole = names(tree.walk(TreePath::TOP));
    assert!(whole.ends_with(&["three".to_owned(), "left".to_owned()]), "{whole:?}");
}

#[test]
fn errors_tell_a_program_what_it_may_do() {
    let machine = Machine::new();
    machine.write("one", "1");
    let secret = SlotInput::passphrase(PASSPHRASE).unwrap();
    let kind = |failed: Result<Copal, Error>| failed.map(|_| ()).unwrap_err().kind();
    assert_eq!(kind(settings(&machine).open(&secret)), ErrorKind::Absent);
    let copal = new(&settings(&machine));
    assert!(matches!(settings(&machine).create(&secret), Err(Error::Init(_))), "it is there already");
    assert_eq!(kind(settings(&machine).open(&SlotInput::passphrase("another").unwrap())), ErrorKind::Secret);
    assert_eq!(copal.snapshot("latest").unwrap_err().kind(), ErrorKind::Absent);
    let nowhere = copal.backup(&[machine.path("nowhere")], &Saving::default()).unwrap_err();
    assert_eq!(nowhere.kind(), ErrorKind::Refused);
    let ended = Saving { interrupted: Arc::new(true.into()), ..Saving::default() };
    assert_eq!(copal.backup(&[machine.path("source")], &ended).unwrap_err().kind(), ErrorKind::Interrupted);

    // A repository in place of the one that this machine knows is not written to.
    copal.backup(&[machine.path("source")], &Saving::default()).unwrap();
    let roots = machine.path("repository/roots");
    let copied = machine.path("roots");
    fs::rename(&roots, &copied).unwrap();
    fs::create_dir(&roots).unwrap();
    assert_eq!(copal.backup(&[machine.path("source")], &Saving::default()).unwrap_err().kind(), ErrorKind::Damaged);
    // Nor is an empty list told for one that has lost its state, or an older one for the newest.
    assert_eq!(copal.snapshots().unwrap_err().kind(), ErrorKind::Damaged);
    assert_eq!(copal.snapshot("latest").unwrap_err().kind(), ErrorKind::Damaged);
    let newest = fs::read_dir(&copied).unwrap().map(|found| found.unwrap().file_name()).max().unwrap();
    for found in fs::read_dir(&copied).unwrap().map(|found| found.unwrap().file_name()).filter(|name| *name != newest) {
        fs::copy(copied.join(&found), roots.join(&found)).unwrap();
    }
    assert_eq!(copal.snapshots().unwrap_err().kind(), ErrorKind::Damaged);
    fs::copy(copied.join(&newest), roots.join(&newest)).unwrap();
    assert_eq!(copal.snapshots().unwrap().len(), 1);
    fs::remove_dir_all(machine.path("repository")).unwrap();
    assert!(matches!(settings(&machine).create(&secret), Err(Error::RepositoryGone { .. })));
    assert!(!machine.path("repository").exists(), "the disk that belongs there may not be mounted");
    let other = Settings::at(machine.path("repository")).state_dir(machine.path("other")).cache_dir(machine.path("no"));
    other.create(&secret).unwrap();
    let replaced = settings(&machine).open(&secret).unwrap().backup(&[machine.path("source")], &Saving::default());
    assert!(matches!(replaced, Err(Error::AnotherRepository { .. })));
}

/// A store behind a network, and the names of the manifests that were read from it.
#[derive(Debug)]
struct Far {
    inner: Arc<MemoryStore>,
    read: Mutex<BTreeSet<String>>,
}

#[async_trait]
impl Store for Far {
    pass_on!(inner: create, read_range, stat, list, delete, now);

    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        if key.as_str().starts_with("manifests/") {
            self.read.lock().unwrap().insert(key.to_string());
        }
        self.inner.read(key).await
    }

    fn is_remote(&self) -> bool {
        true
    }
}

#[test]
fn a_listing_of_a_far_repository_reads_only_manifests_that_are_new() {
    let machine = Machine::new();
    let inner = Arc::new(MemoryStore::new());
    let far = Arc::new(Far { inner: inner.clone(), read: Mutex::default() });
    let settings = Settings::over("far", far.clone()).state_dir(machine.path("own")).cache_dir(machine.path("copies"));
    let copal = new(&settings.clone().host("it"));
    let save = |tag: &str| {
        machine.write("letter", tag);
        copal.backup(&[machine.path("source")], &Saving { tags: vec![tag.into()], ..Saving::default() }).unwrap();
    };
    let file = |copal: &Copal| machine.path("copies").join(copal.repository().id().to_string()).join("listed");
    // Each listing is that of another run of the program.
    let listing = || {
        far.read.lock().unwrap().clear();
        let copal = settings.open(&SlotInput::passphrase(PASSPHRASE).unwrap()).unwrap();
        let all: BTreeSet<_> = copal.snapshots().unwrap().iter().map(|snapshot| format!("{snapshot:?}")).collect();
        (all, far.read.lock().unwrap().len())
    };
    save("first");
    save("second");
    let (two, read) = listing();
    assert_eq!((two.len(), read), (2, 2));
    assert_eq!(listing(), (two.clone(), 0));
    let older = fs::read(file(&copal)).unwrap();
    save("third");
    let (three, read) = listing();
    assert_eq!((two.is_subset(&three), three.len(), read), (true, 3, 1));
    assert_eq!(listing(), (three.clone(), 0));

    // A file that somebody has changed, an older one and one of another repository.
    let other = Settings::over("other", Arc::new(Far { inner: Arc::default(), read: Mutex::default() }));
    let other = new(&other.state_dir(machine.path("own")).cache_dir(machine.path("copies")).host("it"));
    other.backup(&[machine.path("source")], &Saving::default()).unwrap();
    assert_eq!(other.snapshots().unwrap().len(), 1);
    let kept = fs::read(file(&copal)).unwrap();
    let changed = |at: usize| {
        let mut changed = kept.clone();
        changed[at] ^= 1;
        changed
    };
    for bytes in [changed(0), changed(kept.len() / 2), Vec::new(), fs::read(file(&other)).unwrap()] {
        fs::write(file(&copal), bytes).unwrap();
        assert_eq!(listing(), (three.clone(), 3));
        assert_eq!(listing(), (three.clone(), 0), "it is written anew");
    }
    fs::write(file(&copal), older).unwrap();
    assert_eq!(listing(), (three.clone(), 1));
    for word in [b"first".as_slice(), machine.path("source").as_os_str().as_encoded_bytes()] {
        assert!(!kept.windows(word.len()).any(|window| window == word), "only the owner reads tags and paths");
    }

    // A manifest that the store has lost is a problem of every listing, whatever the cache says of it.
    let manifests = wait(copal_client::store::list_all(inner.as_ref(), "manifests/")).unwrap();
    wait(inner.delete(&manifests[1].key)).unwrap();
    let copal = settings.open(&SlotInput::passphrase(PASSPHRASE).unwrap()).unwrap();
    let history = copal.history().unwrap();
    assert_eq!((history.snapshots.len(), history.problems.len()), (2, 1));
    assert!(matches!(copal.snapshots(), Err(Error::Unlisted { .. })));
}
