//! History: lists the snapshots of a repository from manifests whose signatures verify, and adds what the state knows
//! (forgotten, pinned, changed tags).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use copal_engine::read::{Allowance, SignedSnapshot};
use copal_format::change::{Change, Operation};
use copal_format::client::ClientRecord;
use copal_format::id::{ClientId, DomainId, TagId};
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::owner::TextPurpose;
use copal_format::layout;
use copal_format::state::{SnapshotRecord, SnapshotState};
use copal_jobs::context::JobContext;
use copal_jobs::error::JobError;
use copal_jobs::view::View;
use copal_jobs::{clients, objects};
pub use copal_reader::Signer;
use copal_store::{Store, StoreError};
use futures::future::join3;
use futures::stream::{self, StreamExt, TryStreamExt};

use crate::causes::with_causes;
use crate::listed::{Description, Listed, SnapshotKey};
use crate::reader::{BlockReader, PageReader};
use crate::repository::Repository;
use crate::wait::wait;

mod snapshot;

pub use snapshot::Snapshot;

/// The snapshots that could be read, the oldest first, and the problems with the others.
pub struct History {
    /// All snapshots that are not gone, including forgotten ones and checkpoints.
    pub snapshots: Vec<Snapshot>,
    /// Names of manifests that do not verify or open, and why.
    pub problems: Vec<(String, String)>,
}

impl History {
    /// Reads all snapshots of a state. From a remote repository it reads only new manifests; of those that this machine
    /// has read before, it checks only that they exist.
    pub fn read(repository: &Repository, view: &View) -> Result<Self, JobError> {
        let cached = Listed::read(repository);
        let (history, signers) = Self::gather(repository, view, &[], &cached)?;
        let signer = |snapshot: &Snapshot| signers.get(&snapshot.key.0)?.as_ref();
        let is_cached = |snapshot: &Snapshot| {
            signer(snapshot).is_some_and(|by| cached.get(&snapshot.key, &snapshot.id, by).is_some())
        };
        if repository.listed().is_some()
            && (cached.len() != history.snapshots.len() || !history.snapshots.iter().all(is_cached))
        {
            let row = |snapshot: &Snapshot| {
                Some((snapshot.key, signer(snapshot)?.keys.as_ref()?.manifest, snapshot.description()))
            };
            Listed::write(repository, history.snapshots.iter().filter_map(row).collect());
        }
        Ok(history)
    }

    /// Like [`History::read`], but reads all manifests, except those of `known` snapshots whose records are the same.
    pub fn renew(repository: &Repository, view: &View, known: &[Snapshot]) -> Result<Self, JobError> {
        Self::gather(repository, view, known, &Listed::default()).map(|(history, _)| history)
    }

    fn gather(
        repository: &Repository,
        view: &View,
        known: &[Snapshot],
        cached: &Listed,
    ) -> Result<(Self, Signers), JobError> {
        let store = repository.store().as_ref();
        let known: BTreeMap<_, _> = known.iter().map(|snapshot| (snapshot.key, snapshot)).collect();
        let mut history = Self { snapshots: Vec::new(), problems: Vec::new() };
        let mut tag_names = None;
        let mut there: Vec<Row<'_>> =
            view.state.snapshots.iter().filter(|(_, record)| record.state != SnapshotState::Gone).collect();
        there.retain(|(key, record)| {
            let same = known.get(key).filter(|snapshot| snapshot.record == **record);
            history.snapshots.extend(same.map(|snapshot| (*snapshot).clone()));
            same.is_none()
        });
        let clients: BTreeSet<ClientId> = there.iter().map(|(key, _)| key.0).collect();
        let (described, mut unread): (Vec<_>, Vec<_>) =
            there.into_iter().partition(|(key, record)| cached.has(key, &record.id));
        let names = |rows: &[Row<'_>]| rows.iter().map(|(key, _)| layout::manifest(key.0, key.1)).collect::<Vec<_>>();
        // All at once, because each round trip to a remote store takes time. In batches, because there may be very many
        // manifests.
        let first = unread.split_off(unread.len().saturating_sub(MANIFESTS));
        let listing =
            async { if described.is_empty() { Ok(Vec::new()) } else { objects::list(store, "manifests/").await } };
        let first_names = names(&first);
        let manifests = objects::read_many(store, &first_names);
        let (present, signers, manifests) = wait(join3(listing, signers(repository, clients), manifests));
        let (present, signers) = (present?, signers?);
        let present: BTreeSet<&str> = present.iter().map(|listed| listed.key.as_str()).collect();
        let signer = |key: &SnapshotKey| signers.get(&key.0).and_then(Option::as_ref);

        let mut opened = Vec::new();
        for (key, record) in described {
            let is_present = present.contains(layout::manifest(key.0, key.1).as_str());
            let by = signer(key).filter(|_| is_present);
            match by.and_then(|by| Some((by, cached.get(key, &record.id, by)?.clone()))) {
                Some((by, description)) => opened.push((key, Ok(snapshot(repository, *key, record, by, description)))),
                None => unread.push((key, record)),
            }
        }
        let allowances = allowances(&signers, view);
        // What is held already takes its room.
        for held in &history.snapshots {
            let _ = allowances.get(&held.key.0).map(|left| left.take(&held.info));
        }
        let open = |((key, record), manifest): (&Row<'_>, _)| {
            let signer = signer(key).ok_or_else(|| no_record(key.0))?;
            let snapshot = read_snapshot(repository, manifest, **key, record, signer)?;
            let taken = allowances.get(&key.0).map_or(Ok(()), |left| left.take(&snapshot.info));
            taken.map(|()| snapshot).map_err(|error| error.to_string())
        };
        let read = |rows| wait(objects::read_many(store, &names(rows)));
        let batches = std::iter::once((first.as_slice(), manifests));
        for (rows, manifests) in batches.chain(unread.chunks(MANIFESTS).map(|rows| (rows, read(rows)))) {
            let results = on_all_cores(rows.iter().zip(manifests).collect(), open);
            opened.extend(rows.iter().map(|(key, _)| *key).zip(results));
        }
        for (key, opened) in opened {
            match opened {
                Ok(mut snapshot) => {
                    name_tags(repository, &mut snapshot, &mut tag_names)?;
                    history.snapshots.push(snapshot);
                }
                Err(why) => history.problems.push((layout::manifest(key.0, key.1), why)),
            }
        }
        history.snapshots.sort_by_key(Snapshot::age);
        Ok((history, signers))
    }

    /// Reads one snapshot of a state; the inner error is the reason, as text.
    pub fn read_one(
        repository: &Repository,
        key: (ClientId, u64),
        record: &SnapshotRecord,
    ) -> Result<Result<Snapshot, String>, JobError> {
        let Some(signer) = wait(read_client(&repository.job(), key.0))? else { return Ok(Err(no_record(key.0))) };
        let manifest = wait(objects::read(repository.store().as_ref(), &layout::manifest(key.0, key.1)));
        Ok(read_snapshot(repository, manifest, key, record, &signer))
    }

    /// The snapshots that are kept (not forgotten) and no checkpoints.
    pub fn kept(&self) -> impl Iterator<Item = &Snapshot> {
        self.snapshots.iter().filter(|snapshot| snapshot.is_kept())
    }

    /// Forgotten snapshots that can still be undeleted.
    pub fn forgotten(&self) -> impl Iterator<Item = &Snapshot> {
        let is_forgotten = |record: &SnapshotRecord| record.state == SnapshotState::Forgotten && !record.partial;
        self.snapshots.iter().filter(move |snapshot| is_forgotten(&snapshot.record))
    }
}

/// A snapshot of a state: its client and number, and what the state says of it.
type Row<'a> = (&'a SnapshotKey, &'a SnapshotRecord);

/// The records of clients; `None` where the record is lost or damaged.
type Signers = BTreeMap<ClientId, Option<ClientRecord>>;

/// What the descriptions of each write-only client may take.
fn allowances(signers: &Signers, view: &View) -> BTreeMap<ClientId, Allowance> {
    let of = |signer: &ClientRecord| {
        let snapshots = view.state.snapshots.range((signer.client, 0)..=(signer.client, u64::MAX)).count();
        Some((signer.client, Allowance::of(signer.role, DESCRIPTIONS, snapshots)?))
    };
    signers.values().flatten().filter_map(of).collect()
}

/// Calls `act` with each item, on all cores: opening a description takes a quarter of a millisecond.
fn on_all_cores<T: Send, R: Send>(mut items: Vec<T>, act: impl Fn(T) -> R + Sync) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(2, usize::from);
    let each = items.len().div_ceil(cores).max(FEW);
    let act = &act;
    thread::scope(|scope| {
        let mut parts = Vec::new();
        while items.len() > each {
            let part = items.split_off(items.len() - each);
            parts.push(scope.spawn(move || part.into_iter().map(act).collect::<Vec<R>>()));
        }
        let mut done: Vec<R> = items.into_iter().map(act).collect();
        for part in parts.into_iter().rev() {
            done.extend(part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    })
}

async fn signers(repository: &Repository, clients: BTreeSet<ClientId>) -> Result<Signers, JobError> {
    let job = &repository.job();
    let reads = clients.into_iter().map(|client| async move { Ok((client, read_client(job, client).await?)) });
    stream::iter(reads.collect::<Vec<_>>()).buffer_unordered(MANIFESTS).try_collect().await
}

async fn read_client(job: &JobContext<'_>, client: ClientId) -> Result<Option<ClientRecord>, JobError> {
    match clients::read(job, client).await {
        Ok(record) => Ok(record),
        Err(error) => error.blame().map(|_| None),
    }
}

fn no_record(client: ClientId) -> String {
    format!("clients/{client}, the record of its client, is lost or damaged")
}

fn read_snapshot(
    repository: &Repository,
    manifest: Result<Option<Bytes>, StoreError>,
    (client, number): (ClientId, u64),
    record: &SnapshotRecord,
    signer: &ClientRecord,
) -> Result<Snapshot, String> {
    let bytes = manifest.map_err(|error| with_causes(&error))?.ok_or("it is not there")?;
    let signed =
        SignedSnapshot::verify(&repository.owner, signer, number, &bytes).map_err(|error| with_causes(&error))?;
    let info = signed.info(&repository.owner).map_err(|error| with_causes(&error))?;
    let description = Description {
        id: signed.id(),
        domain: signed.domain,
        root: signed.claim.root,
        time: signed.claim.client_time,
        info,
    };
    Ok(snapshot(repository, (client, number), record, signer, description))
}

fn snapshot(
    repository: &Repository,
    key: (ClientId, u64),
    record: &SnapshotRecord,
    signer: &ClientRecord,
    description: Description,
) -> Snapshot {
    let Description { id, domain, root, time, info } = description;
    let (signer, tags) = (Signer::of(&repository.owner, signer), info.tags.clone());
    Snapshot { id, key, signer, domain, root, time, info, tags, record: record.clone() }
}

/// Sets the snapshot's tags to those of the state. The names of tags added later are in the changes.
fn name_tags(
    repository: &Repository,
    snapshot: &mut Snapshot,
    added: &mut Option<BTreeMap<TagId, String>>,
) -> Result<(), JobError> {
    let keys: DomainKeys = repository.domain_keys(snapshot.domain);
    let own: BTreeMap<TagId, &String> = snapshot.info.tags.iter().map(|tag| (keys.tag_id(tag), tag)).collect();
    if own.keys().copied().collect::<Vec<_>>() == snapshot.record.tags {
        return Ok(());
    }
    if added.is_none() {
        *added = Some(tags_added(repository)?);
    }
    let named = |tag: &TagId| {
        let own = own.get(tag).map(|name| (*name).clone());
        own.or_else(|| added.as_ref()?.get(tag).cloned()).unwrap_or_else(|| tag.to_string())
    };
    let mut tags: Vec<String> = snapshot.record.tags.iter().map(named).collect();
    tags.sort();
    snapshot.tags = tags;
    Ok(())
}

/// The names of all tags that changes have added.
pub fn tags_added(repository: &Repository) -> Result<BTreeMap<TagId, String>, JobError> {
    let mut names = BTreeMap::new();
    let store: &dyn Store = repository.store().as_ref();
    for listed in wait(objects::list(store, "changes/"))? {
        let name = listed.key.as_str();
        let Some(number) = layout::trailing_number(name) else { continue };
        // A change that cannot be read hides only the names of its own tags.
        let bytes = match wait(objects::read(store, name)).map_err(JobError::from) {
            Ok(bytes) => bytes,
            Err(error) => error.blame().map(|_| None)?,
        };
        let Some(bytes) = bytes else { continue };
        let Ok(client) = Change::claimed_client(&bytes) else { continue };
        let signer = wait(read_client(&repository.job(), client))?;
        let Some(keys) = signer.and_then(|signer| signer.keys) else { continue };
        let Ok(verified) = Change::verify(repository.id(), &keys.manifest, client, number, &bytes) else { continue };
        for operation in &verified.change.operations {
            let Operation::Tag { add, .. } = operation else { continue };
            for (tag, sealed) in add {
                if let Ok(name) = repository.owner.open_text(TextPurpose::TagName, &tag.0, sealed) {
                    names.insert(*tag, name);
                }
            }
        }
    }
    Ok(names)
}

/// A reader of a domain's pages.
pub fn pages(repository: &Repository, view: &View, domain: DomainId) -> PageReader {
    let store: Arc<dyn Store> = repository.store().clone();
    let blocks = Arc::new(BlockReader::new(store, repository.owner.clone(), domain));
    PageReader::new(blocks, view, repository.domain_keys(domain))
}

/// Bytes of memory that the descriptions of a write-only client may take, however few snapshots it has.
const DESCRIPTIONS: u64 = 256 << 20;
/// The least descriptions for a thread: fewer are not worth one.
const FEW: usize = 8;
/// Manifests held at once, and client records read at once.
const MANIFESTS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_cores_do_comes_in_order() {
        for count in [0, 1, 7, 8, 9, 100, 257] {
            let doubled = on_all_cores((0..count).collect(), |number: u32| 2 * number);
            assert_eq!(doubled, (0..count).map(|number| 2 * number).collect::<Vec<_>>());
        }
    }
}
