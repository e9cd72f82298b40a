//! Quota: how much clients may store.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use copal_format::client::Role;
use copal_format::id::{ClientId, PackId};
use copal_format::layout::{self, Place};
use copal_format::time::Time;
use copal_jobs::objects;
use copal_jobs::shares::FOLDER;
use copal_store::Listed;
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::json;

use super::Gateway;
use super::call::Call;
use super::ledger::{Asker, Uploaded};
use super::problem::Problem;
use super::records;
use super::rights::{Caller, Upload};
use super::shared::{Allowed, Taken};
use super::written::Record;

/// How much may be stored. Clients of a domain share its quota. The newest root says which packs the domain holds; a
/// long-lived gateway also counts uploads that the root does not know yet. A client's manifests count for the client.
/// Shares and changes count for full clients, which alone make them.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// Bytes that a domain may hold.
    pub stored: Option<u64>,
    /// Bytes that a domain may add within 24 hours.
    pub daily: Option<u64>,
}

/// `GET /v1/quota`: the quotas that hold for the caller, and how much of them its domain has used as the newest root
/// knows.
pub(super) async fn told(State(gateway): State<Arc<Gateway>>, call: Call) -> Result<Response, Problem> {
    let facts = call.facts()?;
    let (client, domain, role) = match call.caller {
        Caller::Client { id, domain, role } => (Some(id), domain, role),
        // Full clients share this one; the owner's own requests have no quota.
        Caller::Owner => (None, facts.descriptor.shared_domain, Role::Full),
        Caller::Nobody | Caller::Joining { .. } => {
            return call.permitted(Err("it has to be signed by a client that has joined"));
        }
    };
    let Quota { stored, daily } = gateway.settings.quota;
    // Nothing is asked for, so it does not matter by whom.
    let asker = (ClientId([0; 16]), call.now);
    let shared = match in_shares(&gateway, role).await? {
        Some(listed) => counted(shares_of(&gateway), asker, &listed, &[], |_| Ok(()))?,
        None => Taken::default(),
    };
    let written = match client.filter(|_| gateway.settings.quota != Quota::default()) {
        Some(id) => {
            let (listed, allowed) = records::of_client(&gateway, (id, role), call.now).await?;
            counted(gateway.memory.is_some().then_some(&*allowed), asker, &listed, &[], |_| Ok(()))?
        }
        None => Taken::default(),
    };
    let shared = shared.and(written);
    let newest = gateway.known.newest.get(gateway.settings.store.as_ref(), call.now, false).await?;
    let now = Time::from_unix(call.now as i64, 0);
    let (held, added) = newest.map_or((0, 0), |newest| newest.stored(domain, now, &BTreeMap::new()));
    let of = |most: Option<u64>, used: u64| most.map(|most| json!({ "quota": most, "used": used }));
    let (held, added) = (held.saturating_add(shared.all), added.saturating_add(shared.today));
    Ok(Json(json!({ "stored": of(stored, held), "daily": of(daily, added) })).into_response())
}

/// Fails if uploads exceed a quota; otherwise notes them. Before it refuses any, it looks for earlier uploads that
/// should have come: those that are not in the store count for their own client only.
pub(super) async fn allow(gateway: &Arc<Gateway>, call: &Call, uploads: &[Upload<'_>]) -> Result<(), Problem> {
    allow_at(gateway, call, (call.now, false), uploads).await
}

async fn allow_at(
    gateway: &Arc<Gateway>,
    call: &Call,
    (now, has_come): (u64, bool),
    uploads: &[Upload<'_>],
) -> Result<(), Problem> {
    for _ in 0..SEARCHES {
        match note(gateway, call, (now, has_come), uploads).await {
            Err(refused) if refused.name == EXCEEDED => {
                if !search(gateway, call, now).await? {
                    return Err(refused);
                }
            }
            noted => return noted,
        }
    }
    note(gateway, call, (now, has_come), uploads).await
}

/// Notes that the bytes of an upload have come and are about to be stored. If it was slow and somebody has looked for
/// it in vain, it has to be within the quotas once more.
pub(super) async fn has_come(gateway: &Arc<Gateway>, call: &Call, upload: Upload<'_>) -> Result<(), Problem> {
    let Caller::Client { domain, .. } = call.caller else { return Ok(()) };
    let (Some(memory), Some((_, pack))) = (&gateway.memory, layout::pack_of(upload.key)) else { return Ok(()) };
    let now = (gateway.settings.clock)();
    if memory.uploads.has_come(domain, &pack, now) {
        return Ok(());
    }
    allow_at(gateway, call, (now, true), &[upload]).await
}

/// Looks for overdue uploads of the caller's domain in the store; false if there are none. Each is looked for once,
/// unless it is allowed again.
async fn search(gateway: &Gateway, call: &Call, now: u64) -> Result<bool, Problem> {
    let Caller::Client { id, domain, .. } = call.caller else { return Ok(false) };
    let Some(memory) = &gateway.memory else { return Ok(false) };
    let is_presigned = gateway.settings.presigner.is_some();
    let asker = Asker { client: id, domain, now, root: "", is_presigned, has_come: false };
    if memory.uploads.overdue(asker).is_empty() {
        return Ok(false);
    }
    let _alone = memory.uploads.search().await;
    let store = gateway.settings.store.as_ref();
    let mut stats = Vec::new();
    // Read again: while this call waited, another one may have looked for them.
    for pack in memory.uploads.overdue(asker) {
        stats.push(async move {
            let key = objects::key(layout::pack(Place::Packs, pack));
            Ok::<_, Problem>((pack, store.stat(&key).await?.is_some()))
        });
    }
    let sought: Vec<(PackId, bool)> = stream::iter(stats).buffer_unordered(STATS).try_collect().await?;
    memory.uploads.sought(asker, &sought);
    Ok(true)
}

/// Fails if uploads exceed a quota; otherwise notes them.
async fn note(
    gateway: &Arc<Gateway>,
    call: &Call,
    (now, has_come): (u64, bool),
    uploads: &[Upload<'_>],
) -> Result<(), Problem> {
    let Caller::Client { id, domain, role } = call.caller else { return Ok(()) };
    let (mut packs, mut to_share, mut to_write) = (BTreeMap::new(), Vec::new(), Vec::new());
    for upload in uploads {
        records::is_reached(gateway, call, upload).await?;
        if Record::of(upload.key).is_some() {
            to_write.push((upload.key, upload.length));
        }
        if upload.key.starts_with(FOLDER) {
            to_share.push((upload.key, upload.length));
        }
        if let Some((_, pack)) = layout::pack_of(upload.key) {
            let length: &mut u64 = packs.entry(pack).or_default();
            *length = upload.length.max(*length);
        }
    }
    let quota = gateway.settings.quota;
    if (packs.is_empty() && to_share.is_empty() && to_write.is_empty()) || quota == Quota::default() {
        return Ok(());
    }
    let listed = in_shares(gateway, role).await?;
    let (written, allowed) = records::of_client(gateway, (id, role), now).await?;
    let allowed = gateway.memory.is_some().then_some(&*allowed);
    let newest = gateway.known.newest.get(gateway.settings.store.as_ref(), now, false).await?;
    let newest = newest.as_deref();
    let time = Time::from_unix(now as i64, 0);
    let (stored, added) = newest.map_or((0, 0), |newest| newest.stored(domain, time, &packs));
    let in_packs = packs.values().fold(0u64, |sum, length| sum.saturating_add(*length));
    let asked = to_share.iter().chain(&to_write).fold(in_packs, |sum, (_, length)| sum.saturating_add(*length));
    let allow = |shared: Taken| {
        let (stored, added) = (stored.saturating_add(shared.all), added.saturating_add(shared.today));
        let judge = |uploaded: Uploaded| {
            // The root counts the packs that it knows, so nothing is counted twice.
            within("this client's domain may hold", quota.stored, stored.saturating_add(uploaded.unknown), asked)?;
            within("within 24 hours this client may add", quota.daily, added.saturating_add(uploaded.today), asked)
        };
        let Some(memory) = &gateway.memory else { return judge(Uploaded::default()) };
        let root = newest.map_or("", |newest| newest.name.as_str());
        let is_known = |id: &PackId| newest.is_some_and(|newest| newest.has_pack(id));
        let is_presigned = gateway.settings.presigner.is_some();
        memory.uploads.note(Asker { client: id, domain, now, root, is_presigned, has_come }, &packs, is_known, judge)
    };
    let allow = |shared: Taken| {
        counted(allowed, (id, now), &written, &to_write, |written| allow(shared.and(written))).map(drop)
    };
    match listed {
        Some(listed) => counted(shares_of(gateway), (id, now), &listed, &to_share, allow).map(drop),
        None => allow(Taken::default()),
    }
}

/// Returns what all other objects take, if `allow` accepts the uploads. A gateway without a memory counts stored
/// objects only.
fn counted(
    allowed: Option<&Allowed>,
    (client, now): (ClientId, u64),
    listed: &[Listed],
    uploads: &[(&str, u64)],
    allow: impl FnOnce(Taken) -> Result<(), Problem>,
) -> Result<Taken, Problem> {
    let mut told = Taken::of(listed, now);
    match allowed {
        None => allow(told)?,
        Some(allowed) => allowed.note((client, now), listed, uploads, |taken| {
            told = taken;
            allow(taken)
        })?,
    }
    Ok(told)
}

fn shares_of(gateway: &Gateway) -> Option<&Allowed> {
    gateway.memory.as_ref().map(|memory| &memory.shares)
}

/// All objects of shares. None unless the caller is a full client and there are quotas.
async fn in_shares(gateway: &Gateway, role: Role) -> Result<Option<Vec<Listed>>, Problem> {
    if role != Role::Full || gateway.settings.quota == Quota::default() {
        return Ok(None);
    }
    Ok(Some(objects::list(gateway.settings.store.as_ref(), FOLDER).await?))
}

fn within(what: &str, most: Option<u64>, used: u64, asked: u64) -> Result<(), Problem> {
    match most {
        Some(most) if used.saturating_add(asked) > most => {
            let detail = format!("{what} {most} bytes, of which {used} are used: {asked} more are too many");
            let problem = Problem::new(EXCEEDED, StatusCode::FORBIDDEN, detail);
            Err(problem.with("quota", json!(most)).with("used", json!(used)))
        }
        _ => Ok(()),
    }
}

/// The problem of an upload that exceeds a quota.
const EXCEEDED: &str = "quota";
/// How often one call looks for overdue uploads before it is refused. The next one goes on.
const SEARCHES: usize = 16;
/// Overdue uploads that are looked for at the same time.
const STATS: usize = 32;
