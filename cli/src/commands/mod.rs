//! Commands: each interprets its options, drives the engine and the service, and reports.

mod about;
mod backup;
mod benchmark;
mod cat;
mod changed;
mod check;
mod client;
mod compact;
mod complete;
mod config;
mod context;
mod copy;
mod diff;
mod doctor;
mod dump;
mod export;
mod failure;
mod fates;
mod find;
mod forget;
mod guard;
mod import;
mod ingest;
mod init;
mod key;
mod known;
mod ls;
mod marks;
mod met;
mod mount;
mod mover;
mod nameless;
mod open_file;
mod opening;
mod orders;
mod place;
mod policy;
mod prune;
mod reader;
mod rebuild;
mod repair;
mod replica;
mod restore;
mod rewrite;
mod run;
mod schedule;
mod serve;
mod signals;
mod snapshots;
mod sources;
mod stats;
mod status;
mod sync;
mod watch;

use std::ffi::OsString;

use copal_engine::changing::Mark;

use crate::args::client::Client;
use crate::args::import::Import;
use crate::args::{Command, CommandLine};
use crate::exit::Exit;
use crate::report::{self, Failure, Printer};
use context::Context;

/// Runs the command line of this process.
pub fn run() -> Exit {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    match complete::is_answered(&arguments) {
        Ok(true) => return Exit::Done,
        Ok(false) => {}
        Err(_) => return Exit::Failed,
    }
    let line = match CommandLine::read(&arguments) {
        Ok(line) => line,
        Err(error) => return report::usage(&error, arguments.iter().map(OsString::as_os_str)),
    };
    let report = Printer::new(&line.global);
    let done = config::with_profile(&line, &report).and_then(|global| {
        let context = Context::new(&global, &report);
        let uses_others = match &line.command {
            Command::Copy(_) | Command::Sync(_) | Command::Import(_) | Command::Run(_) => true,
            Command::Client(client) => matches!(client, Client::Join(_)),
            Command::Init(init) => init.copy_keys_from.is_some(),
            _ => false,
        };
        let done = dispatch(&context, &line.command);
        if uses_others { done } else { done.map_err(|failure| context.with_repository(failure)) }
    });
    done.unwrap_or_else(|failure| report.fail(&failure))
}

fn dispatch(context: &Context<'_>, command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::Init(options) => init::run(context, options),
        Command::Backup(options) => backup::run(context, options),
        Command::Run(options) => run::run(context, options),
        Command::Config(options) => config::run(context, options),
        Command::Schedule(options) => schedule::run(context, options),
        Command::Mover(options) => mover::run(context, options),
        Command::Import(Import::Tar(options)) => import::tar(context, options),
        Command::Import(Import::Restic(options)) => import::restic(context, options),
        Command::Snapshots(options) => snapshots::run(context, options),
        Command::Restore(options) => restore::run(context, options),
        Command::Ls(options) => ls::run(context, options),
        Command::Find(options) => find::run(context, options),
        Command::Diff(options) => diff::run(context, options),
        Command::Dump(options) => dump::run(context, options),
        Command::Export(options) => export::run(context, options),
        Command::Copy(options) => copy::run(context, options),
        Command::Sync(options) => sync::run(context, options),
        Command::Rewrite(options) => rewrite::run(context, options),
        Command::Mount(options) => mount::run(context, options),
        Command::Watch(options) => watch::run(context, options),
        Command::Check(options) => check::run(context, options),
        Command::Forget(options) => forget::run(context, options),
        Command::Prune(options) => prune::run(context, options),
        Command::Key(options) => key::run(context, options),
        Command::Cat(options) => cat::run(context, options),
        Command::Reader(options) => reader::run(context, options),
        Command::Cache(options) => about::cache(context, options),
        Command::Tag(options) => marks::tag(context, options),
        Command::Pin(options) => marks::run(context, options, Mark::Pin),
        Command::Unpin(options) => marks::run(context, options, Mark::Unpin),
        Command::Undelete(options) => marks::run(context, options, Mark::Undelete),
        Command::Ingest => ingest::run(context),
        Command::Serve(options) => serve::run(context, options),
        Command::Repair(options) => repair::run(context, options),
        Command::Stats(options) => stats::run(context, options),
        Command::Client(options) => client::run(context, options),
        Command::Policy(options) => policy::run(context, options),
        Command::Status => status::run(context),
        Command::Doctor => doctor::run(context),
        Command::Benchmark => benchmark::run(context),
        Command::RebuildIndex => rebuild::run(context),
        Command::Compact => compact::run(context),
        Command::Completions(options) => about::completions(context, options),
        Command::Man(options) => about::manual(options),
        Command::Version => about::version(context),
        Command::Help(options) => about::help(context, options),
    }
}
