//! Handover: how a backup gets its list from a watcher, by three files in a directory of their own.
//!
//! | file | written by | holds |
//! |---|---|---|
//! | `ask-WHO-NONCE` | a backup | nothing |
//! | `list-WHO-NONCE` | the watcher | an [`Answer`] as one line, then the paths, each ended by a zero byte |
//! | `done-WHO` | the backup, once it has made a snapshot | a [`Done`] |
//!
//! The nonce belongs to one question: an answer that comes late, or to another backup of the series, is not taken for
//! the answer to this one. Each file is written under another name first. `lock` is locked as long as a watcher runs.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use copal_format::id::{ObjectHash, SnapshotId};
use copal_jobs::context::Entropy;
use serde::{Deserialize, Serialize};

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

/// A question that a watcher has answered. The backup confirms it once it has made a snapshot.
#[derive(Debug)]
pub struct Asked(Option<Answered>);

#[derive(Debug)]
struct Answered {
    handover: PathBuf,
    who: String,
    run: String,
    upto: u64,
}

impl Asked {
    /// Tells the watcher which snapshot has everything that it was asked for. If it does not learn that, the next list is
    /// longer, or the next backup looks at everything.
    pub fn confirm(self, snapshot: SnapshotId) {
        if let Some(Answered { handover, who, run, upto }) = self.0 {
            let _ = put(&handover, &format!("{DONE}{who}"), &text(&Done { run, upto, snapshot: snapshot.to_string() }));
        }
    }
}

/// The directory in which backups of these paths meet their watcher. The paths are absolute. A process that sees other
/// mounts has another directory, because its files may be others.
pub fn handover_of(places: &Places, paths: &[PathBuf]) -> PathBuf {
    let paths: BTreeSet<&PathBuf> = paths.iter().collect();
    let mut named = bytes_of(mount_table().as_os_str()).into_owned();
    for path in paths {
        named.push(0);
        named.extend_from_slice(&bytes_of(path.as_os_str()));
    }
    places.state().join("watch").join(ObjectHash::of(&named).to_string())
}

/// Asks the watcher what has changed: gives the snapshot that has everything else, in hexadecimal digits, and the paths.
/// `who` is any text that all backups of one series have, and no others.
pub fn ask(handover: &Path, who: &str) -> (Result<(String, Vec<PathBuf>), Unwatched>, Asked) {
    let none = |why| (Err(why), Asked(None));
    if !is_watched(handover) {
        return none(Unwatched::Nobody);
    }
    let who = ObjectHash::of(who.as_bytes()).to_string();
    let nonce = nonce();
    let [question, list] = [ASK, LIST].map(|kind| format!("{kind}{who}-{nonce}"));
    let list = handover.join(list);
    if put(handover, &question, b"").is_err() {
        return none(Unwatched::Silent);
    }
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some((answer, paths)) = taken(&list).and_then(|bytes| read(&bytes)) {
            let list = answer.since.map(|since| (since, paths)).ok_or(Unwatched::Unseen);
            let (handover, run, upto) = (handover.to_owned(), answer.run, answer.upto);
            return (list, Asked(Some(Answered { handover, who, run, upto })));
        }
        if Instant::now() > until || !is_watched(handover) {
            let _ = fs::remove_file(handover.join(question));
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

/// What a watcher writes before the paths.
#[derive(Serialize, Deserialize)]
pub(super) struct Answer {
    /// Names the watcher: a restarted one knows nothing of earlier answers.
    pub(super) run: String,
    /// The number of the last change that the list has.
    pub(super) upto: u64,
    /// The snapshot that the list follows; none if it is not known what has changed.
    pub(super) since: Option<String>,
}

/// Written by a backup after it has made a snapshot: tells the watcher which one.
#[derive(Serialize, Deserialize)]
pub(super) struct Done {
    pub(super) run: String,
    pub(super) upto: u64,
    pub(super) snapshot: String,
}

/// Writes a file of the handover, whole or not at all. It means nothing after a crash, so it is not synced.
pub(super) fn put(handover: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let unfinished = handover.join(format!(".{}", nonce()));
    let created = private_file().create_new(true).open(&unfinished);
    let written = created.and_then(|mut file| file.write_all(bytes));
    written.and_then(|()| fs::rename(&unfinished, handover.join(name))).inspect_err(|_| {
        let _ = fs::remove_file(&unfinished);
    })
}

/// Reads and removes a file of the handover; none if there is none. Does not remove a file that it did not find: that
/// file may come meanwhile.
pub(super) fn taken(file: &Path) -> Option<Vec<u8>> {
    let is_file = fs::symlink_metadata(file).ok()?.is_file();
    // Opening anything else may block for ever.
    let bytes = is_file.then(|| fs::read(file).ok()).flatten();
    let _ = fs::remove_file(file);
    bytes
}

/// Who asks, and the nonce, in the rest of a question's name.
pub(super) fn asker(rest: &str) -> Option<(&str, &str)> {
    let (who, nonce) = rest.split_once('-')?;
    (is_follower(who) && nonce.len() == 32 && nonce.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .then_some((who, nonce))
}

/// Removes answers that nobody has taken: the backups that asked have ended.
pub(super) fn sweep(handover: &Path) {
    for entry in fs::read_dir(handover).into_iter().flatten().flatten() {
        let is_list = entry.file_name().to_string_lossy().starts_with(LIST);
        let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        if is_list && age().is_some_and(|age| age > 2 * PATIENCE) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether a name is one that [`ask`] gives to followers.
pub(super) fn is_follower(who: &str) -> bool {
    who.len() == 2 * ObjectHash::LEN && who.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(super) fn text(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

/// A text that nothing else has.
pub(super) fn nonce() -> String {
    let mut bytes = [0; 16];
    SystemEntropy.fill(&mut bytes);
    format!("{:032x}", u128::from_le_bytes(bytes))
}

pub(super) const ASK: &str = "ask-";
pub(super) const LIST: &str = "list-";
pub(super) const DONE: &str = "done-";
pub(super) const LOCK: &str = "lock";
/// A watcher that has just begun answers once it has looked through all directories.
const PATIENCE: Duration = Duration::from_secs(30);
const AGAIN: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_comes_while_somebody_looks_for_it_is_not_lost() {
        let handover = tempfile::tempdir().unwrap();
        let list = handover.path().join("list");
        for round in 0..200 {
            std::thread::scope(|scope| {
                let looking = scope.spawn(|| {
                    let until = Instant::now() + PATIENCE;
                    std::iter::repeat_with(|| taken(&list)).find(|found| found.is_some() || Instant::now() > until)
                });
                put(handover.path(), "list", b"answer").unwrap();
                assert_eq!(looking.join().unwrap().flatten().as_deref(), Some(&b"answer"[..]), "{round}");
            });
        }
    }
}
