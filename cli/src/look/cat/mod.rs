//! Cat: decodes any object of a repository for people. Secrets stay sealed: what a key slot or session record wraps is
//! not shown.

mod name;
mod records;

use bytes::Bytes;
use copal_client::causes::with_causes;
use copal_client::history::History;
use copal_client::reader::ChunkReader;
use copal_client::repository::Repository;
use copal_client::wait::wait;
use copal_format::id::{ObjectHash, PackId};
use copal_format::layout;
use copal_jobs::objects;
use copal_jobs::view::View;
use copal_store::Store;
use serde_json::{Value, json};

use crate::report::Failure;

use name::Target;

pub enum Shown {
    Fields(Value),
    Bytes(Vec<u8>),
}

/// Loads the state and the snapshots, to find snapshots, pages and chunks. Called only if needed: most objects can be
/// shown even if the state is damaged.
pub type Load<'a> = dyn Fn() -> Result<(View, History), Failure> + 'a;

/// Finds the object that a text names, and decodes it.
pub fn show(repository: &Repository, load: &Load<'_>, text: &str) -> Result<Shown, Failure> {
    match name::find(repository, load, text)? {
        Target::Object(name) => show_object(repository, &name).map(Shown::Fields),
        Target::Page(pages, id) => Ok(Shown::Fields(json!(pages.page(&id)?))),
        Target::Chunk(pages, id) => Ok(Shown::Bytes(ChunkReader::new(&pages).chunk(&id)?.to_vec())),
    }
}

fn show_object(repository: &Repository, name: &str) -> Result<Value, Failure> {
    let store: &dyn Store = repository.store().as_ref();
    let bytes = wait(objects::read(store, name))?;
    let bytes = bytes.ok_or_else(|| absent(name))?;
    let decoded = check_hash(name, &bytes).and_then(|()| records::decode(repository, name, &bytes));
    let mut value = decoded.map_err(|why| Failure::Damaged { object: name.to_owned(), cause: why.into() })?;
    if value.is_object() {
        value["object"] = json!(name);
        value["length"] = json!(bytes.len());
    }
    Ok(value)
}

/// Checks the hash of an object that is named by it.
fn check_hash(name: &str, bytes: &Bytes) -> Result<(), String> {
    if !["packs/", "moved/", "index/", "state/", "reader/"].iter().any(|folder| name.starts_with(folder)) {
        return Ok(());
    }
    let named = match layout::pack_of(name) {
        Some((_, PackId(id))) => Some(ObjectHash(id)),
        None => name.rsplit('/').next().and_then(|hash| ObjectHash::from_hex(hash).ok()).or(layout::reader_hash(name)),
    };
    if named == Some(ObjectHash::of(bytes)) {
        Ok(())
    } else {
        Err("its bytes do not have the hash it is named by".into())
    }
}

fn absent(text: &str) -> Failure {
    Failure::NoObject { what: "object", wanted: text.to_owned() }
}

fn words(error: impl std::error::Error + 'static) -> String {
    with_causes(&error)
}
