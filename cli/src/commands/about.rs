//! `completions`, `version`: what needs no repository.

use super::context::Context;
use crate::args::repository::Completions;
use crate::exit::Exit;
use crate::report::Failure;

pub(super) fn completions(_context: &Context<'_>, _options: &Completions) -> Result<Exit, Failure> {
    Err(Failure::Usage("this command is not part of this build".into()))
}

pub(super) fn version(_context: &Context<'_>) -> Result<Exit, Failure> {
    Err(Failure::Usage("this command is not part of this build".into()))
}
