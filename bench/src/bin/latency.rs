//! How much longer backups, restores and checks take when every request of the store takes a round trip:
//! `latency MILLISECONDS DIR`.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use copal_bench::{Failure, back_up, create};
use copal_client::backend::Backend;
use copal_client::history::{History, pages};
use copal_client::location::Location;
use copal_client::repository::{LocalClient, Repository};
use copal_client::restore::{Request, restore};
use copal_client::wait::wait;
use copal_format::repository::Parameters;
use copal_store::fs::FsStore;
use copal_store::record::Record;
use copal_store::{Created, Key, ListPage, Stat, Store, StoreError, StoreTime};
use futures::channel::oneshot;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [milliseconds, source] = arguments.as_slice() else { return Err("usage: latency MILLISECONDS DIR".into()) };
    let delay = Duration::from_millis(milliseconds.parse()?);
    let temporary = std::env::temp_dir().join(format!("copal-latency-{}", std::process::id()));
    let result = measure(&temporary, Path::new(source), delay);
    std::fs::remove_dir_all(&temporary)?;
    result
}

fn measure(temporary: &Path, source: &Path, delay: Duration) -> Result<(), Failure> {
    let directory = temporary.join("repository");
    std::fs::create_dir_all(&directory)?;
    let store = Arc::new(Record::new(Delay { inner: FsStore::create(&directory)?, delay }));
    let backend = Backend::of_store(&Location::Directory(directory), store.clone());
    let started = Instant::now();
    let input = create(&backend, Parameters::default())?;
    let state = |id: copal_format::id::RepositoryId| temporary.join(id.to_string());
    let open = || Repository::open(&backend, &input, state);
    LocalClient::load_or_register(&open()?, "measured")?;
    tell("init", started, &store);
    for act in ["first backup", "unchanged"] {
        let started = Instant::now();
        let repository = open()?;
        let client = LocalClient::load_or_register(&repository, "measured")?;
        back_up(&repository, &client, source)?;
        tell(act, started, &store);
    }
    let started = Instant::now();
    restored(&open()?, temporary.join("restored"))?;
    tell("restore", started, &store);
    Ok(())
}

fn tell(act: &str, started: Instant, store: &Record<Delay>) {
    let seconds = started.elapsed().as_secs_f64();
    let events = store.take();
    println!("| {act} | {seconds:.2} | {} |", events.len());
    if std::env::var_os("CALLS").is_some() {
        for event in events {
            let key: String = event.key.chars().take(60).collect();
            println!("    {:>12} {key} {} {:?}", event.op.to_string(), event.length, event.span);
        }
    }
}

fn restored(repository: &Repository, target: PathBuf) -> Result<(), Failure> {
    let view = wait(copal_jobs::view::read(repository.store().as_ref()))?;
    let history = History::read(repository, &view).map_err(|failure| failure.to_string())?;
    let snapshot = history.snapshots.last().ok_or("there is no snapshot")?;
    let pages = pages(repository, &view, snapshot.domain);
    let request = Request {
        numeric_owner: true,
        ..Request::whole(&pages, snapshot, target, repository.backend().readers(thread::available_parallelism()?.get()))
    };
    restore(&request, &Default::default(), &|_| {}, &AtomicBool::new(false))?;
    Ok(())
}

/// A store that answers late.
struct Delay {
    inner: FsStore,
    delay: Duration,
}

impl Delay {
    async fn pass(&self) {
        if self.delay.is_zero() {
            return;
        }
        let (wake, woken) = oneshot::channel();
        let delay = self.delay;
        thread::spawn(move || {
            thread::sleep(delay);
            let _ = wake.send(());
        });
        let _ = woken.await;
    }
}

#[async_trait]
impl Store for Delay {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        self.pass().await;
        self.inner.create(key, bytes).await
    }
    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        self.pass().await;
        self.inner.read(key).await
    }
    async fn read_range(&self, key: &Key, range: std::ops::Range<u64>) -> Result<Bytes, StoreError> {
        self.pass().await;
        self.inner.read_range(key, range).await
    }
    async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError> {
        self.pass().await;
        self.inner.stat(key).await
    }
    async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
        self.pass().await;
        self.inner.list(prefix, after, limit).await
    }
    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        self.pass().await;
        self.inner.delete(key).await
    }
    async fn now(&self) -> Result<StoreTime, StoreError> {
        self.pass().await;
        self.inner.now().await
    }
    async fn map(&self, key: &Key) -> Result<Bytes, StoreError> {
        self.pass().await;
        self.inner.map(key).await
    }
    fn is_remote(&self) -> bool {
        true
    }
}
