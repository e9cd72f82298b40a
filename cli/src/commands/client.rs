//! `client`: manages the clients of the repository.

mod join;

use std::ffi::OsStr;

use bytes::Bytes;
use copal_client::accepted::LastAccepted;
use copal_client::clock;
use copal_client::entropy::{random, secret};
use copal_client::location::Location;
use copal_client::repository::{ClientError, LocalClient, Repository};
use copal_client::wait::wait;
use copal_format::client::{ClientRecord, EnrollmentPublic, Role};
use copal_format::id::{ClientId, DomainId, ObjectHash};
use copal_format::invitation::{Invitation, Invited};
use copal_format::layout;
use copal_format::state::SnapshotRecord;
use copal_format::time::Time;
use copal_jobs::error::JobError;
use copal_jobs::view::View;
use copal_jobs::{clients, objects};
use qrcode::render::unicode::Dense1x2;
use qrcode::{EcLevel, QrCode};
use zeroize::Zeroizing;

use super::context::Context;
use super::key::FEWEST_DIGITS;
use crate::args::client::{Add, Client, Dedup, Revoke, Role as RoleNamed};
use crate::exit::Exit;
use crate::report::clients::{ClientRow, EnrollmentSummary, RevokeSummary};
use crate::report::field::Stamp;
use crate::report::{Failure, human};

pub(super) fn run(context: &Context<'_>, options: &Client) -> Result<Exit, Failure> {
    match options {
        Client::Add(options) => add(context, options),
        Client::Join(options) => join::run(context, options),
        Client::List => list(context),
        Client::Revoke(options) => revoke(context, options),
    }
}

fn add(context: &Context<'_>, options: &Add) -> Result<Exit, Failure> {
    let repository = context.open()?;
    context.may_write(&repository)?;
    // Check the address before anything is written.
    let page = options.page.as_deref().map(|given| page(given, repository.backend().location())).transpose()?;
    let descriptor = repository.descriptor.as_ref().ok_or_else(Failure::no_descriptor)?;
    let role = match options.role {
        RoleNamed::Full => Role::Full,
        RoleNamed::WriteOnly => Role::WriteOnly,
    };
    if role == Role::WriteOnly && repository.ingests() {
        let why = "a write-only client needs a server that accepts its backups, and here clients accept their own: \
                   let it back up through \"copal serve\", or make the repository with \"copal init --ingest service\"";
        return Err(Failure::Usage(why.into()));
    }
    let domain = match (role, options.dedup) {
        (Role::WriteOnly, Some(Dedup::Shared)) => {
            return Err(Failure::Usage("a write-only client shares no data with others: leave out --dedup".into()));
        }
        (Role::Full, None | Some(Dedup::Shared)) => descriptor.shared_domain,
        (Role::WriteOnly, _) | (Role::Full, Some(Dedup::Isolated)) => DomainId(random()),
    };
    let created = now(&repository)?;
    let is_taken = |known: &Known| known.name == options.name && !known.is_over(created);
    if known(&repository)?.iter().any(is_taken) {
        let name = &options.name;
        return Err(Failure::Usage(format!(
            "there is a client called \"{name}\" already: choose another name, or revoke it with \"copal client revoke {name}\""
        )));
    }
    let invited = Invited {
        client: ClientId(random()),
        name: &options.name,
        role,
        domain,
        seed: secret(),
        created,
        expires: created + options.expires.0,
        address: repository.backend().address(),
    };
    let Invitation { record, enrollment } =
        Invitation::new(&repository.owner, invited).map_err(|error| Failure::Usage(error.to_string()))?;
    let id = record.client;
    if !create(context, &repository, &record)? {
        return Err(Failure::Damaged { object: layout::client(id, 1), cause: "it is there already".into() });
    }
    context.note_met(&repository);
    let line = enrollment.encode();
    let link = page.map(|page| Invitation::link(&page, &line));
    show_code(context, link.as_ref().unwrap_or(&line));
    if let (None, Location::Directory(path)) = (&link, repository.backend().location()) {
        context.report.note(&format!(
            "the line names {}: a machine that reaches it by another address joins with --repository ADDRESS",
            path.display()
        ));
    }
    let how = match (&link, repository.backend().location()) {
        (Some(_), _) => "opened in a browser, this link joins it to the repository",
        (None, Location::Https(_)) => {
            "on the other machine, \"copal client join\" asks for this line, and in a browser the page of the gateway \
             does (\"--page\" prints a link to it)"
        }
        _ => "on the other machine, \"copal client join\" asks for this line",
    };
    context.report.note(&format!("{how}; it can be used once, until {}:", human::time(enrollment.expires)));
    let summary = EnrollmentSummary {
        client: id,
        name: &options.name,
        role,
        domain,
        expires: Stamp(enrollment.expires),
        line: &line,
        link: link.as_ref().map(|link| link.as_str()),
    };
    context.answer_once(&summary, "enrollment", summary.link.unwrap_or(&line))?;
    Ok(Exit::Done)
}

/// The address of a web app: `given`, or the repository's gateway if that is empty.
fn page(given: &OsStr, repository: &Location) -> Result<String, Failure> {
    let named = if given.is_empty() { repository.clone() } else { Location::parse(Some(given))? };
    match named {
        Location::Https(address) if address.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '#' | '?' | '@')) => {
            Ok(address)
        }
        _ if given.is_empty() => {
            let why =
                "the repository is not reached by a gateway: say where its page is, like --page https://backup.example";
            Err(Failure::Usage(why.into()))
        }
        _ => Err(Failure::Usage(format!("{} is not the address of a page", given.display()))),
    }
}

/// Draws the enrollment line as a QR code, to be scanned with a camera.
fn show_code(context: &Context<'_>, line: &str) {
    if let Ok(code) = QrCode::with_error_correction_level(line.as_bytes(), EcLevel::L) {
        // Inverted: terminals are mostly dark.
        let drawn = code.render::<Dense1x2>().dark_color(Dense1x2::Light).light_color(Dense1x2::Dark).build();
        context.report.picture(&Zeroizing::new(drawn));
    }
}

fn list(context: &Context<'_>) -> Result<Exit, Failure> {
    let repository = context.open()?;
    let view = context.view(&repository)?;
    let lost = context.tell_lost(&repository, &view)?;
    let now = wait(repository.job().now_or(clock::now()))?;
    let shared = repository.descriptor.as_ref().map(|descriptor| descriptor.shared_domain);
    let mut rows = Vec::new();
    for known in known(&repository)? {
        let last = LastAccepted::find(repository.store().as_ref(), &view, known.id)?;
        let (last_manifest, last_time) = match last {
            LastAccepted::Known { number, time, .. } => (Some(number), Some(Stamp(time))),
            LastAccepted::Never | LastAccepted::Unknown => (None, None),
        };
        let record = known.record.as_ref().ok();
        let expires = record.and_then(|record| record.enrollment).and_then(|enrollment| enrollment.expires);
        rows.push(ClientRow {
            id: known.id,
            name: known.name,
            role: record.map(|record| record.role),
            domain: record.map(|record| record.domain),
            shared: record.map(|record| Some(record.domain) == shared),
            joined: record.map(|record| record.keys.is_some()),
            expires: expires.map(Stamp),
            left: expires.filter(|expires| *expires >= now).map(|expires| expires.since(now)),
            joined_late: known.is_late,
            created: record.map(|record| Stamp(record.created)),
            last_manifest,
            last_time,
            last_is_unknown: last == LastAccepted::Unknown,
            revoked: record.and_then(|record| record.revoked).map(|(number, _)| number),
            problem: known.record.as_ref().err().cloned(),
        });
    }
    context.report.list(&rows)?;
    let is_damaged = !lost.is_empty() || rows.iter().any(|row| row.problem.is_some());
    Ok(if is_damaged { Exit::Damage } else { Exit::Done })
}

fn revoke(context: &Context<'_>, options: &Revoke) -> Result<Exit, Failure> {
    let repository = context.open()?;
    // First ingest waiting manifests, because a revocation names the last manifest that counts.
    context.ingest(&repository)?;
    let id = meant(known(&repository)?, &options.client, now(&repository)?)?;
    if !options.own && LocalClient::id_in(repository.state_dir()) == Some(id) {
        let why = format!(
            "{} is this machine's own client: with --own it is revoked, and saves nothing more",
            options.client
        );
        return Err(Failure::Usage(why));
    }
    loop {
        let view = context.view(&repository)?;
        let record = wait(clients::read(&repository.job(), id))?;
        let record = record.ok_or_else(|| Failure::from(ClientError::Record(id)))?;
        if let Some((good, _)) = record.revoked
            && !narrows(good, options)?
        {
            let version = record.version;
            context.report.confirm(&RevokeSummary { client: id, last_good: good, version })?;
            return Ok(Exit::Done);
        }
        let last_good = last_good(&repository, &view, id, options.last_good)?;
        let changes = view.root.as_ref().and_then(|(root, _)| root.change_head);
        let last_change = match record.revoked {
            Some(_) => record.last_change,
            None => changes.filter(|_| record.role == Role::Full),
        };
        let next = record.revoked(last_good, last_change, now(&repository)?);
        // If another version came meanwhile (the client may have joined), try again.
        if create(context, &repository, &next)? {
            context.note_met(&repository);
            context.report.confirm(&RevokeSummary { client: id, last_good: last_good.0, version: next.version })?;
            return Ok(Exit::Done);
        }
    }
}

/// Whether the options name an earlier manifest than `good`, the last good one of a revocation. Fails if they name a
/// later one: what a revoked client has written since must not count again.
fn narrows(good: u64, options: &Revoke) -> Result<bool, Failure> {
    match options.last_good {
        Some(wanted) if wanted > good => {
            let client = human::text(&options.client);
            Err(Failure::Usage(format!(
                "{client} was revoked after manifest {good} already: a second revocation can only name an earlier one"
            )))
        }
        wanted => Ok(wanted.is_some_and(|wanted| wanted < good)),
    }
}

/// The last manifest that still counts after a revocation, and its hash; number 0 if none does.
fn last_good(
    repository: &Repository,
    view: &View,
    client: ClientId,
    wanted: Option<u64>,
) -> Result<(u64, ObjectHash), Failure> {
    let store = repository.store().as_ref();
    let number = match wanted {
        Some(number) => number,
        None => match LastAccepted::find(store, view, client)? {
            LastAccepted::Known { number, hash: Some(hash), .. } => return Ok((number, hash)),
            LastAccepted::Known { number, hash: None, .. } => number,
            // If the last one cannot be told, the client has no snapshots: the revocation takes none away.
            LastAccepted::Never | LastAccepted::Unknown => 0,
        },
    };
    if number == 0 {
        return Ok((0, ObjectHash::NONE));
    }
    let name = layout::manifest(client, number);
    let Some(bytes) = wait(objects::read(store, &name))? else {
        return Err(Failure::NoObject { what: "manifest", wanted: format!("{number} of that client") });
    };
    let hash = ObjectHash::of(&bytes);
    // A rebuild drops the snapshot if the hash that is signed here is not that of its manifest.
    let is_other = |record: &SnapshotRecord| record.id != hash.snapshot();
    if view.state.snapshots.get(&(client, number)).is_some_and(is_other) {
        return Err(Failure::Damaged { object: name, cause: "it is not the manifest that was accepted".into() });
    }
    Ok((number, hash))
}

/// A client, with its name opened.
struct Known {
    id: ClientId,
    /// Empty if it cannot be opened.
    name: String,
    record: Result<ClientRecord, String>,
    /// Whether it joined after its enrollment had ended.
    is_late: bool,
}

impl Known {
    /// Whether the client can save nothing more: it was revoked, or did not join in time.
    fn is_over(&self, now: Time) -> bool {
        let is_over = |enrollment: EnrollmentPublic| enrollment.is_over(now);
        self.is_late
            || self
                .record
                .as_ref()
                .is_ok_and(|record| record.revoked.is_some() || record.enrollment.is_some_and(is_over))
    }
}

fn known(repository: &Repository) -> Result<Vec<Known>, Failure> {
    let mut all = Vec::new();
    for id in wait(clients::below(repository.store().as_ref(), "clients/"))? {
        let (record, is_late) = match wait(clients::know(&repository.job(), id)) {
            Ok(clients::Known { record: Some(record), is_late, .. }) => (Ok(record), is_late),
            Ok(_) => continue,
            Err(JobError::Damaged { why, .. }) => (Err(why), false),
            Err(error) => return Err(Failure::from(error)),
        };
        let name = record.as_ref().ok().and_then(|record| record.name(&repository.owner));
        all.push(Known { id, name: name.unwrap_or_default(), record, is_late });
    }
    all.sort_by_key(|known| (known.record.as_ref().map_or(Time(0), |record| record.created), known.id));
    Ok(all)
}

/// The client with this name, else the one whose id begins so. If several share the name, the one that may still save.
fn meant(all: Vec<Known>, wanted: &str, now: Time) -> Result<ClientId, Failure> {
    let named: Vec<&Known> = all.iter().filter(|known| known.name == wanted).collect();
    let current: Vec<&Known> = named.iter().copied().filter(|known| !known.is_over(now)).collect();
    let digits = wanted.to_ascii_lowercase();
    let is_id = digits.len() >= FEWEST_DIGITS;
    let by_id = || all.iter().filter(|known| is_id && known.id.to_string().starts_with(&digits)).collect();
    let fitting: Vec<&Known> = match (current.is_empty(), named.is_empty()) {
        (false, _) => current,
        (true, false) => named,
        (true, true) => by_id(),
    };
    match fitting.as_slice() {
        [] => Err(Failure::NoObject { what: "client", wanted: wanted.to_owned() }),
        [only] => Ok(only.id),
        _ => {
            Err(Failure::Usage(format!("several clients fit \"{}\": give more digits of the id", human::text(wanted))))
        }
    }
}

/// Writes both copies of a version of a client's record; false if that version exists already.
fn create(context: &Context<'_>, repository: &Repository, record: &ClientRecord) -> Result<bool, Failure> {
    let store = repository.store();
    let name = layout::client(record.client, record.version);
    let bytes = Bytes::from(record.sign(repository.id(), &repository.owner.signing_key()));
    let is_new = wait(objects::create_own(store.as_ref(), &name, bytes.clone()))?;
    if is_new {
        let copy = clients::Copy { name: layout::client_copy(record.client, record.version), bytes };
        // The record counts even with one copy.
        if let Err(error) = wait(clients::write(store.as_ref(), &[copy])) {
            context
                .report
                .warn(&format!("the record is stored once only, \"copal repair\" writes its second copy: {error}"));
        }
    }
    Ok(is_new)
}

fn now(repository: &Repository) -> Result<Time, Failure> {
    Ok(Time(wait(repository.store().now())?.0))
}
