//! Team: a repository in a bucket as people use it: machines with the command, through the gateway or with access keys.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use copal_format::layout;
use copal_gateway::router::read_facts;
use copal_jobs::view;
use copal_store::list_all;
use copal_store::s3::S3Store;
use futures::executor::block_on;

use super::cloud::{Cloud, Deployment};
use crate::kit::machine::{Machine, contents};
use crate::kit::s3::{Kind, Server};

/// What lies below a directory.
pub type Contents = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// A bucket with a repository that a service ingests, and machines that use it by the command.
pub struct Team {
    pub server: Server,
    pub bucket: String,
    pub store: Arc<S3Store>,
    fingerprint: String,
}

impl Team {
    pub fn start() -> Self {
        let server = Server::start(Kind::Versity);
        let bucket = server.bucket();
        Self::on(server, bucket)
    }

    /// On a new server, in a bucket with Object Lock.
    pub fn with_locks() -> Self {
        let server = Server::keeping_versions(Kind::Versity);
        let bucket = server.bucket_with_locks();
        Self::on(server, bucket)
    }

    fn on(server: Server, bucket: String) -> Self {
        let store = Arc::new(server.store(&bucket, "team"));
        let mut team = Self { server, bucket, store, fingerprint: String::new() };
        let owner = team.machine("maker", PASSPHRASE, &team.address(), false);
        owner.run(&["init", "--ingest", "service"]).unwrap();
        let facts = block_on(read_facts(team.store.as_ref(), None)).unwrap().expect("the repository was made");
        team.fingerprint = facts.owner.to_string();
        team
    }

    /// The repository's address for who has access keys.
    pub fn address(&self) -> String {
        format!("s3://{}/team", self.bucket)
    }

    pub fn cloud(&self, change: impl FnOnce(&mut Deployment)) -> Cloud {
        let mut variables = self.keys();
        variables.push(("COPAL_OWNER_FINGERPRINT".to_owned(), self.fingerprint.clone()));
        variables.push(("COPAL_OPEN_SLOTS".to_owned(), "true".to_owned()));
        let mut deployment = Deployment::new(&self.bucket, "team", variables);
        change(&mut deployment);
        Cloud::start(&deployment, self.store.clone())
    }

    /// A machine that reaches the repository through the gateway, or with access keys.
    pub fn machine(&self, name: &str, passphrase: &str, repository: &str, is_behind_gateway: bool) -> Machine {
        let mut variables = if is_behind_gateway { Vec::new() } else { self.keys() };
        if !passphrase.is_empty() {
            variables.push(("COPAL_PASSWORD".to_owned(), passphrase.to_owned()));
        }
        Machine::new(name, repository, &variables)
    }

    /// A machine that joined with a line of the owner's.
    pub fn join(&self, owner: &Machine, name: &str, role: &str, gateway: &str) -> Machine {
        let passphrase = if role == "full" { PASSPHRASE } else { "" };
        let machine = self.machine(name, passphrase, gateway, true);
        let line = owner.run(&["client", "add", "--name", name, "--role", role, "--quiet"]).unwrap();
        std::fs::write(machine.place("line"), line).unwrap();
        machine.run(&["client", "join", "line"]).unwrap();
        machine
    }

    fn keys(&self) -> Vec<(String, String)> {
        self.server.environment().into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Makes every object so much older, by the store's clock.
    pub fn age(&self, by: Duration) {
        let time = SystemTime::now() - by;
        let mut open = vec![self.server.files(&self.bucket)];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                if entry.file_type().unwrap().is_dir() {
                    open.push(entry.path());
                } else {
                    let file = std::fs::File::options().write(true).open(entry.path()).unwrap();
                    file.set_modified(time).unwrap();
                }
            }
        }
    }

    /// Packs and segments that the newest root does not name.
    pub fn orphans(&self) -> BTreeSet<String> {
        let state = block_on(view::read(self.store.as_ref())).expect("the state can be read").state;
        let packs = state.packs.iter().map(|(id, pack)| layout::pack(pack.place, *id));
        let segments = state.segments.keys().map(|(_, hash)| layout::segment(*hash));
        let named: BTreeSet<String> = packs.chain(segments).collect();
        assert!(!named.is_empty());
        let listed = ["packs/", "moved/", "index/"]
            .into_iter()
            .flat_map(|prefix| block_on(list_all(self.store.as_ref(), prefix)).expect("the store answers"));
        listed.map(|listed| listed.key.as_str().to_owned()).filter(|name| !named.contains(name)).collect()
    }
}

/// What was restored of a machine's files, wherever below the target they lie.
pub fn restored(out: &Path, files: &Path) -> Contents {
    let whole = out.join(files.strip_prefix("/").unwrap());
    contents(if whole.is_dir() { &whole } else { out })
}

pub fn assert_same(expected: &Contents, found: &Contents) {
    assert_eq!(expected.keys().collect::<Vec<_>>(), found.keys().collect::<Vec<_>>());
    for (path, content) in expected {
        assert!(found[path] == *content, "{} differs", path.display());
    }
}

pub const PASSPHRASE: &str = "correct horse battery staple";
