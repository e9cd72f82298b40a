//! `serve`: runs a gateway for clients without rights on the store, and the service's jobs.

mod pin;
mod presign;
mod unmade;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use copal_client::backend::{Backend, BackendError, BackendOptions};
use copal_client::clock;
use copal_client::entropy::SystemEntropy;
use copal_client::location::Location;
use copal_client::wait::wait;
use copal_format::id::OwnerFingerprint;
use copal_gateway::router::{Facts, Presigner, Quota, read_facts};
use copal_gateway::serve::{Door, JobNote, Listening, Options, Schedule, ServeError, Service, Socket, serve};
use copal_jobs::replica::is_replica;
use copal_store::{Store, StoreError};
use serde::Serialize;

use super::context::Context;
use crate::args::serve::{Presign, Serve};
use crate::exit::Exit;
use crate::report::{Answer, Failure};
use unmade::Unmade;

pub(super) fn run(context: &Context<'_>, options: &Serve) -> Result<Exit, Failure> {
    let location = context.location()?;
    if matches!(location, Location::Https(_) | Location::Ssh(_)) {
        return Err(refused(format!("{location} is served by a gateway already")));
    }
    if options.tls_cert.is_none() && !options.stdio && !options.listen.ip().is_loopback() {
        context.report.warn("this address has no TLS: let only a proxy with TLS reach it from outside");
    }
    let places = context.places()?;
    let state = places.state();
    let backend_options = context.renewing_locks().backend_options();
    let found = match Backend::open(&location, &backend_options) {
        Ok(backend) => Some(backend.store()),
        Err(BackendError::Absent(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let facts = match &found {
        Some(store) => wait(read_facts(store, None))?,
        None => None,
    };
    if let Some(store) = &found
        && wait(is_replica(store))?
    {
        return Err(refused(format!("{location} is a replica: serve the repository that it is a replica of")));
    }
    // The gateway would take it for a free place, and give its key slots to anybody.
    if let (Some(store), None) = (&found, &facts)
        && holds_clients_or_packs(store.as_ref())?
    {
        let remedy = "run \"copal repair\" directly on the store to write a new one";
        return Err(refused(format!("{location} holds a repository, but the descriptors are gone: {remedy}")));
    }
    let owner = match &facts {
        Some(facts) => Some(expected_owner(state, options, facts)?),
        None if options.accept_init || options.stdio => options.owner_fingerprint,
        None => return Err(Failure::NoRepository { location: location.to_string() }),
    };
    let store: Arc<dyn Store> = match found {
        Some(store) if facts.is_some() => store,
        found => Arc::new(Unmade::new(location.clone(), backend_options.clone(), found)),
    };
    let is_quiet = context.global.quiet;
    let report = context.report.clone();
    let note = Arc::new(move |note: &JobNote| line_of(is_quiet, note).into_iter().for_each(|line| report.log(&line)));
    // A process that serves one client through a pipe keeps no notes.
    let lasting = facts.as_ref().filter(|_| !options.stdio);
    let service = Service {
        store,
        entropy: Arc::new(SystemEntropy),
        clock: seconds,
        owner,
        presigner: presigner(&location, &backend_options, options, note.as_ref())?,
        notes: lasting.map(|facts| state.join(facts.descriptor.repository.to_string()).join("jobs")),
        options: served(options),
        // A failure to print the address must not stop the server.
        listening: &|Listening { gateway, metrics }| {
            drop(context.report.answer(&Serving { gateway, metrics: metrics.as_deref() }));
        },
        note,
    };
    serve(service).map_err(|error| match error {
        ServeError::Store(error) => Failure::from(error),
        other => Failure::Other(other.into()),
    })?;
    Ok(Exit::Done)
}

fn served(options: &Serve) -> Options {
    let schedule = Schedule {
        expire: options.expire_every.0,
        compact: options.compact_every.0,
        prune: options.prune_every.0,
        check: options.check_every.0,
    };
    let socket = || Socket {
        address: options.listen,
        tls: options.tls_cert.clone().zip(options.tls_key.clone()),
        public_url: options.public_url.clone(),
        host_names: options.host_name.clone(),
        connections_per_address: options.connections_per_address,
        metrics: options.metrics_listen,
        page: options.web.clone(),
        schedule,
    };
    Options {
        door: if options.stdio { Door::Pipe { jobs: options.jobs } } else { Door::Socket(Box::new(socket())) },
        open_slots: options.open_slots,
        accept_init: options.accept_init,
        quota: Quota { stored: options.quota.map(|size| size.0), daily: options.daily_quota.map(|size| size.0) },
        cors: options.cors.clone(),
        ingest_every: options.ingest_every.0,
    }
}

fn presigner(
    location: &Location,
    backend_options: &BackendOptions,
    options: &Serve,
    note: &dyn Fn(&JobNote),
) -> Result<Option<Arc<dyn Presigner>>, Failure> {
    let bucket = presign::Bucket::of(location, backend_options).map_err(|error| Failure::Other(error.into()))?;
    let Some(bucket) = bucket.filter(|_| options.presign != Presign::Never) else { return Ok(None) };
    // With `--stdio` each command starts a process, so the probe must be brief.
    if options.presign == Presign::Safe && !bucket.binds_requests(options.stdio)? {
        note(&JobNote::Unbound);
        return Ok(None);
    }
    Ok(Some(Arc::new(bucket)))
}

/// The owner that the repository must have: the one named, else the one that was seen first.
fn expected_owner(state: &Path, options: &Serve, facts: &Facts) -> Result<OwnerFingerprint, Failure> {
    let path: PathBuf = state.join(facts.descriptor.repository.to_string()).join("owner");
    let expected = match options.owner_fingerprint {
        Some(named) => named,
        None => pin::remembered(&path, facts.owner).map_err(|source: io::Error| {
            Failure::Other(ServeError::Io { act: format!("remember the owner in {}", path.display()), source }.into())
        })?,
    };
    if expected != facts.owner {
        let found = facts.owner;
        return Err(refused(format!("the repository is signed by owner {found}, and {expected} was expected")));
    }
    Ok(expected)
}

/// Whether the place holds more than an interrupted `init` leaves there.
fn holds_clients_or_packs(store: &dyn Store) -> Result<bool, StoreError> {
    for folder in ["clients/", "packs/"] {
        if !wait(store.list(folder, None, 1))?.objects.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn refused(why: String) -> Failure {
    Failure::Other(why.into())
}

fn seconds() -> u64 {
    u64::try_from(clock::now().to_unix().0).unwrap_or(0)
}

#[derive(Serialize)]
struct Serving<'a> {
    gateway: &'a str,
    metrics: Option<&'a str>,
}

impl Answer for Serving<'_> {
    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "serving at {}", self.gateway)?;
        self.metrics.map_or(Ok(()), |metrics| writeln!(out, "metrics at {metrics}"))
    }
}

/// The log line for a job's note, which no command reports.
fn line_of(is_quiet: bool, note: &JobNote) -> Option<String> {
    let line = match note {
        JobNote::Failed { job, why } => format!("{job} failed: {why}"),
        JobNote::Killed { job } => {
            let likely = "most likely it ran out of memory";
            format!("an earlier process was killed during {job}, {likely}: {job} waits for its next time")
        }
        JobNote::Aside { client } => {
            let short = client.short();
            format!("an earlier process was killed while it ingested client {short}: that client waits for an hour")
        }
        JobNote::NoPolicy { job, why } => format!("{job} goes on without the policy: {why}"),
        JobNote::Rejected { client, number, why } if !is_quiet => {
            format!("manifest {number} of client {} is rejected: {why}", client.short())
        }
        JobNote::Rejected { .. } => return None,
        JobNote::Certificate { why: Some(why) } => {
            format!("the new certificate cannot be used, the one before stays: {why}")
        }
        JobNote::Certificate { why: None } if !is_quiet => "the certificate was read again".to_owned(),
        JobNote::Certificate { why: None } => return None,
        JobNote::Unbound => {
            let why = "the bucket's server heeds headers that were not signed";
            format!("everything goes through this gateway, since {why}; --presign always is for clients one trusts")
        }
        JobNote::Damage { findings } => {
            format!("check found damage: {findings} things are wrong, see \"copal check\"")
        }
    };
    Some(line)
}
