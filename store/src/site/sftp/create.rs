//! Creation: the steps that turn bytes into an object, in an order that survives a power failure and a lost connection.

use bytes::Bytes;
use futures::future::{BoxFuture, join};
use futures::stream::{self, StreamExt, TryStreamExt};

use super::directory::{Directory, PIECE, PIECES_AT_ONCE, TMP, home};
use super::packet::{Answer, Field, Fields, Request};
use super::session::OpenFile;
use super::trouble::Trouble;
use crate::walk::Entry;
use crate::{Created, Key, Op, StoreError};

impl Directory {
    /// Writes and syncs the bytes below `tmp/`, gives the file its name unless that exists, and syncs the directory.
    pub(super) async fn put(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        let length = bytes.len() as u64;
        match self.write_and_name(key.as_str(), bytes).await {
            Ok(created) => Ok(created),
            Err(trouble) => Err(self.unwritten(Op::Create, key.as_str(), length, trouble).await),
        }
    }

    async fn write_and_name(&self, key: &str, bytes: Bytes) -> Result<Created, Trouble> {
        let (made, tmp) = join(self.make_home(home(key)), self.new_tmp()).await;
        let (tmp, file) = tmp?;
        let named = async {
            made?;
            write(&file, bytes).await?;
            file.sync().await?;
            self.name(&tmp, key).await
        };
        let named = named.await;
        let synced = async { if named.is_ok() { self.sync_directory(home(key)).await } else { Ok(()) } };
        let (unlinked, synced) = join(self.unlink(&tmp), synced).await;
        // Reports the first failure.
        let created = named?;
        synced?;
        match unlinked {
            // A sweep of another process took it.
            Err(trouble) if !trouble.is_absence() => Err(trouble),
            _ => Ok(created),
        }
    }

    /// Names the file. If the name exists, makes that object durable instead: its writer may not have done so yet.
    async fn name(&self, tmp: &str, key: &str) -> Result<Created, Trouble> {
        let mut last = Trouble::Answer("no attempt was made");
        for _ in 0..NAMING_ATTEMPTS {
            let session = self.session().await?;
            last = match session.link(tmp, &self.path(key)).await {
                Ok(()) => return Ok(Created::New),
                // Another process removed the empty directory.
                Err(trouble) if trouble.is_absence() => {
                    self.forget_homes();
                    self.make_home(home(key)).await?;
                    trouble
                }
                Err(trouble) if trouble.is_failure() => trouble,
                Err(trouble) if trouble.is_unsupported() => return Err(Trouble::Lacks(NO_LINKS)),
                Err(trouble) => return Err(trouble),
            };
            // The server does not say whether the name exists.
            match session.look(Request::Lstat, &self.path(key)).await.and_then(|attributes| attributes.entry()) {
                Ok(Entry::File(_)) => match self.sync_object(key).await {
                    // Deleted meanwhile: the name is free again.
                    Err(trouble) if trouble.is_absence() => (),
                    synced => return synced.map(|()| Created::Exists),
                },
                Ok(_) => return Err(Trouble::Obstructed),
                Err(trouble) if trouble.is_absence() => (),
                Err(trouble) => return Err(trouble),
            }
        }
        Err(last)
    }

    async fn sync_object(&self, key: &str) -> Result<(), Trouble> {
        self.session().await?.open_file(&self.path(key), READ).await?.sync().await
    }

    /// A new file with a random name below `tmp/`: its path, and the open file.
    pub(super) async fn new_tmp(&self) -> Result<(String, OpenFile), Trouble> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|_| Trouble::Answer("there are no random numbers"))?;
        let path = self.path(&format!("{TMP}/{:032x}", u128::from_le_bytes(random)));
        let session = self.session().await?;
        match session.open_file(&path, NEW).await {
            Err(trouble) if trouble.is_absence() => {
                self.make_directory(&self.path(TMP)).await?;
                Ok((path.clone(), session.open_file(&path, NEW).await?))
            }
            opened => Ok((path, opened?)),
        }
    }

    /// Makes a directory and its parents durably. Another process may have made one without a sync, so each is synced
    /// before this process first uses it.
    fn make_home<'a>(&'a self, home: &'a str) -> BoxFuture<'a, Result<(), Trouble>> {
        Box::pin(async move {
            if home.is_empty() || self.homes().contains(home) {
                return Ok(());
            }
            let parent = self::home(home);
            self.make_home(parent).await?;
            self.make_directory(&self.path(home)).await?;
            self.sync_directory(parent).await?;
            self.homes().insert(home.to_owned());
            Ok(())
        })
    }

    /// Makes a directory unless it exists.
    async fn make_directory(&self, path: &str) -> Result<(), Trouble> {
        let session = self.session().await?;
        let made = session.ask(Request::MakeDirectory, &[Field::Text(path.as_bytes()), Field::Mode(0o700)]).await;
        let Err(trouble) = made else { return Ok(()) };
        match session.look(Request::Stat, path).await.and_then(|attributes| attributes.entry()) {
            Ok(Entry::Directory) => Ok(()),
            // The second question failed too, say because the connection ended: the caller may try again.
            Err(later) if !later.is_absence() => Err(later),
            _ => Err(trouble),
        }
    }

    /// Makes the root and its parents, each durable in its parent.
    pub(super) async fn make_root(&self) -> Result<(), StoreError> {
        let root = self.path("");
        let made = async {
            let session = self.session().await?;
            for (end, _) in root.match_indices('/').skip(1).chain([(root.len(), "")]) {
                let path = &root[..end];
                if session.look(Request::Stat, path).await.is_ok() {
                    continue;
                }
                self.make_directory(path).await?;
                self.sync_path(if home(path).is_empty() { "/" } else { home(path) }).await?;
            }
            Ok(())
        };
        made.await.map_err(|trouble: Trouble| trouble.explain(Op::Create, &root))
    }

    /// Whether names can be made durable and files can have two names, for the probe.
    pub(super) async fn syncs_directories(&self) -> Result<(), StoreError> {
        let (tmp, file) = match self.new_tmp().await {
            Ok(made) => made,
            Err(trouble) => {
                // A server on which no file can be made, for example because a quota is used up, can still be read.
                return Err(match self.unwritten(Op::Create, TMP, 0, trouble).await {
                    StoreError::Io { op, key, source } => StoreError::ReadOnly { op, key, source },
                    error => error,
                });
            }
        };
        let tried = async {
            let synced = self.sync_directory(TMP).await;
            let second = format!("{tmp}-2");
            let linked = self.session().await?.link(&tmp, &second).await;
            drop(file);
            let _ = join(self.unlink(&tmp), self.unlink(&second)).await;
            match (synced, linked) {
                (Err(Trouble::Status { .. }), _) => Err(Trouble::Lacks(NO_SYNC)),
                (_, Err(Trouble::Status { .. })) => Err(Trouble::Lacks(NO_LINKS)),
                (synced, linked) => synced.and(linked),
            }
        };
        match tried.await {
            Err(trouble) => Err(self.unwritten(Op::Create, TMP, 0, trouble).await),
            Ok(()) => Ok(()),
        }
    }

    /// The store error of a failed write. SFTP has no status for a full or read-only disk: servers only report a
    /// failure, and only OpenSSH's tells more about the disk.
    pub(super) async fn unwritten(&self, op: Op, key: &str, length: u64, trouble: Trouble) -> StoreError {
        let disk = if trouble.is_failure() { self.disk().await.unwrap_or_default() } else { None };
        let (key_of, source) = (key.to_owned(), trouble.clone().into());
        match disk {
            Some(disk) if disk.is_read_only => StoreError::ReadOnly { op, key: key_of, source },
            Some(disk) if disk.has_no_names || disk.room < length.saturating_add(FULL_BELOW) => {
                StoreError::Full { op, key: key_of, source }
            }
            _ => self.explain(op, key, trouble).await,
        }
    }

    /// What the server says of the disk below the root, by statvfs; nothing if it cannot.
    async fn disk(&self) -> Result<Option<Disk>, Trouble> {
        let root = self.path("");
        let fields = [Field::Text(b"statvfs@openssh.com"), Field::Text(root.as_bytes())];
        let answer = self.session().await?.ask(Request::Extended, &fields).await?;
        let Answer::Extended(bytes) = answer else { return Ok(None) };
        let (mut fields, mut numbers) = (Fields(bytes), [0; 10]);
        for number in &mut numbers {
            *number = fields.u64()?;
        }
        let [_, size, _, _, free, names, _, free_names, _, flags] = numbers;
        Ok(Some(Disk {
            room: size.saturating_mul(free),
            has_no_names: names > 0 && free_names == 0,
            is_read_only: flags & 1 != 0,
        }))
    }

    fn forget_homes(&self) {
        self.homes().clear();
    }

    fn homes(&self) -> std::sync::MutexGuard<'_, std::collections::HashSet<String>> {
        self.durable.lock().expect("nothing panics while it holds the set")
    }
}

struct Disk {
    /// Bytes that are free.
    room: u64,
    /// Whether no further file fits, however small.
    has_no_names: bool,
    is_read_only: bool,
}

async fn write(file: &OpenFile, bytes: Bytes) -> Result<(), Trouble> {
    let piece = PIECE as usize;
    let pieces = (0..bytes.len().div_ceil(piece)).map(|at| {
        let part = bytes.slice(at * piece..bytes.len().min((at + 1) * piece));
        async move { file.ask(Request::Write, &[Field::U64((at * piece) as u64), Field::Text(&part)]).await }
    });
    stream::iter(pieces).buffer_unordered(PIECES_AT_ONCE).try_for_each(|_| async { Ok(()) }).await
}

const NO_SYNC: &str = "its SFTP server cannot make the names in a directory durable";
const NO_LINKS: &str = "its file system has no hard links, which Copal needs to create a name without replacing one";
/// Most attempts: a name or directory that vanishes more often in a row is removed on purpose.
const NAMING_ATTEMPTS: usize = 8;
/// With less free space than this, a failure counts as a full disk.
const FULL_BELOW: u64 = 64 << 10;
const READ: u32 = 1;
/// Writes to a file that must not exist; reads its attributes.
const NEW: u32 = 0x02 | 0x08 | 0x20;
