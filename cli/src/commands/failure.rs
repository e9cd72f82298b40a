//! Failure: maps errors of the repository, the store and the jobs to failures for the user.

use std::path::Path;

use copal_engine::layout;
use copal_engine::repository::DescriptorError;
use copal_engine::wire::record::RecordError;
use copal_service::error::JobError;
use copal_store::StoreError;

use crate::args::spec::SpecPath;
use crate::backup::BackupError;
use crate::changes::ChangeError;
use crate::credentials::KeptError;
use crate::dump::DumpError;
use crate::history::Snapshot;
use crate::materialize::WriteError;
use crate::reader::ReadError;
use crate::remote::OrderError;
use crate::report::Failure;
use crate::report::field::{Hex, PathField};
use crate::repository::{ClientError, InitError, JoinError, OpenError};
use crate::restore::{RestoreError, ScopeError};
use crate::secrets::Kind;
use crate::site::SiteError;
use crate::verify::VerifyError;

pub(super) fn of_open(error: OpenError, kind: Kind) -> Failure {
    match error {
        OpenError::NoRepository(location) => Failure::NoRepository { location: location.to_string() },
        OpenError::WrongSecret { .. } | OpenError::NoSlot { .. } => Failure::WrongSecret(kind),
        OpenError::Costly(costly) => Failure::CostlySlot(costly),
        OpenError::DamagedSlot { object, is_refused: true, source } => {
            let cause = format!("{source}; no other key slot opens, so what was given may also be wrong");
            Failure::Damaged { object, cause: cause.into() }
        }
        OpenError::DamagedSlot { object, source, .. } => Failure::Damaged { object, cause: source.into() },
        OpenError::Descriptor { source: DescriptorError::Record(RecordError::Version { version, .. }), .. } => {
            Failure::NewerFormat { found: version.into(), known: FORMAT }
        }
        OpenError::Descriptor { object, source } => Failure::Damaged { object, cause: source.into() },
        OpenError::Store(error) => of_store(error),
        OpenError::Job(error) => of_job(error),
    }
}

pub(super) fn of_site(error: SiteError) -> Failure {
    match error {
        SiteError::Absent(location) => Failure::NoRepository { location },
        SiteError::Store(error) => of_store(error),
        SiteError::Location(error) => error.into(),
        SiteError::Bucket(error) => Failure::Usage(error.to_string()),
    }
}

pub(super) fn of_init(error: InitError) -> Failure {
    match error {
        InitError::Exists(location) => Failure::RepositoryExists { location },
        InitError::NotEmpty(location) => Failure::NotEmpty { location },
        InitError::Store(error) => of_store(error),
    }
}

pub(super) fn of_client(error: impl Into<ClientError>) -> Failure {
    match error.into() {
        ClientError::Revoked(client) => Failure::Revoked { client: Hex(client).short() },
        ClientError::WriteOnly => Failure::WriteOnly,
        ClientError::Place(error) => Failure::Place(error),
        ClientError::Store(error) => of_store(error),
        ClientError::Job(error) => of_job(error),
        ClientError::Kept(KeptError::File { path, source }) => Failure::io("read", path, source),
        ClientError::Kept(KeptError::Damaged(path)) => Failure::ClientKeys { path },
        ClientError::NoDescriptor => no_descriptor(),
        error @ ClientError::Record(id) => Failure::Damaged { object: format!("clients/{id}"), cause: error.into() },
    }
}

/// The failure of every write without a descriptor.
fn no_descriptor() -> Failure {
    Failure::Damaged { object: "the descriptor in copal/".into(), cause: "nothing can be written without it".into() }
}

pub(super) fn of_join(error: JoinError) -> Failure {
    match error {
        JoinError::Client(error) => of_client(error),
        JoinError::Place(error) => Failure::Place(error),
        JoinError::Store(error) => of_store(error),
        JoinError::Job(error) => of_job(error),
        other => Failure::Enrollment(other.into()),
    }
}

pub(super) fn of_job(error: JobError) -> Failure {
    match error {
        JobError::Store(error) => of_store(error),
        JobError::Damaged { object, why } => Failure::Damaged { object, cause: why.into() },
        JobError::StateLost { evidence } => Failure::Damaged { object: "the index".into(), cause: evidence.into() },
        JobError::Contradicted { root, why } => {
            let cause = format!("{why}; \"copal check\" says what else is damaged");
            Failure::Damaged { object: layout::root(root), cause: cause.into() }
        }
        other => Failure::Other(other.into()),
    }
}

pub(super) fn of_order(error: OrderError) -> Failure {
    match error {
        OrderError::Store(error) => of_store(error),
        OrderError::Damaged { object, why } => Failure::Damaged { object, cause: why.into() },
        other => Failure::Order(other),
    }
}

pub(super) fn of_verify(error: VerifyError) -> Failure {
    match error {
        VerifyError::Job(error) => of_job(error),
        VerifyError::History(failure) => failure,
    }
}

pub(super) fn of_change(error: ChangeError) -> Failure {
    match error {
        ChangeError::NotFull => Failure::NotPermitted { act: "change" },
        ChangeError::Store(error) => of_store(error),
        ChangeError::Job(error) => of_job(error),
        ChangeError::NoDescriptor => no_descriptor(),
        ChangeError::NotFolded { .. } => Failure::NotYetAccepted { what: "the change" },
    }
}

pub(super) fn of_store(error: StoreError) -> Failure {
    Failure::Store(error)
}

pub(super) fn of_backup(error: BackupError) -> Failure {
    match error {
        BackupError::Store(error) => of_store(error),
        BackupError::Job(error) => of_job(error),
        BackupError::Rejected(why) | BackupError::Barred(why) => Failure::Rejected { reasons: vec![why] },
        BackupError::Unanswered { .. } => Failure::NotYetAccepted { what: "the backup" },
        BackupError::Interrupted => Failure::Interrupted,
        BackupError::EmptyStream => Failure::EmptyStream,
        BackupError::NoDescriptor => no_descriptor(),
        other => Failure::Other(other.into()),
    }
}

pub(super) fn of_restore(error: RestoreError, target: &Path) -> Failure {
    use std::os::unix::ffi::OsStrExt;
    match error {
        RestoreError::Target(WriteError::Io { act, path, source }) => {
            Failure::io(act, target.join(std::ffi::OsStr::from_bytes(path.as_bytes())), source)
        }
        RestoreError::Target(WriteError::Target { path, source }) => Failure::io("restore into", path, source),
        RestoreError::Target(error) => Failure::Other(error.into()),
        RestoreError::Tree(error) => error.into(),
        RestoreError::Store(error) => of_store(error),
        RestoreError::Declined => Failure::Declined,
        RestoreError::Interrupted => Failure::Interrupted,
    }
}

pub(super) fn of_dump(error: DumpError) -> Failure {
    match error {
        DumpError::Output(error) => Failure::output(error),
        DumpError::Tree(error) => error.into(),
        DumpError::Content { source: ReadError::Store(error), .. } => of_store(error),
        DumpError::Content { path, source } => {
            Failure::Damaged { object: PathField::of(&path).human(), cause: source.into() }
        }
        DumpError::Length { .. } | DumpError::Misplaced { .. } => {
            Failure::Damaged { object: "the snapshot's tree".into(), cause: error.into() }
        }
    }
}

/// Why a path in a snapshot cannot be used.
pub(super) fn of_scope(error: ScopeError, path: &SpecPath, snapshot: &Snapshot) -> Failure {
    match error {
        ScopeError::Absent => {
            let (SpecPath::Absolute(wanted) | SpecPath::Relative(wanted)) = path;
            let top: &[u8] = if matches!(path, SpecPath::Absolute(_)) { b"/" } else { b"" };
            let path = [top, wanted.as_bytes()].concat();
            Failure::NotInSnapshot { path, snapshot: Hex(snapshot.id).short() }
        }
        ScopeError::Lost(error) => error.into(),
        ScopeError::Tree(error) => error.into(),
    }
}

/// The newest format version that this program reads, and the one that it writes.
pub(super) const FORMAT: u64 = 1;
