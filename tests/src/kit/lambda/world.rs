//! World: a bucket of a real server with the kit's repository in it, and the functions for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use copal_format::client::Role;
use copal_format::layout;
use copal_format::receipt::Receipt;
use copal_jobs::view;
use copal_store::Store;
use copal_store::s3::S3Store;
use futures::executor::block_on;

use super::cloud::{Cloud, Deployment};
use crate::kit::repository::key;
use crate::kit::s3::{Kind, Server};
use crate::kit::{Client, Failure, How, Reader, Repository, SeededEntropy, Tree, tree};

/// A bucket with the kit's repository in it.
pub struct World {
    pub server: Server,
    pub bucket: String,
    pub store: Arc<S3Store>,
    pub repository: Repository,
    prefix: &'static str,
    entropy: SeededEntropy,
}

impl World {
    /// A repository that fills a bucket of versitygw.
    pub fn start() -> Self {
        Self::on(Server::start(Kind::Versity), "")
    }

    /// A repository in a folder of a new bucket.
    pub fn on(server: Server, prefix: &'static str) -> Self {
        let bucket = server.bucket();
        let store = Arc::new(server.store(&bucket, prefix));
        let repository = Repository::new();
        block_on(repository.create(store.as_ref())).expect("the store takes it");
        Self { server, bucket, store, repository, prefix, entropy: SeededEntropy::new(5) }
    }

    pub fn cloud(&self, change: impl FnOnce(&mut Deployment)) -> Cloud {
        let mut variables: Vec<(String, String)> =
            self.server.environment().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let fingerprint = self.repository.owner.fingerprint().to_string();
        variables.push(("COPAL_OWNER_FINGERPRINT".to_owned(), fingerprint));
        let mut deployment = Deployment::new(&self.bucket, self.prefix, variables);
        change(&mut deployment);
        Cloud::start(&deployment, self.store.clone())
    }

    /// A new full client.
    pub fn register(&self, number: u8) -> Client {
        block_on(self.repository.register(self.store.as_ref(), number, Role::Full)).expect("the store takes it")
    }

    /// A backup that leaves the decision to the functions.
    pub fn upload(&self, client: &Client, content: &[u8]) {
        let how = How { ingests: false, patience: 1, ..How::default() };
        let job = self.repository.job(self.store.as_ref(), &self.entropy);
        let result = block_on(client.back_up(&job, &files(content), &how));
        assert!(matches!(result, Ok(_) | Err(Failure::Patience { last: None })), "{result:?}");
    }

    /// The answer to a manifest, once it is there.
    pub fn receipt(&self, client: &Client, number: u64) -> Receipt {
        let name = layout::receipt(client.id, number);
        let bytes = until("the manifest is answered", || block_on(self.store.read(&key(&name))).ok());
        Receipt::decode(client.id, number, &bytes).expect("receipts can be read")
    }

    /// What the snapshot of an accepted manifest holds.
    pub fn restore(&self, receipt: &Receipt) -> Tree {
        let view = block_on(view::read(self.store.as_ref())).expect("the state can be read");
        let snapshot = view.state.snapshots.values().find(|of| of.id == receipt.manifest.snapshot());
        let snapshot = snapshot.expect("the snapshot is known").clone();
        let reader = Reader::new(&self.repository);
        block_on(reader.restore(self.store.as_ref(), &view, &snapshot)).expect("the snapshot is whole")
    }
}

/// A small tree that this content makes.
pub fn files(content: &[u8]) -> Tree {
    tree([("a/letter", content), ("b/large", &content.repeat(300)[..])])
}

pub fn until<T>(what: &str, mut is_it: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(240);
    loop {
        if let Some(found) = is_it() {
            return found;
        }
        assert!(Instant::now() < deadline, "not within four minutes: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
