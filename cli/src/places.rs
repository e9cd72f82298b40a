//! Places: where the repository is, and where this machine keeps its keys and its cache.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use copal_engine::id::RepositoryId;

use crate::remote::SshAddress;

/// Where a repository is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A directory.
    Directory(PathBuf),
    /// A prefix of a bucket.
    S3 {
        /// The bucket's name.
        bucket: String,
        /// What the names of all objects begin with; may be empty.
        prefix: String,
    },
    /// A gateway's address.
    Https(String),
    /// A directory of another machine, reached by ssh.
    Ssh(SshAddress),
}

/// No place where this version finds a repository.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadLocation {
    /// Neither the option nor the variable is there.
    #[error("no repository is given")]
    Missing,
    /// A scheme that nothing stands behind.
    #[error("\"{0}://\" is no kind of repository")]
    Scheme(String),
    /// An address without a bucket or a host, or not in UTF-8.
    #[error("{0:?} is no complete address")]
    Incomplete(OsString),
    /// A gateway on another machine without TLS.
    #[error("{0} would send everything in the clear: a gateway on another machine needs https")]
    Insecure(String),
    /// A kind of repository that this version does not open.
    #[error("{location} is in {kind}, and a directory is needed here")]
    Unsupported {
        /// The address.
        location: String,
        /// What kind it is.
        kind: &'static str,
    },
}

impl Location {
    /// Reads what `--repository` or `COPAL_REPOSITORY` says.
    pub fn parse(text: Option<&OsStr>) -> Result<Self, BadLocation> {
        let text = text.filter(|text| !text.is_empty()).ok_or(BadLocation::Missing)?;
        let Some(at) = text.as_bytes().windows(3).position(|part| part == b"://") else {
            return Ok(Self::Directory(text.into()));
        };
        let scheme = &text.as_bytes()[..at];
        if scheme.is_empty() || !scheme.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)) {
            return Ok(Self::Directory(text.into()));
        }
        let incomplete = || BadLocation::Incomplete(text.to_owned());
        let address = text.to_str().ok_or_else(incomplete)?;
        let rest = address[at + 3..].trim_end_matches('/');
        if rest.is_empty() || rest.starts_with('/') {
            return Err(incomplete());
        }
        match address[..at].to_ascii_lowercase().as_str() {
            "s3" => {
                let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
                Ok(Self::S3 { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
            }
            "https" => Ok(Self::Https(format!("https://{rest}"))),
            "http" if is_this_machine(rest) => Ok(Self::Https(format!("http://{rest}"))),
            "http" => Err(BadLocation::Insecure(address.to_owned())),
            "ssh" => SshAddress::parse(rest).map(Self::Ssh).ok_or_else(incomplete),
            scheme => Err(BadLocation::Scheme(scheme.to_owned())),
        }
    }

    /// The directory, which is the one kind of repository this version opens.
    pub fn directory(&self) -> Result<&Path, BadLocation> {
        let kind = match self {
            Self::Directory(path) => return Ok(path),
            Self::S3 { .. } => "S3",
            Self::Https(_) => "a service on the web",
            Self::Ssh(_) => "a directory of another machine",
        };
        Err(BadLocation::Unsupported { location: self.to_string(), kind })
    }
}

impl core::fmt::Display for Location {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Directory(path) => path.display().fmt(f),
            Self::S3 { bucket, prefix } if prefix.is_empty() => write!(f, "s3://{bucket}"),
            Self::S3 { bucket, prefix } => write!(f, "s3://{bucket}/{prefix}"),
            Self::Https(address) => f.write_str(address),
            Self::Ssh(address) => address.fmt(f),
        }
    }
}

/// Whether an address without its scheme is one of this machine itself.
fn is_this_machine(rest: &str) -> bool {
    let authority = rest.split('/').next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(inside) => inside.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A directory or file of this machine's own that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// Neither an option nor a variable says where to.
    #[error("there is no home directory to keep {what} in")]
    Homeless {
        /// What was to be kept.
        what: &'static str,
    },
    /// The file system refuses.
    #[error("cannot write {}", path.display())]
    Refused {
        /// The directory or file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
}

/// Where this machine keeps its keys and its cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    cache: PathBuf,
    state: PathBuf,
}

impl Places {
    /// Finds both: the option, else `$XDG_CACHE_HOME/copal` and `$XDG_STATE_HOME/copal`, else `~/.cache/copal` and
    /// `~/.local/state/copal`.
    pub fn find(
        cache_dir: Option<PathBuf>,
        state_dir: Option<PathBuf>,
        environment: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, PlaceError> {
        let absolute = |name: &str| environment(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let place = |given: Option<PathBuf>, variable: &str, below_home: &str, what| {
            given
                .filter(|path| !path.as_os_str().is_empty())
                .or_else(|| absolute(variable).map(|base| base.join("copal")))
                .or_else(|| absolute("HOME").map(|home| home.join(below_home).join("copal")))
                .ok_or(PlaceError::Homeless { what })
        };
        Ok(Self {
            cache: place(cache_dir, "XDG_CACHE_HOME", ".cache", "the cache")?,
            state: place(state_dir, "XDG_STATE_HOME", ".local/state", "this machine's keys")?,
        })
    }

    /// The directory of every cache.
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// The cache of one repository, created if need be.
    pub fn cache_of(&self, repository: RepositoryId) -> Result<PathBuf, PlaceError> {
        let path = self.cache.join(repository.to_string());
        create_private_dir(&path)?;
        let tag = self.cache.join("CACHEDIR.TAG");
        if !tag.exists() {
            write_private(&tag, CACHEDIR_TAG)?;
        }
        Ok(path)
    }

    /// Deletes the cache of every repository, and nothing else that lies beside; gives the bytes that were freed.
    pub fn clean_cache(&self) -> Result<u64, PlaceError> {
        let refused = |cause| PlaceError::Refused { path: self.cache.clone(), cause };
        let entries = match fs::read_dir(&self.cache) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(0),
            entries => entries.map_err(refused)?,
        };
        let mut freed = 0;
        for entry in entries {
            let entry = entry.map_err(refused)?;
            let is_ours = entry.file_name().to_str().is_some_and(|name| RepositoryId::from_hex(name).is_ok());
            if is_ours && entry.file_type().map_err(refused)?.is_dir() {
                freed += bytes_below(&entry.path()).map_err(refused)?;
                fs::remove_dir_all(entry.path()).map_err(refused)?;
            }
        }
        Ok(freed)
    }

    /// The directory of all keys of this machine.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Where the keys of this machine for one repository are, whether they are there or not.
    pub fn state_of(&self, repository: RepositoryId) -> PathBuf {
        self.state.join(repository.to_string())
    }
}

/// The name of this machine: `COPAL_HOST`, else its host name.
pub fn this_host(environment: impl Fn(&str) -> Option<OsString>) -> String {
    let named = environment("COPAL_HOST").filter(|name| !name.is_empty());
    let name = named.or_else(|| nix::unistd::gethostname().ok()).unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Creates a directory, and those above it, for its owner only (0700); one that is there stays as it is.
pub fn create_private_dir(path: &Path) -> Result<(), PlaceError> {
    let created = DirBuilder::new().recursive(true).mode(0o700).create(path);
    created.map_err(|cause| PlaceError::Refused { path: path.to_owned(), cause })
}

/// Writes a file for its owner only (0600), in place of one that is there: after a crash it holds the old or the new
/// bytes, and once this returns the new ones.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), PlaceError> {
    let unfinished = path.with_file_name(unfinished_name(path)?);
    let named = written(&unfinished, bytes).and_then(|()| {
        point();
        fs::rename(&unfinished, path).inspect_err(|_| {
            let _ = fs::remove_file(&unfinished);
        })?;
        sync_directory_of(path)
    });
    named.map_err(|cause| PlaceError::Refused { path: path.to_owned(), cause })
}

/// Writes a file for its owner only (0600), and never replaces one. Needs no links: a key file may go to a memory stick.
pub fn create_private(path: &Path, bytes: &[u8]) -> Result<(), PlaceError> {
    let created = written(path, bytes).and_then(|()| sync_directory_of(path));
    created.map_err(|cause| PlaceError::Refused { path: path.to_owned(), cause })
}

/// Creates, fills and syncs a file; one that could not be filled is removed.
fn written(path: &Path, bytes: &[u8]) -> io::Result<()> {
    point();
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    point();
    file.write_all(bytes).and_then(|()| file.sync_all()).inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}

#[cfg(feature = "faults")]
use copal_store::faults::point;

/// Where a test may let the process die.
#[cfg(not(feature = "faults"))]
fn point() {}

fn sync_directory_of(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(directory)?.sync_all()
}

fn unfinished_name(path: &Path) -> Result<OsString, PlaceError> {
    let refused = |cause| PlaceError::Refused { path: path.to_owned(), cause };
    let name = path.file_name().ok_or_else(|| refused(io::ErrorKind::InvalidInput.into()))?;
    let random = getrandom::u64().map_err(|error| refused(io::Error::other(error)))?;
    let mut unfinished = OsString::from(".");
    unfinished.push(name);
    unfinished.push(format!(".{random:016x}"));
    Ok(unfinished)
}

fn bytes_below(directory: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { bytes_below(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

const CACHEDIR_TAG: &[u8] =
    b"Signature: 8a477f597d28d172789f06886806bc55\n# The cache of copal; deleting it is harmless.\n";

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn location(text: &str) -> Result<Location, BadLocation> {
        Location::parse(Some(OsStr::new(text)))
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_repository_is_a_directory_unless_it_has_a_scheme() {
        for path in ["/mnt/backup", "backup", "./s3:x", "a/b://c"] {
            assert_eq!(location(path), Ok(Location::Directory(path.into())), "{path}");
        }
        let s3 = |bucket: &str, prefix: &str| Location::S3 { bucket: bucket.into(), prefix: prefix.into() };
        assert_eq!(location("s3://bucket/a/b/"), Ok(s3("bucket", "a/b")));
        assert_eq!(location("S3://bucket"), Ok(s3("bucket", "")));
        assert_eq!(location("https://host/x"), Ok(Location::Https("https://host/x".into())));
        assert_eq!(location("http://127.0.0.1:8080/"), Ok(Location::Https("http://127.0.0.1:8080".into())));
        for safe in ["http://localhost", "http://[::1]:80"] {
            assert!(location(safe).is_ok(), "{safe}");
        }
        for open in ["http://host", "http://127.0.0.1.example", "http://localhost@host"] {
            assert_eq!(location(open), Err(BadLocation::Insecure(open.into())), "{open}");
        }
        assert!(matches!(location("ssh://me@host/srv"), Ok(Location::Ssh(_))));
        assert_eq!(location("ssh://host"), Err(BadLocation::Incomplete("ssh://host".into())));
        assert_eq!(location("ftp://host"), Err(BadLocation::Scheme("ftp".into())));
        assert_eq!(location("s3:///x"), Err(BadLocation::Incomplete("s3:///x".into())));
        assert_eq!(location(""), Err(BadLocation::Missing));
        assert_eq!(Location::parse(None), Err(BadLocation::Missing));
    }

    #[test]
    fn repositories_that_this_version_cannot_open_are_refused_by_name() {
        let refused = location("s3://bucket/x").unwrap().directory().unwrap_err();
        assert_eq!(refused.to_string(), "s3://bucket/x is in S3, and a directory is needed here");
        assert!(location("https://host").unwrap().directory().is_err());
    }

    #[test]
    fn options_count_before_variables_and_relative_variables_not_at_all() {
        let environment = |name: &str| match name {
            "HOME" => Some("/home/u".into()),
            "XDG_CACHE_HOME" => Some("/var/cache/u".into()),
            "XDG_STATE_HOME" => Some("relative".into()),
            _ => None,
        };
        let places = Places::find(None, None, environment).unwrap();
        assert_eq!(places.cache(), Path::new("/var/cache/u/copal"));
        let id = RepositoryId([0xab; 16]);
        assert_eq!(places.state_of(id), Path::new("/home/u/.local/state/copal").join("ab".repeat(16)));
        let places = Places::find(Some("/c".into()), Some("/s".into()), |_| None).unwrap();
        assert_eq!((places.cache(), places.state_of(id).parent()), (Path::new("/c"), Some(Path::new("/s"))));
        assert!(matches!(Places::find(None, None, |_| None), Err(PlaceError::Homeless { .. })));
    }

    #[test]
    fn private_files_are_for_their_owner_and_replaced_whole() {
        let directory = tempfile::tempdir().unwrap();
        let below = directory.path().join("a/b");
        create_private_dir(&below).unwrap();
        create_private_dir(&below).unwrap();
        assert_eq!((mode(&below), mode(below.parent().unwrap())), (0o700, 0o700));
        let path = below.join("key");
        write_private(&path, b"old").unwrap();
        write_private(&path, b"new").unwrap();
        assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"new".to_vec(), 0o600));
        assert_eq!(fs::read_dir(&below).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_must_be_new_replaces_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        create_private(&path, b"first").unwrap();
        let refused = create_private(&path, b"second");
        assert!(
            matches!(refused, Err(PlaceError::Refused { cause, .. }) if cause.kind() == io::ErrorKind::AlreadyExists)
        );
        assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"first".to_vec(), 0o600));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_cache_is_marked_as_one() {
        let directory = tempfile::tempdir().unwrap();
        let places = Places::find(Some(directory.path().join("cache")), Some("/s".into()), |_| None).unwrap();
        let path = places.cache_of(RepositoryId([1; 16])).unwrap();
        assert!(
            path.is_dir() && fs::read(places.cache().join("CACHEDIR.TAG")).unwrap().starts_with(b"Signature: 8a47")
        );
    }

    #[test]
    fn cleaning_deletes_caches_and_nothing_beside_them() {
        let directory = tempfile::tempdir().unwrap();
        let places = Places::find(Some(directory.path().into()), Some("/s".into()), |_| None).unwrap();
        let cache = places.cache_of(RepositoryId([1; 16])).unwrap();
        fs::create_dir(cache.join("index")).unwrap();
        fs::write(cache.join("index/a"), b"12345").unwrap();
        fs::write(directory.path().join("letter"), b"mine").unwrap();
        assert_eq!(places.clean_cache().unwrap(), 5);
        assert!(!cache.exists() && directory.path().join("letter").exists());
        assert_eq!(
            Places::find(Some("/nowhere".into()), Some("/s".into()), |_| None).unwrap().clean_cache().unwrap(),
            0
        );
    }

    #[test]
    fn the_host_may_be_named_otherwise() {
        assert_eq!(this_host(|name| (name == "COPAL_HOST").then(|| "other".into())), "other");
        assert!(!this_host(|_| None).is_empty());
    }
}
