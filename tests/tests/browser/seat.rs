//! A browser over the kit's store: what its coordinator and its workers do, one step after the other.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use copal_format::client::{ClientRecord, Role};
use copal_format::enrollment::Enrollment;
use copal_format::id::{ClientId, DomainId, ObjectHash, SnapshotId};
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::secret::Secret;
use copal_format::layout;
use copal_format::pack::PackKind;
use copal_format::path::TreePath;
use copal_format::repository::Descriptor;
use copal_format::seal::NONCE;
use copal_format::snapshot::SnapshotInfo;
use copal_format::time::Time;
use copal_format::tree::EntryKind;
use copal_tests::kit::{Random, Tree, World, path};
use copal_wasm::backup::{Action, Backup, FileFacts, FileKind, Start, Tally, Verdict};
use copal_wasm::chunker::Chunker;
use copal_wasm::client::{Client, HostKeys};
use copal_wasm::keeping::Keeping;
use copal_wasm::look::{Damage, Library, Opened, Piece};
use copal_wasm::owner::Owner;
use copal_wasm::sealer::{self, Sealer};
use copal_wasm::view::{Read, View};

use crate::shelf::{self, part};

/// What becomes of what the store gives.
pub(crate) type Alteration<'a> = dyn Fn(&Read, Vec<u8>) -> Option<Vec<u8>> + 'a;

/// A cipher of the host's: from a key, a nonce, associated data and what was sealed to what that opens to.
pub(crate) type HostCipher<'a> = dyn Fn(&Secret, &[u8; NONCE], &[u8], &[u8]) -> Option<Vec<u8>> + 'a;

/// A browser that is a full client of the kit's repository.
pub(crate) struct Browser {
    pub(crate) world: World,
    pub(crate) descriptor: Descriptor,
    pub(crate) owner: Owner,
    pub(crate) client: Client,
    pub(crate) random: RefCell<Random>,
    /// New chunks that are in no block yet.
    pub(crate) held: RefCell<VecDeque<Vec<u8>>>,
}

/// What a run left.
pub(crate) struct Ran {
    pub(crate) tally: Tally,
    pub(crate) snapshot: SnapshotId,
    pub(crate) kept: Vec<u8>,
    pub(crate) manifests: u64,
}

impl Browser {
    pub(crate) fn new() -> Self {
        let world = World::new();
        let descriptor = Descriptor::decode(1, &world.read(&layout::descriptor(1))).unwrap();
        let owner = Owner::of(world.repository.owner.clone());
        let joined =
            owner.register(&descriptor, "browser", Time(5), &[42; Owner::RANDOM], HostKeys::default()).unwrap();
        world.put(&joined.key, joined.bytes);
        Self {
            world,
            descriptor,
            owner,
            client: joined.client,
            random: RefCell::new(Random::new(1)),
            held: RefCell::default(),
        }
    }

    fn object(&self, name: &str) -> Option<Vec<u8>> {
        self.world.has(name).then(|| self.world.read(name))
    }

    pub(crate) fn fetch(&self, read: &Read) -> Option<Vec<u8>> {
        part(&|name| self.object(name), read)
    }

    fn view(&self) -> Rc<RefCell<View>> {
        let newest = self.world.names("roots/").into_iter().min();
        shelf::view(&|name| self.object(name), newest.as_deref(), self.client.domain())
    }

    pub(crate) fn begin(&self, now: i64, kept: &[&[u8]]) -> Backup {
        let (host, label) = ("browser".to_owned(), "test".to_owned());
        self.begin_with(now, SnapshotInfo { host, label, ..SnapshotInfo::default() }, kept)
    }

    /// Begins a run with this description.
    pub(crate) fn begin_with(&self, now: i64, info: SnapshotInfo, kept: &[&[u8]]) -> Backup {
        let mut random = self.random.borrow_mut();
        let start =
            Start { random: random.bytes(), kept_salt: random.bytes(), now: Time(now), info, pack_target: 16 << 10 };
        let compressors = Box::new(sealer::compressor);
        let begun = Backup::begin(self.client.clone(), &self.descriptor, self.view(), &start, compressors);
        let mut backup = begun.unwrap();
        while let Some(key) = backup.next_manifest() {
            backup.manifest(self.object(&key).as_deref());
        }
        kept.iter().for_each(|kept| assert!(backup.parent(kept.to_vec())));
        backup
    }

    /// Lets a write-only device join; gives its enrollment line.
    pub(crate) fn invite(&self) -> Enrollment {
        let owner = self.owner.secret();
        let (client, domain) = (ClientId([9; 16]), DomainId([8; 16]));
        let line = Enrollment {
            repository: owner.repository(),
            client,
            domain,
            owner: owner.fingerprint(),
            seed: Secret::new([5; 32]),
            expires: Time(9),
            domain_key: Some(owner.domain_key(domain)),
            address: "https://backup.example".to_owned(),
        };
        let first = ClientRecord {
            sealed_name: b"sealed".to_vec(),
            enrollment: Some(line.public()),
            ..ClientRecord::new(client, Role::WriteOnly, domain, Time(1))
        };
        self.world.put(&layout::client(client, 1), first.sign(owner.repository(), &owner.signing_key()));
        line
    }

    /// Takes files, whose time is that of their content's length, up to a number; claims a checkpoint or the snapshot.
    pub(crate) fn back_up(&self, now: i64, files: &Tree, kept: &[&[u8]], most: usize) -> Ran {
        self.go_on(self.begin(now, kept), files, most)
    }

    /// The rest of a run that was begun.
    pub(crate) fn go_on(&self, mut backup: Backup, files: &Tree, most: usize) -> Ran {
        let (p, chunker) = (&self.descriptor.parameters, self.chunker());
        for (path, content) in files.iter().take(most) {
            let facts = facts(path, content);
            if backup.compare(&facts).unwrap() == Verdict::Same {
                backup.take_same().unwrap();
            } else if content.len() <= p.inline_max as usize {
                backup.take_inline(&facts, content).unwrap();
            } else {
                backup.begin_file().unwrap();
                self.take_chunks(&mut backup, &chunker, content);
                backup.end_file(&facts).unwrap();
            }
            self.act(&mut backup);
        }
        if most < files.len() {
            backup.checkpoint().unwrap()
        } else {
            backup.finish().unwrap()
        }
        self.claim(backup)
    }

    /// A run that is lost within its only file; only the data packs stored by then are claimed. Returns their bytes.
    pub(crate) fn lose(&self, now: i64, path: &TreePath, content: &[u8]) -> u64 {
        let mut backup = self.begin(now, &[]);
        backup.compare(&facts(path, content)).unwrap();
        backup.begin_file().unwrap();
        for piece in content.chunks(100_000) {
            self.take_chunks(&mut backup, &self.chunker(), piece);
            self.act(&mut backup);
        }
        let bytes = backup.claim_stored().unwrap();
        assert_eq!(backup.claim_stored().unwrap(), 0, "each pack is claimed once");
        while let Some(claim) = backup.next_claim().unwrap() {
            let claimed = backup.claimed(None).unwrap();
            assert_eq!((claimed.snapshot, claim.number), (None, claimed.number));
            self.world.put(&claimed.key, claimed.bytes);
        }
        self.world.ingest().unwrap();
        self.held.borrow_mut().clear();
        bytes
    }

    /// A run that comes to an end within its only file.
    pub(crate) fn break_off(&self, now: i64, path: &TreePath, content: &[u8], within: usize) -> Ran {
        let mut backup = self.begin(now, &[]);
        assert_eq!(backup.compare(&facts(path, content)).unwrap(), Verdict::New);
        backup.begin_file().unwrap();
        self.take_chunks(&mut backup, &self.chunker(), &content[..within]);
        backup.checkpoint().unwrap();
        self.claim(backup)
    }

    fn chunker(&self) -> Chunker {
        let p = &self.descriptor.parameters;
        let sizes = [p.chunk_min, p.chunk_average, p.chunk_max].map(u64::from);
        Chunker::new(self.client.domain_key(), sizes[0], sizes[1], sizes[2]).unwrap()
    }

    /// Takes chunks up to the end of some bytes.
    fn take_chunks(&self, backup: &mut Backup, chunker: &Chunker, bytes: &[u8]) {
        let cut = chunker.cut(bytes, true);
        assert_eq!(cut.consumed, bytes.len());
        let new = backup.take_chunks(&cut.ids, &cut.lengths).unwrap();
        let mut rest = bytes;
        for (length, is_new) in cut.lengths.iter().zip(new) {
            let (chunk, behind) = rest.split_at(*length as usize);
            rest = behind;
            self.held.borrow_mut().extend(is_new.then(|| chunk.to_vec()));
        }
    }

    /// Claims what was closed.
    fn claim(&self, mut backup: Backup) -> Ran {
        while !backup.is_idle() {
            self.act(&mut backup);
        }
        let (mut snapshot, mut manifests) = (None, 0);
        while let Some(claim) = backup.next_claim().unwrap() {
            assert_eq!(claim.message, None);
            let claimed = backup.claimed(None).unwrap();
            self.world.put(&claimed.key, claimed.bytes);
            snapshot = claimed.snapshot.or(snapshot);
            manifests += 1;
        }
        self.world.ingest().unwrap();
        let (tally, kept) = (backup.tally(), backup.take_kept().unwrap());
        Ran { tally, snapshot: snapshot.unwrap(), kept, manifests }
    }

    pub(crate) fn act(&self, backup: &mut Backup) {
        let keys = DomainKeys::new(self.client.domain_key());
        let mut sealer = Sealer::new(keys, &backup.sealer_key(), 3);
        while let Some(action) = backup.poll() {
            match action {
                Action::Store(pack) => {
                    let name = backup.named(pack.number, &ObjectHash::of(&pack.bytes).0).unwrap();
                    self.world.put(&name, pack.bytes);
                    backup.stored(pack.number).unwrap();
                }
                Action::Seal { block, mut raw } => {
                    if !block.is_tree {
                        raw = self.held.borrow_mut().drain(..block.ids.len()).collect::<Vec<_>>().concat();
                    }
                    let plaintext = sealer.plaintext(&block, &raw).unwrap();
                    backup.seal(block.counter, &plaintext).unwrap();
                }
            }
        }
    }

    /// What the newest root says of the policy in force.
    pub(crate) fn keeping(&self) -> Keeping {
        let mut keeping = self.unread_keeping();
        let change = keeping.policy_name().map(|name| self.world.read(&name));
        keeping.supply_policy(change.as_deref()).unwrap();
        keeping
    }

    /// The same before the change with the policy is read.
    pub(crate) fn unread_keeping(&self) -> Keeping {
        let newest = self.world.names("roots/").into_iter().min();
        let mut keeping = Keeping::new(&self.descriptor, newest.as_deref()).unwrap();
        while let Some(read) = keeping.needs().first().cloned() {
            keeping.supply(&read.key, self.fetch(&read)).unwrap();
        }
        keeping
    }

    pub(crate) fn library(&self) -> Library {
        shelf::library(&|name| self.object(name), &self.owner, self.view())
    }

    /// Restores everything. `alter` may change what the store gives.
    pub(crate) fn restore(&self, snapshot: SnapshotId, alter: &Alteration) -> (Tree, Vec<String>) {
        let (whole, damaged) = self.restore_with(snapshot, alter, None);
        (whole, damaged.into_iter().map(|damage| damage.path).collect())
    }

    /// Restores everything; a cipher of the host's may open blocks.
    pub(crate) fn restore_with(
        &self,
        snapshot: SnapshotId,
        alter: &Alteration,
        cipher: Option<&HostCipher>,
    ) -> (Tree, Vec<Damage>) {
        let library = self.library();
        let mut restore = library.tree(snapshot).unwrap().restore(vec![TreePath::TOP], 0..u64::MAX);
        let mut files: BTreeMap<u32, (TreePath, Vec<u8>)> = BTreeMap::new();
        let (mut whole, mut damaged) = (Tree::new(), Vec::new());
        let mut keys = BTreeMap::new();
        let fetch = |read: &Read| self.fetch(read).and_then(|bytes| alter(read, bytes));
        for _ in 0..10_000 {
            let window = restore.advance().unwrap();
            window.needs.iter().for_each(|read| library.supply(read, fetch(read)));
            for started in window.entries {
                if started.entry.kind() == EntryKind::File {
                    let content = vec![0; started.entry.size as usize];
                    files.insert(started.file, (started.entry.path, content));
                }
            }
            let mut put = |pieces: Vec<Piece>| {
                for piece in pieces {
                    let (_, content) = files.get_mut(&piece.file).unwrap();
                    content[piece.offset as usize..][..piece.bytes.len()].copy_from_slice(&piece.bytes);
                }
            };
            put(window.pieces);
            for (at, (read, _)) in window.reads.iter().enumerate() {
                let bytes = fetch(read);
                let mut pieces = Vec::new();
                if let (Some(cipher), Some(bytes)) = (cipher, &bytes) {
                    for block in restore.sealed(at).unwrap() {
                        let key = keys.entry(block.session).or_insert_with(|| library.take_key(block.session).unwrap());
                        let stored = bytes.get(block.range.start as usize..block.range.end as usize);
                        let Some((nonce, rest)) = stored.and_then(<[u8]>::split_first_chunk) else { continue };
                        let Some(plaintext) = cipher(key, nonce, &block.associated, rest) else { continue };
                        let opened = Opened { nonce: *nonce, plaintext };
                        pieces
                            .extend(restore.take_opened(at, block.range.start, opened).unwrap().into_iter().flatten());
                    }
                }
                pieces.extend(restore.take(at, bytes.as_deref()).unwrap());
                put(pieces);
            }
            whole.extend(window.ends.iter().filter_map(|file| files.remove(file)));
            damaged.extend(window.damaged);
            if window.is_done {
                return (whole, damaged);
            }
        }
        panic!("the restore does not end");
    }

    /// The names of the packs with data.
    pub(crate) fn data_packs(&self) -> Vec<String> {
        self.world.packs(PackKind::Data)
    }
}

pub(crate) fn facts(path: &TreePath, content: &[u8]) -> FileFacts {
    let modified = Time(content.len() as i64 * 1_000_000 + i64::from(content.first().copied().unwrap_or(0)));
    FileFacts { path: path.clone(), size: content.len() as u64, modified, kind: FileKind::File }
}

pub(crate) fn unaltered(_: &Read, bytes: Vec<u8>) -> Option<Vec<u8>> {
    Some(bytes)
}

pub(crate) fn files(seed: u64, count: usize, most: usize) -> Tree {
    let mut random = Random::new(seed);
    let mut file = |at: usize| {
        let mut content = vec![0; random.below(most)];
        random.fill(&mut content);
        (path(&format!("d{}/e{}/f{at:03}", at % 3, at % 5)), content)
    };
    (0..count).map(&mut file).collect()
}

/// The files and the directories above them, as the kit's reader gives them: what it restores of a directory is empty.
pub(crate) fn with_directories(files: &Tree) -> Tree {
    let above = |path: &TreePath| {
        let text = path.to_string();
        text.match_indices('/').map(|(end, _)| TreePath::new(&text[..end]).unwrap()).collect::<Vec<_>>()
    };
    let mut tree: Tree = files.keys().flat_map(above).map(|directory| (directory, Vec::new())).collect();
    tree.extend(files.clone());
    tree
}

/// Long after the files were changed.
pub(crate) const LATER: i64 = 1_000_000_000_000_000;
