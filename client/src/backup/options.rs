//! Options: how a snapshot is made, and what it says of itself.

use std::time::Duration;

use copal_engine::backup::change::ChangeDetection;
use copal_format::exclusions::Exclusions;
use copal_format::snapshot::{MetadataSeen, Origin};
use copal_format::time::Time;
use copal_format::troubles::Troubles;

use crate::compression::Compression;
use crate::scan::Root;

/// Options of a backup.
pub struct Options {
    /// Host name of the snapshot.
    pub host: String,
    /// Paths of the snapshot. Host, paths and label together are the source.
    pub paths: Vec<Vec<u8>>,
    /// Label of the source, or empty.
    pub label: String,
    /// Tags.
    pub tags: Vec<String>,
    /// The snapshot's time, instead of now.
    pub time: Option<Time>,
    /// The user who runs the backup.
    pub user: String,
    /// What the snapshot takes over from an archive or another snapshot; none if it is made of files of this machine.
    pub inherited: Option<Inherited>,
    /// The exclusions of the source, as the snapshot records them.
    pub exclusions: Option<Exclusions>,
    /// Whether every file is read, changed or not.
    pub force: bool,
    /// Which signs of change are believed.
    pub detection: ChangeDetection,
    /// Whether this is a dry run, which writes nothing to the repository.
    pub is_dry_run: bool,
    /// Whether to make no snapshot if the tree equals that of the parent snapshot.
    pub skip_if_unchanged: bool,
    /// Whether to make a snapshot even if it holds only directories, and the parent snapshot has more or something
    /// could not be read; or if the archive has no members.
    pub may_be_empty: bool,
    /// Share of the parent snapshot's bytes, from 0 to 1, that may be uploaded again because the repository wants them.
    pub rewrite_budget: f64,
    /// How hard blocks are compressed.
    pub compression: Compression,
    /// Number of threads that read, and of threads that seal.
    pub threads: usize,
    /// How long to wait for the service's receipt. With `None` a client that does not ingest itself does not wait.
    pub wait: Option<Duration>,
}

impl Options {
    /// Defaults for one directory: no labels or tags, no wait for a receipt.
    pub fn plain(host: &str, root: &Root, threads: usize) -> Self {
        Self::new(host.into(), vec![root.path().as_bytes().to_vec()], threads)
    }

    /// The same for a source of these paths.
    pub fn new(host: String, paths: Vec<Vec<u8>>, threads: usize) -> Self {
        Self {
            host,
            paths,
            label: String::new(),
            tags: Vec::new(),
            time: None,
            user: String::new(),
            inherited: None,
            exclusions: None,
            force: false,
            detection: ChangeDetection::default(),
            is_dry_run: false,
            skip_if_unchanged: false,
            may_be_empty: false,
            rewrite_budget: 0.0,
            compression: Compression::Auto,
            threads,
            wait: None,
        }
    }
}

/// What a snapshot takes over from the archive or snapshot that it is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inherited {
    /// Where it comes from; none if it was no snapshot.
    pub origin: Option<Origin>,
    /// When the run that read the source itself began.
    pub started: Time,
    /// What that run could see.
    pub metadata: MetadataSeen,
    /// What that run could not read.
    pub troubles: Troubles,
    /// How many entries that run could not read.
    pub errors: u64,
}
