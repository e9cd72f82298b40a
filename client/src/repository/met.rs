//! Met: the newest state of a repository that this machine has met. A store that shows an older one has lost data, was
//! restored from a copy, or lies: snapshots are missing, forgotten ones are back, revoked clients may write again.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use copal_format::id::{ClientId, ObjectHash};
use copal_format::layout;
use copal_format::limits::CHAIN_LEAP;
use copal_format::number::reached;
use copal_format::root::Root;
use copal_jobs::error::JobError;
use copal_jobs::objects;
use copal_jobs::view::{self, Parts};
use copal_store::{Store, StoreError};

use crate::places::{create_private_dir, private_text, write_private};
use crate::wait::wait;

type Link = (u64, ObjectHash);

/// The parts of a state that a machine remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Met {
    root: Option<Link>,
    change: Option<Link>,
    clients: BTreeMap<ClientId, u64>,
    /// The prefix below which clients were listed. The memory says nothing about clients outside it.
    within: String,
}

impl Met {
    /// Reads the newest root of the store, and the versions of client records below the prefix `clients`.
    pub fn now(store: &dyn Store, root: Option<&(Root, ObjectHash)>, clients: &str) -> Result<Self, StoreError> {
        let mut versions: BTreeMap<ClientId, Vec<u64>> = BTreeMap::new();
        for listed in wait(objects::list(store, clients))? {
            let name = listed.key.as_str();
            if let (Some(client), Some(version)) = (layout::client_of(name), layout::client_version(name)) {
                versions.entry(client).or_default().push(version);
            }
        }
        let newest = |versions: Vec<u64>| reached(0, CHAIN_LEAP, versions);
        Ok(Self {
            root: root.map(|(root, hash)| (root.number, *hash)),
            change: root.and_then(|(root, _)| root.change_head),
            clients: versions.into_iter().map(|(client, versions)| (client, newest(versions))).collect(),
            within: clients.to_owned(),
        })
    }

    /// Reads what this machine remembers; empty if it never met the repository.
    pub fn of_machine(state_dir: &Path) -> Self {
        let text = private_text(&file(state_dir)).unwrap_or_default();
        let mut met = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let link = |number: &str, hash: &str| Some((number.parse().ok()?, ObjectHash::from_hex(hash).ok()?));
            match words.as_slice() {
                ["root", number, hash] => met.root = link(number, hash),
                ["change", number, hash] => met.change = link(number, hash),
                ["client", id, version] => {
                    if let (Ok(client), Ok(version)) = (ClientId::from_hex(id), version.parse()) {
                        met.clients.insert(client, version);
                    }
                }
                _ => {}
            }
        }
        met
    }

    /// The number of the newest root that it knows; 0 if it knows none.
    pub fn root_number(&self) -> u64 {
        self.root.map_or(0, |(number, _)| number)
    }

    /// Lists the objects that are older in the store than this machine remembers, each with the reason. If there are
    /// none, remembers what the store shows. `root` is the newest root that a view has found.
    pub fn older(
        store: &dyn Store,
        state_dir: &Path,
        root: Option<&(Root, ObjectHash)>,
        clients: &str,
    ) -> Result<Vec<(String, String)>, JobError> {
        let compare = |seen: Self, root| {
            let now = Self::now(store, root, clients)?;
            let lost = seen.lost_in(&now, store)?;
            if lost.is_empty() {
                now.keep(state_dir);
            }
            Ok(lost)
        };
        let lost = compare(Self::of_machine(state_dir), root)?;
        if lost.is_empty() {
            return Ok(lost);
        }
        // Another process of this machine may have remembered a root that is newer than the view. So read the memory
        // again first, then the store: whatever the memory has now must be there.
        let seen = Self::of_machine(state_dir);
        let view = wait(view::read_parts(store, &Parts::NOTHING))?;
        compare(seen, view.root.as_ref())
    }

    /// Lists the objects of this memory that `now`, a newer reading of the store, lacks, each with the reason.
    fn lost_in(&self, now: &Self, store: &dyn Store) -> Result<Vec<(String, String)>, StoreError> {
        let mut lost = Vec::new();
        lost.extend(older(store, self.root, now.root, layout::root, "root", false)?);
        lost.extend(older(store, self.change, now.change, layout::change, "change", true)?);
        for (client, seen) in self.clients.iter().filter(|(client, _)| now.tells_of(client)) {
            let version = now.clients.get(client).copied().unwrap_or(0);
            if version < *seen {
                let why = format!(
                    "this machine has seen version {seen} of the client, and the newest there is {version}: if that revoked it, it may write again"
                );
                lost.push((format!("clients/{client}"), why));
            }
        }
        Ok(lost)
    }

    /// Writes this state to the state directory. Call it only with a state that lacks nothing that was met before. A
    /// failure to write is ignored, because it must not stop the command.
    pub fn keep(&self, state_dir: &Path) {
        let before = Self::of_machine(state_dir);
        let mut clients = before.clients.clone();
        clients.retain(|client, _| !self.tells_of(client));
        clients.extend(&self.clients);
        if (self.root, self.change, &clients) == (before.root, before.change, &before.clients) {
            return;
        }
        let mut text = String::new();
        for (word, link) in [("root", self.root), ("change", self.change)] {
            if let Some((number, hash)) = link {
                let _ = writeln!(text, "{word} {number} {hash}");
            }
        }
        for (client, version) in &clients {
            let _ = writeln!(text, "client {client} {version}");
        }
        let kept = create_private_dir(state_dir);
        let _ = kept.and_then(|()| write_private(&file(state_dir), text.as_bytes()));
    }
}

impl Met {
    fn tells_of(&self, client: &ClientId) -> bool {
        layout::client(*client, 1).starts_with(&self.within)
    }
}

/// Compares the end of a chain with the one met before; returns name and reason if the chain is older or another one.
/// If the end is newer, reads the object met before; where `stays` it must still exist.
fn older(
    store: &dyn Store,
    seen: Option<Link>,
    now: Option<Link>,
    name: fn(u64) -> String,
    what: &str,
    stays: bool,
) -> Result<Option<(String, String)>, StoreError> {
    let Some((number, hash)) = seen else { return Ok(None) };
    let name = name(number);
    let told = format!("this machine has seen {what} {number}");
    let why = match now {
        None => format!("{told}, and there is none"),
        Some((newest, _)) if newest < number => format!("{told}, and the newest there is {newest}"),
        Some((newest, found)) if newest == number => match found == hash {
            true => return Ok(None),
            false => format!("{told}, and what is there is another one"),
        },
        Some(_) => match wait(objects::read(store, &name)) {
            Ok(Some(bytes)) if ObjectHash::of(&bytes) == hash => return Ok(None),
            Ok(None) if !stays => return Ok(None),
            Ok(None) => format!("{told}, and it is not there"),
            Ok(Some(_)) => format!("{told}, and what is there is another one"),
            // A gateway does not let a write-only client read changes: it can only compare the number.
            Err(StoreError::Denied { .. }) => return Ok(None),
            Err(error) => return Err(error),
        },
    };
    Ok(Some((name, why)))
}

/// The file in the state directory.
fn file(state_dir: &Path) -> PathBuf {
    state_dir.join("met")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use copal_format::time::Time;
    use copal_store::Key;
    use copal_store::memory::MemoryStore;

    use super::*;

    #[test]
    fn a_root_that_another_process_met_after_the_view_was_read_is_not_lost() {
        let (store, directory) = (MemoryStore::default(), tempfile::tempdir().unwrap());
        let [old, new] = [1, 2].map(|number| {
            let root = Root::new(number, Time(0));
            let bytes = root.encode().unwrap();
            wait(store.create(&Key::new(layout::root(number)).unwrap(), bytes.clone().into())).unwrap();
            (root, ObjectHash::of(&bytes))
        });
        Met::now(&store, Some(&new), "clients/").unwrap().keep(directory.path());
        let older = || Met::older(&store, directory.path(), Some(&old), "clients/").unwrap();
        assert_eq!(older(), []);
        wait(store.delete(&Key::new(layout::root(2)).unwrap())).unwrap();
        assert_eq!(older()[0].0, layout::root(2));
    }

    #[test]
    fn what_was_met_reads_back_and_nothing_is_known_without_it() {
        let directory = tempfile::tempdir().unwrap();
        let state = directory.path().join("repository");
        assert_eq!(Met::of_machine(&state), Met::default());
        let met = Met {
            root: Some((7, ObjectHash([1; 32]))),
            change: Some((2, ObjectHash([2; 32]))),
            clients: [(ClientId([3; 16]), 4)].into(),
            within: String::new(),
        };
        met.keep(&state);
        assert_eq!(Met::of_machine(&state), met);
        // A client that may list only its own records remembers nothing about the others.
        let own =
            Met { clients: [(ClientId([5; 16]), 1)].into(), within: format!("clients/{}/", ClientId([5; 16])), ..met };
        own.keep(&state);
        assert_eq!(Met::of_machine(&state).clients, [(ClientId([3; 16]), 4), (ClientId([5; 16]), 1)].into());
        fs::write(file(&state), "root x y\nchange 1\nclient\nsomething else\n").unwrap();
        assert_eq!(Met::of_machine(&state), Met::default());
    }
}
