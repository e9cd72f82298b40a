//! The client of a Copal repository: finds it, opens it, saves trees into it, lists, restores and verifies what it holds.
//! The `copal` command is one host of it. The engine decides, this crate performs; it asks nothing, prints nothing, and
//! knows no command line. `examples/` has three programs: `save`, `restore` and `read`.
//!
//! ```no_run
//! use copal_client::backend::{Backend, BackendOptions};
//! use copal_client::history::History;
//! use copal_client::location::Location;
//! use copal_client::repository::Repository;
//! use copal_client::wait::wait;
//! use copal_format::keys::slot::SlotInput;
//! use copal_jobs::view;
//!
//! let backend = Backend::open(&Location::Directory("/srv/backups".into()), &BackendOptions::default())?;
//! let secret = SlotInput::passphrase("correct horse battery staple")?;
//! let repository = Repository::open(&backend, &secret, |id| std::env::temp_dir().join(id.to_string()))?;
//! let view = wait(view::read(repository.store().as_ref()))?;
//! for snapshot in History::read(&repository, &view)?.kept() {
//!     println!("{}  {}", snapshot.id, snapshot.machine());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

// the machine
pub mod causes;
pub mod clock;
pub mod entropy;
pub mod wait;
pub mod location;
pub mod places;
pub mod compression;
pub mod credentials;
pub mod progress;

// the file system; `system` is all that differs between operating systems
mod system;
mod classes;
pub mod filter;
pub mod materialize;
mod names;
pub mod archive;
#[cfg(test)]
mod privileges;
pub mod read;
pub mod scan;

// the repository
pub mod remote;
pub mod exported;
pub mod backend;
mod vacancy;
pub mod repository;
pub mod reader;
mod chain;
pub mod history;

// the acts
pub mod backup;
pub mod restic;
pub mod restore;
pub mod dump;
pub mod browse;
pub mod copy;
pub mod export;
pub mod import;
pub mod met;
pub mod changes;
pub mod verify;

pub use system::{open, stat};

/// Words of the system as bytes, and bytes as words of the system.
pub mod words {
    pub use crate::system::{bytes_of, os_string, path_of, tree_bytes};
}
