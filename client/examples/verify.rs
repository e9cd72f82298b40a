//! Verifies a repository without its key: `verify REPOSITORY`. Reads every pack, and writes nothing.

use copal_client::Settings;
use copal_client::jobs::check::{Depth, Report};

type Error = Box<dyn std::error::Error>;

/// Reads everything that the repository needs. What is wrong is in the report; an error means that nobody could look.
pub(crate) fn verify(settings: &Settings) -> Result<Report, Error> {
    Ok(settings.verify(Depth::Data { part: 1, parts: 1 })?)
}

fn main() -> Result<(), Error> {
    let repository = std::env::args_os().nth(1).ok_or("usage: verify REPOSITORY")?;
    let report = verify(&Settings::at(repository))?;
    for finding in &report.findings {
        println!("{} {}: {}", finding.object, finding.kind.name(), finding.why);
    }
    println!("{} packs with {} bytes were read", report.packs_read, report.bytes_read);
    if report.is_ok() { Ok(()) } else { Err(format!("{} things are wrong", report.wrong()).into()) }
}
