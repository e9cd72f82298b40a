//! Reader: restores a snapshot, and believes nothing that it has not verified.

use std::collections::HashMap;
use std::sync::Mutex;

use copal_format::block::{OpenBlock, OpenTools};
use copal_format::id::{ChunkId, DomainId, SessionId};
use copal_format::index::Location;
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::owner::OwnerSecret;
use copal_format::keys::session::SessionRecord;
use copal_format::layout;
use copal_format::pack::{self, PackKind};
use copal_format::seal::{BlockKind, SessionCipher};
use copal_format::state::SnapshotRecord;
use copal_format::tree::Extents;
use copal_format::tree::{Content, Entry, ListStep, ListWalk, Piece, Step, TreeWalk, VerifiedPage};
use copal_jobs::view::View;
use copal_store::Store;

use super::{Repository, Tree};

/// Restores snapshots with the owner's secret. Remembers the keys of sessions, which are slow to unwrap.
pub struct Reader<'a> {
    repository: &'a Repository,
    ciphers: Ciphers,
}

/// The keys of sessions: unwrapping one is slow, so each is unwrapped once.
#[derive(Default)]
pub struct Ciphers(Mutex<HashMap<SessionId, SessionCipher>>);

impl Ciphers {
    /// The key of the session whose record this is.
    pub fn of(&self, owner: &OwnerSecret, record: &[u8]) -> Result<SessionCipher, String> {
        let record = SessionRecord::parse(record).map_err(|error| error.to_string())?;
        let id = record.id(owner.repository());
        let mut ciphers = self.0.lock().expect("nothing panics while it holds the map");
        if let Some(cipher) = ciphers.get(&id) {
            return Ok(cipher.clone());
        }
        let key = record.unwrap(owner).map_err(|error| error.to_string())?;
        let cipher = SessionCipher::new(&key, owner.repository(), id);
        ciphers.insert(id, cipher.clone());
        Ok(cipher)
    }
}

/// Plaintext of a chunk or page, with what stands in the clear beside it.
struct Plain {
    bytes: Vec<u8>,
    height: u8,
    references: Vec<ChunkId>,
}

impl<'a> Reader<'a> {
    pub fn new(repository: &'a Repository) -> Self {
        Self { repository, ciphers: Ciphers::default() }
    }

    /// The files of a snapshot; an error says what is missing or wrong.
    pub async fn restore(&self, store: &dyn Store, view: &View, snapshot: &SnapshotRecord) -> Result<Tree, String> {
        let mut tree = Tree::new();
        for entry in self.entries(store, view, snapshot).await? {
            let content = self.content(store, view, snapshot.domain, &entry).await?;
            tree.insert(entry.path, content);
        }
        Ok(tree)
    }

    pub async fn entries(
        &self,
        store: &dyn Store,
        view: &View,
        snapshot: &SnapshotRecord,
    ) -> Result<Vec<Entry>, String> {
        let mut walk = TreeWalk::new(snapshot.root);
        let mut entries = Vec::new();
        loop {
            match walk.step() {
                Step::Entry(entry) => entries.push(entry),
                Step::Need(id) => {
                    let page = self.page(store, view, snapshot.domain, id).await?;
                    walk.supply(page).map_err(|error| error.to_string())?;
                }
                Step::Done => return Ok(entries),
            }
        }
    }

    async fn content(
        &self,
        store: &dyn Store,
        view: &View,
        domain: DomainId,
        entry: &Entry,
    ) -> Result<Vec<u8>, String> {
        let extents = Extents::of(entry);
        let mut file = vec![0; entry.size as usize];
        let mut put = |parts: &mut dyn Iterator<Item = (u64, &[u8])>| {
            parts.for_each(|(offset, bytes)| file[offset as usize..][..bytes.len()].copy_from_slice(bytes));
        };
        let pieces = match &entry.content {
            Content::None => Vec::new(),
            Content::Inline(content) => {
                put(&mut extents.inline(content));
                Vec::new()
            }
            Content::Chunks(pieces) => pieces.clone(),
            Content::List { root, height } => {
                self.list(store, view, domain, *root, *height, entry.content_bytes()).await?
            }
        };
        let keys = self.keys(domain);
        let mut taken = 0;
        for piece in pieces {
            let check = |plain: Plain| {
                let is_it = keys.chunk_id(&plain.bytes) == piece.id && plain.bytes.len() == piece.length as usize;
                if is_it { Ok(plain.bytes) } else { Err(format!("chunk {} is not what its id says", piece.id)) }
            };
            let bytes = self.fetch(store, view, (domain, piece.id), check).await?;
            put(&mut extents.parts(taken, &bytes));
            taken += bytes.len() as u64;
        }
        Ok(file)
    }

    async fn list(
        &self,
        store: &dyn Store,
        view: &View,
        domain: DomainId,
        root: ChunkId,
        height: u8,
        bytes: u64,
    ) -> Result<Vec<Piece>, String> {
        let mut walk = ListWalk::new(root, height, bytes);
        let mut pieces = Vec::new();
        loop {
            match walk.step() {
                ListStep::Piece { piece, .. } => pieces.push(piece),
                ListStep::Need(id) => {
                    let page = self.page(store, view, domain, id).await?;
                    walk.supply(page).map_err(|error| error.to_string())?;
                }
                ListStep::Done => return Ok(pieces),
            }
        }
    }

    async fn page(
        &self,
        store: &dyn Store,
        view: &View,
        domain: DomainId,
        id: ChunkId,
    ) -> Result<VerifiedPage, String> {
        let keys = self.keys(domain);
        let check = |plain: Plain| {
            let page = VerifiedPage::open(&keys, id, plain.height, &plain.references, &plain.bytes);
            page.map_err(|error| error.to_string())
        };
        self.fetch(store, view, (domain, id), check).await
    }

    /// What the first copy holds that passes the check: anybody may have claimed to have one.
    async fn fetch<T>(
        &self,
        store: &dyn Store,
        view: &View,
        (domain, id): (DomainId, ChunkId),
        check: impl Fn(Plain) -> Result<T, String>,
    ) -> Result<T, String> {
        let mut why = format!("{id} is not in the index");
        for (location, _) in view.index(domain).into_iter().flat_map(|index| index.copies(&id)) {
            match self.fetch_copy(store, id, location).await.and_then(&check) {
                Ok(found) => return Ok(found),
                Err(wrong) => why = wrong,
            }
        }
        Err(why)
    }

    async fn fetch_copy(&self, store: &dyn Store, id: ChunkId, location: Location) -> Result<Plain, String> {
        let name = layout::pack(location.place, location.pack);
        let bytes = store.read(&super::repository::key(&name)).await.map_err(|error| error.to_string())?;
        let table = pack::parse(&bytes).map_err(|error| format!("{name}: {error}"))?;
        let row = table.blocks.iter().find(|row| row.offset == location.offset);
        let row = row.ok_or_else(|| format!("{name} has no block at {}", location.offset))?;
        let cipher = self.ciphers.of(&self.repository.owner, &table.sessions[usize::from(row.session)])?;
        let stored = &bytes[row.offset as usize..][..row.length as usize];
        let kind = match table.kind {
            PackKind::Data => BlockKind::Data,
            PackKind::Tree => BlockKind::Tree,
        };
        let block = OpenBlock::open(&cipher, kind, row.counter, stored, &mut OpenTools::new());
        let block = block.map_err(|error| format!("{name}: {error}"))?;
        let at = row.entries.start as usize + usize::from(location.ordinal);
        if table.ids.get(at) != Some(&id) {
            return Err(format!("{name} does not hold {id} where the index says"));
        }
        let page = table.page(at);
        Ok(Plain {
            bytes: block.chunk(usize::from(location.ordinal)).ok_or("a block is too short")?.to_vec(),
            height: table.height(at),
            references: page.map(|page| page.references.to_vec()).unwrap_or_default(),
        })
    }

    fn keys(&self, domain: DomainId) -> DomainKeys {
        DomainKeys::new(&self.repository.owner.domain_key(domain))
    }
}
