//! Replica: makes and ends replicas, and shows how far they are behind.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use copal_client::backend::{Backend, BackendOptions};
use copal_client::entropy::SystemEntropy;
use copal_client::location::Location;
use copal_client::met::{forget_replica, remember_replica, replicas};
use copal_client::repository::Met;
use copal_client::verify::genuine;
use copal_client::wait::wait;
use copal_format::id::RepositoryId;
use copal_format::room::Memory;
use copal_jobs::context::JobContext;
use copal_jobs::rebuild::{rebuild_with, unnamed_packs};
use copal_jobs::replica::{self, Behind, SyncError, identity, is_replica};
use copal_jobs::scratch::Files;
use copal_jobs::view::View;
use copal_store::{Store, StoreError};

use super::context::Context;
use super::rebuild;
use crate::args::global::Global;
use crate::exit::Exit;
use crate::report::field::Stamp;
use crate::report::sync::{BehindField, ReplicaField, ReplicaSummary};
use crate::report::{Failure, human};
use crate::secrets::OF_TARGET;

/// Makes an empty place a replica of the repository at `from`.
pub(super) fn found(context: &Context<'_>, from: &OsStr) -> Result<Exit, Failure> {
    let global = at(context, from);
    let from = context.other(&global, &OF_TARGET);
    refuse_gateway(context)?;
    refuse_gateway(&from)?;
    let source = from.backend()?;
    let (repository, owner_key) = owner_of(&source)?;
    let target = context.create_place()?;
    let store = target.store();
    if !wait(is_replica(store.as_ref()))? {
        let holds = |prefix| Ok::<_, StoreError>(!wait(store.list(prefix, None, 1))?.objects.is_empty());
        let location = target.location().to_string();
        if holds("copal/")? {
            return Err(Failure::RepositoryExists { location });
        }
        if holds("keys/")? || holds("reader/")? || target.holds_other_files().unwrap_or(true) {
            return Err(Failure::NotEmpty { location });
        }
        target.probe()?;
    }
    let source_store = source.store();
    let job = job(source_store.as_ref(), repository, owner_key);
    wait(replica::found(&job, store.as_ref(), &|_| true))?;
    // Not earlier: an interrupted call would look like a replica that is not mounted.
    context.is_met(&target, repository)?;
    remember_replica(&context.places()?.state_of(repository), target.location());
    context.report.answer(&ReplicaSummary {
        repository_id: repository,
        repository: target.location().to_string(),
        source: source.location().to_string(),
    })?;
    Ok(Exit::Done)
}

/// The replicas that this machine has synced, and how far each is behind.
pub(super) fn behind(context: &Context<'_>, job: &JobContext<'_>, view: &View) -> Result<Vec<ReplicaField>, Failure> {
    let here = context.location()?.absolute();
    let noted = replicas(&context.places()?.state_of(job.repository));
    let noted: Vec<_> = noted.into_iter().filter(|replica| replica.absolute() != here).collect();
    Ok(noted.iter().filter_map(|location| field_of(&context.backend_options(), location, job, view)).collect())
}

/// None if the location has become a repository of its own.
fn field_of(options: &BackendOptions, location: &Location, job: &JobContext<'_>, view: &View) -> Option<ReplicaField> {
    let look = || -> Result<Option<Behind>, Failure> {
        let backend = Backend::open(location, options)?;
        let store = backend.store();
        match wait(identity(store.as_ref()))? {
            None => Err(Failure::NoRepository { location: location.to_string() }),
            Some(of) if of != (job.repository, job.owner_key) => Err(SyncError::Foreign.into()),
            Some(_) if !wait(is_replica(store.as_ref()))? => Ok(None),
            Some(_) => Ok(Some(wait(replica::behind(job, view, store.as_ref()))?)),
        }
    };
    let repository = location.to_string();
    match look() {
        Ok(None) => None,
        Ok(Some(behind)) => {
            Some(ReplicaField { repository, unreached: None, root: Some(behind.root), behind: field(&behind) })
        }
        Err(failure) => {
            let behind = BehindField::default();
            Some(ReplicaField { repository, unreached: Some(failure.text()), root: None, behind })
        }
    }
}

pub(super) fn end(context: &Context<'_>) -> Result<Exit, Failure> {
    refuse_gateway(context)?;
    let target = context.reach_to_sync()?;
    let store = target.store();
    if !wait(is_replica(store.as_ref()))? {
        return Err(SyncError::NotReplica.into());
    }
    let mut opened = None;
    let (repository, owner_key) = match wait(identity(store.as_ref()))? {
        Some(of) => of,
        // Without a descriptor only a key slot says whose repository it is. Then "copal repair" writes a new one.
        None => {
            let opened = opened.insert(context.open_with(&target, &context.credential()?)?);
            (opened.id(), opened.owner.verifying_key())
        }
    };
    let state_dir = context.places()?.state_of(repository);
    // The last sync may have been interrupted, and an attacker at the source may have written a false state. So rebuild
    // the state from what clients have signed, before the mark goes, so that nothing comes in between.
    let known = Met::of_machine(&state_dir).root_number();
    let scratch = Files::default();
    let job = JobContext { scratch: &scratch, ..job(store.as_ref(), repository, owner_key) };
    let unnamed = wait(unnamed_packs(&job))?;
    let genuine = match opened {
        _ if unnamed.is_empty() => BTreeSet::new(),
        Some(opened) => genuine(&opened, unnamed)?,
        // The rebuild leaves out packs that nobody has verified, and a later prune deletes them. So without a key the
        // replica stays a replica.
        None => {
            let packs = human::things(unnamed.len() as u64, "pack", "packs");
            context.report.note(&format!("no manifest names {packs}: to verify them takes the passphrase or a key"));
            genuine(&context.open_with(&target, &context.credential()?)?, unnamed)?
        }
    };
    let rebuilt = wait(rebuild_with(&job, &genuine, known))?;
    rebuild::tell(context, &rebuilt);
    wait(replica::end(store.as_ref()))?;
    forget_replica(&state_dir, target.location());
    let at = target.location();
    context.report.note(&format!("{at} is a repository of its own now, and no sync writes into it"));
    Ok(rebuild::exit(&rebuilt))
}

pub(super) fn field(behind: &Behind) -> BehindField {
    let Behind { root: _, snapshots, bytes, oldest } = behind;
    BehindField { snapshots_missing: *snapshots, bytes_missing: *bytes, oldest_missing: oldest.map(Stamp) }
}

/// The options of all commands, for another repository. No passphrase is needed.
pub(super) fn at(context: &Context<'_>, repository: &OsStr) -> Global {
    Global { repository: Some(repository.to_owned()), ..context.global.without_secret() }
}

/// Refuses a gateway: through it no client can write roots, and each can read only its own packs.
pub(super) fn refuse_gateway(context: &Context<'_>) -> Result<(), Failure> {
    match context.location()? {
        at @ (Location::Https(_) | Location::Ssh(_)) => {
            let why =
                format!("{at} is a gateway: a sync needs the store itself, such as sftp://, s3:// or a directory");
            Err(Failure::Usage(why))
        }
        _ => Ok(()),
    }
}

pub(super) fn owner_of(backend: &Backend) -> Result<(RepositoryId, [u8; 32]), Failure> {
    wait(identity(backend.store().as_ref()))?.ok_or_else(Failure::no_descriptor)
}

pub(super) fn job(store: &dyn Store, repository: RepositoryId, owner_key: [u8; 32]) -> JobContext<'_> {
    JobContext { store, entropy: &SystemEntropy, scratch: &Memory, repository, owner_key }
}
