//! `diff`: lists the differences between two snapshots.

use copal_client::history;

use super::context::Context;
use super::place::place;
use crate::args::look::Diff;
use crate::exit::Exit;
use crate::look::compare::{Side, compare};
use crate::report::Failure;

pub(super) fn run(context: &Context<'_>, options: &Diff) -> Result<Exit, Failure> {
    let repository = context.open()?;
    let view = context.view(&repository)?;
    let history = context.history(&repository, &view)?;
    let [a, b] = [&options.a, &options.b].map(|spec| context.find(&repository, &history, &spec.which, &options.narrow));
    let (a, b) = (a?, b?);
    if a.domain != b.domain {
        let why = "the machines of these snapshots do not share data, so equal content is not recognized";
        return Err(Failure::Usage(why.into()));
    }
    let pages = history::pages(&repository, &view, a.domain);
    let before = place(&pages, a, options.a.path.as_ref())?;
    let after = place(&pages, b, options.b.path.as_ref())?;
    let mut lines = context.report.lines();
    let [before, after] = [(a, &before), (b, &after)].map(|(of, place)| Side { root: of.root, path: place.path() });
    compare(&pages, before, after, |row| lines.row(&row))?;
    lines.finish()?;
    Ok(context.exit_of(&history))
}
