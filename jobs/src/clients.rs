//! Clients: their records in the store, each of which is stored twice.

mod late;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use copal_format::client::{ClientError, ClientHistory, ClientRecord, read_chain};
use copal_format::id::ClientId;
use copal_format::layout;
use copal_format::limits::CHAIN_LEAP;
use copal_format::number::reached;
use copal_format::state::ClientHead;
use copal_format::time::Time;
use copal_store::{Store, StoreError};

use crate::context::JobContext;
use crate::error::JobError;
use crate::faults::{Mistake, is_planted};
use crate::objects;
use crate::witness::refusal;
use late::Records;

/// The newest record of a client; none if it has no record. An unsound record might be the one that revokes the client,
/// so if both copies of a version are unsound, this fails.
pub async fn read(job: &JobContext<'_>, client: ClientId) -> Result<Option<ClientRecord>, JobError> {
    Ok(know(job, client).await?.record)
}

/// Like [`read`], but none for a client that joined after its enrollment had ended: nothing that it signs may count.
pub async fn admitted(job: &JobContext<'_>, client: ClientId) -> Result<Option<ClientRecord>, JobError> {
    let known = know(job, client).await?;
    Ok(known.record.filter(|_| !known.is_late))
}

/// Whether a client joined after its enrollment had ended, and nothing of it was accepted yet. Unlike [`know`], passes
/// over unsound records.
pub(crate) async fn is_late(job: &JobContext<'_>, client: ClientId) -> Result<bool, JobError> {
    let times = names(job, client).await?;
    let records = Records { job, client, times: &times };
    records.are_late(None).await
}

/// Drops a revocation, if a test has planted that fault.
fn forget_revocation(mut record: ClientRecord) -> ClientRecord {
    record.revoked = record.revoked.filter(|_| !is_planted(Mistake::RevocationForgets));
    record
}

/// What is known of a client.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The newest record.
    pub record: Option<ClientRecord>,
    /// Whether the client joined after its enrollment had ended, and nothing of it was accepted yet.
    pub is_late: bool,
    /// Copies of its record versions that are missing.
    pub missing: Vec<Copy>,
}

/// A missing copy of a client record, and the bytes it should hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// The object's name.
    pub name: String,
    /// The bytes of the existing copy.
    pub bytes: Bytes,
}

/// Reads a client's records. Reads second copies only if first ones are unsound, or if the client looks late.
pub async fn know(job: &JobContext<'_>, client: ClientId) -> Result<Known, JobError> {
    let names = names(job, client).await?;
    if names.is_empty() {
        return Ok(Known::default());
    }
    let records = Records { job, client, times: &names };
    let firsts = names.keys().filter(|(version, name)| *name == layout::client(client, *version));
    let firsts = fetch(job, firsts).await?.bytes;
    let versions: BTreeSet<u64> = names.keys().map(|(version, _)| *version).collect();
    if firsts.len() == versions.len()
        && let Ok(record) = read_chain(job.repository, &job.owner_key, client, &versions_of(&firsts))
    {
        let is_late = records.are_late(Some(&firsts)).await?;
        let copies =
            firsts.into_iter().map(|((version, _), bytes)| (version, layout::client_copy(client, version), bytes));
        let missing = copies.filter(|(version, name, _)| !names.contains_key(&(*version, name.clone())));
        let missing = missing.map(|(_, name, bytes)| Copy { name, bytes: bytes.into() }).collect();
        return Ok(Known { record: Some(forget_revocation(record)), is_late, missing });
    }
    let Survey { record, missing, .. } = survey(job, client).await?;
    let record = record.transpose().map_err(|error| JobError::damaged(format!("clients/{client}"), error))?;
    Ok(Known { record: record.map(forget_revocation), is_late: records.are_late(None).await?, missing })
}

/// All copies of a client's records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// The newest record, or why none can be believed; none without records.
    pub record: Option<Result<ClientRecord, ClientError>>,
    /// Copies that are missing while the other copy is sound.
    pub missing: Vec<Copy>,
    /// Copies that are damaged while the other copy is sound, with what they should be.
    pub damaged: Vec<Copy>,
    /// Copies that the store has and does not give while the other copy is sound, with what they should be, and why.
    pub unreadable: Vec<(Copy, String)>,
    /// Copies that are sound, and differ from the other copy, which is sound too.
    pub contradicting: Vec<String>,
}

/// Reads all copies of a client's records. Fails if the store gives no copy of a version: it might be the one that
/// revokes the client.
pub async fn survey(job: &JobContext<'_>, client: ClientId) -> Result<Survey, JobError> {
    let Fetched { bytes: found, mut refused } = fetch(job, names(job, client).await?.keys()).await?;
    let unread = refused.keys().find(|(version, _)| !found.keys().any(|(of, _)| of == version)).cloned();
    if let Some((_, error)) = unread.and_then(|unread| refused.remove(&unread)) {
        return Err(error.into());
    }
    if found.is_empty() {
        return Ok(Survey::default());
    }
    let chain = read_chain(job.repository, &job.owner_key, client, &versions_of(&found));
    let mut survey = Survey { record: Some(chain), ..Survey::default() };
    let mut sound: Vec<(u64, Vec<u8>)> = Vec::new();
    for version in found.keys().map(|(version, _)| *version).collect::<BTreeSet<u64>>() {
        let copies = [layout::client(client, version), layout::client_copy(client, version)];
        let copies = copies.map(|name| (found.get(&(version, name.clone())), name));
        let is_sound = |bytes: &&Vec<u8>| {
            let versions = [&sound[..], &[(version, bytes.to_vec())]].concat();
            let history = ClientHistory::read(job.repository, &job.owner_key, client, &versions);
            history.newest.is_some_and(|newest| newest.version == version)
        };
        let Some(whole) = copies.iter().filter_map(|(bytes, _)| *bytes).find(is_sound).cloned() else { continue };
        for (bytes, name) in copies {
            let refused = refused.get(&(version, name.clone()));
            match (bytes, refused) {
                (None, None) => survey.missing.push(Copy { name, bytes: whole.clone().into() }),
                (None, Some((why, _))) => {
                    survey.unreadable.push((Copy { name, bytes: whole.clone().into() }, why.clone()));
                }
                (Some(bytes), _) if *bytes == whole => {}
                (Some(bytes), _) if is_sound(&bytes) => survey.contradicting.push(name),
                (Some(_), _) => survey.damaged.push(Copy { name, bytes: whole.clone().into() }),
            }
        }
        sound.push((version, whole));
    }
    Ok(survey)
}

/// Writes missing copies.
pub async fn write(store: &dyn Store, copies: &[Copy]) -> Result<(), StoreError> {
    for copy in copies {
        store.create(&objects::key(copy.name.as_str()), copy.bytes.clone()).await?;
    }
    Ok(())
}

/// Writes missing copies before anything is decided that depends on them. A copy that the store denies is skipped (a
/// Lambda function may not write first copies); `check` reports it.
pub(crate) async fn complete(store: &dyn Store, copies: &[Copy]) -> Result<(), StoreError> {
    for copy in copies {
        match write(store, std::slice::from_ref(copy)).await {
            Ok(()) | Err(StoreError::Denied { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The versions and names of a client's records, first and second copies, with the store's time of each.
async fn names(job: &JobContext<'_>, client: ClientId) -> Result<BTreeMap<Named, Time>, JobError> {
    let mut named = BTreeMap::new();
    for listed in objects::list(job.store, &format!("clients/{client}/")).await? {
        let name = listed.key.as_str();
        let version = layout::client_version(name);
        named.extend(version.map(|version| ((version, name.to_owned()), Time(listed.stat.created.0))));
    }
    // Numbers grow by one, so a version far above all others is false.
    let last = reached(0, CHAIN_LEAP, named.keys().map(|(version, _)| *version));
    named.retain(|(version, _), _| *version <= last);
    Ok(named)
}

/// Copies of records that exist.
#[derive(Default)]
struct Fetched {
    bytes: BTreeMap<Named, Vec<u8>>,
    refused: Refused,
}

/// Copies that the store does not give, and why.
type Refused = BTreeMap<Named, (String, StoreError)>;

/// Reads records; leaves out those that do not exist. A copy that the store refuses is no error here: the other may be
/// whole.
async fn fetch<'a>(job: &JobContext<'_>, names: impl Iterator<Item = &'a Named>) -> Result<Fetched, JobError> {
    let calls = names.map(|named| async move { Ok((named.clone(), objects::read(job.store, &named.1).await)) });
    let mut fetched = Fetched::default();
    for (named, read) in objects::join(calls).await? {
        match read {
            Ok(Some(bytes)) => drop(fetched.bytes.insert(named, bytes.to_vec())),
            Ok(None) => {}
            Err(error) => match refusal(&error).map(|(_, why)| why) {
                Some(why) => drop(fetched.refused.insert(named, (why, error))),
                None => return Err(error.into()),
            },
        }
    }
    Ok(fetched)
}

fn versions_of(found: &BTreeMap<Named, Vec<u8>>) -> Vec<(u64, Vec<u8>)> {
    found.iter().map(|((version, _), bytes)| (*version, bytes.clone())).collect()
}

/// A version, and the name of one of its copies. A first copy sorts before its second copy.
type Named = (u64, String);

/// The clients that have objects below a prefix such as `manifests/`, found without listing all objects.
pub async fn below(store: &dyn Store, prefix: &str) -> Result<Vec<ClientId>, JobError> {
    seek(store, prefix, None).await
}

/// The clients with objects below `manifests/` or `receipts/` behind their heads. One short listing per client.
pub async fn below_behind(
    store: &dyn Store,
    prefix: &str,
    heads: &BTreeMap<ClientId, ClientHead>,
) -> Result<Vec<ClientId>, JobError> {
    seek(store, prefix, Some(heads)).await
}

async fn seek(
    store: &dyn Store,
    prefix: &str,
    heads: Option<&BTreeMap<ClientId, ClientHead>>,
) -> Result<Vec<ClientId>, JobError> {
    // Ids are random, so the sixteen parts are about equally long.
    let parts = (0..16).map(|digit| seek_part(store, prefix, digit, heads));
    Ok(objects::join(parts).await?.concat())
}

/// The clients whose ids begin with this hex digit and that have objects behind their heads.
async fn seek_part(
    store: &dyn Store,
    prefix: &str,
    digit: u8,
    heads: Option<&BTreeMap<ClientId, ClientHead>>,
) -> Result<Vec<ClientId>, JobError> {
    let part = format!("{prefix}{digit:x}");
    let mut clients = Vec::new();
    let mut after = None;
    loop {
        let page = store.list(&part, after.as_ref(), 1).await?;
        let Some(listed) = page.objects.into_iter().next() else { return Ok(clients) };
        let Some(client) = layout::client_of(listed.key.as_str()) else {
            after = Some(listed.key);
            continue;
        };
        let head = heads.map(|heads| heads.get(&client).map_or(0, |head| head.number));
        let head = head.map(|number| objects::key(format!("{prefix}{client}/{number:020}")));
        if head.as_ref().is_none_or(|head| listed.key > *head) {
            clients.push(client);
            // This key sorts behind every number, so the next listed object is another client's.
            after = Some(objects::key(format!("{prefix}{client}/{}", "9".repeat(21))));
        } else {
            after = head;
        }
    }
}
