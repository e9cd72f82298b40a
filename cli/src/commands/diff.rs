//! `diff`: lists the differences between two snapshots.

use super::context::Context;
use crate::args::look::Diff;
use crate::exit::Exit;
use crate::look::compare::{Side, compare};
use crate::report::Failure;
use crate::report::diff::DiffStat;

pub(super) fn run(context: &Context<'_>, options: &Diff) -> Result<Exit, Failure> {
    let (repository, view, history) = context.read()?;
    let [a, b] =
        [&options.a, &options.b].map(|spec| context.place(&repository, (&view, &history), spec, &options.narrow));
    let (a, b) = (a?, b?);
    if a.snapshot.domain != b.snapshot.domain {
        let why = "the machines of these snapshots do not share data, so equal content is not recognized";
        return Err(Failure::Usage(why.into()));
    }
    let mut lines = context.report.lines();
    let mut stat = DiffStat::default();
    let [before, after] = [&a, &b].map(|of| Side { root: of.snapshot.root, path: of.scope.path() });
    compare(&a.pages, before, after, |row| match options.stat {
        true => {
            stat.add(row);
            Ok(())
        }
        false => lines.row(&row),
    })?;
    if options.stat {
        lines.row(&stat)?;
    }
    lines.finish()?;
    Ok(context.exit_of(&history))
}
