//! A store in a directory of another machine, through the SFTP server that sshd brings: no copal is needed there.
//!
//! A creation writes below `tmp/`, syncs, gives the file its name by `hardlink@openssh.com`, which fails if the name exists,
//! and syncs the directory. ssh carries the requests, so the user's keys, known hosts and configuration count. Times are
//! the server's, in whole seconds.

mod create;
mod directory;
mod packet;
mod session;
mod trouble;

use std::ops::Range;
use std::process::Command;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use super::{BadSite, Site, Variables};
use crate::probe::{PLACE, creates_once};
use crate::ssh::SshAddress;
use crate::worker::{RuntimePause, Worker};
use crate::{Created, Key, ListPage, Op, Stat, Store, StoreError, StoreTime, walk};
use directory::Directory;

pub use trouble::Trouble;

/// A directory behind an SFTP server.
pub struct SftpStore {
    directory: Arc<Directory>,
    worker: Worker,
}

/// Whether `[USER@]HOST[:PORT]/PATH` is complete.
pub(super) fn is_complete(rest: &str) -> bool {
    SshAddress::parse(rest).is_some()
}

pub(super) fn open(rest: &str, _: &Variables<'_>) -> Result<Arc<dyn Site>, BadSite> {
    let address = SshAddress::parse(rest).ok_or_else(|| BadSite::incomplete("sftp", rest))?;
    let root = address.path.clone();
    let command = move || {
        let mut command = address.command();
        // ssh asks for the subsystem as late as this: options of a user's configuration count before.
        command.arg("-s").arg(&address.host).arg("sftp");
        command
    };
    Ok(Arc::new(SftpStore::new(format!("sftp://{rest}"), root, command)?))
}

impl SftpStore {
    /// A store in `root` of the server that this command speaks to on its standard input and output. `name` is for errors.
    pub fn new(
        name: String,
        root: String,
        command: impl Fn() -> Command + Send + Sync + 'static,
    ) -> Result<SftpStore, BadSite> {
        Ok(SftpStore { directory: Arc::new(Directory::new(name, root, command)), worker: Worker::new()? })
    }
}

#[async_trait]
impl Site for SftpStore {
    async fn make(&self) -> Result<(), StoreError> {
        self.worker.call(&self.directory, (Op::Create, ""), |directory| async move { directory.make().await }).await
    }

    async fn probe(&self) -> Result<(), StoreError> {
        self.worker
            .call(&self.directory, (Op::Create, PLACE), |directory| async move { directory.syncs_directories().await })
            .await?;
        creates_once(self, REPLACES).await
    }

    fn pause(&self) -> RuntimePause {
        RuntimePause(self.worker.handle().clone())
    }
}

#[async_trait]
impl Store for SftpStore {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        let own = key.clone();
        self.worker
            .call(&self.directory, (Op::Create, key.as_str()), |directory| async move {
                directory.create(&own, bytes).await
            })
            .await
    }

    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        let own = key.clone();
        self.worker
            .call(&self.directory, (Op::Read, key.as_str()), |directory| async move {
                directory.read(Op::Read, &own, None).await
            })
            .await
    }

    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        let own = key.clone();
        let read = |directory: Arc<Directory>| async move { directory.read(Op::ReadRange, &own, Some(range)).await };
        self.worker.call(&self.directory, (Op::ReadRange, key.as_str()), read).await
    }

    async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError> {
        let own = key.clone();
        self.worker
            .call(&self.directory, (Op::Stat, key.as_str()), |directory| async move { directory.stat(&own).await })
            .await
    }

    async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
        let (own, after) = (prefix.to_owned(), after.cloned());
        let list = |directory: Arc<Directory>| async move {
            directory.check_root(Op::List).await?;
            walk::list(directory.as_ref(), &own, after.as_ref(), limit).await
        };
        self.worker.call(&self.directory, (Op::List, prefix), list).await
    }

    /// Durable on return, so that deletions happen in the order they were made.
    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        self.delete_all(std::slice::from_ref(key)).await
    }

    /// Many at once; each directory is synced once.
    async fn delete_all(&self, keys: &[Key]) -> Result<(), StoreError> {
        let own = keys.to_vec();
        let first = keys.first().map_or("", Key::as_str);
        self.worker
            .call(&self.directory, (Op::Delete, first), |directory| async move { directory.delete(&own).await })
            .await
    }

    /// Makes a file under `tmp/` and reads its time. Also removes files that writers left there when they were killed.
    async fn now(&self) -> Result<StoreTime, StoreError> {
        self.worker.call(&self.directory, (Op::Now, ""), |directory| async move { directory.now().await }).await
    }

    fn is_remote(&self) -> bool {
        true
    }
}

const REPLACES: &str =
    "its hardlink@openssh.com replaces a name that exists, so one writer could replace another's object";

#[cfg(test)]
mod tests;
