//! Makes `tests/golden/repository/` and what belongs to it. It is not made anew when the program changes: it is what an
//! earlier version wrote, and every later one must read it (`docs/testing.md`).
//!
//! `cargo run -p copal-cli --example golden_repository -- tests/golden`, as root, where there is no `/golden`.
#![forbid(unsafe_code)]

#[path = "../../tests/round_trip/acts.rs"]
mod acts;
#[path = "../../tests/kit/listing.rs"]
mod listing;
mod others;
mod source;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use copal_client::backend::Backend;
use copal_client::changes;
use copal_client::location::Location;
use copal_client::repository::{self, Init, LocalClient, ReaderProgram, Repository};
use copal_client::wait::wait;
use copal_format::change::{Operation, OwnerSignature};
use copal_format::id::SnapshotId;
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::owner::TextPurpose;
use copal_format::keys::secret::Secret;
use copal_format::keys::slot::{Argon2Params, SlotInput};
use copal_format::keys::text::encode_key_file;
use copal_format::policy::{Count, Period, Policy, SignedPolicy, Span};
use copal_format::receipt::IngestBy;
use copal_jobs::check::{Depth, check};
use copal_jobs::compact::compact;
use copal_jobs::expire::expire;
use copal_jobs::prune::GRACE;
use copal_jobs::rebuild::rebuild;

use serde_json::Value;
use source::Tree;

fn main() {
    let folder = PathBuf::from(std::env::args_os().nth(1).expect("the folder of golden files is named"));
    let repository = folder.join("repository");
    assert!(!repository.exists(), "{} is there: it is never made anew", repository.display());
    let state = tempfile::tempdir().expect("a directory");
    let golden = Golden::make(&folder, &repository, state.path());
    golden.live();
    fs::remove_dir_all(SOURCE).expect("the source is ours");
    let report = wait(check(&golden.repository.job(), Depth::Structure)).expect("it can be checked");
    assert!(report.is_ok(), "{:?}", report.findings);
    for unfinished in ["tmp", "work", "reports"] {
        let _ = fs::remove_dir_all(repository.join(unfinished));
    }
}

/// The repository, and where the files beside it go.
struct Golden<'a> {
    folder: &'a Path,
    repository: Repository,
    client: LocalClient,
}

impl<'a> Golden<'a> {
    fn make(folder: &'a Path, directory: &Path, state: &Path) -> Self {
        let passphrase = SlotInput::passphrase("golden").expect("a passphrase");
        let key: [u8; 32] = source::noise(9, 32).try_into().expect("32 bytes");
        let backend = Backend::create(&Location::Directory(directory.to_owned())).expect("a directory");
        let made = repository::init(&Init {
            backend: &backend,
            inputs: &[passphrase, SlotInput::KeyFile(Secret::new(key))],
            parameters: acts::small(),
            ingest: IngestBy::Client,
            argon2: Argon2Params { m_kib: 8 << 10, t: 1, p: 1 },
            // The least of all modules: what is built has no place among golden files.
            reader: Some(&ReaderProgram::new(b"\0asm\x01\0\0\0".to_vec()).expect("a module")),
        });
        let made = made.expect("a repository");
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("a golden file");
        write("recovery-code.txt", &format!("{}\n", made.recovery_code.as_str()));
        write("key.txt", &encode_key_file(&Secret::new(key)));
        fs::create_dir_all(folder.join("trees")).expect("a directory");
        let input = SlotInput::passphrase("golden").expect("a passphrase");
        let repository = Repository::open(&backend, &input, |_| state.to_owned()).expect("it was just made");
        let client = LocalClient::load_or_register(&repository, "golden").expect("a client");
        Self { folder, repository, client }
    }

    /// The repository's life, from the first backup to the last.
    fn live(&self) {
        let tree = Tree::new(Path::new(SOURCE));
        tree.fill();
        let first = self.back_up("", &["first", "wrong"]);
        tree.change();
        let second = self.back_up("", &["second"]);
        tree.swell();
        let outdated = self.back_up("by label", &[]);
        let labelled = self.back_up("by label", &["labelled"]);
        let sender = others::sender(self);
        let lost = others::revoked(self);
        others::rejected(self);
        others::partial(self);
        self.decide(&first, &second, &labelled);
        let expired = wait(expire(&self.repository.job(), IngestBy::Service)).expect("nothing else runs").expired;
        assert_eq!(expired, [outdated]);
        self.prune(Duration::ZERO);
        wait(rebuild(&self.repository.job())).expect("nothing else runs");
        tree.shrink();
        let third = self.back_up("", &[]);
        self.change(vec![Operation::Forget(vec![second])]);
        self.prune(Duration::ZERO);
        wait(compact(&self.repository.job())).expect("nothing else runs");
        tree.finish();
        let last = self.back_up("", &["last"]);
        // What is only flagged: an overlay stays.
        self.change(vec![Operation::Forget(vec![third])]);
        self.prune(Duration::from_secs(86_400));
        fs::rename(self.tree_of(last), self.folder.join("tree.json")).expect("it was just written");
        for gone in [second, third, outdated] {
            fs::remove_file(self.tree_of(gone)).expect("it was written");
        }
        println!("first {first}, last {last}, of the sender {sender}, of the revoked client {lost}");
    }

    /// Every operation that a change can hold.
    fn decide(&self, first: &SnapshotId, second: &SnapshotId, labelled: &SnapshotId) {
        let keys: DomainKeys = self.repository.domain_keys(self.client.domain);
        let added = keys.tag_id("added later");
        let sealed = self.repository.owner.seal_text(TextPurpose::TagName, &added.0, "added later");
        let rules = Policy { tags: vec![vec![keys.tag_id("kept")]], ..Policy::default() }
            .keeping(Period::Last, Count::N(1))
            .keeping_within(Period::Last, Span { hours: 0, ..Span::default() });
        let policy = SignedPolicy::new(rules, "CET-1CEST,M3.5.0,M10.5.0/3", GRACE, 7).expect("a sound policy");
        self.change(vec![
            Operation::Pin(vec![*first, *second]),
            Operation::Tag { snapshots: vec![*first], add: vec![(added, sealed)], remove: vec![keys.tag_id("wrong")] },
            Operation::OwnerPolicy { policy: policy.encode(), signature: OwnerSignature::NONE },
        ]);
        self.change(vec![Operation::Unpin(vec![*second]), Operation::Forget(vec![*first, *second])]);
        self.change(vec![Operation::Undelete(vec![*second]), Operation::Pin(vec![*labelled])]);
    }

    fn change(&self, operations: Vec<Operation>) {
        changes::write(&self.repository, &self.client, operations)
            .expect("a full client may")
            .expect("something to say");
    }

    /// Backs up the source and writes down what it holds.
    fn back_up(&self, label: &str, tags: &[&str]) -> SnapshotId {
        let mut options = acts::usual(Path::new(SOURCE));
        options.label = label.into();
        options.tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        let outcome = acts::back_up(&self.repository, &self.client, Path::new(SOURCE), &options);
        self.keep(outcome.snapshot.expect("a snapshot was made"), SOURCE)
    }

    /// Writes down what a snapshot of a directory must hold.
    fn keep(&self, snapshot: SnapshotId, source: &str) -> SnapshotId {
        let entries = listing::listing(Path::new("/"), source.strip_prefix('/').expect("it is absolute"));
        fs::write(self.tree_of(snapshot), write(&entries)).expect("a golden file");
        snapshot
    }

    fn tree_of(&self, snapshot: SnapshotId) -> PathBuf {
        self.folder.join("trees").join(format!("{snapshot}.json"))
    }

    fn prune(&self, grace: Duration) {
        println!("{:?}", acts::prune(&self.repository, grace));
    }
}

/// The text of a golden file: an array, an entry a line. Bytes that are no UTF-8 become the escapes `\udcxx`.
fn write(entries: &[Value]) -> String {
    let lines: Vec<String> = entries.iter().map(|entry| entry.to_string().replace(r"\\udc", r"\udc")).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

/// What is backed up: always the same path, so that nothing of this machine but its top directory is in the tree.
const SOURCE: &str = "/golden";
