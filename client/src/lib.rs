//! Copal's client, for programs that back up and restore: it opens a repository, saves directories and streams, lists,
//! reads and restores snapshots, and verifies. It asks nobody, prints nothing, and knows no command line. The `copal`
//! command is one program around it.
//!
//! A *repository* holds *snapshots*: complete backups, encrypted before they leave this process, and stored only once
//! where they agree. It lies in a *store*: a directory, a bucket, a server. Begin with [`Settings`]:
//!
//! ```no_run
//! use std::io::Read;
//! use copal_client::format::path::TreePath;
//! use copal_client::{Restoring, Saving, Settings, SlotInput};
//!
//! let secret = SlotInput::passphrase("correct horse battery staple")?;
//! let copal = Settings::at("/srv/backups").open(&secret)?;
//!
//! // Back up a directory; then a stream, such as a database's dump.
//! let saved = copal.backup(&["/home/me/letters"], &Saving::default())?;
//! assert!(saved.troubles.is_empty());
//! copal.backup_stream("words.txt", "to be kept".as_bytes(), &Saving::default())?;
//!
//! // List what there is.
//! for snapshot in copal.snapshots()? {
//!     println!("{} of {}", snapshot.id, snapshot.machine());
//! }
//!
//! // Read one file as a stream that seeks. Paths in a snapshot have no leading slash.
//! let tree = copal.tree(&copal.snapshot("latest")?)?;
//! let mut letter = tree.open(&TreePath::new("home/me/letters/first.txt")?)?;
//! letter.read_to_string(&mut String::new())?;
//!
//! // Restore everything.
//! copal.restore(&copal.snapshot("latest")?, "/tmp/restored".as_ref(), &Restoring::default())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Settings::create`] makes a repository. [`Settings::verify`] checks one without its key. [`Settings::over`] takes any
//! [`Store`](copal_store::Store), also one of your own. Three programs in `examples/` show these: `back_up`, `serve_file`
//! and `verify`.
//!
//! # Which module does what?
//!
//! | modules | hold |
//! |---|---|
//! | [`embed`] | all of the above behind one type; its [`Error`] has a [kind](ErrorKind) for each thing that a program may do |
//! | [`location`], [`backend`], [`remote`], [`exported`] | where a repository lies, and the store that reaches it |
//! | [`repository`] | the repository's descriptor and key slots; this machine as its client |
//! | [`history`], [`browse`], [`reader`] | snapshots, their trees, and the pages and chunks below |
//! | [`scan`], [`filter`], [`archive`], [`backup`] | what is saved, and how |
//! | [`restore`], [`materialize`], [`dump`], [`export`] | what is written: files, streams, archives |
//! | [`copy`], [`import`], [`restic`] | snapshots from other repositories |
//! | [`changes`], [`verify`] | forget, pins, tags and policies; the check with keys |
//!
//! Calls wait until they are done, on the thread that makes them, and work with threads of their own. Long ones take
//! counters and a flag that ends them: `progress` and `interrupted` of [`Saving`] and [`Restoring`].
#![forbid(unsafe_code)]

/// The format: ids, times, paths and entries of snapshots.
pub use copal_format as format;
/// The keyless jobs: what [`Settings::verify`] reports.
pub use copal_jobs as jobs;
/// The stores, and the trait that a store of your own implements.
pub use copal_store as store;

pub use copal_format::keys::slot::SlotInput;
pub use embed::{Copal, Created, Error, ErrorKind, Restoring, Saving, Settings};

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
mod listed;
pub mod history;
pub mod accepted;

// the acts
pub mod watch;
pub mod changed;
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
pub mod losses;
pub mod verify;

// all of them behind one type
pub mod embed;

pub use system::{open, stat};

/// Words of the system as bytes, and bytes as words of the system.
pub mod words {
    pub use crate::system::{bytes_of, os_string, path_of, tree_bytes};
}
