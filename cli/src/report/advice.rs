//! Advice: what the user can do about a failure.

use std::io;

use copal_client::backend::IsReplica;
use copal_client::causes::with_causes;
use copal_client::exported::{IsExport, NotExport};
use copal_client::location::BadLocation;
use copal_client::places::PlaceError;
use copal_client::remote::OrderError;
use copal_client::restic::ResticError;
use copal_format::keys::slot::SlotKind;
use copal_format::layout;
use copal_jobs::replica::SyncError;
use copal_store::StoreError;
use copal_store::s3::Trouble;

use super::failure::Failure;
use crate::config::ConfigError;
use crate::secrets::SecretError;
use crate::system::is_input_output;

impl Failure {
    /// The advice for a repository that shows an older state than this machine has seen, by whether its root is older.
    pub fn remedy_of_older(is_root: bool) -> &'static str {
        match is_root {
            true => {
                "\"copal check\" lists what is missing; if the newer state is lost, \"copal rebuild-index\" on the store itself makes a new index from what is left; then revoke again the clients that were revoked"
            }
            false => {
                "\"copal check\" lists what is missing; if an older copy was put back on purpose, and \"copal rebuild-index\" or \"copal sync --end\" was run on it, accept it once with --another, and revoke again the clients that were revoked"
            }
        }
    }

    /// The advice for this failure, if there is any.
    pub fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Self::Usage(_) => "\"copal COMMAND --help\" explains the options",
            Self::Config(ConfigError::Missing { .. }) => {
                "\"copal config example\" prints one; write it to one of these places, or name another with --config"
            }
            Self::Config(ConfigError::Writable { .. }) => {
                "it says what is run and what is forgotten: only its owner and root may write it (chmod go-w, chown)"
            }
            Self::Config(ConfigError::Unreadable { cause, .. }) => return advice_on(cause),
            Self::Config(_) => "\"copal config check\" reads it again; \"copal config example\" explains every key",
            Self::Hook { .. } => "run its command by hand to see why; it gets JSON on its standard input",
            Self::Busy { .. } => "wait for it to end, or stop it: it ends within ten seconds",
            Self::Watched => "it serves every backup of these paths: one is enough",
            Self::Location(BadLocation::Missing) => "name it with -r REPOSITORY or in COPAL_REPOSITORY",
            Self::Location(_) => {
                "name a directory, or an address that begins with s3://, https://, ssh://, sftp://, azblob://, gcs:// or webdav://"
            }
            Self::Sync(SyncError::NotReplica) => {
                "look at -r and --to: \"copal -r REPLICA init --copy-keys-from REPOSITORY\" makes a replica in an empty place"
            }
            Self::Sync(SyncError::Foreign | SyncError::Exists) => {
                "look at -r and --to, and whether the right disks are mounted"
            }
            Self::Sync(SyncError::Diverged { .. }) => {
                "keep both as they are. If the source was put back, only the replica has what was saved since: look with \"copal -r REPLICA snapshots\", and keep it as a repository (\"copal -r REPLICA sync --end\"). If it was written to by mistake, make a new one in an empty place with \"init --copy-keys-from\""
            }
            Self::Sync(SyncError::Riddled(_) | SyncError::Endless { .. }) => {
                "look at the source: \"copal check\" lists its damage; what was copied stays"
            }
            Self::Sync(SyncError::Restless) => "run it again while no prune runs there; what was copied stays",
            Self::Sync(_) => return None,
            Self::Secret(SecretError::Missing) => {
                "give a passphrase in COPAL_PASSWORD_FILE, COPAL_PASSWORD_COMMAND or COPAL_PASSWORD, or a key file with --key-file"
            }
            Self::Secret(SecretError::MissingNew) => "name a file that holds it with --new-password-file",
            Self::Secret(SecretError::MissingThere) => {
                "give it in COPAL_TO_PASSWORD_FILE, COPAL_TO_PASSWORD_COMMAND or COPAL_TO_PASSWORD, or a key file with --to-key-file"
            }
            Self::Secret(SecretError::MissingOfExport) => {
                "give a new one in COPAL_TO_PASSWORD_FILE, COPAL_TO_PASSWORD_COMMAND or COPAL_TO_PASSWORD, or with --to-password-file"
            }
            Self::Secret(SecretError::MissingOfRestic) => {
                "give it in RESTIC_PASSWORD_FILE, RESTIC_PASSWORD_COMMAND or RESTIC_PASSWORD, or with --from-password-file"
            }
            Self::Restic(ResticError::WrongPassword(_)) => {
                "RESTIC_PASSWORD, RESTIC_PASSWORD_FILE and --from-password-file are for the restic repository"
            }
            Self::Restic(ResticError::Absent) => "name the directory that holds restic's \"config\" and \"keys\"",
            Self::Restic(ResticError::NoSnapshot(_)) => "\"restic snapshots\" lists what there is",
            Self::Restic(ResticError::Store(error)) => return advice_on_store(error),
            Self::Secret(SecretError::Empty { .. }) => "a repository needs a passphrase: give at least one character",
            Self::Secret(SecretError::Differ) => "run the command again and type the same passphrase twice",
            Self::Secret(SecretError::CommandFailed(..)) => "run that command by hand to see why",
            Self::Secret(SecretError::Unreadable { .. }) => "look at the file's name and who may read it",
            Self::Place(PlaceError::Homeless { .. }) => "name directories with --cache-dir and --state-dir",
            Self::NoRepository { .. } => {
                "if the location is right (and mounted), create a repository there with \"copal init\" or \"copal backup --init\""
            }
            Self::RepositoryGone { .. } => {
                "mount its disk; to make a new repository there, run \"copal init --another\""
            }
            Self::ClientElsewhere { .. } => {
                "look at the address, and whether the right disk is mounted; to save there too, join it with a line of its owner"
            }
            Self::AnotherRepository { .. } => {
                "mount the right disk; to use this repository too, run the command once with --another"
            }
            Self::RepositoryExists { .. } => "use that repository, or choose another directory",
            Self::NotEmpty { .. } => "choose an empty or a new directory",
            Self::NewerFormat { .. } => "install a newer copal; nothing was changed",
            Self::WrongSecret(SlotKind::KeyFile) => {
                "use the key file of this repository, or its passphrase or recovery code"
            }
            Self::WrongSecret(_) => {
                "try again; the recovery code opens the repository too, where a passphrase is asked for"
            }
            Self::NoKey(SlotKind::RecoveryCode) => {
                "open it with a passphrase or a key file; \"copal key list\" shows what opens it"
            }
            Self::NoKey(_) => {
                "open it with another kind of key, like the recovery code; if keys/ is empty, bring its files back: nothing opens the repository without them"
            }
            Self::CostlySlot(_) => {
                "if it is yours, try it with --unlock-memory SIZE; if not, somebody else has written to keys/: \"copal key list\" shows the slots"
            }
            Self::BadSecret { kind: SlotKind::KeyFile, .. } => "name the file that \"init\" or \"key add\" wrote",
            Self::BadSecret { .. } => "compare it with what was written down, letter by letter",
            Self::Revoked { .. } => {
                "its earlier snapshots are kept; the owner may let the machine join again with \"copal client add\""
            }
            Self::Older { object, .. } => Self::remedy_of_older(layout::root_number(object).is_some()),
            Self::NotPermitted { .. } | Self::WriteOnly => {
                "use a machine that knows the passphrase, or give the passphrase"
            }
            Self::NotThere(_) => {
                "run it where the store itself can be reached, with -r: s3://... or a directory, while nothing else writes to it"
            }
            Self::NoJobThere(_) => {
                "wait for the server's schedule, or reach the store itself with -r: s3://... or a directory"
            }
            Self::Order(OrderError::Closed) => {
                "in its authorized_keys, put --jobs into the command of this login's key (command=\"copal serve --stdio --jobs --repository ...\"), or use another login"
            }
            Self::Order(OrderError::Old) => "update copal there, or log in and run the command there",
            Self::Order(OrderError::Refused(_)) => {
                "give the passphrase (COPAL_PASSWORD_FILE) or a key file (--key-file), so that the owner signs it; or leave the option out"
            }
            Self::NoSnapshot { .. } => {
                "\"copal snapshots\" lists what there is, with --forgotten what \"copal undelete\" brings back; --client, --host, --path, --tag, --label, --before and --after narrow it down"
            }
            Self::AmbiguousSnapshot { .. } => "give more digits of the id",
            Self::NoneOfThisHost { .. } => {
                "say whose is meant with --client or --host, or give the first digits of an id; --path, --tag and --label narrow \"latest\" further"
            }
            Self::NoObject { what: "key", .. } => "\"copal key list\" shows the keys",
            Self::NoObject { what: "client", .. } => "\"copal client list\" shows the clients",
            Self::NoObject { what: "object", .. } => {
                "give the name of an object (roots/..., manifests/..., packs/...) or an id; \"copal cat root\" shows the newest root"
            }
            Self::KeyInUse { is_only: true, .. } => "add another key first, with \"copal key add\"",
            Self::KeyInUse { .. } => {
                "open the repository with another key to remove this one: that proves that another key works"
            }
            Self::NotInSnapshot { .. } => "\"copal ls SNAPSHOT\" and \"copal find GLOB\" show what is there",
            Self::NoSuchPath { .. } => "look at the path's name and whether it is mounted",
            Self::InsideRepository { .. } => "choose another place; a backup leaves the repository out with --exclude",
            Self::EmptyStream => {
                "find out why the program before the pipe wrote nothing; \"--allow-empty\" saves an empty file"
            }
            Self::EmptyArchive => {
                "find out why \"tar -c\" found nothing, such as a mistyped path; \"--allow-empty\" saves an empty snapshot"
            }
            Self::PathUnread { .. } => {
                "look at who may read it and whether it is mounted, or take it out of the profile; \"allow-empty = true\" saves it empty"
            }
            Self::Unsaved { .. } => {
                "look at who may read it, whether it is mounted, and at --exclude; \"--allow-empty\" saves the directories alone"
            }
            Self::Emptied { .. } => {
                "is something not mounted there, or excluded? \"--allow-empty\" saves the source as it is"
            }
            Self::Damaged { cause, .. } if cause.is::<NotExport>() => {
                "copy the file once more from where it was made; if it is not whole there, export the snapshot again"
            }
            Self::Damaged { object, .. } if is_index(object) => {
                "run \"copal rebuild-index\" while nobody else writes to the repository: it makes the index again from the packs and manifests; in a replica, delete what is damaged and run \"copal sync\", or make a repository of it first, with \"copal sync --end\""
            }
            Self::Damaged { object, .. } if object.contains("copal/") => {
                "\"copal repair\" writes a new descriptor; until then everything can be restored"
            }
            Self::Damaged { object, .. } if object.starts_with("clients/") => {
                "run \"copal check\": if it too finds neither of the two copies whole, move them out of the repository and run \"copal backup --another\" on the machine that they belong to, which writes them again if it is a full client"
            }
            Self::Damaged { object, .. } if object.starts_with("keys/") => {
                "open the repository with another key or the recovery code, and make a new key with \"copal key add\""
            }
            Self::Damaged { object, .. } if object.starts_with("changes/") => {
                "if it held the policy in force, \"copal policy set\" signs another (an empty file keeps everything): until then nothing expires and nothing is pruned"
            }
            Self::ClientKeys { .. } => {
                "delete it: \"copal backup\" then registers this machine again (a write-only one joins again, with a new line from \"copal client add\"), and nothing is uploaded twice"
            }
            Self::Damaged { .. } => {
                "run \"copal check --full\" to list the damage, then back up the sources again: that replaces lost data that they still have"
            }
            Self::Rejected { .. } => {
                "earlier snapshots are not affected; run the backup again, and \"copal check\" if it recurs"
            }
            Self::NotYetAccepted { .. } => {
                "it counts once the service (or \"copal ingest\" on a machine that knows the passphrase) has run; \"copal status\" shows what waits, and nothing needs to be uploaded again"
            }
            Self::Enrollment(_) => "the owner makes a new one with \"copal client add\"",
            Self::Declined => "\"--exclude\" keeps what matches a pattern; without \"--delete\" nothing is deleted",
            Self::Interrupted => "what was stored is kept; the next run continues from there",
            Self::Store(error) | Self::StoreOf { error, .. } => return advice_on_store(error),
            Self::Io { cause, .. } | Self::Place(PlaceError::Refused { cause, .. }) if is_full(cause) => {
                "free some space there and run it again"
            }
            Self::Io { cause, .. } | Self::Place(PlaceError::Refused { cause, .. }) => return advice_on(cause),
            Self::Secret(_)
            | Self::NoObject { .. }
            | Self::Order(_)
            | Self::Restic(_)
            | Self::Freed { .. }
            | Self::OutputClosed
            | Self::Other(_) => {
                return None;
            }
        })
    }
}

/// Whether `rebuild-index` makes this object again.
pub(super) fn is_index(object: &str) -> bool {
    object == "the index" || ["roots/", "state/", "index/"].iter().any(|folder| object.starts_with(folder))
}

/// Whether only this object holds what it says, so that no rebuild goes on without it unless somebody takes it away.
fn is_record(object: &str) -> bool {
    ["manifests/", "changes/", "expiries/"].iter().any(|folder| object.starts_with(folder))
}

fn advice_on_store(error: &StoreError) -> Option<&'static str> {
    Some(match error {
        StoreError::Full { source, .. } if !source.is::<io::Error>() => {
            "ask whoever runs the server for room or for a larger quota; existing snapshots are not affected"
        }
        StoreError::Full { .. } => return advice_on(&io::ErrorKind::StorageFull.into()),
        StoreError::Denied { source, .. } if matches!(source.downcast_ref(), Some(Trouble::Credentials(_))) => {
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
        }
        StoreError::Denied { .. } => "look at who may read and write the repository",
        StoreError::ReadOnly { source, .. } if source.is::<IsReplica>() => {
            "write to the repository that it is a replica of; if that is lost, \"copal sync --end\" makes the replica a repository of its own"
        }
        StoreError::ReadOnly { source, .. } if source.is::<IsExport>() => return None,
        StoreError::ReadOnly { .. } => return advice_on(&io::ErrorKind::ReadOnlyFilesystem.into()),
        StoreError::Gone { .. } => {
            "look at its name and whether it is mounted, and run it again once it is back: nothing was written elsewhere"
        }
        StoreError::Obstructed { .. } => "something else was put into the repository's directory: move it away",
        StoreError::NotCreateOnly { .. } => "keep the repository on another file system",
        StoreError::Unfit { .. } => "keep the repository on another server, or bring this one up to date",
        StoreError::Transient { .. } => "look at the address and the network, or run it again in a while",
        StoreError::Io { source, .. } if with_causes(source.as_ref()).contains(CERTIFICATE) => {
            "if the gateway has an authority of its own, name its certificate with --ca-file; else look at the address, and at the name and the dates of the certificate"
        }
        StoreError::Io { key, .. } if key == "the gateway's description" => {
            "look at the address; for ssh:// at what ssh says above, and whether \"copal version\" runs there"
        }
        StoreError::Io { key, source, .. } if is_record(key) && source.downcast_ref().is_some_and(is_input_output) => {
            "the disk or its connection is faulty: run it again. If it fails again, put a copy of the object in its place, or move it out of the repository and run \"copal rebuild-index\": what only this object says is then lost (a manifest: its snapshot)"
        }
        StoreError::Io { source, .. } => match source.downcast_ref() {
            Some(Trouble::ClockSkew) => "set this machine's clock",
            Some(Trouble::Region(_)) => "set AWS_REGION to the bucket's region",
            _ => return source.downcast_ref().and_then(advice_on_medium),
        },
        StoreError::NotFound { .. } | StoreError::OutOfRange { .. } | StoreError::Crashed => return None,
    })
}

/// What the TLS library says of every certificate that it refuses.
const CERTIFICATE: &str = "invalid peer certificate";

fn advice_on_medium(cause: &io::Error) -> Option<&'static str> {
    if is_input_output(cause) {
        return Some("the disk or its connection is faulty: \"copal check\" lists the damage and the remedy");
    }
    advice_on(cause)
}

fn is_full(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn advice_on(cause: &io::Error) -> Option<&'static str> {
    Some(match cause.kind() {
        _ if is_full(cause) => {
            "free some space and run it again; existing snapshots are not affected, and \"copal prune\" deletes data that no snapshot needs"
        }
        io::ErrorKind::PermissionDenied => "look at who may read and write it, or run the command as root",
        io::ErrorKind::FileTooLarge => {
            "the file system, or a limit of this process (ulimit -f), does not take files of this size"
        }
        io::ErrorKind::ReadOnlyFilesystem => "mount it for writing",
        io::ErrorKind::NotFound => "look at its name and whether it is mounted",
        io::ErrorKind::AlreadyExists => "choose another name: what is there is not replaced",
        _ => return None,
    })
}
