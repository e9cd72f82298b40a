//! Export: a repository that holds one snapshot, in one file, with keys of its own.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use copal_format::keys::slot::{Argon2Params, SlotInput};
use copal_format::receipt::IngestBy;
use copal_format::repository::Parameters;
use zeroize::Zeroizing;

use crate::backend::Backend;
use crate::exported::ExportStore;
use crate::location::Location;
use crate::repository::{self, ClientError, Init, InitError, LocalClient, OpenError, ReaderProgram, Repository};

/// An export on its way: an empty repository to copy a snapshot into.
pub struct Export {
    store: Arc<ExportStore>,
    /// The repository in the file.
    pub repository: Repository,
    /// A client of this run, whose keys are kept nowhere.
    pub client: LocalClient,
    /// The code that opens the export if its passphrase is lost.
    pub recovery_code: Zeroizing<String>,
}

/// Why an export cannot be made.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ExportError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Init(#[from] InitError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Client(#[from] ClientError),
}

impl Export {
    /// Begins an export in an empty file, which messages call `name`.
    pub fn begin(
        file: File,
        name: &Path,
        secret: SlotInput,
        reader: Option<&ReaderProgram>,
        host: &str,
    ) -> Result<Self, ExportError> {
        let store = Arc::new(ExportStore::begin(file, TEXT)?);
        let backend = Backend::of_store(&Location::Directory(name.to_owned()), store.clone());
        let inputs = [secret];
        let made = repository::init(&Init {
            backend: &backend,
            inputs: &inputs,
            parameters: Parameters::default(),
            ingest: IngestBy::Client,
            argon2: Argon2Params::default(),
            reader,
        })?;
        // Nothing is remembered of a repository that this machine will not write to again.
        let repository = Repository::open(&backend, &inputs[0], |_| PathBuf::from("/dev/null"))?;
        let client = LocalClient::passing(&repository, host)?;
        Ok(Self { store, repository, client, recovery_code: made.recovery_code })
    }

    /// Makes the export whole and durable.
    pub fn finish(self) -> io::Result<()> {
        self.store.finish()
    }
}

/// The first file of the archive, for whoever has the file and does not know Copal.
const TEXT: &str = include_str!("export.txt");
