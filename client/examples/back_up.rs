//! Backs up a directory, into a repository that is made if there is none: `COPAL_PASSWORD=… back_up REPOSITORY DIRECTORY`.

use std::path::Path;

use copal_client::backup::Outcome;
use copal_client::{Copal, Saving, Settings, SlotInput};

type Error = Box<dyn std::error::Error>;

/// Opens the repository, or makes it. `show` takes the recovery code of a new one, which is told only once.
pub(crate) fn open(settings: &Settings, passphrase: &str, show: impl FnOnce(&str)) -> Result<Copal, Error> {
    let secret = SlotInput::passphrase(passphrase)?;
    if settings.is_there()? {
        return Ok(settings.open(&secret)?);
    }
    let created = settings.create(&secret)?;
    show(&created.recovery_code);
    Ok(created.copal?)
}

/// Saves a directory. An entry that cannot be read does not stop the backup: the outcome names it.
pub(crate) fn back_up(copal: &Copal, directory: &Path) -> Result<Outcome, Error> {
    let saving = Saving { tags: vec!["example".into()], ..Saving::default() };
    Ok(copal.backup(&[directory], &saving)?)
}

fn main() -> Result<(), Error> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [repository, directory] = arguments.as_slice() else {
        return Err("usage: back_up REPOSITORY DIRECTORY".into());
    };
    let show = |code: &str| println!("recovery code, shown this once: {code}");
    let copal = open(&Settings::at(repository), &std::env::var("COPAL_PASSWORD")?, show)?;
    let saved = back_up(&copal, directory.as_ref())?;
    for trouble in &saved.troubles {
        eprintln!("{}: {}", trouble.path.display(), trouble.why);
    }
    println!("{} files, {} bytes stored; snapshot {:?}", saved.counts.files, saved.tally.bytes_stored, saved.snapshot);
    Ok(())
}
