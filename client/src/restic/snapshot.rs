//! Snapshot: a snapshot of restic, as its file describes it.

use std::mem;

use copal_format::id::{ChunkId, ClientId, RepositoryId, SnapshotId};
use copal_format::limits::{SNAPSHOT_TAGS, TEXT_BYTES};
use copal_format::snapshot::{Origin, OversizeInfo, SnapshotInfo};
use copal_format::time::Time;
use serde::Deserialize;

use super::Restic;
use super::counted::Counted;
use super::index::BlobId;
use super::node;

/// A snapshot in a repository of restic.
#[derive(Clone, Debug)]
pub struct ResticSnapshot {
    /// Its id, as restic shows it.
    pub id: String,
    /// When it was made.
    pub time: Time,
    /// The machine.
    pub host: String,
    /// Who made it.
    pub user: String,
    /// What was backed up.
    pub paths: Vec<Vec<u8>>,
    /// The number of its paths, if a snapshot cannot hold so many: then `paths` is the one directory that holds all of them.
    pub paths_cut: Option<usize>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its root tree.
    pub root: ChunkId,
    /// This snapshot, as its copies name it.
    pub origin: Origin,
}

#[derive(Deserialize)]
struct SnapshotFile {
    time: String,
    tree: BlobId,
    #[serde(default)]
    paths: Option<Counted<String, PATHS_MAX>>,
    #[serde(default)]
    hostname: String,
    #[serde(default)]
    username: String,
    #[serde(default)]
    tags: Option<Counted<String, SNAPSHOT_TAGS>>,
}

impl Restic {
    /// The snapshot that a file describes, or why there is none.
    pub(super) fn snapshot(&self, object: &str, text: &[u8]) -> Result<ResticSnapshot, String> {
        let file: SnapshotFile = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let id = object.rsplit('/').next().and_then(BlobId::from_hex).ok_or("its name is no id")?;
        let path = |path: String| path.strip_prefix('/').unwrap_or(&path).as_bytes().to_vec();
        let paths = file.paths.map(|paths| paths.0).unwrap_or_default();
        let mut snapshot = ResticSnapshot {
            id: id.to_string(),
            time: node::time(&file.time).ok_or("its time cannot be read")?,
            paths: paths.into_iter().map(path).collect(),
            paths_cut: None,
            host: file.hostname,
            user: file.username,
            tags: file.tags.map(|tags| tags.0).unwrap_or_default(),
            root: file.tree.chunk(),
            origin: Origin {
                repository: RepositoryId(*self.id.0.first_chunk().expect("it is longer")),
                snapshot: SnapshotId(*id.0.first_chunk().expect("it is longer")),
                client: ClientId([0; 16]),
            },
        };
        if snapshot.fits().is_err() {
            snapshot.paths_cut = Some(snapshot.paths.len());
            snapshot.paths = vec![common(&snapshot.paths)];
            snapshot.fits().map_err(|error| error.to_string())?;
        }
        Ok(snapshot)
    }
}

impl ResticSnapshot {
    /// Whether a snapshot of Copal can hold this one's description, with any label.
    fn fits(&mut self) -> Result<(), OversizeInfo> {
        let longest = || " ".repeat(TEXT_BYTES);
        // Lent, not copied: there may be very many paths.
        let info = SnapshotInfo {
            host: mem::take(&mut self.host),
            paths: mem::take(&mut self.paths),
            label: longest(),
            tags: mem::take(&mut self.tags),
            program: longest(),
            user: mem::take(&mut self.user),
            origin: Some(self.origin),
            ..SnapshotInfo::default()
        };
        let fits = info.check();
        SnapshotInfo { host: self.host, paths: self.paths, tags: self.tags, user: self.user, .. } = info;
        fits
    }

    /// About the bytes of memory that it takes.
    pub(super) fn memory(&self) -> usize {
        let texts = self.paths.iter().map(Vec::len).chain(self.tags.iter().map(String::len));
        let texts = texts.chain([&self.id, &self.host, &self.user].map(String::len));
        texts.map(|length| length + TEXT_HEAD).sum()
    }
}

/// The directory that holds all paths, or the path itself if there is only one.
fn common(paths: &[Vec<u8>]) -> Vec<u8> {
    let Some((first, others)) = paths.split_first() else { return Vec::new() };
    let mut common = first.as_slice();
    let ends_name = |path: &[u8], at: usize| path.get(at).is_none_or(|&byte| byte == b'/');
    for other in others {
        let alike = common.iter().zip(other).take_while(|(a, b)| a == b).count();
        let end = if ends_name(common, alike) && ends_name(other, alike) {
            alike
        } else {
            common[..alike].iter().rposition(|&byte| byte == b'/').unwrap_or(0)
        };
        common = &common[..end];
    }
    common.to_vec()
}

/// The most paths of a snapshot: far more than a copy can name.
pub(super) const PATHS_MAX: usize = 1 << 20;
/// About the bytes of memory that a text takes besides its own bytes.
const TEXT_HEAD: usize = 48;
