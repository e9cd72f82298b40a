//! S3 for tests: real servers on this machine, and a proxy in front of them that is slow or breaks what it is told to.

mod lenient;
mod proxy;
mod server;

pub use lenient::lenient;
pub use proxy::{Fate, Proxy, Seen};
pub use server::{Kind, Server};

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use tokio::runtime::{Builder, Runtime};

/// Where `cargo xtask test` puts the servers: `COPAL_TOOLS`, else `tools/` in cargo's target directory.
pub fn tools() -> PathBuf {
    if let Some(folder) = std::env::var_os("COPAL_TOOLS") {
        return folder.into();
    }
    // target/debug/deps/test-0123
    let program = std::env::current_exe().expect("this program has a name");
    program.ancestors().nth(3).expect("tests lie three levels below the target directory").join("tools")
}

/// The runtime of everything here, which ends with the process.
pub fn runtime() -> &'static Arc<Runtime> {
    static RUNTIME: LazyLock<Arc<Runtime>> = LazyLock::new(|| {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
        Arc::new(runtime.expect("a runtime starts"))
    });
    &RUNTIME
}
