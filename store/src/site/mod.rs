//! Sites: stores that an address names by its scheme, such as `sftp://HOST/PATH`. A new kind of store is a module here and
//! a row of `SCHEMES`.

#[cfg(feature = "opendal")]
mod cloud;
#[cfg(any(feature = "sftp", feature = "opendal"))]
mod hosted;
#[cfg(feature = "sftp")]
pub mod sftp;

use std::fmt;
use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use sha2::{Digest, Sha256};

use crate::worker::RuntimePause;
use crate::{Store, StoreError};

/// A store at an address, without retries and limits.
#[async_trait]
pub trait Site: Store {
    /// Creates the directory or folder of a new repository. Buckets and containers are created by an operator.
    async fn make(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Tests whether the store gives the guarantees that a repository needs. Writes a few small objects below `tmp/` and
    /// deletes them if permitted.
    async fn probe(&self) -> Result<(), StoreError>;

    /// How wrappers of this store should wait.
    fn pause(&self) -> RuntimePause;
}

/// A scheme, and how a site is opened.
struct Scheme {
    name: &'static str,
    /// Whether an address without its scheme is complete.
    is_complete: fn(&str) -> bool,
    /// Sends nothing yet.
    open: Open,
}

type Open = fn(&str, &Variables<'_>) -> Result<Arc<dyn Site>, BadSite>;

/// The environment variables, which hold credentials: addresses never do.
pub type Variables<'a> = dyn Fn(&str) -> Option<String> + 'a;

const SCHEMES: &[Scheme] = &[
    #[cfg(feature = "opendal")]
    Scheme { name: "azblob", is_complete: cloud::is_complete, open: cloud::open_azblob },
    #[cfg(feature = "opendal")]
    Scheme { name: "gcs", is_complete: cloud::is_complete, open: cloud::open_gcs },
    #[cfg(feature = "opendal")]
    Scheme { name: "webdav", is_complete: cloud::is_folder, open: cloud::open_webdav },
    #[cfg(feature = "sftp")]
    Scheme { name: "sftp", is_complete: sftp::is_complete, open: sftp::open },
];

/// The address of a site.
#[derive(Clone, PartialEq, Eq)]
pub struct SiteAddress {
    scheme: &'static str,
    rest: String,
}

/// Why a site cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum BadSite {
    /// The address lacks something.
    #[error("{0} is not a complete address (like sftp://HOST/PATH)")]
    Incomplete(SiteAddress),
    /// A variable of the environment is missing or wrong.
    #[error("{0}")]
    Setting(&'static str),
    /// The service's settings are wrong.
    #[error("{0}")]
    Service(String),
    /// No HTTP client can be made.
    #[error("cannot set up HTTP: {0}")]
    Client(String),
    /// No threads could be started.
    #[error("cannot start the runtime that requests run on")]
    Runtime(#[from] io::Error),
}

impl BadSite {
    fn incomplete(scheme: &'static str, rest: &str) -> BadSite {
        BadSite::Incomplete(SiteAddress { scheme, rest: rest.to_owned() })
    }
}

impl SiteAddress {
    /// Parses an address, given as its scheme and the rest; `None` if no site has this scheme.
    pub fn parse(scheme: &str, rest: &str) -> Option<Result<SiteAddress, BadSite>> {
        let scheme = SCHEMES.iter().find(|known| known.name == scheme)?;
        let address = SiteAddress { scheme: scheme.name, rest: rest.to_owned() };
        Some(if (scheme.is_complete)(rest) { Ok(address) } else { Err(BadSite::Incomplete(address)) })
    }

    /// Opens the site. Sends nothing yet.
    pub fn open(&self, variables: &Variables<'_>) -> Result<Arc<dyn Site>, BadSite> {
        let scheme = SCHEMES.iter().find(|known| known.name == self.scheme);
        scheme.map_or_else(|| Err(BadSite::Incomplete(self.clone())), |scheme| (scheme.open)(&self.rest, variables))
    }

    /// A name for the site that reveals nothing, for a note about it.
    pub fn fingerprint(&self) -> String {
        Sha256::digest(self.to_string()).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Display for SiteAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.rest)
    }
}

impl fmt::Debug for SiteAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
