//! Failure: converts errors of the repository, the store and the jobs to failures for the user.

use std::path::Path;

use copal_client::backend::BackendError;
use copal_client::backup::BackupError;
use copal_client::changes::ChangeError;
use copal_client::credentials::KeptError;
use copal_client::dump::DumpError;
use copal_client::export::ExportError;
use copal_client::filter::BadPattern;
use copal_client::materialize::WriteError;
use copal_client::reader::{ReadError, TreeError};
use copal_client::remote::OrderError;
use copal_client::repository::{ClientError, InitError, JoinError, OpenError};
use copal_client::restore::RestoreError;
use copal_format::keys::slot::SlotKind;
use copal_format::layout;
use copal_format::repository::DescriptorError;
use copal_format::wire::record::RecordError;
use copal_jobs::error::JobError;
use copal_jobs::replica::SyncError;

use crate::report::Failure;
use crate::report::field::PathField;
use copal_client::watch::WatchError;
use copal_client::words::path_of;

pub(super) fn of_open(error: OpenError, kind: SlotKind) -> Failure {
    match error {
        OpenError::NoRepository(location) => Failure::NoRepository { location: location.to_string() },
        OpenError::WrongSecret { .. } => Failure::WrongSecret(kind),
        OpenError::NoSlot { .. } => Failure::NoKey(kind),
        OpenError::Costly(costly) => Failure::CostlySlot(costly),
        OpenError::DamagedSlot { object, is_refused: true, source } => {
            let cause = format!("{source}; no other key slot opens, so what was given may also be wrong");
            Failure::Damaged { object, cause: cause.into() }
        }
        OpenError::DamagedSlot { object, source, .. } => Failure::Damaged { object, cause: source.into() },
        OpenError::Descriptor { source: DescriptorError::Record(RecordError::Version { version, .. }), .. } => {
            Failure::NewerFormat { found: version.into(), known: FORMAT }
        }
        OpenError::Another { location, found, met } => {
            Failure::ClientElsewhere { location: location.to_string(), found, met }
        }
        OpenError::Descriptor { object, source } => Failure::Damaged { object, cause: source.into() },
        OpenError::Store(error) => error.into(),
        OpenError::Job(error) => error.into(),
    }
}

impl From<BackendError> for Failure {
    fn from(error: BackendError) -> Self {
        match error {
            BackendError::Absent(location) => Failure::NoRepository { location },
            BackendError::Export { path, why } => Failure::Damaged { object: path, cause: why.into() },
            BackendError::Store(error) => error.into(),
            BackendError::Location(error) => error.into(),
            BackendError::Bucket(error) => Failure::Usage(error.to_string()),
            BackendError::Site(error) => Failure::Usage(error.to_string()),
        }
    }
}

impl From<BadPattern> for Failure {
    fn from(error: BadPattern) -> Self {
        Failure::Usage(error.to_string())
    }
}

impl From<WatchError> for Failure {
    fn from(error: WatchError) -> Self {
        match error {
            WatchError::Watched => Self::Watched,
            WatchError::Place(error) => error.into(),
            WatchError::Failed(cause) => Self::io("watch", "the directories", cause),
        }
    }
}

impl From<InitError> for Failure {
    fn from(error: InitError) -> Self {
        match error {
            InitError::Exists(location) => Failure::RepositoryExists { location },
            InitError::NotEmpty(location) => Failure::NotEmpty { location },
            InitError::Store(error) => error.into(),
        }
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Io(error) => Failure::Io { act: "write", thing: "the export".into(), cause: error },
            ExportError::Init(error) => error.into(),
            ExportError::Open(error) => of_open(error, SlotKind::Passphrase),
            ExportError::Client(error) => error.into(),
        }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Revoked(client) => Failure::Revoked { client },
            ClientError::WriteOnly => Failure::WriteOnly,
            ClientError::Place(error) => Failure::Place(error),
            ClientError::Store(error) => error.into(),
            ClientError::Job(error) => error.into(),
            ClientError::Kept(KeptError::File { path, source }) => Failure::io("read", path, source),
            ClientError::Kept(KeptError::Damaged(path)) => Failure::ClientKeys { path },
            ClientError::NoDescriptor => Failure::no_descriptor(),
            error @ ClientError::Record(id) => {
                Failure::Damaged { object: format!("clients/{id}"), cause: error.into() }
            }
        }
    }
}

impl From<KeptError> for Failure {
    fn from(error: KeptError) -> Self {
        ClientError::from(error).into()
    }
}

impl From<JoinError> for Failure {
    fn from(error: JoinError) -> Self {
        match error {
            JoinError::Client(error) => error.into(),
            JoinError::Place(error) => Failure::Place(error),
            JoinError::Store(error) => error.into(),
            JoinError::Job(error) => error.into(),
            other => Failure::Enrollment(other.into()),
        }
    }
}

impl From<JobError> for Failure {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Store(error) => error.into(),
            JobError::Damaged { object, why } => Failure::Damaged { object, cause: why.into() },
            JobError::StateLost { evidence } => Failure::Damaged { object: "the index".into(), cause: evidence.into() },
            JobError::Contradicted { root, why } => {
                let cause = format!("{why}; \"copal check\" says what else is damaged");
                Failure::Damaged { object: layout::root(root), cause: cause.into() }
            }
            other => Failure::Other(other.into()),
        }
    }
}

impl From<SyncError> for Failure {
    fn from(error: SyncError) -> Self {
        match error {
            SyncError::Job(error) => error.into(),
            SyncError::Interrupted => Failure::Interrupted,
            other => Failure::Sync(other),
        }
    }
}

impl From<OrderError> for Failure {
    fn from(error: OrderError) -> Self {
        match error {
            OrderError::Store(error) => error.into(),
            OrderError::Damaged { object, why } => Failure::Damaged { object, cause: why.into() },
            other => Failure::Order(other),
        }
    }
}

impl From<ChangeError> for Failure {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::NotFull => Failure::NotPermitted { act: "change" },
            ChangeError::Store(error) => error.into(),
            ChangeError::Job(error) => error.into(),
            ChangeError::NoDescriptor => Failure::no_descriptor(),
            ChangeError::NotFolded { .. } => Failure::NotYetAccepted { what: "the change" },
        }
    }
}

impl From<BackupError> for Failure {
    fn from(error: BackupError) -> Self {
        match error {
            BackupError::Store(error) => error.into(),
            BackupError::Job(error) => error.into(),
            BackupError::Rejected(why) | BackupError::Barred(why) => Failure::Rejected { reasons: vec![why] },
            BackupError::Unanswered { .. } => Failure::NotYetAccepted { what: "the backup" },
            BackupError::Interrupted => Failure::Interrupted,
            BackupError::Original(error) => error.into(),
            BackupError::EmptyStream => Failure::EmptyStream,
            BackupError::EmptyArchive => Failure::EmptyArchive,
            BackupError::Unsaved { path, why } => Failure::Unsaved { path, why },
            BackupError::Emptied { parent } => Failure::Emptied { parent },
            BackupError::NoDescriptor => Failure::no_descriptor(),
            other => Failure::Other(other.into()),
        }
    }
}

pub(super) fn of_restore(error: RestoreError, target: &Path) -> Failure {
    match error {
        RestoreError::Target(WriteError::Io { act, path, source }) => {
            Failure::io(act, target.join(path_of(path.as_bytes())), source)
        }
        RestoreError::Target(WriteError::Target { path, source }) => Failure::io("restore into", path, source),
        RestoreError::Target(error) => Failure::Other(error.into()),
        RestoreError::Tree(error) => error.into(),
        RestoreError::Store(error) => error.into(),
        RestoreError::Declined => Failure::Declined,
        RestoreError::Interrupted => Failure::Interrupted,
    }
}

impl From<DumpError> for Failure {
    fn from(error: DumpError) -> Self {
        match error {
            DumpError::Output(error) => Failure::output(error),
            DumpError::Tree(error) => error.into(),
            DumpError::Content { source: ReadError::Store(error), .. } => error.into(),
            DumpError::Content { path, source } => {
                Failure::Damaged { object: PathField::of(&path).human(), cause: source.into() }
            }
            DumpError::Length { path } => {
                let cause = "its content has another length than its entry";
                Failure::Damaged { object: PathField::of(&path).human(), cause: cause.into() }
            }
            DumpError::Misplaced { .. } => {
                Failure::Damaged { object: "the snapshot's tree".into(), cause: error.into() }
            }
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Store(error) => Failure::Store(error),
            ReadError::Damaged { id, object, why } => {
                Failure::Damaged { object, cause: format!("{id} cannot be read: {why}").into() }
            }
            ReadError::Absent { id } => Failure::Damaged { object: id.to_string(), cause: "no pack holds it".into() },
        }
    }
}

impl From<TreeError> for Failure {
    fn from(error: TreeError) -> Self {
        match error {
            TreeError::Read(error) => error.into(),
            TreeError::Walk(error) => Failure::Damaged { object: "the snapshot's tree".into(), cause: error.into() },
        }
    }
}

/// The newest format version that this program reads, and the one that it writes.
pub(super) const FORMAT: u64 = 1;
