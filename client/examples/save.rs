//! Saves a directory into a repository in another directory, which is made if it is not there:
//! `COPAL_PASSWORD=… save REPOSITORY DIRECTORY`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use copal_client::backend::Backend;
use copal_client::backup::{Options, Outcome, Source, backup};
use copal_client::location::Location;
use copal_client::repository::{Init, LocalClient, Repository, init};
use copal_client::scan::{Root, Scan, ScanOptions};
use copal_format::keys::slot::{Argon2Params, SlotInput};
use copal_format::receipt::IngestBy;
use copal_format::repository::Parameters;

type Error = Box<dyn std::error::Error>;

/// Saves `directory`. What this machine must remember (its signing key, what it has seen) lies in `state`.
pub(crate) fn save(repository: &Path, passphrase: &str, state: &Path, directory: &Path) -> Result<Outcome, Error> {
    let backend = Backend::create(&Location::Directory(repository.to_owned()))?;
    let secret = SlotInput::passphrase(passphrase)?;
    if !Repository::is_at(&backend)? {
        init(&Init {
            backend: &backend,
            inputs: std::slice::from_ref(&secret),
            parameters: Parameters::default(),
            ingest: IngestBy::Client,
            argon2: Argon2Params::default(),
            reader: None,
        })?;
    }
    let repository = Repository::open(&backend, &secret, |id| state.join(id.to_string()))?;
    let client = LocalClient::load_or_register(&repository, "my-machine")?;

    let root = Root::new(directory)?;
    let options = Options::plain("my-machine", &root, 2);
    let scan = Arc::new(Scan::new(ScanOptions { roots: vec![root], ..ScanOptions::default() })?);
    let mut source = Source::Tree { scan: &scan, ahead: None };
    Ok(backup(&repository, &client, &mut source, &options, &Arc::default(), &AtomicBool::new(false))?)
}

fn main() -> Result<(), Error> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [repository, directory] = arguments.as_slice() else { return Err("usage: save REPOSITORY DIRECTORY".into()) };
    let state = std::env::temp_dir().join("copal-example");
    let saved = save(repository.as_ref(), &std::env::var("COPAL_PASSWORD")?, &state, directory.as_ref())?;
    for trouble in &saved.troubles {
        eprintln!("{}: {}", trouble.path.display(), trouble.why);
    }
    println!("{} files in snapshot {:?}", saved.counts.files, saved.snapshot);
    Ok(())
}
