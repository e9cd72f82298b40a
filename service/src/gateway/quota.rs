//! Quota: how much clients may store.

use std::sync::Arc;

use axum::http::StatusCode;
use copal_engine::layout;
use copal_engine::time::Time;
use serde_json::json;

use super::Gateway;
use super::call::Call;
use super::problem::Problem;
use super::rights::{Caller, Upload};

/// How much may be stored. Packs count: they are what takes room. The newest root says what a domain holds, so clients
/// that share a domain share its quota; what it does not know yet is counted by gateways that live on.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// Bytes of packs that a domain may hold.
    pub stored: Option<u64>,
    /// Bytes of packs that a domain may add within 24 hours.
    pub daily: Option<u64>,
}

/// Refuses uploads that exceed a quota; notes those that do not.
pub(super) async fn allow(gateway: &Arc<Gateway>, call: &Call, uploads: &[Upload<'_>]) -> Result<(), Problem> {
    let Caller::Client { id, domain, .. } = call.caller else { return Ok(()) };
    let packs = uploads.iter().filter_map(|upload| Some((upload, layout::pack_of(upload.key)?.1)));
    let packs: Vec<_> = packs.collect();
    let quota = gateway.settings.quota;
    if packs.is_empty() || quota == Quota::default() {
        return Ok(());
    }
    let ids: Vec<_> = packs.iter().map(|(_, id)| *id).collect();
    let names: Vec<_> = packs.iter().map(|(upload, _)| upload.key).collect();
    let asked: u64 = packs.iter().map(|(upload, _)| upload.length).sum();
    let newest = gateway.known.newest(gateway.settings.store.as_ref(), call.now, false).await?;
    let (stored, since) = match &newest {
        Some(newest) => newest.stored(domain, Time::from_unix(call.now as i64 - DAY, 0), &ids),
        None => (0, 0),
    };
    let is_known = |key: &str| newest.as_ref().is_some_and(|newest| newest.knows(key));
    let uploaded = gateway.memory.as_ref().map(|memory| memory.uploaded((id, domain), call.now, is_known, &names));
    let uploaded = uploaded.unwrap_or_default();
    let exceeded = |what: &str, quota: u64, used: u64| {
        let detail = format!("{what} {quota} bytes, of which {used} are used");
        let problem = Problem::new("quota", StatusCode::FORBIDDEN, detail);
        problem.with("quota", json!(quota)).with("used", json!(used))
    };
    let stored = stored.saturating_add(uploaded.unknown);
    if let Some(most) = quota.stored
        && stored.saturating_add(asked) > most
    {
        return Err(exceeded("this client's domain may hold", most, stored));
    }
    // What was uploaded may be known to the root already: the larger of both counts.
    let added = since.max(uploaded.today);
    if let Some(most) = quota.daily
        && added.saturating_add(asked) > most
    {
        return Err(exceeded("within 24 hours this client may add", most, added));
    }
    if let Some(memory) = &gateway.memory {
        packs.iter().for_each(|(upload, _)| memory.note_upload((id, domain), call.now, upload.key, upload.length));
    }
    Ok(())
}

const DAY: i64 = 24 * 60 * 60;
