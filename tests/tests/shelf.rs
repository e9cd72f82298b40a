//! Shelf: the objects of a repository by their names, as the page reads them.

use std::cell::RefCell;
use std::rc::Rc;

use copal_format::id::DomainId;
use copal_format::layout;
use copal_format::repository::Descriptor;
use copal_wasm::look::Library;
use copal_wasm::owner::Owner;
use copal_wasm::view::{Read, View};

/// An object, if it is there.
pub(crate) type Objects<'a> = &'a dyn Fn(&str) -> Option<Vec<u8>>;

/// What the page asks for of an object.
pub(crate) fn part(objects: Objects<'_>, read: &Read) -> Option<Vec<u8>> {
    let bytes = objects(&read.key)?;
    match &read.range {
        None => Some(bytes),
        Some(range) => bytes.get(range.start as usize..range.end as usize).map(<[u8]>::to_vec),
    }
}

fn complete(objects: Objects<'_>, view: &mut View) {
    while let Some(read) = view.needs().first().cloned() {
        view.supply(&read.key, part(objects, &read)).unwrap();
    }
}

/// The state that a root names, and the index of a domain.
pub(crate) fn view(objects: Objects<'_>, newest: Option<&str>, domain: DomainId) -> Rc<RefCell<View>> {
    let mut view = View::new(newest, [domain].into()).unwrap();
    complete(objects, &mut view);
    Rc::new(RefCell::new(view))
}

/// All that the state knows, with the indexes of all domains.
pub(crate) fn library(objects: Objects<'_>, owner: &Owner, view: Rc<RefCell<View>>) -> Library {
    let domains: Vec<DomainId> = view.borrow().state().unwrap().snapshots.values().map(|of| of.domain).collect();
    domains.into_iter().for_each(|domain| view.borrow_mut().want(domain));
    complete(objects, &mut view.borrow_mut());
    let descriptor = Descriptor::decode(1, &objects(&layout::descriptor(1)).unwrap()).unwrap();
    let mut library = Library::new(owner, &descriptor, view).unwrap();
    for client in library.needed_clients() {
        let versions = (1..).map_while(|version| Some((version, objects(&layout::client(client, version))?)));
        library.supply_client(client, &versions.collect::<Vec<_>>());
    }
    for key in library.needed_manifests() {
        library.supply_manifest(&key, objects(&key).as_deref()).unwrap();
    }
    library
}
