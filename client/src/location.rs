//! Location: the address of a repository, as the user writes it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use copal_store::site::SiteAddress;
use copal_store::ssh::SshAddress;

use crate::system::{bytes_of, has_drive};

/// The address of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A directory.
    Directory(PathBuf),
    /// A prefix in a bucket.
    S3 {
        /// The bucket's name.
        bucket: String,
        /// The prefix of all object names; may be empty.
        prefix: String,
    },
    /// A gateway's address.
    Https(String),
    /// A directory on another machine, reached by the copal there through ssh.
    Ssh(SshAddress),
    /// A store of another kind, named by its scheme.
    Site(SiteAddress),
    /// A store that the program has opened itself, by the name that the program gives it.
    Opened(String),
}

/// Why an address is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum BadLocation {
    /// Neither `--repository` nor `COPAL_REPOSITORY` is set.
    #[error("no repository is given")]
    Missing,
    #[error("\"{0}://\" is no kind of repository")]
    Scheme(String),
    /// The bucket or host is missing, or the address is not UTF-8.
    #[error("{0:?} is no complete address")]
    Incomplete(OsString),
    /// A path that looks like an address, or that a shell would expand (`~`).
    #[error("{0:?} is taken for a directory only if it is written {dotted:?}{1}", dotted = format!("./{}", .0.to_string_lossy()))]
    Doubtful(OsString, Meant),
    #[error("{0} would send everything in the clear: a gateway on another machine needs https")]
    Insecure(String),
    /// A password in an address would stand in errors, notifications and the list of processes. It is not told here.
    #[error("the address holds a password, which others would see: give it by the service's variables or an SSH key")]
    Secret,
    #[error("{location} is in {kind}, and a directory is needed here")]
    Unsupported { location: String, kind: &'static str },
}

/// The address that the user probably meant, if it can be guessed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meant(Option<String>);

impl core::fmt::Display for Meant {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.as_ref().map_or(Ok(()), |meant| write!(f, "; did you mean {meant}?"))
    }
}

impl Location {
    /// Parses `--repository` or `COPAL_REPOSITORY`.
    pub fn parse(text: Option<&OsStr>) -> Result<Self, BadLocation> {
        let text = text.filter(|text| !text.is_empty()).ok_or(BadLocation::Missing)?;
        let Some(at) = scheme_end(&bytes_of(text)) else { return Self::directory_at(text) };
        let incomplete = || BadLocation::Incomplete(text.to_owned());
        let address = text.to_str().ok_or_else(incomplete)?;
        let rest = address[at + 3..].trim_end_matches('/');
        let user = rest.split('/').next().and_then(|authority| authority.rsplit_once('@')).map(|(user, _)| user);
        if user.is_some_and(|user| user.contains(':')) {
            return Err(BadLocation::Secret);
        }
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
            scheme => match SiteAddress::parse(scheme, rest) {
                Some(site) => site.map(Self::Site).map_err(|_| incomplete()),
                None => Err(BadLocation::Scheme(scheme.to_owned())),
            },
        }
    }

    /// A directory. Rejects names that look like an address: a mistyped address would create a directory of that name.
    fn directory_at(text: &OsStr) -> Result<Self, BadLocation> {
        let doubtful = |meant: Option<String>| Err(BadLocation::Doubtful(text.to_owned(), Meant(meant)));
        let lossy = text.to_string_lossy();
        if has_drive(&lossy) {
            return Ok(Self::Directory(text.into()));
        }
        if let Some(rest) = lossy.strip_prefix('~') {
            return doubtful((rest.is_empty() || rest.starts_with('/')).then(|| format!("$HOME{rest}")));
        }
        let first = lossy.split('/').next().unwrap_or_default();
        if let Some((word, path)) = lossy.split_once(':').filter(|(word, _)| word.len() < first.len()) {
            return doubtful(address_of(word, path));
        }
        match lossy.strip_prefix(first).and_then(|rest| rest.strip_prefix("//")) {
            Some(rest) if KINDS.contains(&first) => doubtful(address_of(first, rest)),
            _ => Ok(Self::Directory(text.into())),
        }
    }

    /// The location as this machine can find it from any directory. Links are not followed, so that a directory has the
    /// same name whether its disk is mounted or not.
    pub fn absolute(&self) -> OsString {
        match self {
            Self::Directory(path) => std::path::absolute(path).unwrap_or_else(|_| path.clone()).into_os_string(),
            elsewhere => elsewhere.to_string().into(),
        }
    }

    /// The directory, or an error for other locations.
    pub fn directory(&self) -> Result<&Path, BadLocation> {
        let kind = match self {
            Self::Directory(path) => return Ok(path),
            Self::S3 { .. } => "S3",
            Self::Https(_) => "a service on the web",
            Self::Ssh(_) | Self::Site(_) => "another machine",
            Self::Opened(_) => "a store of this program",
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
            Self::Ssh(address) => write!(f, "ssh://{address}"),
            Self::Site(address) => address.fmt(f),
            Self::Opened(name) => f.write_str(name),
        }
    }
}

/// The end of the scheme in an address, if it has one.
fn scheme_end(text: &[u8]) -> Option<usize> {
    let at = text.windows(3).position(|part| part == b"://")?;
    let is_scheme = |scheme: &[u8]| scheme.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte));
    Some(at).filter(|&at| at > 0 && is_scheme(&text[..at]))
}

/// The address that the user probably meant with this first word and the rest.
fn address_of(word: &str, rest: &str) -> Option<String> {
    let rest = rest.trim_start_matches('/');
    match word {
        _ if rest.is_empty() => None,
        "s3" | "https" | "http" | "ssh" => Some(format!("{word}://{rest}")),
        // restic writes `sftp:host:path`.
        "sftp" => Some(format!("sftp://{}", rest.replacen(':', "/", 1).replacen("//", "/", 1))),
        "file" => Some(format!("/{rest}")),
        // scp and rsync write `host:path`.
        host if host.contains('@') || host.contains('.') => Some(format!("ssh://{host}/{rest}")),
        _ => None,
    }
}

/// Whether an address (without its scheme) names this machine.
fn is_this_machine(rest: &str) -> bool {
    let authority = rest.split('/').next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(inside) => inside.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Schemes of repositories, in this program and in others.
const KINDS: [&str; 15] = [
    "s3", "https", "http", "ssh", "sftp", "azblob", "gcs", "webdav", "file", "rest", "rclone", "gs", "azure", "b2",
    "swift",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn location(text: &str) -> Result<Location, BadLocation> {
        Location::parse(Some(OsStr::new(text)))
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
        assert_eq!(location("sftp://me@host:22/srv").map(|site| site.to_string()), Ok("sftp://me@host:22/srv".into()));
        assert_eq!(location("sftp://host"), Err(BadLocation::Incomplete("sftp://host".into())));
        for secret in ["sftp://me:word@host/p", "ssh://me:word@host:22/p", "s3://key:word@bucket", "ftp://me:w@h"] {
            assert_eq!(location(secret), Err(BadLocation::Secret), "{secret}");
            assert!(!BadLocation::Secret.to_string().contains("word@"));
        }
        assert_eq!(location("ftp://host"), Err(BadLocation::Scheme("ftp".into())));
        assert_eq!(location("s3:///x"), Err(BadLocation::Incomplete("s3:///x".into())));
        assert_eq!(location(""), Err(BadLocation::Missing));
        assert_eq!(Location::parse(None), Err(BadLocation::Missing));
    }

    #[test]
    fn a_directory_whose_name_looks_like_an_address_is_written_with_a_dot() {
        for (text, meant) in [
            ("s3:host/b", Some("s3://host/b")),
            ("s3//b", Some("s3://b")),
            ("s3:/b/p", Some("s3://b/p")),
            ("https:host", Some("https://host")),
            ("ssh:h/x", Some("ssh://h/x")),
            ("sftp:me@host:/srv/r", Some("sftp://me@host/srv/r")),
            ("me@host:srv/r", Some("ssh://me@host/srv/r")),
            ("file:/srv/r", Some("/srv/r")),
            ("rclone:far:r", None),
            ("backup:2026", None),
            ("s3:", None),
            ("~", Some("$HOME")),
            ("~/r", Some("$HOME/r")),
            ("~other/r", None),
        ] {
            let expected = BadLocation::Doubtful(text.into(), Meant(meant.map(str::to_owned)));
            assert_eq!(location(text), Err(expected), "{text}");
            let dotted = format!("./{text}");
            assert_eq!(location(&dotted), Ok(Location::Directory(dotted.clone().into())), "{dotted}");
        }
        for plain in ["a/b:c", "a~/b", "backup//b", "../s3:x", "/s3:x", ".", "é"] {
            assert_eq!(location(plain), Ok(Location::Directory(plain.into())), "{plain}");
        }
        let told = location("s3:host/b").unwrap_err().to_string();
        assert_eq!(
            told,
            "\"s3:host/b\" is taken for a directory only if it is written \"./s3:host/b\"; did you mean s3://host/b?"
        );
    }

    #[test]
    fn repositories_that_this_version_cannot_open_are_refused_by_name() {
        let refused = location("s3://bucket/x").unwrap().directory().unwrap_err();
        assert_eq!(refused.to_string(), "s3://bucket/x is in S3, and a directory is needed here");
        assert!(location("https://host").unwrap().directory().is_err());
    }
}
