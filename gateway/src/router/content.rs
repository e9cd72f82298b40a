//! Content: client records and changes, verified before the gateway stores them. Nobody can replace or delete one, so
//! junk under the next name would keep that name for good.

use copal_format::change::Change;
use copal_format::client::ClientHistory;
use copal_format::id::ClientId;
use copal_format::layout;
use copal_jobs::changes::verify_change;
use copal_jobs::context::JobContext;
use copal_jobs::objects;

use super::Gateway;
use super::call::Call;
use super::facts::job;
use super::problem::Problem;
use super::rights::Caller;

/// Whether the gateway verifies the content of such objects. It takes them itself then: a store would take any bytes.
pub(super) fn is_verified(key: &str) -> bool {
    key.starts_with("clients/") || key.starts_with("changes/")
}

/// Fails if a client record or change does not belong under this name, or lacks a signature that it needs. The caller
/// may create the name.
pub(super) async fn verify(gateway: &Gateway, call: &Call, key: &str, bytes: &[u8]) -> Result<(), Problem> {
    if !is_verified(key) {
        return Ok(());
    }
    let settings = &gateway.settings;
    let job = job(settings.store.as_ref(), settings.entropy.as_ref(), call.facts()?);
    let (is_sound, expected) = match layout::client_of(key).zip(layout::client_version(key)) {
        Some((client, version)) => {
            let expected = format!("version {version} of client {client}, signed by the owner or by its enrollment");
            (is_record(&job, client, version, bytes).await?, expected)
        }
        None => {
            let expected =
                format!("{key}, signed by the full client that sends it, and by the owner where it has to be");
            (is_change(&job, call.caller, key, bytes).await?, expected)
        }
    };
    if is_sound { Ok(()) } else { Err(Problem::bad_request(format!("this is not {expected}"))) }
}

/// Whether these bytes are that version of the client's record, signed as the format asks.
async fn is_record(job: &JobContext<'_>, client: ClientId, version: u64, bytes: &[u8]) -> Result<bool, Problem> {
    let mut versions = Vec::new();
    if version > 1 {
        // The first version names the enrollment key that may sign the second.
        for name in [layout::client(client, 1), layout::client_copy(client, 1)] {
            versions.extend(objects::read(job.store, &name).await?.map(|first| (1, first.to_vec())));
        }
    }
    versions.push((version, bytes.to_vec()));
    let history = ClientHistory::read(job.repository, &job.owner_key, client, &versions);
    Ok(history.newest.is_some_and(|newest| newest.version == version))
}

/// Whether these bytes are the change of that name. The change before it is not compared: the store may have lost it.
async fn is_change(job: &JobContext<'_>, caller: Caller, key: &str, bytes: &[u8]) -> Result<bool, Problem> {
    let claimed = layout::trailing_number(key).zip(Change::claimed_client(bytes).ok());
    let is_senders = |author: ClientId| match caller {
        Caller::Client { id, .. } => author == id,
        // A machine that has just got the passphrase signs its requests with the owner's key.
        Caller::Owner => true,
        Caller::Joining { .. } | Caller::Nobody => false,
    };
    match claimed {
        Some((number, author)) if is_senders(author) => Ok(verify_change(job, number, None, bytes).await?.is_some()),
        _ => Ok(false),
    }
}
