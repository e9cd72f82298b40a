//! Serving: a server of HTTP in this process, at an address of this machine.

use std::io;
use std::net::{SocketAddr, TcpListener};

use axum::Router;
use tokio::task::JoinHandle;

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Serving {
    /// Answers whoever comes to a listener. To be called within a runtime, with which it ends at the latest.
    pub fn start(listener: TcpListener, router: Router) -> io::Result<Self> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let task = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { address, task })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.task.abort();
    }
}
