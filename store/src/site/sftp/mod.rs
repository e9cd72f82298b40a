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

use std::process::Command;
use std::sync::Arc;

use async_trait::async_trait;

use super::hosted::{Hosted, Place};
use super::{BadSite, Site, Variables};
use crate::StoreError;
use crate::probe::creates_once;
use crate::ssh::SshAddress;
use directory::Directory;

pub use trouble::Trouble;

/// Whether `[USER@]HOST[:PORT]/PATH` is complete.
pub(super) fn is_complete(rest: &str) -> bool {
    SshAddress::parse(rest).is_some()
}

pub(super) fn open(rest: &str, _: &Variables<'_>) -> Result<Arc<dyn Site>, BadSite> {
    let address = SshAddress::parse(rest).ok_or_else(|| BadSite::incomplete("sftp", rest))?;
    let root = address.path.clone();
    let command = move || {
        let mut command = address.command();
        // `ssh -s HOST sftp`: the name of the subsystem stands where a command would.
        command.arg("-s").arg(&address.host).arg("sftp");
        command
    };
    Ok(Arc::new(store(format!("sftp://{rest}"), root, command)?))
}

/// A store in `root` of the server that this command speaks to on its standard input and output. `name` is for errors.
pub fn store(
    name: String,
    root: String,
    command: impl Fn() -> Command + Send + Sync + 'static,
) -> Result<impl Site, BadSite> {
    Ok(Hosted::new(Directory::new(name, root, command))?)
}

#[async_trait]
impl Place for Directory {
    async fn make(&self) -> Result<(), StoreError> {
        self.make_root().await
    }

    async fn probe(&self) -> Result<(), StoreError> {
        self.syncs_directories().await?;
        creates_once(self, REPLACES).await
    }
}

const REPLACES: &str =
    "its hardlink@openssh.com replaces a name that exists, so one writer could replace another's object";

#[cfg(test)]
mod tests;
