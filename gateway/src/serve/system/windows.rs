//! Windows: what the console sends. There is no limit of open files.

use std::io;

use tokio::signal::windows::{
    CtrlBreak, CtrlC, CtrlClose, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown,
};

/// Waits for the process to be asked to end: by Ctrl-C, Ctrl-Break, a closed console or a shutdown.
pub(in super::super) struct Ends(CtrlC, CtrlBreak, CtrlClose, CtrlShutdown);

impl Ends {
    pub(in super::super) fn watch() -> io::Result<Self> {
        Ok(Self(ctrl_c()?, ctrl_break()?, ctrl_close()?, ctrl_shutdown()?))
    }

    pub(in super::super) async fn asked(&mut self) {
        tokio::select! {
            _ = self.0.recv() => {}
            _ = self.1.recv() => {}
            _ = self.2.recv() => {}
            _ = self.3.recv() => {}
        }
    }
}

/// Windows has no signal for it: only the times of the files tell.
pub(in super::super) struct Reload;

impl Reload {
    pub(in super::super) fn watch() -> io::Result<Self> {
        Ok(Self)
    }

    pub(in super::super) async fn asked(&mut self) {
        std::future::pending().await
    }
}

/// There is none.
pub(in super::super) fn open_files_most() -> Option<u64> {
    None
}
