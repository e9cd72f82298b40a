//! `init`: makes a repository and registers this machine.

use copal_client::entropy::secret;
use copal_client::places::create_private;
use copal_client::repository::{self, Init, ReaderProgram};
use copal_format::keys::slot::{Argon2Params, SlotInput};
use copal_format::keys::text;
use copal_format::layout;
use copal_format::receipt::IngestBy;
use copal_format::repository::Parameters;
use copal_store::fs::FsStore;

use super::context::{Context, input};
use super::reader::reader;
use super::replica;
use crate::args;
use crate::exit::Exit;
use crate::report::Failure;
use crate::report::keys::InitSummary;
use crate::secrets::{Credential, Terminal};

pub(super) fn run(context: &Context<'_>, options: &args::repository::Init) -> Result<Exit, Failure> {
    if let Some(from) = &options.copy_keys_from {
        share(context, options)?;
        return replica::found(context, from);
    }
    let credential = context.secrets().first(&mut Terminal)?;
    share(context, options)?;
    let summary = create(context, &credential, options.ingest, reader(&options.reader)?)?;
    let what = format!("created {}; its recovery code", summary.repository);
    context.answer_once(&summary, &what, &summary.recovery_code)?;
    Ok(Exit::Done)
}

fn share(context: &Context<'_>, options: &args::repository::Init) -> Result<(), Failure> {
    if options.shared {
        FsStore::create(context.location()?.directory()?)?.share()?;
    }
    Ok(())
}

/// Shows the recovery code of a new repository beside other output.
pub(super) fn tell_code(context: &Context<'_>, repository: &str, code: &str) {
    context.report.warn(&format!("created {repository}; its recovery code, shown this once:"));
    context.report.warn(code);
}

/// Makes the repository that the options name, and registers this machine. If that fails once the repository is there,
/// its recovery code is shown here.
pub(super) fn create(
    context: &Context<'_>,
    credential: &Credential,
    ingest: args::repository::IngestBy,
    reader: Option<ReaderProgram>,
) -> Result<InitSummary, Failure> {
    let backend = context.create_place()?;
    context.introduce(&backend)?;
    let mut inputs = vec![input(credential)?];
    let key_file = context.global.key_file.as_ref();
    if let Some(path) = key_file {
        let key = secret();
        // Write the key file first: a slot whose key was lost would be useless.
        create_private(path, text::encode_key_file(&key).as_bytes())?;
        inputs.push(SlotInput::KeyFile(key));
    }
    let made = repository::init(&Init {
        backend: &backend,
        inputs: &inputs,
        parameters: Parameters::default(),
        ingest: match ingest {
            args::repository::IngestBy::Client => IngestBy::Client,
            args::repository::IngestBy::Service => IngestBy::Service,
        },
        argon2: Argon2Params::default(),
        reader: reader.as_ref(),
    });
    let made = made.inspect_err(|_| {
        if let Some(path) = key_file {
            let _ = std::fs::remove_file(path);
        }
    });
    let made = made?;
    let client = context.open_with(&backend, credential).and_then(|repository| {
        context.meet(&backend, repository.id());
        context.client(&repository)
    });
    let client = client.inspect_err(|_| tell_code(context, &backend.location().to_string(), &made.recovery_code))?;
    if reader.is_none() {
        context
            .report
            .note("this program was built without the reader, so the repository carries none (docs/reader.md)");
    }
    Ok(InitSummary {
        repository_id: made.repository,
        repository: backend.location().to_string(),
        client: client.id,
        recovery_code: made.recovery_code.as_str().to_owned(),
        key_file: key_file.map(|path| path.display().to_string()),
        reader: reader.map(|reader| layout::reader(reader.hash())),
    })
}
