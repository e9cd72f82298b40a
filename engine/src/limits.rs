//! Limits: the largest of everything a decoder accepts, checked before anything is allocated (`docs/format.md` §12).

/// The largest number in a record or a name that counts, names or measures an object.
pub const NUMBER: u64 = (1 << 53) - 1;
/// So far above the highest root number that is believed another one may be. No repository writes so many roots.
pub const ROOT_LEAP: u64 = 1 << 40;
/// So far above the newest root there is a manifest, receipt or record of deletions may name a lost one. It is less than
/// [`ROOT_LEAP`], so that a rebuilt root stands above all that is believed.
pub const ROOT_TOLD: u64 = ROOT_LEAP / 2;
/// So many records of a chain (of manifests, changes, expiries or versions) may be missing in a row.
pub const CHAIN_LEAP: u64 = 1 << 20;
/// Bytes in a pack.
pub const PACK_BYTES: u64 = 256 << 20;
/// Blocks in a pack.
pub const PACK_BLOCKS: u32 = 65_535;
/// Chunks or pages in a pack.
pub const PACK_ENTRIES: u32 = 4 << 20;
/// Session records in a pack.
pub const PACK_SESSIONS: u16 = 64;
/// Bytes of a stored block, and of what it holds when unpacked.
pub const BLOCK_BYTES: u32 = 32 << 20;
/// Chunks or pages in a block: the index keeps the ordinal in 16 bits.
pub const BLOCK_ENTRIES: u32 = 65_535;
/// Blocks sealed under one session key.
pub const SESSION_BLOCKS: u64 = 1 << 24;
/// Bytes of a pack's header: 48, and the longest records of the most sessions with their lengths.
pub const PACK_HEADER_BYTES: usize = 48 + PACK_SESSIONS as usize * (4 + SESSION_RECORD_BYTES);
/// Bytes in a chunk.
pub const CHUNK_BYTES: u32 = 16 << 20;
/// Bytes of a page before compression: four times the largest at which a writer ends a page, so that an entry with the longest
/// path and a megabyte of attributes still fits.
pub const PAGE_BYTES: usize = 4 * PAGE_TARGET as usize;
/// The largest size at which a writer ends a page, in which references count: with the last item on top, its rows fit the
/// table of one pack.
pub const PAGE_TARGET: u32 = 512 << 10;
/// Items of a page: each weighs at least 16 bytes of the size at which a page ends.
pub const PAGE_ITEMS: u64 = PAGE_TARGET as u64 / 16;
/// Bytes of all paths of a page together. A page stores what a path shares with the one before only once, so that a small
/// page could ask for much memory.
pub const PAGE_PATH_BYTES: usize = 64 * PATH_BYTES;
/// References in one page.
pub const PAGE_REFERENCES: u32 = 1 << 20;
/// Height of a page.
pub const HEIGHT: u8 = 31;
/// Bytes of an entry's path.
pub const PATH_BYTES: usize = 65_535;
/// Bytes of a record's body.
pub const RECORD_BYTES: usize = 4 << 20;
/// Bytes of a root's body.
pub const ROOT_BYTES: usize = 8 << 10;
/// Bytes of a key slot's header.
pub const SLOT_HEADER_BYTES: usize = 1 << 10;
/// Bytes of a session record.
pub const SESSION_RECORD_BYTES: usize = 64 << 10;
/// Recipients of a session key.
pub const SESSION_RECIPIENTS: usize = 16;
/// Packs one manifest names.
pub const MANIFEST_PACKS: usize = 64;
/// Bytes of the headers and tables of all packs one manifest names: so much an ingest holds at once.
pub const MANIFEST_TABLES: u64 = 64 << 20;
/// Of that, what writers put into one pack, so that a manifest of the most packs is within it.
pub const CLEAR_SHARE: u64 = MANIFEST_TABLES / MANIFEST_PACKS as u64;
/// Missing ids or packs a receipt names.
pub const RECEIPT_NAMES: usize = 4_096;
/// Reasons a receipt gives.
pub const RECEIPT_REASONS: usize = 256;
/// Bytes of a text in a record: a host, label, tag, program, user or reason.
pub const TEXT_BYTES: usize = 4 << 10;
/// Bytes of a text in a record when it is sealed: nonce, text and tag.
pub const SEALED_TEXT_BYTES: usize = TEXT_BYTES + 28;
/// Tags of one snapshot.
pub const SNAPSHOT_TAGS: usize = 1_024;
/// Paths a snapshot was made of.
pub const SNAPSHOT_PATHS: usize = 65_536;
/// Bytes of a snapshot's info before it is sealed.
pub const SNAPSHOT_INFO_BYTES: usize = 1 << 20;
/// Bytes of a snapshot's sealed info.
pub const SEALED_INFO_BYTES: usize = 2 << 20;
/// Operations of one change.
pub const CHANGE_OPERATIONS: usize = 4_096;
/// Snapshots that one operation of a change, or an expiry, names.
pub const CHANGE_SNAPSHOTS: usize = 1 << 17;
/// Packs that one operation of a change proves.
pub const CHANGE_PACKS: usize = 1 << 16;
/// Bytes of a retention policy.
pub const POLICY_BYTES: usize = 64 << 10;
/// Sets of tags in a retention policy.
pub const POLICY_SETS: usize = 1_024;
/// Bytes of a policy's time zone.
pub const ZONE_BYTES: usize = 64;
/// Bytes of a repository's address in an enrollment.
pub const ADDRESS_BYTES: usize = 1 << 10;
/// Entries of one index segment.
pub const SEGMENT_ENTRIES: u64 = 1 << 25;
/// Bytes of the reader that a repository carries, and of its text.
pub const READER_BYTES: u64 = 16 << 20;
/// Bytes of the fields of one map that a reader may ignore.
pub const IGNORED_BYTES: usize = 64 << 10;
/// Nesting of a CBOR item.
pub const CBOR_DEPTH: u32 = 16;
