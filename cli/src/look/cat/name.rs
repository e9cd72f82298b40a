//! Name: finds the object that the user names.

use copal_client::history;
use copal_client::reader::PageReader;
use copal_client::repository::Repository;
use copal_client::wait::wait;
use copal_format::id::{ChunkId, SnapshotId};
use copal_format::layout;
use copal_jobs::objects;
use copal_store::{Key, Store};

use super::{Load, absent};
use crate::report::Failure;

pub(super) enum Target {
    Object(String),
    /// A page, and the reader for its domain.
    Page(Box<PageReader>, ChunkId),
    /// A chunk, and the reader for its domain.
    Chunk(Box<PageReader>, ChunkId),
}

/// Finds an object by its name or the beginning of it, as the newest `root` or `descriptor`, by the id of a page or
/// chunk, by the first digits of a snapshot's id, or by the beginning of the hash or id that ends its name.
pub(super) fn find(repository: &Repository, load: &Load<'_>, text: &str) -> Result<Target, Failure> {
    let store: &dyn Store = repository.store().as_ref();
    match text {
        "root" => return one_below(store, "roots/", true).and_then(|name| name.ok_or_else(|| absent(text))),
        "descriptor" => return one_below(store, "copal/", false).and_then(|name| name.ok_or_else(|| absent(text))),
        _ => {}
    }
    if text.contains('/') {
        return named(store, text);
    }
    let digits = text.to_ascii_lowercase();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(absent(text));
    }
    if let Ok(id) = ChunkId::from_hex(&digits) {
        let (view, _) = load()?;
        let holder = view.indexes.iter().find_map(|(domain, index)| Some((*domain, index.lookup(&id)?)));
        let (domain, place) = holder.ok_or_else(|| absent(text))?;
        let pages = Box::new(history::pages(repository, &view, domain));
        return Ok(if place.is_page { Target::Page(pages, id) } else { Target::Chunk(pages, id) });
    }
    if digits.len() <= 2 * SnapshotId::LEN {
        let (_, history) = load()?;
        let fitting = history.snapshots.iter().filter(|snapshot| snapshot.id.to_string().starts_with(&digits));
        let manifests: Vec<String> = fitting.map(|snapshot| layout::manifest(snapshot.key.0, snapshot.key.1)).collect();
        match manifests.as_slice() {
            [] => {}
            [only] => return Ok(Target::Object(only.clone())),
            _ => return Err(several(text)),
        }
    }
    for folder in ["packs", "moved", "index", "state", "keys"] {
        if let Some(name) = beginning_with(store, &expanded(&format!("{folder}/{digits}")), text)? {
            return Ok(Target::Object(name));
        }
    }
    Err(absent(text))
}

fn named(store: &dyn Store, text: &str) -> Result<Target, Failure> {
    let name = beginning_with(store, &expanded(text), text)?;
    name.map(Target::Object).ok_or_else(|| absent(text))
}

/// The object of this name, or the only one whose name begins with it. The two copies of a key slot or client record
/// count as one: the first.
fn beginning_with(store: &dyn Store, name: &str, text: &str) -> Result<Option<String>, Failure> {
    // No object can have such a name, so the store is not asked.
    let Ok(key) = Key::new(name.trim_end_matches('/')) else { return Ok(None) };
    let fails = Failure::Store;
    if wait(store.stat(&key)).map_err(fails)?.is_some() {
        return Ok(Some(key.as_str().to_owned()));
    }
    let page = wait(store.list(name, None, 3)).map_err(fails)?;
    let mut names: Vec<&str> = page.objects.iter().map(|listed| listed.key.as_str()).collect();
    names.dedup_by_key(|name| match name.split('/').next() {
        Some("keys") => name.rsplit_once('/').map_or(*name, |(slot, _)| slot),
        Some("clients") => name.split_once('.').map_or(*name, |(record, _)| record),
        _ => *name,
    });
    match names.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some((*only).to_owned())),
        _ => Err(several(text)),
    }
}

/// Completes a short name: pads numbers to 20 digits (`roots/12`), and inserts the folder of a pack.
fn expanded(name: &str) -> String {
    let Some((folder, last)) = name.rsplit_once('/') else { return name.to_owned() };
    let number = last.parse::<u64>().ok().filter(|_| last.len() < 20 && last.bytes().all(|byte| byte.is_ascii_digit()));
    match (folder.split('/').next().unwrap_or_default(), number) {
        ("roots", Some(number)) => layout::root(number),
        ("copal" | "clients" | "manifests" | "changes" | "receipts" | "expiries", Some(number))
            if folder != "clients" && folder != "manifests" && folder != "receipts" =>
        {
            format!("{folder}/{number:020}")
        }
        ("packs" | "moved", _) if !folder.contains('/') && last.len() > 2 && last.is_char_boundary(2) => {
            format!("{folder}/{}/{last}", &last[..2])
        }
        _ => name.to_owned(),
    }
}

/// The first or the last object below a prefix.
fn one_below(store: &dyn Store, prefix: &str, first: bool) -> Result<Option<Target>, Failure> {
    let listed = match first {
        true => wait(store.list(prefix, None, 1)).map(|page| page.objects),
        false => wait(objects::list(store, prefix)),
    };
    let listed = listed?;
    Ok(listed.last().map(|object| Target::Object(object.key.as_str().to_owned())))
}

fn several(text: &str) -> Failure {
    Failure::Usage(format!("several objects begin with \"{text}\": give more of the name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_packs_may_be_named_in_short() {
        let client = "0a".repeat(16);
        for (short, full) in [
            ("roots/12", "roots/99999999999999999987".to_owned()),
            ("changes/3", "changes/00000000000000000003".to_owned()),
            ("copal/1", "copal/00000000000000000001".to_owned()),
            (&format!("manifests/{client}/7"), format!("manifests/{client}/00000000000000000007")),
            ("manifests/12", "manifests/12".to_owned()),
            ("packs/abcd", "packs/ab/abcd".to_owned()),
            ("packs/ab/abcd", "packs/ab/abcd".to_owned()),
            ("keys/12", "keys/12".to_owned()),
            ("state/12", "state/12".to_owned()),
        ] {
            assert_eq!(expanded(short), full, "{short}");
        }
    }
}
