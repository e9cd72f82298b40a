//! Unix: signals, and the limit of open files.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits for the process to be asked to end: by SIGTERM or SIGINT.
pub(in super::super) struct Ends([Signal; 2]);

impl Ends {
    pub(in super::super) fn watch() -> io::Result<Self> {
        Ok(Self([signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?]))
    }

    pub(in super::super) async fn asked(&mut self) {
        let asked = self.0.iter_mut().map(|end| Box::pin(end.recv()));
        futures::future::select_all(asked).await;
    }
}

/// Waits for the process to be asked to read its files anew: by SIGHUP.
pub(in super::super) struct Reload(Signal);

impl Reload {
    pub(in super::super) fn watch() -> io::Result<Self> {
        Ok(Self(signal(SignalKind::hangup())?))
    }

    pub(in super::super) async fn asked(&mut self) {
        self.0.recv().await;
    }
}

/// Raises the limit of open files to its maximum; returns it, if there is one.
pub(in super::super) fn open_files_most() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => raised.current,
        Err(_) => limit.current,
    }
}
