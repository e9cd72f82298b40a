//! `serve`: runs a gateway for clients without rights on the store, and the service's jobs.

use std::sync::Arc;

use serde::Serialize;

use super::context::Context;
use crate::args;
use crate::exit::Exit;
use crate::report::Failure;
use crate::serve::{JobNote, ServeError, Service, serve};

pub(super) fn run(context: &Context<'_>, options: &args::serve::Serve) -> Result<Exit, Failure> {
    let location = context.location()?;
    if options.tls_cert.is_none() && !options.stdio && !options.listen.ip().is_loopback() {
        context.report.warn("this address has no TLS: let only a proxy with TLS reach it from outside");
    }
    let listening = |at: &crate::serve::Listening| {
        // A failure to print the address must not stop the server.
        let _ = print(context.global.json, at);
    };
    let is_quiet = context.global.quiet;
    let means = context.renewing_locks().means();
    let service = Service {
        means: &means,
        location: &location,
        options,
        state: context.places()?.state().to_owned(),
        listening: &listening,
        note: Arc::new(move |note| tell(is_quiet, note)),
    };
    serve(&service).map_err(of_serve)?;
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct Answer<'a> {
    gateway: &'a str,
    metrics: Option<&'a str>,
}

fn print(is_json: bool, at: &crate::serve::Listening) -> std::io::Result<()> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    if is_json {
        let answer = Answer { gateway: &at.gateway, metrics: at.metrics.as_deref() };
        writeln!(out, "{}", serde_json::to_string(&answer)?)?;
    } else {
        writeln!(out, "serving at {}", at.gateway)?;
        if let Some(metrics) = &at.metrics {
            writeln!(out, "metrics at {metrics}")?;
        }
    }
    out.flush()
}

/// Logs a note of a job: nobody waits for its result.
fn tell(is_quiet: bool, note: &JobNote) {
    match note {
        JobNote::Failed { job, why } => eprintln!("{job} failed: {why}"),
        JobNote::Killed { job } => {
            let likely = "most likely it ran out of memory";
            eprintln!("an earlier process was killed during {job}, {likely}: {job} waits for its next time");
        }
        JobNote::Aside { client } => {
            let short = client.short();
            eprintln!("an earlier process was killed while it ingested client {short}: that client waits for an hour");
        }
        JobNote::NoPolicy { job, why } => eprintln!("{job} goes on without the policy: {why}"),
        JobNote::Rejected { client, number, why } if !is_quiet => {
            eprintln!("manifest {number} of client {} is rejected: {why}", client.short());
        }
        JobNote::Rejected { .. } => {}
        JobNote::Certificate { why: Some(why) } => {
            eprintln!("the new certificate cannot be used, the one before stays: {why}");
        }
        JobNote::Certificate { why: None } if !is_quiet => eprintln!("the certificate was read again"),
        JobNote::Certificate { why: None } => {}
        JobNote::Unbound => {
            let why = "the bucket's server heeds headers that were not signed";
            eprintln!("everything goes through this gateway, since {why}; --presign always is for clients one trusts");
        }
        JobNote::Damage { findings } => {
            eprintln!("check found damage: {findings} things are wrong, see \"copal check\"")
        }
    }
}

fn of_serve(error: ServeError) -> Failure {
    match error {
        ServeError::NoRepository(location) => Failure::NoRepository { location },
        ServeError::Site(error) => Failure::from(error),
        ServeError::Store(error) => Failure::from(error),
        ServeError::Job(error) => Failure::from(error),
        other => Failure::Other(other.into()),
    }
}
