//! Places: where this machine keeps its keys and its cache.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use copal_format::id::RepositoryId;

use crate::system;
use copal_store::{sync, sync_directory};

/// Why a local directory or file cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum PlaceError {
    /// No option and no variable names a directory.
    #[error("there is no home directory to keep {what} in")]
    Homeless {
        /// What was to be kept there.
        what: &'static str,
    },
    #[error("cannot write {}", path.display())]
    Refused {
        path: PathBuf,
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
    /// Finds both directories: the option, else `$XDG_CACHE_HOME/copal` and `$XDG_STATE_HOME/copal`, else
    /// `~/.cache/copal` and `~/.local/state/copal`.
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
                .or_else(|| system::home_of(below_home, &absolute))
                .ok_or(PlaceError::Homeless { what })
        };
        Ok(Self {
            cache: place(cache_dir, "XDG_CACHE_HOME", ".cache", "the cache")?,
            state: place(state_dir, "XDG_STATE_HOME", ".local/state", "this machine's keys")?,
        })
    }

    /// The directory of all caches.
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// The cache directory of one repository, created if missing.
    pub fn cache_of(&self, repository: RepositoryId) -> Result<PathBuf, PlaceError> {
        let path = self.cache.join(repository.to_string());
        create_private_dir(&path)?;
        let tag = self.cache.join("CACHEDIR.TAG");
        if !tag.exists() {
            write_private(&tag, CACHEDIR_TAG)?;
        }
        Ok(path)
    }

    /// Deletes the caches of all repositories and nothing else in the directory; returns the bytes freed.
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

    /// The directory of all keys on this machine.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// The directory of this machine's keys for one repository; it may not exist.
    pub fn state_of(&self, repository: RepositoryId) -> PathBuf {
        self.state.join(repository.to_string())
    }
}

/// The name of this machine: `COPAL_HOST`, else its host name.
pub fn this_host(environment: impl Fn(&str) -> Option<OsString>) -> String {
    let named = environment("COPAL_HOST").filter(|name| !name.is_empty());
    let name = named.or_else(system::host_name).unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Creates a directory and its parents with mode 0700. Leaves an existing directory as it is.
pub fn create_private_dir(path: &Path) -> Result<(), PlaceError> {
    let created = system::private_directory().create(path);
    created.map_err(|cause| PlaceError::Refused { path: path.to_owned(), cause })
}

/// Creates an empty file that records a finding. Ignores failures: then the next run finds it out again.
pub fn note_proof(path: &Path) {
    let Some(Ok(())) = path.parent().map(create_private_dir) else { return };
    // An existing file is written again, because its age counts. Opening a FIFO may block for ever.
    let is_there = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    let _ = match is_there {
        true => fs::write(path, b""),
        false => system::private_file().create_new(true).open(path).map(drop),
    };
}

/// Writes a file with mode 0600, replacing an existing one. After a crash it holds the old or the new bytes; once this
/// returns, the new ones.
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

/// Reads a file that [`write_private`] has written. Fails on anything but a regular file, because opening a FIFO may
/// block for ever, and on files of more than 64 MiB.
pub fn read_private(path: &Path) -> io::Result<Vec<u8>> {
    let unusable = |why| Err(io::Error::new(io::ErrorKind::InvalidData, why));
    match fs::metadata(path)? {
        found if !found.is_file() => unusable("it is not a regular file"),
        found if found.len() > MOST_KEPT => unusable("it has more than 64 MiB"),
        _ => fs::read(path),
    }
}

/// Like [`read_private`], for a text; none if it cannot be read.
pub fn private_text(path: &Path) -> Option<String> {
    String::from_utf8(read_private(path).ok()?).ok()
}

/// Locks what this machine keeps of a repository: its client's keys, and the note of the last backup with a list. Other
/// processes wait as long as the result lives. Where files cannot be locked, nobody waits.
pub(crate) fn alone(state_dir: &Path) -> Result<Option<File>, PlaceError> {
    create_private_dir(state_dir)?;
    let path = state_dir.join("lock");
    // Opening a FIFO may block for ever.
    let is_strange = fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file());
    let lock = if is_strange { None } else { system::private_file().create(true).open(path).ok() };
    Ok(lock.filter(|lock| lock.lock().is_ok()))
}

/// Writes a new file with mode 0600; fails if one exists. Uses no hard links: a key file may go to a memory stick.
pub fn create_private(path: &Path, bytes: &[u8]) -> Result<(), PlaceError> {
    let created = written(path, bytes).and_then(|()| sync_directory_of(path));
    created.map_err(|cause| PlaceError::Refused { path: path.to_owned(), cause })
}

/// Creates, writes and syncs a file; removes it if that fails.
fn written(path: &Path, bytes: &[u8]) -> io::Result<()> {
    point();
    let mut file = system::private_file().create_new(true).open(path)?;
    point();
    file.write_all(bytes).and_then(|()| sync(&file)).inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}

#[cfg(feature = "faults")]
use copal_store::faults::point;

/// A point at which a test may kill the process.
#[cfg(not(feature = "faults"))]
fn point() {}

fn sync_directory_of(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    sync_directory(directory)
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

/// The most bytes of a file that this machine keeps for itself. A thousand snapshots take a megabyte.
const MOST_KEPT: u64 = 64 << 20;
const CACHEDIR_TAG: &[u8] =
    b"Signature: 8a477f597d28d172789f06886806bc55\n# The cache of copal; deleting it is harmless.\n";

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn only_a_regular_file_of_a_bounded_size_is_read_and_a_pipe_is_not_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("file"), "text").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        File::create(at("large")).unwrap().set_len(MOST_KEPT + 1).unwrap();
        let status = std::process::Command::new("mkfifo").arg(at("pipe")).status();
        assert!(status.unwrap().success());
        assert_eq!((private_text(&at("file")), private_text(&at("link"))), (Some("text".into()), Some("text".into())));
        for unusable in ["pipe", "large", "."] {
            assert_eq!(read_private(&at(unusable)).unwrap_err().kind(), io::ErrorKind::InvalidData, "{unusable}");
        }
        assert_eq!(read_private(&at("missing")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_proof_that_is_noted_again_is_new() {
        let place = tempfile::tempdir().unwrap();
        let proof = place.path().join("proofs/one");
        note_proof(&proof);
        let age = || fs::metadata(&proof).unwrap().modified().unwrap().elapsed().unwrap();
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        File::options().write(true).open(&proof).unwrap().set_modified(long_ago).unwrap();
        assert!(age().as_secs() > 1_000_000);
        note_proof(&proof);
        assert!(age().as_secs() < 1_000);
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
