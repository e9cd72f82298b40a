//! Shelf: which folders there are above the snapshots, and under which names each snapshot is shown.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use copal_format::id::{ClientId, SnapshotId};
use copal_format::path::TreePath;
use copal_format::time::Time;
use copal_format::tree::EntryKind;

use super::node::{Alias, Kind, Node, Numbers};
use super::tree::Tree;

pub(super) struct Shown {
    pub(super) tree: Arc<Tree>,
    /// The machine that it counts for.
    pub(super) machine: String,
    /// The client that has signed it.
    pub(super) client: ClientId,
    /// When it was made, as a name.
    pub(super) time: String,
    /// Whether this machine has made it.
    pub(super) is_own: bool,
}

/// The folders, by their paths.
#[derive(Default)]
pub(super) struct Shelf {
    folders: BTreeMap<String, Folder>,
    /// When the newest snapshot was made.
    pub(super) time: Time,
}

#[derive(Default)]
struct Folder {
    nodes: BTreeMap<String, Node>,
    /// The names by their numbers, which stay the same when others come and go.
    numbers: BTreeMap<u64, String>,
}

impl Shelf {
    /// Arranges snapshots, the oldest first.
    pub(super) fn of(shown: &[Shown], numbers: &Numbers) -> Self {
        let mut shelf =
            Self { time: shown.iter().map(|one| one.tree.time).max().unwrap_or_default(), ..Self::default() };
        for folder in [TOP, SNAPSHOTS, BY_ID, BY_HOST, BY_TIME] {
            shelf.folders.insert(folder.to_owned(), Folder::default());
        }
        let mut ids = BTreeSet::new();
        let mut clash = Names::default();
        let machines = shown.iter().map(|one| (file_name(&one.machine), one.client)).collect();
        for (one, host) in shown.iter().zip(hosts(machines)) {
            let short = one.tree.snapshot.short();
            // The ids of two snapshots begin alike only if a client wants it; the older one keeps the short name.
            let id = if ids.insert(short.clone()) { short } else { one.tree.snapshot.to_string() };
            shelf.add(numbers, BY_ID, &id, Node(Kind::Entry(one.tree.clone(), TreePath::TOP, EntryKind::Directory)));
            let host = format!("{BY_HOST}/{host}");
            for (folder, up) in [(BY_TIME, ".."), (host.as_str(), "../..")] {
                let name = clash.unused(folder, &one.time, &id);
                shelf.alias(numbers, folder, &name, format!("{up}/by-id/{id}"), &one.tree);
            }
            shelf.alias(numbers, &host, LATEST, format!("../../by-id/{id}"), &one.tree);
        }
        let newest = shown.iter().rposition(|one| one.is_own).or(shown.len().checked_sub(1));
        if let Some(at) = newest {
            let tree = &shown[at].tree;
            let id = shelf.id_of(tree);
            shelf.alias(numbers, SNAPSHOTS, LATEST, format!("by-id/{id}"), tree);
        }
        for folder in shelf.folders.keys().filter(|path| !path.is_empty()).cloned().collect::<Vec<_>>() {
            let (above, name) = folder.rsplit_once('/').unwrap_or((TOP, &folder));
            shelf.add(numbers, above, name, Node(Kind::Folder(folder.as_str().into())));
        }
        shelf
    }

    pub(super) fn get(&self, folder: &str, name: &[u8]) -> Option<&Node> {
        self.folders.get(folder)?.nodes.get(std::str::from_utf8(name).ok()?)
    }

    /// The names and nodes of a folder after a number. None if there is no such folder any more.
    pub(super) fn list(&self, folder: &str, after: Option<u64>) -> Option<impl Iterator<Item = (u64, &str, &Node)>> {
        use std::ops::Bound::{Excluded, Unbounded};
        let folder = self.folders.get(folder)?;
        let rest = folder.numbers.range((after.map_or(Unbounded, Excluded), Unbounded));
        Some(rest.filter_map(|(number, name)| Some((*number, name.as_str(), folder.nodes.get(name)?))))
    }

    pub(super) fn shows(&self, snapshot: SnapshotId) -> bool {
        let folder = self.folders.get(BY_ID);
        [snapshot.short(), snapshot.to_string()].iter().any(|name| folder.is_some_and(|of| of.nodes.contains_key(name)))
    }

    fn alias(&mut self, numbers: &Numbers, folder: &str, name: &str, target: String, tree: &Arc<Tree>) {
        // A new target gets a new inode number, so that no kernel shows the old one.
        let path = format!("{folder}/{name} {target}");
        self.add(numbers, folder, name, Node(Kind::Alias(Arc::new(Alias { path, target, tree: tree.clone() }))));
    }

    fn add(&mut self, numbers: &Numbers, folder: &str, name: &str, node: Node) {
        let path = format!("{folder}/{name}");
        let folder = self.folders.entry(folder.to_owned()).or_default();
        folder.nodes.insert(name.to_owned(), node);
        folder.numbers.insert(numbers.of_path(&path), name.to_owned());
    }

    fn id_of(&self, tree: &Arc<Tree>) -> String {
        let full = tree.snapshot.to_string();
        let has_full = self.folders.get(BY_ID).is_some_and(|folder| folder.nodes.contains_key(&full));
        if has_full { full } else { tree.snapshot.short() }
    }
}

/// Names that were given in each folder.
#[derive(Default)]
struct Names(BTreeSet<(String, String)>);

impl Names {
    /// The name, with the id if another snapshot has it.
    fn unused(&mut self, folder: &str, name: &str, id: &str) -> String {
        if self.0.insert((folder.to_owned(), name.to_owned())) { name.to_owned() } else { format!("{name}.{id}") }
    }
}

/// The folders of snapshots, by the names of their machines and by their clients. Where several clients share a name, each
/// has a folder of its own: whoever holds a client's keys may take any host's name, and must not become its `latest`.
fn hosts(mut named: Vec<(String, ClientId)>) -> Vec<String> {
    loop {
        let mut clients: BTreeMap<String, BTreeSet<ClientId>> = BTreeMap::new();
        for (name, client) in &named {
            clients.entry(name.clone()).or_default().insert(*client);
        }
        clients.retain(|_, of| of.len() > 1);
        if clients.is_empty() {
            return named.into_iter().map(|(name, _)| name).collect();
        }
        // Repeated, because a host may have the name of such a folder.
        for (name, client) in named.iter_mut().filter(|(name, _)| clients.contains_key(name)) {
            name.push('.');
            name.push_str(&client.to_string()[..8]);
        }
    }
}

/// Makes a file name of a text that others chose: no slash, no control character, not too long, and no name that means
/// something else.
fn file_name(text: &str) -> String {
    let safe = |c: char| if c == '/' || c.is_control() { '_' } else { c };
    let mut name: String = text.chars().map(safe).collect();
    name.truncate(name.floor_char_boundary(NAME_BYTES));
    if ["", ".", ".."].contains(&name.as_str()) { format!("_{name}") } else { name }
}

pub(super) const TOP: &str = "";
const SNAPSHOTS: &str = "snapshots";
const BY_ID: &str = "snapshots/by-id";
const BY_HOST: &str = "snapshots/by-host";
const BY_TIME: &str = "snapshots/by-time";
const LATEST: &str = "latest";
/// Most bytes of a machine's name.
const NAME_BYTES: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_cannot_choose_a_name_that_leads_elsewhere() {
        for (text, name) in [
            ("laptop", "laptop"),
            ("../../etc", ".._.._etc"),
            ("", "_"),
            (".", "_."),
            ("..", "_.."),
            ("a\0b\nc", "a_b_c"),
        ] {
            assert_eq!(file_name(text), name);
        }
        let long = file_name(&"ä".repeat(300));
        assert_eq!((long.len(), long.chars().count()), (200, 100));
    }

    #[test]
    fn clients_that_share_a_hosts_name_share_no_folder() {
        let (one, two) = (ClientId([1; 16]), ClientId([2; 16]));
        let folders = |named: &[(&str, ClientId)]| {
            hosts(named.iter().map(|(name, client)| ((*name).to_owned(), *client)).collect())
        };
        assert_eq!(folders(&[("a", one), ("a", one), ("b", two)]), ["a", "a", "b"]);
        assert_eq!(folders(&[("a", one), ("a", two), ("b", two)]), ["a.01010101", "a.02020202", "b"]);
        // Nor does a host that is called as such a folder.
        let named = folders(&[("a", one), ("a", two), ("a.01010101", two)]);
        assert_eq!(named, ["a.01010101.01010101", "a.02020202", "a.01010101.02020202"]);
    }
}
