//! Rights: which caller may do what with which object. A table without I/O.

use copal_format::client::Role;
use copal_format::id::{ClientId, DomainId, SlotId};
use copal_format::layout::{self, Place};
use copal_format::limits::{PACK_BYTES, READER_BYTES, RECORD_BYTES};
use copal_format::pack::TRAILER_BYTES;
use copal_jobs::shares::{OBJECT_BYTES, ShareId};

/// The caller, as far as the signature tells.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    /// An unsigned request.
    Nobody,
    Owner,
    Client {
        id: ClientId,
        role: Role,
        /// The domain it writes to.
        domain: DomainId,
    },
    /// The holder of the enrollment key of a client that has not joined yet.
    Joining {
        id: ClientId,
        /// The client's future role.
        role: Role,
    },
}

/// General settings of the repository and its gateway.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct House {
    /// Whether there is a repository.
    pub is_made: bool,
    /// Whether anybody may read key slots.
    pub open_slots: bool,
    /// Whether anybody may create the repository while there is none.
    pub accept_init: bool,
}

/// An object to be created.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Upload<'a> {
    pub key: &'a str,
    /// Its length in bytes.
    pub length: u64,
    /// The SHA-256 of its bytes.
    pub sha256: [u8; 32],
}

/// Whether the caller may create this object. The error says why not.
pub(super) fn may_create(caller: Caller, house: House, upload: &Upload<'_>) -> Result<(), &'static str> {
    let key = upload.key;
    let folder = key.split('/').next().unwrap_or_default();
    if !house.is_made {
        let is_first = key == layout::descriptor(1) || is_slot(key) || is_reader(upload);
        return if house.accept_init && is_first { within(upload) } else { Err("there is no repository") };
    }
    let is_owner = caller == Caller::Owner;
    let is_full = is_owner || matches!(caller, Caller::Client { role: Role::Full, .. });
    let permitted = match folder {
        "packs" => matches!(caller, Caller::Client { .. }) && is_pack(upload),
        "manifests" => match caller {
            // Numbers begin at 1: nobody would ever answer number 0.
            Caller::Client { id, .. } => {
                layout::trailing_number(key).is_some_and(|n| n > 0 && key == layout::manifest(id, n))
            }
            _ => false,
        },
        "changes" => is_full && layout::trailing_number(key).is_some_and(|n| key == layout::change(n)),
        "clients" => match caller {
            Caller::Owner => is_of_client(key) || is_client_copy(key),
            Caller::Joining { id, .. } => key == layout::client(id, 2),
            _ => false,
        },
        "keys" => is_owner && is_slot(key),
        "reader" => is_owner && is_reader(upload),
        // Only the gateway itself writes terms and openings.
        "shares" => is_full && ShareId::is_content(key, upload.length),
        "copal" => is_owner && is_descriptor(key),
        // Only the service may ingest: a caller that could create these objects could get everything deleted.
        "roots" | "receipts" | "index" | "state" => {
            return Err("behind a gateway the service alone writes roots, the state, the index and receipts");
        }
        _ => false,
    };
    if !permitted {
        return Err("it is not an object that this caller may create");
    }
    within(upload)
}

/// Whether the caller may read this object, by its name. For write-only clients the runs and segments also depend on
/// the state; the function's caller checks that.
pub(super) fn may_read(caller: Caller, house: House, key: &str) -> Result<(), &'static str> {
    let folder = key.split('/').next().unwrap_or_default();
    let refused = Err("it is not an object that this caller may read");
    let is_own = |id: ClientId| layout::client_of(key) == Some(id);
    let permitted = match (caller, folder) {
        (_, "copal") if is_descriptor(key) => true,
        (Caller::Nobody, "keys") if is_slot(key) && (house.open_slots || !house.is_made) => true,
        (Caller::Nobody, _) => return Err("it has to be signed"),
        (Caller::Owner | Caller::Client { role: Role::Full, .. }, folder) => FOLDERS.contains(&folder),
        (Caller::Client { id, .. }, "clients" | "manifests" | "receipts") => is_own(id),
        (Caller::Client { .. }, "roots" | "state" | "index" | "reader") => true,
        (Caller::Joining { id, .. }, "clients") => is_own(id),
        (Caller::Joining { role, .. }, "keys") => role == Role::Full,
        _ => false,
    };
    if permitted { Ok(()) } else { refused }
}

/// Whether the caller may learn an object's length and time without reading it. Every client may, for packs.
pub(super) fn may_stat(caller: Caller, house: House, key: &str) -> Result<(), &'static str> {
    match (caller, layout::pack_of(key)) {
        (Caller::Client { .. }, Some((Place::Packs, _))) => Ok(()),
        _ => may_read(caller, house, key),
    }
}

/// The prefix that the caller may list, at or below the requested one.
pub(super) fn may_list(caller: Caller, house: House, prefix: &str) -> Result<String, &'static str> {
    let own = |id: ClientId| ["clients", "manifests", "receipts"].map(|folder| format!("{folder}/{id}/"));
    let narrowed = match caller {
        Caller::Owner | Caller::Client { role: Role::Full, .. } => return full_list(prefix),
        Caller::Nobody if !house.is_made && house.accept_init => {
            let is_asked_first = prefix.is_empty() || FIRST.iter().any(|folder| prefix.starts_with(folder));
            return if is_asked_first { Ok(prefix.to_owned()) } else { Err("there is no repository") };
        }
        Caller::Nobody if house.open_slots => vec!["copal/".to_owned(), "keys/".to_owned()],
        Caller::Nobody => vec!["copal/".to_owned()],
        Caller::Client { id, .. } => [&own(id)[..], &["copal/".to_owned(), "roots/".to_owned()]].concat(),
        Caller::Joining { id, role } => {
            let keys = (role == Role::Full).then(|| "keys/".to_owned());
            [format!("clients/{id}/"), "copal/".to_owned()].into_iter().chain(keys).collect()
        }
    };
    if narrowed.iter().any(|allowed| prefix.starts_with(allowed.as_str())) {
        return Ok(prefix.to_owned());
    }
    // A caller that asks for too much gets the one permitted folder inside it.
    let mut below = narrowed.into_iter().filter(|allowed| !prefix.is_empty() && allowed.starts_with(prefix));
    match (below.next(), below.next()) {
        (Some(only), None) => Ok(only),
        _ if caller == Caller::Nobody => Err("it has to be signed"),
        _ => Err("it is not a listing that this caller may see"),
    }
}

fn full_list(prefix: &str) -> Result<String, &'static str> {
    let folder = prefix.split('/').next().unwrap_or_default();
    if FOLDERS.contains(&folder) { Ok(prefix.to_owned()) } else { Err("it is not a listing that this caller may see") }
}

/// Whether an object of this name begins a repository. Before there is one, nobody learns of other objects.
pub(super) fn is_first(key: &str) -> bool {
    is_descriptor(key) || is_slot(key) || layout::reader_hash(key).is_some()
}

/// Whether the caller may delete this object. Only the owner may, and only key slots; prune deletes everything else.
pub(super) fn may_delete(caller: Caller, house: House, key: &str) -> Result<(), &'static str> {
    match caller {
        Caller::Owner if house.is_made && is_slot(key) => Ok(()),
        _ => Err("only the service deletes, by prune; the owner may delete key slots"),
    }
}

/// Fails if an object of this name cannot have this length.
fn within(upload: &Upload<'_>) -> Result<(), &'static str> {
    let most = match upload.key.split('/').next().unwrap_or_default() {
        "packs" => PACK_BYTES,
        "reader" => READER_BYTES,
        "shares" => OBJECT_BYTES,
        _ => RECORD_BYTES as u64 + ENVELOPE,
    };
    if layout::pack_of(upload.key).is_some() && upload.length < TRAILER_BYTES as u64 {
        return Err("it is shorter than a pack can be");
    }
    if upload.length <= most { Ok(()) } else { Err("it is larger than such an object may be") }
}

fn is_pack(upload: &Upload<'_>) -> bool {
    matches!(layout::pack_of(upload.key), Some((Place::Packs, id)) if id.0 == upload.sha256)
}

fn is_reader(upload: &Upload<'_>) -> bool {
    layout::reader_hash(upload.key).is_some_and(|hash| hash.0 == upload.sha256)
}

fn is_of_client(key: &str) -> bool {
    let mut parts = key.split('/').skip(1);
    let id = parts.next().is_some_and(|id| ClientId::from_hex(id).is_ok_and(|read| read.to_string() == id));
    id && layout::trailing_number(key).is_some() && parts.count() == 1
}

fn is_descriptor(key: &str) -> bool {
    layout::trailing_number(key).is_some_and(|number| key == layout::descriptor(number))
}

fn is_client_copy(key: &str) -> bool {
    let named = layout::client_of(key).zip(layout::client_version(key));
    named.is_some_and(|(id, version)| key == layout::client_copy(id, version))
}

fn is_slot(key: &str) -> bool {
    let id = key.split('/').nth(1).and_then(|id| SlotId::from_hex(id).ok());
    id.is_some_and(|id| layout::slot(id).iter().any(|copy| copy == key))
}

/// The folders of the objects that begin a repository.
const FIRST: [&str; 3] = ["copal/", "keys/", "reader/"];

/// All folders of a repository, except those for unfinished writes and job notes. Shares are read by their own requests.
pub(super) const FOLDERS: &[&str] = &[
    "copal",
    "keys",
    "clients",
    "packs",
    "moved",
    "manifests",
    "receipts",
    "changes",
    "expiries",
    "deletions",
    "roots",
    "state",
    "index",
    "reports",
    "reader",
];

/// Upper bound for the bytes of a record's envelope.
const ENVELOPE: u64 = 1 << 10;

#[cfg(test)]
#[path = "rights_tests.rs"]
mod tests;
