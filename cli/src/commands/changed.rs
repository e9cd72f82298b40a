//! Changed: the list of changes of `backup --changed-from`.

use std::fs;
use std::path::{Path, PathBuf};

use copal_client::backup::{Options, Outcome};
use copal_client::changed::Narrowing;
use copal_client::repository::{Access, LocalClient};
use copal_client::watch::{Asked, Unwatched, ask, handover_of};
use copal_format::exclusions::Exclusions;
use copal_format::id::SnapshotId;

use super::context::Context;
use super::sources::{Sources, read_list};
use crate::args::backup::Backup;
use crate::report::Failure;

/// A list of changes, or why there is none.
pub(super) struct FoundList {
    list: Vec<PathBuf>,
    since: Option<String>,
    pub(super) doubt: Option<Unwatched>,
    asked: Option<Asked>,
}

/// Reads the lists, or asks the watcher; none if no option names either. Comes before the scan: a change between the two
/// would be in neither.
pub(super) fn find_list(
    context: &Context<'_>,
    options: &Backup,
    sources: &Sources,
) -> Result<Option<FoundList>, Failure> {
    if options.changes.watched {
        let host = options.naming.host.clone().unwrap_or_else(|| context.this_host());
        let who = format!("{:?} {host:?} {:?}", context.address()?, options.naming.label);
        let (told, asked) = ask(&handover_of(&context.places()?, &sources.places()), &who);
        let doubt = told.as_ref().err().copied();
        let (since, list) = told.ok().unzip();
        return Ok(Some(FoundList { list: list.unwrap_or_default(), since, doubt, asked: Some(asked) }));
    }
    let (changes, names) = (&options.changes, &options.names);
    let all = [&names.files_from, &names.files_from0, &changes.changed_from, &changes.changed_from0];
    // The second list would be empty, as if nothing had changed.
    if all.into_iter().flatten().filter(|file| file.as_os_str() == "-").count() > 1 {
        return Err(Failure::Usage("standard input can be one list only".into()));
    }
    let lists = |files: &[PathBuf], end| {
        files.iter().map(|file| read_list(file, end)).collect::<Result<Vec<_>, _>>().map(|lists| lists.concat())
    };
    if changes.changed_from.is_empty() && changes.changed_from0.is_empty() {
        return Ok(None);
    }
    let list = [lists(&changes.changed_from, b'\n')?, lists(&changes.changed_from0, b'\0')?].concat();
    let since = changes.changed_since.as_deref().map(since).transpose()?;
    Ok(Some(FoundList { list, since, doubt: None, asked: None }))
}

/// The given digits, or the whole id in the named file: a prefix in a file could match another snapshot.
fn since(given: &str) -> Result<String, Failure> {
    let Some(file) = given.strip_prefix('@') else { return Ok(given.to_owned()) };
    let text = fs::read_to_string(file).map_err(|error| Failure::io("read", Path::new(file), error))?;
    let id = SnapshotId::from_hex(text.trim());
    id.map(|id| id.to_string()).map_err(|_| Failure::Usage(format!("{file} does not hold the id of a snapshot")))
}

impl FoundList {
    /// Tells the watcher which snapshot has the changes that it listed.
    pub(super) fn saved(self, outcome: &Outcome) {
        if let (Some(asked), Some(snapshot)) = (self.asked, outcome.snapshot.or(outcome.parent)) {
            asked.confirm(snapshot);
        }
    }
}

/// The backup that a list narrows.
pub(super) struct Narrowed<'a> {
    pub(super) access: Access<'a>,
    pub(super) client: &'a LocalClient,
    pub(super) exclusions: Option<&'a Exclusions>,
}

impl Narrowed<'_> {
    /// The list, and the conditions under which it is used.
    pub(super) fn of(
        &self,
        context: &Context<'_>,
        options: &Backup,
        named: &Options,
        found: &mut FoundList,
    ) -> Result<Narrowing, Failure> {
        let source = self.access.domain_keys(self.client.domain).source_id(&named.host, &named.paths, &named.label);
        Ok(Narrowing {
            list: std::mem::take(&mut found.list),
            since: found.since.take(),
            doubt: found.doubt,
            most: options.changes.walk_every,
            configuration: format!("{:?} {:?}", named.paths, self.exclusions),
            note: context.places()?.state_of(self.access.id()).join(format!("changed-{source}")),
        })
    }
}
