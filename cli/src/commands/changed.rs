//! Changed: the list of changes of `backup --changed-from`.

use std::path::PathBuf;

use copal_client::backup::Options;
use copal_client::changed::Narrowing;
use copal_client::repository::{Access, LocalClient};
use copal_format::exclusions::Exclusions;

use super::context::Context;
use super::sources::read_list;
use crate::args::backup::Backup;
use crate::report::Failure;

/// The paths in the lists; none if no list is given.
pub(super) fn listed(options: &Backup) -> Result<Option<Vec<PathBuf>>, Failure> {
    let (changes, names) = (&options.changes, &options.names);
    let all = [&names.files_from, &names.files_from0, &changes.changed_from, &changes.changed_from0];
    // The second would be empty: as if nothing had changed.
    if all.into_iter().flatten().filter(|file| file.as_os_str() == "-").count() > 1 {
        return Err(Failure::Usage("standard input can be one list only".into()));
    }
    let lists = |files: &[PathBuf], end| {
        files.iter().map(|file| read_list(file, end)).collect::<Result<Vec<_>, _>>().map(|lists| lists.concat())
    };
    if changes.changed_from.is_empty() && changes.changed_from0.is_empty() {
        return Ok(None);
    }
    Ok(Some([lists(&changes.changed_from, b'\n')?, lists(&changes.changed_from0, b'\0')?].concat()))
}

/// What a list narrows.
pub(super) struct Narrowed<'a> {
    pub(super) access: Access<'a>,
    pub(super) client: &'a LocalClient,
    pub(super) exclusions: Option<&'a Exclusions>,
}

impl Narrowed<'_> {
    /// The list, and what has to be true so that it is believed.
    pub(super) fn of(
        &self,
        context: &Context<'_>,
        options: &Backup,
        named: &Options,
        list: Vec<PathBuf>,
    ) -> Result<Narrowing, Failure> {
        let source = self.access.domain_keys(self.client.domain).source_id(&named.host, &named.paths, &named.label);
        Ok(Narrowing {
            list,
            since: options.changes.changed_since.clone(),
            most: options.changes.walk_every,
            configuration: format!("{:?} {:?}", named.paths, self.exclusions),
            note: context.places()?.state_of(self.access.id()).join(format!("changed-{source}")),
        })
    }
}
