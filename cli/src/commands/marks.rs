//! `tag`, `pin`, `unpin`, `undelete`: signed changes of snapshots.

use super::context::Context;
use crate::args::forget::{Chosen, Tag};
use crate::exit::Exit;
use crate::report::Failure;

/// What is done to the snapshots chosen.
#[derive(Copy, Clone, Debug)]
pub(super) enum Act {
    Pin,
    Unpin,
    Undelete,
}

pub(super) fn tag(_context: &Context<'_>, _options: &Tag) -> Result<Exit, Failure> {
    Err(Failure::Usage("this command is not part of this build".into()))
}

pub(super) fn run(_context: &Context<'_>, _options: &Chosen, _act: Act) -> Result<Exit, Failure> {
    Err(Failure::Usage("this command is not part of this build".into()))
}
