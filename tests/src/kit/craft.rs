//! Craft: packs and claims made by hand, for what no honest client writes.

use copal_format::block::{BlockBuilder, SealTools};
use copal_format::compress::Parameters;
use copal_format::id::{ChunkId, ClientId, DomainId, ObjectHash, RepositoryId, SnapshotId, SourceId};
use copal_format::index::SegmentWriter;
use copal_format::keys::owner::KemPublic;
use copal_format::keys::secret::Secret;
use copal_format::keys::session::SessionKey;
use copal_format::layout::Place;
use copal_format::manifest::SnapshotClaim;
use copal_format::pack::{Pack, PackKind, PackWriter, PageView};
use copal_format::seal::{BlockKind, Counters, SessionCipher};
use copal_format::state::{ClientHead, PackRecord, SnapshotRecord};
use copal_format::time::Time;
use copal_jobs::commit::Proposal;

/// A page of a crafted pack: its id, its height, what it refers to.
pub type CraftedPage<'a> = (ChunkId, u8, &'a [ChunkId]);

pub fn id(byte: u8) -> ChunkId {
    ChunkId([byte; 24])
}

/// One of many ids, each another, in no order.
pub fn spread_id(pack: u8, at: usize) -> ChunkId {
    let mixed = ((u64::from(pack) << 32) + at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut bytes = [pack; 24];
    bytes[..8].copy_from_slice(&mixed.to_be_bytes());
    bytes[8..16].copy_from_slice(&(at as u64).to_be_bytes());
    ChunkId(bytes)
}

/// A data pack of one block whose bytes nobody can open.
pub fn data_pack(domain: DomainId, random: u8, ids: &[ChunkId]) -> Pack {
    let mut writer = writer(PackKind::Data, domain, random);
    writer.add_block(&[random; 300], 0, 0, ids.iter().copied(), []).expect("a small block fits");
    writer.finish()
}

/// A data pack of one block that the owner can open: anybody can seal for the owner, whose key for that is public.
pub fn sealed_pack(owner: &KemPublic, repository: RepositoryId, domain: DomainId, id: ChunkId, content: &[u8]) -> Pack {
    let session = SessionKey::new(Secret::new([7; 32]));
    let record = session.record(repository, domain, &[(owner, [8; 64])]);
    let cipher = SessionCipher::new(&session, repository, record.id(repository));
    let mut builder = BlockBuilder::new(BlockKind::Data, content.len());
    builder.push(id, content, None);
    let job = builder.take(Counters::new().next().expect("the first number")).expect("a block of one chunk");
    let block = job.run(&mut SealTools::new(Parameters::of_level(1)), &cipher).expect("it reads back");
    let sessions = vec![record.bytes().to_vec()];
    let mut writer = PackWriter::new(PackKind::Data, domain, [9; 16], sessions).expect("one session record");
    writer.add_block(&block.bytes, 0, block.counter, [id], []).expect("a small block fits");
    writer.finish()
}

/// A tree pack of one block whose bytes nobody can open.
pub fn tree_pack(domain: DomainId, random: u8, pages: &[CraftedPage<'_>]) -> Pack {
    let mut writer = writer(PackKind::Tree, domain, random);
    let rows = pages.iter().map(|(_, height, references)| PageView { replaces: None, height: *height, references });
    writer.add_block(&[random; 300], 0, 0, pages.iter().map(|page| page.0), rows).expect("a small block fits");
    writer.finish()
}

/// The record of a sound pack that was uploaded.
pub fn pack_record(pack: &Pack) -> PackRecord {
    let record = PackRecord::new(pack.table.domain, pack.table.kind, pack.bytes.len() as u64, Time(1));
    PackRecord { is_proven: true, ..record }
}

/// The domain of a number, spread as random ids are.
pub fn spread_domain(number: u32) -> DomainId {
    let mixed = u64::from(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    DomainId([mixed.to_be_bytes(), (!mixed).to_be_bytes()].concat().try_into().expect("twice 8 bytes"))
}

/// What a root says in which so many clients have backed up once, each one chunk into a domain of its own.
pub fn crowd(clients: u32) -> Proposal {
    let mut proposal = Proposal::default();
    for number in 0..clients {
        let domain = spread_domain(number);
        let pack = data_pack(domain, 1, &[id(1)]);
        let mut writer = SegmentWriter::new(domain, [number as u8; 16]);
        writer.add_pack(pack.id, Place::Packs, &pack.table).expect("one entry fits");
        let segment = writer.finish().expect("there is an entry");
        proposal.delta.segments.insert((domain, segment.hash), Some(segment.record));
        proposal.segments.push((segment.hash, segment.bytes));
        proposal.delta.packs.insert(pack.id, Some(pack_record(&pack)));
        let (client, hash) = (ClientId(domain.0), ObjectHash(pack.id.0));
        let snapshot = SnapshotRecord::new(SnapshotId(domain.0), domain, id(1), SourceId(domain.0), Time(1));
        let snapshot = SnapshotRecord { by_full_client: false, ..snapshot };
        proposal.delta.snapshots.insert((client, 1), Some(snapshot));
        proposal.delta.heads.insert(client, Some(ClientHead { number: 1, hash, time: Time(1), decisions: Vec::new() }));
    }
    proposal
}

/// A claim of a snapshot with this root page.
pub fn claim(root: ChunkId, partial: bool) -> SnapshotClaim {
    SnapshotClaim {
        root,
        partial,
        client_time: Time(1),
        source: SourceId([5; 16]),
        tags: Vec::new(),
        session_record: vec![1],
        counter: 0,
        info: vec![1],
        extent: None,
    }
}

fn writer(kind: PackKind, domain: DomainId, random: u8) -> PackWriter {
    PackWriter::new(kind, domain, [random; 16], vec![vec![1]]).expect("one short session record")
}
