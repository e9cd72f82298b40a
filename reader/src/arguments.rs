//! Arguments: the command line.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use copal_format::path::TreePath;

use crate::failure::Failure;

pub(crate) const USAGE: &str = "\
The reader of a Copal repository: brings files back with nothing but a WebAssembly runtime and a passphrase.

  wasmtime run --dir REPOSITORY              reader.wasm list    REPOSITORY
  wasmtime run --dir REPOSITORY              reader.wasm ls      REPOSITORY [OPTIONS]
  wasmtime run --dir REPOSITORY --dir TARGET reader.wasm restore REPOSITORY TARGET [OPTIONS]
  wasmtime run --dir REPOSITORY              reader.wasm restore REPOSITORY --tar - [OPTIONS] | tar -xp -C TARGET

  --snapshot ID         the snapshot whose id begins so; else the newest one, if all are of one client
  --path PATH           only what lies at or below this path
  --tar FILE            an archive (POSIX pax) with modes, owners, times and attributes; - is standard output
  --password-file FILE  a file that holds the passphrase, or the recovery code
  --key-file FILE       a key file
  --unlock-memory MIB   memory that a key slot may take to open, even beyond 1024 MiB

Without such a file the passphrase, or the recovery code, is read from standard input, and is not hidden while it is
typed. TARGET must be empty. Without --tar names, contents and times are restored; modes and owners are not, for WASI
knows none.

Exit codes: 0 done; 1 failed; 2 wrong usage; 3 done, but some entries could not be written; 4 done as far as damage
allows; 10 no repository there; 12 wrong passphrase. What is missing is named.
";

/// The parsed command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) action: Action,
    pub(crate) repository: PathBuf,
    /// The first digits of the snapshot's id.
    pub(crate) snapshot: Option<String>,
    pub(crate) path: TreePath,
    pub(crate) password_file: Option<PathBuf>,
    pub(crate) key_file: Option<PathBuf>,
    /// MiB that a key slot may use to open, if that is more than usual.
    pub(crate) unlock_memory: Option<u32>,
}

/// The command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Action {
    List,
    /// List a snapshot's entries.
    Ls,
    Restore(Output),
}

/// Where to restore.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// An empty directory.
    Folder(PathBuf),
    /// A file, or standard output.
    Archive(Option<PathBuf>),
}

impl Arguments {
    /// Parses a command line; `None` if it asks for help.
    pub(crate) fn read(words: &[OsString]) -> Result<Option<Self>, Failure> {
        let mut words = words.iter();
        let (mut plain, mut options) = (Vec::new(), Options::default());
        while let Some(word) = words.next() {
            let named = match word.to_str() {
                Some("-h" | "--help" | "help") => return Ok(None),
                Some(option) if option.starts_with("--") => option,
                _ => {
                    plain.push(word);
                    continue;
                }
            };
            let (name, value) = match named.split_once('=') {
                Some((name, value)) => (name, OsStr::new(value)),
                None => {
                    let value = words.next().ok_or_else(|| Failure::Usage(format!("{named} needs a value")))?;
                    (named, value.as_os_str())
                }
            };
            options.set(name, value)?;
        }
        let mut plain = plain.into_iter();
        let action = plain.next().and_then(|word| word.to_str()).unwrap_or_default().to_owned();
        let missing = |what: &str| Failure::Usage(format!("{action} needs {what}"));
        if action.is_empty() {
            return Ok(None);
        }
        let known = match action.as_str() {
            "list" => Some(Action::List),
            "ls" => Some(Action::Ls),
            "restore" => None,
            _ => return Err(Failure::Usage(format!("there is no command {action:?}"))),
        };
        let repository = plain.next().ok_or_else(|| missing("a repository"))?.into();
        let action = match (known, options.tar) {
            (Some(_), Some(_)) => return Err(Failure::Usage("--tar belongs to restore".to_owned())),
            (Some(action), None) => action,
            (None, Some(file)) if file == "-" => Action::Restore(Output::Archive(None)),
            (None, Some(file)) => Action::Restore(Output::Archive(Some(file.into()))),
            (None, None) => Action::Restore(Output::Folder(plain.next().ok_or_else(|| missing("a target"))?.into())),
        };
        if let Some(word) = plain.next() {
            return Err(Failure::Usage(format!("nothing is known to do with {word:?}")));
        }
        let Options { snapshot, path, password_file, key_file, unlock_memory, .. } = options;
        Ok(Some(Self { action, repository, snapshot, path, password_file, key_file, unlock_memory }))
    }
}

#[derive(Default)]
struct Options {
    snapshot: Option<String>,
    path: TreePath,
    tar: Option<OsString>,
    password_file: Option<PathBuf>,
    key_file: Option<PathBuf>,
    unlock_memory: Option<u32>,
}

impl Options {
    fn set(&mut self, name: &str, value: &OsStr) -> Result<(), Failure> {
        match name {
            "--snapshot" => self.snapshot = Some(id(value)?),
            "--path" => self.path = path(value)?,
            "--tar" => self.tar = Some(value.to_owned()),
            "--password-file" => self.password_file = Some(value.into()),
            "--key-file" => self.key_file = Some(value.into()),
            "--unlock-memory" => self.unlock_memory = Some(mebibytes(value)?),
            _ => return Err(Failure::Usage(format!("there is no option {name}"))),
        }
        Ok(())
    }
}

fn mebibytes(value: &OsStr) -> Result<u32, Failure> {
    let number = value.to_str().and_then(|value| value.parse().ok());
    number.ok_or_else(|| Failure::Usage(format!("{value:?} is not a number of MiB")))
}

fn id(value: &OsStr) -> Result<String, Failure> {
    let digits = value.to_str().map(str::to_ascii_lowercase).unwrap_or_default();
    let is_one = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_one { Ok(digits) } else { Err(Failure::Usage(format!("{value:?} is not the start of a snapshot's id"))) }
}

/// Paths have a leading slash, and perhaps a trailing one.
fn path(value: &OsStr) -> Result<TreePath, Failure> {
    let bytes = value.as_encoded_bytes();
    let bytes = bytes.strip_prefix(b"/").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"/").unwrap_or(bytes);
    TreePath::new(bytes).map_err(|error| Failure::Usage(format!("{value:?}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Option<Arguments>, Failure> {
        Arguments::read(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_restore_goes_into_a_directory_or_an_archive() {
        let action = |line| read(line).unwrap().unwrap().action;
        assert_eq!(action("restore repo out"), Action::Restore(Output::Folder("out".into())));
        assert_eq!(action("restore repo --tar -"), Action::Restore(Output::Archive(None)));
        assert_eq!(action("restore --tar=a.tar repo"), Action::Restore(Output::Archive(Some("a.tar".into()))));
    }

    #[test]
    fn options_stand_anywhere() {
        let arguments = read("--snapshot 0AF restore --path /home/me/ repo out --key-file key").unwrap().unwrap();
        assert_eq!(arguments.snapshot.as_deref(), Some("0af"));
        assert_eq!(arguments.path, TreePath::new("home/me").unwrap());
        assert_eq!(arguments.key_file, Some("key".into()));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for line in [
            "list",
            "restore repo",
            "restore repo out more",
            "list repo --tar -",
            "list repo --snapshot",
            "list repo --snapshot xyz",
            "ls repo --path a/../b",
            "ls repo --colour red",
            "erase repo",
        ] {
            assert!(matches!(read(line), Err(Failure::Usage(_))), "{line}");
        }
    }

    #[test]
    fn nothing_at_all_asks_for_help() {
        assert!(matches!(read(""), Ok(None)));
        assert!(matches!(read("restore --help"), Ok(None)));
    }
}
