//! Listed: descriptions of a remote repository's snapshots that this machine has verified, as a sealed file in its cache.
//! A listing then reads only manifests that are new. Only the owner's secret opens the file. If anybody changes it, it
//! does not open, and all manifests are read again. A search for damage must not use it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;

use copal_format::client::ClientRecord;
use copal_format::id::{ChunkId, ClientId, DomainId, SessionId, SnapshotId};
use copal_format::keys::session::SessionKey;
use copal_format::limits::BLOCK_BYTES;
use copal_format::seal::{BlockKind, Counters, SessionCipher};
use copal_format::snapshot::SnapshotInfo;
use copal_format::time::Time;
use copal_format::wire::DecodeError;
use copal_format::wire::cbor::{Reader, Writer};

use crate::places::write_private;
use crate::repository::Repository;

/// The descriptions, each with the key that verified its manifest.
#[derive(Default)]
pub(crate) struct Listed(BTreeMap<SnapshotKey, (SignatureKey, Description)>);

/// The client that signed a snapshot, and the number of its manifest.
pub(crate) type SnapshotKey = (ClientId, u64);

type SignatureKey = [u8; 32];
type Row = (SnapshotKey, SignatureKey, Description);

/// What a snapshot's manifest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Description {
    pub(crate) id: SnapshotId,
    pub(crate) domain: DomainId,
    pub(crate) root: ChunkId,
    pub(crate) time: Time,
    pub(crate) info: SnapshotInfo,
}

impl Listed {
    /// Reads the repository's file; nothing if it has none, or it does not open.
    pub(crate) fn read(repository: &Repository) -> Self {
        let opened = repository.listed().and_then(|path| {
            // Opening a FIFO would block.
            let path = path.metadata().ok()?.is_file().then_some(path)?;
            let (mut sealed, mut bytes) = (Vec::new(), Vec::new());
            File::open(path).ok()?.take(BLOCK_BYTES.into()).read_to_end(&mut sealed).ok()?;
            cipher(repository).open(BlockKind::Info, 0, &sealed, &mut bytes).ok()?;
            decode(&bytes).ok()
        });
        Self(opened.unwrap_or_default())
    }

    /// How many snapshots it describes.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it describes the snapshot with this id.
    pub(crate) fn has(&self, key: &SnapshotKey, id: &SnapshotId) -> bool {
        self.0.get(key).is_some_and(|(_, description)| description.id == *id)
    }

    /// The description of the snapshot with this id; none if its signer has another key or domain now.
    pub(crate) fn get(&self, key: &SnapshotKey, id: &SnapshotId, signer: &ClientRecord) -> Option<&Description> {
        let (signed_with, description) = self.0.get(key)?;
        let is_same = *signed_with == signer.keys.as_ref()?.manifest && description.domain == signer.domain;
        (is_same && description.id == *id).then_some(description)
    }

    /// Replaces the repository's file, if it has one. The rows are sorted by age, the oldest first. A failure costs only
    /// time: the next listing reads again what the file does not describe.
    pub(crate) fn write(repository: &Repository, rows: Vec<Row>) {
        let Some(path) = repository.listed() else { return };
        let first = Counters::new().next().expect("a session has a first block");
        let _ = write_private(path, &cipher(repository).seal(BlockKind::Info, first, &encode(&newest(rows))));
    }
}

/// The newest rows that fit in the file.
fn newest(mut rows: Vec<Row>) -> Vec<Row> {
    let mut room = BLOCK_BYTES as usize / 2;
    let fits = |(_, _, description): &&Row| {
        let left = room.checked_sub(ROW + description.info.encode().len());
        room = left.unwrap_or(room);
        left.is_some()
    };
    let count = rows.iter().rev().take_while(fits).count();
    rows.split_off(rows.len() - count)
}

fn encode(rows: &[Row]) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.array(rows.len());
    for ((client, number), signed_with, description) in rows {
        let Description { id, domain, root, time, info } = description;
        writer.array(8).bytes(client.as_bytes()).uint(*number).bytes(id.as_bytes()).bytes(signed_with);
        writer.bytes(domain.as_bytes()).bytes(root.as_bytes()).time(*time).bytes(&info.encode());
    }
    writer.finish()
}

fn decode(bytes: &[u8]) -> Result<BTreeMap<SnapshotKey, (SignatureKey, Description)>, DecodeError> {
    let rows = Reader::new(bytes)?.list(BLOCK_BYTES as usize / ROW, |row| {
        row.array(8)?;
        let key = (row.id()?, row.uint()?);
        let (id, signed_with, domain) = (row.id()?, row.fixed()?, row.id()?);
        let (root, time) = (row.id()?, row.time()?);
        let info = SnapshotInfo::decode(row.bytes(BLOCK_BYTES as usize)?)?;
        Ok((key, (signed_with, Description { id, domain, root, time, info })))
    })?;
    Ok(rows.into_iter().collect())
}

/// Always seals block 0 of one session: nonces also derive from the plaintext. Each version of the program has a key of
/// its own, because an older one drops fields that it does not know.
fn cipher(repository: &Repository) -> SessionCipher {
    let key = SessionKey::new(repository.owner.root().derive("listed", env!("CARGO_PKG_VERSION").as_bytes()));
    SessionCipher::new(&key, repository.id(), SessionId([0; 16]))
}

/// About how many bytes a row has without its description.
const ROW: usize = 160;

#[cfg(test)]
mod tests {
    use super::*;
    use copal_format::client::{ClientPublic, Role};

    const KEY: SignatureKey = [4; 32];

    fn row(number: u64, host: String) -> Row {
        let info = SnapshotInfo { host, ..SnapshotInfo::default() };
        let (id, domain, root) = (SnapshotId([number as u8; 16]), DomainId([2; 16]), ChunkId([3; 24]));
        ((ClientId([1; 16]), number), KEY, Description { id, domain, root, time: Time(-5), info })
    }

    fn signer(manifest: SignatureKey, domain: DomainId) -> ClientRecord {
        let keys = Some(ClientPublic { manifest, request: [5; 32] });
        ClientRecord { keys, ..ClientRecord::new(ClientId([1; 16]), Role::Full, domain, Time(0)) }
    }

    fn map(rows: &[Row]) -> BTreeMap<SnapshotKey, (SignatureKey, Description)> {
        rows.iter().cloned().map(|(key, signed, description)| (key, (signed, description))).collect()
    }

    #[test]
    fn a_description_is_read_as_it_was_written() {
        let rows = [row(1, "one".into()), row(u64::from(u32::MAX), String::new())];
        assert_eq!(decode(&encode(&rows)), Ok(map(&rows)));
        assert_eq!(decode(&encode(&[])), Ok(map(&[])));
        assert!(decode(b"").is_err() && decode(&encode(&rows)[1..]).is_err());
    }

    #[test]
    fn a_description_counts_for_its_id_and_for_the_key_and_domain_it_was_verified_with() {
        let (key, _, description) = row(1, "it".into());
        let listed = Listed(map(&[row(1, "it".into())]));
        let found = |key, domain| listed.get(&(ClientId([1; 16]), 1), &SnapshotId([1; 16]), &signer(key, domain));
        assert_eq!(found(KEY, description.domain), Some(&description));
        assert_eq!([found([9; 32], description.domain), found(KEY, DomainId([9; 16]))], [None; 2]);
        let record = signer(KEY, description.domain);
        assert_eq!(listed.get(&key, &SnapshotId([9; 16]), &record), None);
        assert_eq!(listed.get(&(key.0, 2), &description.id, &record), None);
        assert_eq!(listed.get(&key, &description.id, &ClientRecord { keys: None, ..record }), None);
    }

    #[test]
    fn the_newest_that_fit_in_a_block_are_kept() {
        let all: Vec<Row> = (0..5_000).map(|number| row(number, "h".repeat(4 << 10))).collect();
        let kept = newest(all.clone());
        assert!(kept.len() > 3_500 && kept == all[all.len() - kept.len()..]);
        assert!(encode(&kept).len() < BLOCK_BYTES as usize);
        assert_eq!(newest(all[..10].to_vec()), all[..10]);
    }
}
