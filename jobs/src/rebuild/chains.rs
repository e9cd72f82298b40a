//! Chains: the clients' manifests, and which of them count. A receipt proves that a manifest was accepted. Without one,
//! what exists of its claims decides.

use std::collections::BTreeSet;

use copal_format::client::{ClientRecord, Role};
use copal_format::id::{ClientId, DomainId, ObjectHash};
use copal_format::layout;
use copal_format::limits::CHAIN_LEAP;
use copal_format::manifest::{Manifest, VerifiedManifest};
use copal_format::number::reached;
use copal_format::receipt::{Outcome, Reason, Receipt};
use copal_format::time::Time;

use super::Report;
use super::numbers::Numbers;
use crate::clients::{self, Known};
use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;

/// A client's manifests, as far as they exist.
pub(super) struct Chain {
    pub(super) client: ClientId,
    pub(super) is_full: bool,
    /// The only domain that the client may write to; none if it may write to any.
    pub(super) domain: Option<DomainId>,
    /// The highest number of a manifest or receipt, and the hash of that manifest.
    pub(super) head: (u64, ObjectHash),
    /// The highest number that ever got a receipt.
    pub(super) answered: u64,
    pub(super) links: Vec<Link>,
    /// Whether manifests are missing, so that nobody knows what they named.
    pub(super) has_gaps: bool,
    /// Missing copies of the client's record.
    pub(super) missing: Vec<clients::Copy>,
}

/// One manifest.
pub(super) struct Link {
    pub(super) number: u64,
    pub(super) hash: ObjectHash,
    pub(super) standing: Standing,
    /// The store's time of the object.
    pub(super) stored: Time,
}

/// What is known of a manifest.
pub(super) enum Standing {
    /// A receipt says that it was accepted, and when.
    Accepted(Box<VerifiedManifest>, Time),
    /// It is valid and has no receipt. Whether it counts depends on what exists.
    Unanswered(Box<VerifiedManifest>),
    /// A receipt says that it was rejected.
    Rejected,
    /// It does not count and has no receipt yet.
    Refused(Reason, String),
    /// A receipt says that it was accepted, and it cannot be read any more.
    Damaged,
}

impl Standing {
    /// Whether it cannot be verified and has no receipt. The object or the client's record may still be mended.
    pub(super) fn is_unproven(&self) -> bool {
        matches!(self, Self::Refused(Reason::BadSignature | Reason::UnknownClient, _))
    }
}

impl Chain {
    /// The manifests that may count.
    pub(super) fn claims(&self) -> impl Iterator<Item = (&Link, &VerifiedManifest)> {
        self.links.iter().filter_map(|link| match &link.standing {
            Standing::Accepted(verified, _) | Standing::Unanswered(verified) => Some((link, &**verified)),
            _ => None,
        })
    }

    /// Whether a manifest is missing, or an accepted one is damaged.
    pub(super) fn is_harmed(&self) -> bool {
        self.has_gaps || self.links.iter().any(|link| matches!(link.standing, Standing::Damaged))
    }

    /// Whether receipts that the client was given are missing.
    pub(super) fn has_lost_answers(&self) -> bool {
        let is_lost = |link: &Link| link.number < self.answered && matches!(link.standing, Standing::Unanswered(_));
        self.links.iter().any(is_lost)
    }
}

/// Reads the chains of all clients that have written, also of those of which only receipts are left.
pub(super) async fn read_chains(
    job: &JobContext<'_>,
    numbers: &mut Numbers,
    report: &mut Report,
) -> Result<Vec<Chain>, JobError> {
    let mut clients = BTreeSet::new();
    for prefix in ["manifests/", "receipts/"] {
        clients.extend(clients::below(job.store, prefix).await?);
    }
    let mut chains = Vec::new();
    for client in clients {
        chains.push(read_chain(job, client, numbers, report).await?);
    }
    Ok(chains)
}

/// Reads the chain of a client, and notes the root numbers that it tells of.
async fn read_chain(
    job: &JobContext<'_>,
    client: ClientId,
    numbers: &mut Numbers,
    report: &mut Report,
) -> Result<Chain, JobError> {
    let Known { record, is_late, missing } = clients::know(job, client).await?;
    let record = record.filter(|_| !is_late);
    let is_full = record.as_ref().is_some_and(|record| record.role == Role::Full);
    let domain = record.as_ref().filter(|record| record.role == Role::WriteOnly).map(|record| record.domain);
    let mut chain = Chain {
        client,
        is_full,
        domain,
        head: (0, ObjectHash::NONE),
        answered: 0,
        links: Vec::new(),
        has_gaps: false,
        missing,
    };
    let mut before = (0, ObjectHash::NONE);
    let mut is_sound = true;
    let manifests = objects::list(job.store, &format!("manifests/{client}/")).await?;
    let written = manifests.iter().filter_map(|listed| layout::trailing_number(listed.key.as_str()));
    let last = reached(0, CHAIN_LEAP, written);
    chain.answered = last_answered(job, (client, last), numbers, report).await?;
    for listed in manifests {
        let name = listed.key.as_str();
        let Some(number) = layout::trailing_number(name).filter(|number| *number <= last) else {
            report.manifests_left_out.push((name.to_owned(), "its number is far above all others".into()));
            continue;
        };
        let Some(bytes) = objects::read(job.store, name).await? else { continue };
        let hash = ObjectHash::of(&bytes);
        let receipt = match report.given(objects::read(job.store, &layout::receipt(client, number)).await)? {
            Some(bytes) => Receipt::decode(client, number, &bytes).ok(),
            None => None,
        };
        let receipt = receipt.filter(|receipt| numbers.is_plausible(receipt.root));
        numbers.tell(receipt.as_ref().map_or(0, |receipt| receipt.root));
        // After a damaged or missing manifest the chain cannot be compared.
        let previous = (is_sound && before.0 + 1 == number).then_some(before.1);
        let standing = match judge(job, record.as_ref(), (client, number), &bytes, previous, receipt.as_ref()) {
            Standing::Unanswered(verified)
                if verified.manifest.root_seen.is_some_and(|(seen, _)| !numbers.is_plausible(seen)) =>
            {
                Standing::Refused(Reason::Malformed, "it has seen a root that never was".into())
            }
            standing => standing,
        };
        chain.has_gaps |= miss(client, before.0 + 1..number, report);
        match &standing {
            Standing::Refused(_, why) => report.manifests_left_out.push((name.to_owned(), why.to_owned())),
            Standing::Damaged => report.unreadable.push((name.to_owned(), "it is not what was accepted".into())),
            _ => {}
        }
        if let Standing::Accepted(verified, _) | Standing::Unanswered(verified) = &standing
            && let Some((seen, _)) = verified.manifest.root_seen.filter(|_| is_full)
        {
            numbers.tell(seen);
        }
        is_sound = !matches!(standing, Standing::Damaged | Standing::Refused(Reason::BadSignature, _));
        before = (number, hash);
        chain.links.push(Link { number, hash, standing, stored: Time(listed.stat.created.0) });
    }
    if record.is_none() && chain.links.iter().any(|link| matches!(link.standing, Standing::Damaged)) {
        let why = "no record of the client is there, and its snapshots were accepted";
        return Err(JobError::damaged(format!("clients/{client}"), why));
    }
    chain.head = before;
    chain.has_gaps |= miss(client, before.0 + 1..chain.answered.saturating_add(1), report);
    if before.0 < chain.answered {
        // The last manifests are missing; the receipt of the very last one has its hash.
        let answer = report.given(objects::read(job.store, &layout::receipt(client, chain.answered)).await)?;
        let answer = answer.and_then(|bytes| Receipt::decode(client, chain.answered, &bytes).ok());
        chain.head = (chain.answered, answer.map_or(ObjectHash::NONE, |receipt| receipt.manifest));
    }
    Ok(chain)
}

/// The highest number with a receipt. A receipt with a higher number than all manifests, `last`, counts only if it is
/// valid.
async fn last_answered(
    job: &JobContext<'_>,
    (client, last): (ClientId, u64),
    numbers: &mut Numbers,
    report: &mut Report,
) -> Result<u64, JobError> {
    let mut answered = 0;
    for listed in objects::list(job.store, &format!("receipts/{client}/")).await? {
        let Some(number) = layout::trailing_number(listed.key.as_str()) else { continue };
        if number <= last {
            answered = number;
            continue;
        }
        let bytes = report.given(objects::read(job.store, listed.key.as_str()).await)?;
        let receipt = bytes.and_then(|bytes| Receipt::decode(client, number, &bytes).ok());
        let receipt = receipt.filter(|receipt| numbers.is_plausible(receipt.root));
        let Some(receipt) = receipt.filter(|_| number <= answered.max(last).saturating_add(CHAIN_LEAP)) else {
            continue;
        };
        numbers.tell(receipt.root);
        answered = number;
    }
    Ok(answered)
}

/// Reports missing manifests, a bounded number, because forged names may leave any gap; returns whether any is missing.
fn miss(client: ClientId, numbers: core::ops::Range<u64>, report: &mut Report) -> bool {
    let has_gap = !numbers.is_empty();
    let names = numbers.take(GAP).map(|number| layout::manifest(client, number));
    report.unreadable.extend(names.map(|name| (name, "it is not there".to_owned())));
    has_gap
}

fn judge(
    job: &JobContext<'_>,
    record: Option<&ClientRecord>,
    (client, number): (ClientId, u64),
    bytes: &[u8],
    previous: Option<ObjectHash>,
    receipt: Option<&Receipt>,
) -> Standing {
    let hash = ObjectHash::of(bytes);
    match receipt {
        Some(receipt) if receipt.outcome == Outcome::Rejected => return Standing::Rejected,
        Some(receipt) if receipt.manifest != hash => return Standing::Damaged,
        _ => {}
    }
    let accepted = receipt.map(|receipt| receipt.time);
    let refuse = |reason, why: String| match accepted {
        Some(_) => Standing::Damaged,
        None => Standing::Refused(reason, why),
    };
    let Some((record, keys)) = record.and_then(|record| Some((record, record.keys?))) else {
        return refuse(
            Reason::UnknownClient,
            "the client is not registered, or joined after its enrollment had ended".into(),
        );
    };
    let verified = match Manifest::verify(job.repository, &keys.manifest, client, number, bytes) {
        Ok(verified) => Box::new(verified),
        Err(error) => return refuse(Reason::BadSignature, error.to_string()),
    };
    if !record.accepts(number, verified.hash) {
        return Standing::Refused(Reason::Revoked, "the client was revoked before".into());
    }
    if let Some(time) = accepted {
        return Standing::Accepted(verified, time);
    }
    if previous.is_some_and(|previous| previous != verified.manifest.previous) {
        return Standing::Refused(Reason::BrokenChain, "it does not name the manifest before it".into());
    }
    if verified.manifest.domain != record.domain {
        return Standing::Refused(Reason::Domain, "the client may not write to its domain".into());
    }
    Standing::Unanswered(verified)
}

/// How many missing manifests in a row are reported.
const GAP: usize = 100;
