//! The same input, keys and random numbers make the same objects, whichever thread is faster.

use std::collections::VecDeque;

use copal_engine::backup::content::FileContent;
use copal_engine::backup::session::{Action, ListedPack, Session, SessionStart};
use copal_format::block::{SealJob, SealTools, SealedBlock};
use copal_format::chunk::{ChunkSizes, Chunker};
use copal_format::compress;
use copal_format::id::{ChunkId, PackId};
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::secret::Secret;
use copal_format::keys::session::SessionKey;
use copal_format::path::TreePath;
use copal_format::seal::SessionCipher;
use copal_format::time::Time;
use copal_format::tree::{Content, Entry, EntryKind, Mode, Piece};
use copal_tests::kit::{Random, Repository, path};

#[test]
fn packs_do_not_depend_on_the_order_in_which_sealed_blocks_come_back() {
    let expected = Made::by(INPUT, SESSION, &mut InTurn::default());
    assert!(expected.packs.len() > 10, "{} packs tell little", expected.packs.len());
    for seed in 0..20 {
        assert_eq!(Made::by(INPUT, SESSION, &mut Shuffled::new(seed)), expected, "seed {seed}");
    }
}

#[test]
fn another_session_makes_other_packs_of_the_same_tree() {
    let one = Made::by(INPUT, SESSION, &mut InTurn::default());
    let other = Made::by(INPUT, SESSION + 1, &mut InTurn::default());
    assert_eq!(one.root, other.root);
    assert!(one.packs.iter().all(|pack| !other.packs.contains(pack)));
    assert_ne!(Made::by(INPUT + 1, SESSION, &mut InTurn::default()).root, one.root);
}

/// Everything that a session gives out.
#[derive(Debug, PartialEq, Eq)]
struct Made {
    root: ChunkId,
    packs: Vec<(PackId, Vec<u8>)>,
    listed: Vec<(PackId, u64)>,
}

impl Made {
    /// Backs up a tree that follows from one seed, with keys that follow from another.
    fn by(input: u64, session: u64, workers: &mut impl Workers) -> Self {
        let repository = Repository::new();
        let keys = DomainKeys::new(&repository.owner.domain_key(repository.shared));
        let mut random = Random::new(session);
        let (id, key) = (repository.owner.repository(), SessionKey::new(random.secret()));
        let record = key.record(id, repository.shared, &[(&repository.owner.kem_public(), random.bytes())]);
        let cipher = SessionCipher::new(&key, id, record.id(id));
        let start = SessionStart {
            parameters: repository.parameters.clone(),
            domain: repository.shared,
            keys: keys.clone(),
            record,
            seed: Secret::new(random.bytes()),
        };
        let mut run = Run { session: Session::begin(start).unwrap(), cipher, workers, packs: Vec::new() };
        for (path, content) in files(input) {
            let entry = run.read(&repository, &keys, path, &content);
            run.session.add_entry(&entry, |_| false).unwrap();
            run.work(false);
        }
        let root = run.session.finish_tree(|_| false).unwrap().root;
        run.session.flush().unwrap();
        run.work(true);
        assert!(run.session.close_packs_if_idle(), "every block is back");
        run.work(true);
        Self { root, listed: run.session.take_listing().into_iter().map(ListedPack::named).collect(), packs: run.packs }
    }
}

struct Run<'a, W> {
    session: Session,
    cipher: SessionCipher,
    workers: &'a mut W,
    packs: Vec<(PackId, Vec<u8>)>,
}

impl<W: Workers> Run<'_, W> {
    /// Does what the session asks for; at the end also waits for everything that was begun.
    fn work(&mut self, waits: bool) {
        loop {
            while let Some(action) = self.session.poll() {
                match action {
                    Action::Seal(job) => self.workers.begin(job, &self.cipher),
                    Action::Store(pack) => {
                        assert!(self.session.named(pack.number, pack.id()));
                        self.packs.push((pack.id(), pack.bytes));
                    }
                }
            }
            match self.workers.ended(waits) {
                Some(block) => self.session.sealed(block).unwrap(),
                None => return,
            }
        }
    }

    fn read(&mut self, repository: &Repository, keys: &DomainKeys, path: TreePath, content: &[u8]) -> Entry {
        let p = &repository.parameters;
        let sizes = ChunkSizes::new(p.chunk_min.into(), p.chunk_average.into(), p.chunk_max.into()).unwrap();
        let mut file = FileContent::default();
        for range in Chunker::new(sizes, keys.cuts()).cuts(content) {
            let id = keys.chunk_id(&content[range.clone()]);
            self.session.add_chunk(id, &content[range.clone()], |_| false).unwrap();
            self.work(false);
            let piece = Piece { id, length: range.len() as u32 };
            self.session.add_piece(&mut file, piece, |_| false).unwrap();
        }
        let stored = match content.len() {
            0 => Content::None,
            short if short <= p.inline_max as usize => Content::Inline(content.to_vec().into()),
            _ => self.session.content_of(file, |_| false).unwrap(),
        };
        let (size, plain) = (content.len() as u64, Entry::new(path, Mode::new(EntryKind::File, 0o644)));
        Entry { mtime: Time(1), ctime: Time(2), inode: 3, size, content: stored, ..plain }
    }
}

/// Who seals blocks.
trait Workers {
    fn begin(&mut self, job: SealJob, cipher: &SessionCipher);

    /// One that is done; with `waits` one of those that were begun, as long as there are any.
    fn ended(&mut self, waits: bool) -> Option<SealedBlock>;
}

fn seal(job: SealJob, cipher: &SessionCipher) -> SealedBlock {
    job.run(&mut SealTools::new(compress::Parameters::of_level(1)), cipher).expect("this machine seals what it is told")
}

/// Gives blocks back in the order in which they were begun.
#[derive(Default)]
struct InTurn(VecDeque<SealedBlock>);

impl Workers for InTurn {
    fn begin(&mut self, job: SealJob, cipher: &SessionCipher) {
        self.0.push_back(seal(job, cipher));
    }

    fn ended(&mut self, _: bool) -> Option<SealedBlock> {
        self.0.pop_front()
    }
}

/// Gives blocks back in any order, some late.
struct Shuffled {
    random: Random,
    sealed: Vec<SealedBlock>,
}

impl Shuffled {
    fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), sealed: Vec::new() }
    }
}

impl Workers for Shuffled {
    fn begin(&mut self, job: SealJob, cipher: &SessionCipher) {
        self.sealed.push(seal(job, cipher));
    }

    fn ended(&mut self, waits: bool) -> Option<SealedBlock> {
        let is_due = waits || self.sealed.len() > 8 || self.random.chance(300);
        (is_due && !self.sealed.is_empty()).then(|| self.sealed.swap_remove(self.random.below(self.sealed.len())))
    }
}

/// Files of every size that the kit's sizes tell apart.
fn files(seed: u64) -> Vec<(TreePath, Vec<u8>)> {
    let mut random = Random::new(seed);
    let sizes = [0, 1, 16, 17, 256, 257, 1_024, 1_025, 5_000, 60_000];
    let files = (0..40).map(|at| {
        let mut content = vec![0; sizes[at % sizes.len()]];
        random.fill(&mut content);
        (path(&format!("d{}/f{at:02}", at / 10)), content)
    });
    files.collect()
}

const INPUT: u64 = 1;
const SESSION: u64 = 2;
