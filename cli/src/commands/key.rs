//! `key`.

use super::context::Context;
use crate::exit::Exit;
use crate::report::Failure;

pub(super) fn run(_context: &Context<'_>, _options: &crate::args::key::Key) -> Result<Exit, Failure> {
    Err(Failure::Usage("this command is not part of this build".into()))
}
