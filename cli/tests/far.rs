//! Far stores: where every request takes a round trip, few wait for each other.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use copal_client::backend::Backend;
use copal_client::backup::{Options, Source, backup};
use copal_client::changes::{self, ChangeError};
use copal_client::history::{History, pages};
use copal_client::location::Location;
use copal_client::materialize::TargetOptions;
use copal_client::reader::{ReadError, TreeError};
use copal_client::repository::{Init, LocalClient, Repository, init};
use copal_client::restore::{Event, Outcome, Request, RestoreError, restore};
use copal_client::scan::{Root, Scan, ScanOptions};
use copal_client::wait::wait;
use copal_format::change::Operation;
use copal_format::keys::slot::{Argon2Params, SlotInput};
use copal_format::receipt::IngestBy;
use copal_format::repository::Parameters;
use copal_store::fault::{Call, Fate, Fault};
use copal_store::fs::FsStore;
use copal_store::record::{self, Record};
use copal_store::{Key, Op, Store, StoreError};
use futures::channel::oneshot;

use crate::kit::noise;

#[test]
fn opening_restoring_and_saving_take_few_round_trips_however_many_requests_there_are() {
    let place = tempfile::tempdir().unwrap();
    let (source, directory) = (place.path().join("source"), place.path().join("repository"));
    for folder in 0..40 {
        let folder = source.join(folder.to_string());
        std::fs::create_dir_all(&folder).unwrap();
        for file in 0..40 {
            // Long names and different contents: several blocks of pages.
            let name = format!("{file}-{}", "long name ".repeat(10));
            std::fs::write(folder.join(name), noise(folder.as_os_str().len() as u64 * 131 + file, 3_000)).unwrap();
        }
    }
    std::fs::create_dir(&directory).unwrap();
    let far = Arc::new(Record::new(Far(Arc::new(FsStore::create(&directory).unwrap()))));
    let backend = Backend::of_store(&Location::Directory(directory), far.clone());
    let repository = made(&backend, place.path());
    let client = LocalClient::load_or_register(&repository, "far").unwrap();
    back_up(&repository, &client, &source);

    fewest(2, &far, "opening", |_| drop(open(&backend, place.path())));
    let repository = open(&backend, place.path());
    let restored =
        fewest(8, &far, "restoring", |turn| restore_newest(&repository, &place.path().join(format!("out-{turn}"))));
    assert!(restored.len() > 12);
    fewest(26, &far, "a backup of nothing new", |_| back_up(&repository, &client, &source));
    fewest(29, &far, "a backup", |turn| {
        std::fs::write(source.join("new"), noise(turn, 100_000)).unwrap();
        back_up(&repository, &client, &source);
    });
}

/// What `act` asks of the store, in at most so many steps. On a busy machine a request may begin so late that it seems to
/// wait for another: then it is done again, three times at most.
fn fewest(most: usize, far: &Record<Far>, what: &str, mut act: impl FnMut(u64)) -> Vec<record::Event> {
    let mut turns = 0;
    loop {
        turns += 1;
        far.take();
        act(turns);
        let asked = far.take();
        match steps(&asked) {
            taken if taken <= most => return asked,
            taken => assert!(turns < 3, "{what} takes {taken} steps, not {most}: {asked:#?}"),
        }
    }
}

/// The store is away, or the largest pack cannot be had, or its bytes not at first; everything else is as ever.
const AWAY: u8 = 1;
const LACKS: u8 = 2;
const COMES_BACK: u8 = 3;

#[test]
fn a_store_that_is_away_is_not_taken_for_damage_and_a_pack_that_it_cannot_give_is() {
    let place = tempfile::tempdir().unwrap();
    let (source, directory) = (place.path().join("source"), place.path().join("repository"));
    std::fs::create_dir_all(&source).unwrap();
    std::fs::write(source.join("large"), noise(1, 300_000)).unwrap();
    std::fs::write(source.join("small"), "small").unwrap();
    std::fs::create_dir(&directory).unwrap();
    let (state, lacking) = (Arc::new(AtomicU8::new(0)), Arc::new(OnceLock::new()));
    let (now, key) = (state.clone(), lacking.clone());
    let script = move |call: &Call<'_>| {
        let fails = match now.load(Ordering::Relaxed) {
            AWAY => true,
            LACKS => key.get().is_some_and(|key| call.key == key),
            // Until somebody asks what the newest root is.
            COMES_BACK if call.op == Op::List => {
                now.store(0, Ordering::Relaxed);
                false
            }
            COMES_BACK => key.get().is_some_and(|key| call.key == key),
            _ => false,
        };
        let (op, key) = (call.op, call.key.to_owned());
        if fails {
            Fate::FailBefore(StoreError::Transient { op, key, source: "it is slow".into() })
        } else {
            Fate::Proceed
        }
    };
    let store = Arc::new(Fault::new(FsStore::create(&directory).unwrap(), script));
    let backend = Backend::of_store(&Location::Directory(directory), store.clone());
    let repository = made(&backend, place.path());
    let client = LocalClient::load_or_register(&repository, "far").unwrap();
    back_up(&repository, &client, &source);
    let packs = wait(copal_store::list_all(store.inner(), "packs/")).unwrap();
    let largest = packs.into_iter().max_by_key(|pack| pack.stat.length).unwrap();
    lacking.set(largest.key.as_str().to_owned()).unwrap();

    let out = |name| place.path().join("out").join(source.strip_prefix("/").unwrap()).join(name);
    let restored = |is| {
        state.store(0, Ordering::Relaxed);
        try_to_restore(&repository, &place.path().join("out"), || state.store(is, Ordering::Relaxed))
    };
    let (away, told) = restored(AWAY);
    assert!(
        matches!(away, Err(RestoreError::Store(_) | RestoreError::Tree(TreeError::Read(ReadError::Store(_))))),
        "{away:?}"
    );
    assert_eq!(told, [""; 0]);
    let (lacks, told) = restored(LACKS);
    assert!(lacks.is_ok_and(|outcome| outcome.is_damaged), "{told:?}");
    assert!(matches!(told.as_slice(), [why] if why.contains("it is slow") || why.contains(" for now")), "{told:?}");
    assert_eq!(std::fs::read(out("small")).unwrap(), b"small");
    let (whole, told) = restored(COMES_BACK);
    assert!(whole.is_ok_and(|outcome| !outcome.is_damaged) && told.is_empty(), "{told:?}");
    assert_eq!(std::fs::read(out("large")).unwrap(), noise(1, 300_000));
}

#[test]
fn a_snapshot_that_the_store_refuses_is_named_with_the_stores_reason() {
    let place = tempfile::tempdir().unwrap();
    let is_refused = Arc::new(AtomicBool::new(false));
    let refuses = is_refused.clone();
    let script = move |call: &Call<'_>| match refuses.load(Ordering::Relaxed) && call.key.starts_with("manifests/") {
        true => {
            let (op, key, source) = (call.op, call.key.to_owned(), "the owner has revoked this client".into());
            Fate::FailBefore(StoreError::Denied { op, key, source })
        }
        false => Fate::Proceed,
    };
    let (repository, _) = saved_behind(place.path(), script);

    let view = wait(copal_jobs::view::read(repository.store().as_ref())).unwrap();
    is_refused.store(true, Ordering::Relaxed);
    let history = History::read(&repository, &view).unwrap();
    let [(object, why)] = history.problems.as_slice() else { panic!("{:?}", history.problems) };
    assert!(object.starts_with("manifests/") && why.contains("the owner has revoked this client"), "{why}");
}

#[test]
fn a_change_that_the_store_does_not_show_yet_is_not_called_done() {
    let place = tempfile::tempdir().unwrap();
    let is_hidden = Arc::new(AtomicBool::new(false));
    let hides = is_hidden.clone();
    // As a cache does that remembers that nothing was there.
    let script = move |call: &Call<'_>| {
        let is_read = call.op == Op::Read && call.key.starts_with("changes/");
        match is_read && hides.load(Ordering::Relaxed) {
            true => Fate::FailBefore(StoreError::NotFound { key: Key::new(call.key).unwrap() }),
            false => Fate::Proceed,
        }
    };
    let (repository, client) = saved_behind(place.path(), script);
    let view = wait(copal_jobs::view::read(repository.store().as_ref())).unwrap();
    let id = view.state.snapshots.values().next().unwrap().id;

    is_hidden.store(true, Ordering::Relaxed);
    let written = changes::write(&repository, &client, vec![Operation::Pin(vec![id])]);
    assert!(matches!(written, Err(ChangeError::NotFolded { number: 1 })), "{:?}", written.err());
    is_hidden.store(false, Ordering::Relaxed);
    let written = changes::write(&repository, &client, vec![Operation::Pin(vec![id])]).unwrap();
    assert_eq!(written.map(|written| written.number), Some(2));
}

/// A repository with one snapshot, in a store that fails as the script says.
fn saved_behind(place: &Path, script: impl FnMut(&Call<'_>) -> Fate + Send + 'static) -> (Repository, LocalClient) {
    let (source, directory) = (place.join("source"), place.join("repository"));
    std::fs::create_dir_all(&source).unwrap();
    std::fs::create_dir(&directory).unwrap();
    let store = Arc::new(Fault::new(FsStore::create(&directory).unwrap(), script));
    let repository = made(&Backend::of_store(&Location::Directory(directory), store), place);
    let client = LocalClient::load_or_register(&repository, "far").unwrap();
    back_up(&repository, &client, &source);
    (repository, client)
}

/// A repository at a backend.
fn made(backend: &Backend, place: &Path) -> Repository {
    init(&Init {
        backend,
        inputs: &[input()],
        parameters: Parameters::default(),
        ingest: IngestBy::Client,
        argon2: Argon2Params { m_kib: 8 << 10, t: 1, p: 1 },
        reader: None,
    })
    .unwrap();
    open(backend, place)
}

fn open(backend: &Backend, place: &Path) -> Repository {
    Repository::open(backend, &input(), |id| place.join(id.to_string())).unwrap()
}

fn input() -> SlotInput {
    SlotInput::passphrase("a harbour in winter").unwrap()
}

/// The longest chain of requests of which each had to wait for the one before.
fn steps(events: &[record::Event]) -> usize {
    let mut depths: Vec<usize> = Vec::new();
    for event in events {
        let before = events.iter().zip(&depths).filter(|(other, _)| other.precedes(event));
        depths.push(1 + before.map(|(_, depth)| *depth).max().unwrap_or(0));
    }
    depths.into_iter().max().unwrap_or(0)
}

fn back_up(repository: &Repository, client: &LocalClient, place: &Path) {
    let root = Root::new(place).unwrap();
    let options = Options::plain("far", &root, 2);
    let scan = Arc::new(Scan::new(ScanOptions { roots: vec![root], ..ScanOptions::default() }).unwrap());
    let never = AtomicBool::new(false);
    let mut source = Source::Tree { scan: &scan, ahead: None, changed: None };
    backup(repository, client, &mut source, &options, &Arc::default(), &never).unwrap();
}

fn restore_newest(repository: &Repository, target: &Path) {
    let (restored, told) = try_to_restore(repository, target, || ());
    assert!(restored.is_ok() && told.is_empty(), "{restored:?}: {told:?}");
}

/// Restores the newest snapshot; `meanwhile` happens once that is found. What was told of entries that are not restored, too.
fn try_to_restore(
    repository: &Repository,
    target: &Path,
    meanwhile: impl FnOnce(),
) -> (Result<Outcome, RestoreError>, Vec<String>) {
    let view = wait(copal_jobs::view::read(repository.store().as_ref())).unwrap();
    let history = History::read(repository, &view).unwrap();
    let snapshot = history.snapshots.last().unwrap();
    let pages = pages(repository, &view, snapshot.domain);
    let request = Request {
        options: TargetOptions { no_owner: true, ..TargetOptions::default() },
        ..Request::whole(&pages, snapshot, target.to_owned(), repository.backend().readers(2))
    };
    meanwhile();
    let told = Mutex::new(Vec::new());
    let tell = |event: Event<'_>| {
        if let Event::Trouble { why, .. } | Event::Lost { why, .. } = event {
            told.lock().unwrap().push(why);
        }
    };
    let restored = restore(&request, &Default::default(), &tell, &AtomicBool::new(false));
    (restored, told.into_inner().unwrap())
}

/// A store of which every answer comes after a while, as from a bucket.
struct Far(Arc<dyn Store>);

async fn a_while() {
    let (wake, woken) = oneshot::channel();
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(60));
        let _ = wake.send(());
    });
    let _ = woken.await;
}

impl Far {
    async fn after_a_while<T, F: Future<Output = Result<T, StoreError>>>(
        &self,
        _: (Op, &str),
        call: impl FnOnce(Arc<dyn Store>) -> F,
    ) -> Result<T, StoreError> {
        a_while().await;
        call(self.0.clone()).await
    }
}

#[async_trait]
impl Store for Far {
    copal_store::pass_on!(after_a_while(): create, read, read_range, stat, list, delete, now);

    fn is_remote(&self) -> bool {
        true
    }
}
