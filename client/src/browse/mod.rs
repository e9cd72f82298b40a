//! Browse: all snapshots of a repository as one read-only tree of folders, for hosts that show it as a file system.
//!
//! `snapshots/by-id`, `by-host` and `by-time` name each snapshot; `latest` is the newest. Pages and blocks are read on
//! demand, opened once, and held in memory of a bounded size. Metadata is what a restore on this machine would give.

mod cache;
mod content;
mod domain;
mod listing;
mod node;
mod page;
mod shelf;
mod snapshot;
mod tree;

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use copal_format::id::{DomainId, SnapshotId};
use copal_format::path::TreePath;
use copal_format::time::Time;
use copal_format::tree::{EntryKind, LostRange, Owner};
use copal_jobs::error::JobError;
use copal_jobs::view::{self, Parts, View};

use crate::history::{History, Snapshot};
use crate::materialize::is_power;
use crate::read::Xattr;
use crate::reader::ReadError;
use crate::repository::Repository;
use crate::restore::owners::Owners;
use crate::wait::wait;

pub use content::ContentError;
pub use listing::Listed;
pub use node::{Attributes, Node};
pub use snapshot::{FileReader, SnapshotTree, Walk};

use cache::locked;
pub(crate) use domain::{Domain, Domains, Shared};
use node::{Kind, Numbers};
use shelf::{Shelf, Shown};
use tree::{Position, Reached, Sought, Tree};

/// The tree of all snapshots of a repository. Threads share it.
pub struct Browser {
    repository: Repository,
    terms: Terms,
    numbers: Numbers,
    domains: Domains,
    owners: Mutex<Owners>,
    shelf: RwLock<Arc<Shelf>>,
    newest: Mutex<Newest>,
}

/// What a host decides about the tree.
pub struct Terms {
    /// Memory for opened blocks and pages, in bytes.
    pub cache_bytes: u64,
    /// Use the numbers of owners even if their names are known here.
    pub numeric_owner: bool,
    /// Which snapshots are shown.
    pub shows: Box<dyn Fn(&Snapshot) -> bool + Send + Sync>,
    /// Whether this machine has made a snapshot: `latest` prefers those.
    pub is_own: Box<dyn Fn(&Snapshot) -> bool + Send + Sync>,
    /// A time as the name of a file.
    pub time_name: Box<dyn Fn(Time) -> String + Send + Sync>,
    /// Called with troubles, from any thread. The same trouble comes each time that it is met.
    pub tell: Box<dyn Fn(Trouble<'_>) + Send + Sync>,
}

/// Something that cannot be shown as it was saved.
#[derive(Debug)]
pub enum Trouble<'t> {
    /// A part of a file's content cannot be read.
    Content(SnapshotId, &'t TreePath, &'t ContentError),
    /// An entry cannot be looked up, since the page that may hold it cannot be read.
    Entry(SnapshotId, &'t TreePath, &'t ReadError),
    /// A directory is shown without some of its entries.
    Entries(SnapshotId, &'t LostRange, &'t ReadError),
    /// An entry is not shown, because its name is longer than a file system takes.
    Name(SnapshotId, &'t TreePath),
    /// A new snapshot is not shown, because this manifest cannot be read, for this reason.
    Snapshot(&'t str, &'t str),
    /// New snapshots could not be looked for.
    Renewal(&'t JobError),
}

/// Why the tree does not answer.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum BrowseError {
    #[error("there is no such entry")]
    Absent,
    #[error("this is another kind of entry")]
    Kind,
    #[error("not all entries can be read")]
    Incomplete,
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Content(#[from] ContentError),
}

/// The newest state that was read.
struct Newest {
    root: u64,
    snapshots: Vec<Snapshot>,
    /// Manifests that could not be read, and why.
    problems: Vec<(String, String)>,
    checked: Instant,
}

impl Browser {
    /// Shows the snapshots of a view and its history; of the view, only the records are needed.
    pub fn new(repository: Repository, view: &View, history: History, terms: Terms) -> Result<Self, JobError> {
        let threads = if repository.backend().is_remote() { 4 } else { 1 };
        let History { snapshots, problems } = history;
        let newest = Newest { root: view.number(), snapshots, problems, checked: Instant::now() };
        // A domain that no client has: no client knows its keys.
        let numbers = Numbers(repository.domain_keys(DomainId([0; 16])));
        let browser = Self {
            numbers,
            domains: Domains::new(Shared::new(terms.cache_bytes, threads)),
            owners: Mutex::new(Owners::new(terms.numeric_owner)),
            shelf: RwLock::default(),
            newest: Mutex::new(newest),
            repository,
            terms,
        };
        let shelf = browser.arrange(&locked(&browser.newest).snapshots)?;
        *browser.shelf.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(shelf);
        Ok(browser)
    }

    /// The top folder.
    pub fn top(&self) -> Node {
        Node(Kind::Folder(shelf::TOP.into()))
    }

    /// The node of a name in a directory.
    pub fn find(&self, directory: &Node, name: &[u8]) -> Result<Option<Node>, BrowseError> {
        match &directory.0 {
            Kind::Folder(folder) => {
                self.renew();
                Ok(self.shelf().get(folder, name).cloned())
            }
            Kind::Entry(tree, path, EntryKind::Directory) => {
                let Some(path) = path.join(name).ok().filter(|_| (1..=NAME_BYTES).contains(&name.len())) else {
                    return Ok(None);
                };
                let kind = match self.at(tree, &path)? {
                    At::Entry(position) => Some(position.entry().kind()).filter(|kind| !tree.leaves_out(*kind)),
                    At::Directory { .. } => Some(EntryKind::Directory),
                    At::Nothing => None,
                };
                Ok(kind.map(|kind| Node(Kind::Entry(tree.clone(), path, kind))))
            }
            // A snapshot may name entries below a file. They are not shown.
            Kind::Alias(_) | Kind::Entry(..) => Err(BrowseError::Kind),
        }
    }

    /// What `stat` tells of a node.
    pub fn attributes(&self, node: &Node) -> Result<Attributes, BrowseError> {
        let ours = here();
        let (tree, path) = match &node.0 {
            Kind::Folder(path) => {
                let inode = self.numbers.of_path(path);
                return Ok(Attributes::made(inode, EntryKind::Directory, DIRECTORY_BYTES, self.shelf().time, ours));
            }
            Kind::Alias(alias) => {
                let (inode, size) = (self.numbers.of_path(&alias.path), alias.target.len() as u64);
                return Ok(Attributes::made(inode, EntryKind::Symlink, size, alias.tree.time, ours));
            }
            Kind::Entry(tree, path, _) => (tree, path),
        };
        match self.at(tree, path)? {
            At::Entry(position) => Ok(self.attributes_at(tree, &position)),
            At::Directory { is_certain } => {
                let inode = self.numbers.of_entry(tree, path, None);
                let made = Attributes::made(inode, EntryKind::Directory, DIRECTORY_BYTES, tree.time, ours);
                // Its own entry may be lost, and may have kept other users out.
                Ok(if is_certain { made } else { Attributes { permissions: 0o500, ..made } })
            }
            At::Nothing => Err(BrowseError::Absent),
        }
    }

    /// Up to `length` bytes of a file from an offset; fewer only at its end.
    pub fn read(&self, node: &Node, offset: u64, length: u32) -> Result<Vec<u8>, BrowseError> {
        let (tree, position) = self.entry(node)?;
        let entry = position.entry();
        if entry.kind() != EntryKind::File {
            return Err(BrowseError::Kind);
        }
        content::read(&tree.domain, entry, offset, length).map_err(|error| {
            self.tell(Trouble::Content(tree.snapshot, &entry.path, &error));
            error.into()
        })
    }

    /// Passes on the size of a file, and its holes, which ascend.
    pub fn holes<T>(&self, node: &Node, take: impl FnOnce(u64, &[Range<u64>]) -> T) -> Result<T, BrowseError> {
        let (_, position) = self.entry(node)?;
        let entry = position.entry();
        Ok(take(entry.size, &entry.extras.holes))
    }

    /// The target of a symbolic link.
    pub fn target(&self, node: &Node) -> Result<Vec<u8>, BrowseError> {
        if let Kind::Alias(alias) = &node.0 {
            return Ok(alias.target.clone().into_bytes());
        }
        let (_, position) = self.entry(node)?;
        position.entry().extras.link_target.clone().ok_or(BrowseError::Kind)
    }

    /// The top of the snapshot that a link names, for systems without links.
    pub fn follow(&self, node: Node) -> Node {
        match node.0 {
            Kind::Alias(alias) => Node(Kind::Entry(alias.tree.clone(), TreePath::TOP, EntryKind::Directory)),
            kind => Node(kind),
        }
    }

    /// The extended attributes of a node, by name.
    pub fn xattrs(&self, node: &Node) -> Result<Vec<Xattr>, BrowseError> {
        let Kind::Entry(tree, path, _) = &node.0 else { return Ok(Vec::new()) };
        let At::Entry(position) = self.at(tree, path)? else { return Ok(Vec::new()) };
        if tree.options.no_xattrs {
            return Ok(Vec::new());
        }
        let is_left_out = |name: &[u8]| name.contains(&0) || (tree.leaves_out_powers() && is_power(name));
        Ok(position.entry().extras.xattrs.iter().filter(|(name, _)| !is_left_out(name)).cloned().collect())
    }

    fn attributes_at(&self, tree: &Tree, position: &Position) -> Attributes {
        let entry = position.entry();
        let owner: Arc<Owner> = locked(&self.owners).here(&entry.owner);
        let inode = self.numbers.of_entry(tree, &entry.path, Some(entry));
        let mut attributes = Attributes::of(inode, tree, entry, &owner, here());
        if attributes.kind == EntryKind::Directory {
            attributes.size = DIRECTORY_BYTES;
        }
        attributes
    }

    fn entry<'n>(&self, node: &'n Node) -> Result<(&'n Arc<Tree>, Position), BrowseError> {
        let Kind::Entry(tree, path, _) = &node.0 else { return Err(BrowseError::Kind) };
        match self.at(tree, path)? {
            At::Entry(position) => Ok((tree, position)),
            At::Directory { .. } => Err(BrowseError::Kind),
            At::Nothing => Err(BrowseError::Absent),
        }
    }

    fn at(&self, tree: &Tree, path: &TreePath) -> Result<At, ReadError> {
        let mut reached = tree.reach(Sought::Path(path))?;
        let mut lost = None;
        while let Reached::Lost(here) = reached {
            // If a page ends after the directory, nothing after the page lies in the directory.
            let may_go_on = here.range.through.as_ref().is_none_or(|through| through.is_within(path));
            let next = here.next.filter(|_| may_go_on);
            reached = next.map_or(Ok(Reached::End), |next| tree.reach(Sought::Number(next)))?;
            lost = lost.or(Some(here));
        }
        match reached {
            // A snapshot's top is a directory, whatever its writer says.
            Reached::Entry(position) if path.is_top() && position.entry().kind() != EntryKind::Directory => {
                Ok(At::Directory { is_certain: lost.is_none() })
            }
            Reached::Entry(position) if position.entry().path == *path => Ok(At::Entry(position)),
            // An entry below it shows that it is a directory, even if its own entry is lost.
            Reached::Entry(position) if position.entry().path.is_within(path) => {
                Ok(At::Directory { is_certain: lost.is_none() })
            }
            _ if path.is_top() => Ok(At::Directory { is_certain: lost.is_none() }),
            _ => match lost {
                None => Ok(At::Nothing),
                Some(lost) => {
                    self.tell(Trouble::Entry(tree.snapshot, path, &lost.error));
                    Err(lost.error)
                }
            },
        }
    }

    /// Shows what was saved or forgotten since. Looks for a newer root at most once in a while.
    fn renew(&self) {
        let Ok(mut newest) = self.newest.try_lock() else { return };
        if newest.checked.elapsed() < RENEWED_EVERY {
            return;
        }
        newest.checked = Instant::now();
        if let Err(error) = self.renew_from(&mut newest) {
            self.tell(Trouble::Renewal(&error));
        }
    }

    fn renew_from(&self, newest: &mut Newest) -> Result<(), JobError> {
        let store = self.repository.store().as_ref();
        if wait(view::newest_number(store))? <= newest.root {
            return Ok(());
        }
        let view = wait(view::read_parts(store, &Parts::RECORDS))?;
        if view.number() <= newest.root {
            return Ok(());
        }
        let history = History::renew(&self.repository, &view, &newest.snapshots)?;
        let shelf = self.arrange(&history.snapshots)?;
        *self.shelf.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(shelf);
        for problem in history.problems.iter().filter(|problem| !newest.problems.contains(problem)) {
            self.tell(Trouble::Snapshot(&problem.0, &problem.1));
        }
        (newest.root, newest.snapshots, newest.problems) = (view.number(), history.snapshots, history.problems);
        Ok(())
    }

    fn arrange(&self, snapshots: &[Snapshot]) -> Result<Shelf, JobError> {
        let mut shown = Vec::new();
        for snapshot in snapshots.iter().filter(|snapshot| snapshot.is_kept() && (self.terms.shows)(snapshot)) {
            shown.push(Shown {
                tree: Arc::new(Tree::new(snapshot, self.domains.of(&self.repository, snapshot.domain)?)),
                machine: snapshot.machine().to_owned(),
                client: snapshot.key.0,
                time: (self.terms.time_name)(snapshot.time),
                is_own: (self.terms.is_own)(snapshot),
            });
        }
        Ok(Shelf::of(&shown, &self.numbers))
    }

    fn shelf(&self) -> Arc<Shelf> {
        self.shelf.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn tell(&self, trouble: Trouble<'_>) {
        if let Trouble::Content(snapshot, ..) | Trouble::Entry(snapshot, ..) | Trouble::Entries(snapshot, ..) = &trouble
        {
            // The data of a forgotten snapshot may be gone: that is no trouble.
            self.renew();
            if !self.shelf().shows(*snapshot) {
                return;
            }
        }
        (self.terms.tell)(trouble);
    }
}

/// What is at a path of a tree.
enum At {
    Entry(Position),
    /// Entries lie below it, but it has none of its own. If that is not certain, its own entry may be lost.
    Directory {
        is_certain: bool,
    },
    Nothing,
}

/// The user and group of this process.
fn here() -> (u32, u32) {
    (crate::system::user(), crate::system::group())
}

/// The longest name that Linux takes from a file system in user space, in bytes.
const NAME_BYTES: usize = 1024;
const DIRECTORY_BYTES: u64 = 4096;
/// The least time between two looks for a newer root.
const RENEWED_EVERY: Duration = Duration::from_secs(2);
