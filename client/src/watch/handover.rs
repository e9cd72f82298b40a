//! Handover: how a backup gets its list from a watcher, by three files in a directory of their own.
//!
//! | file | written by | holds |
//! |---|---|---|
//! | `ask-WHO` | a backup | a [`Question`] |
//! | `list-WHO` | the watcher | an [`Answer`] as one line, then the paths, each ended by a zero byte |
//! | `done-WHO` | the backup, once it has made a snapshot | a [`Done`] |
//!
//! Each is written under another name first. `lock` is locked as long as a watcher runs.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use copal_format::id::SnapshotId;
use copal_jobs::context::Entropy;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::entropy::SystemEntropy;
use crate::places::Places;
use crate::system::{bytes_of, mount_table, path_of, private_file};

/// Why there is no list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unwatched {
    /// No watcher of these paths runs.
    #[error("no \"copal watch\" of these paths runs")]
    Nobody,
    /// A watcher runs, and does not answer.
    #[error("\"copal watch\" does not answer")]
    Silent,
    /// The watcher does not know what has changed since the last backup.
    #[error("\"copal watch\" has not seen all that changed since the last backup")]
    Unseen,
}

/// What a backup says to a watcher that it has asked, once it has made a snapshot.
#[derive(Debug)]
pub struct Asked(Option<(PathBuf, Done)>);

impl Asked {
    /// Tells the watcher which snapshot has everything that it was asked for. If it does not learn that, the next list is
    /// longer, or the next backup looks at everything.
    pub fn confirm(self, snapshot: SnapshotId) {
        if let Some((file, done)) = self.0 {
            let _ = put(&file, &text(&Done { snapshot: snapshot.to_string(), ..done }));
        }
    }
}

/// The directory in which backups of these paths meet their watcher. The paths are absolute. Who sees other mounts meets
/// another watcher: it knows of other files.
pub fn handover_of(places: &Places, paths: &[PathBuf]) -> PathBuf {
    let mut hash = Sha256::new();
    hash.update([&*bytes_of(mount_table().as_os_str()), b"\0"].concat());
    let mut paths: Vec<&PathBuf> = paths.iter().collect();
    paths.sort();
    paths.dedup();
    for path in paths {
        hash.update([&*bytes_of(path.as_os_str()), b"\0"].concat());
    }
    places.state().join("watch").join(hex(&hash.finalize()[..16]))
}

/// Asks the watcher what has changed: gives the snapshot that has everything else, in hexadecimal digits, and the paths.
/// `who` names those who follow the same snapshots, whatever it is.
pub fn ask(handover: &Path, who: &str) -> (Result<(String, Vec<PathBuf>), Unwatched>, Asked) {
    let none = |why| (Err(why), Asked(None));
    if !is_watched(handover) {
        return none(Unwatched::Nobody);
    }
    let who = hex(&Sha256::digest(who)[..16]);
    let nonce = nonce();
    let list = handover.join(format!("{LIST}{who}"));
    let _ = fs::remove_file(&list);
    if put(&handover.join(format!("{ASK}{who}")), &text(&Question { nonce: nonce.clone() })).is_err() {
        return none(Unwatched::Silent);
    }
    let until = Instant::now() + PATIENCE;
    loop {
        let found = taken(&list).and_then(|bytes| read(&bytes)).filter(|(answer, _)| answer.nonce == nonce);
        if let Some((answer, paths)) = found {
            let done = Done { run: answer.run, upto: answer.upto, snapshot: String::new() };
            let list = answer.since.map(|since| (since, paths)).ok_or(Unwatched::Unseen);
            return (list, Asked(Some((handover.join(format!("{DONE}{who}")), done))));
        }
        if Instant::now() > until || !is_watched(handover) {
            return none(Unwatched::Silent);
        }
        sleep(AGAIN);
    }
}

fn is_watched(handover: &Path) -> bool {
    let lock = File::open(handover.join(LOCK));
    lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn read(bytes: &[u8]) -> Option<(Answer, Vec<PathBuf>)> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (line, rest) = bytes.split_at(end);
    let paths = rest[1..].split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Some((serde_json::from_slice(line).ok()?, paths.map(|path| path_of(path).into_owned()).collect()))
}

/// What a backup wants to know.
#[derive(Serialize, Deserialize)]
pub(super) struct Question {
    /// Comes again in the answer.
    pub(super) nonce: String,
}

/// What a watcher knows.
#[derive(Serialize, Deserialize)]
pub(super) struct Answer {
    pub(super) nonce: String,
    /// Names the watcher: one that is started again knows nothing of what it said before.
    pub(super) run: String,
    /// The number of the last change that the list has.
    pub(super) upto: u64,
    /// The snapshot that the list follows; none if it is not known what has changed.
    pub(super) since: Option<String>,
}

/// What a backup has saved.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Done {
    pub(super) run: String,
    pub(super) upto: u64,
    pub(super) snapshot: String,
}

/// Writes a file of the handover, whole or not at all. It means nothing after a crash, so it is not synced.
pub(super) fn put(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = file.with_file_name(format!(".{}", nonce()));
    let mut open = private_file();
    let written = open.create_new(true).open(&unfinished).and_then(|mut file| file.write_all(bytes));
    written.and_then(|()| fs::rename(&unfinished, file)).inspect_err(|_| {
        let _ = fs::remove_file(&unfinished);
    })
}

/// Reads and removes a file of the handover; none if there is none.
pub(super) fn taken(file: &Path) -> Option<Vec<u8>> {
    // To open anything else may wait for ever.
    let bytes = fs::symlink_metadata(file).is_ok_and(|found| found.is_file()).then(|| fs::read(file).ok()).flatten();
    let _ = fs::remove_file(file);
    bytes
}

/// Whether a name is one that [`ask`] gives to those who follow.
pub(super) fn is_follower(who: &str) -> bool {
    who.len() == 32 && who.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(super) fn text(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

pub(super) fn nonce() -> String {
    let mut bytes = [0; 16];
    SystemEntropy.fill(&mut bytes);
    hex(&bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) const ASK: &str = "ask-";
pub(super) const LIST: &str = "list-";
pub(super) const DONE: &str = "done-";
pub(super) const LOCK: &str = "lock";
/// A watcher that has just begun answers once it has looked through all directories.
const PATIENCE: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_millis(2);
