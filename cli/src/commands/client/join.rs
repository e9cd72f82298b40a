//! Join: this machine becomes a client.

use std::io::{IsTerminal, Read};

use copal_client::backend::Backend;
use copal_client::location::{BadLocation, Location};
use copal_client::repository::{JoinError, LocalClient, Repository, join};
use copal_client::wait::wait;
use copal_format::client::{ClientRecord, Role};
use copal_format::enrollment::Enrollment;
use copal_format::invitation::LINK;
use copal_format::time::Time;
use copal_store::{Store, StoreError};
use zeroize::Zeroizing;

use super::super::context::Context;
use crate::args::client::Join;
use crate::exit::Exit;
use crate::report::Failure;
use crate::report::clients::JoinSummary;
use crate::secrets::{Person, SecretError, Terminal};

pub(super) fn run(context: &Context<'_>, options: &Join) -> Result<Exit, Failure> {
    let line = line(options)?;
    // In a link the line follows `LINK`.
    let bare = line.split_once(LINK).map_or(line.as_str(), |(_, bare)| bare);
    let enrollment = Enrollment::decode(bare).map_err(|error| Failure::Enrollment(error.into()))?;
    drop(line);
    let location = match context.global.repository.as_deref().filter(|given| !given.is_empty()) {
        Some(given) => Location::parse(Some(given))?,
        None if enrollment.address.is_empty() => return Err(BadLocation::Missing.into()),
        None => Location::parse(Some(enrollment.address.as_ref()))?,
    };
    // On the first attempt the gateway knows only the enrollment key. If this machine has joined before, the gateway
    // refuses that key and knows only the client's own: try again with it.
    let record = join_at(context, &location, &enrollment, true).or_else(|refused| match (&refused, &location) {
        (Failure::Store(StoreError::Denied { .. }), Location::Https(_) | Location::Ssh(_)) => {
            let again = match has_keys(context, &enrollment)? {
                true => join_at(context, &location, &enrollment, false).ok(),
                false => None,
            };
            again.ok_or_else(|| Failure::Enrollment(refused.into()))
        }
        _ => Err(refused),
    })?;
    context.report.confirm(&JoinSummary {
        client: record.client,
        role: record.role,
        repository_id: enrollment.repository,
        repository: location.to_string(),
    })?;
    Ok(Exit::Done)
}

/// Whether this machine has kept keys for that client.
fn has_keys(context: &Context<'_>, enrollment: &Enrollment) -> Result<bool, Failure> {
    let state_dir = context.places()?.state_of(enrollment.repository);
    Ok(LocalClient::id_in(&state_dir) == Some(enrollment.client))
}

fn join_at(
    context: &Context<'_>,
    location: &Location,
    enrollment: &Enrollment,
    is_first: bool,
) -> Result<ClientRecord, Failure> {
    let open = || {
        let mut backend = Backend::open(location, &context.backend_options())?;
        context.introduce(&backend)?;
        backend.freeze_replica()?;
        Ok::<_, Failure>(backend)
    };
    let backend = open()?;
    let state_dir = context.places()?.state_of(enrollment.repository);
    // To a gateway `before` signs with the keys of the client that this machine was until now.
    let was_another = LocalClient::id_in(&state_dir).is_some_and(|id| id != enrollment.client);
    let before = (was_another && backend.gateway().is_some()).then(open).transpose()?;
    if let Some(gateway) = backend.gateway().filter(|_| is_first) {
        gateway.join_as(enrollment.client, enrollment.key());
    }
    if !Repository::is_at(&backend)? {
        return Err(Failure::NoRepository { location: backend.location().to_string() });
    }
    if enrollment.role() == Role::Full {
        // Fail before the user types a passphrase in vain.
        let is_over = Time(wait(backend.store().now())?.0) > enrollment.expires;
        if is_over && !has_keys(context, enrollment)? {
            return Err(JoinError::Expired(enrollment.client).into());
        }
        // A machine that joins as a full client must know the passphrase.
        let repository = context.open_with(&backend, &context.credential()?)?;
        if repository.owner.fingerprint() != enrollment.owner {
            return Err(Failure::Enrollment("the enrollment is for another repository".into()));
        }
    }
    join(&backend, before.as_ref().unwrap_or(&backend), enrollment, &backend.address(), &state_dir)
        .map_err(Failure::from)
}

/// Reads the enrollment line from a file, from standard input or from the terminal.
fn line(options: &Join) -> Result<Zeroizing<String>, Failure> {
    let mut text = Zeroizing::new(String::with_capacity(2 * LINE_MOST as usize));
    let is_stdin = match &options.file {
        Some(path) if path.as_os_str() != "-" => {
            let read = std::fs::File::open(path).and_then(|file| file.take(LINE_MOST).read_to_string(&mut text));
            read.map_err(|error| Failure::io("read", path, error))?;
            return Ok(text);
        }
        Some(_) => true,
        None => !std::io::stdin().is_terminal(),
    };
    if is_stdin {
        let read = std::io::stdin().lock().take(LINE_MOST).read_to_string(&mut text);
        read.map_err(|error| Failure::io("read", "standard input", error))?;
        return Ok(text);
    }
    let asked = Terminal.ask("Line from \"copal client add\": ").map_err(SecretError::Terminal)?;
    asked.ok_or_else(|| Failure::Usage("the line that \"copal client add\" printed is needed".into()))
}

/// The most bytes of an enrollment line that are read.
const LINE_MOST: u64 = 8 << 10;
