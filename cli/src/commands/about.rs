//! `completions`, `man`, `version`, `help`: commands without a repository.

use super::complete;
use super::context::Context;
use super::failure::FORMAT;
use crate::args::repository::{Completions, Manual};
use crate::args::{CommandLine, Help};
use crate::exit::Exit;
use crate::report::Failure;
use crate::report::upkeep::VersionSummary;

pub(super) fn completions(context: &Context<'_>, options: &Completions) -> Result<Exit, Failure> {
    let mut lines = context.report.lines();
    let script = complete::script(options).expect("memory takes every byte");
    lines.bytes(&script)?;
    lines.finish()?;
    Ok(Exit::Done)
}

pub(super) fn manual(options: &Manual) -> Result<Exit, Failure> {
    let directory = &options.directory;
    std::fs::create_dir_all(directory).map_err(|cause| Failure::io("write", directory, cause))?;
    let written = clap_mangen::generate_to(CommandLine::for_manual(), directory);
    written.map_err(|cause| Failure::io("write", directory, cause))?;
    Ok(Exit::Done)
}

pub(super) fn version(context: &Context<'_>) -> Result<Exit, Failure> {
    context.report.answer(&VersionSummary { version: env!("CARGO_PKG_VERSION"), format: FORMAT })?;
    Ok(Exit::Done)
}

pub(super) fn help(context: &Context<'_>, options: &Help) -> Result<Exit, Failure> {
    let topic = options.topic.join(" ");
    let help = CommandLine::help_on(&options.topic);
    let help =
        help.ok_or_else(|| Failure::Usage(format!("there is no command \"{topic}\" (\"copal help\" lists them)")))?;
    let mut lines = context.report.lines();
    lines.bytes(help.as_bytes())?;
    lines.finish()?;
    Ok(Exit::Done)
}
