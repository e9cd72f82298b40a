//! Commands: each parses what the options leave open, drives the engine and the service, and reports.

mod backup;
mod context;
mod failure;
mod init;
mod snapshots;

use std::ffi::OsString;

use clap::Parser;

use crate::args::{Command, CommandLine};
use crate::exit::Exit;
use crate::report::{self, Failure, Report};
use context::Context;

/// Runs the command line of this process.
pub fn run() -> Exit {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let line = match CommandLine::try_parse_from(&arguments) {
        Ok(line) => line,
        Err(error) => return report::usage(&error, arguments.iter().map(OsString::as_os_str)),
    };
    let report = Report::new(&line.global);
    let context = Context::new(&line.global, &report);
    match dispatch(&context, &line.command) {
        Ok(exit) => exit,
        Err(failure) => report.fail(&failure),
    }
}

fn dispatch(context: &Context<'_>, command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::Init(options) => init::run(context, options),
        Command::Backup(options) => backup::run(context, options),
        Command::Snapshots(options) => snapshots::run(context, options),
        _ => Err(Failure::Usage("this command is not part of this build".into())),
    }
}
