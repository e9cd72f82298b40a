//! `cache`: deletes this machine's cache of repositories.

use std::os::unix::ffi::OsStrExt;

use super::context::Context;
use crate::args::repository::Cache;
use crate::exit::Exit;
use crate::report::Failure;
use crate::report::field::PathField;
use crate::report::upkeep::CacheSummary;

pub(super) fn run(context: &Context<'_>, options: &Cache) -> Result<Exit, Failure> {
    let Cache::Clean = options;
    let places = context.places()?;
    let bytes_freed = places.clean_cache()?;
    let directory = PathField(places.cache().as_os_str().as_bytes().to_vec());
    context.report.confirm(&CacheSummary { directory, bytes_freed })?;
    Ok(Exit::Done)
}
