//! Other systems than Linux: no mounts by the kernel.

use std::io;
use std::path::Path;
use std::sync::Arc;

use copal_client::browse::Browser;

use super::Audience;
use crate::report::Failure;

/// A mount: there is none.
pub(in super::super) enum Session {}

impl Session {
    pub(in super::super) fn begin(_: Arc<Browser>, _: &Path, _: String, _: Audience) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in super::super) fn is_finished(&self) -> bool {
        match *self {}
    }

    pub(in super::super) fn end(self) -> io::Result<()> {
        match self {}
    }
}

pub(in super::super) fn check() -> Result<(), Failure> {
    let why = "a directory can be mounted on only under Linux: use --webdav, which shows the same to any file manager";
    Err(Failure::Usage(why.into()))
}

pub(in super::super) fn detach(_: &Path) {}

pub(in super::super) fn is_within(_: &Path, _: &Path) -> bool {
    false
}

pub(in super::super) fn passes_through(_: &Path, _: &Path) -> bool {
    false
}
