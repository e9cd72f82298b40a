//! Limits: the largest values that decoders accept, checked before anything is allocated (`docs/format.md` §12).

/// The largest number in a record or a name that counts, names or measures an object.
pub const NUMBER: u64 = (1 << 53) - 1;
/// The largest believed gap from one root number to the next. No repository writes so many roots.
pub const ROOT_LEAP: u64 = 1 << 40;
/// The largest believed distance of a lost root, named in a manifest, receipt or deletion record, above the newest
/// root. Less than [`ROOT_LEAP`], so that a rebuilt root is above all that is believed.
pub const ROOT_TOLD: u64 = ROOT_LEAP / 2;
/// The largest gap in a chain (of manifests, changes, expiries or versions).
pub const CHAIN_LEAP: u64 = 1 << 20;
/// Bytes in a pack.
pub const PACK_BYTES: u64 = 256 << 20;
/// Blocks in a pack.
pub const PACK_BLOCKS: u32 = 65_535;
/// Chunks or pages in a pack.
pub const PACK_ENTRIES: u32 = 4 << 20;
/// Session records in a pack.
pub const PACK_SESSIONS: u16 = 64;
/// Bytes of a stored block, and of its decompressed content.
pub const BLOCK_BYTES: u32 = 32 << 20;
/// Chunks or pages in a block: the index stores positions in 16 bits.
pub const BLOCK_ENTRIES: u32 = 65_535;
/// Blocks sealed under one session key.
pub(crate) const SESSION_BLOCKS: u64 = 1 << 24;
/// Bytes of a pack's header: 48, and the most session records of the largest size, with their lengths.
pub(crate) const PACK_HEADER_BYTES: usize = 48 + PACK_SESSIONS as usize * (4 + SESSION_RECORD_BYTES);
/// Bytes in a chunk.
pub const CHUNK_BYTES: u32 = 16 << 20;
/// Bytes of a page before compression: four times the largest target, so that an entry with the longest path and a
/// megabyte of attributes still fits.
pub const PAGE_BYTES: usize = 4 * PAGE_TARGET as usize;
/// The largest size, counting references, at which a writer ends a page. With a last item, its rows fit one table.
pub const PAGE_TARGET: u32 = 512 << 10;
/// Items of a page; each adds at least 16 bytes to the size at which a page ends.
pub const PAGE_ITEMS: u64 = PAGE_TARGET as u64 / 16;
/// Total bytes of all paths of a page: they share stored prefixes, so a small page could otherwise take much memory.
pub(crate) const PAGE_PATH_BYTES: usize = 64 * PATH_BYTES;
/// References in one page.
pub const PAGE_REFERENCES: u32 = 1 << 20;
/// Height of a page.
pub const HEIGHT: u8 = 31;
/// Bytes of an entry's path.
pub(crate) const PATH_BYTES: usize = 65_535;
/// Bytes of a record's body.
pub const RECORD_BYTES: usize = 4 << 20;
/// Bytes of a root's body.
pub const ROOT_BYTES: usize = 8 << 10;
/// Bytes of a key slot's header.
pub(crate) const SLOT_HEADER_BYTES: usize = 1 << 10;
/// Bytes of a session record.
pub const SESSION_RECORD_BYTES: usize = 64 << 10;
/// Recipients of a session key.
pub(crate) const SESSION_RECIPIENTS: usize = 16;
/// Packs one manifest names.
pub const MANIFEST_PACKS: usize = 64;
/// Bytes of headers and tables of all packs that a manifest names: ingest holds so much at once.
pub const MANIFEST_TABLES: u64 = 64 << 20;
/// The share of [`MANIFEST_TABLES`] that writers use for one pack, so that any manifest is within the limit.
pub const CLEAR_SHARE: u64 = MANIFEST_TABLES / MANIFEST_PACKS as u64;
/// Missing ids or packs a receipt names.
pub const RECEIPT_NAMES: usize = 4_096;
/// Reasons a receipt gives.
pub(crate) const RECEIPT_REASONS: usize = 256;
/// Bytes of a text in a record: a host, label, tag, program, user or reason.
pub const TEXT_BYTES: usize = 4 << 10;
/// Bytes of a sealed text in a record: nonce, text and tag.
pub(crate) const SEALED_TEXT_BYTES: usize = TEXT_BYTES + 28;
/// Tags of one snapshot.
pub const SNAPSHOT_TAGS: usize = 1_024;
/// Paths in a snapshot's description.
pub(crate) const SNAPSHOT_PATHS: usize = 65_536;
/// Bytes of a snapshot's info before it is sealed.
pub(crate) const SNAPSHOT_INFO_BYTES: usize = 1 << 20;
/// Bytes of a snapshot's exclusions: half of what a reader may ignore in a record, so that it can ignore them.
pub(crate) const EXCLUSIONS_BYTES: usize = IGNORED_BYTES / 2;
/// Patterns of a snapshot's exclusions. A restore compiles them.
pub(crate) const EXCLUSION_PATTERNS: usize = 4_096;
/// Markers of a snapshot's exclusions.
pub(crate) const EXCLUSION_MARKERS: usize = 1_024;
/// Bytes of a snapshot's troubles: with its exclusions less than what a reader may ignore.
pub(crate) const TROUBLES_BYTES: usize = IGNORED_BYTES / 4;
/// Names of each kind in a snapshot's troubles.
pub(crate) const TROUBLE_NAMES: usize = 128;
/// Bytes of a snapshot's sealed info.
pub(crate) const SEALED_INFO_BYTES: usize = 2 << 20;
/// Operations of one change.
pub const CHANGE_OPERATIONS: usize = 4_096;
/// Snapshots that one operation of a change, or an expiry, names.
pub const CHANGE_SNAPSHOTS: usize = 1 << 17;
/// Packs that one operation of a change proves.
pub(crate) const CHANGE_PACKS: usize = 1 << 16;
/// Manifests, and changes, that one operation of a change accepts as lost.
pub const CHANGE_LOSSES: usize = 4_096;
/// Bytes of a retention policy.
pub const POLICY_BYTES: usize = 64 << 10;
/// Sets of tags in a retention policy.
pub(crate) const POLICY_SETS: usize = 1_024;
/// Bytes of a policy's time zone.
pub(crate) const ZONE_BYTES: usize = 64;
/// Bytes of a repository's address in an enrollment.
pub const ADDRESS_BYTES: usize = 1 << 10;
/// Entries of one index segment.
pub const SEGMENT_ENTRIES: u64 = 1 << 25;
/// Bytes of the reader program in a repository, and of its text.
pub const READER_BYTES: u64 = 16 << 20;
/// Bytes of a map's fields that a reader may ignore.
pub(crate) const IGNORED_BYTES: usize = 64 << 10;
/// Nesting depth of a CBOR item.
pub(crate) const CBOR_DEPTH: u32 = 16;
